/*!
Recommenders in ONNX. Where the score of a user and an item is the dot product of two vectors (mf, two-tower), there is one file for
users and one for items:

```text
user: int64[rows]  (features: float[rows, width])  →  vector: float[rows, out]
item: int64[rows]  (features: float[rows, width])  →  vector: float[rows, out]
```

Where the score mixes the two (NeuMF), there is one file:

```text
user: int64[rows], item: int64[rows]  →  score: float[rows, 1]
```

Where a model scores from a history in order (sequence), there is one file, too; the history is the most recent items of a user, from the
first to the last, at most as many as the model reads (`length` in the metadata):

```text
history: int64[length]  →  score: float[1, items]
```

Numbers of users and items are their places in the training data.
*/

use toprank_core::{Features, ModelError};
use toprank_onnx::{Array, Graph, Kind, Program};

use super::Parity;
use crate::error::TrainError;
use crate::recommend::{Parameters, Recommender};

/// An exported recommender, proved on pairs.
#[derive(Debug)]
pub struct WrittenRecommender {
    /// The file of users and the file of items, or one file of pairs.
    pub files: Vec<RecommenderFile>,
    /// Pairs (user, item) they were proved on.
    pub pairs: Vec<(u32, u32)>,
    /// The scores that the recommender gives them.
    pub scores: Vec<f64>,
    /// How far those of the files are from that.
    pub parity: Parity,
}

/// A file of an exported recommender.
#[derive(Debug)]
pub struct RecommenderFile {
    /// `user` or `item`; `None`: it scores pairs.
    pub side: Option<&'static str>,
    /// Its content.
    pub bytes: Vec<u8>,
}

const NAMES: [&str; 2] = ["user", "item"];

/// Writes a recommender and proves it on `pairs` pairs; the same pairs for the same recommender.
///
/// # Errors
/// If its model has no form in ONNX, or what was written gives other scores.
pub fn recommender(recommender: &Recommender, pairs: usize) -> Result<WrittenRecommender, TrainError> {
    let pairs = recommender.some_pairs(pairs);
    let Some((model, _)) = recommender.vectors() else { return of_histories(recommender, pairs) };
    let scores = recommender.scores(&pairs);
    let ids = [0, 1].map(|side| {
        let ids = pairs.iter().map(|pair| f64::from([pair.0, pair.1][side]));
        Array::new(&[pairs.len()], ids.collect())
    });
    let (files, found) = match model.is_product() {
        true => {
            let (users, user_vectors) = tower(recommender, 0, &ids[0])?;
            let (items, item_vectors) = tower(recommender, 1, &ids[1])?;
            let width = model.ready_widths()[0];
            let dot = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let vectors = user_vectors.chunks_exact(width).zip(item_vectors.chunks_exact(width));
            (vec![users, items], vectors.map(dot).collect())
        }
        false => {
            let (file, scores) = whole(recommender, ids)?;
            (vec![file], scores)
        }
    };
    let parity = Parity::of(&found, &scores)?;
    Ok(WrittenRecommender { files, pairs, scores, parity })
}

fn refused(recommender: &Recommender) -> ModelError {
    let model = recommender.header().config.model();
    ModelError::new(
        format!("a recommender of the kind {model}"),
        "one that can be exported: mf, neumf, two-tower or sequence",
    )
}

/// The file that scores all items for a history, proved on pairs of a user and an item, from the training items of the user.
fn of_histories(recommender: &Recommender, pairs: Vec<(u32, u32)>) -> Result<WrittenRecommender, TrainError> {
    let Some((model, parameters)) = recommender.item_model() else {
        return Err(refused(recommender).into());
    };
    let mut graph = Graph::default();
    let history = graph.input("history", Kind::Int64, &[None]);
    let items = recommender.data().items.len();
    let score = model.export(parameters, items, &mut graph, &history);
    let score = score.ok_or_else(|| refused(recommender))?;
    graph.output("score", &score, Kind::Float, &[Some(1), Some(items)]);
    let length = model.history_limit().to_string();
    let bytes =
        graph.write("toprank", &[("model", recommender.header().config.model()), ("length", &length)]);
    let program = Program::read(&bytes)?;
    let scores = recommender.scores(&pairs);
    let (histories, mut found) = (recommender.train_histories(), Vec::with_capacity(pairs.len()));
    for of_user in pairs.chunk_by(|a, b| a.0 == b.0) {
        let user = of_user[0].0 as usize;
        let mut history = histories.in_order(user);
        history.retain(|&item| histories.label(user, item) > 0.0);
        let history = &history[history.len().saturating_sub(model.history_limit())..];
        let ids = history.iter().map(|&item| f64::from(item)).collect();
        let inputs = [("history", Array::new(&[history.len()], ids))];
        let of_items = program.run(&inputs)?.remove("score").map(|scores| scores.values).unwrap_or_default();
        found.extend(
            of_user.iter().map(|(_, item)| of_items.get(*item as usize).copied().unwrap_or(f64::NAN)),
        );
    }
    let parity = Parity::of(&found, &scores)?;
    let files = vec![RecommenderFile { side: None, bytes }];
    Ok(WrittenRecommender { files, pairs, scores, parity })
}

/// The file that scores pairs, and the scores it gives them.
fn whole(recommender: &Recommender, ids: [Array; 2]) -> Result<(RecommenderFile, Vec<f64>), TrainError> {
    let Some((model, parameters)) = recommender.vectors() else { return Err(refused(recommender).into()) };
    let Parameters { users, items, weights } = &**parameters;
    let mut graph = Graph::default();
    let [user, item] = NAMES.map(|name| graph.input(name, Kind::Int64, &[None]));
    let score = model.export_pairs([users, items], weights, &mut graph, [&user, &item]);
    let score = score.ok_or_else(|| refused(recommender))?;
    graph.output("score", &score, Kind::Float, &[None, Some(1)]);
    let bytes = graph.write("toprank", &[("model", recommender.header().config.model())]);
    let inputs: Vec<_> = NAMES.into_iter().zip(ids).collect();
    let scores = Program::read(&bytes)?.run(&inputs)?.remove("score").map(|scores| scores.values);
    Ok((RecommenderFile { side: None, bytes }, scores.unwrap_or_default()))
}

/// The file of one side, and the vectors it gives `ids`.
fn tower(
    recommender: &Recommender,
    side: usize,
    ids: &Array,
) -> Result<(RecommenderFile, Vec<f64>), TrainError> {
    let Some((model, parameters)) = recommender.vectors() else { return Err(refused(recommender).into()) };
    let (data, name) = (recommender.data(), recommender.header().config.model());
    let known = [&data.user_features, &data.item_features][side].as_ref();
    let Parameters { users, items, weights } = &**parameters;
    let mut graph = Graph::default();
    let numbers = graph.input(NAMES[side], Kind::Int64, &[None]);
    let features = known.map(|known| graph.input("features", Kind::Float, &[None, Some(known.width())]));
    let table = [users, items][side];
    let vector = model.export(side, table, weights, &mut graph, &numbers, features.as_ref());
    let vector = vector.ok_or_else(|| refused(recommender))?;
    graph.output("vector", &vector, Kind::Float, &[None, Some(model.ready_widths()[side])]);
    let names = known.map_or(String::new(), |known| known.columns.join(" "));
    let bytes = graph.write("toprank", &[("side", NAMES[side]), ("features", &names), ("model", name)]);

    let mut inputs = vec![(NAMES[side], ids.clone())];
    if let Some(known) = known {
        let ids: Vec<u32> = ids.values.iter().map(|&id| id as u32).collect();
        let mut values = vec![0.0; ids.len() * known.width()];
        known.gather(&ids, &mut values);
        let values = values.into_iter().map(f64::from).collect();
        inputs.push(("features", Array::new(&[ids.len(), known.width()], values)));
    }
    let vectors = Program::read(&bytes)?.run(&inputs)?.remove("vector").map(|vectors| vectors.values);
    Ok((RecommenderFile { side: Some(NAMES[side]), bytes }, vectors.unwrap_or_default()))
}

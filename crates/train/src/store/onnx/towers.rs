/*!
The two sides of a recommender said in ONNX: one file for users, one for items. The score of a user and an item is the sum of
products of what the two files say.

```text
user: whole[rows]  (features: float[rows, width])  →  vector: float[rows, out]
item: whole[rows]  (features: float[rows, width])  →  vector: float[rows, out]
```

Numbers of users and items are their places in the training data.
*/

use toprank_core::{Features, ModelError};
use toprank_onnx::{Array, Graph, Kind, Program};

use super::Parity;
use crate::error::TrainError;
use crate::recommend::{Parameters, Recommender};

/// Both sides of a recommender, proved on pairs.
#[derive(Debug)]
pub struct Towers {
    /// The file of users and the file of items.
    pub files: [Vec<u8>; 2],
    /// Pairs (user, item) they were proved on.
    pub pairs: Vec<(u32, u32)>,
    /// What the recommender says of these.
    pub scores: Vec<f64>,
    /// How far the files are from that.
    pub parity: Parity,
}

const NAMES: [&str; 2] = ["user", "item"];

/// Writes both sides and proves them on `pairs` pairs; the same pairs for the same recommender.
///
/// # Errors
/// If the model has no sides of its own (NeuMF mixes them), or what was written says something else.
pub fn towers(recommender: &Recommender, pairs: usize) -> Result<Towers, TrainError> {
    let pairs = recommender.some_pairs(pairs);
    let scores = recommender.scores(&pairs);
    let (users, user_vectors) = tower(recommender, 0, &pairs.iter().map(|pair| pair.0).collect::<Vec<_>>())?;
    let (items, item_vectors) = tower(recommender, 1, &pairs.iter().map(|pair| pair.1).collect::<Vec<_>>())?;
    let width = recommender.model.ready_widths()[0];
    let dot = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let found: Vec<f64> =
        user_vectors.chunks_exact(width).zip(item_vectors.chunks_exact(width)).map(dot).collect();
    let parity = Parity::of(&found, &scores)?;
    Ok(Towers { files: [users, items], pairs, scores, parity })
}

/// The file of one side, and what it says of `ids`.
fn tower(recommender: &Recommender, side: usize, ids: &[u32]) -> Result<(Vec<u8>, Vec<f64>), TrainError> {
    let (data, model) = (recommender.data(), recommender.header().config.model());
    let known = [&data.user_features, &data.item_features][side].as_ref();
    let Parameters { users, items, weights } = &*recommender.parameters;
    let mut graph = Graph::default();
    let numbers = graph.input(NAMES[side], Kind::Int64, &[None]);
    let features = known.map(|known| graph.input("features", Kind::Float, &[None, Some(known.width())]));
    let table = [users, items][side];
    let vector = recommender.model.export(side, table, weights, &mut graph, &numbers, features.as_ref());
    let vector = vector.ok_or_else(|| {
        let what =
            format!("a recommender of the kind {model}, which has no vector of a {} by itself", NAMES[side]);
        ModelError::new(what, "mf or two-tower")
    })?;
    graph.output("vector", &vector, Kind::Float, &[None, Some(recommender.model.ready_widths()[side])]);
    let names = known.map_or(String::new(), |known| known.columns.join(" "));
    let bytes = graph.write("toprank", &[("side", NAMES[side]), ("features", &names), ("model", model)]);

    let mut inputs =
        vec![(NAMES[side], Array::new(&[ids.len()], ids.iter().map(|&id| f64::from(id)).collect()))];
    if let Some(known) = known {
        let mut values = vec![0.0; ids.len() * known.width()];
        known.gather(ids, &mut values);
        let values = values.into_iter().map(f64::from).collect();
        inputs.push(("features", Array::new(&[ids.len(), known.width()], values)));
    }
    let vectors = Program::read(&bytes)?.run(&inputs)?.remove("vector").map(|vectors| vectors.values);
    Ok((bytes, vectors.unwrap_or_default()))
}

/*!
Trained recommenders: they recommend, are evaluated, and are kept in a file that is checked at every load.

The file (see [`crate::store::container`]) holds the tables, the weights, the names of users and items, and every pair of the three
parts, so that `evaluate` knows what was held out and `top` what a user has seen without the data beside it. A self-test, a few
pairs with their scores, is run at every load.
*/

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toprank_core::{Choices, ParamError, catalog};
use toprank_data::Names;
use toprank_embeddings::{
    BatchView, EmbeddingModel, ItemModel, ItemParameters, PairScorer, Plan, Ranker, Rows, Shape, Table, Tape,
};
use toprank_metrics::Measure;

use super::auto::blend::{Blend, BlendPart};
use super::config::Feedback;
use super::diversity::{DiversityFigure, diversity};
use super::evaluate::{History, PartEvaluation, evaluate_part, evaluate_sampled, popular};
use super::fold_in::fold_in;
use super::interactions::{Interactions, Known, labelled};
use super::recency;
use super::trainer::{Kind, Trainer};
use super::vector_trainer::Parameters;
use crate::error::TrainError;
use crate::fit::flat::{block_tensors, load_blocks};
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::fit::training_loop::TrainingLoop;
use crate::rank::auto::BlendAbout;
use crate::store::container::{self, Number, Stored, Tensor, numbers};
use crate::store::fingerprint::Content;
use crate::store::header::{self, Header, Reached};

const KIND: &str = "recommender";
/// Tensors of item models.
const VALUES: &str = "model.values";
const NUMBERS: &str = "model.numbers";
const LATER: &str = "train.later";
/// Pairs in the self-test.
const PROBED: usize = 16;
/// Relative difference that another processor may make.
const TOLERANCE: f64 = 1e-4;

/// What the header of a recommender says beside config and result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Users.
    pub users: usize,
    /// Items.
    pub items: usize,
    /// Names of the features of users, if it reads some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_columns: Vec<String>,
    /// Names of the features of items, if it reads some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub item_columns: Vec<String>,
    /// What each member of a blend was worth, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blend: Option<BlendAbout>,
}

/// A part of the interactions to evaluate on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What early stopping looked at.
    Valid,
    /// What was held out to the end.
    Test,
}

/// The interactions from which an item model scores when the test part is evaluated. Vectors of users know those of training only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryParts {
    /// Those of training.
    Train,
    /// Those of training and validation, as published work on sequences has it.
    TrainValid,
}

impl HistoryParts {
    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            HistoryParts::Train => "train",
            HistoryParts::TrainValid => "train+valid",
        }
    }
}

/// A recommended item.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommended {
    /// Its name.
    pub item: String,
    /// Its score.
    pub score: f64,
}

/// The best unseen items of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct Top {
    /// Best first.
    pub items: Vec<Recommended>,
    /// True if nothing was known about the user, so that these are the most popular items; their score is how often each
    /// was chosen.
    pub by_popularity: bool,
}

/// Which items may be recommended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// Items that nobody is recommended, ascending.
    pub excluded: &'a [u32],
    /// True: items that a user has interacted with may be recommended again.
    pub repeat: bool,
}

impl Filter<'_> {
    /// The items that are not recommended to whoever has seen these, ascending.
    fn applied(&self, seen: &[u32]) -> Vec<u32> {
        let mut all = self.excluded.to_vec();
        if !self.repeat {
            all.extend_from_slice(seen);
        }
        all.sort_unstable();
        all
    }
}

/// A trained recommender.
#[derive(Clone)]
pub struct Recommender {
    header: Header<About>,
    data: Interactions,
    scorer: Scorer,
    history: HistoryParts,
}

/// What scores. Parameters never change, so copies of a recommender share them.
#[derive(Clone)]
pub(crate) enum Scorer {
    /// Vectors of users and items.
    Vectors { model: Arc<dyn EmbeddingModel>, parameters: Arc<Parameters> },
    /// The items of a history.
    Items { model: Arc<dyn ItemModel>, parameters: Arc<ItemParameters> },
    /// The items of a history, by several models.
    Blend { blend: Arc<Blend>, nothing: Arc<ItemParameters> },
}

impl Scorer {
    /// The vectors and their model, or what scores by histories.
    fn kind(&self) -> Result<(&dyn EmbeddingModel, &Parameters), (&dyn ItemModel, &ItemParameters)> {
        match self {
            Scorer::Vectors { model, parameters } => Ok((&**model, parameters)),
            Scorer::Items { model, parameters } => Err((&**model, parameters)),
            Scorer::Blend { blend, nothing } => Err((&**blend, nothing)),
        }
    }
}

impl Recommender {
    pub(super) fn new(config: &Config, reached: Reached, data: Interactions, scorer: Scorer) -> Recommender {
        let columns =
            |known: &Option<Known>| known.as_ref().map_or(Vec::new(), |known| known.columns.clone());
        let about = About {
            users: data.users.len(),
            items: data.items.len(),
            user_columns: columns(&data.user_features),
            item_columns: columns(&data.item_features),
            blend: None,
        };
        let header = Header { config: config.clone(), reached, about };
        Recommender { header, data, scorer, history: HistoryParts::TrainValid }
    }

    /// The same with what its members were worth.
    pub(super) fn with_blend(mut self, about: BlendAbout) -> Recommender {
        self.header.about.blend = Some(about);
        self
    }

    /// The vectors and their model; `None` for an item model.
    pub(crate) fn vectors(&self) -> Option<(&Arc<dyn EmbeddingModel>, &Arc<Parameters>)> {
        match &self.scorer {
            Scorer::Vectors { model, parameters } => Some((model, parameters)),
            Scorer::Items { .. } | Scorer::Blend { .. } => None,
        }
    }

    /// The item model and what it has learned; `None` for vectors.
    pub(crate) fn item_model(&self) -> Option<(&dyn ItemModel, &ItemParameters)> {
        self.scorer.kind().err()
    }

    /// What scores of training interactions are made from: see [`Recommender::scores`].
    pub(crate) fn train_histories(&self) -> Choices {
        self.histories(&[])
    }

    /// From which interactions an item model scores when the test part is evaluated; [`HistoryParts::TrainValid`] if not said.
    pub fn use_history(&mut self, history: HistoryParts) {
        self.history = history;
    }

    /// From which interactions scores are made when this part is evaluated.
    pub fn history(&self, part: Part) -> HistoryParts {
        match (part, &self.scorer) {
            (Part::Test, Scorer::Items { .. } | Scorer::Blend { .. }) => self.history,
            _ => HistoryParts::Train,
        }
    }

    /// What an item model scores from, by the parts behind training; nothing for vectors.
    fn histories(&self, parts: &[&Choices]) -> Choices {
        match &self.scorer {
            Scorer::Vectors { .. } => Choices::default(),
            Scorer::Items { .. } | Scorer::Blend { .. } => self.data.histories(&self.header.config, parts),
        }
    }

    /// What its file says about it.
    pub fn header(&self) -> &Header<About> {
        &self.header
    }

    /// Its users, items and pairs.
    pub fn data(&self) -> &Interactions {
        &self.data
    }

    /// What makes it another model: what is known about it, its names, its rows and weights.
    pub(super) fn add_to(&self, content: &mut Content) {
        content.bytes(serde_json::to_string(&self.header).unwrap_or_default().as_bytes());
        content.names(Some(&self.data.users));
        content.names(Some(&self.data.items));
        match &self.scorer {
            Scorer::Vectors { parameters, .. } => {
                let Parameters { users, items, weights } = &**parameters;
                for values in [&**users, &**items, weights] {
                    content.floats(values);
                }
            }
            Scorer::Items { parameters, .. } => content.floats(&parameters.values),
            Scorer::Blend { blend, .. } => {
                blend.parts.iter().for_each(|part| content.floats(&part.parameters.values));
            }
        }
    }

    /// Numbers that were learned.
    pub fn parameters(&self) -> usize {
        match &self.scorer {
            Scorer::Vectors { parameters, .. } => {
                parameters.users.len() + parameters.items.len() + parameters.weights.len()
            }
            Scorer::Items { parameters, .. } => parameters.values.len(),
            Scorer::Blend { blend, .. } => blend.numbers(),
        }
    }

    fn ranker<'a>(&'a self, histories: &'a Choices) -> Ranker<'a> {
        match self.scorer.kind() {
            Ok((model, Parameters { users, items, weights })) => {
                Ranker::new(model, self.data.shape(), weights, users, items)
            }
            Err((model, parameters)) => Ranker::of_histories(model, parameters, histories),
        }
    }

    fn pair_scorer<'a>(&'a self, histories: &'a Choices) -> PairScorer<'a> {
        match self.scorer.kind() {
            Ok((model, Parameters { users, items, weights })) => {
                PairScorer::new(model, self.data.shape(), weights, users, items)
            }
            Err((model, parameters)) => PairScorer::of_histories(model, parameters, histories),
        }
    }

    /// Ranks all unseen items for every user with a pair in the part. What was learned from is seen, and for the test part
    /// also what was validated on, unless `only_train_seen`. `sampled`: accuracy among only this many unseen items, drawn by
    /// this seed, beside the held-out ones; such values are not those of a full ranking. `k` as in [`evaluate_part`].
    ///
    /// # Errors
    /// If the part has no pair, or a metric cannot use the labels.
    pub fn evaluate(
        &self,
        part: Part,
        measures: &[Measure],
        only_train_seen: bool,
        sampled: Option<(usize, u64)>,
        k: usize,
    ) -> Result<PartEvaluation, TrainError> {
        self.evaluate_by(false, part, measures, only_train_seen, sampled, k)
    }

    /// The same of the baseline that ranks the items for every user by how often they were chosen in training.
    ///
    /// # Errors
    /// As for [`Recommender::evaluate`].
    pub fn evaluate_popularity(
        &self,
        part: Part,
        measures: &[Measure],
        only_train_seen: bool,
        sampled: Option<(usize, u64)>,
        k: usize,
    ) -> Result<PartEvaluation, TrainError> {
        self.evaluate_by(true, part, measures, only_train_seen, sampled, k)
    }

    fn evaluate_by(
        &self,
        by_popularity: bool,
        part: Part,
        measures: &[Measure],
        only_train_seen: bool,
        sampled: Option<(usize, u64)>,
        k: usize,
    ) -> Result<PartEvaluation, TrainError> {
        let (choices, seen) = self.held_and_seen(part, only_train_seen);
        if choices.pairs() == 0 {
            let expected = "one with pairs: train with --split leave-last or random, or with --test FILE";
            return Err(
                ParamError::new(&format!("the part {part:?}").to_lowercase(), "empty", expected).into()
            );
        }
        if part == Part::Valid && self.header.config.refit() {
            let expected = "the part test: with --refit the model has learned the validation part, too";
            return Err(ParamError::new("the part", "valid", expected).into());
        }
        let held = labelled(choices, Feedback::of(&self.header.config));
        let popular = popular(&self.data.train);
        let seen = History { choices: &seen, popular: &popular, by_popularity };
        let histories = match self.history(part) {
            HistoryParts::Train => self.histories(&[]),
            HistoryParts::TrainValid => self.histories(&[&self.data.valid]),
        };
        let ranker = self.ranker(&histories);
        let Some(sampled) = sampled else {
            return evaluate_part(&ranker, &seen, &held, measures, k);
        };
        let evaluation = evaluate_sampled(&self.pair_scorer(&histories), &seen, &held, measures, sampled)?;
        // What is recommended is of all items, whatever accuracy is measured on.
        Ok(PartEvaluation { evaluation, ..evaluate_part(&ranker, &seen, &held, &[], k)? })
    }

    /// The held-out items of a part, and what users have seen where it is evaluated.
    fn held_and_seen(&self, part: Part, only_train_seen: bool) -> (&Choices, Choices) {
        match part {
            Part::Valid => (&self.data.valid, self.data.train.clone()),
            Part::Test if only_train_seen => (&self.data.test, self.data.train.clone()),
            Part::Test => (&self.data.test, Interactions::union(&[&self.data.train, &self.data.valid])),
        }
    }

    /// What the first items that `found` has for each user are like, with intervals over users: coverage, novelty, popularity and its
    /// lift, Gini coefficient, intra-list distance, serendipity. `found` is an evaluation of this part, by the same `only_train_seen`.
    pub fn diversity(
        &self,
        found: &PartEvaluation,
        part: Part,
        only_train_seen: bool,
    ) -> Vec<DiversityFigure> {
        let (held, seen) = self.held_and_seen(part, only_train_seen);
        diversity(&found.first, &found.users, [&self.data.train, &seen, held], found.beyond.k, 1)
    }

    /// A simple model in closed form (`knn`, `pop`, `ease`) fitted to the same interactions, as a baseline.
    ///
    /// # Errors
    /// If the model is unknown, is not in closed form, or takes too much memory.
    pub fn baseline(&self, model: &str) -> Result<Recommender, TrainError> {
        let Kind::Items(kind) = Kind::parse(model)? else { return Err(no_baseline(model).into()) };
        if kind.is_iterative() {
            return Err(no_baseline(model).into());
        }
        let config = &self.header.config;
        let settings = Settings {
            model: Some(model.into()),
            objective: Some(config.valid_metric().into()),
            feedback: config.settings().feedback.clone(),
            refit: Some(config.refit()),
            recency: self.data.later.is_empty().then_some(0.0),
            ..Settings::default()
        };
        let mut trainer = Trainer::new(&settings.resolve(TrainerKind::Recommend)?, &self.data)?;
        trainer.run(&mut (), None)?;
        let mut baseline = trainer.recommender()?;
        baseline.use_history(self.history);
        Ok(baseline)
    }

    /// The number of a user.
    ///
    /// # Errors
    /// If there is no such user.
    pub fn user(&self, name: &str) -> Result<u32, ParamError> {
        find(
            &self.data.users,
            name,
            "user",
            "a user of the training data; somebody new is folded in by --history ITEMS",
        )
    }

    /// The number of an item.
    ///
    /// # Errors
    /// If there is no such item.
    pub fn item(&self, name: &str) -> Result<u32, ParamError> {
        find(&self.data.items, name, "item", "an item of the training data")
    }

    /// The `k` best items for a user that it has in none of the three parts. A user from whom nothing was learned gets the
    /// most popular ones. An item model scores from all three parts.
    ///
    /// # Errors
    /// If there is no such user.
    pub fn top(&self, user: &str, k: usize) -> Result<Top, ParamError> {
        Ok(self.tops(&[self.user(user)?], k).remove(0))
    }

    /// The same for several users, all at once.
    pub fn tops(&self, users: &[u32], k: usize) -> Vec<Top> {
        self.tops_without(users, k, &[])
    }

    /// The same without some items, which nobody is recommended.
    pub fn tops_without(&self, users: &[u32], k: usize, excluded: &[u32]) -> Vec<Top> {
        self.tops_filtered(users, k, &Filter { excluded, ..Filter::default() })
    }

    /// The same of the items that a filter allows.
    pub fn tops_filtered(&self, users: &[u32], k: usize, filter: &Filter) -> Vec<Top> {
        let Interactions { train, valid, test, .. } = &self.data;
        let popular = popular(train);
        let seen: Vec<Vec<u32>> = users
            .iter()
            .map(|&user| {
                let user = user as usize;
                filter.applied(&[train.of(user), valid.of(user), test.of(user)].concat())
            })
            .collect();
        let histories = self.histories(&[valid, test]);
        let unknown = |d: usize| match &self.scorer {
            Scorer::Vectors { .. } => train.of(users[d] as usize).is_empty(),
            Scorer::Items { .. } | Scorer::Blend { .. } => {
                let user = users[d] as usize;
                [train, valid, test].iter().all(|part| part.of(user).is_empty())
            }
        };
        let best = self.ranker(&histories).best(
            users,
            k,
            |d| &seen[d],
            |d| unknown(d).then_some(popular.as_slice()),
        );
        (0..users.len())
            .map(|d| Top { items: self.named(best.of(d), k), by_popularity: unknown(d) })
            .collect()
    }

    fn named(&self, best: &[toprank_embeddings::Best], k: usize) -> Vec<Recommended> {
        let best = best.iter().take(k);
        best.map(|best| Recommended {
            item: self.data.items.get(best.item as usize).to_string(),
            score: f64::from(best.score),
        })
        .collect()
    }

    /// The `k` best items for somebody new who took `history`, first to last: a row is learned for it with the objective, all
    /// else stays as it is. Without history: the most popular items.
    ///
    /// # Errors
    /// If an item is unknown or comes twice.
    pub fn top_of_history(&self, history: &[&str], k: usize) -> Result<Top, TrainError> {
        self.top_of_history_filtered(history, k, &Filter::default())
    }

    /// The same of the items that a filter allows.
    ///
    /// # Errors
    /// If an item is unknown or comes twice.
    pub fn top_of_history_filtered(
        &self,
        history: &[&str],
        k: usize,
        filter: &Filter,
    ) -> Result<Top, TrainError> {
        let history: Vec<u32> = history.iter().map(|name| self.item(name)).collect::<Result<_, _>>()?;
        let mut seen = history.clone();
        seen.sort_unstable();
        if let Some(twice) = seen.windows(2).find(|w| w[0] == w[1]) {
            let name = self.data.items.get(twice[0] as usize);
            return Err(ParamError::new("the history", &format!("{name:?} twice"), "each item once").into());
        }
        let popular = popular(&self.data.train);
        let unknown = seen.is_empty();
        let instead = |_| unknown.then_some(popular.as_slice());
        let seen = filter.applied(&seen);
        let best = match self.scorer.kind() {
            Ok((model, parameters)) => {
                let Parameters { items, weights, .. } = parameters;
                let nobody = self.data.user_features.as_ref().map(|known| Known {
                    columns: known.columns.clone(),
                    values: vec![f32::NAN; known.columns.len()],
                });
                let shape = Shape {
                    users: 1,
                    user_features: nobody.as_ref().map(|known| known as &dyn toprank_core::Features),
                    ..self.data.shape()
                };
                let row = if unknown {
                    vec![0.0; model.widths()[0]]
                } else {
                    fold_in(&self.header.config, model, shape, parameters, &history)?
                };
                Ranker::new(model, shape, weights, &row, items).best(&[0], k, |_| &seen, instead)
            }
            Err((model, parameters)) => {
                let histories = self.history_of(&history);
                Ranker::of_histories(model, parameters, &histories).best(&[0], k, |_| &seen, instead)
            }
        };
        Ok(Top { items: self.named(best.of(0), k), by_popularity: unknown })
    }

    /// A history, first to last, of somebody new.
    fn history_of(&self, history: &[u32]) -> Choices {
        let mut later: Vec<(u32, u32)> =
            history.iter().copied().zip((0..history.len() as u32).rev()).collect();
        later.sort_unstable();
        let mut choices = Choices::of_items(self.data.items.len());
        choices.push(later.iter().map(|(item, _)| (*item, 1.0)));
        let later: Vec<u32> = later.into_iter().map(|(_, later)| later).collect();
        let choices = recency::weighed(choices, &later, self.header.config.recency());
        Choices { later, ..choices }
    }

    /// Scores of pairs (user, item), users ascending.
    pub fn scores(&self, pairs: &[(u32, u32)]) -> Vec<f64> {
        let Ok((model, parameters)) = self.scorer.kind() else { return self.scores_of_histories(pairs) };
        let (mut users, mut offsets, mut items) = (Vec::new(), vec![0], Vec::new());
        for same in pairs.chunk_by(|a, b| a.0 == b.0) {
            users.push(same[0].0);
            items.extend(same.iter().map(|pair| pair.1));
            offsets.push(items.len() as u64);
        }
        let mut plan = Plan::default();
        plan.lay(self.data.items.len(), &users, &offsets, &items);
        let mut rows = [Rows::default(), Rows::default()];
        let [user, item] = model.widths();
        rows[0].gather(&parameters.users, user, &plan.users, None);
        rows[1].gather(&parameters.items, item, &plan.items, None);
        let view = BatchView {
            plan: &plan,
            users: &rows[0].values,
            items: &rows[1].values,
            shape: self.data.shape(),
            weights: &parameters.weights,
        };
        let mut scores = vec![0.0; pairs.len()];
        model.forward(&view, None, &mut Tape::default(), &mut scores);
        scores
    }

    /// The same of an item model, from the training pairs.
    fn scores_of_histories(&self, pairs: &[(u32, u32)]) -> Vec<f64> {
        let histories = self.histories(&[]);
        let of_users: Vec<&[(u32, u32)]> = pairs.chunk_by(|a, b| a.0 == b.0).collect();
        let users: Vec<u32> = of_users.iter().map(|pairs| pairs[0].0).collect();
        let choose = |d: usize, to: &mut Vec<u32>| to.extend(of_users[d].iter().map(|pair| pair.1));
        let scores =
            self.pair_scorer(&histories).each(&users, choose, |_, _, scores: &mut [f32]| scores.to_vec());
        scores.into_iter().flatten().map(f64::from).collect()
    }

    /// Some pairs of the training part, evenly spaced, at most `most`.
    pub(crate) fn some_pairs(&self, most: usize) -> Vec<(u32, u32)> {
        let train = &self.data.train;
        let count = train.pairs().min(most);
        let pair = |i: usize| {
            let at = i * train.pairs() / count;
            (train.offsets.partition_point(|&end| end <= at as u64) as u32 - 1, train.items[at])
        };
        (0..count).map(pair).collect()
    }

    /// Writes it; the old file stays until the new one is whole.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), TrainError> {
        let data = &self.data;
        let mut tensors = vec![Tensor::flat("probe.scores", self.scores(&self.some_pairs(PROBED)))];
        match &self.scorer {
            Scorer::Vectors { model, parameters } => {
                let Parameters { users, items, weights } = &**parameters;
                let [user, item] = model.widths();
                let tables = [
                    Tensor::shaped("users", vec![self.header.users, user], &**users),
                    Tensor::shaped("items", vec![self.header.items, item], &**items),
                ];
                tensors.splice(..0, tables);
                tensors.extend(block_tensors(model.blocks(), weights));
            }
            Scorer::Items { parameters, .. } => tensors.extend(item_tensors("", parameters)),
            Scorer::Blend { blend, .. } => {
                for part in &blend.parts {
                    tensors.extend(item_tensors(&part_name(part.member), &part.parameters));
                }
            }
        }
        if self.scorer.kind().is_err() && !data.later.is_empty() {
            tensors.push(Tensor::flat(LATER, numbers(&data.later)));
        }
        for (name, known) in [("users", &data.user_features), ("items", &data.item_features)] {
            if let Some(known) = known {
                tensors.push(Tensor::flat(format!("{name}.features"), &known.values));
            }
        }
        for (name, part) in [("train", &data.train), ("valid", &data.valid), ("test", &data.test)] {
            tensors.push(Tensor::flat(format!("{name}.offsets"), numbers(&part.offsets)));
            tensors.push(Tensor::flat(format!("{name}.items"), numbers(&part.items)));
            tensors.push(Tensor::flat(format!("{name}.labels"), &part.labels));
        }
        for (name, names) in [("users", &data.users), ("items", &data.items)] {
            let (text, ends) = packed(names);
            tensors.push(Tensor::flat(format!("{name}.names"), text));
            tensors.push(Tensor::flat(format!("{name}.ends"), ends));
        }
        header::save(path, KIND, &self.header, &tensors)
    }

    /// Reads a recommender into memory; every byte is checked and its self-test is run.
    ///
    /// # Errors
    /// If the file is no recommender, damaged, or computes other scores here.
    pub fn load(path: &Path) -> Result<Recommender, TrainError> {
        Recommender::read(path, |stored, name, count| Ok(stored.f32_counted(name, count)?.into()))
    }

    /// The same, but the tables of users and items stay in the file, whose pages the system fetches and forgets as it likes: for
    /// models as large as memory. Nobody may change the file in place as long as the recommender lives (to rename another over it,
    /// as [`Self::save`] does, is fine).
    ///
    /// # Errors
    /// As in [`Self::load`], or if the file cannot be mapped.
    pub fn load_mapped(path: &Path) -> Result<Recommender, TrainError> {
        Recommender::read(path, Stored::table)
    }

    fn read(
        path: &Path,
        table: impl Fn(&Stored, &str, usize) -> Result<Table, TrainError>,
    ) -> Result<Recommender, TrainError> {
        let (stored, header): (Stored, Header<About>) = container::load(path, KIND)?;
        let part = |name: &str| -> Result<Choices, TrainError> {
            let part = Choices {
                item_count: header.items,
                offsets: stored.numbers(&format!("{name}.offsets"))?,
                items: stored.numbers(&format!("{name}.items"))?,
                labels: stored.f32(&format!("{name}.labels"))?.1,
                ..Choices::default()
            };
            part.check().map_err(|error| stored.wrong(error.to_string(), "the pairs of a recommender"))?;
            match part.len() == header.users {
                true => Ok(part),
                false => {
                    Err(stored.wrong(format!("{} users in {name}", part.len()), header.users.to_string()))
                }
            }
        };
        let known = |name: &str, columns: &[String], rows: usize| -> Result<Option<Known>, TrainError> {
            if columns.is_empty() {
                return Ok(None);
            }
            let values =
                stored.f32_counted(&format!("{name}.features"), columns.len().saturating_mul(rows))?;
            Ok(Some(Known { columns: columns.to_vec(), values }))
        };
        header
            .config
            .check()
            .map_err(|error| stored.wrong(error.to_string(), "settings of a recommender"))?;
        let kind = Kind::parse(header.config.model())?;
        let train = part("train")?;
        let data = Interactions {
            users: unpacked(&stored, "users", header.users)?,
            items: unpacked(&stored, "items", header.items)?,
            valid: part("valid")?,
            test: part("test")?,
            user_features: known("users", &header.user_columns, header.users)?,
            item_features: known("items", &header.item_columns, header.items)?,
            later: match kind {
                Kind::Vectors(_) => Vec::new(), // for training only
                Kind::Items(_) | Kind::Auto => later(&stored, &train)?,
            },
            train,
        };
        let scorer = match kind {
            Kind::Vectors(kind) => {
                let model: Arc<dyn EmbeddingModel> = kind.build(&data.shape())?.into();
                let [user, item] = model.widths();
                let parameters = Parameters {
                    users: table(&stored, "users", header.users.saturating_mul(user))?,
                    items: table(&stored, "items", header.items.saturating_mul(item))?,
                    weights: load_blocks(model.blocks(), &stored)?,
                };
                Scorer::Vectors { model, parameters: Arc::new(parameters) }
            }
            Kind::Items(model) => {
                let parameters = item_parameters(&stored, &*model, header.items, &table)?;
                Scorer::Items { model: model.into(), parameters: Arc::new(parameters) }
            }
            Kind::Auto => {
                let blend = blend(&stored, &header, data.later.is_empty(), &table)?;
                Scorer::Blend { blend: Arc::new(blend), nothing: Arc::default() }
            }
        };
        let recommender = Recommender { header, data, scorer, history: HistoryParts::TrainValid };
        let found = recommender.scores(&recommender.some_pairs(PROBED));
        header::self_test(&stored, &found, &stored.f64("probe.scores")?, TOLERANCE)?;
        Ok(recommender)
    }

    /// True if the file at `path` looks like a recommender, whole or not.
    pub fn is_one(path: &Path) -> bool {
        container::looks_like(path, KIND)
    }
}

/// How the tensors of a part of a blend begin.
fn part_name(member: usize) -> String {
    format!("part{}.", member + 1)
}

fn item_tensors<'a>(prefix: &str, parameters: &'a ItemParameters) -> Vec<Tensor<'a>> {
    let mut tensors = vec![Tensor::flat(format!("{prefix}{VALUES}"), &*parameters.values)];
    if !parameters.numbers.is_empty() {
        tensors.push(Tensor::flat(format!("{prefix}{NUMBERS}"), numbers(&parameters.numbers)));
    }
    tensors
}

fn item_parameters(
    stored: &Stored,
    model: &dyn ItemModel,
    items: usize,
    table: &impl Fn(&Stored, &str, usize) -> Result<Table, TrainError>,
) -> Result<ItemParameters, TrainError> {
    let numbers = if stored.has(NUMBERS) { stored.numbers(NUMBERS)? } else { Vec::new() };
    let values = table(stored, VALUES, stored.count(VALUES))?;
    let parameters = ItemParameters { numbers, values };
    let check = model.check(items, &parameters);
    check.map_err(|error| stored.wrong(error.what, error.expected))?;
    Ok(parameters)
}

/// The parts of a blend that its header names.
fn blend(
    stored: &Stored,
    header: &Header<About>,
    without_order: bool,
    table: &impl Fn(&Stored, &str, usize) -> Result<Table, TrainError>,
) -> Result<Blend, TrainError> {
    let Some(about) = &header.blend else {
        return Err(stored.wrong("a blend without members", "those that it was trained of"));
    };
    let mut parts = Vec::new();
    for (member, about) in about.members.iter().enumerate().filter(|(_, about)| about.weight > 0.0) {
        let Kind::Items(model) = Kind::parse(about.config.model())? else {
            return Err(stored.wrong(format!("the member {}", about.config.model()), "an item model"));
        };
        let own = stored.within(&part_name(member));
        let parameters = item_parameters(&own, &*model, header.items, table)?;
        parts.push(BlendPart {
            member,
            model: model.into(),
            parameters: Arc::new(parameters),
            recency: if without_order { 0.0 } else { about.config.recency() },
            weight: about.weight,
        });
    }
    match parts.is_empty() {
        true => Err(stored.wrong("a blend without parts", "at least one member with a weight")),
        false => Ok(Blend { parts }),
    }
}

/// How many pairs of its user are later than each training pair, if the file says it.
fn later(stored: &Stored, train: &Choices) -> Result<Vec<u32>, TrainError> {
    if !stored.has(LATER) {
        return Ok(Vec::new());
    }
    let later: Vec<u32> = stored.numbers(LATER)?;
    let valid = later.len() == train.pairs()
        && (0..train.len())
            .all(|u| later[train.range(u)].iter().all(|&later| (later as usize) < train.range(u).len()));
    match valid {
        true => Ok(later),
        false => {
            Err(stored.wrong(format!("an invalid {LATER}"), "how many pairs of a user are later than each"))
        }
    }
}

fn no_baseline(model: &str) -> ParamError {
    ParamError::new(
        "the baseline",
        model,
        "a model in closed form: knn, ease or pop, with parameters as of --model",
    )
}

fn find(names: &Names, name: &str, what: &str, expected: &str) -> Result<u32, ParamError> {
    names.iter().position(|known| known == name).map(|at| at as u32).ok_or_else(|| {
        ParamError::new(what, name, &format!("{expected}{}", catalog::hint(name, names.iter())))
    })
}

/// All names in one text, and where each ends.
fn packed(names: &Names) -> (Vec<u8>, Vec<u8>) {
    let (mut text, mut ends) = (Vec::new(), Vec::new());
    for name in names.iter() {
        text.extend_from_slice(name.as_bytes());
        (text.len() as u64).put(&mut ends);
    }
    (text, ends)
}

fn unpacked(stored: &Stored, of: &str, count: usize) -> Result<Names, TrainError> {
    let damaged = || stored.wrong(format!("damaged names of {of}"), format!("{count} names"));
    let text = std::str::from_utf8(stored.bytes(&format!("{of}.names"))?).map_err(|_| damaged())?;
    let ends: Vec<u64> = stored.numbers(&format!("{of}.ends"))?;
    let mut names = Names::with_capacity(ends.len(), text.len());
    let mut start = 0;
    for end in ends {
        names.push(text.get(start..end as usize).ok_or_else(damaged)?);
        start = end as usize;
    }
    match names.len() == count {
        true => Ok(names),
        false => Err(damaged()),
    }
}

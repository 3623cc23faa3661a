/*!
Item models: all items are scored from the items of a history, so a user has no vector of its own.

```text
s(u, i) = Σ_{j in the history of u} w_uj f(j, i)      w: how much an interaction counts, for example by its age
```

What is learned belongs to the items alone: a new user, or one who has interacted with more items since, is scored without
training. A model is one file and one page, and an entry of [`ITEM_MODELS`].
*/

mod als;
mod ease;
mod gf_cf;
mod inverse;
mod knn;
mod low_rank;
mod pop;
mod sequence;
mod slim;
mod sparse;
mod spectrum;
#[cfg(test)]
mod tests;

use toprank_core::{Choices, Entry, ModelError, ParamError, Stream, catalog};
use toprank_onnx::{Graph, Value};

use crate::table::{Table, TableStorage};

/// What an item model has learned.
#[derive(Debug, Default, PartialEq)]
pub struct ItemParameters {
    /// Integers: where the weights of each item are and which items they belong to, for sparse models.
    pub numbers: Vec<u32>,
    /// Weights or vectors.
    pub values: Table,
}

/// What fitting in epochs keeps from one epoch to the next beside the parameters. It is in checkpoints, not in model files.
#[derive(Debug, Default, PartialEq)]
pub struct FitState {
    /// Epochs done; the caller counts.
    pub epoch: u64,
    /// Where random numbers come from.
    pub stream: Stream,
    /// The two moving averages of an optimiser, as long as what it moves; empty before the first epoch.
    pub moments: [Vec<f32>; 2],
    /// The step after which each row was last moved.
    pub last: Vec<u64>,
}

/// Scores all items from the items of a history. It has no state: what is learned is in [`ItemParameters`].
pub trait ItemModel: Send + Sync {
    /// True if it is fitted in epochs; false: in one step, in closed form.
    fn is_iterative(&self) -> bool {
        false
    }

    /// True if it reads the order of interactions in time ([`Choices::later`]) instead of weights by their age.
    fn reads_order(&self) -> bool {
        false
    }

    /// True if scores are logarithms of what is proportional to a probability; false: they are on the scale of interactions.
    fn scores_are_logits(&self) -> bool {
        false
    }

    /// Bytes that fitting takes at most beside the interactions.
    fn bytes(&self, users: usize, items: usize) -> u64;

    /// Estimated seconds of an epoch (of a closed form: of the fit) on one thread of the machine of `bench/README.md`. They decide which
    /// models a budget pays for, so another estimate changes what is trained.
    fn seconds(&self, choices: &Choices) -> f64;

    /// The parameters before the first epoch.
    fn start(&self, choices: &Choices, stream: Stream) -> ItemParameters;

    /// Fits one epoch, or all there is; the loss per user, or per interaction, if the model has one. Labels are the values of interactions.
    ///
    /// # Errors
    /// If the interactions cannot be fitted.
    fn fit(
        &self,
        choices: &Choices,
        parameters: &mut ItemParameters,
        state: &mut FitState,
    ) -> Result<Option<f64>, ModelError>;

    /// What is wrong with parameters that were read from a file, for this many items.
    ///
    /// # Errors
    /// If something is: what was found, what was expected.
    fn check(&self, items: usize, parameters: &ItemParameters) -> Result<(), ModelError>;

    /// Number of most recent items of a history that it reads.
    fn history_limit(&self) -> usize {
        usize::MAX
    }

    /// Appends to an ONNX graph the scores, `float[1, items]`, of all items for the history, `int64[length]`: item numbers from the first to
    /// the last, at most [`ItemModel::history_limit`] of them. `None`: the model has no such form.
    fn export(&self, _: &ItemParameters, _items: usize, _: &mut Graph, _history: &Value) -> Option<Value> {
        None
    }

    /// Scores of all items for some `users` of `histories`, user after user, overwritten, on this thread. The value of an interaction
    /// is its label times its weight.
    fn scores(&self, parameters: &ItemParameters, histories: &Choices, users: &[u32], scores: &mut [f32]);
}

/// An entry whose page is `pages/NAME.md` and whose module has `PARAMS` and `make`.
macro_rules! line {
    ($name:literal, $module:ident, $about:literal) => {
        Entry {
            name: $name,
            family: "item models",
            about: $about,
            page: include_str!(concat!("../pages/", $name, ".md")),
            params: $module::PARAMS,
            make: $module::make,
        }
    };
}

/// Every item model.
pub static ITEM_MODELS: &[Entry<dyn ItemModel>] = &[
    line!("ease", ease, "EASE: ridge regression of every item on all others, in closed form"),
    line!(
        "ease-low-rank",
        low_rank,
        "EASE from the greatest singular values: for catalogs whose square does not fit in memory"
    ),
    line!("slim", slim, "SLIM: every item from few others, by weights that are not negative and mostly 0"),
    line!(
        "gf-cf",
        gf_cf,
        "graph filter: a linear and an ideal low-pass filter over the graph of users and items"
    ),
    line!("knn", knn, "item-based nearest neighbours: cosines with shrinkage"),
    line!("als", als, "implicit ALS: squared loss over all pairs by alternating least squares"),
    line!("sequence", sequence, "causal self-attention over the items of a history in order (SASRec)"),
    line!("pop", pop, "popularity: how often an item was chosen, the same for everybody"),
];

/// The entry of a name.
pub fn find(name: &str) -> Option<&'static Entry<dyn ItemModel>> {
    ITEM_MODELS.iter().find(|line| line.name == name)
}

/// Reads an item model as users name it.
///
/// ```
/// assert!(toprank_embeddings::parse_item_model("ease:lambda=500").is_ok());
/// let error = toprank_embeddings::parse_item_model("ease:lambda=0").err().unwrap();
/// assert_eq!(error.to_string(), "lambda must be in (0, ∞), but is 0");
/// ```
///
/// # Errors
/// If there is no such model, or a parameter is outside its range.
pub fn parse(text: &str) -> Result<Box<dyn ItemModel>, ParamError> {
    Ok(catalog::make("model", ITEM_MODELS, text)?.1)
}

/// Refuses a model that would take more than half of the memory.
///
/// # Errors
/// If it would.
pub fn check_memory(model: &dyn ItemModel, name: &str, users: usize, items: usize) -> Result<(), ModelError> {
    let bytes = model.bytes(users, items);
    match TableStorage::fitting(bytes, std::path::Path::new("")) {
        TableStorage::Memory => Ok(()),
        TableStorage::Folder(_) => Err(too_large(name, bytes, items)),
    }
}

fn too_large(name: &str, bytes: u64, items: usize) -> ModelError {
    let gigabytes = bytes as f64 / 1e9;
    ModelError::new(
        format!("{name} on {items} items, which takes {gigabytes:.1} GB, more than half of the memory"),
        "a model whose memory does not grow with the square of the items: ease-low-rank, slim, als or knn; or fewer items",
    )
}

/// Sum over users of the squared length of their history.
pub(crate) fn squared_lengths(choices: &Choices) -> f64 {
    (0..choices.len()).map(|u| (choices.of(u).len() as f64).powi(2)).sum()
}

/// The users of each item, ascending, and the value of each of these pairs.
pub(crate) struct ByItem {
    offsets: Vec<usize>,
    users: Vec<u32>,
    values: Vec<f32>,
}

impl ByItem {
    pub fn of(choices: &Choices) -> ByItem {
        let mut offsets = vec![0usize; choices.item_count + 1];
        for &item in &choices.items {
            offsets[item as usize + 1] += 1;
        }
        for i in 0..choices.item_count {
            offsets[i + 1] += offsets[i];
        }
        let (mut next, pairs) = (offsets.clone(), choices.pairs());
        let (mut users, mut values) = (vec![0; pairs], vec![0.0; pairs]);
        for u in 0..choices.len() {
            for (&item, value) in choices.of(u).iter().zip(valued(choices, u)) {
                let place = &mut next[item as usize];
                (users[*place], values[*place]) = (u as u32, value);
                *place += 1;
            }
        }
        ByItem { offsets, users, values }
    }

    /// (user, value) of an item.
    pub fn of_item(&self, item: usize) -> impl Iterator<Item = (usize, f32)> {
        let range = self.offsets[item]..self.offsets[item + 1];
        self.users[range.clone()].iter().map(|&u| u as usize).zip(self.values[range].iter().copied())
    }
}

/// The values of a user's interactions: label times weight.
pub(crate) fn valued(choices: &Choices, user: usize) -> impl Iterator<Item = f32> {
    let weights = choices.weights_of(user);
    let labels = choices.labels_of(user).iter().enumerate();
    labels.map(move |(at, label)| label * weights.get(at).copied().unwrap_or(1.0))
}

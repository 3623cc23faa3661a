//! What an embedding model is.

use toprank_core::matrix::{View, product};
use toprank_core::{Block, Features, ModelError, Stream};

use toprank_onnx::{Graph, Value};

use crate::plan::Plan;

/// How many users and items there are, and what is known about them.
#[derive(Clone, Copy, Default)]
pub struct Shape<'a> {
    /// Users.
    pub users: usize,
    /// Items.
    pub items: usize,
    /// Features of users, one row each.
    pub user_features: Option<&'a dyn Features>,
    /// Features of items, one row each.
    pub item_features: Option<&'a dyn Features>,
}

/// A catalog entry with its parameters set, before it knows its data.
pub trait EmbeddingKind: Send + Sync {
    /// The model for these users and items.
    fn build(&self, shape: &Shape) -> Result<Box<dyn EmbeddingModel>, ModelError>;
}

/// The users of a batch, the items of each and their gathered rows: what a model reads in one step.
#[derive(Clone, Copy)]
pub struct BatchView<'a> {
    /// Which items each user is paired with.
    pub plan: &'a Plan,
    /// Rows of the plan's users, one after the other.
    pub users: &'a [f32],
    /// Rows of the plan's items.
    pub items: &'a [f32],
    /// Features, if the model was built with some.
    pub shape: Shape<'a>,
    /// All weights that are not in rows, block after block.
    pub weights: &'a [f32],
}

/// Intermediate results of [`EmbeddingModel::forward`] for [`EmbeddingModel::backward`]; grows, never shrinks.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    pub(crate) buffers: Vec<Vec<f32>>,
}

impl Tape {
    /// `lengths.len()` buffers of these lengths, with arbitrary contents.
    pub(crate) fn cut<const K: usize>(&mut self, lengths: [usize; K]) -> [&mut [f32]; K] {
        if self.buffers.len() < K {
            self.buffers.resize(K, Vec::new());
        }
        let mut buffers = self.buffers.iter_mut();
        lengths.map(|length| {
            let buffer = buffers.next().map(|buffer| {
                buffer.resize(length, 0.0);
                buffer.as_mut_slice()
            });
            buffer.unwrap_or_default()
        })
    }
}

/// Where gradients are written; every number is overwritten.
pub struct Slopes<'a> {
    /// Of the gathered rows of users.
    pub users: &'a mut [f32],
    /// Of the gathered rows of items.
    pub items: &'a mut [f32],
    /// Of the weights.
    pub weights: &'a mut [f32],
}

/// Scores users and items by their rows and some weights.
pub trait EmbeddingModel: Send + Sync {
    /// Numbers in the row of a user and of an item.
    fn widths(&self) -> [usize; 2];

    /// Weights beside the rows, block after block.
    fn blocks(&self) -> &[Block] {
        &[]
    }

    /// Initial rows of the users `first..` (side 0) or items (side 1).
    fn init_rows(&self, side: usize, first: u32, stream: Stream, rows: &mut [f32]);

    /// Initial weights.
    fn init_weights(&self, _stream: Stream, _weights: &mut [f32]) {}

    /// The score of every entry. `train`: the random numbers of dropout in this step; `None`: none.
    fn forward(&self, batch: &BatchView, train: Option<Stream>, tape: &mut Tape, scores: &mut [f64]);

    /// ∂loss/∂rows and ∂loss/∂weights from ∂loss/∂score of every entry; `tape` is that of `forward`.
    fn backward(&self, batch: &BatchView, tape: &mut Tape, dscore: &[f64], to: Slopes);

    /// Width of the precomputed vectors of a user and of an item, for scoring many pairs.
    fn ready_widths(&self) -> [usize; 2];

    /// Precomputes vectors of users (side 0) or items (side 1): `ids` are their numbers, `rows` their rows, a row of `ready` each.
    fn ready(
        &self,
        side: usize,
        shape: &Shape,
        weights: &[f32],
        ids: &[u32],
        rows: &[f32],
        ready: &mut [f32],
    );

    /// Appends to an ONNX graph the computation of the vectors of users (side 0) or items (side 1) `ids`: rows of
    /// [`Self::ready_widths`] numbers, whose dot product with the other side is the score. `table` holds all rows of that side,
    /// `features` those of `ids`. `None`: the score is not a dot product of one vector per side.
    fn export(
        &self,
        _side: usize,
        _table: &[f32],
        _weights: &[f32],
        _graph: &mut Graph,
        _ids: &Value,
        _features: Option<&Value>,
    ) -> Option<Value> {
        None
    }

    /// Appends to an ONNX graph the scores float[rows, 1] of pairs of the users and items `ids`, where they are no dot products.
    /// `tables` hold the rows of all users and of all items. `None`: see [`Self::export`].
    fn export_pairs(
        &self,
        _tables: [&[f32]; 2],
        _weights: &[f32],
        _graph: &mut Graph,
        _ids: [&Value; 2],
    ) -> Option<Value> {
        None
    }

    /// True if a score is the dot product of the precomputed vectors: then [`Self::all_scores`] is not called.
    fn is_product(&self) -> bool {
        true
    }

    /// Scores of every user with every item from their precomputed vectors, user after user, on this thread.
    fn all_scores(&self, _weights: &[f32], users: &[f32], items: &[f32], scores: &mut [f32]) {
        let width = self.ready_widths()[0];
        product(View::new(users, width), View::new(items, width).transposed(), scores, false);
    }
}

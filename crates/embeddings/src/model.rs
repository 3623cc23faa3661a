//! What a model of vectors is.

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

/// A line of the catalog with its parameters set, before it knows its data.
pub trait EmbeddingKind: Send + Sync {
    /// The model for these users and items.
    fn build(&self, shape: &Shape) -> Result<Box<dyn EmbeddingModel>, ModelError>;
}

/// Users of a batch and the items each of them meets, every row gathered once.
#[derive(Clone, Copy)]
pub struct Meeting<'a> {
    /// Who meets what.
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

/// Numbers that [`EmbeddingModel::forward`] leaves for [`EmbeddingModel::backward`]; grows, never shrinks.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    pub(crate) buffers: Vec<Vec<f32>>,
}

impl Tape {
    /// `lengths.len()` buffers of these lengths, with whatever they held.
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

/// Where ∂loss/∂… goes; every number is overwritten.
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

    /// Fresh rows of the users `first..` (side 0) or items (side 1).
    fn init_rows(&self, side: usize, first: u32, stream: Stream, rows: &mut [f32]);

    /// Fresh weights.
    fn init_weights(&self, _stream: Stream, _weights: &mut [f32]) {}

    /// The score of every entry. `train`: the random numbers of dropout in this step; `None`: none.
    fn forward(&self, meeting: &Meeting, train: Option<Stream>, tape: &mut Tape, scores: &mut [f64]);

    /// ∂loss/∂rows and ∂loss/∂weights from ∂loss/∂score of every entry; `tape` is what `forward` left.
    fn backward(&self, meeting: &Meeting, tape: &mut Tape, dscore: &[f64], to: Slopes);

    /// Numbers that make a user and an item ready to be scored against many.
    fn ready_widths(&self) -> [usize; 2];

    /// Makes users (side 0) or items (side 1) ready: `ids` are their numbers, `rows` their rows, a row of `ready` each.
    fn ready(
        &self,
        side: usize,
        shape: &Shape,
        weights: &[f32],
        ids: &[u32],
        rows: &[f32],
        ready: &mut [f32],
    );

    /// Says to an ONNX graph what makes users (side 0) or items (side 1) `ids` ready: rows of [`Self::ready_widths`]
    /// numbers, whose products with the other side's add up to the score. `table` holds all rows of that side, `features`
    /// those of `ids`. `None`: the sides are mixed, and neither is a vector by itself.
    fn say(
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

    /// True if a score is the product of a ready user and a ready item: then [`Self::all_scores`] is not asked for.
    fn is_product(&self) -> bool {
        true
    }

    /// Scores of every ready user with every ready item, user after user, on this thread.
    fn all_scores(&self, _weights: &[f32], users: &[f32], items: &[f32], scores: &mut [f32]) {
        let width = self.ready_widths()[0];
        product(View::new(users, width), View::new(items, width).transposed(), scores, false);
    }
}

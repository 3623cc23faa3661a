/*!
Models: what gives each item a score and learns from ∂loss/∂score.

A model is a function of **one flat slice of parameters** that the trainer owns. Optimisers, averaging, the model of
the step before, checkpoints and model files are therefore written once, over slices, for every kind of model. A model
never sees a label, an objective or a file.
*/

use std::fmt;

use crate::Stream;
use crate::graphs::{GraphShape, Graphs};

/// Rows of features, wherever they lie: in memory, in a mapped file, behind a transform.
pub trait Features: Send + Sync {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Numbers per row.
    fn width(&self) -> usize;

    /// Writes these rows one after the other into `out`, [`Features::width`] numbers each. Missing values are NaN.
    ///
    /// # Panics
    /// If a row does not exist or `out` has another length.
    fn gather(&self, rows: &[u32], out: &mut [f32]);

    /// Why some row gathered until now cannot be trusted; `None`: all can. Rows in a damaged part of a file read as
    /// missing, so whoever gathers asks here before anything is learned or written.
    fn fault(&self) -> Option<String> {
        None
    }

    /// Where items are graphs: all of them. A row then holds one number, that of its graph.
    fn graphs(&self) -> Option<&Graphs> {
        None
    }
}

/// What a model scores at once: rows of features, cut into lists.
#[derive(Clone, Copy)]
pub struct ModelInput<'a> {
    /// Where the features are.
    pub features: &'a dyn Features,
    /// The rows to score, list after list.
    pub rows: &'a [u32],
    /// List d is `rows[offsets[d]..offsets[d + 1]]`. A model that scores each row by itself does not look at them.
    pub offsets: &'a [usize],
}

/// A differentiable function of a flat slice of parameters.
pub trait Differentiable: Send + Sync {
    /// The parts of the parameter slice, in their order; their lengths add up to its length.
    fn blocks(&self) -> &[Block];

    /// Number of parameters.
    fn parameters(&self) -> usize {
        self.blocks().iter().map(Block::parameters).sum()
    }

    /// Features per row that it reads.
    fn width(&self) -> usize;

    /// Scores per row.
    fn outputs(&self) -> usize {
        1
    }

    /// True if the score of an item depends on the other items of its list: then a shard holds whole lists.
    fn couples_items(&self) -> bool {
        false
    }

    /// Rows below which a shard is not worth a graph of its own. Where a row is much work, few are enough.
    fn rows_worth_a_shard(&self) -> usize {
        192
    }

    /// Fresh parameters.
    fn init(&self, stream: Stream, parameters: &mut [f32]);

    /// Brings parameters back to where they mean something, after a step of an optimiser: weights of a walk must stay
    /// positive. Most models take any parameters.
    fn project(&self, _parameters: &mut [f32]) {}

    /// Scores of a shard, `outputs` numbers per row, and what is needed to learn from their gradient. `train`: the
    /// random numbers of dropout and noise in this step; `None`: none, as in prediction.
    fn forward<'a>(
        &'a self,
        parameters: &'a [f32],
        input: &ModelInput,
        train: Option<Stream>,
        scores: &mut [f64],
    ) -> Result<Box<dyn Backward + 'a>, ModelError>;

    /// Scores only, as in prediction.
    fn score(&self, parameters: &[f32], input: &ModelInput, scores: &mut [f64]) -> Result<(), ModelError>;
}

/// The way back from the scores of one shard to the parameters.
pub trait Backward: Send {
    /// Adds ∂loss/∂parameter to `gradient`, given ∂loss/∂score of every score of the shard. In blocks that hold
    /// statistics ([`Role::Statistic`]) it adds the shard's statistic times the shard's number of rows.
    fn backward(self: Box<Self>, dscore: &[f64], gradient: &mut [f32]) -> Result<(), ModelError>;
}

/// One part of the parameter slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its name in model files, for example `layers.0.weight`.
    pub name: String,
    /// Its shape; the last axis runs fastest.
    pub shape: Vec<usize>,
    /// What is done with it.
    pub role: Role,
    /// True if it belongs to the last layer, which starts afresh after a warm-up.
    pub last_layer: bool,
}

impl Block {
    /// Number of parameters in it.
    pub fn parameters(&self) -> usize {
        self.shape.iter().product()
    }
}

/// What is done with a block of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Learned, weight decay applies (matrices).
    Weight,
    /// Learned, without weight decay (biases, scales of norms).
    Offset,
    /// Not learned: a running mean of what the shards report (batch norm).
    Statistic,
}

/// A kind of model before it knows its data: a line of the catalog with its parameters set.
pub trait Architecture: Send + Sync {
    /// The model for rows of `width` features and `outputs` scores each.
    fn build(&self, width: usize, outputs: usize) -> Result<Box<dyn Differentiable>, ModelError>;

    /// The model for items that are graphs with these features; most models score rows of numbers only.
    fn build_for_graphs(
        &self,
        _shape: &GraphShape,
        _outputs: usize,
    ) -> Result<Box<dyn Differentiable>, ModelError> {
        Err(ModelError::new("a model of rows of numbers for items that are graphs", "--model gin"))
    }
}

/// Something a model cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// What is wrong.
    pub what: String,
    /// What was expected.
    pub expected: String,
}

impl ModelError {
    /// `what; expected …`.
    pub fn new(what: impl Into<String>, expected: impl Into<String>) -> ModelError {
        ModelError { what: what.into(), expected: expected.into() }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, expected {}", self.what, self.expected)
    }
}

impl std::error::Error for ModelError {}

/*!
Models: they score items and learn from ∂loss/∂score.

A model is a function of **one flat slice of parameters** that the trainer owns. Optimisers, averaging, the weights
of the previous step, checkpoints and model files are therefore implemented once, over slices, for every kind of model. A model
never sees a label, an objective or a file.
*/

use std::any::Any;
use std::fmt;

use crate::Stream;
use crate::graphs::{GraphShape, Graphs};

/// Rows of features, wherever they are: in memory, in a memory-mapped file, behind a transform.
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

    /// As [`Features::gather`], but only these columns, `columns.len()` numbers a row. Where rows are sparse, the cost does not
    /// depend on the number of the other columns.
    ///
    /// # Panics
    /// If a row or a column does not exist or `out` has another length.
    fn gather_part(&self, rows: &[u32], columns: std::ops::Range<usize>, out: &mut [f32]) {
        if columns == (0..self.width()) {
            return self.gather(rows, out);
        }
        let mut whole = vec![0.0; self.width()];
        for (row, out) in rows.iter().zip(out.chunks_exact_mut(columns.len().max(1))) {
            self.gather(std::slice::from_ref(row), &mut whole);
            out.copy_from_slice(&whole[columns.clone()]);
        }
    }

    /// Why some row that was gathered so far is invalid; `None`: all are valid. Rows in a damaged part of a file are read as
    /// missing values, so callers must check this before they use what they gathered.
    fn fault(&self) -> Option<String> {
        None
    }

    /// Compares the place that the features are read from with what it was when it was opened, at little cost: why it is
    /// not the same any more. Called after each epoch, since another process can write over a memory-mapped file.
    fn recheck(&self) -> Option<String> {
        self.fault()
    }

    /// All graphs, if items are graphs. A row then holds one number, that of its graph.
    fn graphs(&self) -> Option<&Graphs> {
        None
    }

    /// Hands bytes to `take` that are others if a value of any row is another, for fingerprints: the values themselves, or
    /// checksums of them where a file holds those.
    fn content(&self, take: &mut dyn FnMut(&[u8])) {
        const ROWS: usize = 256;
        let (rows, width) = (self.rows(), self.width());
        let mut values = Vec::new();
        for start in (0..rows).step_by(ROWS) {
            let some: Vec<u32> = (start..rows.min(start + ROWS)).map(|row| row as u32).collect();
            values.clear();
            values.resize(some.len() * width, 0.0);
            self.gather(&some, &mut values);
            take_f32s(&values, take);
        }
    }
}

/// Hands the bytes of numbers to `take`, some at a time: for [`Features::content`].
pub fn take_f32s(values: &[f32], take: &mut dyn FnMut(&[u8])) {
    const AT_ONCE: usize = 1 << 11;
    let mut bytes = Vec::with_capacity(4 * AT_ONCE);
    for values in values.chunks(AT_ONCE) {
        bytes.clear();
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        take(&bytes);
    }
}

/// The input of a model: rows of features, divided into lists.
#[derive(Clone, Copy)]
pub struct ModelInput<'a> {
    /// Where the features are.
    pub features: &'a dyn Features,
    /// The rows to score, list after list.
    pub rows: &'a [u32],
    /// List d is `rows[offsets[d]..offsets[d + 1]]`. A model that scores each row by itself ignores them.
    pub offsets: &'a [usize],
}

/// A differentiable function of a flat slice of parameters.
pub trait Differentiable: Send + Sync {
    /// The parts of the parameter slice, in order; their lengths sum to its length.
    fn blocks(&self) -> &[Block];

    /// Number of parameters.
    fn parameters(&self) -> usize {
        self.blocks().iter().map(Block::parameters).sum()
    }

    /// Number of features per row.
    fn width(&self) -> usize;

    /// Number of scores per row.
    fn outputs(&self) -> usize {
        1
    }

    /// True if the score of an item depends on the other items of its list: then a shard holds whole lists.
    fn couples_items(&self) -> bool {
        false
    }

    /// Initialises the parameters.
    fn init(&self, stream: Stream, parameters: &mut [f32]);

    /// Projects parameters onto the valid set after a step of an optimiser; for example the weights of a random walk must stay
    /// positive. For most models all parameters are valid.
    fn project(&self, _parameters: &mut [f32]) {}

    /// Scores of a shard, `outputs` numbers per row. What the backward pass needs is left in `tape`. `train`: the random numbers of
    /// dropout and noise in this step; `None`: none, as in prediction.
    fn forward(
        &self,
        parameters: &[f32],
        input: &ModelInput,
        train: Option<Stream>,
        tape: &mut Tape,
        scores: &mut [f64],
    ) -> Result<(), ModelError>;

    /// Adds ∂loss/∂parameter to `gradient`, given ∂loss/∂score of every score of the shard whose forward pass used `tape` last, with
    /// the same parameters. In blocks that hold statistics ([`Role::Statistic`]) it adds the shard's statistic times the shard's
    /// number of rows.
    fn backward(
        &self,
        parameters: &[f32],
        tape: &mut Tape,
        dscore: &[f64],
        gradient: &mut [f32],
    ) -> Result<(), ModelError>;

    /// Scores only, as in prediction. `tape` is memory to work in.
    fn score(
        &self,
        parameters: &[f32],
        input: &ModelInput,
        tape: &mut Tape,
        scores: &mut [f64],
    ) -> Result<(), ModelError>;
}

/// What a model keeps of a shard from its forward to its backward pass, and the memory it works in. A trainer has one tape for each
/// shard and uses it in every step, so that a model allocates in its first steps only.
///
/// ```
/// use toprank_core::Tape;
/// let mut tape = Tape::default();
/// tape.get::<Vec<f32>>().push(1.0);
/// assert_eq!(tape.get::<Vec<f32>>(), &[1.0]);
/// assert!(tape.get::<String>().is_empty(), "another model starts with an empty tape");
/// ```
#[derive(Default)]
pub struct Tape(Option<Box<dyn Any + Send>>);

impl Tape {
    /// The content; an empty one if a model that keeps another type used the tape before.
    // It does not panic: the type is right by then.
    #[allow(clippy::missing_panics_doc)]
    pub fn get<T: Any + Default + Send>(&mut self) -> &mut T {
        if !self.0.as_ref().is_some_and(|content| content.is::<T>()) {
            self.0 = Some(Box::new(T::default()));
        }
        self.0.as_mut().and_then(|content| content.downcast_mut()).expect("the type was compared just above")
    }
}

/// One part of the parameter slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its name in model files, for example `layers.0.weight`.
    pub name: String,
    /// Its shape; the last axis runs fastest.
    pub shape: Vec<usize>,
    /// How it is trained.
    pub role: Role,
    /// True if it belongs to the last layer, which is reinitialised after a warm-up.
    pub last_layer: bool,
}

impl Block {
    /// Number of parameters in it.
    pub fn parameters(&self) -> usize {
        self.shape.iter().product()
    }
}

/// How a block of parameters is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Learned, weight decay applies (matrices).
    Weight,
    /// Learned, without weight decay (biases, scales of norms).
    Offset,
    /// Not learned: a running mean of the statistics of the shards (batch norm).
    Statistic,
}

/// A kind of model before it knows its data: a catalog entry with its parameters set. Everything that depends on the
/// kind of model is asked here, so that a new kind is defined in one place.
pub trait Architecture: Send + Sync {
    /// The model for rows of `width` features and `outputs` scores each.
    ///
    /// # Errors
    /// If the model cannot read rows of features.
    fn build(&self, width: usize, outputs: usize) -> Result<Box<dyn Differentiable>, ModelError>;

    /// The model for items that are graphs with these features; most models score rows of features only.
    ///
    /// # Errors
    /// If the model cannot read graphs.
    fn build_for_graphs(
        &self,
        _shape: &GraphShape,
        _outputs: usize,
    ) -> Result<Box<dyn Differentiable>, ModelError> {
        Err(ModelError::new(
            "a model of feature rows for items that are graphs",
            "a graph network: --model gin",
        ))
    }

    /// Number of parameters of the model that [`Architecture::build`] makes, found without making it: a loader compares it with
    /// what a file holds before it takes memory. `None`: not known beforehand.
    fn parameters(&self, _width: usize, _outputs: usize) -> Option<u128> {
        None
    }

    /// The same of [`Architecture::build_for_graphs`].
    fn parameters_for_graphs(&self, _shape: &GraphShape, _outputs: usize) -> Option<u128> {
        None
    }

    /// How it is trained where the user sets nothing.
    fn defaults(&self) -> TrainingDefaults {
        TrainingDefaults::BASE
    }

    /// True if its items are graphs: it is then built by [`Architecture::build_for_graphs`], and features are neither
    /// transformed nor filled.
    fn reads_graphs(&self) -> bool {
        false
    }

    /// True if the score of an item depends on the other items of its list, as [`Differentiable::couples_items`] of the
    /// models it builds: batches then hold items of one list each, and exported models score one list per run.
    fn couples_items(&self) -> bool {
        false
    }
}

/// How a kind of model is trained where the user sets nothing. Strings are entries of their catalogs, as a user would
/// write them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainingDefaults {
    /// The optimiser.
    pub optimiser: &'static str,
    /// The learning rate.
    pub rate: f64,
    /// The learning-rate schedule.
    pub schedule: &'static str,
    /// What a batch is.
    pub sampler: &'static str,
    /// The maximum number of epochs.
    pub epochs: u32,
    /// The feature transforms; empty: none.
    pub transforms: &'static str,
    /// Early stopping: epochs without a better validation before training stops.
    pub patience: u32,
    /// The gradient-clipping norm; 0 disables it.
    pub clip: f64,
    /// The averaging of the parameters.
    pub average: &'static str,
    /// What differs on binary and multi-label data; `None`: nothing.
    pub labels: Option<LabelDefaults>,
}

/// Defaults on binary and multi-label data, where one list holds all rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelDefaults {
    /// The learning rate.
    pub rate: f64,
    /// The optimiser.
    pub optimiser: &'static str,
    /// The optimiser for pointwise and bilevel objectives, which give a gradient to fewer rows of a batch.
    pub sparse_optimiser: &'static str,
    /// The learning-rate schedule, where there are rows enough for an average of the parameters; so are those that follow.
    pub schedule: &'static str,
    /// The averaging of the parameters.
    pub average: &'static str,
    /// The feature transforms.
    pub transforms: &'static str,
    /// Parameters of the model and their values, where the user does not set them.
    pub parameters: &'static [(&'static str, &'static str)],
}

impl TrainingDefaults {
    /// The defaults of networks; a network that needs others names only what differs.
    pub const BASE: TrainingDefaults = TrainingDefaults {
        optimiser: "adam",
        rate: 0.003,
        schedule: "constant",
        sampler: "lists:batch=32",
        epochs: 100,
        transforms: "missing:to=mean,per-list:kind=minmax",
        patience: 20,
        clip: 10.0,
        average: "none",
        labels: None,
    };
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

//! A composition of layers as a function of one flat slice of parameters.

use toprank_core::stream::Random;
use toprank_core::{Block, Differentiable, ModelError, ModelInput, Role, Stream, Tape};
use toprank_onnx::{Graph, Value};

use crate::layers::{Chain, Layer, add_noise};
use crate::onnx::Inputs;
use crate::{Pass, checks, xavier_uniform};

/// Rows scored at once in prediction, so that hidden layers stay in the cache.
const ROWS_AT_ONCE: usize = 512;
/// Graphs scored at once in prediction: they have many nodes.
const GRAPHS_AT_ONCE: usize = 256;
/// The noise is the first layer that draws random numbers.
pub(crate) const NOISE: u32 = 1;

/// How the blocks of a network are initialised.
type Init = Box<dyn Fn(&Block, &mut Random, &mut [f32]) + Send + Sync>;

/// A network that the trainer can train: layers over rows of features, whose last outputs are the scores.
///
/// Blocks of two axes and more are [`Role::Weight`], others [`Role::Offset`], running statistics [`Role::Statistic`]. Offsets start at
/// 0, scales of norms and running variances at 1, matrices by [`xavier_uniform`] unless [`Network::initialised_by`] says otherwise.
///
/// ```
/// use toprank_core::{Differentiable, Stream};
/// use toprank_neural::layers::{Activation, Chain, Dense};
/// use toprank_neural::Network;
///
/// let body = Chain::new().then("hidden", Dense::new(5, 3)).activation(Activation::Tanh).dropout(0.1, 2);
/// let network = Network::new(body.then("output", Dense::new(3, 1)));
/// let names: Vec<&str> = network.blocks().iter().map(|block| block.name.as_str()).collect();
/// assert_eq!(names, ["hidden.weight", "hidden.bias", "output.weight", "output.bias"]);
/// assert_eq!(network.parameters(), 5 * 3 + 3 + 3 + 1);
/// ```
pub struct Network {
    body: Chain,
    blocks: Vec<Block>,
    init: Init,
    noise: f64,
    reads_graphs: bool,
}

/// What a shard leaves for its backward pass.
#[derive(Default)]
pub(crate) struct Shard {
    pub(crate) pass: Pass,
    /// The input rows.
    features: Vec<f32>,
    rows: usize,
}

impl Network {
    /// The network of these layers. The first layer reads features, the last one writes scores.
    pub fn new(body: Chain) -> Network {
        let mut blocks = body.blocks();
        let layer = |name: &str| name.rsplit_once('.').map_or(String::new(), |(layer, _)| layer.to_string());
        if let Some(last) = blocks.last().map(|block| layer(&block.name)) {
            for block in &mut blocks {
                block.last_layer = layer(&block.name) == last;
            }
        }
        let init = Box::new(|block: &Block, random: &mut Random, values: &mut [f32]| {
            if block.role == Role::Weight {
                xavier_uniform(block, random, values);
            }
        });
        Network { body, blocks, init, noise: 0.0, reads_graphs: false }
    }

    /// In training, normal numbers of this standard deviation are added to the features.
    #[must_use]
    pub fn with_noise(self, noise: f64) -> Network {
        Network { noise, ..self }
    }

    /// Items are graphs: each row holds the number of its graph.
    #[must_use]
    pub(crate) fn over_graphs(self) -> Network {
        Network { reads_graphs: true, ..self }
    }

    /// Initialises each block by `init`, which is given the default values.
    #[must_use]
    pub fn initialised_by(
        self,
        init: impl Fn(&Block, &mut Random, &mut [f32]) + Send + Sync + 'static,
    ) -> Network {
        Network { init: Box::new(init), ..self }
    }

    /// Appends the network, with these parameters, to an ONNX graph.
    pub(crate) fn export(&self, parameters: &[f32], graph: &mut Graph, inputs: &Inputs, x: &Value) -> Value {
        self.body.export(parameters, graph, inputs, x)
    }

    fn check(&self, parameters: &[f32], input: &ModelInput, scores: &[f64]) -> Result<(), ModelError> {
        checks::input(self, parameters, input, scores)?;
        if self.reads_graphs && input.features.graphs().is_none() {
            return Err(ModelError::new("rows without graphs", "items that are graphs"));
        }
        Ok(())
    }

    /// The scores of a shard. `records`: a backward pass follows.
    fn run(
        &self,
        parameters: &[f32],
        input: &ModelInput,
        train: Option<Stream>,
        records: bool,
        shard: &mut Shard,
        scores: &mut [f64],
    ) -> Result<(), ModelError> {
        let Shard { pass, features, rows } = shard;
        *rows = input.rows.len();
        features.resize(*rows * self.width(), 0.0);
        input.features.gather(input.rows, features);
        checks::features(self.width(), input.rows, features)?;
        pass.begin(input.offsets, train, records);
        if let Some(graphs) = input.features.graphs().filter(|_| self.reads_graphs) {
            pass.graphs.read(graphs, features)?;
        }
        if let Some(random) = pass.random(NOISE).filter(|_| self.noise > 0.0) {
            add_noise(features, self.noise, random);
        }
        let mut out = pass.take(scores.len());
        self.body.forward(parameters, features, &mut out, pass);
        scores.iter_mut().zip(&out).for_each(|(to, score)| *to = f64::from(*score));
        pass.give(out);
        Ok(())
    }
}

impl Differentiable for Network {
    fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    fn width(&self) -> usize {
        self.body.inputs()
    }

    fn outputs(&self) -> usize {
        self.body.outputs()
    }

    fn couples_items(&self) -> bool {
        self.body.couples_items()
    }

    fn init(&self, stream: Stream, parameters: &mut [f32]) {
        let mut rest = parameters;
        for (number, block) in self.blocks.iter().enumerate() {
            let (values, after) = rest.split_at_mut(block.parameters());
            let ones = matches!(block.name.rsplit('.').next(), Some("gamma" | "running_variance"));
            values.fill(if ones { 1.0 } else { 0.0 });
            (self.init)(block, &mut stream.of_list(number as u32).open(), values);
            rest = after;
        }
    }

    fn forward(
        &self,
        parameters: &[f32],
        input: &ModelInput,
        train: Option<Stream>,
        tape: &mut Tape,
        scores: &mut [f64],
    ) -> Result<(), ModelError> {
        self.check(parameters, input, scores)?;
        self.run(parameters, input, train, true, tape.get(), scores)
    }

    fn backward(
        &self,
        parameters: &[f32],
        tape: &mut Tape,
        dscore: &[f64],
        gradient: &mut [f32],
    ) -> Result<(), ModelError> {
        let Shard { pass, features, rows } = tape.get();
        checks::derivatives(self, *rows, parameters, dscore, gradient)?;
        let mut slopes = pass.take(dscore.len());
        slopes.iter_mut().zip(dscore).for_each(|(slope, d)| *slope = *d as f32);
        self.body.backward(parameters, features, &mut slopes, None, gradient, pass);
        pass.give(slopes);
        *rows = 0;
        Ok(())
    }

    fn score(
        &self,
        parameters: &[f32],
        input: &ModelInput,
        tape: &mut Tape,
        scores: &mut [f64],
    ) -> Result<(), ModelError> {
        self.check(parameters, input, scores)?;
        let shard = tape.get();
        if self.couples_items() {
            return self.run(parameters, input, None, false, shard, scores);
        }
        let at_once = if self.reads_graphs { GRAPHS_AT_ONCE } else { ROWS_AT_ONCE };
        let parts = scores.chunks_mut(at_once * self.outputs());
        for (rows, scores) in input.rows.chunks(at_once).zip(parts) {
            let offsets = [0, rows.len()];
            let input = ModelInput { rows, offsets: &offsets, ..*input };
            self.run(parameters, &input, None, false, shard, scores)?;
        }
        Ok(())
    }
}

//! A burn module as a function of one flat slice of parameters.

use burn::module::Module;
use burn::tensor::{DType, Device, Tensor, TensorData};
use toprank_core::stream::Random;
use toprank_core::{Block, Differentiable, ModelError, ModelInput, Role, Stream, Tape};

use super::forward_pass::ForwardPass;
use super::leaves::{Blocks, Collect, Fill};
use crate::{checks, xavier_uniform};

/// A burn module that scores rows. Implement this trait for your own module; [`ModuleNetwork::new`] makes it trainable.
///
/// Dropout, noise and batch norm come from [`ForwardPass`] and [`super::BatchNorm`], whose random numbers and statistics
/// belong to the step; burn's own layers of that kind are refused, since all threads share their random generator.
pub trait RankModule: Module + Sync + 'static {
    /// Scores [rows, outputs] of rows of features [rows, width]. Modules that couple the items of a list reshape any
    /// [rows, w] into [lists, longest, w] and back with [`ForwardPass::pad`] and [`ForwardPass::unpad`].
    fn forward(&self, rows: Tensor<2>, pass: &mut ForwardPass) -> Tensor<2>;

    /// True if the score of an item depends on the other items of its list.
    fn couples_items(&self) -> bool {
        false
    }

    /// Initialises one block. `values` holds the default: 1 for `gamma` and `running_variance`, 0 for `bias`, `beta` and
    /// `running_mean`, the values of the given module for other vectors. Matrices are initialised by [`xavier_uniform`]
    /// unless this method is overridden.
    fn init(&self, block: &Block, random: &mut Random, values: &mut [f32]) {
        if block.role == Role::Weight {
            xavier_uniform(block, random, values);
        }
    }
}

/// A burn module that the trainer can train: parameters in the order in which burn visits them, each shard with its own
/// leaves. Blocks of two axes and more are [`Role::Weight`], others [`Role::Offset`], `running_mean` and
/// `running_variance` [`Role::Statistic`]; the last layer is the one that is visited last.
///
/// ```
/// use toprank_core::{Differentiable, Stream};
/// use toprank_neural::own_module::burn::{self, module::Module, nn, tensor::{Device, Tensor}};
/// use toprank_neural::own_module::{ForwardPass, ModuleNetwork, RankModule};
///
/// #[derive(Module, Debug)]
/// struct Mine {
///     hidden: nn::Linear,
///     output: nn::Linear,
/// }
///
/// impl RankModule for Mine {
///     fn forward(&self, rows: Tensor<2>, pass: &mut ForwardPass) -> Tensor<2> {
///         let hidden = self.hidden.forward(rows).tanh();
///         self.output.forward(pass.dropout(hidden, 0.1))
///     }
/// }
///
/// let device = Device::flex();
/// let linear = |inputs, outputs| nn::LinearConfig::new(inputs, outputs).init(&device);
/// let module = Mine { hidden: linear(5, 3), output: linear(3, 1) };
/// let network = ModuleNetwork::new(module, 5, 1).unwrap();
/// let names: Vec<&str> = network.blocks().iter().map(|block| block.name.as_str()).collect();
/// assert_eq!(names, ["hidden.weight", "hidden.bias", "output.weight", "output.bias"]);
/// assert_eq!(network.parameters(), 5 * 3 + 3 + 3 + 1);
/// ```
pub struct ModuleNetwork<M> {
    module: M,
    blocks: Vec<Block>,
    start: Vec<f32>,
    width: usize,
    outputs: usize,
    /// The type of the graph; f32 except in tests that compare with finite differences.
    dtype: DType,
}

impl<M: RankModule> ModuleNetwork<M> {
    /// `module` for rows of `width` features and `outputs` scores each. Its present values do not matter, except for
    /// vectors that are neither bias nor scale.
    pub fn new(module: M, width: usize, outputs: usize) -> Result<ModuleNetwork<M>, ModelError> {
        let Blocks { list: blocks, values, flags, .. } = Blocks::of(&module);
        if let Some(layer) = flags.first() {
            return Err(ModelError::new(
                format!(
                    "{layer} of the module belongs to a layer of burn whose state or random numbers all threads share"
                ),
                "ForwardPass::dropout, ForwardPass::noise or BatchNorm of toprank_neural::own_module instead",
            ));
        }
        for (size, what) in [(width, "features"), (outputs, "outputs")] {
            if size == 0 {
                return Err(ModelError::new(format!("a network without {what}"), "at least 1"));
            }
        }
        let mut start = Vec::new();
        for (block, own) in blocks.iter().zip(values) {
            let constant = match block.name.rsplit('.').next() {
                Some("gamma" | "running_variance") => Some(1.0),
                Some("bias" | "beta" | "running_mean") => Some(0.0),
                _ => None,
            };
            start.extend(own.into_iter().map(|value| constant.unwrap_or(value)));
        }
        Ok(ModuleNetwork { module, blocks, start, width, outputs, dtype: DType::F32 })
    }

    /// The same with the graph in f64, for comparison with central differences.
    #[cfg(test)]
    pub(super) fn in_f64(self) -> ModuleNetwork<M> {
        ModuleNetwork { dtype: DType::F64, ..self }
    }

    /// The module with its own leaves, and the scores of a shard.
    fn run<'i>(
        &self,
        parameters: &[f32],
        input: &ModelInput<'i>,
        train: Option<Stream>,
        device: &Device,
        scores: &mut [f64],
    ) -> Result<(M, Tensor<2>, ForwardPass<'i>), ModelError> {
        let rows = input.rows.len();
        let mut features = vec![0.0; rows * self.width];
        input.features.gather(input.rows, &mut features);
        checks::features(self.width, input.rows, &features)?;
        let x = Tensor::from_data(TensorData::new(features, [rows, self.width]), (device, self.dtype));
        let mut fill = Fill { rest: parameters, blocks: self.blocks.iter(), device, dtype: self.dtype };
        let module = self.module.clone().map(&mut fill);
        let mut pass = ForwardPass::new(input.offsets, train, device.clone(), self.dtype);
        let out = module.forward(x, &mut pass);
        if out.dims() != [rows, self.outputs] {
            let found = format!("scores of shape {:?} from the module", out.dims());
            return Err(ModelError::new(found, format!("[rows, outputs] = {:?}", [rows, self.outputs])));
        }
        scores.iter_mut().zip(out.to_data().iter::<f64>()).for_each(|(to, score)| *to = score);
        Ok((module, out, pass))
    }
}

impl<M: RankModule> Differentiable for ModuleNetwork<M> {
    fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    fn width(&self) -> usize {
        self.width
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn couples_items(&self) -> bool {
        self.module.couples_items()
    }

    fn init(&self, stream: Stream, parameters: &mut [f32]) {
        parameters.copy_from_slice(&self.start);
        let mut rest = parameters;
        for (number, block) in self.blocks.iter().enumerate() {
            let (values, after) = rest.split_at_mut(block.parameters());
            self.module.init(block, &mut stream.of_list(number as u32).open(), values);
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
        let recorded: &mut Recorded<M> = tape.get();
        *recorded = Recorded::default();
        checks::input(self, parameters, input, scores)?;
        if !input.rows.is_empty() {
            let device = Device::flex().autodiff();
            let (module, out, pass) = self.run(parameters, input, train, &device, scores)?;
            recorded.0 = Some(Graph { module, scores: out, statistics: pass.statistics });
        }
        Ok(())
    }

    fn backward(
        &self,
        parameters: &[f32],
        tape: &mut Tape,
        dscore: &[f64],
        gradient: &mut [f32],
    ) -> Result<(), ModelError> {
        let graph = tape.get::<Recorded<M>>().0.take();
        let rows = graph.as_ref().map_or(0, |graph| graph.scores.dims()[0]);
        checks::derivatives(self, rows, parameters, dscore, gradient)?;
        let Some(Graph { module, scores, statistics }) = graph else { return Ok(()) };
        let options = (&scores.device(), scores.dtype());
        let dscore = Tensor::from_data(TensorData::new(dscore.to_vec(), [rows, self.outputs]), options);
        let gradients = (scores * dscore).sum().backward();
        module.visit(&mut Collect { rest: gradient, gradients, statistics, rows });
        Ok(())
    }

    fn score(
        &self,
        parameters: &[f32],
        input: &ModelInput,
        _: &mut Tape,
        scores: &mut [f64],
    ) -> Result<(), ModelError> {
        checks::input(self, parameters, input, scores)?;
        if !input.rows.is_empty() {
            self.run(parameters, input, None, &Device::flex(), scores)?;
        }
        Ok(())
    }
}

/// What a forward pass leaves in the tape: burn's graph; `None` for a shard without rows.
struct Recorded<M>(Option<Graph<M>>);

impl<M> Default for Recorded<M> {
    fn default() -> Recorded<M> {
        Recorded(None)
    }
}

/// The recorded operations from the leaves of one shard to its scores.
struct Graph<M> {
    module: M,
    scores: Tensor<2>,
    statistics: Vec<(burn::module::ParamId, Vec<f32>)>,
}

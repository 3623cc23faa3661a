//! Between the flat parameter slice and a burn module: its blocks, its leaves and their gradients, in the order in which burn
//! visits them.

use burn::module::{Flag, Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{DType, Device, Gradients, Tensor, TensorData};
use toprank_core::{Block, Role};

/// The blocks of a module and its present values.
#[derive(Default)]
pub(super) struct Blocks {
    path: Vec<String>,
    pub list: Vec<Block>,
    pub values: Vec<Vec<f32>>,
    /// Layers with a training state of burn.
    pub flags: Vec<String>,
}

impl Blocks {
    pub(super) fn of(module: &impl Module) -> Blocks {
        let mut blocks = Blocks::default();
        module.visit(&mut blocks);
        let layer = |name: &str| name.rsplit_once('.').map_or(String::new(), |(layer, _)| layer.to_string());
        if let Some(last) = blocks.list.last().map(|block| layer(&block.name)) {
            blocks.list.iter_mut().for_each(|block| block.last_layer = layer(&block.name) == last);
        }
        blocks
    }
}

impl ModuleVisitor for Blocks {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let role = match self.path.last().map(String::as_str) {
            Some("running_mean" | "running_variance") => Role::Statistic,
            _ if D >= 2 => Role::Weight,
            _ => Role::Offset,
        };
        let tensor = param.val();
        let shape = tensor.dims().to_vec();
        self.list.push(Block { name: self.path.join("."), shape, role, last_layer: false });
        self.values.push(floats(tensor));
    }

    fn visit_flag(&mut self, _: &Param<Flag>) {
        self.flags.push(self.path.join("."));
    }
}

/// Fills a clone of the module with its own leaves.
pub(super) struct Fill<'a> {
    pub rest: &'a [f32],
    pub blocks: std::slice::Iter<'a, Block>,
    pub device: &'a Device,
    pub dtype: DType,
}

impl ModuleMapper for Fill<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let block = self.blocks.next().expect("a module does not change its parameters");
        let (values, rest) = self.rest.split_at(block.parameters());
        self.rest = rest;
        let data = TensorData::new(values.to_vec(), block.shape.clone());
        let tensor = Tensor::from_data(data, (self.device, self.dtype));
        let learned = self.device.is_autodiff() && block.role != Role::Statistic;
        Param::initialized(param.id, if learned { tensor.require_grad() } else { tensor })
    }
}

/// Adds the gradients of a module's leaves, and the statistics it reported, to the flat slice.
pub(super) struct Collect<'a> {
    pub rest: &'a mut [f32],
    pub gradients: Gradients,
    pub statistics: Vec<(ParamId, Vec<f32>)>,
    pub rows: usize,
}

impl ModuleVisitor for Collect<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        let (here, rest) = std::mem::take(&mut self.rest).split_at_mut(tensor.shape().num_elements());
        self.rest = rest;
        if let Some(gradient) = tensor.grad_remove(&mut self.gradients) {
            let gradient = gradient.into_data().convert::<f32>();
            add(here, gradient.as_slice::<f32>().unwrap_or_default(), 1.0);
        }
        if let Some((_, statistic)) = self.statistics.iter().find(|(id, _)| *id == param.id) {
            add(here, statistic, self.rows as f32);
        }
    }
}

fn add(to: &mut [f32], values: &[f32], times: f32) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += value * times);
}

/// The numbers of a tensor, the last axis fastest.
pub(super) fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().convert::<f32>().try_to_vec::<f32>().unwrap_or_default()
}

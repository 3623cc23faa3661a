//! Layers one after the other, and layers whose output is added to their input.

use toprank_core::Block;
use toprank_onnx::{Graph, Value};

use super::{Activation, Dropout, InPlace, Layer, Slopes};
use crate::Pass;
use crate::kernels::add;
use crate::onnx::Inputs;

/// Layers one after the other. It begins with a layer that is not in place; if it ends with one in place, that one does not
/// read its output in the backward pass.
#[derive(Default)]
pub struct Chain {
    parts: Vec<Part>,
}

enum Part {
    Layer { name: String, layer: Box<dyn Layer>, parameters: usize },
    InPlace(Box<dyn InPlace>),
}

impl Chain {
    /// A chain without layers.
    pub fn new() -> Chain {
        Chain::default()
    }

    /// Appends a layer; its parameters are called `name.…`.
    ///
    /// # Panics
    /// If the layer before has another number of outputs than this one has inputs.
    #[must_use]
    pub fn then(mut self, name: impl Into<String>, layer: impl Layer + 'static) -> Chain {
        if let Some(before) = self.last() {
            let found = before.outputs();
            assert_eq!(found, layer.inputs(), "outputs of a layer and inputs of the one after it");
        }
        let parameters = layer.blocks().iter().map(Block::parameters).sum();
        self.parts.push(Part::Layer { name: name.into(), layer: Box::new(layer), parameters });
        self
    }

    /// Appends an activation.
    #[must_use]
    pub fn activation(self, activation: Activation) -> Chain {
        match activation.in_place() {
            true => self.in_place(activation),
            false => {
                let width = self.last().map_or(0, Layer::outputs);
                self.then("", activation.layer(width))
            }
        }
    }

    /// Appends dropout, nothing where the rate is 0. `number` tells the random numbers of the layers of a network apart.
    #[must_use]
    pub fn dropout(self, rate: f64, number: u32) -> Chain {
        let dropout = Dropout::new(rate, number);
        if dropout.drops() { self.in_place(dropout) } else { self }
    }

    fn in_place(mut self, function: impl InPlace + 'static) -> Chain {
        assert!(!self.parts.is_empty(), "the first layer of a chain cannot overwrite its input");
        self.parts.push(Part::InPlace(Box::new(function)));
        self
    }

    fn last(&self) -> Option<&dyn Layer> {
        self.parts.iter().rev().find_map(Part::layer)
    }

    fn first(&self) -> Option<&dyn Layer> {
        self.parts.iter().find_map(Part::layer)
    }
}

impl Part {
    fn layer(&self) -> Option<&dyn Layer> {
        match self {
            Part::Layer { layer, .. } => Some(&**layer),
            Part::InPlace(_) => None,
        }
    }

    fn parameters(&self) -> usize {
        match self {
            Part::Layer { parameters, .. } => *parameters,
            Part::InPlace(_) => 0,
        }
    }
}

/// Gives back a buffer that there may be.
fn give(pass: &mut Pass, buffer: Option<Vec<f32>>) {
    if let Some(buffer) = buffer {
        pass.give(buffer);
    }
}

impl Layer for Chain {
    fn inputs(&self) -> usize {
        self.first().map_or(0, Layer::inputs)
    }

    fn outputs(&self) -> usize {
        self.last().map_or(0, Layer::outputs)
    }

    fn output_rows(&self, rows: usize, pass: &Pass) -> usize {
        self.parts.iter().filter_map(Part::layer).fold(rows, |rows, layer| layer.output_rows(rows, pass))
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        for part in &self.parts {
            if let Part::Layer { name, layer, .. } = part {
                let named = |inner: String| if name.is_empty() { inner } else { format!("{name}.{inner}") };
                blocks.extend(layer.blocks().into_iter().map(|b| Block { name: named(b.name), ..b }));
            }
        }
        blocks
    }

    fn couples_items(&self) -> bool {
        self.parts.iter().filter_map(Part::layer).any(Layer::couples_items)
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut [f32], pass: &mut Pass) {
        let mut layers_left = self.parts.iter().filter(|part| part.layer().is_some()).count();
        let (mut rest, mut rows) = (parameters, x.len() / self.inputs());
        // The output of the layer before; `None`: there was no layer yet.
        let mut before: Option<Vec<f32>> = None;
        for part in &self.parts {
            match part {
                Part::InPlace(function) if layers_left == 0 => function.forward(y, pass),
                Part::InPlace(function) => {
                    function.forward(before.as_mut().expect("a layer came before"), pass);
                }
                Part::Layer { layer, parameters, .. } => {
                    let (own, after) = rest.split_at(*parameters);
                    (rest, layers_left) = (after, layers_left - 1);
                    rows = layer.output_rows(rows, pass);
                    let input = before.as_deref().unwrap_or(x);
                    if layers_left == 0 {
                        layer.forward(own, input, y, pass);
                    } else {
                        let mut output = pass.take(rows * layer.outputs());
                        layer.forward(own, input, &mut output, pass);
                        if let Some(before) = before.replace(output) {
                            pass.keep(before);
                        }
                    }
                }
            }
        }
        if let Some(before) = before {
            pass.keep(before);
        }
    }

    fn backward(
        &self,
        parameters: &[f32],
        x: &[f32],
        dy: &mut [f32],
        mut dx: Option<Slopes>,
        gradient: &mut [f32],
        pass: &mut Pass,
    ) {
        let mut layers_left = self.parts.iter().filter(|part| part.layer().is_some()).count();
        let (mut end, mut at_end) = (parameters.len(), true);
        // ∂loss/∂output of the part at hand, and that output; `None`: those of the whole chain.
        let (mut slopes, mut output): (Option<Vec<f32>>, Option<Vec<f32>>) = (None, None);
        for part in self.parts.iter().rev() {
            let down = slopes.as_deref_mut().unwrap_or(&mut *dy);
            match part {
                Part::InPlace(function) => {
                    debug_assert!(!(at_end && function.reads_output()), "the output of a chain is not kept");
                    function.backward(output.as_deref().unwrap_or_default(), down, pass);
                }
                Part::Layer { layer, .. } => {
                    let own = end - part.parameters()..end;
                    (end, at_end, layers_left) = (own.start, false, layers_left - 1);
                    let (weights, to) = (&parameters[own.clone()], &mut gradient[own]);
                    give(pass, output.take());
                    if layers_left == 0 {
                        layer.backward(weights, x, down, dx.take(), to, pass);
                    } else {
                        let input = pass.kept();
                        let mut next = pass.take(input.len());
                        let slopes_to = Some(Slopes { to: &mut next, add: false });
                        layer.backward(weights, &input, down, slopes_to, to, pass);
                        give(pass, slopes.replace(next));
                        output = Some(input);
                    }
                }
            }
        }
        give(pass, slopes);
        give(pass, output);
    }

    fn export(&self, parameters: &[f32], graph: &mut Graph, inputs: &Inputs, x: &Value) -> Value {
        let (mut rest, mut x) = (parameters, x.clone());
        for part in &self.parts {
            x = match part {
                Part::InPlace(function) => function.export(graph, &x),
                Part::Layer { layer, parameters, .. } => {
                    let (own, after) = rest.split_at(*parameters);
                    rest = after;
                    layer.export(own, graph, inputs, &x)
                }
            };
        }
        x
    }
}

/// `y = x + f(x)`.
pub struct Residual<L>(pub L);

impl<L: Layer> Layer for Residual<L> {
    fn inputs(&self) -> usize {
        self.0.inputs()
    }

    fn outputs(&self) -> usize {
        self.0.outputs()
    }

    fn blocks(&self) -> Vec<Block> {
        self.0.blocks()
    }

    fn couples_items(&self) -> bool {
        self.0.couples_items()
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut [f32], pass: &mut Pass) {
        self.0.forward(parameters, x, y, pass);
        add(y, x);
    }

    fn backward(
        &self,
        parameters: &[f32],
        x: &[f32],
        dy: &mut [f32],
        dx: Option<Slopes>,
        gradient: &mut [f32],
        pass: &mut Pass,
    ) {
        // The slopes of the sum's other part, before `f` overwrites them.
        let dx = dx.map(|Slopes { to, add: adds }| {
            match adds {
                true => add(to, dy),
                false => to.copy_from_slice(dy),
            }
            Slopes { to, add: true }
        });
        self.0.backward(parameters, x, dy, dx, gradient, pass);
    }

    fn export(&self, parameters: &[f32], graph: &mut Graph, inputs: &Inputs, x: &Value) -> Value {
        let y = self.0.export(parameters, graph, inputs, x);
        graph.node("Add", &[x, &y], &[])
    }
}

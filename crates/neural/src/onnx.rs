/*!
How is a network exported to ONNX? By the computation of prediction: without noise and dropout.

```text
rows: float[rows, width]  →  the network, in single precision as here  →  double[rows, outputs], its output activation in double precision
```

A network that couples the items of a list is exported for one list per run: the rows are the items of that list.
*/

use toprank_core::{Block, Differentiable, ModelError};
use toprank_onnx::{Attribute, Graph, Kind, Value};

use crate::Activation;
use crate::networks::exporter;
use crate::squash::Output;

/// A network that may have an ONNX form. The default is none.
pub(crate) trait ExportOnnx {
    /// Appends the network to the graph, up to its last layer; `None` if it has no ONNX form.
    fn export(&self, _weights: &Weights, _graph: &mut Graph, _rows: &Value) -> Option<Value> {
        None
    }

    /// The activation of the output.
    fn output(&self) -> Output {
        Output::Linear
    }
}

/// Parameters by the names of their blocks.
pub(crate) struct Weights<'a> {
    blocks: &'a [Block],
    parameters: &'a [f32],
}

impl<'a> Weights<'a> {
    /// # Panics
    /// If the network has no such block: an error in its `export`.
    pub(crate) fn of(&self, name: &str) -> &'a [f32] {
        let at = self.blocks.iter().position(|block| block.name == name);
        let at = at.unwrap_or_else(|| panic!("no block {name} among {:?}", self.blocks));
        let start: usize = self.blocks[..at].iter().map(Block::parameters).sum();
        &self.parameters[start..start + self.blocks[at].parameters()]
    }

    /// A linear layer, with a bias if it has one.
    pub(crate) fn linear(&self, graph: &mut Graph, layer: &str, x: &Value) -> Value {
        let weight = self.of(&format!("{layer}.weight"));
        let bias = format!("{layer}.bias");
        match self.blocks.iter().any(|block| block.name == bias) {
            true => graph.linear(x, weight, self.of(&bias)),
            false => {
                let shape = self.blocks.iter().find(|block| block.name == format!("{layer}.weight"));
                graph.matrix(x, weight, shape.and_then(|block| block.shape.last()).copied().unwrap_or(1))
            }
        }
    }

    pub(crate) fn layer_norm(&self, graph: &mut Graph, layer: &str, x: &Value) -> Value {
        let (gamma, beta) = (self.of(&format!("{layer}.gamma")), self.of(&format!("{layer}.beta")));
        let (scale, offset) = (graph.floats(&[gamma.len()], gamma), graph.floats(&[beta.len()], beta));
        let attributes = [Attribute::Int("axis", -1), Attribute::Float("epsilon", 1e-5)];
        graph.node("LayerNormalization", &[x, &scale, &offset], &attributes)
    }

    /// With its running statistics: one factor and one offset per column.
    pub(crate) fn batch_norm(&self, graph: &mut Graph, layer: &str, x: &Value) -> Value {
        let of = |part: &str| self.of(&format!("{layer}.{part}"));
        let (gamma, beta, mean, variance) =
            (of("gamma"), of("beta"), of("running_mean"), of("running_variance"));
        let factors: Vec<f64> = gamma
            .iter()
            .zip(variance)
            .map(|(gamma, variance)| {
                f64::from(*gamma) / (f64::from(*variance) + crate::layers::EPSILON).sqrt()
            })
            .collect();
        let offsets: Vec<f32> =
            (0..beta.len()).map(|i| (f64::from(beta[i]) - f64::from(mean[i]) * factors[i]) as f32).collect();
        let factors: Vec<f32> = factors.iter().map(|factor| *factor as f32).collect();
        let (factor, offset) =
            (graph.floats(&[factors.len()], &factors), graph.floats(&[offsets.len()], &offsets));
        let scaled = graph.node("Mul", &[x, &factor], &[]);
        graph.node("Add", &[&scaled, &offset], &[])
    }
}

/// The activation between two layers.
pub(crate) fn activation(graph: &mut Graph, activation: Activation, x: &Value) -> Value {
    let (operator, attributes): (_, &[Attribute]) = match activation {
        Activation::Relu => ("Relu", &[]),
        Activation::LeakyRelu => ("LeakyRelu", &[Attribute::Float("alpha", 0.01)]),
        Activation::Elu => ("Elu", &[Attribute::Float("alpha", 1.0)]),
        Activation::Gelu => ("Gelu", &[]),
        Activation::Tanh => ("Tanh", &[]),
        Activation::Sigmoid => ("Sigmoid", &[]),
        Activation::Silu => {
            let gate = graph.node("Sigmoid", &[x], &[]);
            return graph.node("Mul", &[x, &gate], &[]);
        }
    };
    graph.node(operator, &[x], attributes)
}

/// Appends the network that `text` names, with these parameters, to a graph and returns the scores of `rows` in double
/// precision.
///
/// ```
/// use toprank_core::Stream;
/// use toprank_onnx::{Array, Graph, Kind, Program};
/// let network = toprank_neural::parse("mlp:hidden=3").unwrap().build(2, 1).unwrap();
/// let mut parameters = vec![0.0; network.parameters()];
/// network.init(Stream::new(1, "init"), &mut parameters);
///
/// let mut graph = Graph::default();
/// let rows = graph.input("features", Kind::Float, &[None, Some(2)]);
/// let scores = toprank_neural::onnx::export("mlp:hidden=3", &*network, &parameters, &mut graph, &rows).unwrap();
/// graph.output("scores", &scores, Kind::Double, &[None, Some(1)]);
/// let program = Program::read(&graph.write("a perceptron", &[])).unwrap();
/// assert_eq!(program.run(&[("features", Array::new(&[1, 2], vec![0.0, 0.0]))]).unwrap()["scores"].values, [0.0]);
/// ```
///
/// # Errors
/// If the model has no ONNX form, or `text` names no network.
pub fn export(
    text: &str,
    network: &dyn Differentiable,
    parameters: &[f32],
    graph: &mut Graph,
    rows: &Value,
) -> Result<Value, ModelError> {
    let model = exporter(text).map_err(|error| ModelError::new(error.found, error.expected))?;
    let weights = Weights { blocks: network.blocks(), parameters };
    let Some(raw) = model.export(&weights, graph, rows) else {
        return Err(ModelError::new(format!("{text}, which has no ONNX form"), "another network"));
    };
    let scores = graph.cast(&raw, Kind::Double);
    Ok(match model.output() {
        Output::Linear => scores,
        Output::Sigmoid => graph.node("Sigmoid", &[&scores], &[]),
        Output::Tanh => graph.node("Tanh", &[&scores], &[]),
    })
}

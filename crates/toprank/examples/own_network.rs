//! A network of your own: compose layers, write one of your own if you need it, and every objective trains it.
//!
//! ```text
//! cargo run -p toprank --example own_network
//! ```
//!
//! The labels of these generated lists come from the product of two features, which no linear model can see. The
//! network multiplies two linear maps of the features; ListNet teaches it.

use toprank::core::{Block, Differentiable, Lists, Policy, Stream};
use toprank::data::Matrix;
use toprank::metrics::{Measure, evaluate};
use toprank::neural::layers::{Chain, Dense, Layer, Slopes};
use toprank::neural::onnx::Inputs;
use toprank::neural::{Network, Pass};
use toprank::objectives::{Draws, Goal};
use toprank::onnx::{Graph, Value};
use toprank::train::fit::engine::{At, Engine, Examples, Into, Task, score};
use toprank::train::{OptimiserStep, fit::optimiser, fit::sampler};

/// Number of features.
pub const WIDTH: usize = 5;
const STEPS: u64 = 150;

/// score = w · dropout((A x) ⊙ (B x)).
pub fn network() -> Network {
    let products = Chain::new().then("products", Products::new(WIDTH, 8)).dropout(0.1, 2);
    Network::new(products.then("output", Dense::new(8, 1)))
}

/// A layer of one's own: y = (A x) ⊙ (B x), where A and B are dense layers.
struct Products {
    left: Dense,
    right: Dense,
}

impl Products {
    fn new(inputs: usize, outputs: usize) -> Products {
        Products { left: Dense::new(inputs, outputs), right: Dense::new(inputs, outputs) }
    }
}

impl Layer for Products {
    fn inputs(&self) -> usize {
        self.left.inputs()
    }

    fn outputs(&self) -> usize {
        self.left.outputs()
    }

    fn blocks(&self) -> Vec<Block> {
        let named = |name: &str, layer: &Dense| {
            let blocks = layer.blocks().into_iter();
            blocks.map(|block| Block { name: format!("{name}.{}", block.name), ..block }).collect::<Vec<_>>()
        };
        [named("left", &self.left), named("right", &self.right)].concat()
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut [f32], pass: &mut Pass) {
        let (left, right) = parameters.split_at(parameters.len() / 2);
        let (mut a, mut b) = (pass.take(y.len()), pass.take(y.len()));
        self.left.forward(left, x, &mut a, pass);
        self.right.forward(right, x, &mut b, pass);
        y.iter_mut().zip(a.iter().zip(&b)).for_each(|(y, (a, b))| *y = a * b);
        pass.keep(a);
        pass.keep(b);
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
        let (left, right) = parameters.split_at(parameters.len() / 2);
        let (to_left, to_right) = gradient.split_at_mut(parameters.len() / 2);
        // In the reverse order of `keep`. ∂loss/∂a = ∂loss/∂y · b, ∂loss/∂b = ∂loss/∂y · a.
        let (mut b, mut a) = (pass.kept(), pass.kept());
        for ((a, b), dy) in a.iter_mut().zip(&mut b).zip(dy) {
            (*a, *b) = (*dy * *b, *dy * *a);
        }
        self.left.backward(left, x, &mut a, dx.as_mut().map(Slopes::lend), to_left, pass);
        self.right.backward(right, x, &mut b, dx, to_right, pass);
        pass.give(a);
        pass.give(b);
    }

    fn export(&self, parameters: &[f32], graph: &mut Graph, inputs: &Inputs, x: &Value) -> Value {
        let (left, right) = parameters.split_at(parameters.len() / 2);
        let a = self.left.export(left, graph, inputs, x);
        let b = self.right.export(right, graph, inputs, x);
        graph.node("Mul", &[&a, &b], &[])
    }
}

/// Lists of 20 items: the five with the largest x₀ x₁ have label 1.
fn lists(count: usize) -> (Lists, Matrix) {
    let mut random = Stream::new(1, "own network").open();
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let rows: Vec<[f32; WIDTH]> =
            (0..20).map(|_| std::array::from_fn(|_| 2.0 * random.unit() as f32 - 1.0)).collect();
        let mut products: Vec<f32> = rows.iter().map(|x| x[0] * x[1]).collect();
        labels.extend(rows.iter().map(|x| x[0] * x[1]));
        products.sort_by(f32::total_cmp);
        let list = labels.len() - 20..;
        labels[list].iter_mut().for_each(|label| *label = f32::from(*label >= products[15]));
        values.extend(rows.concat());
    }
    (Lists::from_lengths(&vec![20; count], labels), Matrix::Dense { width: WIDTH, values })
}

/// NDCG@5 before and after training.
pub fn train(network: &dyn Differentiable) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let (lists, features) = lists(200);
    let examples = Examples { lists: &lists, features: &features };
    let mut parameters = vec![0.0; network.parameters()];
    network.init(Stream::new(1, "init"), &mut parameters);

    let policy = Policy::default();
    let measures = Measure::parse_all("ndcg@5", &policy)?;
    let ndcg = |parameters: &[f32]| -> Result<f64, Box<dyn std::error::Error>> {
        let scores = score(network, parameters, examples)?;
        Ok(evaluate(&lists, &scores, &measures)?.results[0].mean.unwrap_or(f64::NAN))
    };
    let before = ndcg(&parameters)?;

    let goal = Goal::parse("listnet", &policy)?;
    let mut state = goal.state(&lists)?;
    let mut sampler = sampler::parse("lists:batch=32")?.1.open(&lists, &policy, 1)?;
    let mut adam = optimiser::parse("adam")?.1.open(parameters.len());
    let (mut engine, mut draws) = (Engine::new(1), Draws::default());
    let mut gradient = vec![0.0; parameters.len()];
    for step in 0..STEPS {
        sampler.draw(step, &mut draws);
        let at = At { parameters: &parameters, previous: None };
        let into = Into { gradient: &mut gradient, previous: None };
        let stream = Stream::new(1, "step").at_step(step);
        engine.gradient(
            Task { model: network, goal: &goal, examples },
            at,
            &mut state,
            &draws,
            stream,
            into,
        )?;
        let step = OptimiserStep { number: step, rate: 0.02, decayed: &[] };
        adam.step(&step, &mut parameters, &gradient, None);
    }
    Ok((before, ndcg(&parameters)?))
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (before, after) = train(&network())?;
    println!("NDCG@5 {before:.3} before, {after:.3} after {STEPS} steps");
    Ok(())
}

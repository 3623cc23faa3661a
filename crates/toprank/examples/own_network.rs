//! A network of your own: write it as a burn module that scores rows, and every objective trains it.
//!
//! ```text
//! cargo run -p toprank --example own_network
//! ```
//!
//! The labels of these generated lists come from the product of two features, which no linear model can see. The
//! network multiplies two linear maps of the features; ListNet teaches it.

use toprank::core::{Differentiable, Lists, Policy, Stream};
use toprank::data::Matrix;
use toprank::metrics::{Measure, evaluate};
use toprank::neural::burn::module::Module;
use toprank::neural::burn::nn::{Linear, LinearConfig};
use toprank::neural::burn::tensor::{Device, Tensor};
// The derive of burn asks for this name.
use toprank::neural::burn;
use toprank::neural::{ForwardPass, Network, RankModule};
use toprank::objectives::{Draws, Goal};
use toprank::train::fit::engine::{At, Engine, Examples, Into, Task, score};
use toprank::train::{OptimiserStep, fit::optimiser, fit::sampler};

const WIDTH: usize = 5;
const STEPS: u64 = 150;

/// score = w · dropout((A x) ⊙ (B x)).
#[derive(Module, Debug)]
struct Products {
    left: Linear,
    right: Linear,
    /// Visited last, so this is the last layer.
    output: Linear,
}

impl Products {
    fn new(products: usize) -> Products {
        // Values come from the parameter slice; the device only says where the shapes are kept.
        let linear = |inputs, outputs| LinearConfig::new(inputs, outputs).init(&Device::flex());
        Products {
            left: linear(WIDTH, products),
            right: linear(WIDTH, products),
            output: linear(products, 1),
        }
    }
}

impl RankModule for Products {
    fn forward(&self, rows: Tensor<2>, pass: &mut ForwardPass) -> Tensor<2> {
        let products = self.left.forward(rows.clone()) * self.right.forward(rows);
        self.output.forward(pass.dropout(products, 0.1))
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
pub fn train() -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let (lists, features) = lists(200);
    let examples = Examples { lists: &lists, features: &features };
    let network = Network::new(Products::new(8), WIDTH, 1)?;
    let mut parameters = vec![0.0; network.parameters()];
    network.init(Stream::new(1, "init"), &mut parameters);

    let policy = Policy::default();
    let measures = Measure::parse_all("ndcg@5", &policy)?;
    let ndcg = |parameters: &[f32]| -> Result<f64, Box<dyn std::error::Error>> {
        let scores = score(&network, parameters, examples)?;
        Ok(evaluate(&lists, &scores, &measures)?.results[0].mean.unwrap_or(f64::NAN))
    };
    let before = ndcg(&parameters)?;

    let goal = Goal::parse("listnet", &policy)?;
    let mut state = goal.state(&lists)?;
    let mut sampler = sampler::parse("lists:batch=32")?.1.open(&lists, &policy, 1)?;
    let mut adam = optimiser::parse("adam")?.1.open(parameters.len());
    let (mut engine, mut draws) = (Engine::default(), Draws::default());
    let mut gradient = vec![0.0; parameters.len()];
    for step in 0..STEPS {
        sampler.draw(step, &mut draws);
        let at = At { parameters: &parameters, previous: None };
        let into = Into { gradient: &mut gradient, previous: None };
        let stream = Stream::new(1, "step").at_step(step);
        engine.gradient(
            Task { model: &network, goal: &goal, examples },
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
    let (before, after) = train()?;
    println!("NDCG@5 {before:.3} before, {after:.3} after {STEPS} steps");
    Ok(())
}

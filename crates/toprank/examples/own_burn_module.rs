//! A [burn](https://burn.dev) module of your own: let it score rows, and every objective trains it. The data and the training are
//! those of `own_network.rs`.
//!
//! ```text
//! cargo run -p toprank --features burn --example own_burn_module
//! ```

use toprank::core::Differentiable;
use toprank::neural::own_module::burn::module::Module;
use toprank::neural::own_module::burn::nn::{Linear, LinearConfig};
use toprank::neural::own_module::burn::tensor::{Device, Tensor};
// The derive of burn asks for this name.
use toprank::neural::own_module::burn;
use toprank::neural::own_module::{ForwardPass, ModuleNetwork, RankModule};

#[allow(dead_code, reason = "its network and its main function are not used here")]
#[path = "own_network.rs"]
mod own_network;

/// score = w · dropout((A x) ⊙ (B x)).
#[derive(Module, Debug)]
struct Products {
    left: Linear,
    right: Linear,
    /// Visited last, so this is the last layer.
    output: Linear,
}

impl Products {
    fn new(inputs: usize, products: usize) -> Products {
        // Values come from the parameter slice; the device only says where the shapes are kept.
        let linear = |inputs, outputs| LinearConfig::new(inputs, outputs).init(&Device::flex());
        Products {
            left: linear(inputs, products),
            right: linear(inputs, products),
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

/// NDCG@5 before and after training.
pub fn train() -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let network = ModuleNetwork::new(Products::new(own_network::WIDTH, 8), own_network::WIDTH, 1)?;
    assert_eq!(network.parameters(), own_network::network().parameters(), "the same layers");
    own_network::train(&network)
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (before, after) = train()?;
    println!("NDCG@5 {before:.3} before, {after:.3} after training");
    Ok(())
}

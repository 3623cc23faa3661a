//! Dropout and noise, with random numbers of the step.

use toprank_core::stream::Random;
use toprank_onnx::{Graph, Value};

use super::InPlace;
use crate::Pass;

/// In training: each number is set to 0 with probability `rate` (rounded to a multiple of 2⁻¹⁶), otherwise divided by 1 − rate.
///
/// Source: Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov, "Dropout: a simple way to prevent neural networks from
/// overfitting", Journal of Machine Learning Research 15, 2014.
///
/// The mask is not kept: the backward pass draws the same numbers again.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    /// How many of 2¹⁶ equally likely numbers mean that a number is dropped.
    dropped: u32,
    number: u32,
}

impl Dropout {
    /// `number` tells the random numbers of the layers of a network apart.
    ///
    /// # Panics
    /// If `rate` is not in [0, 1).
    pub fn new(rate: f64, number: u32) -> Dropout {
        assert!((0.0..1.0).contains(&rate), "dropout must be in [0, 1), but is {rate}");
        Dropout { dropped: (rate * 65_536.0).round().min(65_535.0) as u32, number }
    }

    /// False if no number is ever dropped.
    pub(crate) fn drops(self) -> bool {
        self.dropped > 0
    }

    fn multiply(self, values: &mut [f32], pass: &Pass) {
        if let Some(random) = pass.random(self.number).filter(|_| self.drops()) {
            self.multiply_by(random, values);
        }
    }

    /// Multiplies by the mask of these random numbers.
    pub(crate) fn multiply_by(self, mut random: Random, values: &mut [f32]) {
        let kept = 65_536.0 / (65_536 - self.dropped) as f32;
        for four in values.chunks_mut(4) {
            let bits = random.bits();
            for (k, value) in four.iter_mut().enumerate() {
                let draw = (bits >> (16 * k)) as u32 & 0xffff;
                *value *= if draw < self.dropped { 0.0 } else { kept };
            }
        }
    }
}

impl InPlace for Dropout {
    fn forward(&self, x: &mut [f32], pass: &mut Pass) {
        self.multiply(x, pass);
    }

    fn backward(&self, _: &[f32], dy: &mut [f32], pass: &mut Pass) {
        self.multiply(dy, pass);
    }

    fn reads_output(&self) -> bool {
        false
    }

    fn export(&self, _: &mut Graph, x: &Value) -> Value {
        x.clone()
    }
}

/// Adds independent normal numbers of standard deviation `sd`.
///
/// Source: Box, Muller, "A note on the generation of random normal deviates", Annals of Mathematical Statistics 29, 1958.
pub(crate) fn add_noise(to: &mut [f32], sd: f64, mut random: Random) {
    for two in to.chunks_mut(2) {
        let bits = random.bits();
        // Halves of 2⁻³² keep the logarithm away from 0.
        let [u, v] =
            [bits as u32, (bits >> 32) as u32].map(|k: u32| (k as f32 + 0.5) * (1.0 / 4_294_967_296.0));
        let radius = sd as f32 * (-2.0 * u.ln()).sqrt();
        let (sin, cos) = (std::f32::consts::TAU * v).sin_cos();
        for (value, turn) in two.iter_mut().zip([cos, sin]) {
            *value += radius * turn;
        }
    }
}

//! Periodic embeddings of numerical features.

// A function that is not inlined into a vectorised one is compiled without its instructions.
#![allow(clippy::inline_always)]

use toprank_core::stream::Random;
use toprank_core::{Block, Role, vectorised};
use toprank_onnx::{Attribute, Graph, Kind, Value};

use super::{Layer, Slopes};
use crate::Pass;
use crate::kernels::sum;
use crate::onnx::Inputs;

/// Waves per feature.
const WAVES: usize = 16;
/// Combinations of the waves per feature, beside the feature itself.
const MIXES: usize = 3;
/// Numbers per feature after the embedding.
pub(crate) const EMBEDDED: usize = MIXES + 1;

/// Periodic embeddings: feature x becomes x and three learned combinations of sixteen waves, each feature with its own numbers.
///
/// ```text
/// c_k = cos 2π(f_k x + φ_k),  k = 1 … 16
/// y_d = Σ_k w_dk c_k + b_d,   d = 1 … 3
/// ```
///
/// A row of the output holds y₁ of every feature, then y₂ and y₃, then the features.
///
/// Source: the PBLD embeddings of Holzmüller, Grinsztajn, Steinwart, "Better by default: Strong pre-tuned MLPs and boosted trees on
/// tabular data", NeurIPS 2024, after Gorishniy, Rubachev, Babenko, "On embeddings for numerical features in tabular deep learning",
/// NeurIPS 2022.
#[derive(Clone, Copy, Debug)]
pub struct PeriodicEmbedding {
    features: usize,
}

impl PeriodicEmbedding {
    /// For rows of so many features.
    pub fn new(features: usize) -> PeriodicEmbedding {
        PeriodicEmbedding { features }
    }

    /// Initialises one of its blocks: f_k normal with the standard deviation `frequency`, φ_k uniform over a whole wave, w_dk uniform
    /// on ±1/4, b_d at 0. False: the block is not one of these.
    pub(crate) fn init(block: &Block, frequency: f64, random: &mut Random, values: &mut [f32]) -> bool {
        match block.name.rsplit('.').next() {
            Some("frequency") => super::add_noise(values, frequency, random.clone()),
            Some("phase") => values.iter_mut().for_each(|value| *value = (random.unit() - 0.5) as f32),
            Some("mix") => {
                let bound = 1.0 / (WAVES as f64).sqrt();
                for value in values {
                    *value = (bound * (2.0 * random.unit() - 1.0)) as f32;
                }
            }
            _ => return false,
        }
        true
    }

    /// Where phases, weights and offsets begin among the parameters.
    fn cuts(self) -> [usize; 3] {
        let waves = self.features * WAVES;
        [waves, 2 * waves, (2 + MIXES) * waves]
    }
}

/// Number of parameters of a [`PeriodicEmbedding`].
pub(crate) fn periodic_size(features: usize) -> u128 {
    ((2 + MIXES) * WAVES + MIXES) as u128 * features as u128
}

/// cos 2πt with an absolute error below 10⁻⁷ for |t| up to 1, without a branch; t is rounded for larger ones.
#[inline(always)]
fn wave(t: f32) -> f32 {
    // cos 2πr = sin 2πs with s in ±1/4: its Taylor polynomial in 2πs ends with an error of (π/2)¹³/13! < 6·10⁻⁸.
    let s = 0.25 - (t - t.round_ties_even()).abs();
    let z = s * std::f32::consts::TAU;
    let square = z * z;
    let mut p = -2.505_210_8e-8;
    for c in [2.755_731_9e-6, -1.984_127e-4, 8.333_333e-3, -0.166_666_67, 1.0] {
        p = p * square + c;
    }
    p * z
}

vectorised! {
    fn embed(features: usize, parameters: &[f32], cuts: [usize; 3], x: &[f32], y: &mut [f32]) {
        let [phase, mix, offset] = cuts;
        for (x, y) in x.chunks_exact(features).zip(y.chunks_exact_mut(features * EMBEDDED)) {
            for (feature, &value) in x.iter().enumerate() {
                let of = |start: usize| &parameters[start + feature * WAVES..][..WAVES];
                let (f, phi) = (of(0), of(phase));
                let mut waves = [0.0; WAVES];
                for k in 0..WAVES {
                    waves[k] = wave(f[k] * value + phi[k]);
                }
                for d in 0..MIXES {
                    let w = of(mix + d * features * WAVES);
                    y[d * features + feature] =
                        sum(WAVES, |k| w[k] * waves[k]) + parameters[offset + d * features + feature];
                }
            }
            y[MIXES * features..].copy_from_slice(x);
        }
    }
}

vectorised! {
    /// The waves are computed again: that is cheaper than to keep them. `dx`: empty where nothing asks for it.
    fn embed_back(
        features: usize, parameters: &[f32], cuts: [usize; 3], given: [&[f32]; 2], dx: &mut [f32], add: bool, gradient: &mut [f32]
    ) {
        let ([phase, mix, offset], [x, dy]) = (cuts, given);
        let rows = x.chunks_exact(features).zip(dy.chunks_exact(features * EMBEDDED));
        for (row, (x, dy)) in rows.enumerate() {
            for (feature, &value) in x.iter().enumerate() {
                let at = |start: usize| start + feature * WAVES;
                let (f, phi) = (&parameters[at(0)..][..WAVES], &parameters[at(phase)..][..WAVES]);
                let mut waves = [0.0; WAVES];
                for k in 0..WAVES {
                    waves[k] = wave(f[k] * value + phi[k]);
                }
                let mut slopes = [0.0; WAVES];
                for d in 0..MIXES {
                    let slope = dy[d * features + feature];
                    let start = at(mix + d * features * WAVES);
                    let (w, dw) = (&parameters[start..][..WAVES], &mut gradient[start..][..WAVES]);
                    for k in 0..WAVES {
                        slopes[k] += slope * w[k];
                        dw[k] += slope * waves[k];
                    }
                    gradient[offset + d * features + feature] += slope;
                }
                for k in 0..WAVES {
                    // −sin 2πt = cos 2π(t + 1/4)
                    slopes[k] *= std::f32::consts::TAU * wave(f[k] * value + phi[k] + 0.25);
                }
                let (df, dphi) = gradient[..mix].split_at_mut(phase);
                let (df, dphi) = (&mut df[at(0)..][..WAVES], &mut dphi[at(0)..][..WAVES]);
                for k in 0..WAVES {
                    df[k] += slopes[k] * value;
                    dphi[k] += slopes[k];
                }
                if !dx.is_empty() {
                    let to = &mut dx[row * features + feature];
                    let slope = dy[MIXES * features + feature] + sum(WAVES, |k| slopes[k] * f[k]);
                    *to = if add { *to + slope } else { slope };
                }
            }
        }
    }
}

impl Layer for PeriodicEmbedding {
    fn inputs(&self) -> usize {
        self.features
    }

    fn outputs(&self) -> usize {
        self.features * EMBEDDED
    }

    /// Weight decay would flatten the waves: it is for the combinations only.
    fn blocks(&self) -> Vec<Block> {
        let block = |name: &str, shape: &[usize], role| Block {
            name: name.into(),
            shape: shape.to_vec(),
            role,
            last_layer: false,
        };
        vec![
            block("frequency", &[self.features, WAVES], Role::Offset),
            block("phase", &[self.features, WAVES], Role::Offset),
            block("mix", &[MIXES, self.features, WAVES], Role::Weight),
            block("bias", &[MIXES, self.features], Role::Offset),
        ]
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut [f32], _: &mut Pass) {
        embed(self.features, parameters, self.cuts(), x, y);
    }

    fn backward(
        &self,
        parameters: &[f32],
        x: &[f32],
        dy: &mut [f32],
        dx: Option<Slopes>,
        gradient: &mut [f32],
        _: &mut Pass,
    ) {
        let (to, add) = match dx {
            Some(Slopes { to, add }) => (to, add),
            None => (&mut [][..], false),
        };
        embed_back(self.features, parameters, self.cuts(), [x, dy], to, add, gradient);
    }

    fn export(&self, parameters: &[f32], graph: &mut Graph, _: &Inputs, x: &Value) -> Value {
        let [phase, mix, offset] = self.cuts();
        let repeated: Vec<i64> =
            (0..self.features).flat_map(|feature| std::iter::repeat_n(feature as i64, WAVES)).collect();
        let repeated = graph.ints(&repeated);
        let [f, phi] =
            [0..phase, phase..mix].map(|of| graph.floats(&[self.features * WAVES], &parameters[of]));
        let values = graph.node("Gather", &[x, &repeated], &[Attribute::Int("axis", 1)]);
        let turns = graph.node("Mul", &[&values, &f], &[]);
        let turns = graph.node("Add", &[&turns, &phi], &[]);
        let turns = graph.cast(&turns, Kind::Double);
        let tau = graph.doubles(&[1], &[std::f64::consts::TAU]);
        let angles = graph.node("Mul", &[&turns, &tau], &[]);
        let waves = graph.node("Cos", &[&angles], &[]);
        let waves = graph.cast(&waves, Kind::Float);
        let (by_feature, by_row) = (graph.ints(&[-1, WAVES as i64]), graph.ints(&[-1, self.features as i64]));
        let axis = graph.ints(&[1]);
        let mut parts: Vec<Value> = Vec::with_capacity(EMBEDDED);
        for d in 0..MIXES {
            let weights = &parameters[mix + d * phase..][..phase];
            let weights = graph.floats(&[weights.len()], weights);
            let offsets = &parameters[offset + d * self.features..][..self.features];
            let offsets = graph.floats(&[offsets.len()], offsets);
            let weighted = graph.node("Mul", &[&waves, &weights], &[]);
            let weighted = graph.node("Reshape", &[&weighted, &by_feature], &[]);
            let mixed = graph.node("ReduceSum", &[&weighted, &axis], &[Attribute::Int("keepdims", 1)]);
            let mixed = graph.node("Reshape", &[&mixed, &by_row], &[]);
            parts.push(graph.node("Add", &[&mixed, &offsets], &[]));
        }
        parts.push(x.clone());
        let parts: Vec<&Value> = parts.iter().collect();
        graph.node("Concat", &parts, &[Attribute::Int("axis", 1)])
    }
}

#[cfg(test)]
mod tests {
    use super::wave;

    #[test]
    fn a_wave_is_exact_to_six_digits() {
        for k in -30_000..=30_000 {
            let t = k as f32 / 10_000.0;
            let exact = (std::f64::consts::TAU * f64::from(t)).cos();
            assert!((f64::from(wave(t)) - exact).abs() < 5e-7, "{t}: {} {exact}", wave(t));
        }
        assert!(wave(f32::NAN).is_nan() && wave(f32::INFINITY).is_nan());
    }
}

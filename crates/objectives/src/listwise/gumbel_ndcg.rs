#![doc = include_str!("../pages/gumbel-ndcg.md")]

use toprank_core::{Param, ParamError, Spec};

use super::approx_ndcg::TEMPERATURE;
use super::measure::shares;
use super::noise::gumbel;
use crate::kernels::smooth_ranks::Worth;
use crate::objective::{Input, Needs, Objective, Out};
use crate::params::GAIN;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "samples",
        default: "8",
        range: "an integer from 1 to 1000",
        about: "number of perturbed score vectors that are averaged",
    },
    Param { name: "beta", default: "1", range: "in [0, ∞)", about: "scale of the noise" },
    TEMPERATURE,
    GAIN,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "gumbel-ndcg:samples=2",
    "gumbel-ndcg:beta=0.3",
    "gumbel-ndcg:temperature=0.1",
    "gumbel-ndcg:gain=linear",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(GumbelNdcg {
        samples: spec.args.count("samples", 8, 1000)?,
        beta: spec.args.not_negative("beta", 1.0)?,
        temperature: spec.args.positive("temperature", 1.0)?,
    }))
}

/// Gumbel-ApproxNDCG; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct GumbelNdcg {
    samples: usize,
    beta: f64,
    temperature: f64,
}

impl Objective for GumbelNdcg {
    fn needs(&self) -> Needs {
        Needs { random: true, ..Needs::default() }
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let n = input.list.scores.len();
        let [parts, x] = work.floats.cut([n, n]);
        shares(input, usize::MAX, parts, &mut work.kernel.gains)?;
        let ranks = &mut work.kernel.smooth_ranks;
        ranks.anchor(parts.iter().copied());
        let mut random = input.stream.open();
        let scale = 1.0 / self.samples as f64;
        let mut measure = 0.0;
        for _ in 0..self.samples {
            for (x, s) in x.iter_mut().zip(input.list.scores) {
                *x = s + self.beta * gumbel(&mut random);
            }
            let hessian = out.hessian.as_deref_mut();
            measure += ranks.measure(x, Worth::Logarithm, self.temperature, scale, out.gradient, hessian);
        }
        Some(1.0 - scale * measure)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy, Stream};

    use super::gumbel;
    use crate::Goal;

    fn of(text: &str, list: &List) -> (f64, Vec<f64>) {
        Goal::parse(text, &Policy::default()).unwrap().of_list(list).unwrap()
    }

    #[test]
    fn it_is_the_mean_of_approx_ndcg_over_perturbed_scores() {
        let (scores, labels) = ([0.3, -0.2, 0.9], [1.0, 2.0, 0.0]);
        let (loss, gradient) =
            of("gumbel-ndcg:samples=2:beta=0.5:temperature=0.3", &List::new(&scores, &labels));
        let mut random = Stream::new(0, "objective").of_list(0).open();
        let (mut mean, mut slopes) = (0.0, [0.0; 3]);
        for _ in 0..2 {
            let perturbed = scores.map(|s| s + 0.5 * gumbel(&mut random));
            let (loss, gradient) = of("approx-ndcg:temperature=0.3", &List::new(&perturbed, &labels));
            mean += 0.5 * loss;
            (0..3).for_each(|j| slopes[j] += 0.5 * gradient[j]);
        }
        assert!((loss - mean).abs() < 1e-15);
        assert!(gradient.iter().zip(slopes).all(|(g, s)| (g - s).abs() < 1e-15), "{gradient:?} {slopes:?}");
    }

    #[test]
    fn without_noise_it_is_approx_ndcg() {
        let list = List::new(&[0.3, -0.2, 0.9], &[1.0, 2.0, 0.0]);
        let ((a, _), (b, _)) = (of("gumbel-ndcg:beta=0", &list), of("approx-ndcg", &list));
        assert!((a - b).abs() < 1e-15);
    }
}

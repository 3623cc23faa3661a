#![doc = include_str!("../pages/neural-ndcg-stochastic.md")]

use toprank_core::{Param, ParamError, Spec};

use super::measure::shares;
use super::neural_ndcg::{ITERATIONS, Relaxed, TEMPERATURE, TOLERANCE};
use super::noise::gumbel;
use crate::kernels::neural_sort::{Stop, Task};
use crate::objective::{Input, Needs, Objective, Out};
use crate::params::{CUT, GAIN};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    CUT,
    Param {
        name: "samples",
        default: "32",
        range: "an integer from 1 to 1000",
        about: "number of perturbed score vectors that are averaged",
    },
    Param { name: "beta", default: "0.1", range: "in [0, ∞)", about: "scale of the noise" },
    Param {
        name: "floor",
        default: "1e-10",
        range: "in [1e-100, ∞)",
        about: "added to the difference from the lowest score before the logarithm",
    },
    TEMPERATURE,
    ITERATIONS,
    TOLERANCE,
    GAIN,
];
// Few samples, to keep the tests fast; the other parameters have a test below or in `neural-ndcg`.
pub(crate) const EXAMPLES: &[&str] = &[
    "neural-ndcg-stochastic:samples=2",
    "neural-ndcg-stochastic:samples=2:beta=0.5:floor=0.1",
    "neural-ndcg-stochastic@3:samples=2:temperature=2:iterations=5:tolerance=0.01:gain=linear",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(Stochastic {
        relaxed: Relaxed::read(spec)?,
        samples: spec.args.count("samples", 32, 1000)?,
        beta: spec.args.not_negative("beta", 0.1)?,
        floor: spec.args.number("floor", 1e-10, "in [1e-100, ∞)", |x| x >= 1e-100 && x.is_finite())?,
    }))
}

/// Stochastic NeuralNDCG; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Stochastic {
    relaxed: Relaxed,
    samples: usize,
    beta: f64,
    floor: f64,
}

impl Objective for Stochastic {
    fn needs(&self) -> Needs {
        Needs { random: true, ..Needs::default() }
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let s = input.list.scores;
        let n = s.len();
        let curves = if out.hessian.is_some() { n } else { 0 };
        let [parts, noise, x, slope, curve] = work.floats.cut([n, n, n, n, curves]);
        shares(input, self.relaxed.places, parts, &mut work.kernel.gains)?;
        let sort = &mut work.kernel.neural_sort;
        let mut random = input.stream.open();
        let mut measure = 0.0;
        for _ in 0..self.samples {
            noise.fill_with(|| self.beta * gumbel(&mut random));
            let mut task = |scores: &[f64], then: &mut dyn FnMut(Task)| {
                let low = lowest(scores);
                for (x, (s, noise)) in x.iter_mut().zip(scores.iter().zip(noise.iter())) {
                    *x = (s - low + self.floor).ln() + noise;
                }
                let (temperature, places) = (self.relaxed.temperature, self.relaxed.places);
                then(Task { scores: x, shares: parts, temperature, places });
            };
            let mut stop = self.relaxed.stop();
            if let Some(frozen) = input.frozen {
                task(frozen, &mut |task| stop = Stop::After(sort.iterations(&task, stop)));
            }
            task(s, &mut |task| {
                let curve = (curves > 0).then_some(&mut *curve);
                measure += sort.balanced(&task, stop, slope, curve).0;
            });
            self.add(s, slope, curve, out);
        }
        let scale = 1.0 / self.samples as f64;
        for outputs in [Some(&mut *out.gradient), out.hessian.as_deref_mut()].into_iter().flatten() {
            for value in outputs {
                *value *= scale;
            }
        }
        Some(1.0 - measure * scale)
    }
}

fn lowest(scores: &[f64]) -> f64 {
    scores.iter().copied().fold(f64::INFINITY, f64::min)
}

impl Stochastic {
    /// From derivatives by ln(s − min s + floor) to derivatives by s. The lowest score moves all others, and not itself: several
    /// lowest scores share that, and only differences between their own huge derivatives 1/floor remain.
    fn add(&self, s: &[f64], slope: &[f64], curve: &[f64], out: &mut Out) {
        let low = lowest(s);
        let lows = s.iter().filter(|s| **s == low).count() as f64;
        let own: f64 = (0..s.len()).filter(|&j| s[j] == low).map(|j| slope[j]).sum();
        let (mut moved, mut moved_curve) = (0.0, 0.0);
        for (j, s) in s.iter().enumerate().filter(|(_, s)| **s > low) {
            let slope = slope[j] / (s - low + self.floor);
            out.gradient[j] -= slope;
            moved += slope;
            if let Some(h) = &mut out.hessian {
                let curve = curve[j] / ((s - low + self.floor) * (s - low + self.floor));
                h[j] += curve;
                moved_curve += curve;
            }
        }
        for j in (0..s.len()).filter(|&j| s[j] == low) {
            out.gradient[j] -= (slope[j] - own / lows) / self.floor - moved / lows;
            if let Some(h) = &mut out.hessian {
                let own = if lows > 1.0 { curve[j] / (self.floor * self.floor) } else { 0.0 };
                h[j] += own + moved_curve / lows;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy, Spec};

    use super::{Out, Relaxed, Stochastic};
    use crate::Goal;

    fn of(text: &str, list: &List) -> (f64, Vec<f64>) {
        Goal::parse(text, &Policy::default()).unwrap().of_list(list).unwrap()
    }

    #[test]
    fn hessian_goes_through_the_logarithm_by_the_square_of_its_slope() {
        let relaxed = Relaxed::read(&Spec::parse("neural-ndcg-stochastic").unwrap()).unwrap();
        let objective = Stochastic { relaxed, samples: 1, beta: 0.0, floor: 0.5 };
        let (mut gradient, mut hessian) = ([0.0; 2], [0.0; 2]);
        let mut out = Out { gradient: &mut gradient, hessian: Some(&mut hessian), gradient_previous: None };
        objective.add(&[0.0, 1.5], &[0.25, 0.75], &[3.0, 8.0], &mut out);
        // x = ln(1.5 + ½): slope ½, so 8 becomes 2, and the lowest score, which moves the other one, has the same.
        assert_eq!(hessian, [2.0, 2.0]);
        assert_eq!(gradient, [0.375, -0.375]);
    }

    #[test]
    fn without_noise_it_is_neural_ndcg_of_logarithms() {
        let (scores, labels) = ([2.0, 5.0, 3.0, 9.0], [1.0, 0.0, 2.0, 0.0]);
        let (loss, gradient) =
            of("neural-ndcg-stochastic:beta=0:floor=1:samples=3", &List::new(&scores, &labels));
        let logs = scores.map(|s: f64| (s - 2.0 + 1.0).ln());
        let (expected, slopes) = of("neural-ndcg", &List::new(&logs, &labels));
        assert!((loss - expected).abs() < 1e-14);
        let chain: Vec<f64> = slopes.iter().zip(scores).map(|(g, s)| g / (s - 1.0)).collect();
        for j in 1..4 {
            assert!((gradient[j] - chain[j]).abs() < 1e-14, "{gradient:?} {chain:?}");
        }
        assert!((gradient[0] + chain[1..].iter().sum::<f64>()).abs() < 1e-14);
    }

    #[test]
    fn every_parameter_changes_the_result() {
        let list = List::new(&[0.3, 0.6, 0.1, 0.7], &[2.0, 0.0, 1.0, 0.0]);
        let base = of("neural-ndcg-stochastic", &list).0;
        let samples = "samples=7 beta=0.2 floor=0.1 temperature=2 iterations=2 tolerance=0.1 gain=linear";
        for other in samples.split(' ').map(|text| format!("neural-ndcg-stochastic:{text}")) {
            assert!((of(&other, &list).0 - base).abs() > 1e-6, "{other}");
        }
        assert!((of("neural-ndcg-stochastic@2", &list).0 - base).abs() > 1e-6);
    }

    #[test]
    fn two_equal_lowest_scores_share_what_moves_the_others() {
        let (_, gradient) =
            of("neural-ndcg-stochastic:beta=0:floor=0.5", &List::new(&[0.0, 0.0, 1.0], &[1.0, 1.0, 0.0]));
        assert!((gradient[0] - gradient[1]).abs() < 1e-14 && gradient[2] > 0.0);
        assert!(gradient.iter().sum::<f64>().abs() < 1e-14);
    }
}

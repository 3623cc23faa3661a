#![doc = include_str!("../pages/rankcosine.md")]

use toprank_core::{Param, ParamError, Spec};

use crate::objective::{Input, Objective, Out};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "centred",
        default: "false",
        range: "true or false",
        about: "subtract the mean from labels and scores first: correlation instead of cosine",
    },
    Param {
        name: "floor",
        default: "1e-4",
        range: "in (0, ∞)",
        about: "its square is added to the squared length of the scores, so that scores of 0 have a gradient",
    },
];
pub(crate) const EXAMPLES: &[&str] = &["rankcosine:centred=true", "rankcosine:floor=0.5"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(RankCosine {
        centred: spec.args.flag("centred", false)?,
        floor: spec.args.positive("floor", 1e-4)?,
    }))
}

/// RankCosine; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct RankCosine {
    centred: bool,
    floor: f64,
}

impl Objective for RankCosine {
    fn shift_invariant(&self) -> bool {
        self.centred
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let n = input.list.scores.len();
        let [w, s, y] = work.floats.cut([n, n, n]);
        for j in 0..n {
            (w[j], s[j], y[j]) = (input.weight(j), input.list.scores[j], f64::from(input.list.labels[j]));
        }
        if self.centred {
            centre(w, s);
            centre(w, y);
        }
        let dot = |a: &[f64], b: &[f64]| (0..n).map(|j| w[j] * a[j] * b[j]).sum::<f64>();
        let labels = dot(y, y).sqrt();
        if n < 2 || labels == 0.0 {
            return None;
        }
        let square = dot(s, s) + self.floor * self.floor;
        let length = square.sqrt();
        let cosine = dot(y, s) / (labels * length);
        for j in 0..n {
            out.gradient[j] = -0.5 * w[j] * (y[j] / (labels * length) - cosine * s[j] / square);
            if let Some(h) = &mut out.hessian {
                h[j] = 0.5 * w[j] * (1.0 - w[j] * s[j] * s[j] / square).max(0.0) / square;
            }
        }
        Some(0.5 * (1.0 - cosine))
    }
}

/// Subtracts the weighted mean; equal values become exactly 0, whatever the rounding of the mean.
fn centre(w: &[f64], x: &mut [f64]) {
    let total: f64 = w.iter().sum();
    let Some(&first) = x.first().filter(|_| total > 0.0) else { return };
    let mean = w.iter().zip(x.iter()).map(|(w, x)| w * (x - first)).sum::<f64>() / total;
    for x in x {
        *x = *x - first - mean;
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Lists, Policy};

    use crate::{Batch, Goal, Gradients};

    fn of(text: &str, list: &List) -> (f64, Vec<f64>) {
        Goal::parse(text, &Policy::default()).unwrap().of_list(list).unwrap()
    }

    #[test]
    fn two_items_by_hand() {
        let (loss, gradient) = of("rankcosine:floor=1e-9", &List::new(&[1.0, 0.0], &[1.0, 1.0]));
        assert!((loss - 0.5 * (1.0 - 0.5f64.sqrt())).abs() < 1e-15);
        // cos = s0/√(2(s0² + s1²)): no slope along s, −½·1/√2 across it.
        assert!(gradient[0].abs() < 1e-15 && (gradient[1] + 0.5 * 0.5f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn the_hessian_along_the_scores_is_none_and_across_them_half() {
        let lists = Lists::from_lengths(&[2], vec![1.0, 1.0]);
        let goal = Goal::parse("rankcosine:floor=1e-9", &Policy::default()).unwrap();
        let mut out = Gradients { want_hessian: true, ..Gradients::default() };
        goal.step(&Batch::all(&lists, &[2.0, 0.0]), &mut goal.state(&lists).unwrap(), &mut out).unwrap();
        // ½(1 − s_j²/|s|²)/|s|² with |s| = 2.
        assert!(out.hessian[0].abs() < 1e-15 && (out.hessian[1] - 0.125).abs() < 1e-15);
    }

    #[test]
    fn centred_is_half_of_one_minus_the_correlation() {
        let (loss, _) =
            of("rankcosine:centred=true:floor=1e-9", &List::new(&[3.0, 2.0, 4.0], &[2.0, 0.0, 1.0]));
        // Labels 1, −1, 0 and scores 0, −1, 1 off their means: correlation 1/2.
        assert!((loss - 0.25).abs() < 1e-15);
    }

    #[test]
    fn labels_as_scores_are_perfect_and_the_opposite_is_worst() {
        for centred in ["false", "true"] {
            let text = format!("rankcosine:centred={centred}");
            let (loss, _) = of(&text, &List::new(&[4.0, 0.0, 2.0], &[2.0, 0.0, 1.0]));
            assert!(loss.abs() < 1e-8, "{loss}");
            let (loss, _) = of(&text, &List::new(&[-4.0, 0.0, -2.0], &[2.0, 0.0, 1.0]));
            assert!((loss - 1.0).abs() < 1e-8, "{loss}");
        }
    }

    #[test]
    fn scores_of_zero_are_a_start_and_newton_s_step_leads_to_the_labels() {
        let goal = Goal::parse("rankcosine", &Policy::default()).unwrap();
        let lists = Lists::from_lengths(&[3], vec![2.0, 0.0, 1.0]);
        let mut out = Gradients { want_hessian: true, ..Gradients::default() };
        goal.step(&Batch::all(&lists, &[0.0; 3]), &mut goal.state(&lists).unwrap(), &mut out).unwrap();
        let step: Vec<f64> = out.gradient.iter().zip(&out.hessian).map(|(g, h)| -g / h).collect();
        assert!(step[0] > 0.0 && step[1] == 0.0 && (step[0] / step[2] - 2.0).abs() < 1e-12, "{step:?}");
    }
}

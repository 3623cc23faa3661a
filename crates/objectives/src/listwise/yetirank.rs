#![doc = include_str!("../pages/yetirank.md")]

use toprank_core::{Param, ParamError, Spec};

use crate::kernels::order::descending;
use crate::kernels::scalar::{sigmoid, softplus};
use crate::objective::{Hessian, Input, Needs, Objective, Out};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "samples",
        default: "10",
        range: "an integer from 1 to 1000",
        about: "number of random orders that are averaged",
    },
    Param {
        name: "decay",
        default: "0.85",
        range: "in (0, 1)",
        about: "factor on the weight of each next position",
    },
];
pub(crate) const EXAMPLES: &[&str] = &["yetirank:samples=3", "yetirank:decay=0.5"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(YetiRank {
        samples: spec.args.count("samples", 10, 1000)?,
        decay: spec.args.number("decay", 0.85, "in (0, 1)", |x| x > 0.0 && x < 1.0)?,
    }))
}

/// YetiRank; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct YetiRank {
    samples: usize,
    decay: f64,
}

/// Positions with a lower weight are skipped.
const NEGLIGIBLE: f64 = 1e-20;

impl Objective for YetiRank {
    fn needs(&self) -> Needs {
        Needs { random: true, ..Needs::default() }
    }

    fn hessian(&self) -> Hessian {
        Hessian::Exact
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        const SMALLEST: f64 = 1.0 / (1u64 << 54) as f64; // so that v = 0 has a finite result
        let (s, y) = (input.list.scores, input.list.labels);
        let n = s.len();
        let heavy = |j: &usize| input.weight(*j) > 0.0;
        let first = (0..n).find(heavy)?;
        if (0..n).filter(heavy).all(|j| y[j] == y[first]) {
            return None;
        }
        let [perturbed] = work.floats.cut([n]);
        let [order] = work.places.cut([n]);
        let mut random = input.stream.open();
        let mut loss = 0.0;
        for _ in 0..self.samples {
            for (x, s) in perturbed.iter_mut().zip(input.frozen()) {
                let v = random.unit().max(SMALLEST);
                *x = s + (v / (1.0 - v)).ln();
            }
            descending(perturbed, order, &mut work.kernel.order);
            let mut place = (1.0 - self.decay) / self.samples as f64;
            for pair in order.windows(2) {
                if place < NEGLIGIBLE {
                    break;
                }
                let [a, b] = [pair[0] as usize, pair[1] as usize];
                let (better, worse) = if y[a] > y[b] { (a, b) } else { (b, a) };
                let grades = f64::from(y[better]) - f64::from(y[worse]);
                let w = place * grades * input.weight(a) * input.weight(b);
                let x = s[worse] - s[better];
                let wrong = sigmoid(x);
                loss += w * softplus(x);
                out.gradient[better] -= w * wrong;
                out.gradient[worse] += w * wrong;
                if let Some(h) = &mut out.hessian {
                    let curve = w * wrong * sigmoid(-x);
                    h[better] += curve;
                    h[worse] += curve;
                }
                place *= self.decay;
            }
        }
        Some(loss)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy, Stream};

    use crate::Goal;
    use crate::kernels::scalar::{sigmoid, softplus};

    #[test]
    fn two_items_by_hand() {
        // In every order the two are adjacent at the first position.
        let goal = Goal::parse("yetirank", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&[0.3, 0.0], &[0.0, 2.0])).unwrap();
        assert!((loss - 0.15 * 2.0 * softplus(0.3)).abs() < 1e-15);
        assert!((gradient[0] - 0.15 * 2.0 * sigmoid(0.3)).abs() < 1e-15 && gradient[1] == -gradient[0]);
    }

    #[test]
    fn a_pair_weighs_the_product_of_its_items() {
        let goal = Goal::parse("yetirank", &Policy::default()).unwrap();
        let (weights, plain) = ([2.0, 3.0], List::new(&[0.3, 0.0], &[0.0, 2.0]));
        let (loss, _) = goal.of_list(&List { weights: Some(&weights), ..plain }).unwrap();
        assert!((loss - 6.0 * goal.of_list(&plain).unwrap().0).abs() < 1e-14);
    }

    #[test]
    fn an_order_counts_its_neighbours_place_by_place() {
        let (s, y) = ([0.3, 0.0, -0.5, 0.2], [0.0, 2.0, 1.0, 1.0]);
        let goal = Goal::parse("yetirank:samples=1:decay=0.5", &Policy::default()).unwrap();
        let (loss, _) = goal.of_list(&List::new(&s, &y)).unwrap();
        let mut random = Stream::new(0, "objective").of_list(0).open();
        let perturbed = s.map(|s| {
            let v = random.unit();
            s + (v / (1.0 - v)).ln()
        });
        let mut order = [0, 1, 2, 3];
        order.sort_by(|a: &usize, b: &usize| perturbed[*b].total_cmp(&perturbed[*a]));
        let term = |k: usize| {
            let (a, b) = (order[k], order[k + 1]);
            let (gap, grades) = (s[a] - s[b], f64::from(y[a] - y[b]));
            grades.abs() * softplus(if grades > 0.0 { -gap } else { gap })
        };
        assert!((loss - (0.5 * term(0) + 0.25 * term(1) + 0.125 * term(2))).abs() < 1e-15);
    }
}

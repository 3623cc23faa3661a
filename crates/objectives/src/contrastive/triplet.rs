#![doc = include_str!("../pages/triplet.md")]

use toprank_core::{Param, ParamError, Spec};

use super::OVER;
use crate::objective::{Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "margin",
        default: "0.1",
        range: "in [0, ∞)",
        about: "how much more similar a relevant item should be than another item",
    },
    Param {
        name: "mining",
        default: "all",
        range: "all, semi-hard or hardest",
        about: "the others a relevant item is compared with: all, those below it within the margin, or the most similar",
    },
    OVER,
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "triplet:margin=0.5",
    "triplet:mining=hardest",
    "triplet:margin=1:mining=semi-hard",
    "triplet:over=all",
    "triplet:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let mining = [("all", Mining::All), ("semi-hard", Mining::SemiHard), ("hardest", Mining::Hardest)];
    Ok(Box::new(Triplet {
        margin: spec.args.not_negative("margin", 0.1)?,
        mining: spec.args.one_of("mining", "all", &mining)?,
        violating: spec.args.one_of("over", "violating", &[("violating", true), ("all", false)])?,
    }))
}

/// Which others a relevant item is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mining {
    All,
    SemiHard,
    Hardest,
}

/// Triplet loss; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Triplet {
    margin: f64,
    mining: Mining,
    violating: bool,
}

impl Objective for Triplet {
    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let (scores, frozen) = (input.list.scores, input.frozen());
        let n = scores.len();
        let m = (0..n).filter(|j| input.is_relevant(*j)).count();
        if m == 0 || m == n {
            return None;
        }
        let [places] = work.places.cut([n]);
        let (relevant, others) = places.split_at_mut(m);
        input.part(relevant, others);
        let hardest = others.iter().map(|&j| frozen[j as usize]).fold(f64::NEG_INFINITY, f64::max);
        // The first of tied ones, so that the gradient is that of one triplet.
        let hardest = others.iter().position(|&j| frozen[j as usize] == hardest).unwrap_or(0);
        let (mut loss, mut all, mut violating) = (0.0, 0.0, 0.0);
        for &i in relevant.iter() {
            let i = i as usize;
            let met = if self.mining == Mining::Hardest { &others[hardest..=hardest] } else { &*others };
            for &j in met {
                let j = j as usize;
                let weight = input.weight(i) * input.weight(j);
                let lack = frozen[j] - frozen[i] + self.margin;
                if self.mining == Mining::SemiHard && frozen[j] > frozen[i] {
                    continue;
                }
                all += weight;
                if lack <= 0.0 {
                    continue;
                }
                violating += weight;
                let lack = (scores[j] - scores[i] + self.margin).max(0.0);
                loss += weight * lack;
                out.gradient[i] -= weight;
                out.gradient[j] += weight;
            }
        }
        let total = if self.violating { violating } else { all };
        let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
        for (j, g) in out.gradient.iter_mut().enumerate() {
            *g *= scale;
            if let Some(h) = &mut out.hessian {
                h[j] = g.abs();
            }
        }
        Some(loss * scale)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    #[test]
    fn five_items_by_hand() {
        let (scores, labels) = ([0.9, 0.4, 0.8, 0.45, -0.3], [1.0, 1.0, 0.0, 0.0, 0.0]);
        let of = |text: &str| {
            Goal::parse(text, &Policy::default()).unwrap().of_list(&List::new(&scores, &labels)).unwrap()
        };
        // 0.9 against 0.8 lacks nothing at margin 0.05; 0.4 lacks 0.45 and 0.1.
        let (loss, gradient) = of("triplet:margin=0.05");
        assert!((loss - 0.5 * (0.45 + 0.1)).abs() < 1e-14, "{loss}");
        assert_eq!(gradient, [0.0, -1.0, 0.5, 0.5, 0.0]);
        assert!((of("triplet:margin=0.05:over=all").0 - (0.45 + 0.1) / 6.0).abs() < 1e-14);
        assert!((of("triplet:margin=0.05:mining=hardest").0 - 0.45).abs() < 1e-14);
        // Below it and within the margin: 0.8 and 0.45 for 0.9, −0.3 for both at margin 1.5.
        let semi = of("triplet:margin=1.5:mining=semi-hard").0;
        assert!((semi - (1.4 + 1.05 + 0.3 + 0.8) / 4.0).abs() < 1e-14, "{semi}");
        assert_eq!(of("triplet:margin=0:mining=semi-hard").0, 0.0);
    }
}

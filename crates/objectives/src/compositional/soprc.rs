#![doc = include_str!("../pages/soprc.md")]

use toprank_core::{Param, ParamError, Spec};

use super::{Adjoint, Inner, Means, Strata, Surrogate, Terms};
use crate::kernels::hinge::Omega;
use crate::kernels::order::descending;
use crate::objective::{Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::{Column, ListState, Per};
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "tau1",
        default: "0.1",
        range: "in (0, ∞)",
        about: "τ1 of the one-sided Huber function that counts others above a relevant item",
    },
    Param {
        name: "tau2",
        default: "0.001",
        range: "in (0, ∞)",
        about: "τ2 of the one-sided sigmoid that counts relevant items above it",
    },
    Param {
        name: "beta",
        default: "0.1",
        range: "in (0, 1]",
        about: "β: weight of the newest batch in v, the score distribution of the relevant items",
    },
    Param {
        name: "prior",
        default: "true",
        range: "true, batch or a number in (0, 1)",
        about: "π: the fraction of relevant items in the list, in the batch (biased, an ablation), or as given",
    },
    Param {
        name: "distribution",
        default: "v",
        range: "v or batch",
        about: "relevant scores from the tracked distribution, or from the batch alone (an ablation)",
    },
    Param {
        name: "points",
        default: "one per relevant item, 100 per class",
        range: "an integer from 1 on",
        about: "M: how many points of the distribution are kept, at most the default",
    },
    Param {
        name: "bound",
        default: "none",
        range: "in (0, ∞)",
        about: "B: scores are known to lie in [−B, B], which limits the extrapolation at the ends",
    },
    Param {
        name: "penalty",
        default: "1",
        range: "in [0, ∞)",
        about: "λ1 of the semi-variance of relevant scores below their mean",
    },
    Param {
        name: "penalty-others",
        default: "5",
        range: "in [0, ∞)",
        about: "λ2 of the semi-variance of other scores above their mean",
    },
    Param {
        name: "through-tpr",
        default: "false",
        range: "true or false",
        about: "whether the gradient flows through the true positive rate (not in the published code)",
    },
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "soprc:tau1=1",
    "soprc:tau2=0.2",
    "soprc:beta=0.9",
    "soprc:prior=batch",
    "soprc:prior=0.01",
    "soprc:distribution=batch",
    "soprc:points=3",
    "soprc:points=30:bound=0.5",
    "soprc:penalty=0",
    "soprc:penalty-others=0",
    "soprc:tau2=0.2:through-tpr=true",
    "soprc:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let prior = match spec.args.get("prior") {
        None | Some("true") => Prior::True,
        Some("batch") => Prior::Batch,
        Some(_) => {
            let range = "true, batch or a number in (0, 1)";
            Prior::Given(spec.args.number("prior", 0.5, range, |x| x > 0.0 && x < 1.0)?)
        }
    };
    let points =
        spec.args.number("points", f64::MAX, "an integer from 1 on", |x| x >= 1.0 && x.fract() == 0.0)?;
    Ok(Box::new(Soprc {
        tau1: spec.args.positive("tau1", 0.1)?,
        tau2: spec.args.positive("tau2", 0.001)?,
        beta: spec.args.fraction("beta", 0.1)?,
        prior,
        tracked: spec.args.one_of("distribution", "v", &[("v", true), ("batch", false)])?,
        points: points as usize,
        bound: spec.args.get("bound").map(|_| spec.args.positive("bound", 1.0)).transpose()?,
        penalties: [spec.args.not_negative("penalty", 1.0)?, spec.args.not_negative("penalty-others", 5.0)?],
        through_tpr: spec.args.flag("through-tpr", false)?,
    }))
}

/// Points of the distribution of a class.
const POINTS_OF_CLASS: usize = 100;

/// Where π comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Prior {
    True,
    Batch,
    Given(f64),
}

impl Prior {
    /// (1 − π)/π.
    fn odds(self, strata: &Strata) -> f64 {
        match self {
            Prior::True => strata.others() as f64 / strata.relevant as f64,
            Prior::Batch => strata.drawn_others as f64 / strata.drawn_relevant as f64,
            Prior::Given(prior) => (1.0 - prior) / prior,
        }
    }
}

/// SOPRC; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Soprc {
    tau1: f64,
    tau2: f64,
    beta: f64,
    prior: Prior,
    tracked: bool,
    points: usize,
    bound: Option<f64>,
    penalties: [f64; 2],
    through_tpr: bool,
}

/// A distribution of scores from a sample of it: fills `points` with M of its quantiles by linear interpolation of the
/// sample, which is in descending order. The i-th of n is at (i − 3/8)/(n + 1/4), the expected quantile of the i-th largest
/// of n (Blom), and so are the M points. Beyond the first and the last the line is extrapolated, up to an absolute score of
/// `bound`.
///
/// ```
/// use toprank_objectives::compositional::soprc::interpolate;
/// let mut points = [0.0; 3];
/// interpolate(&[3.0, 1.0, 0.0], None, &mut points); // as many as there are
/// assert_eq!(points, [3.0, 1.0, 0.0]);
/// interpolate(&[1.0], None, &mut points); // a constant stays one
/// assert_eq!(points, [1.0; 3]);
/// ```
pub fn interpolate(sample: &[f64], bound: Option<f64>, points: &mut [f64]) {
    let n = sample.len();
    let Some((&first, &last)) = sample.first().zip(sample.last()) else { return };
    if n == 1 {
        points.fill(first);
        return;
    }
    let bound = bound.unwrap_or(f64::INFINITY);
    // One node before the first and one after the last.
    let before = (2.0 * first - sample[1]).min(bound.max(first));
    let behind = (2.0 * last - sample[n - 2]).max((-bound).min(last));
    let node = |i: isize| match i {
        -1 => before,
        _ => sample.get(i as usize).copied().unwrap_or(behind),
    };
    let scale = (n as f64 + 0.25) / (points.len() as f64 + 0.25);
    for (j, point) in points.iter_mut().enumerate() {
        let at = (j as f64 + 0.625) * scale - 0.625;
        let left = at.floor();
        let share = at - left;
        let (high, low) = (node(left as isize), node(left as isize + 1));
        *point = if share == 0.0 { high } else { high + share * (low - high) };
    }
}

impl Soprc {
    /// (1 + Σ_v ℓ2(s − v))/(M + 1) and its slope in s; `v` is descending.
    fn tpr(&self, s: f64, v: &[f64]) -> (f64, f64) {
        let divisor = (v.len() + 1) as f64;
        // Beyond 40τ2 the sigmoid is 1 to rounding.
        let sure = v.partition_point(|v| v - s > 40.0 * self.tau2);
        let (mut sum, mut slope) = (1.0 + sure as f64, 0.0);
        let surrogate = Surrogate::OneSideSigmoid { temperature: self.tau2 };
        for v in v[sure..].iter().take_while(|v| **v >= s) {
            let (value, own, _) = surrogate.at(v - s);
            sum += value;
            // At the kink: the mean of its two slopes, 0 and 1/(2τ2).
            slope -= if *v == s { 0.25 / self.tau2 } else { own };
        }
        (sum / divisor, slope / divisor)
    }

    /// λ·mean over a class of (s − μ)² of those on the wrong side of the mean, added to the gradient.
    fn semi_variance(&self, class: usize, input: &Input, items: &[u32], out: &mut Out) -> f64 {
        let (lambda, n) = (self.penalties[class], items.len() as f64);
        if lambda == 0.0 {
            return 0.0;
        }
        let score = |j: &u32| input.list.scores[*j as usize];
        let guess = items.iter().map(score).sum::<f64>() / n;
        let mean = guess + items.iter().map(|j| score(j) - guess).sum::<f64>() / n;
        let wrong = |d: f64| if class == 0 { d < 0.0 } else { d > 0.0 };
        let (mut value, mut pull) = (0.0, 0.0);
        for j in items {
            let d = score(j) - mean;
            if wrong(d) {
                value += d * d;
                pull += d;
                out.gradient[*j as usize] += lambda * 2.0 * d / n;
                if let Some(h) = &mut out.hessian {
                    h[*j as usize] += lambda * 2.0 / n;
                }
            }
        }
        // Through the mean, the same for every item.
        for j in items {
            out.gradient[*j as usize] -= lambda * 2.0 * pull / (n * n);
        }
        lambda * value / n
    }
}

impl Objective for Soprc {
    fn columns(&self) -> &'static [Column] {
        &[Column { name: "v", per: Per::Relevant, width: 1 }]
    }

    fn columns_of_classes(&self) -> &'static [Column] {
        &[Column { name: "v", per: Per::Class, width: POINTS_OF_CLASS }]
    }

    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let n = input.list.len();
        let strata = Strata::of(input, state);
        let (m, o) = (strata.drawn_relevant, strata.drawn_others);
        if m == 0 || o == 0 {
            return None;
        }
        let [places] = work.places.cut([n + m]);
        let (relevant, rest) = places.split_at_mut(m);
        let (others, order) = rest.split_at_mut(o);
        input.part(relevant, others);
        let total: f64 = relevant.iter().map(|&j| input.weight(j as usize)).sum();
        if total == 0.0 {
            return None;
        }
        let points = self.points.min(state.values.len());
        let with_curve = if out.hessian.is_some() { m } else { 0 };
        let [omega, own, sample, newest, fpr, slope, curve, a] =
            work.floats.cut([n, m, m, points, m, m, with_curve, m]);

        // v follows the relevant scores of the batch. It is a constant of the gradient.
        let frozen = input.frozen();
        for (own, &j) in own.iter_mut().zip(relevant.iter()) {
            *own = frozen[j as usize];
        }
        descending(own, order, &mut work.kernel.order);
        for (sample, &place) in sample.iter_mut().zip(order.iter()) {
            *sample = own[place as usize];
        }
        let [v] = state.cut();
        let v = &mut v[..points];
        interpolate(sample, self.bound, newest);
        if v[0].is_nan() {
            v.copy_from_slice(newest);
        } else {
            v.iter_mut().zip(newest.iter()).for_each(|(v, new)| *v += self.beta * (new - *v));
        }
        let distribution: &[f64] = if self.tracked { v } else { sample };

        // FPR of every relevant item, then the loss and its slopes.
        for &j in others.iter() {
            omega[j as usize] = 1.0 / o as f64;
        }
        let inner = Inner::Of(Surrogate::Huber { temperature: self.tau1 });
        let scores = input.list.scores;
        let terms = Terms { scores, omega: Omega::Each(omega), own: 0.0, anchors: relevant };
        let mut means = Means { value: fpr, slope, curve };
        inner.plan(scores, relevant, &mut work.kernel);
        inner.forward(&terms, 0.0, &mut means, &mut work.kernel);
        let odds = self.prior.odds(&strata);
        let mut loss = 0.0;
        for (i, a) in a.iter_mut().enumerate() {
            let j = relevant[i] as usize;
            let w = input.weight(j) / total;
            let (tpr, tpr_slope) = self.tpr(if self.through_tpr { scores[j] } else { own[i] }, distribution);
            let false_ones = odds * means.value[i];
            let share = tpr / (tpr + false_ones);
            loss += w * (1.0 - share);
            // ∂/∂FPR = odds·T/(T + odds·FPR)², written so that nothing overflows.
            *a = w * odds * share * share / tpr;
            if self.through_tpr {
                out.gradient[j] -= w * (1.0 - share) * share / tpr * tpr_slope;
            }
        }
        let mut adjoint = Adjoint { gradient: out.gradient, hessian: out.hessian.as_deref_mut() };
        inner.backward(&terms, a, &means, &mut adjoint, &mut work.kernel);
        loss += self.semi_variance(0, input, relevant, out);
        loss += self.semi_variance(1, input, others, out);
        Some(loss)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Lists, Policy};

    use super::interpolate;
    use crate::{Batch, Draws, Goal, Gradients, State};

    #[test]
    fn two_items_by_hand() {
        // FPR = ℓ1(0.1): the other is 0.05 above: 1 + 2·0.05/0.1 = 2; TPR = (1 + 0)/2; odds 1.
        let goal = Goal::parse("soprc:penalty=0:penalty-others=0", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&[0.0, 0.05], &[1.0, 0.0])).unwrap();
        assert!((loss - 2.0 / (0.5 + 2.0)).abs() < 1e-12, "{loss}");
        // ∂/∂FPR = T/(T + FPR)² = 0.5/6.25, ℓ1' = 20.
        assert!((gradient[1] - 20.0 * 0.5 / 6.25).abs() < 1e-12 && (gradient[0] + gradient[1]).abs() < 1e-15);
    }

    #[test]
    fn the_semi_variance_looks_at_the_wrong_side_of_the_mean_only() {
        let with = |text: &str| {
            let goal = Goal::parse(text, &Policy::default()).unwrap();
            let scores = [0.0, 3.0, 3.0, -5.0, -8.0, -8.0];
            goal.of_list(&List::new(&scores, &[1.0, 1.0, 1.0, 0.0, 0.0, 0.0])).unwrap().0
        };
        let none = with("soprc:penalty=0:penalty-others=0");
        // One relevant item is 2 below their mean, two 1 above; one of the others 2 above theirs, two 1 below.
        assert!((with("soprc:penalty=1:penalty-others=0") - none - 2.0 * 2.0 / 3.0).abs() < 1e-12);
        assert!((with("soprc:penalty=0:penalty-others=5") - none - 5.0 * 2.0 * 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn nodes_stand_where_the_mean_of_their_rank_lies_and_ends_keep_to_the_bound() {
        let mut points = [0.0; 6];
        let at = |j: usize| (j as f64 + 0.625) * 3.25 / 6.25 - 0.625;
        // A straight line stays one, beyond its ends, too.
        interpolate(&[3.0, 2.0, 1.0], None, &mut points);
        for (j, point) in points.iter().enumerate() {
            assert!((point - (3.0 - at(j))).abs() < 1e-14, "{points:?}");
        }
        interpolate(&[3.0, 2.0, 0.0], Some(3.0), &mut points);
        assert_eq!(points[0], 3.0, "the top end stops at 3");
        assert!(
            (points[5] - (0.0 - 2.0 * (at(5) - 2.0))).abs() < 1e-14,
            "the low end is extrapolated beyond −2: {points:?}"
        );
        // Means of the order statistics of ten normal numbers give back the distribution they are from.
        let means = [1.53875, 1.00136, 0.65606, 0.37576, 0.12267];
        let ten: Vec<f64> = means.iter().copied().chain(means.iter().rev().map(|x| -x)).collect();
        let mut many = vec![0.0; 1000];
        interpolate(&ten, None, &mut many);
        for (place, quantile) in [(60, 1.5497), (249, 0.67449), (499, 0.0)] {
            assert!((many[place] - quantile).abs() < 0.02, "{} for {quantile}", many[place]);
        }
    }

    #[test]
    fn v_is_a_moving_average_from_the_first_batch_on() {
        let goal = Goal::parse("soprc:beta=0.25", &Policy::default()).unwrap();
        let lists = Lists::from_lengths(&[3], vec![1.0, 0.0, 1.0]);
        let mut state = goal.state(&lists).unwrap();
        let mut out = Gradients::default();
        let mut after = |scores: &[f64]| {
            goal.step(&Batch::all(&lists, scores), &mut state, &mut out).unwrap();
            let mut list = state.of_list(0, 3);
            let [v] = list.cut();
            v.to_vec()
        };
        assert_eq!(after(&[1.0, 9.0, 2.0]), [2.0, 1.0]);
        assert_eq!(after(&[4.0, 9.0, 0.0]), [2.0 + 0.25 * 2.0, 1.0 - 0.25]);
    }

    #[test]
    fn rows_of_a_class_share_one_distribution() {
        // Rows 0, 1 and 2 are of one class, 3 and 4 of another; six rows in all, so five items in each list.
        let goal = Goal::parse("soprc:beta=0.25:penalty=0:penalty-others=0", &Policy::default()).unwrap();
        let mut state = goal.state_of_classes(5, &[2, 2, 2, 1, 1, 0], &[0, 3, 5, 6]).unwrap();
        let draws = Draws {
            lists: vec![0, 2, 3],
            offsets: vec![0, 3, 6, 8],
            items: vec![0, 1, 4, 0, 1, 3, 0, 2],
            ..Draws::default()
        };
        let labels = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0];
        let scores = [0.9, 0.7, 0.2, 0.5, 0.3, 0.1, 0.4, 0.6];
        let mut out = Gradients::default();
        goal.step(&Batch::of_choices(&draws, &labels, &scores), &mut state, &mut out).unwrap();
        let v = |state: &mut State, row: usize| state.of_list(row, 5).cut::<1>()[0].to_vec();
        let [mut first, mut second] = [[0.0; 100]; 2];
        interpolate(&[0.9, 0.7], None, &mut first);
        interpolate(&[0.5, 0.3], None, &mut second);
        let expected: Vec<f64> = first.iter().zip(&second).map(|(a, b)| a + 0.25 * (b - a)).collect();
        for row in 0..3 {
            assert_eq!(v(&mut state, row), expected, "row {row}, drawn or not, has what its class has");
        }
        assert_eq!(v(&mut state, 3), [0.4; 100]);
        assert_eq!(v(&mut state, 4), v(&mut state, 3));
        assert!(v(&mut state, 5).iter().all(|v| v.is_nan()), "a class that was not drawn");
        let mut loaded = goal.state_of_classes(5, &[2, 2, 2, 1, 1, 0], &[0, 3, 5, 6]).unwrap();
        loaded.load(&state.save()).unwrap();
        assert_eq!(loaded.save(), state.save());
        assert!(goal.state_of_classes(5, &[2, 2], &[0, 1]).is_err(), "a row without class");
    }

    #[test]
    fn classes_are_worked_on_in_the_order_of_their_rows_at_any_number_of_threads() {
        // 60 classes of 40 rows, all in one batch: enough to be shared out.
        let classes: Vec<u32> = (0..=60).map(|c| c * 40).collect();
        let first = vec![39; 2400];
        let (mut draws, mut labels, mut scores) =
            (Draws { offsets: vec![0], ..Draws::default() }, Vec::new(), Vec::new());
        for row in 0..2400u32 {
            draws.lists.push(row);
            for k in 0..12u32 {
                draws.items.push(if k < 6 { k * 6 } else { 30 * k });
                labels.push(if k < 6 { 1.0 } else { 0.0 });
                scores.push(f64::from((row * 31 + k * 17) % 97) / 97.0);
            }
            draws.offsets.push(draws.items.len() as u64);
        }
        let goal = Goal::parse("soprc", &Policy::default()).unwrap();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut state = goal.state_of_classes(2399, &first, &classes).unwrap();
                let mut out = Gradients::default();
                for _ in 0..3 {
                    goal.step(&Batch::of_choices(&draws, &labels, &scores), &mut state, &mut out).unwrap();
                }
                (out.loss, out.gradient, state.save())
            })
        };
        let one = run(1);
        assert!(one == run(2) && one == run(5));
    }

    #[test]
    fn the_true_prior_makes_the_loss_blind_to_how_often_others_are_drawn() {
        // Every other twice: the measure's FPR is the same, the batch's prior is not.
        let of = |text: &str, copies: usize| {
            let goal = Goal::parse(text, &Policy::default()).unwrap();
            let mut labels = vec![1.0, 1.0];
            let mut scores = vec![0.2, 0.4];
            for _ in 0..copies {
                labels.extend([0.0, 0.0, 0.0]);
                scores.extend([0.1, 0.25, 0.38]);
            }
            goal.of_list(&List::new(&scores, &labels)).unwrap().0
        };
        assert!((of("soprc:prior=0.1", 1) - of("soprc:prior=0.1", 2)).abs() < 1e-12);
        assert!((of("soprc", 1) - of("soprc", 2)).abs() > 1e-3);
    }
}

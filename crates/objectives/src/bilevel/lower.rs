/*!
The lower level: a threshold λ with K items of a set above it.

```text
L(λ) = (K + ½)/N·λ + τ2/2 (λ − s̄)² + mean_j τ1 ln(1 + e^{(s_j − λ)/τ1})
L_λ  = (K + ½)/N + τ2 (λ − s̄) − mean_j σ_j,   L_λλ = τ2 + mean_j σ_j(1 − σ_j)/τ1,   σ_j = σ((s_j − λ)/τ1)
dλ/ds_j = ω_j (σ_j(1 − σ_j)/τ1 + τ2)/L_λλ
```

Its minimiser tends to the (K+1)-th largest score as τ1 → 0. Everything here is in units of D, the spread of the list's
scores: then L_λ, D·L_λλ and dλ/ds have no unit, and λ selects K items at any scale and offset of the scores. The form of the
papers has τ2 λ²/2, and τ1 and τ2 are not scaled; `absolute` selects it.

Source: Qiu, Hu, Zhong, Tu, Zhang, Yang, "Optimal large-scale stochastic optimization of NDCG surrogates for deep learning",
Machine Learning, 2024, eq. 7; Yang, "Algorithmic foundation of deep X-risk optimization", arXiv 2206.00439, 2022, section 5.3.
*/

use toprank_core::{Param, ParamError, Spec};

use crate::compositional::{Set, Strata};
use crate::kernels::order::{OrderWork, descending};
use crate::kernels::scalar::{sigmoid, within};
use crate::objective::Input;

/// One threshold of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The set of items.
    pub set: Set,
    /// K: how many of them are above it.
    pub above: usize,
}

impl Block {
    /// `None` if K < 0 or no item would be below: then there is no threshold.
    pub fn new(set: Set, above: isize, strata: &Strata) -> Option<Block> {
        usize::try_from(above)
            .ok()
            .filter(|above| *above < strata.size(set))
            .map(|above| Block { set, above })
    }
}

/// How a threshold is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdMethod {
    /// One step per visit.
    Online,
    /// The minimiser, by Newton's method, at every visit.
    Exact,
    /// The (K+1)-th largest score; the gradient stops at the gate.
    Quantile,
}

/// Parameters of the lower level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lower {
    /// How λ is found.
    pub method: ThresholdMethod,
    /// τ1 in units of the spread; `None`: 0.01 on whole lists, 0.1 on samples.
    pub tau1: Option<f64>,
    /// N τ2 in units of the spread (in the absolute form τ2 itself).
    pub tau2: f64,
    /// η0, the size of an online step.
    pub eta: f64,
    /// The form of the papers.
    pub absolute: bool,
    /// The gradient flows through the gate and the threshold (eq. 9); otherwise it stops there (eq. 10).
    pub through_gate: bool,
}

pub(crate) const THRESHOLD: Param = Param {
    name: "threshold",
    default: "online",
    range: "online, exact or quantile",
    about: "how λ is found: one step per visit, Newton's method, or the order statistic (the gradient stops at the gate)",
};
/// The methods that have a derivative.
pub(crate) const DIFFERENTIABLE: Param = Param {
    range: "online or exact",
    about: "how λ is found: one step per visit, or Newton's method",
    ..THRESHOLD
};
pub(crate) const FORM: Param = Param {
    name: "form",
    default: "theoretical",
    range: "theoretical or practical",
    about: "whether the gradient flows through gate and threshold (theoretical) or stops there (practical)",
};
pub(crate) const TAU1: Param = Param {
    name: "tau1",
    default: "0.01 on whole lists, 0.1 on samples",
    range: "in (0, ∞)",
    about: "τ1: smoothness of the lower level, in units of the list's score spread",
};
pub(crate) const TAU2: Param = Param {
    name: "tau2",
    default: "0.01/N",
    range: "in [0, ∞)",
    about: "N·τ2: strong convexity of the lower level; with absolute=true τ2 itself (default 0.0001)",
};
pub(crate) const ETA: Param = Param {
    name: "eta",
    default: "0.01",
    range: "in (0, ∞)",
    about: "η0: size of an online step of λ, in units of the score spread",
};
pub(crate) const ABSOLUTE: Param = Param {
    name: "absolute",
    default: "false",
    range: "true or false",
    about: "the lower level of the papers: τ1, τ2 and η0 do not follow the scale of the scores",
};

impl Lower {
    /// Reads threshold, form, tau1, tau2, eta, absolute.
    pub(crate) fn from_spec(spec: &Spec) -> Result<Lower, ParamError> {
        let methods = [
            ("online", ThresholdMethod::Online),
            ("exact", ThresholdMethod::Exact),
            ("quantile", ThresholdMethod::Quantile),
        ];
        let absolute = spec.args.flag("absolute", false)?;
        let method = spec.args.one_of("threshold", THRESHOLD.default, &methods)?;
        let theoretical =
            spec.args.one_of("form", FORM.default, &[("theoretical", true), ("practical", false)])?;
        Ok(Lower {
            method,
            tau1: spec.args.get("tau1").map(|_| spec.args.positive("tau1", 1.0)).transpose()?,
            tau2: spec.args.not_negative("tau2", if absolute { 1e-4 } else { 0.01 })?,
            eta: spec.args.positive("eta", 0.01)?,
            absolute,
            through_gate: theoretical && method != ThresholdMethod::Quantile,
        })
    }

    /// The same for terms that compare items with λ itself: a λ without derivative would push one side only.
    pub(crate) fn differentiable(spec: &Spec) -> Result<Lower, ParamError> {
        let lower = Lower::from_spec(spec)?;
        if lower.method == ThresholdMethod::Quantile {
            return Err(ParamError::new("threshold", "quantile", DIFFERENTIABLE.range));
        }
        Ok(lower)
    }

    /// τ1 in units of the spread.
    fn tau1(&self, strata: &Strata) -> f64 {
        self.tau1.unwrap_or(if strata.is_whole() { 0.01 } else { 0.1 })
    }
}

/// The spread of the scores: their standard deviation over the whole list, estimated from the strata; never 0.
pub(crate) fn spread(scores: &[f64], input: &Input, strata: &Strata) -> f64 {
    let weights = strata.plain_weights(Set::All);
    let above = input.policy.relevant.above();
    let weigh = |j: usize| weights[usize::from(input.list.labels[j] > above)] * input.stands_for(j);
    let origin = scores.first().copied().unwrap_or(0.0);
    let of = |unit: f64| {
        let all = || scores.iter().enumerate().map(|(j, s)| (s * unit - origin * unit, weigh(j)));
        let mean: f64 = all().map(|(x, w)| w * x).sum();
        let variance: f64 = all().map(|(x, w)| w * (x - mean) * (x - mean)).sum();
        variance.sqrt() / unit
    };
    let mut spread = of(1.0);
    if !spread.is_finite() {
        // The squares overflow. A power of 2 changes no digit.
        spread = of(0.5f64.powi(600));
    }
    let largest = scores.iter().fold(0.0, |top: f64, s| top.max(s.abs()));
    // Scores that differ by rounding only have no spread.
    if spread > 1e-13 * largest { spread } else { 1.0 }
}

/// One lower-level problem: a block at one set of scores.
#[derive(Clone, Copy)]
pub(crate) struct Problem<'a> {
    scores: &'a [f64],
    labels: &'a [f32],
    /// Labels above this are relevant.
    relevant_above: f32,
    /// ω of an item that is not relevant, and of one that is, in a uniform draw.
    weights: [f64; 2],
    stands_for: Option<&'a [f32]>,
    /// λ and scores are relative to this origin, so that an offset of all scores loses no digits.
    origin: f64,
    /// D.
    spread: f64,
    /// (K + ½)/N.
    kappa: f64,
    /// K.
    above: f64,
    /// N of the set.
    size: f64,
    tau1: f64,
    tau2: f64,
    /// s̄ in units of D from the origin; 0 in the absolute form.
    centre: f64,
    absolute: bool,
}

/// L_λ and D·L_λλ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slopes {
    pub first: f64,
    pub second: f64,
}

impl<'a> Problem<'a> {
    pub fn new(
        lower: &Lower,
        block: Block,
        strata: &Strata,
        input: &Input<'a>,
        scores: &'a [f64],
        (origin, spread): (f64, f64),
    ) -> Problem<'a> {
        let size = strata.size(block.set) as f64;
        let mut problem = Problem {
            scores,
            labels: input.list.labels,
            relevant_above: input.policy.relevant.above(),
            weights: strata.plain_weights(block.set),
            stands_for: input.stands_for,
            origin,
            spread,
            kappa: (block.above as f64 + 0.5) / size,
            above: block.above as f64,
            size,
            tau1: lower.tau1(strata),
            tau2: if lower.absolute { lower.tau2 } else { lower.tau2 / size },
            centre: 0.0,
            absolute: lower.absolute,
        };
        if !lower.absolute {
            problem.centre = problem.members().map(|(_, x, w)| w * x).sum();
        }
        problem
    }

    /// ω of item `j`; 0 outside the set.
    fn weight(&self, j: usize) -> f64 {
        let stands_for = self.stands_for.map_or(1.0, |each| f64::from(each[j]));
        self.weights[usize::from(self.labels[j] > self.relevant_above)] * stands_for
    }

    /// Items of the set: position, score in units of D from the origin, ω.
    fn members(&self) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        self.scores.iter().enumerate().filter_map(|(j, s)| {
            let w = self.weight(j);
            (w > 0.0).then(|| (j, (s - self.origin) / self.spread, w))
        })
    }

    /// Number of items, of any set.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// D.
    pub fn spread(&self) -> f64 {
        self.spread
    }

    /// τ1 in units of the scores.
    pub fn width(&self) -> f64 {
        self.tau1 * self.spread
    }

    /// κ(1 − κ), κ = (K + ½)/N: the scale of an online step.
    pub fn balance(&self) -> f64 {
        self.kappa * (1.0 - self.kappa)
    }

    /// The least that D·L_λλ can be.
    pub fn floor(&self) -> f64 {
        self.tau2
    }

    /// L_λ and D·L_λλ at λ, which is relative to the origin, in score units.
    pub fn slopes(&self, lambda: f64) -> Slopes {
        let at = lambda / self.spread;
        let (mut first, mut second) = (0.0, 0.0);
        for (_, x, w) in self.members() {
            let z = (x - at) / self.tau1;
            // Beyond 40 σ is 0 or 1 to rounding, and most items are.
            if z > 40.0 {
                first += w;
            } else if z > -40.0 {
                let sigma = sigmoid(z);
                first += w * sigma;
                second += w * sigma * (1.0 - sigma);
            }
        }
        Slopes {
            first: self.kappa + self.tau2 * (at - self.centre) - first,
            second: self.tau2 + second / self.tau1,
        }
    }

    /// Adds factor · dλ/ds_j · (D·L_λλ) to every item of the set.
    pub fn add_implicit(&self, lambda: f64, factor: f64, gradient: &mut [f64]) {
        let at = lambda / self.spread;
        let shift = if self.absolute { 0.0 } else { self.tau2 };
        for (j, x, w) in self.members() {
            let sigma = sigmoid((x - at) / self.tau1);
            gradient[j] += factor * w * (sigma * (1.0 - sigma) / self.tau1 + shift);
        }
    }

    /// The (K+1)-th largest score of the set, from the origin: the first at which more than K items have passed.
    pub fn quantile(&self, places: &mut [u32], work: &mut OrderWork) -> f64 {
        descending(self.scores, places, work);
        let (mut passed, mut last) = (0.0, 0.0);
        for &j in places.iter() {
            let j = j as usize;
            let w = self.weight(j);
            if w > 0.0 {
                passed += w * self.size;
                last = self.scores[j] - self.origin;
                // Sums of weights are integers up to rounding.
                if passed > self.above + 1e-9 * self.size {
                    break;
                }
            }
        }
        last
    }

    /// The lowest and the highest score of the set, from the origin.
    pub fn range(&self) -> (f64, f64) {
        let (low, high) = self
            .members()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (_, x, _)| (low.min(x), high.max(x)));
        (low * self.spread, high * self.spread)
    }

    /// The minimiser, by Newton's method inside a bracket: L_λ is increasing.
    pub fn solve(&self, start: f64) -> f64 {
        let (low, high) = self.range();
        let (mut low, mut high) = (low - self.spread, high + self.spread);
        let mut reach = self.spread;
        while self.slopes(low).first > 0.0 && reach < 1e12 * self.spread {
            reach *= 4.0;
            low -= reach;
        }
        while self.slopes(high).first < 0.0 && reach < 1e12 * self.spread {
            reach *= 4.0;
            high += reach;
        }
        let mut lambda = within(start, low, high);
        for _ in 0..200 {
            let Slopes { first, second } = self.slopes(lambda);
            if first > 0.0 {
                high = lambda;
            } else {
                low = lambda;
            }
            let step = first / second * self.spread;
            if step.abs() <= f64::EPSILON * (self.tau1 * self.spread + lambda.abs()) {
                break;
            }
            let newton = lambda - step;
            lambda = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        }
        lambda
    }
}

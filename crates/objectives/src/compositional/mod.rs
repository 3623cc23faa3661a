/*!
X-risks: an outer function of an inner mean of a surrogate. One mechanism for SONG, AP, listwise cross-entropy, precision
and recall by rank, p-norm push and KL forms.

```text
F = Σ over anchors i of f_i(g_i),   g_i = mean over a reference set of items j of ℓ(s_j − s_i)
∂F/∂s_j += f'_i(u_i) ω_j ℓ'(s_j − s_i),   ∂F/∂s_i −= f'_i(u_i) Σ_j ω_j ℓ'(s_j − s_i),   u_i a tracker of g_i
```

Source: Yang, "Algorithmic foundation of deep X-risk optimization", arXiv 2206.00439, 2022, algorithm 2; Qiu, Hu, Zhong, Tu,
Zhang, Yang, "Optimal large-scale stochastic optimization of NDCG surrogates for deep learning", Machine Learning, 2024,
eq. 3–5. An objective implements [`Outer`]: the outer function with its derivative, the reference sets, and which lists have a
gradient. The mechanism does the rest, in stages:

1. **draw**: which items are anchors, how many items each item of a sample represents ([`strata`]);
2. **estimate**: ĝ of all anchors, by the kernels ([`Inner`]);
3. **follow**: u from ĝ ([`Tracker`]);
4. **weigh**: f and f' at u, times the anchor's factor (item weight, sampling); a bilevel objective multiplies the factor
   by its gate ψ(s_i − λ) and adds the gate's own derivative to the gradient;
5. **spread**: the adjoint of stage 2.

Label smoothing ε (exponential surrogates) multiplies g_i by e^{ε(s_i − mean s)/τ} where f looks at it: with f = ln it is that of the
softmax cross-entropy, with SONG's f each relevant item has a target below 1 in the same way.

With whole lists and γ = 1 the gradient is exactly that of F. The Hessian diagonal is the pairwise Gauss–Newton bound: each
pair adds |f'_i| ω_j ℓ'' to both its items.
*/

pub mod ap;
pub mod auroc;
mod columns;
mod exp_hinge;
mod exponential;
mod gate;
mod huber;
mod inner;
pub mod listwise_ce;
pub mod p_norm_push;
pub mod pauc_kl;
pub mod precision;
mod smooth;
pub mod song;
pub mod soprc;
pub mod strata;
pub(crate) mod surrogate;
pub mod top_push_kl;
pub mod tpauc_kl;
pub mod tracker;

use toprank_core::{List, ParamError, Policy, Spec};

use crate::catalog::family;
use crate::kernels::KernelWork;
use crate::kernels::hinge::Omega;
use crate::objective::{Input, Needs, Objective, Out};
use crate::params::{SMOOTHING, smoothing};
use crate::state::{Column, ListState, Per};
use crate::work::Work;

use columns::Columns;
pub use gate::{Gate, Open};
pub use inner::Inner;
pub(crate) use inner::{Adjoint, Means, Terms};
pub use strata::{Reference, Set, Strata};
pub use surrogate::Surrogate;
use tracker::{Cell, Estimate};
pub use tracker::{Rule, Schedule, Tracker};

family! { "compositional (X-risk)":
    song = "song": "NDCG by tracked smooth ranks";
    song::v1 = "song-v1": "Faster SONG: NDCG with the MSVR tracker";
    song::v2 = "song-v2": "Faster SONG: NDCG with the quadratic tracker";
    song::mini_batch = "song-minibatch": "SONG without a tracker (ablation)";
    song::storm = "song-storm": "SONG with a STORM tracker (ablation)";
    ap = "ap": "average precision by tracked smooth ranks";
    soprc = "soprc": "AUPRC from biased batches, by the true fraction of relevant items";
    listwise_ce = "listwise-ce": "softmax cross-entropy with a tracked normaliser";
    precision = "precision": "precision at K by tracked smooth ranks";
    precision::recall = "recall": "recall at K by tracked smooth ranks";
    p_norm_push = "p-norm-push": "p-th power of how far other items are above";
    auroc = "auroc": "AUROC: a surrogate over all pairs of a relevant and another item";
    pauc_kl = "pauc-kl": "one-way partial AUC, KL form";
    tpauc_kl = "tpauc-kl": "two-way partial AUC, KL form with three levels";
    top_push_kl = "top-push-kl": "top push, KL form";
}

/// An anchor as the outer function sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// Its gain under the policy.
    pub gain: f64,
    /// Its label.
    pub label: f32,
    /// N of its list.
    pub items: f64,
    /// The number that [`Outer::prepare`] gave for the list.
    pub list: f64,
}

/// Outer function at one anchor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// f.
    pub value: f64,
    /// ∂f/∂g per component; if means are logarithms, g·∂f/∂g.
    pub slope: [f64; 2],
}

/// How the anchors of a list become its loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Over {
    /// Sum over anchors; a sample's carries N+/n+.
    Sum,
    /// Mean over anchors, by item weight.
    Mean,
    /// λ' ln w, where w tracks the mean over anchors of e^{f/λ'}: a third level, in logarithms. For small λ' only the worst
    /// anchors count, for large λ' it is [`Over::Mean`].
    SoftWorst(f64),
}

/// What an objective of this family defines.
pub trait Outer: Send + Sync {
    /// Reference set of each component (one or two).
    const REFERENCES: &'static [Reference];
    /// The loss is this plus the sum or mean of f: 1 if f is minus a metric.
    const OFFSET: f64;

    /// Sum or mean over anchors.
    fn over(&self) -> Over;

    /// True if the relevant items are the anchors; otherwise the others are, and scores are negated.
    fn anchors_are_relevant(&self) -> bool {
        true
    }

    /// A number of the whole list that a sample does not determine: the ideal DCG, a normaliser.
    fn prepare(&self, _whole: &List, _policy: &Policy) -> f64 {
        1.0
    }

    /// True if a list with such counts and such a number has a gradient.
    fn takes_part(&self, strata: &Strata, list: f64) -> bool;

    /// f and its slopes at tracked means; `log`: the means are logarithms, and slopes are g·∂f/∂g.
    fn at(&self, anchor: &Anchor, u: [f64; 2], log: bool) -> Outcome;
}

/// The mechanism with one outer function.
#[derive(Clone, Copy, Debug)]
pub struct Compositional<O> {
    /// f.
    pub outer: O,
    /// ℓ.
    pub inner: Inner,
    /// How u follows ĝ.
    pub tracker: Tracker,
    /// The self pair counts as one item instead of as ℓ(0).
    pub self_is_one: bool,
    /// ε/τ of label smoothing, 0 without; means that are logarithms, of one component, with relevant anchors.
    pub smoothing: f64,
}

/// The parameter `self`.
pub(crate) const SELF: toprank_core::Param = toprank_core::Param {
    name: "self",
    default: "surrogate",
    range: "surrogate or one",
    about: "what an item adds to its own rank: ℓ(0), or 1",
};

impl<O: Outer + 'static> Compositional<O> {
    pub(crate) fn boxed(
        outer: O,
        inner: Inner,
        tracker: Tracker,
        spec: &Spec,
    ) -> Result<Box<dyn Objective>, ParamError> {
        Ok(Box::new(Compositional::from_spec(outer, inner, tracker, spec)?))
    }

    /// Reads `self` and `smoothing`.
    pub(crate) fn from_spec(
        outer: O,
        inner: Inner,
        tracker: Tracker,
        spec: &Spec,
    ) -> Result<Compositional<O>, ParamError> {
        let self_is_one = spec.args.one_of("self", SELF.default, &[("surrogate", false), ("one", true)])?;
        let smoothing = match (smoothing(spec)?, inner) {
            (0.0, _) => 0.0,
            (epsilon, Inner::Of(Surrogate::Exponential { temperature })) => epsilon / temperature,
            (epsilon, _) => {
                let expected = "0, or given with surrogate=exponential";
                return Err(ParamError::new(SMOOTHING.name, &epsilon.to_string(), expected));
            }
        };
        Ok(Compositional { outer, inner, tracker, self_is_one, smoothing })
    }
}

/// Stage 1: a list, or a draw from it, as the mechanism sees it.
struct Drawn<'a> {
    /// The anchors, ascending.
    anchors: &'a [u32],
    /// ω of each component.
    omega: [Omega<'a>; 2],
    /// ω of an anchor itself, per component.
    own: [f64; 2],
}

/// Stage 2: an estimate of all means at one set of scores, per component and anchor.
struct Estimates<'a> {
    scores: &'a [f64],
    /// ĝ, or ln ĝ.
    value: &'a mut [f64],
    slope: &'a mut [f64],
    /// Empty if no Hessian is wanted.
    curve: &'a mut [f64],
    /// The factors of stage 4: ∂F/∂g, in logs ĝ ∂F/∂g.
    a: &'a mut [f64],
}

impl<'a> Estimates<'a> {
    /// Over memory for three numbers per component and anchor, four with second derivatives.
    fn over(scores: &'a [f64], memory: &'a mut [f64], each: usize) -> Estimates<'a> {
        let (value, rest) = memory.split_at_mut(each);
        let (slope, rest) = rest.split_at_mut(each);
        let (a, curve) = rest.split_at_mut(each);
        Estimates { scores, value, slope, curve, a }
    }

    fn component(&mut self, c: usize, m: usize) -> (Means<'_>, &[f64]) {
        let part = c * m..(c + 1) * m;
        let means = Means {
            value: &mut self.value[part.clone()],
            slope: &mut self.slope[part.clone()],
            curve: self.curve.get_mut(part.clone()).unwrap_or_default(),
        };
        (means, &self.a[part])
    }
}

impl<O: Outer> Compositional<O> {
    const COMPONENTS: usize = O::REFERENCES.len();

    /// What the self pair adds to a mean, before its weight: ℓ(0) or its logarithm.
    fn at_zero(&self) -> f64 {
        match (self.self_is_one, self.inner.is_log()) {
            (false, _) => self.inner.at_zero(),
            (true, false) => 1.0,
            (true, true) => 0.0,
        }
    }

    /// Stage 2.
    fn estimate(&self, drawn: &Drawn, estimates: &mut Estimates, work: &mut KernelWork) {
        let scores = estimates.scores;
        self.inner.plan(scores, drawn.anchors, work);
        for c in 0..Self::COMPONENTS {
            let terms = drawn.terms(c, scores);
            let (mut means, _) = estimates.component(c, drawn.anchors.len());
            self.inner.forward(&terms, self.at_zero(), &mut means, work);
        }
    }

    /// Stage 3 for one anchor, per component: u after this step, u for the gradient at the present scores, and for that at
    /// the previous ones.
    fn follow(
        &self,
        rates: tracker::Rates,
        columns: &mut Columns,
        slot: usize,
        estimate: [(f64, Option<f64>); 2],
        self_terms: [f64; 2],
    ) -> [[f64; 2]; 3] {
        let log = self.inner.is_log();
        let [mut now, mut used, mut previous] = [[0.0; 2]; 3];
        for c in 0..Self::COMPONENTS {
            // The self pair is in every estimate; a second mean contains the first.
            let floor = if c == 0 { self_terms[0] } else { self_terms[c].max(now[0]) };
            let estimate = Estimate { now: estimate[c].0, previous: estimate[c].1, floor };
            let cell = columns.cell(slot, c, Self::COMPONENTS);
            let tracked = if log {
                self.tracker.follow_log(rates, cell, estimate)
            } else {
                self.tracker.follow(rates, cell, estimate)
            };
            now[c] = tracked.now;
            used[c] = if self.tracker.lagged { tracked.before } else { tracked.now };
            previous[c] = tracked.previous;
        }
        [now, used, previous]
    }

    /// λ' ln w of [`Over::SoftWorst`], w tracking the mean of e^{f/λ'}; the factors of stage 4 become those of this loss.
    fn third_level(
        &self,
        lambda: f64,
        rates: tracker::Rates,
        terms: &[f64],
        weights: impl Iterator<Item = f64> + Clone,
        ln_w: &mut f64,
        a: &mut [f64],
    ) -> f64 {
        // Anchors without weight are not in the mean and must not set its scale.
        let heard = terms.iter().zip(weights).filter(|(_, w)| *w > 0.0);
        let top = heard.clone().fold(f64::NEG_INFINITY, |top, (f, _)| top.max(f / lambda));
        let sum: f64 = heard.map(|(f, w)| w * (f / lambda - top).exp()).sum();
        let estimate = Estimate { now: top + sum.ln(), previous: None, floor: f64::NEG_INFINITY };
        let tracked = self.tracker.follow_log(rates, Cell { u: ln_w, v: None, before: None }, estimate);
        let used = if self.tracker.lagged { tracked.before } else { tracked.now };
        for (a, f) in a.iter_mut().zip(terms).filter(|(a, _)| **a != 0.0) {
            *a *= (f / lambda - used).exp();
        }
        lambda * tracked.now
    }

    /// Stage 5.
    fn spread(&self, drawn: &Drawn, estimates: &mut Estimates, out: &mut Adjoint, work: &mut KernelWork) {
        let scores = estimates.scores;
        for c in 0..Self::COMPONENTS {
            let terms = drawn.terms(c, scores);
            let (means, a) = estimates.component(c, drawn.anchors.len());
            self.inner.backward(&terms, a, &means, out, work);
        }
    }
}

impl<'a> Drawn<'a> {
    fn terms(&self, c: usize, scores: &'a [f64]) -> Terms<'a> {
        Terms { scores, omega: self.omega[c], own: self.own[c], anchors: self.anchors }
    }
}

/// Label smoothing of one draw: ln g of an anchor becomes ln g + ε/τ Σ_j ω_j (s_i − s_j), and the gradient follows.
///
/// Linear in the scores, so that it needs no tracker and a sample is unbiased with the weights of its strata.
struct Smoothing {
    /// ε/τ.
    factor: f64,
    /// Σ ω, and Σ ω s relative to the first score: an offset of all scores costs no digits.
    weight: f64,
    mean: f64,
    first: f64,
    /// Σ over anchors of f'.
    slopes: f64,
}

impl Smoothing {
    /// `None`: there is none.
    fn of(factor: f64, scores: &[f64], omega: Omega) -> Option<Smoothing> {
        let first = *scores.first().filter(|_| factor > 0.0)?;
        let each = |j: usize| (omega.at(j), omega.at(j) * (scores[j] - first));
        let add = |sums: (f64, f64), j: usize| (sums.0 + each(j).0, sums.1 + each(j).1);
        let (weight, mean) = (0..scores.len()).fold((0.0, 0.0), add);
        Some(Smoothing { factor, weight, mean, first, slopes: 0.0 })
    }

    /// What it adds to ln g of an anchor with this score.
    fn shift(&self, score: f64) -> f64 {
        self.factor * (self.weight * (score - self.first) - self.mean)
    }

    /// The anchor's own part of the gradient, given f'.
    fn own(&mut self, slope: f64) -> f64 {
        self.slopes += slope;
        self.factor * slope * self.weight
    }

    /// The part of all items, after all anchors.
    fn spread(&self, omega: Omega, gradient: &mut [f64]) {
        for (j, gradient) in gradient.iter_mut().enumerate() {
            *gradient -= self.factor * self.slopes * omega.at(j);
        }
    }
}

/// Scores as the anchors see them: negated if the anchors are the others.
fn seen<'a>(scores: &'a [f64], turned: &'a mut [f64]) -> &'a [f64] {
    if turned.is_empty() {
        return scores;
    }
    turned.iter_mut().zip(scores).for_each(|(turned, s)| *turned = -s);
    turned
}

impl<O: Outer> Objective for Compositional<O> {
    fn needs(&self) -> Needs {
        Needs { previous_scores: self.tracker.needs_previous(), ..Needs::default() }
    }

    fn takes_uneven_draws(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        let per = if self.outer.anchors_are_relevant() { Per::Relevant } else { Per::Item };
        let list = if matches!(self.outer.over(), Over::SoftWorst(_)) { 2 } else { 1 };
        self.tracker.columns(Self::COMPONENTS, per, list)
    }

    fn prepare(&self, whole: &List, policy: &Policy, state: &mut ListState, _: &mut Work) {
        state.values[0] = self.outer.prepare(whole, policy);
    }

    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        self.gated(input, state, work, out, &mut Open)
    }
}

impl<O: Outer> Compositional<O> {
    /// The loss of a list with a gate on its anchors: Σ ψ f. The derivative of the gate by the anchor's own score is added to
    /// the gradient; derivatives by anything else are up to the caller.
    pub(crate) fn gated(
        &self,
        input: &Input,
        state: &mut ListState,
        work: &mut Work,
        out: &mut Out,
        gate: &mut impl Gate,
    ) -> Option<f64> {
        let n = input.list.len();
        let (push_relevant, log) = (self.outer.anchors_are_relevant(), self.inner.is_log());
        let [places] = work.places.cut([2 * n]);
        let (anchors, slots) = places.split_at_mut(n);

        // Stage 1: draw.
        let m = if push_relevant && input.sample.is_none() && state.all == n {
            // A whole list: the state knows the positions of its relevant items.
            anchors[..state.relevant.len()].copy_from_slice(state.relevant);
            state.relevant.len()
        } else {
            let mut m = 0;
            let above = input.policy.relevant.above();
            for (j, &label) in input.list.labels.iter().enumerate() {
                // Always written, kept only for anchors: cheaper than an unpredictable branch.
                anchors[m] = j as u32;
                m += usize::from((label > above) == push_relevant);
            }
            m
        };
        let drawn_relevant = if push_relevant { m } else { n - m };
        let strata = Strata {
            items: state.items,
            relevant: state.relevant.len(),
            drawn_relevant,
            drawn_others: n - drawn_relevant,
        };
        let own_number = state.values[0];
        if n < 2 || !strata.is_enough() || !self.outer.takes_part(&strata, own_number) {
            return None;
        }
        let anchors = &anchors[..m];
        for (i, &j) in anchors.iter().enumerate() {
            let item = input.sample.map_or(j, |items| items[j as usize]);
            slots[i] = match input.sample {
                _ if !push_relevant => item,
                None => i as u32,
                Some(_) => state.relevant.partition_point(|&place| place < item) as u32,
            };
        }
        let previous = input.previous.filter(|_| self.tracker.needs_previous());
        let cm = Self::COMPONENTS * m;
        let (with_previous, with_curve) =
            (usize::from(previous.is_some()), usize::from(out.hessian.is_some()));
        let turned = if push_relevant { 0 } else { n };
        let alike = |c: usize| {
            let weights = strata.weights(O::REFERENCES[c], push_relevant);
            weights.alike(&strata).filter(|_| input.stands_for.is_none() || weights.others == 0.0)
        };
        let each: [usize; 2] =
            std::array::from_fn(|c| if c < Self::COMPONENTS && alike(c).is_none() { n } else { 0 });
        let third_level = if matches!(self.outer.over(), Over::SoftWorst(_)) { m } else { 0 };
        let [omega0, omega1, turned, turned_previous, values, old_values, terms] = work.floats.cut([
            each[0],
            each[1],
            turned,
            turned * with_previous,
            cm * (3 + with_curve),
            cm * 3 * with_previous,
            third_level,
        ]);
        let mut drawn = Drawn { anchors, omega: [Omega::Alike(0.0); 2], own: [0.0; 2] };
        for (c, omega) in [omega0, omega1].into_iter().enumerate().take(Self::COMPONENTS) {
            let weights = strata.weights(O::REFERENCES[c], push_relevant);
            drawn.own[c] = weights.own;
            drawn.omega[c] = match alike(c) {
                Some(w) => Omega::Alike(w),
                None => {
                    let (anchor, other) = if push_relevant {
                        (weights.relevant, weights.others)
                    } else {
                        (weights.others, weights.relevant)
                    };
                    omega.fill(other);
                    for &j in anchors {
                        omega[j as usize] = anchor;
                    }
                    if let Some(each) = input.stands_for {
                        omega.iter_mut().zip(each).for_each(|(w, stands_for)| *w *= f64::from(*stands_for));
                    }
                    Omega::Each(omega)
                }
            };
        }
        let over = self.outer.over();
        let scale = match over {
            Over::Sum => strata.relevant as f64 / drawn_relevant as f64,
            Over::Mean | Over::SoftWorst(_) => {
                1.0 / anchors.iter().map(|&j| input.weight(j as usize)).sum::<f64>()
            }
        };
        if !scale.is_finite() {
            return None; // all anchors have weight 0
        }

        // Stage 2: estimate, also at the previous scores if the tracker needs them.
        let mut old = previous.map(|previous| {
            let mut old = Estimates::over(seen(previous, turned_previous), old_values, cm);
            self.estimate(&drawn, &mut old, &mut work.kernel);
            old
        });
        let mut now = Estimates::over(seen(input.list.scores, turned), values, cm);
        self.estimate(&drawn, &mut now, &mut work.kernel);

        // Stages 3 and 4: follow and weigh.
        let rates = self.tracker.rates(input.stream.step);
        let items = state.items as f64;
        let at_zero = self.at_zero();
        let self_terms = drawn.own.map(|own| if log { at_zero + own.ln() } else { at_zero * own });
        let mut columns = Columns::of(state, self.tracker.rule);
        let mut smoothing = Smoothing::of(self.smoothing, now.scores, drawn.omega[0]);
        let mut smoothing_previous =
            old.as_ref().and_then(|old| Smoothing::of(self.smoothing, old.scores, drawn.omega[0]));
        // Label smoothing moves ln g where the outer function looks at it; trackers follow g itself.
        let shifted = |u: [f64; 2], smoothing: &Option<Smoothing>, score: f64| match smoothing {
            Some(smoothing) => [u[0] + smoothing.shift(score), u[1]],
            None => u,
        };
        let mut loss = 0.0;
        for (i, &j) in anchors.iter().enumerate() {
            let j = j as usize;
            let estimate = std::array::from_fn(|c| {
                let k = c * m + i;
                if c < Self::COMPONENTS {
                    (now.value[k], old.as_ref().map(|old| old.value[k]))
                } else {
                    (0.0, None)
                }
            });
            let [after, u, u_previous] =
                self.follow(rates, &mut columns, slots[i] as usize, estimate, self_terms);
            let anchor = Anchor { gain: input.gain(j), label: input.list.labels[j], items, list: own_number };
            let at = |u| self.outer.at(&anchor, shifted(u, &smoothing, now.scores[j]), log);
            let at_after = at(after);
            let outcome = if self.tracker.lagged { at(u) } else { at_after };
            let factor = input.weight(j) * scale;
            let rank = |u: [f64; 2]| {
                let u = u[Self::COMPONENTS - 1];
                items * if log { u.exp() } else { u }
            };
            let by_draw = gate.by_draw();
            let gate_rank = rank(if by_draw { estimate.map(|(now, _)| now) } else { u });
            let (open, slope) = gate.weigh(j, gate_rank, factor * outcome.value);
            loss += open * factor * at_after.value;
            if let Some(value) = terms.get_mut(i) {
                *value = outcome.value;
            }
            // The gates of anchors that are not relevant see negated scores, too; none of them has a derivative.
            if slope != 0.0 {
                out.gradient[j] += slope * factor * outcome.value;
            }
            let at_previous = old.as_ref().map(|old| {
                let at = shifted(u_previous, &smoothing_previous, old.scores[j]);
                let outcome = self.outer.at(&anchor, at, log);
                let at = if by_draw {
                    estimate.map(|(now, previous)| previous.unwrap_or(now))
                } else {
                    u_previous
                };
                let (open, slope) = gate.weigh_previous(j, rank(at), factor * outcome.value);
                if let (true, Some(gradient)) = (slope != 0.0, &mut out.gradient_previous) {
                    gradient[j] += slope * factor * outcome.value;
                }
                (open, outcome)
            });
            if let Some(smoothing) = &mut smoothing {
                out.gradient[j] += smoothing.own(open * factor * outcome.slope[0]);
            }
            if let (Some(smoothing), Some((open, outcome)), Some(gradient)) =
                (&mut smoothing_previous, at_previous, &mut out.gradient_previous)
            {
                gradient[j] += smoothing.own(open * factor * outcome.slope[0]);
            }
            for c in 0..Self::COMPONENTS {
                let k = c * m + i;
                // In logs the slope is u f'(u); the estimate's own mean turns it into ĝ f'(u).
                let ratio = |estimate: f64, u: f64| if log { (estimate - u).exp() } else { 1.0 };
                now.a[k] = open * factor * outcome.slope[c] * ratio(now.value[k], u[c]);
                if let (Some(old), Some((open, outcome))) = (&mut old, at_previous) {
                    old.a[k] = open * factor * outcome.slope[c] * ratio(old.value[k], u_previous[c]);
                }
            }
        }

        if let Over::SoftWorst(lambda) = over {
            let weights = anchors.iter().map(|&j| input.weight(j as usize) * scale);
            loss = self.third_level(lambda, rates, terms, weights, &mut state.values[1], now.a);
        }

        // Stage 5: spread.
        let gradients = [Some(&mut *out.gradient), out.gradient_previous.as_deref_mut()];
        for (smoothing, gradient) in [smoothing, smoothing_previous].into_iter().zip(gradients) {
            if let (Some(smoothing), Some(gradient)) = (smoothing, gradient) {
                smoothing.spread(drawn.omega[0], gradient);
            }
        }
        let turn_back = |gradient: &mut [f64]| {
            if !push_relevant {
                for g in gradient {
                    *g = -*g;
                }
            }
        };
        let mut adjoint = Adjoint { gradient: out.gradient, hessian: out.hessian.as_deref_mut() };
        self.spread(&drawn, &mut now, &mut adjoint, &mut work.kernel);
        turn_back(out.gradient);
        if let (Some(old), Some(gradient)) = (&mut old, out.gradient_previous.as_deref_mut()) {
            self.inner.plan(old.scores, anchors, &mut work.kernel);
            self.spread(&drawn, old, &mut Adjoint { gradient, hessian: None }, &mut work.kernel);
            turn_back(gradient);
        }
        Some(O::OFFSET + loss)
    }
}

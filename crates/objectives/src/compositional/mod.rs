/*!
X-risks: an outer function of an inner mean of a surrogate. One mechanism for SONG, AP, listwise cross-entropy, precision
and recall by rank, p-norm push and KL forms.

```text
F = Σ over anchors i of f_i(g_i),   g_i = mean over a reference set of items j of ℓ(s_j − s_i)
∂F/∂s_j += f'_i(u_i) ω_j ℓ'(s_j − s_i),   ∂F/∂s_i −= f'_i(u_i) Σ_j ω_j ℓ'(s_j − s_i),   u_i a tracker of g_i
```

Source: XR (paper 003), algorithm 2; SONG (paper 000), eq. 3–5. An instance says what [`Outer`] asks: the outer function
with its slope, the reference sets, what a list must have to take part. The mechanism does the rest, in stages:

1. **draw**: which items are anchors, what each item of a sample stands for ([`strata`]);
2. **estimate**: ĝ of all anchors, by the kernels ([`Inner`]);
3. **follow**: u from ĝ ([`Tracker`]); a conjugate (min-max) form puts its dual variable here instead;
4. **weigh**: f and f' at u, times the anchor's factor (item weight, sampling); a gate (bilevel) multiplies the factor
   by ψ(s_i − λ) here and adds its own derivative to the gradient;
5. **spread**: the adjoint of stage 2.

With whole lists and γ = 1 the gradient is that of F exactly. The curvature is the pairwise Gauss–Newton bound: each pair
adds |f'_i| ω_j ℓ'' to both its items.
*/

pub mod ap;
mod inner;
pub mod listwise_ce;
pub mod p_norm_push;
pub mod pauc_kl;
pub mod precision;
pub mod song;
pub mod strata;
mod surrogate;
pub mod tracker;

use toprank_core::{List, ParamError, Policy, Spec};

use crate::objective::{Input, Needs, Objective, Out};
use crate::params::word;
use crate::state::{Column, ListState, Per};
use crate::work::Work;

pub use inner::Inner;
use inner::{Adjoint, Means, Terms};
pub use strata::{Reference, Strata};
pub use surrogate::Surrogate;
use tracker::{Cell, Estimate};
pub use tracker::{Rule, Schedule, Tracker};

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
    /// ∂f/∂g per component; where means are logarithms g·∂f/∂g.
    pub slope: [f64; 2],
}

/// How the anchors of a list become its loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Sum over anchors; a sample's carries N+/n+.
    Sum,
    /// Mean over anchors, by item weight.
    Mean,
}

/// What an instance of the mechanism says.
pub trait Outer: Send + Sync {
    /// Reference set of each component (one or two).
    const REFERENCES: &'static [Reference];
    /// Sum or mean over anchors.
    const OVER: Over;
    /// The loss is this plus the sum or mean of f: 1 where f is minus a measure.
    const OFFSET: f64;

    /// True if the relevant items are the anchors; else the others are, and scores count the other way round.
    fn anchors_are_relevant(&self) -> bool {
        true
    }

    /// A number of the whole list that a sample cannot know: the ideal DCG, a normaliser.
    fn prepare(&self, _whole: &List, _policy: &Policy) -> f64 {
        1.0
    }

    /// True if a list with such counts and such a number takes part.
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
        let self_is_one = word(spec, "self", SELF.default, &[("surrogate", false), ("one", true)])?;
        Ok(Box::new(Compositional { outer, inner, tracker, self_is_one }))
    }
}

/// One estimate of all means at one set of scores.
struct Estimates<'a> {
    scores: &'a [f64],
    /// g (or ln g) per component and anchor.
    value: &'a mut [f64],
    slope: &'a mut [f64],
    curve: &'a mut [f64],
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
    fn estimate(
        &self,
        estimates: &mut Estimates,
        omega: &mut [f64],
        own: &[f64],
        anchors: &[u32],
        work: &mut crate::kernels::KernelWork,
    ) {
        let (n, m) = (estimates.scores.len(), anchors.len());
        self.inner.plan(estimates.scores, anchors, work);
        for c in 0..Self::COMPONENTS {
            let part = c * m..(c + 1) * m;
            let mut terms = Terms {
                scores: estimates.scores,
                omega: &mut omega[c * n..(c + 1) * n],
                own: own[c],
                anchors,
            };
            let mut means = Means {
                value: &mut estimates.value[part.clone()],
                slope: &mut estimates.slope[part.clone()],
                curve: part_of(estimates.curve, part),
            };
            self.inner.forward(&mut terms, self.at_zero(), &mut means, work);
        }
    }

    /// Stage 5. `a` per component and anchor.
    #[allow(clippy::too_many_arguments, reason = "the operands of one formula")]
    fn spread(
        &self,
        estimates: &mut Estimates,
        omega: &mut [f64],
        own: &[f64],
        anchors: &[u32],
        a: &[f64],
        out: &mut Adjoint,
        work: &crate::kernels::KernelWork,
    ) {
        let (n, m) = (estimates.scores.len(), anchors.len());
        for c in 0..Self::COMPONENTS {
            let part = c * m..(c + 1) * m;
            let terms = Terms {
                scores: estimates.scores,
                omega: &mut omega[c * n..(c + 1) * n],
                own: own[c],
                anchors,
            };
            let means = Means {
                value: &mut estimates.value[part.clone()],
                slope: &mut estimates.slope[part.clone()],
                curve: part_of(estimates.curve, part.clone()),
            };
            self.inner.backward(&terms, &a[part], &means, out, work);
        }
    }

    /// Stage 3 for one anchor: u after and before this step, per component.
    fn follow(
        &self,
        rates: tracker::Rates,
        columns: &mut Columns,
        slot: usize,
        estimate: [(f64, Option<f64>); 2],
        own: &[f64],
    ) -> [[f64; 2]; 2] {
        let log = self.inner.is_log();
        let at_zero = self.at_zero();
        let (mut now, mut before) = ([0.0; 2], [0.0; 2]);
        for c in 0..Self::COMPONENTS {
            // The self pair is in every estimate; a second mean contains the first.
            let self_term = if log { at_zero + own[c].ln() } else { at_zero * own[c] };
            let floor = if c == 0 { self_term } else { self_term.max(now[0]) };
            let estimate = Estimate { now: estimate[c].0, previous: estimate[c].1, floor };
            let cell = columns.cell(slot, c, Self::COMPONENTS);
            let tracked = if log {
                self.tracker.follow_log(rates, cell, estimate)
            } else {
                self.tracker.follow(rates, cell, estimate)
            };
            (now[c], before[c]) = (tracked.now, tracked.before);
        }
        [now, before]
    }
}

/// A part of curves, which are empty where nobody asked for them.
fn part_of(curves: &mut [f64], part: std::ops::Range<usize>) -> &mut [f64] {
    curves.get_mut(part).unwrap_or_default()
}

/// The columns of a list's state.
struct Columns<'a> {
    u: &'a mut [f64],
    quadratic: Option<[&'a mut [f64]; 3]>,
}

impl Columns<'_> {
    fn cell(&mut self, slot: usize, component: usize, components: usize) -> Cell<'_> {
        let at = slot * components + component;
        let (v, before) = match &mut self.quadratic {
            None => (None, None),
            Some([v, before, stamp]) => (Some(&mut v[at]), Some((&mut before[at], &mut stamp[at]))),
        };
        Cell { u: &mut self.u[at], v, before }
    }
}

impl<O: Outer> Objective for Compositional<O> {
    fn needs(&self) -> Needs {
        Needs { previous_scores: self.tracker.needs_previous(), ..Needs::default() }
    }

    fn columns(&self) -> &'static [Column] {
        let per = if self.outer.anchors_are_relevant() { Per::Relevant } else { Per::Item };
        self.tracker.columns(Self::COMPONENTS, per)
    }

    fn prepare(&self, whole: &List, policy: &Policy, state: &mut ListState, _: &mut Work) {
        state.values[0] = self.outer.prepare(whole, policy);
    }

    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let n = input.list.len();
        let push_relevant = self.outer.anchors_are_relevant();
        let log = self.inner.is_log();
        // Stage 1.
        let drawn_relevant = (0..n).filter(|&j| input.is_relevant(j)).count();
        let strata = Strata {
            items: state.items,
            relevant: state.relevant.len(),
            drawn_relevant,
            drawn_others: n - drawn_relevant,
        };
        if n < 2 || !strata.is_enough() || !self.outer.takes_part(&strata, state.values[0]) {
            return None;
        }
        let m = if push_relevant { drawn_relevant } else { n - drawn_relevant };
        let components = Self::COMPONENTS;
        let previous = input.previous.filter(|_| self.tracker.needs_previous());
        let (cm, pm) = (components * m, if previous.is_some() { components * m } else { 0 });
        let bm = if out.curvature.is_some() { cm } else { 0 };
        let flipped = if push_relevant { 0 } else { n };
        let flipped_previous = if previous.is_some() { flipped } else { 0 };
        let [
            omega,
            turned,
            turned_previous,
            value,
            slope,
            curve,
            a,
            old_value,
            old_slope,
            old_curve,
            old_a,
            factor,
        ] = work.floats.cut([components * n, flipped, flipped_previous, cm, cm, bm, cm, pm, pm, 0, pm, m]);
        let [anchors, slots] = work.places.cut([m, m]);
        let mut own = [0.0; 2];
        for (c, reference) in O::REFERENCES.iter().enumerate() {
            let weights = strata.weights(*reference, push_relevant);
            own[c] = weights.own;
            for (j, w) in omega[c * n..(c + 1) * n].iter_mut().enumerate() {
                *w = if input.is_relevant(j) { weights.relevant } else { weights.others };
            }
        }
        for (next, j) in (0..n).filter(|&j| input.is_relevant(j) == push_relevant).enumerate() {
            anchors[next] = j as u32;
            let item = input.sample.map_or(j as u32, |items| items[j]);
            slots[next] = match input.sample {
                _ if !push_relevant => item,
                None => next as u32,
                Some(_) => state.relevant.partition_point(|&place| place < item) as u32,
            };
            factor[next] = input.weight(j);
        }
        let scale = match O::OVER {
            Over::Sum => strata.relevant as f64 / drawn_relevant as f64,
            Over::Mean => 1.0 / factor.iter().sum::<f64>(),
        };
        if !scale.is_finite() {
            return None; // all anchors have weight 0
        }

        // Stage 2; where the others are pushed, "above" is below.
        let turn = |turned: &'_ mut [f64], scores: &[f64]| {
            for (t, s) in turned.iter_mut().zip(scores) {
                *t = -s;
            }
        };
        turn(turned, input.list.scores);
        if let Some(previous) = previous {
            turn(turned_previous, previous);
        }
        let kernel = &mut work.kernel;
        let old = previous.map(|previous| {
            let scores = if push_relevant { previous } else { &*turned_previous };
            let mut old = Estimates { scores, value: old_value, slope: old_slope, curve: old_curve };
            self.estimate(&mut old, omega, &own, anchors, kernel);
            old
        });
        let scores = if push_relevant { input.list.scores } else { &*turned };
        let mut now = Estimates { scores, value, slope, curve };
        self.estimate(&mut now, omega, &own, anchors, kernel);

        // Stages 3 and 4.
        let rates = self.tracker.rates(input.stream.step);
        let list = state.values[0];
        let items = state.items as f64;
        let mut columns = if self.tracker.rule == Rule::Quadratic {
            let [_, u, v, before, stamp] = state.cut();
            Columns { u, quadratic: Some([v, before, stamp]) }
        } else {
            let [_, u] = state.cut();
            Columns { u, quadratic: None }
        };
        let mut loss = 0.0;
        for i in 0..m {
            let j = anchors[i] as usize;
            let anchor = Anchor { gain: input.gain(j), label: input.list.labels[j], items, list };
            let estimate = std::array::from_fn(|c| {
                if c < components {
                    (now.value[c * m + i], old.as_ref().map(|old| old.value[c * m + i]))
                } else {
                    (0.0, None)
                }
            });
            let [after, before] = self.follow(rates, &mut columns, slots[i] as usize, estimate, &own);
            let factor = factor[i] * scale;
            loss += factor * self.outer.at(&anchor, after, log).value;
            let outcome = self.outer.at(&anchor, if self.tracker.lagged { before } else { after }, log);
            let outcome_before = (!old_a.is_empty()).then(|| self.outer.at(&anchor, before, log));
            for c in 0..components {
                let k = c * m + i;
                let u = if self.tracker.lagged { before[c] } else { after[c] };
                // In logs the slope is u f'(u); the estimate's own mean turns it into ĝ f'(u).
                let ratio = |estimate: f64, u: f64| if log { (estimate - u).exp() } else { 1.0 };
                a[k] = factor * outcome.slope[c] * ratio(now.value[k], u);
                if let (Some(outcome), Some(old)) = (outcome_before, &old) {
                    old_a[k] = factor * outcome.slope[c] * ratio(old.value[k], before[c]);
                }
            }
        }

        // Stage 5.
        let mut adjoint = Adjoint { gradient: out.gradient, curvature: out.curvature.as_deref_mut() };
        self.spread(&mut now, omega, &own, anchors, a, &mut adjoint, kernel);
        if let (Some(mut old), Some(gradient)) = (old, out.gradient_previous.as_deref_mut()) {
            self.inner.plan(old.scores, anchors, kernel);
            let mut adjoint = Adjoint { gradient, curvature: None };
            self.spread(&mut old, omega, &own, anchors, old_a, &mut adjoint, kernel);
            if !push_relevant {
                out.gradient_previous.iter_mut().flat_map(|g| g.iter_mut()).for_each(|g| *g = -*g);
            }
        }
        if !push_relevant {
            out.gradient.iter_mut().for_each(|g| *g = -*g);
        }
        Some(O::OFFSET + loss)
    }
}

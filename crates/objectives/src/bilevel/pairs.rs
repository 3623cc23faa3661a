/*!
Gated pairs: Σ_i Σ_j A_i B_j ℓ(s_j − s_i) over relevant i and others j, with gates on both sides.

```text
A_i = gates of s_i, B_j = gates of s_j; each gate is φ(s − λ_b) or φ(λ_b − s), φ(x) = σ(a x)
∂F/∂s at fixed λ: A_i B_j ℓ' on j and minus that on i;  ∂A_i/∂s_i Σ_j B_j ℓ_ij on i;  ∂B_j/∂s_j Σ_i A_i ℓ_ij on j
∂F/∂λ_b = minus the derivatives of its gates
```

The sums of each side are one evaluation of the pairwise kernels, O(n log n) for the hinges.
*/

use toprank_core::{Param, ParamError, Spec};

use super::{
    ABSOLUTE, Bilevel, Block, ETA, FORM, LIST_ONLY, Lower, Outcome, SHARP, Scene, Step, TAU1, TAU2,
    THRESHOLD, Upper,
};
use crate::compositional::surrogate::{MARGIN, PLAIN, TEMPERATURE};
use crate::compositional::tracker::{GAMMA, GAMMA_Z};
use crate::compositional::{Adjoint, Inner, Means, Strata, Surrogate, Terms};
use crate::kernels::hinge::Omega;
use crate::objective::{Objective, Out};
use crate::params::RELEVANT;
use crate::state::{Column, ListState};
use crate::work::Work;

/// Parameters that all regions share.
pub(super) const PARAMS: [Param; 13] =
    [FORM, THRESHOLD, SHARP, TAU1, TAU2, ETA, ABSOLUTE, GAMMA, GAMMA_Z, PLAIN, MARGIN, TEMPERATURE, RELEVANT];

/// A gate on one side of the pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairGate {
    /// It applies to the relevant items; otherwise to the others.
    pub on_relevant: bool,
    /// It selects items above the threshold; otherwise those below.
    pub above: bool,
}

/// Which pairs count.
pub trait Region: Send + Sync {
    /// The gate of each of the two thresholds.
    const GATES: [PairGate; 2];

    /// The thresholds; `None`: the region holds no pair.
    fn blocks(&self, strata: &Strata) -> Option<[Option<Block>; 2]>;

    /// Number of relevant items and of others in the region.
    fn selected(&self, strata: &Strata) -> [f64; 2];
}

/// The upper level of a [`Region`]: the mean of ℓ over its pairs.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<R> {
    /// Which pairs.
    pub region: R,
    /// ℓ.
    pub inner: Inner,
    /// φ.
    pub gate: Step,
}

impl<R: Region + 'static> Pairs<R> {
    /// The objective of a region, with the gates and thresholds of `spec`.
    pub(super) fn boxed(
        region: R,
        surrogate: Surrogate,
        spec: &Spec,
    ) -> Result<Box<dyn Objective>, ParamError> {
        let upper = Pairs { region, inner: Inner::Of(surrogate), gate: Step::from_spec(spec, 10.0)? };
        Bilevel::boxed(upper, Lower::from_spec(spec)?, spec)
    }
}

impl<R: Region> Pairs<R> {
    /// The product of the gates of item `j`, and its derivative by the score in each gate.
    fn open(&self, scene: &Scene, j: usize, relevant: bool) -> (f64, [f64; 2]) {
        let mut values = [1.0; 2];
        let mut slopes = [0.0; 2];
        for (b, gate) in R::GATES.into_iter().enumerate() {
            if gate.on_relevant != relevant {
                continue;
            }
            let Some(x) = scene.now.above(b, scene.gate_score(j)) else { continue };
            let sign = if gate.above { 1.0 } else { -1.0 };
            let (value, slope) = self.gate.at(Some(sign * x));
            (values[b], slopes[b]) = (value, sign * slope);
        }
        (values[0] * values[1], [slopes[0] * values[1], values[0] * slopes[1]])
    }
}

impl<R: Region> Upper for Pairs<R> {
    fn blocks(&self, strata: &Strata) -> Option<[Option<Block>; 2]> {
        if strata.drawn_relevant == 0 || strata.drawn_others == 0 {
            return None;
        }
        self.region.blocks(strata)
    }

    fn columns(&self) -> &'static [Column] {
        LIST_ONLY
    }

    fn value(&self, scene: &Scene, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<Outcome> {
        let (input, strata) = (scene.input, scene.strata);
        let scores = input.list.scores;
        let n = scores.len();
        let (m, o) = (strata.drawn_relevant, strata.drawn_others);
        let total: f64 = (0..n).filter(|&j| input.is_relevant(j)).map(|j| input.weight(j)).sum();
        if total == 0.0 {
            return None;
        }
        let [places] = work.places.cut([n]);
        let (relevant, others) = places.split_at_mut(m);
        let [weights, turned, a, value, slope, curve] = work.floats.cut([
            n,
            n,
            m.max(o),
            m.max(o),
            m.max(o),
            if out.hessian.is_some() { m.max(o) } else { 0 },
        ]);
        input.part(relevant, others);
        // A drawn item represents N±/n± items of its class; item weights make the mean over relevant items a weighted mean.
        let [selected_relevant, selected_others] = self.region.selected(&strata);
        let each_relevant = strata.relevant as f64 / (selected_relevant * total);
        let each_other = strata.others() as f64 / (selected_others * o as f64);
        for &j in others.iter() {
            weights[j as usize] =
                each_other * input.stands_for(j as usize) * self.open(scene, j as usize, false).0;
        }
        for (a, &j) in a.iter_mut().zip(relevant.iter()) {
            let j = j as usize;
            *a = each_relevant * input.weight(j) * self.open(scene, j, true).0;
        }

        // Rows: Σ_j B_j ℓ_ij of every relevant i, and the gradient through ℓ.
        let terms = Terms { scores, omega: Omega::Each(weights), own: 0.0, anchors: relevant };
        self.inner.plan(scores, relevant, &mut work.kernel);
        let with_curve = curve.len().min(m);
        let mut means =
            Means { value: &mut value[..m], slope: &mut slope[..m], curve: &mut curve[..with_curve] };
        self.inner.forward(&terms, 0.0, &mut means, &mut work.kernel);
        let mut adjoint = Adjoint { gradient: out.gradient, hessian: out.hessian.as_deref_mut() };
        self.inner.backward(&terms, &a[..m], &means, &mut adjoint, &mut work.kernel);
        let loss = a[..m].iter().zip(&*means.value).map(|(a, row)| a * row).sum();
        let mut by_threshold = [0.0; 2];
        if !scene.through_gate {
            return Some(Outcome {
                loss,
                by_threshold,
                by_threshold_previous: [0.0; 2],
                curve_by_threshold: [0.0; 2],
            });
        }
        let mut pass = |j: usize, scale: f64, sum: f64, side: bool| {
            for (b, slope) in self.open(scene, j, side).1.into_iter().enumerate() {
                out.gradient[j] += scale * slope * sum;
                by_threshold[b] -= scale * slope * sum;
            }
        };
        for (&j, row) in relevant.iter().zip(value.iter()) {
            pass(j as usize, each_relevant * input.weight(j as usize), *row, true);
        }

        // Columns: Σ_i A_i ℓ_ij of every other j, as rows of the negated list.
        if R::GATES.iter().any(|gate| !gate.on_relevant) {
            weights.fill(0.0);
            for (a, &j) in a.iter().zip(relevant.iter()) {
                weights[j as usize] = *a;
            }
            turned.iter_mut().zip(scores).for_each(|(turned, s)| *turned = -s);
            let terms = Terms { scores: turned, omega: Omega::Each(weights), own: 0.0, anchors: others };
            self.inner.plan(turned, others, &mut work.kernel);
            let mut means = Means { value: &mut value[..o], slope: &mut slope[..o], curve: &mut [] };
            self.inner.forward(&terms, 0.0, &mut means, &mut work.kernel);
            for (&j, column) in others.iter().zip(value.iter()) {
                pass(j as usize, each_other * input.stands_for(j as usize), *column, false);
            }
        }
        Some(Outcome { loss, by_threshold, by_threshold_previous: [0.0; 2], curve_by_threshold: [0.0; 2] })
    }
}

/*!
Single items against a threshold: the weighted mean over one class of ℓ(x), x = how far an item is on the wrong side of λ.
`surrogate=step` is ℓ(x) = σ(x/τ1), the smooth step by which the lower level counts the items above λ (in units of the score
spread, like all of the lower level): only then are there never more than K items above λ, whatever the scores.

```text
F = a + b·mean over the class of ℓ(±(s − λ));   ∂F/∂λ = ∓ b·mean of ℓ'
```
*/

use toprank_core::{Param, ParamError, Spec};

use super::{
    ABSOLUTE, Bilevel, Block, DIFFERENTIABLE, ETA, LIST_ONLY, Lower, Outcome, Scene, Set, TAU1, TAU2, Upper,
};
use crate::compositional::surrogate::{MARGIN, TEMPERATURE};
use crate::compositional::tracker::{GAMMA, GAMMA_Z};
use crate::compositional::{Strata, Surrogate};
use crate::objective::{Objective, Out};
use crate::params::RELEVANT;
use crate::state::{Column, ListState};
use crate::work::Work;

/// Parameters that all sides share, except the surrogate.
pub(super) const PARAMS: [Param; 10] = [
    DIFFERENTIABLE,
    TAU1_OF_STEP,
    TAU2,
    ETA_OF_STEP,
    ABSOLUTE,
    GAMMA,
    GAMMA_Z,
    MARGIN,
    TEMPERATURE,
    RELEVANT,
];

/// The surrogate of terms that can all be on the correct side.
pub(super) const SURROGATE: Param = Param {
    name: "surrogate",
    default: "squared-hinge",
    range: "step, squared-hinge, hinge, square, logistic, logistic2, sigmoid, barrier-hinge, huber or one-side-sigmoid",
    about: "ℓ(x), the smooth surrogate of 1[x ≥ 0]; step: that of the lower level",
};
/// The surrogate of terms that cannot.
pub(super) const SURROGATE_OF_FEW: Param = Param { default: "step", ..SURROGATE };
/// τ1, which is also the width of the step.
const TAU1_OF_STEP: Param = Param {
    default: "0.5 with surrogate=step, else 0.01 on whole lists, 0.1 on samples",
    about: "τ1: smoothness of the lower level and of the step, in units of the list's score spread",
    ..TAU1
};
const ETA_OF_STEP: Param = Param { default: "0.1 with surrogate=step, else 0.01", ..ETA };
/// Wide enough that items at some distance from the threshold have a gradient.
const STEP_WIDTH: f64 = 0.5;
/// A loss that measures scores in units of their spread does not limit their scale; λ has to follow it.
const STEP_ETA: f64 = 0.1;

/// Which items should be on which side of which threshold.
pub trait Side: Send + Sync {
    /// The class of the mean: relevant items should be above the threshold, others below.
    const OVER: Set;
    /// Its parameter `surrogate`.
    const SURROGATE: Param;

    /// The threshold; `None`: the list has no gradient.
    fn block(&self, strata: &Strata) -> Option<Block>;

    /// The loss as a + b·mean: (a, b).
    fn scale(&self, strata: &Strata) -> (f64, f64);
}

/// The upper level of a [`Side`].
#[derive(Clone, Copy, Debug)]
pub struct Items<S> {
    /// Which items against which threshold.
    pub side: S,
    /// ℓ; `None`: the step of the lower level.
    pub surrogate: Option<Surrogate>,
}

impl<S: Side + 'static> Items<S> {
    /// The objective of a side, with the surrogate and threshold of `spec`.
    pub(super) fn boxed(side: S, spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        let mut lower = Lower::differentiable(spec)?;
        let surrogate = if spec.args.get(S::SURROGATE.name).unwrap_or(S::SURROGATE.default) == "step" {
            lower.tau1.get_or_insert(STEP_WIDTH);
            if spec.args.get(ETA.name).is_none() {
                lower.eta = STEP_ETA;
            }
            None
        } else {
            Some(Surrogate::plain(spec)?)
        };
        Bilevel::boxed(Items { side, surrogate }, lower, spec)
    }
}

impl<S: Side> Upper for Items<S> {
    fn blocks(&self, strata: &Strata) -> Option<[Option<Block>; 2]> {
        if strata.drawn_relevant == 0 || strata.drawn_others == 0 {
            return None;
        }
        self.side.block(strata).map(|block| [Some(block), None])
    }

    fn columns(&self) -> &'static [Column] {
        LIST_ONLY
    }

    fn value(&self, scene: &Scene, _: &mut ListState, _: &mut Work, out: &mut Out) -> Option<Outcome> {
        let input = scene.input;
        let relevant = S::OVER == Set::Relevant;
        let mine = |j: &usize| input.is_relevant(*j) == relevant;
        let members = || (0..input.list.len()).filter(mine);
        let total: f64 = members().map(|j| input.weight(j)).sum();
        if total == 0.0 {
            return None;
        }
        let (offset, factor) = self.side.scale(&scene.strata);
        let sign = if relevant { -1.0 } else { 1.0 };
        let surrogate = self.surrogate.unwrap_or(Surrogate::Sigmoid { temperature: scene.widths[0] });
        let (mut mean, mut slope_sum, mut curve_sum) = (0.0, 0.0, 0.0);
        for j in members() {
            let x = sign * scene.now.above(0, input.list.scores[j])?;
            let w = input.weight(j) / total;
            let (value, slope, second) = surrogate.with_second_derivative(x);
            mean += w * value;
            slope_sum += w * slope;
            curve_sum += w * second;
            out.gradient[j] += factor * sign * w * slope;
            if let Some(h) = &mut out.hessian {
                h[j] += factor * w * second;
            }
        }
        Some(Outcome {
            loss: offset + factor * mean,
            by_threshold: [-factor * sign * slope_sum, 0.0],
            by_threshold_previous: [0.0; 2],
            curve_by_threshold: [factor * curve_sum, 0.0],
        })
    }
}

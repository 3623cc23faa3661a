/*!
Single items against a threshold: the weighted mean over one class of ℓ(x), x = how far an item is on the wrong side of λ.
`surrogate=step` is ℓ(x) = σ(x/τ1), the very step by which the lower level counts the items above λ (in units of the spread, as
all of it): only then is what stands above λ never more than K items, however the scores lie.

```text
F = a + b·mean over the class of ℓ(±(s − λ));   ∂F/∂λ = ∓ b·mean of ℓ'
```
*/

use toprank_core::{Param, ParamError, Spec};

use super::{
    ABSOLUTE, Bilevel, Block, DIFFERENTIABLE, ETA, LIST_ONLY, Lower, Outcome, Scene, Set, TAU1, TAU2, Upper,
};
use crate::compositional::surrogate::{MARGIN, TEMPERATURE};
use crate::compositional::tracker::GAMMA;
use crate::compositional::{Strata, Surrogate};
use crate::objective::{Objective, Out};
use crate::params::RELEVANT;
use crate::state::{Column, ListState};
use crate::work::Work;

/// Parameters of every side but its own and its surrogate.
pub(super) const PARAMS: [Param; 9] =
    [DIFFERENTIABLE, TAU1_OF_STEP, TAU2, ETA_OF_STEP, ABSOLUTE, GAMMA, MARGIN, TEMPERATURE, RELEVANT];

/// The surrogate of terms that can all be on the right side.
pub(super) const SURROGATE: Param = Param {
    name: "surrogate",
    default: "squared-hinge",
    range: "step, squared-hinge, hinge, square, logistic, logistic2, sigmoid, barrier-hinge, huber or one-side-sigmoid",
    about: "ℓ(x), the smooth stand-in for 1[x ≥ 0]; step: that of the lower level itself",
};
/// Of terms that cannot.
pub(super) const SURROGATE_OF_FEW: Param = Param { default: "step", ..SURROGATE };
/// τ1, which is the width of the step, too.
const TAU1_OF_STEP: Param = Param {
    default: "0.5 with surrogate=step, else 0.01 on whole lists, 0.1 on samples",
    about: "τ1: smoothness of the lower level and of the step, in units of the list's score spread",
    ..TAU1
};
const ETA_OF_STEP: Param = Param { default: "0.1 with surrogate=step, else 0.01", ..ETA };
/// Wide enough that items which are not at the threshold yet are moved.
const STEP_WIDTH: f64 = 0.5;
/// The scale of scores that are only ever seen in units of their spread grows as it likes; λ has to keep up with it.
const STEP_ETA: f64 = 0.1;

/// Which items are to stand on which side of which threshold.
pub trait Side: Send + Sync {
    /// The class that the mean goes over; its relevant items are to stand above the threshold, the others below.
    const OVER: Set;
    /// Its parameter `surrogate`.
    const SURROGATE: Param;

    /// The threshold; `None`: the list cannot take part.
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
    /// The objective of a side: surrogate and threshold as `spec` says.
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
        let (mut mean, mut slope_sum) = (0.0, 0.0);
        for j in members() {
            let x = sign * scene.now.above(0, input.list.scores[j])?;
            let w = input.weight(j) / total;
            let (value, slope, bend) = surrogate.with_bend(x);
            mean += w * value;
            slope_sum += w * slope;
            out.gradient[j] += factor * sign * w * slope;
            if let Some(h) = &mut out.curvature {
                h[j] += factor * w * bend;
            }
        }
        Some(Outcome {
            loss: offset + factor * mean,
            by_threshold: [-factor * sign * slope_sum, 0.0],
            by_threshold_previous: [0.0; 2],
        })
    }
}

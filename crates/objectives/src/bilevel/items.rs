/*!
Single items against a threshold: the weighted mean over one class of ℓ(x), x = how far an item is on the wrong side of λ.

```text
F = a + b·mean over the class of ℓ(±(s − λ));   ∂F/∂λ = ∓ b·mean of ℓ'
```
*/

use toprank_core::{Param, ParamError, Spec};

use super::{
    ABSOLUTE, Bilevel, Block, DIFFERENTIABLE, ETA, LIST_ONLY, Lower, Outcome, Scene, Set, TAU1, TAU2, Upper,
};
use crate::compositional::surrogate::{MARGIN, PLAIN, TEMPERATURE};
use crate::compositional::tracker::GAMMA;
use crate::compositional::{Strata, Surrogate};
use crate::objective::{Objective, Out};
use crate::params::RELEVANT;
use crate::state::{Column, ListState};
use crate::work::Work;

/// Parameters of every side but its own.
pub(super) const PARAMS: [Param; 10] =
    [DIFFERENTIABLE, TAU1, TAU2, ETA, ABSOLUTE, GAMMA, PLAIN, MARGIN, TEMPERATURE, RELEVANT];

/// Which items are to stand on which side of which threshold.
pub trait Side: Send + Sync {
    /// The class that the mean goes over; its relevant items are to stand above the threshold, the others below.
    const OVER: Set;

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
    /// ℓ.
    pub surrogate: Surrogate,
}

impl<S: Side + 'static> Items<S> {
    /// The objective of a side: surrogate and threshold as `spec` says.
    pub(super) fn boxed(side: S, spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        let upper = Items { side, surrogate: Surrogate::plain(spec)? };
        Bilevel::boxed(upper, Lower::differentiable(spec)?, spec)
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
        let (mut mean, mut slope_sum) = (0.0, 0.0);
        for j in members() {
            let x = sign * scene.now.above(0, input.list.scores[j])?;
            let w = input.weight(j) / total;
            let (value, slope, bend) = self.surrogate.with_bend(x);
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

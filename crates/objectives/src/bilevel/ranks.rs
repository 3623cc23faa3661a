/*!
Gated ranks: Σ_i ψ(s_i − λ) f_i(g_i), a gate on the anchors of the compositional mechanism.

```text
∂F/∂s at fixed λ = Σ_i ψ_i ∂f_i/∂s + ψ'_i f_i on i;   ∂F/∂λ = −Σ_i ψ'_i f_i
```

Or a gate by rank, ψ(K − N u_i), the baseline that thresholds are compared with: with its derivative ([`WithinRank`]), or as a
constant of the gradient ([`RankGated`]), then also by the rank in the draw.
*/

use toprank_core::{List, Param, Policy};

use super::{
    ABSOLUTE, Block, ETA, FORM, Outcome, SHARPNESS, Scene, Set, Step, TAU1, TAU2, THRESHOLD, Upper, WIDTH,
};
use crate::compositional::tracker::{GAMMA, GAMMA_S};
use crate::compositional::{
    Anchor, Compositional, Gate, Open, Outcome as OuterValue, Outer, Over, Reference, Strata,
};
use crate::objective::{Input, Needs, Objective, Out};
use crate::state::{Column, ListState, Per};
use crate::work::Work;

/// Parameters of the gate, its threshold and the tracker.
pub(super) const PARAMS: [Param; 9] = with_gamma(GAMMA);

/// The same with another default of γ.
pub(super) const fn with_gamma(gamma: Param) -> [Param; 9] {
    [FORM, THRESHOLD, SHARPNESS, TAU1, TAU2, ETA, ABSOLUTE, gamma, GAMMA_S]
}

/// Σ_i ψ(s_i − λ) f_i(g_i), λ the threshold with K items of the list above it.
#[derive(Clone, Copy, Debug)]
pub struct GatedRanks<O> {
    /// f and g.
    pub ranks: Compositional<O>,
    /// K.
    pub k: u32,
    /// ψ.
    pub gate: Step,
}

impl<O: Outer> Upper for GatedRanks<O> {
    fn blocks(&self, strata: &Strata) -> Option<[Option<Block>; 2]> {
        (strata.drawn_relevant > 0).then(|| [Block::new(Set::All, self.k as isize, strata), None])
    }

    fn columns(&self) -> &'static [Column] {
        self.ranks.tracker.columns(O::REFERENCES.len(), Per::Relevant, WIDTH)
    }

    fn prepare(&self, whole: &List, policy: &Policy) -> f64 {
        self.ranks.outer.prepare(whole, policy)
    }

    fn value(&self, scene: &Scene, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<Outcome> {
        let mut gate = ByThreshold { scene, step: self.gate, slope: 0.0, slope_previous: 0.0 };
        let loss = self.ranks.gated(scene.input, state, work, out, &mut gate)?;
        Some(Outcome {
            loss,
            by_threshold: [gate.slope, 0.0],
            by_threshold_previous: [gate.slope_previous, 0.0],
            curve_by_threshold: [0.0; 2],
        })
    }
}

struct ByThreshold<'a, 'b, 'c> {
    scene: &'a Scene<'b, 'c>,
    step: Step,
    /// ∂F/∂λ.
    slope: f64,
    slope_previous: f64,
}

impl Gate for ByThreshold<'_, '_, '_> {
    fn weigh(&mut self, j: usize, _: f64, term: f64) -> (f64, f64) {
        let (open, slope) = self.step.at(self.scene.now.above(0, self.scene.gate_score(j)));
        if !self.scene.through_gate {
            return (open, 0.0);
        }
        self.slope -= slope * term;
        (open, slope)
    }

    fn weigh_previous(&mut self, j: usize, _: f64, term: f64) -> (f64, f64) {
        let before = self.scene.previous.zip(self.scene.input.previous);
        let x = before.and_then(|(thresholds, scores)| thresholds.above(0, scores[j]));
        let (open, slope) = self.step.at(x);
        if !self.scene.through_gate {
            return (open, 0.0);
        }
        self.slope_previous -= slope * term;
        (open, slope)
    }
}

/// ψ(K − N g)·f(g) as one outer function of the last mean g: the gradient flows through the gate. K ≥ N: ψ = 1.
#[derive(Clone, Copy, Debug)]
pub struct WithinRank<O> {
    /// f.
    pub outer: O,
    /// K.
    pub k: u32,
    /// ψ of ranks: sharpness per rank.
    pub gate: Step,
}

impl<O: Outer> Outer for WithinRank<O> {
    const REFERENCES: &'static [Reference] = O::REFERENCES;
    const OFFSET: f64 = O::OFFSET;

    fn over(&self) -> Over {
        self.outer.over()
    }

    fn anchors_are_relevant(&self) -> bool {
        self.outer.anchors_are_relevant()
    }

    fn prepare(&self, whole: &List, policy: &Policy) -> f64 {
        self.outer.prepare(whole, policy)
    }

    fn takes_part(&self, strata: &Strata, list: f64) -> bool {
        self.outer.takes_part(strata, list)
    }

    fn at(&self, anchor: &Anchor, u: [f64; 2], log: bool) -> OuterValue {
        let f = self.outer.at(anchor, u, log);
        if f64::from(self.k) >= anchor.items {
            return f;
        }
        let last = O::REFERENCES.len() - 1;
        let rank = anchor.items * if log { u[last].exp() } else { u[last] };
        let (open, slope) = self.gate.at(Some(f64::from(self.k) - rank));
        let mut slopes = f.slope.map(|by_mean| open * by_mean);
        // A rank that overflows is far beyond K, where ψ' is 0.
        if slope > 0.0 {
            slopes[last] -= slope * f.value * if log { rank } else { anchor.items };
        }
        OuterValue { value: open * f.value, slope: slopes }
    }
}

/// Σ_i ψ(K − rank_i) f_i(g_i): the gate is a constant of the gradient.
#[derive(Clone, Copy, Debug)]
pub struct RankGated<O> {
    /// f and g.
    pub ranks: Compositional<O>,
    /// K.
    pub k: u32,
    /// ψ of ranks: sharpness per rank.
    pub gate: Step,
    /// Ranks are those of the draw, N ĝ, instead of the tracked N u.
    pub by_draw: bool,
}

struct ByRank<'a> {
    k: f64,
    step: Step,
    by_draw: bool,
    /// Ranks at the frozen scores, by position in the draw; empty: the present ones are used.
    frozen: &'a [f64],
}

impl Gate for ByRank<'_> {
    fn by_draw(&self) -> bool {
        self.by_draw
    }

    fn weigh(&mut self, j: usize, rank: f64, _: f64) -> (f64, f64) {
        let rank = self.frozen.get(j).copied().unwrap_or(rank);
        (self.step.at(Some(self.k - rank)).0, 0.0)
    }
}

/// Records the ranks.
struct Ranks {
    ranks: Vec<f64>,
    by_draw: bool,
}

impl Gate for Ranks {
    fn by_draw(&self) -> bool {
        self.by_draw
    }

    fn weigh(&mut self, j: usize, rank: f64, _: f64) -> (f64, f64) {
        self.ranks[j] = rank;
        (1.0, 0.0)
    }
}

impl<O: Outer> RankGated<O> {
    /// Ranks at the frozen scores. Only tests of derivatives pass such scores, so this may allocate.
    fn frozen_ranks(&self, input: &Input, state: &ListState, work: &mut Work) -> Vec<f64> {
        let Some(frozen) = input.frozen else { return Vec::new() };
        let n = frozen.len();
        let mut values = state.values.to_vec();
        let mut state = ListState { values: &mut values, ..*state };
        let input = Input { list: List { scores: frozen, ..input.list }, frozen: None, ..*input };
        let mut gradient = vec![0.0; n];
        let mut ranks = Ranks { ranks: vec![0.0; n], by_draw: self.by_draw };
        let mut out = Out { gradient: &mut gradient, hessian: None, gradient_previous: None };
        self.ranks.gated(&input, &mut state, work, &mut out, &mut ranks);
        ranks.ranks
    }
}

impl<O: Outer> Objective for RankGated<O> {
    fn needs(&self) -> Needs {
        self.ranks.needs()
    }

    fn columns(&self) -> &'static [Column] {
        self.ranks.columns()
    }

    fn prepare(&self, whole: &List, policy: &Policy, state: &mut ListState, work: &mut Work) {
        self.ranks.prepare(whole, policy, state, work);
    }

    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        if self.k as usize >= state.items {
            return self.ranks.gated(input, state, work, out, &mut Open);
        }
        let frozen = self.frozen_ranks(input, state, work);
        let mut gate =
            ByRank { k: f64::from(self.k), step: self.gate, by_draw: self.by_draw, frozen: &frozen };
        self.ranks.gated(input, state, work, out, &mut gate)
    }
}

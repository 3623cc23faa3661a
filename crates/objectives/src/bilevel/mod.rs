/*!
Bilevel X-risks: terms that count only above (or below) a threshold λ, which is itself the solution of an optimisation problem
over the scores. One mechanism for K-SONG, top-K AP, precision and recall at K, precision at a recall, partial AUC, pAp@K and
the top push.

```text
F(s, λ(s)),   λ_b(s) = argmin_λ L_b(λ; s) for one or two blocks b (sets of items of the list)
∂F/∂s_j = ∂F/∂s_j at fixed λ + Σ_b (∂F/∂λ_b) dλ_b/ds_j,   j over the block's own set
```

Source: Yang, "Algorithmic foundation of deep X-risk optimization", arXiv 2206.00439, 2022, algorithm 3; Qiu, Hu, Zhong, Tu,
Zhang, Yang, "Optimal large-scale stochastic optimization of NDCG surrogates for deep learning", Machine Learning, 2024,
section 5. An objective implements [`Upper`]: which thresholds there are, and F with its derivatives at fixed λ. Three forms of
F cover the metrics: [`ranks`] (ψ(s_i − λ)·f_i(g_i), a
gate on the compositional mechanism), [`pairs`] (gates on both sides of pairs) and [`items`] (single items against λ).
The mechanism does the rest:

1. **read**: λ of each block from the previous visit; on the first visit the minimiser of the sample;
2. **upper**: F, its gradient at fixed λ, ∂F/∂λ;
3. **implicit term**: (∂F/∂λ)/s on every item of the block, s a tracked L_λλ (exact: the present one; Faster v2: the
   whole ratio is tracked);
4. **update**: λ takes a step along z, which is L_λ itself (algorithm 2) or tracks it (Faster forms), then s and the spread D
   are updated.

Gradients at the previous scores use λ and s as they were one step ago (algorithm 9). Both gradients look at λ and s from before
the update, so neither depends on the batch.

State of a list: λ, z, s, the spread, an origin; it is saved with everything else.
*/

pub mod items;
pub mod k_song;
mod lower;
pub mod pairs;
pub mod pap;
pub mod pauc;
pub mod precision_at_recall;
pub mod ranks;
pub mod threshold_precision;
pub mod top_ap;
pub mod top_push;
pub mod tpauc;

use toprank_core::{List, Param, ParamError, Policy, Spec};

use crate::catalog::family;
use crate::compositional::tracker::{Cell, Estimate};
use crate::compositional::{Rule, Strata, Tracker};
use crate::kernels::scalar::{sigmoid, within};
use crate::objective::{Input, Needs, Objective, Out};
use crate::state::{Column, ListState, Per};
use crate::work::Work;

pub use crate::compositional::Set;
pub(crate) use lower::{ABSOLUTE, DIFFERENTIABLE, ETA, FORM, TAU1, TAU2, THRESHOLD};
pub use lower::{Block, Lower, ThresholdMethod};
use lower::{Problem, Slopes, spread};

family! { "bilevel (thresholds)":
    k_song = "k-song": "NDCG at K by a threshold and tracked smooth ranks";
    k_song::v1 = "k-song-v1": "Faster K-SONG: NDCG at K with MSVR trackers";
    k_song::v2 = "k-song-v2": "Faster K-SONG: NDCG at K with quadratic trackers";
    k_song::by_rank = "k-song-rank": "NDCG at K with a gate by rank instead of a threshold";
    top_ap = "top-ap": "average precision at K by a threshold and tracked smooth ranks";
    threshold_precision = "precision-threshold": "precision at K by a threshold";
    threshold_precision::recall = "recall-threshold": "recall at K by a threshold";
    precision_at_recall = "precision-at-recall": "precision at a recall by a threshold";
    pauc = "pauc-bilevel": "one-way partial AUC over a range of false positive rates, by thresholds";
    tpauc = "tpauc-bilevel": "two-way partial AUC by thresholds";
    pap = "pap": "the K highest relevant items against the K highest others, by thresholds";
    top_push = "top-push-bilevel": "top push by a threshold";
}

/// Thresholds of one set of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Scores and thresholds are relative to this origin.
    origin: f64,
    /// λ of each block; `None`: no threshold.
    lambda: [Option<f64>; 2],
}

impl Thresholds {
    /// s − λ of block `b`; `None`: there is no threshold.
    #[inline]
    pub fn above(&self, b: usize, score: f64) -> Option<f64> {
        self.lambda[b].map(|lambda| (score - self.origin) - lambda)
    }
}

/// What an upper level sees of a list.
pub struct Scene<'a, 'b> {
    /// Scores, labels, weights, sample.
    pub input: &'a Input<'b>,
    /// Counts.
    pub strata: Strata,
    /// Thresholds at the present scores.
    pub now: Thresholds,
    /// Thresholds of the previous step, if its scores are given.
    pub previous: Option<Thresholds>,
    /// τ1·D of each block: the width of its threshold, in units of the scores; a constant of the gradient.
    pub widths: [f64; 2],
    /// True if derivatives of gates are wanted; otherwise gates are constants, computed from the frozen scores.
    pub through_gate: bool,
}

impl Scene<'_, '_> {
    /// The score that the gate of item `j` sees.
    #[inline]
    pub fn gate_score(&self, j: usize) -> f64 {
        if self.through_gate { self.input.list.scores[j] } else { self.input.frozen()[j] }
    }
}

/// A smooth step: σ(sharpness · x), 1 if there is no threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// a, the steepness.
    pub sharpness: f64,
}

pub(crate) const SHARPNESS: Param = Param {
    name: "sharpness",
    default: "2",
    range: "in (0, ∞)",
    about: "a of the gate σ(a(s − λ)); larger values are sharper",
};

/// The gate of pairs, which is steeper.
pub(crate) const SHARP: Param =
    Param { default: "10", about: "a of the gates φ(x) = σ(a x); larger values are sharper", ..SHARPNESS };

impl Step {
    /// Reads `sharpness`.
    pub(crate) fn from_spec(spec: &Spec, default: f64) -> Result<Step, ParamError> {
        Ok(Step { sharpness: spec.args.positive("sharpness", default)? })
    }

    /// Value and slope at x.
    #[inline]
    pub fn at(self, x: Option<f64>) -> (f64, f64) {
        let Some(x) = x else { return (1.0, 0.0) };
        let open = sigmoid(self.sharpness * x);
        // Not open·(1 − open), which loses the tail.
        (open, self.sharpness * open * sigmoid(-self.sharpness * x))
    }
}

/// F at fixed thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The loss.
    pub loss: f64,
    /// ∂F/∂λ per block.
    pub by_threshold: [f64; 2],
    /// The same at the previous scores.
    pub by_threshold_previous: [f64; 2],
    /// ∂²F/∂λ² per block, where the scores that make λ have no other Hessian; at least 0.
    pub curve_by_threshold: [f64; 2],
}

/// What an objective of this family defines.
pub trait Upper: Send + Sync {
    /// The thresholds of a list with such counts; `None`: it has no gradient.
    fn blocks(&self, strata: &Strata) -> Option<[Option<Block>; 2]>;

    /// Its state; the first column is the list's, [`WIDTH`] numbers wide, its first number the upper level's own.
    fn columns(&self) -> &'static [Column];

    /// A number of the whole list that a sample does not determine.
    fn prepare(&self, _whole: &List, _policy: &Policy) -> f64 {
        1.0
    }

    /// F, its gradient at fixed thresholds (added to `out`) and its derivative by each threshold.
    fn value(&self, scene: &Scene, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<Outcome>;
}

/// The mechanism with one upper level.
#[derive(Clone, Copy, Debug)]
pub struct Bilevel<U> {
    /// F.
    pub upper: U,
    /// L.
    pub lower: Lower,
    /// How s tracks L_λλ.
    pub s: Tracker,
    /// How z, along which λ moves, tracks L_λ.
    pub z: Tracker,
}

impl<U: Upper + 'static> Bilevel<U> {
    /// An upper level over a lower one, with moving averages.
    pub(crate) fn boxed(upper: U, lower: Lower, spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        Bilevel::with_rule(upper, lower, Rule::MovingAverage, spec)
    }

    /// The same with any rule for s and z.
    pub(crate) fn with_rule(
        upper: U,
        lower: Lower,
        rule: Rule,
        spec: &Spec,
    ) -> Result<Box<dyn Objective>, ParamError> {
        let s = Tracker::of_second_derivative(spec, rule)?;
        Ok(Box::new(Bilevel { upper, lower, s, z: Tracker::of_direction(spec, rule)? }))
    }
}

/// Numbers of a list's thresholds.
pub(crate) const MEMORY: usize = 4 + 2 * BLOCK;
const BLOCK: usize = 6;
/// Numbers in the list's column of a bilevel objective.
pub const WIDTH: usize = 1 + MEMORY;

/// State of an upper level without numbers per item.
pub(crate) const LIST_ONLY: &[Column] = &[Column { name: "list", per: Per::List, width: WIDTH }];

/// The state of a list.
struct Memory<'a> {
    origin: &'a mut f64,
    spread: &'a mut f64,
    spread_before: &'a mut f64,
    /// Step of the last visit.
    stamp: &'a mut f64,
    blocks: &'a mut [f64],
}

/// The state of a block.
struct Cells<'a> {
    lambda: &'a mut f64,
    /// The direction in which λ moves.
    z: &'a mut f64,
    /// L_λλ in units of the spread; for Faster v2 (∂F/∂λ)/L_λλ.
    s: &'a mut f64,
    /// Faster v2: the tracked residual of s.
    r: &'a mut f64,
    lambda_before: &'a mut f64,
    s_before: &'a mut f64,
}

impl<'a> Memory<'a> {
    fn of<'b: 'a>(state: &'a mut ListState<'b>) -> Memory<'a> {
        let (head, blocks) = state.values[1..WIDTH].split_at_mut(4);
        let [origin, spread, spread_before, stamp] = head else { unreachable!("four numbers") };
        Memory { origin, spread, spread_before, stamp, blocks }
    }

    fn block(&mut self, b: usize) -> Cells<'_> {
        let [lambda, z, s, r, lambda_before, s_before] = &mut self.blocks[b * BLOCK..(b + 1) * BLOCK] else {
            unreachable!("six numbers")
        };
        Cells { lambda, z, s, r, lambda_before, s_before }
    }
}

/// The present thresholds of a list of a bilevel objective; `None`: there is none, or not yet.
pub fn thresholds(state: &ListState) -> [Option<f64>; 2] {
    let numbers = &state.values[1..WIDTH];
    std::array::from_fn(|b| {
        let lambda = numbers[4 + b * BLOCK];
        (!lambda.is_nan()).then_some(numbers[0] + lambda)
    })
}

/// Sets threshold `b` of a list that has been visited: for warm starts, and for tests of how it recovers.
pub fn move_threshold(state: &mut ListState, b: usize, to: f64) {
    let numbers = &mut state.values[1..WIDTH];
    numbers[4 + b * BLOCK] = to - numbers[0];
}

/// Which visit of a list this is.
#[derive(Clone, Copy)]
struct Visit {
    /// The first one: there is no threshold yet.
    fresh: bool,
    /// The last visit was in the previous step.
    adjacent: bool,
    step: u64,
}

/// A block in this step.
#[derive(Clone, Copy)]
struct PresentBlock<'a> {
    problem: Problem<'a>,
    lambda: f64,
    /// The same in the previous step.
    previous: Option<(Problem<'a>, f64)>,
}

impl<U: Upper> Bilevel<U> {
    /// Stage 1 for one block.
    fn read_block<'a>(
        &self,
        cells: &Cells,
        problem: Problem<'a>,
        previous: Option<Problem<'a>>,
        visit: Visit,
        work: &mut Work,
    ) -> PresentBlock<'a> {
        let mut find = |problem: &Problem, known: f64| {
            let mut quantile = || {
                let [places] = work.places.cut([problem.len()]);
                problem.quantile(places, &mut work.kernel.order)
            };
            match self.lower.method {
                ThresholdMethod::Quantile => quantile(),
                ThresholdMethod::Online if !visit.fresh => known,
                _ => problem.solve(if known.is_nan() { quantile() } else { known }),
            }
        };
        let before = if visit.adjacent { *cells.lambda_before } else { *cells.lambda };
        let previous = previous.map(|problem| (problem, find(&problem, before)));
        PresentBlock { problem, lambda: find(&problem, *cells.lambda), previous }
    }

    /// Stages 3 and 4 for one block.
    fn update_block(
        &self,
        present: &PresentBlock,
        mut cells: Cells,
        visit: Visit,
        (slopes, curve): ([f64; 2], f64),
        out: &mut Out,
        work: &mut Work,
    ) {
        let PresentBlock { problem, lambda, previous } = *present;
        let at = problem.slopes(lambda);
        let at_previous = previous.map(|(problem, lambda)| problem.slopes(lambda));
        let [slope, slope_previous] = slopes;
        let (multiplier, multiplier_previous) = self.multipliers(
            &mut cells,
            visit,
            (at, slope),
            at_previous.map(|p| (p, slope_previous)),
            problem.floor(),
        );
        if self.lower.through_gate {
            problem.add_implicit(lambda, multiplier, out.gradient);
            // Gradient and Hessian of an item are in the ratio of those of λ: Newton's step moves it as λ should move.
            if let Some(hessian) = out.hessian.as_mut().filter(|_| curve > 0.0 && slope != 0.0) {
                problem.add_implicit(lambda, (multiplier / slope).abs() * curve, hessian);
            }
            if let (Some((problem, lambda)), Some(gradient)) = (previous, &mut out.gradient_previous) {
                problem.add_implicit(lambda, multiplier_previous, gradient);
            }
        }
        *cells.lambda_before = lambda;
        *cells.lambda = if self.lower.method == ThresholdMethod::Online {
            let slopes = (at.first, at_previous.map(|p| p.first));
            self.step(&mut cells, &problem, lambda, visit, slopes, work)
        } else {
            lambda
        };
    }

    /// (∂F/∂λ)/s, now and in the previous step; updates s.
    fn multipliers(
        &self,
        cells: &mut Cells,
        visit: Visit,
        (at, slope): (Slopes, f64),
        previous: Option<(Slopes, f64)>,
        floor: f64,
    ) -> (f64, f64) {
        let safe = |s: f64| s.max(floor).max(f64::MIN_POSITIVE);
        let direct = slope / safe(at.second);
        let direct_previous = previous.map_or(0.0, |(at, slope)| slope / safe(at.second));
        if self.lower.method != ThresholdMethod::Online {
            return (direct, direct_previous);
        }
        let rates = self.s.rates(visit.step);
        if self.s.rule == Rule::Quadratic {
            // One multiplier for the list: s → (∂F/∂λ)/L_λλ by steps along its tracked residual.
            if visit.fresh {
                (*cells.s, *cells.r, *cells.s_before) = (direct, 0.0, direct);
                return (direct, direct_previous);
            }
            let s = *cells.s;
            let s_before = if visit.adjacent { *cells.s_before } else { s };
            let residual = at.second * s - slope;
            let residual_previous = previous.map_or(residual, |(at, slope)| at.second * s_before - slope);
            *cells.r = rates.msvr(*cells.r, residual, residual_previous);
            *cells.s_before = s;
            *cells.s = s - rates.tau() * *cells.r / at.second.max(1.0);
            return (s, s_before);
        }
        let (s, s_before) = match (visit.fresh, visit.adjacent) {
            (true, _) => (at.second, previous.map_or(at.second, |(at, _)| at.second)),
            (false, true) => (*cells.s, *cells.s_before),
            (false, false) => (*cells.s, *cells.s),
        };
        let estimate = Estimate { now: at.second, previous: previous.map(|(at, _)| at.second), floor };
        self.s.follow(rates, Cell { u: cells.s, v: None, before: None }, estimate);
        *cells.s_before = s;
        (slope / safe(s), previous.map_or(0.0, |(_, slope)| slope / safe(s_before)))
    }

    /// The online step of λ.
    fn step(
        &self,
        cells: &mut Cells,
        problem: &Problem,
        lambda: f64,
        visit: Visit,
        (slope, slope_previous): (f64, Option<f64>),
        work: &mut Work,
    ) -> f64 {
        let z = if visit.fresh { 0.0 } else { *cells.z };
        *cells.z = self.z.rates(visit.step).msvr(z, slope, slope_previous.unwrap_or(slope));
        if self.lower.absolute {
            return lambda - self.lower.eta * *cells.z;
        }
        let unit = problem.spread();
        let (low, high) = problem.range();
        if lambda < low - unit || lambda > high + unit {
            *cells.z = 0.0;
            let [places] = work.places.cut([problem.len()]);
            return problem.quantile(places, &mut work.kernel.order);
        }
        lambda - within(self.lower.eta * unit * *cells.z / problem.balance(), -unit, unit)
    }
}

/// Weight of the newest sample in the spread.
const SPREAD_RATE: f64 = 0.1;

impl<U: Upper> Objective for Bilevel<U> {
    fn needs(&self) -> Needs {
        Needs { previous_scores: self.s.needs_previous(), ..Needs::default() }
    }

    fn columns(&self) -> &'static [Column] {
        self.upper.columns()
    }

    fn prepare(&self, whole: &List, policy: &Policy, state: &mut ListState, _: &mut Work) {
        state.values[0] = self.upper.prepare(whole, policy);
    }

    fn takes_uneven_draws(&self) -> bool {
        true
    }

    fn shift_invariant(&self) -> bool {
        !self.lower.absolute
    }

    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let strata = Strata::of(input, state);
        if input.list.len() < 2 || !strata.is_enough() {
            return None;
        }
        let blocks = self.upper.blocks(&strata)?;
        let scores = if self.lower.through_gate { input.list.scores } else { input.frozen() };
        let before = input.previous.filter(|_| self.s.needs_previous());

        // Stage 1: read.
        let mut memory = Memory::of(state);
        let visit = Visit {
            fresh: memory.spread.is_nan(),
            adjacent: *memory.stamp + 1.0 == input.stream.step as f64,
            step: input.stream.step,
        };
        let Visit { fresh, adjacent, .. } = visit;
        let own_spread =
            |scores: &[f64]| if self.lower.absolute { 1.0 } else { spread(scores, input, &strata) };
        let origin =
            if fresh { if self.lower.absolute { 0.0 } else { input.frozen()[0] } } else { *memory.origin };
        let now = own_spread(input.frozen());
        let known = |remembered: f64, own: f64| if fresh || strata.is_whole() { own } else { remembered };
        let unit = known(*memory.spread, now);
        let unit_before = before.map(|scores| {
            let remembered = if adjacent { *memory.spread_before } else { *memory.spread };
            known(remembered, own_spread(scores))
        });
        let mut present_blocks: [Option<PresentBlock>; 2] = [None, None];
        for (b, block) in blocks.into_iter().enumerate() {
            present_blocks[b] = block.map(|block| {
                let problem =
                    |scores, unit| Problem::new(&self.lower, block, &strata, input, scores, (origin, unit));
                let previous = before.zip(unit_before).map(|(scores, unit)| problem(scores, unit));
                let cells = memory.block(b);
                self.read_block(&cells, problem(scores, unit), previous, visit, work)
            });
        }
        let thresholds = |of: &dyn Fn(&PresentBlock) -> Option<f64>| Thresholds {
            origin,
            lambda: [present_blocks[0].as_ref().and_then(of), present_blocks[1].as_ref().and_then(of)],
        };
        let scene = Scene {
            input,
            strata,
            now: thresholds(&|present| Some(present.lambda)),
            previous: before.map(|_| thresholds(&|present| present.previous.map(|(_, lambda)| lambda))),
            widths: present_blocks.map(|present| present.map_or(unit, |present| present.problem.width())),
            through_gate: self.lower.through_gate,
        };

        // Stage 2: upper.
        let outcome = self.upper.value(&scene, state, work, out)?;

        // Stages 3 and 4: implicit term, update.
        let mut memory = Memory::of(state);
        for (b, present) in present_blocks.iter().enumerate() {
            let Some(present) = present else { continue };
            let slopes = [outcome.by_threshold[b], outcome.by_threshold_previous[b]];
            let curve = outcome.curve_by_threshold[b];
            self.update_block(present, memory.block(b), visit, (slopes, curve), out, work);
        }
        *memory.origin = origin;
        *memory.spread_before = unit;
        *memory.spread = if fresh || strata.is_whole() {
            now
        } else {
            *memory.spread + SPREAD_RATE * (now - *memory.spread)
        };
        *memory.stamp = input.stream.step as f64;
        Some(outcome.loss)
    }
}

/*!
One batch through model and objective: draws → rows → shards → scores → ∂loss/∂score → gradient of the parameters.

```text
draws ─▶ rows (each once) ─▶ shards ─forward─▶ scores ─Goal::step─▶ ∂loss/∂score ─backward─▶ one gradient per shard ─▶ sum
```

Shards follow from the data and the batch (`plan.rs`), never from the threads, and the sum of their gradients does not depend on its
order (`fixed_point.rs`): the bytes do not depend on how many threads there are.
*/

use rayon::prelude::*;
use toprank_core::{Collective, Differentiable, Features, Lists, ModelInput, Role, Stream, Tape};
use toprank_objectives::{Batch, Draws, Goal, Gradients, ListCounts, Reduction, State};

use super::fixed_point::sum_parts;
use super::plan::Plan;
use super::workers::Workers;
use crate::error::TrainError;

/// Rows scored at once in prediction.
pub(crate) const SCORED_AT_ONCE: usize = 4096;

/// What a model learns from: lists, and the features their rows point at.
#[derive(Clone, Copy)]
pub struct Examples<'a> {
    /// Labels, weights, places.
    pub lists: &'a Lists,
    /// The features of every row.
    pub features: &'a dyn Features,
}

/// What is trained, on what, to what end.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The model.
    pub model: &'a dyn Differentiable,
    /// The objective.
    pub goal: &'a Goal,
    /// The data.
    pub examples: Examples<'a>,
}

/// What a step saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Loss of the batch.
    pub loss: f64,
    /// Lists that took part.
    pub counts: ListCounts,
}

/// Gradients of batches; owns every buffer.
pub struct Engine {
    /// Parts of the training data.
    parts: usize,
    /// Each computes the shards of some parts.
    workers: Workers,
    plan: Plan,
    tapes: Vec<Tape>,
    previous_tapes: Vec<Tape>,
    scores: Vec<f64>,
    previous_scores: Vec<f64>,
    by_row: Vec<f64>,
    dscore: Vec<f64>,
    gradients: Gradients,
    /// State for the gradient at the previous parameters of an objective that keeps none.
    aside: Option<State>,
    shards: Vec<Vec<f32>>,
}

/// The parameters at which a batch is evaluated.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// The present ones.
    pub parameters: &'a [f32],
    /// Those of the step before, if the objective or the optimiser asks for them.
    pub previous: Option<&'a [f32]>,
}

/// Where the gradients of a batch go.
pub struct Into<'a> {
    /// ∂loss/∂parameter; blocks of statistics hold the mean statistic of the batch.
    pub gradient: &'a mut [f32],
    /// The same batch at the previous parameters, with the state of one step ago; for optimisers that ask for it.
    pub previous: Option<&'a mut [f32]>,
}

impl Engine {
    /// For training data in this many parts, at most [`MOST_PARTS`](super::fixed_point::MOST_PARTS).
    pub fn new(parts: usize) -> Engine {
        Engine {
            parts,
            workers: Workers::default(),
            plan: Plan::default(),
            tapes: Vec::new(),
            previous_tapes: Vec::new(),
            scores: Vec::new(),
            previous_scores: Vec::new(),
            by_row: Vec::new(),
            dscore: Vec::new(),
            gradients: Gradients::default(),
            aside: None,
            shards: Vec::new(),
        }
    }

    /// Shares the parts with other workers, who all compute the same batches.
    pub(crate) fn compute_among(&mut self, workers: &Workers) {
        self.workers = workers.clone();
    }

    /// Loss and gradient of one batch; the state of the objective moves on. `stream` carries seed and step.
    pub fn gradient(
        &mut self,
        task: Task,
        at: At,
        state: &mut State,
        draws: &Draws,
        stream: Stream,
        into: Into,
    ) -> Result<Seen, TrainError> {
        let Task { model, goal, examples } = task;
        let (lists, features) = (examples.lists, examples.features);
        match goal.objective().over_outputs() {
            false => self.plan.lay(lists, features, draws, model, self.parts),
            // A list is a row, its items are all outputs of that row.
            true => self.plan.lay_rows(&draws.lists, features, model.outputs(), self.parts),
        }
        let noise = Stream { purpose: Stream::purpose("network"), ..stream };
        let (plan, workers) = (&self.plan, &self.workers);
        let own = plan.shards_of(workers.rank(), workers.size(), self.parts);
        let plan = OwnShards { plan, own, workers };
        forward(model, at.parameters, &plan, features, noise, &mut self.tapes, &mut self.by_row)?;
        plan.entries_from_rows(&self.by_row, &mut self.scores);
        if let Some(previous) = at.previous {
            forward(model, previous, &plan, features, noise, &mut self.previous_tapes, &mut self.by_row)?;
            plan.entries_from_rows(&self.by_row, &mut self.previous_scores);
        }
        let batch = Batch {
            lists: examples.lists,
            draws: Some(draws),
            drawn_labels: None,
            drawn_weights: None,
            scores: &self.scores,
            previous: at.previous.map(|_| self.previous_scores.as_slice()),
            frozen: None,
            stream: Stream { purpose: Stream::purpose("objective"), ..stream },
            reduction: Reduction::Mean,
        };
        goal.step(&batch, state, &mut self.gradients)?;
        let seen = Seen { loss: self.gradients.loss, counts: self.gradients.counts };
        plan.rows_from_entries(&self.gradients.gradient, &mut self.dscore);
        let shards = &mut self.shards;
        backward(model, at.parameters, &plan, &mut self.tapes, &self.dscore, shards, into.gradient)?;
        if let (Some(previous), Some(gradient)) = (at.previous, into.previous) {
            if self.gradients.gradient_previous.is_empty() {
                // Checked at the start: an objective without memory, so the same rule holds at both places.
                let state = match &mut self.aside {
                    Some(state) => state,
                    none => none.insert(goal.state(examples.lists)?),
                };
                let batch = Batch { scores: &self.previous_scores, previous: None, ..batch };
                goal.step(&batch, state, &mut self.gradients)?;
                plan.rows_from_entries(&self.gradients.gradient, &mut self.dscore);
            } else {
                plan.rows_from_entries(&self.gradients.gradient_previous, &mut self.dscore);
            }
            backward(model, previous, &plan, &mut self.previous_tapes, &self.dscore, shards, gradient)?;
        }
        Ok(seen)
    }
}

/// True if the gradient of a batch at the previous parameters can be had: the objective gives it, or keeps no memory.
pub fn has_previous_gradient(goal: &Goal) -> bool {
    goal.objective().needs().previous_scores || goal.objective().columns().is_empty()
}

/// The plan of a batch, and the shards of it that this worker computes. Worker after worker they make up all shards.
pub(crate) struct OwnShards<'a> {
    pub plan: &'a Plan,
    pub own: std::ops::Range<usize>,
    pub workers: &'a Workers,
}

impl std::ops::Deref for OwnShards<'_> {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        self.plan
    }
}

/// Outputs of every row of the plan; what the backward pass of every shard needs is left in its tape.
pub(crate) fn forward(
    model: &dyn Differentiable,
    parameters: &[f32],
    plan: &OwnShards,
    features: &dyn Features,
    noise: Stream,
    tapes: &mut Vec<Tape>,
    by_row: &mut Vec<f64>,
) -> Result<(), TrainError> {
    by_row.clear();
    by_row.resize(plan.rows() * plan.outputs(), 0.0);
    if tapes.len() < plan.shards() {
        tapes.resize_with(plan.shards(), Tape::default);
    }
    let mut shards = Vec::with_capacity(plan.shards());
    let mut rest = by_row.as_mut_slice();
    for (k, tape) in tapes.iter_mut().enumerate().take(plan.shards()) {
        let (scores, after) = rest.split_at_mut(plan.rows_of(k).len() * plan.outputs());
        shards.push((k, tape, scores));
        rest = after;
    }
    let OwnShards { own, workers, .. } = plan;
    shards.truncate(own.end);
    shards.drain(..own.start);
    let done: Vec<_> = shards
        .into_par_iter()
        .with_max_len(1)
        .map(|(k, tape, scores)| {
            let (rows, offsets, part) = plan.shard(k);
            let input = ModelInput { features, rows, offsets };
            model.forward(parameters, &input, Some(noise.of_list(part)), tape, scores)
        })
        .collect();
    trusted(features)?;
    done.into_iter().collect::<Result<(), _>>()?;
    if !workers.is_alone() {
        let of_own = |cut: usize| plan.first_row(cut) * plan.outputs();
        *by_row = workers.all(&by_row[of_own(own.start)..of_own(own.end)])?.into_owned();
    }
    Ok(())
}

/// An error if rows that were fetched lie in a damaged part of their file: they read as missing.
pub(crate) fn trusted(features: &dyn Features) -> Result<(), TrainError> {
    features.fault().map_or(Ok(()), |fault| Err(TrainError::Damaged(fault)))
}

/// An error if the file that features are read from is not what it was when it was opened.
pub(crate) fn unchanged(features: &dyn Features) -> Result<(), TrainError> {
    features.recheck().map_or(Ok(()), |fault| Err(TrainError::Damaged(fault)))
}

/// From ∂loss/∂output of every row to `gradient`, the sum over the shards whose forward pass left these tapes.
pub(crate) fn backward(
    model: &dyn Differentiable,
    parameters: &[f32],
    plan: &OwnShards,
    tapes: &mut [Tape],
    dscore: &[f64],
    shards: &mut Vec<Vec<f32>>,
    gradient: &mut [f32],
) -> Result<(), TrainError> {
    let count = plan.shards();
    if shards.len() < count {
        shards.resize_with(count, Vec::new);
    }
    let OwnShards { own, workers, .. } = plan;
    let (first, of_worker) = (own.start, own.clone());
    let done: Vec<_> = tapes[of_worker.clone()]
        .par_iter_mut()
        .zip(&mut shards[of_worker.clone()])
        .enumerate()
        .with_max_len(1)
        .map(|(k, (tape, own))| {
            let k = first + k;
            own.clear();
            own.resize(gradient.len(), 0.0);
            let rows = plan.rows_of(k);
            let dscore = &dscore[rows.start * plan.outputs()..rows.end * plan.outputs()];
            model.backward(parameters, tape, dscore, own)
        })
        .collect();
    done.into_iter().collect::<Result<(), _>>()?;
    let parts: Vec<&[f32]> = shards[of_worker].iter().map(Vec::as_slice).collect();
    sum_parts(&parts, gradient, workers)?;
    let rows = plan.rows().max(1) as f32;
    let mut start = 0;
    for block in model.blocks() {
        let end = start + block.parameters();
        if block.role == Role::Statistic {
            gradient[start..end].iter_mut().for_each(|statistic| *statistic /= rows);
        }
        start = end;
    }
    Ok(())
}

/// Scores of every entry of `examples`, as in prediction: whole lists, no noise, the same bytes at any number of threads.
pub fn score(
    model: &dyn Differentiable,
    parameters: &[f32],
    examples: Examples,
) -> Result<Vec<f64>, TrainError> {
    let lists = examples.lists;
    let outputs = model.outputs();
    if !model.couples_items() {
        // Each row once, however many lists read it.
        let rows = if lists.rows.is_none() { lists.entries() } else { examples.features.rows() };
        let by_row = score_rows(model, parameters, examples.features, rows)?;
        let plain = lists.rows.is_none() && lists.output.is_none() && outputs == 1;
        return Ok(if plain { by_row } else { lists.scores_of_entries(&by_row, outputs) });
    }
    score_by_list(model, parameters, examples)
}

/// The same with every list scored by itself: the bytes do not depend on which lists are scored together.
pub(crate) fn score_by_list(
    model: &dyn Differentiable,
    parameters: &[f32],
    examples: Examples,
) -> Result<Vec<f64>, TrainError> {
    let (lists, outputs) = (examples.lists, model.outputs());
    let mut scores = vec![0.0; lists.entries()];
    let mut parts: Vec<(usize, &mut [f64])> = Vec::with_capacity(lists.len());
    let mut rest = scores.as_mut_slice();
    for q in 0..lists.len() {
        let (part, after) = rest.split_at_mut(lists.range(q).len());
        parts.push((q, part));
        rest = after;
    }
    parts.into_par_iter().filter(|(_, part)| !part.is_empty()).try_for_each_init(
        Tape::default,
        |tape, (q, part)| {
            let rows: Vec<u32> = lists.range(q).map(|entry| lists.row(entry) as u32).collect();
            let output = lists.output.as_ref().map_or(0, |o| usize::from(o[q]));
            let mut by_row = vec![0.0; rows.len() * outputs];
            let input = ModelInput { features: examples.features, rows: &rows, offsets: &[0, rows.len()] };
            model.score(parameters, &input, tape, &mut by_row)?;
            part.iter_mut().enumerate().for_each(|(i, score)| *score = by_row[i * outputs + output]);
            Ok::<(), TrainError>(())
        },
    )?;
    trusted(examples.features)?;
    Ok(scores)
}

/// All outputs of the first `rows` rows, as in prediction, for models that score each row by itself.
pub(crate) fn score_rows(
    model: &dyn Differentiable,
    parameters: &[f32],
    features: &dyn Features,
    rows: usize,
) -> Result<Vec<f64>, TrainError> {
    let outputs = model.outputs();
    let rows: Vec<u32> = (0..rows as u32).collect();
    let mut by_row = vec![0.0; rows.len() * outputs];
    by_row.par_chunks_mut(SCORED_AT_ONCE * outputs).zip(rows.par_chunks(SCORED_AT_ONCE)).try_for_each_init(
        Tape::default,
        |tape, (scores, rows)| {
            let input = ModelInput { features, rows, offsets: &[0, rows.len()] };
            model.score(parameters, &input, tape, scores)
        },
    )?;
    trusted(features)?;
    Ok(by_row)
}

/*!
One batch through model and objective: draws → rows → shards → scores → ∂loss/∂score → gradient of the parameters.

```text
draws ─▶ rows (each once) ─▶ shards ─forward─▶ scores ─Goal::step─▶ ∂loss/∂score ─backward─▶ one gradient per shard ─▶ sum
```

The number of shards follows from the batch, never from the threads, and gradients are added in the order of shards:
the bytes do not depend on how many threads there are.
*/

use rayon::prelude::*;
use toprank_core::{Backward, Differentiable, Features, Lists, ModelInput, Role, Stream};
use toprank_objectives::{Batch, Draws, Goal, Gradients, ListCounts, Reduction, State};

use crate::error::TrainError;
use crate::fit::optimiser::NEGLIGIBLE;

/// Most shards of a batch: enough for eight cores, few enough that small batches are not all overhead.
pub const MOST_SHARDS: usize = 8;
/// Rows scored at once in prediction.
pub(crate) const SCORED_AT_ONCE: usize = 4096;
/// Parameters added up by one task.
const ADDED_AT_ONCE: usize = 16_384;

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

/// Gradients of batches; owns every buffer, so a step allocates only what the model itself does.
#[derive(Default)]
pub struct Engine {
    plan: Plan,
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
        self.plan.lay(examples.lists, draws, model);
        let noise = Stream { purpose: Stream::purpose("network"), ..stream };
        let plan = &self.plan;
        let back = forward(model, at.parameters, plan, examples.features, noise, &mut self.by_row)?;
        plan.entries_from_rows(&self.by_row, &mut self.scores);
        let back_previous = match at.previous {
            None => None,
            Some(previous) => {
                let back = forward(model, previous, plan, examples.features, noise, &mut self.by_row)?;
                plan.entries_from_rows(&self.by_row, &mut self.previous_scores);
                Some(back)
            }
        };
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
        backward(model, back, plan, &self.dscore, &mut self.shards, into.gradient)?;
        if let (Some(back), Some(gradient)) = (back_previous, into.previous) {
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
            backward(model, back, plan, &self.dscore, &mut self.shards, gradient)?;
        }
        Ok(seen)
    }
}

/// True if the gradient of a batch at the previous parameters can be had: the objective gives it, or keeps no memory.
pub fn has_previous_gradient(goal: &Goal) -> bool {
    goal.objective().needs().previous_scores || goal.objective().columns().is_empty()
}

/// Which rows a batch needs, how they are cut into shards, and which score each entry of the draws reads.
#[derive(Default)]
pub(crate) struct Plan {
    /// Rows to score.
    rows: Vec<u32>,
    /// Lists over `rows`, for models that couple items; otherwise one list per shard.
    offsets: Vec<usize>,
    /// Shard k holds lists `cuts[k]..cuts[k + 1]` of `offsets`.
    cuts: Vec<usize>,
    /// Score that each entry of the draws reads.
    place: Vec<usize>,
    outputs: usize,
}

impl Plan {
    fn lay(&mut self, lists: &Lists, draws: &Draws, model: &dyn Differentiable) {
        self.outputs = model.outputs();
        for column in [&mut self.offsets, &mut self.cuts, &mut self.place] {
            column.clear();
        }
        self.rows.clear();
        for (d, &q) in draws.lists.iter().enumerate() {
            let start = lists.range(q as usize).start;
            let items = &draws.items[draws.offsets[d] as usize..draws.offsets[d + 1] as usize];
            self.rows.extend(items.iter().map(|&item| lists.row(start + item as usize) as u32));
        }
        let output = |d: usize| lists.output.as_ref().map_or(0, |o| usize::from(o[draws.lists[d] as usize]));
        let entries_of = |d: usize| draws.offsets[d] as usize..draws.offsets[d + 1] as usize;
        if lists.rows.is_some() && !model.couples_items() {
            // Several lists may read the same row: it is scored once.
            let by_entry = self.rows.clone();
            self.rows.sort_unstable();
            self.rows.dedup();
            for d in 0..draws.lists.len() {
                let places = by_entry[entries_of(d)]
                    .iter()
                    .map(|row| self.rows.binary_search(row).unwrap_or_default() * self.outputs + output(d));
                self.place.extend(places);
            }
        } else {
            for d in 0..draws.lists.len() {
                self.place.extend(entries_of(d).map(|entry| entry * self.outputs + output(d)));
            }
        }
        if model.couples_items() {
            self.offsets.extend(draws.offsets.iter().map(|&offset| offset as usize));
            self.cut_between_lists(model.rows_worth_a_shard());
        } else {
            self.cut_between_rows(model.rows_worth_a_shard());
        }
    }

    /// Rows by themselves, whatever list they are of, with all their outputs.
    pub(crate) fn lay_rows(&mut self, rows: &[u32], outputs: usize, worth_a_shard: usize) {
        *self = Plan { rows: rows.to_vec(), outputs, ..Plan::default() };
        self.cut_between_rows(worth_a_shard);
    }

    fn cut_between_rows(&mut self, least: usize) {
        let shards = self.rows.len().div_ceil(least).clamp(1, MOST_SHARDS);
        self.offsets.extend((0..=shards).map(|k| self.rows.len() * k / shards));
        self.cuts.extend(0..=shards);
    }

    /// Shards of about the same number of rows, none in the middle of a list.
    fn cut_between_lists(&mut self, least: usize) {
        let lists = self.offsets.len() - 1;
        let shards = self.rows.len().div_ceil(least).clamp(1, MOST_SHARDS.min(lists.max(1)));
        self.cuts.push(0);
        for k in 1..shards {
            let wanted = self.rows.len() * k / shards;
            let cut = self.offsets.partition_point(|&offset| offset < wanted).min(lists);
            if self.cuts.last().is_some_and(|&last| last < cut) {
                self.cuts.push(cut);
            }
        }
        if self.cuts.last().is_some_and(|&last| last < lists) {
            self.cuts.push(lists);
        }
    }

    fn shards(&self) -> usize {
        self.cuts.len() - 1
    }

    /// Rows of shard `k`.
    fn rows_of(&self, k: usize) -> std::ops::Range<usize> {
        self.offsets[self.cuts[k]]..self.offsets[self.cuts[k + 1]]
    }

    fn entries_from_rows(&self, by_row: &[f64], by_entry: &mut Vec<f64>) {
        by_entry.clear();
        by_entry.extend(self.place.iter().map(|&place| by_row[place]));
    }

    /// Adds the gradients of all entries that read the same score, in the order of entries. Exponential forms give most
    /// pairs next to nothing: that is 0, lest the products behind it work with subnormal numbers.
    fn rows_from_entries(&self, by_entry: &[f64], by_row: &mut Vec<f64>) {
        by_row.clear();
        by_row.resize(self.rows.len() * self.outputs, 0.0);
        for (&place, gradient) in self.place.iter().zip(by_entry) {
            by_row[place] += gradient;
        }
        by_row.iter_mut().filter(|g| g.abs() < f64::from(NEGLIGIBLE)).for_each(|g| *g = 0.0);
    }
}

/// What a shard needs to turn gradients of its outputs into gradients of the parameters.
pub(crate) type BackwardPass<'a> = Box<dyn Backward + 'a>;

/// Outputs of every row of the plan, and the backward pass of every shard.
pub(crate) fn forward<'a>(
    model: &'a dyn Differentiable,
    parameters: &'a [f32],
    plan: &Plan,
    features: &dyn Features,
    noise: Stream,
    by_row: &mut Vec<f64>,
) -> Result<Vec<BackwardPass<'a>>, TrainError> {
    by_row.clear();
    by_row.resize(plan.rows.len() * plan.outputs, 0.0);
    let mut parts = Vec::with_capacity(plan.shards());
    let mut rest = by_row.as_mut_slice();
    for k in 0..plan.shards() {
        let (part, after) = rest.split_at_mut(plan.rows_of(k).len() * plan.outputs);
        parts.push(part);
        rest = after;
    }
    let passes: Vec<_> = parts
        .into_par_iter()
        .enumerate()
        .with_max_len(1)
        .map(|(k, scores)| {
            let rows = plan.rows_of(k);
            let lists = plan.cuts[k]..plan.cuts[k + 1];
            let offsets: Vec<usize> =
                plan.offsets[lists.start..=lists.end].iter().map(|offset| offset - rows.start).collect();
            let input = ModelInput { features, rows: &plan.rows[rows], offsets: &offsets };
            model.forward(parameters, &input, Some(noise.of_list(k as u32)), scores)
        })
        .collect();
    trusted(features)?;
    Ok(passes.into_iter().collect::<Result<_, _>>()?)
}

/// An error if rows that were fetched lie in a damaged part of their file: they read as missing.
pub(crate) fn trusted(features: &dyn Features) -> Result<(), TrainError> {
    features.fault().map_or(Ok(()), |fault| Err(TrainError::Damaged(fault)))
}

/// An error if the file that features are read from is not what it was when it was opened.
pub(crate) fn unchanged(features: &dyn Features) -> Result<(), TrainError> {
    features.recheck().map_or(Ok(()), |fault| Err(TrainError::Damaged(fault)))
}

/// From ∂loss/∂output of every row to `gradient`, over the shards in their order.
pub(crate) fn backward(
    model: &dyn Differentiable,
    passes: Vec<BackwardPass>,
    plan: &Plan,
    dscore: &[f64],
    shards: &mut Vec<Vec<f32>>,
    gradient: &mut [f32],
) -> Result<(), TrainError> {
    if shards.len() < passes.len() {
        shards.resize_with(passes.len(), Vec::new);
    }
    let count = passes.len();
    let done: Vec<_> = passes
        .into_par_iter()
        .zip(shards.par_iter_mut())
        .enumerate()
        .with_max_len(1)
        .map(|(k, (pass, own))| {
            own.clear();
            own.resize(gradient.len(), 0.0);
            let rows = plan.rows_of(k);
            pass.backward(&dscore[rows.start * plan.outputs..rows.end * plan.outputs], own)
        })
        .collect();
    done.into_iter().collect::<Result<(), _>>()?;
    let shards = &shards[..count];
    gradient.par_chunks_mut(ADDED_AT_ONCE).enumerate().for_each(|(block, sum)| {
        let start = block * ADDED_AT_ONCE;
        sum.fill(0.0);
        for shard in shards {
            sum.iter_mut().zip(&shard[start..]).for_each(|(sum, g)| *sum += g);
        }
    });
    let rows = plan.rows.len().max(1) as f32;
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
        return Ok(lists.scores_of_entries(&by_row, outputs));
    }
    let mut scores = vec![0.0; lists.entries()];
    let mut parts: Vec<(usize, &mut [f64])> = Vec::with_capacity(lists.len());
    let mut rest = scores.as_mut_slice();
    for q in 0..lists.len() {
        let (part, after) = rest.split_at_mut(lists.range(q).len());
        parts.push((q, part));
        rest = after;
    }
    parts.into_par_iter().filter(|(_, part)| !part.is_empty()).try_for_each(|(q, part)| {
        let rows: Vec<u32> = lists.range(q).map(|entry| lists.row(entry) as u32).collect();
        let output = lists.output.as_ref().map_or(0, |o| usize::from(o[q]));
        let mut by_row = vec![0.0; rows.len() * outputs];
        let input = ModelInput { features: examples.features, rows: &rows, offsets: &[0, rows.len()] };
        model.score(parameters, &input, &mut by_row)?;
        part.iter_mut().enumerate().for_each(|(i, score)| *score = by_row[i * outputs + output]);
        Ok::<(), TrainError>(())
    })?;
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
    by_row.par_chunks_mut(SCORED_AT_ONCE * outputs).zip(rows.par_chunks(SCORED_AT_ONCE)).try_for_each(
        |(scores, rows)| {
            let input = ModelInput { features, rows, offsets: &[0, rows.len()] };
            model.score(parameters, &input, scores)
        },
    )?;
    trusted(features)?;
    Ok(by_row)
}

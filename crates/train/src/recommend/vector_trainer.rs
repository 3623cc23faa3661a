/*!
The trainer of vectors of users and items, in the [`TrainingLoop`].

```text
each step: draw users and items ─▶ gather their rows ─▶ scores ─▶ objective ─▶ slopes ─▶ row-sparse optimiser
each epoch: rank all unseen items for every user of the validation part
```

A step is a function of (config, data, step, what the checkpoint holds). Forms that look at the model of the step before
(song-v1, song-v2, the optimiser storm) see it through the rows that the last step moved: no second copy of the tables is kept.
*/

use std::ops::Range;
use std::sync::Arc;

use toprank_core::{Block, Choices, Role, Stream, vectorised};
use toprank_embeddings::{
    BatchView, EmbeddingKind, EmbeddingModel, PairScorer, Plan, Ranker, RowSlopes, RowStep, Rows, Shape,
    Slopes, Table, TableError, TableStorage, Tape, Undo,
};
use toprank_objectives::{Batch, Draws, Goal, Gradients, State};

use super::config::{Feedback, dense_optimiser, row_rule};
use super::evaluate::{History, evaluate_part, evaluate_sampled, popular};
use super::file::{Recommender, Scorer};
use super::interactions::{Interactions, labelled};
use super::rows::RowOptimiser;
use super::trainer::fingerprint;
use crate::error::TrainError;
use crate::fit::flat::{check_finite, optimiser_tensors, ranges, reinitialise_last_layer, restore_optimiser};
use crate::fit::optimiser::{NEGLIGIBLE, Optimiser, OptimiserStep};
use crate::fit::sampler::{self, Sampler};
use crate::fit::settings::Config;
use crate::fit::stages::{Stages, continues_after_warm_up};
use crate::fit::training_loop::{Computed, LoopState, Position, TrainingLoop, accessors};
use crate::store::container::{Stored, Tensor, numbers};
use crate::store::fingerprint::Fingerprint;
use crate::store::header::Reached;

/// The two tables of rows, by the names of their tensors.
const SIDES: [&str; 2] = ["users", "items"];

/// Everything that is learned.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Parameters {
    /// One row per user.
    pub users: Table,
    /// One row per item.
    pub items: Table,
    /// Weights beside the rows.
    pub weights: Vec<f32>,
}

impl Parameters {
    /// Zeros, or a buffer for others.
    pub fn zeroed(
        model: &dyn EmbeddingModel,
        shape: &Shape,
        place: &TableStorage,
    ) -> Result<Parameters, TableError> {
        let [user, item] = model.widths();
        Ok(Parameters {
            users: Table::zeroed(shape.users * user, place)?,
            items: Table::zeroed(shape.items * item, place)?,
            weights: vec![0.0; model.blocks().iter().map(Block::parameters).sum()],
        })
    }

    fn start(&mut self, model: &dyn EmbeddingModel, seed: u64) {
        let stream = Stream::new(seed, "init");
        model.init_rows(0, 0, stream, &mut self.users);
        model.init_rows(1, 0, stream, &mut self.items);
        model.init_weights(stream, &mut self.weights);
    }

    /// The three arrays with their names behind a prefix.
    fn named(&self, prefix: &str) -> [(String, &[f32]); 3] {
        [("users", &*self.users), ("items", &*self.items), ("weights", &self.weights)]
            .map(|(name, values)| (format!("{prefix}{name}"), values))
    }

    fn restore(&mut self, stored: &Stored, prefix: &str) -> Result<(), TrainError> {
        stored.f32_into(&format!("{prefix}users"), &mut self.users)?;
        stored.f32_into(&format!("{prefix}items"), &mut self.items)?;
        stored.f32_into(&format!("{prefix}weights"), &mut self.weights)
    }

    fn copy_from(&mut self, other: &Parameters) {
        self.users.copy_from_slice(&other.users);
        self.items.copy_from_slice(&other.items);
        self.weights.copy_from_slice(&other.weights);
    }
}

/// What a step looks at. It depends on the step alone, so the next one is made ready while this one is computed.
#[derive(Default)]
struct Drawn {
    /// Stage and step that it is of.
    of: Option<(usize, u64)>,
    draws: Draws,
    plan: Plan,
    labels: Vec<f32>,
    weights: Vec<f32>,
    lookup: Lookup,
}

impl Drawn {
    fn make(&mut self, of: (usize, u64), sampler: &mut dyn Sampler, learned: &Choices) {
        sampler.draw(of.1, &mut self.draws);
        let draws = &self.draws;
        self.plan.lay(learned.item_count, &draws.lists, &draws.offsets, &draws.items);
        labels_and_weights(learned, draws, &mut self.lookup, &mut self.labels, &mut self.weights);
        self.of = Some(of);
    }
}

/// Memory of a step, used again in the next one.
#[derive(Default)]
struct Work {
    rows: [Rows; 2],
    rows_before: [Rows; 2],
    tape: Tape,
    tape_before: Tape,
    scores: Vec<f64>,
    scores_before: Vec<f64>,
    gradients: Gradients,
    slopes: [Vec<f32>; 3],
    /// The same batch at the rows and weights of the step before, for an optimiser that asks for it.
    slopes_before: [Vec<f32>; 3],
    /// State for the gradient there of an objective that keeps none.
    aside: Option<State>,
}

/// Vectors of users and items in training.
pub struct VectorTrainer<'a> {
    common: LoopState,
    pub(super) data: &'a Interactions,
    learned: Choices,
    held: Choices,
    pub(super) model: Arc<dyn EmbeddingModel>,
    stages: Stages,
    decayed: Vec<Range<usize>>,
    pub(super) parameters: Parameters,
    pub(super) best: Option<Arc<Parameters>>,
    /// Buffer for the best parameters, allocated at the start: later a disk may be full.
    spare: Option<Parameters>,
    place: TableStorage,
    pub(super) rows: [RowOptimiser; 2],
    optimiser: Box<dyn Optimiser>,
    state: State,
    /// What the last step moved, as it was before, where an objective asks for it.
    undo: [Undo; 2],
    weights_before: Vec<f32>,
    drawn: Drawn,
    next: Drawn,
    work: Work,
}

/// What the gradient of a step is computed from and written to.
struct BatchGradient<'p> {
    model: &'p dyn EmbeddingModel,
    goal: &'p Goal,
    shape: Shape<'p>,
    stream: Stream,
    parameters: &'p Parameters,
    rows: &'p [RowOptimiser; 2],
    /// Rows and weights of the step before, if the objective or the optimiser asks for them.
    before: Option<(&'p [Undo; 2], &'p [f32])>,
    state: &'p mut State,
    work: &'p mut Work,
}

impl BatchGradient<'_> {
    /// Scores, objective, slopes; all results stay in `work`.
    fn compute(self, drawn: &Drawn) -> Result<(), TrainError> {
        let BatchGradient { model, goal, shape, stream, parameters, rows, before, state, work } = self;
        let (draws, plan) = (&drawn.draws, &drawn.plan);
        let network = Some(Stream { purpose: Stream::purpose("network"), ..stream });
        let (tables, widths) = ([&parameters.users, &parameters.items], model.widths());
        let ids = [&plan.users, &plan.items];
        for (side, to) in work.rows.iter_mut().enumerate() {
            rows[side].gather(tables[side], widths[side], ids[side], None, to);
        }
        work.scores.resize(draws.items.len(), 0.0);
        let [users, items] = &work.rows;
        let view = BatchView {
            plan,
            users: &users.values,
            items: &items.values,
            shape,
            weights: &parameters.weights,
        };
        model.forward(&view, network, &mut work.tape, &mut work.scores);
        if let Some((undo, weights)) = before {
            for (side, to) in work.rows_before.iter_mut().enumerate() {
                rows[side].gather(tables[side], widths[side], ids[side], Some(&undo[side]), to);
            }
            work.scores_before.resize(draws.items.len(), 0.0);
            let [users, items] = &work.rows_before;
            let view = BatchView { users: &users.values, items: &items.values, weights, ..view };
            model.forward(&view, network, &mut work.tape_before, &mut work.scores_before);
        }
        let batch = Batch {
            previous: before.map(|_| work.scores_before.as_slice()),
            stream: Stream { purpose: Stream::purpose("objective"), ..stream },
            drawn_weights: given(&drawn.weights),
            ..Batch::of_choices(draws, &drawn.labels, &work.scores)
        };
        goal.step(&batch, state, &mut work.gradients)?;
        let both = rows[0].needs_previous();
        backward(model, &view, &mut work.tape, &mut work.gradients.gradient, &mut work.slopes);
        if let Some((_, weights)) = before.filter(|_| both) {
            if work.gradients.gradient_previous.is_empty() {
                // Checked at the start: an objective without memory, so the same rule holds at both places.
                let state = work.aside.get_or_insert_with(|| state.clone());
                let (loss, counts) = (work.gradients.loss, work.gradients.counts);
                let batch = Batch { scores: &work.scores_before, previous: None, ..batch };
                goal.step(&batch, state, &mut work.gradients)?;
                (work.gradients.loss, work.gradients.counts) = (loss, counts);
                std::mem::swap(&mut work.gradients.gradient, &mut work.gradients.gradient_previous);
            }
            let [users, items] = &work.rows_before;
            let view = BatchView { users: &users.values, items: &items.values, weights, ..view };
            let (tape, slopes) = (&mut work.tape_before, &mut work.slopes_before);
            backward(model, &view, tape, &mut work.gradients.gradient_previous, slopes);
        }
        Ok(())
    }
}

/// From ∂loss/∂score of every entry to the slopes of users' rows, items' rows and weights.
fn backward(
    model: &dyn EmbeddingModel,
    view: &BatchView,
    tape: &mut Tape,
    dscore: &mut [f64],
    slopes: &mut [Vec<f32>; 3],
) {
    // Exponential forms give most pairs next to nothing: products with that would be slow.
    dscore.iter_mut().filter(|g| g.abs() < f64::from(NEGLIGIBLE)).for_each(|g| *g = 0.0);
    for (slopes, length) in slopes.iter_mut().zip([view.users.len(), view.items.len(), view.weights.len()]) {
        slopes.resize(length, 0.0);
    }
    let [users, items, weights] = slopes;
    model.backward(view, tape, dscore, Slopes { users, items, weights });
}

impl<'a> VectorTrainer<'a> {
    /// A recommender at its beginning, its tables in `place`: rows, both means of the optimiser, the best rows so far. The
    /// recommender and the checkpoints do not depend on it.
    ///
    /// # Errors
    /// If a setting does not suit the data, there is nothing to learn from, or there is not enough memory or disk space.
    pub fn new_in(
        config: &Config,
        kind: &dyn EmbeddingKind,
        data: &'a Interactions,
        place: &TableStorage,
    ) -> Result<VectorTrainer<'a>, TrainError> {
        let common = LoopState::new(config)?;
        let shape = data.shape();
        let model: Arc<dyn EmbeddingModel> = kind.build(&shape)?.into();
        let learned = data.learned(config);
        let (_, sampler) = sampler::parse(config.sampler())?;
        let rows = row_optimisers(config, &*model, &shape, place)?;
        let two_steps = rows[0].needs_previous();
        let stages =
            Stages::new(config, two_steps, |policy, seed| sampler.open_choices(&learned, policy, seed))?;
        stages.check_two_steps(two_steps)?;
        let buffer = || Parameters::zeroed(&*model, &shape, place);
        let mut parameters = buffer()?;
        parameters.start(&*model, config.seed());
        Ok(VectorTrainer {
            held: labelled(&data.valid, Feedback::of(config)),
            spare: (data.valid.pairs() > 0).then(buffer).transpose()?,
            place: place.clone(),
            decayed: ranges(model.blocks(), |block| block.role == Role::Weight),
            best: None,
            rows,
            optimiser: dense_optimiser(config, parameters.weights.len())?,
            state: stages.get(0).goal.state_of_choices(&learned)?,
            undo: [Undo::default(), Undo::default()],
            weights_before: Vec::new(),
            drawn: Drawn::default(),
            next: Drawn::default(),
            work: Work::default(),
            parameters,
            stages,
            model,
            learned,
            data,
            common,
        })
    }

    /// What a user gets: the best on validation, else a copy of the last.
    ///
    /// # Errors
    /// If there is not enough memory or disk space for the copy where the tables are.
    pub fn recommender(&self) -> Result<Recommender, TrainError> {
        let kept = match &self.best {
            Some(best) => Arc::clone(best),
            None => {
                let mut copy = Parameters::zeroed(&*self.model, &self.data.shape(), &self.place)?;
                copy.copy_from(&self.parameters);
                self.rows[0].write_present(&mut copy.users);
                self.rows[1].write_present(&mut copy.items);
                Arc::new(copy)
            }
        };
        let reached = Reached::by(self, self.data.users.len(), self.data.train.pairs());
        let scorer = Scorer::Vectors { model: Arc::clone(&self.model), parameters: kept };
        Ok(Recommender::new(&self.common.config, reached, self.data.clone(), scorer))
    }

    /// A buffer for a copy of the parameters: that of the best so far if nobody else uses it, else the spare one.
    fn buffer_for_best(&mut self) -> Result<Parameters, TrainError> {
        match self.best.take().and_then(Arc::into_inner).or(self.spare.take()) {
            Some(buffer) => Ok(buffer),
            None => Ok(Parameters::zeroed(&*self.model, &self.data.shape(), &self.place)?),
        }
    }

    /// True if the next step looks at the model as it is now.
    fn remembers(&self) -> bool {
        let stage = self.stages.get(self.common.position.stage);
        self.rows[0].needs_previous() || stage.goal.objective().needs().previous_scores
    }

    fn enter_stage(&mut self, stage: usize) -> Result<(), TrainError> {
        self.common.position.stage = stage;
        self.work.aside = None;
        self.state = self.stages.get(stage).goal.state_of_choices(&self.learned)?;
        Ok(())
    }
}

impl TrainingLoop for VectorTrainer<'_> {
    accessors!(common, stages);

    fn compute(&mut self) -> Result<Computed, TrainError> {
        let of = (self.common.position.stage, self.common.position.step);
        let keeps_previous = self.remembers();
        let stage = self.stages.get_mut(of.0);
        std::mem::swap(&mut self.drawn, &mut self.next);
        if self.drawn.of != Some(of) {
            self.drawn.make(of, &mut *stage.sampler, &self.learned);
        }
        let batch = BatchGradient {
            model: &*self.model,
            goal: &stage.goal,
            shape: self.data.shape(),
            stream: Stream::new(self.common.config.seed(), "train").at_step(self.common.position.total),
            parameters: &self.parameters,
            rows: &self.rows,
            before: (keeps_previous && self.common.position.has_previous)
                .then_some((&self.undo, self.weights_before.as_slice())),
            state: &mut self.state,
            work: &mut self.work,
        };
        let (drawn, next, learned) = (&self.drawn, &mut self.next, &self.learned);
        let sampler = &mut *stage.sampler;
        let (done, ()) =
            rayon::join(|| batch.compute(drawn), || next.make((of.0, of.1 + 1), sampler, learned));
        done?;
        let Work { gradients, slopes, .. } = &self.work;
        Ok(Computed {
            loss: gradients.loss,
            norm: slopes.iter().map(|slopes| squares(slopes)).sum::<f64>().sqrt(),
            without_gradient: gradients.counts.idle,
            keeps_previous,
        })
    }

    fn batch_lists(&self) -> Vec<u32> {
        self.drawn.draws.lists.clone()
    }

    fn commit(&mut self, learning_rate: f64) -> Result<(), TrainError> {
        let (number, remember) = (self.common.position.step, self.remembers());
        let both = self.rows[0].needs_previous() && self.common.position.has_previous;
        if remember {
            self.weights_before.clone_from(&self.parameters.weights);
        }
        let work = &mut self.work;
        let previous = |side: usize| both.then_some(work.slopes_before[side].as_slice());
        let step = RowStep { number, rate: learning_rate };
        let tables = [&mut self.parameters.users, &mut self.parameters.items];
        for (side, table) in tables.into_iter().enumerate() {
            let slopes = RowSlopes { now: &work.slopes[side], previous: previous(side) };
            self.rows[side].step(step, table, &work.rows[side], slopes);
        }
        if !self.parameters.weights.is_empty() {
            let step = OptimiserStep { number, rate: learning_rate, decayed: &self.decayed };
            self.optimiser.step(&step, &mut self.parameters.weights, &work.slopes[2], previous(2));
        }
        if remember {
            std::mem::swap(&mut self.undo, &mut work.rows);
        }
        Ok(())
    }

    /// All items that the user has not interacted with in training are ranked, or as many drawn ones as the config says.
    fn validate(&mut self) -> Result<Option<Option<f64>>, TrainError> {
        self.rows[0].settle(&mut self.parameters.users);
        self.rows[1].settle(&mut self.parameters.items);
        if self.held.pairs() == 0 {
            return Ok(None);
        }
        let Parameters { users, items, weights } = &self.parameters;
        let popular = popular(&self.learned);
        let seen = History { choices: &self.learned, popular: &popular, by_popularity: false };
        let measures = std::slice::from_ref(&self.common.measure);
        let (model, shape) = (&*self.model, self.data.shape());
        let evaluation = match self.common.config.valid_items() as usize {
            0 => {
                let ranker = Ranker::new(model, shape, weights, users, items);
                evaluate_part(&ranker, &seen, &self.held, measures, 1)?.evaluation
            }
            count => {
                let scorer = PairScorer::new(model, shape, weights, users, items);
                evaluate_sampled(&scorer, &seen, &self.held, measures, (count, self.common.config.seed()))?
            }
        };
        Ok(Some(evaluation.results[0].mean))
    }

    fn keep_best(&mut self) -> Result<(), TrainError> {
        let Parameters { users, items, weights } = &self.parameters;
        let step = self.common.position.total;
        [&**users, &**items, weights].into_iter().try_for_each(|values| check_finite(step, values))?;
        let mut best = self.buffer_for_best()?;
        best.copy_from(&self.parameters);
        self.best = Some(Arc::new(best));
        Ok(())
    }

    /// From the warm-up to the objective itself: last layer, optimisers and state start anew.
    fn next_stage(&mut self) -> Result<(), TrainError> {
        let (model, seed) = (&self.model, self.common.config.seed());
        if !continues_after_warm_up(&self.common.config) {
            reinitialise_last_layer(model.blocks(), &mut self.parameters.weights, |fresh| {
                model.init_weights(Stream::new(seed, "init after warm-up"), fresh);
            });
        }
        self.rows.iter_mut().for_each(RowOptimiser::restart);
        self.optimiser = dense_optimiser(&self.common.config, self.parameters.weights.len())?;
        self.enter_stage(self.common.position.stage + 1)?;
        self.common.position.step = 0;
        self.common.position.has_previous = false;
        Ok(())
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint(self.data)
    }

    fn tensors(&self) -> Vec<Tensor<'_>> {
        let mut tensors = vec![Tensor::flat("objective", self.state.save())];
        let best = self.best.iter().flat_map(|best| best.named("best."));
        let named = self.parameters.named("").into_iter().chain(best);
        tensors.extend(named.map(|(name, values)| Tensor::flat(name, values)));
        for (side, name) in SIDES.iter().enumerate() {
            let undo = &self.undo[side];
            tensors.extend(self.rows[side].tensors(name));
            if self.common.position.has_previous {
                tensors.push(Tensor::flat(format!("{name}.undo"), numbers(&undo.numbers)));
                tensors.push(Tensor::flat(format!("{name}.undo.values"), &undo.values));
            }
        }
        if self.common.position.has_previous {
            tensors.push(Tensor::flat("weights.before", &self.weights_before));
        }
        tensors.extend(optimiser_tensors(&*self.optimiser));
        tensors
    }

    fn restore(&mut self, stored: &Stored, position: &Position) -> Result<(), TrainError> {
        self.enter_stage(position.stage)?;
        self.parameters.restore(stored, "")?;
        self.best = match stored.has("best.users") {
            false => None,
            true => {
                let mut best = self.buffer_for_best()?;
                best.restore(stored, "best.")?;
                Some(Arc::new(best))
            }
        };
        for (side, name) in SIDES.iter().enumerate() {
            self.rows[side].restore(stored, name, position.step)?;
            self.undo[side] = Rows::default();
            if position.has_previous {
                let numbers: Vec<u32> = stored.numbers(&format!("{name}.undo"))?;
                if !numbers.is_sorted_by(|a, b| a < b) {
                    return Err(stored.wrong(format!("{name}.undo out of order"), "rows in ascending order"));
                }
                let count = numbers.len().saturating_mul(self.model.widths()[side]);
                let values = stored.f32_counted(&format!("{name}.undo.values"), count)?;
                self.undo[side] = Rows { numbers, values };
            }
        }
        self.weights_before.clear();
        if position.has_previous {
            self.weights_before = stored.f32_counted("weights.before", self.parameters.weights.len())?;
        }
        restore_optimiser(&mut *self.optimiser, stored)?;
        stored.objective_into(&mut self.state)
    }
}

/// One number per item, by which what is known of chosen items is looked up; between two calls all 0 and all 1.
#[derive(Default)]
pub(super) struct Lookup {
    labels: Vec<f32>,
    weights: Vec<f32>,
}

/// The label of every drawn item, and its weight, which is what it stands for where nobody chose it; no weights where all
/// are 1.
pub(super) fn labels_and_weights(
    choices: &Choices,
    draws: &Draws,
    lookup: &mut Lookup,
    labels: &mut Vec<f32>,
    weights: &mut Vec<f32>,
) {
    lookup.labels.resize(choices.item_count, 0.0);
    labels.clear();
    weights.clear();
    for (d, &user) in draws.lists.iter().enumerate() {
        let items = &draws.items[draws.offsets[d] as usize..draws.offsets[d + 1] as usize];
        let (chosen, given) = (choices.of(user as usize), choices.labels_of(user as usize));
        look_up(items, chosen, given, 0.0, &mut lookup.labels, labels);
        if !choices.weights.is_empty() {
            lookup.weights.resize(choices.item_count, 1.0);
            look_up(items, chosen, choices.weights_of(user as usize), 1.0, &mut lookup.weights, weights);
        }
    }
    if weights.is_empty() {
        weights.extend_from_slice(&draws.stands_for);
    } else {
        weights.iter_mut().zip(&draws.stands_for).for_each(|(w, stands_for)| *w *= stands_for);
    }
}

/// The `values` of those `items` that were `chosen`, `rest` for the others, by way of `table`, which holds nothing but `rest`: in
/// a walk over both, as they ascend, every step would be guessed wrong half of the time.
fn look_up(items: &[u32], chosen: &[u32], values: &[f32], rest: f32, table: &mut [f32], to: &mut Vec<f32>) {
    chosen.iter().zip(values).for_each(|(&item, &value)| table[item as usize] = value);
    to.extend(items.iter().map(|&item| table[item as usize]));
    for &item in chosen {
        table[item as usize] = rest;
    }
}

vectorised! {
    /// Σ x² in eight sums side by side.
    fn squares(values: &[f32]) -> f64 {
        let (lanes, rest) = values.as_chunks::<8>();
        let mut sums = [0.0f64; 8];
        for lane in lanes {
            for (sum, x) in sums.iter_mut().zip(lane) {
                *sum += f64::from(*x) * f64::from(*x);
            }
        }
        let rest = rest.iter().map(|x| f64::from(*x) * f64::from(*x));
        sums.into_iter().chain(rest).sum()
    }
}

/// The weights, if there are any.
pub(super) fn given(weights: &[f32]) -> Option<&[f32]> {
    (!weights.is_empty()).then_some(weights)
}

fn row_optimisers(
    config: &Config,
    model: &dyn EmbeddingModel,
    shape: &Shape,
    place: &TableStorage,
) -> Result<[RowOptimiser; 2], TrainError> {
    let rule = row_rule(config)?;
    let [user, item] = model.widths();
    let new = |rows, width| RowOptimiser::new_in(rule, rows, width, place);
    Ok([new(shape.users, user)?, new(shape.items, item)?])
}

/// Bytes of all tables of a run that learns these vectors: rows, the means of each, the best rows so far.
pub(super) fn table_bytes(
    config: &Config,
    kind: &dyn EmbeddingKind,
    data: &Interactions,
) -> Result<u64, TrainError> {
    let shape = data.shape();
    let [user, item] = kind.build(&shape)?.widths();
    let numbers = (shape.users * user + shape.items * item) as u64;
    Ok(4 * (2 + RowOptimiser::tables(row_rule(config)?)) * numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_items_have_the_labels_and_weights_of_the_choices() {
        let pairs = vec![(0, 1, 2.0), (0, 4, 3.0), (0, 5, -1.0), (2, 0, 4.0), (2, 5, 5.0)];
        let choices = Choices::from_pairs(3, 6, pairs);
        let draws = Draws {
            lists: vec![0, 1, 2],
            offsets: vec![0, 3, 5, 11],
            items: vec![0, 4, 5, 1, 5, 0, 1, 2, 3, 4, 5],
            ..Draws::default()
        };
        let (mut lookup, mut labels, mut weights) = (Lookup::default(), Vec::new(), Vec::new());
        for _ in 0..2 {
            labels_and_weights(&choices, &draws, &mut lookup, &mut labels, &mut weights);
            assert_eq!(labels, [0.0, 3.0, -1.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 5.0]);
            assert_eq!((&lookup.labels[..], &weights[..]), (&[0.0; 6][..], &[][..]));
        }
        let weighed = Choices { weights: vec![0.5, 2.0, 3.0, 4.0, 0.25], ..choices.clone() };
        labels_and_weights(&weighed, &draws, &mut lookup, &mut labels, &mut weights);
        assert_eq!(weights, [1.0, 2.0, 3.0, 1.0, 1.0, 4.0, 1.0, 1.0, 1.0, 1.0, 0.25]);
        assert_eq!(lookup.weights, [1.0; 6]);
        let mut uneven = draws;
        uneven.stands_for = vec![7.0, 1.0, 1.0, 2.0, 2.0, 1.0, 3.0, 3.0, 3.0, 3.0, 1.0];
        labels_and_weights(&choices, &uneven, &mut lookup, &mut labels, &mut weights);
        assert_eq!(weights, uneven.stands_for);
        labels_and_weights(&weighed, &uneven, &mut lookup, &mut labels, &mut weights);
        assert_eq!(weights, [7.0, 2.0, 3.0, 2.0, 2.0, 4.0, 3.0, 3.0, 3.0, 3.0, 0.25]);
    }

    #[test]
    fn squares_are_those_of_a_plain_sum() {
        let mut random = Stream::new(6, "test").open();
        for n in [0, 1, 7, 8, 9, 64, 203] {
            let values: Vec<f32> = (0..n).map(|_| random.unit() as f32 - 0.5).collect();
            let plain: f64 = values.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
            assert!((squares(&values) - plain).abs() <= 1e-14 * plain);
        }
    }
}

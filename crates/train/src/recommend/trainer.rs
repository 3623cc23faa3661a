/*!
The trainer of vectors: passes over the pairs until the recommendations are good, in the loop of [`Course`].

```text
each step: draw users and items ─▶ gather their rows ─▶ scores ─▶ objective ─▶ slopes ─▶ row-sparse Adam
each pass: rank all unseen items for every user of the validation part ─▶ record ─▶ better? keep ─▶ checkpoint
```

A step is a function of (config, data, step, what the checkpoint holds). Forms that look at the model of the step before
(song-v1, song-v2) see it through the rows that the last step moved: no second copy of the tables is kept.
*/

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use toprank_core::{Block, Choices, ParamError, Role, Stream, vectorised};
use toprank_embeddings::{
    BatchView, EmbeddingModel, Plan, Ranker, RowAdam, RowStep, Rows, Shape, Slopes, Table, TableError,
    TableStorage, Tape, Undo,
};
use toprank_metrics::Measure;
use toprank_objectives::{Batch, Draws, Goal, Gradients, State};

use super::config::Config;
use super::file::Recommender;
use super::interactions::{Interactions, labelled};
use super::judge::{Seen, judge, popular};
use crate::error::TrainError;
use crate::learner::{Course, Position, Watch};
use crate::optimiser::{NEGLIGIBLE, Optimiser, OptimiserStep};
use crate::sampler::{self, Sampler};
use crate::schedule::{self, Schedule};
use crate::trainer::ranges;

/// The objective of a warm-up (paper 000, section 6.1).
const WARM_UP: &str = "listwise-ce";

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
    /// Zeros, or room for others.
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

    fn copy_from(&mut self, other: &Parameters) {
        self.users.copy_from_slice(&other.users);
        self.items.copy_from_slice(&other.items);
        self.weights.copy_from_slice(&other.weights);
    }
}

/// One objective over some passes.
struct Stage {
    goal: Goal,
    sampler: Box<dyn Sampler>,
    steps: u64,
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
    sheets: Sheets,
}

impl Drawn {
    fn make(&mut self, of: (usize, u64), sampler: &mut dyn Sampler, learned: &Choices) {
        sampler.draw(of.1, &mut self.draws);
        let draws = &self.draws;
        self.plan.lay(learned.item_count, &draws.lists, &draws.offsets, &draws.items);
        told(learned, draws, &mut self.sheets, &mut self.labels, &mut self.weights);
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
}

/// A recommender on its way.
pub struct Trainer<'a> {
    pub(super) config: Config,
    pub(super) data: &'a Interactions,
    learned: Choices,
    held: Choices,
    model: Arc<dyn EmbeddingModel>,
    measure: Measure,
    schedule: Schedule,
    stages: Vec<Stage>,
    decayed: Vec<Range<usize>>,
    pub(super) position: Position,
    pub(super) parameters: Parameters,
    pub(super) best: Option<Arc<Parameters>>,
    /// Room for the best, taken at the start: later a disk may be full.
    spare: Option<Parameters>,
    place: TableStorage,
    pub(super) adam: [RowAdam; 2],
    pub(super) optimiser: Box<dyn Optimiser>,
    pub(super) state: State,
    /// What the last step moved, as it was before, where an objective asks for it.
    pub(super) undo: [Undo; 2],
    pub(super) weights_before: Vec<f32>,
    drawn: Drawn,
    next: Drawn,
    work: Work,
}

/// What the gradient of a step is computed from and written to.
struct Pass<'p> {
    model: &'p dyn EmbeddingModel,
    goal: &'p Goal,
    shape: Shape<'p>,
    stream: Stream,
    parameters: &'p Parameters,
    /// Rows and weights of the step before, if the objective asks for them.
    before: Option<(&'p [Undo; 2], &'p [f32])>,
    state: &'p mut State,
    work: &'p mut Work,
}

impl Pass<'_> {
    /// Scores, objective, slopes; all results stay in `work`.
    fn run(self, drawn: &Drawn) -> Result<(), TrainError> {
        let Pass { model, goal, shape, stream, parameters, before, state, work } = self;
        let (draws, plan) = (&drawn.draws, &drawn.plan);
        let network = Some(Stream { purpose: Stream::purpose("network"), ..stream });
        let (tables, widths) = ([&parameters.users, &parameters.items], model.widths());
        let ids = [&plan.users, &plan.items];
        for (side, rows) in work.rows.iter_mut().enumerate() {
            rows.gather(tables[side], widths[side], ids[side], None);
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
            for (side, rows) in work.rows_before.iter_mut().enumerate() {
                rows.gather(tables[side], widths[side], ids[side], Some(&undo[side]));
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
        // Exponential forms give most pairs next to nothing: products with that would be slow.
        let slopes = work.gradients.gradient.iter_mut();
        slopes.filter(|g| g.abs() < f64::from(NEGLIGIBLE)).for_each(|g| *g = 0.0);
        let lengths = [users.values.len(), items.values.len(), parameters.weights.len()];
        for (slopes, length) in work.slopes.iter_mut().zip(lengths) {
            slopes.resize(length, 0.0);
        }
        let [to_users, to_items, to_weights] = &mut work.slopes;
        let to = Slopes { users: to_users, items: to_items, weights: to_weights };
        model.backward(&view, &mut work.tape, &work.gradients.gradient, to);
        Ok(())
    }
}

impl<'a> Trainer<'a> {
    /// A recommender at its beginning.
    ///
    /// # Errors
    /// If a setting does not suit the data, or there is nothing to learn from.
    pub fn new(config: &Config, data: &'a Interactions) -> Result<Trainer<'a>, TrainError> {
        Trainer::new_in(config, data, &TableStorage::Memory)
    }

    /// The same with its tables in `place`: rows, both means of the optimiser, the best rows so far. The recommender and the
    /// checkpoints do not depend on it.
    ///
    /// # Errors
    /// As in [`Trainer::new`], or if there is no room.
    pub fn new_in(
        config: &Config,
        data: &'a Interactions,
        place: &TableStorage,
    ) -> Result<Trainer<'a>, TrainError> {
        config.check()?;
        if data.train.pairs() == 0 {
            let found = format!("{} users, no pair", data.users.len());
            return Err(ParamError::new("the training data", &found, "users with items they took").into());
        }
        let config = config.clone();
        let shape = data.shape();
        let model: Arc<dyn EmbeddingModel> = toprank_embeddings::parse(&config.model)?.build(&shape)?.into();
        let learned = data.learned(&config);
        let (_, kind) = sampler::parse(&config.sampler)?;
        let main = config.goal()?;
        let warm_up = match config.warm_up {
            0 => None,
            epochs => Some((Goal::parse(WARM_UP, main.policy())?, epochs)),
        };
        let mut stages = Vec::new();
        for (goal, epochs) in warm_up.into_iter().chain([(main, config.epochs)]) {
            let seed = config.seed.wrapping_add((stages.len() as u64) << 32);
            let sampler = kind.open_choices(&learned, goal.policy(), seed)?;
            let pass = sampler.steps_per_pass();
            // A pass draws each relevant pair about once.
            let goal = goal.at_rate(1.0 / pass.max(1) as f64)?;
            stages.push(Stage { goal, steps: pass * u64::from(epochs), sampler });
        }
        let room = || Parameters::zeroed(&*model, &shape, place);
        let mut parameters = room()?;
        parameters.start(&*model, config.seed);
        Ok(Trainer {
            held: labelled(&data.valid, config.feedback),
            spare: (data.valid.pairs() > 0).then(room).transpose()?,
            place: place.clone(),
            measure: config.measure()?,
            schedule: schedule::parse(&config.schedule)?.1,
            decayed: ranges(model.blocks(), |block| block.role == Role::Weight),
            position: Position::default(),
            best: None,
            adam: adam(&config, &*model, &shape, place)?,
            optimiser: config.dense_optimiser(parameters.weights.len())?,
            state: stages[0].goal.state_of_choices(&learned)?,
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
            config,
        })
    }

    /// What a user gets: the best on validation, else a copy of the last.
    ///
    /// # Errors
    /// If there is no room for the copy where the tables are.
    pub fn recommender(&self) -> Result<Recommender, TrainError> {
        let kept = match &self.best {
            Some(best) => Arc::clone(best),
            None => {
                let mut copy = Parameters::zeroed(&*self.model, &self.data.shape(), &self.place)?;
                copy.copy_from(&self.parameters);
                Arc::new(copy)
            }
        };
        let reached = super::file::Reached {
            steps: self.position.total,
            epochs: self.position.records.len() as u32,
            best: self.position.best.map(|(value, epoch)| (epoch, value)),
            loss: self.position.records.last().map(|record| record.loss),
        };
        Ok(Recommender::new(&self.config, reached, self.data.clone(), Arc::clone(&self.model), kept))
    }

    /// Room for a copy of the parameters: that of the best so far if nobody holds on to it, else what was set aside.
    pub(super) fn room_for_best(&mut self) -> Result<Parameters, TrainError> {
        match self.best.take().and_then(Arc::into_inner).or(self.spare.take()) {
            Some(room) => Ok(room),
            None => Ok(Parameters::zeroed(&*self.model, &self.data.shape(), &self.place)?),
        }
    }

    /// One step within a pass; its loss and rate.
    fn one_step(&mut self) -> Result<(f64, f64), TrainError> {
        let of = (self.position.stage, self.position.step);
        let Stage { goal, sampler, steps } = &mut self.stages[of.0];
        std::mem::swap(&mut self.drawn, &mut self.next);
        if self.drawn.of != Some(of) {
            self.drawn.make(of, &mut **sampler, &self.learned);
        }
        let two = goal.objective().needs().previous_scores;
        let pass = Pass {
            model: &*self.model,
            goal,
            shape: self.data.shape(),
            stream: Stream::new(self.config.seed, "train").at_step(self.position.total),
            parameters: &self.parameters,
            before: (two && self.position.has_previous)
                .then_some((&self.undo, self.weights_before.as_slice())),
            state: &mut self.state,
            work: &mut self.work,
        };
        let (drawn, next, learned) = (&self.drawn, &mut self.next, &self.learned);
        let (done, ()) =
            rayon::join(|| pass.run(drawn), || next.make((of.0, of.1 + 1), &mut **sampler, learned));
        done?;
        let work = &mut self.work;
        let loss = work.gradients.loss;
        let norm = work.slopes.iter().map(|slopes| squares(slopes)).sum::<f64>().sqrt();
        if !loss.is_finite() || !norm.is_finite() {
            let what = if loss.is_finite() { "gradient" } else { "loss" };
            return Err(TrainError::NotFinite {
                step: self.position.total,
                what,
                lists: self.drawn.draws.lists.clone(),
            });
        }
        if two {
            self.weights_before.clone_from(&self.parameters.weights);
            std::mem::swap(&mut self.undo, &mut work.rows);
        }
        let rate = self.schedule.rate(self.position.step, *steps, self.config.rate);
        let step = RowStep { number: self.position.step, rate };
        let tables = [&mut self.parameters.users, &mut self.parameters.items];
        for (side, table) in tables.into_iter().enumerate() {
            let ids = if side == 0 { &self.drawn.plan.users } else { &self.drawn.plan.items };
            self.adam[side].step(step, table, ids, &work.slopes[side]);
        }
        if !self.parameters.weights.is_empty() {
            let step = OptimiserStep { number: self.position.step, rate, decayed: &self.decayed };
            self.optimiser.step(&step, &mut self.parameters.weights, &work.slopes[2], None);
        }
        self.position.stepped(loss, norm, work.gradients.counts.idle, two);
        Ok((loss, rate))
    }

    fn end_of_pass(&mut self, watch: &mut dyn Watch, rate: f64, started: Instant) -> Result<(), TrainError> {
        let valid = (self.held.pairs() > 0).then(|| self.judge()).transpose()?;
        let stage = &self.stages[self.position.stage];
        let metrics = valid.into_iter().collect();
        watch.record(self.position.close_pass(stage.sampler.steps_per_pass(), rate, metrics, started));
        let over = self.position.step == stage.steps;
        if self.position.stage + 1 < self.stages.len() {
            if over {
                self.next_stage()?;
            }
            return Ok(());
        }
        let epoch = self.position.records.len() as u32;
        if self.position.judged(&self.measure, valid.flatten(), epoch) {
            let mut best = self.room_for_best()?;
            best.copy_from(&self.parameters);
            self.best = Some(Arc::new(best));
        }
        self.position.finish_if(over, self.config.patience);
        Ok(())
    }

    /// The metric of validation under the present parameters: all items that were not learned from are ranked.
    fn judge(&self) -> Result<Option<f64>, TrainError> {
        let Parameters { users, items, weights } = &self.parameters;
        let ranker = Ranker::new(&*self.model, self.data.shape(), weights, users, items);
        let popular = popular(&self.learned);
        let seen = Seen { choices: &self.learned, popular: &popular };
        let measures = std::slice::from_ref(&self.measure);
        Ok(judge(&ranker, &seen, &self.held, measures, None, 1)?.evaluation.results[0].mean)
    }

    /// From the warm-up to the objective itself: the last layer, the optimisers and the state start afresh.
    fn next_stage(&mut self) -> Result<(), TrainError> {
        let mut fresh = vec![0.0; self.parameters.weights.len()];
        self.model.init_weights(Stream::new(self.config.seed, "init after warm-up"), &mut fresh);
        for range in ranges(self.model.blocks(), |block| block.last_layer) {
            self.parameters.weights[range.clone()].copy_from_slice(&fresh[range]);
        }
        self.adam.iter_mut().for_each(RowAdam::restart);
        self.optimiser = self.config.dense_optimiser(fresh.len())?;
        self.enter_stage(self.position.stage + 1)?;
        self.position.step = 0;
        self.position.has_previous = false;
        Ok(())
    }

    pub(super) fn enter_stage(&mut self, stage: usize) -> Result<(), TrainError> {
        self.position.stage = stage;
        self.state = self.stages[stage].goal.state_of_choices(&self.learned)?;
        Ok(())
    }

    pub(super) fn stages(&self) -> usize {
        self.stages.len()
    }
}

impl Course for Trainer<'_> {
    fn position(&self) -> &Position {
        &self.position
    }

    fn steps(&self) -> u64 {
        self.stages.iter().map(|stage| stage.steps).sum()
    }

    fn step(&mut self, watch: &mut dyn Watch, started: Instant) -> Result<(f64, f64), TrainError> {
        let (loss, rate) = self.one_step()?;
        let pass = self.stages[self.position.stage].sampler.steps_per_pass();
        if self.position.step.is_multiple_of(pass) {
            self.end_of_pass(watch, rate, started)?;
        }
        Ok((loss, rate))
    }

    fn save_checkpoint(&self, path: &Path, origin: &serde_json::Value) -> Result<(), TrainError> {
        self.write_checkpoint(path, origin)
    }

    fn load_checkpoint(&mut self, path: &Path) -> Result<(), TrainError> {
        self.read_checkpoint(path)
    }
}

/// One number per item, by which what is known of chosen items is looked up; between two calls all 0 and all 1.
#[derive(Default)]
pub(super) struct Sheets {
    labels: Vec<f32>,
    weights: Vec<f32>,
}

/// The label of every drawn item, and its weight, which is what it stands for where nobody chose it; no weights where all
/// are 1.
pub(super) fn told(
    choices: &Choices,
    draws: &Draws,
    sheets: &mut Sheets,
    labels: &mut Vec<f32>,
    weights: &mut Vec<f32>,
) {
    sheets.labels.resize(choices.item_count, 0.0);
    labels.clear();
    weights.clear();
    for (d, &user) in draws.lists.iter().enumerate() {
        let items = &draws.items[draws.offsets[d] as usize..draws.offsets[d + 1] as usize];
        let (chosen, given) = (choices.of(user as usize), choices.labels_of(user as usize));
        look_up(items, chosen, given, 0.0, &mut sheets.labels, labels);
        if !choices.weights.is_empty() {
            sheets.weights.resize(choices.item_count, 1.0);
            look_up(items, chosen, choices.weights_of(user as usize), 1.0, &mut sheets.weights, weights);
        }
    }
    if weights.is_empty() {
        weights.extend_from_slice(&draws.stands_for);
    } else {
        weights.iter_mut().zip(&draws.stands_for).for_each(|(w, stands_for)| *w *= stands_for);
    }
}

/// The `values` of those `items` that were `chosen`, `rest` for the others, by way of `sheet`, which holds nothing but `rest`: in
/// a walk over both, as they ascend, every step would be guessed wrong half of the time.
fn look_up(items: &[u32], chosen: &[u32], values: &[f32], rest: f32, sheet: &mut [f32], to: &mut Vec<f32>) {
    chosen.iter().zip(values).for_each(|(&item, &value)| sheet[item as usize] = value);
    to.extend(items.iter().map(|&item| sheet[item as usize]));
    for &item in chosen {
        sheet[item as usize] = rest;
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

fn adam(
    config: &Config,
    model: &dyn EmbeddingModel,
    shape: &Shape,
    place: &TableStorage,
) -> Result<[RowAdam; 2], TrainError> {
    let constants = config.row_constants()?;
    let [user, item] = model.widths();
    let new = |rows, width| RowAdam::new_in(rows, width, constants, place);
    Ok([new(shape.users, user)?, new(shape.items, item)?])
}

/// Bytes of all tables of a run that learns these vectors: rows, the two means of each, the best rows so far.
///
/// # Errors
/// If the model does not suit the data.
pub fn table_bytes(config: &Config, data: &Interactions) -> Result<u64, TrainError> {
    let shape = data.shape();
    let [user, item] = toprank_embeddings::parse(&config.model)?.build(&shape)?.widths();
    let numbers = (shape.users * user + shape.items * item) as u64;
    Ok(4 * 4 * numbers)
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
        let (mut sheets, mut labels, mut weights) = (Sheets::default(), Vec::new(), Vec::new());
        for _ in 0..2 {
            told(&choices, &draws, &mut sheets, &mut labels, &mut weights);
            assert_eq!(labels, [0.0, 3.0, -1.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 5.0]);
            assert_eq!((&sheets.labels[..], &weights[..]), (&[0.0; 6][..], &[][..]));
        }
        let weighed = Choices { weights: vec![0.5, 2.0, 3.0, 4.0, 0.25], ..choices.clone() };
        told(&weighed, &draws, &mut sheets, &mut labels, &mut weights);
        assert_eq!(weights, [1.0, 2.0, 3.0, 1.0, 1.0, 4.0, 1.0, 1.0, 1.0, 1.0, 0.25]);
        assert_eq!(sheets.weights, [1.0; 6]);
        let mut uneven = draws;
        uneven.stands_for = vec![7.0, 1.0, 1.0, 2.0, 2.0, 1.0, 3.0, 3.0, 3.0, 3.0, 1.0];
        told(&choices, &uneven, &mut sheets, &mut labels, &mut weights);
        assert_eq!(weights, uneven.stands_for);
        told(&weighed, &uneven, &mut sheets, &mut labels, &mut weights);
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

/*!
The trainer of networks: passes over the data until the model is good, in the loop of [`Course`].

```text
warm-up (listwise cross-entropy) ─▶ last layer afresh ─▶ passes with the objective ─▶ the best on validation
                 each step: draw ─▶ gradient ─▶ clip ─▶ optimiser ─▶ average
                 each pass: validate ─▶ record ─▶ better? keep ─▶ checkpoint
```

A step is a function of (config, data, step, what the checkpoint holds), so a run that was killed and taken up again
gives the same bytes as one that was not.
*/

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use toprank_core::{Block, Differentiable, ParamError, Role, Stream};
use toprank_metrics::{Measure, evaluate};
use toprank_objectives::{Draws, Goal, State};

use crate::average::Average;
use crate::clip::clip;
use crate::config::Config;
use crate::engine::{At, Engine, Examples, Into, Task, has_previous_gradient, score};
use crate::error::TrainError;
use crate::learner::{Course, Learner, Position, Watch};
use crate::optimiser::{Optimiser, OptimiserStep};
use crate::sampler::Sampler;
use crate::schedule::Schedule;
use crate::scoring::Scoring;
use crate::{average, optimiser, sampler, schedule};

/// Share of a batch's statistics in the running ones (batch norm).
const STATISTIC_RATE: f32 = 0.1;
/// The objective of a warm-up (paper 000, section 6.1): listwise cross-entropy with a tracked normaliser.
const WARM_UP: &str = "listwise-ce";
/// The same without a tracker, for optimisers that look at the gradient of two steps.
const WARM_UP_BY_STORM: &str = "listnet";

/// One objective over some passes.
struct Stage {
    goal: Goal,
    sampler: Box<dyn Sampler>,
    steps: u64,
}

/// A network on its way.
pub struct Trainer<'a> {
    config: Config,
    model: Arc<dyn Differentiable>,
    train: Examples<'a>,
    valid: Option<Examples<'a>>,
    measure: Measure,
    schedule: Schedule,
    stages: Vec<Stage>,
    decayed: Vec<Range<usize>>,
    pub(crate) position: Position,
    pub(crate) parameters: Vec<f32>,
    pub(crate) previous: Vec<f32>,
    pub(crate) best: Vec<f32>,
    pub(crate) optimiser: Box<dyn Optimiser>,
    pub(crate) average: Average,
    pub(crate) state: State,
    engine: Engine,
    draws: Draws,
    gradient: Vec<f32>,
    gradient_previous: Vec<f32>,
}

impl<'a> Trainer<'a> {
    /// A model at its beginning. `train` and `valid` hold features as the model is to see them (transformed).
    pub fn new(
        config: &Config,
        model: Box<dyn Differentiable>,
        train: Examples<'a>,
        valid: Option<Examples<'a>>,
    ) -> Result<Trainer<'a>, TrainError> {
        let config = config.clone();
        let model: Arc<dyn Differentiable> = model.into();
        config.check()?;
        for (examples, what) in [(Some(train), "the training data"), (valid, "the validation data")] {
            let Some(examples) = examples else { continue };
            if examples.lists.entries() == 0 {
                return Err(ParamError::new(what, "empty", "lists with items").into());
            }
            if examples.features.width() != model.width() {
                let found = format!("{} features", examples.features.width());
                return Err(ParamError::new(what, &found, &format!("{}", model.width())).into());
            }
        }
        let (_, kind) = sampler::parse(&config.sampler)?;
        let main = config.goal()?;
        let mut stages = Vec::new();
        let parameters = model.parameters();
        let optimiser = optimiser::parse(&config.optimiser)?.1.open(parameters);
        let name = if optimiser.needs_previous() { WARM_UP_BY_STORM } else { WARM_UP };
        let warm_up = match config.warm_up {
            0 => None,
            epochs => Some((Goal::parse(name, main.policy())?, epochs)),
        };
        for (goal, epochs) in warm_up.into_iter().chain([(main, config.epochs)]) {
            let seed = config.seed.wrapping_add((stages.len() as u64) << 32);
            let sampler = kind.open(train.lists, goal.policy(), seed)?;
            stages.push(Stage { goal, steps: sampler.steps_per_pass() * u64::from(epochs), sampler });
        }
        if optimiser.needs_previous()
            && let Some(stage) = stages.iter().find(|stage| !has_previous_gradient(&stage.goal))
        {
            let expected = "one of the Faster forms (song-v1, song-v2, song-storm) or an objective without trackers, \
                            where the optimiser looks at two steps";
            return Err(ParamError::new("objective", stage.goal.name(), expected).into());
        }
        let mut trainer = Trainer {
            measure: config.measure()?,
            schedule: schedule::parse(&config.schedule)?.1,
            decayed: ranges(model.blocks(), |block| block.role == Role::Weight),
            position: Position::default(),
            parameters: vec![0.0; parameters],
            previous: Vec::new(),
            best: Vec::new(),
            average: average::parse(&config.average)?.1.open(parameters),
            state: stages[0].goal.state(train.lists)?,
            engine: Engine::default(),
            draws: Draws::default(),
            gradient: vec![0.0; parameters],
            gradient_previous: if optimiser.needs_previous() { vec![0.0; parameters] } else { Vec::new() },
            optimiser,
            stages,
            train,
            valid,
            model,
            config,
        };
        let stream = Stream::new(trainer.config.seed, "init");
        trainer.model.init(stream, &mut trainer.parameters);
        Ok(trainer)
    }

    /// Begins at these parameters instead of random ones.
    pub fn start_at(&mut self, parameters: &[f32]) -> Result<(), TrainError> {
        if parameters.len() != self.parameters.len() {
            let found = format!("{} parameters", parameters.len());
            return Err(ParamError::new(
                "the model to go on from",
                &found,
                &self.parameters.len().to_string(),
            )
            .into());
        }
        self.parameters.copy_from_slice(parameters);
        Ok(())
    }

    /// The network.
    pub fn model(&self) -> &dyn Differentiable {
        &*self.model
    }

    /// The parameters that a user gets: the best on validation, else the average, else the last.
    pub fn parameters(&self) -> Vec<f32> {
        if self.best.is_empty() { self.present() } else { self.best.clone() }
    }

    /// The parameters that are validated now: averaged, if they are to be.
    fn present(&self) -> Vec<f32> {
        let mut parameters = self.parameters.clone();
        let steps = self.stages[self.position.stage].steps;
        self.average.write(self.position.step, steps, &mut parameters);
        parameters
    }

    /// One step within a pass; its loss and rate.
    fn one_step(&mut self) -> Result<(f64, f64), TrainError> {
        let stage = &mut self.stages[self.position.stage];
        stage.sampler.draw(self.position.step, &mut self.draws);
        let two = stage.goal.objective().needs().previous_scores || self.optimiser.needs_previous();
        let at = At {
            parameters: &self.parameters,
            previous: (two && self.position.has_previous).then_some(self.previous.as_slice()),
        };
        let into = Into {
            gradient: &mut self.gradient,
            previous: self.optimiser.needs_previous().then_some(self.gradient_previous.as_mut_slice()),
        };
        let stream = Stream::new(self.config.seed, "train").at_step(self.position.total);
        let task = Task { model: &*self.model, goal: &stage.goal, examples: self.train };
        let seen = self.engine.gradient(task, at, &mut self.state, &self.draws, stream, into)?;
        let statistics = Statistics::take(self.model.blocks(), &mut self.gradient);
        let most = if self.config.clip > 0.0 { self.config.clip } else { f64::INFINITY };
        let norm = clip(&mut self.gradient, most);
        if !seen.loss.is_finite() || !norm.is_finite() {
            let what = if seen.loss.is_finite() { "gradient" } else { "loss" };
            let lists = self.draws.lists.clone();
            return Err(TrainError::NotFinite { step: self.position.total, what, lists });
        }
        if two {
            self.previous.clear();
            self.previous.extend_from_slice(&self.parameters);
        }
        let rate = self.schedule.rate(self.position.step, stage.steps, self.config.rate);
        let step = OptimiserStep { number: self.position.step, rate, decayed: &self.decayed };
        let previous = (self.optimiser.needs_previous() && self.position.has_previous)
            .then_some(self.gradient_previous.as_slice());
        self.optimiser.step(&step, &mut self.parameters, &self.gradient, previous);
        self.model.project(&mut self.parameters);
        statistics.follow(&mut self.parameters);
        self.average.add(self.position.step, stage.steps, &self.parameters);
        self.position.stepped(seen.loss, norm, seen.counts.idle, two);
        Ok((seen.loss, rate))
    }

    fn end_of_pass(&mut self, watch: &mut dyn Watch, rate: f64, started: Instant) -> Result<(), TrainError> {
        let valid = self.valid.map(|valid| self.judge(valid)).transpose()?;
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
            self.best = self.present();
        }
        self.position.finish_if(over, self.config.patience);
        Ok(())
    }

    /// From the warm-up to the objective itself: the last layer, the optimiser and the state start afresh.
    fn next_stage(&mut self) -> Result<(), TrainError> {
        let mut fresh = vec![0.0; self.parameters.len()];
        self.model.init(Stream::new(self.config.seed, "init after warm-up"), &mut fresh);
        for range in ranges(self.model.blocks(), |block| block.last_layer) {
            self.parameters[range.clone()].copy_from_slice(&fresh[range]);
        }
        self.optimiser = optimiser::parse(&self.config.optimiser)?.1.open(self.parameters.len());
        self.average = average::parse(&self.config.average)?.1.open(self.parameters.len());
        self.engine = Engine::default();
        self.enter_stage(self.position.stage + 1)?;
        self.position.step = 0;
        self.position.has_previous = false;
        Ok(())
    }

    pub(crate) fn enter_stage(&mut self, stage: usize) -> Result<(), TrainError> {
        self.position.stage = stage;
        self.state = self.stages[stage].goal.state(self.train.lists)?;
        Ok(())
    }

    pub(crate) fn stages(&self) -> usize {
        self.stages.len()
    }

    /// The metric of validation on `examples` under the present parameters.
    fn judge(&self, examples: Examples) -> Result<Option<f64>, TrainError> {
        let scores = score(&*self.model, &self.present(), examples)?;
        let evaluation = evaluate(examples.lists, &scores, std::slice::from_ref(&self.measure))?;
        Ok(evaluation.results[0].mean)
    }

    pub(crate) fn train_examples(&self) -> Examples<'a> {
        self.train
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

impl Learner for Trainer<'_> {
    fn config(&self) -> &Config {
        &self.config
    }

    fn kept(&self) -> Result<Scoring, TrainError> {
        Ok(Scoring::Network(Arc::clone(&self.model), self.parameters()))
    }
}

/// What a batch measured of the blocks that are not learned.
pub(crate) struct Statistics {
    places: Vec<Range<usize>>,
    measured: Vec<f32>,
}

impl Statistics {
    /// Takes it out of the gradient, which is 0 there from now on.
    pub(crate) fn take(blocks: &[Block], gradient: &mut [f32]) -> Statistics {
        let places = ranges(blocks, |block| block.role == Role::Statistic);
        let measured = places.iter().flat_map(|range| gradient[range.clone()].iter().copied()).collect();
        for range in &places {
            gradient[range.clone()].fill(0.0);
        }
        Statistics { places, measured }
    }

    /// Lets the running statistics among the parameters follow it.
    pub(crate) fn follow(self, parameters: &mut [f32]) {
        for (place, measured) in self.places.into_iter().flatten().zip(self.measured) {
            parameters[place] += STATISTIC_RATE * (measured - parameters[place]);
        }
    }
}

/// Where the blocks that `wanted` says yes to lie in the parameters.
pub(crate) fn ranges(blocks: &[Block], wanted: impl Fn(&Block) -> bool) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for block in blocks {
        let end = start + block.parameters();
        if wanted(block) {
            found.push(start..end);
        }
        start = end;
    }
    found
}

/*!
The trainer of embeddings: passes over the classes until what belongs together lies together, in the loop of [`Course`].

```text
each step: draw rows of some classes ─▶ network ─▶ unit vectors ─▶ cosines ─▶ every row is a list over the others
           ─▶ objective ─▶ slopes of cosines ─▶ slopes of vectors ─▶ network ─▶ clip ─▶ optimiser ─▶ memory
each pass: every row of the validation classes is searched among the others ─▶ record ─▶ better? keep ─▶ checkpoint
```

A step is a function of (config, data, step, what the checkpoint holds).
*/

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use toprank_core::{Differentiable, Features, Lists, ParamError, Role, Stream};
use toprank_metrics::Measure;
use toprank_objectives::{Batch, Draws, Goal, Gradients, Per, State};

use super::config::Config;
use super::cosines::Cosines;
use super::file::{Embedder, Header, Reached, vectors};
use super::memory::Memory;
use super::pairing::{Groups, Pairing};
use super::prepared::Prepared;
use super::search::Search;
use super::views::{Viewed, Views};
use crate::clip::clip;
use crate::engine::{Plan, backward, forward};
use crate::error::TrainError;
use crate::learner::{Course, Position, Watch};
use crate::models::{self, Model};
use crate::optimiser::{self, NEGLIGIBLE, Optimiser, OptimiserStep};
use crate::sampler::{self, Sampler};
use crate::schedule::{self, Schedule};
use crate::trainer::{Statistics, ranges};

/// The most numbers that an objective may keep: 2 GiB of them.
const MOST_STATE: u64 = 1 << 28;

/// Memory of a step, used again in the next one.
#[derive(Default)]
struct Work {
    drawn: Draws,
    /// The rows of the batch, ascending.
    batch: Vec<u32>,
    plan: Plan,
    pairing: Pairing,
    /// What the network gave.
    raw: Vec<f64>,
    raw_before: Vec<f64>,
    cosines: Cosines,
    cosines_before: Cosines,
    /// Rows and vectors of the memory that are not in the batch.
    far_rows: Vec<u32>,
    far: Vec<f32>,
    scores: Vec<f64>,
    scores_before: Vec<f64>,
    gradients: Gradients,
    /// Slopes of the cosines among the batch and with the memory.
    slopes: Vec<f32>,
    far_slopes: Vec<f32>,
    down: Vec<f64>,
    shards: Vec<Vec<f32>>,
}

/// An embedding on its way.
pub struct Trainer<'a> {
    pub(super) config: Config,
    pub(super) data: &'a Prepared,
    model: Arc<dyn Differentiable>,
    goal: Goal,
    groups: Groups,
    views: Option<Views>,
    measure: Measure,
    schedule: Schedule,
    sampler: Box<dyn Sampler>,
    steps: u64,
    decayed: Vec<Range<usize>>,
    pub(super) position: Position,
    pub(super) parameters: Vec<f32>,
    pub(super) previous: Vec<f32>,
    pub(super) best: Vec<f32>,
    pub(super) optimiser: Box<dyn Optimiser>,
    pub(super) state: State,
    pub(super) memory: Memory,
    pub(super) gradient: Vec<f32>,
    work: Work,
}

impl<'a> Trainer<'a> {
    /// An embedding at its beginning.
    ///
    /// # Errors
    /// If a setting does not suit the data.
    pub fn new(config: &Config, data: &'a Prepared) -> Result<Trainer<'a>, TrainError> {
        config.check()?;
        let config = config.clone();
        let views = config.views()?;
        let dimensions = config.dimensions as usize;
        let Model::Network(architecture) = models::parse(&config.model)? else {
            return Err(ParamError::new("model", &config.model, "a network").into());
        };
        let model: Arc<dyn Differentiable> =
            architecture.build(data.transforms.width_after(), dimensions)?.into();
        if model.couples_items() {
            let expected = "a network that looks at each row by itself: linear or mlp";
            return Err(ParamError::new("model", &config.model, expected).into());
        }
        let lists = match views {
            None => data.train.data.lists.clone(),
            Some(_) => Lists::from_lengths(&vec![2; data.rows()], vec![1.0; 2 * data.rows()]),
        };
        let groups = Groups {
            starts: lists.offsets.iter().map(|&start| start as u32).collect(),
            across: views.is_some_and(|views| views.across),
        };
        let goal = config.goal()?;
        let relevant = groups.relevant();
        check_size(&goal, &relevant)?;
        let state = goal.state_of_first(groups.items(), &relevant)?;
        let sampler = sampler::parse(&config.sampler())?.1.open(&lists, goal.policy(), config.seed)?;
        let parameters = model.parameters();
        let mut trainer = Trainer {
            measure: config.measure()?,
            schedule: schedule::parse(&config.schedule)?.1,
            steps: sampler.steps_per_pass() * u64::from(config.epochs),
            decayed: ranges(model.blocks(), |block| block.role == Role::Weight),
            position: Position::default(),
            parameters: vec![0.0; parameters],
            previous: Vec::new(),
            best: Vec::new(),
            optimiser: optimiser::parse(&config.optimiser)?.1.open(parameters),
            memory: Memory::new(config.memory as usize, dimensions, groups.rows()),
            gradient: vec![0.0; parameters],
            work: Work::default(),
            state,
            sampler,
            views,
            groups,
            goal,
            model,
            data,
            config,
        };
        let stream = Stream::new(trainer.config.seed, "init");
        trainer.model.init(stream, &mut trainer.parameters);
        Ok(trainer)
    }

    /// What a user gets: the best on validation, else the last.
    pub fn embedder(&self) -> Embedder {
        let kept = if self.best.is_empty() { &self.parameters } else { &self.best };
        let header = Header {
            config: self.config.clone(),
            reached: Reached {
                rows: self.data.rows(),
                steps: self.position.total,
                epochs: self.position.records.len() as u32,
                best: self.position.best.map(|(value, epoch)| (epoch, value)),
                loss: self.position.records.last().map(|record| record.loss),
            },
            width: self.data.width,
            features: self.data.columns.clone(),
            transforms: self.data.transforms.clone(),
            parts: self.data.parts.clone(),
        };
        Embedder::new(header, Arc::clone(&self.model), kept.clone(), &self.data.probes)
    }

    /// Draws the rows of a step, ascending.
    fn draw(&mut self) {
        let Work { drawn, batch, .. } = &mut self.work;
        self.sampler.draw(self.position.step, drawn);
        batch.clear();
        for (d, &class) in drawn.lists.iter().enumerate() {
            let start = self.groups.starts[class as usize];
            let items = &drawn.items[drawn.offsets[d] as usize..drawn.offsets[d + 1] as usize];
            batch.extend(items.iter().map(|item| start + item));
        }
        // Classes and their items come in order already; the lists of a batch must.
        batch.sort_unstable();
    }

    /// Loss and lists without a part in it; the gradient of the parameters stays in `self.gradient`.
    pub(super) fn look(&mut self) -> Result<(f64, usize), TrainError> {
        self.draw();
        let stream = Stream::new(self.config.seed, "train").at_step(self.position.total);
        let purpose = |words| Stream { purpose: Stream::purpose(words), ..stream };
        let plain: &dyn Features = &self.data.train.data.features;
        let viewed = self.views.map(|views| Viewed { of: plain, views, stream: purpose("views") });
        let features = viewed.as_ref().map_or(plain, |viewed| viewed as &dyn Features);
        let width = self.model.outputs();
        let (model, noise) = (&*self.model, purpose("network"));
        let Work {
            batch,
            plan,
            pairing,
            raw,
            raw_before,
            cosines,
            cosines_before,
            far_rows,
            far,
            scores,
            scores_before,
            gradients,
            slopes,
            far_slopes,
            down,
            shards,
            ..
        } = &mut self.work;
        plan.lay_rows(batch, width, model.rows_worth_a_shard());
        let back = forward(model, &self.parameters, plan, features, noise, raw)?;
        self.memory.beside(batch, far_rows, far);
        pairing.lay(&self.groups, batch, far_rows);
        cosines.forward(raw, width, far);
        read(pairing, cosines, batch.len(), scores);
        let before = self.position.has_previous && self.goal.objective().needs().previous_scores;
        if before {
            forward(model, &self.previous, plan, features, noise, raw_before)?;
            cosines_before.forward(raw_before, width, far);
            read(pairing, cosines_before, batch.len(), scores_before);
        }
        let lists = Batch {
            previous: before.then_some(scores_before.as_slice()),
            stream: purpose("objective"),
            ..Batch::of_choices(&pairing.draws, &pairing.labels, scores)
        };
        self.goal.step(&lists, &mut self.state, gradients)?;
        let (rows, kept) = (batch.len(), far_rows.len());
        for (values, length) in [(&mut *slopes, rows * rows), (&mut *far_slopes, rows * kept)] {
            values.clear();
            values.resize(length, 0.0);
        }
        for d in 0..rows {
            for entry in pairing.entries(d) {
                // Exponential forms give most pairs next to nothing: products with that would be slow.
                let slope = gradients.gradient[entry] as f32;
                if slope.abs() < NEGLIGIBLE {
                    continue;
                }
                match pairing.candidates[entry] as usize {
                    near if near < rows => slopes[d * rows + near] = slope,
                    far => far_slopes[d * kept + far - rows] = slope,
                }
            }
        }
        cosines.backward(slopes, far_slopes, far, width, down);
        backward(model, back, plan, down, shards, &mut self.gradient)?;
        Ok((gradients.loss, gradients.counts.idle))
    }

    /// One step within a pass; its loss and rate.
    pub(super) fn one_step(&mut self) -> Result<(f64, f64), TrainError> {
        let (loss, idle) = self.look()?;
        let statistics = Statistics::take(self.model.blocks(), &mut self.gradient);
        let most = if self.config.clip > 0.0 { self.config.clip } else { f64::INFINITY };
        let norm = clip(&mut self.gradient, most);
        if !loss.is_finite() || !norm.is_finite() {
            let what = if loss.is_finite() { "gradient" } else { "loss" };
            let lists = self.work.batch.clone();
            return Err(TrainError::NotFinite { step: self.position.total, what, lists });
        }
        let two = self.goal.objective().needs().previous_scores;
        if two {
            self.previous.clone_from(&self.parameters);
        }
        let rate = self.schedule.rate(self.position.step, self.steps, self.config.rate);
        let step = OptimiserStep { number: self.position.step, rate, decayed: &self.decayed };
        self.optimiser.step(&step, &mut self.parameters, &self.gradient, None);
        statistics.follow(&mut self.parameters);
        self.memory.push(&self.work.batch, &self.work.cosines.units);
        self.position.stepped(loss, norm, idle, two);
        Ok((loss, rate))
    }

    fn end_of_pass(&mut self, watch: &mut dyn Watch, rate: f64, started: Instant) -> Result<(), TrainError> {
        let valid = self.data.valid.is_some().then(|| self.judge()).transpose()?;
        let metrics = valid.into_iter().collect();
        watch.record(self.position.close_pass(self.sampler.steps_per_pass(), rate, metrics, started));
        let epoch = self.position.records.len() as u32;
        if self.position.judged(&self.measure, valid.flatten(), epoch) {
            self.best.clone_from(&self.parameters);
        }
        self.position.finish_if(self.position.step == self.steps, self.config.patience);
        Ok(())
    }

    /// The metric of validation: every row of its classes against all others.
    pub(super) fn judge(&self) -> Result<Option<f64>, TrainError> {
        let Some(valid) = &self.data.valid else { return Ok(None) };
        let found = vectors(&*self.model, &self.parameters, &valid.data, valid.rows())?;
        let search = Search { queries: &found, gallery: None };
        let judged = search.judge(&valid.of_rows(), &[], std::slice::from_ref(&self.measure))?;
        Ok(judged.results[0].mean)
    }
}

/// The cosine that each entry of the lists reads.
fn read(pairing: &Pairing, cosines: &Cosines, rows: usize, scores: &mut Vec<f64>) {
    scores.clear();
    let kept = cosines.memory.len() / rows.max(1);
    for d in 0..rows {
        scores.extend(pairing.candidates[pairing.entries(d)].iter().map(|&candidate| {
            f64::from(match candidate as usize {
                near if near < rows => cosines.own[d * rows + near],
                far => cosines.memory[d * kept + far - rows],
            })
        }));
    }
}

/// Refuses an objective whose state for pairs of a class would not fit.
fn check_size(goal: &Goal, relevant: &[u32]) -> Result<(), TrainError> {
    let pairs: u64 = relevant.iter().map(|&count| u64::from(count)).sum();
    let columns = goal.objective().columns().iter().filter(|column| column.per == Per::Relevant);
    let numbers = columns.map(|column| column.width as u64).sum::<u64>().saturating_mul(pairs);
    if numbers > MOST_STATE {
        let found = format!("{}, which would keep {numbers} numbers for pairs of a class", goal.name());
        let expected = format!(
            "one that keeps at most {MOST_STATE}; those that keep something per row (nca, log-nca, sup-con, \
             global-contrastive) or nothing (smooth-ap, fast-ap, multi-similarity) take any number of rows"
        );
        return Err(ParamError::new("objective", &found, &expected).into());
    }
    Ok(())
}

impl Course for Trainer<'_> {
    fn position(&self) -> &Position {
        &self.position
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn step(&mut self, watch: &mut dyn Watch, started: Instant) -> Result<(f64, f64), TrainError> {
        let (loss, rate) = self.one_step()?;
        if self.position.step.is_multiple_of(self.sampler.steps_per_pass()) {
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

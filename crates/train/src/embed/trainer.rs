/*!
The trainer of embeddings, in the [`TrainingLoop`].

```text
warm-up (listwise cross-entropy) ─▶ last layer reinitialised ─▶ epochs with the objective ─▶ the best on validation
each step: draw rows of some classes ─▶ network ─▶ vectors ─▶ similarities ─▶ every row is a list over the others
           ─▶ objective ─▶ slopes of similarities ─▶ slopes of vectors ─▶ network ─▶ clip ─▶ optimiser ─▶ memory
each epoch: every row of the validation classes is searched among the others
```

A step is a function of (config, data, step, what the checkpoint holds).
*/

use std::sync::Arc;

use toprank_core::{Differentiable, Features, Lists, ParamError, Stream, Tape};
use toprank_objectives::{Batch, Draws, Goal, Gradients, Per, State};

use super::config;
use super::file::{About, Embedder, vectors};
use super::memory::Memory;
use super::pairing::{Groups, Pairing};
use super::prepared::{Prepared, fingerprint};
use super::search::Search;
use super::similarity::{Similarities, Similarity};
use super::views::{Viewed, Views};
use crate::error::TrainError;
use crate::fit::engine::{OwnShards, backward, forward};
use crate::fit::flat::{FlatParameters, check_finite};
use crate::fit::optimiser::NEGLIGIBLE;
use crate::fit::plan::Plan;
use crate::fit::sampler;
use crate::fit::settings::Config;
use crate::fit::stages::Stages;
use crate::fit::training_loop::{Computed, LoopState, Position, TrainingLoop, accessors};
use crate::fit::warm_start::check_blocks;
use crate::rank::models::{self, Model};
use crate::store::container::{Stored, Tensor, numbers};
use crate::store::fingerprint::{Fingerprint, Input};
use crate::store::header::{Header, Reached};

/// The most numbers that an objective may keep: 2 GiB of them.
const MOST_STATE: u64 = 1 << 28;

/// Memory of a step, used again in the next one.
#[derive(Default)]
struct Work {
    drawn: Draws,
    /// The rows of the batch, ascending.
    batch: Vec<u32>,
    plan: Plan,
    tapes: Vec<Tape>,
    tapes_before: Vec<Tape>,
    by_row: Vec<f64>,
    pairing: Pairing,
    /// What the network gave.
    raw: Vec<f64>,
    raw_before: Vec<f64>,
    near: Similarities,
    near_before: Similarities,
    /// Rows and vectors of the memory that are not in the batch.
    far_rows: Vec<u32>,
    far: Vec<f32>,
    scores: Vec<f64>,
    scores_before: Vec<f64>,
    gradients: Gradients,
    /// State for the gradient at the previous parameters of an objective that keeps none.
    aside: Option<State>,
    /// Slopes of the similarities among the batch and with the memory.
    slopes: Vec<f32>,
    far_slopes: Vec<f32>,
    down: Vec<f64>,
    shards: Vec<Vec<f32>>,
}

impl Work {
    fn for_similarity(kind: Similarity) -> Work {
        let [near, near_before] = [Similarities::new(kind), Similarities::new(kind)];
        Work { near, near_before, ..Work::default() }
    }
}

/// An embedding in training.
pub struct Trainer<'a> {
    common: LoopState,
    data: &'a Prepared,
    model: Arc<dyn Differentiable>,
    groups: Groups,
    views: Option<Views>,
    stages: Stages,
    pub(super) parameters: FlatParameters,
    pub(super) state: State,
    /// The gradient of the batch at the parameters of the step before, for an optimiser that asks for it.
    pub(super) gradient_previous: Vec<f32>,
    memory: Memory,
    work: Work,
}

impl<'a> Trainer<'a> {
    /// An embedding before its first step.
    ///
    /// # Errors
    /// If a setting does not suit the data.
    pub fn new(config: &Config, data: &'a Prepared) -> Result<Trainer<'a>, TrainError> {
        let mut common = LoopState::new(config)?;
        let views = Views::parse(config.views())?;
        let (dimensions, similarity) = (config.dimensions() as usize, Similarity::of(config));
        let Model::Network(architecture) = models::parse(config.model())? else {
            return Err(ParamError::new("model", config.model(), "a network").into());
        };
        let model: Arc<dyn Differentiable> =
            architecture.build(data.transforms.width_after(), dimensions)?.into();
        if model.couples_items() {
            let expected = "a network that looks at each row by itself: linear or mlp";
            return Err(ParamError::new("model", config.model(), expected).into());
        }
        let lists = match views {
            None => data.train.data.lists.clone(),
            Some(_) => Lists::from_lengths(&vec![2; data.rows()], vec![1.0; 2 * data.rows()]),
        };
        let groups = Groups {
            starts: lists.offsets.iter().map(|&start| start as u32).collect(),
            across: views.is_some_and(|views| views.across),
        };
        let (_, kind) = sampler::parse(&config::sampler(config))?;
        let mut parameters = FlatParameters::new(&*model, config.optimiser(), config.seed())?;
        let two_steps = parameters.optimiser.needs_previous();
        let rates = |drawn| groups.rates(drawn, config.memory() as usize);
        let open = |policy: &_, seed| kind.open(&lists, policy, seed);
        let stages = Stages::with_rates(config, two_steps, open, rates)?;
        stages.check_two_steps(two_steps)?;
        stages.goals().try_for_each(|goal| check_size(goal, &groups.relevant()))?;
        let state = state_of(&stages.get(0).goal, &groups)?;
        if let Some(from) = &data.from {
            let (network, start) = from.network();
            let theirs = (from.header().config.model(), network.blocks());
            check_blocks((config.model(), model.blocks()), theirs)?;
            parameters.values.copy_from_slice(start);
            common.more_inputs = from.fingerprint();
        }
        Ok(Trainer {
            gradient_previous: if two_steps { vec![0.0; parameters.values.len()] } else { Vec::new() },
            parameters,
            memory: Memory::new(config.memory() as usize, dimensions, groups.rows()),
            work: Work::for_similarity(similarity),
            state,
            stages,
            views,
            groups,
            model,
            data,
            common,
        })
    }

    /// What a user gets: the best on validation, else the last.
    pub fn embedder(&self) -> Embedder {
        let FlatParameters { best, values, .. } = &self.parameters;
        let header = Header {
            config: self.common.config.clone(),
            reached: Reached::by(self, self.data.train.len(), self.data.rows()),
            about: About {
                width: self.data.width,
                features: self.data.columns.clone(),
                transforms: self.data.transforms.clone(),
                parts: self.data.parts.clone(),
            },
        };
        let kept = if best.is_empty() { values } else { best };
        Embedder::new(header, Arc::clone(&self.model), kept.clone(), &self.data.probes)
    }

    /// Draws the rows of a step, ascending.
    fn draw(&mut self) {
        let Work { drawn, batch, .. } = &mut self.work;
        let Position { stage, step, .. } = self.common.position;
        self.stages.get_mut(stage).sampler.draw(step, drawn);
        batch.clear();
        for (d, &class) in drawn.lists.iter().enumerate() {
            let start = self.groups.starts[class as usize];
            let items = &drawn.items[drawn.offsets[d] as usize..drawn.offsets[d + 1] as usize];
            batch.extend(items.iter().map(|item| start + item));
        }
        // Classes and their items come in order already; the lists of a batch must.
        batch.sort_unstable();
    }

    /// True if the next step looks at the parameters as they are now.
    fn remembers(&self) -> bool {
        let goal = &self.stages.get(self.common.position.stage).goal;
        goal.objective().needs().previous_scores || self.parameters.optimiser.needs_previous()
    }

    /// The state of the objective of this stage starts anew.
    fn enter_stage(&mut self, stage: usize) -> Result<(), TrainError> {
        self.common.position.stage = stage;
        self.work.aside = None;
        self.state = state_of(&self.stages.get(stage).goal, &self.groups)?;
        Ok(())
    }

    /// Loss and lists without gradient; the gradient of the parameters stays in `self.parameters`.
    pub(super) fn gradient(&mut self) -> Result<(f64, usize), TrainError> {
        self.draw();
        let remembers = self.remembers();
        let stream = Stream::new(self.common.config.seed(), "train").at_step(self.common.position.total);
        let purpose = |words| Stream { purpose: Stream::purpose(words), ..stream };
        let plain: &dyn Features = &self.data.train.data.features;
        let viewed = self.views.map(|views| Viewed { of: plain, views, stream: purpose("views") });
        let features = viewed.as_ref().map_or(plain, |viewed| viewed as &dyn Features);
        let width = self.model.outputs();
        let (model, noise) = (&*self.model, purpose("network"));
        let Work {
            batch,
            plan,
            tapes,
            tapes_before,
            by_row,
            pairing,
            raw,
            raw_before,
            near,
            near_before,
            far_rows,
            far,
            scores,
            scores_before,
            gradients,
            aside,
            slopes,
            far_slopes,
            down,
            shards,
            ..
        } = &mut self.work;
        let goal = &self.stages.get(self.common.position.stage).goal;
        plan.lay_rows(batch, features, width, self.common.config.parts() as usize);
        let plan = &OwnShards { own: plan.all_shards(), plan, workers: &self.common.workers };
        let parameters = &self.parameters;
        forward(model, &parameters.values, plan, features, noise, tapes, by_row)?;
        plan.entries_from_rows(by_row, raw);
        self.memory.beside(batch, far_rows, far);
        pairing.lay(&self.groups, batch, far_rows);
        near.forward(raw, width, far);
        read(pairing, near, batch.len(), scores);
        let before = self.common.position.has_previous && remembers;
        if before {
            forward(model, &parameters.previous, plan, features, noise, tapes_before, by_row)?;
            plan.entries_from_rows(by_row, raw_before);
            near_before.forward(raw_before, width, far);
            read(pairing, near_before, batch.len(), scores_before);
        }
        let lists = Batch {
            previous: before.then_some(scores_before.as_slice()),
            stream: purpose("objective"),
            ..Batch::of_choices(&pairing.draws, &pairing.labels, scores)
        };
        goal.step(&lists, &mut self.state, gradients)?;
        let (loss, without_gradient) = (gradients.loss, gradients.counts.idle);
        let mut to_vectors = |dscore: &[f64], near: &mut Similarities, by_row: &mut Vec<f64>| {
            spread(pairing, dscore, [batch.len(), far_rows.len()], [&mut *slopes, &mut *far_slopes]);
            near.backward(slopes, far_slopes, far, width, down);
            plan.rows_from_entries(down, by_row);
        };
        to_vectors(&gradients.gradient, near, by_row);
        let FlatParameters { values, previous, gradient, optimiser, .. } = &mut self.parameters;
        backward(model, values, plan, tapes, by_row, shards, gradient)?;
        if before && optimiser.needs_previous() {
            if gradients.gradient_previous.is_empty() {
                // Checked at the start: an objective without memory, so the same rule holds at both places.
                let state = aside.get_or_insert_with(|| self.state.clone());
                goal.step(
                    &Batch { scores: scores_before.as_slice(), previous: None, ..lists },
                    state,
                    gradients,
                )?;
                to_vectors(&gradients.gradient, near_before, by_row);
            } else {
                to_vectors(&gradients.gradient_previous, near_before, by_row);
            }
            backward(model, previous, plan, tapes_before, by_row, shards, &mut self.gradient_previous)?;
        }
        Ok((loss, without_gradient))
    }

    /// The metric of validation: every row of its classes is searched among all others.
    pub(super) fn valid_metric(&self) -> Result<Option<f64>, TrainError> {
        let Some(valid) = &self.data.valid else { return Ok(None) };
        let found = vectors(
            &*self.model,
            &self.parameters.values,
            &valid.data,
            valid.rows(),
            Similarity::of(&self.common.config),
        )?;
        let search = Search { queries: &found, gallery: None };
        let evaluation =
            search.evaluate(&valid.of_rows(), &[], std::slice::from_ref(&self.common.measure))?;
        Ok(evaluation.results[0].mean)
    }
}

/// What an objective keeps about rows, each a list over the others.
fn state_of(goal: &Goal, groups: &Groups) -> Result<State, TrainError> {
    Ok(goal.state_of_classes(groups.items(), &groups.relevant(), &groups.starts)?)
}

/// The slope of every entry of the lists, where its similarity stands: among the batch, or with the memory.
fn spread(
    pairing: &Pairing,
    dscore: &[f64],
    [rows, kept]: [usize; 2],
    [slopes, far_slopes]: [&mut Vec<f32>; 2],
) {
    for (values, length) in [(&mut *slopes, rows * rows), (&mut *far_slopes, rows * kept)] {
        values.clear();
        values.resize(length, 0.0);
    }
    for d in 0..rows {
        for entry in pairing.entries(d) {
            // Exponential forms give most pairs next to nothing: products with that would be slow.
            let slope = dscore[entry] as f32;
            if slope.abs() < NEGLIGIBLE {
                continue;
            }
            match pairing.candidates[entry] as usize {
                near if near < rows => slopes[d * rows + near] = slope,
                far => far_slopes[d * kept + far - rows] = slope,
            }
        }
    }
}

/// The similarity that each entry of the lists reads.
fn read(pairing: &Pairing, near: &Similarities, rows: usize, scores: &mut Vec<f64>) {
    scores.clear();
    let kept = near.memory.len() / rows.max(1);
    for d in 0..rows {
        scores.extend(pairing.candidates[pairing.entries(d)].iter().map(|&candidate| {
            f64::from(match candidate as usize {
                place if place < rows => near.own[d * rows + place],
                far => near.memory[d * kept + far - rows],
            })
        }));
    }
}

/// Refuses an objective whose state for pairs of a class would not fit.
fn check_size(goal: &Goal, relevant: &[u32]) -> Result<(), TrainError> {
    let pairs: u64 = relevant.iter().map(|&count| u64::from(count)).sum();
    let columns = goal.objective().columns_of_classes().iter().filter(|column| column.per == Per::Relevant);
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

impl TrainingLoop for Trainer<'_> {
    accessors!(common, stages);

    fn compute(&mut self) -> Result<Computed, TrainError> {
        let (loss, without_gradient) = self.gradient()?;
        let norm = self.parameters.prepare(self.common.config.clip());
        let keeps_previous = self.remembers();
        Ok(Computed { loss, norm, without_gradient, keeps_previous })
    }

    fn batch_lists(&self) -> Vec<u32> {
        self.work.batch.clone()
    }

    fn commit(&mut self, learning_rate: f64) -> Result<(), TrainError> {
        let remember = self.remembers();
        let both = self.parameters.optimiser.needs_previous() && self.common.position.has_previous;
        let step = (self.common.position.step, learning_rate);
        let previous = both.then_some(self.gradient_previous.as_slice());
        self.parameters.commit(&*self.model, step, remember, previous);
        self.memory.push(&self.work.batch, &self.work.near.vectors);
        Ok(())
    }

    fn validate(&mut self) -> Result<Option<Option<f64>>, TrainError> {
        self.data.valid.is_some().then(|| self.valid_metric()).transpose()
    }

    fn keep_best(&mut self) -> Result<(), TrainError> {
        check_finite(self.common.position.total, &self.parameters.values)?;
        let FlatParameters { best, values, .. } = &mut self.parameters;
        best.clone_from(values);
        Ok(())
    }

    /// From the warm-up to the objective itself: last layer, optimiser, memory and state start anew.
    fn next_stage(&mut self) -> Result<(), TrainError> {
        let (config, rows) = (&self.common.config, self.groups.rows());
        self.parameters.restart(&*self.model, config)?;
        self.memory = Memory::new(config.memory() as usize, self.model.outputs(), rows);
        self.enter_stage(self.common.position.stage + 1)?;
        self.common.position.step = 0;
        self.common.position.has_previous = false;
        Ok(())
    }

    fn fingerprint(&self) -> Fingerprint {
        let Prepared { train, valid, parts, .. } = self.data;
        fingerprint(train, valid.as_ref())
            .with(Input::Test, |content| content.texts(parts.test.iter().map(String::as_str)))
    }

    fn tensors(&self) -> Vec<Tensor<'_>> {
        let mut tensors = self.parameters.tensors(self.common.position.has_previous);
        tensors.extend([
            Tensor::flat("objective", self.state.save()),
            Tensor::flat("memory.rows", numbers(&self.memory.rows)),
            Tensor::flat("memory.vectors", &self.memory.vectors),
            Tensor::flat("memory.next", numbers(&[self.memory.next as u64])),
        ]);
        tensors
    }

    fn restore(&mut self, stored: &Stored, position: &Position) -> Result<(), TrainError> {
        self.enter_stage(position.stage)?;
        self.parameters.restore(stored, position.has_previous)?;
        let rows = stored.numbers("memory.rows")?;
        let vectors = stored.f32("memory.vectors")?.1;
        let next: Vec<u64> = stored.numbers("memory.next")?;
        let wrong = || stored.wrong("a memory of other rows", "that of this run");
        let next = *next.first().ok_or_else(wrong)? as usize;
        self.memory = self.memory.restored(rows, vectors, next).ok_or_else(wrong)?;
        stored.objective_into(&mut self.state)
    }
}

/*!
The trainer of networks, in the [`TrainingLoop`].

```text
warm-up (another objective) ─▶ last layer reinitialised ─▶ epochs with the objective ─▶ the best on validation
each step: draw ─▶ gradient ─▶ clip ─▶ optimiser ─▶ average
```

A step is a function of (config, data, step, what the checkpoint holds), so a resumed run gives the same bytes as one that
was never interrupted.
*/

use std::borrow::Cow;
use std::sync::Arc;

use toprank_core::{Differentiable, Lists, ModelInput, ParamError, Spec, Stream, Tape};
use toprank_metrics::evaluate;
use toprank_objectives::{Draws, State};

use super::classes::rows_as_lists;
use super::collapse;
use super::first_scores::start_at_best_constant;
use super::scoring::Scoring;
use crate::error::TrainError;
use crate::fit::average::{self, Average};
use crate::fit::engine::{At, Engine, Examples, Into, Task, score, unchanged};
use crate::fit::flat::{FlatParameters, check_finite};
use crate::fit::sampler;
use crate::fit::settings::Config;
use crate::fit::stages::Stages;
use crate::fit::training_loop::{Computed, LoopState, Position, TrainingLoop, accessors};
use crate::rank::job::Learner;
use crate::store::container::{Stored, Tensor};
use crate::store::fingerprint::{self, Fingerprint, Input};

/// A network in training.
pub struct Trainer<'a> {
    common: LoopState,
    model: Arc<dyn Differentiable>,
    train: Examples<'a>,
    /// The lists of the objective: those of the data, or rows whose items are the outputs.
    lists: Cow<'a, Lists>,
    valid: Option<Examples<'a>>,
    stages: Stages,
    parameters: FlatParameters,
    /// Scores of the validation data after the last epoch, and those of the best parameters; empty: not measured.
    valid_scores: Vec<f64>,
    best_scores: Vec<f64>,
    average: Average,
    state: State,
    engine: Engine,
    draws: Draws,
    /// The gradient of the batch at the parameters of the step before, for optimisers that ask for it.
    gradient_previous: Vec<f32>,
}

impl<'a> Trainer<'a> {
    /// A model before its first step. `train` and `valid` hold features as the model is to see them (transformed).
    ///
    /// # Errors
    /// If the settings do not fit each other, the data or the model.
    pub fn new(
        config: &Config,
        model: Box<dyn Differentiable>,
        train: Examples<'a>,
        valid: Option<Examples<'a>>,
    ) -> Result<Trainer<'a>, TrainError> {
        let common = LoopState::new(config)?;
        let model: Arc<dyn Differentiable> = model.into();
        for (examples, what) in [(Some(train), Input::Data), (valid, Input::Valid)] {
            let Some(examples) = examples else { continue };
            if examples.lists.entries() == 0 {
                return Err(TrainError::unsuitable(what, "no items", "lists with items"));
            }
            if examples.features.width() != model.width() {
                let found = format!("{} features", examples.features.width());
                return Err(TrainError::unsuitable(what, &found, &model.width().to_string()));
            }
        }
        let mut parameters = FlatParameters::new(&*model, config.optimiser(), config.seed())?;
        let two_steps = parameters.optimiser.needs_previous();
        let lists = lists_of(config, train, &*model)?;
        let (spec, kind) = sampler::parse(config.sampler())?;
        if train.lists.pairs.is_some() && spec.name != "lists" {
            let expected = "lists, where preference pairs are given: the others draw items by their labels";
            return Err(ParamError::new("sampler", config.sampler(), expected).into());
        }
        let open = |policy: &_, seed| kind.open(&lists, policy, seed);
        let stages = Stages::new(config, two_steps, open)?;
        stages.check_two_steps(two_steps)?;
        if !bounded(config)? {
            start_at_best_constant(&stages.get(0).goal, train, &*model, &mut parameters.values)?;
        }
        Ok(Trainer {
            average: average::parse(config.weight_average())?.1.open(parameters.values.len()),
            state: stages.get(0).goal.state(&lists)?,
            lists,
            engine: Engine::new(config.parts() as usize),
            draws: Draws::default(),
            valid_scores: Vec::new(),
            best_scores: Vec::new(),
            gradient_previous: if two_steps { vec![0.0; parameters.values.len()] } else { Vec::new() },
            parameters,
            stages,
            train,
            valid,
            model,
            common,
        })
    }

    /// Starts from these parameters instead of random ones.
    ///
    /// # Errors
    /// If their number is another.
    pub fn start_from(&mut self, parameters: &[f32]) -> Result<(), TrainError> {
        let count = self.parameters.values.len();
        if parameters.len() != count {
            let found = format!("{} parameters", parameters.len());
            let what = "the model to warm-start from";
            return Err(ParamError::new(what, &found, &count.to_string()).into());
        }
        self.parameters.values.copy_from_slice(parameters);
        Ok(())
    }

    /// The network.
    pub fn model(&self) -> &dyn Differentiable {
        &*self.model
    }

    /// The parameters that a user gets: the best on validation, else the average, else the last.
    pub fn parameters(&self) -> Vec<f32> {
        let best = &self.parameters.best;
        if best.is_empty() { self.present() } else { best.clone() }
    }

    /// The parameters that are validated now: averaged, if they are to be.
    fn present(&self) -> Vec<f32> {
        let mut parameters = self.parameters.values.clone();
        let steps = self.stages.get(self.common.position.stage).steps;
        self.average.write(self.common.position.step, steps, &mut parameters);
        parameters
    }

    fn enter_stage(&mut self, stage: usize) -> Result<(), TrainError> {
        self.common.position.stage = stage;
        self.state = self.stages.get(stage).goal.state(&self.lists)?;
        Ok(())
    }
}

/// The lists that the objective of a run is computed on.
fn lists_of<'a>(
    config: &Config,
    train: Examples<'a>,
    model: &dyn Differentiable,
) -> Result<Cow<'a, Lists>, TrainError> {
    if !config.goal()?.objective().over_outputs() {
        return Ok(Cow::Borrowed(train.lists));
    }
    if model.couples_items() {
        let expected =
            "a model that looks at each row by itself (linear, mlp, trees) for an objective over its outputs";
        return Err(ParamError::new("model", config.model(), expected).into());
    }
    if toprank_core::Spec::parse(config.sampler())?.name != "lists" {
        let expected =
            "lists for an objective over the outputs of a model: a list is a row there, and is drawn whole";
        return Err(ParamError::new("sampler", config.sampler(), expected).into());
    }
    Ok(Cow::Owned(rows_as_lists(train.lists, train.features.rows())?))
}

/// Whether an output activation bounds the scores: then they are not shifted by an offset of the output.
fn bounded(config: &Config) -> Result<bool, ParamError> {
    Ok(Spec::parse(config.model())?.args.get("output").is_some_and(|output| output != "linear"))
}

impl TrainingLoop for Trainer<'_> {
    accessors!(common, stages);

    fn compute(&mut self) -> Result<Computed, TrainError> {
        let stage = self.stages.get_mut(self.common.position.stage);
        stage.sampler.draw(self.common.position.step, &mut self.draws);
        let FlatParameters { values, previous, gradient, optimiser, .. } = &mut self.parameters;
        let both = optimiser.needs_previous();
        let keeps_previous = stage.goal.objective().needs().previous_scores || both;
        let previous = (keeps_previous && self.common.position.has_previous).then_some(previous.as_slice());
        let at = At { parameters: values, previous };
        let previous = both.then_some(self.gradient_previous.as_mut_slice());
        let stream = Stream::new(self.common.config.seed(), "train").at_step(self.common.position.total);
        let examples = Examples { lists: &self.lists, ..self.train };
        let task = Task { model: &*self.model, goal: &stage.goal, examples };
        let into = Into { gradient, previous };
        self.engine.compute_among(&self.common.workers);
        let seen = self.engine.gradient(task, at, &mut self.state, &self.draws, stream, into)?;
        let norm = self.parameters.prepare(self.common.config.clip());
        Ok(Computed { loss: seen.loss, norm, without_gradient: seen.counts.idle, keeps_previous })
    }

    fn batch_lists(&self) -> Vec<u32> {
        self.draws.lists.clone()
    }

    fn commit(&mut self, learning_rate: f64) -> Result<(), TrainError> {
        let stage = self.stages.get(self.common.position.stage);
        let both = self.parameters.optimiser.needs_previous();
        let remember = stage.goal.objective().needs().previous_scores || both;
        let gradient_previous =
            (both && self.common.position.has_previous).then_some(self.gradient_previous.as_slice());
        let step = (self.common.position.step, learning_rate);
        self.parameters.commit(&*self.model, step, remember, gradient_previous);
        self.average.add(self.common.position.step, stage.steps, &self.parameters.values);
        Ok(())
    }

    fn check_data(&self) -> Result<(), TrainError> {
        [Some(self.train), self.valid].into_iter().flatten().try_for_each(|data| unchanged(data.features))
    }

    fn validate(&mut self) -> Result<Option<Option<f64>>, TrainError> {
        let Some(valid) = self.valid else { return Ok(None) };
        // Not kept while others are computed.
        self.valid_scores = Vec::new();
        self.valid_scores = score(&*self.model, &self.present(), valid)?;
        let measures = std::slice::from_ref(&self.common.measure);
        Ok(Some(evaluate(valid.lists, &self.valid_scores, measures)?.results[0].mean))
    }

    fn keep_best(&mut self) -> Result<(), TrainError> {
        let best = self.present();
        check_finite(self.common.position.total, &best)?;
        self.parameters.best = best;
        self.best_scores = std::mem::take(&mut self.valid_scores);
        Ok(())
    }

    /// From the warm-up to the objective itself: last layer, optimiser, average and state start anew.
    fn next_stage(&mut self) -> Result<(), TrainError> {
        self.parameters.restart(&*self.model, &self.common.config)?;
        let count = self.parameters.values.len();
        self.average = average::parse(self.common.config.weight_average())?.1.open(count);
        self.engine = Engine::new(self.common.config.parts() as usize);
        self.enter_stage(self.common.position.stage + 1)?;
        self.common.position.step = 0;
        self.common.position.has_previous = false;
        Ok(())
    }

    fn advice(&self) -> Result<Option<String>, TrainError> {
        let lists = self.train.lists;
        let mut rows: Vec<u32> =
            collapse::evenly_spaced(lists.entries()).map(|entry| lists.row(entry) as u32).collect();
        rows.sort_unstable();
        rows.dedup();
        let mut by_row = vec![0.0; rows.len() * self.model.outputs()];
        let input = ModelInput { features: self.train.features, rows: &rows, offsets: &[0, rows.len()] };
        self.model.score(&self.parameters(), &input, &mut Tape::default(), &mut by_row)?;
        let equal = collapse::all_equal(&by_row, self.model.outputs());
        Ok(equal.then(|| collapse::of_network(self.common.config.algorithm())))
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint::of_examples(self.train, self.valid)
    }

    fn tensors(&self) -> Vec<Tensor<'_>> {
        let mut tensors = self.parameters.tensors(self.common.position.has_previous);
        tensors.push(Tensor::flat("objective", self.state.save()));
        if !self.average.state().is_empty() {
            tensors.push(Tensor::flat("average", self.average.state()));
        }
        tensors
    }

    fn restore(&mut self, stored: &Stored, position: &Position) -> Result<(), TrainError> {
        self.enter_stage(position.stage)?;
        // Of other parameters than those of the checkpoint.
        (self.valid_scores, self.best_scores) = (Vec::new(), Vec::new());
        self.parameters.restore(stored, position.has_previous)?;
        if !self.average.state().is_empty() {
            let values = stored.f64("average")?;
            if values.len() != self.parameters.values.len() {
                return Err(stored.wrong(format!("{} averages", values.len()), "one per parameter"));
            }
            self.average.state_mut().copy_from_slice(&values);
        }
        stored.objective_into(&mut self.state)
    }
}

impl Learner for Trainer<'_> {
    fn kept(&self) -> Result<Scoring, TrainError> {
        Ok(Scoring::Network(Arc::clone(&self.model), self.parameters()))
    }

    fn present(&self) -> Result<Scoring, TrainError> {
        Ok(Scoring::Network(Arc::clone(&self.model), Trainer::present(self)))
    }

    fn take_kept_scores(&mut self) -> Option<Vec<f64>> {
        Some(std::mem::take(&mut self.best_scores)).filter(|scores| !scores.is_empty())
    }
}

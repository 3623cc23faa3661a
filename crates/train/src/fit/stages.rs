//! Stages of a run: perhaps a warm-up with another objective, then the objective itself.

use toprank_core::{ParamError, Policy};
use toprank_objectives::{DrawRates, Goal};

use super::engine::has_previous_gradient;
use super::sampler::Sampler;
use super::schedule::{self, Schedule};
use super::settings::Config;
use super::training_loop::{Position, StageLength, StepPlan};

/// The objective of a warm-up (Qiu, Hu, Zhong, Tu, Zhang, Yang, "Optimal large-scale stochastic optimization of NDCG surrogates for deep learning", Machine
/// Learning, 2024, section 6.1): listwise cross-entropy with a tracked normaliser.
const WARM_UP: &str = "listwise-ce";
/// The same without a tracker, for optimisers that look at the gradient of two steps.
const WARM_UP_OF_TWO_STEPS: &str = "softmax";

/// Refuses settings of a warm-up where there is none, and an unknown objective of one.
pub(crate) fn check_warm_up(config: &Config) -> Result<(), ParamError> {
    for key in ["warm-up-learning-rate", "warm-up-objective", "after-warm-up"] {
        if let (Some(text), 0) = (config.settings().get(key), config.warm_up()) {
            let expected = "omitted, or given with the number of warm-up epochs (--warm-up)";
            return Err(ParamError::new(key, &text, expected));
        }
    }
    match config.warm_up_objective() {
        "" => Ok(()),
        name => Goal::parse(name, &Policy::default()).map(drop),
    }
}

/// True if the warm-up is part of training: its parameters are all kept, and its models may be the best.
pub(crate) fn continues_after_warm_up(config: &Config) -> bool {
    config.after_warm_up() == "continue"
}

/// One objective over some epochs.
pub(crate) struct Stage {
    pub goal: Goal,
    pub sampler: Box<dyn Sampler>,
    /// Steps of all its epochs.
    pub steps: u64,
}

/// The stages of a run, one after the other, each under the same schedule of its own learning rate.
pub(crate) struct Stages {
    stages: Vec<Stage>,
    schedule: Schedule,
}

impl Stages {
    /// The stages that the config asks for. `two_steps`: the optimiser looks at the gradient of two steps. `open` makes the
    /// sampler of a stage from its policy and seed; the objective is told how often it draws.
    pub fn new(
        config: &Config,
        two_steps: bool,
        open: impl Fn(&Policy, u64) -> Result<Box<dyn Sampler>, ParamError>,
    ) -> Result<Stages, ParamError> {
        Stages::with_rates(config, two_steps, open, |drawn| drawn)
    }

    /// The same where the lists of an objective are not those of the sampler: `rates` says how often they and their pairs are
    /// drawn.
    pub fn with_rates(
        config: &Config,
        two_steps: bool,
        open: impl Fn(&Policy, u64) -> Result<Box<dyn Sampler>, ParamError>,
        rates: impl Fn(DrawRates) -> DrawRates,
    ) -> Result<Stages, ParamError> {
        let main = config.goal()?;
        let warm_up = match config.warm_up() {
            0 => None,
            epochs => {
                let name = match config.warm_up_objective() {
                    "" if two_steps => WARM_UP_OF_TWO_STEPS,
                    "" => WARM_UP,
                    name => name,
                };
                Some((Goal::parse(name, main.policy())?, epochs))
            }
        };
        let mut stages = Vec::new();
        for (goal, epochs) in warm_up.into_iter().chain([(main, config.epochs())]) {
            let seed = config.seed().wrapping_add((stages.len() as u64) << 32);
            let sampler = open(goal.policy(), seed)?;
            stages.push(Stage {
                goal: goal.at_rates(rates(sampler.rates()))?,
                steps: sampler.steps_per_epoch().saturating_mul(u64::from(epochs)),
                sampler,
            });
        }
        Ok(Stages { stages, schedule: schedule::parse(config.schedule())?.1 })
    }

    /// Refuses objectives that do not give the gradient at the parameters of the step before, if the optimiser asks for it.
    pub fn check_two_steps(&self, two_steps: bool) -> Result<(), ParamError> {
        match self.stages.iter().find(|stage| two_steps && !has_previous_gradient(&stage.goal)) {
            None => Ok(()),
            Some(stage) => {
                let expected = "one of the Faster forms (song-v1, song-v2, song-storm) or an objective without trackers, \
                                where the optimiser looks at two steps";
                Err(ParamError::new("objective", stage.goal.name(), expected))
            }
        }
    }

    /// The objectives of all stages.
    pub fn goals(&self) -> impl Iterator<Item = &Goal> {
        self.stages.iter().map(|stage| &stage.goal)
    }

    /// One stage.
    pub fn get(&self, stage: usize) -> &Stage {
        &self.stages[stage]
    }

    /// One stage, to draw from.
    pub fn get_mut(&mut self, stage: usize) -> &mut Stage {
        &mut self.stages[stage]
    }
}

impl StepPlan for Stages {
    fn steps(&self) -> u64 {
        self.stages.iter().fold(0, |steps, stage| steps.saturating_add(stage.steps))
    }

    fn stages(&self) -> usize {
        self.stages.len()
    }

    fn stage(&self, position: &Position) -> StageLength {
        let stage = &self.stages[position.stage];
        StageLength {
            steps: stage.steps,
            per_epoch: stage.sampler.steps_per_epoch(),
            is_last: position.stage + 1 == self.stages.len(),
        }
    }

    fn learning_rate(&self, position: &Position, config: &Config) -> f64 {
        let warms_up = position.stage + 1 < self.stages.len();
        let own = config.settings().warm_up_learning_rate.filter(|_| warms_up);
        let Stage { sampler, steps, .. } = &self.stages[position.stage];
        // The epochs that a schedule is planned for are those of the objective.
        let steps = if warms_up { *steps } else { self.schedule.planned(sampler.steps_per_epoch(), *steps) };
        self.schedule.rate(position.step, steps, own.unwrap_or(config.learning_rate()))
    }
}

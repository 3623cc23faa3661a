/*!
`recommend train --model auto`: several item models within a budget of time, and the blend of them that is best by the metric on the
validation part.

```text
budget ─▶ stored times ─▶ list of members ─▶ fitted one after the other ─▶ greedy selection on validation ─▶ one model
          ItemModel::seconds   portfolio        ItemTrainer                  select, rank::auto::blend         Blend
```

It is a [`TrainingLoop`] whose steps are the epochs of the members, one after the other, and the selection as the last step: checkpoints,
interruption and exact resume are those of every other model. A run that is over its budget ends the present member after its epoch,
records the shorter list in its config, and blends what is done; a run that is given that list (`--members`) ends in the same bytes.
*/

pub(super) mod blend;
pub mod portfolio;
mod select;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use toprank_core::{Choices, ParamError};
use toprank_embeddings::{ItemParameters, Ranker};
use toprank_metrics::Better;

use self::blend::{Blend, BlendPart};
pub use self::portfolio::OF_INTERACTIONS;
use super::config::Feedback;
use super::evaluate::{History, evaluate_part, popular};
use super::file::{Recommender, Scorer};
use super::interactions::{Interactions, labelled};
use super::item_trainer::ItemTrainer;
use super::trainer::{fingerprint, item_model};
use crate::error::TrainError;
use crate::fit::run::is_final;
use crate::fit::settings::{Config, Settings};
use crate::fit::training_loop::{Computed, LoopState, Position, Rounds, TrainingLoop, accessors};
use crate::rank::auto::portfolio::Chosen;
use crate::rank::auto::{BlendAbout, MemberAbout, seconds};
use crate::store::container::{Stored, Tensor};
use crate::store::fingerprint::{Fingerprint, Input};
use crate::store::header::Reached;

/// The budget where the user names none.
pub(super) const BUDGET: &str = "5m";
/// Tensors of a checkpoint: what is known of each member that was begun, as JSON, and what members that are done have learned.
const BEGUN: &str = "members";
const DONE: &str = "done";

/// A member that is done.
#[derive(Serialize, Deserialize)]
struct Done {
    position: Position,
    /// Why it cannot be part of the blend, if so.
    left_out: Option<String>,
    #[serde(skip)]
    parameters: Arc<ItemParameters>,
}

/// What a checkpoint says of the members that were begun.
#[derive(Serialize, Deserialize)]
struct Begun {
    done: Vec<Done>,
    present: Option<Position>,
}

/// The model, once members are selected.
struct Blended {
    blend: Blend,
    about: BlendAbout,
}

/// Several item models in training.
pub struct AutoTrainer<'a> {
    common: LoopState,
    rounds: Rounds,
    data: &'a Interactions,
    members: Vec<Chosen>,
    done: Vec<Done>,
    present: Option<ItemTrainer<'a>>,
    /// The metric after the last step.
    value: Option<f64>,
    blended: Option<Blended>,
    /// `None`: the list of members is final.
    budget: Option<f64>,
    started: Instant,
    /// Seconds of an earlier part of the run.
    before: f64,
    /// True if the budget ended the list.
    shortened: bool,
}

impl<'a> AutoTrainer<'a> {
    /// A blend at its beginning: its members are chosen.
    ///
    /// # Errors
    /// If there is nothing to select members on, or one of the list does not suit the data.
    pub(super) fn new(config: &Config, data: &'a Interactions) -> Result<AutoTrainer<'a>, TrainError> {
        if data.valid.pairs() == 0 {
            let expected = "some: members are selected on them (--split leave-last or random, or --valid)";
            return Err(TrainError::unsuitable(Input::Data, "no interactions for validation", expected));
        }
        let (members, budget) = if config.members().is_empty() {
            let budget = if config.budget().is_empty() { BUDGET } else { config.budget() };
            let budget = seconds(budget)?;
            (portfolio::planned(config, data, budget)?, Some(budget))
        } else {
            let budget = Some(config.budget()).filter(|text| !text.is_empty()).map(seconds).transpose()?;
            (portfolio::named(config, data)?, budget)
        };
        let mut trainer = AutoTrainer {
            common: LoopState::new(config)?,
            rounds: Rounds { steps: 0, learning_rate: 0.0 },
            data,
            members,
            done: Vec::new(),
            present: None,
            value: None,
            blended: None,
            budget,
            started: Instant::now(),
            before: 0.0,
            shortened: false,
        };
        trainer.settle();
        Ok(trainer)
    }

    /// Writes the list of members into the config and counts the steps.
    fn settle(&mut self) {
        let list: Vec<&str> = self.members.iter().map(|member| member.text.as_str()).collect();
        let list = Settings { members: Some(list.join(",")), ..Settings::default() };
        self.common.config = self.common.config.with(list);
        let epochs = self.members.iter().map(|member| u64::from(member.config.epochs()));
        self.rounds.steps = epochs.sum::<u64>() + 1;
    }

    fn seconds(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }

    /// Ends the list with the present member, which has had so many epochs.
    fn shorten(&mut self, epochs: usize, finished: bool) {
        let at = self.done.len();
        if !finished {
            let name = self.members[at].text.split(':').next().unwrap_or_default().to_string();
            let config = self.members[at].config.clone();
            self.members[at] = Chosen { text: name, config }.limited(epochs as u32);
        }
        self.members.truncate(at + 1);
        self.shortened = true;
        self.settle();
    }

    fn open(&self, member: usize) -> Result<ItemTrainer<'a>, TrainError> {
        let config = &self.members[member].config;
        ItemTrainer::new(config, item_model(config.model())?, self.data)
    }

    /// The next epoch of the present member; its loss.
    fn fit(&mut self) -> Result<f64, TrainError> {
        let at = self.done.len();
        let mut trainer = match self.present.take() {
            Some(trainer) => trainer,
            None => match self.open(at) {
                Ok(trainer) => trainer,
                Err(error) => return self.leave_out(Position::default(), error),
            },
        };
        let loss = match trainer.step(&mut (), self.started) {
            Ok((loss, _)) => loss,
            // What would happen again: the others may do without it.
            Err(error) => return self.leave_out(trainer.position().clone(), error),
        };
        let records = trainer.records();
        self.value = records.last().and_then(|record| record.metrics.first().copied().flatten());
        let (epochs, finished) = (records.len(), trainer.finished());
        let over = !self.shortened && self.budget.is_some_and(|budget| self.seconds() > budget);
        if over && (!finished || at + 1 < self.members.len()) {
            self.shorten(epochs, finished);
        }
        if !finished && !over {
            self.present = Some(trainer);
            return Ok(loss);
        }
        let position = Position { finished: true, ..trainer.position().clone() };
        let left_out = position.best.is_none().then(|| "the metric is undefined".to_string());
        self.done.push(Done { position, left_out, parameters: trainer.parameters() });
        Ok(loss)
    }

    fn leave_out(&mut self, position: Position, error: TrainError) -> Result<f64, TrainError> {
        if !is_final(&error) {
            return Err(error);
        }
        let left_out = Some(error.to_string());
        self.value = None;
        self.done.push(Done { position, left_out, parameters: Arc::default() });
        Ok(0.0)
    }

    /// A member that is done as a part of a blend.
    fn part(&self, member: usize, weight: f64) -> Result<BlendPart, TrainError> {
        let config = &self.members[member].config;
        Ok(BlendPart {
            member,
            model: item_model(config.model())?.into(),
            parameters: Arc::clone(&self.done[member].parameters),
            recency: if self.data.later.is_empty() { 0.0 } else { config.recency() },
            weight,
        })
    }

    /// Selects members on the validation part.
    fn blend(&mut self) -> Result<(), TrainError> {
        let usable: Vec<usize> = (0..self.done.len()).filter(|&m| self.done[m].left_out.is_none()).collect();
        if usable.is_empty() {
            let why = self.done.iter().find_map(|done| done.left_out.clone()).unwrap_or_default();
            let expected = format!("one that can be trained: {why}");
            return Err(ParamError::new("members", self.common.config.members(), &expected).into());
        }
        let learned = labelled(&self.data.train, Feedback::of(&self.common.config));
        let held = labelled(&self.data.valid, Feedback::of(&self.common.config));
        let histories = self.data.histories(&self.common.config, &[]);
        let popular = popular(&learned);
        let seen = History { choices: &learned, popular: &popular, by_popularity: false };
        let parts =
            usable.iter().map(|&member| self.part(member, 1.0)).collect::<Result<Vec<BlendPart>, _>>()?;
        let measure = std::slice::from_ref(&self.common.measure);
        let ranked = |blend: &Blend, seen: &History| -> Result<Option<f64>, TrainError> {
            let nothing = ItemParameters::default();
            let ranker = Ranker::of_histories(blend, &nothing, &histories);
            Ok(evaluate_part(&ranker, seen, &held, measure, 1)?.evaluation.results[0].mean)
        };
        let sign = if self.common.measure.metric().better() == Better::Higher { 1.0 } else { -1.0 };
        let weights = select::weights(&parts, &histories, &seen, &held, &self.common.measure);
        let value_of = |done: &Done| done.position.best.map_or(f64::NEG_INFINITY, |(value, _)| sign * value);
        let best = usable.iter().enumerate().fold(0, |best, (place, &member)| {
            if value_of(&self.done[member]) > value_of(&self.done[usable[best]]) { place } else { best }
        });
        let with = |weights: &[f64]| Blend {
            parts: (parts.iter().zip(weights).filter(|(_, weight)| **weight > 0.0))
                .map(|(part, &weight)| BlendPart { weight, ..part.clone() })
                .collect(),
        };
        // The pool that they were selected on is not the whole: the best member alone is better than a blend that is worse.
        let alone: Vec<f64> = (0..parts.len()).map(|place| f64::from(u8::from(place == best))).collect();
        let [blend, single] = [with(weights.as_deref().unwrap_or(&alone)), with(&alone)];
        let [found, of_best] = [ranked(&blend, &seen)?, ranked(&single, &seen)?];
        let worth = |value: Option<f64>| value.map_or(f64::NEG_INFINITY, |value| sign * value);
        let (mut blend, value) =
            if worth(found) > worth(of_best) { (blend, found) } else { (single, of_best) };
        let chance = ranked(&blend, &History { by_popularity: true, ..seen })?;
        let members = self.members.iter().zip(&self.done).enumerate().map(|(at, (chosen, done))| {
            let part = blend.parts.iter().find(|part| part.member == at);
            MemberAbout {
                name: chosen.text.clone(),
                config: chosen.config.clone(),
                epochs: done.position.best.map_or(0, |(_, epoch)| epoch),
                value: done.position.best.map(|(value, _)| value),
                weight: part.map_or(0.0, |part| part.weight),
                left_out: done.left_out.clone(),
            }
        });
        let about = BlendAbout {
            metric: self.common.measure.name().into(),
            value: value.unwrap_or(0.0),
            chance: chance.unwrap_or(0.0),
            folds: 0,
            members: members.collect(),
            parts: Vec::new(),
        };
        if self.common.config.refit() {
            let both = Interactions::union(&[&self.data.train, &self.data.valid]);
            let both = labelled(&both, Feedback::of(&self.common.config));
            blend.parts.iter_mut().try_for_each(|part| refit(part, &both, self.common.config.seed()))?;
        }
        // From here on the list says it all.
        self.common.config = self.common.config.clone().without("budget");
        self.value = value;
        self.blended = Some(Blended { blend, about });
        Ok(())
    }

    /// What a user gets. Before members are selected: the best one that is done.
    pub(super) fn recommender(&self) -> Result<Recommender, TrainError> {
        let reached = Reached::by(self, self.data.users.len(), self.data.train.pairs());
        let Some(Blended { blend, about }) = &self.blended else {
            let expected = "one that is trained, before there is a model";
            return Err(ParamError::new("members", self.common.config.members(), expected).into());
        };
        let scorer = Scorer::Blend { blend: Arc::new(blend.clone()), nothing: Arc::default() };
        Ok(Recommender::new(&self.common.config, reached, self.data.clone(), scorer)
            .with_blend(about.clone()))
    }
}

/// Fits a closed form once more, to all that is known; other parts stay as they are.
fn refit(part: &mut BlendPart, both: &Choices, seed: u64) -> Result<(), TrainError> {
    if part.model.is_iterative() {
        return Ok(());
    }
    part.parameters = Arc::default();
    let mut parameters = part.model.start(both, toprank_core::Stream::new(seed, "init"));
    part.model.fit(both, &mut parameters, &mut toprank_embeddings::FitState::default())?;
    part.parameters = Arc::new(parameters);
    Ok(())
}

impl TrainingLoop for AutoTrainer<'_> {
    accessors!(common, rounds);

    fn compute(&mut self) -> Result<Computed, TrainError> {
        let loss = if self.done.len() < self.members.len() {
            self.fit()?
        } else {
            self.blend()?;
            0.0
        };
        Ok(Computed { loss, norm: 0.0, without_gradient: 0, keeps_previous: false })
    }

    fn commit(&mut self, _: f64) -> Result<(), TrainError> {
        Ok(())
    }

    fn validate(&mut self) -> Result<Option<Option<f64>>, TrainError> {
        Ok(Some(self.value))
    }

    fn keep_best(&mut self) -> Result<(), TrainError> {
        Ok(())
    }

    fn converged(&self) -> bool {
        self.blended.is_some()
    }

    fn advice(&self) -> Result<Option<String>, TrainError> {
        let members = self.common.config.members();
        Ok(self.shortened.then(|| {
            format!(
                "the budget is over before all members are trained: --members {members} gives the same model"
            )
        }))
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint(self.data)
    }

    /// Closed forms are not kept in a checkpoint: they are fitted again, with the same result.
    fn tensors(&self) -> Vec<Tensor<'_>> {
        let begun = serde_json::json!({
            "done": self.done,
            "present": self.present.as_ref().map(TrainingLoop::position),
        });
        let mut tensors = vec![Tensor::flat(BEGUN, begun.to_string().into_bytes())];
        for (place, done) in self.done.iter().enumerate() {
            if done.left_out.is_none() && self.is_kept(place) {
                tensors.push(Tensor::flat(format!("{DONE}{place}"), &*done.parameters.values));
            }
        }
        tensors.extend(self.present.iter().flat_map(TrainingLoop::tensors));
        tensors
    }

    fn restore(&mut self, stored: &Stored, position: &Position) -> Result<(), TrainError> {
        let wrong = || stored.wrong("damaged members", "the members that were begun");
        let begun: Begun = serde_json::from_slice(stored.bytes(BEGUN)?).map_err(|_| wrong())?;
        if begun.done.len() + usize::from(begun.present.is_some()) > self.members.len() {
            return Err(wrong());
        }
        for (place, done) in begun.done.into_iter().enumerate() {
            let mut done = done;
            if done.left_out.is_none() {
                done.parameters = if self.is_kept(place) {
                    let name = format!("{DONE}{place}");
                    let count = stored.within(&name).count("");
                    let values = stored.f32_counted(&name, count)?;
                    let parameters = ItemParameters { numbers: Vec::new(), values: values.into() };
                    let model = item_model(self.members[place].config.model())?;
                    let check = model.check(self.data.items.len(), &parameters);
                    check.map_err(|error| stored.wrong(error.what, error.expected))?;
                    Arc::new(parameters)
                } else {
                    let mut trainer = self.open(place)?;
                    trainer.compute()?;
                    trainer.parameters()
                };
            }
            self.done.push(done);
        }
        if let Some(present) = begun.present {
            let mut trainer = self.open(self.done.len())?;
            trainer.check_position(stored, &present)?;
            trainer.restore(stored, &present)?;
            trainer.state_mut().position = present;
            self.present = Some(trainer);
        }
        // Seconds of records are those since their process began.
        let seconds: Vec<f64> = position.records.iter().map(|record| record.seconds).collect();
        self.before = seconds.iter().enumerate().fold(0.0, |sum, (at, &now)| {
            let before = if at > 0 { seconds[at - 1] } else { 0.0 };
            sum + if now >= before { now - before } else { now }
        });
        if position.finished {
            self.blend()?;
        }
        Ok(())
    }
}

impl AutoTrainer<'_> {
    /// True if what this member has learned is kept in a checkpoint.
    fn is_kept(&self, member: usize) -> bool {
        item_model(self.members[member].config.model()).is_ok_and(|model| model.is_iterative())
    }
}

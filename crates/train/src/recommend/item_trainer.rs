/*!
The trainer of item models, in the [`TrainingLoop`]: an epoch is a step, and a closed form is one epoch.

All interactions count alike in the fit. What is recent weighs more where scores are made of a history. With `refit` a closed form is
fitted twice: to the training part, which is validated, and then to both parts, which is what is kept.
*/

use std::sync::Arc;

use toprank_core::{Choices, Stream};
use toprank_embeddings::{FitState, ItemModel, ItemParameters, PairScorer, Ranker, check_memory};

use super::config::Feedback;
use super::evaluate::{History, evaluate_part, evaluate_sampled, popular};
use super::file::{Recommender, Scorer};
use super::interactions::{Interactions, labelled};
use super::trainer::fingerprint;
use crate::error::TrainError;
use crate::fit::settings::Config;
use crate::fit::training_loop::{Computed, LoopState, Position, Rounds, TrainingLoop, accessors};
use crate::store::container::{Stored, Tensor, numbers};
use crate::store::fingerprint::Fingerprint;
use crate::store::header::Reached;

const VALUES: &str = "values";
const BEST: &str = "best.values";
/// What an optimiser keeps.
const MOMENTS: [&str; 2] = ["moments.mean", "moments.square"];
const LAST: &str = "moments.last";

/// An item model in training.
pub struct ItemTrainer<'a> {
    common: LoopState,
    rounds: Rounds,
    data: &'a Interactions,
    /// What is fitted.
    learned: Choices,
    /// What validation scores from.
    histories: Choices,
    held: Choices,
    model: Arc<dyn ItemModel>,
    parameters: Arc<ItemParameters>,
    best: Option<Arc<ItemParameters>>,
    fit: FitState,
}

impl<'a> ItemTrainer<'a> {
    /// An item model at its beginning.
    ///
    /// # Errors
    /// If fitting it would take more than half of the memory.
    pub(super) fn new(
        config: &Config,
        model: Box<dyn ItemModel>,
        data: &'a Interactions,
    ) -> Result<ItemTrainer<'a>, TrainError> {
        check_memory(&*model, config.model(), data.users.len(), data.items.len())?;
        let feedback = Feedback::of(config);
        let learned = Choices { later: data.later.clone(), ..labelled(&data.train, feedback) };
        let refits = config.refit() && data.valid.pairs() > 0;
        let epochs = if model.is_iterative() { u64::from(config.epochs()) } else { 1 + u64::from(refits) };
        Ok(ItemTrainer {
            common: LoopState::new(config)?,
            // Nothing is learned by a rate.
            rounds: Rounds { steps: epochs, learning_rate: 0.0 },
            histories: data.histories(config, &[]),
            held: labelled(&data.valid, feedback),
            parameters: Arc::new(model.start(&learned, Stream::new(config.seed(), "init"))),
            best: None,
            fit: FitState { stream: Stream::new(config.seed(), "fit"), ..FitState::default() },
            model: model.into(),
            learned,
            data,
        })
    }

    /// What it has learned: the best on validation, else the last.
    pub(super) fn parameters(&self) -> Arc<ItemParameters> {
        Arc::clone(self.best.as_ref().unwrap_or(&self.parameters))
    }

    /// What a user gets: the best on validation, else the last.
    pub(super) fn recommender(&self) -> Recommender {
        let parameters = self.parameters();
        let reached = Reached::by(self, self.data.users.len(), self.data.train.pairs());
        let scorer = Scorer::Items { model: Arc::clone(&self.model), parameters };
        Recommender::new(&self.common.config, reached, self.data.clone(), scorer)
    }

    /// True if the present epoch fits both parts.
    fn refits(&self) -> bool {
        !self.model.is_iterative() && self.common.position.total > 0
    }

    fn restored(&self, stored: &Stored, name: &str) -> Result<Arc<ItemParameters>, TrainError> {
        let values = stored.f32_counted(name, stored.count(name))?;
        let parameters = ItemParameters { numbers: Vec::new(), values: values.into() };
        let check = self.model.check(self.data.items.len(), &parameters);
        check.map_err(|error| stored.wrong(error.what, error.expected))?;
        Ok(Arc::new(parameters))
    }
}

impl TrainingLoop for ItemTrainer<'_> {
    accessors!(common, rounds);

    /// Fits the next epoch.
    fn compute(&mut self) -> Result<Computed, TrainError> {
        let mut next = ItemParameters::default();
        if self.model.is_iterative() {
            next.numbers.clone_from(&self.parameters.numbers);
            next.values = self.parameters.values.to_vec().into();
        }
        let both = self.refits().then(|| {
            // One matrix at a time.
            self.parameters = Arc::default();
            self.best = None;
            let both = Interactions::union(&[&self.data.train, &self.data.valid]);
            labelled(&both, Feedback::of(&self.common.config))
        });
        self.fit.epoch = self.common.position.total;
        let loss = self.model.fit(both.as_ref().unwrap_or(&self.learned), &mut next, &mut self.fit)?;
        self.parameters = Arc::new(next);
        Ok(Computed { loss: loss.unwrap_or(0.0), norm: 0.0, without_gradient: 0, keeps_previous: false })
    }

    fn commit(&mut self, _: f64) -> Result<(), TrainError> {
        Ok(())
    }

    fn validate(&mut self) -> Result<Option<Option<f64>>, TrainError> {
        if self.held.pairs() == 0 {
            return Ok(None);
        }
        if !self.model.is_iterative() && self.common.position.total > 1 {
            // It knows the validation part now.
            return Ok(Some(None));
        }
        let popular = popular(&self.learned);
        let seen = History { choices: &self.learned, popular: &popular, by_popularity: false };
        let measures = std::slice::from_ref(&self.common.measure);
        let (model, parameters, histories) = (&*self.model, &*self.parameters, &self.histories);
        let evaluation = match self.common.config.valid_items() as usize {
            0 => {
                let ranker = Ranker::of_histories(model, parameters, histories);
                evaluate_part(&ranker, &seen, &self.held, measures, 1)?.evaluation
            }
            count => {
                let scorer = PairScorer::of_histories(model, parameters, histories);
                evaluate_sampled(&scorer, &seen, &self.held, measures, (count, self.common.config.seed()))?
            }
        };
        Ok(Some(evaluation.results[0].mean))
    }

    fn keep_best(&mut self) -> Result<(), TrainError> {
        self.best = Some(Arc::clone(&self.parameters));
        Ok(())
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint(self.data)
    }

    /// A closed form is not kept in a checkpoint: it is fitted again, with the same result.
    fn tensors(&self) -> Vec<Tensor<'_>> {
        if !self.model.is_iterative() {
            return Vec::new();
        }
        let best = self.best.iter().map(|best| Tensor::flat(BEST, &*best.values));
        let mut tensors: Vec<Tensor> =
            std::iter::once(Tensor::flat(VALUES, &*self.parameters.values)).chain(best).collect();
        if !self.fit.last.is_empty() {
            tensors.extend(MOMENTS.iter().zip(&self.fit.moments).map(|(name, m)| Tensor::flat(*name, m)));
            tensors.push(Tensor::flat(LAST, numbers(&self.fit.last)));
        }
        tensors
    }

    fn restore(&mut self, stored: &Stored, _: &Position) -> Result<(), TrainError> {
        self.parameters = self.restored(stored, VALUES)?;
        self.best = stored.has(BEST).then(|| self.restored(stored, BEST)).transpose()?;
        if stored.has(LAST) {
            self.fit.last = stored.numbers(LAST)?;
            for (name, moments) in MOMENTS.iter().zip(&mut self.fit.moments) {
                *moments = stored.f32_counted(name, self.parameters.values.len())?;
            }
        }
        Ok(())
    }
}

/*!
The trainer of recommenders, in the [`TrainingLoop`]: of vectors, step by step, or of an item model, which is fitted in epochs or at
once.
*/

use toprank_core::ParamError;
use toprank_embeddings::{EmbeddingKind, ItemModel, TableStorage};

use super::auto::AutoTrainer;
use super::file::Recommender;
use super::interactions::{Interactions, Known};
use super::item_trainer::ItemTrainer;
use super::vector_trainer::{self, VectorTrainer};
use crate::error::TrainError;
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::fit::training_loop::{Computed, LoopState, Position, StepPlan, TrainingLoop};
use crate::fit::tune::Tunable;
use crate::rank::models;
use crate::store::container::{Stored, Tensor};
use crate::store::fingerprint::{Content, Fingerprint, Input};

/// The item model of this name.
pub(super) fn item_model(text: &str) -> Result<Box<dyn ItemModel>, ParamError> {
    toprank_embeddings::parse_item_model(text)
}

/// A recommender by name.
pub(crate) enum Kind {
    /// Several item models, blended.
    Auto,
    /// Vectors of users and items.
    Vectors(Box<dyn EmbeddingKind>),
    /// Scores from the items of a history.
    Items(Box<dyn ItemModel>),
}

impl Kind {
    /// Reads a model as users name it.
    pub fn parse(text: &str) -> Result<Kind, ParamError> {
        let name = toprank_core::Spec::parse(text)?.name;
        if models::is_auto(text) {
            toprank_core::catalog::make("model", models::AUTO, text)?;
            return Ok(Kind::Auto);
        }
        if toprank_embeddings::find_item_model(&name).is_some() {
            return Ok(Kind::Items(toprank_embeddings::parse_item_model(text)?));
        }
        if toprank_embeddings::find(&name).is_none() {
            let vectors = toprank_embeddings::MODELS.iter().map(|entry| entry.name);
            let items = toprank_embeddings::ITEM_MODELS.iter().map(|entry| entry.name);
            return Err(toprank_core::catalog::unknown("model", &name, vectors.chain(items).chain(["auto"])));
        }
        Ok(Kind::Vectors(toprank_embeddings::parse(text)?))
    }
}

/// A recommender in training.
// There is one of them in a run, so its size does not matter.
#[allow(clippy::large_enum_variant)]
pub enum Trainer<'a> {
    /// Of vectors of users and items.
    Vectors(VectorTrainer<'a>),
    /// Of an item model.
    Items(ItemTrainer<'a>),
    /// Of several item models that are blended.
    Auto(AutoTrainer<'a>),
}

impl<'a> Trainer<'a> {
    /// A recommender at its beginning.
    ///
    /// # Errors
    /// If a setting does not suit the data, or there is nothing to learn from.
    pub fn new(config: &Config, data: &'a Interactions) -> Result<Trainer<'a>, TrainError> {
        Trainer::new_in(config, data, &TableStorage::Memory)
    }

    /// The same with the tables of vectors in `place`: rows, both means of the optimiser, the best rows so far. The recommender and
    /// the checkpoints do not depend on it.
    ///
    /// # Errors
    /// As in [`Trainer::new`], or if there is not enough memory or disk space.
    pub fn new_in(
        config: &Config,
        data: &'a Interactions,
        place: &TableStorage,
    ) -> Result<Trainer<'a>, TrainError> {
        if data.train.pairs() == 0 {
            let found = format!("{} users, no pair", data.users.len());
            return Err(TrainError::unsuitable(Input::Data, &found, "users with items they interacted with"));
        }
        Ok(match Kind::parse(config.model())? {
            Kind::Vectors(kind) => Trainer::Vectors(VectorTrainer::new_in(config, &*kind, data, place)?),
            Kind::Items(model) => Trainer::Items(ItemTrainer::new(config, model, data)?),
            Kind::Auto => Trainer::Auto(AutoTrainer::new(config, data)?),
        })
    }

    /// What a user gets: the best on validation, else a copy of the last.
    ///
    /// # Errors
    /// If there is not enough memory or disk space for the copy where the tables are.
    pub fn recommender(&self) -> Result<Recommender, TrainError> {
        match self {
            Trainer::Vectors(trainer) => trainer.recommender(),
            Trainer::Items(trainer) => Ok(trainer.recommender()),
            Trainer::Auto(trainer) => trainer.recommender(),
        }
    }

    fn inner(&self) -> &dyn TrainingLoop {
        match self {
            Trainer::Vectors(trainer) => trainer,
            Trainer::Items(trainer) => trainer,
            Trainer::Auto(trainer) => trainer,
        }
    }

    fn inner_mut(&mut self) -> &mut dyn TrainingLoop {
        match self {
            Trainer::Vectors(trainer) => trainer,
            Trainer::Items(trainer) => trainer,
            Trainer::Auto(trainer) => trainer,
        }
    }
}

impl TrainingLoop for Trainer<'_> {
    fn state(&self) -> &LoopState {
        self.inner().state()
    }

    fn state_mut(&mut self) -> &mut LoopState {
        self.inner_mut().state_mut()
    }

    fn step_plan(&self) -> &dyn StepPlan {
        self.inner().step_plan()
    }

    fn compute(&mut self) -> Result<Computed, TrainError> {
        self.inner_mut().compute()
    }

    fn batch_lists(&self) -> Vec<u32> {
        self.inner().batch_lists()
    }

    fn commit(&mut self, learning_rate: f64) -> Result<(), TrainError> {
        self.inner_mut().commit(learning_rate)
    }

    fn validate(&mut self) -> Result<Option<Option<f64>>, TrainError> {
        self.inner_mut().validate()
    }

    fn keep_best(&mut self) -> Result<(), TrainError> {
        self.inner_mut().keep_best()
    }

    fn next_stage(&mut self) -> Result<(), TrainError> {
        self.inner_mut().next_stage()
    }

    fn converged(&self) -> bool {
        self.inner().converged()
    }

    fn advice(&self) -> Result<Option<String>, TrainError> {
        self.inner().advice()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.inner().fingerprint()
    }

    fn tensors(&self) -> Vec<Tensor<'_>> {
        self.inner().tensors()
    }

    fn restore(&mut self, stored: &Stored, position: &Position) -> Result<(), TrainError> {
        self.inner_mut().restore(stored, position)
    }
}

impl Tunable for Interactions {
    fn config(&self, settings: &Settings) -> Result<Config, ParamError> {
        settings.resolve(TrainerKind::Recommend)
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint(self)
    }

    fn train(
        &self,
        config: &Config,
        each: &mut dyn FnMut(&mut dyn TrainingLoop) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        each(&mut Trainer::new(config, self)?)
    }
}

/// Every pair and label of all parts, their order in time, the names and the features.
pub(super) fn fingerprint(data: &Interactions) -> Fingerprint {
    let known = |content: &mut Content, known: &Known| {
        content.texts(known.columns.iter().map(String::as_str));
        content.floats(&known.values);
    };
    Fingerprint::default()
        .with(Input::Data, |content| {
            content.choices(&data.train);
            content.numbers(&data.later);
            content.names(Some(&data.users));
            content.names(Some(&data.items));
        })
        .with(Input::Valid, |content| content.choices(&data.valid))
        .with(Input::Test, |content| content.choices(&data.test))
        .with_some(Input::UserFeatures, data.user_features.as_ref(), known)
        .with_some(Input::ItemFeatures, data.item_features.as_ref(), known)
}

/// Bytes of all tables of vectors of a run; 0 for an item model.
///
/// # Errors
/// If the model does not suit the data.
pub fn table_bytes(config: &Config, data: &Interactions) -> Result<u64, TrainError> {
    match Kind::parse(config.model())? {
        Kind::Vectors(kind) => vector_trainer::table_bytes(config, &*kind, data),
        Kind::Items(_) | Kind::Auto => Ok(0),
    }
}

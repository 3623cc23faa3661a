//! Classes made ready to be learned from.

use toprank_core::ParamError;
use toprank_data::transform::{Pipeline, StepConfig};

use super::classes::Classes;
use super::file::Parts;
use super::trainer::Trainer;
use super::views::Views;
use crate::error::TrainError;
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::fit::training_loop::TrainingLoop;
use crate::fit::tune::Tunable;
use crate::rank::predict::by_name;
use crate::store::fingerprint::{Content, Fingerprint, Input};
use crate::store::model_file::Probes;

/// The training and validation parts with transformed features, and what the model file says about them.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(super) train: Classes,
    pub(super) valid: Option<Classes>,
    pub(super) transforms: Pipeline,
    pub(super) columns: Vec<String>,
    pub(super) width: usize,
    pub(super) probes: Probes,
    pub(super) parts: Parts,
}

impl Prepared {
    /// Fits the transforms to `train` and applies them to both. `test` is only remembered by its names.
    ///
    /// # Errors
    /// If there is nothing to learn from, or the parts have other features.
    pub fn new(
        config: &Config,
        mut train: Classes,
        valid: Option<Classes>,
        test: &[String],
    ) -> Result<Prepared, TrainError> {
        let width = train.data.features.width();
        let wrong =
            |found: String, expected: &str| Err(TrainError::unsuitable(Input::Data, &found, expected));
        if width == 0 {
            return wrong("no features".into(), "rows with features: a network learns from them");
        }
        let largest = (0..train.len()).map(|class| train.data.lists.range(class).len()).max().unwrap_or(0);
        let views = Views::parse(config.views())?.is_some();
        if views && train.rows() < 2 {
            return wrong(format!("{} rows", train.rows()), "at least 2 rows");
        }
        if !views && (train.len() < 2 || largest < 2) {
            let found = format!("the largest of {} classes has {largest} rows", train.len());
            return wrong(
                found,
                "at least 2 classes, one of them with 2 rows; or --views two, which needs no classes",
            );
        }
        let parts = Parts {
            train: train.names(),
            valid: valid.as_ref().map(Classes::names).unwrap_or_default(),
            test: test.to_vec(),
        };
        let probes = Probes::take(&train.data.lists, &train.data.features);
        let columns: Vec<String> = train.data.columns.iter().map(|column| column.name.clone()).collect();
        let transforms = Pipeline::fit_apply(&mut train.data, &StepConfig::parse_all(config.transforms())?)?;
        let ready = |mut valid: Classes| -> Result<Classes, TrainError> {
            valid.data = by_name("", &columns, width, valid.data, 0.0).map_err(|error| match error {
                TrainError::Format { found, expected, .. } => {
                    TrainError::unsuitable(Input::Valid, &found, &expected)
                }
                error => error,
            })?;
            transforms.apply(&mut valid.data)?;
            Ok(valid)
        };
        let valid = valid.filter(|valid| valid.rows() > 0).map(ready).transpose()?;
        Ok(Prepared { train, valid, transforms, columns, width, probes, parts })
    }

    /// Rows to learn from.
    pub fn rows(&self) -> usize {
        self.train.rows()
    }

    /// Classes to learn from, and those of validation.
    pub fn classes(&self) -> (usize, usize) {
        (self.train.len(), self.valid.as_ref().map_or(0, Classes::len))
    }
}

/// Rows, classes and names of both parts.
pub(super) fn fingerprint(train: &Classes, valid: Option<&Classes>) -> Fingerprint {
    let add = |content: &mut Content, classes: &Classes| {
        content.examples(classes.examples());
        content.names(classes.data.list_names.as_ref());
        content.texts(classes.data.columns.iter().map(|column| column.name.as_str()));
    };
    Fingerprint::default().with(Input::Data, |content| add(content, train)).with_some(
        Input::Valid,
        valid,
        add,
    )
}

/// Classes to tune an embedding on.
pub struct TuningClasses {
    /// Training classes.
    pub train: Classes,
    /// Validation classes.
    pub valid: Classes,
}

impl Tunable for TuningClasses {
    fn config(&self, settings: &Settings) -> Result<Config, ParamError> {
        settings.resolve(TrainerKind::Embed)
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.train, Some(&self.valid))
    }

    fn train(
        &self,
        config: &Config,
        each: &mut dyn FnMut(&mut dyn TrainingLoop) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let prepared = Prepared::new(config, self.train.clone(), Some(self.valid.clone()), &[])?;
        each(&mut Trainer::new(config, &prepared)?)
    }
}

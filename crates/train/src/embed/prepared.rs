//! Classes made ready to be learned from.

use toprank_core::ParamError;
use toprank_data::transform::{Pipeline, StepConfig};

use super::classes::Classes;
use super::file::{Embedder, Parts};
use super::trainer::Trainer;
use super::views::Views;
use crate::error::TrainError;
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::fit::training_loop::TrainingLoop;
use crate::fit::tune::Tunable;
use crate::fit::warm_start::check_kind;
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
    /// What training starts from.
    pub(super) from: Option<Embedder>,
}

impl Prepared {
    /// Fits the transforms to `train` and applies them to both. `test` is only remembered by its names.
    ///
    /// # Errors
    /// If there is nothing to learn from, or the parts have other features.
    pub fn new(
        config: &Config,
        train: Classes,
        valid: Option<Classes>,
        test: &[String],
    ) -> Result<Prepared, TrainError> {
        Prepared::begin(config, None, train, valid, test)
    }

    /// The same, warm-started from an embedding: its features are found by their names, its transforms are kept, its parameters are the
    /// start.
    ///
    /// # Errors
    /// As in [`Prepared::new`], or if it is of another kind or dimension, or has features that `train` lacks.
    pub fn warm_started(
        config: &Config,
        from: Embedder,
        train: Classes,
        valid: Option<Classes>,
        test: &[String],
    ) -> Result<Prepared, TrainError> {
        check_kind(config.model(), from.header().config.model())?;
        let (found, expected) = (config.dimensions(), from.header().config.dimensions());
        if found != expected {
            let expected = format!("{expected}, as the model to warm-start from has");
            return Err(ParamError::new("dimensions", &found.to_string(), &expected).into());
        }
        Prepared::begin(config, Some(from), train, valid, test)
    }

    fn begin(
        config: &Config,
        from: Option<Embedder>,
        mut train: Classes,
        valid: Option<Classes>,
        test: &[String],
    ) -> Result<Prepared, TrainError> {
        if let Some(header) = from.as_ref().map(Embedder::header) {
            train = of_names(Input::Data, train, &header.features, header.width)?;
        }
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
        let transforms = match &from {
            None => Pipeline::fit_apply(&mut train.data, &StepConfig::parse_all(config.transforms())?)?,
            Some(from) => {
                let transforms = from.header().transforms.clone();
                transforms.apply(&mut train.data)?;
                transforms
            }
        };
        let ready = |valid: Classes| -> Result<Classes, TrainError> {
            let mut valid = of_names(Input::Valid, valid, &columns, width)?;
            transforms.apply(&mut valid.data)?;
            Ok(valid)
        };
        let valid = valid.filter(|valid| valid.rows() > 0).map(ready).transpose()?;
        Ok(Prepared { train, valid, transforms, columns, width, probes, parts, from })
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

/// The features of these names, in this order.
fn of_names(
    which: Input,
    mut classes: Classes,
    names: &[String],
    width: usize,
) -> Result<Classes, TrainError> {
    classes.data = by_name("", names, width, classes.data, 0.0).map_err(|error| match error {
        TrainError::Format { found, expected, .. } => TrainError::unsuitable(which, &found, &expected),
        error => error,
    })?;
    let found = classes.data.features.width();
    if found != width {
        let words = |width: usize| format!("{width} features");
        return Err(TrainError::unsuitable(which, &words(found), &words(width)));
    }
    Ok(classes)
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

//! A recommender that starts from the rows and weights of another one; who is who is decided by name.

use std::collections::HashMap;

use toprank_core::ParamError;
use toprank_data::Names;

use super::file::Recommender;
use super::interactions::Known;
use super::trainer::Trainer;
use super::vector_trainer::VectorTrainer;
use crate::error::TrainError;
use crate::fit::training_loop::TrainingLoop;
use crate::fit::warm_start::{check_blocks, check_kind};
use crate::store::fingerprint::{Fingerprint, Input};

/// Users and items that the model of a warm start does not know: their rows are initialised as without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewRows {
    /// Users.
    pub users: usize,
    /// Items.
    pub items: usize,
}

impl Trainer<'_> {
    /// Starts from the rows and weights of another recommender instead of random ones. Users and items are found by their names; those
    /// that it does not know keep their random rows and are counted.
    ///
    /// # Errors
    /// If it is of another kind or of other dimensions, reads other features, or knows none of the items; or if either is an item
    /// model, which is fitted anew.
    pub fn start_from(&mut self, from: &Recommender) -> Result<NewRows, TrainError> {
        match self {
            Trainer::Vectors(trainer) => trainer.start_from(from),
            Trainer::Items(_) | Trainer::Auto(_) => Err(fitted_anew(self.config().model()).into()),
        }
    }
}

/// A warm start of a model that has none.
fn fitted_anew(model: &str) -> ParamError {
    let expected = "a model of vectors (mf, neumf or two-tower) for a warm start: an item model is fitted anew, without --from";
    ParamError::new("the model", model, expected)
}

impl VectorTrainer<'_> {
    fn start_from(&mut self, from: &Recommender) -> Result<NewRows, TrainError> {
        let (ours, theirs) = (self.config().model().to_string(), from.header().config.model());
        check_kind(&ours, theirs)?;
        let (data, known) = (self.data, from.data());
        check_columns(Input::UserFeatures, data.user_features.as_ref(), known.user_features.as_ref())?;
        check_columns(Input::ItemFeatures, data.item_features.as_ref(), known.item_features.as_ref())?;
        let Some((their_model, there)) = from.vectors() else { return Err(fitted_anew(theirs).into()) };
        let (widths, stored) = (self.model.widths(), their_model.widths());
        if widths != stored {
            let words = |[user, item]: [usize; 2]| format!("{user} numbers per user and {item} per item");
            let expected = format!(
                "{theirs}, as the model to warm-start from, which has {} instead of {}",
                words(stored),
                words(widths)
            );
            return Err(ParamError::new("the model", &ours, &expected).into());
        }
        check_blocks((&ours, self.model.blocks()), (theirs, their_model.blocks()))?;
        let new = NewRows {
            users: take_rows(
                &data.users,
                &mut self.parameters.users,
                (&known.users, &there.users),
                widths[0],
            ),
            items: take_rows(
                &data.items,
                &mut self.parameters.items,
                (&known.items, &there.items),
                widths[1],
            ),
        };
        if new.items == data.items.len() {
            let found = format!("none of the {} items is one of the model to warm-start from", new.items);
            let expected = "interactions with items that it knows, under the same names";
            return Err(TrainError::unsuitable(Input::Data, &found, expected));
        }
        self.parameters.weights.copy_from_slice(&there.weights);
        self.state_mut().more_inputs =
            Fingerprint::default().with(Input::From, |content| from.add_to(content));
        Ok(new)
    }
}

/// Refuses features of other names than those of the model.
fn check_columns(input: Input, ours: Option<&Known>, theirs: Option<&Known>) -> Result<(), TrainError> {
    let [ours, theirs] = [ours, theirs].map(|known| known.map_or(&[][..], |known| known.columns.as_slice()));
    if ours == theirs {
        return Ok(());
    }
    let words = |names: &[String]| match names.is_empty() {
        true => "no feature".to_string(),
        false => {
            format!("the features {}", toprank_data::error::show_names(names.iter().map(String::as_str)))
        }
    };
    let expected = format!("{}, as the model to warm-start from has, in this order", words(theirs));
    Err(TrainError::unsuitable(input, &words(ours), &expected))
}

/// Copies the rows of all names that are known; the number of those that are not.
fn take_rows(names: &Names, rows: &mut [f32], (known, stored): (&Names, &[f32]), width: usize) -> usize {
    let places: HashMap<&str, usize> = known.iter().zip(0..).collect();
    let mut new = 0;
    for (at, name) in names.iter().enumerate() {
        match places.get(name) {
            Some(&place) => rows[at * width..(at + 1) * width]
                .copy_from_slice(&stored[place * width..(place + 1) * width]),
            None => new += 1,
        }
    }
    new
}

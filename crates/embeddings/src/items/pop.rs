#![doc = include_str!("../pages/pop.md")]

use toprank_core::{Choices, ModelError, Param, ParamError, Spec, Stream};

use super::{FitState, ItemModel, ItemParameters};

pub(crate) const PARAMS: &[Param] = &[];

#[expect(clippy::unnecessary_wraps, reason = "every line of the catalogue is made in this way")]
pub(crate) fn make(_: &Spec) -> Result<Box<dyn ItemModel>, ParamError> {
    Ok(Box::new(Popularity))
}

/// Popularity; what it is, is in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Popularity;

impl ItemModel for Popularity {
    fn bytes(&self, _: usize, items: usize) -> u64 {
        4 * items as u64
    }

    fn seconds(&self, choices: &Choices) -> f64 {
        1e-9 * choices.pairs() as f64
    }

    fn start(&self, _: &Choices, _: Stream) -> ItemParameters {
        ItemParameters::default()
    }

    fn fit(
        &self,
        choices: &Choices,
        parameters: &mut ItemParameters,
        _: &mut FitState,
    ) -> Result<Option<f64>, ModelError> {
        let counts: Vec<f32> = choices.popularity().into_iter().map(|count| count as f32).collect();
        parameters.values = counts.into();
        Ok(None)
    }

    fn check(&self, items: usize, parameters: &ItemParameters) -> Result<(), ModelError> {
        let found = parameters.values.len();
        match found == items && parameters.numbers.is_empty() {
            true => Ok(()),
            false => Err(ModelError::new(format!("{found} counts of items"), items.to_string())),
        }
    }

    fn scores(&self, parameters: &ItemParameters, histories: &Choices, users: &[u32], scores: &mut [f32]) {
        for (_, scores) in users.iter().zip(scores.chunks_exact_mut(histories.item_count)) {
            scores.copy_from_slice(&parameters.values);
        }
    }
}

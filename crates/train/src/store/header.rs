/*!
What every model file says, whatever its kind: the config, what training reached, and the kind's own facts. Every kind is
checked by a self-test at each load: what it computes must be what it computed when it was saved.
*/

use std::ops::Deref;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::container::{self, Stored, Tensor, Values};
use crate::error::TrainError;
use crate::fit::settings::Config;
use crate::fit::training_loop::TrainingLoop;

/// The header of a model file. The facts of its kind are read as its own fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header<About> {
    /// What it was trained with.
    pub config: Config,
    /// What training reached.
    pub reached: Reached,
    /// What only this kind of model says.
    pub about: About,
}

impl<About> Deref for Header<About> {
    type Target = About;

    fn deref(&self) -> &About {
        &self.about
    }
}

/// What training reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reached {
    /// Lists it was trained on: queries, users, classes, graphs.
    pub lists: usize,
    /// Rows, pairs or judged nodes it was trained on.
    pub rows: usize,
    /// Steps done.
    pub steps: u64,
    /// Epochs done.
    pub epochs: u32,
    /// The epoch whose model this is, from 1, and its value of the metric of validation.
    pub best: Option<(u32, f64)>,
    /// Loss of the last epoch.
    pub loss: Option<f64>,
}

impl Reached {
    /// What a run has reached now, on so many lists and rows.
    pub(crate) fn by(training: &dyn TrainingLoop, lists: usize, rows: usize) -> Reached {
        Reached {
            lists,
            rows,
            steps: training.steps_done(),
            epochs: training.records().len() as u32,
            best: training.best().map(|(value, epoch)| (epoch, value)),
            loss: training.records().last().map(|record| record.loss),
        }
    }
}

/// Writes a model file; the old file stays until the new one is whole. A model that is unusable replaces nothing: what it
/// learned, what its self-test computes and what its header says must be finite.
///
/// # Errors
/// [`TrainError::Diverged`], or a file that cannot be written.
pub(crate) fn save<About>(
    path: &Path,
    kind: &str,
    header: &Header<About>,
    tensors: &[Tensor],
) -> Result<(), TrainError>
where
    About: Serialize + DeserializeOwned + PartialEq,
{
    let diverged = |found: String| TrainError::Diverged { file: path.display().to_string(), found };
    for tensor in tensors.iter().filter(|tensor| must_be_finite(&tensor.name)) {
        let first = match &tensor.values {
            Values::F32(values) => {
                values.iter().position(|value| !value.is_finite()).map(|at| (at, f64::from(values[at])))
            }
            Values::F64(values) => {
                values.iter().position(|value| !value.is_finite()).map(|at| (at, values[at]))
            }
            Values::Bytes(_) => None,
        };
        if let Some((at, value)) = first {
            return Err(diverged(format!("number {at} of {} is {value}", tensor.name)));
        }
    }
    // JSON has no word for infinity and NaN: such a header would not come back.
    let comes_back = serde_json::to_value(header).and_then(serde_json::from_value::<Header<About>>);
    if !comes_back.is_ok_and(|again| again == *header) {
        return Err(diverged("a number of its header is not finite".into()));
    }
    container::save(path, kind, header, tensors)
}

/// What was learned and what the self-test computes; features and statistics may be missing or infinite.
fn must_be_finite(tensor: &str) -> bool {
    const NAMES: [&str; 8] = [
        "users",
        "items",
        "walk.phi",
        "walk.start",
        "trees.leaves",
        "trees.base",
        "probe.scores",
        "probe.vectors",
    ];
    // Of a part of a blend: what stands behind `part1.`.
    let own =
        tensor.split_once('.').filter(|(part, _)| part.starts_with("part")).map_or(tensor, |(_, own)| own);
    own.starts_with("model.") || NAMES.contains(&own)
}

/// Compares what a loaded model computes with what it computed when it was saved. `tolerance` is relative to values above 1:
/// another processor may round otherwise.
///
/// # Errors
/// If a value differs or is not a number, or there are none.
pub(crate) fn self_test(
    stored: &Stored,
    found: &[f64],
    expected: &[f64],
    tolerance: f64,
) -> Result<(), TrainError> {
    if found.len() != expected.len() || expected.is_empty() {
        let words = format!("{} values in the self-test", expected.len());
        return Err(stored.wrong(words, format!("{}, at least one", found.len())));
    }
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        // Written so that NaN fails.
        let agrees = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
        if !agrees {
            return Err(stored.wrong(
                format!("a self-test that fails: value {place} is {found}"),
                format!("{expected}; this build computes something else than the one that trained it"),
            ));
        }
    }
    Ok(())
}

/*!
One fit: a member trained on one part of the data and watched on the part that is held out, kept in a file until the run is over.

Which epoch is kept is decided for all folds of a member together: picking every fold's own best epoch would make out-of-fold scores
look better than the models are. So a fit keeps what every epoch had: trees have all rounds anyway, of a network the parameters after
each epoch are kept (after every few, where they are many).
*/

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use toprank_core::Differentiable;
use toprank_data::transform::Pipeline;
use toprank_trees::Ensemble;

use super::portfolio::Chosen;
use crate::error::TrainError;
use crate::fit::settings::Config;
use crate::fit::training_loop::{Callbacks, Progress, Start};
use crate::rank::job::{Job, Learner};
use crate::rank::models::{self, Model};
use crate::rank::scoring::{self, Scoring};
use crate::store::container::{self, Stored, Tensor};
use crate::store::fingerprint::Fingerprint;

const KIND: &str = "fit";
/// Numbers of a network that a fit keeps of all its epochs together, at most: 64 MB.
const MOST_KEPT: usize = 1 << 24;

/// What remains of a fit.
pub struct Fit {
    /// The transforms, fitted to what was learned from.
    pub transforms: Pipeline,
    /// The metric on held-out data after each epoch; NaN: undefined.
    pub curve: Vec<f64>,
    /// Scores per row.
    outputs: usize,
    states: States,
    /// How long it took, whatever process trained it.
    pub seconds: f64,
}

/// The model after each epoch.
enum States {
    /// All rounds.
    Trees(Ensemble),
    /// The parameters after some epochs.
    Network(Arc<dyn Differentiable>, Vec<(u32, Vec<f32>)>),
}

/// Which fit a file is of.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    config: Config,
    inputs: Fingerprint,
    fold: u32,
    transforms: Pipeline,
    outputs: usize,
    /// Epochs whose parameters are kept; none of trees.
    epochs: Vec<u32>,
}

/// Which fit it is, for files and messages.
pub struct Name<'a> {
    /// The member.
    pub member: &'a Chosen,
    /// The fold, from 1; 1 where there are validation data.
    pub fold: u32,
    /// What the run reads.
    pub inputs: &'a Fingerprint,
}

impl Fit {
    /// Trains on `job` and watches its validation data. `epochs`: as many as another fold of the member took; `None`: early stopping
    /// decides.
    pub fn train(
        member: &Chosen,
        job: &Job,
        epochs: Option<usize>,
        part: &str,
        callbacks: &mut dyn Callbacks,
    ) -> Result<Fit, TrainError> {
        let started = Instant::now();
        let views = job.views()?;
        let mut learner = job.trainer(&views)?;
        callbacks.start(&Start { part, step: 0, steps: learner.steps(), records: &[] });
        let mut kept = Vec::new();
        while !learner.finished() && epochs.is_none_or(|epochs| learner.records().len() < epochs) {
            let before = learner.records().len();
            let (loss, learning_rate) = learner.step(callbacks, started)?;
            let epoch = learner.records().len();
            if epoch > before && !member.is_trees() {
                keep(&*learner, &mut kept, member.config.epochs())?;
            }
            callbacks.step(&Progress {
                step: learner.steps_done(),
                steps: learner.steps(),
                epoch: epoch as u32,
                loss,
                metric: learner.records().iter().rev().find_map(|record| *record.metrics.first()?),
                learning_rate,
            });
            if callbacks.stop() && !learner.finished() {
                return Err(TrainError::Interrupted { step: learner.steps_done(), steps: learner.steps() });
            }
        }
        let value = |record: &crate::fit::curve::Record| record.metrics.first().copied().flatten();
        let curve = learner.records().iter().map(|record| value(record).unwrap_or(f64::NAN)).collect();
        let about = job.about();
        let states = match learner.present()? {
            Scoring::Network(network, _) => States::Network(network, kept),
            Scoring::Trees(trees) => States::Trees(trees.ensemble().clone()),
            Scoring::Blend(_) => unreachable!("a member is one kind of model"),
        };
        let seconds = started.elapsed().as_secs_f64();
        Ok(Fit { transforms: about.transforms, curve, outputs: about.outputs, states, seconds })
    }

    /// Epochs whose model is kept.
    pub fn epochs(&self) -> Vec<u32> {
        match &self.states {
            States::Trees(trees) => (1..=trees.rounds() as u32).collect(),
            States::Network(_, kept) => kept.iter().map(|(epoch, _)| *epoch).collect(),
        }
    }

    /// The model after an epoch that is kept.
    pub fn scoring(&self, epoch: u32) -> Result<Scoring, TrainError> {
        match &self.states {
            States::Trees(trees) => {
                let mut trees = trees.clone();
                trees.truncate(epoch as usize);
                Scoring::of_trees(trees)
            }
            States::Network(network, kept) => {
                let (_, parameters) =
                    kept.iter().find(|(known, _)| *known == epoch).unwrap_or(&kept[kept.len() - 1]);
                Ok(Scoring::Network(Arc::clone(network), parameters.clone()))
            }
        }
    }

    /// Writes it; the old file stays until the new one is whole.
    pub fn save(&self, path: &Path, name: &Name) -> Result<(), TrainError> {
        let header = Header {
            config: name.member.config.clone(),
            inputs: name.inputs.clone(),
            fold: name.fold,
            transforms: self.transforms.clone(),
            outputs: self.outputs,
            epochs: match &self.states {
                States::Trees(_) => Vec::new(),
                States::Network(..) => self.epochs(),
            },
        };
        let mut tensors =
            vec![Tensor::flat("curve", &self.curve), Tensor::flat("seconds", vec![self.seconds])];
        match &self.states {
            States::Trees(trees) => tensors.extend(scoring::tree_tensors(trees)),
            States::Network(_, kept) => {
                tensors
                    .extend(kept.iter().map(|(epoch, values)| Tensor::flat(format!("epoch{epoch}"), values)));
            }
        }
        container::save(path, KIND, &header, &tensors)
    }

    /// Reads what [`Fit::save`] wrote of the same fit.
    pub fn load(path: &Path, name: &Name) -> Result<Fit, TrainError> {
        let (stored, header): (Stored, Header) = container::load(path, KIND)?;
        if header.config != name.member.config || header.fold != name.fold {
            let expected = "the config it was started with; start a new run";
            return Err(stored.wrong("a fit of another run", expected));
        }
        if let Some(input) = header.inputs.difference(name.inputs) {
            return Err(TrainError::InputChanged { file: stored.file().into(), input });
        }
        let width = header.transforms.width_after();
        let states = match models::parse(header.config.model())? {
            Model::Trees(_) => {
                let trees = scoring::load_trees(&stored, width)?;
                stored.counted("trees.base", trees.outputs, header.outputs)?;
                States::Trees(trees)
            }
            Model::Network(architecture) => {
                let wanted = architecture.parameters(width, header.outputs).unwrap_or(0);
                let epochs = header.epochs.iter().map(|&epoch| {
                    let (_, values) = stored.f32(&format!("epoch{epoch}"))?;
                    match values.len() as u128 == wanted {
                        true => Ok((epoch, values)),
                        false => {
                            Err(stored.wrong(format!("{} parameters", values.len()), wanted.to_string()))
                        }
                    }
                });
                let kept = epochs.collect::<Result<Vec<_>, TrainError>>()?;
                if kept.is_empty() {
                    return Err(stored.wrong("parameters of no epoch", "those of at least one"));
                }
                States::Network(architecture.build(width, header.outputs)?.into(), kept)
            }
        };
        let seconds = stored.f64("seconds")?.first().copied().unwrap_or(0.0);
        let curve = stored.f64("curve")?;
        Ok(Fit { transforms: header.transforms, curve, outputs: header.outputs, states, seconds })
    }
}

/// Keeps the parameters after an epoch; where all epochs together would be many numbers, of every few epochs.
fn keep(learner: &dyn Learner, kept: &mut Vec<(u32, Vec<f32>)>, epochs: u32) -> Result<(), TrainError> {
    let Scoring::Network(_, parameters) = learner.present()? else { return Ok(()) };
    let every = (parameters.len().saturating_mul(epochs as usize)).div_ceil(MOST_KEPT).max(1);
    let epoch = learner.records().len();
    if epoch.is_multiple_of(every) || epoch == 1 {
        kept.push((epoch as u32, parameters));
    }
    Ok(())
}

/// The epoch that is best on the mean of the folds' curves, among those that all of them kept. An epoch at which no fold has a
/// value counts as worst. `sign`: 1 where more is better, −1 where less is.
pub fn best_epoch(fits: &[Fit], sign: f64) -> u32 {
    let kept: Vec<Vec<u32>> = fits.iter().map(Fit::epochs).collect();
    let in_all = |epoch: &&u32| kept.iter().all(|epochs| epochs.binary_search(epoch).is_ok());
    let mean = |epoch: u32| {
        let values = fits.iter().filter_map(|fit| fit.curve.get(epoch as usize - 1));
        let defined: Vec<f64> = values.copied().filter(|value| value.is_finite()).collect();
        match defined.len() {
            0 => f64::NEG_INFINITY,
            count => sign * defined.iter().sum::<f64>() / count as f64,
        }
    };
    let mut best = (1, f64::NEG_INFINITY);
    for &epoch in kept.first().into_iter().flatten().filter(in_all) {
        let value = mean(epoch);
        if value > best.1 || best.1 == f64::NEG_INFINITY && value == best.1 {
            best = (epoch, value);
        }
    }
    best.0
}

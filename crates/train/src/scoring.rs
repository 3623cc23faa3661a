//! What gives scores once it is trained: a network with its parameters, or trees.

use std::sync::Arc;

use toprank_core::{Differentiable, GraphShape};
use toprank_trees::{Columns, Ensemble, Scorer};

use crate::container::{Loaded, Tensor, Values};
use crate::engine::{self, Examples};
use crate::error::TrainError;
use crate::models::{self, Model};

/// What gives scores.
#[derive(Clone)]
pub enum Scoring {
    /// A network and its parameters, block after block.
    Network(Arc<dyn Differentiable>, Vec<f32>),
    /// Trees.
    Trees(Arc<Trees>),
}

/// Trees, also laid out for speed.
#[derive(Debug)]
pub struct Trees {
    ensemble: Ensemble,
    scorer: Scorer,
}

impl Trees {
    /// Checks them and lays them out.
    pub fn new(ensemble: Ensemble) -> Result<Trees, TrainError> {
        Ok(Trees { scorer: Scorer::new(&ensemble)?, ensemble })
    }

    /// The trees.
    pub fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    /// The same, laid out for speed.
    pub fn scorer(&self) -> &Scorer {
        &self.scorer
    }
}

impl Scoring {
    /// Scores of every entry, the same bytes at any number of threads.
    pub fn score(&self, examples: Examples) -> Result<Vec<f64>, TrainError> {
        match self {
            Scoring::Network(network, parameters) => engine::score(&**network, parameters, examples),
            Scoring::Trees(trees) => {
                let scores = trees.scorer.score(examples.features)?;
                engine::trusted(examples.features)?;
                let lists = examples.lists;
                let plain = lists.rows.is_none() && lists.output.is_none();
                Ok(if plain { scores } else { lists.scores_of_entries(&scores, trees.ensemble.outputs) })
            }
        }
    }

    /// True if the score of an item depends on the other items of its list.
    pub fn couples_items(&self) -> bool {
        match self {
            Scoring::Network(network, _) => network.couples_items(),
            Scoring::Trees(_) => false,
        }
    }

    /// Numbers that were learned: weights, or leaves and tests.
    pub fn parameters(&self) -> usize {
        match self {
            Scoring::Network(_, parameters) => parameters.len(),
            Scoring::Trees(trees) => {
                trees.ensemble.trees.iter().map(|tree| tree.nodes.len() + tree.leaves.len()).sum()
            }
        }
    }

    /// The trees, if it is made of them.
    pub fn trees(&self) -> Option<&Trees> {
        match self {
            Scoring::Network(..) => None,
            Scoring::Trees(trees) => Some(trees),
        }
    }

    /// The same numbers as tensors of a file, behind `tensors`, handed to `save`.
    pub(crate) fn with_tensors<R>(&self, tensors: Vec<Tensor>, save: impl FnOnce(&[Tensor]) -> R) -> R {
        match self {
            Scoring::Network(network, parameters) => {
                let mut tensors = tensors;
                let mut start = 0;
                for block in network.blocks() {
                    let end = start + block.parameters();
                    tensors.push(Tensor {
                        name: format!("model.{}", block.name),
                        shape: block.shape.clone(),
                        values: Values::F32(&parameters[start..end]),
                    });
                    start = end;
                }
                save(&tensors)
            }
            Scoring::Trees(trees) => with_tensors(&trees.ensemble, tensors, save),
        }
    }

    /// What [`Scoring::with_tensors`] saved of the model that `text` names, for rows of `width` features or for graphs.
    pub(crate) fn load<H>(
        loaded: &Loaded<H>,
        text: &str,
        width: usize,
        graphs: Option<&GraphShape>,
        outputs: usize,
    ) -> Result<Scoring, TrainError> {
        let architecture = match models::parse(text)? {
            Model::Trees(_) => return Ok(Scoring::Trees(Arc::new(Trees::new(ensemble(loaded, width)?)?))),
            Model::Network(architecture) => architecture,
        };
        let network = match graphs {
            Some(shape) => architecture.build_for_graphs(shape, outputs)?,
            None => architecture.build(width, outputs)?,
        };
        let mut parameters = Vec::with_capacity(network.parameters());
        for block in network.blocks() {
            let name = format!("model.{}", block.name);
            let (shape, values) = loaded.f32(&name)?;
            if shape != block.shape {
                return Err(loaded.wrong(format!("{name} of shape {shape:?}"), format!("{:?}", block.shape)));
            }
            parameters.extend(values);
        }
        Ok(Scoring::Network(network.into(), parameters))
    }
}

/// Columns of whole and broken numbers, as [`numbers`] hands them out.
const NAMES: [&str; 10] = [
    "trees.sizes",
    "trees.leaves",
    "nodes.features",
    "nodes.left",
    "nodes.right",
    "nodes.gains",
    "nodes.curvatures",
    "nodes.rows",
    "sets.sizes",
    "sets.categories",
];

fn numbers(columns: &mut Columns) -> [&mut Vec<f64>; 10] {
    let Columns {
        sizes, leaves, features, left, right, gains, curvatures, rows, set_sizes, categories, ..
    } = columns;
    [sizes, leaves, features, left, right, gains, curvatures, rows, set_sizes, categories]
}

/// Trees as tensors of a file, behind `tensors`, handed to `save`.
pub(crate) fn with_tensors<R>(
    ensemble: &Ensemble,
    tensors: Vec<Tensor>,
    save: impl FnOnce(&[Tensor]) -> R,
) -> R {
    let mut columns = Columns::of(ensemble);
    let (thresholds, kinds) = (std::mem::take(&mut columns.thresholds), std::mem::take(&mut columns.kinds));
    let columns = numbers(&mut columns);
    let mut tensors = tensors;
    tensors.extend([
        Tensor::flat("trees.base", Values::F64(&ensemble.base)),
        Tensor::flat("nodes.thresholds", Values::F32(&thresholds)),
        Tensor::flat("nodes.kinds", Values::Bytes(&kinds)),
    ]);
    tensors
        .extend(NAMES.iter().zip(columns).map(|(name, column)| Tensor::flat(*name, Values::F64(&*column))));
    save(&tensors)
}

/// The trees that [`with_tensors`] saved.
pub(crate) fn ensemble<H>(loaded: &Loaded<H>, width: usize) -> Result<Ensemble, TrainError> {
    let mut columns = Columns {
        thresholds: loaded.f32("nodes.thresholds")?.1,
        kinds: loaded.bytes("nodes.kinds")?.to_vec(),
        ..Columns::default()
    };
    for (name, column) in NAMES.iter().zip(numbers(&mut columns)) {
        *column = loaded.f64(name)?;
    }
    columns
        .ensemble(width, loaded.f64("trees.base")?)
        .map_err(|error| loaded.wrong(error.what, error.expected))
}

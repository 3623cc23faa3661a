//! What gives scores once it is trained: a network with its parameters, or trees.

use std::sync::Arc;

use toprank_core::{Differentiable, GraphShape};
use toprank_trees::{Columns, Ensemble, Scorer};

use super::models::{self, Model};
use crate::error::TrainError;
use crate::fit::engine::{self, Examples};
use crate::fit::flat::{block_tensors, load_blocks};
use crate::store::container::{Stored, Tensor};

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

    /// The parameters or trees as tensors of a file.
    pub(crate) fn tensors(&self) -> Vec<Tensor<'_>> {
        match self {
            Scoring::Network(network, parameters) => block_tensors(network.blocks(), parameters).collect(),
            Scoring::Trees(trees) => tree_tensors(&trees.ensemble),
        }
    }

    /// What [`Scoring::tensors`] gave of the model that `text` names, for rows of `width` features or for graphs.
    pub(crate) fn load(
        stored: &Stored,
        text: &str,
        width: usize,
        graphs: Option<&GraphShape>,
        outputs: usize,
    ) -> Result<Scoring, TrainError> {
        let architecture = match models::parse(text)? {
            Model::Trees(_) => {
                let ensemble = load_trees(stored, width)?;
                stored.counted("trees.base", ensemble.outputs, outputs)?;
                return Ok(Scoring::Trees(Arc::new(Trees::new(ensemble)?)));
            }
            Model::Network(architecture) => architecture,
        };
        // Before anything is built: a few bytes of header can ask for any number of parameters.
        let wanted = match graphs {
            Some(shape) => architecture.parameters_for_graphs(shape, outputs),
            None => architecture.parameters(width, outputs),
        };
        let found = stored.count("model.");
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found as u128) {
            let expected = format!("{wanted}, as {text} has with {width} features and {outputs} outputs");
            return Err(stored.wrong(format!("{found} parameters"), expected));
        }
        let network = match graphs {
            Some(shape) => architecture.build_for_graphs(shape, outputs)?,
            None => architecture.build(width, outputs)?,
        };
        let parameters = load_blocks(network.blocks(), stored)?;
        Ok(Scoring::Network(network.into(), parameters))
    }
}

/// Columns of integers and floats, as [`numbers`] hands them out.
const NAMES: [&str; 10] = [
    "trees.sizes",
    "trees.leaves",
    "nodes.features",
    "nodes.left",
    "nodes.right",
    "nodes.gains",
    "nodes.hessians",
    "nodes.rows",
    "sets.sizes",
    "sets.categories",
];

fn numbers(columns: &mut Columns) -> [&mut Vec<f64>; 10] {
    let Columns {
        sizes, leaves, features, left, right, gains, hessians, rows, set_sizes, categories, ..
    } = columns;
    [sizes, leaves, features, left, right, gains, hessians, rows, set_sizes, categories]
}

/// Trees as tensors of a file.
pub(crate) fn tree_tensors(ensemble: &Ensemble) -> Vec<Tensor<'_>> {
    let mut columns = Columns::of(ensemble);
    let mut tensors = vec![
        Tensor::flat("trees.base", &ensemble.base),
        Tensor::flat("nodes.thresholds", std::mem::take(&mut columns.thresholds)),
        Tensor::flat("nodes.kinds", std::mem::take(&mut columns.kinds)),
    ];
    let named = NAMES.iter().zip(numbers(&mut columns));
    tensors.extend(named.map(|(name, column)| Tensor::flat(*name, std::mem::take(column))));
    tensors
}

/// The trees that [`tree_tensors`] gave.
pub(crate) fn load_trees(stored: &Stored, width: usize) -> Result<Ensemble, TrainError> {
    let mut columns = Columns {
        thresholds: stored.f32("nodes.thresholds")?.1,
        kinds: stored.bytes("nodes.kinds")?.to_vec(),
        ..Columns::default()
    };
    for (name, column) in NAMES.iter().zip(numbers(&mut columns)) {
        *column = stored.f64(name)?;
    }
    columns
        .ensemble(width, stored.f64("trees.base")?)
        .map_err(|error| stored.wrong(error.what, error.expected))
}

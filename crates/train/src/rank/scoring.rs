//! What gives scores once it is trained: a network with its parameters, or trees.

use std::sync::Arc;

use toprank_core::{Differentiable, GraphShape};
use toprank_data::Column;
use toprank_trees::{Columns, Ensemble, Scorer};

use super::auto::parts::{Blend, Part, PartAbout};
use super::models::{self, Model, TREES};
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
    /// Several of them, whose scores are added up.
    Blend(Arc<Blend>),
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
            Scoring::Blend(blend) => blend.score(examples),
        }
    }

    /// The same; `by_list`: a network scores every list by itself, even if it looks at single rows.
    pub(crate) fn score_as(&self, examples: Examples, by_list: bool) -> Result<Vec<f64>, TrainError> {
        match self {
            Scoring::Network(network, parameters) if by_list => {
                engine::score_by_list(&**network, parameters, examples)
            }
            _ => self.score(examples),
        }
    }

    /// Of trees.
    pub(crate) fn of_trees(ensemble: Ensemble) -> Result<Scoring, TrainError> {
        Ok(Scoring::Trees(Arc::new(Trees::new(ensemble)?)))
    }

    /// Of the parts of a blend; one of nothing but trees that see features as they are is a model of trees.
    pub(crate) fn of_parts(mut parts: Vec<Part>, columns: Vec<Column>) -> Scoring {
        match parts.as_slice() {
            [only] if only.is_plain_trees() => parts.remove(0).scoring,
            _ => Scoring::Blend(Arc::new(Blend::new(parts, columns))),
        }
    }

    /// True if the score of an item depends on the other items of its list.
    pub fn couples_items(&self) -> bool {
        match self {
            Scoring::Network(network, _) => network.couples_items(),
            Scoring::Trees(_) => false,
            Scoring::Blend(blend) => blend.couples_items(),
        }
    }

    /// Numbers that were learned: weights, or leaves and tests.
    pub fn parameters(&self) -> usize {
        match self {
            Scoring::Network(_, parameters) => parameters.len(),
            Scoring::Trees(trees) => {
                trees.ensemble.trees.iter().map(|tree| tree.nodes.len() + tree.leaves.len()).sum()
            }
            Scoring::Blend(blend) => blend.parts().iter().map(|part| part.scoring.parameters()).sum(),
        }
    }

    /// The trees, if it is made of them.
    pub fn trees(&self) -> Option<&Trees> {
        match self {
            Scoring::Network(..) | Scoring::Blend(_) => None,
            Scoring::Trees(trees) => Some(trees),
        }
    }

    /// The parameters or trees as tensors of a file.
    pub(crate) fn tensors(&self) -> Vec<Tensor<'_>> {
        match self {
            Scoring::Network(network, parameters) => block_tensors(network.blocks(), parameters).collect(),
            Scoring::Trees(trees) => tree_tensors(&trees.ensemble),
            Scoring::Blend(blend) => {
                let mut all = Vec::new();
                for (number, part) in blend.parts().iter().enumerate() {
                    let own = part.scoring.tensors().into_iter();
                    all.extend(own.map(|own| Tensor { name: prefix(number) + &own.name, ..own }));
                }
                all
            }
        }
    }

    /// What [`Scoring::tensors`] gave of a blend. `none`: a blend of nothing but trees is kept as trees are.
    pub(crate) fn load_blend(
        stored: &Stored,
        parts: &[PartAbout],
        columns: Vec<Column>,
        outputs: usize,
    ) -> Result<Scoring, TrainError> {
        let width = columns.len();
        let load = |(number, about): (usize, &PartAbout)| {
            stored.counted("scales of a part", about.scale.len(), outputs)?;
            if let Some(affine) = about.scale.iter().find(|a| !a.shift.is_finite() || !a.factor.is_finite()) {
                return Err(stored.wrong(format!("a part on the scale {affine:?}"), "finite numbers"));
            }
            stored.counted("features before the transforms", about.transforms.width, width)?;
            let stored = stored.within(&prefix(number));
            let scoring =
                Scoring::load(&stored, &about.model, about.transforms.width_after(), None, outputs)?;
            let (model, transforms, scale) =
                (about.model.clone(), about.transforms.clone(), about.scale.clone());
            Ok(Part { model, transforms, scoring, scale })
        };
        let parts = parts.iter().enumerate().map(load).collect::<Result<Vec<Part>, TrainError>>()?;
        match parts.is_empty() {
            true => Scoring::load(stored, TREES[0].name, width, None, outputs),
            false => Ok(Scoring::Blend(Arc::new(Blend::new(parts, columns)))),
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

/// How the tensors of a part of a blend begin.
fn prefix(number: usize) -> String {
    format!("part{}.", number + 1)
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

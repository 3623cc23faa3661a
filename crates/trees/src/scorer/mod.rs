/*!
Fast scoring: an ensemble laid out for scoring, with the same bytes as [`Ensemble::score_row`].

```text
for each chunk of 64 rows:
    many nodes for each feature:   turn the features into codes of one byte (codes.rs)
        up to 256 leaves …         masks of bytes over codes (bytes.rs)
    else copy the features that the trees use, feature after feature
        up to 32 leaves …          masks (masks.rs)
    more leaves …                  step down, 8 rows at once (steps.rs)
    categories …                   row by row (Tree::value)
```

Codes cost 2 to 3 ns for each value and pay by the number of trees: 100 trees of 31 leaves over 136 features take 4 ns for a row
and tree by masks, 5 by codes; 100 trees of 255 leaves 28 ns by steps, 13 by codes.

The values of a row are added in the order of the trees, in `f64`, whichever layout a tree has.
*/

mod bytes;
mod codes;
mod masks;
mod steps;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use rayon::prelude::*;
use toprank_core::{Features, ModelError};

use crate::binning::rows_at_once;
use crate::ensemble::Ensemble;
use crate::tree::{Test, Tree};
use bytes::{ByteTree, Masks};
use codes::{Coded, Coder};
use masks::MaskTree;
use steps::StepTree;

/// Rows of a chunk.
const CHUNK: usize = 64;
/// Rows copied together into a chunk.
const TOGETHER: usize = 8;
/// Rows scored at once by one task.
const BLOCK: usize = 256;

/// Nodes for each feature from which its codes pay.
const NODES_OF_A_CODE: usize = 40;

/// One feature of a chunk.
type Lane = [f32; CHUNK];

/// An ensemble laid out for scoring.
///
/// ```
/// use toprank_trees::{Ensemble, Next, Node, Scorer, Test, Tree};
/// let node = Node::new(0, Test::AtMost(0.5), false, Next::Leaf(0), Next::Leaf(1));
/// let model = Ensemble { trees: vec![Tree { nodes: vec![node], leaves: vec![-1.0, 1.0] }], ..Ensemble::new(2, 1) };
/// let scorer = Scorer::new(&model).unwrap();
/// let mut scores = [0.0; 2];
/// scorer.score_rows(&[0.2, 9.0, 0.7, 9.0], &mut scores).unwrap();
/// assert_eq!(scores, [-1.0, 1.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Scorer {
    width: usize,
    base: Vec<f64>,
    /// The features that trees use.
    used: Vec<u32>,
    trees: Vec<Plan>,
    /// Turns rows into codes, if trees are scored by them.
    coder: Option<Coder>,
    /// True if some of them read features instead of codes.
    transposed: bool,
    /// True if some of them are scored by steps.
    stepped: bool,
}

/// How a tree is scored.
#[derive(Clone, Debug)]
enum Plan {
    Masks(MaskTree),
    Bytes(ByteTree),
    Steps(StepTree),
    Plain(Tree),
}

/// Scratch memory for one chunk.
#[derive(Clone, Debug, Default)]
struct ScoreScratch {
    /// The features as codes.
    coded: Coded,
    masks: Masks,
    /// The features themselves.
    columns: Vec<Lane>,
    /// The same as keys, for trees scored by steps.
    keys: Vec<[i32; CHUNK]>,
    /// Chunk of scores of one output after the other.
    scores: Vec<[f64; CHUNK]>,
}

thread_local! {
    /// For lists that are scored one at a time.
    static SCRATCH: RefCell<ScoreScratch> = RefCell::default();
}

impl Scorer {
    /// Lays an ensemble out. Cost: that of sorting its thresholds.
    pub fn new(model: &Ensemble) -> Result<Scorer, ModelError> {
        model.check()?;
        let nodes: usize = model.trees.iter().map(|tree| tree.nodes.len()).sum();
        let by_codes = nodes >= NODES_OF_A_CODE * model.width;
        Ok(Scorer::laid_out(model, by_codes))
    }

    fn laid_out(model: &Ensemble, by_codes: bool) -> Scorer {
        let mut used: Vec<u32> =
            model.trees.iter().flat_map(|tree| tree.nodes.iter().map(|n| n.feature)).collect();
        used.sort_unstable();
        used.dedup();
        let place = |feature: u32| used.binary_search(&feature).unwrap_or_default() as u32;
        let coder = by_codes.then(|| Coder::new(model.trees.iter()));
        let plan = |tree: &Tree| {
            let bytes = coder.as_ref().and_then(|coder| ByteTree::new(tree, coder));
            let numbers = tree.nodes.iter().all(|node| matches!(node.test, Test::AtMost(_)));
            match (bytes, numbers, tree.leaves.len()) {
                (Some(tree), ..) => Plan::Bytes(tree),
                (_, true, ..=masks::MOST_LEAVES) => Plan::Masks(MaskTree::new(tree, place)),
                (_, true, _) => Plan::Steps(StepTree::new(tree, place)),
                (_, false, _) => Plan::Plain(tree.clone()),
            }
        };
        let trees: Vec<Plan> = model.trees.iter().map(plan).collect();
        let stepped = trees.iter().any(|tree| matches!(tree, Plan::Steps(_)));
        let transposed = stepped || trees.iter().any(|tree| matches!(tree, Plan::Masks(_)));
        Scorer { width: model.width, base: model.base.clone(), used, trees, coder, transposed, stepped }
    }

    /// Features per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Scores per row.
    pub fn outputs(&self) -> usize {
        self.base.len()
    }

    /// Scores of some rows of features, one after the other; `outputs` numbers each. In this thread alone: made for one
    /// list at a time.
    pub fn score_rows(&self, values: &[f32], scores: &mut [f64]) -> Result<(), ModelError> {
        let rows = scores.len() / self.outputs();
        if rows * self.outputs() != scores.len() || rows * self.width != values.len() {
            return Err(ModelError::new(
                format!("{} values and {} scores", values.len(), scores.len()),
                format!("{} values and {} scores for every row", self.width, self.outputs()),
            ));
        }
        SCRATCH.with_borrow_mut(|scratch| self.score_block(values, scores, scratch));
        Ok(())
    }

    /// Scores of all rows, `outputs` numbers each. The bytes do not depend on the number of threads.
    pub fn score(&self, features: &dyn Features) -> Result<Vec<f64>, ModelError> {
        if features.width() != self.width {
            return Err(ModelError::new(
                format!("rows of {} features", features.width()),
                format!("{} features", self.width),
            ));
        }
        let outputs = self.outputs();
        let mut scores = vec![0.0; features.rows() * outputs];
        let start = || (ScoreScratch::default(), Vec::new(), Vec::new());
        let at_once = rows_at_once(self.width, BLOCK);
        scores.par_chunks_mut(at_once * outputs).enumerate().for_each_init(
            start,
            |(scratch, rows, values), (block, scores)| {
                let first = (block * at_once) as u32;
                rows.clear();
                rows.extend(first..first + (scores.len() / outputs) as u32);
                values.resize(rows.len() * self.width, 0.0);
                features.gather(rows, values);
                self.score_block(values, scores, scratch);
            },
        );
        match features.fault() {
            Some(fault) => Err(ModelError::new(fault, "rows that can be read")),
            None => Ok(scores),
        }
    }

    fn score_block(&self, values: &[f32], scores: &mut [f64], scratch: &mut ScoreScratch) {
        let outputs = self.outputs();
        scratch.columns.resize(self.used.len(), [0.0; CHUNK]);
        scratch.scores.resize(outputs, [0.0; CHUNK]);
        for (c, scores) in scores.chunks_mut(CHUNK * outputs).enumerate() {
            let rows = scores.len() / outputs;
            let values = &values[c * CHUNK * self.width..][..rows * self.width];
            if let Some(coder) = &self.coder {
                coder.code(values, self.width.max(1), &mut scratch.coded);
            }
            if self.transposed {
                self.transpose(values, &mut scratch.columns);
            }
            if self.stepped {
                scratch.keys.clear();
                scratch.keys.extend(scratch.columns.iter().map(|column| column.map(steps::key)));
            }
            for (sums, base) in scratch.scores.iter_mut().zip(&self.base) {
                *sums = [*base; CHUNK];
            }
            for (t, tree) in self.trees.iter().enumerate() {
                let sums = &mut scratch.scores[t % outputs];
                match tree {
                    Plan::Bytes(tree) => tree.add(&scratch.coded, rows, &mut scratch.masks, sums),
                    Plan::Masks(tree) => tree.add(&scratch.columns, rows, sums),
                    Plan::Steps(tree) => tree.add(&scratch.columns, &scratch.keys, rows, sums),
                    Plan::Plain(tree) => {
                        for (row, sum) in values.chunks_exact(self.width.max(1)).zip(sums) {
                            *sum += tree.value(row);
                        }
                    }
                }
            }
            for (r, row) in scores.chunks_exact_mut(outputs).enumerate() {
                for (score, sums) in row.iter_mut().zip(&scratch.scores) {
                    *score = sums[r];
                }
            }
        }
    }

    /// Copies the used features of a chunk, feature after feature; 8 rows together, so that whole stretches are written.
    fn transpose(&self, values: &[f32], columns: &mut [Lane]) {
        let width = self.width.max(1);
        for (group, rows) in values.chunks(TOGETHER * width).enumerate() {
            let first = group * TOGETHER;
            if rows.len() == TOGETHER * width {
                let rows: [&[f32]; TOGETHER] = std::array::from_fn(|r| &rows[r * width..(r + 1) * width]);
                for (column, &feature) in columns.iter_mut().zip(&self.used) {
                    let taken: [f32; TOGETHER] = std::array::from_fn(|r| rows[r][feature as usize]);
                    column[first..first + TOGETHER].copy_from_slice(&taken);
                }
            } else {
                for (r, row) in rows.chunks_exact(width).enumerate() {
                    for (column, &feature) in columns.iter_mut().zip(&self.used) {
                        column[first + r] = row[feature as usize];
                    }
                }
            }
        }
    }
}

//! How many rows reach each node and leaf of each tree.

use rayon::prelude::*;
use toprank_core::{Features, ModelError};

use crate::ensemble::Ensemble;
use crate::tree::{Next, Tree};

/// Rows that reached each node and leaf: the weights of branches on unknown features.
///
/// ```
/// use toprank_data::Matrix;
/// use toprank_trees::{Ensemble, Next, Node, Test, Tree, explain::Cover};
/// let node = Node::new(0, Test::AtMost(0.5), true, Next::Leaf(0), Next::Leaf(1));
/// let model = Ensemble { trees: vec![Tree { nodes: vec![node], leaves: vec![0.0, 1.0] }], ..Ensemble::new(1, 1) };
/// let cover = Cover::count(&model, &Matrix::Dense { width: 1, values: vec![0.0, 0.2, 3.0] }).unwrap();
/// assert_eq!((cover.nodes(0), cover.leaves(0)), (&[3u64][..], &[2u64, 1][..]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    trees: Vec<TreeCover>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TreeCover {
    nodes: Vec<u64>,
    leaves: Vec<u64>,
}

/// Rows traversed by one task.
const BLOCK: usize = 1024;

impl Cover {
    /// Counts these rows. Cost: O(rows × trees × depth).
    pub fn count(ensemble: &Ensemble, features: &dyn Features) -> Result<Cover, ModelError> {
        ensemble.check()?;
        if features.width() != ensemble.width {
            let what = format!("rows of {} features", features.width());
            return Err(ModelError::new(what, format!("{} features", ensemble.width)));
        }
        let empty = || ensemble.trees.iter().map(|tree| vec![0u64; tree.leaves.len()]).collect::<Vec<_>>();
        // Sums of integers: the order of the blocks does not matter.
        let leaves = (0..features.rows().div_ceil(BLOCK))
            .into_par_iter()
            .fold(empty, |mut counts, block| {
                let rows: Vec<u32> =
                    (block * BLOCK..features.rows().min((block + 1) * BLOCK)).map(|row| row as u32).collect();
                let mut values = vec![0.0; rows.len() * ensemble.width];
                features.gather(&rows, &mut values);
                for r in 0..rows.len() {
                    let row = &values[r * ensemble.width..(r + 1) * ensemble.width];
                    for (tree, counts) in ensemble.trees.iter().zip(&mut counts) {
                        counts[tree.leaf(row)] += 1;
                    }
                }
                counts
            })
            .reduce(empty, |mut a, b| {
                a.iter_mut().flatten().zip(b.iter().flatten()).for_each(|(a, b)| *a += b);
                a
            });
        if let Some(fault) = features.fault() {
            return Err(ModelError::new(fault, "rows that can be read"));
        }
        let trees = ensemble.trees.iter().zip(leaves).map(|(tree, leaves)| TreeCover::new(tree, leaves));
        Ok(Cover { trees: trees.collect() })
    }

    /// Rows at the nodes of a tree.
    ///
    /// # Panics
    /// If there is no such tree.
    pub fn nodes(&self, tree: usize) -> &[u64] {
        &self.trees[tree].nodes
    }

    /// Rows at its leaves.
    ///
    /// # Panics
    /// If there is no such tree.
    pub fn leaves(&self, tree: usize) -> &[u64] {
        &self.trees[tree].leaves
    }

    /// Checks that it belongs to an ensemble of this shape.
    pub fn check(&self, ensemble: &Ensemble) -> Result<(), ModelError> {
        let fits = self.trees.len() == ensemble.trees.len()
            && self
                .trees
                .iter()
                .zip(&ensemble.trees)
                .all(|(cover, tree)| cover.leaves.len() == tree.leaves.len());
        match fits {
            true => Ok(()),
            false => Err(ModelError::new("row counts of other trees", "counts made with these trees")),
        }
    }
}

impl TreeCover {
    fn new(tree: &Tree, leaves: Vec<u64>) -> TreeCover {
        let mut nodes = vec![0; tree.nodes.len()];
        // Children stand behind their parents.
        for (at, node) in tree.nodes.iter().enumerate().rev() {
            nodes[at] = [node.left, node.right]
                .into_iter()
                .map(|next| match next {
                    Next::Node(child) => nodes[child as usize],
                    Next::Leaf(leaf) => leaves[leaf as usize],
                })
                .sum();
        }
        TreeCover { nodes, leaves }
    }
}

//! An ensemble as flat columns, as model files store it.

use toprank_core::ModelError;

use crate::ensemble::Ensemble;
use crate::tree::{Next, Node, Test, Tree};

/// All nodes of all trees, one column per attribute. Integers are `f64`, which hold them exactly.
///
/// ```
/// use toprank_trees::{Columns, Ensemble, Tree};
/// let model = Ensemble { trees: vec![Tree::constant(0.5)], ..Ensemble::new(3, 1) };
/// let columns = Columns::of(&model);
/// assert_eq!(columns.leaves, [0.5]);
/// assert_eq!(columns.ensemble(3, vec![0.0]).unwrap(), model);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// Inner nodes of each tree.
    pub sizes: Vec<f64>,
    /// Values of the leaves, tree after tree.
    pub leaves: Vec<f64>,
    /// The feature of each node.
    pub features: Vec<f64>,
    /// The threshold of each node; 0 where it tests categories.
    pub thresholds: Vec<f32>,
    /// What each node does: 0 missing values go right, 1 they go left, 2 it tests categories.
    pub kinds: Vec<u8>,
    /// Where the left branch of each node leads: to node n of its tree, or as −1 − n to leaf n.
    pub left: Vec<f64>,
    /// Where the right branch leads.
    pub right: Vec<f64>,
    /// The gain of each node.
    pub gains: Vec<f64>,
    /// Its Hessian sum.
    pub hessians: Vec<f64>,
    /// Its number of rows.
    pub rows: Vec<f64>,
    /// For each node that tests categories, how many.
    pub set_sizes: Vec<f64>,
    /// The categories, node after node.
    pub categories: Vec<f64>,
}

const RIGHT: u8 = 0;
const LEFT: u8 = 1;
const SET: u8 = 2;

impl Columns {
    /// The columns of an ensemble.
    pub fn of(model: &Ensemble) -> Columns {
        let mut columns = Columns::default();
        let place = |next: Next| match next {
            Next::Node(node) => f64::from(node),
            Next::Leaf(leaf) => -1.0 - f64::from(leaf),
        };
        for tree in &model.trees {
            columns.sizes.push(tree.nodes.len() as f64);
            columns.leaves.extend_from_slice(&tree.leaves);
            for node in &tree.nodes {
                let (kind, threshold) = match &node.test {
                    Test::AtMost(threshold) => (if node.missing_left { LEFT } else { RIGHT }, *threshold),
                    Test::In(some) => {
                        columns.set_sizes.push(some.len() as f64);
                        columns.categories.extend(some.iter().map(f64::from));
                        (SET, 0.0)
                    }
                };
                columns.kinds.push(kind);
                columns.thresholds.push(threshold);
                columns.features.push(f64::from(node.feature));
                columns.left.push(place(node.left));
                columns.right.push(place(node.right));
                columns.gains.push(node.gain);
                columns.hessians.push(node.hessian);
                columns.rows.push(f64::from(node.rows));
            }
        }
        columns
    }

    /// The ensemble of these columns, checked ([`Ensemble::check`]); `base`: one number per output.
    pub fn ensemble(&self, width: usize, base: Vec<f64>) -> Result<Ensemble, ModelError> {
        let wrong = |what: String, expected: String| Err(ModelError::new(what, expected));
        let nodes = self.features.len();
        let lengths = [
            self.thresholds.len(),
            self.kinds.len(),
            self.left.len(),
            self.right.len(),
            self.gains.len(),
            self.hessians.len(),
            self.rows.len(),
        ];
        if let Some(found) = lengths.iter().find(|&&length| length != nodes) {
            return wrong(format!("a column of {found} nodes"), format!("{nodes}, as in the others"));
        }
        let mut sets = self.set_sizes.iter();
        let mut categories = self.categories.iter();
        let (mut node, mut leaf) = (0, 0);
        let mut model = Ensemble { outputs: base.len(), base, ..Ensemble::new(width, 0) };
        for &size in &self.sizes {
            let size = whole(size)? as usize;
            if size > nodes - node || size >= self.leaves.len() - leaf.min(self.leaves.len()) {
                let found = format!("tree {} with {size} nodes", model.trees.len());
                return wrong(found, format!("at most the {} nodes that are left", nodes - node));
            }
            let mut tree = Tree { nodes: Vec::with_capacity(size), leaves: Vec::new() };
            for at in node..node + size {
                let test = if self.kinds[at] == SET {
                    let count = sets.next().map_or(Ok(0), |&count| whole(count))? as usize;
                    let members = categories.by_ref().take(count).map(|&c| whole(c));
                    Test::In(members.collect::<Result<_, _>>()?)
                } else {
                    Test::AtMost(self.thresholds[at])
                };
                tree.nodes.push(Node {
                    feature: whole(self.features[at])?,
                    test,
                    missing_left: self.kinds[at] == LEFT,
                    left: next(self.left[at])?,
                    right: next(self.right[at])?,
                    gain: self.gains[at],
                    hessian: self.hessians[at],
                    rows: whole(self.rows[at])?,
                });
            }
            tree.leaves.extend_from_slice(&self.leaves[leaf..=leaf + size]);
            node += size;
            leaf += size + 1;
            model.trees.push(tree);
        }
        if node != nodes || leaf != self.leaves.len() || sets.next().is_some() || categories.next().is_some()
        {
            return wrong(
                format!("{nodes} nodes and {} leaves", self.leaves.len()),
                format!("{node} and {leaf}"),
            );
        }
        model.check()?;
        Ok(model)
    }
}

/// An integer that fits 32 bits.
fn whole(number: f64) -> Result<u32, ModelError> {
    if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
        return Ok(number as u32);
    }
    Err(ModelError::new(format!("{number} in a column of trees"), "an integer from 0 on"))
}

fn next(place: f64) -> Result<Next, ModelError> {
    if place < 0.0 { whole(-1.0 - place).map(Next::Leaf) } else { whole(place).map(Next::Node) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::testing::tree;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_ensemble_comes_back_as_it_was(
            leaves in prop::collection::vec(1usize..40, 0..5), categories: bool, seed: u64,
        ) {
            let mut model = Ensemble::new(9, 1);
            model.trees = leaves.iter().enumerate().map(|(t, &n)| tree(n, 9, categories, seed ^ t as u64)).collect();
            for (i, node) in model.trees.iter_mut().flat_map(|tree| &mut tree.nodes).enumerate() {
                (node.gain, node.hessian, node.rows) = (i as f64 * 0.1, 0.3, i as u32);
            }
            prop_assert_eq!(Columns::of(&model).ensemble(9, vec![0.0]).unwrap(), model);
        }

        #[test]
        fn damaged_columns_are_an_error_and_never_a_panic(seed: u64, column in 0usize..7, at: u16, value in -40.0f64..40.0) {
            let mut model = Ensemble::new(9, 1);
            model.trees = (0..3).map(|t| tree(6, 9, true, seed ^ t)).collect();
            let mut columns = Columns::of(&model);
            let damaged = match column {
                0 => &mut columns.sizes,
                1 => &mut columns.features,
                2 => &mut columns.left,
                3 => &mut columns.right,
                4 => &mut columns.rows,
                5 => &mut columns.set_sizes,
                _ => &mut columns.categories,
            };
            if !damaged.is_empty() {
                let at = at as usize % damaged.len();
                damaged[at] = value;
                prop_assert!(columns.ensemble(9, vec![0.0]).is_err());
                columns.left.pop();
                prop_assert!(columns.ensemble(9, vec![0.0]).is_err());
            }
        }
    }
}

/*!
Scoring by masks (QuickScorer), for trees of at most 32 leaves.

```text
leaves are numbered from left to right; all leaves of a tree are the bits of one word, all set
every node whose test fails takes the bits of its left subtree away
the lowest bit that is left is the leaf the row comes to
```

No branch depends on the data, and many rows are tested at once. Missing values cost nothing: `x > t` is false and `x ≤ t`
is false for them, so a node that sends them left fails where x > t, one that sends them right where not x ≤ t.

Source: Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression trees"; here
tree by tree instead of feature by feature, without leaving a feature early.
*/

use toprank_core::vectorised;

use super::{CHUNK, Lane};
use crate::tree::{Next, Test, Tree};

pub(super) const MOST_LEAVES: usize = 32;

/// A tree as masks.
#[derive(Clone, Debug)]
pub(super) struct MaskTree {
    /// Nodes that send missing values left, then those that send them right.
    nodes: Vec<MaskNode>,
    missing_left: usize,
    /// From left to right.
    leaves: Box<[f64; MOST_LEAVES]>,
}

#[derive(Clone, Copy, Debug)]
struct MaskNode {
    threshold: f32,
    feature: u32,
    /// What stays if the test fails: all but the left subtree.
    keep: u32,
}

impl MaskTree {
    pub(super) fn new(tree: &Tree, place: impl Fn(u32) -> u32) -> MaskTree {
        let mut laid = MaskTree { nodes: Vec::new(), missing_left: 0, leaves: Box::new([0.0; MOST_LEAVES]) };
        let root = if tree.nodes.is_empty() { Next::Leaf(0) } else { Next::Node(0) };
        let mut sides = [Vec::new(), Vec::new()];
        laid.walk(tree, root, 0, &place, &mut sides);
        let [left, right] = sides;
        laid.missing_left = left.len();
        laid.nodes = [left, right].concat();
        laid
    }

    /// Numbers the leaves below `at` from `leaf` on; returns the number behind the last. A tree of 32 leaves is at most
    /// 31 deep.
    fn walk(
        &mut self,
        tree: &Tree,
        at: Next,
        leaf: usize,
        place: &impl Fn(u32) -> u32,
        sides: &mut [Vec<MaskNode>; 2],
    ) -> usize {
        match at {
            Next::Leaf(from) => {
                self.leaves[leaf] = tree.leaves[from as usize];
                leaf + 1
            }
            Next::Node(node) => {
                let node = &tree.nodes[node as usize];
                let middle = self.walk(tree, node.left, leaf, place, sides);
                if let Test::AtMost(threshold) = node.test {
                    let below = |leaf: usize| ((1u64 << leaf) - 1) as u32;
                    let keep = !(below(middle) & !below(leaf));
                    let side = usize::from(!node.missing_left);
                    sides[side].push(MaskNode { threshold, feature: place(node.feature), keep });
                }
                self.walk(tree, node.right, middle, place, sides)
            }
        }
    }

    /// Adds the values of the first `rows` rows.
    pub(super) fn add(&self, columns: &[Lane], rows: usize, sums: &mut [f64; CHUNK]) {
        if rows <= HALF {
            half(self, columns, sums);
        } else {
            whole(self, columns, sums);
        }
    }
}

/// Rows from which a whole chunk is scored.
const HALF: usize = 8;

vectorised! {
    fn whole(tree: &MaskTree, columns: &[Lane], sums: &mut [f64; CHUNK]) {
        add::<CHUNK>(tree, columns, sums);
    }
}

vectorised! {
    fn half(tree: &MaskTree, columns: &[Lane], sums: &mut [f64; CHUNK]) {
        add::<HALF>(tree, columns, sums);
    }
}

#[inline(always)]
#[allow(clippy::inline_always)] // must be compiled for the CPU of its caller
#[allow(clippy::neg_cmp_op_on_partial_ord)] // a missing value must fail where it goes right
fn add<const N: usize>(tree: &MaskTree, columns: &[Lane], sums: &mut [f64; CHUNK]) {
    let mut masks = [u32::MAX; N];
    let (left, right) = tree.nodes.split_at(tree.missing_left);
    for node in left {
        let column = &columns[node.feature as usize];
        for (mask, x) in masks.iter_mut().zip(column) {
            *mask &= node.keep | u32::from(*x > node.threshold).wrapping_sub(1);
        }
    }
    for node in right {
        let column = &columns[node.feature as usize];
        for (mask, x) in masks.iter_mut().zip(column) {
            *mask &= node.keep | u32::from(!(*x <= node.threshold)).wrapping_sub(1);
        }
    }
    for (sum, mask) in sums.iter_mut().zip(masks) {
        *sum += tree.leaves[(mask.trailing_zeros() & 31) as usize];
    }
}

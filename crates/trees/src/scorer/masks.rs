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

/// A tree as masks; what its leaves hold is `T`.
#[derive(Clone, Debug)]
pub(super) struct MaskTree<T = f64> {
    /// Nodes that send missing values left, then those that send them right.
    nodes: Vec<MaskNode>,
    missing_left: usize,
    /// From left to right.
    leaves: Box<[T; MOST_LEAVES]>,
}

/// Where to go on in a tree that is laid out as masks.
pub(super) enum Branch<T> {
    Leaf(T),
    Node(usize),
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
        let branch = |next: Next| match next {
            Next::Leaf(leaf) => Branch::Leaf(tree.leaves[leaf as usize]),
            Next::Node(node) => Branch::Node(node as usize),
        };
        let root = if tree.nodes.is_empty() { Next::Leaf(0) } else { Next::Node(0) };
        MaskTree::of(tree, root, &branch, &place)
    }

    /// Adds the values of the first `rows` rows.
    pub(super) fn add(&self, columns: &[Lane], rows: usize, sums: &mut [f64; CHUNK]) {
        // As many rows at once as there are, by 64, 32 or 8.
        match rows {
            0..=8 => first_8(self, columns, sums),
            9..=32 => first_32(self, columns, sums),
            33..=40 => {
                first_32(self, columns, sums);
                fifth_8(self, columns, sums);
            }
            _ => all_64(self, columns, sums),
        }
    }
}

impl<T: Copy + Default> MaskTree<T> {
    /// The part of a tree below `root`, up to what `branch` calls leaves: at most 32 of them.
    pub(super) fn of(
        tree: &Tree,
        root: Next,
        branch: &impl Fn(Next) -> Branch<T>,
        place: &impl Fn(u32) -> u32,
    ) -> MaskTree<T> {
        let leaves = Box::new([T::default(); MOST_LEAVES]);
        let mut laid = MaskTree { nodes: Vec::new(), missing_left: 0, leaves };
        let mut sides = [Vec::new(), Vec::new()];
        laid.lay_out(tree, root, 0, branch, place, &mut sides);
        let [left, right] = sides;
        laid.missing_left = left.len();
        laid.nodes = [left, right].concat();
        laid
    }

    /// Numbers the leaves below `at` from `leaf` on; returns the number behind the last. A tree of 32 leaves is at most
    /// 31 deep.
    fn lay_out(
        &mut self,
        tree: &Tree,
        at: Next,
        leaf: usize,
        branch: &impl Fn(Next) -> Branch<T>,
        place: &impl Fn(u32) -> u32,
        sides: &mut [Vec<MaskNode>; 2],
    ) -> usize {
        match branch(at) {
            Branch::Leaf(value) => {
                self.leaves[leaf] = value;
                leaf + 1
            }
            Branch::Node(node) => {
                let node = &tree.nodes[node];
                let middle = self.lay_out(tree, node.left, leaf, branch, place, sides);
                if let Test::AtMost(threshold) = node.test {
                    let below = |leaf: usize| ((1u64 << leaf) - 1) as u32;
                    let keep = !(below(middle) & !below(leaf));
                    let side = usize::from(!node.missing_left);
                    sides[side].push(MaskNode { threshold, feature: place(node.feature), keep });
                }
                self.lay_out(tree, node.right, middle, branch, place, sides)
            }
        }
    }

    /// What the leaves hold that `N` rows of a chunk, from row `FROM` on, come to.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must be compiled for the CPU of its caller
    pub(super) fn leaves<const FROM: usize, const N: usize>(&self, columns: &[Lane]) -> [T; N] {
        masks::<FROM, N, T>(self, columns).map(|mask| self.leaves[(mask.trailing_zeros() & 31) as usize])
    }
}

vectorised! {
    fn all_64(tree: &MaskTree, columns: &[Lane], sums: &mut [f64; CHUNK]) {
        add::<0, 64>(tree, columns, sums);
    }
}

vectorised! {
    fn first_32(tree: &MaskTree, columns: &[Lane], sums: &mut [f64; CHUNK]) {
        add::<0, 32>(tree, columns, sums);
    }
}

vectorised! {
    fn first_8(tree: &MaskTree, columns: &[Lane], sums: &mut [f64; CHUNK]) {
        add::<0, 8>(tree, columns, sums);
    }
}

vectorised! {
    fn fifth_8(tree: &MaskTree, columns: &[Lane], sums: &mut [f64; CHUNK]) {
        add::<32, 8>(tree, columns, sums);
    }
}

/// Adds the values of `N` rows from row `FROM` on.
#[inline(always)]
#[allow(clippy::inline_always)] // must be compiled for the CPU of its caller
fn add<const FROM: usize, const N: usize>(tree: &MaskTree, columns: &[Lane], sums: &mut [f64; CHUNK]) {
    for (sum, leaf) in sums[FROM..FROM + N].iter_mut().zip(tree.leaves::<FROM, N>(columns)) {
        *sum += leaf;
    }
}

/// For every row the leaves that no failed test took away.
#[inline(always)]
#[allow(clippy::inline_always)] // must be compiled for the CPU of its caller
#[allow(clippy::neg_cmp_op_on_partial_ord)] // a missing value must fail where it goes right
fn masks<const FROM: usize, const N: usize, T>(tree: &MaskTree<T>, columns: &[Lane]) -> [u32; N] {
    let mut masks = [u32::MAX; N];
    let (left, right) = tree.nodes.split_at(tree.missing_left);
    for node in left {
        let column = &columns[node.feature as usize][FROM..FROM + N];
        for (mask, x) in masks.iter_mut().zip(column) {
            *mask &= node.keep | u32::from(*x > node.threshold).wrapping_sub(1);
        }
    }
    for node in right {
        let column = &columns[node.feature as usize][FROM..FROM + N];
        for (mask, x) in masks.iter_mut().zip(column) {
            *mask &= node.keep | u32::from(!(*x <= node.threshold)).wrapping_sub(1);
        }
    }
    masks
}

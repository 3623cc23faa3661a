//! Traversal of a tree over binned rows: scores of validation rows during training.

use rayon::prelude::*;

use crate::binning::{Binned, FeatureBins, TILE};
use crate::tree::{Next, Test, Tree};

/// A tree whose tests are sets of bins.
pub(crate) struct BinnedTree<'a> {
    nodes: Vec<BinnedNode>,
    leaves: &'a [f64],
}

struct BinnedNode {
    word: usize,
    shift: u32,
    left_bins: [u64; 4],
    left: Next,
    right: Next,
}

/// Rows scored by one task.
const BLOCK: usize = 4096;

impl<'a> BinnedTree<'a> {
    /// For a tree whose thresholds are cuts of the bins of `data`.
    pub(crate) fn new(tree: &'a Tree, data: &Binned) -> BinnedTree<'a> {
        let nodes = tree.nodes.iter().map(|node| {
            let slot = data.slot_of(node.feature as usize).map(|slot| &data.slots()[slot]);
            let bins = data.bins().of(node.feature as usize);
            let mut left = [false; 256];
            let mut set = |bin: usize| left[bin] = true;
            match (&node.test, bins) {
                (Test::AtMost(threshold), FeatureBins::Numeric { cuts }) => {
                    // Bin b ends at cut b; the last bin has no end.
                    (0..cuts.len()).filter(|&bin| cuts[bin] <= *threshold).for_each(&mut set);
                    if threshold.is_infinite() && *threshold > 0.0 {
                        set(cuts.len());
                    }
                    if node.missing_left {
                        set(bins.missing() as usize);
                    }
                }
                (Test::In(some), FeatureBins::Categorical { categories }) => {
                    (0..categories.len()).filter(|&bin| some.holds(categories[bin] as f32)).for_each(set);
                }
                _ => unreachable!("a test of the kind of its feature"),
            }
            let by_code = slot.map_or(left, |slot| slot.by_code(&left));
            let mut left_bins = [0u64; 4];
            for code in (0..256).filter(|&code| by_code[code]) {
                left_bins[code / 64] |= 1 << (code % 64);
            }
            let column = slot.map_or(0, |slot| slot.column as usize);
            BinnedNode {
                word: column / TILE,
                shift: 8 * (column % TILE) as u32,
                left_bins,
                left: node.left,
                right: node.right,
            }
        });
        BinnedTree { nodes: nodes.collect(), leaves: &tree.leaves }
    }

    /// Adds the tree's values to one output of all rows.
    pub(crate) fn add(&self, data: &Binned, scores: &mut [f64], output: usize, outputs: usize) {
        let (words, tiles) = (data.words(), data.tiles());
        scores.par_chunks_mut(BLOCK * outputs).enumerate().for_each(|(block, scores)| {
            for (r, score) in scores.iter_mut().skip(output).step_by(outputs).enumerate() {
                let row = block * BLOCK + r;
                *score += self.leaves[self.leaf(&words[row * tiles..(row + 1) * tiles])];
            }
        });
    }

    fn leaf(&self, row: &[u64]) -> usize {
        let mut next = if self.nodes.is_empty() { Next::Leaf(0) } else { Next::Node(0) };
        loop {
            match next {
                Next::Leaf(leaf) => return leaf as usize,
                Next::Node(node) => {
                    let node = &self.nodes[node as usize];
                    let bin = (row[node.word] >> node.shift & 255) as usize;
                    let left = node.left_bins[bin / 64] >> (bin % 64) & 1 == 1;
                    next = if left { node.left } else { node.right };
                }
            }
        }
    }
}

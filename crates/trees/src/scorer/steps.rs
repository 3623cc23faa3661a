/*!
Scoring by steps, for trees of many leaves: 8 rows go down the tree at once, one level at a time.

Siblings stand side by side, so a step is `left + (goes right)`; leaves lead to themselves, so all 8 rows take as many steps as
the deepest of them, and the one branch that depends on the data (all are at their leaves) is taken every fourth step.
*/

use super::{CHUNK, Lane};
use crate::tree::{Next, Test, Tree};

/// A tree as steps.
#[derive(Clone, Debug)]
pub(super) struct StepTree {
    steps: Vec<Step>,
    depth: usize,
    /// The value of each step that is a leaf.
    values: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    threshold: f32,
    feature: u32,
    /// The left child, the right one behind it; for a leaf itself.
    left: u32,
    /// 1 if missing values go right.
    missing_right: u32,
}

/// Rows at once.
const ROWS: usize = 8;
/// Steps between two looks whether all rows have come to a leaf.
const STRIDE: usize = 4;

impl StepTree {
    pub(super) fn new(tree: &Tree, place: impl Fn(u32) -> u32) -> StepTree {
        let root = if tree.nodes.is_empty() { Next::Leaf(0) } else { Next::Node(0) };
        let mut laid = StepTree { steps: Vec::new(), depth: tree.depth(), values: Vec::new() };
        // Breadth first: `order` is the queue, a step's place is its place in it.
        let mut order = vec![root];
        let mut at = 0;
        while at < order.len() {
            let (step, value) = match order[at] {
                // No value is above +∞, and a missing one stays, too.
                Next::Leaf(leaf) => (
                    Step { threshold: f32::INFINITY, feature: 0, left: at as u32, missing_right: 0 },
                    tree.leaves[leaf as usize],
                ),
                Next::Node(node) => {
                    let node = &tree.nodes[node as usize];
                    let left = order.len() as u32;
                    order.extend([node.left, node.right]);
                    let threshold =
                        if let Test::AtMost(threshold) = node.test { threshold } else { f32::INFINITY };
                    let missing_right = u32::from(!node.missing_left);
                    (Step { threshold, feature: place(node.feature), left, missing_right }, 0.0)
                }
            };
            laid.steps.push(step);
            laid.values.push(value);
            at += 1;
        }
        laid
    }

    /// Adds the values of the first `rows` rows.
    pub(super) fn add(&self, columns: &[Lane], rows: usize, sums: &mut [f64; CHUNK]) {
        for first in (0..rows).step_by(ROWS) {
            let mut at = [0u32; ROWS];
            for _ in (0..self.depth).step_by(STRIDE) {
                for _ in 0..STRIDE {
                    for (r, at) in at.iter_mut().enumerate() {
                        let step = &self.steps[*at as usize];
                        let x = columns[step.feature as usize][first + r];
                        let missing_right = u32::from(x.is_nan()) & step.missing_right;
                        *at = step.left + (u32::from(x > step.threshold) | missing_right);
                    }
                }
                // Trees that grow leaf by leaf are much deeper than most of their leaves.
                if at.iter().all(|&at| self.steps[at as usize].left == at) {
                    break;
                }
            }
            for (sum, at) in sums[first..first + ROWS].iter_mut().zip(at) {
                *sum += self.values[at as usize];
            }
        }
    }
}

/*!
Scoring by steps, for trees of many leaves: masks ([`MaskTree`]) for the 31 nodes that most rows come to, then 8 rows at once go
down what is left, one level at a time.

```text
top: the root and, again and again, the child with the most training rows; most rows are at a leaf or near one behind it
below: siblings stand side by side, so a step is `left + (goes right)`; leaves lead to themselves
```

Trees that grow leaf by leaf are much deeper than most of their leaves: rows that are at a leaf behind the top take no step, and
every second step looks whether all 8 are.
*/

use toprank_core::vectorised;

use super::masks::{Branch, MOST_LEAVES, MaskTree};
use super::{CHUNK, Lane};
use crate::tree::{Next, Test, Tree};

/// A tree as masks and steps.
#[derive(Clone, Debug)]
pub(super) struct StepTree {
    /// Its leaves hold the step to begin with.
    top: MaskTree<u32>,
    steps: Vec<Step>,
    /// The value of each step that is a leaf.
    values: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// The key of the threshold; `i32::MAX` for a leaf: no key is above it.
    threshold: i32,
    feature: u32,
    /// The left child, the right one behind it; for a leaf itself.
    left: u32,
    /// Added to keys before they are compared. 1 where missing values go left: their key, the highest, becomes the lowest.
    shift: i32,
}

/// An integer in the order of the values; missing values have the highest.
pub(super) fn key(x: f32) -> i32 {
    let bits = x.to_bits() as i32;
    let key = bits ^ ((bits >> 31) as u32 >> 1) as i32;
    if x.is_nan() { i32::MAX } else { key }
}

/// Rows at once.
const ROWS: usize = 8;
/// Steps between two looks whether all rows have come to a leaf.
const STRIDE: usize = 2;

impl StepTree {
    pub(super) fn new(tree: &Tree, place: impl Fn(u32) -> u32) -> StepTree {
        let root = if tree.nodes.is_empty() { Next::Leaf(0) } else { Next::Node(0) };
        let (inside, ends) = top(tree, root);
        // Breadth first behind the top: `order` is the queue, a step's place is its place in it.
        let mut order = ends.clone();
        let (mut steps, mut values) = (Vec::new(), Vec::new());
        while steps.len() < order.len() {
            let at = steps.len() as u32;
            let (step, value) = match order[steps.len()] {
                Next::Leaf(leaf) => {
                    (Step { threshold: i32::MAX, feature: 0, left: at, shift: 0 }, tree.leaves[leaf as usize])
                }
                Next::Node(node) => {
                    let node = &tree.nodes[node as usize];
                    let left = order.len() as u32;
                    order.extend([node.left, node.right]);
                    let threshold =
                        if let Test::AtMost(threshold) = node.test { threshold } else { f32::INFINITY };
                    let shift = i32::from(node.missing_left);
                    // −0 is no other threshold than 0.
                    let threshold = key(threshold + 0.0) + shift;
                    (Step { threshold, feature: place(node.feature), left, shift }, 0.0)
                }
            };
            steps.push(step);
            values.push(value);
        }
        let branch = |next: Next| match next {
            Next::Node(node) if inside[node as usize] => Branch::Node(node as usize),
            end => Branch::Leaf(ends.iter().position(|&other| other == end).unwrap_or_default() as u32),
        };
        StepTree { top: MaskTree::of(tree, root, &branch, &place), steps, values }
    }

    /// Adds the values of the first `rows` rows.
    pub(super) fn add(&self, columns: &[Lane], keys: &[[i32; CHUNK]], rows: usize, sums: &mut [f64; CHUNK]) {
        let mut at = begin(&self.top, columns);
        let mut moving = [0; CHUNK];
        let mut count = 0;
        for (r, &at) in at[..rows].iter().enumerate() {
            moving[count] = r;
            count += usize::from(self.steps[at as usize].left != at);
        }
        for group in moving[..count].chunks(ROWS) {
            // Fewer than 8: the last one is scored several times.
            let rows: [usize; ROWS] = std::array::from_fn(|r| group[r.min(group.len() - 1)] % CHUNK);
            let mut here = rows.map(|row| at[row]);
            loop {
                for _ in 0..STRIDE {
                    for (here, row) in here.iter_mut().zip(rows) {
                        let step = &self.steps[*here as usize];
                        let key = keys[step.feature as usize][row].wrapping_add(step.shift);
                        *here = step.left + u32::from(key > step.threshold);
                    }
                }
                if here.iter().all(|&here| self.steps[here as usize].left == here) {
                    break;
                }
            }
            for (&row, here) in rows.iter().zip(here) {
                at[row] = here;
            }
        }
        for (sum, at) in sums[..rows].iter_mut().zip(at) {
            *sum += self.values[at as usize];
        }
    }
}

vectorised! {
    fn begin(top: &MaskTree<u32>, columns: &[Lane]) -> [u32; CHUNK] {
        top.leaves::<0, CHUNK>(columns)
    }
}

/// The nodes that most rows come to, as many as masks take, and where one leaves them.
fn top(tree: &Tree, root: Next) -> (Vec<bool>, Vec<Next>) {
    let mut inside = vec![false; tree.nodes.len()];
    let mut ends = vec![root];
    while ends.len() < MOST_LEAVES {
        let rows = |next: &Next| match next {
            Next::Node(node) => Some((tree.nodes[*node as usize].rows, std::cmp::Reverse(*node))),
            Next::Leaf(_) => None,
        };
        let found = ends.iter().enumerate().filter_map(|(i, end)| Some((rows(end)?, i))).max();
        let Some((_, i)) = found else { break };
        let Next::Node(node) = ends[i] else { break };
        inside[node as usize] = true;
        let node = &tree.nodes[node as usize];
        ends.splice(i..=i, [node.left, node.right]);
    }
    (inside, ends)
}

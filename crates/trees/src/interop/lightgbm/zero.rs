//! Nodes of models trained with `zero_as_missing` whose zeros go to the other side than their neighbours.

use super::ZERO;
use crate::interop::unfold::{NodeBudget, unfold};
use crate::tree::{Next, Node, Test, Tree};

/// The largest number below what LightGBM takes for zero.
pub(super) const BELOW_ZERO: f32 = (-ZERO).next_down();

/// A place of the file, or a part of such a node: the side of zero (zero and what is beyond it, seen from the threshold), or
/// the side of the threshold.
#[derive(Clone, Copy)]
enum Part {
    Whole(Next),
    Zero(u32),
    Threshold(u32),
}

/// The tree with three tests in the place of each of these nodes: which side of zero; there, zero or not; on the other side,
/// the threshold. `None` if it exceeds the budget.
pub(super) fn around_zeros(tree: &Tree, around_zero: &[bool], budget: &mut NodeBudget) -> Option<Tree> {
    let leaf = |part| match part {
        Part::Whole(Next::Leaf(leaf)) => Some(tree.leaves[leaf as usize]),
        _ => None,
    };
    let node = |part, next: &mut dyn FnMut(Part) -> Next| {
        let (Part::Whole(Next::Node(at) | Next::Leaf(at)) | Part::Zero(at) | Part::Threshold(at)) = part;
        let node = &tree.nodes[at as usize];
        let children = [Part::Whole(node.left), Part::Whole(node.right)];
        let whole = matches!(part, Part::Whole(_));
        // Missing values count as zero. Zeros that go left stand above the threshold, those that go right below it.
        let (test, missing_left, parts) = match (part, node.missing_left) {
            (Part::Whole(_), true) if around_zero[at as usize] => {
                (Test::AtMost(BELOW_ZERO), false, [Part::Threshold(at), Part::Zero(at)])
            }
            (Part::Whole(_), false) if around_zero[at as usize] => {
                (Test::AtMost(ZERO), true, [Part::Zero(at), Part::Threshold(at)])
            }
            (Part::Zero(_), true) => (Test::AtMost(ZERO), true, children),
            (Part::Zero(_), false) => (Test::AtMost(BELOW_ZERO), false, children),
            (_, missing_left) => (node.test.clone(), missing_left, children),
        };
        let [left, right] = parts.map(next);
        let gain = if whole { node.gain } else { 0.0 };
        Ok::<_, ()>(Node { test, missing_left, left, right, gain, ..node.clone() })
    };
    let members = |node: &Node| if let Test::In(some) = &node.test { some.len() } else { 0 };
    let own = tree.nodes.iter().map(|node| 1 + members(node)).sum();
    unfold(Part::Whole(Next::Node(0)), leaf, node, own, budget).ok().flatten()
}

//! Import of nodes that ours cannot express as one node: such a node becomes several, and its subtrees are repeated.

use crate::tree::{Next, Node, Test, Tree};

/// Nodes and members of sets that import may create beyond those in the file.
pub(crate) struct NodeBudget(usize);

impl Default for NodeBudget {
    fn default() -> NodeBudget {
        NodeBudget(1 << 20)
    }
}

/// The tree below a place of a file, in breadth-first order; `None` if it exceeds the budget.
///
/// `leaf` gives the value of a place that is a leaf; `node` makes a node of another one and is handed a function that
/// turns the places of its children into branches. `own`: nodes and members of sets that the file itself holds.
pub(crate) fn unfold<Place: Copy, Wrong>(
    root: Place,
    leaf: impl Fn(Place) -> Option<f64>,
    mut node: impl FnMut(Place, &mut dyn FnMut(Place) -> Next) -> Result<Node, Wrong>,
    own: usize,
    budget: &mut NodeBudget,
) -> Result<Option<Tree>, Wrong> {
    if let Some(value) = leaf(root) {
        return Ok(Some(Tree::constant(value)));
    }
    let mut tree = Tree::default();
    let mut queue = vec![root];
    let mut cost = 0;
    while let Some(&place) = queue.get(tree.nodes.len()) {
        let mut next = |place: Place| match leaf(place) {
            Some(value) => {
                tree.leaves.push(value);
                Next::Leaf(tree.leaves.len() as u32 - 1)
            }
            None => {
                queue.push(place);
                Next::Node(queue.len() as u32 - 1)
            }
        };
        let node = node(place, &mut next)?;
        cost += 1 + if let Test::In(some) = &node.test { some.len() } else { 0 };
        if cost > own + budget.0 {
            return Ok(None);
        }
        tree.nodes.push(node);
    }
    budget.0 -= cost.saturating_sub(own);
    Ok(Some(tree))
}

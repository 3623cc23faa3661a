//! Trees from tests that ours cannot say in one node: such a node becomes several, and what hangs below it is repeated.

use crate::tree::{Next, Node, Test, Tree};

/// What reading a model may cost beyond what its file holds, in nodes and members of sets.
pub(crate) struct Room(usize);

impl Default for Room {
    fn default() -> Room {
        Room(1 << 20)
    }
}

/// The tree below a place of a file, in order of breadth; `None` if there is no room for it.
///
/// `leaf` gives the value of a place that is a leaf; `node` makes a node of another one and is handed a function that
/// turns the places of its children into branches. `own`: nodes and members of sets that the file itself holds.
pub(crate) fn unfold<Place: Copy, Wrong>(
    root: Place,
    leaf: impl Fn(Place) -> Option<f64>,
    mut node: impl FnMut(Place, &mut dyn FnMut(Place) -> Next) -> Result<Node, Wrong>,
    own: usize,
    room: &mut Room,
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
        if cost > own + room.0 {
            return Ok(None);
        }
        tree.nodes.push(node);
    }
    room.0 -= cost.saturating_sub(own);
    Ok(Some(tree))
}

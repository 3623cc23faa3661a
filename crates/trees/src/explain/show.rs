//! A tree as text.

use std::fmt::Write;

use crate::tree::{Next, Node, Test, Tree};

/// Maximum number of categories that a node lists.
const NAMED: usize = 12;

/// A tree as lines of text: the answer yes leads to the first branch. `name` gives the name of a feature.
///
/// ```
/// use toprank_trees::{Next, Node, Test, Tree, explain::show};
/// let node = Node { rows: 20, gain: 1.5, ..Node::new(0, Test::AtMost(0.5), true, Next::Leaf(0), Next::Leaf(1)) };
/// let tree = Tree { nodes: vec![node], leaves: vec![-1.0, 2.0] };
/// assert_eq!(
///     show(&tree, &|feature| format!("f{feature}")),
///     "f0 ≤ 0.5 or missing?  20 rows, gain 1.5\n├─ yes: -1\n└─ no: 2\n"
/// );
/// ```
pub fn show(tree: &Tree, name: &dyn Fn(usize) -> String) -> String {
    let mut text = String::new();
    let root = if tree.nodes.is_empty() { Next::Leaf(0) } else { Next::Node(0) };
    // A stack of: text before the line, text before its children, what to print.
    let mut open = vec![(String::new(), String::new(), root)];
    while let Some((before, below, next)) = open.pop() {
        text += &before;
        match next {
            Next::Leaf(leaf) => {
                let _ = writeln!(text, "{}", tree.leaves[leaf as usize]);
            }
            Next::Node(place) => {
                let node = &tree.nodes[place as usize];
                let gain = format!("{:.4}", node.gain);
                let gain =
                    if gain.contains('.') { gain.trim_end_matches('0').trim_end_matches('.') } else { &gain };
                let question = question(node, &name(node.feature as usize));
                let _ = writeln!(text, "{question}  {} rows, gain {gain}", node.rows);
                open.push((format!("{below}└─ no: "), format!("{below}   "), node.right));
                open.push((format!("{below}├─ yes: "), format!("{below}│  "), node.left));
            }
        }
    }
    text
}

fn question(node: &Node, name: &str) -> String {
    match &node.test {
        Test::AtMost(threshold) => {
            let missing = if node.missing_left { " or missing" } else { "" };
            format!("{name} ≤ {threshold}{missing}?")
        }
        Test::In(categories) => {
            let some: Vec<String> =
                categories.iter().take(NAMED).map(|category| category.to_string()).collect();
            let more =
                if categories.len() > NAMED { format!(" … ({})", categories.len()) } else { String::new() };
            format!("{name} in {{{}{more}}}?", some.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_hang_below_their_node() {
        let low = Node::new(1, Test::AtMost(2.0), false, Next::Leaf(0), Next::Leaf(1));
        let root = Node::new(0, Test::AtMost(1.0), true, Next::Node(1), Next::Leaf(2));
        let tree = Tree { nodes: vec![root, low], leaves: vec![0.25, 0.5, 0.75] };
        let expected = "\
x0 ≤ 1 or missing?  0 rows, gain 0
├─ yes: x1 ≤ 2?  0 rows, gain 0
│  ├─ yes: 0.25
│  └─ no: 0.5
└─ no: 0.75
";
        assert_eq!(show(&tree, &|feature| format!("x{feature}")), expected);
        assert_eq!(show(&Tree::constant(3.0), &|_| String::new()), "3\n");
    }
}

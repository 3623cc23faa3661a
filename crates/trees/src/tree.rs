//! One tree: tests at its nodes, values at its leaves.

use serde::{Deserialize, Serialize};
use toprank_core::ModelError;

/// A binary tree over rows of features.
///
/// ```
/// use toprank_trees::{Next, Node, Test, Tree};
/// let tree = Tree {
///     nodes: vec![Node::new(1, Test::AtMost(0.5), true, Next::Leaf(0), Next::Leaf(1))],
///     leaves: vec![-1.0, 2.0],
/// };
/// assert_eq!(tree.value(&[9.0, 0.5]), -1.0); // at most: left
/// assert_eq!(tree.value(&[9.0, 0.6]), 2.0);
/// assert_eq!(tree.value(&[9.0, f32::NAN]), -1.0); // missing goes left here
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// Inner nodes; the first is the root, a child stands behind its parent. Empty: the tree is its one leaf.
    pub nodes: Vec<Node>,
    /// What each leaf adds to the score, learning rate included; one more than there are nodes.
    pub leaves: Vec<f64>,
}

/// An inner node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The feature it tests, from 0.
    pub feature: u32,
    /// The test.
    pub test: Test,
    /// Whether missing values go left. With [`Test::In`] they always go right.
    pub missing_left: bool,
    /// Where a row goes if the test holds.
    pub left: Next,
    /// Where it goes if not.
    pub right: Next,
    /// Loss reduction of the split (in the quadratic approximation), before shrinkage.
    pub gain: f64,
    /// Hessian sum of the training rows that reached the node.
    pub hessian: f64,
    /// Number of training rows that reached the node.
    pub rows: u32,
}

impl Node {
    /// A node without statistics.
    pub fn new(feature: u32, test: Test, missing_left: bool, left: Next, right: Next) -> Node {
        Node { feature, test, missing_left, left, right, gain: 0.0, hessian: 0.0, rows: 0 }
    }

    /// True if a row with this value of the feature goes left.
    #[inline]
    pub fn goes_left(&self, value: f32) -> bool {
        match &self.test {
            Test::AtMost(threshold) if value.is_nan() => {
                debug_assert!(!threshold.is_nan(), "a threshold is a number");
                self.missing_left
            }
            Test::AtMost(threshold) => value <= *threshold,
            Test::In(categories) => categories.holds(value),
        }
    }
}

/// The test of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Test {
    /// value ≤ threshold. Features are `f32`, so a threshold of another tool in `f64` loses nothing when it is rounded
    /// down to `f32`.
    AtMost(f32),
    /// The value, its fraction cut off, is one of these categories; what is missing, negative or unknown is not.
    In(Categories),
}

/// A set of categories (integers from 0 on).
///
/// ```
/// let some: toprank_trees::Categories = [2, 70].into_iter().collect();
/// assert!(some.holds(2.0) && some.holds(70.9) && !some.holds(3.0) && !some.holds(f32::NAN) && !some.holds(-2.0));
/// assert_eq!(some.iter().collect::<Vec<_>>(), [2, 70]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Categories {
    /// Ascending, each once.
    members: Vec<u32>,
}

/// The category that a value names: its integer part; `None` if it is missing, negative or beyond 2³².
#[inline]
pub(crate) fn category_of(value: f32) -> Option<u32> {
    // −0.5 has the integer part 0, as in other tools.
    (value > -1.0 && value < 4_294_967_296.0).then_some(value as u32)
}

impl Categories {
    /// True if this value names one of the categories.
    pub fn holds(&self, value: f32) -> bool {
        category_of(value).is_some_and(|category| self.members.binary_search(&category).is_ok())
    }

    /// The categories, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().copied()
    }

    /// Number of categories.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// True if no category is in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl FromIterator<u32> for Categories {
    fn from_iter<I: IntoIterator<Item = u32>>(categories: I) -> Categories {
        let mut members: Vec<u32> = categories.into_iter().collect();
        members.sort_unstable();
        members.dedup();
        Categories { members }
    }
}

/// Where a branch leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Next {
    /// To this inner node.
    Node(u32),
    /// To this leaf.
    Leaf(u32),
}

impl Tree {
    /// A tree of one leaf.
    pub fn constant(value: f64) -> Tree {
        Tree { nodes: Vec::new(), leaves: vec![value] }
    }

    /// The leaf that a row reaches.
    ///
    /// # Panics
    /// If the row has too few features, or the tree does not pass [`Tree::check`].
    pub fn leaf(&self, row: &[f32]) -> usize {
        if self.nodes.is_empty() {
            return 0;
        }
        let mut at = 0;
        loop {
            let node = &self.nodes[at];
            match if node.goes_left(row[node.feature as usize]) { node.left } else { node.right } {
                Next::Node(next) => at = next as usize,
                Next::Leaf(leaf) => return leaf as usize,
            }
        }
    }

    /// What the tree adds to the score of a row.
    ///
    /// # Panics
    /// As [`Tree::leaf`].
    pub fn value(&self, row: &[f32]) -> f64 {
        self.leaves[self.leaf(row)]
    }

    /// Number of nodes on the longest path from the root to a leaf.
    pub fn depth(&self) -> usize {
        let mut depths = vec![1; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            for next in [node.left, node.right] {
                if let Next::Node(child) = next {
                    depths[child as usize] = depths[at] + 1;
                }
            }
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// Checks that every branch leads somewhere, every node and leaf is reached by one branch, children stand behind
    /// their parents, features are below `width`, and thresholds and values are numbers.
    pub fn check(&self, width: usize) -> Result<(), ModelError> {
        let wrong = |what: String, expected: &str| Err(ModelError::new(what, expected));
        if self.leaves.len() != self.nodes.len() + 1 {
            let what = format!("a tree of {} nodes has {} leaves", self.nodes.len(), self.leaves.len());
            return wrong(what, "one leaf more than nodes");
        }
        let mut reached = (vec![false; self.nodes.len()], vec![false; self.leaves.len()]);
        for (at, node) in self.nodes.iter().enumerate() {
            if node.feature as usize >= width {
                return wrong(format!("node {at} tests feature {}", node.feature), "a feature of the data");
            }
            if matches!(node.test, Test::AtMost(threshold) if threshold.is_nan()) {
                return wrong(format!("the threshold of node {at} is not a number"), "a number");
            }
            for next in [node.left, node.right] {
                let (seen, to) = match next {
                    Next::Node(child) if child as usize > at => (&mut reached.0, child),
                    Next::Node(child) => {
                        return wrong(format!("node {at} leads to node {child}"), "a node behind it");
                    }
                    Next::Leaf(leaf) => (&mut reached.1, leaf),
                };
                match seen.get_mut(to as usize) {
                    Some(seen) if !*seen => *seen = true,
                    Some(_) => {
                        return wrong(
                            format!("{next:?} is reached twice"),
                            "one branch to each node and leaf",
                        );
                    }
                    None => {
                        return wrong(format!("node {at} leads to {next:?}"), "a node or leaf of the tree");
                    }
                }
            }
        }
        if let Some(leaf) = self.leaves.iter().position(|value| !value.is_finite()) {
            return wrong(format!("leaf {leaf} holds {}", self.leaves[leaf]), "a finite number");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(left: Next, right: Next) -> Node {
        Node::new(0, Test::AtMost(0.0), false, left, right)
    }

    #[test]
    fn check_finds_what_would_not_end_or_not_exist() {
        let good = Tree {
            nodes: vec![node(Next::Leaf(0), Next::Node(1)), node(Next::Leaf(1), Next::Leaf(2))],
            leaves: vec![0.0; 3],
        };
        assert_eq!(good.check(1), Ok(()));
        assert_eq!(good.depth(), 2);
        assert_eq!(Tree::constant(1.0).check(0), Ok(()));
        assert_eq!(Tree::constant(1.0).depth(), 0);
        assert!(good.check(0).is_err());
        let broken: [fn(&mut Tree); 6] = [
            |tree| tree.nodes[0].right = Next::Node(0),
            |tree| tree.nodes[1].right = Next::Node(1),
            |tree| tree.nodes[1].right = Next::Leaf(0),
            |tree| tree.nodes[1].right = Next::Leaf(3),
            |tree| tree.nodes[1].test = Test::AtMost(f32::NAN),
            |tree| tree.leaves[1] = f64::INFINITY,
        ];
        for (case, damage) in broken.iter().enumerate() {
            let mut tree = good.clone();
            damage(&mut tree);
            assert!(tree.check(1).is_err(), "case {case}");
        }
    }

    #[test]
    fn a_value_equal_to_the_threshold_goes_left_and_its_upper_neighbour_right() {
        for threshold in [0.0f32, 1.0, -3.5, f32::MIN_POSITIVE] {
            let node = Node { test: Test::AtMost(threshold), ..node(Next::Leaf(0), Next::Leaf(1)) };
            assert!(node.goes_left(threshold) && node.goes_left(threshold.next_down()));
            assert!(!node.goes_left(threshold.next_up()) && !node.goes_left(f32::NAN));
        }
        assert!(node(Next::Leaf(0), Next::Leaf(1)).goes_left(-0.0));
    }

    #[test]
    fn categories_are_whole_parts_and_nothing_else() {
        let some: Categories = [0, 3, 3, 16_777_216].into_iter().collect();
        assert_eq!(some.len(), 3);
        for yes in [0.0, -0.0, -0.5, 0.9, 3.7, 16_777_216.0] {
            assert!(some.holds(yes), "{yes}");
        }
        for no in [-1.0, 1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 4_294_967_296.0] {
            assert!(!some.holds(no), "{no}");
        }
    }
}

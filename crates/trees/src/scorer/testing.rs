//! Random trees for tests.

use crate::growth::quantise::mix;
use crate::tree::{Next, Node, Test, Tree};

/// A random tree: leaves are split at random places.
pub(crate) fn tree(leaves: usize, width: u32, categories: bool, seed: u64) -> Tree {
    tree_of(leaves, width, categories, 23, seed)
}

/// The same with thresholds of `levels` kinds.
pub(crate) fn tree_of(leaves: usize, width: u32, categories: bool, levels: u64, seed: u64) -> Tree {
    let random = |i: usize| mix(seed ^ mix(i as u64));
    let mut tree = Tree::constant(0.0);
    let mut from: Vec<Option<(usize, bool)>> = vec![None];
    for split in 0..leaves - 1 {
        let leaf = random(2 * split) as usize % tree.leaves.len();
        let word = random(2 * split + 1);
        let test = if categories && word % 3 == 0 {
            Test::In([1, 2, (word >> 20) as u32 % 9].into_iter().collect())
        } else {
            Test::AtMost(threshold(word >> 8, levels))
        };
        let missing_left = word & 64 > 0 && matches!(test, Test::AtMost(_));
        let right = Next::Leaf(tree.leaves.len() as u32);
        let node = Node::new((word >> 40) as u32 % width, test, missing_left, Next::Leaf(leaf as u32), right);
        if let Some((parent, left)) = from[leaf] {
            let parent: &mut Node = &mut tree.nodes[parent];
            *(if left { &mut parent.left } else { &mut parent.right }) = Next::Node(split as u32);
        }
        tree.nodes.push(node);
        from[leaf] = Some((split, true));
        from.push(Some((split, false)));
        tree.leaves.push(0.0);
    }
    for (leaf, value) in tree.leaves.iter_mut().enumerate() {
        *value = (random(leaf + 99_999) >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    }
    tree
}

fn threshold(word: u64, levels: u64) -> f32 {
    match word % levels {
        23.. => (word % levels) as f32 / levels as f32 * 8.0 - 4.0,
        0 => f32::INFINITY,
        1 => f32::NEG_INFINITY,
        level => level as f32 * 0.5 - 4.0,
    }
}

/*!
Scoring by masks of bytes, for trees of at most 256 leaves: the masks of `masks.rs`, 8 leaves at a time, over codes
([`super::codes`]).

```text
for each 8 leaves: all 8 bits are set; every failed test in whose left subtree some of them are takes these bits away
the first bit that is left in the first byte that has one is the leaf the row comes to
```

Most nodes have a small left subtree and touch one byte only. To make that so, the smaller side of each node counts as the left
one; its test is turned round where that is not the tree's own. A tree of n leaves then takes at most n + ½·n·log₂(n)/8 steps,
however deep it is, each for 64 rows at once.

Source: Lucchese et al., "QuickScorer"; Ye et al., "RapidScorer: fast tree ensemble evaluation by maximizing compactness in
data level parallelization", which keeps the touched bytes of a mask and compares many rows at once.
*/

use toprank_core::vectorised;

use super::CHUNK;
use super::codes::{Coded, CodedTest, Coder, Codes};
use crate::tree::{Next, Test, Tree};

pub(super) const MOST_LEAVES: usize = 256;
/// Leaves of one byte.
const EIGHT: usize = 8;
const MOST_BYTES: usize = MOST_LEAVES / EIGHT;

/// A tree as masks of bytes.
#[derive(Clone, Debug)]
pub(super) struct ByteTree {
    /// In the order of the number of touches: a loop of the same length as the last one is foreseen by the processor.
    bytes: Vec<Byte>,
    /// Byte after byte.
    touches: Vec<Touch>,
    /// From left to right.
    leaves: Box<[f64; MOST_LEAVES]>,
}

#[derive(Clone, Copy, Debug)]
struct Byte {
    /// Its place from the left.
    place: u16,
    touches: u16,
}

/// A node that takes leaves of a byte away if the code of the column is above its own.
#[derive(Clone, Copy, Debug)]
struct Touch {
    column: u16,
    code: i8,
    keep: u8,
}

/// Memory for the masks of a chunk.
#[derive(Clone, Debug)]
pub(super) struct Masks([[u8; CHUNK]; MOST_BYTES]);

impl Default for Masks {
    fn default() -> Masks {
        Masks([[0; CHUNK]; MOST_BYTES])
    }
}

impl ByteTree {
    /// `None` if the tree has too many leaves, tests categories, or there are too many columns.
    pub(super) fn new(tree: &Tree, coder: &Coder) -> Option<ByteTree> {
        if tree.leaves.len() > MOST_LEAVES || coder.places() > 1 << 16 {
            return None;
        }
        let sizes = sizes(tree);
        let mut leaves = Box::new([0.0; MOST_LEAVES]);
        // Tests, and the leaves that are gone if they fail.
        let mut tests: Vec<(CodedTest, usize, usize)> = Vec::with_capacity(tree.nodes.len());
        // What is still to be laid out, with the number of its first leaf.
        let mut open = vec![(if tree.nodes.is_empty() { Next::Leaf(0) } else { Next::Node(0) }, 0)];
        while let Some((next, first)) = open.pop() {
            match next {
                Next::Leaf(leaf) => leaves[first] = tree.leaves[leaf as usize],
                Next::Node(node) => {
                    let node = &tree.nodes[node as usize];
                    let Test::AtMost(threshold) = node.test else { return None };
                    let (left, right) = (size(&sizes, node.left), size(&sizes, node.right));
                    let turned = left > right;
                    let (near, far) = if turned { (node.right, node.left) } else { (node.left, node.right) };
                    let end = first + left.min(right);
                    tests.push((coder.test(node.feature, threshold, node.missing_left, turned), first, end));
                    open.extend([(near, first), (far, end)]);
                }
            }
        }
        let mut bytes: Vec<(usize, Vec<Touch>)> = (0..tree.leaves.len().div_ceil(EIGHT))
            .map(|byte| {
                let bits = |leaf: usize| (1u32 << leaf.saturating_sub(byte * EIGHT).min(EIGHT)) - 1;
                let touch = |&(test, first, end): &(CodedTest, usize, usize)| {
                    let drop = (bits(end) & !bits(first)) as u8;
                    let CodedTest { place, code } = test;
                    (drop != 0).then_some(Touch { column: place as u16, code, keep: !drop })
                };
                (byte, tests.iter().filter_map(touch).collect())
            })
            .collect();
        bytes.sort_by_key(|(_, touches)| touches.len());
        let byte = |(place, touches): &(usize, Vec<Touch>)| Byte {
            place: *place as u16,
            touches: touches.len() as u16,
        };
        Some(ByteTree {
            bytes: bytes.iter().map(byte).collect(),
            touches: bytes.iter().flat_map(|(_, touches)| touches).copied().collect(),
            leaves,
        })
    }

    /// Adds the values of the first `rows` rows of a chunk.
    pub(super) fn add(&self, coded: &Coded, rows: usize, masks: &mut Masks, sums: &mut [f64; CHUNK]) {
        match rows {
            0..=16 => first_16(self, coded, masks, sums),
            17..=32 => first_32(self, coded, masks, sums),
            _ => all_64(self, coded, masks, sums),
        }
    }
}

vectorised! {
    fn all_64(tree: &ByteTree, coded: &Coded, masks: &mut Masks, sums: &mut [f64; CHUNK]) {
        add::<64>(tree, coded, masks, sums);
    }
}

vectorised! {
    fn first_32(tree: &ByteTree, coded: &Coded, masks: &mut Masks, sums: &mut [f64; CHUNK]) {
        add::<32>(tree, coded, masks, sums);
    }
}

vectorised! {
    fn first_16(tree: &ByteTree, coded: &Coded, masks: &mut Masks, sums: &mut [f64; CHUNK]) {
        add::<16>(tree, coded, masks, sums);
    }
}

/// Adds the values of the first `N` rows.
#[inline(always)]
#[allow(clippy::inline_always)] // must be compiled for the CPU of its caller
fn add<const N: usize>(tree: &ByteTree, coded: &Coded, masks: &mut Masks, sums: &mut [f64; CHUNK]) {
    let mut touches = &tree.touches[..];
    for byte in &tree.bytes {
        let (here, rest) = touches.split_at(usize::from(byte.touches));
        touches = rest;
        masks.0[usize::from(byte.place) % MOST_BYTES][..N].copy_from_slice(&left_over::<N>(here, coded));
    }
    let mut found = [0u8; N];
    let mut leaf = [0u8; N];
    for (byte, masks) in masks.0[..tree.bytes.len()].iter().enumerate().rev() {
        let first = (byte * EIGHT) as u8;
        for ((mask, found), leaf) in masks[..N].iter().zip(&mut found).zip(&mut leaf) {
            let none = u8::from(*mask == 0).wrapping_neg();
            *found = *mask | (*found & none);
            *leaf = (*leaf & none) | (first & !none);
        }
    }
    // The place of the lowest bit: by comparisons, which work on many bytes at once.
    for (found, leaf) in found.iter().zip(&mut leaf) {
        let low = found & found.wrapping_neg();
        let bit = |bits: u8, place: u8| u8::from(low & bits == 0).wrapping_sub(1) & place;
        *leaf |= bit(0xAA, 1) | bit(0xCC, 2) | bit(0xF0, 4);
    }
    for (leaf, sum) in leaf.iter().zip(sums) {
        *sum += tree.leaves[usize::from(*leaf)];
    }
}

/// The leaves of a byte that no failed test took away.
#[inline(always)]
#[allow(clippy::inline_always)] // must be compiled for the CPU of its caller
fn left_over<const N: usize>(touches: &[Touch], coded: &Coded) -> [u8; N] {
    let mut masks = [u8::MAX; N];
    for touch in touches {
        let column: &Codes = &coded.columns[usize::from(touch.column) & coded.kept];
        for (mask, code) in masks.iter_mut().zip(&column[..N]) {
            *mask &= touch.keep | u8::from(*code > touch.code).wrapping_sub(1);
        }
    }
    masks
}

/// Number of leaves below each node. A child stands behind its parent.
fn sizes(tree: &Tree) -> Vec<usize> {
    let mut sizes = vec![0; tree.nodes.len()];
    for (at, node) in tree.nodes.iter().enumerate().rev() {
        sizes[at] = size(&sizes, node.left) + size(&sizes, node.right);
    }
    sizes
}

fn size(sizes: &[usize], next: Next) -> usize {
    match next {
        Next::Leaf(_) => 1,
        Next::Node(node) => sizes[node as usize],
    }
}

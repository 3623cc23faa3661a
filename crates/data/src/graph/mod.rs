/*!
Graphs: nodes with names, directed edges, and what walks over them need to know.

```text
edge list ────────────────▶ Graph        one graph: who points at whom (rank)
nodes, edges, judgements ─▶ QueryGraphs  many small graphs, or one shared by many lists, with features (learn)
session log ──────────────▶ QueryGraphs  visits of users, as graphs
```

An edge is identified by its position among the **edges into** its target: `sources[offsets[j]..offsets[j + 1]]` are the nodes
that point at `j`. Walks pull along it; the other direction ([`Graph::outward`]) is computed on first use.

What the lines of a file mean:

- an edge that stands twice is two edges: their weights add up;
- a self loop is an edge like any other;
- a node exists if a line names it; nodes are numbered by their number (names that are all numbers) or in order of
  first appearance.
*/

mod build;
mod edges;
mod mapped;
mod query_graphs;
mod sessions;
mod tables;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::OnceLock;

use rayon::prelude::*;

use crate::error::ReadError;
use crate::group::Interner;

pub use build::GraphTables;
pub use edges::{EdgeOptions, ReadGraph, read_edges};
pub(crate) use edges::{SOURCE as EDGE_SOURCE, TARGET as EDGE_TARGET};
pub use query_graphs::{EdgeFeatures, JudgedNodes, QueryGraphs};
pub use sessions::{SessionOptions, Sessions, read_sessions};
pub use tables::GraphFiles;

/// Maximum number of edges of a graph: edges are counted in 32 bits.
pub const MOST_EDGES: usize = u32::MAX as usize;

/// Names of nodes.
#[derive(Clone, Debug)]
pub enum NodeNames {
    /// Every name is an integer; ascending.
    Numbers(Vec<u32>),
    /// Any text.
    Strings(Box<Interner>),
}

impl Default for NodeNames {
    fn default() -> NodeNames {
        NodeNames::Numbers(Vec::new())
    }
}

impl NodeNames {
    /// The names 0, 1, … n − 1.
    pub fn count(n: usize) -> NodeNames {
        NodeNames::Numbers((0..n as u32).collect())
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        match self {
            NodeNames::Numbers(numbers) => numbers.len(),
            NodeNames::Strings(words) => words.len(),
        }
    }

    /// True if there is no name.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name of node `i`.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn get(&self, i: usize) -> Cow<'_, str> {
        match self {
            NodeNames::Numbers(numbers) => numbers[i].to_string().into(),
            NodeNames::Strings(words) => words.names().get(i).into(),
        }
    }

    /// The node of this name.
    pub fn find(&self, name: &str) -> Option<u32> {
        match self {
            NodeNames::Numbers(numbers) => {
                let number: u32 = name.parse().ok()?;
                numbers.binary_search(&number).ok().map(|node| node as u32)
            }
            NodeNames::Strings(words) => words.find(name),
        }
    }
}

/// For each node a run of other nodes: compressed sparse rows.
#[derive(Clone, Debug, Default)]
pub struct Adjacency {
    /// `nodes + 1` ascending positions, the first 0.
    pub offsets: Vec<u32>,
    ends: Column,
}

/// A column of 4-byte numbers, in memory or in a memory-mapped file.
#[derive(Clone, Debug)]
enum Column {
    Own(Vec<u32>),
    Mapped(mapped::MappedColumn),
}

impl Default for Column {
    fn default() -> Column {
        Column::Own(Vec::new())
    }
}

/// Some numbers of a column: as they are in memory, or as little-endian bytes of a memory-mapped file. Loops over either
/// compile to the same loads.
#[derive(Clone, Copy, Debug)]
pub enum Ends<'a> {
    /// In memory.
    Own(&'a [u32]),
    /// In a file.
    Mapped(&'a [[u8; 4]]),
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Column::Own(values) => values.len(),
            Column::Mapped(words) => words.all().len(),
        }
    }

    fn slice(&self, range: std::ops::Range<usize>) -> Ends<'_> {
        match self {
            Column::Own(values) => Ends::Own(&values[range]),
            Column::Mapped(words) => Ends::Mapped(&words.all()[range]),
        }
    }
}

impl Ends<'_> {
    /// Calls `see` with each number, in order.
    #[inline]
    pub fn for_each(self, mut see: impl FnMut(u32)) {
        match self {
            Ends::Own(values) => values.iter().for_each(|&value| see(value)),
            Ends::Mapped(bytes) => bytes.iter().for_each(|bytes| see(u32::from_le_bytes(*bytes))),
        }
    }
}

impl Adjacency {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Positions of the edges of node `i`.
    #[inline]
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.offsets[i] as usize..self.offsets[i + 1] as usize
    }

    /// The other end of the edge at a position.
    #[inline]
    pub fn end(&self, place: usize) -> u32 {
        match &self.ends {
            Column::Own(values) => values[place],
            Column::Mapped(words) => u32::from_le_bytes(words.all()[place]),
        }
    }

    /// The other ends of the edges at these positions.
    #[inline]
    pub fn ends(&self, places: std::ops::Range<usize>) -> Ends<'_> {
        self.ends.slice(places)
    }

    /// The other ends of the edges of node `i`, copied.
    pub fn of(&self, i: usize) -> Vec<u32> {
        let mut all = Vec::with_capacity(self.range(i).len());
        self.ends(self.range(i)).for_each(|end| all.push(end));
        all
    }

    /// Rows out of their parts.
    ///
    /// # Panics
    /// If the offsets do not ascend from 0 to the number of ends.
    pub fn new(offsets: Vec<u32>, ends: Vec<u32>) -> Adjacency {
        let sound = offsets.is_sorted() && offsets.first() == Some(&0);
        assert!(
            sound && offsets.last() == Some(&(ends.len() as u32)),
            "offsets from 0 to the number of ends"
        );
        Adjacency { offsets, ends: Column::Own(ends) }
    }
}

/// The edges out of each node.
#[derive(Clone, Debug, Default)]
pub struct Out {
    /// Targets of the edges of each node, in the order of `places`.
    pub targets: Adjacency,
    /// Position of each of these edges among the edges into their targets, ascending within a node.
    pub places: Vec<u32>,
}

/// A directed graph.
///
/// ```
/// use toprank_data::graph::{Graph, NodeNames};
/// let graph = Graph::new(NodeNames::count(3), &[0, 0, 1], &[1, 2, 2], None).unwrap();
/// assert_eq!(graph.inward().of(2), [0, 1]);
/// assert_eq!(graph.out_degree(), &[2, 1, 0]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Graph {
    names: NodeNames,
    into: Adjacency,
    out_degree: Vec<u32>,
    weights: Option<Vec<f32>>,
    out: OnceLock<Out>,
}

impl Graph {
    /// A graph of edges `sources[e]` → `targets[e]`, with weights ≥ 0 if there are any. Edges into a node keep the
    /// order in which they are given. Cost: two passes over the edges, cut over the threads by target.
    ///
    /// # Errors
    /// If the columns differ in length, a node does not exist, a weight is negative or not finite, or there are more
    /// than [`MOST_EDGES`] edges.
    pub fn new(
        names: NodeNames,
        sources: &[u32],
        targets: &[u32],
        weights: Option<&[f32]>,
    ) -> Result<Graph, ReadError> {
        let wrong = |found: String, expected: &str| ReadError::data("the graph", found, expected);
        let edges = sources.len();
        if targets.len() != edges || weights.is_some_and(|w| w.len() != edges) {
            return Err(wrong(
                format!("{edges} sources, {} targets", targets.len()),
                "columns of the same length",
            ));
        }
        if edges > MOST_EDGES {
            return Err(wrong(format!("{edges} edges"), "at most 4294967295"));
        }
        let nodes = names.len();
        let last = last_node(sources, targets) as usize;
        if edges > 0 && last >= nodes {
            return Err(wrong(format!("an edge with node {last}"), &format!("nodes below {nodes}")));
        }
        if let Some(e) = weights.and_then(|w| w.iter().position(|w| !w.is_finite() || *w < 0.0)) {
            let weight = weights.map_or(0.0, |w| w[e]);
            return Err(wrong(format!("edge {e} of weight {weight}"), "finite weights from 0 on"));
        }
        Ok(Graph::of(names, sources, targets, weights, Degrees::count(nodes, sources, targets)))
    }

    /// Of edges whose ends and weights have been checked.
    fn of(
        names: NodeNames,
        sources: &[u32],
        targets: &[u32],
        weights: Option<&[f32]>,
        degrees: Degrees,
    ) -> Graph {
        let offsets = running(&degrees.into);
        let mut ends = vec![0; sources.len()];
        let mut placed = weights.map(|_| vec![0.0; sources.len()]);
        place(&offsets, sources, targets, weights, &mut ends, placed.as_deref_mut());
        let into = Adjacency::new(offsets, ends);
        Graph { names, into, out_degree: degrees.out_of, weights: placed, out: OnceLock::new() }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.names.len()
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.into.ends.len()
    }

    /// Names of the nodes.
    pub fn names(&self) -> &NodeNames {
        &self.names
    }

    /// The sources of the edges into each node.
    pub fn inward(&self) -> &Adjacency {
        &self.into
    }

    /// Number of edges out of each node.
    pub fn out_degree(&self) -> &[u32] {
        &self.out_degree
    }

    /// Weights of the edges, in the order of [`Graph::inward`].
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// The same graph with other weights, in the order of [`Graph::inward`].
    #[must_use]
    pub fn with_weights(mut self, weights: Option<Vec<f32>>) -> Graph {
        self.weights = weights;
        self
    }

    /// The edges out of each node; made by the first call and kept: 8 bytes an edge.
    pub fn outward(&self) -> &Out {
        self.out.get_or_init(|| {
            let mut next = running(&self.out_degree);
            let offsets = next.clone();
            let mut ends = vec![0; self.edges()];
            let mut places = vec![0; self.edges()];
            for target in 0..self.nodes() {
                for edge in self.into.range(target) {
                    let at = &mut next[self.into.end(edge) as usize];
                    ends[*at as usize] = target as u32;
                    places[*at as usize] = edge as u32;
                    *at += 1;
                }
            }
            Out { targets: Adjacency::new(offsets, ends), places }
        })
    }

    /// Bytes held in memory, names aside.
    pub fn bytes(&self) -> usize {
        let adjacency = |a: &Adjacency| (a.offsets.len() + a.ends.len()) * 4;
        let out = self.out.get().map_or(0, |out| adjacency(&out.targets) + out.places.len() * 4);
        adjacency(&self.into)
            + out
            + self.out_degree.len() * 4
            + self.weights.as_ref().map_or(0, |w| w.len() * 4)
    }
}

/// The largest number of a node, 0 if there is no edge.
fn last_node(sources: &[u32], targets: &[u32]) -> u32 {
    let most = |ends: &[u32]| ends.par_iter().copied().max().unwrap_or(0);
    most(sources).max(most(targets))
}

/// Edges into and out of each node.
struct Degrees {
    into: Vec<u32>,
    out_of: Vec<u32>,
}

impl Degrees {
    fn count(nodes: usize, sources: &[u32], targets: &[u32]) -> Degrees {
        let (into, out_of) = rayon::join(|| count(nodes, targets), || count(nodes, sources));
        Degrees { into, out_of }
    }
}

fn count(nodes: usize, ends: &[u32]) -> Vec<u32> {
    let mut counts = vec![0u32; nodes];
    for &node in ends {
        counts[node as usize] += 1;
    }
    counts
}

/// Counts as positions: `n + 1` of them, the first 0.
fn running(counts: &[u32]) -> Vec<u32> {
    let mut sum = 0;
    let mut offsets = Vec::with_capacity(counts.len() + 1);
    offsets.push(0);
    offsets.extend(counts.iter().map(|count| {
        sum += count;
        sum
    }));
    offsets
}

/// Most parts into which nodes are cut for placing: each looks at all edges and writes those into its own nodes.
const PARTS: usize = 4;
/// Edges looked at before some are placed.
const BLOCK: usize = 1024;

/// Puts every edge among those into its target. Each part fills its own stretch, so the result does not depend on
/// threads.
fn place(
    offsets: &[u32],
    sources: &[u32],
    targets: &[u32],
    weights: Option<&[f32]>,
    ends: &mut [u32],
    placed: Option<&mut [f32]>,
) {
    let parts = if sources.len() < 1 << 16 { 1 } else { rayon::current_num_threads().min(PARTS) };
    let mut cuts: Vec<usize> = (0..parts)
        .map(|part| offsets.partition_point(|&offset| (offset as usize) < sources.len() * part / parts))
        .collect();
    cuts[0] = 0;
    cuts.push(offsets.len() - 1);
    let mut jobs = Vec::with_capacity(parts);
    let (mut ends, mut placed) = (ends, placed);
    for cut in cuts.windows(2) {
        let (from, to) = (cut[0], cut[1].max(cut[0]));
        let length = (offsets[to] - offsets[from]) as usize;
        let (own, rest) = ends.split_at_mut(length);
        ends = rest;
        let own_weights = match placed.take() {
            None => None,
            Some(all) => {
                let (own, rest) = all.split_at_mut(length);
                placed = Some(rest);
                Some(own)
            }
        };
        jobs.push((from..to, own, own_weights));
    }
    jobs.into_par_iter().for_each(|(nodes, ends, mut placed)| {
        let base = offsets[nodes.start];
        let mut next: Vec<u32> = offsets[nodes.clone()].iter().map(|offset| offset - base).collect();
        let (first, width) = (nodes.start as u32, nodes.len() as u32);
        let mut own = [0u32; BLOCK];
        for (block, targets_of) in targets.chunks(BLOCK).enumerate() {
            // No branch depends on the target: every edge is noted, and only those into own nodes move the end on.
            let mut count = 0;
            for (edge, target) in targets_of.iter().enumerate() {
                own[count] = edge as u32;
                count += usize::from(target.wrapping_sub(first) < width);
            }
            for &edge in &own[..count] {
                let edge = block * BLOCK + edge as usize;
                let at = &mut next[(targets[edge] - first) as usize];
                ends[*at as usize] = sources[edge];
                if let (Some(placed), Some(weights)) = (&mut placed, weights) {
                    placed[*at as usize] = weights[edge];
                }
                *at += 1;
            }
        }
    });
}

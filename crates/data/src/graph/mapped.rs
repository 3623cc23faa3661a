/*!
Graphs that are memory-mapped instead of read: built once, checked when they are opened, and not copied.

```text
head     64 bytes: mark, version, whether there are weights, nodes, edges, bytes of names
columns  each at a multiple of 64 bytes: offsets (u32, nodes + 1), out-degrees (u32), ends (u32, edges), weights (f32)
names    one line each; none where the names are 0, 1, 2, …
sums     xxh3 of every 256 KiB behind the head, and xxh3 of the head and these sums
```

Offsets, degrees, weights and names are read into memory; the ends, which are most of a large graph, stay in the file.
[`Graph::open`] compares every byte with its checksum, every end with the number of nodes, and every out-degree with the
edges. **While a file is memory-mapped it must not be changed or shortened**: the operating system would end the process.
[`Graph::recheck`] finds a change between two uses.
*/

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use memmap2::Mmap;
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::{Adjacency, Column, Graph, MOST_EDGES, NodeNames};
use crate::checksums::{BLOCK, BlockSums, Watched, matches};
use crate::error::ReadError;
use crate::group::Interner;
use crate::sink;

/// How every file starts.
pub(crate) const MARK: &[u8; 16] = b"\x89toprank-graph\n\x1a";
const VERSION: u32 = 2;
const HEAD: usize = 64;

/// A file that is memory-mapped, and the checksums of its blocks.
struct Mapping {
    map: Mmap,
    watched: Watched,
    blocks: Vec<(Range<usize>, u64)>,
}

/// Numbers of 4 bytes in a mapped file.
#[derive(Clone)]
pub(super) struct MappedColumn {
    file: Arc<Mapping>,
    range: Range<usize>,
}

impl std::fmt::Debug for MappedColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "MappedColumn({:?})", self.range)
    }
}

impl MappedColumn {
    #[inline]
    pub(super) fn all(&self) -> &[[u8; 4]] {
        self.file.map[self.range.clone()].as_chunks().0
    }
}

/// The next multiple of 64.
fn aligned(at: usize) -> usize {
    at.next_multiple_of(64)
}

/// Where the columns are.
struct Layout {
    offsets: Range<usize>,
    degrees: Range<usize>,
    ends: Range<usize>,
    weights: Range<usize>,
    names: Range<usize>,
    sums: Range<usize>,
}

impl Layout {
    /// Numbers of nodes and edges are below 2³², so that nothing overflows.
    fn new(nodes: usize, edges: usize, weighted: bool, names: usize) -> Layout {
        let mut at = HEAD;
        let mut next = |bytes: usize| {
            let start = aligned(at);
            at = start + bytes;
            start..at
        };
        let (offsets, degrees, ends) = (next(4 * (nodes + 1)), next(4 * nodes), next(4 * edges));
        let (weights, names) = (next(if weighted { 4 * edges } else { 0 }), next(names));
        let sums = next(0).start;
        let blocks = (sums - HEAD).div_ceil(BLOCK);
        Layout { offsets, degrees, ends, weights, names, sums: sums..sums + 8 * blocks }
    }

    /// Bytes of the whole file.
    fn end(&self) -> usize {
        self.sums.end + 8
    }

    /// The blocks under one checksum each.
    fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let end = self.sums.start;
        (HEAD..end).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(end))
    }
}

impl Graph {
    /// Writes the graph as a file that [`super::read_edges`] and [`Graph::open`] memory-map.
    ///
    /// # Errors
    /// If it cannot be written, or a name holds a line end.
    pub fn save(&self, path: &Path) -> Result<(), ReadError> {
        let plain = matches!(&self.names, NodeNames::Numbers(numbers) if numbers.iter().copied().eq(0..numbers.len() as u32));
        let mut names = String::new();
        for i in 0..if plain { 0 } else { self.nodes() } {
            let name = self.names.get(i);
            if name.contains('\n') {
                return Err(ReadError::data(
                    "the graph",
                    format!("the name {name:?}"),
                    "names without line ends",
                ));
            }
            names += &name;
            names.push('\n');
        }
        let layout = Layout::new(self.nodes(), self.edges(), self.weights.is_some(), names.len());
        let mut head = MARK.to_vec();
        head.extend(VERSION.to_le_bytes());
        head.extend(u32::from(self.weights.is_some()).to_le_bytes());
        for number in [self.nodes() as u64, self.edges() as u64, names.len() as u64] {
            head.extend(number.to_le_bytes());
        }
        head.resize(HEAD, 0);
        sink::write_file(path, |out| {
            out.write_all(&head)?;
            let mut sums = BlockSums::default();
            let mut at = HEAD;
            let mut buffer: Vec<u8> = Vec::new();
            let mut column = |place: Range<usize>, fill: &mut dyn FnMut(&mut Vec<u8>, usize) -> bool| {
                buffer.clear();
                buffer.resize(place.start - at, 0);
                for block in 0.. {
                    let more = fill(&mut buffer, block);
                    sums.update(&buffer);
                    out.write_all(&buffer)?;
                    buffer.clear();
                    if !more {
                        break;
                    }
                }
                at = place.end;
                Ok::<(), io::Error>(())
            };
            column(layout.offsets, &mut |bytes, block| numbers(&self.into.offsets, bytes, block))?;
            column(layout.degrees, &mut |bytes, block| numbers(&self.out_degree, bytes, block))?;
            column(layout.ends, &mut |bytes, block| {
                let range = cut(self.edges(), block);
                let more = !range.is_empty();
                self.into.ends(range).for_each(|end| bytes.extend(end.to_le_bytes()));
                more
            })?;
            column(layout.weights, &mut |bytes, block| {
                let weights = self.weights.as_deref().unwrap_or_default();
                let range = cut(weights.len(), block);
                let more = !range.is_empty();
                weights[range].iter().for_each(|weight| bytes.extend(weight.to_le_bytes()));
                more
            })?;
            column(layout.names, &mut |bytes, _| {
                bytes.extend(names.as_bytes());
                false
            })?;
            column(layout.sums.start..layout.sums.start, &mut |_, _| false)?;
            sums.close();
            let sums: Vec<u8> = sums.closed().iter().flat_map(|sum| sum.to_le_bytes()).collect();
            out.write_all(&sums)?;
            out.write_all(&xxh3_64(&[head, sums].concat()).to_le_bytes())
        })
    }

    /// Memory-maps a file that [`Graph::save`] wrote, and checks all of it. Cost: one pass over the file, over all threads;
    /// 16 bytes of memory a node, beside names and weights.
    ///
    /// # Errors
    /// If it is no such file, or one that is damaged or inconsistent.
    pub fn open(path: &Path) -> Result<Graph, ReadError> {
        let file = path.display().to_string();
        let io = |e: &io::Error| ReadError::io(&file, e);
        let damaged = |found: String| {
            ReadError::data(&file, found, "a whole and undamaged graph file").advice(
                "Copy it again, or write it again with `toprank pagerank rank --edges EDGES --save FILE`.",
            )
        };
        let opened = std::fs::File::open(path).map_err(|e| io(&e))?;
        let about = opened.metadata().map_err(|e| io(&e))?;
        if !about.is_file() || about.len() < HEAD as u64 {
            return Err(damaged(format!("{} bytes", about.len())));
        }
        // SAFETY: the map is only read, and as bytes, for which every pattern is valid; everything derived from them is
        // checked against bounds. What remains is that another process changes or shortens the file while it is
        // mapped, which the caller is told not to do; our own writer replaces files by renaming.
        let map = unsafe { Mmap::map(&opened) }.map_err(|e| io(&e))?;
        let number = |at: usize| u64_at(&map, at) as usize;
        let small = |at: usize| number(at) as u32;
        if !map.starts_with(MARK) {
            return Err(damaged("another start".into()));
        }
        if small(16) != VERSION {
            return Err(damaged(format!("version {} of the format, not {VERSION}", small(16))));
        }
        let (nodes, edges, weighted, text) = (number(24), number(32), small(20), number(40));
        if nodes >= MOST_EDGES || edges > MOST_EDGES || text > map.len() || weighted > 1 {
            return Err(damaged(format!("{nodes} nodes, {edges} edges")));
        }
        let weighted = weighted == 1;
        let layout = Layout::new(nodes, edges, weighted, text);
        if map.len() != layout.end() {
            return Err(damaged(format!("{} bytes, {} by its head", map.len(), layout.end())));
        }
        let sums = &map[layout.sums.clone()];
        if !matches(&[&map[..HEAD], sums].concat(), u64_at(&map, layout.sums.end)) {
            return Err(damaged("a head and checksums that do not match their checksum".into()));
        }
        let sums = sums.as_chunks().0.iter().map(|sum| u64::from_le_bytes(*sum));
        let blocks: Vec<(Range<usize>, u64)> = layout.blocks().zip(sums).collect();
        let wrong = blocks.par_iter().find_first(|(range, sum)| !matches(&map[range.clone()], *sum));
        if let Some((Range { start, end }, _)) = wrong {
            return Err(damaged(format!("bytes {start} to {end} that do not match their checksum")));
        }
        let read = |place: &Range<usize>| -> Vec<u32> {
            map[place.clone()].as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
        };
        let offsets = read(&layout.offsets);
        let out_degree = read(&layout.degrees);
        if !offsets.is_sorted() || offsets[0] != 0 || offsets[nodes] as usize != edges {
            return Err(damaged("offsets that do not ascend to the number of edges".into()));
        }
        let names = if text == 0 {
            NodeNames::count(nodes)
        } else {
            let mut words = Interner::default();
            let all = std::str::from_utf8(&map[layout.names.clone()]).map_err(|e| damaged(e.to_string()))?;
            let lines = all.strip_suffix('\n').map(|all| all.split('\n'));
            lines.into_iter().flatten().for_each(|name| {
                words.number(name);
            });
            if words.len() != nodes {
                return Err(damaged(format!("{} names for {nodes} nodes", words.len())));
            }
            NodeNames::Strings(Box::new(words))
        };
        let weights = weighted.then(|| {
            let bytes = map[layout.weights.clone()].as_chunks().0;
            bytes.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect::<Vec<f32>>()
        });
        if weights.iter().flatten().any(|weight| !weight.is_finite() || *weight < 0.0) {
            return Err(damaged("a weight that is negative or not finite".into()));
        }
        // A walk indexes by ends and divides by out-degrees.
        let mut counted = vec![0u32; nodes];
        for end in map[layout.ends.clone()].as_chunks().0 {
            let node = u32::from_le_bytes(*end);
            match counted.get_mut(node as usize) {
                Some(count) => *count += 1,
                None => return Err(damaged(format!("an edge with node {node} of {nodes}"))),
            }
        }
        if let Some(node) = (0..nodes).find(|&node| counted[node] != out_degree[node]) {
            let (stated, counted) = (out_degree[node], counted[node]);
            return Err(damaged(format!("out-degree {stated} of node {node}, which has {counted} edges")));
        }
        let mapping = Mapping { map, watched: Watched::new(&file, opened, &about), blocks };
        let ends = Column::Mapped(MappedColumn { file: Arc::new(mapping), range: layout.ends });
        let into = Adjacency { offsets, ends };
        Ok(Graph { names, into, out_degree, weights, out: OnceLock::new() })
    }

    /// Compares a memory-mapped file with what it was when it was opened: its size, the time of its last change, and some
    /// of its checksums, all of them if the time is another one. A graph in memory does not change.
    ///
    /// # Errors
    /// If another process has changed or shortened it: what was computed since it was opened cannot be relied on.
    pub fn recheck(&self) -> Result<(), ReadError> {
        let Column::Mapped(ends) = &self.into.ends else { return Ok(()) };
        ends.file.watched.recheck(&ends.file.blocks)
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Numbers written at a time.
const NUMBERS: usize = 1 << 16;

fn cut(length: usize, block: usize) -> Range<usize> {
    (block * NUMBERS).min(length)..((block + 1) * NUMBERS).min(length)
}

fn numbers(values: &[u32], bytes: &mut Vec<u8>, block: usize) -> bool {
    let range = cut(values.len(), block);
    let more = !range.is_empty();
    values[range].iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    more
}

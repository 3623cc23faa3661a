/*!
Graphs that are mapped instead of read: built once, opened in milliseconds, pages come in as walks touch them.

```text
head     64 bytes: mark, version, nodes, edges, whether there are weights, bytes of names, xxh3 of all that follows
columns  each at a multiple of 64 bytes: offsets (u32, nodes + 1), out-degrees (u32), ends (u32, edges), weights (f32)
names    one line each; none where the names are 0, 1, 2, …
```

Offsets, degrees, weights and names are read into memory; the ends, which are most of a large graph, stay in the file.
**While a file is mapped it must not be changed or shortened**: the system would end the process. [`Graph::verify`]
compares everything with its sum.
*/

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use memmap2::Mmap;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::{Adjacency, Column, Graph, MOST_EDGES, NodeNames};
use crate::error::ReadError;
use crate::group::Interner;
use crate::sink;

/// How every file starts.
pub(crate) const MARK: &[u8; 16] = b"\x89toprank-graph\n\x1a";
const VERSION: u32 = 1;
const HEAD: usize = 64;

/// Numbers of 4 bytes in a mapped file.
#[derive(Clone)]
pub(super) struct MappedColumn {
    map: Arc<Mmap>,
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
        self.map[self.range.clone()].as_chunks().0
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
}

impl Layout {
    fn new(nodes: usize, edges: usize, weighted: bool, names: usize) -> Layout {
        let mut at = HEAD;
        let mut next = |bytes: usize| {
            let start = aligned(at);
            at = start + bytes;
            start..at
        };
        Layout {
            offsets: next(4 * (nodes + 1)),
            degrees: next(4 * nodes),
            ends: next(4 * edges),
            weights: next(if weighted { 4 * edges } else { 0 }),
            names: next(names),
        }
    }
}

impl Graph {
    /// Writes the graph as a file that [`super::read_edges`] and [`Graph::open`] map.
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
        let columns = |out: &mut dyn FnMut(&[u8]) -> std::io::Result<()>| -> std::io::Result<()> {
            let mut at = HEAD;
            let mut buffer: Vec<u8> = Vec::new();
            let mut column = |place: &Range<usize>, fill: &mut dyn FnMut(&mut Vec<u8>, usize) -> bool| {
                buffer.clear();
                buffer.resize(place.start - at, 0);
                let mut block = 0;
                while fill(&mut buffer, block) {
                    out(&buffer)?;
                    buffer.clear();
                    block += 1;
                }
                out(&buffer)?;
                at = place.end;
                Ok::<(), std::io::Error>(())
            };
            column(&layout.offsets, &mut |bytes, block| numbers(&self.into.offsets, bytes, block))?;
            column(&layout.degrees, &mut |bytes, block| numbers(&self.out_degree, bytes, block))?;
            column(&layout.ends, &mut |bytes, block| {
                let range = cut(self.edges(), block);
                let more = !range.is_empty();
                self.into.ends(range).for_each(|end| bytes.extend(end.to_le_bytes()));
                more
            })?;
            column(&layout.weights, &mut |bytes, block| {
                let weights = self.weights.as_deref().unwrap_or_default();
                let range = cut(weights.len(), block);
                let more = !range.is_empty();
                weights[range].iter().for_each(|weight| bytes.extend(weight.to_le_bytes()));
                more
            })?;
            column(&layout.names, &mut |bytes, block| {
                bytes.extend(if block == 0 { names.as_bytes() } else { &[] });
                block == 0 && !names.is_empty()
            })
        };
        let mut sum = Xxh3::new();
        columns(&mut |bytes| {
            sum.update(bytes);
            Ok(())
        })
        .map_err(|e| ReadError::io("the graph", &e))?;
        let mut head = MARK.to_vec();
        head.extend(VERSION.to_le_bytes());
        head.extend(u32::from(self.weights.is_some()).to_le_bytes());
        for number in [self.nodes() as u64, self.edges() as u64, names.len() as u64, sum.digest()] {
            head.extend(number.to_le_bytes());
        }
        head.resize(HEAD, 0);
        sink::write_file(path, |out| {
            out.write_all(&head)?;
            columns(&mut |bytes| out.write_all(bytes))
        })
    }

    /// Maps a file that [`Graph::save`] wrote. Cost: 12 bytes of memory a node, beside names and weights.
    ///
    /// # Errors
    /// If it is no such file, or one that is not whole.
    pub fn open(path: &Path) -> Result<Graph, ReadError> {
        let file = path.display().to_string();
        let io = |e: &std::io::Error| ReadError::io(&file, e);
        let damaged = |found: String| ReadError::data(&file, found, "a whole and undamaged graph file");
        let opened = std::fs::File::open(path).map_err(|e| io(&e))?;
        if !opened.metadata().is_ok_and(|about| about.is_file() && about.len() >= HEAD as u64) {
            return Err(damaged("no head".into()));
        }
        // SAFETY: the map is only read, and as bytes, for which every pattern is valid; everything derived from them is
        // checked against bounds. What remains is that another process changes or shortens the file while it is
        // mapped, which the caller is told not to do; our own writer replaces files by renaming.
        let map = Arc::new(unsafe { Mmap::map(&opened) }.map_err(|e| io(&e))?);
        let number =
            |at: usize| map[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)) as usize;
        let small = |at: usize| map[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        if !map.starts_with(MARK) || small(16) != VERSION {
            return Err(damaged(format!("another mark or version {}", small(16))));
        }
        let (nodes, edges, weighted, text) = (number(24), number(32), small(20) == 1, number(40));
        if nodes >= MOST_EDGES || edges > MOST_EDGES || text > map.len() {
            return Err(damaged(format!("{nodes} nodes, {edges} edges")));
        }
        let layout = Layout::new(nodes, edges, weighted, text);
        if map.len() != layout.names.end {
            return Err(damaged(format!("{} bytes, {} by its head", map.len(), layout.names.end)));
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
            for name in all.lines() {
                words.number(name);
            }
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
        let ends = Column::Mapped(MappedColumn { map: map.clone(), range: layout.ends.clone() });
        let into = Adjacency { offsets, ends };
        // A walk indexes by ends: none may point outside.
        let mut last = 0;
        into.ends(0..edges).for_each(|end| last = last.max(end));
        if edges > 0 && last as usize >= nodes {
            return Err(damaged(format!("an edge with node {last} of {nodes}")));
        }
        Ok(Graph { names, into, out_degree, weights, out: OnceLock::new() })
    }

    /// Compares a mapped file with its sum; a graph in memory is what it is.
    ///
    /// # Errors
    /// If some byte has changed.
    pub fn verify(path: &Path) -> Result<(), ReadError> {
        let file = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|e| ReadError::io(&file, &e))?;
        let said = bytes.get(48..56).and_then(|sum| sum.first_chunk()).map(|sum| u64::from_le_bytes(*sum));
        if bytes.len() > HEAD && said == Some(xxh3_64(&bytes[HEAD..])) {
            return Ok(());
        }
        Err(ReadError::data(&file, "bytes that do not match their checksum", "an undamaged file"))
    }
}

/// Numbers written at a time.
const BLOCK: usize = 1 << 16;

fn cut(length: usize, block: usize) -> Range<usize> {
    (block * BLOCK).min(length)..((block + 1) * BLOCK).min(length)
}

fn numbers(values: &[u32], bytes: &mut Vec<u8>, block: usize) -> bool {
    let range = cut(values.len(), block);
    let more = !range.is_empty();
    values[range].iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    more
}

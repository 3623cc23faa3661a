/*!
What qrels and runs have in common: queries, the documents of each, one number per document.

```text
queries ──offsets──▶ docs, values          index: query name → query; (query, doc name) → row
```

Gathering (`Gather`) takes rows in file order, brings those of a query together (they rarely are apart) and
refuses a document that a query names twice. Names are kept once, in one text, and never hashed across queries:
the table of one query fits the cache, one table of all documents would not.
*/

use std::ops::Range;

use hashbrown::HashTable;
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::Kind;
use crate::dataset::LineNumbers;
use crate::error::{ReadError, show};
use crate::names::Names;

/// Queries in order of first appearance; the documents of a query in file order.
#[derive(Clone, Debug, Default)]
pub(super) struct Sheet {
    pub queries: Names,
    /// `queries + 1` positions into `docs` and `values`.
    pub offsets: Vec<u64>,
    pub docs: Names,
    pub values: Vec<f64>,
    query_ids: HashTable<u32>,
    index: Index,
}

impl Sheet {
    pub fn range(&self, query: usize) -> Range<usize> {
        self.offsets[query] as usize..self.offsets[query + 1] as usize
    }

    pub fn query(&self, name: &str) -> Option<usize> {
        let same = |&id: &u32| self.queries.get(id as usize) == name;
        self.query_ids.find(xxh3_64(name.as_bytes()), same).map(|&id| id as usize)
    }

    /// The row of document `name` within query `query`; only qrels keep the index.
    pub fn row(&self, query: usize, name: &str) -> Option<usize> {
        let range = self.range(query);
        let table = self.index.table(query);
        let found = match width(range.len()) {
            1 => find::<u8, 1>(table, &range, &self.docs, name),
            2 => find::<u16, 2>(table, &range, &self.docs, name),
            _ => find::<u32, 4>(table, &range, &self.docs, name),
        };
        match found {
            Found::Row(row) => Some(row),
            Found::Free(_) => None,
        }
    }

    /// Query numbers in ascending byte order of their names.
    pub fn sorted_queries(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.queries.len() as u32).collect();
        order.sort_by(|&a, &b| self.queries.get(a as usize).cmp(self.queries.get(b as usize)));
        order
    }
}

/// Equality of short names without a call: eight bytes at a time, the last eight overlapping.
#[inline]
pub(super) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match (a.last_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(last_a), Some(last_b)) => {
            last_a == last_b && a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0).all(|(a, b)| a == b)
        }
        _ => a.iter().zip(b).all(|(a, b)| a == b),
    }
}

/// Most documents of one file: places are `u32`, and one is kept for "no document".
const MOST: usize = u32::MAX as usize - 1;

/// Queries that one task handles at a time; fixed, so that work is cut alike at any thread count.
pub(super) const BLOCK: usize = 64;

/// One open-addressing table per query, at most half full: hash of the document's name → its place in the query.
///
/// Places take 1, 2 or 4 bytes, as many as the query needs: tables that are small stay in the cache.
#[derive(Clone, Debug, Default)]
struct Index {
    /// Where the table of each query starts and ends, in bytes, counted over all blocks.
    offsets: Vec<u64>,
    /// The tables of [`BLOCK`] queries each.
    blocks: Vec<Vec<u8>>,
}

/// Rows `first` and `second` of one query carry the same document name.
#[derive(Clone, Copy)]
struct Twice {
    first: usize,
    second: usize,
}

impl Index {
    fn table(&self, query: usize) -> &[u8] {
        let start = self.offsets[query - query % BLOCK];
        let range = (self.offsets[query] - start) as usize..(self.offsets[query + 1] - start) as usize;
        &self.blocks[query / BLOCK][range]
    }

    /// Builds all tables and finds the first document that stands twice in each query that has one. Runs are
    /// not looked up by name: their tables are only built for the check.
    fn build(rows: &[u64], docs: &Names, kind: Kind) -> (Index, Vec<Twice>) {
        let mut offsets = Vec::with_capacity(rows.len());
        let mut end = 0u64;
        offsets.push(0);
        for range in rows.windows(2) {
            let length = range[1] - range[0];
            if length > 0 {
                end += (2 * length).next_power_of_two() * width(length as usize) as u64;
            }
            offsets.push(end);
        }
        let queries = rows.len() - 1;
        let built: Vec<(Vec<u8>, Vec<Twice>)> = (0..queries.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                let queries = block * BLOCK..((block + 1) * BLOCK).min(queries);
                let bytes = |from: usize, to: usize| (offsets[to] - offsets[from]) as usize;
                let mut tables = vec![u8::MAX; bytes(queries.start, queries.end)];
                let (mut rest, mut twice) = (tables.as_mut_slice(), Vec::new());
                for query in queries {
                    let table = rest.split_off_mut(..bytes(query, query + 1)).unwrap_or_default();
                    let range = rows[query] as usize..rows[query + 1] as usize;
                    twice.extend(match width(range.len()) {
                        1 => fill::<u8, 1>(table, &range, docs),
                        2 => fill::<u16, 2>(table, &range, docs),
                        _ => fill::<u32, 4>(table, &range, docs),
                    });
                }
                (if kind == Kind::Qrels { tables } else { Vec::new() }, twice)
            })
            .collect();
        let (blocks, twice): (_, Vec<Vec<Twice>>) = built.into_iter().unzip();
        (Index { offsets, blocks }, twice.into_iter().flatten().collect())
    }
}

/// Bytes of a place in a query of `rows` documents; all bits set means "no document".
fn width(rows: usize) -> usize {
    match rows {
        0..0xff => 1,
        0xff..0xffff => 2,
        _ => 4,
    }
}

/// A place as it stands in a table.
trait RowNumber<const WIDTH: usize>: Copy + Eq {
    const NONE: Self;
    fn load(bytes: [u8; WIDTH]) -> Self;
    fn store(place: usize) -> [u8; WIDTH];
    fn place(self) -> usize;
}

macro_rules! place {
    ($type:ty, $width:literal) => {
        impl RowNumber<$width> for $type {
            const NONE: Self = <$type>::MAX;

            fn load(bytes: [u8; $width]) -> Self {
                <$type>::from_le_bytes(bytes)
            }

            fn store(place: usize) -> [u8; $width] {
                (place as $type).to_le_bytes()
            }

            fn place(self) -> usize {
                self as usize
            }
        }
    };
}
place!(u8, 1);
place!(u16, 2);
place!(u32, 4);

/// Where a name is in the table of a query.
enum Found {
    /// It is the name of this row.
    Row(usize),
    /// It is not there; this slot would take it.
    Free(usize),
}

/// Looks a name up in the table of a query.
#[inline]
fn find<P: RowNumber<W>, const W: usize>(
    table: &[u8],
    rows: &Range<usize>,
    docs: &Names,
    name: &str,
) -> Found {
    let slots = table.as_chunks::<W>().0;
    let mask = slots.len().wrapping_sub(1);
    let mut slot = xxh3_64(name.as_bytes()) as usize & mask;
    while let Some(&bytes) = slots.get(slot) {
        let place = P::load(bytes);
        if place == P::NONE {
            break;
        }
        let row = rows.start + place.place();
        if same_bytes(docs.get(row).as_bytes(), name.as_bytes()) {
            return Found::Row(row);
        }
        slot = (slot + 1) & mask;
    }
    Found::Free(slot)
}

/// Fills the table of one query; returns its first repeated document.
fn fill<P: RowNumber<W>, const W: usize>(
    table: &mut [u8],
    rows: &Range<usize>,
    docs: &Names,
) -> Option<Twice> {
    let mut twice = None;
    for (place, second) in rows.clone().enumerate() {
        match find::<P, W>(table, rows, docs, docs.get(second)) {
            Found::Free(slot) => table.as_chunks_mut::<W>().0[slot] = P::store(place),
            Found::Row(first) => twice = twice.or(Some(Twice { first, second })),
        }
    }
    twice
}

/// Rows in file order, collected for a [`Sheet`].
#[derive(Default)]
pub(super) struct Gather {
    queries: Names,
    query_ids: HashTable<u32>,
    /// (query, row after its last): neighbours are of different queries.
    segments: Vec<(u32, u64)>,
    docs: Names,
    values: Vec<f64>,
    lines: LineNumbers,
}

/// Rows of one piece of a file, lines counted from 1 at its start.
#[derive(Default)]
pub(super) struct Piece {
    /// Name of the query and number of rows, for each change of query.
    pub queries: Names,
    pub counts: Vec<u32>,
    pub docs: Names,
    pub values: Vec<f64>,
    /// (row, line) wherever the line is not the one after the row before.
    pub jumps: Vec<(u32, u32)>,
    pub lines: u64,
    /// Tag of the last row (runs).
    pub tag: String,
}

impl Piece {
    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.queries.clear();
        self.counts.clear();
        self.docs.clear();
        self.values.clear();
        self.jumps.clear();
        self.lines = 0;
        self.tag.clear();
    }
}

impl Gather {
    /// True if there is no row yet.
    pub fn is_empty(&self) -> bool {
        self.docs.is_empty()
    }

    /// Bytes of all document names.
    #[cfg(feature = "parquet")]
    pub fn text(&self) -> usize {
        self.docs.bytes()
    }

    /// Starts or continues a query; false if the query was already there.
    pub fn query(&mut self, name: &str) -> bool {
        let hash = xxh3_64(name.as_bytes());
        let queries = &mut self.queries;
        let known = self.query_ids.find(hash, |&id| queries.get(id as usize) == name).copied();
        let id = known.unwrap_or_else(|| {
            let id = queries.len() as u32;
            queries.push(name);
            self.query_ids.insert_unique(hash, id, |&id| xxh3_64(queries.get(id as usize).as_bytes()));
            id
        });
        if self.segments.last().is_none_or(|last| last.0 != id) {
            self.segments.push((id, self.docs.len() as u64));
        }
        known.is_none()
    }

    /// Adds a document to the query started last.
    pub fn push(&mut self, doc: &str, value: f64, line: Option<u64>) {
        if let Some(line) = line {
            self.lines.push(self.docs.len(), line);
        }
        self.docs.push(doc);
        self.values.push(value);
        if let Some(last) = self.segments.last_mut() {
            last.1 = self.docs.len() as u64;
        }
    }

    /// Adds the rows of a piece whose first line is the one after `lines_before`.
    pub fn piece(&mut self, piece: &Piece, lines_before: u64) {
        let mut row = self.docs.len() as u64;
        for &(row, line) in &piece.jumps {
            self.lines.push(self.docs.len() + row as usize, lines_before + u64::from(line));
        }
        for (name, &count) in piece.queries.iter().zip(&piece.counts) {
            self.query(name);
            row += u64::from(count);
            if let Some(last) = self.segments.last_mut() {
                last.1 = row;
            }
        }
        self.docs.append(&piece.docs);
        self.values.extend_from_slice(&piece.values);
    }

    /// Groups, indexes and checks.
    pub fn finish(self, file: &str, kind: Kind) -> Result<Sheet, ReadError> {
        let Gather { queries, query_ids, segments, mut docs, mut values, lines } = self;
        if queries.is_empty() {
            return Err(ReadError::data(file, "no query at all", "at least one"));
        }
        if docs.len() > MOST {
            return Err(ReadError::data(file, format!("{} documents", docs.len()), "fewer than 4294967295"));
        }
        let mut offsets = vec![0; queries.len() + 1];
        let mut order = None;
        if segments.len() == queries.len() {
            offsets.iter_mut().skip(1).zip(&segments).for_each(|(end, segment)| *end = segment.1);
        } else {
            let rows = regroup(&segments, &mut offsets);
            let mut grouped = Names::with_capacity(docs.len(), docs.bytes());
            for &row in &rows {
                grouped.push(docs.get(row as usize));
            }
            docs = grouped;
            values = rows.iter().map(|&row| values[row as usize]).collect();
            order = Some(rows);
        }
        let (index, twice) = Index::build(&offsets, &docs, kind);
        let line = |row: usize| lines.of(order.as_ref().map_or(row, |rows| rows[row] as usize));
        if let Some(Twice { first, second }) = twice.into_iter().min_by_key(|twice| line(twice.second)) {
            let query = offsets.partition_point(|&end| end <= first as u64) - 1;
            let (doc, query) = (show(docs.get(first).as_bytes()), show(queries.get(query).as_bytes()));
            let expected = "each document at most once per query";
            return Err(match (line(first), line(second)) {
                (Some(first), Some(second)) => {
                    let found = format!("document {doc} of query {query} again, first on line {first}");
                    ReadError::data(file, found, expected).at_line(second)
                }
                _ => ReadError::data(file, format!("document {doc} twice in query {query}"), expected),
            });
        }
        Ok(Sheet { queries, offsets, docs, values, query_ids, index })
    }
}

/// Fills `offsets` and returns the file row of each grouped row; rows of a query keep their order.
fn regroup(segments: &[(u32, u64)], offsets: &mut [u64]) -> Vec<u32> {
    let ranges = || {
        let starts = std::iter::once(0).chain(segments.iter().map(|segment| segment.1));
        starts.zip(segments).map(|(start, &(query, end))| (query as usize, start..end))
    };
    ranges().for_each(|(query, rows)| offsets[query + 1] += rows.end - rows.start);
    for query in 1..offsets.len() {
        offsets[query] += offsets[query - 1];
    }
    let mut next = offsets.to_vec();
    let mut order = vec![0; offsets[offsets.len() - 1] as usize];
    for (query, rows) in ranges() {
        for row in rows {
            order[next[query] as usize] = row as u32;
            next[query] += 1;
        }
    }
    order
}

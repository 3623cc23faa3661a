/*!
Memory-mapped data files: opened in milliseconds whatever their size, pages are loaded when rows are fetched, so that data
may be larger than memory.

```text
head      64 bytes: mark, version
sections  columns of little-endian numbers and names, each at a multiple of 64 bytes; features first
sums      xxh3 of every 256 KiB of every section
table     JSON: rows, width, form and the place of each section
foot      32 bytes: place and xxh3 of the table, mark of a whole file
```

| section | numbers | what |
|---|---|---|
| `features` | f32, rows × width | dense rows; NaN = missing |
| `cells`, `row_offsets` | (u32, f32); u64, rows + 1 | sparse rows: feature and value of what is not 0 |
| `list_offsets` | u64, lists + 1 | where each list starts and ends among the entries |
| `labels` | f32, entries | NaN = not judged |
| `rows`, `output` | u32, entries; u16, lists | row of each entry and model output of each list, where they are not plain |
| `item_weights`, `list_weights` | f32 | one per entry, one per list |
| `tie_keys`, `missed_offsets`, `missed` | u32; u64; f32 | as in [`Lists`] |
| `columns`, `list_names`, `output_names`, `item_names`, `extra` | `.text` UTF-8, `.ends` u64 | names: one text, and where each ends |
| `level_counts`, `levels` | u64, width; names | 0: a number; n + 1: the feature's next n levels |
| `times`, `positions`, `init_scores`, `lines`, `file_rows` | f64; u32; f64; u64 pairs; u32 | as in [`Dataset`] |

[`MappedDataset::open`] reads and checks lists, labels and the names of lists and features; features, item names and the
rest stay in the file. Each 256 KiB is compared with its sum when it is first used, so damage is found when it matters;
[`MappedDataset::verify`] looks at everything at once. Any command reads such a file as it reads any other.

**While a file is memory-mapped it must not be changed or shortened**: the operating system would end the process. Our own writers
replace files by renaming, which leaves a mapped file as it was. Training compares the file after each epoch with what it was
([`Features::recheck`]): size, time of the last change, and some blocks, all that were used if the time is another one.

```
use toprank_core::Features;
use toprank_data::{MappedDataset, ReadOptions, Source, mapped};
let folder = tempfile::tempdir().unwrap();
let (text, file) = (folder.path().join("big.txt"), folder.path().join("big.toprank-data"));
std::fs::write(&text, "2 qid:a 1:0.5 2:3\n0 qid:a 2:4\n1 qid:b 1:7 2:1\n").unwrap();
let options = ReadOptions { format: Some("letor".into()), ..ReadOptions::default() };
mapped::convert(&Source::path(&text), &options, &file).unwrap();

let data = MappedDataset::open(&file).unwrap();
assert_eq!(data.lists.offsets, [0, 2, 3]);
let mut row = [0.0; 2];
data.features.gather(&[2], &mut row);
assert_eq!(row, [7.0, 1.0]);
data.verify().unwrap();
```
*/

mod features;
mod layout;
mod number;
mod store;
#[cfg(test)]
mod tests;
mod write;

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use toprank_core::{Features, Lists, Ragged};

use crate::dataset::{Column, Dataset, LineNumbers};
use crate::error::ReadError;
use crate::formats::{self, Format, Opened, ReadOptions};
use crate::names::Names;
use crate::sink;
use crate::source::Source;
use crate::transform::{Pipeline, StepConfig, row_wise};
pub use features::Mapped;
pub use layout::VERSION;
use layout::{MARK, damaged};
use store::Store;

/// Memory-mapped data files as a format that every command reads and writes.
pub const FORMAT: Format = Format {
    name: "toprank-data",
    about: "toprank's own data file, memory-mapped, for data larger than memory",
    extensions: &["toprank-data"],
    sniff: |head| head.starts_with(MARK),
    read,
    write: Some(write::write),
    example: include_bytes!("../formats/examples/lists.toprank-data"),
};

/// Maximum number of rows that [`MappedDataset::fit`] reads by default.
pub const FIT_ROWS: usize = 1_000_000;

/// The longest file that is read from a pipe or packed, into memory: 4 GiB.
const MOST_IN_MEMORY: u64 = 4 << 30;

/// Most values (rows × features) of dense data that [`MappedDataset::fit`] holds: 2 GiB.
const FIT_VALUES: usize = 1 << 29;

/// A data set whose features stay in their file.
#[derive(Clone, Debug)]
pub struct MappedDataset {
    /// Labels and weights of every entry, cut into lists.
    pub lists: Lists,
    /// The features, fetched row by row.
    pub features: Mapped,
    /// Names and kinds of the features.
    pub columns: Vec<Column>,
    /// Name of each list.
    pub list_names: Option<Names>,
    /// Name of each model output, if there are several.
    pub output_names: Option<Names>,
    store: Arc<Store>,
}

impl MappedDataset {
    /// Memory-maps a file. Reads and checks its lists, labels and names of lists and features, but no row of features.
    ///
    /// The file must not be changed or shortened while it is mapped. Cost: about 10 bytes of memory an entry.
    pub fn open(path: impl AsRef<Path>) -> Result<MappedDataset, ReadError> {
        MappedDataset::new(Store::open(path.as_ref())?)
    }

    /// The same over bytes in memory, under a name for messages.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<MappedDataset, ReadError> {
        MappedDataset::new(Store::memory(name, bytes)?)
    }

    /// True if the file at `path` starts as a mapped data file does.
    pub fn is_one(path: impl AsRef<Path>) -> bool {
        let mut head = [0; MARK.len()];
        let opened = std::fs::File::open(path).ok().filter(|file| file.metadata().is_ok_and(|m| m.is_file()));
        opened.is_some_and(|mut file| file.read_exact(&mut head).is_ok()) && head == *MARK
    }

    fn new(store: Store) -> Result<MappedDataset, ReadError> {
        let store = Arc::new(store);
        let features = Mapped::new(store.clone())?;
        let lists = lists(&store)?;
        if let Some(row) = lists.rows.iter().flatten().find(|row| **row as usize >= features.rows()) {
            let found = format!("an entry that reads row {row}");
            return Err(damaged(&store.file, found, &format!("rows below {}", features.rows())));
        }
        if lists.rows.is_none() && lists.entries() != features.rows() {
            let found = format!("{} entries of {} rows", lists.entries(), features.rows());
            return Err(damaged(&store.file, found, "one row per entry"));
        }
        Ok(MappedDataset {
            columns: columns(&store, features.width())?,
            list_names: store.names_of("list_names", lists.len())?,
            output_names: output_names(&store, &lists)?,
            lists,
            features,
            store,
        })
    }

    /// Name of the file, for messages.
    pub fn file(&self) -> &str {
        &self.store.file
    }

    /// Names of the items, one per row, read from the file now.
    pub fn item_names(&self) -> Result<Option<Names>, ReadError> {
        self.store.names_of("item_names", self.features.rows())
    }

    /// Reads everything and compares it with its checksums and promises. The error names the section at fault.
    ///
    /// Cost: one pass over the file, in parallel; memory for what is not features.
    pub fn verify(&self) -> Result<(), ReadError> {
        self.store.layout.table.sections.iter().try_for_each(|section| self.store.check(section))?;
        self.features.verify()?;
        self.without_features().map(drop)
    }

    /// Number of blocks that have a checksum, and bytes of the file's sections.
    pub fn extent(&self) -> (usize, u64) {
        let table = &self.store.layout.table;
        (self.store.layout.sums.len(), table.sections.iter().map(|section| section.bytes).sum())
    }

    /// Everything in memory.
    pub fn read(&self) -> Result<Dataset, ReadError> {
        let mut data = self.without_features()?;
        self.features.verify()?;
        data.features = self.features.matrix(0..self.features.rows() as u32)?;
        Ok(data)
    }

    /// At most `most` rows, evenly spaced (row ⌊i·rows/n⌋ for i = 0 … n − 1), in memory as one list without labels.
    pub fn sample(&self, most: usize) -> Result<Dataset, ReadError> {
        let rows = self.features.rows();
        let count = rows.min(most);
        let chosen = (0..count as u32).map(|i| (u64::from(i) * rows as u64 / count as u64) as u32);
        Ok(Dataset {
            lists: Lists::from_lengths(&[count], vec![f32::NAN; count]),
            features: self.features.matrix(chosen)?,
            columns: self.columns.clone(),
            ..Dataset::default()
        })
    }

    /// Fits a pipeline to at most `most` evenly spaced rows (see [`MappedDataset::sample`]; default [`FIT_ROWS`], fewer
    /// where dense rows would take more than 2 GiB). If that is all rows, the result is that of [`Pipeline::fit`].
    ///
    /// Steps that need whole lists (`per-list`) are refused: they cannot be applied row by row.
    pub fn fit(&self, configs: &[StepConfig], most: Option<usize>) -> Result<Pipeline, ReadError> {
        let options = |e: &dyn std::fmt::Display| ReadError::options(&self.store.file, e.to_string(), "");
        let per_list = configs.iter().any(|config| matches!(config, StepConfig::PerList(_)));
        row_wise(per_list).map_err(|e| options(&e))?;
        let held =
            if self.features.is_sparse() { usize::MAX } else { FIT_VALUES / self.features.width().max(1) };
        let most = most.unwrap_or(FIT_ROWS.min(held));
        Pipeline::fit_apply(&mut self.sample(most)?, configs).map_err(|e| options(&e))
    }

    /// Everything but the features, in memory.
    pub fn without_features(&self) -> Result<Dataset, ReadError> {
        let store = &self.store;
        let (rows, entries) = (self.features.rows(), self.lists.entries());
        let lines = store.column("lines")?.unwrap_or_default();
        let data = Dataset {
            lists: self.lists.clone(),
            columns: self.columns.clone(),
            list_names: self.list_names.clone(),
            output_names: self.output_names.clone(),
            item_names: self.item_names()?,
            times: store.column_of("times", entries)?,
            positions: store.column_of("positions", rows)?,
            init_scores: store.column_of("init_scores", rows)?,
            extra: extra(store, rows)?,
            lines: LineNumbers::from_flat(&lines)
                .ok_or_else(|| damaged(&store.file, "section lines that holds no lines", "ascending rows"))?,
            file_rows: store.column_of("file_rows", rows)?,
            ..Dataset::default()
        };
        // Without columns it is the lists and names that count the rows.
        if self.features.width() == 0 && !self.features.is_sparse() && data.rows() != rows {
            let found = format!("{rows} rows without features, of which {} are in use", data.rows());
            return Err(damaged(&store.file, found, "as many rows as items"));
        }
        Ok(data)
    }
}

fn lists(store: &Store) -> Result<Lists, ReadError> {
    let offsets: Vec<u64> = store.column("list_offsets")?.ok_or_else(|| store.lacking("list_offsets"))?;
    let missed = match (store.column("missed_offsets")?, store.column("missed")?) {
        (None, None) => None,
        (offsets, values) => {
            Some(Ragged { offsets: offsets.unwrap_or_default(), values: values.unwrap_or_default() })
        }
    };
    let sound = |missed: &Ragged| {
        missed.offsets.first() == Some(&0)
            && missed.offsets.is_sorted()
            && missed.offsets.last() == Some(&(missed.values.len() as u64))
    };
    if !missed.as_ref().is_none_or(sound) {
        return Err(damaged(&store.file, "section missed_offsets out of order", "ascending numbers"));
    }
    let lists = Lists {
        offsets,
        rows: store.column("rows")?,
        output: store.column("output")?,
        labels: store.column("labels")?.ok_or_else(|| store.lacking("labels"))?,
        item_weights: store.column("item_weights")?,
        list_weights: store.column("list_weights")?,
        tie_keys: store.column("tie_keys")?,
        missed,
        pairs: None,
    };
    match lists.check() {
        Ok(()) => Ok(lists),
        Err(e) => Err(damaged(&store.file, format!("{}: {}", e.what, e.found), &e.expected)),
    }
}

fn columns(store: &Store, width: usize) -> Result<Vec<Column>, ReadError> {
    let names = store.names_of("columns", width)?.ok_or_else(|| store.lacking("columns"))?;
    let mut columns: Vec<Column> =
        names.iter().map(|name| Column { name: name.to_string(), levels: None }).collect();
    let Some(counts) = store.column_of::<u64>("level_counts", width)? else { return Ok(columns) };
    let levels = counts.iter().try_fold(0u64, |sum, count| sum.checked_add(count.saturating_sub(1)));
    let levels = levels.and_then(|levels| usize::try_from(levels).ok()).unwrap_or(usize::MAX);
    let names = store.names_of("levels", levels)?.ok_or_else(|| store.lacking("levels"))?;
    let mut names = names.iter();
    for (column, &count) in columns.iter_mut().zip(&counts).filter(|(_, count)| **count > 0) {
        column.levels = Some(names.by_ref().take(count as usize - 1).collect());
    }
    Ok(columns)
}

fn output_names(store: &Store, lists: &Lists) -> Result<Option<Names>, ReadError> {
    let names = store.names("output_names")?;
    let most = lists.output.iter().flatten().max().map_or(1, |output| usize::from(*output) + 1);
    match names.as_ref().map(Names::len) {
        Some(count) if count < most => {
            Err(damaged(&store.file, format!("{count} names of outputs"), &format!("at least {most}")))
        }
        _ => Ok(names),
    }
}

fn extra(store: &Store, rows: usize) -> Result<Vec<(String, Names)>, ReadError> {
    let called = &store.layout.table.extra;
    if called.is_empty() {
        return Ok(Vec::new());
    }
    let count = rows.saturating_mul(called.len());
    let all = store.names_of("extra", count)?.ok_or_else(|| store.lacking("extra"))?;
    let mut texts = all.iter();
    Ok(called.iter().map(|name| (name.clone(), texts.by_ref().take(rows).collect())).collect())
}

/// Reads a file, plain or packed, into memory.
fn read(source: &Source, _: &ReadOptions) -> Result<Dataset, ReadError> {
    if let Some(path) = source.as_path()
        && MappedDataset::is_one(path)
    {
        return MappedDataset::open(path)?.read();
    }
    let mut bytes = Vec::new();
    let mut input = source.open()?;
    let io = |e: &std::io::Error| ReadError::io(source.name(), e);
    // What is no such file is not read to its end, as it may be endless.
    (&mut input).take(MARK.len() as u64).read_to_end(&mut bytes).map_err(|e| io(&e))?;
    if bytes == MARK {
        input.take(MOST_IN_MEMORY).read_to_end(&mut bytes).map_err(|e| io(&e))?;
        if bytes.len() as u64 >= MOST_IN_MEMORY {
            let found = "a packed or piped toprank-data file of more than 4 GiB";
            return Err(ReadError::data(source.name(), found, "a plain file, which is memory-mapped")
                .advice("Unpack it to a file."));
        }
    }
    MappedDataset::from_bytes(source.name(), bytes)?.read()
}

/// What [`convert`] wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Converted {
    /// Lists.
    pub lists: usize,
    /// Items of all lists together.
    pub entries: usize,
    /// Features of a row.
    pub features: usize,
    /// True if the features never were in memory as a whole.
    pub streamed: bool,
}

/// Writes the data of `source`, in any format, as a mapped data file at `path`, whole or not at all.
///
/// LETOR and LIBSVM files are read twice and never held in memory: about 30 bytes a row are
/// ([`Outline`](formats::letor::Outline)). Other formats,
/// standard input, and files whose rows are regrouped are read into memory first. The bytes written are the same.
pub fn convert(source: &Source, options: &ReadOptions, path: &Path) -> Result<Converted, ReadError> {
    let in_memory = |data: &Dataset| {
        sink::write_file(path, |out| write::write(data, out))?;
        let (lists, entries) = (data.lists.len(), data.lists.entries());
        Ok(Converted { lists, entries, features: data.features.width(), streamed: false })
    };
    let outline = match formats::open(source, options)? {
        Opened::Memory(data) => return in_memory(&data),
        Opened::Mapped(data) => return in_memory(&data.read()?),
        Opened::Text(outline) => outline,
    };
    let mut failure = None;
    let written = sink::write_file(path, |out| {
        let mut writer = write::Writer::new(out, outline.width(), outline.is_sparse())?;
        let walked = outline.each_block(|block| writer.rows(block).map_err(Stopped::Write));
        match walked {
            Ok(()) => writer.finish(outline.data(), outline.rows()),
            Err(Stopped::Write(error)) => Err(error),
            Err(Stopped::Read(error)) => {
                failure = Some(error);
                Err(io::Error::other("the text could not be read again"))
            }
        }
    });
    // The reader's error is more specific than the writer's.
    failure.map_or(written, Err)?;
    let data = outline.data();
    let (lists, entries) = (data.lists.len(), data.lists.entries());
    Ok(Converted { lists, entries, features: outline.width(), streamed: true })
}

/// Why a second pass ended early.
enum Stopped {
    Read(ReadError),
    Write(io::Error),
}

impl From<ReadError> for Stopped {
    fn from(error: ReadError) -> Stopped {
        Stopped::Read(error)
    }
}

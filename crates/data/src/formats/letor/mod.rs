/*!
LETOR, SVMrank and LIBSVM text, and LightGBM's files.

```text
2 qid:10 1:0.5 3:-1e-3 46:NULL # docid = GX000-00 inc = 1 prob = 0.2      pairs
1 0.869 -0.635 0.226                                                      table: label first, no header
```

| what | how it is read |
|---|---|
| label | any finite number; `nan` or `NULL`: not judged. Without lists, labels −1 and +1 only: 0 and 1 |
| `qid:Q` | any text without blanks, the name of the list. Rows of a list stand together, else an error or `regroup` |
| no qid anywhere | lists from `.query` or `.group`, else one list (binary data). Only some rows with a qid: an error |
| `index:value` | columns are called by their number. Any order; an index twice is an error. A file that uses index 0 has a column `0` |
| value `NULL`, `nan`, `NA`, nothing | missing (NaN); infinity is an error |
| index not stated | 0, or missing ([`ReadOptions::absent`]) |
| `# docid = X …` | the item's name is X; any other comment is the name as it stands |
| blank lines, lines that start with `#` | skipped |
| tabs, several blanks, CRLF, byte-order mark, no last newline | accepted |
| no colon in the first row with two fields | a table: fields 1, 2, … after the label, divided by commas, tabs or blanks |

Beside a file `F` (also packed): `F.query`, `F.group` (rows of each list), `F.weight` (one per row, or one per list),
`F.position`, `F.init`.

Speed: the text is cut into pieces of whole lines; while some are parsed in parallel the next are fetched
and unpacked; a finished piece is appended to the matrix and its buffers are used again. Numbers are read by one
cursor that never looks at a byte twice. Peak memory: the data set and about 10 MB.
*/

use rayon::prelude::*;
use toprank_core::Lists;

use self::matrix::{Extent, Gathering, Growing};
use self::number::Number;
use self::rows::{Context, Indices, Rows, Separator, Shape};
use super::{Absent, Format, ReadOptions};
use crate::dataset::{Column, Dataset, LineNumbers};
use crate::error::ReadError;
use crate::group::{Groups, gather};
use crate::names::Names;
use crate::pieces::Pieces;
use crate::source::Source;

mod matrix;
mod number;
mod outline;
mod rows;
mod side;
#[cfg(test)]
mod tests;
mod write;

pub use outline::Outline;

/// LETOR and SVMrank text.
pub const FORMAT: Format = Format {
    name: "letor",
    about: "LETOR / SVMrank text: label qid:Q index:value … # docid = X; LightGBM's tables and side files",
    extensions: &["letor", "svmrank"],
    sniff,
    read,
    write: Some(write::write),
    example: b"2 qid:10 1:0.5 2:3 3:0 # docid = GX000-00 inc = 1 prob = 0.2\n\
        0 qid:10 1:-1e-3 2:NULL 3:7 # docid = GX001-00 inc = 1 prob = 0.1\n\
        1 qid:11 1:0.25 3:2\n",
};

/// LIBSVM text: the same reader under the name of that format.
pub const LIBSVM: Format = Format {
    name: "libsvm",
    about: "LIBSVM text: label index:value …; one list, labels -1/+1 or 0/1",
    extensions: &["libsvm", "svm", "svmlight"],
    sniff: |_| false,
    example: b"+1 3:1 11:0.5\n-1 1:0.25 12:1\n",
    ..FORMAT
};

/// Pieces parsed at once; enough for many threads, little memory.
const BATCH: usize = 8;

/// A piece of text and what was found in it.
#[derive(Default)]
struct Piece {
    text: Vec<u8>,
    /// Why no text follows this one.
    failure: Option<ReadError>,
    rows: Rows,
}

/// Everything read so far.
struct Reading<'a, M> {
    source: &'a Source,
    cells: M,
    groups: Groups,
    labels: Vec<f32>,
    names: Names,
    lines: LineNumbers,
    lines_before: u64,
    text_bytes: u64,
    /// Line of the first row and whether it has a qid.
    first: Option<(u64, bool)>,
    /// Values per row of a table.
    table_width: Option<u32>,
}

fn read(source: &Source, options: &ReadOptions) -> Result<Dataset, ReadError> {
    read_pieces(source, options, Pieces::open(source)?)
}

fn read_pieces(source: &Source, options: &ReadOptions, pieces: Pieces) -> Result<Dataset, ReadError> {
    let mut reading = Reading::new(source, options, Growing::new(unstated(options)));
    each_piece(source, options, pieces, |piece, shape| reading.append(piece, shape))?;
    let Read { mut data, order, cells, text_bytes } = reading.finish()?;
    data.features = cells.finish(text_bytes).map_err(|size| too_large(source, &size))?;
    Ok(match &order {
        Some(order) => in_order(&data, order),
        None => data,
    })
}

/// What a cell is that no row states.
fn unstated(options: &ReadOptions) -> f32 {
    match options.absent {
        Absent::Zero => 0.0,
        Absent::Missing => f32::NAN,
    }
}

fn too_large(source: &Source, size: &matrix::TooLarge) -> ReadError {
    let found = format!("{} rows × {} features, most of them not stated", size.rows, size.width);
    ReadError::data(source.name(), found, "few gaps where unstated features are missing")
        .advice("Read unstated features as 0.")
}

/// Hands the parsed pieces of a text to `of`, in order; the next ones are fetched and parsed meanwhile.
fn each_piece(
    source: &Source,
    options: &ReadOptions,
    mut pieces: Pieces,
    mut of: impl FnMut(&Piece, Shape) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut fetch = |batch: &mut Vec<Piece>| {
        for piece in batch {
            piece.failure = pieces.next(&mut piece.text).err();
        }
    };
    let new_batch = || (0..BATCH).map(|_| Piece::default()).collect::<Vec<_>>();
    let (mut batch, mut next) = (new_batch(), new_batch());
    fetch(&mut batch);
    let shape = shape(&batch[0].text);
    let context = Context { file: source.name(), shape, limit: options.feature_limit() };
    while batch.iter().any(|piece| !piece.text.is_empty() || piece.failure.is_some()) {
        rayon::join(
            || batch.par_iter_mut().for_each(|piece| piece.rows.parse(&piece.text, context)),
            || fetch(&mut next),
        );
        batch.iter().try_for_each(|piece| of(piece, shape))?;
        std::mem::swap(&mut batch, &mut next);
    }
    Ok(())
}

/// A text that was read.
struct Read<M> {
    /// Everything but the features.
    data: Dataset,
    /// The rows in the order of the lists, if that is not the order of the file.
    order: Option<Vec<u32>>,
    cells: M,
    text_bytes: u64,
}

impl<'a, M: Gathering> Reading<'a, M> {
    fn new(source: &'a Source, options: &ReadOptions, cells: M) -> Reading<'a, M> {
        Reading {
            source,
            cells,
            groups: Groups::new(options.regroup),
            labels: Vec::new(),
            names: Names::new(),
            lines: LineNumbers::default(),
            lines_before: 0,
            text_bytes: 0,
            first: None,
            table_width: None,
        }
    }

    fn error(&self, line: u64, found: impl AsRef<str>, expected: impl AsRef<str>) -> ReadError {
        ReadError::data(self.source.name(), found, expected).at_line(line)
    }

    fn append(&mut self, piece: &Piece, shape: Shape) -> Result<(), ReadError> {
        let Piece { text, failure, rows } = piece;
        let line = |row: u32| self.lines_before + 1 + u64::from(rows.lines[row as usize]);
        let before = self.labels.len();
        let count = rows.labels.len() as u32;
        let without_qid = rows.without_qid.filter(|&row| row < count);
        let runs: Vec<(u32, &str)> =
            rows.qid_starts.iter().copied().zip(rows.qids.iter()).filter(|run| run.0 < count).collect();
        if count > 0 {
            let (first_line, first_has_qid) = *self.first.get_or_insert((line(0), without_qid != Some(0)));
            let odd = if first_has_qid { without_qid } else { runs.first().map(|run| run.0) };
            if let Some(row) = odd {
                let (found, expected) = if first_has_qid { ("no qid", "one") } else { ("a qid", "none") };
                return Err(self.error(line(row), found, format!("{expected} as on line {first_line}")));
            }
        }
        if let (Shape::Table(_), Indices::Regular { width, .. }, 1..) = (shape, &rows.indices, count) {
            let expected = *self.table_width.get_or_insert(*width);
            if *width != expected {
                return Err(self.error(line(0), rows::found_values(*width), rows::expected_values(expected)));
            }
        }
        for row in 0..count {
            self.lines.push(before + row as usize, line(row));
        }
        for (row, qid) in runs {
            if let Err(ended) = self.groups.push(before + row as usize, qid) {
                let ended = self.lines.of(ended).unwrap_or_default();
                let found = format!("qid {qid} appears again after it ended on line {ended}");
                return Err(self
                    .error(line(row), found, "all rows of a list to be adjacent")
                    .advice("Use --regroup, or sort the file by qid."));
            }
        }
        if let Some((line, error)) = &rows.error {
            return Err(error.clone().at_line(self.lines_before + 1 + u64::from(*line)));
        }
        if before + rows.labels.len() > u32::MAX as usize {
            return Err(self.error(line(0), "more than 4294967295 rows", "fewer").advice("Split the file."));
        }
        self.labels.extend_from_slice(&rows.labels);
        if !rows.names.is_empty() {
            while self.names.len() < before {
                self.names.push("");
            }
            rows.names.iter().for_each(|name| self.names.push(name));
        }
        if !self.names.is_empty() {
            while self.names.len() < self.labels.len() {
                self.names.push("");
            }
        }
        self.cells.append(rows);
        self.lines_before += rows.line_count;
        self.text_bytes += text.len() as u64;
        match failure {
            Some(failure) => Err(failure.clone().at_line(self.lines_before + 1)),
            None => Ok(()),
        }
    }

    fn finish(mut self) -> Result<Read<M>, ReadError> {
        let Some((_, has_qid)) = self.first else {
            return Err(ReadError::data(
                self.source.name(),
                "no row",
                "at least one row: label qid:Q index:value …",
            ));
        };
        let rows = self.labels.len();
        let file = self.source.name();
        self.labels.shrink_to_fit();
        self.names.shrink();
        let Extent { base, width, .. } = *self.cells.extent();
        let columns = (base..base + width as u32)
            .map(|number| Column { name: number.to_string(), levels: None })
            .collect();
        let mut dataset = Dataset {
            columns,
            item_names: (!self.names.is_empty()).then_some(self.names),
            lines: self.lines,
            ..Dataset::default()
        };
        let cut = self.groups.finish(rows);
        let mut offsets = has_qid.then_some(cut.offsets);
        for side in side::lengths(self.source)? {
            offsets = Some(agreed(offsets, &side, rows as u64, file)?);
        }
        if offsets.is_none() {
            plus_minus_to_01(&mut self.labels);
        }
        let offsets = offsets.unwrap_or_else(|| vec![0, rows as u64]);
        dataset.lists = Lists { offsets, labels: self.labels, ..Lists::default() };
        dataset.list_names = has_qid.then_some(cut.names);
        if let Some(weights) = side::weights(self.source)? {
            let lists = dataset.lists.len();
            if weights.values.len() == lists && lists != rows {
                dataset.lists.list_weights = Some(weights.values);
            } else {
                dataset.lists.item_weights = Some(weights.one_per(rows, file)?);
            }
        }
        dataset.positions = side::positions(self.source)?.map(|side| side.one_per(rows, file)).transpose()?;
        dataset.init_scores =
            side::init_scores(self.source)?.map(|side| side.one_per(rows, file)).transpose()?;
        Ok(Read { data: dataset, order: cut.order, cells: self.cells, text_bytes: self.text_bytes })
    }
}

/// Where the lists of a side file start and end, checked against the rows and against what is known already.
fn agreed(
    known: Option<Vec<u64>>,
    side: &side::Side<u64>,
    rows: u64,
    data: &str,
) -> Result<Vec<u64>, ReadError> {
    let mut offsets = vec![0u64];
    offsets.extend(side.values.iter().scan(0u64, |end, length| {
        *end = end.saturating_add(*length);
        Some(*end)
    }));
    let sum = offsets[offsets.len() - 1];
    if sum != rows {
        let found = format!("{} lists of {sum} rows together", side.values.len());
        return Err(ReadError::data(&side.file, found, format!("{rows} rows as in {data}")));
    }
    match known {
        Some(known) if known != offsets => {
            let same = known.iter().zip(&offsets).take_while(|(a, b)| a == b).count();
            let end = |offsets: &[u64]| offsets.get(same).map_or("none".into(), |end| format!("row {end}"));
            let found = format!("an end of list {same} after {}", end(&offsets));
            let expected = format!("{}, as qids or another file beside {data} have it", end(&known));
            Err(ReadError::data(&side.file, found, expected))
        }
        _ => Ok(offsets),
    }
}

/// −1 and +1 of LIBSVM files as 0 and 1; any other label in the file leaves all as they are.
fn plus_minus_to_01(labels: &mut [f32]) {
    if labels.contains(&-1.0) && labels.iter().all(|label| label.abs() == 1.0) {
        for label in labels {
            *label = f32::from(*label > 0.0);
        }
    }
}

/// The rows in another order; lists stay as they are.
fn in_order(dataset: &Dataset, order: &[u32]) -> Dataset {
    let Dataset { lists, columns, list_names, .. } = dataset;
    let mut ordered = Dataset {
        lists: Lists {
            offsets: lists.offsets.clone(),
            labels: gather(&lists.labels, 1, order),
            item_weights: lists.item_weights.as_ref().map(|weights| gather(weights, 1, order)),
            list_weights: lists.list_weights.clone(),
            ..Lists::default()
        },
        columns: columns.clone(),
        list_names: list_names.clone(),
        file_rows: Some(order.to_vec()),
        ..Dataset::default()
    };
    let rows: Vec<usize> = order.iter().map(|&row| row as usize).collect();
    crate::split::copy_rows(dataset, &rows, &mut ordered);
    ordered
}

/// The lines of a text that hold a row, without comment and blanks around.
fn data_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n')
        .map(|line| line.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii())
        .filter(|line| !line.is_empty())
}

/// The first row with two fields; it decides how all rows are read.
fn telling_line(text: &[u8]) -> Option<&[u8]> {
    data_lines(text).find(|line| line.iter().any(|byte| matches!(byte, b' ' | b'\t' | b',')))
}

fn shape(text: &[u8]) -> Shape {
    match telling_line(text) {
        Some(line) if line.contains(&b':') => Shape::Pairs,
        Some(line) if line.contains(&b',') => Shape::Table(Separator::Comma),
        Some(line) if line.contains(&b'\t') => Shape::Table(Separator::Tab),
        Some(_) => Shape::Table(Separator::Blanks),
        None => Shape::Pairs,
    }
}

/// `label qid:…` or `label index:…` in the first row, or a table of numbers: at least five columns, equally many in
/// every row, some with a decimal point. Fewer columns or integers only may be interactions: name the format.
fn sniff(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let number = |word: &[u8]| !matches!(number::slow(word.trim_ascii()), Number::Junk);
    let Some(first) = telling_line(head) else { return false };
    match shape(head) {
        Shape::Pairs => {
            let mut words = first.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let label = words.next().is_some_and(number);
            let pair = words.next().unwrap_or_default();
            let index = memchr::memchr(b':', pair).map(|colon| &pair[..colon]);
            label && index.is_some_and(|index| index == b"qid" || number(index))
        }
        Shape::Table(separator) => {
            let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
            let is_divider = |byte: &u8| match separator {
                Separator::Comma => *byte == b',',
                Separator::Tab => *byte == b'\t',
                Separator::Blanks => byte.is_ascii_whitespace(),
            };
            let fields = |line| {
                <[u8]>::split(line, is_divider)
                    .filter(|word| separator != Separator::Blanks || !word.is_empty())
            };
            let width = fields(first).count();
            width >= 5
                && whole.contains(&b'.')
                && data_lines(whole).all(|line| fields(line).count() == width && fields(line).all(number))
        }
    }
}

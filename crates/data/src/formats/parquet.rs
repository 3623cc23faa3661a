/*!
Parquet: a table with named columns, read column by column.

A plain file is read row group by row group from its place; what comes through a pipe, packed, or from memory is held
in memory whole, up to [`MOST_IN_MEMORY`] bytes. Only the columns that play a role are decoded. Which column plays
which role is stated in the module `roles`, which types are understood in the module `columnar`. A row has no line, so
messages name the row, counted from 1.

Run-length coding lets a few bytes stand for billions of rows. A file may therefore make at most 4,096 numbers a byte
of its length, or 268,435,456 if that is more.

Written: LZ4, numbers as 32-bit floats, missing as null.
*/

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::arrow::{ArrowWriter, ProjectionMask};
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::reader::ChunkReader;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array};

use super::columnar::Columns;
use super::sheet_arrow::Batches;
use super::{Format, ReadOptions};
use crate::dataset::Dataset;
use crate::error::ReadError;
use crate::guard::guarded;
use crate::source::Source;

/// Parquet.
pub const FORMAT: Format = Format {
    name: "parquet",
    about: "Parquet table with named columns",
    extensions: &["parquet", "pq"],
    sniff: |head| head.starts_with(MARK),
    read,
    write: Some(write),
    example: include_bytes!("examples/table.parquet"),
};

/// How every file starts.
const MARK: &[u8; 4] = b"PAR1";

/// The longest file that is read from a pipe, packed, or from memory: 4 GiB.
pub const MOST_IN_MEMORY: u64 = 4 << 30;

/// Rows decoded at a time: 136 columns of them fit the second-level cache.
const BATCH: usize = 1024;

/// A dictionary beyond this size leaves the cache: looking values up in it costs more than reading them plain.
const DICTIONARY_BYTES: usize = 1 << 14;

/// A reader holds one page of every column: a hundred small ones fit the cache.
const PAGE_BYTES: usize = 1 << 16;

const CELLS_PER_BYTE: u64 = 4096;
const CELLS_ALWAYS: u64 = 1 << 28;

fn read(source: &Source, options: &ReadOptions) -> Result<Dataset, ReadError> {
    // The decoder is written for files of honest writers: damaged pages have made it panic. Nothing of ours is
    // changed when it does, so the panic is turned into the error it should have been.
    let decoded = guarded(|| match plain_file(source)? {
        Some(file) => decode(source.name(), file, options),
        None => decode(source.name(), in_memory(source)?, options),
    });
    decoded.unwrap_or_else(|| Err(damaged(source.name(), "content the decoder cannot make sense of")))
}

pub(crate) fn damaged(file: &str, found: &str) -> ReadError {
    ReadError::data(file, found, "an undamaged Parquet file")
}

/// The file itself, if it is one and not packed.
fn plain_file(source: &Source) -> Result<Option<File>, ReadError> {
    let Some(path) = source.as_path() else { return Ok(None) };
    let mut head = [0; 4];
    let length = source.open_raw()?.take(4).read(&mut head).map_err(|e| ReadError::io(source.name(), &e))?;
    if head[..length] != *MARK {
        return Ok(None);
    }
    File::open(path).map(Some).map_err(|e| ReadError::io(source.name(), &e))
}

/// The whole content, with a limit.
pub(crate) fn in_memory(source: &Source) -> Result<bytes::Bytes, ReadError> {
    let mut content = Vec::new();
    let mut input = source.open()?.take(MOST_IN_MEMORY + 1);
    let io = |e: io::Error| ReadError::io(source.name(), &e);
    // What is no such file is not read to its end, as it may be endless.
    (&mut input).take(MARK.len() as u64).read_to_end(&mut content).map_err(io)?;
    if content == MARK {
        input.read_to_end(&mut content).map_err(io)?;
    } else if !content.is_empty() {
        return Err(damaged(source.name(), &format!("a start with {}", crate::error::show(&content))));
    }
    if content.len() as u64 > MOST_IN_MEMORY {
        let found = "a packed or piped table of more than 4 GiB";
        let advice = "Unpack it to a file: Parquet is packed inside already.";
        return Err(ReadError::data(source.name(), found, "a plain file").advice(advice));
    }
    Ok(content.into())
}

fn decode<R: ChunkReader + 'static>(
    file: &str,
    reader: R,
    options: &ReadOptions,
) -> Result<Dataset, ReadError> {
    let failed = |error: &ParquetError| damaged(file, &error.to_string());
    let length = reader.len();
    if length == 0 {
        return Err(damaged(file, "an empty file"));
    }
    let builder = ParquetRecordBatchReaderBuilder::try_new(reader).map_err(|e| failed(&e))?;
    let mut columns = Columns::new(file, builder.schema(), options)?;
    let rows = count_rows(file, builder.metadata(), columns.projection.len(), length)?;
    columns.table.reserve(rows);
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.projection.iter().copied());
    let batches = builder.with_projection(mask).with_batch_size(BATCH).build().map_err(|e| failed(&e))?;
    for batch in batches {
        columns.push(&batch.map_err(|e| damaged(file, &e.to_string()))?)?;
    }
    columns.table.finish()
}

/// Most numbers or bytes of text that a file of `length` bytes may stand for.
pub(crate) fn most_cells(length: u64) -> u64 {
    CELLS_ALWAYS.max(length.saturating_mul(CELLS_PER_BYTE))
}

/// The number of rows, if it adds up and the file is long enough for `columns` columns of them.
pub(crate) fn count_rows(
    file: &str,
    metadata: &ParquetMetaData,
    columns: usize,
    length: u64,
) -> Result<usize, ReadError> {
    let rows = metadata.file_metadata().num_rows();
    let rows = u64::try_from(rows).map_err(|_| damaged(file, &format!("{rows} rows")))?;
    let counted = metadata
        .row_groups()
        .iter()
        .try_fold(0u64, |sum, group| sum.checked_add(u64::try_from(group.num_rows()).ok()?));
    if counted != Some(rows) {
        return Err(damaged(file, "row groups that do not add up to the rows of the file"));
    }
    let most = most_cells(length);
    if rows.saturating_mul(columns as u64) > most {
        let found = format!("{rows} rows of {columns} columns in {length} bytes");
        return Err(ReadError::data(file, found, format!("at most {most} numbers")));
    }
    Ok(rows as usize)
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::LZ4_RAW)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_data_page_size_limit(PAGE_BYTES)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(1 << 17))
        .build()
}

/// The values of a column of results.
#[derive(Clone, Debug)]
pub enum Values<'a> {
    /// Strings.
    Text(Vec<&'a str>),
    /// Integers.
    Integers(Vec<u32>),
    /// Floats.
    Floats(Vec<f64>),
}

/// Writes columns of results, all of the same length, under these names.
///
/// # Errors
/// If the columns differ in length, or `out` fails.
pub fn write_columns(columns: Vec<(&str, Values)>, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let arrays = columns.into_iter().map(|(name, values)| {
        let array: ArrayRef = match values {
            Values::Text(values) => Arc::new(StringArray::from_iter_values(values)),
            Values::Integers(values) => Arc::new(UInt32Array::from(values)),
            Values::Floats(values) => Arc::new(Float64Array::from(values)),
        };
        (name, array)
    });
    let batch = RecordBatch::try_from_iter(arrays).map_err(io::Error::other)?;
    let mut writer =
        ArrowWriter::try_new(out, batch.schema(), Some(properties())).map_err(io::Error::other)?;
    writer.write(&batch).map_err(io::Error::other)?;
    writer.close().map(drop).map_err(io::Error::other)
}

fn write(data: &Dataset, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let batches = Batches::new(data)?;
    let mut writer =
        ArrowWriter::try_new(out, batches.schema(), Some(properties())).map_err(io::Error::other)?;
    for batch in batches {
        writer.write(&batch?).map_err(io::Error::other)?;
    }
    writer.close().map(drop).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_of(bytes: &[u8]) -> String {
        read(&Source::bytes("t.parquet", bytes), &ReadOptions::default()).unwrap_err().to_string()
    }

    #[test]
    fn a_plain_file_and_its_bytes_give_the_same_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        std::fs::write(&path, FORMAT.example).unwrap();
        let of_file = read(&Source::path(&path), &ReadOptions::default()).unwrap();
        let of_bytes = read(&Source::bytes("t", FORMAT.example), &ReadOptions::default()).unwrap();
        assert_eq!(format!("{of_file:?}"), format!("{of_bytes:?}"), "NaN = NaN as text");
    }

    #[test]
    fn no_cut_and_no_flipped_byte_makes_it_panic() {
        for end in 0..FORMAT.example.len() {
            assert!(
                read(&Source::bytes("t", &FORMAT.example[..end]), &ReadOptions::default()).is_err(),
                "{end}"
            );
        }
        for place in 0..FORMAT.example.len() {
            let mut bytes = FORMAT.example.to_vec();
            bytes[place] ^= 0x55;
            if let Ok(data) = read(&Source::bytes("t", bytes), &ReadOptions::default()) {
                assert_eq!(data.lists.check(), Ok(()));
            }
        }
    }

    #[test]
    fn messages_name_column_and_row() {
        let options = ReadOptions { list: Some("q".into()), ..ReadOptions::default() };
        assert_eq!(
            read(&Source::bytes("t.parquet", FORMAT.example), &options).unwrap_err().to_string(),
            "t.parquet: no column is called q; expected one of qid, label, item, bm25, title, length."
        );
        let options = ReadOptions { features: vec!["item".into()], ..ReadOptions::default() };
        assert_eq!(
            read(&Source::bytes("t.parquet", FORMAT.example), &options).unwrap_err().to_string(),
            "t.parquet: column item: row 1: type Utf8; expected numbers.\n\
             Name a feature of strings with --categorical."
        );
        assert_eq!(message_of(b""), "t.parquet: an empty file; expected an undamaged Parquet file.");
        assert!(message_of(b"label,f\n1,2\n").ends_with("expected an undamaged Parquet file."));
    }
}

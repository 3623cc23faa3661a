/*!
Qrels and runs as tables: CSV or TSV with a header (BEIR qrels, data frames), Parquet (ranx).

The columns are found by name: see [`QUERY`], [`DOCUMENT`], [`VALUE`]; other columns are not read.
*/

use std::borrow::Cow;

use super::sheet::Gather;
use super::{Kind, number};
use crate::error::{ReadError, show};
use crate::lines::Lines;
use crate::source::Source;

/// Names of the column of queries.
const QUERY: &[&str] = &["query", "q_id", "qid", "query_id", "query-id", "topic", "topic_id"];
/// Names of the column of documents.
const DOCUMENT: &[&str] =
    &["doc", "doc_id", "docno", "docid", "doc-id", "document", "item", "item_id", "corpus-id", "pid"];
/// Names of the column of numbers.
const VALUE: &[&str] = &["score", "sim", "relevance", "rel", "label", "grade"];

/// Where the three columns stand in a table, by their names in any case.
fn columns<S: AsRef<str>>(file: &str, header: &[S], kind: Kind) -> Result<[usize; 3], ReadError> {
    let find = |wanted: &[&str], what: &str| {
        let named = |name: &S| wanted.contains(&name.as_ref().trim().to_ascii_lowercase().as_str());
        header.iter().position(named).ok_or_else(|| {
            let names: Vec<&str> = header.iter().map(AsRef::as_ref).collect();
            let found = format!("columns {}", show(names.join(", ").as_bytes()));
            ReadError::data(file, found, format!("a column of {what} called {}", wanted.join(", ")))
        })
    };
    Ok([find(QUERY, "queries")?, find(DOCUMENT, "documents")?, find(VALUE, kind.value())?])
}

/// True if the first line names the columns of a table; with a blank in it, it is a line of TREC words.
pub(super) fn has_header(text: &[u8], kind: Kind) -> bool {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut fields = Vec::new();
    std::str::from_utf8(line).is_ok_and(|line| {
        if line.contains(' ') {
            return false;
        }
        split(line, delimiter(line), &mut fields);
        columns("", &fields, kind).is_ok()
    })
}

/// The tab if the header holds one, else the comma.
fn delimiter(header: &str) -> u8 {
    if header.contains('\t') { b'\t' } else { b',' }
}

/// Cuts a line into fields; a field in quotes may hold the delimiter and doubled quotes.
fn split<'a>(line: &'a str, delimiter: u8, fields: &mut Vec<Cow<'a, str>>) {
    fields.clear();
    let mut rest = Some(line);
    while let Some(text) = rest {
        let bytes = text.as_bytes();
        if let Some(quoted) = text.strip_prefix('"') {
            let mut end = 0;
            while let Some(quote) = memchr::memchr(b'"', &quoted.as_bytes()[end..]) {
                end += quote + 1;
                if quoted.as_bytes().get(end) != Some(&b'"') {
                    break;
                }
                end += 1;
            }
            let inner = quoted[..end].strip_suffix('"').unwrap_or(quoted);
            let after = &quoted[inner.len() + usize::from(inner.len() < quoted.len())..];
            fields.push(if inner.contains('"') { inner.replace("\"\"", "\"").into() } else { inner.into() });
            rest = memchr::memchr(delimiter, after.as_bytes()).map(|at| &after[at + 1..]);
        } else {
            let end = memchr::memchr(delimiter, bytes).unwrap_or(bytes.len());
            fields.push(text[..end].into());
            rest = text.get(end + 1..);
        }
    }
}

pub(super) fn read_csv(source: &Source, kind: Kind) -> Result<Gather, ReadError> {
    let mut lines = Lines::open(source)?;
    let (file, mut gather) = (source.name(), Gather::default());
    let mut header: Option<(u8, usize, [usize; 3])> = None;
    let mut query = String::new();
    loop {
        let number_of_line = lines.number() + 1;
        let Some(line) = lines.next_line()? else { break };
        let at_line = |error: ReadError| error.at_line(number_of_line);
        let line = std::str::from_utf8(line).map_err(|_| {
            at_line(ReadError::data(file, format!("bytes that are not UTF-8: {}", show(line)), "UTF-8 text"))
        })?;
        if line.trim().is_empty() {
            continue;
        }
        let mut fields = Vec::new();
        let Some((delimiter, width, [q, d, v])) = header else {
            let delimiter = delimiter(line);
            split(line, delimiter, &mut fields);
            header = Some((delimiter, fields.len(), columns(file, &fields, kind).map_err(at_line)?));
            continue;
        };
        split(line, delimiter, &mut fields);
        if fields.len() != width {
            let found = format!("{} fields: {}", fields.len(), show(line.as_bytes()));
            return Err(at_line(ReadError::data(file, found, format!("{width}, as in the header"))));
        }
        let value = number(fields[v].trim().as_bytes(), kind).ok_or_else(|| {
            let found = format!("{} {}", kind.value(), show(fields[v].as_bytes()));
            at_line(ReadError::data(file, found, "a finite number"))
        })?;
        if gather.is_empty() || fields[q] != query {
            query.clear();
            query.push_str(&fields[q]);
            gather.query(&query);
        }
        gather.push(&fields[d], value, Some(number_of_line));
    }
    Ok(gather)
}

#[cfg(not(feature = "parquet"))]
pub(super) fn read_parquet(source: &Source, _: Kind) -> Result<Gather, ReadError> {
    Err(ReadError::options(source.name(), "a Parquet file", "a build with the feature parquet"))
}

#[cfg(feature = "parquet")]
pub(super) use self::arrow::read_parquet;

#[cfg(feature = "parquet")]
mod arrow {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
    use arrow_array::{Array, ArrayRef};
    use arrow_schema::DataType;
    use parquet::arrow::ProjectionMask;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::super::finite;
    use super::{Cow, Gather, Kind, ReadError, Source, columns};
    use crate::formats::parquet::{count_rows, damaged, in_memory, most_cells};
    use crate::guard::guarded;

    /// Reads a Parquet table; the panics of the decoder on damaged pages become errors, as for data sets.
    pub fn read_parquet(source: &Source, kind: Kind) -> Result<Gather, ReadError> {
        let confused = "content the decoder cannot make sense of";
        guarded(|| decode(source, kind)).unwrap_or_else(|| Err(damaged(source.name(), confused)))
    }

    fn decode(source: &Source, kind: Kind) -> Result<Gather, ReadError> {
        let file = source.name();
        let content = in_memory(source)?;
        let length = content.len() as u64;
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(content).map_err(|e| damaged(file, &e.to_string()))?;
        let names: Vec<&str> = builder.schema().fields().iter().map(|f| f.name().as_str()).collect();
        let wanted = columns(file, &names, kind)?;
        let wanted_names = wanted.map(|column| names[column].to_string());
        count_rows(file, builder.metadata(), wanted.len(), length)?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
        let batches = builder.with_projection(mask).build().map_err(|e| damaged(file, &e.to_string()))?;
        let (mut gather, mut query) = (Gather::default(), String::new());
        let mut row = 0u64;
        for batch in batches {
            let batch = batch.map_err(|e| damaged(file, &e.to_string()))?;
            let [queries, docs, values] = wanted_names.each_ref().map(|name| batch.column_by_name(name));
            let (Some(queries), Some(docs), Some(values)) = (queries, docs, values) else {
                return Err(damaged(file, "columns that are not in the data"));
            };
            for i in 0..batch.num_rows() {
                row += 1;
                let missing = |column: usize, expected: &str, found: &ArrayRef| {
                    let found = if found.is_null(i) { "null".into() } else { found.data_type().to_string() };
                    ReadError::data(file, format!("{found} in row {row}"), expected)
                        .in_column(&wanted_names[column])
                };
                let name = text(queries, i).ok_or_else(|| missing(0, "text or an integer", queries))?;
                let doc = text(docs, i).ok_or_else(|| missing(1, "text or an integer", docs))?;
                let value = value(values, i).ok_or_else(|| missing(2, "a number", values))?;
                if !finite(value, kind) {
                    let found = format!("{} {value} in row {row}", kind.value());
                    return Err(ReadError::data(file, found, "a finite number").in_column(&wanted_names[2]));
                }
                if gather.is_empty() || *name != query {
                    query = name.into_owned();
                    gather.query(&query);
                }
                gather.push(&doc, value, None);
            }
            // One long name, stored once, may stand for many: names are limited like numbers.
            if gather.text() as u64 > most_cells(length) {
                let found = format!("names of more than {} bytes in {length} bytes", gather.text());
                return Err(ReadError::data(file, found, "shorter names"));
            }
        }
        Ok(gather)
    }

    fn text(column: &ArrayRef, i: usize) -> Option<Cow<'_, str>> {
        if column.is_null(i) {
            return None;
        }
        Some(match column.data_type() {
            DataType::Utf8 => column.as_string::<i32>().value(i).into(),
            DataType::LargeUtf8 => column.as_string::<i64>().value(i).into(),
            DataType::Utf8View => column.as_string_view().value(i).into(),
            DataType::Int32 => column.as_primitive::<Int32Type>().value(i).to_string().into(),
            DataType::Int64 => column.as_primitive::<Int64Type>().value(i).to_string().into(),
            DataType::Dictionary(key, _) if **key == DataType::Int32 => {
                let dictionary = column.as_dictionary::<Int32Type>();
                return text(dictionary.values(), usize::try_from(dictionary.keys().value(i)).ok()?);
            }
            _ => return None,
        })
    }

    fn value(column: &ArrayRef, i: usize) -> Option<f64> {
        if column.is_null(i) {
            return None;
        }
        Some(match column.data_type() {
            DataType::Float64 => column.as_primitive::<Float64Type>().value(i),
            DataType::Float32 => column.as_primitive::<Float32Type>().value(i).into(),
            DataType::Int64 => column.as_primitive::<Int64Type>().value(i) as f64,
            DataType::Int32 => column.as_primitive::<Int32Type>().value(i).into(),
            _ => return None,
        })
    }
}

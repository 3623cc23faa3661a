//! LETOR text from a data set, so that reading it gives the data set back.

use std::io::{self, ErrorKind, Write};

use crate::dataset::{Dataset, Matrix};
use crate::formats::sheet::no_further_columns;
use crate::names::Names;

/// Writes `label qid:Q index:value … # docid = NAME`, floats with the fewest digits that read back the same.
///
/// Features are numbered from 1, from 0 if the first column is called `0`; other column names are lost. A missing
/// value is `nan`, which other tools know better than `NULL`. One list without a name is written without qid, several
/// as `qid:1`, `qid:2`, …. Weights and other columns have no place in this format: an error, nothing is dropped.
pub(super) fn write(dataset: &Dataset, out: &mut (dyn Write + Send)) -> io::Result<()> {
    check(dataset)?;
    let lists = &dataset.lists;
    let base = usize::from(dataset.columns.first().is_none_or(|column| column.name != "0"));
    let with_qid = dataset.list_names.is_some() || lists.len() != 1;
    let mut line = Vec::new();
    for q in 0..lists.len() {
        let qid = match &dataset.list_names {
            Some(names) => names.get(q).to_string(),
            None => (q + 1).to_string(),
        };
        for row in lists.range(q) {
            line.clear();
            number(&mut line, lists.labels[row]);
            if with_qid {
                write!(line, " qid:{qid}")?;
            }
            cells(&mut line, &dataset.features, row, base);
            if let Some(name) =
                dataset.item_names.as_ref().map(|names| names.get(row)).filter(|n| !n.is_empty())
            {
                let docid = if name.contains(char::is_whitespace) { "" } else { "docid = " };
                write!(line, " # {docid}{name}")?;
            }
            line.push(b'\n');
            out.write_all(&line)?;
        }
    }
    Ok(())
}

fn cells(line: &mut Vec<u8>, features: &Matrix, row: usize, base: usize) {
    let mut cell = |index: usize, value: f32| {
        let _ = write!(line, " {}:", index + base);
        number(line, value);
    };
    match features {
        Matrix::Dense { width, values } => {
            let row = &values[row * width..(row + 1) * width];
            row.iter().enumerate().for_each(|(index, &value)| cell(index, value));
        }
        Matrix::Sparse(sparse) => {
            let stored = sparse.offsets[row] as usize..sparse.offsets[row + 1] as usize;
            let indices = &sparse.indices[stored.clone()];
            // The first row states the border columns, so that they are read back even if all of them is 0.
            if row == 0 && base == 0 && indices.first() != Some(&0) {
                cell(0, 0.0);
            }
            for (&index, &value) in indices.iter().zip(&sparse.values[stored]) {
                cell(index as usize, value);
            }
            let last = sparse.width.saturating_sub(1);
            if row == 0 && sparse.width + base > 1 && indices.last() != Some(&(last as u32)) {
                cell(last, 0.0);
            }
        }
    }
}

fn number(line: &mut Vec<u8>, value: f32) {
    // Large and tiny numbers are shorter with an exponent; both forms read back to the same bits.
    let size = value.abs();
    let _ = if value.is_nan() {
        write!(line, "nan")
    } else if size != 0.0 && !(1e-5..1e9).contains(&size) {
        write!(line, "{value:e}")
    } else {
        write!(line, "{value}")
    };
}

fn check(dataset: &Dataset) -> io::Result<()> {
    let lists = &dataset.lists;
    let lost = [
        ("item weights", lists.item_weights.is_some()),
        ("list weights", lists.list_weights.is_some()),
        ("judged items that were not retrieved", lists.missed.is_some()),
        ("times", dataset.times.is_some()),
        ("positions", dataset.positions.is_some()),
        ("initial scores", dataset.init_scores.is_some()),
        ("categories", dataset.columns.iter().any(|column| column.levels.is_some())),
    ];
    no_further_columns(dataset, "lines of LETOR text")?;
    if lists.rows.is_some() || lists.output.is_some() {
        let what = "interactions or several labels, for which LETOR text has no place";
        return refuse(format!("{what}; write CSV or Parquet"));
    }
    if let Some((what, _)) = lost.iter().find(|(_, there)| *there) {
        return refuse(format!(
            "{what}, for which LETOR text has no place; write CSV or Parquet, or leave the column out with --ignore"
        ));
    }
    for name in dataset.list_names.iter().flat_map(Names::iter) {
        if name.is_empty() || name.contains([' ', '\t', '\n', '\r', '#']) {
            return refuse(format!("list name {name:?}, which a qid cannot be; write CSV or Parquet"));
        }
    }
    for name in dataset.item_names.iter().flat_map(Names::iter) {
        let docid = name.strip_prefix("docid").is_some_and(|rest| rest.trim_start().starts_with('='));
        let blanks = name.contains(char::is_whitespace);
        if name.contains(['\n', '\r']) || name.trim() != name || docid && blanks {
            return refuse(format!("item name {name:?}, which a comment cannot hold; write CSV or Parquet"));
        }
    }
    Ok(())
}

fn refuse(what: String) -> io::Result<()> {
    Err(io::Error::new(ErrorKind::Unsupported, what))
}

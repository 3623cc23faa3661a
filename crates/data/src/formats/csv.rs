/*!
CSV and TSV: a line of column names, then one row a line.

`csv` finds its separator (`,` `;` tab `|`) on the first line, `tsv` is tab-separated. Fields may be quoted and may
then hold separators, doubled quotes and line ends; line ends are LF or CRLF; blank lines are skipped; a byte-order
mark is dropped; gzip and zstd are unpacked. The module `roles` states which column plays which role, the module `table` what a missing
cell means. Missing are: the empty cell, `NA`, `NaN`, `nan`, `null`, `NULL`, `?`.

A column holds numbers if its first stated cell within the first 1,000 rows is a number (or if there is none). Text
columns are not features unless they are named as `categorical`; a cell of a number column that is not a number is an
error with its line, so that a misprint never removes a feature. A column without a name is never a feature by
default (pandas writes its row numbers that way).
*/

use std::fmt::{Display, LowerExp, Write as _};
use std::io::{self, Write};

use ::csv::QuoteStyle;

use super::cell;
use super::records::{Record, Records, SEPARATORS};
use super::roles::{Holds, Roles};
use super::sheet::{Sheet, What, unsupported};
use super::table::Table;
use super::{Format, ReadOptions};
use crate::dataset::Dataset;
use crate::error::{ReadError, show};
use crate::names::Names;
use crate::source::Source;

/// Comma-separated values.
pub const FORMAT: Format = Format {
    name: "csv",
    about: "table with column names; separated by , ; tab or |",
    extensions: &["csv"],
    sniff: |head| looks_like_table(head, b",;|"),
    read: |source, options| read(source, None, options),
    write: Some(|data, out| write(data, b',', out)),
    example: EXAMPLE,
};

/// Tab-separated values.
pub const TSV: Format = Format {
    name: "tsv",
    about: "table with column names; separated by tabs",
    extensions: &["tsv", "tab"],
    sniff: |head| looks_like_table(head, b"\t"),
    read: |source, options| read(source, Some(b'\t'), options),
    write: Some(|data, out| write(data, b'\t', out)),
    example: b"qid\tlabel\tbm25\n1\t2\t0.5\n1\t0\t\n2\t1\t-3e-2\n",
};

const EXAMPLE: &[u8] =
    b"qid,label,item,bm25,\"title, length\"\n1,2,a,0.5,7\n1,0,\"b \"\"x\"\"\",,3\n2,1,c,-3e-2,NA\n";

/// Rows that decide whether a column holds numbers, and the most cells kept for that.
const LOOK_AHEAD: usize = 1000;
const LOOK_AHEAD_CELLS: usize = 1 << 22;

fn read(source: &Source, separator: Option<u8>, options: &ReadOptions) -> Result<Dataset, ReadError> {
    let file = source.name();
    let mut records = Records::open(source, separator)?;
    let separator = records.separator();
    let names = column_names(file, &mut records)?;
    let (first, holds) = look_ahead(file, &mut records, names.len())?;
    let roles = Roles::assign(file, &names, options, |column| holds[column])?;
    let width = names.len();
    let mut table = Table::new(file, names, roles, options.regroup);
    for record in &first {
        table.push_record(record)?;
    }
    drop(first);
    while let Some(record) = records.next_record()? {
        check_width(file, record, width, separator)?;
        table.push_record(record)?;
    }
    table.finish()
}

fn column_names(file: &str, records: &mut Records) -> Result<Vec<String>, ReadError> {
    let Some(record) = records.next_record()? else {
        return Err(ReadError::data(file, "an empty file", "a line of column names"));
    };
    let name = |i| match record.str(i) {
        Ok(name) => Ok(name.to_string()),
        Err(bytes) => {
            let found = format!("the column name {} is not UTF-8", show(bytes));
            Err(ReadError::data(file, found, "UTF-8 text").at_line(record.line()))
        }
    };
    (0..record.len()).map(name).collect()
}

/// The first records and what they say about each column.
fn look_ahead(
    file: &str,
    records: &mut Records,
    width: usize,
) -> Result<(Vec<Record>, Vec<Holds>), ReadError> {
    let separator = records.separator();
    let mut first = Vec::new();
    let mut holds = vec![None; width];
    while first.len() < LOOK_AHEAD.min(LOOK_AHEAD_CELLS / width.max(1) + 1) {
        let Some(record) = records.next_record()? else { break };
        check_width(file, record, width, separator)?;
        for (i, known) in holds.iter_mut().enumerate().filter(|(_, known)| known.is_none()) {
            let cell = record.field(i);
            if !cell::is_missing(cell) {
                *known = Some(if cell::is_number(cell) { Holds::Numbers } else { Holds::Text });
            }
        }
        first.push(record.clone());
    }
    Ok((first, holds.into_iter().map(|known| known.unwrap_or(Holds::Numbers)).collect()))
}

fn check_width(file: &str, record: &Record, width: usize, separator: u8) -> Result<(), ReadError> {
    if record.len() == width {
        return Ok(());
    }
    let separator = match separator {
        b'\t' => "tabs".to_string(),
        other => format!("{:?}", char::from(other)),
    };
    let found = format!("{} fields separated by {separator}", record.len());
    Err(ReadError::data(file, found, format!("{width}, one for each column name")).at_line(record.line()))
}

/// True if the first lines are cut by one of these separators into equally many fields, two at least, and the first
/// line is no line of numbers.
fn looks_like_table(head: &[u8], separators: &[u8]) -> bool {
    let mut lines = head.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let Some(names) = lines.next() else { return false };
    let Some(row) = lines.next() else { return false };
    separators.iter().any(|&separator| {
        let count = |line: &[u8]| memchr::memchr_iter(separator, line).count();
        count(names) > 0
            && (count(names) == count(row) || memchr::memchr(b'"', head).is_some())
            && !names.split(|&byte| byte == separator).any(cell::is_number)
    })
}

/// Writes a data set; the shortest digits that give the same number back.
fn write(data: &Dataset, separator: u8, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let sheet = Sheet::new(data)?;
    check_words(data)?;
    write_names(&sheet, separator, out)?;
    let mut csv = ::csv::WriterBuilder::new().delimiter(separator).from_writer(out);
    let mut features = vec![0.0; data.features.width()];
    let mut text = String::new();
    for line in 0..sheet.height() {
        data.features.row_into(sheet.row(line), &mut features);
        for &(_, what) in &sheet.columns {
            text.clear();
            match what {
                What::Feature(f) => put(&mut text, features[f]),
                What::Words(f) => text.push_str(sheet.word(f, features[f])?.unwrap_or("")),
                What::List | What::Item | What::Extra(_) => text.push_str(&sheet.text(what, line)),
                What::Time | What::Position | What::InitScore => put(&mut text, sheet.number(what, line)),
                _ => put(&mut text, sheet.number(what, line) as f32),
            }
            csv.write_field(&text)?;
        }
        csv.write_record(None::<&[u8]>)?;
    }
    csv.flush()
}

/// Writes the header so that the reader, which takes the separator that is most frequent outside quotes and drops a
/// byte-order mark at the start, finds these names again.
fn write_names(sheet: &Sheet, separator: u8, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let other = |byte: u8| byte != separator && SEPARATORS.contains(&byte);
    let misleads = |name: &str| name.starts_with('\u{feff}') || name.bytes().any(other);
    let style = if sheet.columns.iter().any(|(name, _)| misleads(name)) {
        QuoteStyle::Always
    } else {
        QuoteStyle::Necessary
    };
    let mut csv = ::csv::WriterBuilder::new().delimiter(separator).quote_style(style).from_writer(out);
    csv.write_record(sheet.columns.iter().map(|(name, _)| name))?;
    csv.flush()
}

/// A category spelled like a missing cell would be read back as missing.
fn check_words(data: &Dataset) -> io::Result<()> {
    for column in &data.columns {
        let bad = column.levels.iter().flat_map(Names::iter).find(|word| cell::is_missing(word.as_bytes()));
        if let Some(word) = bad {
            let what =
                format!("category {word:?} of feature {:?} would be read back as missing", column.name);
            return Err(unsupported(what));
        }
    }
    Ok(())
}

/// Very large and very small numbers with an exponent, all others plainly; nothing for NaN.
fn put(text: &mut String, value: impl Copy + Display + LowerExp + Into<f64>) {
    let size = value.into().abs();
    // Writing to a String cannot fail.
    let _ = if size.is_nan() {
        Ok(())
    } else if size != 0.0 && !(1e-5..1e15).contains(&size) {
        write!(text, "{value:e}")
    } else {
        write!(text, "{value}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Column, Matrix};

    fn csv(text: &str, options: &ReadOptions) -> Result<Dataset, ReadError> {
        read(&Source::bytes("t.csv", text.as_bytes().to_vec()), None, options)
    }

    fn message(text: &str, options: &ReadOptions) -> String {
        csv(text, options).unwrap_err().to_string()
    }

    fn strings(text: &str) -> Vec<String> {
        text.split(',').map(String::from).collect()
    }

    #[test]
    fn a_table_becomes_lists_with_features_names_and_lines() {
        let data = csv(std::str::from_utf8(EXAMPLE).unwrap(), &ReadOptions::default()).unwrap();
        assert_eq!(data.lists.offsets, [0, 2, 3]);
        assert_eq!(data.lists.labels, [2.0, 0.0, 1.0]);
        assert_eq!(data.list_names, Some(["1", "2"].into_iter().collect()));
        assert_eq!(data.item_names, Some(["a", "b \"x\"", "c"].into_iter().collect()));
        assert_eq!(data.columns[1], Column { name: "title, length".into(), levels: None });
        assert_eq!((data.features.get(0, 0), data.features.get(2, 0)), (0.5, -0.03));
        assert!(data.features.get(1, 0).is_nan() && data.features.get(2, 1).is_nan());
        assert_eq!(data.lines.of(2), Some(4));
    }

    #[test]
    fn options_name_the_roles() {
        let text = "q;g;w;lw;name;colour;f1;f2;note\n7;1;0.5;2;a;red;1;2;x\n7;0;1;2;b;blue;3;4;y\n8;;2;1;c;red;5;6;z\n";
        let options = ReadOptions {
            list: Some("q".into()),
            label: Some("g".into()),
            weight: Some("w".into()),
            list_weight: Some("lw".into()),
            item: Some("name".into()),
            features: strings("f*"),
            categorical: strings("colour"),
            keep: strings("note,f1"),
            ..ReadOptions::default()
        };
        let data = csv(text, &options).unwrap();
        assert!(data.lists.labels[2].is_nan(), "a missing label is not judged");
        assert_eq!(data.lists.item_weights, Some(vec![0.5, 1.0, 2.0]));
        assert_eq!(data.lists.list_weights, Some(vec![2.0, 1.0]));
        assert_eq!(data.columns[0].levels, Some(["blue", "red"].into_iter().collect()));
        let values = vec![1.0, 1.0, 2.0, 0.0, 3.0, 4.0, 1.0, 5.0, 6.0];
        assert_eq!(data.features, Matrix::Dense { width: 3, values });
        assert_eq!(data.extra[1].1.get(2), "z");
        assert_eq!(data.extra[0], ("f1".into(), ["1", "3", "5"].into_iter().collect()));
    }

    #[test]
    fn several_labels_are_one_list_each_over_the_same_rows() {
        let text = "a,f1,b,id\n1,0.5,,x\n0,0.25,1,y\n,1,0,z\n";
        let data = csv(text, &ReadOptions { labels: strings("a,b"), ..ReadOptions::default() }).unwrap();
        assert_eq!(data.lists.offsets, [0, 2, 4]);
        assert_eq!(data.lists.rows, Some(vec![0, 1, 1, 2]));
        assert_eq!(data.lists.output, Some(vec![0, 1]));
        assert_eq!(data.lists.labels, [1.0, 0.0, 1.0, 0.0]);
        assert_eq!((data.outputs(), data.rows()), (2, 3));
        assert_eq!(data.output_names, Some(["a", "b"].into_iter().collect()));
        assert_eq!(data.columns.len(), 1, "id holds text");
    }

    #[test]
    fn rows_of_a_list_are_brought_together_only_on_request() {
        let text = "qid,label,item,f\n1,0,a,1\n2,1,b,2\n1,2,c,3\n";
        assert_eq!(
            message(text, &ReadOptions::default()),
            "t.csv:4: column qid: list \"1\" appears again after it ended on line 2; expected all rows of a list to \
             be adjacent.\nUse --regroup, or sort the rows by this column."
        );
        let data = csv(text, &ReadOptions { regroup: true, ..ReadOptions::default() }).unwrap();
        assert_eq!(data.lists.offsets, [0, 2, 3]);
        assert_eq!(data.lists.labels, [0.0, 2.0, 1.0]);
        assert_eq!(data.features, Matrix::Dense { width: 1, values: vec![1.0, 3.0, 2.0] });
        assert_eq!(data.item_names.unwrap().iter().collect::<Vec<_>>(), ["a", "c", "b"]);
        assert_eq!([0, 1, 2].map(|row| data.lines.of(row)), [Some(2), Some(4), Some(3)]);
    }

    #[test]
    fn bad_cells_are_told_with_line_column_and_text() {
        let plain = ReadOptions::default();
        let cases = [
            (
                "label,f\n1,2\n\n0,abc\n",
                "t.csv:4: column f: \"abc\" is not a number; expected a number, or an empty cell where it is missing.",
            ),
            (
                "label;f\n1;2\n0;1,5\n",
                "t.csv:3: column f: \"1,5\" is not a number; expected a number, or an empty cell where it is missing.\nWrite a point as the decimal mark.",
            ),
            (
                "label,f\n1,2\n0,1e39\n",
                "t.csv:3: column f: \"1e39\" is too large for a 32-bit number; expected a finite number below 3.4e38 or an empty cell.",
            ),
            (
                "label,f\n1,-1e300\n0,2\n",
                "t.csv:2: column f: \"-1e300\" is too large for a 32-bit number; expected a finite number below 3.4e38 or an empty cell.",
            ),
            (
                "label,f\n1,2\n0,inf\n",
                "t.csv:3: column f: \"inf\" is too large for a 32-bit number; expected a finite number below 3.4e38 or an empty cell.",
            ),
            ("label,f\n1,2,3\n", "t.csv:2: 3 fields separated by ','; expected 2, one for each column name."),
            ("label\tf\n1\n", "t.csv:2: 1 fields separated by tabs; expected 2, one for each column name."),
            (
                "label,item_weight\n1,1\n1,-1\n",
                "t.csv:3: column item_weight: -1; expected a finite weight ≥ 0.",
            ),
            (
                "label,item_weight\n1,\n",
                "t.csv:2: column item_weight: a missing weight; expected a finite weight ≥ 0.",
            ),
            (
                "qid,label,list_weight\n1,1,2\n1,1,3\n",
                "t.csv:3: column list_weight: 3 after 2 in the same list; expected one weight for all rows of a list.",
            ),
            (
                "label,timestamp\n1,\n",
                "t.csv:2: column timestamp: a missing number; expected a number in every row of this column.",
            ),
            (
                "label,shown_position\n1,1.5\n",
                "t.csv:2: column shown_position: 1.5; expected an integer position from 0.",
            ),
            ("", "t.csv: an empty file; expected a line of column names."),
            ("label,f\n", "t.csv: no row below the column names; expected at least one row."),
            (
                "f1,f2\n1,2\n",
                "t.csv: no label column among f1, f2; expected a column called label, relevance, rel, grade, target, y.\nName the label column with --label.",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(message(text, &plain), expected, "{text:?}");
        }
        let latin = read(&Source::bytes("t.csv", b"label,item\n1,caf\xe9\n".to_vec()), None, &plain);
        assert_eq!(
            latin.unwrap_err().to_string(),
            "t.csv:2: column item: \"caf\\xe9\" is not UTF-8; expected UTF-8 text.\n\
             Convert it first, for example: iconv -f LATIN1 -t UTF-8."
        );
        let limit = ReadOptions { max_features: Some(1), ..plain };
        assert_eq!(
            message("label,a,b\n1,2,3\n", &limit),
            "t.csv: 2 features; expected at most 1 (max_features)."
        );
    }

    #[test]
    fn a_column_that_starts_late_is_still_a_number_column() {
        let text = format!("label,f,t\n{}1,2,x\n", "0,,\n".repeat(5));
        let data = csv(&text, &ReadOptions::default()).unwrap();
        assert_eq!(data.columns.len(), 1);
        assert_eq!(data.features.get(5, 0), 2.0);
    }

    #[test]
    fn content_is_recognised() {
        for (head, is_csv, is_tsv) in [
            (EXAMPLE, true, false),
            (TSV.example, false, true),
            (b"2 qid:1 1:0.5\n", false, false),
            (b"196\t242\t3\n1\t2\t3\n", false, false),
            (b"1,2\n3,4\n", false, false),
            (b"", false, false),
        ] {
            assert_eq!(((FORMAT.sniff)(head), (TSV.sniff)(head)), (is_csv, is_tsv), "{head:?}");
        }
    }

    #[test]
    fn names_that_mislead_about_the_separator_are_quoted() {
        let options = ReadOptions { labels: strings("\u{feff}a"), ..ReadOptions::default() };
        for (text, options) in [
            ("\"label\",\"a\tb\tc;;;\"\n1,2\n", &ReadOptions::default()),
            ("\"\u{feff}a\",\"f\"\n1,2\n", &options),
            ("label,\"title, length\"\n1,2\n", &ReadOptions::default()),
        ] {
            let mut written = Vec::new();
            write(&csv(text, options).unwrap(), b',', &mut written).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), text);
        }
    }

    #[test]
    fn what_a_table_cannot_say_is_refused() {
        let data = csv("label,f\n1,2\n", &ReadOptions::default()).unwrap();
        let refused = |change: &dyn Fn(&mut Dataset)| {
            let mut data = data.clone();
            change(&mut data);
            let error = write(&data, b',', &mut Vec::new()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            error.to_string()
        };
        assert_eq!(
            refused(&|data| data.columns[0].name = "label".into()),
            "two columns would be called \"label\"; rename the feature"
        );
        assert_eq!(
            refused(&|data| data.columns[0].name = "query".into()),
            "a column called \"query\" would be read back as something else; rename it"
        );
        assert_eq!(
            refused(&|data| data.columns[0].levels = Some(["NA"].into_iter().collect())),
            "category \"NA\" of feature \"f\" would be read back as missing"
        );
        assert_eq!(
            refused(&|data| data.columns[0].levels = Some(["x"].into_iter().collect())),
            "category 2 of feature \"f\" has no name"
        );
    }
}

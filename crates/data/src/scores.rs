/*!
Score files: one number a line, in the order of the data's rows.

Several outputs (multi-label data) stand on one line, separated by blanks, tabs or commas; `nan` where a row is not judged
for a label. Lines that start with `#` are skipped, blank lines may end the file.
*/

use crate::dataset::Dataset;
use crate::error::{ReadError, show};
use crate::lines::Lines;
use crate::source::Source;

/// Reads the scores of a data set, in the order of the rows of its file, as one score per entry.
///
/// ```
/// use toprank_data::{ReadOptions, Source, formats, scores::scores_of_entries};
/// let source = Source::bytes("test.txt", *b"1 qid:a 1:0\n0 qid:b 1:0\n0 qid:a 1:0\n");
/// let data = formats::read(&source, &ReadOptions { regroup: true, ..ReadOptions::default() }).unwrap();
/// let scores = Source::bytes("scores.txt", *b"1\n2\n3\n");
/// assert_eq!(scores_of_entries(&scores, &data).unwrap(), [1.0, 3.0, 2.0]); // list a, then list b
/// ```
pub fn scores_of_entries(source: &Source, data: &Dataset) -> Result<Vec<f64>, ReadError> {
    let outputs = data.outputs();
    // Of several outputs some may have no item to score: a row that is not judged for that label.
    let by_row = read(source, data.rows(), outputs, outputs > 1)?;
    let mut scores = Vec::with_capacity(data.lists.entries());
    for q in 0..data.lists.len() {
        let output = data.lists.output.as_ref().map_or(0, |output| output[q] as usize);
        let row = |entry| data.file_row(data.lists.row(entry));
        scores.extend(data.lists.range(q).map(|entry| by_row[row(entry) * outputs + output]));
    }
    if let Some(entry) = scores.iter().position(|score| score.is_nan()) {
        let row = data.file_row(data.lists.row(entry)) + 1;
        return Err(ReadError::data(
            source.name(),
            format!("nan in row {row}"),
            "a score, as the row is judged",
        ));
    }
    Ok(scores)
}

/// Reads `outputs` finite numbers for each of `rows` rows, row after row.
///
/// A wrong count is an error that states both, a score that is no finite number an error that names its line.
/// Cost: one pass, 8 bytes a score.
///
/// ```
/// use toprank_data::{Source, scores::read_scores};
/// let source = Source::bytes("scores.txt", *b"# model a\n0.5\n-1e3\n");
/// assert_eq!(read_scores(&source, 2, 1).unwrap(), [0.5, -1000.0]);
/// let error = read_scores(&source, 3, 1).unwrap_err();
/// assert_eq!(error.to_string(), "scores.txt: 2 lines of scores; expected 3, one per row of the data.");
/// ```
pub fn read_scores(source: &Source, rows: usize, outputs: usize) -> Result<Vec<f64>, ReadError> {
    read(source, rows, outputs, false)
}

fn read(source: &Source, rows: usize, outputs: usize, gaps: bool) -> Result<Vec<f64>, ReadError> {
    let mut lines = Lines::open(source)?;
    let mut scores = Vec::new();
    let (mut found, mut blank) = (0usize, false);
    while let Some(line) = lines.next_line()? {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            blank |= line.is_empty();
            continue;
        }
        if blank {
            return Err(lines.error("a score after a blank line", "no blank lines between scores"));
        }
        found += 1;
        // A file far too long is counted to the end for the message, not kept.
        if found <= rows
            && let Err((what, expected)) = line_of_scores(line, outputs, gaps, &mut scores)
        {
            return Err(lines.error(what, expected));
        }
    }
    if found == rows {
        return Ok(scores);
    }
    let expected = format!("{rows}, one per row of the data");
    Err(ReadError::data(source.name(), format!("{found} lines of scores"), expected))
}

fn line_of_scores(
    line: &[u8],
    outputs: usize,
    gaps: bool,
    scores: &mut Vec<f64>,
) -> Result<(), (String, String)> {
    let before = scores.len();
    let words = line.split(|byte| matches!(byte, b' ' | b'\t' | b',')).filter(|word| !word.is_empty());
    for word in words {
        let score = std::str::from_utf8(word).ok().and_then(|text| fast_float2::parse::<f64, _>(text).ok());
        match score {
            Some(score) if score.is_finite() || gaps && score.is_nan() => scores.push(score),
            Some(_) => return Err((format!("score {}", show(word)), "a finite number".into())),
            None => return Err((show(word), "a score, one number".into())),
        }
        if scores.len() - before > outputs {
            break;
        }
    }
    match scores.len() - before {
        count if count == outputs => Ok(()),
        count => {
            let more = if count > outputs { "more than " } else { "" };
            let numbers = |n: usize| if n == 1 { "1 number".into() } else { format!("{n} numbers") };
            Err((
                format!("{more}{} on one line", numbers(count.min(outputs))),
                format!("{}, one per output", numbers(outputs)),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, rows: usize, outputs: usize) -> Result<Vec<f64>, String> {
        read_scores(&Source::bytes("s.txt", text.as_bytes()), rows, outputs).map_err(|e| e.to_string())
    }

    #[test]
    fn blanks_comments_and_line_ends_do_not_matter() {
        assert_eq!(read("\u{feff} 1 \r\n# x\r\n+2.5\r\n\r\n\r\n", 2, 1), Ok(vec![1.0, 2.5]));
        assert_eq!(read("1 2\n3\t4\n5, 6", 3, 2), Ok(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        assert_eq!(read("", 0, 1), Ok(vec![]));
    }

    #[test]
    fn a_row_that_is_not_judged_for_a_label_needs_no_score_for_it() {
        let mut lists = toprank_core::Lists::from_lengths(&[2, 1], vec![1.0, 0.0, 1.0]);
        lists.rows = Some(vec![0, 1, 1]);
        lists.output = Some(vec![0, 1]);
        let features = crate::dataset::Matrix::Dense { width: 1, values: vec![0.0; 2] };
        let data = Dataset { lists, features, ..Dataset::default() };
        let read = |text: &str| scores_of_entries(&Source::bytes("s.txt", text.as_bytes()), &data);
        assert_eq!(read("0.5 nan\n0.25 0.75\n").unwrap(), [0.5, 0.25, 0.75]);
        let error = read("0.5 1\nnan 0.75\n").unwrap_err().to_string();
        assert_eq!(error, "s.txt: nan in row 2; expected a score, as the row is judged.");
        assert!(read("0.5 inf\n0.25 0.75\n").is_err());
    }

    #[test]
    fn messages_name_file_line_and_both_counts() {
        for (text, rows, outputs, expected) in [
            ("1\n2\n", 3, 1, "s.txt: 2 lines of scores; expected 3, one per row of the data."),
            ("1\n2\nx\n", 2, 1, "s.txt: 3 lines of scores; expected 2, one per row of the data."),
            ("1\nNaN\n", 2, 1, "s.txt:2: score \"NaN\"; expected a finite number."),
            ("-inf\n", 1, 1, "s.txt:1: score \"-inf\"; expected a finite number."),
            ("1e999\n", 1, 1, "s.txt:1: score \"1e999\"; expected a finite number."),
            ("0,5x\n", 1, 2, "s.txt:1: \"5x\"; expected a score, one number."),
            ("score\n1\n", 1, 1, "s.txt:1: \"score\"; expected a score, one number."),
            ("1 2\n", 1, 1, "s.txt:1: more than 1 number on one line; expected 1 number, one per output."),
            ("1 2\n3\n", 2, 2, "s.txt:2: 1 number on one line; expected 2 numbers, one per output."),
            (
                "1\n\n2\n",
                2,
                1,
                "s.txt:3: a score after a blank line; expected no blank lines between scores.",
            ),
        ] {
            assert_eq!(read(text, rows, outputs), Err(expected.into()), "{text:?}");
        }
    }
}

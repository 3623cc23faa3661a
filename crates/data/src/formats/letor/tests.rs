//! The reader against a reference implementation, its messages word for word, and real files.

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;
use toprank_testkit::real_file;

use super::*;
use crate::dataset::Matrix;
use crate::error::Fault;

fn parse(text: impl AsRef<[u8]>) -> Result<Dataset, ReadError> {
    parse_with(text, &ReadOptions::default())
}

fn parse_with(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Dataset, ReadError> {
    read(&Source::bytes("t.txt", text.as_ref()), options)
}

fn message(text: impl AsRef<[u8]>) -> String {
    parse(text).unwrap_err().to_string()
}

fn regroup() -> ReadOptions {
    ReadOptions { regroup: true, ..ReadOptions::default() }
}

/// Makes NaN comparable: no file holds this number.
fn comparable(mut dataset: Dataset) -> Dataset {
    let plain = |value: &mut f32| {
        if value.is_nan() {
            *value = 1.234_567e37;
        }
    };
    dataset.lists.labels.iter_mut().for_each(plain);
    match &mut dataset.features {
        Matrix::Dense { values, .. } => values.iter_mut().for_each(plain),
        Matrix::Sparse(sparse) => sparse.values.iter_mut().for_each(plain),
    }
    dataset
}

/// What a row says, read the plain way.
#[derive(Debug, PartialEq)]
struct PlainRow {
    label: String,
    qid: Option<String>,
    cells: BTreeMap<u32, String>,
    name: String,
    line: u64,
}

/// The reference implementation: split at blanks, `str::parse`.
fn plain(text: &str) -> Vec<PlainRow> {
    let mut rows = Vec::new();
    for (number, line) in text.split('\n').enumerate() {
        let (row, comment) = line.split_once('#').unwrap_or((line, ""));
        let mut words = row.split_whitespace().peekable();
        let Some(label) = words.next() else { continue };
        let qid = words.next_if(|word| word.starts_with("qid:")).map(|word| word[4..].to_string());
        let cells = words
            .map(|word| word.split_once(':').unwrap())
            .map(|(index, value)| (index.parse().unwrap(), value.to_string()))
            .collect();
        let comment: Vec<&str> = comment.split_whitespace().collect();
        let name = match comment[..] {
            ["docid", "=", name, ..] => name.to_string(),
            _ => comment.join(" "),
        };
        rows.push(PlainRow { label: label.into(), qid, cells, name, line: number as u64 + 1 });
    }
    rows
}

fn plain_number(text: &str) -> f32 {
    match text.to_ascii_lowercase().as_str() {
        "" | "null" | "nan" | "na" => f32::NAN,
        other => other.parse().unwrap(),
    }
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// Compares a data set with the twin, cell by cell.
fn check_against_twin(text: &str, options: &ReadOptions, dataset: &Dataset) {
    let mut rows = plain(text);
    if options.regroup {
        let mut first = BTreeMap::new();
        for (place, row) in rows.iter().enumerate() {
            first.entry(row.qid.clone()).or_insert(place);
        }
        rows.sort_by_key(|row| first[&row.qid]);
    }
    assert_eq!(dataset.lists.check(), Ok(()));
    assert_eq!(dataset.rows(), rows.len());
    let unstated = if options.absent == Absent::Zero { 0.0 } else { f32::NAN };
    let base = u32::from(!rows.iter().any(|row| row.cells.contains_key(&0)));
    let last = rows.iter().filter_map(|row| row.cells.keys().last()).max();
    assert_eq!(dataset.features.width(), last.map_or(0, |last| (last + 1 - base) as usize));
    for (place, row) in rows.iter().enumerate() {
        assert!(same(dataset.lists.labels[place], plain_number(&row.label)), "label of {row:?}");
        assert_eq!(dataset.lines.of(place), Some(row.line));
        assert_eq!(dataset.item_names.as_ref().map_or("", |names| names.get(place)), row.name);
        for (column, feature) in dataset.columns.iter().zip(base..) {
            assert_eq!(column.name, feature.to_string());
            let expected = row.cells.get(&feature).map_or(unstated, |value| plain_number(value));
            let found = dataset.features.get(place, (feature - base) as usize);
            assert!(same(found, expected), "feature {feature} of {row:?}: {found}");
        }
    }
    let mut place = 0;
    for q in 0..dataset.lists.len() {
        for entry in dataset.lists.range(q) {
            assert_eq!(entry, place);
            let name = dataset.list_names.as_ref().map(|names| names.get(q));
            assert_eq!(rows[place].qid.as_deref(), name);
            place += 1;
        }
    }
}

prop_compose! {
    fn number_text()(kind in 0..8, a in any::<f32>(), b in -1000i32..1000) -> String {
        match kind {
            0 | 1 if a.is_finite() => a.to_string(),
            2 => format!("{:e}", f64::from(b) / 7.0),
            3 => format!("{}", f64::from(b) / 7.0),
            4 => "NULL".into(),
            5 => "nan".into(),
            6 => "0".into(),
            _ => b.to_string(),
        }
    }
}

prop_compose! {
    fn cells()(
        shape in 0..4,
        cells in prop::collection::btree_map(prop_oneof![9 => 1u32..12, 1 => 0u32..300], number_text(), 0..10),
        full in prop::collection::vec(number_text(), 6),
    ) -> Vec<(u32, String)> {
        match shape {
            0 => cells.into_iter().rev().collect(),
            1 => cells.into_iter().collect(),
            _ => (1..).zip(full).collect(),
        }
    }
}

prop_compose! {
    /// A file with every freedom the format has; qids 0, 1, 2 come and go.
    fn file(with_qid: bool)(
        rows in prop::collection::vec(
            (number_text(), 0..3u32, cells(), 0..6, prop::sample::select(vec![" ", "  ", "\t"])), 1..30),
        crlf in any::<bool>(),
        last_newline in any::<bool>(),
    ) -> String {
        let mut text = String::new();
        for (label, qid, cells, extra, blank) in rows {
            text += if extra == 5 { blank } else { "" };
            text += &label;
            if with_qid {
                write!(text, "{blank}qid:q{qid}").unwrap();
            }
            for (index, value) in cells {
                write!(text, "{blank}{index}:{value}").unwrap();
            }
            text += match extra {
                0 => "#docid = GX-1 inc = 1",
                1 => " # a name",
                2 => " \n",
                3 => "\n# only a comment",
                _ => "",
            };
            text += if crlf { "\r\n" } else { "\n" };
        }
        if !last_newline {
            text.truncate(text.trim_end().len());
        }
        text
    }
}

fn read_cut(text: &str, options: &ReadOptions, piece: usize) -> Dataset {
    let source = Source::bytes("t.txt", text.as_bytes());
    read_pieces(&source, options, Pieces::open(&source).unwrap().with_piece(piece)).unwrap()
}

proptest! {
    #[test]
    fn the_reader_equals_the_plain_twin_wherever_the_text_is_cut(
        text in prop_oneof![file(true), file(false)],
        missing in any::<bool>(),
        piece in 1usize..400,
    ) {
        let absent = if missing { Absent::Missing } else { Absent::Zero };
        let options = ReadOptions { absent, ..regroup() };
        // Labels of −1 and +1 only are turned into 0 and 1; the twin does not.
        prop_assume!(plain(&text).iter().any(|row| plain_number(&row.label).abs() != 1.0));
        // A text without any pair is a table.
        prop_assume!(shape(text.as_bytes()) == Shape::Pairs);
        let whole = parse_with(&text, &options).unwrap();
        check_against_twin(&text, &options, &whole);
        prop_assert_eq!(comparable(read_cut(&text, &options, piece)), comparable(whole));
    }

    #[test]
    fn writing_and_reading_gives_the_data_set_back(text in prop_oneof![file(true), file(false)]) {
        prop_assume!(shape(text.as_bytes()) == Shape::Pairs);
        let mut first = parse_with(&text, &regroup()).unwrap();
        // A file of ten thousand labels −1 and +1 reads as 0 and 1: those come back as they are.
        let mut written = Vec::new();
        write::write(&first, &mut written).unwrap();
        let mut again = parse(&written).unwrap();
        // Lines and rows are those of the new file.
        first.file_rows = None;
        first.lines = LineNumbers::default();
        again.lines = LineNumbers::default();
        prop_assert_eq!(comparable(again), comparable(first), "{}", String::from_utf8_lossy(&written));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..170) {
        let _ = parse(&bytes);
        let mut example = FORMAT.example.to_vec();
        let at = cut.min(example.len());
        example.splice(at..at, bytes);
        let _ = parse(example);
    }
}

#[test]
fn threads_change_nothing() {
    let mut text = String::new();
    for row in 0..60_000u32 {
        let (label, qid, whole, float) = (row % 3, row / 50, row % 17, row as f32 / 7.0);
        writeln!(text, "{label} qid:{qid} 1:{whole} 2:0.{row} 7:{float}").unwrap();
    }
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| parse(&text).unwrap())
    };
    let one = on(1);
    assert_eq!(one.rows(), 60_000);
    assert_eq!(one, on(2));
    assert_eq!(one, on(3));
}

#[test]
fn messages_name_place_finding_expectation_and_remedy() {
    let expected = [
        ("abc qid:1 1:2\n", "t.txt:1: \"abc\" where the label should stand; expected a number."),
        (
            "1 qid:1 1:2\n2 qid:1 1:0,5\n",
            "t.txt:2: value \"0,5\" of feature 1; expected a number, or NULL, nan or nothing if it is missing.",
        ),
        ("1 qid:1 1:inf\n", "t.txt:1: infinite value \"inf\" of feature 1; expected a finite number."),
        ("-Inf qid:1 1:1\n", "t.txt:1: infinite label \"-Inf\"; expected a finite label."),
        (
            "1 qid:1 1:1e39\n",
            "t.txt:1: value \"1e39\" of feature 1, too large for a 32-bit float; expected a number below 3.4e38.",
        ),
        ("1 qid:1 3:1 2:1 3:2\n", "t.txt:1: feature 3 twice in one row; expected each feature at most once."),
        (
            "1 qid:1 1048577:1\n",
            "t.txt:1: feature 1048577; expected at most 1048576.\nAllow more with --max-features.",
        ),
        (
            "1 qid:1 99999999999999999999:1\n",
            "t.txt:1: feature 99999999999999999999; expected at most 1048576.\nAllow more with --max-features.",
        ),
        ("1 qid:1 1:1 5\n", "t.txt:1: \"5\" without a colon; expected index:value."),
        ("1 qid:1 a:1\n", "t.txt:1: \"a:1\", whose feature is not a number; expected index:value."),
        ("1 qid:1 -1:1\n", "t.txt:1: \"-1:1\", whose feature is not a number; expected index:value."),
        ("1 qid: 1:1\n", "t.txt:1: an empty qid; expected qid:NAME."),
        (
            "1 qid:1 1:1 qid:2\n",
            "t.txt:1: \"qid:2\" after the features or twice; expected it once, after the label.",
        ),
        (
            "1 qid:7 1:1\n\n0 qid:8 1:1\n1 qid:7 1:2\n",
            "t.txt:4: qid 7 appears again after it ended on line 1; expected all rows of a list to be adjacent.\nUse --regroup, or sort the file by qid.",
        ),
        ("# head\n1 qid:7 1:1\n1 1:1\n", "t.txt:3: no qid; expected one as on line 2."),
        ("1 1:1\n1 qid:7 1:1\n", "t.txt:2: a qid; expected none as on line 1."),
        ("", "t.txt: no row; expected at least one row: label qid:Q index:value …."),
        ("# nothing\n\n", "t.txt: no row; expected at least one row: label qid:Q index:value …."),
        ("1 0.5 0.25\n0 0.5\n", "t.txt:2: 1 values after the label; expected 2 as in the rows before."),
        (
            "1\t0.5\tx\n",
            "t.txt:1: value \"x\" of feature 2; expected a number, or NULL, nan or nothing if it is missing.",
        ),
        (
            "\u{feff}1 qid:1 1:x\n",
            "t.txt:1: value \"x\" of feature 1; expected a number, or NULL, nan or nothing if it is missing.",
        ),
    ];
    for (text, message_expected) in expected {
        assert_eq!(message(text), message_expected, "{text:?}");
    }
    let latin = message(b"1 qid:1 1:1 # caf\xe9\n");
    assert_eq!(
        latin,
        "t.txt:1: a comment \"caf\\xe9\" that is not UTF-8; expected UTF-8 text.\n\
         Convert it first: iconv -f LATIN1 -t UTF-8."
    );
    assert!(message(b"\xff\xfe1\0").starts_with("t.txt:1: UTF-16 text; expected UTF-8 or ASCII."));
}

#[test]
fn the_first_error_in_the_file_is_the_one_reported() {
    // The qid comes back before the bad value, in the same piece.
    let text = "1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n1 qid:3 1:x\n";
    assert!(message(text).starts_with("t.txt:3: qid 1 appears again"));
    // Rows before the bad one in other pieces count as lines.
    let long = format!("{}0 qid:2 1:x\n", "1 qid:1 1:0.5\n".repeat(200_000));
    assert!(message(long).starts_with("t.txt:200001: value \"x\""));
}

#[test]
fn rows_of_a_list_come_together_on_request() {
    let text = "1 qid:b 1:1 # first\n2 qid:a 1:2\n3 qid:b 1:3 # third\n4 qid:c 1:4\n5 qid:a 1:5\n";
    let dataset = parse_with(text, &regroup()).unwrap();
    assert_eq!(dataset.lists.labels, [1.0, 3.0, 2.0, 5.0, 4.0]);
    assert_eq!(dataset.lists.offsets, [0, 2, 4, 5]);
    let list_names: Vec<_> = dataset.list_names.as_ref().unwrap().iter().collect();
    assert_eq!(list_names, ["b", "a", "c"]);
    assert_eq!(dataset.item_names.as_ref().unwrap().get(1), "third");
    assert_eq!([0, 1, 2, 3, 4].map(|row| dataset.lines.of(row).unwrap()), [1, 3, 2, 5, 4]);
    assert_eq!(dataset.file_rows, Some(vec![0, 2, 1, 4, 3]));
    assert_eq!(dataset.features, Matrix::Dense { width: 1, values: vec![1.0, 3.0, 2.0, 5.0, 4.0] });
}

#[test]
fn one_row_with_a_huge_index_costs_little() {
    let mut text = "1 qid:1 1:1 2:2 3:3\n".repeat(100_000);
    text += "0 qid:1 1000000:1\n";
    let dataset = parse(&text).unwrap();
    assert_eq!(dataset.features.width(), 1_000_000);
    assert_eq!(dataset.features.get(100_000, 999_999), 1.0);
    assert_eq!(dataset.features.get(99_999, 2), 3.0);
    assert!(dataset.bytes() < 5_000_000, "{}", dataset.bytes());
    let error =
        parse_with(&text, &ReadOptions { absent: Absent::Missing, ..ReadOptions::default() }).unwrap_err();
    assert_eq!(error.fault(), Fault::Data);
    assert!(error.to_string().contains("100001 rows × 1000000 features, most of them not stated"), "{error}");
}

#[test]
fn the_form_is_a_matter_of_the_whole_file() {
    let sparse_then_full = |sparse: usize, full: usize| {
        let mut row = String::new();
        (1..=100).for_each(|i| write!(row, " {i}:{i}").unwrap());
        let text = "1 50:1 100:0\n".repeat(sparse) + &format!("0{row}\n").repeat(full);
        parse(text).unwrap()
    };
    // 25 % of the cells: sparse takes 8 · 25 + 8 bytes of 400, just over half.
    assert!(matches!(sparse_then_full(75_000, 25_000).features, Matrix::Dense { .. }));
    let dataset = sparse_then_full(80_000, 20_000);
    assert!(matches!(dataset.features, Matrix::Sparse(_)));
    assert_eq!((dataset.features.get(0, 49), dataset.features.get(99_999, 99)), (1.0, 100.0));
    let full_first = "0 1:1 2:1\n".repeat(3_000_000 / 10) + &"1 9999:1\n".repeat(10);
    let dataset = parse(full_first).unwrap();
    assert!(matches!(dataset.features, Matrix::Sparse(_)));
    assert_eq!(dataset.features.get(0, 1), 1.0);
}

#[test]
fn a_feature_0_that_comes_late_gets_its_own_column() {
    let dataset = parse("1 1:1 2:2\n0 0:5 2:3\n").unwrap();
    assert_eq!(dataset.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["0", "1", "2"]);
    assert_eq!(dataset.features, Matrix::Dense { width: 3, values: vec![0.0, 1.0, 2.0, 5.0, 0.0, 3.0] });
}

#[test]
fn columns_of_zeros_at_the_borders_survive_writing() {
    for text in ["0 16:0\n1 0:0\n", "0 0:0\n", "1 9:0\n", "1\n", "0 0:0 99:0\n1 99:1\n"] {
        let dataset = parse(text).unwrap();
        let mut written = Vec::new();
        write::write(&dataset, &mut written).unwrap();
        assert_eq!(
            parse(&written).unwrap(),
            dataset,
            "{text:?} became {}",
            String::from_utf8_lossy(&written)
        );
    }
}

#[test]
fn plus_and_minus_one_are_0_and_1_only_in_binary_files() {
    assert_eq!(parse("+1 1:1\n-1 1:2\n").unwrap().lists.labels, [1.0, 0.0]);
    assert_eq!(parse("-1 1:1\n-1 1:2\n").unwrap().lists.labels, [0.0, 0.0]);
    assert_eq!(parse("1 1:1\n0 1:2\n").unwrap().lists.labels, [1.0, 0.0]);
    assert_eq!(parse("1 1:1\n-1 1:2\n2 1:1\n").unwrap().lists.labels, [1.0, -1.0, 2.0]);
    assert_eq!(parse("1 qid:1 1:1\n-1 qid:1 1:2\n").unwrap().lists.labels, [1.0, -1.0]);
}

#[test]
fn tables_may_be_divided_by_tabs_blanks_or_commas() {
    for text in ["1\t0.5\t\t2\n0\t1\t2\t3\n", "1,0.5,,2\n0 , 1, 2,3\r\n", "1 0.5  nan 2 # x\n\n 0 1\t2 3 \n"]
    {
        let dataset = comparable(parse(text).unwrap());
        let missing = 1.234_567e37;
        let values = vec![0.5, missing, 2.0, 1.0, 2.0, 3.0];
        assert_eq!(dataset.features, Matrix::Dense { width: 3, values }, "{text:?}");
        assert_eq!(dataset.lists.labels, [1.0, 0.0]);
        assert_eq!(dataset.columns[2].name, "3");
    }
    // The number of fields holds across pieces too.
    let long = format!("{}1 2 3 4\n", "1 2 3\n".repeat(60_000));
    assert!(message(long).starts_with("t.txt:60001: 3 values after the label; expected 2"));
}

#[test]
fn content_tells_pairs_and_tables_from_other_files() {
    for yes in
        ["2 qid:1 1:0.5\n", "\u{feff}# c\n+1 3:1\n", "0\n1 5:0\n", "1 0.5 3 4 5\n0 1 2 3 4\n", "1,.5,3,4,5"]
    {
        assert!(sniff(yes.as_bytes()), "{yes:?}");
    }
    for no in [
        "",
        "label,f1,f2,f3,f4\n1,2,3,4,.5\n",
        "1::31::2.5::1260759144\n",
        "196\t242\t3\t881250949\n",
        "PAR1",
        "0 1 2 3 4 5\n",
        "q1 Q0 d1 1 0.5 run\n",
        "1 0 doc 2\n",
        "@relation x\n",
    ] {
        assert!(!sniff(no.as_bytes()), "{no:?}");
    }
}

#[test]
fn what_text_cannot_hold_is_refused_not_dropped() {
    let dataset = parse("1 qid:1 1:1 # a\n").unwrap();
    let refused = |change: fn(&mut Dataset)| {
        let mut changed = dataset.clone();
        change(&mut changed);
        let error = write::write(&changed, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
        error.to_string()
    };
    let weights = refused(|d| d.lists.item_weights = Some(vec![2.0]));
    assert_eq!(
        weights,
        "item weights, for which LETOR text has no place; write CSV or Parquet, or leave the column out with --ignore"
    );
    let list = refused(|d| d.list_names = Some(["two words"].into_iter().collect()));
    assert_eq!(list, "list name \"two words\", which a qid cannot be; write CSV or Parquet");
    let item = refused(|d| d.item_names = Some(["a\nb"].into_iter().collect()));
    assert_eq!(item, "item name \"a\\nb\", which a comment cannot hold; write CSV or Parquet");
}

/// A folder with `data.txt` of three rows without qid and the given side file.
fn beside(suffix: &str, side: &str) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.txt");
    std::fs::write(&path, "2 1:1\n0 1:2\n1 1:3\n").unwrap();
    std::fs::write(folder.path().join(format!("data.txt{suffix}")), side).unwrap();
    let folder_name = format!("{}/", folder.path().display());
    read(&Source::path(&path), &ReadOptions::default()).map_err(|e| e.to_string().replace(&folder_name, ""))
}

#[test]
fn side_files_are_read_and_checked() {
    for suffix in [".query", ".group"] {
        let dataset = beside(suffix, "2\n1\n\n").unwrap();
        assert_eq!(dataset.lists.offsets, [0, 2, 3]);
        assert_eq!(dataset.list_names, None);
        let error = beside(suffix, "2\n2\n").unwrap_err();
        assert_eq!(
            error,
            format!("data.txt{suffix}: 2 lists of 4 rows together; expected 3 rows as in data.txt.")
        );
    }
    assert_eq!(
        beside(".query", "2\nx\n").unwrap_err(),
        "data.txt.query:2: \"x\"; expected the number of rows of a list."
    );
    assert_eq!(beside(".weight", "1\n0\n2.5\n").unwrap().lists.item_weights, Some(vec![1.0, 0.0, 2.5]));
    assert_eq!(beside(".weight", "2").unwrap().lists.list_weights, Some(vec![2.0]));
    assert_eq!(
        beside(".weight", "1\n2\n").unwrap_err(),
        "data.txt.weight: 2 lines; expected 3, one per row of data.txt."
    );
    for bad in ["-1", "nan", "inf"] {
        assert_eq!(
            beside(".weight", &format!("1\n{bad}\n1\n")).unwrap_err(),
            format!("data.txt.weight:2: \"{bad}\"; expected a finite weight of at least 0.")
        );
    }
    assert_eq!(
        beside(".weight", "1\n\n1\n1\n").unwrap_err(),
        "data.txt.weight:3: a number after a blank line; expected no blank lines between numbers."
    );
    assert_eq!(beside(".position", "0\n1\n0\n").unwrap().positions, Some(vec![0, 1, 0]));
    assert_eq!(beside(".init", "0.5\n-1\n1e3\n").unwrap().init_scores, Some(vec![0.5, -1.0, 1000.0]));
    assert!(beside(".init", "0.5\n").unwrap_err().starts_with("data.txt.init: 1 lines; expected 3"));
}

#[test]
fn a_query_file_must_agree_with_the_qids() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.txt");
    std::fs::write(&path, "2 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:3\n").unwrap();
    std::fs::write(folder.path().join("d.txt.query"), "2\n1\n").unwrap();
    let source = Source::path(&path);
    assert_eq!(read(&source, &ReadOptions::default()).unwrap().list_name(1), "2");
    std::fs::write(folder.path().join("d.txt.query"), "1\n2\n").unwrap();
    let error = read(&source, &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        error.contains("d.txt.query: an end of list 1 after row 1; expected row 2, as qids or"),
        "{error}"
    );
    std::fs::write(folder.path().join("d.txt.query"), "2\n1\n0\n").unwrap();
    let error = read(&source, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("an end of list 3 after row 3; expected none"), "{error}");
}

fn histogram(dataset: &Dataset) -> Vec<usize> {
    let mut counts = Vec::new();
    for &label in &dataset.lists.labels {
        counts.resize(counts.len().max(label as usize + 1), 0);
        counts[label as usize] += 1;
    }
    counts
}

fn real(file: &str) -> Dataset {
    crate::read(&Source::path(real_file(file)), &ReadOptions::default()).unwrap()
}

fn mq2008_has_its_known_counts() {
    let counts = [(157, 2933), (157, 3635), (157, 3062), (157, 2707), (156, 2874)];
    let mut labels = [0; 3];
    for (part, (lists, rows)) in (1..).zip(counts) {
        let dataset = real(&format!("letor/mq2008/S{part}.txt.gz"));
        assert_eq!((dataset.lists.len(), dataset.rows(), dataset.features.width()), (lists, rows, 46));
        assert!(dataset.item_names.as_ref().unwrap().iter().all(|name| name.starts_with("GX")));
        (0..3).for_each(|label| labels[label] += histogram(&dataset)[label]);
    }
    assert_eq!(labels, [12_279, 2001, 931]);
}

fn mq2007_agg_keeps_null_as_missing() {
    let (mut lists, mut rows, mut missing) = (0, 0, 0);
    for part in 1..=5 {
        let dataset = real(&format!("letor/mq2007-agg/A{part}.txt.gz"));
        let Matrix::Dense { width: 21, values } = &dataset.features else { panic!("21 dense features") };
        lists += dataset.lists.len();
        rows += dataset.rows();
        missing += values.iter().filter(|value| value.is_nan()).count();
    }
    assert_eq!((lists, rows, missing), (1692, 69_623, 508_381));
}

fn lightgbm_rank_takes_its_lists_from_the_query_file() {
    let dataset = real("letor/lightgbm-rank/rank.train.gz");
    assert_eq!((dataset.lists.len(), dataset.rows(), dataset.features.width()), (201, 3005, 300));
    assert_eq!(histogram(&dataset), [645, 1211, 858, 222, 69]);
    let dataset = real("letor/lightgbm-rank/rank.test.gz");
    assert_eq!((dataset.lists.len(), dataset.rows()), (50, 768));
}

fn libsvm_files_are_one_list_of_0_and_1() {
    for (file, rows, width, positive) in [
        ("a9a.gz", 32_561, 123, 7841),
        ("a9a.t.gz", 16_281, 122, 3846),
        ("w8a.gz", 49_749, 300, 1479),
        ("hiva.gz", 3845, 1617, 135),
    ] {
        let dataset = real(&format!("binary/libsvm/{file}"));
        assert_eq!((dataset.lists.len(), dataset.rows(), dataset.features.width()), (1, rows, width));
        assert_eq!(histogram(&dataset), [rows - positive, positive], "{file}");
    }
}

fn lightgbm_binary_is_a_table_with_weights() {
    for (file, rows, positive) in [("binary.train.gz", 7000, 3716), ("binary.test.gz", 500, 272)] {
        let dataset = real(&format!("binary/lightgbm-binary/{file}"));
        assert_eq!((dataset.lists.len(), dataset.rows(), dataset.features.width()), (1, rows, 28));
        assert_eq!(histogram(&dataset), [rows - positive, positive]);
        assert_eq!(dataset.lists.item_weights.as_ref().unwrap().len(), rows);
    }
}

toprank_testkit::real_data_tests! {
    mq2008_has_its_known_counts,
    mq2007_agg_keeps_null_as_missing,
    lightgbm_rank_takes_its_lists_from_the_query_file,
    libsvm_files_are_one_list_of_0_and_1,
    lightgbm_binary_is_a_table_with_weights,
}

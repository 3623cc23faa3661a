//! What is written is read back; whatever is wrong with a file is told in words; text takes the same way in two passes.

use proptest::prelude::*;
use toprank_core::Features;

use super::layout::{FOOT, HEAD};
use super::*;
use crate::checksums::BLOCK;
use crate::dataset::{Matrix, Sparse};
use crate::formats::letor::Outline;

const GOLDEN: &[u8] = include_bytes!("../formats/examples/lists.toprank-data");
const GOLDEN_SPARSE: &[u8] = include_bytes!("../../../../fuzz/seeds/toprank-data/sparse.toprank-data");

fn names(all: &[&str]) -> Names {
    all.iter().collect()
}

fn bytes_of(data: &Dataset) -> Vec<u8> {
    let mut bytes = Vec::new();
    write::write(data, &mut bytes).unwrap();
    bytes
}

fn open(bytes: &[u8]) -> Result<MappedDataset, ReadError> {
    MappedDataset::from_bytes("m.toprank-data", bytes.to_vec())
}

/// A data set that has everything a data set can have.
fn everything() -> Dataset {
    let mut lines = LineNumbers::default();
    [1, 2, 9].into_iter().enumerate().for_each(|(row, line)| lines.push(row, line));
    Dataset {
        graphs: None,
        lists: Lists {
            offsets: vec![0, 3, 3, 5],
            rows: Some(vec![0, 1, 2, 2, 0]),
            output: Some(vec![0, 1, 1]),
            labels: vec![2.0, f32::NAN, 0.0, 1.0, 0.0],
            item_weights: Some(vec![1.0, 0.5, 2.0, 0.0, 1.0]),
            list_weights: Some(vec![1.0, 3.0, 0.25]),
            tie_keys: Some(vec![2, 0, 1, 1, 0]),
            missed: Some(Ragged { offsets: vec![0, 1, 1, 3], values: vec![4.0, 1.0, 0.0] }),
            pairs: None,
        },
        features: Matrix::Dense { width: 2, values: vec![0.5, 1.0, f32::NAN, 0.0, -7.25, 1.0] },
        columns: vec![
            Column { name: "bm25".into(), levels: None },
            Column { name: "kind, größe".into(), levels: Some(names(&["red", "木"])) },
        ],
        item_names: Some(names(&["d1", "", "d3"])),
        list_names: Some(names(&["q1", "q2", "q3"])),
        output_names: Some(names(&["sun", "rain"])),
        times: Some(vec![1.0, 2.0, 3.0, 4.0, 5.0]),
        positions: Some(vec![0, 1, 2]),
        init_scores: Some(vec![0.1, 0.2, 0.3]),
        unread: Vec::new(),
        extra: vec![("site".into(), names(&["a", "b", "c"])), ("day".into(), names(&["", "x", ""]))],
        lines,
        file_rows: Some(vec![2, 0, 1]),
    }
}

fn sparse(data: &Dataset) -> Dataset {
    let matrix = Sparse {
        width: 2,
        offsets: vec![0, 2, 3, 4],
        indices: vec![0, 1, 0, 1],
        values: vec![0.5, 1.0, f32::NAN, 1.0],
    };
    Dataset { features: Matrix::Sparse(matrix), ..data.clone() }
}

/// Equal, NaN and all.
fn assert_same(a: &Dataset, b: &Dataset) {
    assert_eq!(format!("{a:?}"), format!("{b:?}"));
}

#[test]
fn the_golden_files_are_written_and_read_to_the_bit() {
    for (data, golden) in [(everything(), GOLDEN), (sparse(&everything()), GOLDEN_SPARSE)] {
        assert!(
            bytes_of(&data) == golden,
            "the format changed: give it a new version and keep reading this one"
        );
        assert_same(&open(golden).unwrap().read().unwrap(), &data);
        open(golden).unwrap().verify().unwrap();
    }
}

#[test]
fn nothing_but_lists_is_a_data_set_too() {
    let data = Dataset { lists: Lists::from_lengths(&[2, 1], vec![1.0, 0.0, 2.0]), ..Dataset::default() };
    let mapped = open(&bytes_of(&data)).unwrap();
    assert_same(&mapped.read().unwrap(), &data);
    assert_eq!((mapped.features.rows(), mapped.features.width()), (3, 0));
    mapped.features.gather(&[2, 0], &mut []);
    assert_eq!(mapped.features.fault(), None);
}

#[test]
fn a_data_set_that_breaks_its_promises_is_not_written() {
    let nameless = Dataset { columns: vec![], ..everything() };
    let error = write::write(&nameless, &mut Vec::new()).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (io::ErrorKind::Unsupported, "0 names of 2 features")
    );
    let mut unsorted = everything();
    unsorted.lists.offsets[1] = 9;
    assert!(write::write(&unsorted, &mut Vec::new()).unwrap_err().to_string().contains("offsets"));
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let cut = |n: usize| GOLDEN[..n].to_vec();
    let with = |at: usize, byte: u8| {
        let mut bytes = GOLDEN.to_vec();
        bytes[at] ^= byte;
        bytes
    };
    let end = GOLDEN.len();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", vec![], "an empty file; expected a toprank-data file"),
        (
            "foreign",
            b"2 qid:1 1:0.5\n".to_vec(),
            "a start with \"2 qid:1 1:0.5\\n\"; expected a toprank-data file",
        ),
        ("gzip", vec![0x1f, 0x8b, 8], "a packed file; expected a toprank-data file"),
        ("text mode", [b"\x89toprank-data\n\x1a", &GOLDEN[15..]].concat(), "expected a toprank-data file"),
        ("version", with(16, 3), "version 2 of the format; expected version 1."),
        (
            "head only",
            cut(HEAD),
            "without the mark that ends a whole file; expected a file that was not cut off",
        ),
        (
            "cut",
            cut(end - 1),
            "without the mark that ends a whole file; expected a file that was not cut off",
        ),
        ("cut foot", cut(end - FOOT), "without the mark that ends a whole file"),
        ("foot", with(end - FOOT, 1), "a table of"),
        ("table", with(end - FOOT - 10, 1), "a table of sections that does not match its checksum"),
    ];
    for (what, bytes, expected) in cases {
        let error = open(&bytes).unwrap_err().to_string();
        assert!(error.starts_with("m.toprank-data: ") && error.contains(expected), "{what}: {error}");
    }
}

/// Where a section starts.
fn place(bytes: &[u8], name: &str) -> usize {
    let mapped = open(bytes).unwrap();
    mapped.store.layout.table.sections.iter().find(|section| section.name == name).unwrap().at as usize
}

#[test]
fn a_damaged_section_is_named_when_it_is_used() {
    // What is read when the file is opened.
    for name in ["labels", "list_offsets", "rows", "columns.text", "list_names.ends", "levels.text"] {
        let mut bytes = GOLDEN.to_vec();
        bytes[place(GOLDEN, name)] ^= 1;
        let error = open(&bytes).unwrap_err().to_string();
        assert!(error.contains(&format!("section {name}: bytes ")) && error.contains("checksum"), "{error}");
    }
    // What is not.
    for name in ["features", "item_names.text", "extra.ends", "lines", "times"] {
        let mut bytes = GOLDEN.to_vec();
        bytes[place(GOLDEN, name)] ^= 1;
        let mapped = open(&bytes).unwrap();
        for result in [mapped.verify(), mapped.read().map(drop)] {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(&format!("section {name}: bytes ")), "{name}: {error}");
        }
    }
}

#[test]
fn rows_of_a_damaged_block_read_as_missing_and_leave_a_fault() {
    let width = 3;
    let rows = 2 * BLOCK / 4 / width;
    let lists = Lists::from_lengths(&[rows], vec![0.0; rows]);
    let columns = everything().columns[..1].iter().cycle().take(width).cloned().collect();
    let values: Vec<f32> = (0..rows * width).map(|i| i as f32).collect();
    let data = Dataset { lists, columns, features: Matrix::Dense { width, values }, ..Dataset::default() };
    let mut bytes = bytes_of(&data);
    let at = place(&bytes, "features");
    bytes[at + BLOCK + 1000] ^= 4;
    let mapped = open(&bytes).unwrap();
    let gather = |row: u32| {
        let mut out = [0.0; 3];
        mapped.features.gather(&[row], &mut out);
        out
    };
    assert_eq!(gather(7), [21.0, 22.0, 23.0]);
    assert_eq!(mapped.features.fault(), None);
    // Its last number stands in the damaged block.
    let border = (BLOCK / 4 / width) as u32;
    assert!(gather(border).iter().all(|value| value.is_nan()));
    assert!(gather(rows as u32 - 1).iter().all(|value| value.is_nan()));
    let fault = mapped.features.fault().unwrap();
    let (start, end) = (at + BLOCK, at + rows * width * 4);
    assert!(fault.contains(&format!("section features: bytes {start} to {end} do not match")), "{fault}");
    assert_eq!(gather(8), [24.0, 25.0, 26.0], "the rest can still be read");
}

/// The golden file with another table of sections, with the right sums.
fn forged(golden: &[u8], change: impl Fn(&mut serde_json::Value)) -> Vec<u8> {
    let foot = golden.len() - FOOT;
    let at = number::read_u64(&golden[foot..]) as usize;
    let mut table: serde_json::Value = serde_json::from_slice(&golden[at..foot]).unwrap();
    change(&mut table);
    let text = serde_json::to_vec(&table).unwrap();
    let mut bytes = [&golden[..at], &text].concat();
    number::Number::write_all(&[at as u64, text.len() as u64, xxhash_rust::xxh3::xxh3_64(&text)], &mut bytes);
    bytes.extend_from_slice(layout::END);
    bytes
}

#[test]
fn a_forged_table_never_leads_outside_the_file() {
    use serde_json::json;
    type Change = fn(&mut serde_json::Value);
    let cases: [(&[u8], Change, &str); 16] = [
        (GOLDEN, |t| t["rows"] = json!(u64::MAX), "rows; expected at most 4294967295"),
        (GOLDEN, |t| t["rows"] = json!(4), "the size of 4 rows of 2 features"),
        (GOLDEN, |t| t["width"] = json!(u64::MAX), "section features of 24 bytes"),
        (GOLDEN, |t| t["width"] = json!(1), "section features of 24 bytes"),
        (GOLDEN, |t| t["form"] = json!("sparse"), "no section cells"),
        (GOLDEN, |t| t["form"] = json!("odd"), "cannot be read"),
        (GOLDEN, |t| t["sections"][0]["at"] = json!(u64::MAX - 63), "sections one after the other"),
        (GOLDEN, |t| t["sections"][0]["bytes"] = json!(u64::MAX), "sections one after the other"),
        (GOLDEN, |t| t["sections"][1]["at"] = json!(64), "sections one after the other"),
        (GOLDEN, |t| t["sections"][1]["at"] = json!(129), "sections one after the other"),
        (GOLDEN, |t| t["sections"][1]["name"] = json!("features"), "section \"features\" twice"),
        (GOLDEN, |t| t["sections"][0]["type"] = json!("f64"), "of type \"f64\"; expected type f32"),
        (GOLDEN, |t| t["sums_at"] = json!(u64::MAX), "checksums at byte"),
        (GOLDEN, |t| t["extra"] = json!(["a", "b", "c"]), "section extra of 6 values; expected 9"),
        (GOLDEN_SPARSE, |t| t["width"] = json!(1), "section columns of 2 values; expected 1"),
        (GOLDEN_SPARSE, |t| t["rows"] = json!(2), "the size of 2 rows"),
    ];
    for (golden, change, expected) in cases {
        let error = open(&forged(golden, change)).and_then(|mapped| mapped.read()).unwrap_err().to_string();
        assert!(error.starts_with("m.toprank-data: ") && error.contains(expected), "{expected}: {error}");
    }
}

/// Sparse rows that break their promises, under the right sums.
#[test]
fn cells_out_of_place_are_told_and_never_written_elsewhere() {
    let forge = |offsets: Vec<u64>, indices: Vec<u32>| {
        let values = vec![1.0; indices.len()];
        let matrix = Sparse { width: 2, offsets: vec![0, 2, 3, 4], indices, values };
        let mut bytes = bytes_of(&Dataset { features: Matrix::Sparse(matrix), ..everything() });
        let at = place(&bytes, "row_offsets");
        // Same length, so only the sum of the section has to follow: written by hand.
        let mut column = Vec::new();
        number::Number::write_all(&offsets, &mut column);
        bytes[at..at + column.len()].copy_from_slice(&column);
        let layout = layout::Layout::parse("", &bytes).unwrap();
        let mut sums = layout.sums.clone();
        let section = layout.section("", "row_offsets", "u64").unwrap().unwrap();
        sums[section.first_block] = xxhash_rust::xxh3::xxh3_64(&column);
        let mut stored = Vec::new();
        number::Number::write_all(&sums, &mut stored);
        let sums_at = layout.table.sums_at as usize;
        bytes[sums_at..sums_at + stored.len()].copy_from_slice(&stored);
        forged(&bytes, |table| table["sums_xxh3"] = serde_json::json!(xxhash_rust::xxh3::xxh3_64(&stored)))
    };
    for (offsets, indices, expected) in [
        (vec![0, 2, 3, 4], vec![0, 2, 0, 1], "feature 2 in row 0"),
        (vec![0, 2, 3, 4], vec![1, 0, 0, 1], "feature 0 in row 0"),
        (vec![0, 3, 2, 4], vec![0, 1, 1, 1], "feature 1 in row 0"),
        (vec![0, 2, 1, 4], vec![0, 1, 0, 1], "bytes 16 to 8 of section cells"),
        (vec![0, 2, 3, 5], vec![0, 1, 0, 1], "bytes 24 to 40 of section cells"),
        (vec![0, 2, 3, u64::MAX], vec![0, 1, 0, 1], "of section cells"),
    ] {
        let mapped = open(&forge(offsets, indices)).unwrap();
        let mut out = [0.0; 6];
        mapped.features.gather(&[0, 1, 2], &mut out);
        assert!(out.iter().any(|value| value.is_nan()));
        let error = mapped.verify().unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(mapped.read().is_err());
    }
}

#[test]
fn an_infinite_value_is_found_by_verify() {
    let mut data = everything();
    data.features = Matrix::Dense { width: 2, values: vec![0.0, 1.0, 2.0, f32::INFINITY, 4.0, 5.0] };
    let error = open(&bytes_of(&data)).unwrap().verify().unwrap_err().to_string();
    assert!(error.contains("an infinite value of feature 2 in row 2"), "{error}");
}

#[test]
fn packed_files_are_read_but_not_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.toprank-data.gz");
    crate::write(&everything(), &path, None).unwrap();
    assert_same(&crate::read(&Source::path(&path), &ReadOptions::default()).unwrap(), &everything());
    let error = MappedDataset::open(&path).unwrap_err().to_string();
    assert!(error.contains("a packed file"), "{error}");
    let error = MappedDataset::open(folder.path()).unwrap_err();
    assert_eq!(error.fault(), crate::Fault::Options);
    assert_eq!(MappedDataset::open(folder.path().join("none")).unwrap_err().fault(), crate::Fault::Io);
}

fn options() -> ReadOptions {
    ReadOptions { format: Some("letor".into()), ..ReadOptions::default() }
}

/// The bytes that `convert` writes, and those of the same data read into memory.
fn both_ways(text: &str, beside: &[(&str, &str)], options: &ReadOptions) -> (Converted, Vec<u8>, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.txt");
    std::fs::write(&path, text).unwrap();
    for (suffix, content) in beside {
        std::fs::write(folder.path().join(format!("big.txt{suffix}")), content).unwrap();
    }
    let to = folder.path().join("big.toprank-data");
    let done = convert(&Source::path(&path), options, &to).unwrap();
    let data = crate::read(&Source::path(&path), options).unwrap();
    assert_same(&MappedDataset::open(&to).unwrap().read().unwrap(), &data);
    (done, std::fs::read(&to).unwrap(), bytes_of(&data))
}

#[test]
fn text_in_two_passes_gives_the_bytes_of_text_in_memory() {
    type Beside<'a> = &'a [(&'a str, &'a str)];
    let dense: String = (0..20_000)
        .map(|i| format!("{} qid:{} 1:{} 2:0.5 3:{} # docid = d{i}\n", i % 3, i / 7, i, (i * 7) % 11))
        .collect();
    // The first row with a high index stands late, so that the width is not known before.
    let late = format!("{dense}1 qid:last 0:3 900:1\n");
    let ragged: String =
        (0..30_000).map(|i| format!("1 qid:{} {}:1 {}:2\n", i / 5, 1 + i % 50, 60 + i % 997)).collect();
    let plain = "+1 1:2\n-1 2:3\n-1 1:1\n";
    let missing = ReadOptions { absent: crate::Absent::Missing, ..options() };
    let cases: [(&str, Beside, &ReadOptions); 6] = [
        (&dense, &[], &options()),
        (&late, &[], &options()),
        (&ragged, &[], &options()),
        (plain, &[], &options()),
        (plain, &[(".query", "1\n2\n"), (".weight", "1\n2\n3\n"), (".init", "1\n2\n3\n")], &options()),
        ("1 qid:1 1:2\n0 qid:1 3:1\n", &[], &missing),
    ];
    for (text, beside, options) in cases {
        let (done, streamed, in_memory) = both_ways(text, beside, options);
        assert!(done.streamed);
        assert!(streamed == in_memory, "{} …", &text[..20]);
    }
    assert!(open(&both_ways(&ragged, &[], &options()).1).unwrap().features.is_sparse());
    assert!(!open(&both_ways(&dense, &[], &options()).1).unwrap().features.is_sparse());
}

#[test]
fn regrouped_text_goes_through_memory() {
    let regroup = ReadOptions { regroup: true, ..options() };
    let (done, bytes, in_memory) = both_ways("1 qid:a 1:1\n0 qid:b 1:2\n2 qid:a 1:3\n", &[], &regroup);
    assert!(!done.streamed);
    assert!(bytes == in_memory);
    assert_eq!(open(&bytes).unwrap().read().unwrap().file_rows, Some(vec![0, 2, 1]));
}

#[test]
fn errors_of_the_text_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("big.txt"), folder.path().join("big.toprank-data"));
    std::fs::write(&path, "1 qid:1 1:1\n1 qid:1 1:x\n").unwrap();
    let error = convert(&Source::path(&path), &options(), &to).unwrap_err();
    assert_eq!(error.line(), Some(2));
    assert!(!to.exists());
}

#[test]
fn a_text_that_changes_between_the_passes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.txt");
    let whole = "1 qid:1 1:1\n1 qid:1 2:1\n";
    for changed in
        ["1 qid:1 1:1\n", "1 qid:1 1:1\n1 qid:1 3:1\n", "1 qid:1 1:1\n1 qid:1 2:1\n0 qid:1 1:1\n", "x"]
    {
        std::fs::write(&path, whole).unwrap();
        let outline = Outline::read(&Source::path(&path), &options()).unwrap().unwrap();
        std::fs::write(&path, changed).unwrap();
        let error = outline.each_block(|_| Ok::<(), ReadError>(())).unwrap_err().to_string();
        assert!(error.contains("other rows than a moment ago"), "{error}");
    }
}

#[test]
fn a_fit_on_all_rows_is_that_of_the_data_in_memory() {
    let data = crate::read(&Source::bytes("t", crate::formats::letor::FORMAT.example), &options()).unwrap();
    let mapped = open(&bytes_of(&data)).unwrap();
    let steps = StepConfig::parse_all("missing:to=mean:indicator=yes,log1p,standardise,clip").unwrap();
    let fitted = mapped.fit(&steps, None).unwrap();
    assert_eq!(fitted, Pipeline::fit(&data, &steps).unwrap());
    assert_eq!(mapped.fit(&steps, Some(data.rows())).unwrap(), fitted);
    let per_list = StepConfig::parse_all("per-list").unwrap();
    let error = mapped.fit(&per_list, None).unwrap_err().to_string();
    assert!(error.starts_with("m.toprank-data: ") && error.contains("per-list"), "{error}");
}

#[test]
fn a_sample_takes_rows_at_even_distances() {
    let rows = 10;
    let features = Matrix::Dense { width: 1, values: (0u8..10).map(f32::from).collect() };
    let lists = Lists::from_lengths(&[rows], vec![0.0; rows]);
    let columns = vec![Column { name: "1".into(), levels: None }];
    let mapped = open(&bytes_of(&Dataset { lists, features, columns, ..Dataset::default() })).unwrap();
    let sample = |most: usize| match mapped.sample(most).unwrap().features {
        Matrix::Dense { values, .. } => values,
        Matrix::Sparse(_) => vec![],
    };
    assert_eq!(sample(4), [0.0, 2.0, 5.0, 7.0]);
    assert_eq!(sample(3), [0.0, 3.0, 6.0]);
    assert_eq!(sample(99).len(), 10);
    let fitted = mapped.fit(&StepConfig::parse_all("minmax").unwrap(), Some(4)).unwrap();
    assert_eq!(fitted.steps, [crate::transform::Step::Affine { shift: vec![0.0], factor: vec![1.0 / 7.0] }]);
}

proptest! {
    #[test]
    fn no_change_of_bytes_makes_a_file_panic_or_lie(
        at in 0usize..GOLDEN.len(), to in any::<u8>(), sparse in any::<bool>(), cut in any::<bool>(),
    ) {
        let golden = if sparse { GOLDEN_SPARSE } else { GOLDEN };
        let at = at % golden.len();
        let mut bytes = golden.to_vec();
        bytes[at] = to;
        if cut {
            bytes.truncate(at);
        }
        if let Ok(mapped) = open(&bytes) {
            let rows: Vec<u32> = (0..mapped.features.rows() as u32).collect();
            let mut out = vec![0.0; rows.len() * mapped.features.width()];
            mapped.features.gather(&rows, &mut out);
            if let Ok(data) = mapped.read() {
                // Only padding between sections may change without anybody noticing.
                prop_assert_eq!(format!("{data:?}"), format!("{:?}", open(golden).unwrap().read().unwrap()));
                prop_assert_eq!(mapped.features.fault(), None);
            } else {
                prop_assert!(mapped.verify().is_err());
            }
        }
    }

    #[test]
    fn rows_have_the_bits_of_the_matrix_they_were_written_from(
        cells in prop::collection::vec((0u32..40, any::<f32>()), 0..60), width in 40usize..50, dense in any::<bool>(),
    ) {
        let rows = cells.len();
        let sparse = Sparse {
            width,
            offsets: (0..=rows as u64).collect(),
            indices: cells.iter().map(|cell| cell.0).collect(),
            values: cells.iter().map(|cell| cell.1).collect(),
        };
        let matrix = Matrix::Sparse(sparse);
        let all: Vec<u32> = (0..rows as u32).rev().collect();
        let flat = |features: &dyn Features| {
            let mut out = vec![0.0; rows * width];
            features.gather(&all, &mut out);
            out
        };
        let features = if dense {
            let mut values = vec![0.0; rows * width];
            matrix.gather(&(0..rows as u32).collect::<Vec<_>>(), &mut values);
            Matrix::Dense { width, values }
        } else {
            matrix
        };
        let lists = Lists::from_lengths(&[rows], vec![0.0; rows]);
        let columns = (0..width).map(|i| Column { name: i.to_string(), levels: None }).collect();
        let data = Dataset { lists, features, columns, ..Dataset::default() };
        let mapped = open(&bytes_of(&data)).unwrap();
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        prop_assert_eq!(bits(flat(&mapped.features)), bits(flat(&data.features)));
    }
}

//! Bad Parquet and Arrow tables: both readers say the same of the same table.
#![cfg(feature = "parquet")]

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{Field, Schema};
use parquet::arrow::ArrowWriter;
use toprank_data::{Dataset, ReadError, ReadOptions, Source, formats};

type Columns = Vec<(&'static str, ArrayRef)>;

fn batch(columns: &Columns) -> RecordBatch {
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns.iter().map(|column| column.1.clone()).collect()).unwrap()
}

fn as_parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn as_arrow(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn read(format: &str, bytes: Vec<u8>, options: &ReadOptions) -> Result<Dataset, ReadError> {
    (formats::by_name(format).unwrap().read)(&Source::bytes("t", bytes), options)
}

fn single(values: &[f32]) -> ArrayRef {
    Arc::new(Float32Array::from(values.to_vec()))
}

fn double(values: &[Option<f64>]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn words(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn messages_name_column_row_finding_and_expectation() {
    let plain = ReadOptions::default;
    let label = || ("label", single(&[1.0, 0.0]));
    let words_for_numbers = "type Utf8; expected numbers.\nName a feature of strings with --categorical.";
    let cases: Vec<(Columns, ReadOptions, String)> = vec![
        (vec![("label", words(&["a", "b"]))], plain(), format!("t: column label: row 1: {words_for_numbers}")),
        (
            vec![("label", single(&[1.0, f32::INFINITY]))],
            plain(),
            "t: column label: row 2: a number too large for 32 bits; expected a finite number below 3.4e38 or null.".into(),
        ),
        (
            vec![label(), ("f", double(&[Some(1.0), Some(1e39)]))],
            plain(),
            "t: column f: row 2: a number too large for 32 bits; expected a finite number below 3.4e38 or null.".into(),
        ),
        (
            vec![label(), ("item_weight", single(&[1.0, -1.0]))],
            plain(),
            "t: column item_weight: row 2: -1; expected a finite weight ≥ 0.".into(),
        ),
        (
            vec![label(), ("item_weight", double(&[None, Some(1.0)]))],
            plain(),
            "t: column item_weight: row 1: a missing weight; expected a finite weight ≥ 0.".into(),
        ),
        (
            vec![label(), ("list_weight", single(&[2.0, 3.0]))],
            plain(),
            "t: column list_weight: row 2: 3 after 2 in the same list; expected one weight for all rows of a list.".into(),
        ),
        (
            vec![label(), ("shown_position", double(&[Some(1.0), Some(1.5)]))],
            plain(),
            "t: column shown_position: row 2: 1.5; expected an integer position from 0.".into(),
        ),
        (
            vec![label(), ("shown_position", Arc::new(Int64Array::from(vec![-1, 1])))],
            plain(),
            "t: column shown_position: row 1: -1; expected an integer position from 0.".into(),
        ),
        (
            vec![label(), ("timestamp", double(&[Some(1.0), None]))],
            plain(),
            "t: column timestamp: row 2: a missing number; expected a number in every row of this column.".into(),
        ),
        (
            vec![label(), ("timestamp", double(&[Some(1.0), Some(f64::INFINITY)]))],
            plain(),
            "t: column timestamp: row 2: an infinite number; expected a finite number.".into(),
        ),
        (
            vec![("qid", words(&["x", "y", "x"])), ("label", single(&[1.0, 0.0, 1.0]))],
            plain(),
            "t: column qid: row 3: list \"x\" appears again after it ended on row 1; expected all rows of a list to \
             be adjacent.\nUse --regroup, or sort the rows by this column."
                .into(),
        ),
        (
            vec![label(), ("f", single(&[1.0, 2.0])), ("f", single(&[1.0, 2.0]))],
            plain(),
            "t: column name f stands twice, the second time at column 3; expected a different name for each column."
                .into(),
        ),
        (
            vec![("f1", single(&[1.0])), ("f2", single(&[1.0]))],
            plain(),
            "t: no label column among f1, f2; expected a column called label, relevance, rel, grade, target, y.\n\
             Name the label column with --label."
                .into(),
        ),
        (
            vec![("label", single(&[])), ("f", single(&[]))],
            plain(),
            "t: no row below the column names; expected at least one row.".into(),
        ),
        (
            vec![label(), ("b", Arc::new(BinaryArray::from_vec(vec![b"x", b"y"])))],
            ReadOptions { features: vec!["b".into()], ..plain() },
            "t: column b: type Binary; expected numbers, booleans, decimals, dates, text or a dictionary of these.".into(),
        ),
        (
            vec![label(), ("f", single(&[1.0, 2.0])), ("g", single(&[1.0, 2.0]))],
            ReadOptions { max_features: Some(1), ..plain() },
            "t: 2 features; expected at most 1 (max_features).".into(),
        ),
    ];
    for (columns, options, expected) in &cases {
        let batch = batch(columns);
        for (format, bytes) in [("parquet", as_parquet(&batch)), ("arrow", as_arrow(&batch))] {
            let result = read(format, bytes, options);
            let message = result.map_or_else(|error| error.to_string(), |_| "no error".into());
            assert_eq!(message, *expected, "{format}: {:?}", batch.schema());
        }
    }
}

//! Parquet runs and qrels: the columns that ranx writes, other types of names, and damaged files.
#![cfg(feature = "parquet")]

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use toprank_data::{Source, read_qrels, read_run};
use toprank_testkit::attacks::{ATTACKS, Owes};

fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file
}

fn texts(texts: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

fn ranx_run() -> Vec<u8> {
    parquet(vec![
        ("q_id", texts(&[Some("q1"), Some("q1"), Some("q2"), Some("q1")])),
        ("doc_id", texts(&[Some("a"), Some("b"), Some("a"), Some("c")])),
        ("score", Arc::new(Float64Array::from(vec![0.5, 0.25, 1e-3, -2.0]))),
    ])
}

#[test]
fn the_columns_of_ranx_are_a_run() {
    for name in ["runs/bm25.parquet", "bm25"] {
        let run = read_run(&Source::bytes(name, ranx_run())).unwrap();
        assert_eq!(run.name(), "bm25");
        assert_eq!(run.documents(0).collect::<Vec<_>>(), [("a", 0.5), ("b", 0.25), ("c", -2.0)]);
        assert_eq!(run.score("q2", "a"), Some(1e-3));
    }
}

#[test]
fn numbers_name_queries_and_documents_too() {
    let file = parquet(vec![
        ("Label", Arc::new(Float32Array::from(vec![2.0, 0.0]))),
        ("query", Arc::new(Int64Array::from(vec![7, 7]))),
        ("item", Arc::new(Int64Array::from(vec![-1, 12]))),
    ]);
    let qrels = read_qrels(&Source::bytes("qrels.parquet", file)).unwrap();
    assert_eq!((qrels.label("7", "-1"), qrels.label("7", "12")), (Some(2.0), Some(0.0)));
}

#[test]
fn errors_name_column_and_row() {
    let run = |columns: Vec<(&str, ArrayRef)>| {
        read_run(&Source::bytes("run.parquet", parquet(columns))).unwrap_err().to_string()
    };
    let (q, d) = (texts(&[Some("q"), Some("q")]), texts(&[Some("a"), Some("b")]));
    let scores = |scores: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(scores)) };
    assert_eq!(
        run(vec![("qid", q.clone()), ("docno", d.clone()), ("score", scores(vec![1.0, f64::NAN]))]),
        "run.parquet: column score: score NaN in row 2; expected a finite number."
    );
    assert_eq!(
        run(vec![
            ("qid", q.clone()),
            ("docno", texts(&[Some("a"), None])),
            ("score", scores(vec![1.0, 2.0]))
        ]),
        "run.parquet: column docno: null in row 2; expected text or an integer."
    );
    assert_eq!(
        run(vec![("qid", q.clone()), ("docno", d.clone()), ("score", d.clone())]),
        "run.parquet: column score: Utf8 in row 1; expected a number."
    );
    assert_eq!(
        run(vec![("qid", q.clone()), ("docno", q.clone()), ("score", scores(vec![1.0, 2.0]))]),
        "run.parquet: document \"q\" twice in query \"q\"; expected each document at most once per query."
    );
    assert_eq!(
        run(vec![("qid", q.clone()), ("docno", d.clone()), ("score", scores(vec![f64::INFINITY, 1.0]))]),
        "run.parquet: column score: score inf in row 1; expected a finite number."
    );
    assert_eq!(
        run(vec![
            ("qid", texts(&[None, Some("q")])),
            ("docno", d.clone()),
            ("score", scores(vec![1.0, 2.0]))
        ]),
        "run.parquet: column qid: null in row 1; expected text or an integer."
    );
    assert_eq!(
        run(vec![("qid", texts(&[])), ("docno", texts(&[])), ("score", scores(vec![]))]),
        "run.parquet: no query at all; expected at least one."
    );
    assert_eq!(
        run(vec![("qid", q.clone()), ("docno", d.clone())]),
        "run.parquet: columns \"qid, docno\"; expected a column of score called score, sim, relevance, rel, label, grade."
    );
    assert_eq!(
        run(vec![("qid", scores(vec![1.5, 2.5])), ("docno", d.clone()), ("score", scores(vec![1.0, 2.0]))]),
        "run.parquet: column qid: Float64 in row 1; expected text or an integer."
    );
    assert_eq!(
        run(vec![("qid", q), ("name", d), ("score", scores(vec![1.0, 2.0]))]),
        "run.parquet: columns \"qid, name, score\"; expected a column of documents called doc, doc_id, docno, \
         docid, doc-id, document, item, item_id, corpus-id, pid."
    );
}

#[test]
fn every_attack_gives_the_same_run_or_an_error_that_names_the_file() {
    let file = ranx_run();
    for attack in ATTACKS {
        let result = read_run(&Source::bytes("run.parquet", (attack.apply)(&file)));
        match (attack.owes, &result) {
            (Owes::TheSameAlways, Ok(run)) => assert_eq!(run.len(), 4, "{}", attack.name),
            (Owes::TheSameAlways, Err(error)) => panic!("{}: {error}", attack.name),
            (Owes::Error, Ok(_)) => panic!("{} goes unnoticed", attack.name),
            (_, Err(error)) => assert!(error.to_string().starts_with("run.parquet:"), "{error}"),
            (_, Ok(_)) => {}
        }
    }
}

#[test]
fn a_file_cut_or_changed_anywhere_does_not_panic() {
    let file = ranx_run();
    for at in 0..file.len() {
        let _ = read_run(&Source::bytes("run.parquet", file[..at].to_vec()));
        let mut changed = file.clone();
        changed[at] ^= 0x55;
        let _ = read_run(&Source::bytes("run.parquet", changed));
    }
}

//! Any bytes are qrels or an error; qrels join with a run of the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toprank_data::{JoinOptions, MissingLists, Run, Source, join, read_qrels};

fuzz_target!(|bytes: &[u8]| {
    let Ok(qrels) = read_qrels(&Source::bytes("fuzz", bytes)) else { return };
    // Every second judged document is retrieved, with its label as score.
    let rows = (0..qrels.queries().len()).flat_map(|query| {
        let retrieved = qrels.judgements(query).step_by(2);
        let name = qrels.queries().get(query);
        retrieved.map(move |(doc, label)| (name, doc, f64::from(label)))
    });
    let Ok(run) = Run::from_rows("run", rows) else { return };
    let options = JoinOptions { missing_lists: MissingLists::Empty, ..JoinOptions::default() };
    let joined = join(&qrels, &run, &options);
    joined.lists.check().expect("consistent lists");
    assert_eq!(joined.lists.len(), qrels.queries().len());
    let missed = joined.lists.missed.as_ref().map_or(0, |missed| missed.values.len());
    assert_eq!(joined.scores.len() + missed, qrels.len());
    let equal =
        joined.scores.iter().zip(&joined.lists.labels).all(|(score, label)| *score == f64::from(*label));
    assert!(equal, "each retrieved document has its own label");
});

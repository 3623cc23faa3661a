//! Any bytes are a run or an error when read as Parquet; a run comes back after writing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toprank_data::judged::write_run_json;
use toprank_data::{Source, align, read_run, write_run};

fuzz_target!(|bytes: &[u8]| {
    let Ok(run) = read_run(&Source::bytes("fuzz.parquet", bytes)) else { return };
    let mut json = Vec::new();
    write_run_json(&run, &mut json).expect("any name can be written as JSON");
    let again = read_run(&Source::bytes("again.json", json)).expect("what we write, we read");
    let both = align(&[&run, &again]);
    assert_eq!(both.docs.len(), run.len());
    let same = both.scores[0].iter().zip(&both.scores[1]).all(|(a, b)| a.to_bits() == b.to_bits());
    assert!(same, "the same scores to the bit");
    let mut text = Vec::new();
    if write_run(&run, &mut text).is_ok() && !run.is_empty() {
        let again = read_run(&Source::bytes("again", text)).expect("what we write, we read");
        assert_eq!(again.len(), run.len());
    }
});

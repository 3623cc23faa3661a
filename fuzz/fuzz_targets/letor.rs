//! Any bytes are a data set or an error; a data set is consistent and comes back after writing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toprank_data::{Absent, ReadOptions, Source, formats};

fuzz_target!(|bytes: &[u8]| {
    let format = formats::by_name("letor").expect("a known format");
    let source = Source::bytes("fuzz", bytes);
    // A small limit on features keeps one round short; the largest is tried by the unit tests.
    let options = ReadOptions { regroup: true, max_features: Some(5000), ..ReadOptions::default() };
    let missing = ReadOptions { absent: Absent::Missing, regroup: false, ..options.clone() };
    let _ = (format.read)(&source, &missing);
    let Ok(dataset) = (format.read)(&source, &options) else { return };
    dataset.lists.check().expect("consistent lists");
    assert_eq!(dataset.columns.len(), dataset.features.width());
    assert_eq!(dataset.rows(), dataset.lists.entries());
    let mut text = Vec::new();
    if (format.write.expect("can be written"))(&dataset, &mut text).is_ok() {
        let again = (format.read)(&Source::bytes("written", text), &options).expect("what we write, we read");
        assert_eq!(again.rows(), dataset.rows());
        assert_eq!(again.list_names, dataset.list_names);
        assert_eq!(again.item_names, dataset.item_names);
        assert_eq!(again.features.width(), dataset.features.width());
    }
});

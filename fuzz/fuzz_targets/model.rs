//! What the fuzzers of models do with one.

use toprank_data::Source;
use toprank_trees::interop::verify::compare;
use toprank_trees::interop::{self, Export, FORMATS, Missing, probe_rows};

/// What is read can be scored, and what is written of it says the same.
pub fn read_score_and_write(bytes: &[u8]) {
    let Ok(found) = interop::read(&Source::bytes("fuzz", bytes.to_vec())) else { return };
    let model = found.ensemble;
    assert_eq!(model.check(), Ok(()));
    if model.width > 100 || model.trees.iter().map(|tree| tree.nodes.len()).sum::<usize>() > 1000 {
        return;
    }
    let rows = probe_rows(&model, 10, 0);
    model.score(&rows).unwrap();
    let export = Export { missing: Missing::AsZero, ..Export::default() };
    for format in FORMATS {
        if let Ok(written) = interop::write(&model, format, &export) {
            let parity = compare(&model, format, &export, &rows, &written);
            // Leaves that cancel may differ in 32 bits; then `compare` says so.
            assert!(format.single || parity.is_ok(), "{}: {parity:?}", format.name);
        }
    }
}

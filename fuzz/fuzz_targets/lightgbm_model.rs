//! No bytes make the reader of LightGBM's text models panic, and what it gives can be scored.
#![no_main]

use toprank_data::{Matrix, Source};
use toprank_trees::interop;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(found) = interop::read(&Source::bytes("fuzz", bytes.to_vec())) {
        assert_eq!(found.ensemble.check(), Ok(()));
        if found.ensemble.width < 1000 {
            let row = Matrix::Dense { width: found.ensemble.width, values: vec![0.5; found.ensemble.width] };
            found.ensemble.score(&row).unwrap();
        }
    }
});

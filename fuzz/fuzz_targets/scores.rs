//! Any bytes are as many finite scores as asked for, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toprank_data::{Source, scores::read_scores};

fuzz_target!(|bytes: &[u8]| {
    let source = Source::bytes("fuzz", bytes);
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
    for (rows, outputs) in [(1, 1), (lines, 1), (lines, 2), (lines + 1, 1)] {
        if let Ok(scores) = read_scores(&source, rows, outputs) {
            assert_eq!(scores.len(), rows * outputs);
            assert!(scores.iter().all(|score| score.is_finite()));
        }
    }
});

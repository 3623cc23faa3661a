//! No bytes make the reader of XGBoost's JSON models panic, and what it gives can be scored and written in every format.
#![no_main]

mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| model::read_score_and_write(bytes));

//! Any bytes are a query and a body that are answered or refused, with JSON and a short message.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| toprank_serve::fuzz::request(bytes));

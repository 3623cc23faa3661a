//! No bytes make the idx reader panic, and what it accepts keeps the promises of lists.
#![no_main]

use toprank_data::{ReadOptions, Source, formats};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let format = formats::by_name("idx").expect("the format is registered");
    if let Ok(data) = (format.read)(&Source::bytes("fuzz", bytes.to_vec()), &ReadOptions::default()) {
        data.lists.check().expect("lists keep their promises");
    }
});

//! No bytes make our part of the parquet reader panic, and what it accepts keeps the promises of lists.
#![no_main]

use toprank_data::{ReadOptions, Source, formats};

libfuzzer_sys::fuzz_target!(
    // The decoder's own panics on damaged files are caught by the reader; the fuzzer is to stop at ours only.
    init: std::panic::set_hook(Box::new(|panic| {
        if panic.location().is_some_and(|place| !place.file().contains("registry") && !place.file().starts_with("/rustc")) {
            eprintln!("{panic}");
            std::process::abort();
        }
    })),
    |bytes: &[u8]| {
        let format = formats::by_name("parquet").expect("the format is registered");
        if let Ok(data) = (format.read)(&Source::bytes("fuzz", bytes.to_vec()), &ReadOptions::default()) {
            data.lists.check().expect("lists keep their promises");
        }
    }
);

//! No bytes make the reader of Mulan label files panic.
#![no_main]

use toprank_data::{Source, formats::mulan_xml};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(names) = mulan_xml::label_names(&Source::bytes("fuzz", bytes.to_vec())) {
        assert!(!names.is_empty());
    }
});

//! No bytes make a mapped file panic, whatever is fetched from it, and what is read keeps the promises of lists.
#![no_main]

use toprank_core::Features;
use toprank_data::MappedDataset;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(mapped) = MappedDataset::from_bytes("fuzz", bytes.to_vec()) else { return };
    let rows: Vec<u32> = (0..mapped.features.rows().min(100) as u32).collect();
    let mut out = vec![0.0; rows.len() * mapped.features.width()];
    mapped.features.gather(&rows, &mut out);
    let _ = mapped.verify();
    if let Ok(data) = mapped.read() {
        data.lists.check().expect("lists keep their promises");
    }
});

//! No bytes make the readers of interactions panic; what was written is read back with the same lists.
#![no_main]

use toprank_data::{ReadOptions, Source, formats};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for name in ["interactions", "adjacency"] {
        let format = formats::by_name(name).expect("the format is registered");
        let read = |bytes: Vec<u8>| (format.read)(&Source::bytes("fuzz", bytes), &ReadOptions::default());
        let Ok(data) = read(bytes.to_vec()) else { continue };
        data.lists.check().expect("lists keep their promises");
        let mut written = Vec::new();
        if format.write.expect("interactions can be written")(&data, &mut written).is_ok() {
            let again = read(written).expect("what we wrote can be read");
            assert_eq!(again.lists.offsets, data.lists.offsets);
        }
    }
});

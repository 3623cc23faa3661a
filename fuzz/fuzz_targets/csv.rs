//! No bytes make the table readers panic, and what was accepted is read back after writing.
#![no_main]

use toprank_data::{ReadOptions, Source, formats};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for name in ["csv", "tsv"] {
        let format = formats::by_name(name).expect("the format is registered");
        let options = ReadOptions { regroup: true, keep: vec!["note*".into()], ..ReadOptions::default() };
        for options in [ReadOptions::default(), options] {
            let read = |bytes: Vec<u8>| (format.read)(&Source::bytes("fuzz", bytes), &options);
            let Ok(data) = read(bytes.to_vec()) else { continue };
            data.lists.check().expect("lists keep their promises");
            let mut written = Vec::new();
            if format.write.expect("tables can be written")(&data, &mut written).is_ok() {
                let again = read(written).expect("what we wrote can be read");
                assert_eq!(
                    format!("{:?}{:?}", again.lists, again.features),
                    format!("{:?}{:?}", data.lists, data.features)
                );
            }
        }
    }
});

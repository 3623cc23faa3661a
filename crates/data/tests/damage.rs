//! Every byte of a small file of our own formats, and of a packed text, overwritten once: an error that names the file, or what
//! the untouched file gives; never another result.

use std::path::Path;

use toprank_data::{Dataset, Fault, ReadError, ReadOptions, Source, sink};

/// Lists with everything that a data file can hold of them: names, weights, missing values.
fn example(format: &str) -> Vec<u8> {
    toprank_data::formats::by_name(format).expect("a format").example.to_vec()
}

fn text(result: &Result<Dataset, ReadError>) -> String {
    format!("{result:?}")
}

/// Reads the file with every byte overwritten once.
fn overwritten(path: &Path, read: impl Fn() -> Result<Dataset, ReadError>) {
    let whole = std::fs::read(path).unwrap();
    let untouched = read();
    assert!(untouched.is_ok(), "{untouched:?}");
    let mut refused = 0;
    for at in 0..whole.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= change;
            std::fs::write(path, &damaged).unwrap();
            let result = read();
            let what = format!("{} with byte {at} changed by {change:#x}", path.display());
            match &result {
                Ok(_) => assert!(text(&result) == text(&untouched), "{what}: accepted with another result"),
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.fault(), Fault::Data, "{what}: {error}");
                    assert!(
                        error.to_string().contains(&*path.file_name().unwrap().to_string_lossy()),
                        "{what}"
                    );
                }
            }
        }
    }
    assert!(refused > whole.len(), "{refused} of {} changes were found", 3 * whole.len());
    std::fs::write(path, &whole).unwrap();
}

#[test]
fn no_damaged_byte_of_a_data_file_gives_another_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lists.toprank-data");
    std::fs::write(&path, example("toprank-data")).unwrap();
    overwritten(&path, || toprank_data::read(&Source::path(&path), &ReadOptions::default()));
}

#[test]
fn no_damaged_byte_of_a_packed_text_gives_another_result() {
    let folder = tempfile::tempdir().unwrap();
    let options = ReadOptions { format: Some("letor".into()), ..ReadOptions::default() };
    let rows: String =
        (0..40).map(|i| format!("{} qid:{} 1:0.{i} 2:{}\n", i % 3, i / 8, i * 7 % 11)).collect();
    for name in ["lists.txt.zst", "lists.txt.gz"] {
        let path = folder.path().join(name);
        sink::write_file(&path, |out| out.write_all(rows.as_bytes())).unwrap();
        overwritten(&path, || toprank_data::read(&Source::path(&path), &options));
    }
}

/// A file of pyarrow with `write_page_checksum=True`, without compression and dictionaries, so that the numbers of its column `f`
/// stand there as they are.
#[cfg(feature = "parquet")]
#[test]
fn a_page_of_parquet_that_does_not_match_its_checksum_is_refused() {
    let whole = include_bytes!("files/page_checksums.parquet");
    let read = |bytes: &[u8]| {
        (toprank_data::formats::parquet::FORMAT.read)(
            &Source::bytes("t.parquet", bytes),
            &ReadOptions::default(),
        )
    };
    let data = read(whole).unwrap();
    assert_eq!((data.rows(), data.features.get(7, 0)), (8, 7.5));
    let numbers: Vec<u8> = (0..8).flat_map(|i| (i as f32 + 0.5).to_le_bytes()).collect();
    let start = whole.windows(numbers.len()).position(|window| window == numbers).expect("the numbers");
    for at in start..start + numbers.len() {
        let mut damaged = whole.to_vec();
        damaged[at] ^= 0x01;
        let error = read(&damaged).expect_err("a changed number").to_string();
        assert!(
            error.starts_with("t.parquet: ") && error.to_lowercase().contains("crc"),
            "byte {at}: {error}"
        );
    }
}

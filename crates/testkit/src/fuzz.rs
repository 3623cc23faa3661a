/*!
What fuzz targets and the tests that replay their seeds share.

[`fuzz_reader!`](crate::fuzz_reader) is the body of a fuzz target; the crate that calls it has `libfuzzer-sys` and
`toprank-data`. [`seeds`] are the files of `fuzz/seeds`.
*/

use std::path::{Path, PathBuf};

/// The seeds of a fuzz target: path and bytes, in the order of their names.
///
/// # Panics
/// If there is no folder of this name or a file cannot be read.
pub fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths = entries(&folder().join(target));
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, bytes)
    };
    paths.into_iter().map(read).collect()
}

/// Names of all fuzz targets with seeds.
///
/// # Panics
/// If the folder cannot be read.
pub fn targets() -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries(&folder()).iter().map(name).collect();
    names.sort();
    names
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("a readable folder").path()).collect()
}

/// The body of a fuzz target of a reader.
///
/// - `fuzz_reader!(format "arff")`: no bytes make the reader of this format panic, and what it accepts keeps the
///   promises of lists;
/// - `fuzz_reader!(run "fuzz.json")`: any bytes are a run or an error when read from a file of this name; a run comes
///   back after writing.
#[macro_export]
macro_rules! fuzz_reader {
    (format $name:literal) => {
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
            use toprank_data::{ReadOptions, Source, formats};
            let format = formats::by_name($name).expect("the format is registered");
            if let Ok(data) = (format.read)(&Source::bytes("fuzz", bytes), &ReadOptions::default()) {
                data.lists.check().expect("lists keep their promises");
            }
        });
    };
    (run $file:literal) => {
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
            use toprank_data::judged::write_run_json;
            use toprank_data::{Source, align, read_run, write_run};
            let Ok(run) = read_run(&Source::bytes($file, bytes)) else { return };
            let mut json = Vec::new();
            write_run_json(&run, &mut json).expect("any name can be written as JSON");
            let again = read_run(&Source::bytes("again.json", json)).expect("what we write, we read");
            let both = align(&[&run, &again]);
            assert_eq!(both.docs.len(), run.len());
            let same = both.scores[0].iter().zip(&both.scores[1]).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "the same scores to the bit");
            let mut text = Vec::new();
            if write_run(&run, &mut text).is_ok() && !run.is_empty() {
                let again = read_run(&Source::bytes("again", text)).expect("what we write, we read");
                assert_eq!(again.len(), run.len());
            }
        });
    };
}

//! The seeds of the fuzz targets `qrels`, `run`, `run_json`, `run_parquet`, read as ordinary tests.

use toprank_data::{ReadError, Source, read_qrels, read_run};
use toprank_testkit::fuzz::seeds;

/// Reads every seed of a target under the name the target gives it; returns (accepted, refused).
fn replay(target: &str, name: &str, read: impl Fn(&Source) -> Result<usize, ReadError>) -> (u32, u32) {
    let (mut accepted, mut refused) = (0, 0);
    for (path, bytes) in seeds(target) {
        match read(&Source::bytes(name, bytes)) {
            Ok(rows) => {
                assert!(rows > 0, "{} has no row", path.display());
                accepted += 1;
            }
            Err(error) => {
                assert!(error.to_string().starts_with(&format!("{name}:")), "{}: {error}", path.display());
                refused += 1;
            }
        }
    }
    (accepted, refused)
}

#[test]
fn seeds_of_qrels() {
    assert_eq!(replay("qrels", "fuzz", |source| read_qrels(source).map(|qrels| qrels.len())), (7, 2));
}

#[test]
fn seeds_of_runs() {
    assert_eq!(replay("run", "fuzz", |source| read_run(source).map(|run| run.len())), (6, 3));
}

#[test]
fn seeds_of_json_runs() {
    assert_eq!(replay("run_json", "fuzz.json", |source| read_run(source).map(|run| run.len())), (5, 5));
}

#[test]
#[cfg(feature = "parquet")]
fn seeds_of_parquet_runs() {
    assert_eq!(replay("run_parquet", "fuzz.parquet", |source| read_run(source).map(|run| run.len())), (1, 2));
}

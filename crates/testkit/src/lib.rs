//! **What do tests share?** Real data sets when they are there, and the attacks every reader must survive.

pub mod attacks;

pub use attacks::{ATTACKS, Attack, Owes};

use std::path::{Path, PathBuf};

/// A file of the real data sets, or `None` with a message when this machine has none.
///
/// The sets may not be passed on, so a clone does not hold them. They are looked for in the folder named by
/// `TOPRANK_REAL_DATA`, else in `../shared/data` beside the checkout.
///
/// ```
/// if let Some(path) = toprank_testkit::real_data("letor/mq2008/S1.txt.gz") {
///     assert!(path.is_file());
/// }
/// ```
pub fn real_data(file: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("TOPRANK_REAL_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = folder.join(file);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: real data {file} is not here; set TOPRANK_REAL_DATA to the folder that holds it");
    None
}

//! Sets the cfg `no_real_data` where the real data sets are not on this machine, so that the tests on them are ignored.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(no_real_data)");
    println!("cargo::rerun-if-env-changed=TOPRANK_REAL_DATA");
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("TOPRANK_REAL_DATA").map_or_else(beside, PathBuf::from);
    // A folder that is not there counts as changed, so it is looked for again at the next build.
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rustc-env=TOPRANK_REAL_DATA_FOLDER={}", folder.display());
    if !folder.is_dir() {
        println!("cargo::rustc-cfg=no_real_data");
    }
}

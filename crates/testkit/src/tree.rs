//! The files of the workspace, for tests that read sources and documentation.

use std::path::{Path, PathBuf};

/// The folder of the workspace.
///
/// # Panics
/// If it is gone.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", root.display()))
}

/// The files below a folder of the workspace that have one of these extensions, in order, without those in folders of the names in
/// `skip`; by their paths from the root, with their texts.
///
/// # Panics
/// If one of them cannot be read.
pub fn texts(folder: &str, extensions: &[&str], skip: &[&str]) -> Vec<(String, String)> {
    let root = root();
    let mut paths = Vec::new();
    collect(&root.join(folder), extensions, skip, &mut paths);
    paths.sort();
    let text = |path: PathBuf| {
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        (name, text)
    };
    paths.into_iter().map(text).collect()
}

fn collect(folder: &Path, extensions: &[&str], skip: &[&str], found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        let is = |names: &[&str], name: Option<&std::ffi::OsStr>| {
            name.is_some_and(|name| names.iter().any(|known| name == *known))
        };
        if path.is_dir() {
            if !is(skip, path.file_name()) {
                collect(&path, extensions, skip, found);
            }
        } else if is(extensions, path.extension()) {
            found.push(path);
        }
    }
}

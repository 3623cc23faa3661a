//! Says which commit and which features the command is built from, for `toprank --version`.
//!
//! The commit comes from the file that cargo puts into a packaged crate, else from git; without either the version has none. The
//! script runs again only if git's record of the commit changes, not at every build. Changes that are not committed are not seen.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let crate_folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    let commit = packaged(&crate_folder).or_else(|| checked_out(&crate_folder));
    println!("cargo::rustc-env=TOPRANK_COMMIT={}", commit.unwrap_or_else(|| "unknown".into()));
    println!("cargo::rustc-env=TOPRANK_FEATURES={}", features());
}

/// The features of this build but `default`, in the order of the alphabet.
fn features() -> String {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut features: Vec<String> = names
        .filter_map(|name| Some(name.strip_prefix("CARGO_FEATURE_")?.to_lowercase().replace('_', "-")))
        .filter(|name| name != "default")
        .collect();
    features.sort();
    if features.is_empty() { "none".into() } else { features.join(", ") }
}

/// The commit of a packaged crate: `{"git": {"sha1": "…"}}`.
fn packaged(crate_folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(crate_folder.join(".cargo_vcs_info.json")).ok()?;
    let rest = text.split("\"sha1\"").nth(1)?;
    let commit = rest.split('"').nth(1)?;
    let is_commit = commit.len() >= 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| commit[..12].to_string())
}

/// The commit that is checked out, if the crate stands where it does in the repository of toprank.
fn checked_out(crate_folder: &Path) -> Option<String> {
    let git = |words: &[&str]| {
        let out = Command::new("git").args(words).current_dir(crate_folder).output().ok()?;
        let text = String::from_utf8(out.stdout).ok()?;
        out.status.success().then(|| text.trim().to_string())
    };
    // Sources without a repository of their own may lie in somebody else's.
    if git(&["rev-parse", "--show-prefix"])? != "crates/cli/" || git(&["ls-files", "Cargo.toml"])?.is_empty()
    {
        return None;
    }
    // HEAD changes with the branch, the other three with a commit, whichever of them this repository keeps. A file that does not
    // exist would count as changed at every build.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--git-path", name])?;
        if crate_folder.join(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

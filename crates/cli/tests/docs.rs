//! The pages of the documentation: their commands run, their links lead somewhere, every page is in the summary.

mod common;

use std::path::{Path, PathBuf};

fn pages() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder of pages") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join("docs/src"), &mut found);
    found.sort();
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[cfg(all(unix, feature = "neural", feature = "parquet", feature = "plots"))]
#[test]
fn the_commands_of_every_page_run_from_top_to_bottom_in_an_empty_folder() {
    let program = Path::new(env!("CARGO_BIN_EXE_toprank"));
    let bin = program.parent().expect("a folder").display();
    let run_page = |page: &Path| {
        let text = std::fs::read_to_string(page).expect("a page");
        let blocks: Vec<&str> =
            text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
        if !blocks.is_empty() {
            let shell = common::Toprank::new();
            let out = shell.sh(&format!("PATH=\"{bin}:$PATH\"; export PATH; set -ex\n{}", blocks.concat()));
            assert!(out.status.success(), "{}: {}", page.display(), String::from_utf8_lossy(&out.stderr));
        }
        blocks.concat().lines().count()
    };
    let pages = pages();
    let commands: usize = std::thread::scope(|scope| {
        let runs: Vec<_> = pages.iter().map(|page| scope.spawn(|| run_page(page))).collect();
        runs.into_iter().map(|run| run.join().expect("the commands of every page run")).sum()
    });
    assert!(commands > 40, "only {commands} commands");
}

#[test]
fn every_page_is_in_the_summary_and_every_link_leads_to_a_file() {
    let src = root().join("docs/src");
    let summary = std::fs::read_to_string(src.join("SUMMARY.md")).expect("the summary");
    for page in pages() {
        let name = page.strip_prefix(&src).expect("a page").to_string_lossy().replace('\\', "/");
        assert!(
            name == "SUMMARY.md" || summary.contains(&format!("({name})")),
            "{name} is not in the summary"
        );
        let text = std::fs::read_to_string(&page).expect("a page");
        let folder = page.parent().expect("a folder");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(target.contains("://") || folder.join(target).exists(), "{name} links to {target}");
        }
        for included in text.split("{{#include ").skip(1).filter_map(|rest| rest.split("}}").next()) {
            let (file, anchor) = included.split_once(':').unwrap_or((included, ""));
            let text = std::fs::read_to_string(folder.join(file)).expect("a file that is included");
            assert!(anchor.is_empty() || text.contains(&format!("<!-- ANCHOR: {anchor} -->")), "{included}");
        }
    }
}

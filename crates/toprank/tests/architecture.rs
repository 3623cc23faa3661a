//! The arrows between rooms are those of ARCHITECTURE.md.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Room → rooms it may use, from the table under "Rooms".
fn allowed() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md"))
        .expect("ARCHITECTURE.md");
    let rooms = text
        .split("## Rooms")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("the table of rooms");
    rooms
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| room") && !line.starts_with("| ---"))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let uses =
                cells[3].split(',').map(|room| room.trim().to_string()).filter(|room| room != "–").collect();
            (cells[1].to_string(), uses)
        })
        .collect()
}

fn room(package: &str) -> &str {
    package.strip_prefix("toprank-").unwrap_or(package)
}

#[test]
fn rooms_use_only_the_rooms_that_architecture_md_allows() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("metadata as JSON");
    let allowed = allowed();
    let mut seen = Vec::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = room(package["name"].as_str().expect("a name"));
        let may_use = allowed.get(name).unwrap_or_else(|| panic!("room {name} is not in ARCHITECTURE.md"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let target = dependency["name"].as_str().expect("a name");
            if dependency["kind"].is_null() && target.starts_with("toprank") {
                let target = room(target).to_string();
                assert!(
                    may_use.contains(&target),
                    "{name} uses {target}, which ARCHITECTURE.md does not allow"
                );
            }
        }
        seen.push(name.to_string());
    }
    seen.sort();
    let listed: Vec<String> = allowed.into_keys().collect();
    assert_eq!(seen, listed, "the rooms of the workspace and those of ARCHITECTURE.md");
}

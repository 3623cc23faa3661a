//! Texts for people use the field's own words: a committed list of phrases stands nowhere in help, errors, doc pages, README.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below a folder with this ending.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target" && name != "tests") {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
}

/// The texts of a Rust file that people see: string literals, and the doc comments of flags where `docs` says so. Tests are left
/// out. A line that is continued is one text.
fn texts_of_rust(source: &str, docs: bool) -> String {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut out = String::new();
    let mut chars = source.chars().peekable();
    let mut line_start = true;
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => {
                let line: String = std::iter::from_fn(|| chars.next_if(|c| *c != '\n')).collect();
                if docs && line_start && line.starts_with("//") {
                    out.push_str(line.trim_start_matches('/'));
                    out.push(' ');
                }
            }
            '/' if chars.peek() == Some(&'*') => {
                // Module pages: rustdoc, not printed.
                let mut last = ' ';
                for c in chars.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            '\'' => {
                // A character, or a lifetime.
                if chars.next_if_eq(&'\\').is_some() {
                    chars.next();
                    chars.next_if_eq(&'\'');
                } else if chars.next().is_some() {
                    chars.next_if_eq(&'\'');
                }
            }
            '"' => {
                while let Some(c) = chars.next() {
                    match c {
                        '\\' => match chars.next() {
                            Some('n') => out.push('\n'),
                            Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                            Some(c) => out.push(c),
                            None => break,
                        },
                        '"' => break,
                        c => out.push(c),
                    }
                }
                out.push('\n');
            }
            _ => {}
        }
        if c == '\n' {
            line_start = true;
        } else if !c.is_whitespace() {
            line_start = false;
        }
    }
    out
}

fn phrases() -> Vec<(String, String)> {
    let lines = include_str!("phrases.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let (phrase, better) = line.split_once('\t').expect("a phrase, a tab, what to write instead");
            (phrase.to_lowercase(), better.to_string())
        })
        .collect()
}

/// Every text with the file that holds it, white space folded.
fn texts() -> Vec<(PathBuf, String)> {
    let (mut rust, mut pages) = (Vec::new(), Vec::new());
    files(&root().join("crates"), "rs", &mut rust);
    files(&root().join("crates"), "md", &mut pages);
    files(&root().join("docs"), "md", &mut pages);
    pages.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let rust = rust
        .into_iter()
        // The harnesses of the bench are no product.
        .filter(|path| !path.ends_with("tests.rs") && !path.components().any(|c| c.as_os_str() == "bench"))
        .map(|path| (texts_of_rust(&read(&path), path.components().any(|c| c.as_os_str() == "cli")), path));
    let pages = pages.into_iter().map(|path| (read(&path), path));
    rust.chain(pages)
        .map(|(text, path)| (path, text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()))
        .collect()
}

#[test]
fn texts_use_the_fields_own_words() {
    let texts = texts();
    assert!(texts.len() > 300, "only {} files were read", texts.len());
    let mut found = Vec::new();
    for (phrase, better) in phrases() {
        for (path, text) in &texts {
            for (at, _) in text.match_indices(&phrase) {
                let start = text[..at].char_indices().rev().nth(30).map_or(0, |(i, _)| i);
                let end = text[at..].char_indices().nth(50).map_or(text.len(), |(i, _)| at + i);
                let path = path.strip_prefix(root()).unwrap_or(path).display();
                found.push(format!("{path}: \"{}\": write \"{better}\"", &text[start..end]));
            }
        }
    }
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_phrase_is_found_in_literals_and_help_but_not_in_comments_or_tests() {
    let source = "/// Taken up again\n// taken up\nfn f<'a>() { let c = '\"'; g(\"not \\\n    taken up\"); }\n#[cfg(test)]\nmod t { \"taken up\" }";
    assert_eq!(texts_of_rust(source, true).matches("aken up").count(), 2);
    assert_eq!(texts_of_rust(source, false).trim(), "not taken up");
}

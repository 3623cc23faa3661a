//! Texts for people use the field's own words: a committed list of phrases stands nowhere in help, errors, doc pages, rustdoc, the
//! Python package, README.

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

/// The texts of a Rust file that people see: string literals and documentation. Other comments and tests are left out. A line that
/// is continued is one text.
fn texts_of_rust(source: &str) -> String {
    // Not the declaration of a file of tests, which may stand at the top.
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut out = String::new();
    let mut chars = source.chars().peekable();
    let mut line_start = true;
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => {
                let line: String = std::iter::from_fn(|| chars.next_if(|c| *c != '\n')).collect();
                let doc = line.strip_prefix("//").or(line.strip_prefix("/!"));
                if let (true, Some(doc)) = (line_start, doc) {
                    out.push_str(doc);
                    out.push(' ');
                }
            }
            '/' if chars.peek() == Some(&'*') => {
                chars.next();
                let doc = chars.peek() == Some(&'!');
                let mut last = ' ';
                for c in chars.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    if doc {
                        out.push(c);
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
    files(&root().join("crates/python/python"), "py", &mut pages);
    files(&root().join("docs"), "md", &mut pages);
    files(&root().join("bench"), "md", &mut pages);
    pages.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name)),
    );
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let rust = rust
        .into_iter()
        // The harnesses of the bench and the helpers of tests are no product.
        .filter(|path| {
            let inside = |name: &str| path.components().any(|part| part.as_os_str() == name);
            !path.ends_with("tests.rs") && !inside("bench") && !inside("testkit")
        })
        .map(|path| (texts_of_rust(&read(&path)), path));
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
fn a_phrase_is_found_in_literals_and_documentation_but_not_in_comments_or_tests() {
    let source = "#[cfg(test)]\nmod tests;\n//! taken up: a module\n/*! taken up: a page */\n/// Taken up again\n// taken up\n/* taken up */\n\
                  fn f<'a>() { let c = '\"'; g(\"not \\\n    taken up\"); }\n#[cfg(test)]\nmod tests { \"taken up\" }";
    let texts = texts_of_rust(source);
    assert_eq!(texts.matches("aken up").count(), 4, "{texts}");
    for text in ["taken up: a module", "taken up: a page", "Taken up again", "not taken up"] {
        assert!(texts.contains(text), "{text:?} is not in {texts:?}");
    }
}

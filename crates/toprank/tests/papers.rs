//! Every paper stands once in `docs/references.bib`, also those that pages and rustdoc cite.

use std::collections::HashSet;
use std::fs;

use toprank_testkit::tree::{root, texts};

/// The value of a field of an entry: what stands between the outermost braces.
fn field<'a>(entry: &'a str, name: &str) -> Option<&'a str> {
    let line = entry.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_once('{')?.1.trim_end_matches(',').strip_suffix('}')
}

/// The titles of the bibliography in lower case. Every entry has a key of its own, an author, a title of its own, and a
/// year unless it was never published.
fn titles() -> HashSet<String> {
    let text = fs::read_to_string(root().join("docs/references.bib")).expect("docs/references.bib");
    let (mut keys, mut titles) = (HashSet::new(), HashSet::new());
    for entry in text.split("\n@").skip(1) {
        let (kind, rest) = entry.split_once('{').expect("@kind{key, …}");
        let key = rest.split_once(',').expect("a key").0;
        assert!(keys.insert(key.to_string()), "key {key} twice");
        assert!(field(entry, "author").is_some(), "{key} has no author");
        assert!(kind == "unpublished" || field(entry, "year").is_some(), "{key} has no year");
        let title = field(entry, "title").unwrap_or_else(|| panic!("{key} has no title"));
        assert!(titles.insert(title.to_lowercase()), "{title} twice");
    }
    titles
}

/// The titles in quotes in paragraphs that name a source.
fn cited(text: &str) -> Vec<String> {
    let text = text.replace("\\\"", "\"");
    let lines = text.lines().map(|line| {
        let line = line.trim_start();
        ["///", "//!"].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim()
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let from_source = |paragraph: &str| {
        let start = paragraph.find("Source: ").or_else(|| paragraph.find("Sources: "))?;
        Some(paragraph[start..].replace('\n', " "))
    };
    let quoted = |paragraph: String| {
        let inside = paragraph.split('"').skip(1).step_by(2).map(str::to_string);
        inside.filter(|title| title.contains(' ')).collect::<Vec<_>>()
    };
    text.split("\n\n").filter_map(from_source).flat_map(quoted).collect()
}

#[test]
fn every_paper_that_is_cited_is_in_the_bibliography() {
    let titles = titles();
    // A title may be cited without what follows its colon.
    let short: HashSet<&str> = titles.iter().filter_map(|title| title.split_once(':')).map(|t| t.0).collect();
    let files = texts("crates", &["rs", "md"], &[]);
    let (mut count, mut missing) = (0, Vec::new());
    for (file, text) in files.iter().filter(|(file, _)| file.contains("/src/")) {
        for title in cited(text) {
            count += 1;
            let lower = title.to_lowercase();
            if !titles.contains(&lower) && !short.contains(lower.as_str()) {
                missing.push(format!("{file}: {title:?}"));
            }
        }
    }
    assert!(count > 30, "only {count} titles found");
    assert!(missing.is_empty(), "not in docs/references.bib:\n{}", missing.join("\n"));
}

#[test]
fn titles_are_found_in_pages_comments_and_strings() {
    let title = vec!["A paper of two lines".to_string()];
    for text in [
        "Text \"of no source\".\n\nSource: Someone, \"A paper\nof two lines\", ICML 2000; `x`.\n\nThen \"other words\".",
        "    /// It is so. Source: Someone, \"A paper\n    /// of two lines\", 2000.\n\n    fn f() {}",
        "const PAGE: &str = \"\\\n\nSources: Someone, \\\"A paper of\ntwo lines\\\", 2000\n\n",
    ] {
        assert_eq!(cited(text), title, "{text}");
    }
}

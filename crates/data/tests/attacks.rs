//! Every attack of the shared table against a valid file of every reader.
//!
//! A reader owes the data set of the untouched file, or an error that names the file, or either, as the table
//! says. It never panics, and the whole run stays within a fixed amount of memory.

use toprank_data::formats::mulan_xml::label_names;
use toprank_data::formats::{FORMATS, Format};
use toprank_data::graph::{EdgeOptions, GraphFiles, SessionOptions, read_edges, read_sessions};
use toprank_data::graph_items::read_edge_list;
use toprank_data::scores::read_scores;
use toprank_data::{Dataset, Fault, QueryGraphs, ReadError, ReadOptions, Source, read_qrels, read_run};
use toprank_testkit::{ATTACKS, Owes, swapped_files};

/// What every reader looks like from here.
type Read = Box<dyn Fn(&Source) -> Result<Summary, ReadError>>;

/// Enough of a result to see that two are the same.
type Summary = String;

struct Reader {
    name: String,
    example: &'static [u8],
    /// Binary formats owe nothing to changes that only mean something to text.
    text: bool,
    read: Read,
}

fn summary(dataset: &Dataset) -> Summary {
    dataset.lists.check().expect("a reader's lists keep their promises");
    format!("{dataset:?}")
}

fn readers() -> Vec<Reader> {
    let format = |format: &'static Format| Reader {
        name: format.name.to_string(),
        example: format.example,
        text: std::str::from_utf8(format.example).is_ok(),
        read: Box::new(move |source| (format.read)(source, &ReadOptions::default()).map(|d| summary(&d))),
    };
    let others: [(&str, &[u8], Read); 3] = [
        ("scores", b"3\n2.5\n-1e-3\n", Box::new(|source| read_scores(source, 3, 1).map(|s| format!("{s:?}")))),
        (
            "mulan_xml",
            b"<?xml version=\"1.0\"?>\n<labels>\n<label name=\"a\"></label>\n<label name=\"b\"/>\n</labels>\n",
            Box::new(|source| label_names(source).map(|names| format!("{names:?}"))),
        ),
        (
            "edges",
            b"# SNAP\nfrom\tto\n1\t2\n2\t3\n4294967296\t1\n",
            Box::new(|source| read_edges(source, &EdgeOptions::default()).map(|read| format!("{:?}", read.graph))),
        ),
    ];
    let other = |(name, example, read): (&str, _, _)| Reader { name: name.into(), example, text: true, read };
    FORMATS.iter().map(format).chain(others.into_iter().map(other)).collect()
}

#[test]
fn every_example_is_valid() {
    for reader in readers() {
        let source = Source::bytes("example", reader.example);
        (reader.read)(&source).unwrap_or_else(|e| panic!("{}: {e}", reader.name));
    }
}

#[test]
fn no_attack_makes_a_reader_panic_or_lose_its_words() {
    for reader in readers() {
        let untouched = (reader.read)(&Source::bytes("example", reader.example)).expect("a valid example");
        for attack in ATTACKS {
            let file = "attacked.file";
            let what = format!("{} under attack {:?}", reader.name, attack.name);
            let result = (reader.read)(&Source::bytes(file, (attack.apply)(reader.example)));
            if let Err(error) = &result {
                check_message(error, file, &what);
            }
            match attack.owes {
                Owes::TheSameAlways => assert_eq!(result.as_ref(), Ok(&untouched), "{what}"),
                Owes::TheSame if reader.text => assert_eq!(result.as_ref(), Ok(&untouched), "{what}"),
                Owes::Error => assert!(result.is_err(), "{what} gave {:?}", result.map(|r| r.len())),
                Owes::TheSame | Owes::NoPanic => {}
            }
        }
    }
    assert!(peak_megabytes() < 1500, "{} MB for files of a few kilobytes", peak_megabytes());
}

fn check_message(error: &ReadError, file: &str, what: &str) {
    let message = error.to_string();
    assert!(message.starts_with(file), "{what}: the message does not name the file: {message}");
    assert_ne!(error.fault(), Fault::Io, "{what}: bad content is no fault of the system: {message}");
    assert!(message.contains("; expected "), "{what}: nothing says what was expected: {message}");
    assert!(message.len() < 600, "{what}: a message of {} bytes", message.len());
}

#[test]
fn no_file_of_another_format_makes_a_reader_panic_or_lose_its_words() {
    let mut readers = readers();
    let more: [(&str, Read); 3] = [
        ("qrels", Box::new(|source| read_qrels(source).map(|qrels| format!("{qrels:?}")))),
        ("run", Box::new(|source| read_run(source).map(|run| format!("{run:?}")))),
        (
            "sessions",
            Box::new(|source| read_sessions(source, &SessionOptions::default()).map(|_| String::new())),
        ),
    ];
    readers.extend(more.into_iter().map(|(name, read)| Reader {
        name: name.into(),
        example: b"",
        text: true,
        read,
    }));
    for (name, bytes) in swapped_files() {
        for reader in &readers {
            let what = format!("a {name} file given to the reader of {}", reader.name);
            if let Err(error) = (reader.read)(&Source::bytes("swapped.file", bytes.clone())) {
                check_message(&error, "swapped.file", &what);
            }
        }
    }
}

/// Tables of graphs are found by their roles, so any file can come in the place of any of them.
#[test]
fn no_file_of_another_format_in_place_of_a_table_of_graphs_makes_it_panic() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let whole = GraphFiles {
        nodes: Some(file("nodes.tsv", b"query\tnode\tf\na\tx\t1\na\ty\t2\n")),
        edges: Some(file("edges.tsv", b"query\tfrom\tto\na\tx\ty\n")),
        judgements: Some(file("judgements.tsv", b"query\tnode\tlabel\na\tx\t1\n")),
        seeds: Some(file("seeds.tsv", b"query\tnode\na\tx\n")),
        ends: None,
    };
    QueryGraphs::read(&whole).unwrap();
    let examples = FORMATS.iter().map(|format| (format.name.to_string(), format.example.to_vec()));
    for (name, bytes) in swapped_files().into_iter().chain(examples) {
        for extension in ["", ".tsv", ".csv"] {
            let path = file(&format!("swapped{extension}"), &bytes);
            let place = || Some(path.clone());
            for (role, files) in [
                ("nodes", GraphFiles { nodes: place(), ..whole.clone() }),
                ("edges", GraphFiles { edges: place(), ..whole.clone() }),
                ("edges without nodes", GraphFiles { edges: place(), nodes: None, ..whole.clone() }),
                ("judgements", GraphFiles { judgements: place(), ..whole.clone() }),
                ("seeds", GraphFiles { seeds: place(), ..whole.clone() }),
            ] {
                if let Err(error) = QueryGraphs::read(&files) {
                    assert_ne!(error.fault(), Fault::Io, "{name} as {role}: {error}");
                }
            }
            let source = Source::path(&path);
            let _ = read_edge_list(&source, &source);
        }
    }
}

/// The most memory this process ever held; 0 where the system does not tell.
fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kb| kb / 1024)
}

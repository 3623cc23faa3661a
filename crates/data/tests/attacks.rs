//! Every attack of the shared table against a valid file of every reader.
//!
//! A reader owes the data set of the untouched file, or an error that names the file, or either, as the table
//! says. It never panics, and the whole run stays within a fixed amount of memory.

use toprank_data::formats::mulan_xml::label_names;
use toprank_data::formats::{FORMATS, Format};
use toprank_data::scores::read_scores;
use toprank_data::{Dataset, Fault, ReadError, ReadOptions, Source};
use toprank_testkit::{ATTACKS, Owes};

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
    let others: [(&str, &[u8], Read); 2] = [
        ("scores", b"3\n2.5\n-1e-3\n", Box::new(|source| read_scores(source, 3, 1).map(|s| format!("{s:?}")))),
        (
            "mulan_xml",
            b"<?xml version=\"1.0\"?>\n<labels>\n<label name=\"a\"></label>\n<label name=\"b\"/>\n</labels>\n",
            Box::new(|source| label_names(source).map(|names| format!("{names:?}"))),
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
                let message = error.to_string();
                assert!(message.starts_with(file), "{what}: the message does not name the file: {message}");
                assert_ne!(
                    error.fault(),
                    Fault::Io,
                    "{what}: bad content is no fault of the system: {message}"
                );
                assert!(message.contains("; expected "), "{what}: nothing says what was expected: {message}");
                assert!(message.len() < 600, "{what}: a message of {} bytes", message.len());
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

/// The most memory this process ever held; 0 where the system does not tell.
fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kb| kb / 1024)
}

/*!
Adjacency lines: a user and its items, separated by blanks (the format of the LightGCN data sets).

```text
ann i1 i2 i3
bob i2
cid                 a user without items keeps its empty list
```

One list per user, in order of first appearance; a user may have several lines. Labels are 1. Any string without a
blank is a name; the same item twice for a user is an error with both lines.

A file without an extension of its own is recognised by its content if its lines differ in length, as those of users
do, or are all `user item`. A file whose lines all have the same number of three fields or more may be anything: its
format must be named.
*/

use std::io::{self, Write};

use hashbrown::HashSet;

use super::entries::{Entries, names_of};
use super::sheet::{no_further_columns, unsupported};
use super::{Format, ReadOptions};
use crate::dataset::Dataset;
use crate::error::ReadError;
use crate::lines::Lines;
use crate::source::{HEAD, Source};

/// `user item item …`.
pub const FORMAT: Format = Format {
    name: "adjacency",
    about: "a user and its items on each line, separated by blanks",
    extensions: &["adj"],
    sniff: looks_like_adjacency,
    read,
    write: Some(write),
    example: b"ann i1 i2 i3\nbob i2\ncid\n",
};

/// True for two lines or more of names separated by blanks, if either their number differs between lines and no user
/// and no item of a user stands twice, or all lines are `user item`; and if there is nothing that tables, LETOR files or
/// sentences have: commas, tabs, semicolons, colons, bars, quotes, brackets, final full stops.
fn looks_like_adjacency(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if head.iter().any(|byte| b",\t;:|\"'={}[]()<>\0".contains(byte)) {
        return false;
    }
    // The last line of a longer text may be cut.
    let end = if head.len() < HEAD { head.len() } else { memchr::memrchr(b'\n', head).unwrap_or(0) };
    let Ok(text) = std::str::from_utf8(&head[..end]) else { return false };
    let (mut users, mut lengths, mut lines) = (HashSet::new(), HashSet::new(), 0);
    let mut distinct = true;
    for line in text.lines() {
        let mut names = line.split_ascii_whitespace();
        let Some(user) = names.next() else { continue };
        let items: Vec<&str> = names.collect();
        if line.trim_ascii_end().ends_with('.') {
            return false;
        }
        lines += 1;
        distinct &= users.insert(user) && items.iter().collect::<HashSet<_>>().len() == items.len();
        lengths.insert(items.len());
    }
    lines > 1 && if lengths.len() == 1 { lengths.contains(&1) } else { distinct }
}

fn read(source: &Source, _: &ReadOptions) -> Result<Dataset, ReadError> {
    let mut lines = Lines::open(source)?;
    let mut entries = Entries::new(source.name());
    loop {
        let number = lines.number() + 1;
        let Some(line) = lines.next_line()? else { break };
        let Ok(line) = std::str::from_utf8(line) else {
            let found = "a line that is not UTF-8";
            return Err(ReadError::data(source.name(), found, "UTF-8 text").at_line(number));
        };
        let mut names = line.split_ascii_whitespace();
        let Some(user) = names.next() else { continue };
        let user = entries.user(user);
        for item in names {
            entries.add(number, user, item, 1.0)?;
        }
    }
    entries.finish()
}

fn write(data: &Dataset, out: &mut (dyn Write + Send)) -> io::Result<()> {
    if data.lists.output.is_some() || data.features.width() > 0 || data.times.is_some() {
        return Err(unsupported("adjacency lines hold users and items only"));
    }
    no_further_columns(data, "adjacency lines")?;
    if data.lists.labels.iter().any(|&label| label != 1.0) {
        return Err(unsupported("adjacency lines hold no ratings; write interactions instead"));
    }
    let check = |name: &str| {
        if name.is_empty() || name.contains(|c: char| c.is_ascii_whitespace()) {
            return Err(unsupported(format!("the name {name:?} is empty or has a blank")));
        }
        Ok(())
    };
    for q in 0..data.lists.len() {
        let user = data.list_name(q);
        check(&user)?;
        if q == 0 && user.starts_with('\u{feff}') {
            return Err(unsupported(format!(
                "the first name {user:?} starts with a byte-order mark, which readers drop"
            )));
        }
        out.write_all(user.as_bytes())?;
        for entry in data.lists.range(q) {
            let (_, item) = names_of(data, q, entry)?;
            check(item)?;
            write!(out, " {item}")?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adjacency(text: &[u8]) -> Result<Dataset, ReadError> {
        read(&Source::bytes("t", text), &ReadOptions::default())
    }

    #[test]
    fn adjacency_lines_keep_users_without_items() {
        let data = adjacency(b"a 1 2\nb\nc 2\na 3\n").unwrap();
        assert_eq!(data.lists.offsets, [0, 3, 3, 4]);
        assert_eq!(data.lists.rows, Some(vec![0, 1, 2, 1]));
        let mut text = Vec::new();
        write(&data, &mut text).unwrap();
        assert_eq!(text, b"a 1 2 3\nb\nc 2\n");
    }

    #[test]
    fn bad_lines_are_told() {
        let again = "; expected each item once for each user.\nKeep one of the lines, for example the last.";
        let latin = "; expected UTF-8 text.";
        let nothing = "t: no interaction; expected at least one line.".to_string();
        for (text, expected) in [
            (&b""[..], nothing.clone()),
            (b"\n \t\n", nothing),
            (b"a 1 1\n", format!("t:1: user \"a\" and item \"1\" again, first on line 1{again}")),
            (b"a 1\nb 1\n\na 2 1\n", format!("t:4: user \"a\" and item \"1\" again, first on line 1{again}")),
            (b"a 1\nb caf\xe9\n", format!("t:2: a line that is not UTF-8{latin}")),
            (b"\xe9 1\n", format!("t:1: a line that is not UTF-8{latin}")),
        ] {
            assert_eq!(adjacency(text).unwrap_err().to_string(), expected, "{}", text.escape_ascii());
        }
        assert!(adjacency(b"\xff\xfea\0").unwrap_err().to_string().starts_with("t:1: UTF-16 text; expected"));
    }

    #[test]
    fn lines_of_users_are_recognised_by_their_content() {
        for text in
            ["ann i1 i2 i3\nbob i2\ncid\n", "0 1 2 3\n1 7", "0 5\n0 6\n1 5\n", "\u{feff}0 1\r\n1 3 4\r\n"]
        {
            assert!(looks_like_adjacency(text.as_bytes()), "{text:?}");
            let source = Source::bytes("train.txt", text.as_bytes());
            let read = crate::read(&source, &ReadOptions::default()).unwrap();
            assert_eq!(read, adjacency(text.as_bytes()).unwrap(), "{text:?}");
        }
        let cut = "7 1 2\n".repeat(HEAD);
        for text in [
            "",
            "0 1 2\n",
            "0 1 2\n1 3 4\n",
            "0 1 2\n0 3\n",
            "0 1 1\n1 3\n",
            "1 qid:1 1:0.5\n0 qid:1\n",
            "a,b c\nd\n",
            "It is a text.\nIt has lines\n",
            &cut[..HEAD],
        ] {
            assert!(!looks_like_adjacency(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn a_word_is_a_name_whatever_it_holds() {
        let odd = adjacency("\u{feff}a:1,\t\"b  c\" nan\r\nqid:1 #\n".as_bytes()).unwrap();
        assert_eq!(odd.list_names, Some(["a:1,", "qid:1"].into_iter().collect()));
        assert_eq!(odd.item_names, Some(["\"b", "c\"", "nan", "#"].into_iter().collect()));
    }

    #[test]
    fn what_lines_of_words_cannot_hold_is_refused() {
        let good = adjacency(b"a x\n").unwrap();
        let refused = |change: &dyn Fn(&mut Dataset)| {
            let mut data = good.clone();
            change(&mut data);
            write(&data, &mut Vec::new()).unwrap_err().to_string()
        };
        assert_eq!(
            refused(&|data| data.lists.labels[0] = 2.0),
            "adjacency lines hold no ratings; write interactions instead"
        );
        assert_eq!(
            refused(&|data| data.item_names = Some(["x y"].into_iter().collect())),
            "the name \"x y\" is empty or has a blank"
        );
        assert_eq!(
            refused(&|data| data.list_names = Some(["\u{feff}a"].into_iter().collect())),
            "the first name \"\\u{feff}a\" starts with a byte-order mark, which readers drop"
        );
        assert_eq!(
            refused(&|data| data.times = Some(vec![1.0])),
            "adjacency lines hold users and items only"
        );
    }
}

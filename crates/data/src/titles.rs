/*!
Names that people read: a table whose first column is an item and another one its title.

Separators are found by the first line: `::` (`movies.dat` of MovieLens), tab, `|` (`u.item`) or comma, with quotes as in CSV. The title
is the column whose heading is `title` or `name`, else the second one. A line that is not UTF-8 is read as Latin-1.

```
use toprank_data::{Source, titles};
let table = b"item,title\n7,\"Heat, 1995\"\n9,Ran\n".to_vec();
let titles = titles::read(&Source::bytes("t.csv", table)).unwrap();
assert_eq!(titles["7"], "Heat, 1995");
```
*/

use std::collections::HashMap;
use std::io::Read;

use crate::error::ReadError;
use crate::source::Source;

/// Bytes of a table of titles, so that a device or a data file is not read to its end.
const MOST_BYTES: u64 = 1 << 30;

/// The title of each item.
///
/// # Errors
/// If the file cannot be read, or a line has no second column.
pub fn read(source: &Source) -> Result<HashMap<String, String>, ReadError> {
    let mut bytes = Vec::new();
    let read = source.open()?.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| ReadError::io(source.name(), &error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(ReadError::data(
            source.name(),
            format!("more than {MOST_BYTES} bytes"),
            "a table of titles",
        ));
    }
    let mut titles = HashMap::new();
    let (mut separator, mut place) = (None, 1);
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let text = match std::str::from_utf8(line) {
            Ok(text) => text.to_string(),
            Err(_) => line.iter().map(|byte| char::from(*byte)).collect(),
        };
        let text = text.trim_end_matches('\r').trim_start_matches('\u{feff}');
        if text.is_empty() {
            continue;
        }
        let first = separator.is_none();
        let by = *separator.get_or_insert_with(|| separator_of(text));
        let cells = cells(text, by);
        if first {
            let heading = |cell: &String| ["title", "name"].contains(&cell.trim().to_lowercase().as_str());
            if let Some(found) = cells.iter().skip(1).position(heading) {
                place = found + 1;
                continue;
            }
        }
        let Some(title) = cells.get(place) else {
            let found = format!("line {} with {} of {} columns", number + 1, cells.len(), place + 1);
            return Err(ReadError::data(source.name(), found, "an item and its title in every line"));
        };
        titles.entry(cells[0].clone()).or_insert_with(|| title.clone());
    }
    Ok(titles)
}

fn separator_of(line: &str) -> &'static str {
    ["::", "\t", "|"].into_iter().find(|separator| line.contains(separator)).unwrap_or(",")
}

/// The cells of a line; a comma within quotes separates nothing.
fn cells(line: &str, separator: &str) -> Vec<String> {
    if separator != "," {
        return line.split(separator).map(|cell| cell.trim().to_string()).collect();
    }
    let (mut cells, mut quoted) = (vec![String::new()], false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cells.last_mut().expect("one cell at least").push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("one cell at least").push(c),
        }
    }
    cells.iter().map(|cell| cell.trim().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &[u8]) -> Result<HashMap<String, String>, ReadError> {
        read(&Source::bytes("t", text.to_vec()))
    }

    #[test]
    fn titles_are_found_whatever_separates_them() {
        for text in [
            "1::Heat (1995)::Crime\n2::Ran, the film::War\n",
            "1\tHeat (1995)\n2\tRan, the film\n",
            "1|Heat (1995)|x\n\n2|Ran, the film|y",
            "item,year,title\r\n1,1995,Heat (1995)\r\n2,1985,\"Ran, the film\"\r\n",
            "\u{feff}id,name\n1,Heat (1995)\n2,\"Ran, the film\"\n2,again\n",
        ] {
            let titles = of(text.as_bytes()).unwrap();
            assert_eq!(
                (titles["1"].as_str(), titles["2"].as_str()),
                ("Heat (1995)", "Ran, the film"),
                "{text}"
            );
        }
        assert_eq!(of(b"1,say \"\"no\"\"\n").unwrap()["1"], "say no");
        assert_eq!(of(b"1,\"say \"\"no\"\"\"\n").unwrap()["1"], "say \"no\"");
        assert_eq!(of(b"1|L\xe9on\n").unwrap()["1"], "L\u{e9}on", "Latin-1");
        assert!(of(b"").unwrap().is_empty());
    }

    #[test]
    fn a_line_without_a_title_is_refused_by_its_number() {
        let error = of(b"1,Heat\n2\n").unwrap_err().to_string();
        assert!(
            error.contains("line 2 with 1 of 2 columns") && error.contains("an item and its title"),
            "{error}"
        );
    }
}

/*!
Preference pairs: a table that says which item of a list should be ranked above which other one.

| column | what |
|---|---|
| `list` (or `qid`, `query`, …) | name of the list; may be absent if the data are one list |
| `better`, `worse` | the two items |
| `weight` | how much the pair counts, finite and ≥ 0; without the column every pair counts 1 |

Items are called by their names if the data have any (a column `item`, comments `#docid = …` of LETOR files); otherwise by their
position in the list, counted from 1. Lists without names are counted from 1 too; the lists of multi-label data are called by
their labels. The order of the lines changes nothing; a pair that is there twice counts twice.

```
use toprank_data::{ReadOptions, Source, formats, preferences};
let data = Source::bytes("d.txt", *b"0 qid:7 1:0.5\n0 qid:7 1:0.1\n0 qid:8 1:3\n");
let data = formats::read(&data, &ReadOptions::default()).unwrap();
let pairs = Source::bytes("pairs.csv", *b"qid,better,worse,weight\n7,2,1,0.5\n");
let pairs = preferences::read(&pairs, &data).unwrap();
assert_eq!((pairs.of(0)[0].better, pairs.of(0)[0].worse), (1, 0));
let error = preferences::read(&Source::bytes("p.csv", *b"qid,better,worse\n7,2,3\n"), &data).unwrap_err();
assert_eq!(error.to_string(), "p.csv:2: column worse: item \"3\" in list \"7\"; expected a position from 1 to 2.");
```
*/

use hashbrown::HashMap;
use toprank_core::{Preference, Preferences};

use crate::dataset::Dataset;
use crate::error::{ReadError, show};
use crate::formats::{self, ReadOptions};
use crate::names::Names;
use crate::source::Source;

const BETTER: &str = "better";
const WORSE: &str = "worse";
const WEIGHT: &str = "weight";

/// Reads the pairs of the lists of `data`.
///
/// # Errors
/// A list or an item that the data do not have, a pair of one item with itself, a weight that is not finite and ≥ 0, a column
/// that is none of the table's, with file and line.
pub fn read(source: &Source, data: &Dataset) -> Result<Preferences, ReadError> {
    let options = ReadOptions {
        unlabelled: true,
        item: Some(BETTER.into()),
        keep: vec![WORSE.into()],
        regroup: true,
        ..ReadOptions::default()
    };
    let table = formats::read_table(source, &options)?;
    let file = source.name();
    check_columns(file, &table)?;
    let weights = table.columns.iter().position(|column| column.name == WEIGHT);
    let Some((better, (_, worse))) = table.item_names.as_ref().zip(table.extra.first()) else {
        return Err(ReadError::data(file, "no columns of items", "the columns better and worse"));
    };
    let lists = ListFinder::new(data);
    let mut pairs = Vec::with_capacity(table.rows());
    for list in 0..table.lists.len() {
        let rows = table.lists.range(list);
        let name = table.list_names.as_ref().map(|names| names.get(list));
        let Some(q) = lists.find(name) else {
            let (found, expected) = match name {
                Some(name) => (format!("list {}", show(name.as_bytes())), lists.expected()),
                None => ("no column list".into(), format!("one: the data have {} lists", data.lists.len())),
            };
            return Err(at(ReadError::data(file, found, expected), &table, rows.start));
        };
        let items = ItemFinder::new(data, q);
        for row in rows {
            let item = |column: &str, names: &Names| {
                items.find(names.get(row)).map_err(|expected| {
                    let of = data.lists.len() > 1 || name.is_some();
                    let of = if of {
                        format!(" in list {}", show(lists.name(q).as_bytes()))
                    } else {
                        String::new()
                    };
                    let found = format!("item {}{of}", show(names.get(row).as_bytes()));
                    at(ReadError::data(file, found, expected).in_column(column), &table, row)
                })
            };
            let (better, worse) = (item(BETTER, better)?, item(WORSE, worse)?);
            let weight = weights.map_or(1.0, |column| table.features.get(row, column));
            if better == worse {
                let found = format!(
                    "item {} in list {} twice",
                    show(table_item(&table, row)),
                    show(lists.name(q).as_bytes())
                );
                return Err(at(ReadError::data(file, found, "two different items"), &table, row));
            }
            if !weight.is_finite() || weight < 0.0 {
                let found = if weight.is_nan() { "a missing weight".into() } else { weight.to_string() };
                let error = ReadError::data(file, found, "a finite weight ≥ 0").in_column(WEIGHT);
                return Err(at(error, &table, row));
            }
            pairs.push((q as u32, Preference { better, worse, weight }));
        }
    }
    Ok(Preferences::from_pairs(data.lists.len(), pairs))
}

fn table_item(table: &Dataset, row: usize) -> &[u8] {
    table.item_names.as_ref().map_or("", |names| names.get(row)).as_bytes()
}

/// A column that nothing is known of may be a misspelt one.
fn check_columns(file: &str, table: &Dataset) -> Result<(), ReadError> {
    let expected = "the columns list, better, worse and, if pairs are weighted, weight";
    let unknown = |name: &str| ![BETTER, WORSE, WEIGHT].contains(&name);
    if let Some(column) = table.columns.iter().find(|column| unknown(&column.name)) {
        return Err(ReadError::options(file, format!("a column {}", show(column.name.as_bytes())), expected));
    }
    match table.unread.iter().find(|name| ![BETTER, WORSE].contains(&name.as_str())) {
        Some(name) if name == WEIGHT => {
            Err(ReadError::data(file, "text", "numbers: weights of pairs").in_column(WEIGHT))
        }
        Some(name) => Err(ReadError::options(file, format!("a column {}", show(name.as_bytes())), expected)),
        None => Ok(()),
    }
}

fn at(error: ReadError, table: &Dataset, row: usize) -> ReadError {
    match table.lines.of(row) {
        Some(line) => error.at_line(line),
        None => error,
    }
}

/// Lists by name, or by number where they have none.
struct ListFinder<'a> {
    data: &'a Dataset,
    names: Option<HashMap<String, usize>>,
}

impl ListFinder<'_> {
    fn new(data: &Dataset) -> ListFinder<'_> {
        let mut finder = ListFinder { data, names: None };
        if data.list_names.is_some() || data.lists.output.is_some() && data.output_names.is_some() {
            finder.names = Some((0..data.lists.len()).map(|q| (finder.name(q), q)).collect());
        }
        finder
    }

    fn name(&self, q: usize) -> String {
        match (&self.data.list_names, &self.data.lists.output, &self.data.output_names) {
            (Some(names), _, _) => names.get(q).to_string(),
            (None, Some(outputs), Some(names)) => names.get(usize::from(outputs[q])).to_string(),
            _ => (q + 1).to_string(),
        }
    }

    fn find(&self, name: Option<&str>) -> Option<usize> {
        match (name, &self.names) {
            (None, _) => (self.data.lists.len() == 1).then_some(0),
            (Some(name), Some(names)) => names.get(name).copied(),
            (Some(name), None) => place(name, self.data.lists.len()),
        }
    }

    fn expected(&self) -> String {
        match self.names {
            Some(_) => "a list of the data".into(),
            None => {
                format!("a number from 1 to {}: the lists of the data have no names", self.data.lists.len())
            }
        }
    }
}

/// Items of one list by name, or by position where they have none.
struct ItemFinder<'a> {
    length: usize,
    /// Position of each name; `None`: several items have it.
    names: Option<HashMap<&'a str, Option<u32>>>,
}

impl<'a> ItemFinder<'a> {
    fn new(data: &'a Dataset, q: usize) -> ItemFinder<'a> {
        let entries = data.lists.range(q);
        let length = entries.len();
        let names = data.item_names.as_ref().map(|names| {
            let mut places = HashMap::with_capacity(length);
            for (place, entry) in (0u32..).zip(entries) {
                let name = names.get(data.lists.row(entry));
                places.entry(name).and_modify(|place| *place = None).or_insert(Some(place));
            }
            places
        });
        ItemFinder { length, names }
    }

    /// The item, or what was expected.
    fn find(&self, text: &str) -> Result<u32, String> {
        match &self.names {
            None => place(text, self.length)
                .map(|place| place as u32)
                .ok_or_else(|| format!("a position from 1 to {}", self.length)),
            Some(names) => match names.get(text) {
                Some(Some(place)) => Ok(*place),
                Some(None) => Err("a name that only one item of the list has".into()),
                None => Err("an item of the list, by its name".into()),
            },
        }
    }
}

/// The position, from 0, that is written as a number from 1 to `count`.
fn place(text: &str, count: usize) -> Option<usize> {
    text.parse::<usize>().ok().filter(|number| (1..=count).contains(number)).map(|number| number - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &str) -> Dataset {
        let options = ReadOptions { label_optional: true, ..ReadOptions::default() };
        formats::read(&Source::bytes("d", text.as_bytes()), &options).unwrap()
    }

    fn pairs(text: &str, data: &Dataset) -> Result<Preferences, String> {
        read(&Source::bytes("p.csv", text.as_bytes()), data).map_err(|error| error.to_string())
    }

    fn pair(better: u32, worse: u32, weight: f32) -> Preference {
        Preference { better, worse, weight }
    }

    #[test]
    fn items_are_called_by_name_where_they_have_names() {
        let letor = "1 qid:a 1:1 #docid = x\n0 qid:a 1:2 #docid = y\n0 qid:b 1:3 #docid = y\n2 qid:b 1:4 #docid = z\n";
        let table = "list,item,f\na,x,1\na,y,2\nb,y,3\nb,z,4\n";
        for text in [letor, table] {
            let data = data(text);
            // Lines of a list need not be adjacent.
            let read = pairs("list,better,worse,weight\na,y,x,2\nb,y,z,0.5\na,x,y,1\n", &data).unwrap();
            assert_eq!(read.of(0), [pair(0, 1, 1.0), pair(1, 0, 2.0)]);
            assert_eq!(read.of(1), [pair(0, 1, 0.5)]);
            for (table, words) in [
                ("list,better,worse\na,y,x\nc,y,x\n", "p.csv:3: list \"c\"; expected a list of the data."),
                (
                    "list,better,worse\na,y,x\na,y,z\n",
                    "p.csv:3: column worse: item \"z\" in list \"a\"; expected an item of the list, by its name.",
                ),
                (
                    "list,better,worse\na,y,y\n",
                    "p.csv:2: item \"y\" in list \"a\" twice; expected two different items.",
                ),
                (
                    "list,better,worse,weight\na,y,x,-1\n",
                    "p.csv:2: column weight: -1; expected a finite weight ≥ 0.",
                ),
                ("list,better,worse,weight\na,y,x,\n", "p.csv:2: column weight: a missing weight"),
                ("list,better,worse,weight\na,y,x,much\n", "weight"),
                (
                    "list,better,worse,wieght\na,y,x,1\n",
                    "p.csv: a column \"wieght\"; expected the columns list, better, worse",
                ),
                ("list,better\na,y\n", "no column is called worse"),
                ("better,worse\ny,x\n", "no column list; expected one: the data have 2 lists"),
            ] {
                let error = pairs(table, &data).unwrap_err();
                assert!(error.contains(words), "{table}: {error}");
            }
        }
    }

    #[test]
    fn positions_and_numbers_are_counted_from_1() {
        let one = data("f,label\n1,0\n2,1\n3,0\n");
        let read = pairs("better,worse\n3,1\n2,1\n3,1\n", &one).unwrap();
        assert_eq!(read.of(0), [pair(1, 0, 1.0), pair(2, 0, 1.0), pair(2, 0, 1.0)]);
        let error = pairs("better,worse\n0,1\n", &one).unwrap_err();
        assert_eq!(error, "p.csv:2: column better: item \"0\"; expected a position from 1 to 3.");
        assert!(pairs("list,better,worse\n1,2,1\n", &one).is_ok());
        assert!(pairs("list,better,worse\n2,2,1\n", &one).unwrap_err().contains("a number from 1 to 1"));
    }

    #[test]
    fn names_must_be_unique_where_they_are_used() {
        let data = data("list,item,f\na,x,1\na,x,2\na,y,3\na,z,4\n");
        assert!(pairs("list,better,worse\na,y,z\n", &data).is_ok());
        let error = pairs("list,better,worse\na,y,x\n", &data).unwrap_err();
        assert!(error.contains("a name that only one item of the list has"), "{error}");
    }

    #[test]
    fn the_lists_of_several_labels_are_called_by_them() {
        let options = ReadOptions { labels: vec!["p".into(), "q".into()], ..ReadOptions::default() };
        let text = Source::bytes("d.csv", *b"p,q,f\n1,0,3\n0,1,4\n");
        let data = formats::read(&text, &options).unwrap();
        let read = pairs("list,better,worse\nq,1,2\n", &data).unwrap();
        assert_eq!((read.of(0), read.of(1)), ([].as_slice(), [pair(0, 1, 1.0)].as_slice()));
    }
}

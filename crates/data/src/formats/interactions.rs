/*!
Interactions: user, item, rating and time.

```text
user_id,item_id,rating,timestamp      a header and any separator of CSV; columns by name
196⇥242⇥3⇥881250949                   no header (MovieLens u.data): user item [rating [time]] by place
1::1193::5::978300760                 the same, separated by :: (MovieLens 1M)
```

The first line is a header if an option names a column or if one of its fields is a usual name: `user_id`, `user`,
`uid`, `userId`; `item_id`, `item`, `iid`, `movieId`, `movie_id`; `rating`, `label`, `score`; `timestamp`, `time`.
RecBole's types (`user_id:token`) are cut off. Without a header there are 2 to 4 fields, all lines alike, cut at `::`,
tab, comma, `;`, `|` or blanks, whichever the first line holds.

Result: one list per user, in order of first appearance; entries of a user in file order (its lines need not be
adjacent); a row is an item, in order of first appearance, without features; the label is the rating, or 1.
A missing rating is not judged (NaN). The same user and item twice is an error with both lines: only the owner of the
file knows which of two ratings is valid.
*/

use std::io::{self, Write};

use super::cell;
use super::entries::{Entries, names_of};
use super::records::Records;
use super::sheet::{no_further_columns, unsupported};
use super::{Format, ReadOptions, Words};
use crate::dataset::Dataset;
use crate::error::{ReadError, show, show_names};
use crate::lines::Lines;
use crate::source::Source;

/// `user,item[,rating][,time]`.
pub const FORMAT: Format = Format {
    name: "interactions",
    about: "user, item[, rating[, time]]; with a header or MovieLens files",
    extensions: &["inter"],
    sniff: looks_like_interactions,
    read,
    write: Some(write),
    example: b"user_id,item_id,rating,timestamp\nann,i1,5,10\nbob,i2,3,11\nann,i2,4.5,12\n",
};

const USER: &[&str] = &["user_id", "user", "uid", "userId"];
const ITEM: &[&str] = &["item_id", "item", "iid", "movieId", "movie_id"];
const RATING: &[&str] = &["rating", "label", "score"];
const TIME: &[&str] = &["timestamp", "time"];

fn looks_like_interactions(head: &[u8]) -> bool {
    let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let Ok(first) = std::str::from_utf8(first) else { return false };
    let mut fields = 0;
    let (mut user, mut item, mut numbers) = (false, false, true);
    for field in first.trim_end().split([',', ';', '\t', '|']).flat_map(|part| part.split("::")) {
        let name = bare(field);
        fields += 1;
        user |= USER.contains(&name);
        item |= ITEM.contains(&name);
        numbers &= cell::is_number(name.as_bytes());
    }
    // A table with more columns is a table.
    fields <= 4 && ((user && item) || (numbers && fields >= 3))
}

/// A column name without RecBole's type.
fn bare(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((name, "token" | "token_seq" | "float" | "float_seq")) => name,
        _ => name,
    }
}

/// Fields of each line, whatever cuts them.
enum Rows {
    Separated(Records),
    /// `::`, or blanks if empty.
    Cut(Lines, &'static str),
}

/// Columns of the fields.
#[derive(Clone, Copy)]
struct Places {
    user: usize,
    item: usize,
    rating: Option<usize>,
    time: Option<usize>,
    width: usize,
}

/// Adds the interaction that the fields of a line tell.
fn push(
    entries: &mut Entries,
    line: u64,
    fields: &[&[u8]],
    places: Places,
    names: &[String],
) -> Result<(), ReadError> {
    let error =
        |found: String, expected: String| ReadError::data(&entries.file, found, expected).at_line(line);
    if fields.len() != places.width {
        return Err(error(format!("{} fields", fields.len()), format!("{}, as before", places.width)));
    }
    let column = |place: usize| names.get(place).cloned().unwrap_or_else(|| (place + 1).to_string());
    let text = |place: usize| {
        std::str::from_utf8(fields[place]).map_err(|_| {
            error(format!("{} is not UTF-8", show(fields[place])), "UTF-8 text".into())
                .in_column(column(place))
        })
    };
    let not_a_number = |place: usize, why| {
        let error =
            cell::not_a_number(&entries.file, fields[place], why).at_line(line).in_column(column(place));
        if entries.is_empty() && names.is_empty() {
            return error.advice("If this line is a header, name the columns with --list and --item.");
        }
        error
    };
    let label = match places.rating {
        Some(place) => cell::number(fields[place]).map_err(|why| not_a_number(place, why))?,
        None => 1.0,
    };
    let time = match places.time {
        Some(place) => Some(cell::number_f64(fields[place]).map_err(|why| not_a_number(place, why))?),
        None => None,
    };
    if let (Some(place), true) = (places.time, time.is_some_and(f64::is_nan)) {
        return Err(error("a missing time".into(), "a number in every line".into()).in_column(column(place)));
    }
    let (user, item) = (text(places.user)?, text(places.item)?);
    if user.is_empty() || item.is_empty() {
        let (what, place) = if user.is_empty() { ("user", places.user) } else { ("item", places.item) };
        return Err(error(format!("no {what}"), format!("the name of the {what}")).in_column(column(place)));
    }
    let user = entries.user(user);
    entries.add(line, user, item, label)?;
    entries.times.extend(time);
    Ok(())
}

fn read(source: &Source, options: &ReadOptions) -> Result<Dataset, ReadError> {
    let file = source.name();
    let (head, source) = source.peek()?;
    let first =
        head.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let mut rows = if memchr::memmem::find(first, b"::").is_some() {
        Rows::Cut(Lines::open(&source)?, "::")
    } else if first.iter().any(|byte| b",;\t|".contains(byte)) {
        Rows::Separated(Records::open(&source, None)?)
    } else {
        Rows::Cut(Lines::open(&source)?, "")
    };
    let mut entries = Entries::new(file);
    let mut plan: Option<(Places, Vec<String>)> = None;
    let mut take = |line: u64, fields: &[&[u8]]| {
        if let Some((places, names)) = &plan {
            return push(&mut entries, line, fields, *places, names);
        }
        let (places, names) = plan_of(file, line, fields, options)?;
        let is_header = !names.is_empty();
        let (places, names) = plan.insert((places, names));
        if is_header { Ok(()) } else { push(&mut entries, line, fields, *places, names) }
    };
    match &mut rows {
        Rows::Separated(records) => {
            while let Some(record) = records.next_record()? {
                let fields: Vec<&[u8]> = (0..record.len()).map(|i| record.field(i)).collect();
                take(record.line(), &fields)?;
            }
        }
        Rows::Cut(lines, separator) => loop {
            let number = lines.number() + 1;
            let Some(line) = lines.next_line()? else { break };
            if line.trim_ascii().is_empty() {
                continue;
            }
            take(number, &cut(line, separator))?;
        },
    }
    entries.finish()
}

fn cut<'a>(line: &'a [u8], separator: &str) -> Vec<&'a [u8]> {
    if separator.is_empty() {
        return line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).collect();
    }
    let mut fields = Vec::with_capacity(4);
    let mut rest = line;
    while let Some(at) = memchr::memmem::find(rest, separator.as_bytes()) {
        fields.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    fields.push(rest);
    fields
}

/// Interactions that are in memory already: users, items and ratings in the order of a file, and their times, if they have any.
///
/// The result is that of the reader, for the same lines.
///
/// ```
/// use toprank_data::formats::interactions;
/// let rows = [("ann", "i1", 5.0), ("bob", "i2", 3.0), ("ann", "i2", 4.5)];
/// let data = interactions::from_rows("frame", rows, None).unwrap();
/// assert_eq!((data.lists.len(), data.lists.labels), (2, vec![5.0, 4.5, 3.0]));
/// ```
///
/// # Errors
/// If there is none, a name is empty, a time is missing, or a user has an item twice.
pub fn from_rows<'a>(
    name: &str,
    rows: impl IntoIterator<Item = (&'a str, &'a str, f32)>,
    times: Option<&[f64]>,
) -> Result<Dataset, ReadError> {
    let mut entries = Entries::new(name);
    for ((user, item, label), row) in rows.into_iter().zip(1..) {
        let wrong = |found: &str, expected: &str| ReadError::data(name, found, expected).at_line(row);
        if user.is_empty() || item.is_empty() {
            let what = if user.is_empty() { "user" } else { "item" };
            return Err(wrong(&format!("no {what}"), &format!("the name of the {what}")));
        }
        let user = entries.user(user);
        entries.add(row, user, item, label)?;
        if let Some(times) = times {
            let time = times.get(row as usize - 1).copied().filter(|time| !time.is_nan());
            entries.times.push(time.ok_or_else(|| wrong("a missing time", "a number in every row"))?);
        }
    }
    entries.finish()
}

/// The places of user, item, rating and time; the names are those of the header, none if there is no header.
fn plan_of(
    file: &str,
    line: u64,
    fields: &[&[u8]],
    options: &ReadOptions,
) -> Result<(Places, Vec<String>), ReadError> {
    let names: Vec<String> =
        fields.iter().map(|field| bare(&String::from_utf8_lossy(field)).trim().to_string()).collect();
    let asked = [&options.list, &options.item, &options.label, &options.time];
    let usual = |list: &[&str]| list.iter().find_map(|name| names.iter().position(|there| there == name));
    let is_header =
        asked.iter().any(|option| option.is_some()) || usual(USER).is_some() || usual(ITEM).is_some();
    let width = fields.len();
    if !is_header {
        if !(2..=4).contains(&width) {
            let found = format!("{width} fields");
            return Err(ReadError::data(file, found, "user item [rating [time]]: 2 to 4 fields")
                .at_line(line)
                .advice("If this line is a header, name the columns with --list and --item."));
        }
        let places = Places {
            user: 0,
            item: 1,
            rating: (width > 2).then_some(2),
            time: (width > 3).then_some(3),
            width,
        };
        return Ok((places, Vec::new()));
    }
    let place = |asked: &Option<String>, list: &[&str]| {
        let Some(name) = asked else { return Ok(usual(list)) };
        names.iter().position(|there| there == name).map(Some).ok_or_else(|| {
            let found = format!("no column is called {name}");
            ReadError::options(file, found, format!("one of {}", show_names(names.iter().map(AsRef::as_ref))))
                .at_line(line)
        })
    };
    let needed = |place: Option<usize>, what: &str, flag: &str| {
        place.ok_or_else(|| {
            let found = format!("no {what} column among {}", show_names(names.iter().map(AsRef::as_ref)));
            ReadError::options(file, found, format!("a column of {what}s"))
                .at_line(line)
                .advice(format!("Name it with --{flag}."))
        })
    };
    let places = Places {
        user: needed(place(&options.list, USER)?, "user", "list")?,
        item: needed(place(&options.item, ITEM)?, "item", "item")?,
        rating: place(&options.label, RATING)?,
        time: place(&options.time, TIME)?,
        width,
    };
    let used = [Some(places.user), Some(places.item), places.rating, places.time];
    let others: Vec<&str> =
        (0..width).filter(|place| !used.contains(&Some(*place))).map(|place| names[place].as_str()).collect();
    if options.words == Words::Kept && !others.is_empty() {
        let found = format!("columns that interactions cannot hold: {}", show_names(others));
        return Err(ReadError::options(file, found, "user, item, rating and time only")
            .advice("Leave them out with --drop, or read a table with --input-format csv."));
    }
    Ok((places, names))
}

fn write(data: &Dataset, out: &mut (dyn Write + Send)) -> io::Result<()> {
    if data.lists.output.is_some() || data.features.width() > 0 {
        return Err(unsupported("interactions have no features and one output; write a table instead"));
    }
    no_further_columns(data, "interactions")?;
    let mut csv = ::csv::Writer::from_writer(out);
    let header = ["user_id", "item_id", "rating", "timestamp"];
    csv.write_record(&header[..if data.times.is_some() { 4 } else { 3 }])?;
    for q in 0..data.lists.len() {
        for entry in data.lists.range(q) {
            let (user, item) = names_of(data, q, entry)?;
            csv.write_field(user)?;
            csv.write_field(item)?;
            let label = data.lists.labels[entry];
            csv.write_field(if label.is_nan() { String::new() } else { label.to_string() })?;
            if let Some(times) = &data.times {
                csv.write_field(times[entry].to_string())?;
            }
            csv.write_record(None::<&[u8]>)?;
        }
    }
    csv.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inter(text: &str, options: &ReadOptions) -> Result<Dataset, ReadError> {
        read(&Source::bytes("t", text.as_bytes().to_vec()), options)
    }

    #[test]
    fn users_are_lists_and_items_are_rows_whatever_cuts_the_fields() {
        for text in [
            "user_id,item_id,rating,timestamp\nb,x,5,10\na,x,3,11\nb,y,4.5,12\n",
            "timestamp\tmovieId\trating\tuserId\n10\tx\t5\tb\r\n11\tx\t3\ta\r\n12\ty\t4.5\tb\r\n",
            "user_id:token\titem_id:token\trating:float\ttimestamp:float\nb\tx\t5\t10\na\tx\t3\t11\nb\ty\t4.5\t12",
            "b::x::5::10\na::x::3::11\nb::y::4.5::12\n",
            "b\tx\t5\t10\na\tx\t3\t11\nb\ty\t4.5\t12\n",
            "b x 5 10\na x  3 11\n\nb y 4.5 12\n",
        ] {
            let data = inter(text, &ReadOptions::default()).unwrap();
            assert_eq!(data.lists.offsets, [0, 2, 3], "{text}");
            assert_eq!(data.lists.rows, Some(vec![0, 1, 0]));
            assert_eq!(data.lists.labels, [5.0, 4.5, 3.0]);
            assert_eq!(data.times, Some(vec![10.0, 12.0, 11.0]));
            assert_eq!(data.list_names, Some(["b", "a"].into_iter().collect()));
            assert_eq!(data.item_names, Some(["x", "y"].into_iter().collect()));
            assert_eq!(data.rows(), 2);
        }
        let pairs = inter("1,2\n1,3\n", &ReadOptions::default()).unwrap();
        assert_eq!((pairs.lists.labels, pairs.times), (vec![1.0, 1.0], None));
    }

    #[test]
    fn options_name_the_columns() {
        let options = ReadOptions {
            list: Some("who".into()),
            item: Some("what".into()),
            label: Some("stars".into()),
            ..ReadOptions::default()
        };
        let data = inter("stars,what,who\n3,x,b\n", &options).unwrap();
        assert_eq!((data.list_name(0), data.lists.labels), ("b".to_string(), vec![3.0]));
    }

    #[test]
    fn bad_lines_are_told() {
        let plain = ReadOptions::default();
        let number = "is not a number; expected a number, or an empty cell where it is missing.";
        for (text, expected) in [
            ("1,2,3\n1,2,4\n", "t:2: user \"1\" and item \"2\" again, first on line 1; expected each item once for each user.\nKeep one of the lines, for example the last.".to_string()),
            ("1,2,3\n1,3\n", "t:2: 2 fields; expected 3, as before.".into()),
            ("1,2,3,4,5\n", "t:1: 5 fields; expected user item [rating [time]]: 2 to 4 fields.\nIf this line is a header, name the columns with --list and --item.".into()),
            ("who,what,stars\n", format!("t:1: column 3: \"stars\" {number}\nIf this line is a header, name the columns with --list and --item.")),
            ("user_id,item_id,rating\na,b,c\n", format!("t:2: column rating: \"c\" {number}")),
            ("user_id,item_id,time\na,b,\n", "t:2: column time: a missing time; expected a number in every line.".into()),
            ("user_id,item_id\na,\n", "t:2: column item_id: no item; expected the name of the item.".into()),
            ("user_id,thing\n", "t:1: no item column among user_id, thing; expected a column of items.\nName it with --item.".into()),
            ("user_id,item_id\n", "t: no interaction; expected at least one line.".into()),
            ("", "t: no interaction; expected at least one line.".into()),
        ] {
            assert_eq!(inter(text, &plain).unwrap_err().to_string(), expected, "{text}");
        }
        let options = ReadOptions { item: Some("thing".into()), ..plain };
        assert_eq!(
            inter("user_id,item_id\na,b\n", &options).unwrap_err().to_string(),
            "t:1: no column is called thing; expected one of user_id, item_id."
        );
    }

    #[test]
    fn reading_what_was_written_gives_the_data_back() {
        // Written user by user, so items are numbered in that order.
        let text = "user_id,item_id,rating,timestamp\n\"a, b\",\"x\ny\",5,1\n\"a, b\",z,0.1,3\né,\"\"\"q\"\"\",,-2.5\n";
        let data = inter(text, &ReadOptions::default()).unwrap();
        let mut written = Vec::new();
        write(&data, &mut written).unwrap();
        assert_eq!(std::str::from_utf8(&written).unwrap(), text);
        let mixed = inter("b,x,1\na,x,1\nb,y,1\n", &ReadOptions::default()).unwrap();
        let mut written = Vec::new();
        write(&mixed, &mut written).unwrap();
        assert_eq!(written, b"user_id,item_id,rating\nb,x,1\nb,y,1\na,x,1\n");
    }
}

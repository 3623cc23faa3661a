/*!
One list as one JSON object, and its answer: what `toprank predict --jsonl` reads on each line and a server in each request.

```text
{"id": 7, "features": [[0.1, 2], [0.3, null]]}                 features in the order of the model
{"id": 7, "features": [{"bm25": 0.1, "age": 2}, {"bm25": 0.3}]}  or by name; null or an omitted name is missing
{"id": 7, "scores": [1.5, -0.25]}                              the answer: a score per row, of several outputs a list of them
```

A list is read in one go, row after row, without a tree of JSON values in between: a text of n bytes takes O(n) memory, whatever it
says, and rows by name no more than [`ListReader::at_most`] numbers.
*/

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toprank_core::Lists;
use toprank_core::text::visible_json;
use toprank_data::{Column, Dataset, Matrix};

use super::json_plain;
use crate::error::TrainError;
use crate::store::model_file::Model;

/// The longest text of an id, in bytes: an id is given back as it came.
pub const LONGEST_ID: usize = 1 << 16;

/// Characters of a value that a message shows.
const SHOWN: usize = 60;

const EXPECTED: &str = "{\"id\": …, \"features\": [[…], …]}";

/// Why a list cannot be scored: what was found, what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// True if the text is not JSON at all; else it is JSON that says something else than was expected.
    pub malformed: bool,
}

impl Refused {
    /// JSON that says something else than was expected.
    pub fn new(found: impl Into<String>, expected: impl Into<String>) -> Refused {
        Refused { found: found.into(), expected: expected.into(), malformed: false }
    }

    /// What the parser says of a text.
    pub fn by_parser(error: &serde_json::Error, expected: impl Into<String>) -> Refused {
        // A line of the input is the first line for the parser.
        let mut found = error.to_string().replace(" at line 1 column ", " at column ");
        // The parser quotes what it found, which may be long; the place stands at the end.
        let cut = |text: &str, chars: usize| text.char_indices().nth(chars).map(|(at, _)| at);
        if let Some(start) = cut(&found, 4 * SHOWN) {
            let length = found.chars().count();
            let end = cut(&found, length.saturating_sub(SHOWN).max(4 * SHOWN)).unwrap_or(start);
            found = format!("{}…{}", &found[..start], &found[end..]);
        }
        Refused { malformed: error.is_syntax() || error.is_eof(), ..Refused::new(found, expected) }
    }
}

/// The rows of a list: features in the order of the model, missing ones as NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonList {
    /// What the sender calls the list.
    pub id: Option<Value>,
    /// Row after row.
    pub values: Vec<f32>,
}

/// Reads lists for a model that knows its features by name.
///
/// ```
/// use toprank_train::rank::json_list::ListReader;
/// let reader = ListReader::new(&["bm25".to_string(), "age".to_string()], 2);
/// let list = reader.read(br#"{"id": 7, "features": [[0.5, 2], {"age": 3, "bm25": 1}]}"#).unwrap();
/// assert_eq!((list.id, list.values), (Some(7.into()), vec![0.5, 2.0, 1.0, 3.0]));
/// let refused = reader.read(br#"{"features": [[0.5]]}"#).unwrap_err();
/// assert_eq!(refused.found, "1 features of item 1");
/// assert_eq!(refused.expected, "2, as the model has");
/// ```
#[derive(Clone, Debug)]
pub struct ListReader {
    width: usize,
    places: HashMap<String, usize>,
    most: usize,
}

impl ListReader {
    /// For a model with features of these names, `width` of them; names may be lacking, then rows are plain numbers.
    pub fn new(names: &[String], width: usize) -> ListReader {
        let places = names.iter().enumerate().map(|(place, name)| (name.clone(), place)).collect();
        ListReader { width, places, most: usize::MAX }
    }

    /// The same that refuses a list of more than `most` numbers: an empty row by name takes two bytes, and is as wide as the model.
    #[must_use]
    pub fn at_most(self, most: usize) -> ListReader {
        ListReader { most, ..self }
    }

    /// Features per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Reads one list.
    ///
    /// # Errors
    /// If the text is no such object, or a row has other features than the model.
    pub fn read(&self, text: &[u8]) -> Result<JsonList, Refused> {
        match json_plain::read(text, self.width, self.most) {
            Some((id, values)) => Ok(JsonList { id, values }),
            None => self.read_any(text),
        }
    }

    /// The same of every list, also of those that [`json_plain`] leaves; slower.
    fn read_any(&self, text: &[u8]) -> Result<JsonList, Refused> {
        let mut rows = Rows { reader: self, items: 0, values: Vec::new(), refused: None };
        let mut parser = serde_json::Deserializer::from_slice(text);
        let id = Whole(&mut rows).deserialize(&mut parser).and_then(|id| parser.end().map(|()| id));
        match (id, rows.refused) {
            (Ok(id), _) => Ok(JsonList { id, values: rows.values }),
            (Err(_), Some(refused)) => Err(refused),
            (Err(error), None) => Err(Refused::by_parser(&error, EXPECTED)),
        }
    }

    /// Refuses an answer of more than [`ListReader::at_most`] numbers, as it would be larger than any list that is read.
    ///
    /// # Errors
    /// If there are more.
    pub fn allow(&self, numbers: usize) -> Result<(), Refused> {
        if numbers > self.most {
            let most = self.most;
            return Err(Refused::new(
                format!("an answer of {numbers} numbers"),
                format!("at most {most}: send fewer rows"),
            ));
        }
        Ok(())
    }

    /// The rows as data of one list per output.
    pub fn dataset(&self, names: &[String], values: Vec<f32>, outputs: usize) -> Dataset {
        let items = values.len() / self.width.max(1);
        let lists = match outputs {
            1 => Lists::from_lengths(&[items], vec![f32::NAN; items]),
            _ => Lists {
                rows: Some((0..outputs).flat_map(|_| 0..items as u32).collect()),
                output: Some((0..outputs as u16).collect()),
                ..Lists::from_lengths(&vec![items; outputs], vec![f32::NAN; items * outputs])
            },
        };
        let columns = names.iter().map(|name| Column { name: name.clone(), levels: None }).collect();
        let features = Matrix::Dense { width: self.width, values };
        Dataset { lists, features, columns, ..Dataset::default() }
    }
}

/// What is read of a list so far.
struct Rows<'a> {
    reader: &'a ListReader,
    items: usize,
    values: Vec<f32>,
    /// Says more than the error of the parser.
    refused: Option<Refused>,
}

impl Rows<'_> {
    /// An error of the parser that stands for one in our words.
    fn refuse<E: serde::de::Error>(&mut self, found: impl Into<String>, expected: impl Into<String>) -> E {
        self.refused = Some(Refused::new(found, expected));
        E::custom("refused")
    }

    fn room<E: serde::de::Error>(&mut self) -> Result<(), E> {
        if self.values.len() > self.reader.most {
            let most = self.reader.most;
            return Err(self.refuse(format!("more than {most} numbers"), "a smaller list"));
        }
        Ok(())
    }

    fn number<E: serde::de::Error>(&mut self, value: f64) -> Result<f32, E> {
        match value as f32 {
            small if small.is_finite() => Ok(small),
            _ => {
                let found = format!("{value:?} in item {}", self.items + 1);
                Err(self.refuse(found, "a number below 3.4e38"))
            }
        }
    }
}

/// The object around the rows; gives the id.
struct Whole<'r, 'a>(&'r mut Rows<'a>);

impl<'de> DeserializeSeed<'de> for Whole<'_, '_> {
    type Value = Option<Value>;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<Value>, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_, '_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Value>, A::Error> {
        let (mut id, mut has_rows) = (None, false);
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Id if id.is_some() => return Err(A::Error::duplicate_field("id")),
                Key::Features if has_rows => return Err(A::Error::duplicate_field("features")),
                Key::Id => {
                    let text = map.next_value::<&RawValue>()?.get();
                    if text.len() > LONGEST_ID {
                        let found = format!("an id of {} bytes", text.len());
                        return Err(self.0.refuse(found, format!("at most {LONGEST_ID}")));
                    }
                    id = Some(serde_json::from_str::<Value>(text).map_err(A::Error::custom)?);
                }
                Key::Features => {
                    map.next_value_seed(AllRows(&mut *self.0))?;
                    has_rows = true;
                }
                Key::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if !has_rows {
            return Err(A::Error::missing_field("features"));
        }
        // An id of null is no id.
        Ok(id.filter(|id| !id.is_null()))
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Id,
    Features,
    #[serde(other)]
    Other,
}

/// The list of rows.
struct AllRows<'r, 'a>(&'r mut Rows<'a>);

impl<'de> DeserializeSeed<'de> for AllRows<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for AllRows<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Row(&mut *self.0))?.is_some() {
            self.0.items += 1;
        }
        Ok(())
    }
}

/// What stands where something else was expected, cut to a length that a message can show.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Array(_) => "a list".to_string(),
        Value::Object(_) => "an object".to_string(),
        other => other.to_string(),
    };
    match text.char_indices().nth(SHOWN) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The methods of a visitor for whatever is a single value that does not belong where it stands.
macro_rules! scalars {
    ($($visit:ident($type:ty)),+) => {
        $(fn $visit<E: serde::de::Error>(self, value: $type) -> Result<Self::Value, E> {
            Err(self.misplaced(&Value::from(value)))
        })+
        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            self.null()
        }
    };
}

/// One row, in [] or {}.
struct Row<'r, 'a>(&'r mut Rows<'a>);

impl Row<'_, '_> {
    fn misplaced<E: serde::de::Error>(self, value: &Value) -> E {
        let found = format!("item {} as {}", self.0.items + 1, shown(value));
        self.0.refuse(found, "its features in [] or {}")
    }

    fn null<E: serde::de::Error>(self) -> Result<(), E> {
        Err(self.misplaced(&Value::Null))
    }
}

impl<'de> DeserializeSeed<'de> for Row<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Row<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a row")
    }

    scalars!(visit_bool(bool), visit_u64(u64), visit_i64(i64), visit_f64(f64), visit_str(&str));

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let (rows, mut found) = (self.0, 0);
        while let Some(value) = seq.next_element_seed(Cell(&mut *rows))? {
            found += 1;
            // One beyond the width is enough to be wrong, the rest is only counted.
            if found <= rows.reader.width {
                rows.values.push(value);
            }
        }
        if found != rows.reader.width {
            let expected = format!("{}, as the model has", rows.reader.width);
            return Err(rows.refuse(format!("{found} features of item {}", rows.items + 1), expected));
        }
        rows.room()
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let reader = self.0.reader;
        let rows = self.0;
        let start = rows.values.len();
        rows.values.resize(start + reader.width, f32::NAN);
        rows.room()?;
        while let Some(place) = map.next_key_seed(Name(&mut *rows))? {
            rows.values[start + place] = map.next_value_seed(Cell(&mut *rows))?;
        }
        Ok(())
    }
}

/// The name of a feature; gives its place.
struct Name<'r, 'a>(&'r mut Rows<'a>);

impl<'de> DeserializeSeed<'de> for Name<'_, '_> {
    type Value = usize;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_, '_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the name of a feature")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<usize, E> {
        if let Some(place) = self.0.reader.places.get(name) {
            return Ok(*place);
        }
        let names: BTreeSet<&str> = self.0.reader.places.keys().map(String::as_str).collect();
        let known = toprank_data::error::show_names(names);
        let found = format!("feature {} of item {}", shown(&Value::from(name)), self.0.items + 1);
        Err(self.0.refuse(found, format!("features of the model: {known}")))
    }
}

/// The value of a feature.
struct Cell<'r, 'a>(&'r mut Rows<'a>);

impl Cell<'_, '_> {
    fn misplaced<E: serde::de::Error>(self, value: &Value) -> E {
        let found = format!("{} in item {}", shown(value), self.0.items + 1);
        self.0.refuse(found, "a number, or null if it is missing")
    }

    #[allow(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "one of the methods that `scalars` calls"
    )]
    fn null<E: serde::de::Error>(self) -> Result<f32, E> {
        Ok(f32::NAN)
    }
}

impl<'de> DeserializeSeed<'de> for Cell<'_, '_> {
    type Value = f32;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<f32, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Cell<'_, '_> {
    type Value = f32;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number")
    }

    scalars!(visit_bool(bool), visit_str(&str));

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<f32, E> {
        self.0.number(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<f32, E> {
        self.0.number(value as f64)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<f32, E> {
        self.0.number(value as f64)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<f32, A::Error> {
        Err(self.misplaced(&Value::Array(Vec::new())))
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<f32, A::Error> {
        Err(self.misplaced(&Value::Object(Map::new())))
    }
}

/// A model that scores lists of JSON.
///
/// Cost: that of the text and of the scores; the scores are those of [`Model::score`] to the bit.
#[derive(Clone, Copy, Debug)]
pub struct Scorer<'a> {
    /// The model.
    pub model: &'a Model,
    /// What reads its lists.
    pub reader: &'a ListReader,
    /// Probabilities instead of scores; the model must give them.
    pub probability: bool,
}

impl Scorer<'_> {
    /// The answer to one list, without a line end: `{"id": …, "scores": […]}`.
    ///
    /// # Errors
    /// If the list cannot be read or scored.
    pub fn answer(&self, text: &[u8]) -> Result<String, Refused> {
        let JsonList { id, values } = self.reader.read(text)?;
        let scores = self.scores(values)?;
        let outputs = self.model.header().outputs;
        let items = scores.len() / outputs.max(1);
        if let Some(place) = scores.iter().position(|score| !score.is_finite()) {
            let found = format!("item {} with the score {}", place % items.max(1) + 1, scores[place]);
            return Err(Refused::new(found, "features that give a finite score"));
        }
        let scores: Value = match outputs {
            1 => scores.into(),
            _ => (0..items)
                .map(|item| (0..outputs).map(|output| scores[output * items + item]).collect::<Vec<f64>>())
                .collect(),
        };
        Ok(answer_of(id, "scores", scores))
    }

    /// Scores (or probabilities) of one list, output after output.
    fn scores(&self, values: Vec<f32>) -> Result<Vec<f64>, Refused> {
        let header = self.model.header();
        if values.len() < header.width.max(1) {
            return Ok(Vec::new());
        }
        self.reader.allow(values.len() / header.width.max(1) * header.outputs)?;
        let data = self.reader.dataset(&header.features, values, header.outputs);
        let of = data.lists.clone();
        let mut scores = self.model.score(data).map_err(refused)?;
        if self.probability {
            self.model.to_probabilities(&of, &mut scores);
        }
        Ok(scores)
    }
}

/// Why a model does not score a list.
pub fn refused(error: TrainError) -> Refused {
    match error {
        TrainError::Model(error) => Refused::new(error.what, error.expected),
        TrainError::Format { found, expected, .. } | TrainError::Unsuitable { found, expected, .. } => {
            Refused::new(found, expected)
        }
        other => Refused::new(other.to_string(), "a list that the model can score"),
    }
}

/// An answer: the id of its list, if it has one, and what there is to say. Characters that are unsafe to show are escaped.
pub fn answer_of(id: Option<Value>, name: &str, value: Value) -> String {
    let id = id.map(|id| ("id".to_string(), id));
    let answer: Map<String, Value> = id.into_iter().chain([(name.to_string(), value)]).collect();
    visible_json(&Value::Object(answer).to_string())
}

/// The id of a list that cannot be scored, so that its sender knows which one it was.
pub fn id_of(text: &[u8]) -> Option<Value> {
    #[derive(serde::Deserialize)]
    struct OfId<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let of: OfId = serde_json::from_slice(text).ok()?;
    let id = of.id.get();
    if id.len() > LONGEST_ID { None } else { serde_json::from_str(id).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists as bits: NaN is equal to itself.
    fn bits(list: JsonList) -> (Option<Value>, Vec<u32>) {
        (list.id, list.values.iter().map(|value| value.to_bits()).collect())
    }

    #[test]
    fn the_fast_reader_reads_what_the_parser_reads_to_the_bit_or_leaves_it() {
        let numbers = [
            "0",
            "-0",
            "-0.0",
            "1",
            "0.1",
            "-1.5e3",
            "1E+2",
            "1e-7",
            "123456789012345",
            "1234567890123456",
            "9007199254740993",
            "0.1234567890123456789",
            "123456789012345678901234567890",
            "1e22",
            "1e23",
            "1e-22",
            "1e-23",
            "3.4028235e38",
            "1e-45",
            "7.006492321624085e-46",
            "1e-400",
            "0e999999999999999999999",
            "16777217",
            "0.30000001192092896",
            "null",
            "1e0000000000001",
        ];
        // True if the fast reader has read it.
        let same = |text: &str| {
            let slow = reader().read_any(text.as_bytes()).map(bits);
            let plain = json_plain::read(text.as_bytes(), 2, usize::MAX);
            let is_plain = plain.is_some();
            if let Some((id, values)) = plain {
                assert_eq!(Ok(bits(JsonList { id, values })), slow, "{text}");
            }
            assert_eq!(reader().read(text.as_bytes()).map(bits), slow, "{text}");
            is_plain
        };
        for a in numbers {
            for b in numbers {
                assert!(
                    same(&format!("{{\"features\": [[{a},{b}],[ {b} , {a} ]]}}")),
                    "{a} and {b} are plain"
                );
            }
        }
        // Random numbers of all lengths, from a generator that needs no crate.
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..3000 {
            let mut number = || {
                let digits: String = (0..=draw(18)).map(|_| char::from(b'0' + draw(10) as u8)).collect();
                format!(
                    "{}{}.{digits}e{}",
                    if draw(2) == 0 { "-" } else { "" },
                    draw(1000),
                    draw(60) as i64 - 30
                )
            };
            assert!(same(&format!("{{\"id\":\"é\",\"features\":[[{},{}]]}}\n", number(), number())));
        }
        for text in [
            "{}",
            "{\"features\": []}",
            "{\"features\": [[]]}",
            "{\"features\": [[1,2]], \"id\": 7}",
            "{\"id\": 007, \"features\": []}",
            "{\"id\": 1.5, \"features\": [[1,2]]}",
            "{\"id\": null, \"features\": [[1,2]]}",
            "{\"id\": \"a\\u0041\", \"features\": [[1,2]]}",
            "{\"id\": 1, \"id\": 2, \"features\": [[1,2]]}",
            "{\"features\": [[1,2]], \"features\": [[1,2]]}",
            "{\"features\": [[1,2],]}",
            "{\"features\": [[1,2,]]}",
            "{\"features\": [[1,2]]} x",
            "{\"features\": [[1,2]],}",
            "{\"features\": [[1,2,3]]}",
            "{\"features\": [[1]]}",
            "{\"features\": [[01,2]]}",
            "{\"features\": [[1.,2]]}",
            "{\"features\": [[.5,2]]}",
            "{\"features\": [[+1,2]]}",
            "{\"features\": [[1e,2]]}",
            "{\"features\": [[1e999,2]]}",
            "{\"features\": [[-,2]]}",
            "{\"features\": [[nul,2]]}",
            "{\"features\": [[NaN,2]]}",
            "{\"features\": [[1,2]]",
            "{\"features\": [{\"a\": 1}]}",
            "{\"other\": 1, \"features\": [[1,2]]}",
            "{\"id\": \"x\ty\", \"features\": [[1,2]]}",
            "\u{feff}{\"features\": [[1,2]]}",
        ] {
            same(text);
        }
        let few = reader().at_most(4);
        for rows in 0..5 {
            let text = format!("{{\"features\": [{}]}}", vec!["[1,2]"; rows].join(","));
            assert_eq!(few.read(text.as_bytes()), few.read_any(text.as_bytes()), "{text}");
        }
    }

    fn reader() -> ListReader {
        ListReader::new(&["a".to_string(), "b".to_string()], 2)
    }

    fn refused(text: &str) -> String {
        let refused = reader().read(text.as_bytes()).unwrap_err();
        format!("{}; {}; {}", refused.found, refused.expected, refused.malformed)
    }

    #[test]
    fn rows_come_in_the_order_of_the_model_or_by_name() {
        let list =
            reader().read(br#" {"x": [{}], "features": [[1, -2.5], {"b": null, "a": 3}, {}]} "#).unwrap();
        assert_eq!((list.id, list.values.len()), (None, 6));
        assert_eq!((list.values[..3].to_vec(), list.values[3].is_nan()), (vec![1.0, -2.5, 3.0], true));
        assert!(list.values[4..].iter().all(|value| value.is_nan()));
        for (id, expected) in [("null", None), ("[1, {}]", Some(serde_json::json!([1, {}])))] {
            let list = reader().read(format!("{{\"features\": [], \"id\": {id}}}").as_bytes()).unwrap();
            assert_eq!((list.id, list.values), (expected, vec![]));
        }
    }

    #[test]
    fn what_is_no_list_of_rows_is_refused_with_its_place() {
        for (text, expected) in [
            ("", "EOF while parsing a value at column 0; "),
            ("{\"features\": [[1, 2]", "EOF while parsing a list at column 20; "),
            ("[1]", "invalid type: sequence, expected an object"),
            ("{}", "missing field `features`"),
            ("{\"features\": [], \"features\": []}", "duplicate field `features`"),
            ("{\"features\": [[1, 2]]} 3", "trailing characters"),
            ("{\"features\": [[1, 2], [1]]}", "1 features of item 2; 2, as the model has; false"),
            ("{\"features\": [[1, 2, 3]]}", "3 features of item 1; 2, as the model has; false"),
            ("{\"features\": [{\"c\": 1}]}", "feature \"c\" of item 1; features of the model: a, b; false"),
            ("{\"features\": [{\"a\": \"x\"}]}", "\"x\" in item 1; a number, or null if it is missing"),
            ("{\"features\": [[1, [2]]]}", "a list in item 1; a number"),
            ("{\"features\": [[{}, 1]]}", "an object in item 1; a number"),
            ("{\"features\": [[1, true]]}", "true in item 1; a number"),
            ("{\"features\": [7]}", "item 1 as 7; its features in [] or {}"),
            ("{\"features\": [null]}", "item 1 as null; its features in [] or {}"),
            ("{\"features\": [[1e39, 1]]}", "1e39 in item 1; a number below 3.4e38"),
            ("{\"features\": 1}", "invalid type: integer `1`, expected a list of rows"),
        ] {
            assert!(refused(text).starts_with(expected), "{text}: {}", refused(text));
        }
        assert!(refused("{").ends_with("true") && refused("[]").ends_with("false"));
        let long = refused(&format!("{{\"features\": [[\"{}\", 1]]}}", "é".repeat(1 << 20)));
        assert!(long.len() < 300, "{} bytes", long.len());
        let quoted = refused(&format!("{{\"features\": \"{}\"}}", "é".repeat(1 << 20)));
        assert!(quoted.len() < 1000 && quoted.contains("expected a list of rows at column"), "{quoted}");
        let deep = refused(&format!("{{\"id\": {}", "[".repeat(1 << 20)));
        assert!(deep.starts_with("EOF while parsing a list"), "no depth is too much: {deep}");
        let id = refused(&format!("{{\"id\": \"{}\", \"features\": []}}", "x".repeat(1 << 17)));
        assert!(id.starts_with("an id of 131074 bytes; at most 65536"), "{id}");
    }

    #[test]
    fn rows_by_name_take_no_more_memory_than_allowed() {
        let text = format!("{{\"features\": [{}{{}}]}}", "{},".repeat(99));
        assert_eq!(reader().at_most(200).read(text.as_bytes()).unwrap().values.len(), 200);
        let refused = reader().at_most(199).read(text.as_bytes()).unwrap_err();
        assert_eq!((refused.found.as_str(), refused.malformed), ("more than 199 numbers", false));
    }

    #[test]
    fn seeds_of_the_fuzz_target_are_lists_or_refused() {
        let reader = ListReader::new(&["a".to_string(), "b".to_string(), "c".to_string()], 3).at_most(4096);
        let seeds = toprank_testkit::fuzz::seeds("json_list");
        let read = seeds.iter().filter(|(_, bytes)| reader.read(bytes).is_ok()).count();
        assert!(read >= 2 && read < seeds.len(), "{read} of {}", seeds.len());
    }

    #[test]
    fn the_id_of_a_refused_list_is_given_back() {
        assert_eq!(id_of(br#"{"features": 1, "id": "x"}"#), Some("x".into()));
        assert_eq!(id_of(br#"{"id": 1"#), None);
        assert_eq!(
            answer_of(Some("a\u{202e}".into()), "error", "no".into()),
            "{\"id\":\"a\\u202e\",\"error\":\"no\"}"
        );
    }
}

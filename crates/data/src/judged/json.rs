/*!
JSON qrels and runs: `{"query": {"document": number, …}, …}`, the form of pytrec_eval and ranx.

The text streams through serde_json's visitors into the rows; no tree is built. A key that stands twice, nesting
of any other shape and a word longer than [`LONGEST`] are errors.
*/

use std::fmt;
use std::io::{self, Read};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use super::sheet::Gather;
use super::{Kind, finite};
use crate::error::{ReadError, show};
use crate::lines::LONGEST;

pub(super) fn read(file: &str, input: impl Read, kind: Kind) -> Result<Gather, ReadError> {
    let mut gather = Gather::default();
    let bounded = io::BufReader::with_capacity(1 << 16, Bounded { input: skip_mark(file, input)?, open: 0 });
    let mut json = serde_json::Deserializer::from_reader(bounded);
    let read = Queries { gather: &mut gather, kind }.deserialize(&mut json).and_then(|()| json.end());
    read.map_err(|error| {
        let line = error.line().max(1) as u64;
        if error.is_io() {
            return ReadError::io(file, &error.into()).at_line(line);
        }
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
        let expected = format!("{{\"query\": {{\"document\": {}, …}}, …}}", kind.value());
        ReadError::data(file, message, expected).at_line(line)
    })?;
    Ok(gather)
}

/// Drops a UTF-8 byte-order mark.
fn skip_mark(file: &str, mut input: impl Read) -> Result<impl Read, ReadError> {
    let mut head = Vec::with_capacity(3);
    input.by_ref().take(3).read_to_end(&mut head).map_err(|error| ReadError::io(file, &error))?;
    if head == b"\xef\xbb\xbf" {
        head.clear();
    }
    Ok(io::Cursor::new(head).chain(input))
}

/// Refuses a stretch of more than [`LONGEST`] bytes without a quote: no file takes memory without bound.
struct Bounded<R> {
    input: R,
    /// Bytes since the last quote.
    open: usize,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.input.read(buffer)?;
        self.open = match memchr::memrchr(b'"', &buffer[..got]) {
            Some(quote) => got - quote,
            None => self.open + got,
        };
        if self.open > LONGEST {
            let message = format!("a name or number of more than {LONGEST} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(got)
    }
}

/// The outer object: query → documents.
struct Queries<'a> {
    gather: &'a mut Gather,
    kind: Kind,
}

impl<'de> DeserializeSeed<'de> for Queries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Queries<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object of queries")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let mut name = String::new();
        while map.next_key_seed(Text(&mut name))?.is_some() {
            if !self.gather.query(&name) {
                return Err(Error::custom(format_args!("query {} twice", show(name.as_bytes()))));
            }
            map.next_value_seed(Documents { gather: self.gather, kind: self.kind })?;
        }
        Ok(())
    }
}

/// An inner object: document → number.
struct Documents<'a> {
    gather: &'a mut Gather,
    kind: Kind,
}

impl<'de> DeserializeSeed<'de> for Documents<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Documents<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object of documents")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let mut name = String::new();
        while map.next_key_seed(Text(&mut name))?.is_some() {
            let Number(value) = map.next_value()?;
            if !finite(value, self.kind) {
                return Err(Error::custom(format_args!("{} {value}", self.kind.value())));
            }
            self.gather.push(&name, value, None);
        }
        Ok(())
    }
}

/// A key, written into a buffer that is used again.
struct Text<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Text<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.clear();
        self.0.push_str(text);
        Ok(())
    }
}

struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Number, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }
        }
        json.deserialize_f64(Any)
    }
}

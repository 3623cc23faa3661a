//! The part of an ARFF file above `@data`.

use std::borrow::Cow;

use crate::error::{ReadError, show};
use crate::formats::{ReadOptions, cell};
use crate::group::Interner;
use crate::lines::Lines;

/// What an attribute holds.
pub(super) enum Kind {
    /// Numbers; a sparse row that leaves it out means `first`.
    Numbers { first: f32 },
    /// Words as declared.
    Categories(Interner),
}

pub(super) struct Attribute {
    pub name: String,
    pub kind: Kind,
    pub line: u64,
}

pub(super) struct Header {
    relation: String,
    pub attributes: Vec<Attribute>,
    /// Attribute numbers by name.
    pub index: Interner,
}

impl Header {
    /// MEKA's `-C n` in the relation name.
    pub(super) fn meka_labels(&self) -> Option<i64> {
        let mut words = self.relation.split([' ', ':', '\t']).filter(|word| !word.is_empty());
        words.by_ref().find(|word| matches!(*word, "-C" | "-c"))?;
        words.next()?.parse().ok()
    }
}

/// Reads up to and with `@data`.
pub(super) fn read(lines: &mut Lines, options: &ReadOptions) -> Result<Header, ReadError> {
    let mut header = Header { relation: String::new(), attributes: Vec::new(), index: Interner::default() };
    let most = options.feature_limit() as usize + usize::from(u16::MAX);
    loop {
        let number = lines.number() + 1;
        let Some(line) = lines.next_line()? else {
            let error = lines.error("the end of the file before @data", "@relation, @attribute …, @data");
            return Err(error);
        };
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"%") {
            continue;
        }
        let Some(text) = std::str::from_utf8(line).ok().map(str::to_string) else {
            return Err(lines.error("a line that is not UTF-8", "UTF-8 text"));
        };
        let split = text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len());
        let (keyword, rest) = (text[..split].to_ascii_lowercase(), text[split..].trim_ascii());
        match keyword.as_str() {
            "@relation" => {
                // A relation name without quotes may hold blanks (MEKA's options).
                header.relation = match word(rest.as_bytes(), b"") {
                    Ok((name, after)) if after.trim_ascii().is_empty() => {
                        String::from_utf8_lossy(&name).into_owned()
                    }
                    _ => rest.to_string(),
                };
            }
            "@attribute" => {
                let attribute = attribute(rest).map_err(|(found, expected)| lines.error(found, expected))?;
                let before = header.index.len();
                header.index.number(&attribute.name);
                if header.index.len() == before {
                    let found = format!("attribute {:?} a second time", attribute.name);
                    return Err(lines.error(found, "a different name for each attribute"));
                }
                header.attributes.push(Attribute { line: number, ..attribute });
                if header.attributes.len() > most {
                    return Err(lines.error(format!("more than {most} attributes"), "fewer (max_features)"));
                }
            }
            "@data" if header.attributes.is_empty() => {
                return Err(lines.error("@data before any @attribute", "attributes"));
            }
            "@data" => return Ok(header),
            _ => {
                return Err(
                    lines.error(show(text.as_bytes()), "@relation, @attribute, @data or a comment with %")
                );
            }
        }
    }
}

type Wrong = (String, String);

fn attribute(text: &str) -> Result<Attribute, Wrong> {
    let (name, rest) = word(text.as_bytes(), b" \t{").map_err(|e| (e, "a name and a type".to_string()))?;
    let name = String::from_utf8_lossy(&name).into_owned();
    let rest = rest.trim_ascii();
    if name.is_empty() {
        return Err(("an attribute without a name".into(), "@attribute NAME TYPE".into()));
    }
    let kind = if let Some(inside) = rest.strip_prefix(b"{") {
        nominal(inside)
            .map_err(|found| (format!("attribute {name:?}: {found}"), "{value, value, …}".to_string()))?
    } else {
        let end =
            rest.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'%').unwrap_or(rest.len());
        match rest[..end].to_ascii_lowercase().as_slice() {
            b"numeric" | b"real" | b"integer" => Kind::Numbers { first: 0.0 },
            kind => {
                let found = format!("attribute {name:?} of type {}", show(kind));
                return Err((found, "numeric, real, integer or {values}".into()));
            }
        }
    };
    Ok(Attribute { name, kind, line: 0 })
}

fn nominal(text: &[u8]) -> Result<Kind, String> {
    let mut levels = Interner::default();
    let mut rest = text.trim_ascii_start();
    while !rest.starts_with(b"}") {
        let (value, after) = word(rest, b",}")?;
        let value = String::from_utf8_lossy(&value).into_owned();
        let before = levels.len();
        levels.number(&value);
        if levels.len() == before {
            return Err(format!("value {value:?} twice"));
        }
        rest = after.trim_ascii_start();
        match rest.first() {
            Some(b',') => rest = rest[1..].trim_ascii_start(),
            Some(b'}') => {}
            _ => return Err("values without a closing }".into()),
        }
    }
    if levels.is_empty() {
        return Err("no value".into());
    }
    let numbers: Vec<f32> = levels
        .names()
        .iter()
        .filter(|v| cell::is_number(v.as_bytes()))
        .filter_map(|v| cell::number(v.as_bytes()).ok())
        .collect();
    // One value may be all that a part of a data set has of {0,1}.
    if levels.len() <= 2 && numbers.len() == levels.len() {
        return Ok(Kind::Numbers { first: numbers[0] });
    }
    Ok(Kind::Categories(levels))
}

/// The next word, plain (up to one of `ends`, blanks around it cut off) or in quotes with `\` escapes, and the rest.
pub(super) fn word<'a>(text: &'a [u8], ends: &[u8]) -> Result<(Cow<'a, [u8]>, &'a [u8]), String> {
    let text = text.trim_ascii_start();
    let Some(&quote) = text.first().filter(|byte| matches!(byte, b'\'' | b'"')) else {
        let end = text.iter().position(|byte| ends.contains(byte)).unwrap_or(text.len());
        return Ok((Cow::Borrowed(text[..end].trim_ascii_end()), &text[end..]));
    };
    let mut word = Vec::new();
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' if at + 1 < text.len() => {
                word.push(match text[at + 1] {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    other => other,
                });
                at += 2;
            }
            byte if byte == quote => return Ok((Cow::Owned(word), &text[at + 1..])),
            byte => {
                word.push(byte);
                at += 1;
            }
        }
    }
    Err(format!("a quote that never ends: {}", show(text)))
}

//! A body as lists: one JSON object, on one line or several, or one object per line.

use serde::de::IgnoredAny;

/// Lists of one request at most: each is answered, and an answer may be longer than a list.
pub const MOST_LISTS: usize = 10_000;

/// What a body holds.
#[derive(Debug, PartialEq, Eq)]
pub enum Lists<'a> {
    /// One list, whose answer is the answer.
    One(&'a [u8]),
    /// Lists with the numbers of their lines, counted from 1; each is answered in its own line.
    Lines(Vec<(u64, &'a [u8])>),
    /// More than [`MOST_LISTS`].
    TooMany,
}

/// Divides a body. Several lines are one list each, unless the first of them is the beginning of an object that goes on.
pub fn lists(body: &[u8]) -> Lists<'_> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let mut lines = (1..).zip(body.split(|&byte| byte == b'\n'));
    let filled = lines.by_ref().map(|(number, line)| (number, line.trim_ascii()));
    let filled: Vec<(u64, &[u8])> =
        filled.filter(|(_, line)| !line.is_empty()).take(MOST_LISTS + 1).collect();
    match filled.as_slice() {
        [] | [_] => Lists::One(body.trim_ascii()),
        [(_, first), ..] if goes_on(first) => Lists::One(body),
        several if several.len() > MOST_LISTS => Lists::TooMany,
        _ => Lists::Lines(filled),
    }
}

/// True of the beginning of an object.
fn goes_on(line: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(line).is_err_and(|error| error.is_eof())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_lists_unless_an_object_goes_on() {
        assert_eq!(lists(b""), Lists::One(b""));
        assert_eq!(lists(b"\xef\xbb\xbf {\"a\": 1}\r\n"), Lists::One(b"{\"a\": 1}"));
        assert_eq!(lists(b"{\n\"a\": 1}\n"), Lists::One(b"{\n\"a\": 1}\n"));
        assert_eq!(lists(b"\n{}\r\n\nbad\n"), Lists::Lines(vec![(2, b"{}"), (4, b"bad")]));
        assert_eq!(lists(&b"{}\n".repeat(MOST_LISTS + 1)), Lists::TooMany);
        assert!(
            matches!(lists(&b"{}\n".repeat(MOST_LISTS)), Lists::Lines(lines) if lines.len() == MOST_LISTS)
        );
    }
}

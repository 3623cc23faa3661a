//! Text that comes from files, made safe to show: it cannot move a cursor, colour a screen, ring a bell, begin a new
//! line or turn the direction of what follows.

use std::borrow::Cow;

/// True of characters that a terminal obeys or that change the direction of the text around them, instead of being shown:
/// control characters (C0, DEL, C1), line and paragraph separators, bidirectional marks, embeddings, overrides and isolates,
/// interlinear annotations and tags.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// A name or a cell in one line, every unsafe character as its escape: `\n`, `\u{1b}`, `\u{202e}`.
///
/// ```
/// use toprank_core::text::visible;
/// assert_eq!(visible("a\u{1b}[31mb\nc \u{202e}gpj.exe"), "a\\u{1b}[31mb\\nc \\u{202e}gpj.exe");
/// assert_eq!(visible("Größe 東京"), "Größe 東京");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe)
}

/// Text of several lines, every unsafe character but the line break as its escape.
///
/// ```
/// assert_eq!(toprank_core::text::visible_lines("two\nlines\u{7}"), "two\nlines\\u{7}");
/// ```
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && is_unsafe(c))
}

/// JSON text in which characters that are unsafe to show are written as `\u…`, so that any parser reads the same strings. Line breaks
/// stay: they are the layout of the text, those inside of strings are escaped already.
///
/// ```
/// assert_eq!(toprank_core::text::visible_json("[\"a\u{202e}b\"]\n"), "[\"a\\u202eb\"]\n");
/// ```
pub fn visible_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || !is_unsafe(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out
}

fn escaped(text: &str, escape: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&escape) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match escape(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

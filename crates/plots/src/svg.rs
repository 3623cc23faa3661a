//! A writer of SVG in which text cannot become markup: the names of elements and attributes are constants of this crate, every
//! value goes through [`escape`].

use std::fmt::Write;

/// Characters of a text in a plot.
const LONGEST_TEXT: usize = 10_000;

/// The value of an attribute.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Number(f64),
    Text(&'a str),
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Value::Text(text)
    }
}

/// Attributes of an element, in the order they are written.
pub(crate) type Attributes<'a> = &'a [(&'static str, Value<'a>)];

/// SVG text that grows element by element, one per line.
#[derive(Debug, Default)]
pub(crate) struct Svg {
    text: String,
}

impl Svg {
    pub fn finish(self) -> String {
        self.text
    }

    /// An element without content.
    pub fn element(&mut self, name: &'static str, attributes: Attributes) {
        self.start(name, attributes);
        self.text.push_str("/>\n");
    }

    /// An element with text.
    pub fn text(&mut self, name: &'static str, attributes: Attributes, text: &str) {
        self.start(name, attributes);
        self.text.push('>');
        escape(beginning(text), &mut self.text);
        let _ = writeln!(self.text, "</{name}>");
    }

    /// An element with elements.
    pub fn group(&mut self, name: &'static str, attributes: Attributes, content: impl FnOnce(&mut Svg)) {
        self.start(name, attributes);
        self.text.push_str(">\n");
        content(self);
        let _ = writeln!(self.text, "</{name}>");
    }

    fn start(&mut self, name: &'static str, attributes: Attributes) {
        let _ = write!(self.text, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"");
            match value {
                Value::Number(number) => self.text.push_str(&number_text(*number)),
                Value::Text(text) => escape(text, &mut self.text),
            }
            self.text.push('"');
        }
    }
}

/// A length or coordinate with at most two decimals: a hundredth of a pixel cannot be seen.
pub(crate) fn number_text(number: f64) -> String {
    let text = format!("{number:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Text with the characters of markup escaped. What XML cannot hold, and what turns the direction of the text around it, is a space.
/// The first characters of a text that may be too long for a plot.
pub(crate) fn beginning(text: &str) -> &str {
    text.char_indices().nth(LONGEST_TEXT).map_or(text, |(end, _)| &text[..end])
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_unsafe(c) => out.push(' '),
            c => out.push(c),
        }
    }
}

/// Control characters, separators of lines, marks that change the direction of text, annotations, tags, and what is no character.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'
                | '\u{ffff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_never_minus_zero() {
        let cases = [(0.0, "0"), (-0.001, "0"), (12.0, "12"), (12.5, "12.5"), (-1.005, "-1"), (100.0, "100")];
        for (number, text) in cases {
            assert_eq!(number_text(number), text);
        }
    }

    #[test]
    fn attributes_and_text_are_escaped() {
        let mut svg = Svg::default();
        svg.group("g", &[("class", "a\"b".into())], |svg| {
            svg.text("text", &[("x", 1.5.into())], "<&>'\"\u{1b}\u{202e}");
        });
        let expected = "<g class=\"a&quot;b\">\n<text x=\"1.5\">&lt;&amp;&gt;&#39;&quot;  </text>\n</g>\n";
        assert_eq!(svg.finish(), expected);
    }
}

//! A writer of HTML in which text cannot become markup: the names of elements and attributes are constants of this crate, every
//! value is escaped.

use std::borrow::Cow;

use toprank_core::text::{is_unsafe, visible};
use toprank_plots::Plot;

/// Attributes of an element, in the order they are written.
pub(crate) type Attributes<'a> = &'a [(&'static str, &'a str)];

/// Characters of a text on the page.
const LONGEST_TEXT: usize = 10_000;

/// HTML text that grows element by element.
#[derive(Debug, Default)]
pub(crate) struct Html {
    text: String,
}

impl Html {
    pub fn finish(self) -> String {
        self.text
    }

    /// An element with elements.
    pub fn element(&mut self, name: &'static str, attributes: Attributes, content: impl FnOnce(&mut Html)) {
        self.start(name, attributes);
        content(self);
        self.text += &format!("</{name}>\n");
    }

    /// An element with text.
    pub fn text(&mut self, name: &'static str, attributes: Attributes, text: &str) {
        self.start(name, attributes);
        self.words(text);
        self.text += &format!("</{name}>\n");
    }

    /// An element that has no content and no end.
    pub fn empty(&mut self, name: &'static str, attributes: Attributes) {
        self.start(name, attributes);
        self.text.push('\n');
    }

    /// Text within an element: its beginning, where it is longer than anybody reads.
    pub fn words(&mut self, text: &str) {
        escape(&visible(&clipped(text, LONGEST_TEXT)), &mut self.text);
    }

    /// Text of several lines, for `pre` and `textarea`.
    pub fn lines(&mut self, text: &str) {
        escape(&toprank_core::text::visible_lines(text), &mut self.text);
    }

    /// A plot. It has no ids and no scripts, and its own writer escapes what came from files.
    pub fn plot(&mut self, plot: &Plot) {
        self.text += plot.svg();
    }

    /// Text of this crate: the style sheet, the script.
    pub fn constant(&mut self, text: &'static str) {
        self.text += text;
    }

    /// JSON inside of a `script`: nothing in it can end the element or begin another one.
    pub fn json(&mut self, value: &serde_json::Value) {
        let mut json = value.to_string();
        for (from, to) in [("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")] {
            if json.contains(from) {
                json = json.replace(from, to);
            }
        }
        for c in json.chars() {
            if is_unsafe(c) {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| self.text += &format!("\\u{unit:04x}"));
            } else {
                self.text.push(c);
            }
        }
    }

    fn start(&mut self, name: &'static str, attributes: Attributes) {
        self.text.push('<');
        self.text += name;
        for (key, value) in attributes {
            self.text += &format!(" {key}=\"");
            escape(&visible(value), &mut self.text);
            self.text.push('"');
        }
        self.text.push('>');
    }
}

/// The first characters of a text, with a mark where some are left out.
pub(crate) fn clipped(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_attributes_and_json_cannot_become_markup() {
        let hostile = "</script><script>alert('x')</script>\u{202e}\0\u{2028}&\"";
        let mut html = Html::default();
        html.text("p", &[("title", hostile)], hostile);
        html.element("script", &[("type", "application/json")], |html| {
            html.json(&serde_json::json!([hostile]));
        });
        let text = html.finish();
        assert_eq!(text.matches("<script").count(), 1, "{text}");
        assert_eq!(text.matches("</script").count(), 1, "{text}");
        assert!(!text.contains(['\u{202e}', '\0', '\u{2028}']), "{text}");
    }
}

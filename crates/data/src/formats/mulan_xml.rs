/*!
The label names of a Mulan XML file.

```text
<labels xmlns="http://mulan.sourceforge.net/labels"><label name="city"/> <label name="sky"></label> … </labels>
```

Labels inside labels (a hierarchy) are labels too. Only the elements and their `name` matter; entities other than the
five of XML and numbered characters are refused, so no file can grow by expanding them.
*/

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::error::ReadError;
use crate::source::Source;

/// The longest XML that is read.
const LONGEST: u64 = 64 << 20;

/// The names of all labels, in file order.
pub fn label_names(source: &Source) -> Result<Vec<String>, ReadError> {
    use std::io::Read;
    let file = source.name();
    let mut bytes = Vec::new();
    source.open()?.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|e| ReadError::io(file, &e))?;
    if bytes.len() as u64 > LONGEST {
        return Err(ReadError::data(file, format!("more than {LONGEST} bytes"), "a shorter list of labels"));
    }
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| ReadError::data(file, "bytes that are not UTF-8", "UTF-8 XML"))?;
    let line_of =
        |at: u64| 1 + memchr::memchr_iter(b'\n', &bytes[..(at as usize).min(bytes.len())]).count() as u64;
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    let mut names: Vec<String> = Vec::new();
    let mut seen = crate::group::Interner::default();
    reader.config_mut().expand_empty_elements = true;
    let (mut inside, mut open) = (false, 0usize);
    loop {
        let event = reader.read_event();
        let error = |found: String, expected: &str| {
            ReadError::data(file, found, expected).at_line(line_of(reader.buffer_position()))
        };
        match event {
            Err(e) => return Err(error(e.to_string(), "well-formed XML")),
            // A file that was cut would tell fewer labels.
            Ok(Event::Eof) if open > 0 => {
                return Err(error("the end of the file inside <labels>".into(), "</labels>"));
            }
            Ok(Event::Eof) => break,
            Ok(Event::End(_)) => open = open.saturating_sub(1),
            Ok(Event::Start(element)) => match element.local_name().as_ref() {
                "labels" => (inside, open) = (true, open + 1),
                "label" if inside => {
                    open += 1;
                    let name =
                        element.try_get_attribute("name").map_err(|e| error(e.to_string(), "attributes"))?;
                    let Some(name) = name else {
                        return Err(error("a label without a name".into(), "name=\"…\""));
                    };
                    let name = name
                        .normalized_value(quick_xml::XmlVersion::Implicit1_0)
                        .map_err(|e| error(e.to_string(), "a plain name"))?;
                    if seen.number(&name) as usize + 1 != seen.len() || seen.len() == names.len() {
                        return Err(error(format!("label {name:?} twice"), "each label once"));
                    }
                    names.push(name.into_owned());
                }
                other => {
                    let found = format!("element {}", crate::error::show(other.as_bytes()));
                    return Err(error(found, "<labels> with <label name=\"…\"> inside"));
                }
            },
            Ok(_) => {}
        }
    }
    if names.is_empty() {
        return Err(ReadError::data(file, "no label", "<labels> with <label name=\"…\"> inside"));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(xml: &str) -> Result<Vec<String>, String> {
        label_names(&Source::bytes("t.xml", xml.as_bytes().to_vec())).map_err(|e| e.to_string())
    }

    #[test]
    fn names_are_found_in_order_and_unescaped() {
        let xml = "\u{feff}<?xml version=\"1.0\"?>\n<labels xmlns=\"http://mulan.sourceforge.net/labels\">\n\
                   <label name=\"b &amp; c\"></label><!-- x --><label name='a'><label name=\"&#233;\"/></label></labels>";
        assert_eq!(names(xml).unwrap(), ["b & c", "a", "é"]);
    }

    #[test]
    fn broken_lists_are_told() {
        for (xml, expected) in [
            ("<labels></labels>", "t.xml: no label; expected <labels> with <label name=\"…\"> inside."),
            ("", "t.xml: no label; expected <labels> with <label name=\"…\"> inside."),
            ("<labels>\n<label/></labels>", "t.xml:2: a label without a name; expected name=\"…\"."),
            (
                "<labels><label name='a'/>\n<label name='a'/></labels>",
                "t.xml:2: label \"a\" twice; expected each label once.",
            ),
            (
                "<label name='a'/>",
                "t.xml:1: element \"label\"; expected <labels> with <label name=\"…\"> inside.",
            ),
            (
                "<labels>\n<label name='a'/>\n",
                "t.xml:3: the end of the file inside <labels>; expected </labels>.",
            ),
            ("<html>", "t.xml:1: element \"html\"; expected <labels> with <label name=\"…\"> inside."),
        ] {
            assert_eq!(names(xml).unwrap_err(), expected, "{xml}");
        }
        assert!(names("<labels><label name='&x;'/></labels>").is_err(), "own entities are refused");
        assert!(names("<labels><label name='a'/></wrong>").is_err());
    }
}

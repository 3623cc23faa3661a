//! How wide is a text? Fonts differ and none is at hand, so widths are estimated, rather too wide than too narrow.

/// Estimated width in pixels of `text` at a font size: DejaVu Sans and Verdana are the widest of the usual fonts.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// Width of a character in em.
fn em(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '(' | ')' | '[' | ']' => {
            0.36
        }
        'f' | 'r' | 't' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.98,
        '+' | '−' | '=' | '<' | '>' | '~' => 0.84,
        'A'..='Z' => 0.74,
        // Combining marks and joiners have no width of their own.
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200d}' => 0.0,
        // From Hangul and CJK on, characters are as wide as they are high.
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'.. => 1.05,
        _ => 0.635,
    }
}

/// The text if it fits into `most` pixels, else its beginning and an ellipsis.
pub(crate) fn fitted(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_string();
    }
    let mut out = String::new();
    let mut used = width("…", size);
    for c in text.chars() {
        used += em(c) * size;
        if used > most {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out + "…"
}

/// The text in lines of at most `most` pixels, broken at spaces; of more than `lines` lines the last one ends with an ellipsis.
pub(crate) fn wrapped(text: &str, size: f64, most: f64, lines: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if out.len() + 1 >= lines {
            out.push(fitted(rest, size, most));
            break;
        }
        let fits = |end: &usize| width(&rest[..*end], size) <= most;
        let end = if fits(&rest.len()) {
            rest.len()
        } else {
            let at_space = rest.match_indices(' ').map(|(place, _)| place).take_while(fits).last();
            // A word that is longer than a line is broken where the line ends.
            let anywhere = || rest.char_indices().map(|(place, _)| place).skip(1).take_while(fits).last();
            at_space.or_else(anywhere).unwrap_or(rest.len())
        };
        out.push(rest[..end].trim_end().to_string());
        rest = rest[end..].trim_start();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_ends_with_an_ellipsis_and_fits() {
        assert_eq!(fitted("bm25", 12.0, 100.0), "bm25");
        let short = fitted(&"model_".repeat(40), 12.0, 100.0);
        assert!(
            short.starts_with("model_") && short.ends_with('…') && width(&short, 12.0) <= 100.0,
            "{short}"
        );
    }

    #[test]
    fn titles_break_at_spaces_and_end_after_the_last_line() {
        assert_eq!(wrapped("one two three", 10.0, 60.0, 3), ["one two", "three"]);
        assert_eq!(wrapped("", 10.0, 60.0, 3), Vec::<String>::new());
        let long = "word ".repeat(100);
        let lines = wrapped(&long, 10.0, 100.0, 2);
        assert!(lines.len() == 2 && lines[1].ends_with('…') && !lines[0].ends_with('…'), "{lines:?}");
        let unbroken = wrapped(&"東".repeat(50), 10.0, 100.0, 20);
        assert!(
            unbroken.len() >= 5 && unbroken.iter().all(|line| width(line, 10.0) <= 100.0),
            "{unbroken:?}"
        );
        // Even a line too narrow for one character ends.
        assert!(!wrapped("東京", 10.0, 1.0, 3).is_empty());
    }
}

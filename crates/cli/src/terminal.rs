//! What reaches a terminal: results on standard output, everything else on standard error.
//!
//! Every text passes through here, and names that come from files cannot do more than be read: control characters and
//! characters that turn the direction of a text are shown as escapes, also where the output is a file or a pipe.

use std::cell::RefCell;
use std::fmt;
use std::io::Write as _;

use serde::Serialize;
use toprank::core::text::{visible_json, visible_lines};

use crate::Common;
use crate::failure::Failure;

thread_local! {
    /// What this thread prints, while it is kept instead of printed.
    static KEPT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Does some work and returns what it would have printed to standard output.
pub fn kept(work: impl FnOnce() -> Result<(), Failure>) -> Result<String, Failure> {
    KEPT.set(Some(String::new()));
    let done = work();
    let text = KEPT.take().unwrap_or_default();
    done.map(|()| text)
}

/// Prints to standard output; a closed pipe is a [`Failure`] without a message.
pub fn print(text: &str) -> Result<(), Failure> {
    let is_kept =
        KEPT.with_borrow_mut(|kept| kept.as_mut().map(|kept| kept.push_str(&visible_lines(text))).is_some());
    if is_kept {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    out.write_all(visible_lines(text).as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::file("standard output", &error))
}

/// Prints a JSON value, indented, with a newline.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&(visible_json(&serde_json::to_string_pretty(value).map_err(Failure::failed)?) + "\n"))
}

/// Prints a line on standard error. A full disk or a closed terminal there is no reason to give up the work.
pub fn say(line: impl fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{}", visible_lines(&line.to_string()));
}

/// Prints a note on standard error.
pub fn note(common: &Common, words: impl fmt::Display) {
    if !common.quiet {
        say(format_args!("note: {words}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank::core::text::is_unsafe;

    #[test]
    fn json_that_is_safe_to_show_means_the_same() {
        let value = serde_json::json!({"a\u{202e}b": "\u{1b}[2J\u{9b}\u{e0041}\n", "c": [1, "東"]});
        let text = visible_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.contains(|c| c != '\n' && is_unsafe(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}

//! Doc pages for a terminal: Markdown in, plain text out, wrapped once.

use std::fmt::Write;

/// Widest text, and the width where there is no terminal.
const WIDEST: usize = 100;

/// Columns of the terminal that standard output goes to, at most 100; 100 without a terminal.
pub fn width() -> usize {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    terminal.map_or(WIDEST, |(terminal_size::Width(columns), _)| usize::from(columns).clamp(40, WIDEST))
}

/// A part of a page.
#[derive(Debug, PartialEq)]
enum Block {
    Paragraph(String),
    /// One item of a list, with its mark.
    Item(String, String),
    /// Lines that keep their breaks: formulas and commands.
    Verbatim(Vec<String>),
    Table(Vec<Vec<String>>),
}

/// Renders a page. Fences are dropped, formulas are indented, Rust examples are left out, tables are aligned,
/// paragraphs and list items are wrapped at `width` columns.
pub fn render(markdown: &str, width: usize) -> String {
    let mut text = String::new();
    let mut item_before = false;
    for block in blocks(markdown) {
        let is_item = matches!(block, Block::Item(..));
        if !(text.is_empty() || item_before && is_item) {
            text.push('\n');
        }
        match block {
            Block::Paragraph(words) => text += &wrapped(&words, width, "", ""),
            Block::Item(mark, words) => text += &wrapped(&words, width, &mark, &" ".repeat(mark.len())),
            Block::Verbatim(lines) => lines.iter().for_each(|line| {
                let _ = writeln!(text, "{}", format!("  {line}").trim_end());
            }),
            Block::Table(rows) => text += &table(&rows, width),
        }
        item_before = is_item;
    }
    text
}

/// True if a page has a table of its parameters.
pub fn lists_parameters(markdown: &str) -> bool {
    blocks(markdown).iter().any(
        |block| matches!(block, Block::Table(rows) if rows.first().is_some_and(|row| row[0] == "parameter")),
    )
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = markdown.lines().peekable();
    // True while the last block may still grow: no blank line has ended it.
    let mut open = false;
    while let Some(line) = lines.next() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            let inside: Vec<String> = lines
                .by_ref()
                .take_while(|line| !line.trim_start().starts_with("```"))
                .map(Into::into)
                .collect();
            // Without a language it is a Rust example, which the tests run.
            if !language.is_empty() && !language.starts_with("rust") {
                blocks.push(Block::Verbatim(inside));
            }
            open = false;
        } else if line.trim().is_empty() {
            open = false;
        } else if let Some(cells) = cells(line) {
            let rule = cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| "-:".contains(c)));
            match blocks.last_mut() {
                Some(Block::Table(_)) if open && rule => {}
                Some(Block::Table(rows)) if open => rows.push(cells),
                _ => blocks.push(Block::Table(vec![cells])),
            }
            open = true;
        } else if let Some((mark, words)) = item(line) {
            blocks.push(Block::Item(mark, inline(words)));
            open = true;
        } else {
            let words = inline(line.trim().trim_start_matches('#').trim());
            match blocks.last_mut() {
                Some(Block::Paragraph(before) | Block::Item(_, before)) if open => {
                    before.push(' ');
                    before.push_str(&words);
                }
                _ => blocks.push(Block::Paragraph(words)),
            }
            // A heading ends with its line.
            open = !line.starts_with('#');
        }
    }
    blocks
}

/// The cells of a row of a table.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| inline(bare(cell.trim()))).collect())
}

/// A cell that is one piece of code, without its backticks.
fn bare(cell: &str) -> &str {
    let inner = cell.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    inner.filter(|inner| !inner.contains('`')).unwrap_or(cell)
}

/// The mark of a list item and its words.
fn item(line: &str) -> Option<(String, &str)> {
    let trimmed = line.trim_start();
    let mark = trimmed.split(' ').next()?;
    let number = mark.strip_suffix('.').is_some_and(|digits| digits.parse::<u8>().is_ok());
    let words = trimmed.strip_prefix(mark)?.trim_start();
    (matches!(mark, "-" | "*") || number).then(|| (format!("{mark} "), words))
}

/// Text without the marks of bold words and of links between Rust items.
fn inline(text: &str) -> String {
    let mut text = text.replace("**", "");
    while let Some(start) = text.find("[`") {
        let Some(end) = text[start..].find("`]").map(|end| start + end) else { break };
        let name = text[start + 2..end].rsplit("::").next().unwrap_or_default().to_string();
        text.replace_range(start..end + 2, &format!("`{name}`"));
    }
    text
}

/// Words wrapped at `width` columns; the first line begins with `first`, the others with `rest`.
fn wrapped(words: &str, width: usize, first: &str, rest: &str) -> String {
    let (mut text, mut line) = (String::new(), first.to_string());
    let mut empty = true;
    for word in words.split_whitespace() {
        if !empty && columns(&line) + 1 + columns(word) > width {
            text += line.trim_end();
            text.push('\n');
            line = rest.to_string();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    text + line.trim_end() + "\n"
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Narrowest column of a table that does not fit.
const NARROWEST: usize = 12;

/// Rows as aligned columns, two blanks apart. Where they are wider than `width`, the widest columns are wrapped.
pub fn table(rows: &[Vec<String>], width: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell)).max();
    let mut widths: Vec<usize> = (0..count).map(|column| widest(column).unwrap_or(0)).collect();
    let room = width.saturating_sub(2 * count.saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let Some(most) = widths.iter_mut().max().filter(|most| **most > NARROWEST) else { break };
        *most -= 1;
    }
    let mut text = String::new();
    for row in rows {
        let indent = |cell: &str| cell.chars().take_while(|c| *c == ' ').collect::<String>();
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| wrapped(cell, width, &indent(cell), &indent(cell)))
            .collect();
        let cells: Vec<Vec<&str>> = cells.iter().map(|cell| cell.lines().collect()).collect();
        for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = String::new();
            for (cell, width) in cells.iter().zip(&widths) {
                let part = cell.get(at).copied().unwrap_or_default();
                line += part;
                line += &" ".repeat((width + 2).saturating_sub(columns(part)));
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    text
}

/// Help text whose paragraphs are one line each, so that it is wrapped once, at the width of the terminal. Lines that begin
/// with a blank (examples, tables) stay as they are.
pub fn unfolded(help: &str) -> String {
    let mut text = String::new();
    let mut open = false;
    for line in help.lines() {
        let words = !line.is_empty() && !line.starts_with(' ');
        if open && words {
            text.push(' ');
        } else if !text.is_empty() {
            text.push('\n');
        }
        text += line;
        open = words;
    }
    text
}

/// Text in which commands that are wider than `width` continue on the next line by a backslash, before a flag where there is
/// one, so that they can be copied. A command with a comment behind it stays as it is. The text behind a name, two blanks from it,
/// is wrapped below itself.
pub fn continued(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if let Some(column) = text_behind_name(line).filter(|_| line.chars().count() > width) {
            hang(line, column, width, &mut out);
            continue;
        }
        let is_command = line.starts_with("  toprank ") && !line.contains('#');
        let mut rest = line.to_string();
        while is_command && rest.chars().count() > width {
            let indent = rest.len() - rest.trim_start().len();
            let fits = rest.char_indices().nth(width.saturating_sub(2)).map_or(rest.len(), |(at, _)| at);
            let cut = |what: &str| rest[..fits].rfind(what).filter(|at| *at > indent);
            let Some(at) = cut(" -").or_else(|| cut(" ")) else { break };
            let _ = writeln!(out, "{} \\", &rest[..at]);
            rest = format!("      {}", rest[at..].trim_start());
        }
        let _ = writeln!(out, "{rest}");
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

/// Where the text begins in an indented line of a name, at least two blanks and a text; in characters.
fn text_behind_name(line: &str) -> Option<usize> {
    let name = line.strip_prefix("  ")?;
    let end = name.find("  ").filter(|_| !name.starts_with(' ') && !line.starts_with("  toprank "))?;
    let text = name[end..].trim_start();
    (!text.is_empty()).then(|| line.chars().count() - text.chars().count())
}

/// Wraps a line at `width`; its further lines begin in `column`.
fn hang(line: &str, column: usize, width: usize, out: &mut String) {
    let (head, text): (String, String) =
        (line.chars().take(column).collect(), line.chars().skip(column).collect());
    let (mut open, mut used) = (head, 0);
    for word in text.split_whitespace() {
        if used > 0 && open.chars().count() + 1 + word.chars().count() > width {
            let _ = writeln!(out, "{open}");
            (open, used) = (" ".repeat(column), 0);
        }
        if used > 0 {
            open.push(' ');
        }
        open += word;
        used += 1;
    }
    let _ = writeln!(out, "{open}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_continues_by_a_backslash_before_a_flag() {
        let text = "Examples:\n  toprank train --data train.txt --valid vali.txt -o model.toprank\n\nWords that are not a command stay as they are.";
        let expected = "Examples:\n  toprank train --data train.txt \\\n      --valid vali.txt -o model.toprank\n\nWords that are not a command stay as they are.";
        assert_eq!(continued(text, 40), expected);
        assert_eq!(continued(text, 100), text);
    }

    #[test]
    fn the_text_behind_a_name_is_wrapped_below_itself() {
        let text = "Methods:\n  rrf    one two three four five\n  borda  six";
        let expected = "Methods:\n  rrf    one two\n         three four\n         five\n  borda  six";
        assert_eq!(continued(text, 19), expected);
        assert_eq!(continued(text, 100), text);
    }

    const PAGE: &str = "\
Area under the curve of things that are counted, in words that are long enough
to be wrapped.

```text
area = Σ_i  a_i        a = [`x`]
```

See **all** of [`crate::kernels::sigmoid`].

| parameter | default | meaning |
|---|---|---|
| `gamma` | `0.5` | how much of the old value is kept |

- Ties: averaged over all orders of the
  tied items.
- Cost: O(n).

```
assert!(true);
```
";

    #[test]
    fn a_page_is_plain_text_wrapped_once() {
        let text = "\
Area under the curve of things that are
counted, in words that are long enough
to be wrapped.

  area = Σ_i  a_i        a = [`x`]

See all of `sigmoid`.

parameter  default  meaning
gamma      0.5      how much of the old
                    value is kept

- Ties: averaged over all orders of the
  tied items.
- Cost: O(n).
";
        assert_eq!(render(PAGE, 40), text);
        assert!(render(PAGE, 80).contains("parameter  default  meaning\ngamma      0.5      how much"));
    }

    #[test]
    fn every_page_of_the_command_is_rendered_without_fences_and_within_the_width() {
        use toprank::data::generate::GENERATORS;
        use toprank::{embeddings, metrics, objectives, train};
        let mut pages: Vec<(&str, &str)> =
            metrics::METRICS.iter().map(|entry| (entry.name, entry.page)).collect();
        pages.extend(objectives::OBJECTIVES.iter().map(|line| (line.entry.name, line.entry.page)));
        pages.extend(train::rank::models::NETWORKS.iter().map(|entry| (entry.name, entry.page)));
        pages.extend(train::rank::models::TREES.iter().map(|entry| (entry.name, entry.page)));
        pages.extend(train::rank::models::AUTO.iter().map(|entry| (entry.name, entry.page)));
        pages.extend(embeddings::MODELS.iter().map(|entry| (entry.name, entry.page)));
        pages.extend(train::SAMPLERS.iter().map(|entry| (entry.name, entry.page)));
        pages.extend(train::OPTIMISERS.iter().map(|entry| (entry.name, entry.page)));
        pages.extend(GENERATORS.iter().map(|generator| (generator.name, generator.page)));
        for (name, page) in pages {
            let text = render(page, 100);
            assert!(!text.contains("```") && !text.contains("assert"), "{name}:\n{text}");
            assert!(!text.lines().any(|line| line.starts_with('|')), "{name}:\n{text}");
            // Formulas keep their breaks.
            let prose = text.lines().filter(|line| !line.starts_with("  "));
            let long: Vec<&str> = prose.filter(|line| columns(line) > 100).collect();
            assert!(long.is_empty(), "{name}: {long:?}");
        }
    }

    #[test]
    fn paragraphs_of_help_become_one_line_each_and_examples_stay() {
        let help = "Examples:\n  toprank a\n  toprank b\n\nOne sentence\nthat goes on.\nAnother.";
        assert_eq!(
            unfolded(help),
            "Examples:\n  toprank a\n  toprank b\n\nOne sentence that goes on. Another."
        );
    }
}

//! Rows and columns as text for a person, CSV, Markdown or LaTeX.
//!
//! Cells may hold names from files, so each style has one function that makes a text mean nothing but itself there
//! ([`Style::text`]): no control character reaches a terminal, a name is neither markup in Markdown or LaTeX nor a formula in
//! CSV. Numbers are the same in every style.

use std::borrow::Cow;

use comfy_table::{CellAlignment, ContentArrangement, presets};
use toprank::core::Param;
use toprank::core::text::visible;

use crate::Common;

/// How a table is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Style {
    /// Aligned columns for a terminal.
    #[default]
    Table,
    /// One JSON object.
    Json,
    /// Comma-separated values.
    Csv,
    /// A Markdown table.
    Markdown,
    /// A LaTeX tabular (booktabs).
    Latex,
}

impl Style {
    /// The style asked for by `--format`, or JSON if the global `--json` was given.
    pub fn or_json(self, common: &Common) -> Style {
        if common.json { Style::Json } else { self }
    }

    /// A text as it is written in this style, so that it is shown as it is and is nothing else.
    pub fn text(self, text: &str) -> Cow<'_, str> {
        match self {
            Style::Table | Style::Json => visible(text),
            Style::Csv => csv_cell(text).into(),
            Style::Markdown => markdown(text).into(),
            Style::Latex => latex(text).into(),
        }
    }

    /// A cell as it is written in this style: what stands out is bold in Markdown and LaTeX and has a star elsewhere.
    fn cell(self, cell: &Cell) -> Cow<'_, str> {
        let text = self.text(&cell.text);
        if !cell.best && cell.mark.is_empty() {
            return text;
        }
        let mark = self.text(cell.mark);
        match self {
            _ if !cell.best => format!("{text}{mark}").into(),
            Style::Markdown => format!("**{text}**{mark}").into(),
            Style::Latex => format!("\\textbf{{{text}}}{mark}").into(),
            _ => format!("{text}*{mark}").into(),
        }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    text: String,
    best: bool,
    mark: &'static str,
}

impl Cell {
    /// A cell that stands out if it is the `best`, with a mark behind it.
    pub fn marked(text: String, best: bool, mark: &'static str) -> Cell {
        Cell { text, best, mark }
    }
}

impl<S: Into<String>> From<S> for Cell {
    fn from(text: S) -> Cell {
        Cell { text: text.into(), best: false, mark: "" }
    }
}

/// A table of texts; the first column is aligned left, the others right unless they hold words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    head: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
    words: Vec<usize>,
}

impl Table {
    /// A table with these column heads.
    pub fn new<C: Into<Cell>>(head: impl IntoIterator<Item = C>) -> Table {
        Table { head: head.into_iter().map(Into::into).collect(), rows: Vec::new(), words: vec![0] }
    }

    /// Aligns column `column` left.
    #[must_use]
    pub fn words(mut self, column: usize) -> Table {
        self.words.push(column);
        self
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// True if no row was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as a part of a page.
    #[cfg(feature = "plots")]
    pub fn grid(&self, caption: &str) -> toprank_report::Grid {
        let cell = |cell: &Cell| toprank_report::GridCell {
            text: format!("{}{}", cell.text, cell.mark),
            best: cell.best,
        };
        toprank_report::Grid {
            caption: caption.into(),
            head: self.head.iter().map(|cell| cell.text.clone()).collect(),
            rows: self.rows.iter().map(|row| row.iter().map(cell).collect()).collect(),
            words: self.words.clone(),
        }
    }

    /// The table in a style; JSON is not a table and falls back to aligned columns.
    pub fn render(&self, style: Style) -> String {
        match style {
            Style::Table | Style::Json => self.aligned(style, presets::NOTHING),
            Style::Markdown => self.aligned(style, presets::ASCII_MARKDOWN),
            Style::Csv => self.csv(),
            Style::Latex => self.latex(),
        }
    }

    /// Aligned columns without the head.
    pub fn body(&self) -> String {
        let text = self.aligned(Style::Table, presets::NOTHING);
        text.split_once('\n').map_or(String::new(), |(_, body)| body.to_string())
    }

    fn aligned(&self, style: Style, preset: comfy_table::TableStyle) -> String {
        let cells =
            |cells: &[Cell]| cells.iter().map(|cell| style.cell(cell).into_owned()).collect::<Vec<_>>();
        let mut table = comfy_table::Table::new();
        table
            .load_style(preset)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(cells(&self.head));
        for row in &self.rows {
            table.add_row(cells(row));
        }
        for (i, column) in table.column_iter_mut().enumerate() {
            if !self.words.contains(&i) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let text = table.to_string();
        // Without borders the padding of the first column is an indent that nobody asked for.
        let flush = |line: &str| line.strip_prefix(' ').unwrap_or(line).trim_end().to_string() + "\n";
        text.lines().map(flush).collect()
    }

    fn csv(&self) -> String {
        let line = |cells: &Vec<Cell>| {
            cells.iter().map(|cell| Style::Csv.cell(cell)).collect::<Vec<_>>().join(",") + "\n"
        };
        std::iter::once(&self.head).chain(&self.rows).map(line).collect()
    }

    fn latex(&self) -> String {
        let line = |cells: &Vec<Cell>| {
            cells.iter().map(|cell| Style::Latex.cell(cell)).collect::<Vec<_>>().join(" & ") + " \\\\\n"
        };
        let columns: String =
            (0..self.head.len()).map(|i| if self.words.contains(&i) { 'l' } else { 'r' }).collect();
        let rows: String = self.rows.iter().map(line).collect();
        format!(
            "\\begin{{tabular}}{{{columns}}}\n\\toprule\n{}\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}\n",
            line(&self.head)
        )
    }
}

/// Entries of a catalog with their parameters, for the end of a help text.
pub fn catalog_help<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str, &'a [Param])>) -> String {
    let mut table = Table::new(["", ""]).words(1);
    for (name, about, params) in entries {
        let param = |p: &Param| format!(" [:{}=… {}; default {}]", p.name, p.range, p.default);
        table.row([format!("  {name}"), about.to_string() + &params.iter().map(param).collect::<String>()]);
    }
    table.body()
}

/// A CSV cell: one line, quoted where it must be. A spreadsheet would compute text that begins with `=`, `+`, `-` or `@`, so
/// such a text gets an apostrophe in front; numbers are left as they are.
pub fn csv_cell(text: &str) -> String {
    let text = visible(text);
    let formula =
        text.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']) && text.parse::<f64>().is_err();
    let text = if formula { Cow::Owned(format!("'{text}")) } else { text };
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into_owned() }
}

/// Text in Markdown that is neither markup nor HTML nor the end of a cell.
fn markdown(text: &str) -> String {
    let text = visible(text);
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let inside = before.is_alphanumeric() && chars.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Between letters or digits it is no emphasis.
            '_' if inside => out.push(c),
            '\\' | '|' | '`' | '*' | '_' | '~' | '[' | ']' | '$' => out.extend(['\\', c]),
            _ => out.push(c),
        }
        before = c;
    }
    out
}

/// Text in LaTeX without commands.
fn latex(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '\\' => out.push_str("\\textbackslash{}"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            '−' => out.push_str("$-$"),
            '†' => out.push_str("$^\\dagger$"),
            _ => out.push(c),
        }
    }
    out
}

/// `1 list`, `2 lists`, `2 queries`: the number and its word.
pub fn counted(number: usize, word: &str) -> String {
    match word.strip_suffix('y') {
        _ if number == 1 => format!("1 {word}"),
        Some(stem) => format!("{number} {stem}ies"),
        None if word.ends_with('s') => format!("{number} {word}es"),
        None => format!("{number} {word}s"),
    }
}

/// The settings of a config, one a line.
pub fn settings(config: &serde_json::Value) -> Table {
    let mut table = Table::new(["setting", "value"]).words(1);
    for (key, value) in config.as_object().into_iter().flatten() {
        table.row([key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_string)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table {
        let mut table = Table::new(["run", "ndcg@10"]);
        table.row(["a_1", "0.5000"]);
        table.row(["b, c", "0.2500"]);
        table
    }

    #[test]
    fn each_style_shows_the_same_cells() {
        assert_eq!(example().render(Style::Csv), "run,ndcg@10\na_1,0.5000\n\"b, c\",0.2500\n");
        assert_eq!(
            example().render(Style::Markdown),
            "| run  | ndcg@10 |\n|------|---------|\n| a_1  |  0.5000 |\n| b, c |  0.2500 |\n"
        );
        assert!(example().render(Style::Latex).contains("a\\_1 & 0.5000 \\\\"));
        assert_eq!(example().render(Style::Table).lines().count(), 3);
    }

    #[test]
    fn what_stands_out_does_so_in_every_style() {
        let cell = |style: Style| {
            let mut table = Table::new(["run", "ndcg"]);
            table.row([Cell::from("a"), Cell::marked("0.5".into(), true, "†")]);
            table.render(style)
        };
        assert!(cell(Style::Markdown).contains("**0.5**†") && cell(Style::Table).contains("0.5*†"));
        assert!(cell(Style::Latex).contains("a & \\textbf{0.5}$^\\dagger$ \\\\"), "{}", cell(Style::Latex));
    }

    #[test]
    fn a_name_from_a_file_is_nothing_but_text_in_every_style() {
        let shown = |name: &str, style: Style| style.text(name).into_owned();
        let cases = [
            ("a|b", "a|b", "a|b", "a\\|b", "a|b"),
            ("<script>", "<script>", "<script>", "&lt;script&gt;", "$<$script$>$"),
            ("=1+1", "=1+1", "'=1+1", "=1+1", "=1+1"),
            ("@x", "@x", "'@x", "@x", "@x"),
            ("-2, b", "-2, b", "\"'-2, b\"", "-2, b", "-2, b"),
            ("-0.5", "-0.5", "-0.5", "-0.5", "-0.5"),
            ("+3", "+3", "+3", "+3", "+3"),
            ("*b*_c_", "*b*_c_", "*b*_c_", "\\*b\\*\\_c\\_", "*b*\\_c\\_"),
            ("f_1", "f_1", "f_1", "f_1", "f\\_1"),
            ("[x](y)", "[x](y)", "[x](y)", "\\[x\\](y)", "[x](y)"),
            ("\\input{x}", "\\input{x}", "\\input{x}", "\\\\input{x}", "\\textbackslash{}input\\{x\\}"),
            ("a\nb", "a\\nb", "a\\nb", "a\\\\nb", "a\\textbackslash{}nb"),
            ("\u{1b}", "\\u{1b}", "\\u{1b}", "\\\\u{1b}", "\\textbackslash{}u\\{1b\\}"),
        ];
        for (name, table, csv, markdown, latex) in cases {
            let all =
                [Style::Table, Style::Csv, Style::Markdown, Style::Latex].map(|style| shown(name, style));
            assert_eq!(all, [table, csv, markdown, latex]);
        }
    }

    #[test]
    fn a_name_cannot_pass_for_a_cell_that_stands_out() {
        let mut table = Table::new(["run"]);
        table.row(["\\textbf{fake}"]);
        table.row(["**fake**"]);
        assert!(!table.render(Style::Latex).contains("\\textbf"), "{}", table.render(Style::Latex));
        assert!(!table.render(Style::Markdown).contains("**"), "{}", table.render(Style::Markdown));
    }
}

//! Rows and columns as text for a person, CSV, Markdown or LaTeX.

use comfy_table::{CellAlignment, ContentArrangement, presets};
use toprank::core::Param;

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

    /// A text that stands out: bold in Markdown and LaTeX, with a star for a terminal.
    pub fn bold(self, text: &str) -> String {
        match self {
            Style::Markdown => format!("**{text}**"),
            Style::Latex => format!("\\textbf{{{text}}}"),
            _ => format!("{text}*"),
        }
    }
}

/// A table of texts; the first column is aligned left, the others right unless they hold words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    words: Vec<usize>,
}

impl Table {
    /// A table with these column heads.
    pub fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Table {
        Table { head: head.into_iter().map(Into::into).collect(), rows: Vec::new(), words: vec![0] }
    }

    /// Aligns column `column` left.
    #[must_use]
    pub fn words(mut self, column: usize) -> Table {
        self.words.push(column);
        self
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// True if no row was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in a style; JSON is not a table and falls back to aligned columns.
    pub fn render(&self, style: Style) -> String {
        match style {
            Style::Table | Style::Json => self.aligned(presets::NOTHING),
            Style::Markdown => self.aligned(presets::ASCII_MARKDOWN),
            Style::Csv => self.csv(),
            Style::Latex => self.latex(),
        }
    }

    /// Aligned columns without the head.
    pub fn body(&self) -> String {
        let text = self.aligned(presets::NOTHING);
        text.split_once('\n').map_or(String::new(), |(_, body)| body.to_string())
    }

    fn aligned(&self, preset: comfy_table::TableStyle) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(preset).set_content_arrangement(ContentArrangement::Disabled).set_header(&self.head);
        for row in &self.rows {
            table.add_row(row);
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
        let line =
            |cells: &Vec<String>| cells.iter().map(|c| csv_cell(c)).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.head).chain(&self.rows).map(line).collect()
    }

    fn latex(&self) -> String {
        let line = |cells: &Vec<String>| {
            cells.iter().map(|c| latex_cell(c)).collect::<Vec<_>>().join(" & ") + " \\\\\n"
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

/// A CSV cell, quoted where it must be.
pub fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

fn latex_cell(text: &str) -> String {
    // What `Style::bold` wrote stays as it is.
    let bold = text.strip_prefix("\\textbf{").and_then(|rest| rest.split_once('}'));
    if let Some((inside, rest)) = bold {
        return format!("\\textbf{{{}}}{}", latex_cell(inside), latex_cell(rest));
    }
    let mut out = String::new();
    for c in text.chars() {
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
            table.row(["a".to_string(), style.bold("0.5") + "†"]);
            table.render(style)
        };
        assert!(cell(Style::Markdown).contains("**0.5**†") && cell(Style::Table).contains("0.5*†"));
        assert!(cell(Style::Latex).contains("a & \\textbf{0.5}$^\\dagger$ \\\\"), "{}", cell(Style::Latex));
    }
}

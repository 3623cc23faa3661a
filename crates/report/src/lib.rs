//! **How do results look to a team?** From tables, plots and rankings to one HTML page that needs no network.
//!
//! A [`Report`] holds what was computed elsewhere; [`Report::html`] writes the page. No number is computed here.
//!
//! Invariants:
//! - the same report gives the same bytes: the page holds neither date nor machine;
//! - text that comes from files is never markup: names of elements and attributes are constants, every text is escaped, and the
//!   page's own policy allows no script but the one that this crate holds, and no request;
//! - verdicts, warnings, tables and plots are readable without JavaScript; the script sorts and searches the table of all lists.

mod html;
mod sections;

use toprank_plots::Plot;

use html::Html;

/// The page's script and style sheet.
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// SHA-256 of the script, in base64: the only script that a browser may run on the page.
const SCRIPT_HASH: &str = "sha256-5l4S6qJZRTWkTM3/OBVtCR7HVtuD8o0Os39OG5/Unqk=";

/// Longest name that is shown, in characters.
const LONGEST_NAME: usize = 120;

/// What a page shows, in the order in which it shows it.
///
/// ```
/// use toprank_report::{Report, Verdict};
/// let report = Report {
///     title: "trees and mlp on test.txt".into(),
///     verdicts: vec![Verdict { text: "trees beats mlp on ndcg@10 by 0.02".into(), found: true }],
///     ..Report::default()
/// };
/// let page = report.html();
/// assert!(page.starts_with("<!doctype html>") && page.contains("trees beats mlp"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The heading of the page.
    pub title: String,
    /// The line below the heading: what was evaluated.
    pub about: String,
    /// What was found, the most important sentence first.
    pub verdicts: Vec<Verdict>,
    /// What a reader must know before the numbers are trusted.
    pub warnings: Vec<String>,
    /// Runs × metrics.
    pub summary: Option<Grid>,
    /// Texts to copy.
    pub copies: Vec<Copied>,
    /// What the metrics mean at their edges: rule and value.
    pub policy: Vec<(String, String)>,
    /// Plots and tables, section by section.
    pub sections: Vec<Section>,
    /// The table of all lists.
    pub lists: Option<ListTable>,
    /// The rankings of some lists, side by side.
    pub rankings: Vec<SideBySide>,
    /// How intervals and p values were found, and what else belongs to the small print.
    pub methods: Vec<String>,
    /// The line at the end: which program wrote the page.
    pub program: String,
}

/// One sentence that says what was found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The sentence.
    pub text: String,
    /// It names a significant difference.
    pub found: bool,
}

/// A text under its name, with a button to copy it.
#[derive(Clone, Debug, Default)]
pub struct Copied {
    /// What is copied, such as `Markdown`.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A heading with plots and tables under it.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// A sentence or two on how to read what follows; may be empty.
    pub about: String,
    /// Plots, each with the text of its caption.
    pub plots: Vec<Plot>,
    /// Tables.
    pub grids: Vec<Grid>,
    /// A click on the first plot, of sorted differences, shows the list of that place in the table of all lists.
    pub picks_lists: bool,
}

/// A table of text.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// What the table shows; may be empty.
    pub caption: String,
    /// Heads of the columns.
    pub head: Vec<String>,
    /// Rows of cells; the first cell of a row names it.
    pub rows: Vec<Vec<GridCell>>,
    /// The columns beside the first that hold words and are aligned left.
    pub words: Vec<usize>,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridCell {
    /// Its text.
    pub text: String,
    /// It is the best of its column.
    pub best: bool,
}

impl<S: Into<String>> From<S> for GridCell {
    fn from(text: S) -> GridCell {
        GridCell { text: text.into(), best: false }
    }
}

/// The values of every list, which the page's script sorts and searches.
#[derive(Clone, Debug, Default)]
pub struct ListTable {
    /// What a list is called: query, user, label.
    pub word: String,
    /// Name of each list.
    pub names: Vec<String>,
    /// Names of the runs.
    pub runs: Vec<String>,
    /// Names of the metrics, and for each run the value of every list; NaN where a list has none.
    pub metrics: Vec<(String, Vec<Vec<f64>>)>,
    /// The metrics that are not in the table because the page would become too large.
    pub left_out: Vec<String>,
}

/// The rankings of one list under every run, beside its ideal order.
#[derive(Clone, Debug, Default)]
pub struct SideBySide {
    /// Number of the list in the table of all lists.
    pub list: usize,
    /// Its name and the value of each run, in one line.
    pub summary: String,
    /// Run and its first items.
    pub runs: Vec<(String, Vec<RankedItem>)>,
    /// Labels in the best possible order, as long as the longest ranking shown.
    pub ideal: Vec<f32>,
}

/// An item of a ranking.
#[derive(Clone, Debug, Default)]
pub struct RankedItem {
    /// Its name.
    pub name: String,
    /// Its label; `None`: not judged.
    pub label: Option<f32>,
    /// It is relevant under the policy.
    pub relevant: bool,
}

impl Report {
    /// The page.
    pub fn html(&self) -> String {
        let mut html = Html::default();
        html.constant("<!doctype html>\n");
        html.element("html", &[("lang", "en")], |html| {
            html.element("head", &[], |html| {
                html.empty("meta", &[("charset", "utf-8")]);
                let policy = format!(
                    "default-src 'none'; style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'"
                );
                html.empty("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
                html.empty("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
                html.text("title", &[], &shown(&self.title));
                html.element("style", &[], |html| html.constant(STYLE));
            });
            html.element("body", &[], |html| self.body(html));
        });
        html.finish()
    }

    fn body(&self, html: &mut Html) {
        html.element("main", &[], |html| {
            html.text("h1", &[], &shown(&self.title));
            if !self.about.is_empty() {
                html.text("p", &[("class", "soft")], &self.about);
            }
            sections::verdicts(html, &self.verdicts);
            sections::warnings(html, &self.warnings);
            if let Some(summary) = &self.summary {
                html.text("h2", &[], "Results");
                sections::grid(html, summary);
            }
            sections::copies(html, &self.copies);
            sections::policy(html, &self.policy);
            for section in &self.sections {
                sections::section(html, section);
            }
            if let Some(lists) = &self.lists {
                let detailed: Vec<usize> = self.rankings.iter().map(|ranking| ranking.list).collect();
                sections::lists(html, lists, &detailed);
            }
            sections::rankings(html, &self.rankings);
            sections::methods(html, &self.methods);
        });
        html.text("p", &[("id", "said"), ("role", "status"), ("class", "soft screen")], "");
        html.text("footer", &[], &self.program);
        html.element("script", &[], |html| html.constant(SCRIPT));
    }
}

/// A name as it is shown: in one line, and not without end.
pub(crate) fn shown(name: &str) -> String {
    html::clipped(name, LONGEST_NAME).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(name: &str) -> Report {
        let item =
            |label| RankedItem { name: name.into(), label, relevant: label.is_some_and(|label| label > 0.0) };
        Report {
            title: name.into(),
            about: name.into(),
            verdicts: vec![Verdict { text: name.into(), found: true }],
            warnings: vec![name.into()],
            summary: Some(Grid {
                caption: name.into(),
                head: vec!["run".into(), name.into()],
                rows: vec![vec![name.into(), GridCell { text: name.into(), best: true }]],
                words: Vec::new(),
            }),
            copies: vec![Copied { name: "Markdown".into(), text: name.into() }],
            policy: vec![(name.into(), name.into())],
            sections: vec![Section {
                title: name.into(),
                about: name.into(),
                plots: vec![toprank_plots::histogram(name, name, &[1.0, 2.0], 2)],
                grids: Vec::new(),
                picks_lists: true,
            }],
            lists: Some(ListTable {
                word: "query".into(),
                names: vec![name.into()],
                runs: vec![name.into(), "b".into()],
                metrics: vec![(name.into(), vec![vec![0.5], vec![f64::NAN]])],
                left_out: vec![name.into()],
            }),
            rankings: vec![SideBySide {
                list: 0,
                summary: name.into(),
                runs: vec![(name.into(), vec![item(Some(2.0)), item(None)])],
                ideal: vec![2.0],
            }],
            methods: vec![name.into()],
            program: name.into(),
        }
    }

    #[test]
    fn a_name_from_a_file_is_nothing_but_text_everywhere_on_the_page() {
        let plain = example("x").html();
        let count = |page: &str, what: &str| page.matches(what).count();
        for hostile in [
            "<script>alert(1)</script>",
            "</script>",
            "<!--",
            "\"><img src=x onerror=alert(1)>",
            "';--",
            "&lt;",
        ] {
            let page = example(hostile).html();
            for mark in ["<script", "</script", "<img", "<!--", "<svg", "<td", "=\""] {
                assert_eq!(count(&page, mark), count(&plain, mark), "{mark} under the name {hostile}");
            }
        }
        let page = example("a\u{202e}b\0c\u{1b}[2Jd").html();
        assert!(!page.contains(['\u{202e}', '\0', '\u{1b}']));
    }

    #[test]
    fn a_long_name_does_not_make_a_long_page() {
        let (short, long) = (example("x").html().len(), example(&"x".repeat(1_000_000)).html().len());
        assert!(long < short + 1_500_000, "{long} bytes"); // the text to copy is kept whole
        assert_eq!(shown(&"é".repeat(500)).chars().count(), LONGEST_NAME + 1);
    }

    #[test]
    fn an_empty_report_is_a_page() {
        let page = Report::default().html();
        assert!(page.ends_with("</html>\n") && !page.contains("id=\"lists-data\""), "{page}");
    }

    #[test]
    fn the_policy_of_the_page_allows_its_own_script() {
        use sha2::Digest;
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut hash = sha2::Sha256::digest(SCRIPT.as_bytes()).to_vec();
        hash.push(0); // 32 bytes are 10 groups of three and two more, which end in one letter of padding
        let letters = |three: &[u8]| {
            let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
            [18, 12, 6, 0].map(|shift| char::from(LETTERS[(bits >> shift & 63) as usize]))
        };
        let mut text: String = hash.chunks(3).flat_map(letters).collect();
        text.replace_range(43.., "=");
        assert_eq!(SCRIPT_HASH, format!("sha256-{text}"), "page.js has changed: write its new hash here");
    }
}

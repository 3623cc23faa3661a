//! The parts of the page, from top to bottom.

use serde_json::json;

use crate::html::Html;
use crate::{Copied, Grid, ListTable, RankedItem, Section, SideBySide, Verdict, shown};

/// What is wider than the window is scrolled, also by the keyboard.
const WIDE: crate::html::Attributes = &[("class", "wide"), ("tabindex", "0")];

/// Decimals of the values of lists.
const DIGITS: i32 = 4;

pub(crate) fn verdicts(html: &mut Html, verdicts: &[Verdict]) {
    if verdicts.is_empty() {
        return;
    }
    html.element("ul", &[("class", "verdicts")], |html| {
        for verdict in verdicts {
            let class = if verdict.found { "found" } else { "open" };
            html.text("li", &[("class", class)], &verdict.text);
        }
    });
}

pub(crate) fn warnings(html: &mut Html, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    html.text("h2", &[], "Warnings");
    html.element("ul", &[("class", "warnings")], |html| {
        for warning in warnings {
            html.text("li", &[], warning);
        }
    });
}

pub(crate) fn grid(html: &mut Html, grid: &Grid) {
    let class = |column: usize| if column == 0 || grid.words.contains(&column) { "words" } else { "" };
    html.element("div", WIDE, |html| {
        html.element("table", &[], |html| {
            if !grid.caption.is_empty() {
                html.text("caption", &[], &grid.caption);
            }
            html.element("thead", &[], |html| {
                html.element("tr", &[], |html| {
                    for (column, text) in grid.head.iter().enumerate() {
                        html.text("th", &[("scope", "col"), ("class", class(column))], &shown(text));
                    }
                });
            });
            html.element("tbody", &[], |html| {
                for row in &grid.rows {
                    html.element("tr", &[], |html| {
                        for (column, cell) in row.iter().enumerate() {
                            let text = shown(&cell.text);
                            match (column, cell.best) {
                                (0, _) => html.text("th", &[("scope", "row"), ("class", "words")], &text),
                                (_, true) => html.text("td", &[("class", "best")], &text),
                                (_, false) => html.text("td", &[("class", class(column))], &text),
                            }
                        }
                    });
                }
            });
        });
    });
}

pub(crate) fn copies(html: &mut Html, copies: &[Copied]) {
    if copies.is_empty() {
        return;
    }
    html.element("div", &[("class", "copies")], |html| {
        html.element("p", &[("class", "controls")], |html| {
            for (i, copied) in copies.iter().enumerate() {
                let id = format!("copy-{i}");
                html.text(
                    "button",
                    &[("type", "button"), ("data-copy", &id)],
                    &format!("Copy {}", copied.name),
                );
            }
        });
        for (i, copied) in copies.iter().enumerate() {
            html.element("details", &[], |html| {
                html.text("summary", &[], &copied.name);
                html.element("pre", &[("id", &format!("copy-{i}")), ("tabindex", "0")], |html| {
                    html.lines(&copied.text);
                });
            });
        }
    });
}

pub(crate) fn policy(html: &mut Html, policy: &[(String, String)]) {
    if policy.is_empty() {
        return;
    }
    html.text("h2", &[], "Policy");
    html.text("p", &[("class", "soft")], "What the metrics mean where definitions differ between tools.");
    html.element("dl", &[("class", "policy")], |html| {
        for (rule, value) in policy {
            html.element("div", &[], |html| {
                html.text("dt", &[], rule);
                html.text("dd", &[], &shown(value));
            });
        }
    });
}

pub(crate) fn section(html: &mut Html, section: &Section) {
    html.text("h2", &[], &shown(&section.title));
    if !section.about.is_empty() {
        html.text("p", &[("class", "soft")], &section.about);
    }
    for (i, plot) in section.plots.iter().enumerate() {
        let class = if i == 0 && section.picks_lists { "pick" } else { "plot" };
        html.element("figure", &[("class", class)], |html| html.plot(plot));
    }
    section.grids.iter().for_each(|table| grid(html, table));
}

/// The table of all lists: empty on the page, and its values as JSON, which the script shows.
pub(crate) fn lists(html: &mut Html, table: &ListTable, detailed: &[usize]) {
    html.text("h2", &[], &format!("Every {}", table.word));
    if !table.left_out.is_empty() {
        let left_out = table.left_out.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ");
        let about = format!("Not in this table, to keep the page small: {left_out}.");
        html.text("p", &[("class", "soft")], &about);
    }
    html.element("noscript", &[], |html| {
        html.text("p", &[], "This table needs JavaScript; the rest of the page does not.");
    });
    html.element("div", &[("id", "lists-controls"), ("hidden", "")], |html| {
        html.element("div", &[("class", "controls")], |html| {
            html.element("label", &[], |html| {
                html.words("Search ");
                html.empty("input", &[("type", "search"), ("id", "lists-search")]);
            });
            html.element("label", &[], |html| {
                html.words("Metric ");
                html.element("select", &[("id", "lists-metric")], |html| {
                    for (i, (name, _)) in table.metrics.iter().enumerate() {
                        html.text("option", &[("value", &i.to_string())], &shown(name));
                    }
                });
            });
            html.element("label", &[], |html| {
                html.words("Show ");
                html.element("select", &[("id", "lists-which")], |html| {
                    let all =
                        [("all", "all"), ("up", "positive differences"), ("down", "negative differences")];
                    for (value, text) in &all[..if table.runs.len() > 1 { 3 } else { 1 }] {
                        html.text("option", &[("value", value)], text);
                    }
                });
            });
            html.text("button", &[("type", "button"), ("id", "lists-back")], "Previous");
            html.text("button", &[("type", "button"), ("id", "lists-forth")], "Next");
            html.text("span", &[("id", "lists-count"), ("role", "status")], "");
        });
        html.element("div", WIDE, |html| {
            html.element("table", &[], |html| {
                html.text(
                    "caption",
                    &[],
                    "Choose the head of a column to sort by it. A name that is a link leads to its rankings.",
                );
                html.element("thead", &[], |html| html.text("tr", &[("id", "lists-head")], ""));
                html.text("tbody", &[("id", "lists-body")], "");
            });
        });
    });
    let unit = 10_f64.powi(DIGITS);
    // Rounded to the decimals that are shown: whole numbers take half of the space.
    let values = |values: &Vec<f64>| {
        let number =
            |value: &f64| if value.is_finite() { json!((value * unit).round() as i64) } else { json!(null) };
        values.iter().map(number).collect::<serde_json::Value>()
    };
    let names = |names: &[String]| {
        names
            .iter()
            .map(|name| json!(shown(&toprank_core::text::visible(name))))
            .collect::<serde_json::Value>()
    };
    let data = json!({
        "word": table.word,
        "names": names(&table.names),
        "runs": names(&table.runs),
        "digits": DIGITS,
        "detailed": detailed,
        "values": table.metrics.iter().flat_map(|(_, runs)| runs).map(values).collect::<Vec<_>>(),
    });
    html.element("script", &[("type", "application/json"), ("id", "lists-data")], |html| html.json(&data));
}

pub(crate) fn rankings(html: &mut Html, rankings: &[SideBySide]) {
    if rankings.is_empty() {
        return;
    }
    html.text(
        "h2",
        &[],
        if rankings.len() > 1 { "Rankings of the lists that differ most" } else { "Rankings side by side" },
    );
    let about = "The number before an item is its label; – is not judged. Resting the pointer on an item shows where the other runs \
                 have it.";
    html.text("p", &[("class", "soft")], about);
    for ranking in rankings {
        side_by_side(html, ranking);
    }
}

fn side_by_side(html: &mut Html, ranking: &SideBySide) {
    html.element("details", &[("id", &format!("list-{}", ranking.list))], |html| {
        html.text("summary", &[], &ranking.summary);
        let longest = ranking.runs.iter().map(|(_, items)| items.len()).max().unwrap_or(0);
        // Equal items of two runs are found by number: names may be long.
        let mut known: Vec<&str> = Vec::new();
        let number = |name: &str, known: &mut Vec<&str>| known.iter().position(|other| *other == name);
        let mut numbers: Vec<Vec<usize>> = Vec::new();
        for (_, items) in &ranking.runs {
            let of_run = items.iter().map(|item| {
                number(&item.name, &mut known).unwrap_or_else(|| {
                    known.push(&item.name);
                    known.len() - 1
                })
            });
            numbers.push(of_run.collect());
        }
        html.element("div", WIDE, |html| {
            html.element("table", &[], |html| {
                html.element("thead", &[], |html| {
                    html.element("tr", &[], |html| {
                        html.text("th", &[("scope", "col")], "rank");
                        for (name, _) in &ranking.runs {
                            html.text("th", &[("scope", "col"), ("class", "words")], &shown(name));
                        }
                        html.text("th", &[("scope", "col")], "ideal");
                    });
                });
                html.element("tbody", &[], |html| {
                    for place in 0..longest {
                        html.element("tr", &[], |html| {
                            html.text("th", &[("scope", "row")], &(place + 1).to_string());
                            for ((_, items), numbers) in ranking.runs.iter().zip(&numbers) {
                                match items.get(place) {
                                    None => html.text("td", &[], ""),
                                    Some(item) => ranked(html, item, numbers[place]),
                                }
                            }
                            let ideal = ranking.ideal.get(place).map_or(String::new(), ToString::to_string);
                            html.text("td", &[], &ideal);
                        });
                    }
                });
            });
        });
    });
}

fn ranked(html: &mut Html, item: &RankedItem, number: usize) {
    html.element("td", &[("class", "words"), ("data-item", &number.to_string())], |html| {
        let (class, text) = match item.label {
            None => ("grade none", "–".to_string()),
            Some(label) if item.relevant => ("grade relevant", label.to_string()),
            Some(label) => ("grade", label.to_string()),
        };
        html.text("span", &[("class", class)], &text);
        html.words(&shown(&item.name));
    });
}

pub(crate) fn methods(html: &mut Html, methods: &[String]) {
    if methods.is_empty() {
        return;
    }
    html.text("h2", &[], "How it was computed");
    html.element("ul", &[], |html| methods.iter().for_each(|line| html.text("li", &[], line)));
}

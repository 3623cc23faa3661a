use super::intervals::{names_axis, names_height};
use crate::chart::{Axis, Direction, Figure, Mark, Panel};
use crate::colour::{BLUE, INK, Look};
use crate::scale::Scale;
use crate::{IntervalRow, Plot};

/// Most rows that are drawn.
const MOST_ROWS: usize = 40;

/// Horizontal bars from 0, the largest value on top, such as the importance of features; intervals are whiskers. Rows with a number
/// that is not finite are skipped; equal values keep their order. Beyond 40 rows the largest are drawn, and the plot says so.
///
/// ```
/// use toprank_plots::{ranked_bars, IntervalRow};
/// let row = |name: &str, value: f64| IntervalRow { name: name.into(), value, low: value, high: value };
/// let svg = ranked_bars("importance of features", "gain", &[row("length", 1.0), row("bm25", 3.0)]).svg().to_string();
/// assert!(svg.find(">bm25<") < svg.find(">length<"));
/// ```
pub fn ranked_bars(title: &str, axis: &str, rows: &[IntervalRow]) -> Plot {
    let mut rows: Vec<&IntervalRow> = rows.iter().filter(|row| row.is_finite()).collect();
    rows.sort_by(|a, b| b.value.total_cmp(&a.value));
    let all = rows.len();
    rows.truncate(MOST_ROWS);
    let n = rows.len();
    let place = |i: usize| (n - 1 - i) as f64;
    let ends = rows.iter().flat_map(|row| [row.low, row.value, row.high]);
    let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    // Bars begin at the edge, unless some are below 0; without a bar the axis begins at 0, too.
    let ends = if low == high { [0.0, 1.0] } else { [low * 1.05, high * 1.05] };
    let x = Axis::new(axis, Scale::linear(ends, 0.0));
    let mut panel = Panel::new(x, names_axis(rows.iter().map(|row| row.name.clone()).collect()));
    let bars = rows.iter().enumerate().map(|(i, row)| [0.0, row.value, place(i) - 0.34, place(i) + 0.34]);
    panel.marks.push(Mark::Bars { bars: bars.collect(), colour: BLUE, opacity: 1.0 });
    let wide = rows.iter().enumerate().filter(|(_, row)| row.has_width());
    let intervals =
        wide.map(|(i, row)| (place(i), row.low.min(row.value), row.high.max(row.value))).collect();
    panel.marks.push(Mark::Whiskers { intervals, colour: INK, direction: Direction::Horizontal });
    let look = Look::solid(INK);
    panel.marks.push(Mark::Rule { at: 0.0, look, direction: Direction::Vertical, label: String::new() });
    panel.empty = n == 0;
    let mut figure = Figure::of(title, panel);
    figure.height = names_height(n);
    if all > n {
        figure.subtitle = format!("the {n} largest of {all}");
    }
    figure.draw()
}

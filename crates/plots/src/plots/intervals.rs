use crate::chart::{Axis, Direction, Figure, Mark, Panel, Ticks};
use crate::colour::{BLUE, Look};
use crate::draw::Fill;
use crate::scale::Scale;
use crate::{IntervalRow, Plot};

/// A point and its interval per row, the first row on top, with a line at 0 where 0 is within the axis (a forest plot). Rows with a
/// number that is not finite are skipped.
///
/// ```
/// use toprank_plots::{intervals, IntervalRow};
/// let row = IntervalRow { name: "bm25".into(), value: 0.4, low: 0.35, high: 0.46 };
/// assert!(intervals("runs with 95 % intervals", "ndcg@10", &[row]).svg().contains("bm25"));
/// ```
pub fn intervals(title: &str, axis: &str, rows: &[IntervalRow]) -> Plot {
    let rows: Vec<&IntervalRow> = rows.iter().filter(|row| row.is_finite()).collect();
    let n = rows.len();
    let place = |i: usize| (n - 1 - i) as f64;
    let ends = rows.iter().flat_map(|row| [row.low, row.value, row.high]);
    let x = Axis::new(axis, Scale::linear(ends, 0.06));
    let mut panel = Panel::new(x, names_axis(rows.iter().map(|row| row.name.clone()).collect()));
    if panel.x.scale.contains(0.0) {
        let look = Look::REFERENCE;
        panel.marks.push(Mark::Rule { at: 0.0, look, direction: Direction::Vertical, label: String::new() });
    }
    let wide = rows.iter().enumerate().filter(|(_, row)| row.has_width());
    let intervals =
        wide.map(|(i, row)| (place(i), row.low.min(row.value), row.high.max(row.value))).collect();
    panel.marks.push(Mark::Whiskers { intervals, colour: BLUE, direction: Direction::Horizontal });
    let points = rows.iter().enumerate().map(|(i, row)| (row.value, place(i))).collect();
    panel.marks.push(Mark::Dots { points, colour: BLUE, fill: Fill::Full });
    panel.empty = n == 0;
    let mut figure = Figure::of(title, panel);
    figure.height = names_height(n);
    figure.draw()
}

/// The y axis of named rows, the first one on top.
pub(super) fn names_axis(names: Vec<String>) -> Axis {
    let n = names.len().max(1) as f64;
    let mut axis = Axis::new("", Scale::linear([-0.6, n - 0.4], 0.0));
    axis.ticks = Ticks::Names(names);
    axis
}

/// Height of a frame with that many named rows.
pub(super) fn names_height(rows: usize) -> f64 {
    match rows {
        0..=2 => 90.0,
        3..=12 => 30.0 * rows as f64 + 10.0,
        _ => 22.0 * rows as f64 + 106.0,
    }
}

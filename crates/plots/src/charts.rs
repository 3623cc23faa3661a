//! The charts: from numbers to scenes of the drawing library.

use crate::Plot;
use kuva::plot::{Histogram, LegendEntry, LegendPosition, LegendShape, LinePlot, LineStyle, ScatterPlot};
use kuva::render::annotations::{ReferenceLine, TextAnnotation};
use kuva::render::layout::{Layout, TickFormat};
use kuva::render::plots::Plot as Drawn;
use kuva::render::render::{Primitive, Scene, render_multiple};
use std::sync::Arc;

/// The colours of Okabe and Ito, dark ones first; yellow is omitted, since it is hard to see on white.
pub(crate) const COLOURS: [&str; 7] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
const BETTER: &str = COLOURS[0];
const WORSE: &str = COLOURS[1];

/// Most bars that are drawn: more would be narrower than a pixel, so evenly spaced ones of the sorted values represent all.
const MOST_BARS: usize = 600;

/// Longest legend entry or axis name of a run; longer names are truncated.
const LONGEST_NAME: usize = 40;

/// One named curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Points (x, y) in the order they are joined; points that are not finite are skipped.
    pub points: Vec<(f64, f64)>,
}

/// One run with its interval.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalRow {
    /// Name of the run.
    pub name: String,
    /// The point, such as the mean.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Per-list differences of two runs: bars sorted from the largest win to the largest loss, with a line at 0.
///
/// `axis` names the difference, such as `ndcg@10: new − old`. The legend counts lists above, at and below 0.
/// Beyond 600 lists, evenly spaced ones of the sorted values represent all; the first and the last are kept.
/// Cost: O(n log n).
///
/// ```
/// let plot = toprank_plots::differences("new against old", "ndcg@10: new − old", &[0.2, -0.1, 0.0]);
/// assert!(plot.svg().contains("1 better"));
/// ```
pub fn differences(title: &str, axis: &str, values: &[f64]) -> Plot {
    let mut sorted = finite(values);
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let n = sorted.len();
    let better = sorted.iter().filter(|v| **v > 0.0).count();
    let worse = sorted.iter().filter(|v| **v < 0.0).count();
    let bars: Vec<f64> = match n {
        0..=MOST_BARS => sorted,
        _ => (0..MOST_BARS).map(|bar| sorted[bar * (n - 1) / (MOST_BARS - 1)]).collect(),
    };
    let width = n as f64 / bars.len().max(1) as f64;
    // Few bars have gaps; many overlap slightly, otherwise their anti-aliased edges would show as stripes.
    let (left, right) = if bars.len() <= 60 { (0.12, 0.88) } else { (0.0, 1.0 + bars.len() as f64 / 1200.0) };
    let of_sign = |keep: fn(f64) -> bool, colour: &str| {
        let (mut edges, mut heights) = (Vec::new(), Vec::new());
        for (bar, &value) in bars.iter().enumerate().filter(|(_, value)| keep(**value)) {
            if !edges.is_empty() {
                heights.push(0.0);
            }
            edges.extend([(bar as f64 + left) * width, (bar as f64 + right) * width]);
            heights.push(value);
        }
        Drawn::from(Histogram::from_bins(edges, heights).with_color(colour))
    };
    let drawn = vec![of_sign(|v| v > 0.0, BETTER), of_sign(|v| v < 0.0, WORSE)];
    let layout = Layout::new((0.0, n.max(1) as f64), padded(bars.iter().copied().chain([0.0]), 0.06))
        .with_x_label("lists, sorted by difference")
        .with_x_tick_format(integers())
        .with_reference_line(
            ReferenceLine::horizontal(0.0).with_color("black").with_dasharray("").with_stroke_width(1.2),
        );
    let equal = n - better - worse;
    let legend = [
        (format!("{better} better"), BETTER, LegendShape::Rect, None),
        (format!("{equal} equal"), "#999999", LegendShape::Line, None),
        (format!("{worse} worse"), WORSE, LegendShape::Rect, None),
    ];
    finish(drawn, with_legend(layout, legend), title, axis, n == 0)
}

/// The distribution of `values` over `bins` bars of equal width (at least 1, at most 200).
///
/// ```
/// let plot = toprank_plots::histogram("labels", "label", &[0.0, 0.0, 1.0, 2.0], 3);
/// assert!(plot.svg().contains("labels"));
/// ```
pub fn histogram(title: &str, axis: &str, values: &[f64], bins: usize) -> Plot {
    let values = finite(values);
    let bins = bins.clamp(1, 200);
    let (low, high) = padded(values.iter().copied(), 0.0);
    let width = (high - low) / bins as f64;
    let mut counts = vec![0.0; bins];
    for value in &values {
        // The last bar includes its upper edge.
        counts[(((value - low) / width) as usize).min(bins - 1)] += 1.0;
    }
    let most = counts.iter().copied().fold(1.0, f64::max);
    let edges = (0..=bins).map(|edge| low + width * edge as f64).collect();
    let drawn = vec![Drawn::from(Histogram::from_bins(edges, counts).with_color(BETTER))];
    let layout =
        Layout::new((low, high), (0.0, most * 1.06)).with_x_label(plain(axis)).with_y_tick_format(integers());
    finish(drawn, layout, title, "count", values.is_empty())
}

/// Named curves over common axes.
///
/// Colours repeat after 7 curves; dashes change with each round, so no two of the first 28 look the same.
///
/// ```
/// use toprank_plots::{curves, Series};
/// let ours = Series { name: "song".into(), points: vec![(1.0, 0.3), (2.0, 0.4)] };
/// assert!(curves("learning", "epoch", "ndcg@10", &[ours]).svg().contains("song"));
/// ```
pub fn curves(title: &str, x_axis: &str, y_axis: &str, series: &[Series]) -> Plot {
    let points = |series: &Series| -> Vec<(f64, f64)> {
        series.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
    };
    let styles = [LineStyle::Solid, LineStyle::Dashed, LineStyle::Dotted, LineStyle::DashDot];
    let mut drawn = Vec::new();
    let mut legend = Vec::new();
    let mut all: Vec<(f64, f64)> = Vec::new();
    for (i, series) in series.iter().enumerate() {
        let points = points(series);
        let colour = COLOURS[i % COLOURS.len()];
        let style = &styles[i / COLOURS.len() % styles.len()];
        legend.push((short(&series.name), colour, LegendShape::Line, style.dasharray()));
        all.extend(&points);
        if points.len() == 1 {
            drawn.push(Drawn::from(ScatterPlot::new().with_data(points).with_color(colour).with_size(4.0)));
        } else {
            let line = LinePlot::new().with_data(points).with_color(colour).with_stroke_width(2.0);
            drawn.push(Drawn::from(line.with_line_style(style.clone())));
        }
    }
    let x_range = padded(all.iter().map(|point| point.0), 0.0);
    let layout =
        Layout::new(x_range, padded(all.iter().map(|point| point.1), 0.06)).with_x_label(plain(x_axis));
    finish(drawn, with_legend(layout, legend), title, y_axis, all.is_empty())
}

/// A point and its interval per run, the first run on top. Rows with a number that is not finite are skipped.
///
/// ```
/// use toprank_plots::{intervals, IntervalRow};
/// let row = IntervalRow { name: "bm25".into(), value: 0.4, low: 0.35, high: 0.46 };
/// assert!(intervals("runs", "ndcg@10", &[row]).svg().contains("bm25"));
/// ```
pub fn intervals(title: &str, axis: &str, rows: &[IntervalRow]) -> Plot {
    let usable = |row: &&IntervalRow| [row.value, row.low, row.high].iter().all(|v| v.is_finite());
    let rows: Vec<&IntervalRow> = rows.iter().filter(usable).collect();
    let n = rows.len();
    // The axis counts rows from the bottom.
    let place = |i: usize| (n - i) as f64;
    let errors = rows.iter().map(|row| ((row.value - row.low).max(0.0), (row.high - row.value).max(0.0)));
    let points = rows.iter().enumerate().map(|(i, row)| (row.value, place(i)));
    let dots =
        ScatterPlot::new().with_data(points).with_x_err_asymmetric(errors).with_color(BETTER).with_size(5.0);
    let ends = rows.iter().flat_map(|row| [row.low, row.value, row.high]);
    let mut layout = Layout::new(padded(ends, 0.06), (0.4, n.max(1) as f64 + 0.6))
        .with_x_label(plain(axis))
        .with_y_categories(rows.iter().rev().map(|row| short(&row.name)).collect())
        .with_height(140.0 + 36.0 * n.clamp(2, 60) as f64);
    if n == 0 {
        layout = layout.with_y_categories(vec![String::new()]);
    }
    finish(vec![Drawn::from(dots)], layout, title, "", n == 0)
}

/// Title, y axis and size are set in the same way for every chart; an empty chart says so.
fn finish(drawn: Vec<Drawn>, layout: Layout, title: &str, y_axis: &str, empty: bool) -> Plot {
    let middle = |range: (f64, f64)| f64::midpoint(range.0, range.1);
    let ((left, right), (bottom, top)) = (layout.x_range, layout.y_range);
    let (x, y) = (middle(layout.x_range), middle(layout.y_range));
    let height = layout.height.unwrap_or(440.0);
    let mut layout = layout
        .with_title(plain(title))
        .with_title_wrap(64)
        .with_width(760.0)
        .with_height(height)
        .with_x_axis_min(left)
        .with_x_axis_max(right)
        .with_y_axis_min(bottom)
        .with_y_axis_max(top)
        // Beyond wide tick labels.
        .with_y_label_offset(-4.0, 0.0);
    if !y_axis.is_empty() {
        layout = layout.with_y_label(plain(y_axis));
    }
    if empty {
        layout = layout.with_annotation(TextAnnotation::new("no values", x, y));
    }
    Plot { scene: with_fixed_clip_names(render_multiple(drawn, layout)) }
}

/// The drawing library numbers clip paths by a counter of the process; here they are numbered per plot, so that a
/// plot does not depend on the plots drawn before it.
pub(crate) fn with_fixed_clip_names(mut scene: Scene) -> Scene {
    let mut count = 0;
    for element in &mut scene.elements {
        if let Primitive::ClipStart { id, .. } = element {
            let name = format!("clip-{count}");
            count += 1;
            for definition in &mut scene.defs {
                *definition = definition.replace(&format!("\"{id}\""), &format!("\"{name}\""));
            }
            *id = name;
        }
    }
    scene
}

/// Counts have no fractions: ticks between integers have no label.
fn integers() -> TickFormat {
    TickFormat::Custom(Arc::new(|v| if v.fract().abs() < 1e-9 { format!("{v:.0}") } else { String::new() }))
}

type LegendLine<'a> = (String, &'a str, LegendShape, Option<String>);

fn with_legend<'a>(layout: Layout, lines: impl IntoIterator<Item = LegendLine<'a>>) -> Layout {
    let entry = |(label, colour, shape, dasharray): LegendLine| LegendEntry {
        label,
        color: colour.to_string(),
        shape,
        dasharray,
    };
    layout
        .with_legend_entries(lines.into_iter().map(entry).collect())
        .with_legend_position(LegendPosition::OutsideRightTop)
        .with_legend_box(false)
}

fn finite(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|v| v.is_finite()).collect()
}

/// Smallest and largest value, widened by a fraction of the width; never empty, never of width 0.
fn padded(values: impl Iterator<Item = f64>, fraction: f64) -> (f64, f64) {
    // Numbers beyond these cannot be scaled to pixels without overflow.
    let (low, high) = values
        .map(|v| v.clamp(-1e150, 1e150))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return (0.0, 1.0);
    }
    let width = high - low;
    if width <= 1e-12 * high.abs().max(low.abs()) || width == 0.0 {
        let half = (high.abs() * 0.5).max(0.5);
        return (low - half, high + half);
    }
    (low - width * fraction, high + width * fraction)
}

/// Text without markup: the drawing library reads `$…$` as mathematics, XML has no control characters, and a name must not turn
/// the direction of the text around it.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '$' => out.push_str("\\$"),
            c if c.is_control() || turns_text(c) || matches!(c, '\u{FFFE}' | '\u{FFFF}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// True of marks, embeddings, overrides and isolates of bidirectional text, and of separators of lines and paragraphs.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// A name truncated to what fits beside a plot.
pub(crate) fn short(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return plain(name);
    }
    let head: String = name.chars().take(LONGEST_NAME - 1).collect();
    plain(&head) + "…"
}

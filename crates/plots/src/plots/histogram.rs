use crate::Plot;
use crate::chart::{Axis, Figure, Mark, Panel, Ticks};
use crate::colour::BLUE;
use crate::scale::Scale;

/// The distribution of `values` over `bins` bars of equal width (at least 1, at most 200).
///
/// ```
/// let plot = toprank_plots::histogram("labels", "label", &[0.0, 0.0, 1.0, 2.0], 3);
/// assert!(plot.svg().contains("labels"));
/// ```
pub fn histogram(title: &str, axis: &str, values: &[f64], bins: usize) -> Plot {
    let values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let bins = bins.clamp(1, 200);
    let scale = Scale::linear(values.iter().copied(), 0.0);
    let mut counts = vec![0_u64; bins];
    for &value in &values {
        // The last bar includes its upper edge.
        counts[((scale.place(value) * bins as f64) as usize).min(bins - 1)] += 1;
    }
    let width = (scale.high() - scale.low()) / bins as f64;
    let edge = |bin: usize, inside: f64| scale.low() + width * (bin as f64 + inside);
    let gap = if bins <= 60 { 0.03 } else { 0.0 };
    let bars = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let bars = bars.map(|(bin, &count)| [edge(bin, gap), edge(bin, 1.0 - gap), 0.0, count as f64]).collect();
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let mut y = Axis::new("count", Scale::linear([0.0, most * 1.05], 0.0));
    y.ticks = Ticks::Integers;
    let mut panel = Panel::new(Axis::new(axis, scale), y);
    panel.marks = vec![Mark::Bars { bars, colour: BLUE, opacity: 1.0 }];
    panel.empty = values.is_empty();
    Figure::of(title, panel).draw()
}

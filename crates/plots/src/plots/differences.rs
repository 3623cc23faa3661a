use crate::chart::{Axis, Direction, Figure, Mark, Panel, Ticks};
use crate::colour::{BLUE, INK, Look, SOFT, VERMILION};
use crate::legend::Sample;
use crate::scale::Scale;
use crate::{Better, Plot};

/// Most bars that are drawn: more would be narrower than a pixel, so evenly spaced ones of the sorted values represent all.
const MOST_BARS: usize = 600;

/// Per-list differences of two runs: bars sorted from the largest to the smallest, with a line at 0.
///
/// `axis` names the difference, such as `ndcg@10: new − old`. The legend counts lists that are better, equal and worse; `better`
/// says which sign is better. Beyond 600 lists, evenly spaced ones of the sorted values represent all; the first and the last are
/// kept. Cost: O(n log n).
///
/// ```
/// use toprank_plots::{Better, differences};
/// let plot = differences("new against old", "ndcg@10: new − old", &[0.2, -0.1, 0.0], Better::Higher);
/// assert!(plot.svg().contains("1 better"));
/// ```
pub fn differences(title: &str, axis: &str, values: &[f64], better: Better) -> Plot {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let n = sorted.len();
    let above = sorted.iter().filter(|v| **v > 0.0).count();
    let below = sorted.iter().filter(|v| **v < 0.0).count();
    let shown: Vec<f64> = match n {
        0..=MOST_BARS => sorted,
        _ => (0..MOST_BARS).map(|bar| sorted[bar * (n - 1) / (MOST_BARS - 1)]).collect(),
    };
    let width = n as f64 / shown.len().max(1) as f64;
    // Few bars have gaps; many would be stripes.
    let gap = if shown.len() <= 60 { 0.12 } else { 0.0 };
    let bars_of = |keep: fn(f64) -> bool| -> Vec<[f64; 4]> {
        let kept = shown.iter().enumerate().filter(|(_, value)| keep(**value));
        kept.map(|(bar, &value)| [(bar as f64 + gap) * width, (bar as f64 + 1.0 - gap) * width, 0.0, value])
            .collect()
    };
    let (up, down) = match better {
        Better::Higher => (BLUE, VERMILION),
        Better::Lower => (VERMILION, BLUE),
    };
    let (wins, losses) = match better {
        Better::Higher => (above, below),
        Better::Lower => (below, above),
    };
    let mut x = Axis::new("lists, sorted by difference", Scale::linear([0.0, n.max(1) as f64], 0.0));
    x.ticks = Ticks::Integers;
    let y = Axis::new(axis, Scale::linear(shown.iter().copied().chain([0.0]), 0.05));
    let mut panel = Panel::new(x, y);
    panel.marks = vec![
        Mark::Bars { bars: bars_of(|v| v > 0.0), colour: up, opacity: 1.0 },
        Mark::Bars { bars: bars_of(|v| v < 0.0), colour: down, opacity: 1.0 },
        Mark::Rule {
            at: 0.0,
            look: Look::solid(INK),
            direction: Direction::Horizontal,
            label: String::new(),
        },
    ];
    panel.legend = vec![
        (format!("{wins} better"), Sample::Bar(BLUE, 1.0)),
        (format!("{} equal", n - above - below), Sample::Line(Look::solid(SOFT))),
        (format!("{losses} worse"), Sample::Bar(VERMILION, 1.0)),
    ];
    panel.empty = n == 0;
    Figure::of(title, panel).draw()
}

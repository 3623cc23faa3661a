use crate::Plot;
use crate::chart::{Axis, Direction, Figure, Join, Mark, Panel, Side};
use crate::colour::{Look, SOFT};
use crate::draw::Fill;
use crate::legend::Sample;
use crate::scale::Scale;

/// One bin of a reliability diagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReliabilityPoint {
    /// Mean probability.
    pub probability: f64,
    /// Fraction of relevant items.
    pub fraction: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// A reliability diagram: the fraction of relevant items against the mean predicted probability of each bin; calibrated
/// probabilities are on the diagonal.
///
/// Both axes have the same range, which ends where the values do. Where relevant items are rare, so that most bins would lie in a
/// corner, both axes are logarithmic; a bin without a relevant item is then a circle at the lower end.
///
/// ```
/// use toprank_plots::{ReliabilityPoint, reliability};
/// let point = ReliabilityPoint { probability: 0.2, fraction: 0.25, low: 0.1, high: 0.4 };
/// let plot = reliability("model", "10 bins", &[("a".into(), vec![point])]);
/// assert!(plot.svg().contains("fraction of relevant items"));
/// ```
pub fn reliability(title: &str, subtitle: &str, runs: &[(String, Vec<ReliabilityPoint>)]) -> Plot {
    let usable = |p: &&ReliabilityPoint| {
        [p.probability, p.fraction, p.low, p.high].iter().all(|value| value.is_finite())
    };
    let all = || runs.iter().flat_map(|run| &run.1).filter(usable);
    let log = is_rare(all().map(|point| point.probability).collect());
    let most = all().flat_map(|point| [point.probability, point.high]).fold(0.02, f64::max).min(1.0);
    let scale = if log {
        // Ends of intervals may be far below all that is drawn otherwise.
        Scale::log(all().flat_map(|point| [point.probability, point.fraction]).chain([most]), 1.25)
    } else {
        Scale::linear([0.0, if most > 0.6 { 1.0 } else { most * 1.05 }], 0.0)
    };
    let axis =
        |label: &str| Axis::new(&if log { format!("{label} (log scale)") } else { label.to_string() }, scale);
    let mut panel = Panel::new(axis("mean predicted probability"), axis("fraction of relevant items"));
    let [low, high] = [scale.low(), scale.high()];
    panel.marks.push(Mark::reference((low, low), (high, high)));
    let mut none_relevant = false;
    for (i, (name, points)) in runs.iter().enumerate() {
        let look = Look::of(i);
        let points: Vec<&ReliabilityPoint> = points.iter().filter(usable).collect();
        let places: Vec<(f64, f64)> = points.iter().map(|p| (p.probability, p.fraction)).collect();
        let intervals = points.iter().map(|p| (p.probability, p.low.min(p.fraction), p.high.max(p.fraction)));
        let (none, some): (Vec<_>, Vec<_>) = places.iter().partition(|place| log && place.1 <= 0.0);
        none_relevant |= !none.is_empty();
        panel.marks.push(Mark::Line {
            points: some.clone(),
            look,
            join: Join::Straight,
            side: Side::Left,
            width: 1.2,
        });
        let colour = look.colour;
        let direction = Direction::Vertical;
        panel.marks.push(Mark::Whiskers { intervals: intervals.collect(), colour, direction });
        panel.marks.push(Mark::Dots { points: some, colour, fill: Fill::Full });
        panel.marks.push(Mark::Dots { points: none, colour, fill: Fill::Hollow });
        panel.legend.push((name.clone(), Sample::Line(look)));
    }
    panel.legend.push(("calibrated".into(), Sample::Line(Look::REFERENCE)));
    if none_relevant {
        panel.legend.push(("no relevant item in the bin".into(), Sample::Dot(SOFT, Fill::Hollow)));
    }
    panel.empty = all().next().is_none();
    Figure {
        title: title.into(),
        subtitle: subtitle.into(),
        panels: vec![panel],
        width: 560.0,
        height: 420.0,
    }
    .draw()
}

/// True if the middle one of the bins has less than a tenth of the largest probability.
fn is_rare(mut probabilities: Vec<f64>) -> bool {
    probabilities.sort_by(f64::total_cmp);
    let middle = probabilities.get(probabilities.len() / 2).copied().unwrap_or(0.0);
    probabilities.last().is_some_and(|&most| middle < 0.1 * most)
}

//! The plots, one file each: what is drawn, not how.

mod class_curves;
mod curves;
mod differences;
mod histogram;
mod intervals;
mod learning_curves;
mod ranked_bars;
mod reliability;
mod trials;

pub use class_curves::{ClassCurves, Emphasis, class_curves};
pub use curves::curves;
pub use differences::differences;
pub use histogram::histogram;
pub use intervals::intervals;
pub use learning_curves::{Best, learning_curves};
pub use ranked_bars::ranked_bars;
pub use reliability::{ReliabilityPoint, reliability};
pub use trials::{Trial, trials};

/// One named curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Points (x, y) in the order they are joined; points that are not finite are skipped.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// The points that can be drawn.
    fn finite(&self) -> impl Iterator<Item = (f64, f64)> + Clone {
        self.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite())
    }
}

/// A named value with its interval.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalRow {
    /// Name of the run, the feature, …
    pub name: String,
    /// The point, such as the mean.
    pub value: f64,
    /// Lower end; equal to `value` if there is no interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl IntervalRow {
    fn is_finite(&self) -> bool {
        [self.value, self.low, self.high].iter().all(|v| v.is_finite())
    }

    fn has_width(&self) -> bool {
        self.low < self.value || self.high > self.value
    }
}

/// Which values of a metric are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// As of NDCG.
    Higher,
    /// As of a loss.
    Lower,
}

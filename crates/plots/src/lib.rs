//! **How are results drawn?** From numbers to SVG, by one small chart module of our own; as PNG with the feature `png`.
//!
//! Each function takes numbers and returns a [`Plot`]:
//!
//! - [`differences`]: per-list differences of two runs, sorted, wins and losses coloured;
//! - [`histogram`]: the distribution of values;
//! - [`curves`]: named series over common axes;
//! - [`learning_curves`]: training loss and validation metrics on two axes, the best epoch marked;
//! - [`trials`]: the results of a search for settings, with the best so far;
//! - [`intervals`]: a point and its interval per row (a forest plot);
//! - [`ranked_bars`]: named values, the largest first (importance of features);
//! - [`class_curves`]: ROC and precision-recall curves of several runs, a partial region shaded;
//! - [`reliability`]: the fraction of relevant items against the predicted probability.
//!
//! Invariants:
//! - the same numbers give the same bytes of SVG; a PNG depends on the fonts of the system, too;
//! - colours are those of Okabe and Ito, which colour-blind readers can distinguish; curves also differ in dashes; the plot follows
//!   the reader's light or dark scheme;
//! - any input can be drawn: values that are not finite are skipped, an empty plot says so, and text is never markup;
//! - a plot has a title and a description for those who cannot see it, and no ids, so several can be part of one HTML page.
//!
//! Inside: `svg` writes elements, `scale` lays values out and finds round numbers, `chart` lays out figures of `frame`s (axes
//! and marks) and `legend`s, `plots` has one file per plot.

mod chart;
mod colour;
mod draw;
mod error;
mod frame;
mod legend;
mod plots;
#[cfg(feature = "png")]
mod png;
mod scale;
mod svg;
mod text;

pub use error::PlotError;
pub use plots::{
    Best, Better, ClassCurves, Emphasis, IntervalRow, ReliabilityPoint, Series, Trial, class_curves, curves,
    differences, histogram, intervals, learning_curves, ranked_bars, reliability, trials,
};

use std::path::Path;

/// A drawn plot.
///
/// ```
/// let plot = toprank_plots::histogram("list lengths", "items", &[3.0, 5.0, 5.0, 9.0], 4);
/// assert!(plot.svg().starts_with("<svg"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    svg: String,
}

/// What a file is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Svg,
    #[cfg(feature = "png")]
    Png,
}

/// The format that the name of a file asks for.
fn format_of(path: &Path) -> Result<Format, PlotError> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("svg") => Ok(Format::Svg),
        #[cfg(feature = "png")]
        Some("png") => Ok(Format::Png),
        #[cfg(not(feature = "png"))]
        Some("png") => Err(PlotError::no_png(path)),
        _ => Err(PlotError::extension(path)),
    }
}

/// Says whether [`Plot::save`] can write a file of this name, before there is a plot.
///
/// ```
/// assert!(toprank_plots::check_name("plot.svg".as_ref()).is_ok());
/// let error = toprank_plots::check_name("plot.pdf".as_ref()).unwrap_err();
/// assert_eq!(error.to_string(), "plot.pdf: expected a name that ends in .svg or .png, but it ends in .pdf");
/// ```
pub fn check_name(path: &Path) -> Result<(), PlotError> {
    format_of(path).map(|_| ())
}

impl Plot {
    fn new(svg: String) -> Plot {
        Plot { svg }
    }

    /// The plot as SVG text, which may stand in a file of its own or in an HTML page.
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// The plot as PNG bytes.
    #[cfg(feature = "png")]
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        png::render(&self.svg)
    }

    /// Writes the plot to a file whose name ends in `.svg`, or in `.png` with the feature `png`.
    pub fn save(&self, path: &Path) -> Result<(), PlotError> {
        let written = match format_of(path)? {
            Format::Svg => std::fs::write(path, &self.svg),
            #[cfg(feature = "png")]
            Format::Png => std::fs::write(path, self.png()?),
        };
        written.map_err(|source| PlotError::write(path, source))
    }
}

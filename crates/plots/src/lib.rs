//! **How are results drawn?** From numbers to SVG and PNG, behind a small interface of our own.
//!
//! Each function takes numbers and returns a [`Plot`], which is saved as SVG or PNG:
//!
//! - [`differences`]: per-list differences of two runs, sorted, wins and losses coloured;
//! - [`histogram`]: the distribution of values;
//! - [`curves`]: named series over a common axis (learning curves);
//! - [`intervals`]: a point and its interval per run;
//! - [`class_curves`]: ROC and precision-recall curves of several runs, a partial region shaded;
//! - [`reliability`]: the fraction of relevant items against the predicted probability.
//!
//! Invariants:
//! - the same numbers give the same bytes; the PNG uses an embedded font, no system font;
//! - colours are those of Okabe and Ito, which colour-blind readers can distinguish; curves also differ in dashes;
//! - any input can be drawn: values that are not finite are skipped, an empty plot says so, and text is never markup;
//! - no type of the drawing library is part of the interface.

mod charts;
mod classification;
mod error;

pub use charts::{IntervalRow, Series, curves, differences, histogram, intervals};
pub use classification::{ClassCurves, Emphasis, ReliabilityPoint, class_curves, reliability};
pub use error::PlotError;

use kuva::backend::raster::RasterBackend;
use kuva::backend::svg::SvgBackend;
use kuva::render::render::Scene;
use std::path::Path;

/// A drawn plot.
///
/// ```
/// let plot = toprank_plots::histogram("list lengths", "items", &[3.0, 5.0, 5.0, 9.0], 4);
/// assert!(plot.svg().starts_with("<svg"));
/// ```
pub struct Plot {
    scene: Scene,
}

/// Pixels per unit of the SVG: sharp on dense screens and in print.
const PNG_SCALE: f32 = 2.0;

impl Plot {
    /// The plot as SVG text.
    pub fn svg(&self) -> String {
        SvgBackend::new().render_scene(&self.scene)
    }

    /// The plot as PNG bytes.
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        RasterBackend::new().with_scale(PNG_SCALE).render_scene(&self.scene).map_err(PlotError::draw)
    }

    /// Writes the plot to a file whose name ends in `.svg` or `.png`.
    ///
    /// ```
    /// let plot = toprank_plots::histogram("lengths", "items", &[3.0], 4);
    /// let error = plot.save("plot.pdf".as_ref()).unwrap_err();
    /// assert_eq!(error.to_string(), "plot.pdf: expected a name that ends in .svg or .png, but it ends in .pdf");
    /// ```
    pub fn save(&self, path: &Path) -> Result<(), PlotError> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let bytes = match extension.as_deref() {
            Some("svg") => self.svg().into_bytes(),
            Some("png") => self.png()?,
            _ => return Err(PlotError::extension(path)),
        };
        std::fs::write(path, bytes).map_err(|source| PlotError::write(path, source))
    }
}

#[cfg(test)]
mod tests;

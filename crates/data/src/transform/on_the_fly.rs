//! A fitted pipeline applied to rows while they are fetched: the data stay as they are, on disk or in memory.

use toprank_core::{Features, ParamError};

use super::Pipeline;
use super::steps::{Step, categories, indicator};
use crate::dataset::Column;

/// Features behind a fitted pipeline: each row is transformed when it is gathered, to the same bits as
/// [`Pipeline::apply`] gives.
///
/// ```
/// use toprank_core::Features;
/// use toprank_data::{Matrix, transform::{OnTheFly, Pipeline, Step}};
/// let data = Matrix::Dense { width: 1, values: vec![1.0, 5.0] };
/// let pipeline = Pipeline { width: 1, steps: vec![Step::Affine { shift: vec![1.0], factor: vec![0.25] }] };
/// let scaled = OnTheFly::new(&data, &[], &pipeline).unwrap();
/// let mut rows = [0.0; 3];
/// scaled.gather(&[1, 0, 1], &mut rows);
/// assert_eq!(rows, [1.0, 0.0, 1.0]);
/// ```
pub struct OnTheFly<'a> {
    inner: &'a dyn Features,
    steps: &'a [Step],
    categories: Vec<bool>,
    width: usize,
}

impl<'a> OnTheFly<'a> {
    /// `inner` behind `pipeline`; `columns` says which features are categories and pass unchanged (none: no
    /// feature is).
    ///
    /// An error if the widths differ, or if a step needs the other items of the list, as `per-list` does.
    pub fn new(
        inner: &'a dyn Features,
        columns: &[Column],
        pipeline: &'a Pipeline,
    ) -> Result<OnTheFly<'a>, ParamError> {
        pipeline.check_width(inner.width())?;
        let mut width = inner.width();
        for step in &pipeline.steps {
            row_wise(matches!(step, Step::PerList { .. }))?;
            step.check(width)?;
            width += step.indicators().len();
        }
        Ok(OnTheFly { inner, steps: &pipeline.steps, categories: categories(columns), width })
    }
}

/// That a transform can be applied to one row alone.
pub(crate) fn row_wise(per_list: bool) -> Result<(), ParamError> {
    if !per_list {
        return Ok(());
    }
    let expected = "a step that looks at one row at a time; per-list needs whole lists in memory: transform the data \
                    before they are converted, or train on the original file";
    Err(ParamError::new("a transform of rows that are fetched one by one", "per-list", expected))
}

impl Features for OnTheFly<'_> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn width(&self) -> usize {
        self.width
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        assert_eq!(out.len(), rows.len() * self.width, "{} numbers a row", self.width);
        let stored = self.inner.width();
        self.inner.gather(rows, &mut out[..rows.len() * stored]);
        // From the last row on: no row is written over before it moved.
        if stored < self.width {
            (0..rows.len()).rev().for_each(|row| {
                out.copy_within(row * stored..(row + 1) * stored, row * self.width);
            });
        }
        if self.width == 0 || self.steps.is_empty() {
            return;
        }
        for row in out.chunks_exact_mut(self.width) {
            let mut width = stored;
            for step in self.steps {
                for &feature in step.indicators() {
                    row[width] = indicator(row, feature);
                    width += 1;
                }
                step.each(&self.categories, row[..width].iter_mut().enumerate());
            }
        }
    }

    fn fault(&self) -> Option<String> {
        self.inner.fault()
    }

    /// The rows before the transforms, which are a function of them.
    fn content(&self, take: &mut dyn FnMut(&[u8])) {
        self.inner.content(take);
    }

    fn recheck(&self) -> Option<String> {
        self.inner.recheck()
    }
}

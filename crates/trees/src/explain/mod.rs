/*!
Why does a model of trees score as it does?

| question | function |
|---|---|
| which features do the trees use, and how much do they gain? | [`gain_importance`], [`split_importance`] |
| which features does a metric need? | [`permutation_importance`] |
| how much does each feature contribute to this score? | [`Shap`] |
| how does the score change with a feature, all else equal? | [`partial_dependence`] |
*/

mod cover;
mod dependence;
mod importance;
mod shap;
mod show;

pub use cover::Cover;
pub use dependence::{grid, partial_dependence};
pub use importance::{Importance, gain_importance, permutation_importance, shuffled, split_importance};
pub use shap::{Explained, Shap};
pub use show::show;

use toprank_core::{Features, ModelError};

use crate::ensemble::Ensemble;

/// Rows gathered at once.
const BLOCK: usize = 1024;

fn check_width(ensemble: &Ensemble, features: &dyn Features) -> Result<(), ModelError> {
    if features.width() == ensemble.width {
        return Ok(());
    }
    let what = format!("rows of {} features", features.width());
    Err(ModelError::new(what, format!("{} features", ensemble.width)))
}

fn check_fault(features: &dyn Features) -> Result<(), ModelError> {
    features.fault().map_or(Ok(()), |fault| Err(ModelError::new(fault, "rows that can be read")))
}

/// Rows with other values in some columns.
///
/// ```
/// use toprank_core::Features;
/// use toprank_data::Matrix;
/// use toprank_trees::explain::{Replaced, With};
/// let rows = Matrix::Dense { width: 2, values: vec![1.0, 2.0, 3.0, 4.0] };
/// let replaced = Replaced { features: &rows, columns: &[1], with: With::Values(&[9.0]) };
/// let mut found = [0.0; 4];
/// replaced.gather(&[1, 0], &mut found);
/// assert_eq!(found, [3.0, 9.0, 1.0, 9.0]);
/// ```
#[derive(Clone, Copy)]
pub struct Replaced<'a> {
    /// The rows.
    pub features: &'a dyn Features,
    /// The columns.
    pub columns: &'a [usize],
    /// What stands there instead.
    pub with: With<'a>,
}

/// What stands in the columns of [`Replaced`].
#[derive(Clone, Copy, Debug)]
pub enum With<'a> {
    /// The same for all rows, one number per column.
    Values(&'a [f32]),
    /// For each column the numbers of all rows.
    Columns(&'a [Vec<f32>]),
}

impl Features for Replaced<'_> {
    fn rows(&self) -> usize {
        self.features.rows()
    }

    fn width(&self) -> usize {
        self.features.width()
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        self.features.gather(rows, out);
        for (&row, values) in rows.iter().zip(out.chunks_exact_mut(self.width())) {
            for (place, &column) in self.columns.iter().enumerate() {
                values[column] = match self.with {
                    With::Values(all) => all[place],
                    With::Columns(all) => all[place][row as usize],
                };
            }
        }
    }

    fn fault(&self) -> Option<String> {
        self.features.fault()
    }

    fn recheck(&self) -> Option<String> {
        self.features.recheck()
    }
}

/// All values of one feature.
fn column(features: &dyn Features, feature: usize) -> Vec<f32> {
    let rows = features.rows();
    let mut column = Vec::with_capacity(rows);
    for first in (0..rows).step_by(BLOCK) {
        let some: Vec<u32> = (first as u32..rows.min(first + BLOCK) as u32).collect();
        let mut values = vec![0.0; some.len()];
        features.gather_part(&some, feature..feature + 1, &mut values);
        column.extend(values);
    }
    column
}

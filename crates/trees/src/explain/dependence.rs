//! Partial dependence: how does the score change with a feature, all else equal?

use toprank_core::{Features, ModelError};

use super::{Replaced, With, check_fault, check_width, column};
use crate::ensemble::Ensemble;

/// The mean score of all rows with one feature set to each of these values: for each value, one number per output.
///
/// A value may be NaN: the mean score where the feature is missing. Cost: O(values) times scoring.
///
/// Source: Friedman, "Greedy function approximation: a gradient boosting machine", section 8.2.
///
/// ```
/// use toprank_data::Matrix;
/// use toprank_trees::{Ensemble, Next, Node, Test, Tree, explain::partial_dependence};
/// let node = Node::new(0, Test::AtMost(0.5), true, Next::Leaf(0), Next::Leaf(1));
/// let model = Ensemble { trees: vec![Tree { nodes: vec![node], leaves: vec![2.0, 4.0] }], ..Ensemble::new(1, 1) };
/// let rows = Matrix::Dense { width: 1, values: vec![0.0, 1.0, 1.0] };
/// assert_eq!(partial_dependence(&model, &rows, 0, &[0.0, 9.0, f32::NAN]).unwrap(), [2.0, 4.0, 2.0]);
/// ```
pub fn partial_dependence(
    ensemble: &Ensemble,
    features: &dyn Features,
    feature: usize,
    values: &[f32],
) -> Result<Vec<f64>, ModelError> {
    ensemble.check()?;
    check_width(ensemble, features)?;
    check_feature(feature, ensemble.width)?;
    if features.rows() == 0 {
        return Err(ModelError::new("no rows", "rows to take the mean over"));
    }
    let mut means = Vec::with_capacity(values.len() * ensemble.outputs);
    for &value in values {
        let scores =
            ensemble.score(&Replaced { features, columns: &[feature], with: With::Values(&[value]) })?;
        for output in 0..ensemble.outputs {
            let sum: f64 = scores.iter().skip(output).step_by(ensemble.outputs).sum();
            means.push(sum / features.rows() as f64);
        }
    }
    Ok(means)
}

/// At most `most` different values of a feature at even ranks, from the smallest to the largest that rows have, for
/// [`partial_dependence`]; behind them NaN if a row lacks the feature.
pub fn grid(features: &dyn Features, feature: usize, most: usize) -> Result<Vec<f32>, ModelError> {
    check_feature(feature, features.width())?;
    if most < 2 {
        return Err(ModelError::new(format!("{most} values"), "at least 2"));
    }
    let mut values = column(features, feature);
    check_fault(features)?;
    let all = values.len();
    values.retain(|value| !value.is_nan());
    let missing = values.len() < all;
    values.sort_unstable_by(f32::total_cmp);
    let count = values.len();
    let mut grid: Vec<f32> = match count {
        0 => Vec::new(),
        _ if count <= most => values,
        _ => (0..most).map(|i| values[i * (count - 1) / (most - 1)]).collect(),
    };
    grid.dedup();
    if missing {
        grid.push(f32::NAN);
    }
    Ok(grid)
}

fn check_feature(feature: usize, width: usize) -> Result<(), ModelError> {
    match feature < width {
        true => Ok(()),
        false => Err(ModelError::new(format!("feature {feature}"), format!("a feature below {width}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::test_models::{grown, rows};
    use toprank_data::Matrix;

    #[test]
    fn equals_the_mean_of_rows_changed_by_hand() {
        let (model, rows) = (grown(2, true), rows(100));
        let Matrix::Dense { values, .. } = &rows else { unreachable!() };
        let grid = grid(&rows, 2, 5).unwrap();
        assert!(grid.len() == 6 && grid[5].is_nan() && grid[..5].is_sorted());
        let found = partial_dependence(&model, &rows, 2, &grid).unwrap();
        for (g, &value) in grid.iter().enumerate() {
            let mut changed = values.clone();
            changed.iter_mut().skip(2).step_by(4).for_each(|v| *v = value);
            let scores = model.score(&Matrix::Dense { width: 4, values: changed }).unwrap();
            for output in 0..2 {
                let mean = scores.iter().skip(output).step_by(2).sum::<f64>() / 100.0;
                assert_eq!(found[g * 2 + output], mean);
            }
        }
    }

    #[test]
    fn what_cannot_be_asked_is_an_error() {
        let (model, rows) = (grown(1, false), rows(20));
        assert!(partial_dependence(&model, &rows, 4, &[0.0]).is_err());
        assert!(grid(&rows, 4, 5).is_err() && grid(&rows, 0, 1).is_err());
        let none = Matrix::Dense { width: 4, values: Vec::new() };
        assert!(partial_dependence(&model, &none, 0, &[0.0]).is_err());
        assert!(grid(&none, 0, 3).unwrap().is_empty());
    }
}

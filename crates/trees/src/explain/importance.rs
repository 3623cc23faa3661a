//! Which features matter?

use toprank_core::{Features, ModelError, Stream};

use super::{Replaced, With, check_width, column};
use crate::ensemble::Ensemble;

/// Gain importance: the loss reductions of the splits of each feature, added up.
pub fn gain_importance(ensemble: &Ensemble) -> Vec<f64> {
    let mut gains = vec![0.0; ensemble.width];
    for node in ensemble.trees.iter().flat_map(|tree| &tree.nodes) {
        gains[node.feature as usize] += node.gain;
    }
    gains
}

/// Number of nodes that test each feature.
pub fn split_importance(ensemble: &Ensemble) -> Vec<u64> {
    let mut splits = vec![0; ensemble.width];
    for node in ensemble.trees.iter().flat_map(|tree| &tree.nodes) {
        splits[node.feature as usize] += 1;
    }
    splits
}

/// Permutation importance of a feature: how much a metric drops when its values are shuffled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Importance {
    /// Mean drop over the rounds.
    pub mean: f64,
    /// Its standard deviation over the rounds; 0 for one round.
    pub deviation: f64,
}

/// How much a metric drops when the values of one feature are shuffled over the rows, for each feature.
///
/// `metric` takes the scores of all rows (`outputs` numbers each) and is better when larger. `offsets`: where lists start
/// and end; then values are shuffled within their lists, so that what all items of a list have in common (features of the
/// query) counts as useless, as it is for ranking; empty: over all rows. `rounds`: shuffles of each feature, at least 1.
///
/// A feature that no node tests has 0. Cost: O(features × rounds) times scoring and the metric.
///
/// Source: Breiman, "Random forests", Machine Learning 45 (2001).
///
/// ```
/// use toprank_data::Matrix;
/// use toprank_trees::{Ensemble, Next, Node, Test, Tree, explain::permutation_importance};
/// let node = Node::new(0, Test::AtMost(1.5), true, Next::Leaf(0), Next::Leaf(1));
/// let model = Ensemble { trees: vec![Tree { nodes: vec![node], leaves: vec![0.0, 1.0] }], ..Ensemble::new(2, 1) };
/// let rows = Matrix::Dense { width: 2, values: (0..40).map(|i| (i / 2 % 4) as f32).collect() };
/// let truth = model.score(&rows).unwrap();
/// let agreement = |scores: &[f64]| scores.iter().zip(&truth).filter(|(a, b)| a == b).count() as f64 / 20.0;
/// let found = permutation_importance(&model, &rows, &[], agreement, 5, 0).unwrap();
/// assert!(found[0].mean > 0.2 && found[1].mean == 0.0);
/// ```
pub fn permutation_importance(
    ensemble: &Ensemble,
    features: &dyn Features,
    offsets: &[u64],
    metric: impl Fn(&[f64]) -> f64,
    rounds: usize,
    seed: u64,
) -> Result<Vec<Importance>, ModelError> {
    ensemble.check()?;
    check_width(ensemble, features)?;
    let rows = features.rows();
    if rounds == 0 {
        return Err(ModelError::new("0 rounds", "at least one shuffle of each feature"));
    }
    let whole = [0, rows as u64];
    let offsets = if offsets.is_empty() { &whole } else { offsets };
    let ascending = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
    if !ascending || offsets[0] != 0 || offsets.last() != Some(&(rows as u64)) {
        return Err(ModelError::new("offsets of lists", format!("ascending numbers from 0 to {rows}")));
    }
    let used = split_importance(ensemble);
    let own = |feature: usize| if used[feature] > 0 { vec![feature] } else { Vec::new() };
    let columns: Vec<Vec<usize>> = (0..ensemble.width).map(own).collect();
    shuffled(features, &columns, offsets, |features| Ok(metric(&ensemble.score(features)?)), rounds, seed)
}

/// The same of any model: `value` scores rows of features and gives the metric, larger is better. Each entry of `of` names the columns
/// of one feature, which are shuffled together; a feature without columns has 0. `offsets` are ascending and end with the number of
/// rows.
///
/// ```
/// use toprank_core::Features;
/// use toprank_data::Matrix;
/// let rows = Matrix::Dense { width: 2, values: (0..40).map(|i| (i / 2 % 4) as f32).collect() };
/// // Worth most where feature 0 stands as it was.
/// let value = |rows: &dyn Features| {
///     let mut row = [0.0; 2];
///     let kept = (0..20).filter(|&i| { rows.gather(&[i], &mut row); row[0] == (i % 4) as f32 });
///     Ok::<f64, std::convert::Infallible>(kept.count() as f64)
/// };
/// let found = toprank_trees::explain::shuffled(&rows, &[vec![0], vec![1]], &[0, 20], value, 3, 0).unwrap();
/// assert!(found[0].mean > 5.0 && found[1].mean == 0.0);
/// ```
///
/// # Errors
/// Those of `value`.
pub fn shuffled<E>(
    features: &dyn Features,
    of: &[Vec<usize>],
    offsets: &[u64],
    value: impl Fn(&dyn Features) -> Result<f64, E>,
    rounds: usize,
    seed: u64,
) -> Result<Vec<Importance>, E> {
    let full = value(features)?;
    let mut found = vec![Importance::default(); of.len()];
    for (feature, columns) in of.iter().enumerate().filter(|(_, columns)| !columns.is_empty()) {
        let values: Vec<Vec<f32>> = columns.iter().map(|&place| column(features, place)).collect();
        let mut losses = Vec::with_capacity(rounds);
        for round in 0..rounds {
            let stream =
                Stream::new(seed, "permutation importance").at_step((feature * rounds + round) as u64);
            let shuffle = |values: &Vec<f32>| {
                // Opened anew: every column of the feature is shuffled in the same way.
                let (mut random, mut shuffled) = (stream.open(), values.clone());
                for pair in offsets.windows(2) {
                    random.shuffle(&mut shuffled[pair[0] as usize..pair[1] as usize]);
                }
                shuffled
            };
            let shuffled: Vec<Vec<f32>> = values.iter().map(shuffle).collect();
            losses.push(full - value(&Replaced { features, columns, with: With::Columns(&shuffled) })?);
        }
        let mean = losses.iter().sum::<f64>() / rounds as f64;
        let squares: f64 = losses.iter().map(|loss| (loss - mean).powi(2)).sum();
        found[feature] = Importance { mean, deviation: (squares / (rounds.max(2) - 1) as f64).sqrt() };
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Next, Node, Test, Tree};
    use toprank_data::Matrix;

    fn model() -> Ensemble {
        let node = |feature, gain| Node {
            gain,
            ..Node::new(feature, Test::AtMost(1.5), true, Next::Leaf(0), Next::Leaf(1))
        };
        let stump = |feature, gain, high| Tree { nodes: vec![node(feature, gain)], leaves: vec![0.0, high] };
        Ensemble {
            trees: vec![stump(0, 2.0, 1.0), stump(2, 1.0, 0.1), stump(0, 0.5, 1.0)],
            ..Ensemble::new(3, 1)
        }
    }

    #[test]
    fn gains_and_splits_are_added_up_by_feature() {
        assert_eq!(gain_importance(&model()), [2.0 + 0.5, 0.0, 1.0]);
        assert_eq!(split_importance(&model()), [2, 0, 1]);
    }

    #[test]
    fn what_the_score_hangs_on_matters_most_and_what_is_not_asked_for_not_at_all() {
        let rows = Matrix::Dense { width: 3, values: (0..300).map(|i| (i * 7 % 11 % 4) as f32).collect() };
        let truth = model().score(&rows).unwrap();
        let metric = |scores: &[f64]| -scores.iter().zip(&truth).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let found = permutation_importance(&model(), &rows, &[], metric, 3, 1).unwrap();
        assert!(found[0].mean > found[2].mean && found[2].mean > 0.0 && found[0].deviation > 0.0);
        assert_eq!(found[1], Importance::default());
        assert_eq!(found, permutation_importance(&model(), &rows, &[], metric, 3, 1).unwrap());
    }

    #[test]
    fn shuffled_within_lists_a_feature_of_the_list_is_useless() {
        // Feature 0 is the same for all rows of a list.
        let values = (0..40).flat_map(|row| [(row / 10 % 2 * 3) as f32, 0.0, (row % 4) as f32]).collect();
        let rows = Matrix::Dense { width: 3, values };
        let truth = model().score(&rows).unwrap();
        let metric = |scores: &[f64]| -scores.iter().zip(&truth).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let run = |offsets: &[u64]| permutation_importance(&model(), &rows, offsets, metric, 4, 1);
        let within = run(&[0, 10, 20, 30, 40]).unwrap();
        assert_eq!(within[0].mean, 0.0);
        assert!(within[2].mean > 0.0 && run(&[]).unwrap()[0].mean > 0.0);
        assert!(run(&[0, 10]).is_err() && run(&[0, 20, 10, 40]).is_err());
        assert!(permutation_importance(&model(), &rows, &[], metric, 0, 1).is_err());
    }
}

//! A model of trees: their sum.

use serde::{Deserialize, Serialize};
use toprank_core::{Features, ModelError};

use crate::scorer::Scorer;
use crate::tree::Tree;

/// A model of trees: score = base + Σ trees.
///
/// ```
/// use toprank_data::Matrix;
/// use toprank_trees::{Ensemble, Tree};
/// let model = Ensemble { trees: vec![Tree::constant(0.5), Tree::constant(0.25)], ..Ensemble::new(2, 1) };
/// assert_eq!(model.score(&Matrix::Dense { width: 2, values: vec![0.0; 6] }).unwrap(), [0.75; 3]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ensemble {
    /// Features per row.
    pub width: usize,
    /// Scores per row. Tree t adds to output t mod `outputs`.
    pub outputs: usize,
    /// Start value of each output.
    pub base: Vec<f64>,
    /// The trees, round after round, within a round one per output.
    pub trees: Vec<Tree>,
}

impl Ensemble {
    /// No trees yet.
    pub fn new(width: usize, outputs: usize) -> Ensemble {
        Ensemble { width, outputs, base: vec![0.0; outputs], trees: Vec::new() }
    }

    /// Number of boosting rounds: trees per output.
    pub fn rounds(&self) -> usize {
        self.trees.len() / self.outputs.max(1)
    }

    /// Keeps the first `rounds` rounds.
    pub fn truncate(&mut self, rounds: usize) {
        self.trees.truncate(rounds * self.outputs);
    }

    /// One ensemble that scores as the mean of several does, at least one, with trees in the order of the ensembles.
    ///
    /// ```
    /// use toprank_trees::{Ensemble, Tree};
    /// let one = |value: f64| Ensemble { trees: vec![Tree::constant(value)], base: vec![value], ..Ensemble::new(0, 1) };
    /// let mean = Ensemble::mean(&[&one(1.0), &one(4.0)]).unwrap();
    /// let mut score = [0.0];
    /// mean.score_row(&[], &mut score);
    /// assert_eq!((score, mean.rounds()), ([2.0 * (1.0 + 4.0) / 2.0], 2));
    /// ```
    ///
    /// # Errors
    /// If there is none, or they differ in features or outputs.
    pub fn mean(ensembles: &[&Ensemble]) -> Result<Ensemble, ModelError> {
        let Some(first) = ensembles.first() else {
            return Err(ModelError::new("no trees", "at least one ensemble"));
        };
        let mut mean = Ensemble::new(first.width, first.outputs);
        let share = 1.0 / ensembles.len() as f64;
        for ensemble in ensembles {
            if (ensemble.width, ensemble.outputs) != (first.width, first.outputs) {
                let words = |of: &Ensemble| format!("{} features and {} outputs", of.width, of.outputs);
                return Err(ModelError::new(words(ensemble), words(first)));
            }
            mean.base.iter_mut().zip(&ensemble.base).for_each(|(mean, base)| *mean += share * base);
            mean.trees.extend(ensemble.trees.iter().map(|tree| {
                let mut tree = tree.clone();
                tree.leaves.iter_mut().for_each(|leaf| *leaf *= share);
                // A gain is worth as much as its tree.
                tree.nodes.iter_mut().for_each(|node| node.gain *= share);
                tree
            }));
        }
        Ok(mean)
    }

    /// Checks every tree ([`Tree::check`]) and the number of outputs.
    pub fn check(&self) -> Result<(), ModelError> {
        if self.outputs == 0
            || self.base.len() != self.outputs
            || !self.trees.len().is_multiple_of(self.outputs)
        {
            return Err(ModelError::new(
                format!("{} trees, {} bases for {} outputs", self.trees.len(), self.base.len(), self.outputs),
                "at least one output, one base each, and as many trees for each",
            ));
        }
        if let Some(base) = self.base.iter().find(|base| !base.is_finite()) {
            return Err(ModelError::new(format!("a base of {base}"), "a finite number"));
        }
        self.trees.iter().enumerate().try_for_each(|(t, tree)| {
            tree.check(self.width)
                .map_err(|error| ModelError::new(format!("tree {t}: {}", error.what), error.expected))
        })
    }

    /// Adds the scores of one row to `scores`, one number per output. This is the definition of the model's scores.
    ///
    /// # Panics
    /// If the row is too short or the ensemble does not pass [`Ensemble::check`].
    pub fn score_row(&self, row: &[f32], scores: &mut [f64]) {
        scores.copy_from_slice(&self.base);
        for (t, tree) in self.trees.iter().enumerate() {
            scores[t % self.outputs] += tree.value(row);
        }
    }

    /// Scores of all rows, `outputs` numbers each, by a [`Scorer`].
    pub fn score(&self, features: &dyn Features) -> Result<Vec<f64>, ModelError> {
        Scorer::new(self)?.score(features)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Next, Node, Test};
    use toprank_data::Matrix;

    fn stump(feature: u32, threshold: f32, low: f64, high: f64) -> Tree {
        let node = Node::new(feature, Test::AtMost(threshold), true, Next::Leaf(0), Next::Leaf(1));
        Tree { nodes: vec![node], leaves: vec![low, high] }
    }

    #[test]
    fn trees_take_turns_over_the_outputs() {
        let model = Ensemble {
            base: vec![10.0, 20.0],
            trees: vec![
                stump(0, 0.0, 1.0, 2.0),
                stump(0, 0.0, 3.0, 4.0),
                Tree::constant(5.0),
                Tree::constant(6.0),
            ],
            ..Ensemble::new(1, 2)
        };
        assert_eq!(model.check(), Ok(()));
        assert_eq!(model.rounds(), 2);
        let rows = Matrix::Dense { width: 1, values: vec![-1.0, 1.0] };
        assert_eq!(
            model.score(&rows).unwrap(),
            [10.0 + 1.0 + 5.0, 20.0 + 3.0 + 6.0, 10.0 + 2.0 + 5.0, 20.0 + 4.0 + 6.0]
        );
        let mut first = model.clone();
        first.truncate(1);
        assert_eq!(first.score(&rows).unwrap(), [11.0, 23.0, 12.0, 24.0]);
    }

    #[test]
    fn another_width_is_an_error_that_names_both() {
        let error = Ensemble::new(3, 1).score(&Matrix::Dense { width: 2, values: vec![0.0; 2] }).unwrap_err();
        assert_eq!(error.to_string(), "rows of 2 features, expected 3 features");
    }

    #[test]
    fn check_names_the_tree_at_fault() {
        let model =
            Ensemble { trees: vec![Tree::constant(0.0), stump(7, 0.0, 0.0, 0.0)], ..Ensemble::new(3, 1) };
        assert!(model.check().unwrap_err().to_string().starts_with("tree 1: node 0 tests feature 7"));
        assert!(Ensemble { outputs: 2, ..Ensemble::new(1, 1) }.check().is_err());
    }
}

/*!
A blend as something that scores: the weighted sum of models, each behind transforms of its own and on a common scale.

```text
score = Σ factor · (score of the part − shift)          factor = weight / (folds · spread of the fold's model)
```

Trees that see features as they are need no part each: their weighted sum is one ensemble ([`merged`]). A blend of nothing else is a
model of trees like any other, for scoring, SHAP values and export.
*/

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use toprank_core::Lists;
use toprank_data::transform::{OnTheFly, Pipeline};
use toprank_data::{Column, Dataset, Matrix};
use toprank_trees::Ensemble;

use crate::error::TrainError;
use crate::fit::engine::Examples;
use crate::rank::folds::Scale;
use crate::rank::scoring::{Scoring, Trees};

/// How the scores of one output of a part enter the sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Affine {
    /// Subtracted.
    pub shift: f64,
    /// Multiplied with.
    pub factor: f64,
}

impl Affine {
    /// To mean 0 and spread 1. A model that says the same of everything has no scale: it adds nothing.
    pub fn standardising(scale: Scale) -> Affine {
        let factor = if scale.spread > 0.0 { 1.0 / scale.spread } else { 0.0 };
        Affine { shift: scale.mean, factor }
    }

    /// This one, then `next`.
    #[must_use]
    pub fn then(self, next: Affine) -> Affine {
        // f₂ (f₁ (s − a) − b) = f₁ f₂ (s − (a + b/f₁))
        let shift = if self.factor == 0.0 { self.shift } else { self.shift + next.shift / self.factor };
        Affine { shift, factor: self.factor * next.factor }
    }

    /// The same, weighted.
    #[must_use]
    pub fn times(self, weight: f64) -> Affine {
        Affine { factor: self.factor * weight, ..self }
    }

    /// Of one score.
    pub fn of(self, score: f64) -> f64 {
        self.factor * (score - self.shift)
    }
}

/// One model of a blend.
#[derive(Clone)]
pub struct Part {
    /// Its kind, as a user would name it.
    pub model: String,
    /// Its transforms, fitted.
    pub transforms: Pipeline,
    /// What gives its scores.
    pub scoring: Scoring,
    /// How they enter the sum, one per output.
    pub scale: Vec<Affine>,
}

/// What the header of a model file says of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartAbout {
    /// Its kind, as a user would name it.
    pub model: String,
    /// Its transforms, fitted.
    pub transforms: Pipeline,
    /// How its scores enter the sum, one per output.
    pub scale: Vec<Affine>,
}

/// Models whose scores are added up.
#[derive(Clone)]
pub struct Blend {
    parts: Vec<Part>,
    /// Names and kinds of the features, before any transform.
    columns: Vec<Column>,
}

impl Part {
    /// Scores of every entry, before they are put on the common scale. `by_list`: every list is scored by itself, so that the bytes do
    /// not depend on which lists are scored together.
    pub fn score(
        &self,
        examples: Examples,
        columns: &[Column],
        by_list: bool,
    ) -> Result<Vec<f64>, TrainError> {
        if self.transforms.steps.is_empty() {
            return self.scoring.score_as(examples, by_list);
        }
        let lists = examples.lists;
        if !self.looks_at_lists() {
            let features = OnTheFly::new(examples.features, columns, &self.transforms)?;
            return self.scoring.score_as(Examples { lists, features: &features }, by_list);
        }
        let (rows, width) = (examples.features.rows(), examples.features.width());
        let mut values = vec![0.0; rows * width];
        examples.features.gather(&(0..rows as u32).collect::<Vec<_>>(), &mut values);
        let mut data = Dataset {
            lists: lists.clone(),
            features: Matrix::Dense { width, values },
            columns: columns.to_vec(),
            ..Dataset::default()
        };
        self.transforms.apply(&mut data)?;
        self.scoring.score_as(Examples { lists, features: &data }, by_list)
    }

    /// True if a transform looks at whole lists.
    fn looks_at_lists(&self) -> bool {
        self.transforms.looks_at_lists()
    }

    /// True if it is made of trees that see features as they are, with nothing done to their scores.
    pub fn is_plain_trees(&self) -> bool {
        let untouched = |affine: &Affine| *affine == Affine { shift: 0.0, factor: 1.0 };
        self.plain_trees().is_some() && self.scale.iter().all(untouched)
    }

    /// The ensemble, if it is one of trees that see features as they are.
    fn plain_trees(&self) -> Option<&Ensemble> {
        self.scoring.trees().filter(|_| self.transforms.steps.is_empty()).map(Trees::ensemble)
    }

    /// What a header says of it.
    pub fn about(&self) -> PartAbout {
        PartAbout {
            model: self.model.clone(),
            transforms: self.transforms.clone(),
            scale: self.scale.clone(),
        }
    }
}

impl Blend {
    /// Of these parts, at least one.
    pub fn new(parts: Vec<Part>, columns: Vec<Column>) -> Blend {
        Blend { parts, columns }
    }

    /// The parts.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// True if an item's score depends on the other items of its list.
    pub fn couples_items(&self) -> bool {
        self.parts.iter().any(|part| part.looks_at_lists() || part.scoring.couples_items())
    }

    /// Scores of every entry.
    pub fn score(&self, examples: Examples) -> Result<Vec<f64>, TrainError> {
        let by_list = self.couples_items();
        let mut sum = vec![0.0; examples.lists.entries()];
        for part in &self.parts {
            let scores = part.score(examples, &self.columns, by_list)?;
            rescale(examples.lists, &scores, &part.scale, &mut sum);
        }
        Ok(sum)
    }
}

/// Adds scores to `sum`, each output on its scale.
pub fn rescale(lists: &Lists, scores: &[f64], scale: &[Affine], sum: &mut [f64]) {
    for q in 0..lists.len() {
        let output = lists.output.as_ref().map_or(0, |output| usize::from(output[q]));
        let Some(affine) = scale.get(output) else { continue };
        let range = lists.range(q);
        let both = sum[range.clone()].iter_mut().zip(&scores[range]);
        both.for_each(|(sum, score)| *sum += affine.of(*score));
    }
}

/// The parts with all plain trees as one part, which comes first.
pub fn merged(parts: Vec<Part>, width: usize, outputs: usize) -> Result<Vec<Part>, TrainError> {
    let (trees, mut others): (Vec<Part>, Vec<Part>) =
        parts.into_iter().partition(|part| part.plain_trees().is_some());
    if trees.is_empty() {
        return Ok(others);
    }
    let mut sum = Ensemble::new(width, outputs);
    for part in &trees {
        let Some(ensemble) = part.plain_trees() else { continue };
        for ((base, own), affine) in sum.base.iter_mut().zip(&ensemble.base).zip(&part.scale) {
            *base += affine.of(*own);
        }
        for (place, tree) in ensemble.trees.iter().enumerate() {
            let factor = part.scale[place % outputs].factor;
            let mut tree = tree.clone();
            tree.leaves.iter_mut().for_each(|leaf| *leaf *= factor);
            // A gain is worth as much as its part: importances of a blend add up what its members found.
            tree.nodes.iter_mut().for_each(|node| node.gain *= factor);
            sum.trees.push(tree);
        }
    }
    let first = Part {
        model: trees[0].model.clone(),
        transforms: Pipeline { width, steps: Vec::new() },
        scoring: Scoring::of_trees(sum)?,
        scale: vec![Affine { shift: 0.0, factor: 1.0 }; outputs],
    };
    others.insert(0, first);
    Ok(others)
}

/// Mean and spread of scores, one for each output that the lists read: over all entries of binary and multi-label data; of
/// queries the spread within lists, as an order within them is all that counts.
pub fn scales(lists: &Lists, scores: &[f64]) -> Vec<Scale> {
    if lists.are_labels() {
        return Scale::of(lists, scores);
    }
    let mut centred = Cow::Borrowed(scores);
    for q in 0..lists.len() {
        let range = lists.range(q);
        let mean = scores[range.clone()].iter().sum::<f64>() / range.len().max(1) as f64;
        centred.to_mut()[range].iter_mut().for_each(|score| *score -= mean);
    }
    let spreads = Scale::of(lists, &centred);
    let means = Scale::of(lists, scores);
    means.iter().zip(&spreads).map(|(of, within)| Scale { mean: of.mean, spread: within.spread }).collect()
}

#[cfg(test)]
mod tests {
    use toprank_trees::{Next, Node, Test, Tree};

    use super::*;

    fn stump(threshold: f32, low: f64, high: f64) -> Tree {
        let node =
            Node { gain: 2.0, ..Node::new(0, Test::AtMost(threshold), true, Next::Leaf(0), Next::Leaf(1)) };
        Tree { nodes: vec![node], leaves: vec![low, high] }
    }

    fn part(base: f64, trees: Vec<Tree>, scale: Affine) -> Part {
        Part {
            model: "trees".into(),
            transforms: Pipeline { width: 1, steps: Vec::new() },
            scoring: Scoring::of_trees(Ensemble { base: vec![base], trees, ..Ensemble::new(1, 1) }).unwrap(),
            scale: vec![scale],
        }
    }

    fn data() -> Dataset {
        Dataset {
            lists: Lists::from_lengths(&[4], vec![0.0; 4]),
            features: Matrix::Dense { width: 1, values: vec![0.0, 1.0, 2.0, 3.0] },
            ..Dataset::default()
        }
    }

    #[test]
    fn a_weighted_sum_of_trees_is_one_ensemble() {
        let parts = vec![
            part(5.0, vec![stump(0.5, 0.0, 1.0), stump(1.5, 2.0, 4.0)], Affine { shift: 7.0, factor: 0.5 }),
            part(-1.0, vec![stump(2.5, 1.0, 8.0)], Affine { shift: 0.0, factor: 0.25 }),
        ];
        let data = data();
        let examples = Examples { lists: &data.lists, features: &data };
        let apart = Blend::new(parts.clone(), Vec::new()).score(examples).unwrap();
        // 0.5 (5 + 0 + 2 − 7) + 0.25 (−1 + 1), …
        assert_eq!(apart, [0.0, 0.5, 1.5, 1.5 + 0.25 * 7.0]);
        let one = merged(parts, 1, 1).unwrap();
        assert_eq!(one.len(), 1);
        let ensemble = one[0].plain_trees().unwrap();
        assert_eq!((ensemble.trees.len(), ensemble.trees[2].nodes[0].gain), (3, 2.0 * 0.25));
        assert_eq!(Blend::new(one, Vec::new()).score(examples).unwrap(), apart);
    }

    #[test]
    fn scales_follow_one_another() {
        let (first, next) = (Affine { shift: 3.0, factor: 0.5 }, Affine { shift: -1.0, factor: 4.0 });
        assert_eq!(first.then(next).of(9.0), next.of(first.of(9.0)));
        assert_eq!(first.times(0.5).of(9.0), 0.5 * first.of(9.0));
        let constant = Affine::standardising(Scale { mean: 3.0, spread: 0.0 });
        assert_eq!((constant.of(3.0), constant.then(next).of(3.0)), (0.0, 0.0));
    }

    #[test]
    fn the_spread_of_queries_is_that_within_lists() {
        let lists = Lists::from_lengths(&[2, 2], vec![0.0; 4]);
        let scale = scales(&lists, &[0.0, 2.0, 100.0, 102.0]);
        assert_eq!(scale, [Scale { mean: 51.0, spread: 1.0 }]);
        let one = Lists::from_lengths(&[4], vec![0.0; 4]);
        assert_eq!(scales(&one, &[0.0, 2.0, 0.0, 2.0]), [Scale { mean: 1.0, spread: 1.0 }]);
    }
}

/*!
What a position adds to the probability of a click, learned beside the trees and left out of their scores.

```text
the objective sees      s_i + b[position of i]
after every round       b[p] += rate·(−G_p − l2·n_p·b[p])/(H_p + l2·n_p + ε)          G, H: sums over the rows shown at p
```

A model that explains clicks by the places alone needs no trees for it, so the trees learn what is left: relevance. Positions come
with the data (LightGBM's side file `.position`); prediction needs none.

Source: LightGBM 4's `lambdarank_position_bias_regularization`.
*/

use serde::{Deserialize, Serialize};

/// Keeps a step finite where nothing curves.
const EPSILON: f64 = 1e-3;

/// What each place adds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionBias {
    /// The places that occur in the training data, ascending.
    pub positions: Vec<u32>,
    /// What each adds.
    pub values: Vec<f64>,
}

impl PositionBias {
    /// What a place adds; 0 where it was never seen.
    ///
    /// ```
    /// let bias = toprank_train::PositionBias { positions: vec![1, 2], values: vec![0.5, -0.5] };
    /// assert_eq!((bias.of(2), bias.of(7)), (-0.5, 0.0));
    /// ```
    pub fn of(&self, position: u32) -> f64 {
        self.positions.binary_search(&position).map_or(0.0, |place| self.values[place])
    }
}

/// Learns it.
pub(crate) struct Learned {
    pub(crate) bias: PositionBias,
    /// The place of each row among the positions.
    places: Vec<u32>,
    l2: f64,
    scores: Vec<f64>,
}

impl Learned {
    pub(crate) fn new(positions: &[u32], l2: f64) -> Learned {
        let mut known = positions.to_vec();
        known.sort_unstable();
        known.dedup();
        let place = |position: &u32| known.binary_search(position).unwrap_or_default() as u32;
        let places = positions.iter().map(place).collect();
        let bias = PositionBias { values: vec![0.0; known.len()], positions: known };
        Learned { bias, places, l2, scores: Vec::new() }
    }

    /// These scores of rows, with what their places add.
    pub(crate) fn add_to(&mut self, scores: &[f64]) -> &[f64] {
        self.scores.clear();
        let places = self.places.iter().map(|&place| self.bias.values[place as usize]);
        self.scores.extend(scores.iter().zip(places).map(|(score, bias)| score + bias));
        &self.scores
    }

    /// One step from gradient and Hessian at the scores that it gave.
    pub(crate) fn learn(&mut self, gradient: &[f64], hessian: &[f64], rate: f64) {
        let mut sums = vec![(0.0, 0.0, 0.0); self.bias.values.len()];
        for ((&place, g), h) in self.places.iter().zip(gradient).zip(hessian) {
            let sum = &mut sums[place as usize];
            *sum = (sum.0 + g, sum.1 + h, sum.2 + 1.0);
        }
        for (value, (g, h, count)) in self.bias.values.iter_mut().zip(sums) {
            let l2 = self.l2 * count;
            *value += rate * (-g - l2 * *value) / (h + l2 + EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Job, Settings, TrainerKind};
    use toprank_core::{Lists, Policy, Stream};
    use toprank_data::{Dataset, Matrix};
    use toprank_metrics::{Measure, evaluate};

    /// Lists of 10 as an old ranker showed them, by a feature of its own; a click needs a look (seldom below) and relevance.
    fn clicks(count: usize) -> (Dataset, Vec<f32>) {
        let mut random = Stream::new(5, "clicks").open();
        let (mut labels, mut truth, mut values, mut positions) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            let mut items: Vec<(f64, f64)> = (0..10).map(|_| (random.unit(), random.unit())).collect();
            items.sort_by(|a, b| b.0.total_cmp(&a.0));
            for (place, (old, own)) in items.into_iter().enumerate() {
                let relevant = own > 0.7;
                let looked = random.unit() < 1.0 / (1.0 + place as f64);
                let clicked = looked && (relevant && random.unit() < 0.9 || random.unit() < 0.15);
                truth.push(f32::from(u8::from(relevant)));
                labels.push(f32::from(u8::from(clicked)));
                values.extend([old as f32, own as f32]);
                positions.push(place as u32 + 1);
            }
        }
        let data = Dataset {
            lists: Lists::from_lengths(&vec![10; count], labels),
            features: Matrix::Dense { width: 2, values },
            positions: Some(positions),
            ..Dataset::default()
        };
        (data, truth)
    }

    #[test]
    fn trees_that_know_the_places_find_relevance_behind_clicks() {
        let (data, truth) = clicks(600);
        let settings = Settings {
            model: Some("trees:leaves=7".into()),
            objective: Some("lambdamart".into()),
            trees: Some(60),
            ..Settings::default()
        };
        let judged = Lists { labels: truth, ..data.lists.clone() };
        let measures = Measure::parse_all("ndcg@5", &Policy::default()).unwrap();
        let trained = |data: Dataset| {
            let job =
                Job::new(&settings.resolve(TrainerKind::Rank).unwrap(), data.clone().into(), None).unwrap();
            let views = job.views().unwrap();
            let mut boost = job.trainer(&views).unwrap();
            boost.run(&mut (), None).unwrap();
            let model = job.model(&*boost).unwrap();
            let scores = model.score(data).unwrap();
            let value = evaluate(&judged, &scores, &measures).unwrap().results[0].mean.unwrap();
            (value, model.header().position_bias.clone())
        };
        let (blind, none) = trained(Dataset { positions: None, ..data.clone() });
        let (seeing, bias) = trained(data);
        assert_eq!(none, None);
        let bias = bias.unwrap();
        assert!(bias.of(1) > bias.of(3) && bias.of(3) > bias.of(8), "{bias:?}");
        assert!(seeing > blind + 0.02, "{blind} with and {seeing} without the places in the scores");
    }
}

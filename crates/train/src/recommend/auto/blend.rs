/*!
A blend of item models as one item model: their scores, user by user on a common scale, weighted and added up.

```text
s(u, i) = Σ_parts weight · (f(s_part(u, i)) − mean_u) / deviation_u          mean and deviation over all items
```

f(s) = exp(s) for models whose scores are logits, so that all scores are as uneven as interactions are; else f(s) = s.

Every part reads the history with its own half-life of recency.
*/

use std::sync::Arc;

use toprank_core::{Choices, ModelError, Stream};
use toprank_embeddings::{FitState, ItemModel, ItemParameters};

use crate::recommend::recency;

/// A model of a blend.
#[derive(Clone)]
pub(crate) struct BlendPart {
    /// Its place among the members, from 0.
    pub member: usize,
    pub model: Arc<dyn ItemModel>,
    pub parameters: Arc<ItemParameters>,
    /// Half-life of interactions; 0: all weigh alike.
    pub recency: f64,
    pub weight: f64,
}

impl BlendPart {
    /// Scores of all items for all users of `histories`, each user's with mean 0 and deviation 1.
    fn scores(&self, histories: &Choices, scores: &mut [f32]) {
        let users: Vec<u32> = (0..histories.len() as u32).collect();
        let weighed = recency::weighed(histories.clone(), &histories.later, self.recency);
        self.model.scores(&self.parameters, &weighed, &users, scores);
        for scores in scores.chunks_exact_mut(histories.item_count.max(1)) {
            if self.model.scores_are_logits() {
                let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                for s in scores.iter_mut() {
                    *s = libm::expf(*s - most);
                }
            }
            standardise(scores);
        }
    }
}

/// Mean 0 and deviation 1; equal scores become 0.
pub(super) fn standardise(scores: &mut [f32]) {
    let n = scores.len() as f64;
    let mean = scores.iter().map(|s| f64::from(*s)).sum::<f64>() / n;
    let square = scores.iter().map(|s| (f64::from(*s) - mean) * (f64::from(*s) - mean)).sum::<f64>() / n;
    let scale = if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 };
    for s in scores {
        *s = ((f64::from(*s) - mean) * scale) as f32;
    }
}

/// Several item models as one.
#[derive(Clone)]
pub(crate) struct Blend {
    pub parts: Vec<BlendPart>,
}

impl Blend {
    /// Numbers that were learned.
    pub fn numbers(&self) -> usize {
        self.parts.iter().map(|part| part.parameters.values.len()).sum()
    }
}

/// The histories of some users, without weights.
pub(super) fn of_users(histories: &Choices, users: &[u32]) -> Choices {
    let mut some = Choices::of_items(histories.item_count);
    for &user in users {
        let user = user as usize;
        some.push(histories.of(user).iter().copied().zip(histories.labels_of(user).iter().copied()));
        if !histories.later.is_empty() {
            some.later.extend_from_slice(&histories.later[histories.range(user)]);
        }
    }
    some
}

impl ItemModel for Blend {
    fn reads_order(&self) -> bool {
        true
    }

    fn bytes(&self, users: usize, items: usize) -> u64 {
        self.parts.iter().map(|part| part.model.bytes(users, items)).sum()
    }

    fn seconds(&self, choices: &Choices) -> f64 {
        self.parts.iter().map(|part| part.model.seconds(choices)).sum()
    }

    fn start(&self, _: &Choices, _: Stream) -> ItemParameters {
        ItemParameters::default()
    }

    fn fit(&self, _: &Choices, _: &mut ItemParameters, _: &mut FitState) -> Result<Option<f64>, ModelError> {
        Err(ModelError::new("a blend to be fitted", "its parts, which are fitted one by one"))
    }

    fn check(&self, items: usize, _: &ItemParameters) -> Result<(), ModelError> {
        self.parts.iter().try_for_each(|part| part.model.check(items, &part.parameters))
    }

    fn scores(&self, _: &ItemParameters, histories: &Choices, users: &[u32], scores: &mut [f32]) {
        let histories = of_users(histories, users);
        let mut own = vec![0.0; scores.len()];
        scores.fill(0.0);
        for part in &self.parts {
            part.scores(&histories, &mut own);
            scores.iter_mut().zip(&own).for_each(|(sum, score)| *sum += part.weight as f32 * score);
        }
    }
}

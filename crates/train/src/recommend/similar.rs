//! Items that are like an item: by the cosine of the vectors from which a recommender computes its scores.

use toprank_core::ParamError;
use toprank_embeddings::{EmbeddingModel, ready_items, ready_users};

use super::file::{Recommended, Recommender};
use super::vector_trainer::Parameters;
use crate::embed::{Search, Similarity, Vectors};

impl Recommender {
    /// What scores by vectors of users and items.
    fn by_vectors(&self) -> Result<(&dyn EmbeddingModel, &Parameters), ParamError> {
        match self.vectors() {
            Some((model, parameters)) => Ok((&**model, &**parameters)),
            None => {
                let found = self.header().config.model();
                Err(ParamError::new("vectors", found, "a model that has them, such as mf or lightgcn"))
            }
        }
    }

    /// The vector of every item, row after row. Of a model whose scores are dot products it is the vector that is multiplied.
    ///
    /// # Errors
    /// If the model has no vectors.
    pub fn item_vectors(&self) -> Result<Vectors, ParamError> {
        let (model, Parameters { items, weights, .. }) = self.by_vectors()?;
        let values = ready_items(model, &self.data().shape(), weights, items);
        Ok(Vectors { width: model.ready_widths()[1], values, similarity: Similarity::Cosine })
    }

    /// The vector of every user, row after row: see [`Recommender::item_vectors`].
    ///
    /// # Errors
    /// If the model has no vectors.
    pub fn user_vectors(&self) -> Result<Vectors, ParamError> {
        let (model, Parameters { users, weights, .. }) = self.by_vectors()?;
        let ids: Vec<u32> = (0..self.data().users.len() as u32).collect();
        let values = ready_users(model, &self.data().shape(), weights, users, &ids);
        Ok(Vectors { width: model.ready_widths()[0], values, similarity: Similarity::Cosine })
    }

    /// For each of some items the `k` others that are most like it, by the cosine of their vectors, best first; equal ones in the
    /// order of items.
    ///
    /// # Errors
    /// If the model has no vectors.
    ///
    /// # Panics
    /// If there is no such item.
    pub fn similar(&self, items: &[u32], k: usize) -> Result<Vec<Vec<Recommended>>, ParamError> {
        let all = self.item_vectors()?.normalised();
        let values = items.iter().flat_map(|&item| all.row(item as usize)).copied().collect();
        let queries = Vectors { width: all.width, values, similarity: all.similarity };
        let found = Search { queries: &queries, gallery: Some(&all) }.nearest(k.saturating_add(1));
        let names = &self.data().items;
        let named = |(best, &item): (Vec<toprank_embeddings::Best>, &u32)| {
            let others = best.into_iter().filter(|best| best.item != item).take(k);
            others
                .map(|best| Recommended {
                    item: names.get(best.item as usize).to_string(),
                    score: f64::from(best.score),
                })
                .collect()
        };
        Ok(found.into_iter().zip(items).map(named).collect())
    }
}

/*!
Exact search and its evaluation: blocks of queries against the whole gallery, one matrix product each.

Cost: rows × rows × dimensions for the products; memory for a block of queries only. Metrics see whole lists.
*/

use rayon::prelude::*;
use toprank_core::Lists;
use toprank_core::matrix::View;
use toprank_embeddings::{Best, pick};
use toprank_metrics::{Counts, Evaluation, ItemWeights, Measure, MeasureResult, evaluate};

use super::LEAST;
use super::similarity::Similarity;
use crate::error::TrainError;

/// Queries of a block: their scores stay in the cache of a small gallery.
const QUERIES_AT_ONCE: usize = 32;
/// Entries of the lists that are evaluated at once.
const ENTRIES_AT_ONCE: usize = 1 << 22;

/// Vectors, row after row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vectors {
    /// Numbers per row.
    pub width: usize,
    /// The numbers.
    pub values: Vec<f32>,
    /// How near two of them are: by their cosine, if they have length 1, or by their distance.
    pub similarity: Similarity,
}

impl Vectors {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// The same vectors with length 1; one of length 0 stays as it is.
    pub(crate) fn normalised(mut self) -> Vectors {
        for row in self.values.chunks_exact_mut(self.width.max(1)) {
            let length = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
            let scale = if length > LEAST { 1.0 / length } else { 0.0 };
            for x in row.iter_mut() {
                *x = (f64::from(*x) * scale) as f32;
            }
        }
        self
    }

    /// One vector.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.width..][..self.width]
    }
}

/// What is searched for, and in what.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The queries.
    pub queries: &'a Vectors,
    /// What is searched in; `None`: in the queries themselves, each among all others.
    pub gallery: Option<&'a Vectors>,
}

impl Search<'_> {
    fn in_gallery(&self) -> &Vectors {
        self.gallery.unwrap_or(self.queries)
    }

    /// Calls `each` with every query of a range and its similarities with the whole gallery, blocks of queries in parallel; what
    /// it returns comes back in the order of queries. The similarity of a query with itself is −∞ where it is searched among
    /// the others.
    fn each<R: Send>(
        &self,
        range: std::ops::Range<usize>,
        each: impl Fn(usize, &[f32]) -> R + Sync,
    ) -> Vec<R> {
        let (gallery, width) = (self.in_gallery(), self.queries.width);
        let (count, kind) = (gallery.rows(), self.queries.similarity);
        let (mut of_queries, mut of_gallery) = (Vec::new(), Vec::new());
        kind.squares(&self.queries.values[range.start * width..range.end * width], width, &mut of_queries);
        kind.squares(&gallery.values, width, &mut of_gallery);
        let starts: Vec<usize> = range.clone().step_by(QUERIES_AT_ONCE).collect();
        let blocks: Vec<Vec<R>> = starts
            .into_par_iter()
            .map_init(Vec::new, |scores: &mut Vec<f32>, start| {
                let end = (start + QUERIES_AT_ONCE).min(range.end);
                scores.resize((end - start) * count, 0.0);
                let queries = View::new(&self.queries.values[start * width..end * width], width);
                let own = of_queries.get(start - range.start..end - range.start).unwrap_or_default();
                kind.block(queries, View::new(&gallery.values, width), [own, &of_gallery], scores);
                let rows = scores.chunks_exact_mut(count.max(1)).zip(start..end);
                rows.map(|(scores, query)| {
                    if self.gallery.is_none() {
                        scores[query] = f32::NEG_INFINITY;
                    }
                    each(query, scores)
                })
                .collect()
            })
            .collect();
        blocks.into_iter().flatten().collect()
    }

    /// The `k` nearest rows of every query, best first; equal ones in the order of rows.
    ///
    /// ```
    /// use toprank_train::embed::{Search, Vectors};
    /// let all = Vectors { width: 2, values: vec![1.0, 0.0, 0.0, 1.0, 0.6, 0.8], ..Vectors::default() };
    /// let found = Search { queries: &all, gallery: None }.nearest(1);
    /// let best: Vec<u32> = found.iter().map(|best| best[0].item).collect();
    /// assert_eq!(best, [2, 2, 1]);
    /// ```
    pub fn nearest(&self, k: usize) -> Vec<Vec<Best>> {
        self.each(0..self.queries.rows(), |_, scores| {
            let mut best = pick(scores, k);
            best.truncate(k);
            best
        })
    }

    /// Evaluates the ranking of the gallery for every query: what is of its class is relevant. `of_queries` and `of_gallery` are
    /// the classes of their rows, the latter left out where there is no gallery. A query whose class is nowhere else is
    /// excluded from the mean.
    ///
    /// # Errors
    /// If a metric cannot use labels of 0 and 1.
    pub fn evaluate(
        &self,
        of_queries: &[u32],
        of_gallery: &[u32],
        measures: &[Measure],
    ) -> Result<Evaluation, TrainError> {
        let alone = self.gallery.is_none();
        let classes = if alone { of_queries } else { of_gallery };
        let length = classes.len() - usize::from(alone && !classes.is_empty());
        let block = (ENTRIES_AT_ONCE / length.max(1)).max(1);
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); measures.len()];
        let mut counts = vec![Counts::default(); measures.len()];
        let queries = self.queries.rows();
        for start in (0..queries).step_by(block) {
            let end = (start + block).min(queries);
            let of_block = self.each(start..end, |query, scores| {
                let met = |row: &usize| !(alone && *row == query);
                let scores: Vec<f64> =
                    (0..scores.len()).filter(met).map(|row| f64::from(scores[row])).collect();
                let relevant = |row: usize| f32::from(u8::from(classes[row] == of_queries[query]));
                (scores, (0..classes.len()).filter(met).map(relevant).collect::<Vec<f32>>())
            });
            let (mut scores, mut labels) = (Vec::new(), Vec::new());
            for (own_scores, own_labels) in of_block {
                scores.extend(own_scores);
                labels.extend(own_labels);
            }
            let lists = Lists::from_lengths(&vec![length; end - start], labels);
            for (m, result) in evaluate(&lists, &scores, measures)?.results.into_iter().enumerate() {
                values[m].extend(&result.per_list);
                counts[m].lists += result.counts.lists;
                counts[m].used += result.counts.used;
                counts[m].empty += result.counts.empty;
            }
        }
        let results = measures.iter().zip(values).zip(counts).map(|((measure, per_list), counts)| {
            MeasureResult::new(measure, per_list, counts, ItemWeights::Absent, None)
        });
        Ok(Evaluation { results: results.collect() })
    }
}

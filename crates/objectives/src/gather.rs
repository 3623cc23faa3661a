//! A draw, or a list with unlabelled items: gather the items that take part, then scatter the results back. Where preferences
//! are given, unlabelled items take part too.

use toprank_core::{List, Preference};

use crate::objective::{Input, Out};

/// Copies of the items that take part; grows, never shrinks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered {
    /// Positions within the draw of the items that take part.
    entries: Vec<u32>,
    /// Their positions within the whole list.
    items: Vec<u32>,
    labels: Vec<f32>,
    weights: Vec<f32>,
    pairs: Vec<Preference>,
    scores: Vec<f64>,
    previous: Vec<f64>,
    frozen: Vec<f64>,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
    gradient_previous: Vec<f64>,
}

impl Gathered {
    /// Runs `objective` on the labelled items of a draw. In `seen` the labels and weights are those of the whole list,
    /// the scores those of the draw.
    pub fn run(
        &mut self,
        seen: &Input,
        out: &mut Out,
        objective: impl FnOnce(&Input, &mut Out) -> Option<f64>,
    ) -> Option<f64> {
        self.entries.clear();
        self.items.clear();
        for entry in 0..seen.list.scores.len() as u32 {
            let item = seen.sample.map_or(entry, |items| items[entry as usize]);
            if seen.list.pairs.is_some() || !seen.list.labels[item as usize].is_nan() {
                self.entries.push(entry);
                self.items.push(item);
            }
        }
        pick(&mut self.labels, seen.list.labels, &self.items);
        pick(&mut self.weights, seen.list.weights.unwrap_or(&[]), &self.items);
        pick(&mut self.scores, seen.list.scores, &self.entries);
        pick(&mut self.previous, seen.previous.unwrap_or(&[]), &self.entries);
        pick(&mut self.frozen, seen.frozen.unwrap_or(&[]), &self.entries);
        self.pairs.clear();
        let place = |item: u32| self.items.binary_search(&item).ok().map(|place| place as u32);
        self.pairs.extend(seen.list.pairs.into_iter().flatten().filter_map(|pair| {
            Some(Preference { better: place(pair.better)?, worse: place(pair.worse)?, ..*pair })
        }));
        let n = self.items.len();
        for result in [&mut self.gradient, &mut self.hessian, &mut self.gradient_previous] {
            result.clear();
            result.resize(n, 0.0);
        }
        let input = Input {
            list: List {
                scores: &self.scores,
                labels: &self.labels,
                weights: seen.list.weights.map(|_| self.weights.as_slice()),
                pairs: seen.list.pairs.map(|_| self.pairs.as_slice()),
                ..seen.list
            },
            sample: Some(&self.items),
            previous: seen.previous.map(|_| self.previous.as_slice()),
            frozen: seen.frozen.map(|_| self.frozen.as_slice()),
            ..*seen
        };
        let mut results = Out {
            gradient: &mut self.gradient,
            hessian: out.hessian.is_some().then_some(self.hessian.as_mut_slice()),
            gradient_previous: out
                .gradient_previous
                .is_some()
                .then_some(self.gradient_previous.as_mut_slice()),
        };
        let loss = objective(&input, &mut results);
        let outputs = [
            (Some(&mut *out.gradient), &self.gradient),
            (out.hessian.as_deref_mut(), &self.hessian),
            (out.gradient_previous.as_deref_mut(), &self.gradient_previous),
        ];
        for (target, result) in outputs {
            let Some(target) = target else { continue };
            for (entry, value) in self.entries.iter().zip(result) {
                target[*entry as usize] = *value;
            }
        }
        loss
    }
}

fn pick<T: Copy>(target: &mut Vec<T>, column: &[T], places: &[u32]) {
    target.clear();
    if !column.is_empty() {
        target.extend(places.iter().map(|&place| column[place as usize]));
    }
}

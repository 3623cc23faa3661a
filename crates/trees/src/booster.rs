/*!
Boosting: one tree after the other, each from the gradient and the Hessian diagonal at the current scores.

```text
Newton     leaf = −rate·Σ g/(Σ h + l2)
gradient   the same with h = 1 for every row
```

The objective stays outside: the caller reads [`Booster::scores`], computes gradient and hessian (the Hessian diagonal or
an upper bound of it), and calls [`Booster::round`]. With several outputs (classes, labels over shared rows) a round grows one tree for each.

Source: Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29 (2001).
*/

use std::borrow::Cow;
use std::time::Instant;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use toprank_core::collective::{Alone, Collective};
use toprank_core::{ModelError, Stream};

use crate::binned_tree::BinnedTree;
use crate::binning::{Binned, MOST_ROWS};
use crate::ensemble::Ensemble;
use crate::growth::quantise::{TreeRows, pack};
use crate::growth::{Growth, GrowthScratch, Part, Spent, Task, grow};
use crate::sampling::{Sampling, draw, draw_rows};

/// How trees are added up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Boosting {
    /// Learning rate: leaf values are multiplied by it; in (0, 1], default 0.1.
    pub rate: f64,
    /// Whether leaf values use the Hessian.
    pub method: Method,
    /// Which lists or rows each tree learns from.
    pub sampling: Sampling,
    /// How each tree grows.
    pub growth: Growth,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Default for Boosting {
    fn default() -> Boosting {
        Boosting {
            rate: 0.1,
            method: Method::Newton,
            sampling: Sampling::All,
            growth: Growth::default(),
            seed: 0,
        }
    }
}

/// Whether leaf values use the Hessian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// A leaf takes Newton's step.
    #[default]
    Newton,
    /// A leaf takes the mean of the negative gradients: every Hessian counts as 1.
    Gradient,
}

impl Boosting {
    /// Checks the ranges, for rows of `width` features.
    pub fn check(&self, width: usize) -> Result<(), ModelError> {
        if !(self.rate > 0.0 && self.rate <= 1.0) {
            return Err(ModelError::new(format!("a learning rate of {}", self.rate), "a number in (0, 1]"));
        }
        self.sampling.check()?;
        self.growth.check(width)
    }
}

/// Boosting state: the trees and scores so far.
///
/// ```
/// use toprank_data::Matrix;
/// use toprank_trees::{BinSettings, Bins, Booster, Boosting, Growth};
/// // Squared loss: gradient = score − label, Hessian = 1.
/// let rows = Matrix::Dense { width: 1, values: (0..40).map(|i| i as f32).collect() };
/// let labels: Vec<f64> = (0..40).map(|i| if i < 24 { 1.0 } else { 3.0 }).collect();
/// let bins = Bins::fit(&rows, &[], &BinSettings::default()).unwrap();
/// let data = bins.apply(&rows).unwrap();
/// let growth = Growth { leaves: 2, min_rows: 5, ..Growth::default() };
/// let mut booster = Booster::new(&data, &[], 1, Boosting { rate: 0.5, growth, ..Boosting::default() }).unwrap();
/// for _ in 0..20 {
///     let gradient: Vec<f64> = booster.scores().iter().zip(&labels).map(|(s, y)| s - y).collect();
///     booster.round(&gradient, &[1.0; 40]).unwrap();
/// }
/// let scores = booster.into_ensemble().score(&rows).unwrap();
/// assert!(scores.iter().zip(&labels).all(|(s, y)| (s - y).abs() < 1e-4));
/// ```
#[derive(Debug)]
pub struct Booster<'a> {
    data: &'a Binned,
    /// Rows of list q: `offsets[q]..offsets[q + 1]`; empty: every row is a list.
    offsets: &'a [u64],
    settings: Boosting,
    ensemble: Ensemble,
    scores: Vec<f64>,
    packed: Vec<u64>,
    scratch: GrowthScratch,
    workers: &'a dyn Collective,
    place: Place,
}

/// Where the data of a worker stand among those of all.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The numbers of its first row and list.
    first_row: u64,
    first_list: usize,
    /// Rows and lists of all workers.
    rows: u64,
    lists: usize,
}

impl Place {
    fn of(rows: usize, lists: usize, workers: &dyn Collective) -> Result<Place, ModelError> {
        let own: Vec<u8> = [rows as u64, lists as u64].iter().flat_map(|count| count.to_le_bytes()).collect();
        let mut place = Place { first_row: 0, first_list: 0, rows: 0, lists: 0 };
        for (rank, bytes) in workers.gather(&own)?.iter().enumerate() {
            if rank == workers.rank() {
                (place.first_row, place.first_list) = (place.rows, place.lists);
            }
            let counts = bytes.as_chunks::<8>().0;
            if let [rows, lists] = counts {
                place.rows += u64::from_le_bytes(*rows);
                place.lists += u64::from_le_bytes(*lists) as usize;
            }
        }
        if place.rows >= MOST_ROWS as u64 || place.lists > u32::MAX as usize {
            let what = format!("{} rows in {} lists on all workers", place.rows, place.lists);
            return Err(ModelError::new(what, format!("fewer than {MOST_ROWS} rows")));
        }
        Ok(place)
    }
}

impl<'a> Booster<'a> {
    /// Starts without trees. `offsets`: where the lists start and end among the rows, for sampling by list; empty: every
    /// row is a list.
    pub fn new(
        data: &'a Binned,
        offsets: &'a [u64],
        outputs: usize,
        settings: Boosting,
    ) -> Result<Booster<'a>, ModelError> {
        let ensemble = Ensemble::new(data.bins().width(), outputs);
        let scores = vec![0.0; data.rows() * outputs];
        Booster::resume(data, offsets, settings, ensemble, scores)
    }

    /// Resumes from an ensemble, or warm-starts from given scores. `scores`: those of the rows of `data`
    /// ([`Ensemble::score`]). Rounds are counted from those it has, so the result is that of an uninterrupted run.
    pub fn resume(
        data: &'a Binned,
        offsets: &'a [u64],
        settings: Boosting,
        ensemble: Ensemble,
        scores: Vec<f64>,
    ) -> Result<Booster<'a>, ModelError> {
        Booster::resume_among(&Alone, data, offsets, settings, ensemble, scores)
    }

    /// The same as one of several workers, who all have the bins of [`Bins::fit_among`](crate::Bins::fit_among) and whole lists,
    /// worker after worker. Each calls [`Booster::round`] with gradients of its own rows; all end with the same trees, those of one
    /// worker with all rows.
    ///
    /// # Errors
    /// As for [`Booster::resume`], or if a worker has ended.
    pub fn resume_among(
        workers: &'a dyn Collective,
        data: &'a Binned,
        offsets: &'a [u64],
        settings: Boosting,
        ensemble: Ensemble,
        scores: Vec<f64>,
    ) -> Result<Booster<'a>, ModelError> {
        ensemble.check()?;
        settings.check(data.bins().width())?;
        let wrong = |what: String, expected: String| Err(ModelError::new(what, expected));
        if ensemble.width != data.bins().width() {
            let expected = format!("{} features, as the data have", data.bins().width());
            return wrong(format!("trees over {} features", ensemble.width), expected);
        }
        if scores.len() != data.rows() * ensemble.outputs {
            let expected = format!("{} for each of {} rows", ensemble.outputs, data.rows());
            return wrong(format!("{} scores", scores.len()), expected);
        }
        let ascending = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        if !offsets.is_empty()
            && (!ascending || offsets[0] != 0 || offsets.last() != Some(&(data.rows() as u64)))
        {
            return wrong("offsets of lists".into(), format!("ascending numbers from 0 to {}", data.rows()));
        }
        let packed = vec![0; data.rows()];
        let lists = if offsets.is_empty() { data.rows() } else { offsets.len() - 1 };
        let place = Place::of(data.rows(), lists, workers)?;
        let scratch = GrowthScratch::default();
        Ok(Booster { data, offsets, settings, ensemble, scores, packed, scratch, workers, place })
    }

    /// The scores of all rows so far, `outputs` numbers each.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Adds a constant to all scores of an output, so that boosting starts from it instead of 0.
    ///
    /// # Panics
    /// If there is no such output.
    pub fn add_base(&mut self, output: usize, base: f64) {
        self.ensemble.base[output] += base;
        let outputs = self.ensemble.outputs;
        self.scores.iter_mut().skip(output).step_by(outputs).for_each(|score| *score += base);
    }

    /// Time that the rounds so far took, by part.
    pub fn spent(&self) -> &Spent {
        &self.scratch.spent
    }

    /// The trees so far.
    pub fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    /// The trees.
    pub fn into_ensemble(self) -> Ensemble {
        self.ensemble
    }

    /// Grows one tree per output from ∂loss/∂score and the Hessian diagonal at the current scores, and adds them to the
    /// scores.
    ///
    /// Both have `outputs` numbers for each row. Cost: O(rows × features) for the first split, then for each split that of
    /// its smaller side, and O(features × bins) for each leaf.
    pub fn round(&mut self, gradient: &[f64], hessian: &[f64]) -> Result<(), ModelError> {
        let outputs = self.ensemble.outputs;
        for (name, found) in [("gradients", gradient.len()), ("hessians", hessian.len())] {
            if found != self.scores.len() {
                let expected = format!("{outputs} for each of {} rows", self.data.rows());
                return Err(ModelError::new(format!("{found} {name}"), expected));
            }
        }
        let round = self.ensemble.rounds() as u64;
        let chosen = self.choose(gradient, round)?;
        for output in 0..outputs {
            let mut gradient = column(gradient, output, outputs);
            let mut hessian = match self.settings.method {
                Method::Newton => column(hessian, output, outputs),
                Method::Gradient => Cow::Owned(vec![1.0; self.data.rows()]),
            };
            self.scratch.rows.clear();
            match (&chosen, self.settings.sampling) {
                (None, Sampling::Rows { fraction }) => {
                    let tree = round * outputs as u64 + output as u64;
                    let stream = Stream::new(self.settings.seed, "rows of a tree").at_step(tree);
                    let up = self.up(&gradient)?;
                    let first = self.place.first_row as usize;
                    let own = first..first + self.data.rows();
                    draw_rows(fraction, &up, stream, |row| {
                        if own.contains(&row) {
                            self.scratch.rows.push((row - first) as u32);
                        }
                    });
                }
                (None, _) => self.scratch.rows.extend(0..self.data.rows() as u32),
                (Some(chosen), _) => {
                    for &(list, weight) in chosen {
                        let rows = self.rows_of(list as usize);
                        self.scratch.rows.extend(rows.start as u32..rows.end as u32);
                        if weight != 1.0 {
                            gradient.to_mut()[rows.clone()].iter_mut().for_each(|g| *g *= weight);
                            hessian.to_mut()[rows].iter_mut().for_each(|h| *h *= weight);
                        }
                    }
                }
            }
            self.tree(&gradient, &hessian, round, output)?;
        }
        Ok(())
    }

    /// Adds the trees of the last round to the scores of other rows, whose bins are the same.
    ///
    /// # Panics
    /// If there was no round, or `data` has other bins or another number of rows.
    pub fn add_last_round(&self, data: &Binned, scores: &mut [f64]) {
        assert!(data.bins() == self.data.bins(), "rows with the bins of the training data");
        let outputs = self.ensemble.outputs;
        assert_eq!(scores.len(), data.rows() * outputs, "a score for every row and output");
        let trees = &self.ensemble.trees[self.ensemble.trees.len() - outputs..];
        for (output, tree) in trees.iter().enumerate() {
            BinnedTree::new(tree, data).add(data, scores, output, outputs);
        }
    }

    fn rows_of(&self, list: usize) -> std::ops::Range<usize> {
        match self.offsets {
            [] => list..list + 1,
            offsets => offsets[list] as usize..offsets[list + 1] as usize,
        }
    }

    /// For each row of all workers whether its gradient is below 0.
    fn up(&self, gradient: &[f64]) -> Result<Vec<bool>, ModelError> {
        if self.workers.size() == 1 {
            return Ok(gradient.iter().map(|g| *g < 0.0).collect());
        }
        let bits =
            |some: &[f64]| some.iter().enumerate().fold(0, |bits, (i, g)| bits | u8::from(*g < 0.0) << i);
        let mut own = (gradient.len() as u64).to_le_bytes().to_vec();
        own.extend(gradient.chunks(8).map(bits));
        let mut up = Vec::with_capacity(self.place.rows as usize);
        for bytes in self.workers.gather(&own)? {
            let Some((rows, bits)) = bytes.split_first_chunk::<8>() else { continue };
            up.extend((0..u64::from_le_bytes(*rows) as usize).map(|row| bits[row / 8] >> (row % 8) & 1 == 1));
        }
        Ok(up)
    }

    /// Σ|gradient| of every list of all workers.
    fn sizes(&self, own: impl Iterator<Item = f64>) -> Result<Vec<f64>, ModelError> {
        let own: Vec<u8> = own.flat_map(f64::to_le_bytes).collect();
        let all = self.workers.gather(&own)?;
        let values = all.iter().flat_map(|bytes| bytes.as_chunks::<8>().0);
        Ok(values.map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    /// The lists of this worker that are drawn, with the weight of their rows; `None`: all of them.
    fn choose(&self, gradient: &[f64], round: u64) -> Result<Option<Vec<(u32, f64)>>, ModelError> {
        let lists = if self.offsets.is_empty() { self.data.rows() } else { self.offsets.len() - 1 };
        let gradient_sum = |list: usize| {
            let rows = self.rows_of(list);
            let outputs = self.ensemble.outputs;
            gradient[rows.start * outputs..rows.end * outputs].iter().map(|g| g.abs()).sum()
        };
        let stream = Stream::new(self.settings.seed, "lists of a tree").at_step(round);
        let sampling = self.settings.sampling;
        let sizes = match sampling {
            Sampling::Goss { .. } if self.workers.size() > 1 => self.sizes((0..lists).map(gradient_sum))?,
            Sampling::Goss { .. } => (0..lists).map(gradient_sum).collect(),
            _ => Vec::new(),
        };
        let first = self.place.first_list as u32;
        let own = first..first + lists as u32;
        let chosen = sampling.choose(self.place.lists, |list| sizes[list], stream);
        Ok(chosen.map(|chosen| {
            let own = chosen.into_iter().filter(|(list, _)| own.contains(list));
            own.map(|(list, weight)| (list - first, weight)).collect()
        }))
    }

    /// One tree over `self.scratch.rows`.
    fn tree(
        &mut self,
        gradient: &[f64],
        hessian: &[f64],
        round: u64,
        output: usize,
    ) -> Result<(), ModelError> {
        let Booster { data, settings, ensemble, scores, packed, scratch, workers, place, .. } = self;
        let outputs = ensemble.outputs;
        let tree = round * outputs as u64 + output as u64;
        let seed = Stream::new(settings.seed, "rounding of gradients").at_step(tree).open().bits();
        let start = Instant::now();
        let of = TreeRows { rows: &scratch.rows, first: place.first_row, workers: *workers };
        let units = pack(gradient, hessian, of, seed, packed)?;
        // Both are read twice, once for their sums.
        scratch.spent.quantise += Part::since(start, scratch.rows.len() * 5 * size_of::<u64>());
        let allowed = allowed(data, settings, tree);
        let task = Task {
            data,
            growth: &settings.growth,
            gradient,
            hessian,
            packed,
            units,
            allowed: &allowed,
            rate: settings.rate,
            nodes: Stream::new(settings.seed, "draws of a node").at_step(tree),
            workers: *workers,
        };
        let grown = grow(&task, scratch)?;
        let start = Instant::now();
        if scratch.rows.len() == data.rows() {
            for (rows, value) in grown.ranges.iter().zip(&grown.tree.leaves) {
                for &row in &scratch.rows[rows.clone()] {
                    scores[row as usize * outputs + output] += value;
                }
            }
        } else {
            BinnedTree::new(&grown.tree, data).add(data, scores, output, outputs);
        }
        scratch.spent.scores +=
            Part::since(start, scratch.rows.len() * (size_of::<u32>() + 2 * size_of::<f64>()));
        ensemble.trees.push(grown.tree);
        Ok(())
    }
}

/// The numbers of one output.
fn column(values: &[f64], output: usize, outputs: usize) -> Cow<'_, [f64]> {
    if outputs == 1 {
        return Cow::Borrowed(values);
    }
    Cow::Owned(values.par_iter().skip(output).step_by(outputs).copied().collect())
}

/// The slots that a tree may use: drawn in the order of features, so that it does not matter which of them share a column.
fn allowed(data: &Binned, settings: &Boosting, tree: u64) -> Vec<bool> {
    let (width, fraction) = (data.slots().len(), settings.growth.features);
    if fraction >= 1.0 {
        return vec![true; width];
    }
    let number = ((fraction * width as f64).round() as usize).max(1);
    let stream = Stream::new(settings.seed, "features of a tree").at_step(tree);
    let mut allowed = vec![false; width];
    for slot in draw(data.slots_by_feature().collect(), number, stream) {
        allowed[slot as usize] = true;
    }
    allowed
}

//! Rows that are drawn with replacement, and the values of every measure on each resample.

use rayon::prelude::*;
use toprank_core::stream::Random;
use toprank_core::{List, Lists, Relevant, ScoreBits, Stream, Ties, ordered_sum};

use crate::bootstrap::{IntervalOptions, MOST_REPLICATES, Spread, Unit, bare, two_below};
use crate::evaluate::{EvaluateError, weighted_mean};
use crate::measure::Measure;
use crate::rank::{NotANumber, Ranked, Work};

/// A list of one run in rank order.
pub(crate) struct Order {
    /// Item of the list at each place.
    pub items: Vec<u32>,
    /// Row of each place.
    pub rows: Vec<u32>,
    /// Whether a place has another score than the one above it.
    pub starts: Vec<bool>,
    /// Label of each place.
    pub labels: Vec<f32>,
    /// Weight of each place; empty: there are none.
    pub weights: Vec<f32>,
}

/// How a list is put in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rule {
    pub ties: Ties,
    pub bits: ScoreBits,
}

impl Rule {
    pub fn of(measure: &Measure) -> Rule {
        Rule { ties: measure.policy().ties, bits: measure.policy().scores }
    }
}

/// Runs on the same lists, in order, ready to be read any number of times.
pub(crate) struct Sample<'a> {
    pub lists: &'a Lists,
    pub measures: &'a [Measure],
    /// Number of rows; a row may have an entry in several lists.
    pub rows: usize,
    /// Whether every row has one entry, so that rows of a class can be drawn among themselves.
    pub sole: bool,
    rules: Vec<Rule>,
    /// Orders by run, rule, list.
    orders: Vec<Order>,
    runs: usize,
}

impl<'a> Sample<'a> {
    /// Puts every list of every run in order.
    pub fn new(
        lists: &'a Lists,
        runs: &[&[f64]],
        measures: &'a [Measure],
    ) -> Result<Sample<'a>, EvaluateError> {
        let mut rules: Vec<Rule> = Vec::new();
        for rule in measures.iter().map(Rule::of) {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        let entries = lists.entries();
        let rows = (0..entries).map(|entry| lists.row(entry) + 1).max().unwrap_or(0);
        let mut seen = vec![false; rows];
        let sole = (0..entries).all(|entry| !std::mem::replace(&mut seen[lists.row(entry)], true));
        let mut orders = Vec::with_capacity(runs.len() * rules.len() * lists.len());
        for scores in runs {
            for rule in &rules {
                for q in 0..lists.len() {
                    orders.push(order(lists, scores, q, *rule)?);
                }
            }
        }
        Ok(Sample { lists, measures, rows, sole, rules, orders, runs: runs.len() })
    }

    pub fn order(&self, run: usize, rule: usize, list: usize) -> &Order {
        &self.orders[(run * self.rules.len() + rule) * self.lists.len() + list]
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The measures that read lists in this order.
    pub fn measures_of(&self, rule: Rule) -> Vec<usize> {
        (0..self.measures.len()).filter(|&m| Rule::of(&self.measures[m]) == rule).collect()
    }

    /// Values of all measures of one run on the lists in which each row stands as often as `times` says; one number for
    /// each (measure, list) into `out`, NaN where there is none.
    pub fn values(&self, run: usize, times: &[u32], wanted: &[usize], work: &mut Work, out: &mut [f64]) {
        let weighted = self.lists.item_weights.is_some();
        for (r, rule) in self.rules.iter().enumerate() {
            let mut of_rule = self.measures_of(*rule);
            of_rule.retain(|m| wanted.contains(m));
            if of_rule.is_empty() {
                continue;
            }
            for q in 0..self.lists.len() {
                let order = self.order(run, r, q);
                let place = |place: usize| {
                    let weight = if weighted { order.weights[place] } else { 1.0 };
                    (order.labels[place], weight, times[order.rows[place] as usize], order.starts[place])
                };
                let places = (0..order.rows.len()).map(place);
                let missed = self.lists.missed.as_ref().map_or(&[][..], |missed| missed.of(q));
                let ranked = work.repeated(places, weighted, rule.ties, missed);
                self.measure(&ranked, &of_rule, q, out);
            }
        }
    }

    /// Values of some measures on a ranked list.
    pub fn measure(&self, ranked: &Ranked, measures: &[usize], list: usize, out: &mut [f64]) {
        for &m in measures {
            let measure = &self.measures[m];
            let value = measure.settle(measure.metric().value(ranked, measure.policy()));
            out[m * self.lists.len() + list] = value.unwrap_or(f64::NAN);
        }
    }

    /// Measures that agree on which rows are drawn together: all of them, or those of one class rule.
    fn families(&self) -> Vec<(Option<Relevant>, Vec<usize>)> {
        if !self.sole {
            return vec![(None, (0..self.measures.len()).collect())];
        }
        let mut families: Vec<(Option<Relevant>, Vec<usize>)> = Vec::new();
        for (m, measure) in self.measures.iter().enumerate() {
            let relevant = Some(measure.policy().relevant);
            match families.iter_mut().find(|(rule, _)| *rule == relevant) {
                Some((_, measures)) => measures.push(m),
                None => families.push((relevant, vec![m])),
            }
        }
        families
    }

    /// Rows that are drawn among themselves: relevant, judged and not relevant, not judged; or all.
    pub fn strata(&self, relevant: Option<Relevant>) -> Vec<Vec<u32>> {
        let Some(relevant) = relevant else {
            let mut rows: Vec<u32> = (0..self.lists.entries()).map(|e| self.lists.row(e) as u32).collect();
            rows.sort_unstable();
            rows.dedup();
            return vec![rows];
        };
        let mut strata = vec![Vec::new(); 3];
        for (entry, &label) in self.lists.labels.iter().enumerate() {
            let class = if label.is_nan() { 2 } else { usize::from(!relevant.is(label)) };
            strata[class].push(self.lists.row(entry) as u32);
        }
        strata.retain(|rows| !rows.is_empty());
        strata
    }

    /// Values on bootstrap resamples, at least `least` of them. Intervals read the first ones, as
    /// many as the options say.
    pub fn bootstrap(&self, options: &IntervalOptions, least: usize) -> Resampled<'_> {
        let replicates = options.replicates.max(least).clamp(1, MOST_REPLICATES);
        let stream = Stream::new(options.seed, "bootstrap over rows");
        let mut values = vec![f64::NAN; replicates * self.width()];
        for (relevant, measures) in self.families() {
            let strata = self.strata(relevant);
            self.fill(&mut values, &measures, |replicate, times| {
                draw(&strata, &mut stream.of_list(replicate as u32).open(), times);
            });
        }
        Resampled { sample: self, values, options: *options }
    }

    /// Numbers of one replicate.
    pub fn width(&self) -> usize {
        self.runs * self.measures.len() * self.lists.len()
    }

    /// Fills the values of some measures on all replicates; `times` says how often each row stands in a replicate. Each
    /// replicate is a task with its own random stream, so the threads change nothing.
    fn fill(&self, values: &mut [f64], measures: &[usize], times: impl Fn(usize, &mut [u32]) + Sync) {
        let width = self.width().max(1);
        let of_run = (width / self.runs.max(1)).max(1);
        values.par_chunks_mut(width).enumerate().for_each_init(
            || (Work::default(), vec![0; self.rows]),
            |(work, copies), (replicate, values)| {
                times(replicate, copies);
                for (run, out) in values.chunks_mut(of_run).enumerate() {
                    self.values(run, copies, measures, work, out);
                }
            },
        );
    }

    /// The mean over lists of one measure, from its values per list.
    pub fn mean(&self, per_list: &[f64]) -> f64 {
        weighted_mean(per_list, self.lists.list_weights.as_deref()).unwrap_or(f64::NAN)
    }
}

/// Draws as many rows of every stratum as it has; `times` counts how often each was drawn.
pub(super) fn draw(strata: &[Vec<u32>], random: &mut Random, times: &mut [u32]) {
    times.fill(0);
    for rows in strata {
        let n = u32::try_from(rows.len()).expect("fewer than 2^32 rows");
        let uneven = n.wrapping_neg() % n;
        for _ in 0..n / 2 {
            for place in two_below(random, n, uneven) {
                times[rows[place] as usize] += 1;
            }
        }
        if n % 2 == 1 {
            times[rows[two_below(random, n, uneven)[0]] as usize] += 1;
        }
    }
}

impl Order {
    /// A list of its own in order: item i is row i.
    pub fn of(list: &List, ties: Ties, bits: ScoreBits) -> Result<Order, NotANumber> {
        let mut work = Work::default();
        let ranked = work.rank(list, ties, bits, None)?;
        let mut starts = vec![false; list.len()];
        ranked.score_groups().for_each(|group| starts[group.start] = true);
        let (labels, weights) = (ranked.labels().to_vec(), ranked.weights().unwrap_or_default().to_vec());
        let items: Vec<u32> = work.items_in_order().collect();
        Ok(Order { rows: items.clone(), items, starts, labels, weights })
    }
}

/// One list of one run in order.
fn order(lists: &Lists, scores: &[f64], q: usize, rule: Rule) -> Result<Order, EvaluateError> {
    let start = lists.range(q).start;
    let mut order = Order::of(&lists.list(q, scores), rule.ties, rule.bits)
        .map_err(|bad| EvaluateError::Score { list: q, item: bad.item, entry: start + bad.item })?;
    order.rows.iter_mut().for_each(|row| *row = lists.row(start + *row as usize) as u32);
    Ok(order)
}

/// A sixth of the skewness of the replicates: the acceleration of BCa for a mean, and an estimate of it for other statistics
/// that needs no jackknife, which fails for metrics that jump at a cut-off.
fn sixth_of_skewness(replicates: &[f64]) -> f64 {
    let n = replicates.len() as f64;
    let mean = ordered_sum(replicates) / n;
    let moment =
        |p: i32| ordered_sum(&replicates.iter().map(|value| (value - mean).powi(p)).collect::<Vec<_>>()) / n;
    let variance = moment(2);
    if variance > 0.0 { moment(3) / variance.powf(1.5) / 6.0 } else { 0.0 }
}

/// Values of every run, measure and list on every resample.
pub(crate) struct Resampled<'a> {
    sample: &'a Sample<'a>,
    values: Vec<f64>,
    options: IntervalOptions,
}

impl Resampled<'_> {
    /// One number of each replicate: what `read` makes of its values.
    fn each(&self, read: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        self.values.chunks(self.sample.width().max(1)).map(read).collect()
    }

    fn spread(&self, estimate: f64, read: impl Fn(&[f64]) -> f64 + Copy) -> Spread {
        let like = bare(&self.options, Unit::Rows, self.sample.sole);
        let mut replicates = self.each(read);
        replicates.truncate(like.replicates);
        if replicates.iter().all(|value| *value == estimate) {
            return Spread::Point { value: estimate, like };
        }
        replicates.retain(|value| value.is_finite());
        let acceleration = sixth_of_skewness(&replicates);
        Spread::resampled(estimate, replicates, acceleration, 1e-12 * estimate.abs().max(1e-3), like)
    }

    fn lists_of(&self, run: usize, measure: usize) -> std::ops::Range<usize> {
        let lists = self.sample.lists.len();
        let start = (run * self.sample.measures.len() + measure) * lists;
        start..start + lists
    }

    /// Spread of a run's mean over lists.
    pub fn mean(&self, run: usize, measure: usize, estimate: f64) -> Spread {
        let range = self.lists_of(run, measure);
        self.spread(estimate, |values| self.sample.mean(&values[range.clone()]))
    }

    /// Spread of a run's value on one list.
    pub fn list(&self, run: usize, measure: usize, list: usize, estimate: f64) -> Spread {
        let place = self.lists_of(run, measure).start + list;
        self.spread(estimate, |values| values[place])
    }

    /// Difference of the means of two runs, second − first, on each replicate. A list counts where both have a value.
    fn difference(&self, values: &[f64], [first, second]: [usize; 2], measure: usize) -> f64 {
        let per_list: Vec<f64> = self
            .lists_of(first, measure)
            .zip(self.lists_of(second, measure))
            .map(|(a, b)| values[b] - values[a])
            .collect();
        self.sample.mean(&per_list)
    }

    /// Spread of the difference of two runs' means, and the replicates themselves.
    pub fn mean_difference(&self, runs: [usize; 2], measure: usize, estimate: f64) -> (Spread, Vec<f64>) {
        let read = |values: &[f64]| self.difference(values, runs, measure);
        (self.spread(estimate, read), self.each(read))
    }

    /// The same on one list.
    pub fn list_difference(
        &self,
        [first, second]: [usize; 2],
        measure: usize,
        list: usize,
        estimate: f64,
    ) -> (Spread, Vec<f64>) {
        let [a, b] = [first, second].map(|run| self.lists_of(run, measure).start + list);
        let read = |values: &[f64]| values[b] - values[a];
        (self.spread(estimate, read), self.each(read))
    }
}

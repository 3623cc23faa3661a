//! Evaluates an objective over the lists of a batch: parallel over lists, the same bytes at any number of threads.

use std::cell::Cell;
use std::ops::Range;

use toprank_core::{Collective, List, Lists, Stream, ordered_sum};

use crate::goal::{Goal, GoalError};
use crate::objective::{Input, Out};
use crate::state::{Shape, State};
use crate::work::Work;

/// The input of a step: all lists, or drawn ones.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The data set; empty if it consists of user interactions.
    pub lists: &'a Lists,
    /// The drawn lists and items; `None`: all lists, whole.
    pub draws: Option<&'a Draws>,
    /// Labels of the drawn items, if the data set consists of user interactions ([`Batch::of_choices`]).
    pub drawn_labels: Option<&'a [f32]>,
    /// Weights of the drawn items in that case; `None`: 1 each.
    pub drawn_weights: Option<&'a [f32]>,
    /// One score per entry (of all lists, or of the draws, draw after draw).
    pub scores: &'a [f64],
    /// Scores of the same entries under the model of the previous step; for objectives whose needs ask for them.
    pub previous: Option<&'a [f64]>,
    /// Scores from which frozen quantities are computed; `None`: the present ones.
    pub frozen: Option<&'a [f64]>,
    /// Seed and step; each list has its own random numbers.
    pub stream: Stream,
    /// How lists become one loss.
    pub reduction: Reduction,
}

impl<'a> Batch<'a> {
    /// All lists, whole, in step 0 under seed 0.
    pub fn all(lists: &'a Lists, scores: &'a [f64]) -> Batch<'a> {
        Batch {
            lists,
            draws: None,
            drawn_labels: None,
            drawn_weights: None,
            scores,
            previous: None,
            frozen: None,
            stream: Stream::new(0, "objective"),
            reduction: Reduction::Mean,
        }
    }

    /// Drawn users and drawn items of each, with a label for each item: lists that are never stored as a whole. For states
    /// of [`Goal::state_of_choices`].
    pub fn of_choices(draws: &'a Draws, labels: &'a [f32], scores: &'a [f64]) -> Batch<'a> {
        Batch { draws: Some(draws), drawn_labels: Some(labels), ..Batch::all(&NO_LISTS, scores) }
    }
}

static NO_LISTS: Lists = Lists {
    offsets: Vec::new(),
    rows: None,
    output: None,
    labels: Vec::new(),
    item_weights: None,
    list_weights: None,
    tie_keys: None,
    missed: None,
    pairs: None,
};

/// How lists become one loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Weighted mean over the lists of the batch; lists without gradient count as 0.
    #[default]
    Mean,
    /// Weighted sum over lists, as the leaves of boosted trees need it.
    Sum,
}

/// Drawn lists and drawn items of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draws {
    /// The drawn lists, strictly ascending.
    pub lists: Vec<u32>,
    /// Items of draw d: `items[offsets[d]..offsets[d + 1]]`.
    pub offsets: Vec<u64>,
    /// Positions within the list, strictly ascending in each draw (without replacement).
    pub items: Vec<u32>,
    /// The importance weight of each draw if lists are drawn with unequal probabilities: the uniform probability divided by
    /// its own, so that the mean over the batch stays unbiased. It multiplies loss and gradient, not the divisor of the
    /// mean. Empty: 1.
    pub importance: Vec<f64>,
    /// The importance weight of each drawn item, relative to a uniform draw, if the other items of a draw were drawn with
    /// unequal probabilities; 1 for relevant items. Empty: drawn uniformly. Only for [`Batch::of_choices`].
    pub stands_for: Vec<f32>,
}

impl Draws {
    /// `length(q)` is that of list `q` of `count`.
    fn check(&self, count: usize, length: impl Fn(usize) -> usize) -> Result<(), GoalError> {
        let wrong = |what, found: String, expected: String| Err(GoalError::Shape { what, found, expected });
        let draws = self.lists.len();
        if self.offsets.len() != draws + 1
            || self.offsets.first() != Some(&0)
            || self.offsets.last() != Some(&(self.items.len() as u64))
            || self.offsets.windows(2).any(|w| w[0] > w[1])
        {
            let expected = format!("{} ascending offsets from 0 to {}", draws + 1, self.items.len());
            return wrong("draws", format!("{} offsets", self.offsets.len()), expected);
        }
        if self.lists.windows(2).any(|w| w[0] >= w[1])
            || self.lists.last().is_some_and(|&q| q as usize >= count)
        {
            return wrong(
                "drawn lists",
                format!("{:?} …", &self.lists[..draws.min(8)]),
                format!("strictly ascending numbers below {count}"),
            );
        }
        if !self.importance.is_empty() && self.importance.len() != draws {
            let found = format!("{} numbers", self.importance.len());
            return wrong("importance of draws", found, format!("none or {draws}"));
        }
        if let Some(bad) = self.importance.iter().find(|i| !i.is_finite() || **i < 0.0) {
            return wrong("importance of draws", bad.to_string(), "finite numbers ≥ 0".into());
        }
        if !self.stands_for.is_empty() && self.stands_for.len() != self.items.len() {
            let found = format!("{} numbers", self.stands_for.len());
            return wrong("importance of drawn items", found, format!("none or {}", self.items.len()));
        }
        if let Some(bad) = self.stands_for.iter().find(|r| !r.is_finite() || **r < 0.0) {
            return wrong("importance of drawn items", bad.to_string(), "finite numbers ≥ 0".into());
        }
        for (d, &q) in self.lists.iter().enumerate() {
            let items = &self.items[self.offsets[d] as usize..self.offsets[d + 1] as usize];
            let length = length(q as usize);
            if items.windows(2).any(|w| w[0] >= w[1]) || items.last().is_some_and(|&i| i as usize >= length) {
                return wrong(
                    "drawn items",
                    format!("{:?} … of list {q}", &items[..items.len().min(8)]),
                    format!("strictly ascending positions below {length}"),
                );
            }
        }
        Ok(())
    }
}

/// The lists of one of several workers, who all have the same batch of whole lists.
#[derive(Clone, Debug)]
pub struct Among<'a> {
    /// All workers.
    pub workers: &'a dyn Collective,
    /// The lists that it computes. A list may be computed by several workers: each needs the gradient of other items of it.
    pub computes: Range<usize>,
    /// The lists among them whose losses and state are those that this worker computes. Worker after worker they make up all lists.
    pub owns: Range<usize>,
}

/// How many lists contributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListCounts {
    /// Lists of the batch.
    pub all: usize,
    /// Those that contributed.
    pub used: usize,
    /// Those without gradient (for example one item, or no relevant item): loss 0, gradient 0.
    pub idle: usize,
}

/// Results of a step, all of them finite; reuse the value to avoid allocations. After a step that failed nothing in it has a
/// meaning.
#[derive(Clone, Debug, Default)]
pub struct Gradients {
    /// ∂loss/∂score of every entry of the batch.
    pub gradient: Vec<f64>,
    /// Hessian diagonal ∂²loss/∂score² of every entry, or a bound ([`crate::Hessian`] says which); filled if `want_hessian`.
    pub hessian: Vec<f64>,
    /// Ask for the Hessian diagonal.
    pub want_hessian: bool,
    /// Gradient at the scores of the previous step with the state of that step; filled if the batch has them and
    /// the objective asks for them.
    pub gradient_previous: Vec<f64>,
    /// The loss.
    pub loss: f64,
    /// Loss of each list of the batch before weights; 0 for lists without gradient.
    pub losses: Vec<f64>,
    /// How many lists contributed.
    pub counts: ListCounts,
}

thread_local! {
    /// Scratch memory of this thread. It is taken while in use: a kernel that itself runs in parallel may be scheduled on
    /// this thread again, and must then find no scratch in use.
    static WORK: Cell<Option<Box<Work>>> = const { Cell::new(None) };
}

/// A part of the batch with fewer entries is not split further.
const GRAIN: usize = 4096;

pub(crate) fn step(
    goal: &Goal,
    batch: &Batch,
    state: &mut State,
    out: &mut Gradients,
    among: Option<&Among>,
) -> Result<(), GoalError> {
    let lists = batch.lists;
    match (batch.draws, batch.drawn_labels) {
        (Some(draws), None) => draws.check(lists.len(), |q| lists.range(q).len())?,
        (Some(draws), Some(_)) => draws.check(state.len(), |q| state.shape.items[q] as usize)?,
        (None, _) => {}
    }
    let (count, entries) = match batch.draws {
        None => (lists.len(), lists.entries()),
        Some(draws) => (draws.lists.len(), draws.items.len()),
    };
    let shape = |what, found: usize, expected: usize| {
        if found == expected {
            return Ok(());
        }
        Err(GoalError::Shape { what, found: found.to_string(), expected: expected.to_string() })
    };
    match batch.drawn_labels {
        None => shape("lists of the state", state.len(), lists.len())?,
        Some(labels) => shape("labels of the drawn items", labels.len(), entries)?,
    }
    if batch.draws.is_some_and(|draws| !draws.stands_for.is_empty())
        && (batch.drawn_labels.is_none() || !goal.objective().takes_uneven_draws())
    {
        return Err(GoalError::Uneven { objective: goal.name().to_string() });
    }
    if let Some(weights) = batch.drawn_weights {
        shape("weights of the drawn items", weights.len(), entries)?;
        if let Some(bad) = weights.iter().find(|w| !w.is_finite() || **w < 0.0) {
            return Err(GoalError::Shape {
                what: "weights of the drawn items",
                found: bad.to_string(),
                expected: "finite numbers from 0 on".into(),
            });
        }
    }
    shape("scores", batch.scores.len(), entries)?;
    let with_previous = goal.objective().needs().previous_scores && batch.previous.is_some();
    for (what, scores) in [("previous scores", batch.previous), ("frozen scores", batch.frozen)] {
        shape(what, scores.map_or(entries, <[f64]>::len), entries)?;
    }
    let State { shape: layout, values } = state;
    let part = Part { goal, batch, shape: layout, first: 0, count };
    for scores in [Some(batch.scores), batch.previous, batch.frozen].into_iter().flatten() {
        // Counted rather than searched for: a loop without an early exit is vectorised.
        if scores.iter().filter(|s| !s.is_finite()).count() > 0 {
            let bad = scores.iter().position(|s| !s.is_finite()).unwrap_or_default();
            return Err(part.bad_score(bad, scores[bad]));
        }
    }
    if let Some(most) = goal.objective().longest() {
        part.check_lengths(most)?;
    }

    fill(&mut out.gradient, entries);
    fill(&mut out.hessian, if out.want_hessian { entries } else { 0 });
    fill(&mut out.gradient_previous, if with_previous { entries } else { 0 });
    out.losses.clear();
    out.losses.resize(count, f64::NAN);

    let weight: f64 = match batch.reduction {
        Reduction::Sum => 1.0,
        Reduction::Mean => part.total_weight(),
    };
    let mine = among.map_or(0..count, |among| among.computes.clone());
    let own_entries = match among {
        Some(_) => part.start(mine.start)..part.start(mine.end),
        None => 0..entries,
    };
    let slices = Slices {
        gradient: &mut out.gradient[own_entries.clone()],
        hessian: out.want_hessian.then(|| &mut out.hessian[own_entries.clone()]),
        previous: with_previous.then(|| &mut out.gradient_previous[own_entries]),
        losses: &mut out.losses[mine.clone()],
        // The state of a part starts with its first list.
        state: &mut values[if mine.is_empty() { 0 } else { layout.block(part.list_at(mine.start)).start }..],
    };
    let own = Part { first: mine.start, count: mine.len(), ..part };
    own.run(slices, if weight > 0.0 { 1.0 / weight } else { 0.0 })?;
    if let Some(among) = among {
        exchange(among, &mut out.losses, layout, values)?;
    }

    let used = out.losses.iter().filter(|loss| !loss.is_nan()).count();
    out.counts = ListCounts { all: count, used, idle: count - used };
    out.losses.iter_mut().filter(|loss| loss.is_nan()).for_each(|loss| *loss = 0.0);
    out.loss = if weight > 0.0 { part.weighted_losses(&out.losses) / weight } else { 0.0 };
    if out.loss.is_finite() { Ok(()) } else { Err(part.bad_sum(&out.losses)) }
}

/// Gives every worker the losses and the state of the lists that others own.
fn exchange(among: &Among, losses: &mut [f64], layout: &Shape, values: &mut [f64]) -> Result<(), GoalError> {
    let owns = among.owns.clone();
    let state = match (owns.is_empty(), layout.is_stateless()) {
        (false, false) => layout.block(owns.start).start..layout.block(owns.end - 1).end,
        _ => 0..0,
    };
    let own = losses[owns].iter().chain(&values[state]);
    let own: Vec<u8> = std::iter::once((among.owns.len() as u64).to_le_bytes())
        .chain(own.map(|value| value.to_bits().to_le_bytes()))
        .flatten()
        .collect();
    let (mut list, mut place) = (0, 0);
    for bytes in among.workers.gather(&own)? {
        let words = bytes.as_chunks::<8>().0;
        let Some((count, words)) = words.split_first() else { continue };
        let count = usize::try_from(u64::from_le_bytes(*count)).unwrap_or(usize::MAX).min(words.len());
        let (of_lists, of_state) = words.split_at(count);
        let bits = |word: &[u8; 8]| f64::from_bits(u64::from_le_bytes(*word));
        losses.iter_mut().skip(list).zip(of_lists).for_each(|(loss, word)| *loss = bits(word));
        values.iter_mut().skip(place).zip(of_state).for_each(|(value, word)| *value = bits(word));
        (list, place) = (list + of_lists.len(), place + of_state.len());
    }
    Ok(())
}

toprank_core::vectorised! {
    /// Multiplies all values by `weight`; true if one is then not finite.
    fn scale_all(values: &mut [f64], weight: f64) -> bool {
        // Counted, as above.
        let mut unfit = 0;
        for value in values {
            *value *= weight;
            unfit += u64::from(!value.is_finite());
        }
        unfit > 0
    }
}

toprank_core::vectorised! {
    /// True if a number of the state is no longer one. NaN is a number's first value: not yet visited.
    fn is_spoilt(state: &[f64], before: &[f64]) -> bool {
        let mut spoilt = 0;
        for (now, before) in state.iter().zip(before) {
            spoilt += u64::from(now.is_infinite() | (now.is_nan() & !before.is_nan()));
        }
        spoilt > 0
    }
}

fn fill(values: &mut Vec<f64>, length: usize) {
    values.clear();
    values.resize(length, 0.0);
}

/// Consecutive lists of the batch.
#[derive(Clone, Copy)]
struct Part<'a> {
    goal: &'a Goal,
    batch: &'a Batch<'a>,
    shape: &'a Shape,
    /// First list (or draw) of the part.
    first: usize,
    /// Number of lists (or draws).
    count: usize,
}

/// What a part writes: its own slice of every output.
struct Slices<'a> {
    gradient: &'a mut [f64],
    hessian: Option<&'a mut [f64]>,
    previous: Option<&'a mut [f64]>,
    losses: &'a mut [f64],
    state: &'a mut [f64],
}

impl<'a> Slices<'a> {
    fn split(self, entries: usize, lists: usize, state: usize) -> (Slices<'a>, Slices<'a>) {
        let (gradient, gradient_right) = self.gradient.split_at_mut(entries);
        let (losses, losses_right) = self.losses.split_at_mut(lists);
        let (state, state_right) = self.state.split_at_mut(state);
        let (hessian, hessian_right) = self.hessian.map(|c| c.split_at_mut(entries)).unzip();
        let (previous, previous_right) = self.previous.map(|p| p.split_at_mut(entries)).unzip();
        (
            Slices { gradient, hessian, previous, losses, state },
            Slices {
                gradient: gradient_right,
                hessian: hessian_right,
                previous: previous_right,
                losses: losses_right,
                state: state_right,
            },
        )
    }
}

impl Part<'_> {
    /// Number of the list at position `d` of the batch.
    fn list_at(&self, d: usize) -> usize {
        self.batch.draws.map_or(d, |draws| draws.lists[d] as usize)
    }

    /// Where the entries of position `d` start in the batch.
    fn start(&self, d: usize) -> usize {
        self.batch.draws.map_or_else(|| self.batch.lists.offsets[d], |draws| draws.offsets[d]) as usize
    }

    fn weight(&self, d: usize) -> f64 {
        self.batch.lists.list_weights.as_ref().map_or(1.0, |w| f64::from(w[self.list_at(d)]))
    }

    fn total_weight(&self) -> f64 {
        if self.batch.lists.list_weights.is_none() {
            return self.count as f64;
        }
        (0..self.count).map(|d| self.weight(d)).sum()
    }

    fn importance(&self, d: usize) -> f64 {
        self.batch.draws.and_then(|draws| draws.importance.get(d)).copied().unwrap_or(1.0)
    }

    fn weighted_losses(&self, losses: &[f64]) -> f64 {
        let even = self.batch.draws.is_none_or(|draws| draws.importance.is_empty());
        if even && self.batch.lists.list_weights.is_none() {
            return ordered_sum(losses);
        }
        losses.iter().enumerate().map(|(d, loss)| self.weight(d) * self.importance(d) * loss).sum()
    }

    /// `what` of the list at position `d` is not finite.
    fn not_finite(&self, d: usize, what: &'static str) -> GoalError {
        let entries = self.start(d)..self.start(d + 1);
        let score = |entry: usize| self.batch.scores[entry];
        let farthest = entries.max_by(|&a, &b| score(a).abs().total_cmp(&score(b).abs()));
        let entry = farthest.unwrap_or(self.start(d));
        GoalError::NotFinite {
            list: self.list_at(d),
            what,
            item: self.item_at(d, entry),
            score: self.batch.scores.get(entry).copied().unwrap_or(0.0),
        }
    }

    /// The losses are finite and their sum is not: the list with the largest part of it.
    fn bad_sum(&self, losses: &[f64]) -> GoalError {
        let part = |d: usize| (self.weight(d) * self.importance(d) * losses[d]).abs();
        let largest = (0..self.count).max_by(|&a, &b| part(a).total_cmp(&part(b))).unwrap_or(0);
        self.not_finite(largest, "sum of the losses, to which it adds most,")
    }

    /// Position within its list of an entry of position `d`.
    fn item_at(&self, d: usize, entry: usize) -> usize {
        self.batch.draws.map_or(entry - self.start(d), |draws| draws.items[entry] as usize)
    }

    fn bad_score(&self, entry: usize, found: f64) -> GoalError {
        let d = (0..self.count).rev().find(|&d| self.start(d) <= entry).unwrap_or(0);
        GoalError::Score { list: self.list_at(d), item: self.item_at(d, entry), found }
    }

    /// Refuses lists of more than `most` labelled (or drawn) items.
    fn check_lengths(&self, most: usize) -> Result<(), GoalError> {
        for d in 0..self.count {
            let drawn = self.start(d + 1) - self.start(d);
            let list = self.list_at(d);
            let found = drawn.min(self.shape.items[list] as usize);
            if found > most {
                return Err(GoalError::Long { list, found, most });
            }
        }
        Ok(())
    }

    /// Splits the lists in halves until a part is small. The splits do not depend on threads, and neither do the results,
    /// since nothing is added across lists here: the error is that of the first list that has one.
    fn run(self, slices: Slices, scale: f64) -> Result<(), GoalError> {
        let end = self.first + self.count;
        // With one thread it is this one: a caller outside the pool would only wait for it.
        if self.count <= 1 || slices.gradient.len() <= GRAIN || rayon::current_num_threads() == 1 {
            return self.run_here(slices, scale);
        }
        // Lists of a class that share their numbers stay together.
        let block = |d: usize| self.shape.block_number(self.list_at(d));
        let half = self.first + self.count / 2;
        let between = |d: &usize| block(d - 1) != block(*d);
        let middle = (self.first + 1..=half).rev().find(between).or_else(|| (half + 1..end).find(between));
        let Some(middle) = middle else {
            return self.run_here(slices, scale);
        };
        let state_before = |d: usize| self.shape.block(self.list_at(d)).start;
        let (left, right) = slices.split(
            self.start(middle) - self.start(self.first),
            middle - self.first,
            state_before(middle) - state_before(self.first),
        );
        let (left, right) = rayon::join(
            || Part { count: middle - self.first, ..self }.run(left, scale),
            || Part { first: middle, count: end - middle, ..self }.run(right, scale),
        );
        left.and(right)
    }

    fn run_here(self, slices: Slices, scale: f64) -> Result<(), GoalError> {
        let mut work = WORK.take().unwrap_or_default();
        let done = self.run_lists(slices, scale, &mut work);
        WORK.set(Some(work));
        done
    }

    /// One list after the other. A list whose results are not finite gets its state back; the error is that of the first such
    /// list. The others take the step all the same, so that the state does not depend on threads.
    fn run_lists(self, mut slices: Slices, scale: f64, work: &mut Work) -> Result<(), GoalError> {
        if self.count == 0 {
            return Ok(());
        }
        let base = self.start(self.first);
        let state_base = self.shape.block(self.list_at(self.first)).start;
        let mut before = std::mem::take(&mut work.state_before);
        let mut done = Ok(());
        for d in self.first..self.first + self.count {
            let here = self.start(d) - base..self.start(d + 1) - base;
            let q = self.list_at(d);
            let block = self.shape.block(q);
            let state = &mut slices.state[block.start - state_base..block.end - state_base];
            before.clear();
            before.extend_from_slice(state);
            let mut out = Out {
                gradient: &mut slices.gradient[here.clone()],
                hessian: slices.hessian.as_mut().map(|c| &mut c[here.clone()]),
                gradient_previous: slices.previous.as_mut().map(|p| &mut p[here.clone()]),
            };
            let loss = self.list(d, state, work, &mut out);
            slices.losses[d - self.first] = loss.unwrap_or(f64::NAN);
            let weight = scale * self.weight(d) * self.importance(d);
            let unfit = match loss {
                None => None,
                Some(loss) if !loss.is_finite() => Some("loss"),
                Some(_) if scale_all(out.gradient, weight) => Some("gradient"),
                Some(_) if out.hessian.is_some_and(|h| scale_all(h, weight)) => Some("Hessian diagonal"),
                Some(_) if out.gradient_previous.is_some_and(|g| scale_all(g, weight)) => {
                    Some("gradient at the previous scores")
                }
                Some(_) => is_spoilt(state, &before).then_some("state of the objective"),
            };
            if let Some(what) = unfit {
                state.copy_from_slice(&before);
                done = done.and_then(|()| Err(self.not_finite(d, what)));
            }
        }
        work.state_before = before;
        done
    }

    /// The list (or draw) at position `d`, without its unlabelled items.
    fn list(&self, d: usize, state: &mut [f64], work: &mut Work, out: &mut Out) -> Option<f64> {
        let (batch, q) = (self.batch, self.list_at(d));
        let lists = batch.lists;
        let entries = self.start(d)..self.start(d + 1);
        if let Some(labels) = batch.drawn_labels {
            return self.choices(d, &labels[entries.clone()], entries, state, work, out);
        }
        let whole = lists.range(q);
        let items = batch.draws.map(|draws| &draws.items[entries.clone()]);
        let mut state = self.shape.of_list(q, whole.len(), state);
        let seen = Input {
            list: List {
                id: q as u32,
                scores: &batch.scores[entries.clone()],
                labels: &lists.labels[whole.clone()],
                weights: lists.item_weights.as_ref().map(|w| &w[whole.clone()]),
                list_weight: self.weight(d),
                tie_keys: None,
                missed: lists.missed.as_ref().map_or(&[], |missed| missed.of(q)),
                pairs: lists.pairs.as_ref().map(|pairs| pairs.of(q)),
            },
            sample: items,
            stands_for: None,
            previous: batch.previous.map(|p| &p[entries.clone()]),
            frozen: batch.frozen.map(|f| &f[entries.clone()]),
            policy: self.goal.policy(),
            stream: batch.stream.of_list(q as u32),
        };
        if items.is_none() && (state.items == whole.len() || seen.list.pairs.is_some()) {
            return self.goal.list(&seen, &mut state, work, out);
        }
        let mut gathered = std::mem::take(&mut work.gathered);
        let loss = gathered.run(&seen, out, |input, out| self.goal.list(input, &mut state, work, out));
        work.gathered = gathered;
        loss
    }

    /// The interactions of a user: every drawn item has its label, so nothing needs to be gathered first.
    fn choices(
        &self,
        d: usize,
        labels: &[f32],
        entries: std::ops::Range<usize>,
        state: &mut [f64],
        work: &mut Work,
        out: &mut Out,
    ) -> Option<f64> {
        let (batch, q) = (self.batch, self.list_at(d));
        let mut state = self.shape.of_list(q, self.shape.items[q] as usize, state);
        let input = Input {
            list: List {
                id: q as u32,
                weights: batch.drawn_weights.map(|weights| &weights[entries.clone()]),
                ..List::new(&batch.scores[entries.clone()], labels)
            },
            sample: batch.draws.map(|draws| &draws.items[entries.clone()]),
            stands_for: batch.draws.and_then(|draws| draws.stands_for.get(entries.clone())),
            previous: batch.previous.map(|p| &p[entries.clone()]),
            frozen: batch.frozen.map(|f| &f[entries.clone()]),
            policy: self.goal.policy(),
            stream: batch.stream.of_list(q as u32),
        };
        self.goal.list(&input, &mut state, work, out)
    }
}

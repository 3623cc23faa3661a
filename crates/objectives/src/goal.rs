//! An objective as a user asks for it: `song:gamma=0.3:gain=linear`, with every rule resolved.

use std::sync::Arc;

use toprank_core::collective::CollectiveError;
use toprank_core::{Choices, Entry, Gain, List, Lists, ListsError, ParamError, Policy, Spec, catalog};
use toprank_metrics::MAX_EXP2_LABEL;

use crate::catalog::{Listing, alias, find, names};
use crate::compositional::tracker::{LIST_RATE, RATE};
use crate::driver::{Among, Batch, Gradients};
use crate::objective::{Input, Objective, Out};
use crate::own;
use crate::params::GAIN;
use crate::state::{Column, Per, State, StateError};
use crate::work::Work;

/// How often training looks at what an objective keeps numbers for: probabilities per step, in (0, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawRates {
    /// That a relevant item is drawn: |B|/|S| in the papers.
    pub pairs: f64,
    /// That a list is drawn: the lists of a step by all lists.
    pub lists: f64,
}

/// An objective with its parameters and the policy it follows.
///
/// ```
/// use toprank_core::{Gain, Policy};
/// use toprank_objectives::Goal;
/// let goal = Goal::parse("softmax:smoothing=0.1", &Policy::default()).unwrap();
/// assert_eq!(goal.name(), "listnet:target=linear:smoothing=0.1");
/// let error = Goal::parse("listnet:targt=exp", &Policy::default()).unwrap_err();
/// assert!(error.to_string().contains("target"), "{error}");
/// assert_eq!(Goal::parse("lambdarank:k=10", &Policy::default()).unwrap().name(), "lambdarank@10");
/// assert!(Goal::parse("lambdarank@5:k=10", &Policy::default()).is_err());
/// ```
#[derive(Clone)]
pub struct Goal {
    name: String,
    line: &'static Listing,
    objective: Arc<dyn Objective>,
    policy: Policy,
}

impl std::fmt::Debug for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Goal").field("name", &self.name).field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Goal {
    /// Parses an objective; rules that the text does not set are those of `base`.
    pub fn parse(text: &str, base: &Policy) -> Result<Goal, ParamError> {
        let spec = Spec::parse(text).map_err(|error| match error.param.as_str() {
            // The grammar speaks of metrics.
            "metric" => {
                ParamError::new("objective", text, "name[:key=value]…, for example listnet:target=linear")
            }
            _ => error,
        })?;
        if let Some(objective) = own::registered(&spec.name) {
            check_parameters(&spec, &OWN)?;
            let mut policy = base.clone();
            for (key, value) in &spec.args.0 {
                policy.set(key, value)?;
            }
            return Ok(Goal { name: spec.to_string(), line: &OWN, objective, policy });
        }
        let line = find(&spec.name).ok_or_else(|| unknown(&spec.name))?;
        let spec = cut_by_key(without_alias(spec)?, line)?;
        check_parameters(&spec, line)?;
        let mut policy = base.clone();
        for (key, value) in spec.args.0.iter().filter(|(key, _)| Policy::KEYS.contains(&key.as_str())) {
            policy.set(key, value)?;
        }
        Ok(Goal { name: spec.to_string(), line, objective: (line.entry.make)(&spec)?.into(), policy })
    }

    /// The same goal for given sampling rates, on which good defaults and the schedules of the theory depend. They are passed on
    /// to objectives that have the parameters `rate` and `list-rate`, where the user did not set them. The name does not change.
    ///
    /// ```
    /// use toprank_core::Policy;
    /// use toprank_objectives::{DrawRates, Goal};
    /// let rates = DrawRates { pairs: 0.01, lists: 0.1 };
    /// let goal = Goal::parse("song-v2", &Policy::default()).unwrap().at_rates(rates).unwrap();
    /// assert_eq!(goal.name(), "song-v2");
    /// assert!(goal.at_rates(DrawRates { pairs: 2.0, ..rates }).is_err());
    /// assert!(Goal::parse("bpr", &Policy::default()).unwrap().at_rates(rates).is_ok());
    /// ```
    ///
    /// # Errors
    /// If a rate is not in (0, 1].
    pub fn at_rates(self, rates: DrawRates) -> Result<Goal, ParamError> {
        let known = |name: &str| self.line.entry.params.iter().any(|param| param.name == name);
        let rates = [(RATE.name, rates.pairs), (LIST_RATE.name, rates.lists)];
        if !rates.iter().any(|(name, _)| known(name)) {
            return Ok(self);
        }
        let mut spec = Spec::parse(&self.name)?;
        for (name, rate) in rates {
            if known(name) && spec.args.get(name).is_none() {
                spec.args.0.push((name.into(), rate.to_string()));
            }
        }
        Ok(Goal { objective: (self.line.entry.make)(&spec)?.into(), ..self })
    }

    /// Its name in reports: as the user gave it, aliases resolved.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A user's own objective, which is not in the catalog; see `own_objective.rs` and `own_x_risk.rs` among the examples of
    /// the crate `toprank`.
    pub fn own(name: &str, objective: impl Objective + 'static, policy: &Policy) -> Goal {
        Goal { name: name.to_string(), line: &OWN, objective: Arc::new(objective), policy: policy.clone() }
    }

    /// Its catalog entry; user-defined objectives share an entry that is not in the catalog.
    pub fn listing(&self) -> &'static Listing {
        self.line
    }

    /// The objective with its parameters.
    pub fn objective(&self) -> &dyn Objective {
        &*self.objective
    }

    /// The policy it follows.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Initial state for a data set: checks the labels, and computes the ideal DCG and the like from whole lists.
    pub fn state(&self, lists: &Lists) -> Result<State, GoalError> {
        lists.check()?;
        if lists.pairs.is_some() && !self.objective.takes_pairs() {
            let pairwise = crate::pairwise::FAMILY.iter().map(|line| line.entry.name).collect();
            return Err(GoalError::Pairs { objective: self.name.clone(), pairwise });
        }
        self.check_labels(lists)?;
        let mut state = State::new(self.objective.columns(), lists, &self.policy);
        if !state.columns().is_empty() {
            let mut work = Work::default();
            let zeros = vec![0.0; (0..lists.len()).map(|q| lists.range(q).len()).max().unwrap_or(0)];
            for q in 0..lists.len() {
                let range = lists.range(q);
                let missed = lists.missed.as_ref().map_or(&[][..], |missed| missed.of(q));
                let labels = &lists.labels[range.clone()];
                let list = List { id: q as u32, missed, ..List::new(&zeros[..range.len()], labels) };
                self.objective.prepare(&list, &self.policy, &mut state.of_list(q, range.len()), &mut work);
            }
        }
        Ok(state)
    }

    /// Initial state for lists of user interactions with items: one number per relevant pair, never per user and
    /// item. Its batches are made by [`Batch::of_choices`].
    ///
    /// ```
    /// use toprank_core::{Choices, Policy};
    /// use toprank_objectives::{Batch, Draws, Goal, Gradients};
    /// let choices = Choices::from_pairs(1, 1000, vec![(0, 7, 1.0), (0, 3, 1.0)]);
    /// let goal = Goal::parse("song", &Policy::default()).unwrap();
    /// let mut state = goal.state_of_choices(&choices).unwrap();
    /// let draws = Draws { lists: vec![0], offsets: vec![0, 3], items: vec![3, 7, 500], ..Draws::default() };
    /// let mut out = Gradients::default();
    /// goal.step(&Batch::of_choices(&draws, &[1.0, 1.0, 0.0], &[0.1, 0.2, 0.3]), &mut state, &mut out).unwrap();
    /// assert!(out.gradient[0] < 0.0 && out.gradient[2] > 0.0);
    /// ```
    ///
    /// # Errors
    /// If a label is invalid, or the objective keeps state per item, which would be a user × item table.
    pub fn state_of_choices(&self, choices: &Choices) -> Result<State, GoalError> {
        choices.check()?;
        let columns = self.objective.columns();
        let gains_nothing = !matches!(&self.policy.gain, Gain::Table(gains) if gains.first() != Some(&0.0));
        if columns.iter().any(|column| column.per == Per::Item) || !gains_nothing {
            return Err(GoalError::Shape {
                what: "the objective for user interactions",
                found: format!("{}, which needs a number for every user and item", self.name),
                expected:
                    "an objective with state per relevant item, in which items without interactions have no gain"
                        .into(),
            });
        }
        for u in 0..choices.len() {
            self.check_list(u, choices.labels_of(u).iter())?;
        }
        let mut state = State::of_choices(columns, choices, &self.policy);
        if !columns.is_empty() {
            let mut work = Work::default();
            let zeros = vec![0.0; (0..choices.len()).map(|u| choices.of(u).len()).max().unwrap_or(0)];
            for u in 0..choices.len() {
                let labels = choices.labels_of(u);
                let list = List { id: u as u32, ..List::new(&zeros[..labels.len()], labels) };
                self.objective.prepare(
                    &list,
                    &self.policy,
                    &mut state.of_list(u, choices.item_count),
                    &mut work,
                );
            }
        }
        Ok(state)
    }

    /// Initial state for lists of `items` items each, of which the first `first[q]` items of list q are relevant (label 1): a
    /// row as the query and the rows of its class. It takes memory per list and per relevant item, but none per item.
    /// Its batches are made by [`Batch::of_choices`].
    ///
    /// ```
    /// use toprank_core::Policy;
    /// use toprank_objectives::{Batch, Draws, Goal, Gradients};
    /// let goal = Goal::parse("ap", &Policy::default()).unwrap();
    /// let mut state = goal.state_of_first(1_000_000, &[2, 5]).unwrap();
    /// let draws = Draws { lists: vec![1], offsets: vec![0, 3], items: vec![0, 4, 77], ..Draws::default() };
    /// let mut out = Gradients::default();
    /// goal.step(&Batch::of_choices(&draws, &[1.0, 1.0, 0.0], &[0.1, 0.2, 0.3]), &mut state, &mut out).unwrap();
    /// assert!(out.gradient[0] < 0.0 && out.gradient[2] > 0.0);
    /// ```
    ///
    /// # Errors
    /// If the objective keeps state per item, or a list would have more relevant items than items.
    pub fn state_of_first(&self, items: usize, first: &[u32]) -> Result<State, GoalError> {
        self.of_first(self.objective.columns(), items, first, &[])
    }

    /// The same for lists that are the rows of classes, class after class: class c has the lists `classes[c]..classes[c + 1]`.
    /// An objective may keep one state for all rows of a class
    /// ([`Objective::columns_of_classes`](crate::Objective::columns_of_classes)).
    ///
    /// ```
    /// use toprank_core::Policy;
    /// use toprank_objectives::Goal;
    /// let goal = Goal::parse("soprc", &Policy::default()).unwrap();
    /// let mut state = goal.state_of_classes(1_000_000, &[2, 2, 2, 1, 1], &[0, 3, 5]).unwrap();
    /// assert_eq!(state.of_list(2, 1_000_000).cut::<1>()[0].len(), 100); // points of the distribution of the first class
    /// ```
    ///
    /// # Errors
    /// As [`Goal::state_of_first`], or if the classes do not hold all lists.
    pub fn state_of_classes(&self, items: usize, first: &[u32], classes: &[u32]) -> Result<State, GoalError> {
        let ascending = classes.first() == Some(&0) && classes.is_sorted();
        if !ascending || classes.last().map(|end| *end as usize) != Some(first.len()) {
            let (found, expected) = (format!("{classes:?}"), format!("ascending from 0 to {}", first.len()));
            return Err(GoalError::Shape { what: "where the classes start", found, expected });
        }
        self.of_first(self.objective.columns_of_classes(), items, first, classes)
    }

    fn of_first(
        &self,
        columns: &'static [Column],
        items: usize,
        first: &[u32],
        classes: &[u32],
    ) -> Result<State, GoalError> {
        if columns.iter().any(|column| column.per == Per::Item) {
            return Err(GoalError::Shape {
                what: "the objective for rows and the rows of their class",
                found: format!("{}, which needs a number for every pair of rows", self.name),
                expected: "an objective with state per list or per relevant item".into(),
            });
        }
        let most = first.iter().copied().max().unwrap_or(0);
        if most as usize > items {
            let (found, expected) = (format!("{most} of {items} items"), "at most all of them".into());
            return Err(GoalError::Shape { what: "relevant items", found, expected });
        }
        let labels = vec![1.0; most as usize];
        self.check_list(0, labels.iter())?;
        let mut state = State::of_classes(columns, items, first, classes);
        if !columns.is_empty() {
            let mut work = Work::default();
            let zeros = vec![0.0; labels.len()];
            for (q, &relevant) in first.iter().enumerate() {
                let relevant = relevant as usize;
                let list = List { id: q as u32, ..List::new(&zeros[..relevant], &labels[..relevant]) };
                self.objective.prepare(&list, &self.policy, &mut state.of_list(q, items), &mut work);
            }
        }
        Ok(state)
    }

    fn check_labels(&self, lists: &Lists) -> Result<(), GoalError> {
        for q in 0..lists.len() {
            let missed = lists.missed.as_ref().map_or(&[][..], |missed| missed.of(q));
            self.check_list(q, lists.labels[lists.range(q)].iter().chain(missed))?;
        }
        Ok(())
    }

    fn check_list<'a>(&self, q: usize, labels: impl Iterator<Item = &'a f32>) -> Result<(), GoalError> {
        let gain =
            self.line.entry.params.iter().any(|param| param.name == "gain").then_some(&self.policy.gain);
        for (item, &y) in labels.enumerate() {
            let expected = match gain {
                _ if y.is_infinite() => "a finite label",
                Some(Gain::Exp2) if y > MAX_EXP2_LABEL => {
                    "a label up to 31 with the gain 2^label - 1; gain=linear accepts greater ones"
                }
                Some(Gain::Table(gains)) if y > 0.0 && (y.fract() != 0.0 || y as usize >= gains.len()) => {
                    "an integer label that the table of gains covers"
                }
                _ => continue,
            };
            return Err(GoalError::Label { list: q, item, found: y, expected });
        }
        Ok(())
    }

    /// Loss, gradient and Hessian diagonal of one step over a data set or a batch of it, all finite; updates the state.
    ///
    /// # Errors
    /// If a score is not finite, a result would not be finite, or lengths do not fit. If the results of some lists are not finite
    /// ([`GoalError::NotFinite`]), these lists have the state that they had before and all others have taken the step; after any
    /// other error the whole state is as it was.
    pub fn step(&self, batch: &Batch, state: &mut State, out: &mut Gradients) -> Result<(), GoalError> {
        crate::driver::step(self, batch, state, out, None)
    }

    /// The same as one of several workers, who all have the same batch of whole lists and the same state: each computes the gradient
    /// of some lists, and all have the loss and the state of all of them in the end. The gradient of other lists is 0.
    ///
    /// # Errors
    /// As for [`Goal::step`], or if a worker has ended.
    ///
    /// # Panics
    /// If there are no such lists, or items are drawn.
    pub fn step_among(
        &self,
        among: &Among,
        batch: &Batch,
        state: &mut State,
        out: &mut Gradients,
    ) -> Result<(), GoalError> {
        assert!(batch.draws.is_none(), "whole lists");
        crate::driver::step(self, batch, state, out, Some(among))
    }

    /// Loss and gradient of one whole list, without state: for exploration and tests.
    ///
    /// ```
    /// use toprank_core::{List, Policy};
    /// let goal = toprank_objectives::Goal::parse("ranknet", &Policy::default()).unwrap();
    /// let (loss, gradient) = goal.of_list(&List::new(&[0.0, 0.0], &[1.0, 0.0])).unwrap();
    /// assert!((loss - 2f64.ln()).abs() < 1e-15);
    /// assert_eq!(gradient, [-0.5, 0.5]);
    /// ```
    pub fn of_list(&self, list: &List) -> Result<(f64, Vec<f64>), GoalError> {
        let lists = Lists {
            item_weights: list.weights.map(<[f32]>::to_vec),
            missed: Some(toprank_core::Ragged {
                offsets: vec![0, list.missed.len() as u64],
                values: list.missed.to_vec(),
            }),
            pairs: list.pairs.map(|pairs| toprank_core::Preferences {
                offsets: vec![0, pairs.len() as u64],
                pairs: pairs.to_vec(),
            }),
            ..Lists::from_lengths(&[list.len()], list.labels.to_vec())
        };
        let mut out = Gradients::default();
        self.step(&Batch::all(&lists, list.scores), &mut self.state(&lists)?, &mut out)?;
        Ok((out.loss, out.gradient))
    }

    /// One list under this goal's policy, for callers that hold their own state and buffers.
    pub fn list(
        &self,
        input: &Input,
        state: &mut crate::ListState,
        work: &mut Work,
        out: &mut Out,
    ) -> Option<f64> {
        self.objective.list(input, state, work, out)
    }
}

/// The entry of user-defined objectives. It has the parameter `gain`, so that labels are checked as for objectives with gains.
static OWN: Listing = Listing {
    entry: Entry {
        name: "own",
        family: "user-defined",
        about: "an objective that is not in the catalog",
        page: "",
        params: &[GAIN],
        make: |_| Err(unknown("own")),
    },
    examples: &[],
};

fn unknown(name: &str) -> ParamError {
    if name.starts_with(toprank_metrics::OWN_PREFIX) {
        return ParamError::new(
            "objective",
            name,
            "one that this program has registered: it is a user's own",
        );
    }
    catalog::unknown("objective", name, names())
}

/// The same without an alias; a parameter that is set overrides that of the alias.
fn without_alias(spec: Spec) -> Result<Spec, ParamError> {
    let Some(meant) = alias(&spec.name) else { return Ok(spec) };
    let mut meant = Spec::parse(meant)?;
    meant.args.0.retain(|(key, _)| spec.args.get(key).is_none());
    meant.args.0.extend(spec.args.0);
    Ok(Spec { cut: spec.cut.or(meant.cut), ..meant })
}

/// `name:k=10` is another way to write `name@10` for an objective that takes a cut-off.
fn cut_by_key(mut spec: Spec, line: &Listing) -> Result<Spec, ParamError> {
    let has = |name: &str| line.entry.params.iter().any(|param| param.name == name);
    let Some(at) = spec.args.0.iter().position(|(key, _)| key == "k").filter(|_| has("@") && !has("k"))
    else {
        return Ok(spec);
    };
    let (_, value) = spec.args.0.remove(at);
    match value.parse() {
        Ok(k) if k > 0 && spec.cut.is_none() => spec.cut = Some(k),
        Ok(_) if spec.cut.is_some() => return Err(ParamError::new("k", &value, "given once, as @ or as k")),
        _ => return Err(ParamError::new("k", &value, "an integer from 1 on")),
    }
    Ok(spec)
}

fn check_parameters(spec: &Spec, line: &Listing) -> Result<(), ParamError> {
    let name = line.entry.name;
    let own: Vec<&str> = line.entry.params.iter().map(|param| param.name).collect();
    if let Some(cut) = spec.cut.filter(|_| !own.contains(&"@")) {
        let expected = "left out: this objective takes the whole list";
        return Err(ParamError::new(&format!("the cut-off of {name}"), &cut.to_string(), expected));
    }
    if let Some((key, _)) = spec.args.0.iter().find(|(key, _)| key == "@" || !own.contains(&key.as_str())) {
        return Err(catalog::unknown_parameter(name, key, own));
    }
    Ok(())
}

/// Errors of a step.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GoalError {
    /// A parameter outside its range.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// Lists with inconsistent columns.
    #[error(transparent)]
    Lists(#[from] ListsError),
    /// A worker has ended.
    #[error(transparent)]
    Worker(#[from] CollectiveError),
    /// A saved state of another objective or data set.
    #[error(transparent)]
    State(#[from] StateError),
    /// A score that is not a finite number.
    #[error("list {list}, item {item}: the score is {found}, expected a finite number")]
    Score {
        /// The list, from 0.
        list: usize,
        /// The item of it, from 0.
        item: usize,
        /// What was found.
        found: f64,
    },
    /// Finite scores whose loss, or what it is computed from, is beyond the range of 64-bit floats. The list has the state that it
    /// had before the step.
    #[error(
        "list {list}: the {what} is not a finite number; the list's score farthest from 0 is {score:e} (item {item}), expected \
         scores, labels and weights for which the objective stays within the range of 64-bit floats"
    )]
    NotFinite {
        /// The list, from 0.
        list: usize,
        /// Loss, gradient, Hessian diagonal or state.
        what: &'static str,
        /// The item with the largest |score| of the list, from 0.
        item: usize,
        /// Its score.
        score: f64,
    },
    /// A label the objective cannot use.
    #[error("list {list}, item {item}: the label is {found}, expected {expected}")]
    Label {
        /// The list, from 0.
        list: usize,
        /// The item of it, from 0; beyond the list's items: a labelled item that was not retrieved.
        item: usize,
        /// What was found.
        found: f32,
        /// What was expected.
        expected: &'static str,
    },
    /// A list with more items than the objective accepts.
    #[error(
        "list {list} has {found} items, expected at most {most} for this objective: its cost grows too fast with them; \
         draw some of its items, or take another objective"
    )]
    Long {
        /// The list, from 0.
        list: usize,
        /// Its labelled items, or the drawn ones.
        found: usize,
        /// The most items that the objective accepts.
        most: usize,
    },
    /// Items that were drawn with unequal probabilities, and an objective that cannot correct for it.
    #[error(
        "{objective} cannot count items that were drawn unevenly for what they stand for, expected an X-risk (song, listwise-ce \
         …) or a mean over pairs (bpr …); take another objective, or draw without the correction"
    )]
    Uneven {
        /// Its name.
        objective: String,
    },
    /// Preference pairs, and an objective that learns from labels only.
    #[error(
        "{objective} learns from labels, expected one of {} where preference pairs are given",
        .pairwise.join(", ")
    )]
    Pairs {
        /// Its name.
        objective: String,
        /// The objectives that learn from pairs.
        pairwise: Vec<&'static str>,
    },
    /// Slices whose lengths do not fit each other.
    #[error("{what}: found {found}, expected {expected}")]
    Shape {
        /// What does not fit.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
}

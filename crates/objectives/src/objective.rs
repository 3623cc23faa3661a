//! What an objective is.

use toprank_core::{List, Policy, Stream};

use crate::state::{Column, ListState};
use crate::work::Work;

/// What an objective sees of one list in one step.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Scores, labels and weights; every score is finite, and no label is NaN unless preferences are given in their place.
    pub list: List<'a>,
    /// Which items of the whole list these are, strictly ascending; `None`: all of them. How many items each one represents
    /// follows from the counts in [`ListState`].
    pub sample: Option<&'a [u32]>,
    /// If the items that are not relevant were drawn with unequal probabilities: the importance weight of each, relative to
    /// a uniform draw. Only given to objectives that [accept such draws](Objective::takes_uneven_draws).
    pub stands_for: Option<&'a [f32]>,
    /// Scores of the same items under the model of the previous step; for objectives whose [`Needs`] ask for them.
    pub previous: Option<&'a [f64]>,
    /// Scores from which frozen quantities (orders, pair weights, normalisers: constants of the gradient) are computed;
    /// `None`: the present ones. With fixed frozen scores the gradient is the derivative of the reported loss.
    pub frozen: Option<&'a [f64]>,
    /// Gains, relevance, the ideal order.
    pub policy: &'a Policy,
    /// Random numbers of this list in this step; `stream.step` is the step.
    pub stream: Stream,
}

impl<'a> Input<'a> {
    /// A whole list in step 0.
    pub fn whole(list: List<'a>, policy: &'a Policy) -> Input<'a> {
        let stream = Stream::new(0, "objective").of_list(list.id);
        Input { list, sample: None, stands_for: None, previous: None, frozen: None, policy, stream }
    }

    /// The scores from which frozen quantities are computed.
    pub fn frozen(&self) -> &'a [f64] {
        self.frozen.unwrap_or(self.list.scores)
    }

    /// Weight of item `i`; 1 if there are none.
    #[inline]
    pub fn weight(&self, i: usize) -> f64 {
        self.list.weights.map_or(1.0, |w| f64::from(w[i]))
    }

    /// Importance weight of item `i` relative to a uniform draw.
    #[inline]
    pub fn stands_for(&self, i: usize) -> f64 {
        self.stands_for.map_or(1.0, |each| f64::from(each[i]))
    }

    /// True if item `i` is relevant under the policy.
    #[inline]
    pub fn is_relevant(&self, i: usize) -> bool {
        self.policy.relevant.is(self.list.labels[i])
    }

    /// Fills both with the positions of their items, ascending.
    pub(crate) fn part(&self, relevant: &mut [u32], others: &mut [u32]) {
        let (mut i, mut k) = (0, 0);
        for j in 0..self.list.len() {
            let (class, at) =
                if self.is_relevant(j) { (&mut *relevant, &mut i) } else { (&mut *others, &mut k) };
            class[*at] = j as u32;
            *at += 1;
        }
    }

    /// Gain of item `i` under the policy.
    #[inline]
    pub fn gain(&self, i: usize) -> f64 {
        toprank_metrics::gain_of(&self.policy.gain, self.list.labels[i])
    }
}

/// Where an objective writes; all slices are zero-filled, one number per item.
pub struct Out<'a> {
    /// ∂loss/∂score.
    pub gradient: &'a mut [f64],
    /// Hessian diagonal h ≥ 0 for Newton boosting, if it is asked for: exact or a bound, see [`Hessian`].
    pub hessian: Option<&'a mut [f64]>,
    /// The gradient at [`Input::previous`], if it is asked for and `previous` is given: what the same step from the same state
    /// would have given at those scores (thresholds as they were in the previous step).
    pub gradient_previous: Option<&'a mut [f64]>,
}

/// What an objective needs from its caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The scores of the same items under the model of the previous step.
    pub previous_scores: bool,
    /// Random numbers from [`Input::stream`].
    pub random: bool,
}

/// What the Hessian diagonal of an objective is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hessian {
    /// The second derivative ∂²loss/∂s_j² (with frozen quantities held constant).
    Exact,
    /// A documented number ≥ 0 in its place: an upper bound, or a substitute where the second derivative is 0.
    Bound,
}

/// Scores and labels of a list → loss, gradient, Hessian diagonal.
pub trait Objective: Send + Sync {
    /// What it needs from its caller.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Its state per list; the caller allocates it, splits it over threads, saves and loads it.
    fn columns(&self) -> &'static [Column] {
        &[]
    }

    /// Its state where lists are the rows of classes ([`Goal::state_of_classes`](crate::Goal::state_of_classes)): columns
    /// [per class](crate::Per::Class) only, which the lists of a class share and move one after the other, or those of
    /// [`Objective::columns`].
    fn columns_of_classes(&self) -> &'static [Column] {
        self.columns()
    }

    /// Called once per data set with each whole list: writes what a sample does not determine (for example the ideal DCG)
    /// into the state.
    fn prepare(&self, _whole: &List, _policy: &Policy, _state: &mut ListState, _work: &mut Work) {}

    /// What its Hessian diagonal is.
    fn hessian(&self) -> Hessian {
        Hessian::Bound
    }

    /// True if adding a constant to all scores changes nothing, so that the gradient sums to 0.
    fn shift_invariant(&self) -> bool {
        true
    }

    /// True if the gradient is the derivative of the reported loss (with frozen quantities held constant); false for a
    /// straight-through estimator, which reports one function and differentiates another.
    fn differentiates_its_loss(&self) -> bool {
        true
    }

    /// True if it corrects for unequal sampling probabilities by [`Input::stands_for`] (means over a sample) or by item weights
    /// (which then hold the same numbers): an item with importance 3 counts as three items of its score.
    fn takes_uneven_draws(&self) -> bool {
        false
    }

    /// True if a list is a row of the data and its items are the outputs of the model (classes), not the rows of one output.
    fn over_outputs(&self) -> bool {
        false
    }

    /// True if it learns from preferences (`input.list.pairs`) where these are given, and then does not look at the labels.
    fn takes_pairs(&self) -> bool {
        false
    }

    /// The most labelled items of a list (drawn items, on samples) that it accepts, if its cost needs a limit.
    fn longest(&self) -> Option<usize> {
        None
    }

    /// Loss of one list; fills `out` and updates the state. `None`: the list has no gradient, nothing was written.
    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64>;
}

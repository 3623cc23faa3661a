//! What an objective is.

use toprank_core::{List, Policy, Stream};

use crate::state::{Column, ListState};
use crate::work::Work;

/// What an objective sees of one list in one step.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Scores, labels and weights; every label is judged (not NaN), every score finite.
    pub list: List<'a>,
    /// Which items of the whole list these are, strictly ascending; `None`: all of them. How many items each stands
    /// for follows from the counts in [`ListState`].
    pub sample: Option<&'a [u32]>,
    /// Where the items that are not relevant were not drawn evenly: how many items each stands for, by how many it would
    /// stand for if they had been. Only given to objectives that [take uneven draws](Objective::takes_uneven_draws).
    pub stands_for: Option<&'a [f32]>,
    /// Scores of the same items under the model of the step before; for objectives whose [`Needs`] ask for them.
    pub previous: Option<&'a [f64]>,
    /// Scores from which frozen quantities (orders, pair weights, normalisers that the gradient treats as constants)
    /// are computed; `None`: the present ones. With it a frozen gradient is the derivative of the reported loss.
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

    /// How many items `i` stands for, by how many it would stand for in an even draw.
    #[inline]
    pub fn stands_for(&self, i: usize) -> f64 {
        self.stands_for.map_or(1.0, |each| f64::from(each[i]))
    }

    /// True if item `i` is relevant under the policy.
    #[inline]
    pub fn is_relevant(&self, i: usize) -> bool {
        self.policy.relevant.is(self.list.labels[i])
    }

    /// Fills both with the places of their items, ascending.
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

/// Where an objective writes; all slices come filled with zeros, one number per item.
pub struct Out<'a> {
    /// ∂loss/∂score.
    pub gradient: &'a mut [f64],
    /// Curvature h ≥ 0 for Newton boosting, when asked.
    pub curvature: Option<&'a mut [f64]>,
    /// The gradient at [`Input::previous`] with the state of one step ago, when asked and `previous` is given.
    pub gradient_previous: Option<&'a mut [f64]>,
}

/// What an objective asks of its surroundings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// It wants the scores of the same items under the model of the step before.
    pub previous_scores: bool,
    /// It draws random numbers from [`Input::stream`].
    pub random: bool,
}

/// What the curvature of an objective is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curvature {
    /// The second derivative ∂²loss/∂s_j² (of the loss with frozen quantities frozen).
    Exact,
    /// A documented bound ≥ 0 that stands in for it.
    Bound,
}

/// Scores and labels of a list → loss, gradient, curvature.
pub trait Objective: Send + Sync {
    /// What it asks of its surroundings.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Its state per list; the house allocates, splits over threads, saves and loads it.
    fn columns(&self) -> &'static [Column] {
        &[]
    }

    /// Once per data set, from each whole list: what a sample cannot know (ideal DCG …) goes into the state.
    fn prepare(&self, _whole: &List, _policy: &Policy, _state: &mut ListState, _work: &mut Work) {}

    /// What its curvature is.
    fn curvature(&self) -> Curvature {
        Curvature::Bound
    }

    /// True if adding a constant to all scores changes nothing, so that the gradient sums to 0.
    fn shift_invariant(&self) -> bool {
        true
    }

    /// True if the gradient is the derivative of the reported loss (with frozen quantities frozen); false for a
    /// straight-through estimator, which reports one thing and differentiates another.
    fn differentiates_its_loss(&self) -> bool {
        true
    }

    /// True if it weighs what was not drawn evenly by [`Input::stands_for`] (means over a sample) or by item weights (which
    /// then hold the same numbers): an item that stands for three counts as three items of its score.
    fn takes_uneven_draws(&self) -> bool {
        false
    }

    /// The most judged items of a list (drawn ones, where items are drawn) that it takes, if its cost needs a limit.
    fn longest(&self) -> Option<usize> {
        None
    }

    /// Loss of one list; fills `out`, updates the state. `None`: the list cannot contribute, nothing was written.
    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64>;
}

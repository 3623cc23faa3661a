#![doc = include_str!("../pages/pauc-cvar.md")]

use toprank_core::{Param, ParamError, Spec};

use super::tail::{proximal_threshold, tail_shares};
use super::{Classes, MinMax, STEP, Saddle, Space, THRESHOLDS, Variables};
use crate::bilevel::pauc::{FPR, OneWay};
use crate::compositional::surrogate::{MARGIN, RISING, TEMPERATURE};
use crate::compositional::{Adjoint, Inner, Means, Strata, Surrogate, Terms};
use crate::kernels::KernelWork;
use crate::kernels::hinge::Omega;
use crate::kernels::order::descending;
use crate::objective::{Objective, Out};
use crate::params::RELEVANT;
use crate::state::{Column, Per};

pub(crate) const PARAMS: &[Param] = &[FPR, THRESHOLDS, STEP, RISING, MARGIN, TEMPERATURE, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &[
    "pauc-cvar:fpr=0.5",
    "pauc-cvar:variables=exact",
    "pauc-cvar:rate=0.9",
    "pauc-cvar:surrogate=hinge",
    "pauc-cvar:margin=2",
    "pauc-cvar:surrogate=logistic:temperature=0.5",
    "pauc-cvar:fpr=0.9:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let others = Others::Share(OneWay::up_to(spec.args.fraction("fpr", 0.1)?));
    MinMax::by_thresholds(Cvar { others, surrogate: Surrogate::rising(spec)? }, spec)
}

/// How many of the others count.
#[derive(Clone, Copy, Debug)]
pub(super) enum Others {
    /// ⌊fpr·N-⌋.
    Share(OneWay),
    /// The highest alone.
    Highest,
}

impl Others {
    /// β = k2/N-; 0: none.
    pub fn fraction(self, strata: &Strata) -> f64 {
        let count = match self {
            Others::Share(region) => region.places(strata.others()).1,
            Others::Highest => 1,
        };
        count as f64 / strata.others() as f64
    }
}

/// t_i for every relevant item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cvar {
    pub others: Others,
    pub surrogate: Surrogate,
}

/// The others by decreasing score, and the weight of each item in the mean over the highest `beta` of them.
pub(super) struct Highest<'a> {
    pub order: &'a [u32],
    pub sorted: &'a [f64],
    pub shares: &'a mut [f64],
}

/// Numbers of scratch that [`Highest::of`] needs, and those behind it.
pub(super) const SORTED: usize = 3;

impl<'a> Highest<'a> {
    /// Over three numbers of scratch per item; also gives the rest of the scratch.
    pub fn of(
        classes: &Classes,
        beta: f64,
        scratch: &'a mut [f64],
        places: &'a mut Vec<u32>,
        work: &mut crate::kernels::order::OrderWork,
    ) -> (Highest<'a>, &'a mut [f64]) {
        let (n, o) = (classes.scores.len(), classes.others.len());
        let (sorted, rest) = scratch.split_at_mut(n);
        let (shares, rest) = rest.split_at_mut(n);
        let (own, rest) = rest.split_at_mut(n);
        for (own, &j) in own.iter_mut().zip(classes.others) {
            *own = classes.scores[j as usize];
        }
        places.clear();
        places.resize(o, 0);
        descending(&own[..o], places, work);
        for (sorted, place) in sorted.iter_mut().zip(places.iter_mut()) {
            *sorted = own[*place as usize];
            *place = classes.others[*place as usize];
        }
        shares.fill(0.0);
        let score = |item: u32| classes.scores[item as usize];
        tail_shares(places, |_| 1.0 / o as f64, |a, b| score(a) == score(b), beta, shares);
        (Highest { order: places, sorted: &sorted[..o], shares }, rest)
    }

    /// The mean of ℓ over the highest others, of every relevant item.
    pub fn costs(
        &self,
        classes: &Classes,
        inner: Inner,
        costs: &mut [f64],
        scratch: &mut [f64],
        work: &mut KernelWork,
    ) {
        let slope = &mut scratch[..costs.len()];
        let mut means = Means { value: costs, slope, curve: &mut [] };
        inner.plan(classes.scores, classes.relevant, work);
        inner.forward(&self.terms(classes), 0.0, &mut means, work);
    }

    fn terms<'b>(&'b self, classes: &Classes<'b>) -> Terms<'b> {
        Terms { scores: classes.scores, omega: Omega::Each(self.shares), own: 0.0, anchors: classes.relevant }
    }

    /// Mean of ℓ over the highest others for every relevant item, added to the gradient with the factors `a`.
    pub fn mean(
        &self,
        classes: &Classes,
        inner: Inner,
        a: &[f64],
        out: &mut Out,
        scratch: &mut [f64],
        work: &mut KernelWork,
    ) -> f64 {
        let m = classes.relevant.len();
        let with_curve = if out.hessian.is_some() { m } else { 0 };
        let (value, rest) = scratch.split_at_mut(m);
        let (slope, rest) = rest.split_at_mut(m);
        let terms = self.terms(classes);
        let mut means = Means { value, slope, curve: &mut rest[..with_curve] };
        inner.plan(classes.scores, classes.relevant, work);
        inner.forward(&terms, 0.0, &mut means, work);
        let mut adjoint = Adjoint { gradient: out.gradient, hessian: out.hessian.as_deref_mut() };
        inner.backward(&terms, a, &means, &mut adjoint, work);
        means.value.iter().zip(a).map(|(row, a)| row * a).sum()
    }
}

impl Cvar {
    /// The least t with only the worst `beta` losses above it: the loss of the first other beyond them.
    pub fn threshold(&self, score: f64, sorted: &[f64], beta: f64) -> f64 {
        let beyond = (beta * sorted.len() as f64 * (1.0 + 1e-12)).floor() as usize;
        // If all of them count, t is 0, below every loss with a slope.
        sorted.get(beyond).map_or(0.0, |s| self.surrogate.at(s - score).0)
    }

    /// mean_j (ℓ_ij − t)_+ over the others; adds a/(β n-) times its derivative to the gradient.
    pub fn excess(
        &self,
        classes: &Classes,
        (i, t): (usize, f64),
        highest: &Highest,
        (a, beta): (f64, f64),
        out: &mut Out,
    ) -> f64 {
        let a = a / beta;
        let own = classes.relevant[i] as usize;
        let score = classes.scores[own];
        let above = highest.sorted.partition_point(|s| self.surrogate.at(s - score).0 > t);
        let level = highest.sorted.partition_point(|s| self.surrogate.at(s - score).0 >= t);
        let each = 1.0 / highest.sorted.len() as f64;
        // Losses equal to t count with the part that makes t optimal: equal scores have a gradient.
        let at = ((beta / each - above as f64) / (level - above).max(1) as f64).clamp(0.0, 1.0);
        let (mut excess, mut slopes, mut seconds) = (0.0, 0.0, 0.0);
        for (k, (s, &j)) in highest.sorted[..level].iter().zip(highest.order).enumerate() {
            let (value, slope, second) = self.surrogate.with_second_derivative(s - score);
            let part = if k < above { 1.0 } else { at };
            let (slope, second) = (part * slope, part * second);
            excess += part * (value - t);
            slopes += slope;
            seconds += second;
            out.gradient[j as usize] += a * each * slope;
            if let Some(h) = &mut out.hessian {
                h[j as usize] += a * each * second;
            }
        }
        out.gradient[own] -= a * each * slopes;
        if let Some(h) = &mut out.hessian {
            h[own] += a * each * seconds;
        }
        each * excess
    }

    /// One step of t; `cost` = |t| + excess/β, its natural unit.
    pub fn advance(&self, t: f64, score: f64, sorted: &[f64], beta: f64, rate: f64, excess: f64) -> f64 {
        let unit = t.abs() + excess / beta;
        proximal_threshold(t, rate * unit, beta, sorted.len(), |k| self.surrogate.at(sorted[k] - score).0)
    }
}

impl Saddle for Cvar {
    const LIST: usize = 0;
    const EACH: usize = 1;

    fn columns(&self) -> &'static [Column] {
        &[Column { name: "t", per: Per::Relevant, width: 1 }]
    }

    fn takes_part(&self, strata: &Strata) -> bool {
        self.others.fraction(strata) > 0.0
    }

    fn pairs(&self, classes: &Classes) -> f64 {
        classes.pairs(self.others.fraction(&classes.strata))
    }

    fn scratch(&self, items: usize) -> usize {
        (SORTED + 3) * items
    }

    fn solve(&self, classes: &Classes, variables: &mut Variables, Space { scratch, work }: &mut Space) {
        let beta = self.others.fraction(&classes.strata);
        let (highest, _) = Highest::of(classes, beta, scratch, &mut work.places, &mut work.order);
        for (t, &i) in variables.each.iter_mut().zip(classes.relevant) {
            *t = self.threshold(classes.scores[i as usize], highest.sorted, beta);
        }
    }

    fn value(&self, classes: &Classes, variables: &mut Variables, out: &mut Out, space: &mut Space) -> f64 {
        let Space { scratch, work } = space;
        let beta = self.others.fraction(&classes.strata);
        let mut places = std::mem::take(&mut work.places);
        let (highest, rest) = Highest::of(classes, beta, scratch, &mut places, &mut work.order);
        let Some(rate) = variables.rate else {
            let value = highest.mean(classes, Inner::Of(self.surrogate), classes.weights, out, rest, work);
            work.places = places;
            return value;
        };
        let mut value = 0.0;
        for (i, t) in variables.each.iter_mut().enumerate() {
            let w = classes.weights[i];
            let excess = self.excess(classes, (i, *t), &highest, (w, beta), out);
            value += w * (*t + excess / beta);
            let score = classes.scores[classes.relevant[i] as usize];
            *t = self.advance(*t, score, highest.sorted, beta, rate, excess);
        }
        work.places = places;
        value
    }
}

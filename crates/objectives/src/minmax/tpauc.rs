#![doc = include_str!("../pages/tpauc-minmax.md")]

use toprank_core::{Param, ParamError, Spec};

use super::pauc_cvar::{Cvar, Highest, Others, SORTED};
use super::tail::tail_shares;
use super::{Classes, MinMax, STEP, Saddle, Space, THRESHOLDS, Variables};
use crate::bilevel::pauc::{FPR, OneWay};
use crate::bilevel::tpauc::{TPR, TwoWay};
use crate::compositional::surrogate::{MARGIN, RISING, TEMPERATURE};
use crate::compositional::{Inner, Strata, Surrogate};
use crate::kernels::KernelWork;
use crate::kernels::order::descending;
use crate::objective::{Objective, Out};
use crate::params::RELEVANT;
use crate::state::{Column, Per};

pub(crate) const PARAMS: &[Param] =
    &[Param { default: "0.3", ..FPR }, TPR, THRESHOLDS, STEP, RISING, MARGIN, TEMPERATURE, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &[
    "tpauc-minmax:fpr=0.5",
    "tpauc-minmax:tpr=0.2",
    "tpauc-minmax:tpr=0",
    "tpauc-minmax:variables=exact",
    "tpauc-minmax:rate=0.9",
    "tpauc-minmax:surrogate=hinge",
    "tpauc-minmax:margin=2",
    "tpauc-minmax:surrogate=logistic:temperature=0.5",
    "tpauc-minmax:tpr=0.1:fpr=0.9:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let others = Others::Share(OneWay::up_to(spec.args.fraction("fpr", 0.3)?));
    let one_way = Cvar { others, surrogate: Surrogate::rising(spec)? };
    MinMax::by_thresholds(TwoWayCvar { one_way, region: TwoWay::from_spec(spec)? }, spec)
}

/// q' of the list; q_i and the weight s_i of every relevant item.
#[derive(Clone, Copy, Debug)]
struct TwoWayCvar {
    one_way: Cvar,
    region: TwoWay,
}

impl TwoWayCvar {
    /// α = k1/N+ and β = k2/N-.
    fn shares(&self, strata: &Strata) -> (f64, f64) {
        let (k1, k2) = self.region.places(strata.relevant, strata.others());
        (k1 as f64 / strata.relevant as f64, k2 as f64 / strata.others() as f64)
    }
}

/// Numbers per item after those of [`Highest`]: costs, weights, and what the mean of the highest needs.
const MORE: usize = 5;

/// Relevant items (their numbers among the relevant) by decreasing `key`.
fn by_decreasing<'a>(key: &[f64], places: &'a mut Vec<u32>, work: &mut KernelWork) -> &'a [u32] {
    places.clear();
    places.resize(key.len(), 0);
    descending(key, places, &mut work.order);
    places
}

impl Saddle for TwoWayCvar {
    const LIST: usize = 1;
    const EACH: usize = 2;

    fn columns(&self) -> &'static [Column] {
        &[
            Column { name: "q'", per: Per::List, width: 1 },
            Column { name: "q, s", per: Per::Relevant, width: 2 },
        ]
    }

    fn takes_part(&self, strata: &Strata) -> bool {
        let (alpha, beta) = self.shares(strata);
        alpha > 0.0 && beta > 0.0
    }

    fn pairs(&self, classes: &Classes) -> f64 {
        classes.pairs(self.shares(&classes.strata).1)
    }

    fn scratch(&self, items: usize) -> usize {
        (SORTED + MORE) * items
    }

    fn solve(&self, classes: &Classes, variables: &mut Variables, Space { scratch, work }: &mut Space) {
        let (alpha, beta) = self.shares(&classes.strata);
        let m = classes.relevant.len();
        let mut places = std::mem::take(&mut work.places);
        let (highest, rest) = Highest::of(classes, beta, scratch, &mut places, &mut work.order);
        let (costs, rest) = rest.split_at_mut(m);
        let (worst, spare) = rest.split_at_mut(m);
        for (i, &item) in classes.relevant.iter().enumerate() {
            let score = classes.scores[item as usize];
            variables.each[2 * i] = self.one_way.threshold(score, highest.sorted, beta);
        }
        highest.costs(classes, Inner::Of(self.one_way.surrogate), costs, spare, work);
        let mut by_cost = std::mem::take(&mut work.more_places);
        let order = by_decreasing(costs, &mut by_cost, work);
        let weight = |i: u32| classes.weights[i as usize];
        tail_shares(order, weight, |a, b| costs[a as usize] == costs[b as usize], alpha, worst);
        for (i, share) in worst.iter().enumerate() {
            let w = classes.weights[i];
            variables.each[2 * i + 1] = if w > 0.0 { share * alpha / w } else { 0.0 };
        }
        // q' = the cost of the first item beyond the worst α.
        let beyond = order.iter().find(|i| variables.each[2 * **i as usize + 1] < 1.0).or(order.last());
        variables.list[0] = beyond.map_or(0.0, |i| costs[*i as usize]);
        (work.places, work.more_places) = (places, by_cost);
    }

    fn value(&self, classes: &Classes, variables: &mut Variables, out: &mut Out, space: &mut Space) -> f64 {
        let Space { scratch, work } = space;
        let (alpha, beta) = self.shares(&classes.strata);
        let m = classes.relevant.len();
        let mut places = std::mem::take(&mut work.places);
        let (highest, rest) = Highest::of(classes, beta, scratch, &mut places, &mut work.order);
        let (a, rest) = rest.split_at_mut(m);
        for (i, a) in a.iter_mut().enumerate() {
            *a = classes.weights[i] * variables.each[2 * i + 1] / alpha;
        }
        let Some(rate) = variables.rate else {
            let inner = Inner::Of(self.one_way.surrogate);
            let value = highest.mean(classes, inner, a, out, rest, work);
            work.places = places;
            return value;
        };
        let q = variables.list[0];
        let mut value = q;
        let costs = &mut rest[..m];
        for (i, cost) in costs.iter_mut().enumerate() {
            let t = variables.each[2 * i];
            let excess = self.one_way.excess(classes, (i, t), &highest, (a[i], beta), out);
            *cost = t + excess / beta;
            value += a[i] * (*cost - q);
            let score = classes.scores[classes.relevant[i] as usize];
            variables.each[2 * i] = self.one_way.advance(t, score, highest.sorted, beta, rate, excess);
        }
        // s: projected gradient ascent in [0, 1]; q': gradient descent at the extrapolated s, 2s⁺ − s. With s⁺ or s alone the
        // pair would oscillate (the primal-dual method of Chambolle and Pock). The unit makes step sizes dimensionless.
        let unit: f64 = costs.iter().zip(classes.weights).map(|(c, w)| w * (c.abs() + (c - q).abs())).sum();
        let mut extrapolated = 0.0;
        for (i, cost) in costs.iter().enumerate() {
            let s = &mut variables.each[2 * i + 1];
            let old = *s;
            if unit > 0.0 {
                *s = (old + rate * (cost - q) / unit).clamp(0.0, 1.0);
            }
            extrapolated += classes.weights[i] * (2.0 * *s - old);
        }
        variables.list[0] = q - rate * unit * (alpha - extrapolated);
        work.places = places;
        value
    }
}

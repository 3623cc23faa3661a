//! A list as a threshold sees it: relevant and other items that enter together, from the highest score down.

use toprank_core::Policy;

use crate::rank::Ranked;

/// What enters at one threshold: numbers of items, or the sums of their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Step {
    /// Relevant.
    pub pos: f64,
    /// Judged and not relevant.
    pub neg: f64,
}

/// The steps of a list. Items of equal score (under averaged ties) enter at once; unjudged items have no class
/// and do not enter.
pub(crate) fn steps<'a>(
    ranked: &Ranked<'a>,
    policy: &'a Policy,
    weighted: bool,
) -> impl Iterator<Item = Step> + use<'a> {
    let labels = ranked.labels();
    let weights = ranked.weights().filter(|_| weighted);
    ranked.groups().map(move |group| {
        let mut step = Step::default();
        for place in group {
            let label = labels[place];
            let weight = weights.map_or(1.0, |weights| f64::from(weights[place]));
            if policy.relevant.is(label) {
                step.pos += weight;
            } else if !label.is_nan() {
                step.neg += weight;
            }
        }
        step
    })
}

/// Sums over all steps; `None` if a class is missing.
pub(crate) fn both_classes(ranked: &Ranked, policy: &Policy, weighted: bool) -> Option<Step> {
    let total = steps(ranked, policy, weighted)
        .fold(Step::default(), |sum, step| Step { pos: sum.pos + step.pos, neg: sum.neg + step.neg });
    (total.pos > 0.0 && total.neg > 0.0).then_some(total)
}

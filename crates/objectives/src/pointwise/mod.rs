//! Pointwise losses: each score should match its own label, whatever the other rows are. Except for `multiclass`, whose lists are rows,
//! they are not invariant to adding a constant to all scores of a list.

pub mod cross_entropy;
pub mod focal;
pub mod logistic;
pub mod multiclass;
pub mod ordinal;
pub mod squared;

use toprank_core::{Param, ParamError, Spec};

use crate::catalog::family;
use crate::kernels::scalar::{sigmoid, softplus};
use crate::objective::{Input, Out};

family! { "pointwise":
    squared = "squared": "squared difference between score and label";
    logistic = "logistic": "the score as log-odds of being relevant";
    cross_entropy = "cross-entropy": "cross-entropy with a weight for relevant items";
    focal = "focal": "cross-entropy that down-weights easy items";
    multiclass = "multiclass": "softmax cross-entropy over the classes of a row, one output of the model each";
    ordinal = "ordinal": "ordinal regression: a logistic loss per grade threshold";
}

/// Sum over items or their mean.
const SUM: Param = Param {
    name: "sum",
    default: "false",
    range: "true or false",
    about: "sum over items instead of the mean, as in a regression over all items",
};

/// Targets away from 0 and 1.
const SMOOTHING: Param = Param {
    name: "smoothing",
    default: "0",
    range: "in [0, 1)",
    about: "ε: label smoothing, a target t becomes (1 − ε) t + ε / 2",
};

/// ε of a spec.
fn smoothing(spec: &Spec) -> Result<f64, ParamError> {
    spec.args.number(SMOOTHING.name, 0.0, SMOOTHING.range, |x| (0.0..1.0).contains(&x))
}

/// Logistic loss of an item whose score is the log-odds of the target t.
fn of_target(t: f64, s: f64) -> OfItem {
    let (p, q) = (sigmoid(s), sigmoid(-s));
    // t·softplus(−s) + (1 − t)·softplus(s): no difference of large numbers.
    let loss = t * softplus(-s) + (1.0 - t) * softplus(s);
    OfItem { loss, slope: (1.0 - t) * p - t * q, curve: p * q }
}

/// Loss of one item with its first and second derivative in the score.
struct OfItem {
    loss: f64,
    slope: f64,
    curve: f64,
}

/// The weighted mean over the items of a list (or the weighted sum); `None` without weight.
fn over_items(
    input: &Input,
    out: &mut Out,
    sum: bool,
    of_item: impl Fn(usize, f64) -> OfItem,
) -> Option<f64> {
    let s = input.list.scores;
    let total: f64 = (0..s.len()).map(|j| input.weight(j)).sum();
    if total == 0.0 {
        return None;
    }
    let scale = if sum { 1.0 } else { 1.0 / total };
    let mut loss = 0.0;
    for (j, &s) in s.iter().enumerate() {
        let w = input.weight(j) * scale;
        let item = of_item(j, s);
        loss += w * item.loss;
        out.gradient[j] = w * item.slope;
        if let Some(h) = &mut out.hessian {
            h[j] = w * item.curve;
        }
    }
    Some(loss)
}

//! Parameters that several objectives share.

use toprank_core::{Param, ParamError, Spec};

/// Gain of a label; read by [`crate::Goal`] into the policy.
pub(crate) const GAIN: Param = Param {
    name: "gain",
    default: "exp2",
    range: "exp2, linear or a table such as 0/1/3",
    about: "gain of a label in DCG",
};

/// Which labels are relevant; read by [`crate::Goal`] into the policy.
pub(crate) const RELEVANT: Param = Param {
    name: "relevant",
    default: ">0",
    range: "a number (labels at or above it) or > and a number (labels above it)",
    about: "which labels are relevant",
};

/// The cut-off of `name@k`.
pub(crate) const CUT: Param = Param {
    name: "@",
    default: "all",
    range: "an integer from 1 on",
    about: "K: only the top K positions count",
};

/// Label smoothing, which [`smoothing`] reads.
pub(crate) const SMOOTHING: Param = Param {
    name: "smoothing",
    default: "0",
    range: "in [0, 1)",
    about: "ε: part of the target that is divided equally among all items of the list",
};

/// ε of a spec.
pub(crate) fn smoothing(spec: &Spec) -> Result<f64, ParamError> {
    spec.args.number(SMOOTHING.name, 0.0, SMOOTHING.range, |x| (0.0..1.0).contains(&x))
}

/// Parameters of several tables, one after the other, `N` in all.
pub(crate) const fn join<const N: usize>(tables: &[&[Param]]) -> [Param; N] {
    let mut all = [RELEVANT; N];
    let (mut table, mut row, mut at) = (0, 0, 0);
    while table < tables.len() {
        if row < tables[table].len() {
            all[at] = tables[table][row];
            (row, at) = (row + 1, at + 1);
        } else {
            (table, row) = (table + 1, 0);
        }
    }
    assert!(at == N, "N is the number of all parameters");
    all
}

/// The spec with the defaults of `params` written out, where they are not those of the family.
pub(crate) fn with_defaults(spec: &Spec, params: &[Param]) -> Spec {
    let mut spec = spec.clone();
    for param in params {
        if spec.args.get(param.name).is_none() {
            spec.args.0.push((param.name.to_string(), param.default.to_string()));
        }
    }
    spec
}

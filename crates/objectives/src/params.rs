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
    range: "a number (labels from there on) or > and a number",
    about: "which labels are relevant",
};

/// The cut-off of `name@k`.
pub(crate) const CUT: Param = Param {
    name: "@",
    default: "all",
    range: "a whole number from 1 on",
    about: "how many places from the top count",
};

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

/// A number > 0.
pub(crate) fn positive(spec: &Spec, key: &str, default: f64) -> Result<f64, ParamError> {
    spec.args.number(key, default, "in (0, ∞)", |x| x > 0.0 && x.is_finite())
}

/// A number in (0, 1].
pub(crate) fn share(spec: &Spec, key: &str, default: f64) -> Result<f64, ParamError> {
    spec.args.number(key, default, "in (0, 1]", |x| x > 0.0 && x <= 1.0)
}

/// A number ≥ 0.
pub(crate) fn not_negative(spec: &Spec, key: &str, default: f64) -> Result<f64, ParamError> {
    spec.args.number(key, default, "in [0, ∞)", |x| x >= 0.0 && x.is_finite())
}

/// A whole number from 1 to `most`.
pub(crate) fn count(spec: &Spec, key: &str, default: usize, most: usize) -> Result<usize, ParamError> {
    let range = format!("a whole number from 1 to {most}");
    let ok = |x: f64| x >= 1.0 && x <= most as f64 && x.fract() == 0.0;
    Ok(spec.args.number(key, default as f64, &range, ok)? as usize)
}

/// true or false.
pub(crate) fn flag(spec: &Spec, key: &str, default: bool) -> Result<bool, ParamError> {
    word(spec, key, if default { "true" } else { "false" }, &[("true", true), ("false", false)])
}

/// One of several words.
pub(crate) fn word<T: Copy>(
    spec: &Spec,
    key: &str,
    default: &str,
    words: &[(&str, T)],
) -> Result<T, ParamError> {
    let text = spec.args.get(key).unwrap_or(default);
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        ParamError::new(key, text, &format!("one of {}", names.join(", ")))
    })
}

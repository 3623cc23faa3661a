//! Parameters that several models share.

use toprank_core::stream::Random;
use toprank_core::{Param, ParamError, Spec, Stream};

pub(crate) const WIDTH: Param = Param {
    name: "width",
    default: "64",
    range: "an integer from 1 to 4096",
    about: "embedding dimension of a user or an item",
};

pub(crate) const SCALE: Param = Param {
    name: "scale",
    default: "0.1",
    range: "(0, 10]",
    about: "initial embeddings are drawn uniformly from [−scale, scale]",
};

pub(crate) fn width(spec: &Spec, param: &Param) -> Result<usize, ParamError> {
    spec.args.count(param.name, param.default.parse().unwrap_or(64), 4096)
}

pub(crate) fn scale(spec: &Spec) -> Result<f32, ParamError> {
    let default = SCALE.default.parse().unwrap_or(0.1);
    Ok(spec.args.number(SCALE.name, default, "in (0, 10]", |x| x > 0.0 && x <= 10.0)? as f32)
}

/// Widths joined by `-`.
pub(crate) fn layers(spec: &Spec, param: &Param) -> Result<Vec<usize>, ParamError> {
    let text = spec.args.get(param.name).unwrap_or(param.default);
    if text == "none" {
        return Ok(Vec::new());
    }
    let widths: Option<Vec<usize>> =
        text.split('-').map(|part| part.parse().ok().filter(|width| (1..=4096).contains(width))).collect();
    widths.ok_or_else(|| ParamError::new(param.name, text, param.range))
}

/// Uniform on [−`bound`, `bound`].
pub(crate) fn uniform(bound: f32, random: &mut Random, values: &mut [f32]) {
    for value in values {
        *value = (f64::from(bound) * (2.0 * random.unit() - 1.0)) as f32;
    }
}

/// Initial rows: each row has random numbers of its own, so that an additional user does not change the rows of others.
pub(crate) fn fresh_rows(
    side: usize,
    first: u32,
    stream: Stream,
    width: usize,
    rows: &mut [f32],
    fill: impl Fn(&mut Random, &mut [f32]),
) {
    let purpose = Stream::purpose(if side == 0 { "user rows" } else { "item rows" });
    for (number, row) in (first..).zip(rows.chunks_exact_mut(width)) {
        fill(&mut Stream { purpose, ..stream }.of_list(number).open(), row);
    }
}

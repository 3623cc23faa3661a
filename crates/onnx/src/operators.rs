//! Each operator by its definition in the ONNX standard.

use std::collections::BTreeMap;

use crate::array::Array;

/// The attributes of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    pub wholes: BTreeMap<String, Vec<i64>>,
    pub floats: BTreeMap<String, f32>,
    pub texts: BTreeMap<String, String>,
}

impl Attributes {
    fn whole(&self, name: &str, default: i64) -> i64 {
        self.wholes.get(name).and_then(|values| values.first()).copied().unwrap_or(default)
    }

    fn float(&self, name: &str, default: f32) -> f64 {
        f64::from(self.floats.get(name).copied().unwrap_or(default))
    }
}

/// The index of an axis, which may be negative to count from the end.
fn axis(given: i64, axes: usize) -> Option<usize> {
    usize::try_from(if given < 0 { given + axes as i64 } else { given }).ok().filter(|&axis| axis < axes)
}

/// The output of an operator; `None` if it is unknown or its inputs do not fit.
pub(crate) fn apply(operator: &str, inputs: &[&Array], attributes: &Attributes) -> Option<Array> {
    let x = *inputs.first()?;
    let each = |f: fn(f64) -> f64| Some(x.map(f));
    let both = |f: fn(f64, f64) -> f64| Array::meet([x, inputs.get(1)?], |[a, b]| f(a, b));
    match operator {
        "Identity" => Some(x.clone()),
        "Cast" => match attributes.whole("to", 0) {
            1 => Some(x.map(|x| f64::from(x as f32))),
            7 => Some(x.map(f64::trunc)),
            11 => Some(x.clone()),
            _ => None,
        },
        "Abs" => each(f64::abs),
        "Sign" => each(|x| if x == 0.0 || x.is_nan() { x } else { x.signum() }),
        "Log" => each(f64::ln),
        "Sqrt" => each(f64::sqrt),
        "Cos" => each(f64::cos),
        "IsNaN" => each(|x| f64::from(u8::from(x.is_nan()))),
        "Relu" => each(|x| x.max(0.0)),
        "Tanh" => each(f64::tanh),
        "Sigmoid" => each(|x| 1.0 / (1.0 + (-x).exp())),
        "Gelu" => each(|x| 0.5 * x * (1.0 + libm::erf(x / std::f64::consts::SQRT_2))),
        "LeakyRelu" => {
            let slope = attributes.float("alpha", 0.01);
            Some(x.map(|x| if x < 0.0 { slope * x } else { x }))
        }
        "Elu" => {
            let scale = attributes.float("alpha", 1.0);
            Some(x.map(|x| if x < 0.0 { scale * x.exp_m1() } else { x }))
        }
        "Add" => both(|a, b| a + b),
        "Sub" => both(|a, b| a - b),
        "Mul" => both(|a, b| a * b),
        "Div" => both(|a, b| a / b),
        "Less" => both(|a, b| f64::from(u8::from(a < b))),
        "Equal" => both(|a, b| f64::from(u8::from(a == b))),
        "Where" => {
            Array::meet([x, inputs.get(1)?, inputs.get(2)?], |[holds, a, b]| if holds == 0.0 { b } else { a })
        }
        "Trilu" => triangle(x, attributes.whole("upper", 1) != 0),
        "MatMul" => x.product(inputs.get(1)?),
        "Concat" => (axis(attributes.whole("axis", -1), x.sizes.len())? == x.sizes.len() - 1)
            .then(|| Array::joined(inputs))?,
        "Gather" => x.gathered(inputs.get(1)?, axis(attributes.whole("axis", 0), x.sizes.len())?),
        "Transpose" => {
            let order: Option<Vec<usize>> =
                attributes.wholes.get("perm")?.iter().map(|&axis| usize::try_from(axis).ok()).collect();
            x.transposed(&order?)
        }
        "ScatterElements" => match attributes.texts.get("reduction").map(String::as_str) {
            Some("add") => x.scatter_added(
                inputs.get(1)?,
                inputs.get(2)?,
                axis(attributes.whole("axis", 0), x.sizes.len())?,
            ),
            _ => None,
        },
        "Expand" => expanded(x, inputs.get(1)?),
        "Reshape" => reshaped(x, inputs.get(1)?),
        "Softmax" => {
            let axis = axis(attributes.whole("axis", -1), x.sizes.len())?;
            let top = x.folded(axis, |values| values.fold(f64::NEG_INFINITY, f64::max))?;
            let raised = Array::meet([x, &top], |[x, top]| (x - top).exp())?;
            let sum = raised.folded(axis, |values| values.sum())?;
            Array::meet([&raised, &sum], |[x, sum]| x / sum)
        }
        "LayerNormalization" => {
            let axis = axis(attributes.whole("axis", -1), x.sizes.len())?;
            (axis + 1 == x.sizes.len()).then_some(())?;
            let (size, least) = (x.sizes[axis] as f64, attributes.float("epsilon", 1e-5));
            let mean = x.folded(axis, |values| values.sum::<f64>() / size)?;
            let centred = Array::meet([x, &mean], |[x, mean]| x - mean)?;
            let deviation =
                centred.folded(axis, |values| (values.map(|x| x * x).sum::<f64>() / size + least).sqrt())?;
            let scaled = Array::meet([&centred, &deviation, inputs.get(1)?], |[x, deviation, scale]| {
                x / deviation * scale
            })?;
            Array::meet([&scaled, inputs.get(2)?], |[x, offset]| x + offset)
        }
        "ReduceSum" | "ReduceMax" | "ReduceMin" => {
            // One axis.
            let [given] = inputs.get(1)?.values[..] else { return None };
            let axis = axis(given as i64, x.sizes.len())?;
            let mut reduced = match operator {
                "ReduceSum" => x.folded(axis, |values| values.sum()),
                "ReduceMax" => x.folded(axis, |values| values.fold(f64::NEG_INFINITY, f64::max)),
                _ => x.folded(axis, |values| values.fold(f64::INFINITY, f64::min)),
            }?;
            if attributes.whole("keepdims", 1) == 0 {
                reduced.sizes.remove(axis);
            }
            Some(reduced)
        }
        _ => None,
    }
}

/// The upper or the lower triangle of each matrix of the last two axes, with its diagonal; the other numbers are 0.
fn triangle(x: &Array, upper: bool) -> Option<Array> {
    let [.., rows, columns] = x.sizes[..] else { return None };
    let kept = |at: usize| {
        let (row, column) = (at / columns % rows, at % columns);
        if upper { column >= row } else { column <= row }
    };
    let values = x.values.iter().enumerate().map(|(at, x)| if kept(at) { *x } else { 0.0 }).collect();
    Some(Array { sizes: x.sizes.clone(), values })
}

/// Numbers of an expanded tensor, at most: sizes come from a file.
const LARGEST: usize = 1 << 28;

/// Broadcast to these sizes, both ways.
fn expanded(x: &Array, wanted: &Array) -> Option<Array> {
    let sizes: Vec<usize> = wanted.values.iter().map(|&size| size as usize).collect();
    let larger =
        x.sizes.iter().chain(&sizes).try_fold(1usize, |count, &size| count.checked_mul(size.max(1)))?;
    let count = sizes.iter().product::<usize>();
    (larger <= LARGEST).then(|| Array::meet([x, &Array { sizes, values: vec![0.0; count] }], |[x, _]| x))?
}

fn reshaped(x: &Array, wanted: &Array) -> Option<Array> {
    let known: f64 = wanted.values.iter().filter(|size| **size > 0.0).product();
    let size =
        |size: &f64| if *size < 0.0 { (x.values.len() as f64 / known) as usize } else { *size as usize };
    let sizes: Vec<usize> = wanted.values.iter().map(size).collect();
    let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size))?;
    (count == x.values.len()).then(|| Array { sizes, values: x.values.clone() })
}

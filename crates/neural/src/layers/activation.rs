//! Activation functions.

// A function that is not inlined into a vectorised one is compiled without its instructions.
#![allow(clippy::inline_always)]

use toprank_core::vectorised;
use toprank_onnx::{Attribute, Graph, Value};

use super::{InPlace, Layer, Slopes};
use crate::Pass;
use crate::kernels::{erf, exp};
use crate::onnx::Inputs;

/// The activation function between two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// max(0, x).
    Relu,
    /// x above 0, x/100 below.
    LeakyRelu,
    /// x above 0, eˣ − 1 below.
    Elu,
    /// x Φ(x), Φ the normal distribution function.
    Gelu,
    /// x σ(x).
    Silu,
    /// tanh x.
    Tanh,
    /// 1 / (1 + e⁻ˣ).
    Sigmoid,
}

/// The slope of the leaky rectifier below 0.
const LEAK: f32 = 0.01;

impl Activation {
    /// Every activation by its name in the catalog.
    pub const NAMES: &[(&str, Activation)] = &[
        ("relu", Activation::Relu),
        ("leaky-relu", Activation::LeakyRelu),
        ("elu", Activation::Elu),
        ("gelu", Activation::Gelu),
        ("silu", Activation::Silu),
        ("tanh", Activation::Tanh),
        ("sigmoid", Activation::Sigmoid),
    ];

    /// True if it is (about) 0 on the negative half.
    pub fn rectifies(self) -> bool {
        !matches!(self, Activation::Tanh | Activation::Sigmoid)
    }

    /// True if the sign of its output tells its slope, also after dropout: then it is computed in place.
    pub(super) fn in_place(self) -> bool {
        matches!(self, Activation::Relu | Activation::LeakyRelu)
    }

    /// As a layer over rows of `width` numbers that keeps its input.
    pub(super) fn layer(self, width: usize) -> Curve {
        Curve { activation: self, width }
    }

    /// Its slope below 0, if it is a straight line there.
    fn leak(self) -> f32 {
        if self == Activation::LeakyRelu { LEAK } else { 0.0 }
    }

    /// The operator of ONNX.
    fn operator(self, graph: &mut Graph, x: &Value) -> Value {
        let (operator, attributes): (_, &[Attribute]) = match self {
            Activation::Relu => ("Relu", &[]),
            Activation::LeakyRelu => ("LeakyRelu", &[Attribute::Float("alpha", LEAK)]),
            Activation::Elu => ("Elu", &[Attribute::Float("alpha", 1.0)]),
            Activation::Gelu => ("Gelu", &[]),
            Activation::Tanh => ("Tanh", &[]),
            Activation::Sigmoid => ("Sigmoid", &[]),
            Activation::Silu => {
                let gate = graph.node("Sigmoid", &[x], &[]);
                return graph.node("Mul", &[x, &gate], &[]);
            }
        };
        graph.node(operator, &[x], attributes)
    }
}

vectorised! {
    fn rectify(x: &mut [f32], leak: f32) {
        for x in x {
            *x *= if *x > 0.0 { 1.0 } else { leak };
        }
    }
}

vectorised! {
    // A product with one of two factors, not a choice of results, so that the loop is vectorised.
    fn rectify_back(y: &[f32], dy: &mut [f32], leak: f32) {
        dy.iter_mut().zip(y).for_each(|(d, y)| *d *= if *y > 0.0 { 1.0 } else { leak });
    }
}

impl InPlace for Activation {
    fn forward(&self, x: &mut [f32], _: &mut Pass) {
        match self.leak() {
            // NaN stays NaN, so that a diverged network is noticed.
            0.0 => x.iter_mut().for_each(|x| *x = if *x < 0.0 { 0.0 } else { *x }),
            leak => rectify(x, leak),
        }
    }

    fn backward(&self, y: &[f32], dy: &mut [f32], _: &mut Pass) {
        rectify_back(y, dy, self.leak());
    }

    fn reads_output(&self) -> bool {
        true
    }

    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        self.operator(graph, x)
    }
}

/// An activation whose slope is a function of its input.
pub(super) struct Curve {
    activation: Activation,
    width: usize,
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

#[inline(always)]
fn tanh(x: f32) -> f32 {
    1.0 - 2.0 / (1.0 + exp(2.0 * x))
}

/// The density of the normal distribution.
#[inline(always)]
fn density(x: f32) -> f32 {
    0.398_942_3 * exp(-0.5 * x * x)
}

#[inline(always)]
fn phi(x: f32) -> f32 {
    0.5 + 0.5 * erf(x * std::f32::consts::FRAC_1_SQRT_2)
}

vectorised! {
    fn apply(activation: Activation, x: &[f32], y: &mut [f32]) {
        let pairs = x.iter().zip(y);
        match activation {
            Activation::Relu => pairs.for_each(|(x, y)| *y = x.max(0.0)),
            Activation::LeakyRelu => pairs.for_each(|(x, y)| *y = x * if *x > 0.0 { 1.0 } else { LEAK }),
            Activation::Elu => pairs.for_each(|(x, y)| *y = if *x > 0.0 { *x } else { exp(*x) - 1.0 }),
            Activation::Gelu => pairs.for_each(|(x, y)| *y = x * phi(*x)),
            Activation::Silu => pairs.for_each(|(x, y)| *y = x * sigmoid(*x)),
            Activation::Tanh => pairs.for_each(|(x, y)| *y = tanh(*x)),
            Activation::Sigmoid => pairs.for_each(|(x, y)| *y = sigmoid(*x)),
        }
    }
}

vectorised! {
    /// Multiplies `dy` by the slope at `x`.
    fn multiply_by_slope(activation: Activation, x: &[f32], dy: &mut [f32]) {
        let pairs = x.iter().zip(dy);
        match activation {
            Activation::Relu => pairs.for_each(|(x, d)| *d *= if *x > 0.0 { 1.0 } else { 0.0 }),
            Activation::LeakyRelu => pairs.for_each(|(x, d)| *d *= if *x > 0.0 { 1.0 } else { LEAK }),
            Activation::Elu => pairs.for_each(|(x, d)| *d *= if *x > 0.0 { 1.0 } else { exp(*x) }),
            Activation::Gelu => pairs.for_each(|(x, d)| *d *= phi(*x) + x * density(*x)),
            Activation::Silu => pairs.for_each(|(x, d)| {
                let gate = sigmoid(*x);
                *d *= gate * (1.0 + x * (1.0 - gate));
            }),
            Activation::Tanh => pairs.for_each(|(x, d)| {
                let y = tanh(*x);
                *d *= 1.0 - y * y;
            }),
            Activation::Sigmoid => pairs.for_each(|(x, d)| {
                let y = sigmoid(*x);
                *d *= y * (1.0 - y);
            }),
        }
    }
}

impl Layer for Curve {
    fn inputs(&self) -> usize {
        self.width
    }

    fn outputs(&self) -> usize {
        self.width
    }

    fn forward(&self, _: &[f32], x: &[f32], y: &mut [f32], _: &mut Pass) {
        apply(self.activation, x, y);
    }

    fn backward(
        &self,
        _: &[f32],
        x: &[f32],
        dy: &mut [f32],
        dx: Option<Slopes>,
        _: &mut [f32],
        _: &mut Pass,
    ) {
        let Some(Slopes { to, add }) = dx else { return };
        multiply_by_slope(self.activation, x, dy);
        match add {
            true => crate::kernels::add(to, dy),
            false => to.copy_from_slice(dy),
        }
    }

    fn export(&self, _: &[f32], graph: &mut Graph, _: &Inputs, x: &Value) -> Value {
        self.activation.operator(graph, x)
    }
}

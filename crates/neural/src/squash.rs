//! The output activation of a network: none, or a sigmoid or tanh that bounds the scores.
//!
//! It is computed in f64, where even σ(30) and σ(31) differ: bounded scores keep the order of the unbounded ones.

use toprank_core::{Block, Differentiable, ModelError, ModelInput, Param, ParamError, Spec, Stream, Tape};

pub(crate) const OUTPUT: Param = Param {
    name: "output",
    default: "linear",
    range: "linear, sigmoid or tanh",
    about: "output activation: none, or one into (0, 1) or (−1, 1)",
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Linear,
    Sigmoid,
    Tanh,
}

impl Output {
    pub(crate) fn read(spec: &Spec) -> Result<Output, ParamError> {
        let names = [("linear", Output::Linear), ("sigmoid", Output::Sigmoid), ("tanh", Output::Tanh)];
        spec.args.one_of(OUTPUT.name, OUTPUT.default, &names)
    }

    /// The network with this output activation.
    pub(crate) fn after(self, network: Box<dyn Differentiable>) -> Box<dyn Differentiable> {
        match self {
            Output::Linear => network,
            activation => Box::new(Squashed { network, activation }),
        }
    }

    /// An infinite number becomes NaN, so that a diverged network is noticed.
    fn of(self, x: f64) -> f64 {
        match self {
            Output::Linear => x,
            _ if x.is_infinite() => f64::NAN,
            Output::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Output::Tanh => x.tanh(),
        }
    }

    /// Its derivative, as a function of its value.
    fn slope_at(self, y: f64) -> f64 {
        match self {
            Output::Linear => 1.0,
            Output::Sigmoid => y * (1.0 - y),
            Output::Tanh => 1.0 - y * y,
        }
    }

    fn apply(self, scores: &mut [f64]) {
        for score in scores {
            *score = self.of(*score);
        }
    }
}

struct Squashed {
    network: Box<dyn Differentiable>,
    activation: Output,
}

impl Differentiable for Squashed {
    fn blocks(&self) -> &[Block] {
        self.network.blocks()
    }

    fn width(&self) -> usize {
        self.network.width()
    }

    fn outputs(&self) -> usize {
        self.network.outputs()
    }

    fn couples_items(&self) -> bool {
        self.network.couples_items()
    }

    fn init(&self, stream: Stream, parameters: &mut [f32]) {
        self.network.init(stream, parameters);
    }

    fn project(&self, parameters: &mut [f32]) {
        self.network.project(parameters);
    }

    fn forward(
        &self,
        parameters: &[f32],
        input: &ModelInput,
        train: Option<Stream>,
        tape: &mut Tape,
        scores: &mut [f64],
    ) -> Result<(), ModelError> {
        let Bounded { network, slopes } = tape.get();
        self.network.forward(parameters, input, train, network, scores)?;
        self.activation.apply(scores);
        slopes.clear();
        slopes.extend(scores.iter().map(|y| self.activation.slope_at(*y)));
        Ok(())
    }

    fn backward(
        &self,
        parameters: &[f32],
        tape: &mut Tape,
        dscore: &[f64],
        gradient: &mut [f32],
    ) -> Result<(), ModelError> {
        let Bounded { network, slopes } = tape.get();
        if dscore.len() != slopes.len() {
            // Of the wrong length: the network returns the error.
            return self.network.backward(parameters, network, dscore, gradient);
        }
        slopes.iter_mut().zip(dscore).for_each(|(slope, d)| *slope *= d);
        self.network.backward(parameters, network, slopes, gradient)
    }

    fn score(
        &self,
        parameters: &[f32],
        input: &ModelInput,
        tape: &mut Tape,
        scores: &mut [f64],
    ) -> Result<(), ModelError> {
        self.network.score(parameters, input, &mut tape.get::<Bounded>().network, scores)?;
        self.activation.apply(scores);
        Ok(())
    }
}

/// The tape of the network, and the derivative of the output activation at every score.
#[derive(Default)]
struct Bounded {
    network: Tape,
    slopes: Vec<f64>,
}

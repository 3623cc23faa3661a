#![doc = include_str!("../pages/linear.md")]

use toprank_core::{Architecture, Differentiable, ModelError, Param, ParamError, Spec, TrainingDefaults};

use super::{Built, Compose};
use crate::Network;
use crate::layers::{Chain, Dense, dense_size};
use crate::params::{NOISE, noise};
use crate::squash::{OUTPUT, Output};

pub(crate) const PARAMS: &[Param] = &[NOISE, OUTPUT];

/// A linear model; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinearModel {
    noise: f64,
    output: Output,
}

impl LinearModel {
    pub(crate) fn read(spec: &Spec) -> Result<LinearModel, ParamError> {
        Ok(LinearModel { noise: noise(spec)?, output: Output::read(spec)? })
    }
}

impl Compose for LinearModel {
    fn compose(&self, width: usize, outputs: usize) -> Result<Built, ModelError> {
        let network = Network::new(Chain::new().then("output", Dense::new(width, outputs)));
        Ok(Built { network: network.with_noise(self.noise), output: self.output })
    }
}

impl Architecture for LinearModel {
    fn build(&self, width: usize, outputs: usize) -> Result<Box<dyn Differentiable>, ModelError> {
        self.model(width, outputs)
    }

    fn parameters(&self, width: usize, outputs: usize) -> Option<u128> {
        Some(dense_size(width, outputs))
    }

    fn defaults(&self) -> TrainingDefaults {
        TrainingDefaults { rate: 0.03, ..TrainingDefaults::BASE }
    }
}

//! The models that this build knows.

use toprank_core::{Architecture, Entry, ParamError};

/// Every model.
#[cfg(feature = "neural")]
pub static MODELS: &[Entry<dyn Architecture>] = toprank_neural::MODELS;

/// Every model: none in this build.
#[cfg(not(feature = "neural"))]
pub static MODELS: &[Entry<dyn Architecture>] = &[];

/// Reads a model as a user writes it: `mlp:hidden=256-128`.
pub fn parse(text: &str) -> Result<Box<dyn Architecture>, ParamError> {
    if MODELS.is_empty() {
        let expected = "one that this build knows; it was built without networks (feature `neural`)";
        return Err(ParamError::new("model", text, expected));
    }
    Ok(toprank_core::catalog::make("model", MODELS, text)?.1)
}

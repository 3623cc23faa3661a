//! The models that this build knows.

use toprank_core::{Architecture, ParamError};

/// Reads a model: `mlp:hidden=256-128`.
#[cfg(feature = "neural")]
pub fn parse(text: &str) -> Result<Box<dyn Architecture>, ParamError> {
    toprank_neural::parse(text)
}

/// Reads a model; this build knows none.
#[cfg(not(feature = "neural"))]
pub fn parse(text: &str) -> Result<Box<dyn Architecture>, ParamError> {
    Err(ParamError::new(
        "model",
        text,
        "one that this build knows; it was built without networks (feature `neural`)",
    ))
}

//! The models that this build knows.

use toprank_core::{Architecture, Entry, ParamError, Spec, catalog};
use toprank_trees::Forest;

/// Every network.
#[cfg(feature = "neural")]
pub static NETWORKS: &[Entry<dyn Architecture>] = toprank_neural::MODELS;

/// Every network: none in this build.
#[cfg(not(feature = "neural"))]
pub static NETWORKS: &[Entry<dyn Architecture>] = &[];

/// Every kind of trees.
pub static TREES: &[Entry<Forest>] = toprank_trees::MODELS;

/// The portfolio of `--model auto`, which is no kind of model: it trains several and blends them ([`super::auto`]).
pub static AUTO: &[Entry<()>] = super::auto::MODELS;

/// What a user names.
pub enum Model {
    /// A differentiable function, trained by steps.
    Network(Box<dyn Architecture>),
    /// Boosted trees.
    Trees(Box<Forest>),
}

/// Reads a model as a user writes it: `mlp:hidden=256-128`, `trees:leaves=63`.
///
/// ```
/// assert!(toprank_train::rank::models::parse("trees:leaves=63").is_ok());
/// let error = toprank_train::rank::models::parse("tree").err().unwrap().to_string();
/// assert!(error.contains("trees"), "{error}");
/// ```
pub fn parse(text: &str) -> Result<Model, ParamError> {
    let name = Spec::parse(text).map(|spec| spec.name).unwrap_or_default();
    if is_trees(text) {
        return Ok(Model::Trees(catalog::make("model", TREES, text)?.1));
    }
    if NETWORKS.iter().any(|entry| entry.name == name) {
        return Ok(Model::Network(catalog::make("model", NETWORKS, text)?.1));
    }
    if is_auto(text) {
        let expected = "a kind of model that is trained by itself: auto is a portfolio of them, which `toprank train` blends";
        return Err(ParamError::new("model", text, expected));
    }
    let known: Vec<&str> =
        NETWORKS.iter().map(|entry| entry.name).chain(TREES.iter().map(|entry| entry.name)).collect();
    if NETWORKS.is_empty() {
        let expected =
            format!("one of {}; this build is without networks (feature `neural`)", known.join(", "));
        return Err(ParamError::new("model", text, &expected));
    }
    Err(catalog::unknown("model", &name, known))
}

/// The network that a user names; `None` in a build without networks, where a caller brings a model of its own.
///
/// # Errors
/// If there is no such network.
pub fn network(text: &str) -> Result<Option<Box<dyn Architecture>>, ParamError> {
    match parse(text) {
        Ok(Model::Network(network)) => Ok(Some(network)),
        Ok(Model::Trees(_)) => Ok(None),
        Err(_) if NETWORKS.is_empty() => Ok(None),
        Err(error) => Err(error),
    }
}

/// True if a model as a user writes it is made of trees.
pub fn is_trees(text: &str) -> bool {
    // By its name alone: what is wrong behind it is said by whoever reads it whole.
    let name = text.split(':').next().unwrap_or_default().trim();
    TREES.iter().any(|entry| entry.name == name)
}

/// True if a user asks for the portfolio instead of one kind of model.
pub fn is_auto(text: &str) -> bool {
    text.split(':').next().unwrap_or_default().trim() == AUTO[0].name
}

//! Users' own objectives under a name, for this process: what a program registers, `Goal::parse` finds.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use toprank_core::ParamError;
use toprank_metrics::check_name;

use crate::objective::Objective;

static OWN: RwLock<BTreeMap<String, Arc<dyn Objective>>> = RwLock::new(BTreeMap::new());

/// Makes an objective known under a name that begins with `own-`; one of the same name is replaced. Settings that take the name of an
/// objective take this one then, so that it trains any model; a model file keeps the name alone.
///
/// # Errors
/// If it is no such name.
pub fn register(name: &str, objective: Arc<dyn Objective>) -> Result<(), ParamError> {
    check_name("objective", name)?;
    OWN.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_string(), objective);
    Ok(())
}

/// The objective of this name, if it was registered.
pub(crate) fn registered(name: &str) -> Option<Arc<dyn Objective>> {
    OWN.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

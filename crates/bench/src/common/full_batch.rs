//! Full-batch methods whose every step is watched.

use toprank::train::TrainError;
use toprank::train::walk::full_batch::{Found, Method, Oracle, Trial};

/// Takes steps until the method has converged or all are done, as `minimise` does; `watch` is called after each.
pub fn minimise_watched(
    mut method: Box<dyn Method>,
    oracle: &mut dyn Oracle,
    mut watch: impl FnMut(&Trial, &dyn Method),
) -> Result<Found, TrainError> {
    while method.found().steps < method.steps() && !method.converged() {
        let trial = method.compute(oracle)?;
        method.commit();
        watch(&trial, &*method);
    }
    Ok(method.found().clone())
}

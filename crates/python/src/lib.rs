//! **How is the library called from Python?** Arrays in, arrays out.
//!
//! Invariants:
//! - no formula lives here: every number comes from the façade;
//! - arrays arrive contiguous and in the kernel's type (`python/toprank/_arrays.py` sees to that) and are borrowed, not
//!   copied; the interpreter's lock is released while the library works;
//! - whatever a user can cause is a Python exception with the library's message.

// Arguments come from Python by value; no other crate sees this one.
#![allow(clippy::needless_pass_by_value, unreachable_pub)]

mod arrays;
mod catalogs;
mod command;
mod compare;
mod data;
mod embed;
mod errors;
mod evaluate;
mod judged;
mod objective;
mod own;
mod recommend;
mod reconcile;
mod table;
mod threshold;
mod train;
mod tune;
mod walks;
mod workers;

use pyo3::prelude::*;

/// The compiled half of the package; users import `toprank`.
#[pymodule]
fn _toprank(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("neural", cfg!(feature = "neural"))?;
    module.add_function(wrap_pyfunction!(catalogs::catalog, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(judged::evaluate_run, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare_rows, module)?)?;
    module.add_function(wrap_pyfunction!(walks::pagerank, module)?)?;
    module.add_function(wrap_pyfunction!(walks::learn_walk, module)?)?;
    module.add_function(wrap_pyfunction!(train::train, module)?)?;
    module.add_function(wrap_pyfunction!(command::run_command, module)?)?;
    module.add_function(wrap_pyfunction!(command::commands, module)?)?;
    module.add_function(wrap_pyfunction!(command::call_command, module)?)?;
    module.add_function(wrap_pyfunction!(workers::call_command_among, module)?)?;
    module.add_function(wrap_pyfunction!(workers::run_command_among, module)?)?;
    module.add_function(wrap_pyfunction!(command::kind_of_model, module)?)?;
    module.add_function(wrap_pyfunction!(data::read, module)?)?;
    module.add_function(wrap_pyfunction!(data::split, module)?)?;
    module.add_function(wrap_pyfunction!(threshold::fuse, module)?)?;
    module.add_function(wrap_pyfunction!(threshold::threshold, module)?)?;
    module.add_function(wrap_pyfunction!(recommend::train_recommender, module)?)?;
    module.add_function(wrap_pyfunction!(embed::train_embedder, module)?)?;
    module.add_function(wrap_pyfunction!(tune::tune, module)?)?;
    module.add_function(wrap_pyfunction!(reconcile::reconcile, module)?)?;
    module.add_function(wrap_pyfunction!(reconcile::reconcile_run, module)?)?;
    module.add_function(wrap_pyfunction!(reconcile::replayed, module)?)?;
    module.add_function(wrap_pyfunction!(own::register_metric, module)?)?;
    module.add_function(wrap_pyfunction!(own::register_objective, module)?)?;
    module.add_function(wrap_pyfunction!(own::check_objective, module)?)?;
    module.add_class::<recommend::Interactions>()?;
    module.add_class::<recommend::Recommender>()?;
    module.add_class::<embed::Embedder>()?;
    module.add_class::<objective::Objective>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<walks::Graphs>()?;
    module.add_class::<walks::Walk>()?;
    module.add_class::<train::Model>()
}

//! What every training run shares: settings, the loop with its callbacks, batches, optimisers, schedules, averaging, curves.

/// The entries of a table: each line has a module, which holds `PARAMS` and `make`, a name, whose page is `pages/NAME.md` beside the
/// table, and what it is in one line.
macro_rules! entries {
    ($family:literal: $($($module:ident)::+ = $name:literal: $about:literal;)+) => {
        &[$(toprank_core::Entry {
            name: $name,
            family: $family,
            about: $about,
            page: include_str!(concat!("pages/", $name, ".md")),
            params: $($module)::+::PARAMS,
            make: $($module)::+::make,
        }),+]
    };
}

pub mod average;
pub mod clip;
pub mod curve;
pub mod engine;
pub mod fixed_point;
pub(crate) mod flat;
pub mod optimiser;
pub(crate) mod plan;
pub mod run;
pub mod sampler;
pub mod schedule;
pub mod settings;
pub mod sockets;
pub(crate) mod stages;
pub mod training_loop;
pub mod tune;
pub(crate) mod warm_start;
pub mod workers;

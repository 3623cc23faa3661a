//! What every training run shares: settings, the loop with its callbacks, batches, optimisers, schedules, averaging, curves.

pub mod average;
pub mod clip;
pub mod curve;
pub mod engine;
pub(crate) mod flat;
pub mod optimiser;
pub mod run;
pub mod sampler;
pub mod schedule;
pub mod settings;
pub(crate) mod stages;
pub mod training_loop;
pub mod tune;

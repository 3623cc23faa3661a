//! **How does a model become good, reproducibly, and how is it kept?** The one room that joins data, model and
//! objective: samplers, optimisers, schedules, validation, folds, calibration, checkpoints, model files, tuning.
//!
//! Invariants:
//! - a step is a function of (configuration, data, seed, step, state): the same bytes at any number of threads;
//! - parameters live in one flat slice; optimisers, averages and checkpoints know slices, not models;
//! - work is cut into a fixed number of shards, gradients are added in the order of shards;
//! - what is saved loads bit for bit, and a file that is not whole is never left under its name.

pub mod average;
pub mod boost;
pub mod calibration;
pub mod checkpoint;
pub mod choice;
pub mod clip;
pub mod config;
pub mod container;
pub mod curve;
pub mod engine;
pub mod error;
pub mod folds;
pub mod full;
mod graph_model;
pub mod job;
pub mod learner;
pub mod model_file;
pub mod models;
pub mod onnx;
pub mod optimiser;
mod position_bias;
pub mod predict;
pub mod recommend;
pub mod retrieval;
pub mod sampler;
pub mod schedule;
pub mod scoring;
mod suited;
#[cfg(test)]
mod tests;
pub mod trainer;
pub mod tune;
pub mod walk_file;
pub mod walk_job;

pub use average::{AVERAGES, Average, Averaging};
pub use boost::Boost;
pub use calibration::{Calibrate, Calibration};
pub use config::{Config, Settings};
pub use curve::{Curve, CurveFile, CurveFormat, Record};
pub use error::TrainError;
pub use graph_model::GraphReading;
pub use job::{Data, Job};
pub use learner::{Course, Keep, Learner, Now, Outcome, Watch};
pub use model_file::Model;
pub use optimiser::{OPTIMISERS, Optimiser, OptimiserKind, OptimiserStep};
pub use position_bias::PositionBias;
pub use predict::Predictor;
pub use recommend::{Interactions, Recommender};
pub use retrieval::{Embedder, Search};
pub use sampler::{SAMPLERS, Sampler, SamplerKind};
pub use schedule::{SCHEDULES, Schedule};
pub use scoring::Scoring;
pub use trainer::Trainer;
pub use walk_file::{WalkFile, WalkHeader};
pub use walk_job::{LearnedWalk, WalkSettings};

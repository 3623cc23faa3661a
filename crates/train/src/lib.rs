//! **How does a model become good, reproducibly, and how is it kept?** The one crate that joins data, models and objectives.
//!
//! | folder | the question it answers |
//! |---|---|
//! | [`fit`] | What does every training run share: the loop, batches, optimisers, schedules, learning curves? |
//! | [`rank`] | How do rows of features become a model that ranks: networks, boosted trees, folds, calibration, tuning? |
//! | [`recommend`] | How do interactions become a recommender? |
//! | [`embed`] | How do rows and classes become an embedding, and how is it searched? |
//! | [`walk`] | How do judged graphs become a learned random walk? |
//! | [`store`] | How is it kept: files, checkpoints, ONNX? |
//!
//! Invariants:
//! - a step is a function of (configuration, data, seed, step, state): the same bytes at any number of threads;
//! - parameters live in one flat slice; optimisers, averages and checkpoints know slices, not models;
//! - work is cut into a fixed number of shards, gradients are added in the order of shards;
//! - what is saved loads bit for bit, and a file that is not whole is never left under its name.

pub mod embed;
pub mod error;
pub mod fit;
pub mod rank;
pub mod recommend;
pub mod store;
pub mod walk;

pub use embed::{Embedder, Search};
pub use error::TrainError;
pub use fit::average::{AVERAGES, Average, Averaging};
pub use fit::curve::{Curve, CurveFile, CurveFormat, Record};
pub use fit::optimiser::{OPTIMISERS, Optimiser, OptimiserKind, OptimiserStep};
pub use fit::run::{RunFiles, RunLock};
pub use fit::sampler::{SAMPLERS, Sampler, SamplerKind};
pub use fit::schedule::{SCHEDULES, Schedule};
pub use fit::settings::{Config, Files, SETTINGS, Setting, Settings, TrainerKind};
pub use fit::training_loop::{Callbacks, Checkpoints, Leaderboard, Outcome, Progress, Start, TrainingLoop};
pub use fit::workers::Workers;
pub use rank::boost::Boost;
pub use rank::calibration::{Calibrate, Calibration};
pub use rank::forecast::{Forecast, forecast};
pub use rank::graph_model::GraphReading;
pub use rank::job::{Data, Job, Learner};
pub use rank::position_bias::PositionBias;
pub use rank::predict::Predictor;
pub use rank::run::{Run, Trained};
pub use rank::scoring::Scoring;
pub use rank::trainer::Trainer;
pub use recommend::{Interactions, Recommender};
pub use store::header::{Header, Reached};
pub use store::model_file::Model;
pub use walk::WalkFile;

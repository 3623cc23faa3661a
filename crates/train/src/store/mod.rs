//! How models and runs are kept: the file container, the header of model files, checkpoints, fingerprints of inputs, export to ONNX.

pub mod checkpoint;
pub mod container;
pub mod fingerprint;
pub mod header;
pub mod model_file;
pub mod onnx;

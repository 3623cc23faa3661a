//! How models and runs are kept: the file container, the header of model files, checkpoints, export to ONNX.

pub mod checkpoint;
pub mod container;
pub mod header;
pub mod model_file;
pub mod onnx;

//! Errors of plots.

use std::path::{Path, PathBuf};

/// A plot that could not be saved.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct PlotError(#[from] Kind);

#[derive(Debug, thiserror::Error)]
enum Kind {
    #[error("{}: expected a name that ends in .svg or .png, but it {found}", path.display())]
    Extension { path: PathBuf, found: String },
    #[cfg(not(feature = "png"))]
    #[error(
        "{}: this build writes SVG only; install toprank with --features png, or name the file with .svg",
        path.display()
    )]
    NoPng { path: PathBuf },
    #[error("{}: the plot could not be written: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[cfg(feature = "png")]
    #[error("the plot could not be drawn as PNG: {message}; name the file with .svg")]
    Draw { message: String },
}

impl PlotError {
    pub(crate) fn extension(path: &Path) -> PlotError {
        let found = match path.extension() {
            Some(extension) => format!("ends in .{}", extension.to_string_lossy()),
            None => "has no extension".to_string(),
        };
        Kind::Extension { path: path.to_path_buf(), found }.into()
    }

    #[cfg(not(feature = "png"))]
    pub(crate) fn no_png(path: &Path) -> PlotError {
        Kind::NoPng { path: path.to_path_buf() }.into()
    }

    pub(crate) fn write(path: &Path, source: std::io::Error) -> PlotError {
        Kind::Write { path: path.to_path_buf(), source }.into()
    }

    #[cfg(feature = "png")]
    pub(crate) fn draw(message: &dyn std::fmt::Display) -> PlotError {
        Kind::Draw { message: message.to_string() }.into()
    }
}

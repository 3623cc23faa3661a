//! The binary `toprank`; everything is in the library of the same package.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(toprank_cli::run(std::env::args_os()))
}

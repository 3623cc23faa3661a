//! `toprank serve` in a build without a server: it says how to get one.

use crate::Common;
use crate::failure::Failure;

/// Answer requests over HTTP (not in this build: it has no server)
#[derive(clap::Args, Debug)]
pub struct Serve {
    /// Whatever a complete build takes
    #[arg(value_name = "WHAT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Serve {
    /// Refuses.
    pub fn run(&self, _: &Common) -> Result<(), Failure> {
        let _ = &self.arguments;
        Err(Failure::usage(
            "this toprank was built without a server; expected a build with the feature serve: cargo install --path crates/cli --locked \
             --features serve, or the archive of .ci/release, or the Python package",
        ))
    }
}

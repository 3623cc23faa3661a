//! `toprank report` in a build without plots: it says what is missing.

use crate::Common;
use crate::failure::Failure;

/// Write results as one HTML page (not in this build: it has no plots)
#[derive(clap::Args, Debug)]
pub struct Report {
    /// Whatever a complete build takes
    #[arg(value_name = "WHAT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Report {
    /// Refuses.
    pub fn run(&self, _: &Common) -> Result<(), Failure> {
        let _ = &self.arguments;
        Err(Failure::usage("this toprank was built without plots; expected a build with the feature plots"))
    }
}

/// No page, for `toprank serve`.
#[cfg(feature = "serve")]
pub fn html(_: &[String]) -> Result<String, Failure> {
    Err(Failure::usage("this toprank was built without plots; expected a build with the feature plots"))
}

/*!
Synthetic data: realistic, of any size, the same bytes on every machine.

[`GENERATORS`] is the table the command and the docs read. Every generator draws each list (user, query, row)
from its own random stream, so lists are made in parallel and written in order; memory stays constant however
large the files get; the bytes depend on the parameters only. All functions beyond + − × ÷ √ come from crate
`libm`, never from the platform. Files appear under their names when they are complete.

```
use toprank_core::Args;
let folder = tempfile::tempdir().unwrap();
let letor = toprank_data::generate::by_name("letor").unwrap();
let args = Args(vec![("lists".into(), "10".into()), ("seed".into(), "1".into())]);
let written = letor.run(&args, folder.path(), &mut |_, _| {}).unwrap();
let lists: Vec<u64> = written.files.iter().map(|file| file.lists).collect();
assert_eq!(lists, [6, 2, 2]); // train.txt, vali.txt, test.txt
```
*/

mod binary;
mod draws;
mod graphs;
mod interactions;
mod letor;
mod multilabel;
mod output;
mod sessions;
mod settings;
mod views;

use std::path::{Path, PathBuf};

use serde::Serialize;
use toprank_core::{Args, Param, ParamError};

use crate::error::ReadError;
use output::Output;
use settings::Settings;

/// Every generator.
pub static GENERATORS: &[Generator] = &[
    letor::GENERATOR,
    binary::GENERATOR,
    multilabel::GENERATOR,
    interactions::GENERATOR,
    graphs::GENERATOR,
    sessions::GENERATOR,
];

/// Finds a generator by name.
pub fn by_name(name: &str) -> Option<&'static Generator> {
    GENERATORS.iter().find(|generator| generator.name == name)
}

/// A generator of data files.
pub struct Generator {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for the listing.
    pub about: &'static str,
    /// What the files hold and which hidden truth made them.
    pub page: &'static str,
    /// Names of the files that it may write.
    pub files: &'static [&'static str],
    /// Parameters; on the command line `--name value`.
    pub params: &'static [Param],
    make: fn(&Settings, Output) -> Result<Written, GenerateError>,
}

impl Generator {
    /// Writes the files into `folder` (made if needed; files of the same names are replaced).
    ///
    /// `progress` is called with (lists done, lists in all) now and then.
    pub fn run(
        &self,
        args: &Args,
        folder: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Written, GenerateError> {
        let settings = Settings::new(self.params, args)?;
        (self.make)(&settings, Output { folder, progress })
    }
}

/// The files a generator wrote.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Written {
    /// In the order in which they are meant to be read.
    pub files: Vec<WrittenFile>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WrittenFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Lines of data in it.
    pub rows: u64,
    /// Lists (queries, users, sessions) in it.
    pub lists: u64,
}

/// Why nothing was generated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GenerateError {
    /// A parameter is unknown or outside its range.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] ReadError),
}

#[cfg(test)]
mod tests;

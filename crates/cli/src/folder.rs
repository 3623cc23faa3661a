//! A folder that a command fills with several files: what an earlier run left there is not mixed with what is new.

use std::path::{Path, PathBuf};

use toprank::data::inputs;

use crate::failure::Failure;

/// A folder and the files in it that the command may write.
pub struct Filled<'a> {
    folder: &'a Path,
    /// True of the names that the command writes.
    ours: &'a dyn Fn(&str) -> bool,
}

impl<'a> Filled<'a> {
    /// Makes the folder; without `force` it is an error if files of the command are already there.
    pub fn open(
        folder: &'a Path,
        ours: &'a dyn Fn(&str) -> bool,
        force: bool,
    ) -> Result<Filled<'a>, Failure> {
        std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder.display(), &error))?;
        let filled = Filled { folder, ours };
        let there = filled.there();
        // Also what is only in the way of the new files would be removed.
        there.iter().try_for_each(|path| inputs::refuse(path))?;
        if force || there.is_empty() {
            return Ok(filled);
        }
        let names =
            there.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
        let names: Vec<String> = names.collect();
        Err(Failure::usage(format!(
            "{}: already has {}; expected a folder without such files: name another one with -o, or replace them with --force",
            folder.display(),
            toprank::data::error::show_names(names.iter().map(String::as_str))
        )))
    }

    /// Removes files of an earlier run that are not among those `written` now.
    pub fn close(&self, written: &[PathBuf]) -> Result<(), Failure> {
        for stale in self.there().iter().filter(|path| !written.contains(path)) {
            std::fs::remove_file(stale).map_err(|error| {
                Failure::failed(format!("{}: cannot be removed: {error}", stale.display()))
            })?;
        }
        Ok(())
    }

    fn there(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder).into_iter().flatten().flatten();
        // A link to a file counts as the file: writing would replace what it points to.
        let files = entries.filter(|entry| entry.path().is_file());
        let ours = files.filter(|entry| (self.ours)(&entry.file_name().to_string_lossy()));
        let mut paths: Vec<PathBuf> = ours.map(|entry| self.folder.join(entry.file_name())).collect();
        paths.sort();
        paths
    }
}

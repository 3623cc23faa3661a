/*!
Output: a file that appears whole or not at all, compressed by its extension, or standard output.

```text
temporary file in the same folder → write → sync → rename over the target → sync the folder
```

A temporary file is locked as long as its process lives. What a killed process left behind is not, and the next process that
writes into the folder removes it.
*/

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::ReadError;

/// Writes a file by calling `fill`; `-` is standard output, `.gz` and `.zst` are packed on the way.
///
/// A regular file is replaced only after everything was written, so a reader never sees half of it and a failure
/// leaves the old one. Devices and pipes are written straight; a symbolic link is refused ([`refuse_link`]). A reader of
/// standard output that stops early (`| head`) is no error. An [`ErrorKind::Unsupported`] from `fill` means: this content does not fit this format.
///
/// ```
/// use std::io::Write;
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("a.txt.gz");
/// toprank_data::sink::write_file(&path, |out| out.write_all(b"1 qid:1 1:0.5\n")).unwrap();
/// let mut text = String::new();
/// std::io::Read::read_to_string(&mut toprank_data::Source::path(&path).open().unwrap(), &mut text).unwrap();
/// assert_eq!(text, "1 qid:1 1:0.5\n");
/// ```
pub fn write_file(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Result<(), ReadError> {
    if path == Path::new("-") {
        return match packed(path, io::stdout(), fill).and_then(|mut out| out.flush()) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
            done => done.map_err(|e| failed("stdout", &e)),
        };
    }
    let wanted = path.display().to_string();
    let done = match fs::metadata(path) {
        Ok(there) if there.is_dir() => return Err(ReadError::options(&wanted, "a folder", "a file name")),
        // /dev/stdout is a link, perhaps to a regular file: what it means is the open file.
        Ok(there) if !there.is_file() || is_open_file(path) => {
            File::options().write(true).open(path).and_then(|file| packed(path, file, fill)).map(drop)
        }
        _ => {
            refuse_link(path)?;
            replace(path, fill)
        }
    };
    done.map_err(|e| failed(&wanted, &e))
}

/// True of the names under which Linux and others show the open files of a process.
fn is_open_file(path: &Path) -> bool {
    ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"].iter().any(|folder| path.starts_with(folder))
}

/// Refuses to write where a symbolic link is: whoever made the folder may have made it, and its target is another file than the
/// one that was named.
///
/// # Errors
/// If `path` is a symbolic link, whatever it leads to.
pub fn refuse_link(path: &Path) -> Result<(), ReadError> {
    if !fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) || is_open_file(path) {
        return Ok(());
    }
    let target =
        fs::read_link(path).map_or_else(|_| String::new(), |target| format!(" to {}", target.display()));
    let expected = "a file, as links are not followed when something is written: name the target itself, or remove the link";
    Err(ReadError::options(&path.display().to_string(), format!("a symbolic link{target}"), expected))
}

fn failed(name: &str, error: &io::Error) -> ReadError {
    match error.kind() {
        ErrorKind::Unsupported => ReadError::options(name, error.to_string(), ""),
        _ => ReadError::io(name, error),
    }
}

fn replace(path: &Path, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let draft = Draft::new(&folder, path)?;
    packed(path, draft.file(), fill)?;
    draft.publish(path)
}

/// Drafts being written, so that an interrupt can remove them.
static DRAFTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Folders that were cleared of the drafts of killed processes.
static CLEARED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// How the names of drafts begin and end. Older versions wrote `.toprank-` and six characters without a lock; those are left alone.
const PREFIX: &str = ".toprank-draft-";
const SUFFIX: &str = ".tmp";

/// A file under a temporary name until it is whole; dropped before that, it is gone.
pub(crate) struct Draft(tempfile::NamedTempFile);

impl Draft {
    /// A draft in `folder` of the file at `path`: readable by whom that file is, or by whom the user's mask allows.
    pub(crate) fn new(folder: &Path, path: &Path) -> io::Result<Draft> {
        crate::inputs::refuse_write(path)?;
        remove_stale_drafts(folder);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        #[cfg(unix)]
        {
            // As for any new file: the user's umask decides, not the 0600 of temporary files.
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(path).map_or(0o666, |there| there.permissions().mode());
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        loop {
            let file = builder.tempfile_in(folder).map_err(without_draft)?;
            drafts().push(file.path().to_path_buf());
            // A file system without locks has none of anybody, so nothing is ever removed there.
            let _ = file.as_file().lock();
            // Another process may have taken it for a stale one before it was locked.
            if file.path().exists() {
                return Ok(Draft(file));
            }
            drafts().retain(|draft| draft != file.path());
        }
    }

    /// Where its bytes go.
    pub(crate) fn file(&self) -> &File {
        self.0.as_file()
    }

    /// Gives it its name, over any file that has it.
    pub(crate) fn publish(self, path: &Path) -> io::Result<()> {
        self.file().sync_all()?;
        let temporary = self.0.path().to_path_buf();
        // Some systems let nobody read a locked file.
        let _ = self.file().unlock();
        self.0.persist(path).map_err(|e| e.error)?;
        drafts().retain(|draft| *draft != temporary);
        #[cfg(unix)]
        if let Some(folder) = temporary.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

/// The system's error alone: the name of a draft says nothing to a user.
fn without_draft(error: io::Error) -> io::Error {
    let own = std::error::Error::source(&error).and_then(|own| own.downcast_ref::<io::Error>());
    own.and_then(io::Error::raw_os_error).map_or(error, io::Error::from_raw_os_error)
}

/// Removes every file that is not whole yet. For a handler of interrupts, just before the process ends.
pub fn abandon() {
    for draft in drafts().drain(..) {
        // Nothing is left to be done about a file that cannot be removed.
        let _ = fs::remove_file(draft);
    }
}

/// Removes the drafts in `folder` that nobody has locked: their processes were killed. Once for each folder, as a command may
/// write many files into it.
fn remove_stale_drafts(folder: &Path) {
    let mut cleared = locked(&CLEARED);
    if cleared.iter().any(|known| known == folder) {
        return;
    }
    cleared.push(folder.to_path_buf());
    drop(cleared);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // What cannot be opened, locked or removed stays: it may be somebody else's.
        if let Ok(file) = File::options().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn drafts() -> MutexGuard<'static, Vec<PathBuf>> {
    locked(&DRAFTS)
}

fn locked(list: &'static Mutex<Vec<PathBuf>>) -> MutexGuard<'static, Vec<PathBuf>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

fn packed<W: Write + Send>(
    path: &Path,
    out: W,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<W> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    match path.extension().and_then(|e| e.to_str()) {
        Some("gz") => {
            let mut gzip = BufWriter::new(flate2::write::GzEncoder::new(out, flate2::Compression::default()));
            fill(&mut gzip)?;
            out = gzip.into_inner()?.finish()?;
        }
        Some("zst") => {
            let mut zstd = zstd::Encoder::new(out, 0)?;
            // Without it a flipped bit can be other content that nobody notices; gzip always has one.
            zstd.include_checksum(true)?;
            let mut zstd = BufWriter::new(zstd);
            fill(&mut zstd)?;
            out = zstd.into_inner()?.finish()?;
        }
        _ => fill(&mut out)?,
    }
    Ok(out.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_rubbish() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scores.txt");
        write_file(&path, |out| out.write_all(b"old")).unwrap();
        let error = write_file(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::new(ErrorKind::Unsupported, "names with blanks"))
        })
        .unwrap_err();
        assert_eq!(error.fault(), crate::Fault::Options);
        assert!(error.to_string().ends_with("scores.txt: names with blanks"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_with_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_file(&folder.path().join("no/file.txt"), |_| Ok(())).unwrap_err();
        assert_eq!(error.fault(), crate::Fault::Io);
        assert!(error.to_string().contains("no/file.txt"), "{error}");
        let error = write_file(folder.path(), |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("a folder; expected a file name"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_refused_and_nothing_behind_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"old").unwrap();
        for (name, target) in [("link", "file"), ("dangling", "nowhere")] {
            let link = folder.path().join(name);
            std::os::unix::fs::symlink(folder.path().join(target), &link).unwrap();
            let error = write_file(&link, |out| out.write_all(b"new")).unwrap_err();
            assert_eq!(error.fault(), crate::Fault::Options);
            assert!(error.to_string().contains("a symbolic link to"), "{error}");
            assert!(link.is_symlink());
        }
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert!(!folder.path().join("nowhere").exists());
    }

    #[cfg(unix)]
    #[test]
    fn devices_stay_what_they_are() {
        write_file(Path::new("/dev/null"), |out| out.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn drafts_of_killed_processes_are_removed_and_those_of_living_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let [stale, living, foreign] =
            [".toprank-draft-aaaaaa.tmp", ".toprank-draft-bbbbbb.tmp", ".toprank-notes"].map(|name| {
                let path = folder.path().join(name);
                fs::write(&path, b"half").unwrap();
                path
            });
        let lock = File::open(&living).unwrap();
        lock.lock().unwrap();
        write_file(&folder.path().join("a.txt"), |out| {
            // The present draft is locked as well.
            let names = fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name());
            let drafts = names.filter(|name| name.to_string_lossy().starts_with(PREFIX)).count();
            assert_eq!(drafts, 2);
            out.write_all(b"whole")
        })
        .unwrap();
        assert!(!stale.exists() && living.exists() && foreign.exists());
        assert_eq!(fs::read(folder.path().join("a.txt")).unwrap(), b"whole");
    }
}

/*!
Output: a file that appears whole or not at all, compressed by its extension, or standard output.

```text
temporary file in the same folder → write → sync → rename over the target → sync the folder
```
*/

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::error::ReadError;

/// Writes a file by calling `fill`; `-` is standard output, `.gz` and `.zst` are packed on the way.
///
/// A regular file is replaced only after everything was written, so a reader never sees half of it and a failure
/// leaves the old one. Devices and pipes are written straight. A reader of standard output that stops early
/// (`| head`) is no error. An [`ErrorKind::Unsupported`] from `fill` means: this content does not fit this format.
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
        Ok(there) if !there.is_file() => {
            File::options().write(true).open(path).and_then(|file| packed(path, file, fill)).map(drop)
        }
        // A symbolic link is kept: its target is replaced.
        Ok(_) => path.canonicalize().and_then(|target| replace(&target, fill)),
        Err(_) => replace(path, fill),
    };
    done.map_err(|e| failed(&wanted, &e))
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

/// A file under a temporary name until it is whole; dropped before that, it is gone.
pub(crate) struct Draft(tempfile::NamedTempFile);

impl Draft {
    /// A draft in `folder` of the file at `path`: readable by whom that file is, or by whom the user's mask allows.
    pub(crate) fn new(folder: &Path, path: &Path) -> io::Result<Draft> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".toprank-");
        #[cfg(unix)]
        {
            // As for any new file: the user's umask decides, not the 0600 of temporary files.
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(path).map_or(0o666, |there| there.permissions().mode());
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        let file = builder.tempfile_in(folder)?;
        drafts().push(file.path().to_path_buf());
        Ok(Draft(file))
    }

    /// Where its bytes go.
    pub(crate) fn file(&self) -> &File {
        self.0.as_file()
    }

    /// Gives it its name, over any file that has it.
    pub(crate) fn publish(self, path: &Path) -> io::Result<()> {
        self.file().sync_all()?;
        let temporary = self.0.path().to_path_buf();
        self.0.persist(path).map_err(|e| e.error)?;
        drafts().retain(|draft| *draft != temporary);
        #[cfg(unix)]
        if let Some(folder) = temporary.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

/// Removes every file that is not whole yet. For a handler of interrupts, just before the process ends.
pub fn abandon() {
    for draft in drafts().drain(..) {
        // Nothing is left to be done about a file that cannot be removed.
        let _ = fs::remove_file(draft);
    }
}

fn drafts() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    DRAFTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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
    fn links_and_devices_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, b"old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_file(&link, |out| out.write_all(b"new")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        write_file(Path::new("/dev/null"), |out| out.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}

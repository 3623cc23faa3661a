/*!
Files that the running command reads, and must not replace.

A command names its inputs with [`protect`]; from then on [`crate::sink`] refuses to write over any of them, also under another
name: through a symbolic or a hard link, or as one of the files of a folder. A library that never calls it is not restricted.

```
use toprank_data::inputs;
let folder = tempfile::tempdir().unwrap();
let path = folder.path().join("train.txt");
std::fs::write(&path, "1 qid:1 1:0.5\n").unwrap();
inputs::protect(&path, "--data");
let error = inputs::refuse(&path).unwrap_err().to_string();
assert!(error.ends_with("train.txt: a file that this command reads (--data); expected another file to write."), "{error}");
assert!(toprank_data::sink::write_file(&path, |out| std::io::Write::write_all(out, b"new")).is_err());
```
*/

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::ReadError;

/// What tells a file from all others, whatever it is called.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = std::path::PathBuf;

/// The inputs, and what each is called on the command line.
static INPUTS: Mutex<Vec<(Identity, String)>> = Mutex::new(Vec::new());

fn inputs() -> MutexGuard<'static, Vec<(Identity, String)>> {
    INPUTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The identity of a regular file; devices and pipes cannot be replaced.
#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let there = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some((there.dev(), there.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<Identity> {
    path.canonicalize().ok().filter(|path| path.is_file())
}

/// Names an input, and the option or argument that names it. `-` is standard input, which may be a file, too.
pub fn protect(path: &Path, named_by: &str) {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    if let Some(identity) = identity(path) {
        inputs().push((identity, named_by.to_string()));
    }
}

/// Forgets all inputs, for a process that runs one command after the other.
pub fn forget() {
    inputs().clear();
}

/// An error if the file at `path` is an input of this command.
pub fn refuse(path: &Path) -> Result<(), ReadError> {
    match named_by(path) {
        Some(found) => Err(ReadError::options(&path.display().to_string(), found, "another file to write")),
        None => Ok(()),
    }
}

/// The same for a writer, whose errors get the name of the file later.
pub(crate) fn refuse_write(path: &Path) -> std::io::Result<()> {
    let refused = |found| {
        let text = format!("{found}; expected another file to write");
        std::io::Error::new(std::io::ErrorKind::Unsupported, text)
    };
    named_by(path).map_or(Ok(()), |found| Err(refused(found)))
}

fn named_by(path: &Path) -> Option<String> {
    let inputs = inputs();
    if inputs.is_empty() {
        return None;
    }
    let wanted = identity(path)?;
    let (_, named_by) = inputs.iter().find(|(there, _)| *there == wanted)?;
    Some(format!("a file that this command reads ({named_by})"))
}

//! A report that is built again when one of its files changes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use hyper::StatusCode;
use serde_json::json;

use super::absent;
use crate::refusal::Refusal;
use crate::watch::Stamp;

/// Builds the page, or says in a sentence why it cannot.
type Build = Box<dyn Fn() -> Result<String, String> + Send + Sync>;

/// The page built last, and the state of the files then.
type Built = (Vec<Option<Stamp>>, Result<String, String>);

/// The page of `/compare`: how it is built, and from which files.
pub struct LiveReport {
    files: Vec<PathBuf>,
    build: Build,
    last: Mutex<Option<Built>>,
}

impl LiveReport {
    /// A report that depends on `files`.
    pub fn new(
        files: Vec<PathBuf>,
        build: impl Fn() -> Result<String, String> + Send + Sync + 'static,
    ) -> LiveReport {
        LiveReport { files, build: Box::new(build), last: Mutex::new(None) }
    }

    fn stamps(&self) -> Vec<Option<Stamp>> {
        self.files.iter().map(|file| Stamp::of(file)).collect()
    }

    /// The page of the files as they are now; it is built once for each state of them.
    pub fn html(&self) -> Result<String, String> {
        // Whoever asks meanwhile waits for the page instead of building it, too.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = self.stamps();
        match &*last {
            Some((of, page)) if *of == stamps => page.clone(),
            _ => {
                let page = (self.build)();
                *last = Some((stamps, page.clone()));
                page
            }
        }
    }

    /// A text that changes when a file changes.
    pub fn version(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.stamps().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

const HOW: &str =
    "a server that was started with runs: toprank serve --qrels QRELS --run NAME=FILE --run NAME=FILE";

pub(super) fn report(live: Option<&LiveReport>) -> Result<String, Refusal> {
    let live = live.ok_or_else(|| absent("no runs to compare", HOW))?;
    live.html().map_err(|message| Refusal {
        status: StatusCode::UNPROCESSABLE_ENTITY,
        message,
        id: None,
        header: None,
    })
}

pub(super) fn version(live: Option<&LiveReport>) -> Result<String, Refusal> {
    let live = live.ok_or_else(|| absent("no runs to compare", HOW))?;
    Ok(json!({"version": live.version()}).to_string() + "\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn the_page_is_built_once_for_each_state_of_its_files() {
        let path = std::env::temp_dir().join(format!("toprank-live-{}", std::process::id()));
        std::fs::write(&path, "one").unwrap();
        let built = Arc::new(AtomicUsize::new(0));
        let (file, count) = (path.clone(), Arc::clone(&built));
        let live = LiveReport::new(vec![path.clone()], move || {
            count.fetch_add(1, Ordering::Relaxed);
            std::fs::read_to_string(&file).map_err(|error| error.to_string())
        });
        let first = live.version();
        assert_eq!((live.html(), live.html()), (Ok("one".into()), Ok("one".into())));
        assert_eq!(built.load(Ordering::Relaxed), 1);
        std::fs::write(&path, "other").unwrap();
        assert_ne!(live.version(), first);
        assert_eq!(live.html(), Ok("other".into()));
        std::fs::remove_file(&path).unwrap();
        assert!(live.html().is_err());
        assert_eq!(built.load(Ordering::Relaxed), 3);
        assert_eq!(report(None).unwrap_err().status, StatusCode::NOT_FOUND);
    }
}

//! Files of models are loaded again when they change.

use std::fs::Metadata;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use crate::models::Models;
use crate::server::Log;

/// Between two looks at a file.
const PAUSE: Duration = Duration::from_millis(500);
/// Between two looks at whether the server ends.
const STEP: Duration = Duration::from_millis(50);

/// What tells a file from what it was: its length, its time, and which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    length: u64,
    time: Option<SystemTime>,
    file: u64,
}

impl Stamp {
    /// `None`: there is no file now.
    pub fn of(path: &Path) -> Option<Stamp> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Stamp { length: metadata.len(), time: metadata.modified().ok(), file: number(&metadata) })
    }
}

#[cfg(unix)]
fn number(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> u64 {
    0
}

/// Looks at the files until `ended`. A file is loaded once it looks the same twice, so that nothing half written is read.
pub fn watch(models: &Arc<Models>, ended: &AtomicBool, log: &Log) {
    let stamps = || models.slots.iter().map(|slot| Stamp::of(&slot.path)).collect::<Vec<_>>();
    let mut loaded = stamps();
    let mut before = loaded.clone();
    loop {
        for _ in 0..PAUSE.as_millis() / STEP.as_millis() {
            if ended.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(STEP);
        }
        let now = stamps();
        for (i, slot) in models.slots.iter().enumerate() {
            let settled = now[i] == before[i] && now[i] != loaded[i];
            if now[i].is_none() || !settled {
                continue;
            }
            // Whatever comes of it: the same file is not tried again.
            loaded[i] = now[i];
            let file = slot.path.display();
            match slot.reload(models.most) {
                Ok(()) => log(&format!(
                    "model {:?}: {file} changed, its self-test passes, it answers now",
                    slot.name
                )),
                Err(error) => {
                    log(&format!(
                        "model {:?}: {file} changed and is refused, the old one answers: {error}",
                        slot.name
                    ));
                }
            }
        }
        before = now;
    }
}

//! Ctrl-C: ends at once, or after the current step where progress would be lost.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

static BY_REQUEST: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);

/// Files are written under a temporary name and renamed when complete, so an interrupt leaves no broken file.
pub fn install() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        // The second interrupt ends it in any case.
        if BY_REQUEST.load(Ordering::SeqCst) && !ASKED.swap(true, Ordering::SeqCst) {
            return;
        }
        toprank::data::sink::abandon();
        std::process::exit(130);
    })
    .map_err(Failure::failed)
}

/// From now on the first interrupt is only a request, which the running command polls with [`asked`].
pub fn by_request() {
    BY_REQUEST.store(true, Ordering::SeqCst);
}

/// True once the user has interrupted.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

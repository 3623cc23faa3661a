//! Ctrl-C: at once where nothing is lost, at the next step where something would be.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

static BY_REQUEST: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);

/// Files appear whole or not at all, so an interrupt loses nothing but its own drafts.
pub fn install() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        // The second one means it.
        if BY_REQUEST.load(Ordering::SeqCst) && !ASKED.swap(true, Ordering::SeqCst) {
            return;
        }
        toprank::data::sink::abandon();
        std::process::exit(130);
    })
    .map_err(Failure::failed)
}

/// From now on the first interrupt is a request, which the work at hand looks at with [`asked`].
pub fn by_request() {
    BY_REQUEST.store(true, Ordering::SeqCst);
}

/// True once the user wants it to end.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

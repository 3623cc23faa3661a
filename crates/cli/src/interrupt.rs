//! Ctrl-C: ends at once, or after the current step where progress would be lost.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

static BY_REQUEST: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Asked by this thread instead of a signal handler of ours, where the process belongs to somebody else.
    static STOP: Cell<Option<fn() -> bool>> = const { Cell::new(None) };
}

/// Does some work in a process that handles its signals itself: `stop` says whether the user has interrupted.
pub fn within<R>(stop: fn() -> bool, work: impl FnOnce() -> R) -> R {
    STOP.set(Some(stop));
    let done = work();
    STOP.set(None);
    done
}

/// The message if a memory-mapped file was shortened while it was in use: reading what is gone ends the process by SIGBUS.
#[cfg(unix)]
const SHORTENED: &str = "error: a memory-mapped file was shortened, or its disk failed, while it was in use; expected a file that nobody writes to.\n";

/// Ends the process with [`SHORTENED`] and the exit code of damaged data where the system would end it without a word. Only
/// between two epochs can it be noticed earlier (`Features::recheck`).
#[cfg(unix)]
extern "C" fn shortened(_: libc::c_int) {
    // SAFETY: write and _exit are among the few calls that a signal handler may make; nothing else is touched.
    unsafe {
        libc::write(2, SHORTENED.as_ptr().cast(), SHORTENED.len());
        libc::_exit(crate::failure::Exit::Data as i32);
    }
}

/// Files are written under a temporary name and renamed when complete, so an interrupt leaves no broken file.
pub fn install() -> Result<(), Failure> {
    // SAFETY: the handler makes async-signal-safe calls only and does not return.
    #[cfg(unix)]
    unsafe {
        libc::signal(libc::SIGBUS, shortened as extern "C" fn(libc::c_int) as libc::sighandler_t)
    };
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
    ASKED.load(Ordering::SeqCst) || STOP.get().is_some_and(|stop| stop())
}

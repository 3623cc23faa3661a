//! Panics of third-party decoders turned into errors, without output on standard error.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread is inside [`guarded`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Runs a decoder that may panic on damaged files; `None` if it panicked.
///
/// The caller must not use afterwards what `decode` may have left half done.
///
/// The first call puts a panic hook before the one in force. It is silent about panics of other crates inside this
/// call on this thread, and hands on all others, a panic of our own code too: that is a bug, and should be seen by
/// people and fuzzers. A program that sets its own hook later gets it, with the decoder's messages.
pub(crate) fn guarded<T>(decode: impl FnOnce() -> T) -> Option<T> {
    // The hook cannot be changed by a thread that panics (a file read in a destructor): then there is a message more.
    if !std::thread::panicking() {
        HOOK.call_once(|| {
            let next = take_hook();
            set_hook(Box::new(move |panic| {
                let ours = panic.location().is_some_and(|place| place.file().starts_with(our_source()));
                if ours || !GUARDED.get() {
                    next(panic);
                }
            }));
        });
    }
    let before = GUARDED.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    GUARDED.set(before);
    decoded.ok()
}

/// The folder of this crate's source, as the compiler names it in panics.
fn our_source() -> &'static str {
    file!().trim_end_matches("guard.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_no_value_and_the_guard_ends_with_the_call() {
        assert_eq!(guarded(|| 7), Some(7));
        assert_eq!(guarded(|| -> u8 { std::panic::resume_unwind(Box::new(())) }), None);
        assert!(!GUARDED.get());
        assert_eq!(guarded(|| guarded(|| GUARDED.get())), Some(Some(true)));
    }

    #[test]
    fn the_folder_of_our_source_is_that_of_a_panic_here() {
        let here = std::panic::Location::caller().file();
        assert!(
            here.starts_with(our_source()) && our_source().ends_with(['/', '\\']),
            "{here}, {}",
            our_source()
        );
    }
}

/*!
Allocators for tests: one that counts, one that refuses large requests.

```
use toprank_testkit::alloc::{Counting, allocations};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(7)))), 1);
```
*/

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Allocations of this thread; const, so that counting itself does not allocate.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator with a counter per thread; make it the `#[global_allocator]` of a test.
pub struct Counting;

impl Counting {
    fn count() {
        // A thread that is going away has no counter any more, and nobody reads it.
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
    }
}

// SAFETY: every call is handed on to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counting::count();
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Counting::count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The most that [`Capped`] gives at once.
pub const CAP: usize = 256 << 20;

/// The system's allocator, which refuses more than [`CAP`] at once: a test that makes it the `#[global_allocator]` aborts where code
/// takes memory because a few bytes of a file say so.
pub struct Capped;

// SAFETY: every call is handed on to the system's allocator unchanged, or answered by null, which says that there is no memory.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Capped {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of `System`.
        if layout.size() > CAP { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        if layout.size() > CAP { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        if size > CAP { std::ptr::null_mut() } else { unsafe { System.realloc(pointer, layout, size) } }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Allocations and reallocations of `work` on this thread; 0 unless [`Counting`] is the global allocator.
pub fn allocations(work: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

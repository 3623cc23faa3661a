//! Allocator settings for long training runs.

/// Makes glibc keep large blocks that are given back instead of returning them to the system and asking again, which
/// every step of a network would otherwise do: up to twice as fast (bench/training uses the same settings).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn keep() {
    for (parameter, value) in
        [(libc::M_MMAP_THRESHOLD, 1 << 30), (libc::M_TRIM_THRESHOLD, i32::MAX), (libc::M_TOP_PAD, 64 << 20)]
    {
        // SAFETY: mallopt takes two numbers by value; one that it does not like it refuses.
        unsafe { libc::mallopt(parameter, value) };
    }
}

/// Other allocators keep them by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep() {}

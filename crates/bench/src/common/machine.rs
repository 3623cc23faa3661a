//! CPU time and memory of this process as Linux reports them; NaN where the system does not say.

use std::time::Instant;

use rayon::prelude::*;

/// CPU seconds of all threads that still run, in nanoseconds of the scheduler.
///
/// On a machine that others use, CPU time says more than the wall clock. Threads that have ended are not counted, so
/// both readings belong inside the life of the thread pool.
pub fn cpu_seconds() -> f64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return f64::NAN };
    let nanoseconds = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.reduce(|sum, more| sum + more).map_or(f64::NAN, |sum| sum / 1e9)
}

/// Bytes of memory that belong to this process alone at the moment, without pages of memory-mapped files.
pub fn anonymous_bytes() -> f64 {
    status("RssAnon:")
}

/// The most bytes of memory that this process ever had, pages of files included.
pub fn peak_bytes() -> f64 {
    status("VmHWM:")
}

fn status(field: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kibibytes = text.lines().find_map(|line| line.strip_prefix(field)?.split_whitespace().next());
    kibibytes.and_then(|number| number.parse::<f64>().ok()).map_or(f64::NAN, |number| 1024.0 * number)
}

/// Seconds and bytes per second of a = b + s·c over 600 MB by all threads of the pool: the best of five rounds, each
/// number counted once. This is what the machine moves when it does nothing else.
pub fn bandwidth() -> (f64, f64) {
    const NUMBERS: usize = 25_000_000;
    const BLOCK: usize = 10_000;
    let (b, c) = (vec![1.0f64; NUMBERS], vec![2.0f64; NUMBERS]);
    let mut a = vec![0.0f64; NUMBERS];
    let seconds = (0..5).map(|round| {
        let start = Instant::now();
        let blocks = a.par_chunks_mut(BLOCK).zip(b.par_chunks(BLOCK)).zip(c.par_chunks(BLOCK));
        blocks.for_each(|((a, b), c)| {
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                *a = b + f64::from(round) * c;
            }
        });
        start.elapsed().as_secs_f64()
    });
    let best = seconds.fold(f64::INFINITY, f64::min);
    (best, 3.0 * 8.0 * NUMBERS as f64 / best)
}

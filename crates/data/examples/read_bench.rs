//! Reads a file and prints what it cost, as one JSON object: `read_bench FILE`. Used by `bench/reading/run.py`.

use std::fs;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use toprank_data::{ReadOptions, Source};

/// Anonymous memory in use, in bytes.
fn anonymous() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.split_whitespace().next());
    kilobytes.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// CPU seconds of this process, user and system, all threads.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let of_threads = || -> Option<f64> {
        let tasks = fs::read_dir("/proc/self/task").ok()?;
        let nanoseconds = tasks.flatten().filter_map(|task| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<f64>().ok()
        });
        Some(nanoseconds.sum::<f64>() / 1e9)
    };
    if stat.is_empty() { 0.0 } else { of_threads().unwrap_or(0.0) }
}

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: read_bench FILE");
        return ExitCode::from(2);
    };
    let done = AtomicBool::new(false);
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    let (result, seconds, cpu, peak) = std::thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut peak = 0;
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(anonymous());
                std::thread::sleep(Duration::from_millis(2));
            }
            peak
        });
        let result = toprank_data::read(&Source::path(&file), &ReadOptions::default());
        let (seconds, cpu) = (wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        done.store(true, Ordering::Relaxed);
        (result, seconds, cpu, sampler.join().unwrap_or(0))
    });
    match result {
        Ok(dataset) => {
            println!(
                "{{\"rows\": {}, \"lists\": {}, \"features\": {}, \"cpu\": {cpu:.4}, \"wall\": {seconds:.4}, \
                 \"bytes\": {}, \"peak\": {peak}}}",
                dataset.rows(),
                dataset.lists.len(),
                dataset.features.width(),
                dataset.bytes(),
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

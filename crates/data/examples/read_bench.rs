//! Reads a file and prints what it cost, as one JSON object: `read_bench FILE`; `read_bench FILE COPY` writes it in
//! another format instead. Used by `bench/reading/run.py`.

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

/// CPU seconds of all threads that still run.
fn cpu_seconds() -> f64 {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return 0.0 };
    let nanoseconds = threads.flatten().filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: read_bench FILE [COPY]");
        return ExitCode::from(2);
    };
    if let Some(copy) = std::env::args().nth(2) {
        let written = toprank_data::read(&Source::path(&file), &ReadOptions::default())
            .and_then(|dataset| toprank_data::write(&dataset, copy.as_ref(), None));
        return written.map_or_else(
            |error| {
                eprintln!("{error}");
                ExitCode::FAILURE
            },
            |()| ExitCode::SUCCESS,
        );
    }
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

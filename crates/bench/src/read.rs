//! Reads a file and prints what it cost, as one JSON object: `read FILE`; `read FILE COPY` writes it in another
//! format instead. Used by `bench/reading/run.py`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use toprank::data::{ReadOptions, Source};

use crate::common::{Outcome, WrongUse, anonymous_bytes, cpu_seconds};

pub fn run(args: &[String]) -> Outcome {
    let [file, copy @ ..] = args else { return Err(WrongUse.into()) };
    if let Some(copy) = copy.first() {
        let dataset = toprank::data::read(&Source::path(file), &ReadOptions::default())?;
        return Ok(toprank::data::write(&dataset, copy.as_ref(), None)?);
    }
    let done = AtomicBool::new(false);
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    let (result, seconds, cpu, peak) = std::thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut peak: f64 = 0.0;
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(anonymous_bytes());
                std::thread::sleep(Duration::from_millis(2));
            }
            peak
        });
        let result = toprank::data::read(&Source::path(file), &ReadOptions::default());
        let (seconds, cpu) = (wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        done.store(true, Ordering::Relaxed);
        (result, seconds, cpu, sampler.join().unwrap_or(f64::NAN))
    });
    let dataset = result?;
    println!(
        "{{\"rows\": {}, \"lists\": {}, \"features\": {}, \"cpu\": {cpu:.4}, \"wall\": {seconds:.4}, \"bytes\": {}, \
         \"peak\": {peak:.0}}}",
        dataset.rows(),
        dataset.lists.len(),
        dataset.features.width(),
        dataset.bytes(),
    );
    Ok(())
}

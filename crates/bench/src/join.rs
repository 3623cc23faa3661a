//! Times reading and joining of a qrels and a run file: `join QRELS RUN [REPEATS]`.

use std::time::Instant;

use toprank::data::{JoinOptions, Source, join, read_qrels, read_run};

use crate::common::{Outcome, WrongUse};

pub fn run(args: &[String]) -> Outcome {
    let [qrels, run, repeats @ ..] = args else { return Err(WrongUse.into()) };
    let repeats: u32 = repeats.first().map_or(Ok(5), |text| text.parse())?;
    for _ in 0..repeats {
        let (judgements, qrels_ms) = timed(|| read_qrels(&Source::path(qrels)));
        let (retrieved, run_ms) = timed(|| read_run(&Source::path(run)));
        let (judgements, retrieved) = (judgements?, retrieved?);
        let (joined, join_ms) = timed(|| join(&judgements, &retrieved, &JoinOptions::default()));
        println!(
            "qrels {qrels_ms:.1} ms, run {run_ms:.1} ms, join {join_ms:.1} ms, all {:.1} ms; {} lists, {} entries",
            qrels_ms + run_ms + join_ms,
            joined.lists.len(),
            joined.lists.entries(),
        );
    }
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64() * 1e3)
}

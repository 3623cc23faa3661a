//! Times reading and joining of a qrels and a run file: `join_bench QRELS RUN [REPEATS]`.

use std::time::Instant;

use toprank_data::{JoinOptions, Source, join, read_qrels, read_run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(qrels), Some(run)) = (arguments.next(), arguments.next()) else {
        return Err("usage: join_bench QRELS RUN [REPEATS]".into());
    };
    let repeats: u32 = arguments.next().map_or(Ok(5), |text| text.parse())?;
    for _ in 0..repeats {
        let (judged, qrels_ms) = timed(|| read_qrels(&Source::path(&qrels)));
        let (retrieved, run_ms) = timed(|| read_run(&Source::path(&run)));
        let (judged, retrieved) = (judged?, retrieved?);
        let (joined, join_ms) = timed(|| join(&judged, &retrieved, &JoinOptions::default()));
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

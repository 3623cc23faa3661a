//! Time of evaluating metrics with everything in memory; one line of JSON per set of metrics and number of threads.
//!
//! ```text
//! evaluate [LISTS ITEMS [FILE]] [--metrics LIST] [--threads N] [--repeats 21]
//! ```
//!
//! FILE holds LISTS × ITEMS little-endian pairs (f64 score, f32 label), as `bench/evaluate/memory_vs_peers.py`
//! writes it; without it scores are uniform and half the items are relevant, with grades 1 to 4. Printed are the median
//! and the smallest wall-clock time, the mean CPU time, and the means of the metrics.

use std::time::Instant;

use serde_json::json;
use toprank::core::{Lists, Policy, Stream};
use toprank::metrics::{Measure, evaluate};

use crate::common::{Outcome, cpu_seconds, number, option, scored_items};

/// What is evaluated without `--metrics`.
const METRICS: [&str; 5] = ["ndcg@10:gain=linear,map,mrr", "ndcg@10", "ndcg", "map", "auroc,auprc,pairs"];

pub fn run(args: &[String]) -> Outcome {
    let sizes = args.iter().take_while(|arg| !arg.starts_with("--")).collect::<Vec<_>>();
    let size = |i: usize, default: usize| sizes.get(i).map_or(Ok(default), |text| text.parse());
    let (n_lists, n_items) = (size(0, 20_000)?, size(1, 100)?);
    let total = n_lists * n_items;
    let (scores, labels) = match sizes.get(2) {
        Some(file) => scored_items(file, total)?,
        None => draw(total),
    };
    let lists = Lists::from_lengths(&vec![n_items; n_lists], labels);
    let texts = option(args, "--metrics").map_or(METRICS.to_vec(), |text| vec![text]);
    let threads = option(args, "--threads").map_or(Ok(vec![1, 2]), |text| text.parse().map(|n| vec![n]))?;
    let repeats: usize = number(args, "--repeats", 21)?;
    for text in texts {
        let measures = Measure::parse_all(text, &Policy::default())?;
        for &threads in &threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            let mut times = Vec::new();
            let mut means = Vec::new();
            let cpu = cpu_seconds();
            for _ in 0..repeats.max(1) {
                let start = Instant::now();
                let evaluation = pool.install(|| evaluate(&lists, &scores, &measures))?;
                times.push(start.elapsed().as_secs_f64());
                means = evaluation.results.iter().map(|result| result.mean).collect();
            }
            let cpu = (cpu_seconds() - cpu) / times.len() as f64;
            times.sort_by(f64::total_cmp);
            let line = json!({
                "metrics": text, "threads": threads, "median_seconds": times[times.len() / 2], "best_seconds": times[0],
                "cpu_seconds": cpu, "ns_per_item": cpu * 1e9 / total as f64, "means": means,
            });
            println!("{line}");
        }
    }
    Ok(())
}

fn draw(total: usize) -> (Vec<f64>, Vec<f32>) {
    let mut random = Stream::new(1, "evaluate bench").open();
    (0..total)
        .map(|_| {
            let grade = if random.below(2) == 0 { 0.0 } else { 1.0 + random.below(4) as f32 };
            (random.unit(), grade)
        })
        .unzip()
}

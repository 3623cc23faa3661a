//! Time of `evaluate` with everything in memory.
//!
//! ```text
//! cargo run --release -p toprank-metrics --example evaluate_bench -- [LISTS ITEMS] [FILE]
//! ```
//!
//! FILE holds LISTS × ITEMS little-endian pairs (f64 score, f32 label), as `bench/evaluate/memory_vs_peers.py`
//! writes it; without it scores are uniform and half the items are relevant, with grades 1 to 4.

use std::time::Instant;

use toprank_core::{Lists, Policy, Stream};
use toprank_metrics::{Measure, evaluate};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: usize| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (n_lists, n_items) = (number(0, 20_000), number(1, 100));
    let total = n_lists * n_items;
    let (scores, labels) = match args.get(2) {
        Some(file) => read(file, total),
        None => draw(total),
    };
    let lists = Lists::from_lengths(&vec![n_items; n_lists], labels);
    for text in ["ndcg@10:gain=linear,map,mrr", "ndcg@10", "ndcg", "map", "auroc,auprc,pairs"] {
        let measures = Measure::parse_all(text, &Policy::default()).expect("measures of the catalog");
        for threads in [1, 2] {
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads");
            let mut times = Vec::new();
            let cpu_before = cpu_seconds();
            let mut means = Vec::new();
            for _ in 0..21 {
                let start = Instant::now();
                let evaluation =
                    pool.install(|| evaluate(&lists, &scores, &measures)).expect("finite scores");
                times.push(start.elapsed().as_secs_f64() * 1e3);
                means = evaluation.results.iter().map(|r| r.mean.unwrap_or(f64::NAN)).collect();
            }
            let cpu = (cpu_seconds() - cpu_before) * 1e3 / times.len() as f64;
            times.sort_by(f64::total_cmp);
            println!(
                "{text:27} threads {threads}  median {:7.2} ms  best {:7.2} ms  cpu {cpu:7.2} ms  {:5.1} ns/item  means {means:?}",
                times[times.len() / 2],
                times[0],
                cpu * 1e6 / total as f64,
            );
        }
    }
}

/// CPU seconds of this process, in steps of 1/100 s (Linux; 0 elsewhere): the clock on the wall says little on a
/// machine that others use.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
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

fn read(file: &str, total: usize) -> (Vec<f64>, Vec<f32>) {
    let bytes = std::fs::read(file).expect("a file of scores and labels");
    assert_eq!(bytes.len(), total * 12, "12 bytes an item");
    let pair = |item: &[u8]| {
        let score = f64::from_le_bytes(item[..8].try_into().expect("8 bytes"));
        (score, f32::from_le_bytes(item[8..12].try_into().expect("4 bytes")))
    };
    bytes.chunks_exact(12).map(pair).unzip()
}

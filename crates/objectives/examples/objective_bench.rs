//! Time of one step (loss and gradient of all lists) of an objective, on one thread unless RAYON_NUM_THREADS says more.
//!
//! ```text
//! cargo run --release -p toprank-objectives --example objective_bench -- \
//!     OBJECTIVE LISTS RELEVANT OTHERS REPEATS [--grades N] [--data FILE]
//! ```
//!
//! LISTS lists of RELEVANT + OTHERS items. Scores are normal, the first RELEVANT items have label 1; with `--grades N`
//! labels are drawn from 0 … N−1, each grade half as frequent as the one below. FILE holds the items instead, as
//! little-endian pairs (f64 score, f32 label), the way `bench/objectives/speed_vs_peers.py` writes them.
//! Prints JSON: the median seconds of a step, its mean CPU seconds (Linux, one thread; else null), the loss and the
//! 1-norm of the gradient of the first step.

use std::time::Instant;

use toprank_core::stream::Random;
use toprank_core::{Lists, Policy, Stream};
use toprank_objectives::{Batch, Goal, Gradients};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|at| args.get(at + 1));
    let number = |at: usize| args.get(at).and_then(|a| a.parse::<usize>().ok());
    let (Some(objective), Some(n_lists), Some(relevant), Some(others), Some(repeats)) =
        (args.first(), number(1), number(2), number(3), number(4))
    else {
        eprintln!(
            "usage: objective_bench OBJECTIVE LISTS RELEVANT OTHERS REPEATS [--grades N] [--data FILE]"
        );
        std::process::exit(2);
    };
    let length = relevant + others;
    let (scores, labels) = match (option("--data"), option("--grades").and_then(|n| n.parse().ok())) {
        (Some(file), _) => read(file, n_lists * length),
        (None, grades) => draw(n_lists, relevant, others, grades),
    };
    let lists = Lists::from_lengths(&vec![length; n_lists], labels);
    let goal = Goal::parse(objective, &Policy::default()).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2);
    });
    let threads = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads");
    let mut state = goal.state(&lists).expect("labels the objective takes");
    let mut out = Gradients::default();
    let mut step = |out: &mut Gradients| {
        let start = Instant::now();
        goal.step(&Batch::all(&lists, &scores), &mut state, out).expect("finite scores");
        start.elapsed().as_secs_f64()
    };
    let mut times = Vec::with_capacity(repeats);
    let (cpu, (loss, norm)) = pool.install(|| {
        step(&mut out); // also grows the buffers
        let first = (out.loss, out.gradient.iter().map(|g| g.abs()).sum::<f64>());
        let before = cpu_seconds();
        times.extend((0..repeats).map(|_| step(&mut out)));
        let cpu = before.zip(cpu_seconds()).filter(|_| threads == 1 && repeats > 0);
        (cpu.map(|(before, after)| (after - before) / repeats as f64), first)
    });
    times.sort_by(f64::total_cmp);
    let seconds = times.get(repeats / 2).copied().unwrap_or(f64::NAN);
    let cpu = cpu.map_or("null".to_string(), |cpu| format!("{cpu:e}"));
    println!(
        "{{\"seconds\": {seconds:e}, \"cpu_seconds\": {cpu}, \"loss\": {loss:e}, \"gradient_norm\": {norm:e}}}"
    );
}

/// CPU seconds of this thread, in steps of some milliseconds: on a machine that others use the clock on the wall
/// punishes the longer of two jobs.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}

fn draw(n_lists: usize, relevant: usize, others: usize, grades: Option<u32>) -> (Vec<f64>, Vec<f32>) {
    let mut random = Stream::new(1, "objective bench").open();
    let mut scores = Vec::with_capacity(n_lists * (relevant + others));
    let mut labels = Vec::with_capacity(scores.capacity());
    for _ in 0..n_lists {
        for item in 0..relevant + others {
            scores.push(normal(&mut random));
            labels.push(match grades {
                Some(grades) => {
                    (random.bits() | 1 << 63).trailing_zeros().min(grades.saturating_sub(1)) as f32
                }
                None => f32::from(u8::from(item < relevant)),
            });
        }
    }
    (scores, labels)
}

/// Box and Muller's.
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

fn read(file: &str, total: usize) -> (Vec<f64>, Vec<f32>) {
    let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert_eq!(bytes.len(), 12 * total, "{file}: expected 12 bytes for each of {total} items");
    let item = |chunk: &[u8]| {
        let (score, label) = chunk.split_at(8);
        (f64::from_le_bytes(score.try_into().unwrap()), f32::from_le_bytes(label.try_into().unwrap()))
    };
    bytes.chunks_exact(12).map(item).unzip()
}

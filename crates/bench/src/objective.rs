//! Time of one step (loss and gradient of all lists) of an objective, on one thread unless RAYON_NUM_THREADS says more.
//!
//! ```text
//! objective OBJECTIVE LISTS RELEVANT OTHERS REPEATS [--grades N] [--data FILE]
//! ```
//!
//! LISTS lists of RELEVANT + OTHERS items. Scores are normal, the first RELEVANT items have label 1; with `--grades N`
//! labels are drawn from 0 … N−1, each grade half as frequent as the one below. FILE holds the items instead, as
//! little-endian pairs (f64 score, f32 label), the way `bench/objectives/speed_vs_peers.py` writes them.
//! Prints JSON: the median seconds of a step, its mean CPU seconds (on one thread; else null), the loss and the
//! 1-norm of the gradient of the first step.

use std::time::Instant;

use toprank::core::{Lists, Policy, Stream};
use toprank::objectives::{Batch, Goal, Gradients};

use crate::common::{Outcome, WrongUse, cpu_seconds, normal, option, scored_items};

pub fn run(args: &[String]) -> Outcome {
    let count = |at: usize| args.get(at).and_then(|a| a.parse::<usize>().ok());
    let (Some(objective), Some(n_lists), Some(relevant), Some(others), Some(repeats)) =
        (args.first(), count(1), count(2), count(3), count(4))
    else {
        return Err(WrongUse.into());
    };
    let length = relevant + others;
    let (scores, labels) =
        match (option(args, "--data"), option(args, "--grades").map(str::parse).transpose()?) {
            (Some(file), _) => scored_items(file, n_lists * length)?,
            (None, grades) => draw(n_lists, relevant, others, grades),
        };
    let lists = Lists::from_lengths(&vec![length; n_lists], labels);
    let goal = Goal::parse(objective, &Policy::default())?;
    let threads = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let mut state = goal.state(&lists)?;
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
        let cpu = (cpu_seconds() - before) / repeats as f64;
        (Some(cpu).filter(|cpu| threads == 1 && cpu.is_finite()), first)
    });
    times.sort_by(f64::total_cmp);
    let seconds = times.get(repeats / 2).copied().unwrap_or(f64::NAN);
    let cpu = cpu.map_or("null".to_string(), |cpu| format!("{cpu:e}"));
    println!(
        "{{\"seconds\": {seconds:e}, \"cpu_seconds\": {cpu}, \"loss\": {loss:e}, \"gradient_norm\": {norm:e}}}"
    );
    Ok(())
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

//! How does the cost of an objective grow with the length of a list?
//!
//! Loss and gradient of lists of 100 to 1,000,000 items (normal scores; 2 % relevant, graded 1–4 where grades matter), one
//! thread, many different lists where they are short. Nanoseconds per item, the least of several rounds; an n log n cost
//! is a rising line in the plot over log10 n, a quadratic one leaves it. Writes cost_growth.csv and cost_growth.svg.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use toprank::core::{Lists, Policy, Stream};
use toprank::objectives::{Batch, Goal, Gradients};
use toprank_plots::{Series, curves};

use crate::common::Outcome;

const OBJECTIVES: [&str; 14] = [
    "song",
    "song:surrogate=hinge",
    "song:surrogate=logistic",
    "song:surrogate=sigmoid",
    "ap",
    "listwise-ce",
    "p-norm-push",
    "ranknet",
    "ranksvm",
    "squared-hinge",
    "lambdarank@30",
    "approx-ndcg",
    "listnet",
    "listmle",
];
const LENGTHS: [usize; 9] = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];
/// Items of one round, so that short lists are many different ones.
const ITEMS: usize = 200_000;
const ROUNDS: usize = 7;

pub fn run(args: &[String]) -> Outcome {
    let folder = Path::new(args.first().map_or("bench/objectives", String::as_str));
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let mut csv = String::from("objective,items,ns_per_item\n");
    let mut series = Vec::new();
    for objective in OBJECTIVES {
        let goal = Goal::parse(objective, &Policy::default())?;
        let mut points = Vec::new();
        for n in LENGTHS {
            let (lists, scores) = make(n);
            let mut out = Gradients::default();
            let mut least = f64::INFINITY;
            let mut state = goal.state(&lists)?;
            for _ in 0..ROUNDS {
                let start = Instant::now();
                goal.step(&Batch::all(&lists, &scores), &mut state, &mut out)?;
                least = least.min(start.elapsed().as_secs_f64());
            }
            let nanoseconds = least * 1e9 / lists.entries() as f64;
            writeln!(csv, "{objective},{n},{nanoseconds:.1}")?;
            points.push(((n as f64).log10(), nanoseconds));
        }
        let text: Vec<String> = points.iter().map(|(_, ns)| format!("{ns:.0}")).collect();
        println!("{objective:28} {} ns per item", text.join("  "));
        series.push(Series { name: objective.into(), points });
    }
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("cost_growth.csv"), csv)?;
    let plot =
        curves("Loss and gradient of one list", "log10 of the items of a list", "ns per item", &series);
    plot.save(&folder.join("cost_growth.svg"))?;
    Ok(())
}

fn make(n: usize) -> (Lists, Vec<f64>) {
    let count = (ITEMS / n).max(1);
    let mut random = Stream::new(n as u64, "cost growth").open();
    let mut labels = Vec::with_capacity(count * n);
    for i in 0..count * n {
        // Two relevant items in a hundred, at least one in every list.
        let relevant = i % n == 0 || random.unit() < 0.02;
        labels.push(if relevant { 1.0 + random.below(4) as f32 } else { 0.0 });
    }
    // A sum of four uniforms is normal enough here.
    let scores =
        (0..count * n).map(|_| (0..4).map(|_| random.unit() - 0.5).sum::<f64>() * 3f64.sqrt()).collect();
    (Lists::from_lengths(&vec![n; count], labels), scores)
}

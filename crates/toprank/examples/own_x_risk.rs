//! An X-risk of your own, trained like any other: the mean logarithm of the ranks of relevant items.
//!
//! ```text
//! cargo run -p toprank --no-default-features --example own_x_risk
//! ```
//!
//! An X-risk is an outer function f of a smooth rank g. You define f, its derivative and the items that g compares with;
//! trackers, samples, kernels and threads are the library's.

use toprank::core::{Lists, Policy, Stream};
use toprank::objectives::compositional::{
    Anchor, Compositional, Inner, Outcome, Outer, Over, Reference, Strata, Surrogate, Tracker,
};
use toprank::objectives::{Batch, Draws, Goal, GoalError, Gradients};

// ── the whole definition ──
/// f(g) = ln(N g): twice the rank costs the same at the top and further down.
struct LogRank;

impl Outer for LogRank {
    const REFERENCES: &'static [Reference] = &[Reference::All];
    const OFFSET: f64 = 0.0;

    fn over(&self) -> Over {
        Over::Mean
    }

    fn takes_part(&self, strata: &Strata, _: f64) -> bool {
        strata.drawn_relevant > 0 && strata.drawn_others > 0
    }

    fn at(&self, anchor: &Anchor, u: [f64; 2], _log: bool) -> Outcome {
        Outcome { value: (anchor.items * u[0]).ln(), slope: [1.0 / u[0], 0.0] }
    }
}

/// As an objective: squared-hinge ranks, followed by a moving average.
pub fn log_rank() -> Goal {
    let inner = Inner::Of(Surrogate::SquaredHinge { margin: 1.0 });
    let tracker = Tracker::moving_average(0.1);
    let objective = Compositional { outer: LogRank, inner, tracker, self_is_one: false, smoothing: 0.0 };
    Goal::own("log-rank", objective, &Policy::default())
}
// ── end ──

/// A linear model over two features learns from samples of 40 lists; the mean log-rank before and after.
pub fn train() -> Result<(f64, f64), GoalError> {
    const LENGTH: usize = 60;
    let mut random = Stream::new(1, "own x-risk").open();
    let features: Vec<[f64; 2]> =
        (0..40 * LENGTH).map(|_| [random.unit() - 0.5, random.unit() - 0.5]).collect();
    let labels = features.iter().map(|x| f32::from(u8::from(x[0] + 0.2 * random.unit() > 0.5))).collect();
    let lists = Lists::from_lengths(&[LENGTH; 40], labels);
    let goal = log_rank();
    let (mut state, mut out) = (goal.state(&lists)?, Gradients::default());
    let mut w = [-0.5, 1.0];
    let score = |w: [f64; 2], x: &[f64; 2]| w[0] * x[0] + w[1] * x[1];
    let loss = |w: [f64; 2]| {
        let scores: Vec<f64> = features.iter().map(|x| score(w, x)).collect();
        let mut out = Gradients::default();
        goal.step(&Batch::all(&lists, &scores), &mut goal.state(&lists)?, &mut out)?;
        Ok::<f64, GoalError>(out.loss)
    };
    let before = loss(w)?;
    for step in 0..300 {
        // All relevant items and every fourth of the others.
        let mut draws = Draws { offsets: vec![0], ..Draws::default() };
        for q in 0..lists.len() {
            let relevant = |i: &usize| lists.labels[q * LENGTH + i] > 0.0 || (i + step).is_multiple_of(4);
            draws.lists.push(q as u32);
            draws.items.extend((0..LENGTH).filter(relevant).map(|i| i as u32));
            draws.offsets.push(draws.items.len() as u64);
        }
        let place = |d: usize| {
            let q = draws.offsets.partition_point(|start| *start as usize <= d) - 1;
            q * LENGTH + draws.items[d] as usize
        };
        let scores: Vec<f64> = (0..draws.items.len()).map(|d| score(w, &features[place(d)])).collect();
        let stream = Stream::new(1, "objective").at_step(step as u64);
        let batch = Batch { draws: Some(&draws), stream, ..Batch::all(&lists, &scores) };
        goal.step(&batch, &mut state, &mut out)?;
        for (d, g) in out.gradient.iter().enumerate() {
            (0..2).for_each(|k| w[k] -= 1.0 * g * features[place(d)][k]);
        }
    }
    Ok((before, loss(w)?))
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), GoalError> {
    let (before, after) = train()?;
    println!("mean log-rank of relevant items: {before:.3} before, {after:.3} after");
    Ok(())
}

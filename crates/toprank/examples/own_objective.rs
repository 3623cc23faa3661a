//! An objective of your own: pairs of items, weighted by how far their labels (say, revenues) lie apart, train trees.
//!
//! ```text
//! cargo run -p toprank --no-default-features --example own_objective
//! ```
//!
//! An objective sees the scores and labels of one list and returns its loss, ∂loss/∂score and an upper bound of the Hessian
//! diagonal. Threads, weights of lists and means over lists are the library's.

use toprank::core::{Lists, Policy, Stream};
use toprank::data::{Dataset, Matrix};
use toprank::metrics::{Measure, evaluate};
use toprank::objectives::{Goal, Input, ListState, Objective, Out, Work};
use toprank::train::{Job, Settings, TrainerKind};

/// L = Σ (y_i − y_j) ln(1 + e^(s_j − s_i)) / Σ (y_i − y_j) over pairs with y_i > y_j. Cost: O(n²) for a list of n items.
struct RevenuePairs;

impl Objective for RevenuePairs {
    fn list(&self, input: &Input, _: &mut ListState, _: &mut Work, out: &mut Out) -> Option<f64> {
        let (s, y) = (input.list.scores, input.list.labels);
        let pairs =
            || (0..s.len()).flat_map(|i| (0..s.len()).map(move |j| (i, j))).filter(|&(i, j)| y[i] > y[j]);
        let total: f64 = pairs().map(|(i, j)| f64::from(y[i] - y[j])).sum();
        if total == 0.0 {
            return None; // no two labels differ: the list has nothing to teach
        }
        let mut loss = 0.0;
        for (i, j) in pairs() {
            let weight = f64::from(y[i] - y[j]) / total;
            let wrong = 1.0 / (1.0 + (s[i] - s[j]).exp()); // the probability that j stands above i
            loss -= weight * (1.0 - wrong).ln();
            out.gradient[i] -= weight * wrong;
            out.gradient[j] += weight * wrong;
            if let Some(hessian) = &mut out.hessian {
                hessian[i] += weight * wrong * (1.0 - wrong);
                hessian[j] += weight * wrong * (1.0 - wrong);
            }
        }
        Some(loss)
    }
}

/// The objective, to be used wherever one of the catalog is.
pub fn revenue_pairs() -> Goal {
    Goal::own("revenue-pairs", RevenuePairs, &Policy::default())
}

/// Lists of ten items whose revenue is the square of the first of three features.
fn lists(count: usize) -> Dataset {
    let mut random = Stream::new(1, "own objective").open();
    let values: Vec<f32> = (0..count * 30).map(|_| random.unit() as f32).collect();
    let labels = values.chunks_exact(3).map(|x| 20.0 * x[0] * x[0]).collect();
    Dataset {
        lists: Lists::from_lengths(&vec![10; count], labels),
        features: Matrix::Dense { width: 3, values },
        ..Dataset::default()
    }
}

/// NDCG@3 with the revenue as gain: by the second feature, which knows nothing, and by the trained trees.
pub fn train() -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let data = lists(100);
    let ndcg = |scores: &[f64]| -> Result<f64, Box<dyn std::error::Error>> {
        let measures = Measure::parse_all("ndcg@3:gain=linear", &Policy::default())?;
        Ok(evaluate(&data.lists, scores, &measures)?.results[0].mean.unwrap_or(f64::NAN))
    };
    let Matrix::Dense { values, .. } = &data.features else { unreachable!("the rows are dense") };
    let before = ndcg(&values.chunks_exact(3).map(|x| f64::from(x[1])).collect::<Vec<_>>())?;

    let settings = Settings::from_toml("model = \"trees:leaves=7\"\ntrees = 30\nlearning-rate = 0.3")?;
    let job = Job::new(&settings.resolve(TrainerKind::Rank)?, data.clone().into(), None)?;
    let views = job.views()?;
    let mut trainer = job.trainer_with(&views, revenue_pairs())?;
    trainer.run(&mut (), None)?;
    let after = ndcg(&job.model(&*trainer)?.score(data.clone())?)?;
    Ok((before, after))
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (before, after) = train()?;
    println!("NDCG@3 of the revenue: {before:.3} by a feature that knows nothing, {after:.3} by the trees");
    Ok(())
}

//! A metric of your own: how many items does a reader look at in vain before the first relevant one?
//!
//! ```text
//! cargo run -p toprank --no-default-features --example own_metric
//! ```
//!
//! A metric sees the labels of one list in rank order. Reading, sorting, ties, threads, means and intervals are the
//! library's.

use toprank::core::{Lists, Policy};
use toprank::metrics::{Better, EvaluateError, Measure, Metric, Ranked, evaluate};

/// Items above the first relevant one, at most `most`.
struct ReadInVain {
    most: usize,
}

impl Metric for ReadInVain {
    /// `None` where no item is relevant: the policy then says whether the list counts.
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        // Items of a group have equal scores and may stand in any order; without ties a group is one item.
        for group in ranked.groups() {
            let items = group.len();
            let relevant = ranked.labels()[group.clone()].iter().filter(|y| policy.relevant.is(**y)).count();
            if relevant > 0 {
                // On average over the orders, r relevant items leave (n − r) / (r + 1) of the others before the first.
                let within = (items - relevant) as f64 / (relevant + 1) as f64;
                return Some((group.start as f64 + within).min(self.most as f64));
            }
        }
        None
    }

    fn better(&self) -> Better {
        Better::Lower
    }
}

/// The metric of three lists and its mean: one item in vain, none, and the average over a tie of three.
pub fn read_in_vain() -> Result<(Vec<f64>, Option<f64>), EvaluateError> {
    let labels = vec![0.0, 1.0, 0.0, /**/ 2.0, 0.0, /**/ 0.0, 1.0, 0.0];
    let scores = [0.9, 0.8, 0.1, /**/ 0.6, 0.4, /**/ 0.5, 0.5, 0.5];
    let lists = Lists::from_lengths(&[3, 2, 3], labels);
    let measure = Measure::own("read-in-vain", ReadInVain { most: 10 }, &Policy::default());
    let result = evaluate(&lists, &scores, &[measure])?.results.remove(0);
    Ok((result.per_list, result.mean))
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), EvaluateError> {
    let (per_list, mean) = read_in_vain()?;
    println!("items read in vain: {per_list:?}, mean {mean:?}");
    Ok(())
}

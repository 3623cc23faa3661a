//! What the tests of the lambda methods share.

use toprank_core::{List, Policy, Stream};
use toprank_metrics::{Measure, Work};

use super::mechanism::Delta;
use super::row::LANES;
use crate::objective::Input;

/// Lists of several lengths, scores descending in input order, with and without items that were not retrieved.
pub(super) fn lists() -> Vec<(Vec<f64>, Vec<f32>, Vec<f32>)> {
    let mut random = Stream::new(4, "swaps").open();
    let mut lists = Vec::new();
    for (n, grades) in [(4, 2), (5, 2), (7, 5), (13, 5), (20, 2), (20, 5)] {
        for missed in [vec![], vec![1.0, 0.0, 3.0]] {
            let scores = (0..n).map(|i| f64::from(n - i)).collect();
            let mut labels: Vec<f32> = (0..n).map(|_| random.below(grades) as f32).collect();
            (labels[1], labels[2]) = (0.0, 1.0);
            lists.push((scores, labels, missed));
        }
    }
    lists
}

/// All Δ of a list whose scores are descending in input order: Δ[a][b], a < b, positive if a is the better one.
pub(super) fn deltas(delta: &impl Delta, list: List, policy: &Policy) -> Option<Vec<Vec<f64>>> {
    let n = list.len();
    let input = Input::whole(list, policy);
    let m = n.next_multiple_of(LANES);
    let mut values: Vec<f64> = (0..n).map(|i| delta.value(&input, i)).collect();
    values.resize(m, 0.0);
    let (mut x, mut y, mut gains) = (vec![0.0; m], vec![0.0; m], Vec::new());
    let mut rows = delta.rows(&input, &values, [&mut x, &mut y], &mut gains)?;
    let fill = |a: usize| {
        let start = a - a % LANES;
        let mut row = vec![f64::NAN; m - start];
        if !rows(a, start, &mut row) {
            row.fill(0.0);
        }
        (0..n).map(|b| if b > a { row[b - start] } else { 0.0 }).collect()
    };
    Some((0..n).map(fill).collect())
}

/// Compares every Δ with the metric before and after an actual swap.
pub(super) fn each_delta_is_what_a_swap_changes(delta: &impl Delta, metric: &str) {
    let policy = Policy::default();
    let measure = &Measure::parse_all(metric, &policy).unwrap()[0];
    let mut checked = 0;
    for (scores, labels, missed) in lists() {
        let list = List { missed: &missed, ..List::new(&scores, &labels) };
        let Some(deltas) = deltas(delta, list, &policy) else { continue };
        let value = |labels: &[f32]| {
            measure.of_list(&List { labels, ..list }, &mut Work::default()).unwrap().unwrap()
        };
        let before = value(&labels);
        for (a, row) in deltas.iter().enumerate() {
            for (b, got) in row.iter().enumerate().skip(a + 1) {
                let mut swapped = labels.clone();
                swapped.swap(a, b);
                // Moving a better item down lowers the metric.
                let want = before - value(&swapped);
                assert!((got - want).abs() < 1e-13, "{metric}: {a} {b}: {got} {want}");
                checked += usize::from(want != 0.0);
            }
        }
    }
    assert!(checked >= 50, "{metric}: only {checked} swaps change anything");
}

/*!
Permutation over rows: had each row swapped its places under the two runs by the toss of a coin, how often would the
difference be at least as large?

Scores of two runs have no common scale, so the mid-ranks within each list are swapped. Ranks are integers (twice a
mid-rank), so a permuted list is put in order by counting: O(rows) for each permutation, run and metric.
*/

use rayon::prelude::*;
use toprank_core::{Stream, Ties};

use super::sample::{Order, Sample};
use crate::rank::Work;

/// Buffers of one thread.
#[derive(Default)]
struct Scratch {
    work: Work,
    ends: Vec<u32>,
    sorted: Vec<u32>,
}

/// Twice the mid-rank of each item of a list, from 0 on.
fn ranks(order: &Order) -> Vec<u32> {
    let n = order.items.len();
    let mut ranks = vec![0; n];
    let mut start = 0;
    while start < n {
        let end = (start + 1..n).find(|&place| order.starts[place]).unwrap_or(n);
        order.items[start..end].iter().for_each(|&item| ranks[item as usize] = (start + end - 1) as u32);
        start = end;
    }
    ranks
}

/// One list under both runs.
struct Pair {
    /// Twice the mid-rank of each item under the first and the second run.
    ranks: [Vec<u32>; 2],
    /// Items in the order in which equal ranks are put.
    tied: Vec<u32>,
    rows: Vec<u32>,
    labels: Vec<f32>,
    weights: Vec<f32>,
}

/// The differences of the means over lists, second − first, of every measure, on `count` permutations: one row of numbers per
/// permutation, measure after measure. With `per_list` the differences of the single lists follow.
pub(super) fn differences(
    sample: &Sample,
    [first, second]: [usize; 2],
    count: usize,
    seed: u64,
    per_list: bool,
) -> Vec<Vec<f64>> {
    let lists = sample.lists.len();
    let stream = Stream::new(seed, "permutation over rows");
    let pairs: Vec<Vec<Pair>> = (0..sample.rules().len())
        .map(|rule| (0..lists).map(|q| pair(sample, [first, second], rule, q)).collect())
        .collect();
    let of_rule: Vec<Vec<usize>> = sample.rules().iter().map(|rule| sample.measures_of(*rule)).collect();
    (0..count)
        .into_par_iter()
        .map_init(
            || (Scratch::default(), vec![false; sample.rows]),
            |(scratch, swapped), permutation| {
                let mut random = stream.of_list(permutation as u32).open();
                for rows in swapped.chunks_mut(64) {
                    let bits = random.bits();
                    rows.iter_mut().enumerate().for_each(|(i, swap)| *swap = bits >> i & 1 == 1);
                }
                let mut values = [0, 1].map(|_| vec![f64::NAN; sample.measures.len() * lists]);
                for (rule, pairs) in pairs.iter().enumerate() {
                    for (q, pair) in pairs.iter().enumerate() {
                        for (side, out) in values.iter_mut().enumerate() {
                            let ties = sample.rules()[rule].ties;
                            permuted(sample, pair, side, swapped, ties, q, &of_rule[rule], scratch, out);
                        }
                    }
                }
                let [a, b] = values;
                let per_list_values: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
                let means = per_list_values.chunks(lists.max(1)).map(|of_measure| sample.mean(of_measure));
                let mut found: Vec<f64> = means.collect();
                if per_list {
                    found.extend(per_list_values);
                }
                found
            },
        )
        .collect()
}

fn pair(sample: &Sample, [first, second]: [usize; 2], rule: usize, q: usize) -> Pair {
    let (lists, range) = (sample.lists, sample.lists.range(q));
    let labels = lists.labels[range.clone()].to_vec();
    let mut tied: Vec<u32> = (0..labels.len() as u32).collect();
    match (sample.rules()[rule].ties, &lists.tie_keys) {
        (Ties::Trec, Some(keys)) => tied.sort_by_key(|&item| keys[range.start + item as usize]),
        (Ties::Worst, _) => {
            let label = |item: u32| match labels[item as usize] {
                label if label.is_nan() => f32::NEG_INFINITY,
                label => label,
            };
            tied.sort_by(|&a, &b| label(a).total_cmp(&label(b)));
        }
        _ => {}
    }
    Pair {
        ranks: [first, second].map(|run| ranks(sample.order(run, rule, q))),
        tied,
        rows: range.clone().map(|entry| lists.row(entry) as u32).collect(),
        weights: lists.item_weights.as_ref().map_or(Vec::new(), |weights| weights[range].to_vec()),
        labels,
    }
}

/// Values of one side of a permuted list: side 0 has the first run's rank of each row that is not swapped.
#[expect(clippy::too_many_arguments, reason = "the inner loop of one function")]
fn permuted(
    sample: &Sample,
    pair: &Pair,
    side: usize,
    swapped: &[bool],
    ties: Ties,
    list: usize,
    measures: &[usize],
    scratch: &mut Scratch,
    out: &mut [f64],
) {
    let n = pair.labels.len();
    let rank = |item: usize| pair.ranks[side ^ usize::from(swapped[pair.rows[item] as usize])][item] as usize;
    // Counting sort: how many items have a smaller rank, then each item to its place.
    scratch.ends.clear();
    scratch.ends.resize(2 * n, 0);
    (0..n).for_each(|item| scratch.ends[rank(item)] += 1);
    let mut before = 0;
    for end in &mut scratch.ends {
        before += std::mem::replace(end, before);
    }
    scratch.sorted.resize(n, 0);
    for &item in &pair.tied {
        let place = &mut scratch.ends[rank(item as usize)];
        scratch.sorted[*place as usize] = item;
        *place += 1;
    }
    let weighted = !pair.weights.is_empty();
    let mut above = usize::MAX;
    let places = scratch.sorted.iter().map(|&item| {
        let item = item as usize;
        let new = std::mem::replace(&mut above, rank(item)) != rank(item);
        (pair.labels[item], if weighted { pair.weights[item] } else { 1.0 }, 1, new)
    });
    let missed = sample.lists.missed.as_ref().map_or(&[][..], |missed| missed.of(list));
    let ranked = scratch.work.repeated(places, weighted, ties, missed);
    sample.measure(&ranked, measures, list, out);
}

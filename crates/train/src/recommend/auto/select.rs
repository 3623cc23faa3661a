/*!
Which members a blend of item models holds: greedy selection for the metric, on the validation part.

Scores of all users and items would not fit in memory, so members are compared on a pool of each user: the items that any member ranks
among its first ones, and the held-out items. Of many users some are taken, evenly spaced. What the selected blend reaches is then
measured by full ranking of all users.
*/

use toprank_core::{Choices, Lists};
use toprank_embeddings::{ItemParameters, Ranker, pick};
use toprank_metrics::{Better, Measure, evaluate};

use super::blend::{Blend, BlendPart};
use crate::rank::auto::blend::select;
use crate::recommend::evaluate::History;

/// Users that members are selected on, at most.
const USERS: usize = 10_000;
/// First items of each member: as many times the cut-off of the metric, within these bounds.
const TIMES: usize = 3;
const FIRST: [usize; 2] = [30, 200];

/// The weight of each part, which add up to 1; `None`: the metric is undefined for every part.
pub(super) fn weights(
    parts: &[BlendPart],
    histories: &Choices,
    seen: &History,
    held: &Choices,
    measure: &Measure,
) -> Option<Vec<f64>> {
    // A user without history gets the most popular items, whatever the members.
    let judged = |&user: &u32| {
        let user = user as usize;
        !held.of(user).is_empty() && !seen.choices.of(user).is_empty()
    };
    let all: Vec<u32> = (0..held.len() as u32).filter(judged).collect();
    let count = all.len().min(USERS);
    let users: Vec<u32> = (0..count).map(|at| all[at * all.len() / count]).collect();
    let first = measure.metric().depth().map_or(FIRST[1], |depth| depth * TIMES).clamp(FIRST[0], FIRST[1]);
    let blends: Vec<Blend> =
        parts.iter().map(|part| Blend { parts: vec![BlendPart { weight: 1.0, ..part.clone() }] }).collect();
    let nothing = ItemParameters::default();
    let rankers: Vec<Ranker> =
        blends.iter().map(|blend| Ranker::of_histories(blend, &nothing, histories)).collect();
    let mut pools: Vec<Vec<u32>> = users.iter().map(|&user| held.of(user as usize).to_vec()).collect();
    for ranker in &rankers {
        let found = ranker.each(&users, |d, scores| {
            for &item in seen.choices.of(users[d] as usize) {
                scores[item as usize] = f32::NEG_INFINITY;
            }
            // Of ties at the end, the first items.
            pick(scores, first).into_iter().take(first).map(|best| best.item).collect::<Vec<u32>>()
        });
        for (pool, found) in pools.iter_mut().zip(found) {
            pool.extend(found);
            pool.sort_unstable();
            pool.dedup();
        }
    }
    // A held-out item that was seen is not ranked.
    for (pool, &user) in pools.iter_mut().zip(&users) {
        let seen = seen.choices.of(user as usize);
        pool.retain(|item| seen.binary_search(item).is_err());
    }
    let lengths: Vec<usize> = pools.iter().map(Vec::len).collect();
    let labels = users
        .iter()
        .zip(&pools)
        .flat_map(|(&user, pool)| pool.iter().map(move |&item| held.label(user as usize, item)));
    let lists = Lists::from_lengths(&lengths, labels.collect());
    let scores: Vec<Vec<f64>> = rankers
        .iter()
        .map(|ranker| {
            let of_users = ranker.each(&users, |d, scores| {
                pools[d].iter().map(|&item| f64::from(scores[item as usize])).collect::<Vec<f64>>()
            });
            of_users.into_iter().flatten().collect()
        })
        .collect();
    let members: Vec<&[f64]> = scores.iter().map(Vec::as_slice).collect();
    let sign = if measure.metric().better() == Better::Higher { 1.0 } else { -1.0 };
    let worth = |scores: &[f64]| {
        let found = evaluate(&lists, scores, std::slice::from_ref(measure)).ok()?;
        found.results[0].mean.map(|value| sign * value)
    };
    select(&members, &worth).map(|selected| selected.weights())
}

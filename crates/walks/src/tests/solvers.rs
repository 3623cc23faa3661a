use proptest::prelude::*;
use toprank_core::Stream;

use super::{distance, graph, stationary};
use crate::{Dangling, Solver, Stop, Surfer, rank};

const SOLVERS: [Solver; 3] = [Solver::Seidel, Solver::Power, Solver::NesterovNemirovski];
const RULES: [Dangling; 2] = [Dangling::Restart, Dangling::Uniform];

/// Trap 10 of the survey: five nodes, weights, a dangling node (4); uniform and personalised restarts.
#[test]
fn five_nodes_agree_with_a_dense_solve_under_both_dangling_rules() {
    let edges = [(0, 1, 2.0), (0, 2, 1.0), (1, 2, 3.0), (2, 0, 1.0), (2, 3, 0.5), (3, 4, 1.0), (1, 0, 0.25)];
    let graph = graph(5, &edges, true);
    for restart in [0.15, 0.5] {
        for dangling in RULES {
            for seeds in [None, Some(vec![(0u32, 3.0), (3, 1.0)])] {
                let v = match &seeds {
                    None => vec![0.2; 5],
                    Some(_) => vec![0.75, 0.0, 0.0, 0.25, 0.0],
                };
                let exact = stationary(5, &edges, &v, restart, dangling);
                assert!((exact.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                for solver in SOLVERS {
                    let stop = Stop::at(1e-13);
                    let surfer =
                        Surfer { restart, seeds: seeds.clone(), dangling, solver, stop, ..Surfer::default() };
                    let ranking = rank(&graph, &surfer).unwrap();
                    assert!(distance(&ranking.scores, &exact) < 1e-12, "{solver:?} {dangling:?} {ranking:?}");
                    assert!((ranking.scores.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    assert_eq!(ranking.dangling, 1);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn the_error_is_within_its_bound(
        n in 2usize..12,
        ends in prop::collection::vec((0usize..12, 0usize..12, 0u8..5), 1..40),
        alpha in 0.05f64..0.95,
        seeds in prop::collection::vec((0u32..12, 0.1f64..3.0), 0..4),
        exponent in 1i32..12,
    ) {
        let edges: Vec<_> = ends.iter().map(|&(i, j, w)| (i % n, j % n, f64::from(w))).collect();
        let graph = graph(n, &edges, true);
        let mut v = vec![0.0; n];
        for (i, w) in &seeds {
            v[*i as usize % n] += w;
        }
        let seeds: Vec<_> = seeds.iter().map(|&(i, w)| (i % n as u32, w)).collect();
        let total: f64 = v.iter().sum();
        for v in &mut v {
            *v = if total > 0.0 { *v / total } else { 1.0 / n as f64 };
        }
        for dangling in RULES {
            let exact = stationary(n, &edges, &v, alpha, dangling);
            for solver in SOLVERS {
                let surfer = Surfer {
                    restart: alpha, seeds: (total > 0.0).then(|| seeds.clone()), dangling, solver,
                    stop: Stop::at(10f64.powi(-exponent)), peel: true,
                };
                let ranking = rank(&graph, &surfer).unwrap();
                let error = distance(&ranking.scores, &exact);
                prop_assert!(ranking.error_bound <= 10f64.powi(-exponent) * (1.0 + 1e-9), "{solver:?} {ranking:?}");
                prop_assert!(error <= ranking.error_bound + 1e-13, "{solver:?} {dangling:?} {error} {ranking:?}");
            }
        }
    }
}

/// Edges from anywhere to a few nodes (most have no edge into them), or to all.
fn large(n: usize, edges: usize, spread: f64, seed: u64) -> Vec<(usize, usize, f64)> {
    let mut random = Stream::new(seed, "large").open();
    (0..edges)
        .map(|_| {
            let target = (random.unit().powf(spread) * n as f64) as usize;
            (random.below(n), target.min(n - 1), 0.5 + random.unit())
        })
        .collect()
}

#[test]
fn stages_and_the_core_of_a_large_graph_find_what_the_power_method_does() {
    // Few targets: the core is small; many: the stages sweep all. Edges enough for both to be used.
    for (spread, weighted, inside) in
        [(30.0, false, true), (30.0, true, true), (1.0, false, false), (1.0, true, false)]
    {
        let edges = large(60_000, 300_000, spread, 3);
        let graph = graph(60_000, &edges, weighted);
        let seeds = Some(vec![(5, 1.0), (77, 2.0), (59_000, 1.0)]);
        for seeds in [None, seeds] {
            let surfer = Surfer { seeds, stop: Stop::at(1e-11), ..Surfer::default() };
            let fast = rank(&graph, &surfer).unwrap();
            let plain = rank(&graph, &Surfer { solver: Solver::Power, ..surfer.clone() }).unwrap();
            let whole = rank(&graph, &Surfer { peel: false, ..surfer }).unwrap();
            assert_eq!(fast.edges < graph.edges(), inside, "{spread}");
            for other in [&fast, &whole] {
                let apart = distance(&other.scores, &plain.scores);
                assert!(apart <= other.error_bound + plain.error_bound + 1e-13, "{apart}");
            }
            assert!(whole.iterations < plain.iterations, "{} {}", whole.iterations, plain.iterations);
        }
    }
}

#[test]
fn the_bytes_do_not_depend_on_threads() {
    for spread in [30.0, 1.0] {
        let graph = graph(40_000, &large(40_000, 300_000, spread, 4), true);
        for solver in SOLVERS {
            let surfer =
                Surfer { solver, stop: Stop { error: 1e-8, iterations: Some(9) }, ..Surfer::default() };
            let on = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| rank(&graph, &surfer).unwrap())
            };
            assert_eq!(on(1), on(3), "{solver:?}");
        }
    }
}

#[test]
fn nn_and_power_share_their_bound_and_power_stops_early() {
    let edges = large(200, 900, 1.0, 5);
    let graph = graph(200, &edges, false);
    let stop = Stop::at(1e-6);
    let of = |solver| rank(&graph, &Surfer { solver, stop, ..Surfer::default() }).unwrap();
    let (nn, power) = (of(Solver::NesterovNemirovski), of(Solver::Power));
    // ⌈ln(2·10⁶)/0.15⌉ − 1
    assert_eq!(nn.iterations, 96);
    assert!((nn.error_bound - 2.0 * 0.85f64.powi(97)).abs() < 1e-18);
    assert!(power.iterations < 40, "{}", power.iterations);
}

#[test]
fn special_cases_are_what_they_are_called() {
    // A ring: everyone alike.
    let ring: Vec<_> = (0..7).map(|i| (i, (i + 1) % 7, 1.0)).collect();
    let even = rank(&graph(7, &ring, false), &Surfer::default()).unwrap();
    assert!(even.scores.iter().all(|score| (score - 1.0 / 7.0).abs() < 1e-9));
    // Personalised to node 0: each step of the ring costs a factor 1 − α.
    let surfer = Surfer { seeds: Some(vec![(0, 1.0)]), ..Surfer::default() };
    let own = rank(&graph(7, &ring, false), &surfer).unwrap();
    for pair in own.scores.windows(2) {
        assert!((pair[1] / pair[0] - 0.85).abs() < 1e-7, "{:?}", own.scores);
    }
    // A restart of 1 is the restart vector; an edge of weight 0 is none.
    let always = rank(&graph(7, &ring, false), &Surfer { restart: 1.0, ..surfer }).unwrap();
    assert_eq!(always.scores, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let with = rank(&graph(3, &[(0, 1, 1.0), (0, 2, 0.0)], true), &Surfer::default()).unwrap();
    let without = rank(&graph(3, &[(0, 1, 1.0)], true), &Surfer::default()).unwrap();
    assert_eq!(with.scores, without.scores);
}

#[test]
fn bad_surfers_are_refused_in_words() {
    let graph = graph(2, &[(0, 1, 1.0)], false);
    let base = Surfer::default;
    for (surfer, words) in [
        (Surfer { restart: 0.0, ..base() }, "restart 0, expected more than 0 and at most 1"),
        (Surfer { restart: -1.0, ..base() }, "restart -1"),
        (Surfer { restart: 1.5, ..base() }, "restart 1.5"),
        (Surfer { restart: f64::NAN, ..base() }, "restart NaN"),
        (Surfer { stop: Stop::at(0.0), ..base() }, "error 0, expected more than 0"),
        (Surfer { seeds: Some(vec![]), ..base() }, "seeds whose weights add up to 0"),
        (Surfer { seeds: Some(vec![(0, 0.0)]), ..base() }, "add up to 0"),
        (Surfer { seeds: Some(vec![(2, 1.0)]), ..base() }, "seed 2, expected nodes below 2"),
        (Surfer { seeds: Some(vec![(1, -1.0)]), ..base() }, "a seed of weight -1"),
        (Surfer { seeds: Some(vec![(1, f64::INFINITY)]), ..base() }, "a seed of weight inf"),
    ] {
        let error = rank(&graph, &surfer).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

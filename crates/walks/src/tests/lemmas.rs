//! Lemmas 1 and 2: what they promise of value and gradient of the margin loss, against exact ones.

use super::{phi, query_graphs};
use crate::{ADJOINT_ERROR, Lemma2, Solved, Solver, Stop, Walk};
use toprank_data::QueryGraphs;

const EXACT: Stop = Stop { error: 1e-16, iterations: Some(400) };
const MARGIN: f64 = 0.3;

/// Pairs (worse, better) of a list.
fn pairs(graphs: &QueryGraphs, q: usize) -> Vec<(u32, u32)> {
    let own = graphs.judged.offsets[q] as usize..graphs.judged.offsets[q + 1] as usize;
    let mut pairs = Vec::new();
    for a in own.clone() {
        for b in own.clone() {
            if graphs.judged.labels[a] < graphs.judged.labels[b] {
                pairs.push((graphs.judged.nodes[a], graphs.judged.nodes[b]));
            }
        }
    }
    pairs
}

/// Equation 3.5 and, if wanted, its derivative by scores: nodes and numbers by list.
fn loss(graphs: &QueryGraphs, solved: &Solved) -> (f64, Vec<usize>, Vec<u32>, Vec<f64>) {
    let lists = graphs.len() as f64;
    let (mut value, mut offsets, mut nodes, mut dscore) = (0.0, vec![0], vec![], vec![]);
    for q in 0..graphs.len() {
        for (worse, better) in pairs(graphs, q) {
            let over = (solved.score(q, worse) - solved.score(q, better) + MARGIN).max(0.0);
            value += over * over / lists;
            nodes.extend([worse, better]);
            dscore.extend([2.0 * over / lists, -2.0 * over / lists]);
        }
        offsets.push(nodes.len());
    }
    (value, offsets, nodes, dscore)
}

#[test]
fn the_oracles_errors_are_within_the_lemmas() {
    for seed in 0..6 {
        let graphs = query_graphs(100 + seed, 4, 2, 1, true);
        let lists: Vec<u32> = (0..4).collect();
        let phi = phi(Walk::parameters(&graphs));
        let exact = Walk::default().solve(&graphs, &lists, &phi, EXACT).unwrap();
        let (value, offsets, nodes, dscore) = loss(&graphs, &exact);
        let mut gradient = vec![0.0; phi.len()];
        exact.gradient(&offsets, &nodes, &dscore, 1e-15, &mut gradient);
        let most = (0..4).map(|q| pairs(&graphs, q).len()).max().unwrap() as f64 * (1.0 + MARGIN);
        let bounds = exact.bounds(0.99);
        assert!(bounds.here <= bounds.ball, "{bounds:?}");
        // Π_0 of every list is within both.
        for k in 0..4 {
            let right = exact.jacobian(k, 0);
            let alpha = 0.15;
            for f in 0..phi.len() {
                let column: f64 = right.iter().skip(f).step_by(phi.len()).map(|x| (x * alpha).abs()).sum();
                assert!(column <= bounds.here + 1e-12, "{column} {bounds:?}");
            }
        }
        for delta in [1e-2, 1e-5, 1e-9] {
            for solver in [Solver::NesterovNemirovski, Solver::Power, Solver::Seidel] {
                let walk = Walk { solver, ..Walk::default() };
                let stop = Stop::lemma_1(0.15, most, delta);
                let (near, ..) = loss(&graphs, &walk.solve(&graphs, &lists, &phi, stop).unwrap());
                assert!((near - value).abs() <= delta, "{solver:?} {delta}: {near} {value}");

                let lemma = Lemma2::new(0.15, bounds.ball, most, delta);
                let solved = walk.solve(&graphs, &lists, &phi, lemma.distribution).unwrap();
                let (_, offsets, nodes, dscore) = loss(&graphs, &solved);
                let mut by_jacobian = vec![0.0; phi.len()];
                solved.gradient_by_jacobian(&offsets, &nodes, &dscore, lemma.jacobian, &mut by_jacobian);
                let mut by_adjoint = vec![0.0; phi.len()];
                solved.gradient(&offsets, &nodes, &dscore, ADJOINT_ERROR, &mut by_adjoint);
                for f in 0..phi.len() {
                    assert!((by_jacobian[f] - gradient[f]).abs() <= delta, "{solver:?} {delta}");
                    assert!((by_adjoint[f] - gradient[f]).abs() <= delta, "{solver:?} {delta}");
                }
            }
        }
    }
}

#[test]
fn the_counts_are_those_of_the_paper() {
    // Lemma 1 with r = 3, δ = 10⁻⁴: ⌈ln(240000)/0.15⌉ − 1.
    assert_eq!(Stop::lemma_1(0.15, 3.0, 1e-4).iterations, Some((240_000f64.ln() / 0.15).ceil() as usize - 1));
    let lemma = Lemma2::new(0.15, 2.0, 3.0, 1e-3);
    assert_eq!(lemma.jacobian, ((8.0 * 2.0 * 3.0 / (0.15 * 1e-3_f64)).ln() / 0.15).ceil() as usize - 1);
    assert_eq!(
        lemma.distribution.iterations,
        Some(((24.0 * 2.0 * 3.0 / (0.15 * 1e-3_f64)).ln() / 0.15).ceil() as usize - 1)
    );
}

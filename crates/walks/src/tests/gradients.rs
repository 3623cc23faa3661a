use super::{distance, phi, query_graphs, stationary};
use crate::{Dangling, Score, Solver, Stop, Walk};

const EXACT: Stop = Stop { error: 1e-15, iterations: Some(400) };

/// Σ c·score over the judged nodes of all lists, with fixed factors: a loss whose ∂loss/∂score is known.
struct Task {
    graphs: toprank_data::QueryGraphs,
    walk: Walk,
    lists: Vec<u32>,
    offsets: Vec<usize>,
    nodes: Vec<u32>,
    dscore: Vec<f64>,
}

fn task(seed: u64, own: usize, ends: bool, dangling: Dangling, score: Score) -> Task {
    let graphs = query_graphs(seed, 5, 3, own, ends);
    let lists: Vec<u32> = (0..graphs.len() as u32).collect();
    let offsets = graphs.judged.offsets.iter().map(|&o| o as usize).collect();
    let nodes = graphs.judged.nodes.clone();
    let dscore = (0..nodes.len()).map(|i| [1.5, -2.0, 0.75, 0.3][i % 4]).collect();
    let walk = Walk { dangling, score, ..Walk::default() };
    Task { graphs, walk, lists, offsets, nodes, dscore }
}

impl Task {
    fn loss(&self, phi: &[f64]) -> f64 {
        let solved = self.walk.solve(&self.graphs, &self.lists, phi, EXACT).unwrap();
        let of = |k: usize| {
            let own = self.offsets[k]..self.offsets[k + 1];
            own.map(|at| self.dscore[at] * solved.score(k, self.nodes[at])).sum::<f64>()
        };
        (0..self.lists.len()).map(of).sum()
    }

    fn adjoint(&self, phi: &[f64]) -> Vec<f64> {
        let solved = self.walk.solve(&self.graphs, &self.lists, phi, EXACT).unwrap();
        let mut gradient = vec![0.0; phi.len()];
        solved.gradient(&self.offsets, &self.nodes, &self.dscore, 1e-14, &mut gradient);
        gradient
    }

    /// Five-point differences.
    fn differences(&self, phi: &[f64]) -> Vec<f64> {
        let h = 1e-3;
        let at = |f: usize, step: f64| {
            let mut moved = phi.to_vec();
            moved[f] += step;
            self.loss(&moved)
        };
        (0..phi.len())
            .map(|f| (8.0 * (at(f, h) - at(f, -h)) - (at(f, 2.0 * h) - at(f, -2.0 * h))) / (12.0 * h))
            .collect()
    }
}

#[test]
fn differences_the_papers_jacobian_and_the_adjoint_agree() {
    for (own, ends) in [(2, true), (0, true), (3, false)] {
        for dangling in [Dangling::Restart, Dangling::Uniform] {
            let task = task(11, own, ends, dangling, Score::Probability);
            let phi = phi(Walk::parameters(&task.graphs));
            let (adjoint, differences) = (task.adjoint(&phi), task.differences(&phi));
            let solved = task.walk.solve(&task.graphs, &task.lists, &phi, EXACT).unwrap();
            let mut jacobian = vec![0.0; phi.len()];
            solved.gradient_by_jacobian(&task.offsets, &task.nodes, &task.dscore, 300, &mut jacobian);
            assert!(adjoint.iter().any(|g| g.abs() > 1e-3), "{adjoint:?}");
            for f in 0..phi.len() {
                assert!((adjoint[f] - jacobian[f]).abs() < 1e-12, "{f}: {adjoint:?}\n{jacobian:?}");
                assert!((adjoint[f] - differences[f]).abs() < 1e-8, "{f}: {adjoint:?}\n{differences:?}");
            }
        }
    }
}

#[test]
fn every_kind_of_score_has_its_gradient() {
    for score in [Score::Probability, Score::Scaled, Score::Log] {
        let task = task(12, 1, true, Dangling::Restart, score);
        let phi = phi(Walk::parameters(&task.graphs));
        let (adjoint, differences) = (task.adjoint(&phi), task.differences(&phi));
        for f in 0..phi.len() {
            let tolerance = 1e-8 * (1.0 + differences[f].abs());
            assert!((adjoint[f] - differences[f]).abs() < tolerance, "{score:?} {f}");
        }
    }
}

#[test]
fn scaling_a_part_of_phi_changes_nothing_so_the_gradient_is_orthogonal_to_it() {
    let task = task(13, 2, true, Dangling::Restart, Score::Scaled);
    let phi = phi(Walk::parameters(&task.graphs));
    let gradient = task.adjoint(&phi);
    let m1 = task.graphs.node_width();
    for part in [0..m1, m1..phi.len()] {
        let along: f64 = part.map(|f| gradient[f] * phi[f]).sum();
        assert!(along.abs() < 1e-11, "{along}");
    }
}

#[test]
fn a_list_is_the_walk_over_its_own_graph() {
    let graphs = query_graphs(14, 4, 2, 1, true);
    let m = Walk::parameters(&graphs);
    let phi = phi(m);
    for solver in [Solver::Seidel, Solver::Power, Solver::NesterovNemirovski] {
        let walk = Walk { solver, ..Walk::default() };
        let lists: Vec<u32> = (0..4).collect();
        let solved = walk.solve(&graphs, &lists, &phi, Stop::at(1e-13)).unwrap();
        for q in 0..4 {
            let nodes = graphs.nodes_of(q);
            let value = |i: usize, f: usize| f64::from(graphs.node_features.get(i, f));
            let mut restart = vec![0.0; nodes.len()];
            for &seed in graphs.seeds_of(q) {
                restart[seed as usize - nodes.start] = (0..2).map(|f| phi[f] * value(seed as usize, f)).sum();
            }
            let total: f64 = restart.iter().sum();
            for v in &mut restart {
                *v /= total;
            }
            let mut edges = Vec::new();
            for j in nodes.clone() {
                for edge in graphs.graph.inward().range(j) {
                    let i = graphs.graph.inward().end(edge) as usize;
                    let own = phi[2] * f64::from(graphs.edge_features.own.get(edge, 0));
                    let ends: f64 = (0..2).map(|f| phi[3 + f] * value(i, f) + phi[5 + f] * value(j, f)).sum();
                    edges.push((i - nodes.start, j - nodes.start, own + ends));
                }
            }
            let exact = stationary(nodes.len(), &edges, &restart, 0.15, Dangling::Restart);
            assert!(distance(solved.distribution(q), &exact) < 1e-12, "{solver:?} {q}");
        }
    }
}

#[test]
fn lists_over_a_shared_graph_add_up() {
    use toprank_data::graph::{GraphTables, QueryGraphs};
    let one = query_graphs(15, 1, 2, 0, true);
    let tables = |q: &str, seeds: [bool; 3]| GraphTables {
        queries: {
            let mut queries = toprank_data::group::Interner::default();
            queries.number(q);
            queries
        },
        parts: vec![0, 3],
        node_names: ["a", "b", "c"].into_iter().collect(),
        seeds: Some(seeds.to_vec()),
        node_columns: vec!["f".into()],
        node_values: vec![1.0, 2.0, 0.5],
        sources: vec![0, 0, 1],
        targets: vec![1, 2, 2],
        ..GraphTables::default()
    };
    assert!(one.len() == 1);
    let apart: Vec<QueryGraphs> = [("q", [true, false, false]), ("r", [false, true, true])]
        .map(|(q, seeds)| QueryGraphs::build(tables(q, seeds)).unwrap())
        .into();
    let mut shared = apart[0].clone();
    shared.graph_of = vec![0, 0];
    shared.seeds = vec![0, 1, 2];
    shared.seed_offsets = vec![0, 1, 3];
    shared.list_names = ["q", "r"].into_iter().collect();
    let phi = [1.2, 0.8, 1.1];
    let walk = Walk::default();
    let both = walk.solve(&shared, &[0, 1], &phi, EXACT).unwrap();
    let mut sum = vec![0.0; 3];
    both.gradient(&[0, 1, 2], &[2, 1], &[1.0, -1.0], 1e-14, &mut sum);
    let mut separate = vec![0.0; 3];
    for (k, graphs) in apart.iter().enumerate() {
        let solved = walk.solve(graphs, &[0], &phi, EXACT).unwrap();
        assert_eq!(solved.distribution(0), both.distribution(k));
        solved.gradient(&[0, 1], &[[2, 1][k]], &[[1.0, -1.0][k]], 1e-14, &mut separate);
    }
    assert!(sum.iter().zip(&separate).all(|(a, b)| (a - b).abs() < 1e-14), "{sum:?} {separate:?}");
}

#[test]
fn bad_parameters_are_refused_in_words() {
    let graphs = query_graphs(16, 2, 2, 1, false);
    let walk = Walk::default();
    let wrong = |walk: Walk, phi: &[f64]| walk.solve(&graphs, &[0, 1], phi, EXACT).unwrap_err().to_string();
    assert!(wrong(walk, &[1.0]).contains("1 parameters, expected 3"));
    assert!(wrong(walk, &[0.0, 0.0, 1.0]).contains("whose weights add up to 0"));
    assert!(wrong(walk, &[1.0, 1.0, -1.0]).contains("an edge of weight"));
    assert!(wrong(walk, &[1.0, f64::NAN, 1.0]).contains("a node of weight NaN"));
    assert!(wrong(Walk { restart: 1.0, ..walk }, &[1.0; 3]).contains("restart 1, expected between 0 and 1"));
    assert!(wrong(Walk { restart: 0.0, ..walk }, &[1.0; 3]).contains("restart 0"));
    // Edges that all weigh 0 leave a node dangling: a rule, no error.
    assert!(walk.solve(&graphs, &[0, 1], &[1.0, 1.0, 0.0], EXACT).is_ok());
}

mod gradients;
mod lemmas;
mod solvers;

use toprank_core::Stream;
use toprank_data::graph::{Graph, GraphTables, NodeNames, QueryGraphs};
use toprank_data::group::Interner;

use crate::Dangling;

/// Solves A x = b by elimination with pivots: the reference implementation of every solver.
pub(crate) fn dense(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            let above = a[k].clone();
            for (x, y) in a[i].iter_mut().zip(&above).skip(k) {
                *x -= factor * y;
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - known) / a[k][k];
    }
    b
}

/// The stationary distribution by definition: weighted edges, a restart vector, a rule for dangling nodes.
pub(crate) fn stationary(
    n: usize,
    edges: &[(usize, usize, f64)],
    restart: &[f64],
    alpha: f64,
    dangling: Dangling,
) -> Vec<f64> {
    let mut out = vec![0.0; n];
    for &(i, _, w) in edges {
        out[i] += w;
    }
    let mut a = vec![vec![0.0; n]; n];
    for (i, row) in a.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for &(i, j, w) in edges.iter().filter(|edge| out[edge.0] > 0.0) {
        a[j][i] -= (1.0 - alpha) * w / out[i];
    }
    for i in (0..n).filter(|&i| out[i] <= 0.0) {
        for (j, row) in a.iter_mut().enumerate() {
            let share = match dangling {
                Dangling::Restart => restart[j],
                Dangling::Uniform => 1.0 / n as f64,
            };
            row[i] -= (1.0 - alpha) * share;
        }
    }
    dense(a, restart.iter().map(|v| alpha * v).collect())
}

pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}

pub(crate) fn graph(n: usize, edges: &[(usize, usize, f64)], weighted: bool) -> Graph {
    let sources: Vec<u32> = edges.iter().map(|edge| edge.0 as u32).collect();
    let targets: Vec<u32> = edges.iter().map(|edge| edge.1 as u32).collect();
    let weights: Vec<f32> = edges.iter().map(|edge| edge.2 as f32).collect();
    Graph::new(NodeNames::count(n), &sources, &targets, weighted.then_some(&weights[..])).unwrap()
}

/// Small query graphs with self loops, double edges, dangling nodes and zero features.
pub(crate) fn query_graphs(
    seed: u64,
    queries: usize,
    node_width: usize,
    own: usize,
    ends: bool,
) -> QueryGraphs {
    let mut random = Stream::new(seed, "walks test").open();
    let mut tables = GraphTables {
        queries: Interner::default(),
        parts: vec![0],
        seeds: Some(Vec::new()),
        labels: Some(Vec::new()),
        node_columns: (0..node_width).map(|f| format!("v{f}")).collect(),
        edge_columns: (0..own).map(|f| format!("e{f}")).collect(),
        ends: Some(ends),
        ..GraphTables::default()
    };
    for q in 0..queries {
        tables.queries.number(&format!("q{q}"));
        let n = 3 + random.below(7);
        let first = tables.node_names.len();
        for i in 0..n {
            tables.node_names.push(&format!("{q}-{i}"));
            tables.seeds.as_mut().unwrap().push(i == 0 || random.unit() < 0.4);
            tables.labels.as_mut().unwrap().push(if i < 3 { i as f32 } else { f32::NAN });
            for _ in 0..node_width {
                let zero = random.unit() < 0.2;
                tables.node_values.push(if zero { 0.0 } else { 0.1 + random.unit() as f32 });
            }
            if node_width > 0 {
                // No node without any weight.
                *tables.node_values.last_mut().unwrap() += 0.1;
            }
        }
        // The last node stays dangling.
        for i in 0..n - 1 {
            for _ in 0..=random.below(3) {
                tables.sources.push((first + i) as u32);
                tables.targets.push((first + random.below(n)) as u32);
                tables.edge_values.extend((0..own).map(|_| 0.05 + random.unit() as f32));
            }
        }
        tables.parts.push(tables.node_names.len() as u32);
    }
    QueryGraphs::build(tables).unwrap()
}

/// φ inside the ball, no two parameters alike.
pub(crate) fn phi(m: usize) -> Vec<f64> {
    (0..m).map(|f| 1.0 + 0.25 * ((f * 7 % 5) as f64 - 2.0) / (m as f64).sqrt()).collect()
}

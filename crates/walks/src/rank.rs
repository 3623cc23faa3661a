/*!
PageRank of a graph: classical, weighted, personalised, topic-sensitive.

| name | what it is here |
|---|---|
| PageRank | no weights, every node a seed |
| weighted PageRank, BrowseRank-style | weights of edges (transition counts), weights of seeds (visits) |
| personalised, topic-sensitive PageRank | seeds: the nodes of a person, of a topic |

```
use toprank_data::graph::{Graph, NodeNames};
use toprank_walks::{Surfer, rank};
let graph = Graph::new(NodeNames::count(3), &[0, 1, 2], &[1, 2, 1], None).unwrap();
let ranking = rank(&graph, &Surfer::default()).unwrap();
assert!((ranking.scores.iter().sum::<f64>() - 1.0).abs() < 1e-12);
assert!(ranking.scores[1] > ranking.scores[2] && ranking.scores[2] > ranking.scores[0]);
assert!(ranking.error_bound <= 1e-9);
```
*/

use rayon::prelude::*;
use toprank_core::ModelError;
use toprank_data::Graph;

use crate::chain::{BLOCK, Chain, Dangling, Weights, block_sum};
use crate::peel::Core;
use crate::solve::{Solver, Stop, Work, solve};

/// Who walks, and how precisely we want to know where.
#[derive(Clone, Debug, PartialEq)]
pub struct Surfer {
    /// Probability α of a restart at each step, in (0, 1]; others call 1 − α the damping factor (0.15).
    pub restart: f64,
    /// Where walks start, with weights ≥ 0; `None`: at every node alike.
    pub seeds: Option<Vec<(u32, f64)>>,
    /// Where they go from nodes without out-edges.
    pub dangling: Dangling,
    /// How the distribution is found.
    pub solver: Solver,
    /// Largest error in the 1-norm, and most products (1e-9).
    pub stop: Stop,
    /// Whether nodes that no edge points at are taken out first where that pays (only with [`Solver::Seidel`]).
    pub peel: bool,
}

impl Default for Surfer {
    fn default() -> Surfer {
        Surfer {
            restart: 0.15,
            seeds: None,
            dangling: Dangling::Restart,
            solver: Solver::Seidel,
            stop: Stop::at(1e-9),
            peel: true,
        }
    }
}

/// Where walks are in the long run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// One probability per node.
    pub scores: Vec<f64>,
    /// ‖scores − truth‖₁ is at most this (beside rounding, about 1e-15).
    pub error_bound: f64,
    /// Products with the transition matrix, or with its core.
    pub products: usize,
    /// Edges that each product went along: those of the core, where it was taken out.
    pub edges: usize,
    /// Nodes without a way out.
    pub dangling: usize,
}

/// Checks a restart probability.
pub(crate) fn check_restart(restart: f64, most: f64) -> Result<(), ModelError> {
    if restart > 0.0 && restart <= most {
        return Ok(());
    }
    let expected = if most >= 1.0 {
        "more than 0 and at most 1: without restarts there may be no unique distribution"
    } else {
        "between 0 and 1: at 1 there is nothing to learn but the seeds"
    };
    Err(ModelError::new(format!("restart {restart}"), expected))
}

/// The stationary distribution of the walk, with a bound on its error. Cost: about ln(1/error)/ln(1/(1 − α)) products
/// at worst, usually a fifth of that; 24 bytes a node beside the graph.
///
/// # Errors
/// If `restart` or `stop.error` is out of range, a seed does not exist, or the weights of the seeds are negative, not
/// finite, or add up to 0.
pub fn rank(graph: &Graph, surfer: &Surfer) -> Result<Ranking, ModelError> {
    check_restart(surfer.restart, 1.0)?;
    if surfer.stop.products.is_none() && (surfer.stop.error.is_nan() || surfer.stop.error <= 0.0) {
        return Err(ModelError::new(format!("error {}", surfer.stop.error), "more than 0"));
    }
    let n = graph.nodes();
    if n == 0 {
        return Err(ModelError::new("a graph without nodes", "one node at least"));
    }
    let restart = restart_vector(n, surfer.seeds.as_deref())?;
    let scale = scale(graph);
    let chain = Chain {
        inward: graph.inward(),
        first: 0,
        weights: graph.weights().map_or(Weights::Even, Weights::Single),
        scale: &scale,
        restart: &restart,
        alpha: surfer.restart,
        dangling: surfer.dangling,
    };
    let mut work = Work::default();
    let mut scores = Vec::with_capacity(n);
    let peel = surfer.peel && surfer.solver == Solver::Seidel;
    let core = if peel { Core::of(&chain, graph.out_degree()) } else { None };
    let by_core = core.as_ref().map(|core| core.solve(&chain, surfer.stop, &mut work, &mut scores));
    let certificate = match by_core {
        Some(there) if there.error <= surfer.stop.error || surfer.stop.products.is_some() => there,
        _ => solve(&chain, surfer.solver, surfer.stop, &mut work, &mut scores),
    };
    Ok(Ranking {
        scores,
        error_bound: certificate.error,
        products: certificate.products,
        edges: core.map_or(graph.edges(), |core| core.edges()),
        dangling: scale.iter().filter(|scale| **scale == 0.0).count(),
    })
}

fn restart_vector(n: usize, seeds: Option<&[(u32, f64)]>) -> Result<Vec<f64>, ModelError> {
    let Some(seeds) = seeds else { return Ok(vec![1.0 / n as f64; n]) };
    let mut restart = vec![0.0; n];
    for &(node, weight) in seeds {
        if node as usize >= n {
            return Err(ModelError::new(format!("seed {node}"), format!("nodes below {n}")));
        }
        if !weight.is_finite() || weight < 0.0 {
            return Err(ModelError::new(format!("a seed of weight {weight}"), "finite weights from 0 on"));
        }
        restart[node as usize] += weight;
    }
    let sum = block_sum(n, |i| restart[i]);
    if sum <= 0.0 || !sum.is_finite() {
        return Err(ModelError::new(
            format!("seeds whose weights add up to {sum}"),
            "a seed of weight above 0",
        ));
    }
    for weight in &mut restart {
        *weight /= sum;
    }
    Ok(restart)
}

/// 1 over the weight of all out-edges of each node; 0 where there is none.
fn scale(graph: &Graph) -> Vec<f64> {
    let inverse = |sum: f64| if sum > 0.0 { 1.0 / sum } else { 0.0 };
    match graph.weights() {
        None => graph
            .out_degree()
            .par_iter()
            .with_min_len(BLOCK)
            .map(|&degree| inverse(f64::from(degree)))
            .collect(),
        Some(weights) => {
            let mut sums = vec![0.0; graph.nodes()];
            let mut weights = weights.iter();
            graph.inward().ends(0..graph.edges()).for_each(|i| {
                sums[i as usize] += weights.next().map_or(0.0, |w| f64::from(*w));
            });
            sums.into_iter().map(inverse).collect()
        }
    }
}

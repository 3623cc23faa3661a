/*!
PageRank of a graph: classical, weighted, personalised, topic-sensitive.

| name | settings |
|---|---|
| PageRank | no weights, every node is a seed |
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

/// Settings of [`rank`]: the walk and how precisely its distribution is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Surfer {
    /// Probability α of a restart at each step, in (0, 1]; default 0.15. 1 − α is known as the damping factor.
    pub restart: f64,
    /// Nodes where walks start, with weights ≥ 0; `None`: every node with the same weight.
    pub seeds: Option<Vec<(u32, f64)>>,
    /// Where walks go from dangling nodes.
    pub dangling: Dangling,
    /// Solver of the stationary distribution.
    pub solver: Solver,
    /// Largest error in the 1-norm (default 1e-9) and maximum number of iterations.
    pub stop: Stop,
    /// Whether nodes without in-edges are removed first where that is faster (only with [`Solver::Seidel`]).
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

/// The stationary distribution of a walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// One probability per node.
    pub scores: Vec<f64>,
    /// Upper bound of ‖scores − exact scores‖₁ (up to rounding, about 1e-15).
    pub error_bound: f64,
    /// Iterations of the solver: products with the transition matrix, or with its core.
    pub iterations: usize,
    /// Edges used by each iteration: all, or those of the core where the other nodes were removed.
    pub edges: usize,
    /// Number of dangling nodes.
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

/// The stationary distribution of the walk, with a bound on its error. Cost: about ln(1/error)/ln(1/(1 − α)) iterations
/// at worst, usually a fifth of that; 24 bytes a node beside the graph.
///
/// # Errors
/// If `restart` or `stop.error` is out of range, a seed does not exist, or the weights of the seeds are negative, not
/// finite, or add up to 0.
pub fn rank(graph: &Graph, surfer: &Surfer) -> Result<Ranking, ModelError> {
    check_restart(surfer.restart, 1.0)?;
    if surfer.stop.iterations.is_none() && (surfer.stop.error.is_nan() || surfer.stop.error <= 0.0) {
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
        Some(there) if there.error <= surfer.stop.error || surfer.stop.iterations.is_some() => there,
        _ => solve(&chain, surfer.solver, surfer.stop, &mut work, &mut scores),
    };
    Ok(Ranking {
        scores,
        error_bound: certificate.error,
        iterations: certificate.iterations,
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

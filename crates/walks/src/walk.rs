/*!
The learned walk: scores of judged nodes as a function of φ, and the gradient ∂loss/∂φ from ∂loss/∂score.

The adjoint: with z = ∂loss/∂π solve (I − (1 − α)P) y = z, then

```text
∂φ1 = (α + (1 − α) D(π)) / F · (Σ_{i∈U} y_i V_i − ȳ0 Σ_{i∈U} V_i),    ȳ0 = Σ π0_i y_i
∂φ2 = (1 − α) Σ_i π_i / G_i Σ_j (y_j − ȳ_i) E_ij,                     ȳ_i = Σ_j P_ij y_j
```

One solve instead of one for each of the m parameters. A constant added to y changes nothing, so y is followed only up to
a constant: its span (largest less smallest value) shrinks by 1 − α at worst, much faster where walks mix.
*/

use rayon::prelude::*;
use toprank_core::ModelError;
use toprank_data::QueryGraphs;

use crate::chain::{Chain, Dangling, Weights};
use crate::rank::check_restart;
use crate::solve::{Certificate, Solver, Stop, Work, solve};
use crate::transition::{Transition, row};

/// How the score of a node follows from its probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Score {
    /// π_i itself, as in the paper.
    #[default]
    Probability,
    /// π_i times the number of nodes of the graph: 1 on average, so that margins and temperatures have a scale.
    Scaled,
    /// ln(n π_i + 10⁻⁶): differences of scores are ratios of probabilities.
    Log,
}

/// Added under the logarithm, so that nodes that walks never reach have a finite score.
const FLOOR: f64 = 1e-6;

impl Score {
    fn of(self, probability: f64, nodes: usize) -> f64 {
        match self {
            Score::Probability => probability,
            Score::Scaled => probability * nodes as f64,
            Score::Log => (probability * nodes as f64 + FLOOR).ln(),
        }
    }

    /// ∂score/∂π.
    fn slope(self, probability: f64, nodes: usize) -> f64 {
        match self {
            Score::Probability => 1.0,
            Score::Scaled => nodes as f64,
            Score::Log => nodes as f64 / (probability * nodes as f64 + FLOOR),
        }
    }
}

/// A kind of learned walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walk {
    /// Probability of a restart, in (0, 1); default 0.15.
    pub restart: f64,
    /// Where walks go from dangling nodes.
    pub dangling: Dangling,
    /// Solver of the distributions.
    pub solver: Solver,
    /// How scores follow from probabilities.
    pub score: Score,
}

impl Default for Walk {
    fn default() -> Walk {
        Walk { restart: 0.15, dangling: Dangling::Restart, solver: Solver::Seidel, score: Score::Probability }
    }
}

/// How precisely a gradient is wanted: the error of y in span, relative to the span of z.
pub const ADJOINT_ERROR: f64 = 1e-10;

/// Walks whose gradients one task adds up.
const RUN: usize = 8;

/// One walk, solved: a graph and seeds, which several lists may share.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    pub list: usize,
    /// Which of the transitions is its graph's.
    graph: usize,
    pub restart: Vec<f64>,
    /// Σ of the weights of its seeds.
    pub seeds: f64,
    pub pi: Vec<f64>,
    certificate: Certificate,
}

/// Lists solved at one φ: scores and gradients.
#[derive(Debug)]
pub struct Solved<'a> {
    walk: Walk,
    graphs: &'a QueryGraphs,
    transitions: Vec<Transition>,
    solutions: Vec<Solution>,
    /// Solution of each list.
    of_list: Vec<usize>,
}

impl Walk {
    /// Numbers in φ for these graphs: features of nodes, then of edges.
    pub fn parameters(graphs: &QueryGraphs) -> usize {
        graphs.node_width() + graphs.edge_width()
    }

    /// Solves `lists` at `phi`, each to an error of `stop` in the 1-norm. In parallel over lists; the bytes do not depend
    /// on threads.
    ///
    /// # Errors
    /// If `restart` is not in (0, 1), φ has another length or gives a negative weight, or the seeds of a list weigh
    /// nothing.
    pub fn solve<'a>(
        &self,
        graphs: &'a QueryGraphs,
        lists: &[u32],
        phi: &[f64],
        stop: Stop,
    ) -> Result<Solved<'a>, ModelError> {
        check_restart(self.restart, 1.0 - f64::EPSILON)?;
        if phi.len() != Walk::parameters(graphs) {
            let expected = format!("{}, one per feature of nodes and edges", Walk::parameters(graphs));
            return Err(ModelError::new(format!("{} parameters", phi.len()), expected));
        }
        let mut which: Vec<u32> = lists.iter().map(|&q| graphs.graph_of[q as usize]).collect();
        which.sort_unstable();
        which.dedup();
        let transitions: Vec<Transition> = which
            .par_iter()
            .map(|&g| Transition::new(graphs, g as usize, phi))
            .collect::<Result<_, ModelError>>()?;
        // Lists with the same graph and the same seeds are one walk.
        let key = |q: u32| (graphs.graph_of[q as usize], graphs.seeds_of(q as usize));
        let mut sorted: Vec<u32> = lists.to_vec();
        sorted.sort_by(|&a, &b| key(a).cmp(&key(b)).then(a.cmp(&b)));
        sorted.dedup_by(|a, b| key(*a) == key(*b));
        let of_list = lists
            .iter()
            .map(|&q| sorted.partition_point(|&other| key(other) < key(q)))
            .collect::<Vec<usize>>();
        let solutions = sorted
            .par_iter()
            .map_init(Work::default, |work, &q| {
                let q = q as usize;
                let graph = which.binary_search(&graphs.graph_of[q]).unwrap_or_default();
                let transition = &transitions[graph];
                let (restart, seeds) = transition.restart(graphs, q)?;
                let scale = transition.scale();
                let chain = self.chain(graphs, transition, &scale, &restart);
                let mut pi = Vec::new();
                let certificate = solve(&chain, self.solver, stop, work, &mut pi);
                Ok(Solution { list: q, graph, restart, seeds, pi, certificate })
            })
            .collect::<Result<_, ModelError>>()?;
        Ok(Solved { walk: *self, graphs, transitions, solutions, of_list })
    }

    pub(crate) fn chain<'a>(
        &self,
        graphs: &'a QueryGraphs,
        transition: &'a Transition,
        scale: &'a [f64],
        restart: &'a [f64],
    ) -> Chain<'a> {
        Chain {
            inward: graphs.graph.inward(),
            first: transition.first,
            weights: Weights::Double(&transition.step, transition.first_edge),
            scale,
            restart,
            alpha: self.restart,
            dangling: self.dangling,
        }
    }
}

impl Transition {
    /// 1, and 0 at dangling nodes: steps are probabilities already.
    pub(crate) fn scale(&self) -> Vec<f64> {
        self.sum.iter().map(|sum| f64::from(u8::from(*sum > 0.0))).collect()
    }
}

impl Solved<'_> {
    /// The k-th list and its graph's transition.
    pub(crate) fn solution(&self, k: usize) -> (&Solution, &Transition) {
        let solution = &self.solutions[self.of_list[k]];
        (solution, &self.transitions[solution.graph])
    }

    /// Every walk once, whatever the number of lists that share it.
    pub(crate) fn walks(&self) -> impl Iterator<Item = (&Solution, &Transition)> {
        self.solutions.iter().map(|solution| (solution, &self.transitions[solution.graph]))
    }

    pub(crate) fn walk(&self) -> &Walk {
        &self.walk
    }

    pub(crate) fn graphs(&self) -> &QueryGraphs {
        self.graphs
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.of_list.len()
    }

    /// True if no list was solved.
    pub fn is_empty(&self) -> bool {
        self.of_list.is_empty()
    }

    /// Probabilities of the nodes of the graph of the k-th list, in their order.
    pub fn distribution(&self, k: usize) -> &[f64] {
        &self.solution(k).0.pi
    }

    /// Largest bound on the error of any list, and most iterations for one.
    pub fn certificate(&self) -> Certificate {
        let worst = |a: Certificate, b: Certificate| Certificate {
            error: a.error.max(b.error),
            iterations: a.iterations.max(b.iterations),
        };
        self.solutions
            .iter()
            .map(|solution| solution.certificate)
            .fold(Certificate { error: 0.0, iterations: 0 }, worst)
    }

    /// Score of `node` (of the whole graph) under the k-th list.
    pub fn score(&self, k: usize, node: u32) -> f64 {
        let (solution, transition) = self.solution(k);
        self.walk.score.of(solution.pi[node as usize - transition.first], solution.pi.len())
    }

    /// ∂loss/∂φ, given ∂loss/∂score of some nodes of each list (`node` of the whole graph, one list after the other:
    /// list k has `nodes[offsets[k]..offsets[k + 1]]`). `error`: of the adjoint, in span, by the span of its right side.
    ///
    /// Cost: one solve along the out-edges, then a multiply for each feature of nodes and own feature of edges.
    ///
    /// # Panics
    /// If there are not as many lists, or a node is not of its list's graph.
    pub fn gradient(
        &self,
        offsets: &[usize],
        nodes: &[u32],
        dscore: &[f64],
        error: f64,
        gradient: &mut [f64],
    ) {
        assert_eq!(offsets.len(), self.len() + 1, "one run of nodes for each list");
        // The lists of each solution, ascending.
        let mut lists: Vec<Vec<usize>> = vec![Vec::new(); self.solutions.len()];
        self.of_list.iter().enumerate().for_each(|(k, &solution)| lists[solution].push(k));
        let m = gradient.len();
        // Fixed runs of walks, each added up in order, then the runs in order.
        let runs: Vec<Vec<f64>> = self
            .solutions
            .par_chunks(RUN)
            .enumerate()
            .map(|(run, solutions)| {
                let mut sum = vec![0.0; m];
                let mut work = Adjoint::default();
                for (at, solution) in solutions.iter().enumerate() {
                    let transition = &self.transitions[solution.graph];
                    let n = solution.pi.len();
                    work.z.clear();
                    work.z.resize(n, 0.0);
                    // Lists that share a walk share its adjoint: their right sides add up.
                    for &k in &lists[run * RUN + at] {
                        let own = offsets[k]..offsets[k + 1];
                        for (&node, dscore) in nodes[own.clone()].iter().zip(&dscore[own]) {
                            let i = node as usize - transition.first;
                            work.z[i] += dscore * self.walk.score.slope(solution.pi[i], n);
                        }
                    }
                    if work.z.iter().any(|z| *z != 0.0) {
                        work.solve(self, solution, error);
                        work.add(self, solution, &mut sum);
                    }
                }
                sum
            })
            .collect();
        for run in runs {
            gradient.iter_mut().zip(run).for_each(|(sum, own)| *sum += own);
        }
    }
}

/// The adjoint of one list.
#[derive(Default)]
struct Adjoint {
    z: Vec<f64>,
    y: Vec<f64>,
    /// ȳ_i = Σ_j P_ij y_j.
    mean: Vec<f64>,
    /// What is added to a node as a source, and as a target.
    as_source: Vec<f64>,
    as_target: Vec<f64>,
}

impl Adjoint {
    /// ȳ for every node, dangling nodes included.
    fn means(&mut self, solved: &Solved, solution: &Solution) {
        let transition = &solved.transitions[solution.graph];
        let inward = solved.graphs.graph.inward();
        self.mean.clear();
        self.mean.resize(self.y.len(), 0.0);
        for j in 0..self.y.len() {
            for edge in inward.range(transition.first + j) {
                let i = inward.end(edge) as usize - transition.first;
                self.mean[i] += transition.step[edge - transition.first_edge] * self.y[j];
            }
        }
        let fallback = match solved.walk.dangling {
            Dangling::Restart => solution.restart.iter().zip(&self.y).map(|(v, y)| v * y).sum::<f64>(),
            Dangling::Uniform => self.y.iter().sum::<f64>() / self.y.len() as f64,
        };
        for (mean, sum) in self.mean.iter_mut().zip(&transition.sum) {
            if *sum <= 0.0 {
                *mean = fallback;
            }
        }
    }

    /// y = z + (1 − α) P y up to a constant: stops when the span of what is left is small, (1 − α)^k at worst.
    fn solve(&mut self, solved: &Solved, solution: &Solution, error: f64) {
        let alpha = solved.walk.restart;
        self.y.clear();
        self.y.extend_from_slice(&self.z);
        let wanted = span(&self.z) * error * alpha;
        let most = Stop::at(error.max(1e-16)).most(alpha) + 1;
        for _ in 0..most {
            self.means(solved, solution);
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for ((y, z), mean) in self.y.iter_mut().zip(&self.z).zip(&self.mean) {
                let next = z + (1.0 - alpha) * mean;
                low = low.min(next - *y);
                high = high.max(next - *y);
                *y = next;
            }
            // The next residual is (1 − α) P times this one: its span is no larger than (1 − α) of this span.
            if (1.0 - alpha) * (high - low) <= wanted {
                break;
            }
        }
        // Up to a constant: the smallest |y| loses the fewest digits below.
        let middle = f64::midpoint(lowest(&self.y), highest(&self.y));
        self.y.iter_mut().for_each(|y| *y -= middle);
        self.means(solved, solution);
    }

    /// Adds the two sums of the module's head.
    fn add(&mut self, solved: &Solved, solution: &Solution, gradient: &mut [f64]) {
        let Solved { walk, graphs, .. } = *solved;
        let transition = &solved.transitions[solution.graph];
        let (alpha, first, n) = (walk.restart, transition.first, solution.pi.len());
        let m1 = graphs.node_width();
        let features = &graphs.node_features;
        let (nodes, edges) = gradient.split_at_mut(m1);
        let dangling: f64 =
            solution.pi.iter().zip(&transition.sum).filter(|(_, sum)| **sum <= 0.0).map(|(pi, _)| pi).sum();
        let restarting = match walk.dangling {
            Dangling::Restart => alpha + (1.0 - alpha) * dangling,
            Dangling::Uniform => alpha,
        };
        if m1 > 0 {
            let mean: f64 = solution.restart.iter().zip(&self.y).map(|(v, y)| v * y).sum();
            for &seed in graphs.seeds_of(solution.list) {
                let i = seed as usize - first;
                add_row(nodes, restarting / solution.seeds * (self.y[i] - mean), row(features, first + i));
            }
        }
        if edges.is_empty() {
            return;
        }
        let own_width = graphs.edge_features.own.width();
        let (own, ends) = edges.split_at_mut(own_width);
        for sums in [&mut self.as_source, &mut self.as_target] {
            sums.clear();
            sums.resize(n, 0.0);
        }
        let inward = graphs.graph.inward();
        for j in 0..n {
            for edge in inward.range(first + j) {
                let i = inward.end(edge) as usize - first;
                if transition.sum[i] <= 0.0 {
                    continue;
                }
                let c = (1.0 - alpha) * solution.pi[i] / transition.sum[i] * (self.y[j] - self.mean[i]);
                self.as_source[i] += c;
                self.as_target[j] += c;
                if own_width > 0 {
                    add_row(own, c, row(&graphs.edge_features.own, edge));
                }
            }
        }
        if !ends.is_empty() {
            let (from, to) = ends.split_at_mut(m1);
            for i in 0..n {
                let features = row(features, first + i);
                add_row(from, self.as_source[i], features);
                add_row(to, self.as_target[i], features);
            }
        }
    }
}

#[inline]
fn add_row(sum: &mut [f64], factor: f64, features: &[f32]) {
    sum.iter_mut().zip(features).for_each(|(sum, feature)| *sum += factor * f64::from(*feature));
}

fn lowest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn highest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn span(values: &[f64]) -> f64 {
    highest(values) - lowest(values)
}

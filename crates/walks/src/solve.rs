/*!
Solvers of the stationary distribution, each with a bound on its error in the 1-norm.

| solver | bound after N iterations | note |
|---|---|---|
| `power` | (1 − α)/α · ‖x_N − x_{N−1}‖₁ | stops when the bound is small enough |
| `nn` | 2 (1 − α)^{N+1} | Nesterov–Nemirovski (equations 4.1, 4.2): the weighted mean of all iterates; N is known in advance |
| `seidel` | see the module `seidel` | Gauss–Seidel that keeps the mass; the default |

The power method started at the restart vector has the bound of `nn`, too, since π⁰ − π = (1 − α)(π⁰ − Pᵀπ), and stops earlier.
*/

use crate::chain::{Chain, Sweep};
use crate::seidel;

/// How the stationary distribution is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// Gauss–Seidel that preserves the total mass: fewest iterations.
    #[default]
    Seidel,
    /// The power method.
    Power,
    /// Nesterov and Nemirovski's weighted mean of all iterates; the number of iterations is known in advance.
    NesterovNemirovski,
}

/// When a solver may stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Largest error in the 1-norm.
    pub error: f64,
    /// Maximum number of iterations (products with the transition matrix); `None`: as many as the error needs at worst.
    pub iterations: Option<usize>,
}

impl Stop {
    /// Stops once the error is certainly at most `error`.
    pub fn at(error: f64) -> Stop {
        Stop { error, iterations: None }
    }

    /// Stops after this number of iterations.
    pub fn after(iterations: usize) -> Stop {
        Stop { error: 0.0, iterations: Some(iterations) }
    }

    /// Lemma 1: iterations after which the value of the margin loss is within `delta`, given the pairs of the largest
    /// list (times 1 + the largest margin).
    pub fn lemma_1(alpha: f64, pairs: f64, delta: f64) -> Stop {
        Stop { error: delta / (4.0 * pairs), iterations: Some(count(alpha, 8.0 * pairs / delta)) }
    }

    /// Iterations needed at worst: 2 (1 − α)^N ≤ error.
    pub(crate) fn most(&self, alpha: f64) -> usize {
        self.iterations.unwrap_or_else(|| count(alpha, 2.0 / self.error.max(1e-300)) + 1)
    }
}

/// ⌈ln(ratio)/α⌉ − 1, as the lemmas have it.
pub(crate) fn count(alpha: f64, ratio: f64) -> usize {
    let iterations = (ratio.max(1.0).ln() / alpha).ceil() - 1.0;
    iterations.max(0.0) as usize
}

/// What a solver found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// The 1-norm of the error is at most this.
    pub error: f64,
    /// Iterations: products with the transition matrix.
    pub iterations: usize,
}

/// Scratch memory of a solver, allocated once.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub flow: Vec<f64>,
    pub next: Vec<f64>,
    pub mean: Vec<f64>,
}

impl Work {
    pub(crate) fn fit(&mut self, nodes: usize) {
        for buffer in [&mut self.flow, &mut self.next] {
            buffer.clear();
            buffer.resize(nodes, 0.0);
        }
    }
}

/// Fills `x` with the stationary distribution.
pub(crate) fn solve(
    chain: &Chain,
    solver: Solver,
    stop: Stop,
    work: &mut Work,
    x: &mut Vec<f64>,
) -> Certificate {
    x.clear();
    x.extend_from_slice(chain.restart);
    if chain.alpha >= 1.0 {
        return Certificate { error: 0.0, iterations: 0 };
    }
    work.fit(chain.nodes());
    match solver {
        Solver::Seidel => seidel::solve(chain, stop, work, x),
        Solver::Power => power(chain, stop, work, x),
        Solver::NesterovNemirovski => nesterov_nemirovski(chain, stop, work, x),
    }
}

/// The power method, starting from the distribution x.
pub(crate) fn power(chain: &Chain, stop: Stop, work: &mut Work, x: &mut [f64]) -> Certificate {
    let alpha = chain.alpha;
    let most = stop.most(alpha);
    let mut mass = chain.dangling_mass(x);
    chain.flow(x, &mut work.flow);
    // Before the first iteration the whole mass may be wrong.
    let mut certificate = Certificate { error: 2.0, iterations: 0 };
    while certificate.iterations < most && certificate.error > stop.error {
        let base = |j: usize| alpha * chain.restart[j] + (1.0 - alpha) * mass * chain.fallback(j);
        let sums = Sweep { chain, base, keep: 1.0 - alpha }.over(0..x.len(), &work.flow, x, &mut work.next);
        std::mem::swap(&mut work.flow, &mut work.next);
        mass = sums.dangling;
        certificate.iterations += 1;
        // The residual of the iterate before is what moved; one more iteration shrinks its error by 1 − α.
        let known = 2.0 * (1.0 - alpha).powi(certificate.iterations as i32);
        certificate.error = ((1.0 - alpha) / alpha * sums.change).min(known);
    }
    certificate
}

fn nesterov_nemirovski(chain: &Chain, stop: Stop, work: &mut Work, x: &mut Vec<f64>) -> Certificate {
    let alpha = chain.alpha;
    let iterations = stop.iterations.unwrap_or_else(|| count(alpha, 2.0 / stop.error.max(1e-300)));
    work.mean.clear();
    work.mean.extend_from_slice(x);
    let mut mass = chain.dangling_mass(x);
    chain.flow(x, &mut work.flow);
    let mut weight = 1.0;
    for _ in 0..iterations {
        let base = |j: usize| mass * chain.fallback(j);
        let sums = Sweep { chain, base, keep: 1.0 }.over(0..x.len(), &work.flow, x, &mut work.next);
        std::mem::swap(&mut work.flow, &mut work.next);
        mass = sums.dangling;
        weight *= 1.0 - alpha;
        work.mean.iter_mut().zip(&*x).for_each(|(mean, x)| *mean += weight * x);
    }
    let left = weight * (1.0 - alpha);
    let total = alpha / (1.0 - left);
    work.mean.iter_mut().for_each(|mean| *mean *= total);
    std::mem::swap(x, &mut work.mean);
    Certificate { error: 2.0 * left, iterations }
}

/*!
Solvers: where a walk is in the long run, each with a bound on its error in the 1-norm.

| solver | bound after N products | note |
|---|---|---|
| `power` | (1 − α)/α · ‖x_N − x_{N−1}‖₁ | stops when the bound is small enough |
| `nn` | 2 (1 − α)^{N+1} | Nesterov–Nemirovski (paper's 4.1, 4.2): the mean of all iterates; N is known before |
| `seidel` | see the module `seidel` | Gauss–Seidel that keeps the mass; the default |

The power method started at the restart vector has nn's bound, too, since π⁰ − π = (1 − α)(π⁰ − Pᵀπ), and stops earlier.
*/

use crate::chain::{Chain, Pass};
use crate::seidel;

/// How the stationary distribution is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// Gauss–Seidel that keeps the mass: fewest products.
    #[default]
    Seidel,
    /// The power method.
    Power,
    /// Nesterov and Nemirovski's mean of all iterates, with a number of products known beforehand.
    NesterovNemirovski,
}

/// When a solver may stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Largest error in the 1-norm.
    pub error: f64,
    /// Most products; `None`: as many as the error needs at worst.
    pub products: Option<usize>,
}

impl Stop {
    /// Stops once the error is certainly at most `error`.
    pub fn at(error: f64) -> Stop {
        Stop { error, products: None }
    }

    /// Stops after so many products.
    pub fn after(products: usize) -> Stop {
        Stop { error: 0.0, products: Some(products) }
    }

    /// Lemma 1: products after which the value of the margin loss is within `delta`, given the pairs of the largest
    /// list (times 1 + the largest margin).
    pub fn lemma_1(alpha: f64, pairs: f64, delta: f64) -> Stop {
        Stop { error: delta / (4.0 * pairs), products: Some(count(alpha, 8.0 * pairs / delta)) }
    }

    /// Most products that can be needed: 2 (1 − α)^N ≤ error.
    pub(crate) fn most(&self, alpha: f64) -> usize {
        self.products.unwrap_or_else(|| count(alpha, 2.0 / self.error.max(1e-300)) + 1)
    }
}

/// ⌈ln(ratio)/α⌉ − 1, as the lemmas have it.
pub(crate) fn count(alpha: f64, ratio: f64) -> usize {
    let products = (ratio.max(1.0).ln() / alpha).ceil() - 1.0;
    products.max(0.0) as usize
}

/// What a solver found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// The 1-norm of the error is at most this.
    pub error: f64,
    /// Products with the transition matrix.
    pub products: usize,
}

/// Buffers that a solver needs; kept, they are allocated once.
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
        return Certificate { error: 0.0, products: 0 };
    }
    work.fit(chain.nodes());
    match solver {
        Solver::Seidel => seidel::solve(chain, stop, work, x),
        Solver::Power => power(chain, stop, work, x),
        Solver::NesterovNemirovski => nesterov_nemirovski(chain, stop, work, x),
    }
}

/// From wherever x is: a distribution.
pub(crate) fn power(chain: &Chain, stop: Stop, work: &mut Work, x: &mut [f64]) -> Certificate {
    let alpha = chain.alpha;
    let most = stop.most(alpha);
    let mut mass = chain.dangling_mass(x);
    chain.flow(x, &mut work.flow);
    // Before any product: the whole mass may be wrong.
    let mut certificate = Certificate { error: 2.0, products: 0 };
    while certificate.products < most && certificate.error > stop.error {
        let base = |j: usize| alpha * chain.restart[j] + (1.0 - alpha) * mass * chain.fallback(j);
        let seen = Pass { chain, base, keep: 1.0 - alpha }.over(0..x.len(), &work.flow, x, &mut work.next);
        std::mem::swap(&mut work.flow, &mut work.next);
        mass = seen.dangling;
        certificate.products += 1;
        // The residual of the iterate before is what moved; one more product shrinks its error by 1 − α.
        let known = 2.0 * (1.0 - alpha).powi(certificate.products as i32);
        certificate.error = ((1.0 - alpha) / alpha * seen.change).min(known);
    }
    certificate
}

fn nesterov_nemirovski(chain: &Chain, stop: Stop, work: &mut Work, x: &mut Vec<f64>) -> Certificate {
    let alpha = chain.alpha;
    let products = stop.products.unwrap_or_else(|| count(alpha, 2.0 / stop.error.max(1e-300)));
    work.mean.clear();
    work.mean.extend_from_slice(x);
    let mut mass = chain.dangling_mass(x);
    chain.flow(x, &mut work.flow);
    let mut weight = 1.0;
    for _ in 0..products {
        let base = |j: usize| mass * chain.fallback(j);
        let seen = Pass { chain, base, keep: 1.0 }.over(0..x.len(), &work.flow, x, &mut work.next);
        std::mem::swap(&mut work.flow, &mut work.next);
        mass = seen.dangling;
        weight *= 1.0 - alpha;
        work.mean.iter_mut().zip(&*x).for_each(|(mean, x)| *mean += weight * x);
    }
    let left = weight * (1.0 - alpha);
    let total = alpha / (1.0 - left);
    work.mean.iter_mut().for_each(|mean| *mean *= total);
    std::mem::swap(x, &mut work.mean);
    Certificate { error: 2.0 * left, products }
}

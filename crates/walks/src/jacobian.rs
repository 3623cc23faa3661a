/*!
The paper's computation of the gradient: the whole Jacobian dπ/dφ, p × m, by its own iteration (4.5 to 4.7).

```text
Π_0 = α dπ0/dφ + (1 − α) Σ_i π_i dp_i/dφ,   Π_{k+1} = Pᵀ Π_k,   dπ/dφ ≈ Σ_{k≤N} (1 − α)^k Π_k / (1 − (1 − α)^{N+1})
```

Kept as the reference implementation: the adjoint (module `walk`) gives the same gradient for 1/m of the work. [`Bounds`]
holds what lemma 2 needs to guarantee an error.
*/

use crate::chain::Dangling;
use crate::solve::{Stop, count};
use crate::transition::{Transition, row};
use crate::walk::{Solution, Solved};

/// Number of iterations of lemma 2 for an error δ of the gradient of the margin loss, in the ∞-norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lemma2 {
    /// Iterations for π.
    pub distribution: Stop,
    /// Iterations for dπ/dφ.
    pub jacobian: usize,
}

impl Lemma2 {
    /// `beta`: a bound on ‖Π_0‖₁ ([`Bounds`]); `pairs`: pairs of the largest list times 1 + the largest margin.
    pub fn new(alpha: f64, beta: f64, pairs: f64, delta: f64) -> Lemma2 {
        let ratio = beta * pairs / (alpha * delta);
        let distribution = Stop {
            error: alpha * delta / (12.0 * beta * pairs),
            iterations: Some(count(alpha, 24.0 * ratio)),
        };
        Lemma2 { distribution, jacobian: count(alpha, 8.0 * ratio) }
    }
}

/// Bounds on ‖Π_0‖₁, the largest sum of |entries| of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// At this φ.
    pub here: f64,
    /// Over the ball of radius R round the all-ones vector: A.11, with the largest Σ_j E_ij for the sum over i (π sums to
    /// 1) and the dangling rows that A.11 leaves out.
    pub ball: f64,
}

impl Solved<'_> {
    /// dπ/dφ of the k-th list, node after node, m numbers each; `iterations` as in (4.7).
    ///
    /// Cost: iterations × m multiplies an edge; two p × m matrices.
    pub fn jacobian(&self, k: usize, iterations: usize) -> Vec<f64> {
        let (solution, transition) = self.solution(k);
        let m = self.graphs().node_width() + self.graphs().edge_width();
        let alpha = self.walk().restart;
        let mut now = self.right_side(solution, transition, m);
        let mut sum = now.clone();
        let mut next = vec![0.0; now.len()];
        let mut weight = 1.0;
        for _ in 0..iterations {
            self.jacobian_product(solution, transition, m, &now, &mut next);
            std::mem::swap(&mut now, &mut next);
            weight *= 1.0 - alpha;
            sum.iter_mut().zip(&now).for_each(|(sum, now)| *sum += weight * now);
        }
        let total = 1.0 / (1.0 - weight * (1.0 - alpha));
        for sum in &mut sum {
            *sum *= total;
        }
        sum
    }

    /// ∂loss/∂φ as [`Solved::gradient`] gives it, by the Jacobian; reference.
    pub fn gradient_by_jacobian(
        &self,
        offsets: &[usize],
        nodes: &[u32],
        dpi: &[f64],
        iterations: usize,
        gradient: &mut [f64],
    ) {
        let m = gradient.len();
        for k in 0..self.len() {
            let first = self.solution(k).1.first;
            let jacobian = self.jacobian(k, iterations);
            for at in offsets[k]..offsets[k + 1] {
                let own = &jacobian[(nodes[at] as usize - first) * m..][..m];
                gradient.iter_mut().zip(own).for_each(|(sum, own)| *sum += dpi[at] * own);
            }
        }
    }

    /// Π_0.
    fn right_side(&self, solution: &Solution, transition: &Transition, m: usize) -> Vec<f64> {
        let graphs = self.graphs();
        let (alpha, m1) = (self.walk().restart, graphs.node_width());
        let (first, n) = (transition.first, solution.pi.len());
        let mut right = vec![0.0; n * m];
        let dangling: f64 = (0..n).filter(|&i| transition.sum[i] <= 0.0).map(|i| solution.pi[i]).sum();
        let restarting = match self.walk().dangling {
            Dangling::Restart => alpha + (1.0 - alpha) * dangling,
            Dangling::Uniform => alpha,
        };
        let seeds = graphs.seeds_of(solution.list);
        let total = self.sum_of_seeds(solution);
        for &seed in seeds {
            let i = seed as usize - first;
            let own = row(&graphs.node_features, seed as usize);
            for f in 0..m1 {
                right[i * m + f] +=
                    restarting * (f64::from(own[f]) - solution.restart[i] * total[f]) / solution.seeds;
            }
        }
        let sums = self.sums_of_edges(transition, n);
        let inward = graphs.graph.inward();
        let m2 = m - m1;
        let mut features = vec![0.0; m2];
        for j in 0..n {
            for edge in inward.range(first + j) {
                let i = inward.end(edge) as usize - first;
                if transition.sum[i] <= 0.0 {
                    continue;
                }
                self.edge_features(first + i, first + j, edge, &mut features);
                let step = transition.step[edge - transition.first_edge];
                let factor = (1.0 - alpha) * solution.pi[i] / transition.sum[i];
                for f in 0..m2 {
                    right[j * m + m1 + f] += factor * (features[f] - step * sums[i * m2 + f]);
                }
            }
        }
        right
    }

    /// Σ_{i∈U} V_i.
    fn sum_of_seeds(&self, solution: &Solution) -> Vec<f64> {
        let graphs = self.graphs();
        let mut total = vec![0.0; graphs.node_width()];
        for &seed in graphs.seeds_of(solution.list) {
            let own = row(&graphs.node_features, seed as usize);
            total.iter_mut().zip(own).for_each(|(total, own)| *total += f64::from(*own));
        }
        total
    }

    /// Σ_j E_ij of every node.
    fn sums_of_edges(&self, transition: &Transition, n: usize) -> Vec<f64> {
        let graphs = self.graphs();
        let m2 = graphs.edge_width();
        let mut sums = vec![0.0; n * m2];
        let mut features = vec![0.0; m2];
        let inward = graphs.graph.inward();
        for j in 0..n {
            for edge in inward.range(transition.first + j) {
                let i = inward.end(edge) as usize - transition.first;
                self.edge_features(transition.first + i, transition.first + j, edge, &mut features);
                sums[i * m2..(i + 1) * m2].iter_mut().zip(&features).for_each(|(sum, own)| *sum += own);
            }
        }
        sums
    }

    fn edge_features(&self, source: usize, target: usize, edge: usize, out: &mut [f64]) {
        let graphs = self.graphs();
        let own =
            if graphs.edge_features.own.width() > 0 { row(&graphs.edge_features.own, edge) } else { &[] };
        let ends = graphs.edge_features.ends && graphs.node_width() > 0;
        let (from, to) = if ends {
            (row(&graphs.node_features, source), row(&graphs.node_features, target))
        } else {
            (&[][..], &[][..])
        };
        let all = own.iter().chain(from).chain(to);
        out.iter_mut().zip(all).for_each(|(out, feature)| *out = f64::from(*feature));
    }

    fn jacobian_product(
        &self,
        solution: &Solution,
        transition: &Transition,
        m: usize,
        now: &[f64],
        next: &mut [f64],
    ) {
        let n = solution.pi.len();
        let mut lost = vec![0.0; m];
        for i in (0..n).filter(|&i| transition.sum[i] <= 0.0) {
            lost.iter_mut().zip(&now[i * m..(i + 1) * m]).for_each(|(lost, own)| *lost += own);
        }
        let inward = self.graphs().graph.inward();
        for j in 0..n {
            let fallback = match self.walk().dangling {
                Dangling::Restart => solution.restart[j],
                Dangling::Uniform => 1.0 / n as f64,
            };
            let out = &mut next[j * m..(j + 1) * m];
            out.iter_mut().zip(&lost).for_each(|(out, lost)| *out = fallback * lost);
            for edge in inward.range(transition.first + j) {
                let i = inward.end(edge) as usize - transition.first;
                let step = transition.step[edge - transition.first_edge];
                out.iter_mut().zip(&now[i * m..(i + 1) * m]).for_each(|(out, own)| *out += step * own);
            }
        }
    }

    /// The largest bounds of all lists; `radius` is R of the ball.
    pub fn bounds(&self, radius: f64) -> Bounds {
        let alpha = self.walk().restart;
        let mut all = Bounds { here: 0.0, ball: 0.0 };
        for (solution, transition) in self.walks() {
            let n = solution.pi.len();
            let restarts = self.walk().dangling == Dangling::Restart;
            let dangling = restarts && transition.sum.iter().any(|sum| *sum <= 0.0);
            let fraction = if dangling { 1.0 } else { alpha };
            let total = self.sum_of_seeds(solution);
            let mut here = fraction * at_point(&total, solution.seeds);
            let mut ball = fraction * in_ball(&total, radius);
            let m2 = self.graphs().edge_width();
            let sums = self.sums_of_edges(transition, n);
            let rows = (0..n).filter(|&i| transition.sum[i] > 0.0 && m2 > 0);
            let (mut most_here, mut most_ball) = (0f64, 0f64);
            for i in rows {
                let own = &sums[i * m2..(i + 1) * m2];
                most_here = most_here.max(at_point(own, transition.sum[i]));
                most_ball = most_ball.max(in_ball(own, radius));
            }
            here += (1.0 - alpha) * most_here;
            ball += (1.0 - alpha) * most_ball;
            all = Bounds { here: all.here.max(here), ball: all.ball.max(ball) };
        }
        all
    }
}

/// ‖d(w/Σw)/dφ‖₁ ≤ 2 max_f x_f / ⟨φ, x⟩ with x the sum of the features.
fn at_point(x: &[f64], weight: f64) -> f64 {
    2.0 * x.iter().copied().fold(0.0, f64::max) / weight
}

/// B(x) = 2 (⟨1,x⟩ + R‖x‖₂) / (⟨1,x⟩ − R‖x‖₂)² max_f x_f.
fn in_ball(x: &[f64], radius: f64) -> f64 {
    let sum: f64 = x.iter().sum();
    let reach = radius * x.iter().map(|x| x * x).sum::<f64>().sqrt();
    if sum <= 0.0 {
        return 0.0;
    }
    2.0 * (sum + reach) / (sum - reach).powi(2) * x.iter().copied().fold(0.0, f64::max)
}

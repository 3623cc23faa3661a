/*!
Gauss–Seidel that preserves the total mass.

With dangling mass that restarts, the rows of dangling nodes are dropped and the solution of

```text
x = α v + (1 − α) P̂ᵀ x
```

is the stationary distribution up to a factor. A sweep computes every node from the newest values; then x is scaled so
that its mass is the one that follows from the equation,

```text
s = α / (α Σx + (1 − α) D(x)),
```

because the factor, which is not needed, would converge last. On some graphs (long chains) scaling can keep the sweeps from
converging; so it is switched off for good once a sweep changes more than 1 − α of what the sweep before did (Gauss–Seidel
without scaling converges at least that fast in the end), and if the error is still too large after the number of
iterations that the power method needs, the power method takes over. With Δ the change of the sweep, the residual at the
new point has 1-norm ≤ (1 − α)‖Δ‖₁ (only values that were not the newest contribute), after scaling
≤ s(1 − α)‖Δ‖₁ + |1 − s| α, the distance to the solution is at most that divided by α, and normalising costs a factor 2:

```text
‖error‖₁ ≤ 2 (s (1 − α) ‖Δ‖₁ + |1 − s| α) / (α Σx)
```

Where dangling mass goes elsewhere (`Uniform`) it enters with its value before the sweep, and the same argument bounds the
error by (s (1 − α)(‖Δ‖₁ + |ΔD|) + |1 − s| …) / α.

A small chain is swept node by node. A large one is divided into [`STAGES`] stages of about equal work: the nodes of a stage
are computed in parallel from the newest values of all other stages. The stages do not depend on threads, so neither do
the bytes; they cost about one sweep more than node by node.
*/

use rayon::prelude::*;

use crate::chain::{BLOCK, Chain, Dangling, LARGE, Sweep, SweepSums, block_sum, partition};
use crate::solve::{Certificate, Stop, Work, power};

/// Stages of a sweep over a large chain.
const STAGES: usize = 8;

/// Solves and normalises.
pub(crate) fn solve(chain: &Chain, stop: Stop, work: &mut Work, x: &mut [f64]) -> Certificate {
    let outside = Outside { mass: 0.0, dangling: 0.0, base: chain.alpha };
    let mut certificate = solve_inside(chain, outside, stop, work, x);
    let mass = block_sum(chain.nodes(), |i| x[i]);
    x.par_chunks_mut(BLOCK).for_each(|chunk| chunk.iter_mut().for_each(|x| *x /= mass));
    if certificate.error > stop.error && stop.iterations.is_none() {
        let rest = power(chain, stop, work, x);
        certificate = Certificate { error: rest.error, iterations: certificate.iterations + rest.iterations };
    }
    certificate
}

/// Sums over the nodes that are not in the chain, whose values are known (module `peel`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outside {
    /// Σ of their values.
    pub mass: f64,
    /// The part of it on dangling nodes.
    pub dangling: f64,
    /// 1-norm of the constant part of the equation inside: α where nothing is outside.
    pub base: f64,
}

/// Solves for the nodes of the chain, given the sums over all other nodes. The result is not normalised.
pub(crate) fn solve_inside(
    chain: &Chain,
    outside: Outside,
    stop: Stop,
    work: &mut Work,
    x: &mut [f64],
) -> Certificate {
    let (alpha, n) = (chain.alpha, chain.nodes());
    let most = stop.most(alpha).max(1);
    let stages = stages(chain);
    let restarts = chain.dangling == Dangling::Restart;
    chain.flow(x, &mut work.flow);
    let mut dangling = if restarts { 0.0 } else { chain.dangling_mass(x) };
    let mut certificate = Certificate { error: 2.0, iterations: 0 };
    let (mut keeps_mass, mut before) = (true, f64::INFINITY);
    // The values are `unit` times those in x: scaling them is one multiplication.
    let mut unit = 1.0;
    while certificate.iterations < most && certificate.error > stop.error {
        let uniform = if restarts { 0.0 } else { (1.0 - alpha) * dangling / n as f64 };
        let (own, shared) = (alpha / unit, uniform / unit);
        let base = |j: usize| own * chain.restart[j] + shared;
        let sweep = Sweep { chain, base, keep: 1.0 - alpha };
        let sums = if stages.len() == 2 {
            sweep_in_place(&sweep, &mut work.flow, x)
        } else {
            sweep_by_stage(&sweep, &stages, work, x)
        };
        let [moved, mass, ends] = [sums.change, sums.mass, sums.dangling].map(|sum| sum * unit);
        let change = moved / mass;
        keeps_mass &= certificate.iterations < 3 || change <= (1.0 - alpha) * before;
        before = change;
        let scale = if !keeps_mass {
            1.0
        } else if restarts {
            let wanted = alpha - alpha * outside.mass - (1.0 - alpha) * outside.dangling;
            wanted / (alpha * mass + (1.0 - alpha) * ends)
        } else {
            1.0 / mass
        };
        unit *= scale;
        let missed = if restarts { 0.0 } else { (ends - dangling).abs() };
        dangling = ends * scale;
        let left = scale * (1.0 - alpha) * (moved + missed) + (1.0 - scale).abs() * outside.base;
        certificate.error = 2.0 * left / (alpha * (mass * scale + outside.mass));
        certificate.iterations += 1;
    }
    x.par_chunks_mut(BLOCK).for_each(|chunk| chunk.iter_mut().for_each(|x| *x *= unit));
    certificate
}

/// First nodes of the stages, and the end.
fn stages(chain: &Chain) -> Vec<usize> {
    let n = chain.nodes();
    if chain.edges() < LARGE {
        return vec![0, n];
    }
    let offsets = chain.offsets();
    let cost = |i: usize| (offsets[i] - offsets[0]) as usize + i;
    let mut cuts: Vec<usize> =
        (0..STAGES).map(|stage| partition(0..n, |i| cost(i) < cost(n) / STAGES * stage)).collect();
    cuts.push(n);
    cuts.dedup();
    cuts
}

fn sweep_in_place(sweep: &Sweep<impl Fn(usize) -> f64 + Sync>, flow: &mut [f64], x: &mut [f64]) -> SweepSums {
    let Sweep { chain, base, keep } = sweep;
    let mut sums = SweepSums::default();
    for j in 0..x.len() {
        let value = base(j) + keep * chain.pull::<false>(j, flow);
        flow[j] = sums.node(value, chain.scale[j], &mut x[j]);
    }
    sums
}

fn sweep_by_stage(
    sweep: &Sweep<impl Fn(usize) -> f64 + Sync>,
    stages: &[usize],
    work: &mut Work,
    x: &mut [f64],
) -> SweepSums {
    let Work { flow, next, .. } = work;
    let mut sums = SweepSums::default();
    for stage in stages.windows(2) {
        let range = stage[0]..stage[1];
        let next = &mut next[range.clone()];
        sums = sums + sweep.over(range.clone(), flow, &mut x[range.clone()], next);
        let newest = flow[range].par_chunks_mut(BLOCK).zip(next.par_chunks(BLOCK));
        newest.for_each(|(flow, next)| flow.copy_from_slice(next));
    }
    sums
}

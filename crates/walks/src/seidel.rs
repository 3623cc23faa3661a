/*!
Gauss–Seidel that keeps the mass.

With dangling mass that restarts, the rows of dangling nodes are dropped and the solution of

```text
x = α v + (1 − α) P̂ᵀ x
```

is the answer but for its length. A sweep computes every node from the newest values there are; then x is scaled so that
its mass is what the equation says it must be,

```text
s = α / (α Σx + (1 − α) D(x)),
```

without which the length, which no one needs, converges last of all. On graphs where mass only passes through, scaling can
throw the sweeps back for ever; so it ends for good once a sweep changes more than 1 − α of what the sweep before did
(plain Gauss–Seidel converges at least that fast in the end), and whatever is still missing when the power method would
have been done is left to the power method. With Δ the change of the sweep, what is left over at
the new point has 1-norm ≤ (1 − α)‖Δ‖₁ (only values that were not the newest err), after scaling
≤ s(1 − α)‖Δ‖₁ + |1 − s| α, the solution is no further than that over α, and normalising costs a factor 2:

```text
‖error‖₁ ≤ 2 (s (1 − α) ‖Δ‖₁ + |1 − s| α) / (α Σx)
```

Where dangling mass goes elsewhere (`Uniform`) it enters with its value before the sweep, and the same argument bounds the
error by (s (1 − α)(‖Δ‖₁ + |ΔD|) + |1 − s| …) / α.

A small chain is swept node by node. A large one is cut into [`STAGES`] stages of about equal work: the nodes of a stage
are computed in parallel from the newest values of all other stages. The stages do not depend on threads, so neither do
the bytes; they cost about one sweep more than node by node.
*/

use rayon::prelude::*;
use toprank_core::ordered_sum;

use crate::chain::{BLOCK, Chain, Dangling, block_sum};
use crate::solve::{Certificate, Stop, Work, power};

/// Stages of a sweep over a large chain.
const STAGES: usize = 8;
/// Edges from which a chain is large.
const LARGE: usize = 1 << 18;

/// What a sweep has seen.
#[derive(Clone, Copy, Default)]
struct Seen {
    change: f64,
    mass: f64,
    dangling: f64,
}

/// Solves and normalises.
pub(crate) fn solve(chain: &Chain, stop: Stop, work: &mut Work, x: &mut Vec<f64>) -> Certificate {
    let outside = Outside { mass: 0.0, dangling: 0.0, base: chain.alpha };
    let mut certificate = solve_inside(chain, outside, stop, work, x);
    let mass = block_sum(chain.nodes(), |i| x[i]);
    for x in x.iter_mut() {
        *x /= mass;
    }
    if certificate.error > stop.error && stop.products.is_none() {
        let rest = power(chain, stop, work, x);
        certificate = Certificate { error: rest.error, products: certificate.products + rest.products };
    }
    certificate
}

/// What is known of the nodes that are not in the chain: their values are fixed (module `peel`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outside {
    /// Σ of their values.
    pub mass: f64,
    /// Of it, on dangling nodes.
    pub dangling: f64,
    /// 1-norm of the constant part of the equation inside: α where nothing is outside.
    pub base: f64,
}

/// Solves for the nodes of the chain, beside others that are known. Not normalised.
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
    work.flow.iter_mut().zip(&*x).zip(chain.scale).for_each(|((flow, x), scale)| *flow = x * scale);
    let mut dangling = if restarts { 0.0 } else { chain.dangling_mass(x) };
    let mut certificate = Certificate { error: 2.0, products: 0 };
    let (mut keeps_mass, mut before) = (true, f64::INFINITY);
    while certificate.products < most && certificate.error > stop.error {
        let base = |j: usize| {
            let own = alpha * chain.restart[j];
            if restarts { own } else { own + (1.0 - alpha) * dangling / n as f64 }
        };
        let seen = if stages.len() == 2 {
            sweep_in_place(chain, &base, &mut work.flow, x)
        } else {
            sweep_by_stage(chain, &stages, &base, work, x)
        };
        let change = seen.change / seen.mass;
        keeps_mass &= certificate.products < 3 || change <= (1.0 - alpha) * before;
        before = change;
        let scale = if !keeps_mass {
            1.0
        } else if restarts {
            let wanted = alpha - alpha * outside.mass - (1.0 - alpha) * outside.dangling;
            wanted / (alpha * seen.mass + (1.0 - alpha) * seen.dangling)
        } else {
            1.0 / seen.mass
        };
        let rest = |values: &mut [f64]| {
            values.par_chunks_mut(BLOCK).for_each(|chunk| chunk.iter_mut().for_each(|value| *value *= scale));
        };
        rest(x);
        rest(&mut work.flow);
        let missed = if restarts { 0.0 } else { (seen.dangling - dangling).abs() };
        dangling = if restarts { 0.0 } else { seen.dangling * scale };
        let left = scale * (1.0 - alpha) * (seen.change + missed) + (1.0 - scale).abs() * outside.base;
        certificate.error = 2.0 * left / (alpha * (seen.mass * scale + outside.mass));
        certificate.products += 1;
    }
    certificate
}

/// First nodes of the stages, and the end.
fn stages(chain: &Chain) -> Vec<usize> {
    let n = chain.nodes();
    if chain.edges() < LARGE {
        return vec![0, n];
    }
    let offsets = &chain.inward.offsets[chain.first..=chain.first + n];
    let cost = |i: usize| (offsets[i] - offsets[0]) as usize + i;
    let mut cuts: Vec<usize> = (0..=STAGES)
        .map(|stage| {
            let wanted = cost(n) / STAGES * stage;
            offsets.iter().enumerate().position(|(i, _)| cost(i) >= wanted).unwrap_or(n)
        })
        .collect();
    cuts[STAGES] = n;
    cuts.dedup();
    cuts
}

fn sweep_in_place(chain: &Chain, base: &dyn Fn(usize) -> f64, flow: &mut [f64], x: &mut [f64]) -> Seen {
    let mut seen = Seen::default();
    for j in 0..x.len() {
        let value = base(j) + (1.0 - chain.alpha) * chain.pull(j, flow);
        seen.change += (value - x[j]).abs();
        seen.mass += value;
        if chain.scale[j] == 0.0 {
            seen.dangling += value;
        }
        x[j] = value;
        flow[j] = value * chain.scale[j];
    }
    seen
}

fn sweep_by_stage(
    chain: &Chain,
    stages: &[usize],
    base: &(dyn Fn(usize) -> f64 + Sync),
    work: &mut Work,
    x: &mut [f64],
) -> Seen {
    let Work { flow, next, .. } = work;
    let mut sums: [Vec<f64>; 3] = Default::default();
    for stage in stages.windows(2) {
        let range = stage[0]..stage[1];
        let next = &mut next[range.clone()];
        let newest = &*flow;
        chain.by_block(range.clone(), next, &|j, next: &mut f64| {
            *next = base(j) + (1.0 - chain.alpha) * chain.pull(j, newest);
        });
        let parts: Vec<Seen> = next
            .par_chunks(BLOCK)
            .zip(x[range.clone()].par_chunks_mut(BLOCK))
            .zip(flow[range.clone()].par_chunks_mut(BLOCK))
            .zip(chain.scale[range].par_chunks(BLOCK))
            .map(|(((next, x), flow), scale)| {
                let mut seen = Seen::default();
                for (((next, x), flow), scale) in next.iter().zip(x).zip(flow).zip(scale) {
                    seen.change += (next - *x).abs();
                    seen.mass += next;
                    if *scale == 0.0 {
                        seen.dangling += next;
                    }
                    *x = *next;
                    *flow = next * scale;
                }
                seen
            })
            .collect();
        sums[0].extend(parts.iter().map(|part| part.change));
        sums[1].extend(parts.iter().map(|part| part.mass));
        sums[2].extend(parts.iter().map(|part| part.dangling));
    }
    let [change, mass, dangling] = sums.map(|sums| ordered_sum(&sums));
    Seen { change, mass, dangling }
}

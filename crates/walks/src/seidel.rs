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

use crate::chain::{BLOCK, Chain, Dangling, LARGE, Pass, Seen, block_sum, partition};
use crate::solve::{Certificate, Stop, Work, power};

/// Stages of a sweep over a large chain.
const STAGES: usize = 8;

/// Solves and normalises.
pub(crate) fn solve(chain: &Chain, stop: Stop, work: &mut Work, x: &mut [f64]) -> Certificate {
    let outside = Outside { mass: 0.0, dangling: 0.0, base: chain.alpha };
    let mut certificate = solve_inside(chain, outside, stop, work, x);
    let mass = block_sum(chain.nodes(), |i| x[i]);
    x.par_chunks_mut(BLOCK).for_each(|chunk| chunk.iter_mut().for_each(|x| *x /= mass));
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
    chain.flow(x, &mut work.flow);
    let mut dangling = if restarts { 0.0 } else { chain.dangling_mass(x) };
    let mut certificate = Certificate { error: 2.0, products: 0 };
    let (mut keeps_mass, mut before) = (true, f64::INFINITY);
    // The values are `unit` times those in x: scaling them is one multiplication.
    let mut unit = 1.0;
    while certificate.products < most && certificate.error > stop.error {
        let uniform = if restarts { 0.0 } else { (1.0 - alpha) * dangling / n as f64 };
        let (own, shared) = (alpha / unit, uniform / unit);
        let base = |j: usize| own * chain.restart[j] + shared;
        let pass = Pass { chain, base, keep: 1.0 - alpha };
        let seen = if stages.len() == 2 {
            sweep_in_place(&pass, &mut work.flow, x)
        } else {
            sweep_by_stage(&pass, &stages, work, x)
        };
        let [moved, mass, ends] = [seen.change, seen.mass, seen.dangling].map(|sum| sum * unit);
        let change = moved / mass;
        keeps_mass &= certificate.products < 3 || change <= (1.0 - alpha) * before;
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
        certificate.products += 1;
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

fn sweep_in_place(pass: &Pass<impl Fn(usize) -> f64 + Sync>, flow: &mut [f64], x: &mut [f64]) -> Seen {
    let Pass { chain, base, keep } = pass;
    let mut seen = Seen::default();
    for j in 0..x.len() {
        let value = base(j) + keep * chain.pull::<false>(j, flow);
        flow[j] = seen.node(value, chain.scale[j], &mut x[j]);
    }
    seen
}

fn sweep_by_stage(
    pass: &Pass<impl Fn(usize) -> f64 + Sync>,
    stages: &[usize],
    work: &mut Work,
    x: &mut [f64],
) -> Seen {
    let Work { flow, next, .. } = work;
    let mut seen = Seen::default();
    for stage in stages.windows(2) {
        let range = stage[0]..stage[1];
        let next = &mut next[range.clone()];
        seen = seen + pass.over(range.clone(), flow, &mut x[range.clone()], next);
        let newest = flow[range].par_chunks_mut(BLOCK).zip(next.par_chunks(BLOCK));
        newest.for_each(|(flow, next)| flow.copy_from_slice(next));
    }
    seen
}

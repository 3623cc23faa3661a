/*!
The Markov chain of a random walk: transitions, restarts, and what happens at dangling nodes.

```text
x = α v + (1 − α) (P̂ᵀ x + D(x) u)
```

P̂ has the rows of the nodes with out-edges, D(x) is the probability mass on the others (dangling nodes), v the restart
distribution, u the distribution to which dangling mass goes: v itself ([`Dangling::Restart`], the paper's rule) or the
uniform one.
*/

use rayon::prelude::*;
use toprank_core::ordered_sum;
use toprank_data::graph::{Adjacency, Ends};

/// Where a walk goes from a dangling node: one without out-edges, or whose out-edges all have weight 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dangling {
    /// It restarts: as if the node pointed at the seeds.
    #[default]
    Restart,
    /// To every node with the same probability.
    Uniform,
}

/// Weights of edges.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weights<'a> {
    /// All the same.
    Even,
    /// By position among the edges into their targets.
    Single(&'a [f32]),
    /// Probabilities, from this position on.
    Double(&'a [f64], usize),
}

/// A chain over the nodes `first..first + restart.len()` of an adjacency; x_i is multiplied by `scale[i]` before it
/// flows along the edges of node i.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain<'a> {
    /// Sources of the edges into each node, by node of the whole graph.
    pub inward: &'a Adjacency,
    /// First node of this chain.
    pub first: usize,
    pub weights: Weights<'a>,
    /// Factor of the mass at node i before it flows along its edges; 0 at dangling nodes.
    pub scale: &'a [f64],
    /// Sums to 1.
    pub restart: &'a [f64],
    pub alpha: f64,
    pub dangling: Dangling,
}

/// Edges that one task pulls along.
pub(crate) const BLOCK_EDGES: usize = 1 << 15;
/// Numbers that one task adds up or copies.
pub(crate) const BLOCK: usize = 1 << 14;
/// Sources are prefetched this many edges ahead, so that a gather waits less for memory (`bench/walks/README.md`).
const AHEAD: usize = 64;
/// Number of edges from which a chain is large: the flows no longer fit into a core's cache.
pub(crate) const LARGE: usize = 1 << 18;

/// Sums over the nodes that a sweep computed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SweepSums {
    /// Σ |new − old value|.
    pub change: f64,
    /// Σ of the new values.
    pub mass: f64,
    /// Of it, on dangling nodes.
    pub dangling: f64,
}

impl SweepSums {
    /// Sets x to its new value and returns what then flows out of it.
    #[inline]
    pub(crate) fn node(&mut self, value: f64, scale: f64, x: &mut f64) -> f64 {
        self.change += (value - *x).abs();
        self.mass += value;
        if scale == 0.0 {
            self.dangling += value;
        }
        *x = value;
        value * scale
    }
}

impl std::ops::Add for SweepSums {
    type Output = SweepSums;

    fn add(self, other: SweepSums) -> SweepSums {
        SweepSums {
            change: self.change + other.change,
            mass: self.mass + other.mass,
            dangling: self.dangling + other.dangling,
        }
    }
}

/// One sweep over the nodes: x_j = base(j) + keep · (what flows into j).
pub(crate) struct Sweep<'a, B: Fn(usize) -> f64 + Sync> {
    pub chain: &'a Chain<'a>,
    pub base: B,
    pub keep: f64,
}

impl Chain<'_> {
    /// Number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.restart.len()
    }

    /// Number of edges.
    pub(crate) fn edges(&self) -> usize {
        let offsets = self.offsets();
        (offsets[self.nodes()] - offsets[0]) as usize
    }

    /// Where the edges into each node start, and the last ones end.
    pub(crate) fn offsets(&self) -> &[u32] {
        &self.inward.offsets[self.first..=self.first + self.nodes()]
    }

    /// What flows into node `j`, given what flows out of each node along an edge of weight 1.
    #[inline]
    pub(crate) fn pull<const FAR: bool>(&self, j: usize, flow: &[f64]) -> f64 {
        let range = self.inward.range(self.first + j);
        let last = self.inward.offsets[self.inward.nodes()] as usize;
        let needed = range.start..if FAR { (range.end + AHEAD).min(last) } else { range.end };
        match self.inward.ends(needed) {
            Ends::Own(sources) => self.sum::<FAR, _>(range, sources, |source| *source, flow),
            Ends::Mapped(sources) => {
                self.sum::<FAR, _>(range, sources, |bytes| u32::from_le_bytes(*bytes), flow)
            }
        }
    }

    /// Over the edges of `range`; `sources` are theirs and, if `FAR`, some that follow.
    #[inline]
    fn sum<const FAR: bool, T>(
        &self,
        range: std::ops::Range<usize>,
        sources: &[T],
        number: impl Fn(&T) -> u32,
        flow: &[f64],
    ) -> f64 {
        let index = |source: &T| number(source).wrapping_sub(self.first as u32) as usize;
        let from = |k: usize| {
            if FAR && let Some(flow) = sources.get(k + AHEAD).and_then(|source| flow.get(index(source))) {
                prefetch(flow);
            }
            flow[index(&sources[k])]
        };
        match self.weights {
            Weights::Even => pair_sum(range.len(), from),
            Weights::Single(weights) => {
                let weights = &weights[range];
                pair_sum(weights.len(), |k| from(k) * f64::from(weights[k]))
            }
            Weights::Double(weights, start) => {
                let weights = &weights[range.start - start..range.end - start];
                pair_sum(weights.len(), |k| from(k) * weights[k])
            }
        }
    }

    /// Mass on dangling nodes.
    pub(crate) fn dangling_mass(&self, x: &[f64]) -> f64 {
        block_sum(x.len(), |i| if self.scale[i] == 0.0 { x[i] } else { 0.0 })
    }

    /// Fraction of the dangling mass that goes to node i.
    #[inline]
    pub(crate) fn fallback(&self, i: usize) -> f64 {
        match self.dangling {
            Dangling::Restart => self.restart[i],
            Dangling::Uniform => 1.0 / self.nodes() as f64,
        }
    }

    /// What flows out of each node along an edge of weight 1.
    pub(crate) fn flow(&self, x: &[f64], flow: &mut [f64]) {
        flow.par_chunks_mut(BLOCK).zip(x.par_chunks(BLOCK)).zip(self.scale.par_chunks(BLOCK)).for_each(
            |((flow, x), scale)| {
                flow.iter_mut().zip(x).zip(scale).for_each(|((flow, x), scale)| *flow = x * scale);
            },
        );
    }
}

impl<B: Fn(usize) -> f64 + Sync> Sweep<'_, B> {
    /// Computes the nodes of `range` from `flow`; `x` and `next`, what will flow out of them, belong to the range. Cut by
    /// edges over the threads; each number is computed by itself and the cuts are those of the graph, so the bytes do not
    /// depend on threads.
    pub(crate) fn over(
        &self,
        range: std::ops::Range<usize>,
        flow: &[f64],
        x: &mut [f64],
        next: &mut [f64],
    ) -> SweepSums {
        let offsets = self.chain.offsets();
        let cost = |i: usize| offsets[i] as usize + i;
        if range.len() < 2 || cost(range.end) - cost(range.start) <= BLOCK_EDGES {
            let is_large = self.chain.edges() >= LARGE;
            return if is_large {
                self.run::<true>(range, flow, x, next)
            } else {
                self.run::<false>(range, flow, x, next)
            };
        }
        // In halves of about equal work; one node is never cut.
        let wanted = usize::midpoint(cost(range.start), cost(range.end));
        let middle = partition(range.clone(), |i| cost(i) < wanted).clamp(range.start + 1, range.end - 1);
        let (x_left, x_right) = x.split_at_mut(middle - range.start);
        let (next_left, next_right) = next.split_at_mut(middle - range.start);
        let (left, right) = rayon::join(
            || self.over(range.start..middle, flow, x_left, next_left),
            || self.over(middle..range.end, flow, x_right, next_right),
        );
        left + right
    }

    fn run<const FAR: bool>(
        &self,
        range: std::ops::Range<usize>,
        flow: &[f64],
        x: &mut [f64],
        next: &mut [f64],
    ) -> SweepSums {
        let Sweep { chain, base, keep } = self;
        let mut sums = SweepSums::default();
        for ((j, x), next) in range.zip(x).zip(next) {
            let value = base(j) + keep * chain.pull::<FAR>(j, flow);
            *next = sums.node(value, chain.scale[j], x);
        }
        sums
    }
}

/// Two sums at once: an addition does not wait for the last one.
#[inline]
fn pair_sum(n: usize, part: impl Fn(usize) -> f64) -> f64 {
    let mut sums = [0.0; 2];
    for k in (1..n).step_by(2) {
        sums[0] += part(k - 1);
        sums[1] += part(k);
    }
    if n % 2 == 1 {
        sums[0] += part(n - 1);
    }
    sums[0] + sums[1]
}

/// Prefetches a value that will be needed soon.
#[inline]
fn prefetch(value: &f64) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint about an address; it reads nothing, and the address is that of an existing value.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// The first index of a range for which `before` is false.
pub(crate) fn partition(range: std::ops::Range<usize>, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = usize::midpoint(low, high);
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Σ of `value(i)` for i below `n`: blocks of a fixed size, added in order.
pub(crate) fn block_sum(n: usize, value: impl Fn(usize) -> f64 + Sync) -> f64 {
    let blocks = n.div_ceil(BLOCK);
    let of = |block: usize| {
        let range = block * BLOCK..((block + 1) * BLOCK).min(n);
        range.map(&value).sum::<f64>()
    };
    let sums: Vec<f64> = if blocks < 4 {
        (0..blocks).map(of).collect()
    } else {
        (0..blocks).into_par_iter().map(of).collect()
    };
    ordered_sum(&sums)
}

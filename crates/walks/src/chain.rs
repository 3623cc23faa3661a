/*!
One walk as numbers: who is reached from where, where walks start, and where those go that cannot go on.

```text
x = α v + (1 − α) (P̂ᵀ x + D(x) u)
```

P̂ has the rows of nodes that can go on, D(x) is the mass on the others (dangling nodes), v the restart, u where dangling
mass goes: v itself ([`Dangling::Restart`], the paper's rule) or every node alike.
*/

use rayon::prelude::*;
use toprank_core::ordered_sum;
use toprank_data::graph::{Adjacency, Ends};

/// Where a walk goes from a node without out-edges (or whose out-edges all weigh 0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dangling {
    /// It restarts: as if the node pointed at the seeds.
    #[default]
    Restart,
    /// To any node alike.
    Uniform,
}

/// What an edge weighs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weights<'a> {
    /// All the same.
    Even,
    /// By place among the edges into their targets.
    Single(&'a [f32]),
    /// Probabilities, from this place on.
    Double(&'a [f64], usize),
}

/// A chain over the nodes `first..first + restart.len()` of an adjacency; x_i is divided by what `scale` says before it
/// flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain<'a> {
    /// Sources of the edges into each node, by node of the whole graph.
    pub inward: &'a Adjacency,
    /// First node of this chain.
    pub first: usize,
    pub weights: Weights<'a>,
    /// What mass at node i is multiplied with before it flows along its edges; 0 at dangling nodes.
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

impl Chain<'_> {
    /// Number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.restart.len()
    }

    /// Number of edges.
    pub(crate) fn edges(&self) -> usize {
        let offsets = &self.inward.offsets;
        (offsets[self.first + self.nodes()] - offsets[self.first]) as usize
    }

    /// What flows into node `j`, given what flows out of each along an edge of weight 1.
    #[inline]
    pub(crate) fn pull(&self, j: usize, flow: &[f64]) -> f64 {
        let range = self.inward.range(self.first + j);
        match self.inward.ends(range.clone()) {
            Ends::Own(sources) => self.sum(range, sources, |source| *source, flow),
            Ends::Mapped(sources) => self.sum(range, sources, |bytes| u32::from_le_bytes(*bytes), flow),
        }
    }

    #[inline]
    fn sum<T>(
        &self,
        range: std::ops::Range<usize>,
        sources: &[T],
        number: impl Fn(&T) -> u32,
        flow: &[f64],
    ) -> f64 {
        let first = self.first as u32;
        let from = |source: &T| flow[(number(source) - first) as usize];
        // Two sums at once: the next gather does not wait for the last addition.
        let mut sums = [0.0; 2];
        match self.weights {
            Weights::Even => {
                let (pairs, rest) = sources.as_chunks::<2>();
                for pair in pairs {
                    sums[0] += from(&pair[0]);
                    sums[1] += from(&pair[1]);
                }
                for source in rest {
                    sums[0] += from(source);
                }
            }
            Weights::Single(weights) => {
                for (source, &weight) in sources.iter().zip(&weights[range]) {
                    sums[0] += from(source) * f64::from(weight);
                }
            }
            Weights::Double(weights, start) => {
                for (source, &weight) in sources.iter().zip(&weights[range.start - start..range.end - start])
                {
                    sums[0] += from(source) * weight;
                }
            }
        }
        sums[0] + sums[1]
    }

    /// Mass on dangling nodes.
    pub(crate) fn dangling_mass(&self, x: &[f64]) -> f64 {
        block_sum(x.len(), |i| if self.scale[i] == 0.0 { x[i] } else { 0.0 })
    }

    /// Where dangling mass goes, as a share for node i.
    #[inline]
    pub(crate) fn fallback(&self, i: usize) -> f64 {
        match self.dangling {
            Dangling::Restart => self.restart[i],
            Dangling::Uniform => 1.0 / self.nodes() as f64,
        }
    }

    /// `next = Pᵀ x`, dangling mass included; `flow` is room for as many numbers. Each number is computed by itself, so
    /// the bytes do not depend on how the nodes are cut.
    pub(crate) fn product(&self, x: &[f64], flow: &mut [f64], next: &mut [f64]) {
        let mass = self.dangling_mass(x);
        flow.par_chunks_mut(BLOCK).zip(x.par_chunks(BLOCK)).zip(self.scale.par_chunks(BLOCK)).for_each(
            |((flow, x), scale)| {
                flow.iter_mut().zip(x).zip(scale).for_each(|((flow, x), scale)| *flow = x * scale);
            },
        );
        let flow = &*flow;
        self.by_block(0..self.nodes(), next, &|j, next: &mut f64| {
            *next = self.pull(j, flow) + mass * self.fallback(j);
        });
    }

    /// Calls `set` for every node of `range`, cut by edges over the threads; `out` belongs to the range.
    pub(crate) fn by_block(
        &self,
        range: std::ops::Range<usize>,
        out: &mut [f64],
        set: &(impl Fn(usize, &mut f64) + Sync),
    ) {
        let offsets = &self.inward.offsets[self.first..=self.first + self.nodes()];
        let cost = |i: usize| offsets[i] as usize + i;
        if cost(range.end) - cost(range.start) <= BLOCK_EDGES {
            range.zip(out).for_each(|(j, out)| set(j, out));
            return;
        }
        // In halves of about equal work; one node is never cut.
        let wanted = usize::midpoint(cost(range.start), cost(range.end));
        let mut middle = partition(range.clone(), |i| cost(i) < wanted);
        middle = middle.clamp(range.start + 1, range.end.max(range.start + 2) - 1);
        if middle >= range.end {
            range.zip(out).for_each(|(j, out)| set(j, out));
            return;
        }
        let (left, right) = out.split_at_mut(middle - range.start);
        rayon::join(
            || self.by_block(range.start..middle, left, set),
            || self.by_block(middle..range.end, right, set),
        );
    }
}

/// The first place of a range for which `before` is not true.
fn partition(range: std::ops::Range<usize>, before: impl Fn(usize) -> bool) -> usize {
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

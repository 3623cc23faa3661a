/*!
Nodes without in-edges need no solver: x_i = α v_i, and what they contribute to their targets is a constant.

In web graphs most nodes are like that. The remaining core (nodes with an edge into them, and the edges between
such nodes) is solved alone,

```text
x_C = b + (1 − α) P̂_CCᵀ x_C,   b_j = α v_j + (1 − α) Σ_{i outside, i → j} P̂_ij α v_i,
```

with the mass outside in the scale and ‖b‖₁ in place of α in the bound (module `seidel`). It pays if at most a fraction
[`WORTH`] of the edges is left: extracting the core costs about as much as three iterations.
*/

use rayon::prelude::*;
use toprank_data::graph::Adjacency;

use crate::chain::{BLOCK, Chain, Dangling, Weights, block_sum};
use crate::seidel::{Outside, solve_inside};
use crate::solve::{Certificate, Stop, Work};

/// Largest fraction of edges inside the core for which it is extracted.
const WORTH: f64 = 0.4;

/// Of a run of nodes: number of edges each, their sources, their weights, b / α.
type Part = (Vec<u32>, Vec<u32>, Vec<f32>, Vec<f64>);

/// The core of a chain.
pub(crate) struct Core {
    /// Nodes of the chain that are in it, ascending.
    nodes: Vec<u32>,
    inward: Adjacency,
    weights: Option<Vec<f32>>,
    scale: Vec<f64>,
    /// b / α.
    base: Vec<f64>,
    outside: Outside,
}

impl Core {
    /// The core, if it is small enough to pay.
    pub(crate) fn of(chain: &Chain, out_degree: &[u32]) -> Option<Core> {
        let (n, alpha) = (chain.nodes(), chain.alpha);
        let offsets = chain.offsets();
        let edges = chain.edges();
        let plain = chain.first == 0 && !matches!(chain.weights, Weights::Double(..));
        if !plain || chain.dangling != Dangling::Restart || edges < 1 << 16 || alpha >= 1.0 {
            return None;
        }
        let is_inside = |i: usize| offsets[i + 1] > offsets[i];
        // Edges out of the nodes inside, counted before anything is built.
        let left: usize = (0..n).filter(|&i| is_inside(i)).map(|i| out_degree[i] as usize).sum();
        if left as f64 > WORTH * edges as f64 {
            return None;
        }
        let nodes: Vec<u32> = (0..n as u32).filter(|&i| is_inside(i as usize)).collect();
        // One look at an edge's source says which it is: what it gives if it is outside, −1 − its number if inside.
        let mut source: Vec<f64> = (0..n)
            .into_par_iter()
            .with_min_len(BLOCK)
            .map(|i| alpha * chain.restart[i] * chain.scale[i])
            .collect();
        for (number, &node) in nodes.iter().enumerate() {
            source[node as usize] = -1.0 - number as f64;
        }
        // Blocks of nodes, each with its own edges, joined in order.
        let parts: Vec<Part> = nodes
            .par_chunks(1024)
            .map(|nodes| {
                let (mut counts, mut ends, mut kept, mut base) = (vec![], vec![], vec![], vec![]);
                for &node in nodes {
                    let mut constant = 0.0;
                    let before = ends.len();
                    let range = chain.inward.range(node as usize);
                    let mut edge = range.start;
                    chain.inward.ends(range).for_each(|end| {
                        let given = source[end as usize];
                        let weight = match chain.weights {
                            Weights::Single(weights) => Some(weights[edge]),
                            _ => None,
                        };
                        if given < 0.0 {
                            ends.push((-1.0 - given) as u32);
                            kept.extend(weight);
                        } else {
                            constant += given * weight.map_or(1.0, f64::from);
                        }
                        edge += 1;
                    });
                    counts.push((ends.len() - before) as u32);
                    base.push(chain.restart[node as usize] + (1.0 - alpha) * constant / alpha);
                }
                (counts, ends, kept, base)
            })
            .collect();
        let mut core = Core {
            scale: nodes.iter().map(|&node| chain.scale[node as usize]).collect(),
            nodes,
            inward: Adjacency::default(),
            weights: matches!(chain.weights, Weights::Single(_)).then(Vec::new),
            base: Vec::new(),
            outside: Outside { mass: 0.0, dangling: 0.0, base: 0.0 },
        };
        let (mut end, mut starts, mut all) = (0, vec![0], Vec::with_capacity(left));
        for (counts, ends, kept, base) in parts {
            starts.extend(counts.iter().map(|count| {
                end += count;
                end
            }));
            all.extend(ends);
            core.base.extend(base);
            if let Some(weights) = &mut core.weights {
                weights.extend(kept);
            }
        }
        core.inward = Adjacency::new(starts, all);
        let known = |i: usize| if is_inside(i) { 0.0 } else { alpha * chain.restart[i] };
        core.outside = Outside {
            mass: block_sum(n, known),
            dangling: block_sum(n, |i| if chain.scale[i] == 0.0 { known(i) } else { 0.0 }),
            base: alpha * block_sum(core.base.len(), |j| core.base[j]),
        };
        Some(core)
    }

    /// Number of edges in the core.
    pub(crate) fn edges(&self) -> usize {
        self.inward.offsets.last().map_or(0, |&end| end as usize)
    }

    /// Solves the core and writes the values of all nodes of the chain, normalised.
    pub(crate) fn solve(&self, chain: &Chain, stop: Stop, work: &mut Work, x: &mut Vec<f64>) -> Certificate {
        let own = Chain {
            inward: &self.inward,
            first: 0,
            weights: self.weights.as_deref().map_or(Weights::Even, Weights::Single),
            scale: &self.scale,
            restart: &self.base,
            ..*chain
        };
        work.fit(self.nodes.len());
        let mut inside = self.base.clone();
        let certificate = solve_inside(&own, self.outside, stop, work, &mut inside);
        let mass = self.outside.mass + block_sum(inside.len(), |j| inside[j]);
        x.clear();
        x.par_extend(chain.restart.par_iter().with_min_len(BLOCK).map(|v| chain.alpha * v / mass));
        self.nodes.iter().zip(&inside).for_each(|(&node, value)| x[node as usize] = value / mass);
        certificate
    }
}

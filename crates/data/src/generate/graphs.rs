/*!
Browsing graphs: per query a small graph of pages, with judgements of some of them.

| file            | columns                                                       |
|-----------------|---------------------------------------------------------------|
| nodes.tsv       | query, node, seed (1: a walk may start here), f1 … fn ≥ 0     |
| edges.tsv       | query, from, to, e1 … em ≥ 0                                  |
| judgements.tsv  | query, node, label 0..3                                       |

The hidden truth is a walk with restarts (Zhukovskiy et al., Supervised PageRank): with hidden weights φ1, φ2 > 0

```text
π = α π0 + (1 − α) Pᵀ π,   π0_i ∝ ⟨φ1, f_i⟩ on the seeds,   P_ij ∝ ⟨φ2, e_ij⟩,   α = 0.15
```

a page without links restarts. A judged page has label 3, 2, 1 or 0 as its ln(π_i·pages) + 0.3·noise is above 1.5,
0.7, 0 or not. Pages link to pages of high degree (preferential attachment). So a learner that knows the form of
the walk can find the weights, and features alone cannot tell the labels.
*/

use toprank_core::stream::Random;
use toprank_core::{Param, Stream};

use super::draws::{chance, length, log_normal, noise};
use super::output::{File, Output};
use super::settings::{MOST, SEED, Settings};
use super::{GenerateError, Generator, Written};

pub(super) const GENERATOR: Generator = Generator {
    name: "graphs",
    about: "queries with a browsing graph and judged pages, nodes.tsv edges.tsv judgements.tsv",
    files: &["nodes.tsv", "edges.tsv", "judgements.tsv"],
    page: "nodes.tsv: query, node, seed, f1…; edges.tsv: query, from, to, e1…; judgements.tsv: query, node, label 0..3.\n\
           The labels come from a hidden walk with restarts over the links, weighted by node and link features.",
    params: &[
        Param { name: "queries", default: "100", range: "1 to 4e9", about: "queries, one graph each" },
        Param {
            name: "nodes",
            default: "60",
            range: "2 to 100000",
            about: "mean number of pages of a query",
        },
        Param { name: "links", default: "4", range: "0 to 100", about: "mean number of links of a page" },
        Param { name: "node-features", default: "8", range: "1 to 1000", about: "features of a page" },
        Param { name: "edge-features", default: "6", range: "1 to 1000", about: "features of a link" },
        Param { name: "judged", default: "0.3", range: "0 to 1", about: "fraction of judged pages" },
        SEED,
    ],
    make,
};

const RESTART: f64 = 0.15;
const THRESHOLDS: [f64; 3] = [0.0, 0.7, 1.5];

/// One query's graph.
#[derive(Default)]
struct Graph {
    seeds: Vec<bool>,
    /// Weight of each node in π0.
    start: Vec<f64>,
    /// (from, to, weight), by `from`.
    edges: Vec<(usize, usize, f64)>,
}

fn make(settings: &Settings, output: Output) -> Result<Written, GenerateError> {
    let queries = settings.whole("queries", 1.0, MOST)?;
    let mean_nodes = settings.number("nodes", 2.0, 100_000.0)?;
    let mean_links = settings.number("links", 0.0, 100.0)?;
    let node_features = settings.whole("node-features", 1.0, 1000.0)?;
    let edge_features = settings.whole("edge-features", 1.0, 1000.0)?;
    let judged = settings.number("judged", 0.0, 1.0)?;
    let seed = settings.seed()?;
    let node_weights = weights(seed, "graphs node weights", node_features);
    let edge_weights = weights(seed, "graphs edge weights", edge_features);
    let names = |letter: &str, n: u64| (1..=n).map(|i| format!("\t{letter}{i}")).collect::<Vec<_>>().concat();
    let file = |name: &str, head: String| File { name: name.into(), head: head + "\n" };
    let files = [
        file("nodes.tsv", format!("query\tnode\tseed{}", names("f", node_features))),
        file("edges.tsv", format!("query\tfrom\tto{}", names("e", edge_features))),
        file("judgements.tsv", "query\tnode\tlabel".into()),
    ];
    let stream = Stream::new(seed, "graphs queries");
    output.write(&files, queries, |query, sheet| {
        let mut random = stream.of_list(query as u32).open();
        let nodes = length(&mut random, 2, mean_nodes, 0.5) as usize;
        let mut graph = Graph::default();
        let text = sheet.file(0);
        text.lists += 1;
        for node in 0..nodes {
            // The first page is always a seed, so that every walk can start.
            let is_seed = node == 0 || chance(&mut random, 0.2);
            key(text, query, &[node]);
            text.byte(b'\t');
            text.byte(b'0' + u8::from(is_seed));
            let start = features(&mut random, &node_weights, text);
            graph.seeds.push(is_seed);
            graph.start.push(start);
        }
        let text = sheet.file(1);
        text.lists += 1;
        // Every link's end, to draw the next end by degree.
        let mut ends: Vec<usize> = (0..nodes).collect();
        let mut targets: Vec<usize> = Vec::new();
        for from in 0..nodes {
            let links = if mean_links == 0.0 { 0 } else { length(&mut random, 0, mean_links, 0.8) as usize };
            targets.clear();
            for _ in 0..links.min(nodes - 1) {
                let to = ends[random.below(ends.len())];
                if to != from && !targets.contains(&to) {
                    targets.push(to);
                }
            }
            for &to in &targets {
                key(text, query, &[from, to]);
                let weight = features(&mut random, &edge_weights, text);
                graph.edges.push((from, to, weight));
            }
            ends.extend_from_slice(&targets);
        }
        let walk = graph.walk();
        let text = sheet.file(2);
        text.lists += 1;
        for (node, &mass) in walk.iter().enumerate() {
            let relevance = libm::log((mass * nodes as f64).max(1e-9)) + 0.3 * noise(&mut random);
            if chance(&mut random, judged) {
                key(text, query, &[node]);
                text.byte(b'\t');
                text.whole(THRESHOLDS.iter().filter(|&&threshold| relevance > threshold).count() as u64);
                text.end_row();
            }
        }
    })
}

/// Hidden weights between 0.2 and 1.8.
fn weights(seed: u64, purpose: &str, n: u64) -> Vec<f64> {
    let mut random = Stream::new(seed, purpose).open();
    (0..n).map(|_| 0.2 + 1.6 * random.unit()).collect()
}

fn key(text: &mut super::output::Text, query: u64, nodes: &[usize]) {
    text.byte(b'q');
    text.whole(query + 1);
    for &node in nodes {
        text.text("\tp");
        text.whole(node as u64 + 1);
    }
}

/// Writes one feature per weight, ends the row, returns the weighted sum.
fn features(random: &mut Random, weights: &[f64], text: &mut super::output::Text) -> f64 {
    let mut sum = 0.0;
    for weight in weights {
        // As printed, so that the file holds what the walk used.
        let value = (log_normal(random, 1.0, 0.9) * 1e4).round() / 1e4;
        text.byte(b'\t');
        text.decimal(value, 4);
        sum += weight * value;
    }
    text.end_row();
    sum
}

impl Graph {
    /// π by the power method: 100 steps leave an error below 2·0.85¹⁰⁰ < 2·10⁻⁷ in the sum.
    fn walk(&self) -> Vec<f64> {
        let n = self.seeds.len();
        let seed_sum: f64 = self.start.iter().zip(&self.seeds).filter(|(_, s)| **s).map(|(w, _)| w).sum();
        let restart: Vec<f64> =
            self.start.iter().zip(&self.seeds).map(|(w, s)| if *s { w / seed_sum } else { 0.0 }).collect();
        let mut out = vec![0.0; n];
        self.edges.iter().for_each(|&(from, _, weight)| out[from] += weight);
        let mut mass = restart.clone();
        let mut next = vec![0.0; n];
        for _ in 0..100 {
            let dangling: f64 =
                mass.iter().zip(&out).filter(|(_, out)| **out == 0.0).map(|(mass, _)| mass).sum();
            let restarted = RESTART + (1.0 - RESTART) * dangling;
            next.iter_mut().zip(&restart).for_each(|(next, restart)| *next = restarted * restart);
            for &(from, to, weight) in &self.edges {
                next[to] += (1.0 - RESTART) * mass[from] * (weight / out[from]);
            }
            std::mem::swap(&mut mass, &mut next);
        }
        mass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_solves_its_equation() {
        let graph = Graph {
            seeds: vec![true, false, true],
            start: vec![1.0, 9.0, 3.0],
            edges: vec![(0, 1, 2.0), (0, 2, 6.0), (1, 0, 1.0)], // page 2 has no link: it restarts
        };
        let walk = graph.walk();
        let p = [[0.0, 0.25, 0.75], [1.0, 0.0, 0.0], [0.25, 0.0, 0.75]];
        let restart = [0.25, 0.0, 0.75];
        for j in 0..3 {
            let right =
                RESTART * restart[j] + (1.0 - RESTART) * (0..3).map(|i| walk[i] * p[i][j]).sum::<f64>();
            assert!((walk[j] - right).abs() < 1e-6, "{walk:?}");
        }
        assert!((walk.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

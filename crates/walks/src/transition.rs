/*!
From parameters to probabilities (equations 2.1 to 2.3): φ = (φ1, φ2), weights of nodes ⟨φ1, V_i⟩ and of edges ⟨φ2, E_ij⟩.

φ2 holds the weights of an edge's own features, then those of its source's and of its target's features, if edges have
them. The features of ends are never copied to edges: ⟨φ2, E_ij⟩ = own + a_i + b_j with a and b one number a node.
*/

use toprank_core::ModelError;
use toprank_data::{Matrix, QueryGraphs};

/// The weights of one graph under φ.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transition {
    /// First node of the graph, and its first edge.
    pub first: usize,
    pub first_edge: usize,
    /// ⟨φ1, V_i⟩.
    pub start: Vec<f64>,
    /// Probability of each edge, by position among the edges into their targets, less `first_edge`.
    pub step: Vec<f64>,
    /// Σ of the weights of the out-edges of each node; 0: dangling.
    pub sum: Vec<f64>,
}

/// The parts of φ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a> {
    pub nodes: &'a [f64],
    pub own: &'a [f64],
    pub from: &'a [f64],
    pub to: &'a [f64],
}

impl<'a> Parts<'a> {
    pub(crate) fn of(graphs: &QueryGraphs, phi: &'a [f64]) -> Parts<'a> {
        let m = graphs.node_width();
        let (nodes, edges) = phi.split_at(m);
        let (own, ends) = edges.split_at(graphs.edge_features.own.width());
        let (from, to) = ends.split_at(if graphs.edge_features.ends { m } else { 0 });
        Parts { nodes, own, from, to }
    }
}

/// The features of a row of a dense matrix.
#[inline]
pub(crate) fn row(matrix: &Matrix, i: usize) -> &[f32] {
    match matrix {
        Matrix::Dense { width, values } => &values[i * width..(i + 1) * width],
        // Graphs hold dense features only.
        Matrix::Sparse(_) => &[],
    }
}

#[inline]
pub(crate) fn dot(phi: &[f64], features: &[f32]) -> f64 {
    phi.iter().zip(features).map(|(phi, feature)| phi * f64::from(*feature)).sum()
}

impl Transition {
    /// Weights of graph `g`. Cost: a multiply for each feature of its nodes and each own feature of its edges.
    ///
    /// Without features of nodes every seed weighs the same; without features of edges every edge does.
    pub(crate) fn new(graphs: &QueryGraphs, g: usize, phi: &[f64]) -> Result<Transition, ModelError> {
        let parts = Parts::of(graphs, phi);
        let nodes = graphs.parts[g] as usize..graphs.parts[g + 1] as usize;
        let inward = graphs.graph.inward();
        let edges = inward.offsets[nodes.start] as usize..inward.offsets[nodes.end] as usize;
        let features = &graphs.node_features;
        let even = graphs.edge_width() == 0;
        let of_nodes = |phi: &[f64]| -> Vec<f64> {
            if phi.is_empty() {
                return vec![0.0; nodes.len()];
            }
            nodes.clone().map(|i| dot(phi, row(features, i))).collect()
        };
        let start = if graphs.node_width() == 0 { vec![1.0; nodes.len()] } else { of_nodes(parts.nodes) };
        let (from, to) = (of_nodes(parts.from), of_nodes(parts.to));
        let mut step = Vec::with_capacity(edges.len());
        let mut sum = vec![0.0; nodes.len()];
        for j in nodes.clone() {
            for edge in inward.range(j) {
                let i = inward.end(edge) as usize - nodes.start;
                let own = if parts.own.is_empty() {
                    0.0
                } else {
                    dot(parts.own, row(&graphs.edge_features.own, edge))
                };
                let weight = if even { 1.0 } else { own + from[i] + to[j - nodes.start] };
                step.push(weight);
                sum[i] += weight;
            }
        }
        let bad = |what: &str, value: f64, i: usize| {
            let name = graphs.node_names.get(nodes.start + i);
            ModelError::new(
                format!("{what} of weight {value} at node {name:?}"),
                "weights from 0 on: parameters and features must not be negative",
            )
        };
        for (at, j) in nodes.clone().flat_map(|j| inward.range(j).map(move |edge| (edge, j))) {
            let weight = step[at - edges.start];
            if weight < 0.0 || !weight.is_finite() {
                return Err(bad("an edge", weight, j - nodes.start));
            }
            let i = inward.end(at) as usize - nodes.start;
            step[at - edges.start] = if sum[i] > 0.0 { weight / sum[i] } else { 0.0 };
        }
        if let Some(i) = start.iter().position(|weight| *weight < 0.0 || !weight.is_finite()) {
            return Err(bad("a node", start[i], i));
        }
        Ok(Transition { first: nodes.start, first_edge: edges.start, start, step, sum })
    }

    /// Restart probabilities of list `q` (equation 2.2), and the sum F of the weights of its seeds.
    pub(crate) fn restart(&self, graphs: &QueryGraphs, q: usize) -> Result<(Vec<f64>, f64), ModelError> {
        let mut restart = vec![0.0; self.start.len()];
        let seeds = graphs.seeds_of(q);
        let sum: f64 = seeds.iter().map(|&seed| self.start[seed as usize - self.first]).sum();
        if sum <= 0.0 || !sum.is_finite() {
            let list = graphs.list_names.get(q);
            return Err(ModelError::new(
                format!("{} seeds of list {list:?} whose weights add up to {sum}", seeds.len()),
                "a seed of weight above 0: one with a feature above 0 and a parameter above 0",
            ));
        }
        for &seed in seeds {
            let i = seed as usize - self.first;
            restart[i] = self.start[i] / sum;
        }
        Ok((restart, sum))
    }
}

//! Layers over graphs: from features to nodes, from nodes to their neighbours, from nodes to the graph.

use toprank_core::{Block, GraphFeature, vectorised};
use toprank_onnx::{Attribute, Graph, Kind, Value};

use super::{Layer, Slopes, block};
use crate::Pass;
use crate::graphs::{Kinds, columns};
use crate::kernels::{add, add_scaled, sum};
use crate::onnx::{GraphInputs, Inputs};

/// A table with one row per code of every category and one per number: a vector for each kind of node or edge.
#[derive(Clone, Debug)]
pub(super) struct Table {
    features: Vec<GraphFeature>,
    starts: Vec<usize>,
    rows: usize,
    width: usize,
}

impl Table {
    fn new(features: &[GraphFeature], width: usize) -> Table {
        let (starts, rows) = columns(features);
        Table { features: features.to_vec(), starts, rows, width }
    }

    fn size(&self) -> usize {
        self.rows * self.width
    }

    /// Calls `f` with the row of the table and the factor of every feature of a kind.
    fn rows_of(&self, kinds: &Kinds, kind: usize, mut f: impl FnMut(usize, f32)) {
        let count = self.features.len();
        let values = &kinds.values[kind * count..(kind + 1) * count];
        for ((value, feature), start) in values.iter().zip(&self.features).zip(&self.starts) {
            match feature {
                GraphFeature::Number => f(*start, *value),
                GraphFeature::Code(_) => f(start + *value as usize, 1.0),
            }
        }
    }

    /// The vector of every kind.
    fn forward(&self, table: &[f32], kinds: &Kinds, to: &mut [f32]) {
        to.fill(0.0);
        for (kind, to) in to.chunks_exact_mut(self.width).enumerate() {
            self.rows_of(kinds, kind, |row, factor| {
                add_scaled(to, factor, &table[row * self.width..(row + 1) * self.width]);
            });
        }
    }

    /// Adds the slopes of the kinds' vectors to those of the table.
    fn backward(&self, slopes: &[f32], kinds: &Kinds, dtable: &mut [f32]) {
        for (kind, slope) in slopes.chunks_exact(self.width).enumerate() {
            self.rows_of(kinds, kind, |row, factor| {
                add_scaled(&mut dtable[row * self.width..(row + 1) * self.width], factor, slope);
            });
        }
    }

    /// Appends to an ONNX graph the vectors of nodes or edges with these values: float[rows, features].
    fn export(&self, table: &[f32], graph: &mut Graph, values: &Value) -> Option<Value> {
        let (mut codes, mut starts, mut numbers, mut of_numbers) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (column, (feature, start)) in (0..).zip(self.features.iter().zip(&self.starts)) {
            match feature {
                GraphFeature::Code(_) => {
                    codes.push(column);
                    starts.push(*start as i64);
                }
                GraphFeature::Number => {
                    numbers.push(column);
                    of_numbers.extend_from_slice(&table[start * self.width..(start + 1) * self.width]);
                }
            }
        }
        let columns = |graph: &mut Graph, columns: &[i64]| {
            let columns = graph.ints(columns);
            graph.node("Gather", &[values, &columns], &[Attribute::Int("axis", 1)])
        };
        let from_codes = (!codes.is_empty()).then(|| {
            let codes = columns(graph, &codes);
            let codes = graph.cast(&codes, Kind::Int64);
            let starts = graph.ints(&starts);
            let rows = graph.node("Add", &[&codes, &starts], &[]);
            // [rows, features, width]
            let vectors = graph.rows_of(table, self.width, &rows);
            let features = graph.ints(&[1]);
            graph.node("ReduceSum", &[&vectors, &features], &[Attribute::Int("keepdims", 0)])
        });
        let from_numbers = (!numbers.is_empty()).then(|| {
            let numbers = columns(graph, &numbers);
            graph.matrix(&numbers, &of_numbers, self.width)
        });
        match (from_codes, from_numbers) {
            (Some(a), Some(b)) => Some(graph.node("Add", &[&a, &b], &[])),
            (a, b) => a.or(b),
        }
    }
}

/// The graphs that an exported layer reads.
fn graphs(inputs: &Inputs) -> &GraphInputs {
    inputs.graphs.as_ref().expect("a network of graphs is exported with the inputs of graphs")
}

/// The first vector of every node: `h_v = Σ over its features of E[code]`, or of `value · E[feature]` for numbers.
#[derive(Clone, Debug)]
pub struct GraphEmbedding {
    table: Table,
}

impl GraphEmbedding {
    /// For nodes with these features, vectors of `width` numbers.
    pub fn new(features: &[GraphFeature], width: usize) -> GraphEmbedding {
        GraphEmbedding { table: Table::new(features, width) }
    }
}

impl Layer for GraphEmbedding {
    /// A row holds the number of its graph.
    fn inputs(&self) -> usize {
        1
    }

    fn outputs(&self) -> usize {
        self.table.width
    }

    fn output_rows(&self, _: usize, pass: &Pass) -> usize {
        pass.graphs.node_count()
    }

    fn blocks(&self) -> Vec<Block> {
        vec![block("weight", &[self.table.rows, self.table.width])]
    }

    fn forward(&self, parameters: &[f32], _: &[f32], y: &mut [f32], pass: &mut Pass) {
        let width = self.table.width;
        let mut kinds = pass.take(pass.graphs.nodes.count * width);
        self.table.forward(parameters, &pass.graphs.nodes, &mut kinds);
        for (y, kind) in y.chunks_exact_mut(width).zip(&pass.graphs.nodes.of) {
            let kind = *kind as usize;
            y.copy_from_slice(&kinds[kind * width..(kind + 1) * width]);
        }
        pass.give(kinds);
    }

    fn backward(
        &self,
        _: &[f32],
        _: &[f32],
        dy: &mut [f32],
        _: Option<Slopes>,
        gradient: &mut [f32],
        pass: &mut Pass,
    ) {
        let width = self.table.width;
        let mut slopes = pass.zeros(pass.graphs.nodes.count * width);
        for (dy, kind) in dy.chunks_exact(width).zip(&pass.graphs.nodes.of) {
            let kind = *kind as usize;
            add(&mut slopes[kind * width..(kind + 1) * width], dy);
        }
        self.table.backward(&slopes, &pass.graphs.nodes, gradient);
        pass.give(slopes);
    }

    fn export(&self, parameters: &[f32], graph: &mut Graph, inputs: &Inputs, _: &Value) -> Value {
        let nodes = self.table.export(parameters, graph, &graphs(inputs).nodes);
        nodes.expect("nodes have features: a network of graphs is not built without")
    }
}

/// Message passing: `y_v = (1 + ε) x_v + Σ_{u ~ v} max(0, x_u + e_uv)`, e_uv the vector of the edge's kind. ε and the table of edges are
/// learned.
///
/// Source: Xu, Hu, Leskovec, Jegelka, "How powerful are graph neural networks?", ICLR 2019; edges as in Hu, Liu, Gomes, Zitnik, Liang,
/// Pande, Leskovec, "Strategies for pre-training graph neural networks", ICLR 2020.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Without features of edges: no rows.
    edges: Table,
}

impl Aggregate {
    /// For edges with these features, vectors of `width` numbers.
    pub fn new(edges: &[GraphFeature], width: usize) -> Aggregate {
        Aggregate { edges: Table::new(edges, width) }
    }
}

vectorised! {
    fn add_message(to: &mut [f32], from: &[f32], edge: &[f32]) {
        for ((to, from), edge) in to.iter_mut().zip(from).zip(edge) {
            *to += (from + edge).max(0.0);
        }
    }
}

vectorised! {
    fn add_message_slopes(dy: &[f32], from: &[f32], edge: &[f32], dfrom: &mut [f32], dedge: &mut [f32]) {
        for i in 0..dy.len() {
            let slope = dy[i] * if from[i] + edge[i] > 0.0 { 1.0 } else { 0.0 };
            dfrom[i] += slope;
            dedge[i] += slope;
        }
    }
}

vectorised! {
    fn product_sum(a: &[f32], b: &[f32]) -> f32 {
        sum(a.len(), |i| a[i] * b[i])
    }
}

impl Layer for Aggregate {
    fn inputs(&self) -> usize {
        self.edges.width
    }

    fn outputs(&self) -> usize {
        self.edges.width
    }

    fn blocks(&self) -> Vec<Block> {
        let edges =
            (self.edges.rows > 0).then(|| block("edges.weight", &[self.edges.rows, self.edges.width]));
        edges.into_iter().chain([block("epsilon", &[1])]).collect()
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut [f32], pass: &mut Pass) {
        let (table, epsilon) = parameters.split_at(self.edges.size());
        let width = self.edges.width;
        y.iter_mut().zip(x).for_each(|(y, x)| *y = (1.0 + epsilon[0]) * x);
        let mut kinds = pass.take(pass.graphs.edges.count * width);
        self.edges.forward(table, &pass.graphs.edges, &mut kinds);
        for ([from, to], kind) in pass.graphs.messages.iter().zip(&pass.graphs.edges.of) {
            let row = |row: &u32| *row as usize * width..(*row as usize + 1) * width;
            add_message(&mut y[row(to)], &x[row(from)], &kinds[row(kind)]);
        }
        pass.keep(kinds);
    }

    fn backward(
        &self,
        parameters: &[f32],
        x: &[f32],
        dy: &mut [f32],
        dx: Option<Slopes>,
        gradient: &mut [f32],
        pass: &mut Pass,
    ) {
        let own = 1.0 + parameters[self.edges.size()];
        let (dtable, depsilon) = gradient.split_at_mut(self.edges.size());
        let width = self.edges.width;
        depsilon[0] += product_sum(dy, x);
        let kinds = pass.kept();
        let mut slopes = pass.zeros(kinds.len());
        let mut unused = Vec::new();
        let to = match dx {
            Some(Slopes { to, add: true }) => {
                add_scaled(to, own, dy);
                to
            }
            Some(Slopes { to, add: false }) => {
                to.iter_mut().zip(&*dy).for_each(|(to, dy)| *to = own * dy);
                to
            }
            // The gradient of the edges is wanted all the same.
            None => {
                unused = pass.zeros(x.len());
                &mut unused
            }
        };
        for ([from, hearer], kind) in pass.graphs.messages.iter().zip(&pass.graphs.edges.of) {
            let row = |row: &u32| *row as usize * width..(*row as usize + 1) * width;
            let (from, kind) = (row(from), row(kind));
            add_message_slopes(
                &dy[row(hearer)],
                &x[from.clone()],
                &kinds[kind.clone()],
                &mut to[from],
                &mut slopes[kind],
            );
        }
        self.edges.backward(&slopes, &pass.graphs.edges, dtable);
        for buffer in [kinds, slopes, unused] {
            pass.give(buffer);
        }
    }

    fn export(&self, parameters: &[f32], graph: &mut Graph, inputs: &Inputs, x: &Value) -> Value {
        let GraphInputs { ends, edges, .. } = graphs(inputs);
        let (table, epsilon) = parameters.split_at(self.edges.size());
        let width = self.edges.width;
        let edges = edges.as_ref().and_then(|edges| self.edges.export(table, graph, edges));
        let column = |graph: &mut Graph, column: &Value| {
            graph.node("Gather", &[ends, column], &[Attribute::Int("axis", 1)])
        };
        // The nodes of a column of `ends` as int64[edges], to gather, and as int64[edges, 1], to add rows.
        let [(first, to_first), (second, to_second)] = [0, 1].map(|number| {
            let (flat, kept) = (graph.int(number), graph.ints(&[number]));
            (column(graph, &flat), column(graph, &kept))
        });
        let messages = |graph: &mut Graph, senders: &Value| {
            let mut sent = graph.node("Gather", &[x, senders], &[Attribute::Int("axis", 0)]);
            if let Some(edges) = &edges {
                sent = graph.node("Add", &[&sent, edges], &[]);
            }
            graph.node("Relu", &[&sent], &[])
        };
        let (there, back) = (messages(graph, &first), messages(graph, &second));
        // An edge of a node to itself is one message.
        let (own, none) = (graph.node("Equal", &[&to_first, &to_second], &[]), graph.floats(&[1], &[0.0]));
        let back = graph.node("Where", &[&own, &none, &back], &[]);
        let factor = graph.floats(&[1], &[1.0 + epsilon[0]]);
        let y = graph.node("Mul", &[x, &factor], &[]);
        let y = graph.add_rows(&y, &to_second, &there, width);
        graph.add_rows(&y, &to_first, &back, width)
    }
}

/// The vector of a graph: the sum or the mean over its nodes.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    width: usize,
    mean: bool,
}

impl Pool {
    /// Over vectors of `width` numbers; `mean`: divided by the number of nodes.
    pub fn new(width: usize, mean: bool) -> Pool {
        Pool { width, mean }
    }

    fn factor(&self, nodes: usize) -> f32 {
        if self.mean { 1.0 / nodes.max(1) as f32 } else { 1.0 }
    }
}

impl Layer for Pool {
    fn inputs(&self) -> usize {
        self.width
    }

    fn outputs(&self) -> usize {
        self.width
    }

    fn output_rows(&self, _: usize, pass: &Pass) -> usize {
        pass.graphs.graph_count()
    }

    fn forward(&self, _: &[f32], x: &[f32], y: &mut [f32], pass: &mut Pass) {
        y.fill(0.0);
        for (y, nodes) in y.chunks_exact_mut(self.width).zip(pass.graphs.offsets.windows(2)) {
            let factor = self.factor(nodes[1] - nodes[0]);
            let rows = &x[nodes[0] * self.width..nodes[1] * self.width];
            rows.chunks_exact(self.width).for_each(|x| add_scaled(y, factor, x));
        }
    }

    fn backward(
        &self,
        _: &[f32],
        _: &[f32],
        dy: &mut [f32],
        dx: Option<Slopes>,
        _: &mut [f32],
        pass: &mut Pass,
    ) {
        let Some(Slopes { to, add }) = dx else { return };
        if !add {
            to.fill(0.0);
        }
        for (dy, nodes) in dy.chunks_exact(self.width).zip(pass.graphs.offsets.windows(2)) {
            let factor = self.factor(nodes[1] - nodes[0]);
            let rows = &mut to[nodes[0] * self.width..nodes[1] * self.width];
            rows.chunks_exact_mut(self.width).for_each(|to| add_scaled(to, factor, dy));
        }
    }

    fn export(&self, _: &[f32], graph: &mut Graph, inputs: &Inputs, x: &Value) -> Value {
        let GraphInputs { graph_of_node, sizes, .. } = graphs(inputs);
        let zeros = graph.floats(&[1, self.width], &vec![0.0; self.width]);
        let zeros = graph.node("Mul", &[sizes, &zeros], &[]);
        let column = graph.ints(&[-1, 1]);
        let to = graph.node("Reshape", &[graph_of_node, &column], &[]);
        let sums = graph.add_rows(&zeros, &to, x, self.width);
        if !self.mean {
            return sums;
        }
        let one = graph.floats(&[1], &[1.0]);
        let empty = graph.node("Less", &[sizes, &one], &[]);
        let sizes = graph.node("Where", &[&empty, &one, sizes], &[]);
        graph.node("Div", &[&sums, &sizes], &[])
    }
}

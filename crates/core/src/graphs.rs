//! Graphs as items: molecules, or any nodes and edges with features, in one flat layout.

/// The type of a feature of nodes or edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFeature {
    /// A number.
    Number,
    /// A category; this many codes 0, 1, 2 …
    Code(usize),
}

/// The features of nodes and edges, in the order of their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphShape {
    /// Of a node.
    pub nodes: Vec<GraphFeature>,
    /// Of an edge.
    pub edges: Vec<GraphFeature>,
}

/// Undirected graphs one after the other: each edge is stored once.
///
/// ```
/// use toprank_core::{GraphFeature, GraphShape, Graphs};
/// // A path of three nodes and a lone node.
/// let graphs = Graphs {
///     shape: GraphShape { nodes: vec![GraphFeature::Code(2)], edges: vec![] },
///     nodes: vec![0, 3, 4],
///     edges: vec![0, 2, 2],
///     ends: vec![[0, 1], [1, 2]],
///     node_values: vec![0.0, 1.0, 0.0, 1.0],
///     edge_values: vec![],
/// };
/// assert_eq!(graphs.fault(), None);
/// assert_eq!((graphs.len(), graphs.nodes_of(1)), (2, 3..4));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graphs {
    /// What the values are.
    pub shape: GraphShape,
    /// Graph g has nodes `nodes[g]..nodes[g + 1]`.
    pub nodes: Vec<usize>,
    /// Graph g has edges `edges[g]..edges[g + 1]`.
    pub edges: Vec<usize>,
    /// The nodes that each edge joins, counted from 0 within their graph.
    pub ends: Vec<[u32; 2]>,
    /// One value per feature, node after node.
    pub node_values: Vec<f32>,
    /// One value per feature, edge after edge.
    pub edge_values: Vec<f32>,
}

impl Graphs {
    /// A store without graphs.
    pub fn empty(shape: GraphShape) -> Graphs {
        Graphs { shape, nodes: vec![0], edges: vec![0], ..Graphs::default() }
    }

    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The nodes of a graph.
    ///
    /// # Panics
    /// If there is no such graph, here and below.
    pub fn nodes_of(&self, graph: usize) -> std::ops::Range<usize> {
        self.nodes[graph]..self.nodes[graph + 1]
    }

    /// The edges of a graph.
    pub fn edges_of(&self, graph: usize) -> std::ops::Range<usize> {
        self.edges[graph]..self.edges[graph + 1]
    }

    /// The values of a node.
    pub fn node(&self, node: usize) -> &[f32] {
        let width = self.shape.nodes.len();
        &self.node_values[node * width..(node + 1) * width]
    }

    /// The values of an edge.
    pub fn edge(&self, edge: usize) -> &[f32] {
        let width = self.shape.edges.len();
        &self.edge_values[edge * width..(edge + 1) * width]
    }

    /// Ends a graph whose nodes and edges were pushed after those of the previous graph.
    pub fn close(&mut self) {
        self.nodes.push(self.node_count());
        self.edges.push(self.ends.len());
    }

    fn node_count(&self) -> usize {
        match self.shape.nodes.len() {
            0 => 0,
            width => self.node_values.len() / width,
        }
    }

    /// Some graphs, in this order.
    #[must_use]
    pub fn pick(&self, graphs: &[usize]) -> Graphs {
        let mut picked = Graphs::empty(self.shape.clone());
        for &graph in graphs {
            for node in self.nodes_of(graph) {
                picked.node_values.extend_from_slice(self.node(node));
            }
            for edge in self.edges_of(graph) {
                picked.ends.push(self.ends[edge]);
                picked.edge_values.extend_from_slice(self.edge(edge));
            }
            picked.close();
        }
        picked
    }

    /// What is inconsistent, if anything: offsets that do not cover the columns, an edge to a node that its graph does not
    /// have, or a code that its feature does not have.
    pub fn fault(&self) -> Option<String> {
        let (wide, edge_wide) = (self.shape.nodes.len(), self.shape.edges.len());
        if wide == 0 {
            return Some("nodes without a feature".into());
        }
        let whole = |offsets: &[usize], count: usize| {
            offsets.first() == Some(&0) && offsets.last() == Some(&count) && offsets.is_sorted()
        };
        if !self.node_values.len().is_multiple_of(wide)
            || self.edge_values.len() != self.ends.len() * edge_wide
        {
            return Some("values that are no whole nodes or edges".into());
        }
        if !whole(&self.nodes, self.node_count())
            || !whole(&self.edges, self.ends.len())
            || self.nodes.len() != self.edges.len()
        {
            return Some("graphs that do not cover the nodes and edges".into());
        }
        for graph in 0..self.len() {
            let nodes = self.nodes_of(graph).len();
            if let Some(edge) =
                self.edges_of(graph).find(|&edge| self.ends[edge].iter().any(|&end| end as usize >= nodes))
            {
                return Some(format!("edge {:?} in graph {graph} of {nodes} nodes", self.ends[edge]));
            }
        }
        let columns = [(&self.shape.nodes, &self.node_values), (&self.shape.edges, &self.edge_values)];
        for (features, values) in columns {
            for (place, value) in values.iter().enumerate() {
                let feature = features[place % features.len()];
                let sound = match feature {
                    GraphFeature::Number => value.is_finite(),
                    GraphFeature::Code(codes) => {
                        *value >= 0.0 && value.fract() == 0.0 && (*value as usize) < codes
                    }
                };
                if !sound {
                    return Some(format!("the value {value} of a feature that is {feature:?}"));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Graphs {
        Graphs {
            shape: GraphShape { nodes: vec![GraphFeature::Code(3)], edges: vec![GraphFeature::Number] },
            nodes: vec![0, 2, 5],
            edges: vec![0, 1, 3],
            ends: vec![[0, 1], [0, 2], [1, 2]],
            node_values: vec![0.0, 1.0, 2.0, 0.0, 1.0],
            edge_values: vec![0.5, -1.0, 2.0],
        }
    }

    #[test]
    fn picked_graphs_are_whole_and_in_the_asked_order() {
        let graphs = two();
        assert_eq!(graphs.fault(), None);
        assert_eq!(graphs.pick(&[0, 1]), graphs);
        let turned = graphs.pick(&[1, 0, 1]);
        assert_eq!(turned.nodes, [0, 3, 5, 8]);
        assert_eq!(turned.ends, [[0, 2], [1, 2], [0, 1], [0, 2], [1, 2]]);
        assert_eq!((turned.node(0), turned.edge(2)), (&[2.0f32][..], &[0.5f32][..]));
        assert_eq!(turned.fault(), None);
    }

    #[test]
    fn an_inconsistent_store_is_reported() {
        let broken = |change: &dyn Fn(&mut Graphs)| {
            let mut graphs = two();
            change(&mut graphs);
            graphs.fault().expect("a fault")
        };
        assert!(broken(&|g| g.ends[0] = [0, 2]).contains("edge [0, 2] in graph 0 of 2 nodes"));
        assert!(broken(&|g| g.node_values[0] = 3.0).contains("the value 3"));
        assert!(broken(&|g| g.node_values[0] = 0.5).contains("0.5"));
        assert!(broken(&|g| g.edge_values[0] = f32::NAN).contains("NaN"));
        assert!(broken(&|g| g.nodes[1] = 9).contains("cover"));
        assert!(broken(&|g| g.edges.truncate(2)).contains("cover"));
        assert!(broken(&|g| g.edge_values.truncate(2)).contains("whole"));
        assert!(broken(&|g| g.shape.nodes.clear()).contains("without a feature"));
    }
}

//! The walk as a model of the house: a function of one flat slice that every objective and optimiser can train.

use std::sync::Arc;

use toprank_core::{Backward, Block, Differentiable, ModelError, ModelInput, Role, Stream};
use toprank_data::QueryGraphs;

use crate::solve::Stop;
use crate::walk::{ADJOINT_ERROR, Solved, Walk};

/// A walk over given graphs. Rows are (list, node) as [`QueryGraphs::row`] numbers them; the features of a batch are not
/// looked at, since those of the graph count.
///
/// Fresh parameters are all 1: the untuned walk. [`Differentiable::project`] keeps them at or above [`LEAST`].
#[derive(Clone, Debug)]
pub struct WalkModel {
    graphs: Arc<QueryGraphs>,
    walk: Walk,
    error: f64,
    blocks: Vec<Block>,
}

/// The smallest parameter: weights stay positive, so that every walk that was possible remains so.
pub const LEAST: f32 = 1e-4;

impl WalkModel {
    /// The model; distributions are found to `error` in the 1-norm (1e-10).
    pub fn new(graphs: Arc<QueryGraphs>, walk: Walk, error: f64) -> WalkModel {
        let block = |name: &str, parameters: usize| Block {
            name: name.into(),
            shape: vec![parameters],
            role: Role::Offset,
            last_layer: false,
        };
        let blocks = vec![block("nodes", graphs.node_width()), block("edges", graphs.edge_width())];
        WalkModel { graphs, walk, error, blocks }
    }

    /// The lists of a shard, each with its nodes.
    fn nodes(&self, input: &ModelInput) -> Result<(Vec<u32>, Vec<u32>), ModelError> {
        let rows = toprank_core::Features::rows(&*self.graphs);
        if let Some(row) = input.rows.iter().find(|&&row| row as usize >= rows) {
            return Err(ModelError::new(format!("row {row}"), format!("rows below {rows}")));
        }
        let of = |row: &u32| self.graphs.of_row(*row);
        let nodes: Vec<u32> = input.rows.iter().map(|row| of(row).1).collect();
        let mut lists = Vec::with_capacity(input.offsets.len());
        for ends in input.offsets.windows(2) {
            let rows = &input.rows[ends[0]..ends[1]];
            let list = rows.first().map_or(0, |row| of(row).0);
            if rows.iter().any(|row| of(row).0 != list) {
                return Err(ModelError::new("rows of several lists in one", "rows of one list"));
            }
            lists.push(list as u32);
        }
        Ok((lists, nodes))
    }

    fn solve(&self, parameters: &[f32], lists: &[u32]) -> Result<Solved<'_>, ModelError> {
        let phi: Vec<f64> = parameters.iter().map(|p| f64::from(*p)).collect();
        self.walk.solve(&self.graphs, lists, &phi, Stop::at(self.error))
    }
}

impl Differentiable for WalkModel {
    fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    fn width(&self) -> usize {
        self.graphs.node_width()
    }

    fn couples_items(&self) -> bool {
        true
    }

    fn init(&self, _: Stream, parameters: &mut [f32]) {
        parameters.fill(1.0);
    }

    fn project(&self, parameters: &mut [f32]) {
        for p in parameters {
            *p = p.max(LEAST);
        }
    }

    fn forward<'a>(
        &'a self,
        parameters: &'a [f32],
        input: &ModelInput,
        _: Option<Stream>,
        scores: &mut [f64],
    ) -> Result<Box<dyn Backward + 'a>, ModelError> {
        let (lists, nodes) = self.nodes(input)?;
        let solved = self.solve(parameters, &lists)?;
        for (k, ends) in input.offsets.windows(2).enumerate() {
            for at in ends[0]..ends[1] {
                scores[at] = solved.score(k, nodes[at]);
            }
        }
        Ok(Box::new(Way { solved, offsets: input.offsets.to_vec(), nodes }))
    }

    fn score(&self, parameters: &[f32], input: &ModelInput, scores: &mut [f64]) -> Result<(), ModelError> {
        self.forward(parameters, input, None, scores).map(drop)
    }
}

struct Way<'a> {
    solved: Solved<'a>,
    offsets: Vec<usize>,
    nodes: Vec<u32>,
}

impl Backward for Way<'_> {
    fn backward(self: Box<Self>, dscore: &[f64], gradient: &mut [f32]) -> Result<(), ModelError> {
        let mut sum = vec![0.0; gradient.len()];
        self.solved.gradient(&self.offsets, &self.nodes, dscore, ADJOINT_ERROR, &mut sum);
        gradient.iter_mut().zip(sum).for_each(|(gradient, sum)| *gradient += sum as f32);
        Ok(())
    }
}

#![doc = include_str!("pages/mf.md")]

use toprank_core::{ModelError, Param, ParamError, Spec, Stream};

use toprank_onnx::{Graph, Value};

use crate::dots;
use crate::model::{BatchView, EmbeddingKind, EmbeddingModel, Shape, Slopes, Tape};
use crate::params::{SCALE, WIDTH, fresh_rows, scale, uniform, width};

pub(crate) const PARAMS: &[Param] = &[WIDTH, SCALE];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn EmbeddingKind>, ParamError> {
    Ok(Box::new(Factors { width: width(spec, &WIDTH)?, scale: scale(spec)? }))
}

/// Matrix factorisation; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Factors {
    width: usize,
    scale: f32,
}

impl EmbeddingKind for Factors {
    fn build(&self, _: &Shape) -> Result<Box<dyn EmbeddingModel>, ModelError> {
        Ok(Box::new(*self))
    }
}

impl EmbeddingModel for Factors {
    fn widths(&self) -> [usize; 2] {
        [self.width, self.width + 1]
    }

    fn init_rows(&self, side: usize, first: u32, stream: Stream, rows: &mut [f32]) {
        fresh_rows(side, first, stream, self.widths()[side], rows, |random, row| {
            uniform(self.scale, random, &mut row[..self.width]);
            row[self.width..].fill(0.0);
        });
    }

    fn forward(&self, batch: &BatchView, _: Option<Stream>, _: &mut Tape, scores: &mut [f64]) {
        dots::forward(batch.plan, batch.users, batch.items, self.width, scores);
    }

    fn backward(&self, batch: &BatchView, _: &mut Tape, dscore: &[f64], to: Slopes) {
        dots::backward(batch.plan, [batch.users, batch.items], self.width, dscore, [to.users, to.items]);
    }

    fn ready_widths(&self) -> [usize; 2] {
        [self.width + 1; 2]
    }

    fn ready(&self, side: usize, _: &Shape, _: &[f32], _: &[u32], rows: &[f32], ready: &mut [f32]) {
        if side == 1 {
            ready.copy_from_slice(rows);
            return;
        }
        // The item's bias is multiplied by 1.
        for (row, ready) in rows.chunks_exact(self.width).zip(ready.chunks_exact_mut(self.width + 1)) {
            ready[..self.width].copy_from_slice(row);
            ready[self.width] = 1.0;
        }
    }

    fn export(
        &self,
        side: usize,
        table: &[f32],
        weights: &[f32],
        graph: &mut Graph,
        ids: &Value,
        _: Option<&Value>,
    ) -> Option<Value> {
        let mut ready = vec![0.0; table.len() / self.widths()[side] * (self.width + 1)];
        self.ready(side, &Shape::default(), weights, &[], table, &mut ready);
        Some(graph.rows_of(&ready, self.width + 1, ids))
    }
}

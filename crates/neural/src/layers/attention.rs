/*!
Self-attention over the items of each list.

```text
q, k, v = x Q + b_q, x K, x V + b_v             K has no bias: it would add the same to q·k of all items, which the softmax cancels
o_i = Σ_j p_ij v_j                              p_i = softmax over the items j of the list of i of q_i·k_j / √(width of a head), head by head
y = o M + b
```

Backward, with do = dy Mᵀ and D_i = do_i·o_i, head by head:

```text
p_ij = exp(q_i·k_j / √w − lse_i)                lse_i: the logarithm of the softmax' sum, kept by the forward pass
dv_j = Σ_i p_ij do_i     ds_ij = p_ij (do_i·v_j − D_i) / √w     dq_i = Σ_j ds_ij k_j     dk_j = Σ_i ds_ij q_i
```

Probabilities are computed for a block of items at a time, which stays in the cache, and computed again in the backward pass: no matrix
of n × n numbers is kept, so memory is linear in the length of a list. Lists have their own lengths: nothing is padded.

A causal layer lets every item attend to itself and to the items before it in its list only: the softmax of row i is over j ≤ i, so what
comes later changes nothing.

Source: Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin, "Attention is all you need", NIPS 2017; blocks and
recomputation as in Dao, Fu, Ermon, Rudra, Ré, "FlashAttention: fast and memory-efficient exact attention with IO-awareness",
NeurIPS 2022.
*/

use std::ops::Range;

use toprank_core::matrix::{View, ViewMut, product_into};
use toprank_core::{Block, vectorised};
use toprank_onnx::{Attribute, Graph, Value};

use super::dense::{affine, affine_back};
use super::{Layer, Slopes, block};
use crate::Pass;
use crate::kernels::{exp, sum};
use crate::onnx::Inputs;

/// About so many probabilities are computed at once: 128 kB, which stay in the cache of a core.
const AT_ONCE: usize = 1 << 15;
/// Items of a block, at least: a product of fewer rows is slow.
const FEWEST: usize = 16;

/// Multi-head self-attention over the items of each list; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    width: usize,
    heads: usize,
    causal: bool,
}

impl Attention {
    /// Over rows of `width` numbers, which `heads` heads divide among them.
    ///
    /// # Panics
    /// If `heads` does not divide `width`.
    pub fn new(width: usize, heads: usize) -> Attention {
        assert!(heads > 0 && width.is_multiple_of(heads), "{heads} heads of {width} numbers");
        Attention { width, heads, causal: false }
    }

    /// The same, but an item attends to itself and to the items before it in its list only.
    #[must_use]
    pub fn causal(self) -> Attention {
        Attention { causal: true, ..self }
    }

    /// Query, its bias, key, value, its bias, mix, its bias.
    fn sizes(&self) -> [usize; 7] {
        let (square, width) = (self.width * self.width, self.width);
        [square, width, square, square, width, square, width]
    }

    fn parts<'p>(&self, mut rest: &'p [f32]) -> [&'p [f32]; 7] {
        self.sizes().map(|size| rest.split_off(..size).expect("as many parameters as blocks say"))
    }

    fn parts_mut<'p>(&self, mut rest: &'p mut [f32]) -> [&'p mut [f32]; 7] {
        self.sizes().map(|size| rest.split_off_mut(..size).expect("as many parameters as blocks say"))
    }

    /// Columns of a head.
    fn head(&self, head: usize) -> Range<usize> {
        let width = self.width / self.heads;
        head * width..(head + 1) * width
    }

    fn factor(&self) -> f32 {
        1.0 / ((self.width / self.heads) as f32).sqrt()
    }

    fn rows_at_once(length: usize) -> usize {
        (AT_ONCE / length.max(1)).clamp(FEWEST, 256)
    }

    /// Calls `f` for every list, head and block of its items: the rows that some item of the block attends to, rows of the block, head.
    fn blocks_of(&self, pass: &mut Pass, mut f: impl FnMut(Range<usize>, Range<usize>, usize, &mut Pass)) {
        for list in 0..pass.lists() {
            let list = pass.list(list);
            for head in 0..self.heads {
                let mut start = list.start;
                while start < list.end {
                    let end = list.end.min(start + Self::rows_at_once(list.len()));
                    let attended = if self.causal { list.start..end } else { list.clone() };
                    f(attended, start..end, head, pass);
                    start = end;
                }
            }
        }
    }

    /// How many of the `attended` rows the first row of `items` attends to; each row after it attends to one more.
    fn first(&self, attended: &Range<usize>, items: &Range<usize>) -> usize {
        if self.causal { items.start + 1 - attended.start } else { attended.len() }
    }

    /// The longest block of probabilities of these lists.
    fn block_size(pass: &Pass) -> usize {
        let size = |list: Range<usize>| list.len() * Self::rows_at_once(list.len()).min(list.len());
        (0..pass.lists()).map(|list| size(pass.list(list))).max().unwrap_or(0)
    }

    /// Rows of a matrix of `width` columns.
    fn rows<'m>(&self, matrix: &'m [f32], rows: &Range<usize>) -> View<'m> {
        View::new(&matrix[rows.start * self.width..rows.end * self.width], self.width)
    }

    fn rows_mut<'m>(&self, matrix: &'m mut [f32], rows: &Range<usize>) -> ViewMut<'m> {
        ViewMut::new(&mut matrix[rows.start * self.width..rows.end * self.width], self.width)
    }
}

vectorised! {
    /// Softmax of `factor · s` row by row; also writes the logarithms of its sums. It is over `first` numbers of the first row and one
    /// more of each row after it, up to all of them; probabilities behind these are 0.
    fn softmax(s: &mut [f32], first: usize, factor: f32, logs: &mut [f32]) {
        let length = s.len() / logs.len();
        for ((s, log), count) in s.chunks_exact_mut(length).zip(logs).zip(first..) {
            let (s, behind) = s.split_at_mut(count.min(length));
            behind.fill(0.0);
            let length = s.len();
            let mut lanes = [f32::NEG_INFINITY; 16];
            let mut chunks = s.chunks_exact(16);
            for chunk in &mut chunks {
                // Comparisons that keep NaN out of the maximum; the sum below is NaN then.
                lanes.iter_mut().zip(chunk).for_each(|(lane, s)| *lane = if *s > *lane { *s } else { *lane });
            }
            let rest = chunks.remainder().iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let top = lanes.into_iter().fold(rest, f32::max);
            for s in s.iter_mut() {
                *s = exp((*s - top) * factor);
            }
            let total = sum(length, |j| s[j]);
            let inverse = 1.0 / total;
            for s in s.iter_mut() {
                *s *= inverse;
            }
            *log = top * factor + total.ln();
        }
    }
}

vectorised! {
    /// The same probabilities from the logarithms.
    fn softmax_again(s: &mut [f32], first: usize, factor: f32, logs: &[f32]) {
        let length = s.len() / logs.len();
        for ((s, log), count) in s.chunks_exact_mut(length).zip(logs).zip(first..) {
            let (s, behind) = s.split_at_mut(count.min(length));
            behind.fill(0.0);
            for s in s.iter_mut() {
                *s = exp(*s * factor - log);
            }
        }
    }
}

vectorised! {
    /// `p ← p (dp − D) · factor` row by row.
    fn softmax_back(p: &mut [f32], dp: &[f32], drop: &[f32], factor: f32) {
        let length = p.len() / drop.len();
        for ((p, dp), drop) in p.chunks_exact_mut(length).zip(dp.chunks_exact(length)).zip(drop) {
            p.iter_mut().zip(dp).for_each(|(p, dp)| *p *= (dp - drop) * factor);
        }
    }
}

vectorised! {
    /// `to_i = a_i·b_i` for the rows of a head; `heads` of them in a row of a matrix.
    fn row_products(a: &[f32], b: &[f32], heads: usize, width: usize, to: &mut [f32]) {
        let rows = a.len() / width;
        let part = width / heads;
        for i in 0..rows {
            for head in 0..heads {
                let start = i * width + head * part;
                let (a, b) = (&a[start..start + part], &b[start..start + part]);
                to[head * rows + i] = sum(part, |k| a[k] * b[k]);
            }
        }
    }
}

impl Layer for Attention {
    fn inputs(&self) -> usize {
        self.width
    }

    fn outputs(&self) -> usize {
        self.width
    }

    fn blocks(&self) -> Vec<Block> {
        let (square, width) = ([self.width, self.width], [self.width]);
        vec![
            block("query.weight", &square),
            block("query.bias", &width),
            block("key.weight", &square),
            block("value.weight", &square),
            block("value.bias", &width),
            block("mix.weight", &square),
            block("mix.bias", &width),
        ]
    }

    fn couples_items(&self) -> bool {
        true
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut [f32], pass: &mut Pass) {
        let [query, query_bias, key, value, value_bias, mix, mix_bias] = self.parts(parameters);
        let (width, rows) = (self.width, x.len() / self.width);
        let [mut q, mut k, mut v, mut o] = std::array::from_fn(|_| pass.take(x.len()));
        affine(x, width, query, Some(query_bias), &mut q);
        affine(x, width, key, None, &mut k);
        affine(x, width, value, Some(value_bias), &mut v);
        let mut logs = pass.take(self.heads * rows);
        let mut block = pass.take(Self::block_size(pass));
        self.blocks_of(pass, |list, items, head, _| {
            let columns = self.head(head);
            let p = &mut block[..items.len() * list.len()];
            let (q, k) = (
                self.rows(&q, &items).columns(columns.clone()),
                self.rows(&k, &list).columns(columns.clone()),
            );
            product_into(q, k.transposed(), ViewMut::new(p, list.len()), 1.0, false);
            let own = head * rows + items.start..head * rows + items.end;
            softmax(p, self.first(&list, &items), self.factor(), &mut logs[own]);
            let v = self.rows(&v, &list).columns(columns.clone());
            product_into(
                View::new(p, list.len()),
                v,
                self.rows_mut(&mut o, &items).columns(columns),
                1.0,
                false,
            );
        });
        pass.give(block);
        affine(&o, width, mix, Some(mix_bias), y);
        for buffer in [q, k, v, o, logs] {
            pass.keep(buffer);
        }
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
        let [query, _, key, value, _, mix, _] = self.parts(parameters);
        let [dquery, dquery_bias, dkey, dvalue, dvalue_bias, dmix, dmix_bias] = self.parts_mut(gradient);
        let (width, rows) = (self.width, x.len() / self.width);
        let [logs, o, v, k, q] = std::array::from_fn(|_| pass.kept());
        let mut dout = pass.take(x.len());
        let to = Some(Slopes { to: &mut dout, add: false });
        affine_back(&o, width, mix, dy, to, dmix, Some(dmix_bias));
        let mut drop = pass.take(self.heads * rows);
        row_products(&dout, &o, self.heads, width, &mut drop);
        let (mut dq, mut dk, mut dv) = (pass.take(x.len()), pass.zeros(x.len()), pass.zeros(x.len()));
        let size = Self::block_size(pass);
        let (mut block, mut dblock) = (pass.take(size), pass.take(size));
        self.blocks_of(pass, |list, items, head, _| {
            let columns = self.head(head);
            let of = |matrix, rows| self.rows(matrix, rows).columns(columns.clone());
            let own = head * rows + items.start..head * rows + items.end;
            let p = &mut block[..items.len() * list.len()];
            let dp = &mut dblock[..items.len() * list.len()];
            product_into(of(&q, &items), of(&k, &list).transposed(), ViewMut::new(p, list.len()), 1.0, false);
            softmax_again(p, self.first(&list, &items), self.factor(), &logs[own.clone()]);
            let to = self.rows_mut(&mut dv, &list).columns(columns.clone());
            product_into(View::new(p, list.len()).transposed(), of(&dout, &items), to, 1.0, true);
            product_into(
                of(&dout, &items),
                of(&v, &list).transposed(),
                ViewMut::new(dp, list.len()),
                1.0,
                false,
            );
            softmax_back(p, dp, &drop[own], self.factor());
            let to = self.rows_mut(&mut dq, &items).columns(columns.clone());
            product_into(View::new(p, list.len()), of(&k, &list), to, 1.0, false);
            let to = self.rows_mut(&mut dk, &list).columns(columns.clone());
            product_into(View::new(p, list.len()).transposed(), of(&q, &items), to, 1.0, true);
        });
        let mut dx = dx;
        for (weight, slopes, dweight, dbias) in [
            (query, &dq, dquery, Some(dquery_bias)),
            (key, &dk, dkey, None),
            (value, &dv, dvalue, Some(dvalue_bias)),
        ] {
            affine_back(x, width, weight, slopes, dx.as_mut().map(Slopes::lend), dweight, dbias);
        }
        for buffer in [logs, o, v, k, q, dout, drop, dq, dk, dv, block, dblock] {
            pass.give(buffer);
        }
    }

    /// For one list: the rows are its items.
    fn export(&self, parameters: &[f32], graph: &mut Graph, _: &Inputs, x: &Value) -> Value {
        let [query, query_bias, key, value, value_bias, mix, mix_bias] = self.parts(parameters);
        let head_width = self.width / self.heads;
        let split = |graph: &mut Graph, rows: &Value, order: &[i64]| {
            let shape = graph.ints(&[-1, self.heads as i64, head_width as i64]);
            let heads = graph.node("Reshape", &[rows, &shape], &[]);
            graph.node("Transpose", &[&heads], &[Attribute::Ints("perm", order)])
        };
        let rows = graph.linear(x, query, query_bias);
        let query = split(graph, &rows, &[1, 0, 2]);
        let rows = graph.matrix(x, key, self.width);
        let key = split(graph, &rows, &[1, 2, 0]);
        let rows = graph.linear(x, value, value_bias);
        let value = split(graph, &rows, &[1, 0, 2]);
        let similarity = graph.node("MatMul", &[&query, &key], &[]);
        let factor = graph.floats(&[1], &[self.factor()]);
        let scaled = graph.node("Mul", &[&similarity, &factor], &[]);
        let scaled = if self.causal { mask(graph, &scaled) } else { scaled };
        let probabilities = graph.node("Softmax", &[&scaled], &[Attribute::Int("axis", -1)]);
        let attended = graph.node("MatMul", &[&probabilities, &value], &[]);
        let attended = graph.node("Transpose", &[&attended], &[Attribute::Ints("perm", &[1, 0, 2])]);
        let shape = graph.ints(&[-1, self.width as i64]);
        let attended = graph.node("Reshape", &[&attended, &shape], &[]);
        graph.linear(&attended, mix, mix_bias)
    }
}

/// Numbers above the diagonal become so small that their softmax is 0.
fn mask(graph: &mut Graph, x: &Value) -> Value {
    let [zero, one, least] = [0.0, 1.0, -1e30].map(|value| graph.floats(&[1], &[value]));
    let zeros = graph.node("Mul", &[x, &zero], &[]);
    let ones = graph.node("Add", &[&zeros, &one], &[]);
    let kept = graph.node("Trilu", &[&ones], &[Attribute::Int("upper", 0)]);
    let hidden = graph.node("Less", &[&kept, &one], &[]);
    graph.node("Where", &[&hidden, &least, x], &[])
}

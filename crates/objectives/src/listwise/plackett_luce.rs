/*!
Likelihood of the order of the labels if items are drawn one after another with probabilities proportional to e^s
(Plackett–Luce): what ListMLE and p-ListMLE share.

```text
sort by label;  from the last to the first:  M_k = max_{m ≥ k} s_m,  R_k = Σ_{m ≥ k} e^{s_m − M_k}
p_k = e^{s_k − M_k}/R_k;  loss = Σ_k c_k (M_k − s_k + ln R_k) = −Σ_k c_k ln p_k
from the first to the last:  A ← A·f + c_k,  B ← B·f² + c_k,  f = e^{M_k − M_{k−1}} R_k/R_{k−1}
∂loss/∂s_k = p_k·A − c_k,   ∂²loss/∂s_k² = p_k·A − p_k²·B
```

No exponential is above 1 and no large numbers cancel: what underflows does not matter.
*/

use toprank_core::{Param, ParamError, Spec};

use crate::kernels::order::descending;
use crate::objective::{Input, Out};
use crate::work::Work;

pub(super) const TIED: Param = Param {
    name: "tied",
    default: "random",
    range: "random or shared",
    about: "items with equal labels: a random order in each step, or one shared normaliser",
};

/// How items with equal labels are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tied {
    Random,
    Shared,
}

impl Tied {
    pub fn read(spec: &Spec) -> Result<Tied, ParamError> {
        spec.args.one_of("tied", "random", &[("random", Tied::Random), ("shared", Tied::Shared)])
    }
}

/// Loss of one list, gradient and exact Hessian diagonal; `alpha(k, n)` is the weight of position k = 1 … n.
pub(super) fn likelihood(
    input: &Input,
    tied: Tied,
    alpha: impl Fn(usize, usize) -> f64,
    work: &mut Work,
    out: &mut Out,
) -> Option<f64> {
    let (s, y) = (input.list.scores, input.list.labels);
    let n = s.len();
    let same = |a: u32, b: u32| y[a as usize] == y[b as usize];
    if n < 2 || y.iter().all(|label| *label == y[0]) {
        return None;
    }
    let [c, tops, rests] = work.floats.cut([n, n, n]);
    let [order] = work.places.cut([n]);
    for (key, label) in c.iter_mut().zip(y) {
        *key = f64::from(*label);
    }
    descending(c, order, &mut work.kernel.order);
    if tied == Tied::Random {
        let mut random = input.stream.open();
        order.chunk_by_mut(|a, b| same(*a, *b)).for_each(|run| random.shuffle(run));
    }
    for (k, c) in c.iter_mut().enumerate() {
        *c = alpha(k + 1, n);
    }
    if tied == Tied::Shared {
        let mut start = 0;
        for run in order.chunk_by(|a, b| same(*a, *b)) {
            let places = &mut c[start..start + run.len()];
            let mean = places.iter().sum::<f64>() / run.len() as f64;
            places.fill(mean);
            start += run.len();
        }
    }
    for (c, &item) in c.iter_mut().zip(order.iter()) {
        *c *= input.weight(item as usize);
    }
    if c.iter().all(|c| *c == 0.0) {
        return None;
    }
    let (mut top, mut rest) = (f64::NEG_INFINITY, 0.0);
    for (k, &item) in order.iter().enumerate().rev() {
        let s = s[item as usize];
        if s > top {
            (top, rest) = (s, rest * (top - s).exp() + 1.0);
        } else {
            rest += (s - top).exp();
        }
        (tops[k], rests[k]) = (top, rest);
    }

    let (mut loss, mut a, mut b) = (0.0, 0.0, 0.0);
    let (mut start, mut before) = (0, (tops[0], rests[0]));
    for run in order.chunk_by(|a, b| tied == Tied::Shared && same(*a, *b)) {
        let c = &c[start..start + run.len()];
        let (top, rest) = (tops[start], rests[start]);
        let fall = (top - before.0).exp() * rest / before.1;
        let total: f64 = c.iter().sum();
        a = a * fall + total;
        b = b * fall * fall + total;
        let log = rest.ln();
        for (&item, &c) in run.iter().zip(c) {
            let j = item as usize;
            let p = (s[j] - top).exp() / rest;
            loss += c * (top - s[j] + log);
            out.gradient[j] = p * a - c;
            if let Some(h) = &mut out.hessian {
                h[j] = (p * (a - p * b)).max(0.0); // rounding may leave −1e-17
            }
        }
        (start, before) = (start + run.len(), (top, rest));
    }
    Some(loss)
}

#[cfg(test)]
pub(super) mod tests {
    use toprank_core::Stream;

    /// Reference implementation for labels without ties: loss, gradient, Hessian diagonal, O(n²).
    pub fn plain(s: &[f64], y: &[f32], alpha: impl Fn(usize) -> f64) -> (f64, Vec<f64>, Vec<f64>) {
        let n = s.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| y[*b].total_cmp(&y[*a]));
        let (mut loss, mut g, mut h) = (0.0, vec![0.0; n], vec![0.0; n]);
        for k in 0..n {
            let top = order[k..].iter().map(|&j| s[j]).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = order[k..].iter().map(|&j| (s[j] - top).exp()).sum();
            loss += alpha(k + 1) * (top - s[order[k]] + sum.ln());
            g[order[k]] -= alpha(k + 1);
            for &j in &order[k..] {
                let p = (s[j] - top).exp() / sum;
                g[j] += alpha(k + 1) * p;
                h[j] += alpha(k + 1) * p * (1.0 - p);
            }
        }
        (loss, g, h)
    }

    /// Scores that break careless sums: spread, offset, equal, clustered.
    pub fn adversarial(n: usize) -> Vec<Vec<f64>> {
        let mut random = Stream::new(5, "adversarial").open();
        let base: Vec<f64> = (0..n).map(|_| 4.0 * random.unit() - 2.0).collect();
        let mut outlier = base.clone();
        outlier[n / 2] = 1e6;
        vec![
            base.iter().map(|s| s * 1e6).collect(),
            base.iter().map(|s| s + 1e6).collect(),
            base.iter().map(|s| s * 30.0).collect(),
            vec![0.3; n],
            outlier,
            base,
        ]
    }
}

/*!
Metrics by smooth ranks, and the backward pass: ApproxNDCG, its Gumbel form and ApproxMRR.

```text
r_i = 1 + Σ_{j≠i} σ((s_j − s_i)/T)      for the anchors i: items with a gain
metric = Σ_i gain_i f(r_i)              f(r) = 1/log2(1 + r)  or  1/r
a_i = −gain_i f'(r_i) ≥ 0,   S_i = Σ_{j≠i} σ'(z_ij),   A_j = Σ_{i≠j} a_i σ'(z_ij)
∂(−metric)/∂s_j = (A_j − a_j S_j)/T
Hessian   (A_j + a_j S_j)/T²  ≥  ∂²(−metric)/∂s_j²,  for f'' ≥ 0 and |σ''| ≤ σ'
```

Only anchors are ranked, and only they have a gradient of their own: two sums over n × (number of anchors) pairs, or linear in
n by an expansion ([`super::sigmoid`]). The pair (i, i) is in both sums; it cancels in the gradient and is subtracted elsewhere.
*/

use super::sigmoid::{Curve, SigmoidSums, SigmoidWork};

/// f: the value of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worth {
    /// 1/log2(1 + r), as in DCG.
    Logarithm,
    /// 1/r, as in the reciprocal rank.
    Reciprocal,
}

impl Worth {
    /// f(r) and −f'(r).
    fn at(self, r: f64) -> [f64; 2] {
        match self {
            Worth::Logarithm => {
                let log = (1.0 + r).log2();
                [1.0 / log, 1.0 / (std::f64::consts::LN_2 * (1.0 + r) * log * log)]
            }
            Worth::Reciprocal => [1.0 / r, 1.0 / (r * r)],
        }
    }
}

/// Scratch memory of smooth ranks, and their anchors.
#[derive(Clone, Debug, Default)]
pub struct SmoothRanks {
    sigmoid: SigmoidWork,
    ones: Vec<f64>,
    pull: Vec<f64>,
    anchors: Vec<u32>,
    shares: Vec<f64>,
    /// Score, Σ σ, S and a of each anchor.
    scores: Vec<f64>,
    ranks: Vec<f64>,
    slopes: Vec<f64>,
    push: Vec<f64>,
}

impl SmoothRanks {
    /// Takes the items with a gain as anchors.
    pub fn anchor(&mut self, shares: impl Iterator<Item = f64>) {
        self.anchors.clear();
        self.shares.clear();
        for (j, share) in shares.enumerate().filter(|(_, share)| *share > 0.0) {
            self.anchors.push(j as u32);
            self.shares.push(share);
        }
    }

    /// The metric; adds the derivatives of −metric to `gradient` and its Hessian diagonal to `hessian`, both times `scale`.
    ///
    /// # Panics
    /// If there are fewer scores or outputs than items.
    pub fn measure(
        &mut self,
        scores: &[f64],
        worth: Worth,
        temperature: f64,
        scale: f64,
        gradient: &mut [f64],
        hessian: Option<&mut [f64]>,
    ) -> f64 {
        let SmoothRanks { sigmoid, ones, pull, anchors, shares, scores: places, ranks, slopes, push } = self;
        let sums = SigmoidSums::new(temperature);
        ones.resize(scores.len(), 1.0);
        pull.resize(scores.len(), 0.0);
        places.clear();
        places.extend(anchors.iter().map(|&j| scores[j as usize]));
        ranks.resize(anchors.len(), 0.0);
        slopes.resize(anchors.len(), 0.0);
        let curves = [Curve::Sigmoid, Curve::Slope];
        sums.sources_minus_targets(scores, places, sigmoid).write(curves, ones, [ranks, slopes]);
        let mut measure = 0.0;
        push.clear();
        for (rank, share) in ranks.iter().zip(shares.iter()) {
            let [worth, fall] = worth.at(1.0 + (rank - 0.5).max(0.0)); // without σ(0) of itself, plus rank 1
            measure += share * worth;
            push.push(share * fall);
        }
        sums.targets_minus_sources(places, scores, sigmoid).write([Curve::Slope], push, [pull]);
        let first = scale / temperature;
        for (g, pull) in gradient.iter_mut().zip(pull.iter()) {
            *g += first * pull;
        }
        for ((&j, push), slope) in anchors.iter().zip(push.iter()).zip(slopes.iter()) {
            gradient[j as usize] -= first * push * slope;
        }
        if let Some(hessian) = hessian {
            for ((&j, push), slope) in anchors.iter().zip(push.iter()).zip(slopes.iter()) {
                pull[j as usize] += push * (slope - 0.5); // σ'(0) = ¼ of itself, in both sums
            }
            for (h, pull) in hessian.iter_mut().zip(pull.iter()) {
                *h += first * pull.max(0.0) / temperature;
            }
        }
        measure
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::scalar::sigmoid;
    use toprank_core::Stream;

    /// Reference implementation: metric, derivatives and Hessian by the formulas, O(n²), and the greatest a_i.
    fn plain(s: &[f64], shares: &[f64], worth: Worth, t: f64) -> (f64, Vec<f64>, Vec<f64>, f64) {
        let n = s.len();
        let slope = |i: usize, j: usize| sigmoid((s[j] - s[i]) / t) * sigmoid((s[i] - s[j]) / t);
        let (mut measure, mut g, mut h, mut most) = (0.0, vec![0.0; n], vec![0.0; n], 0.0f64);
        for i in (0..n).filter(|&i| shares[i] > 0.0) {
            let others = || (0..n).filter(move |&j| j != i);
            let rank = 1.0 + others().map(|j| sigmoid((s[j] - s[i]) / t)).sum::<f64>();
            let [value, fall] = match worth {
                Worth::Logarithm => {
                    [1.0 / (1.0 + rank).log2(), 2f64.ln() / ((1.0 + rank) * (1.0 + rank).ln().powi(2))]
                }
                Worth::Reciprocal => [1.0 / rank, 1.0 / (rank * rank)],
            };
            measure += shares[i] * value;
            most = most.max(shares[i] * fall);
            for j in others() {
                let part = shares[i] * fall * slope(i, j) / t;
                g[j] += part;
                g[i] -= part;
                h[j] += part / t;
                h[i] += part / t;
            }
        }
        (measure, g, h, most)
    }

    #[test]
    fn sums_equal_the_reference_implementation_on_adversarial_scores() {
        let mut random = Stream::new(2, "smooth ranks").open();
        let mut ranks = SmoothRanks::default();
        for n in [1, 2, 3, 40, 900, 3000] {
            let base: Vec<f64> = (0..n).map(|_| 6.0 * random.unit() - 3.0).collect();
            let shares: Vec<f64> =
                (0..n).map(|_| if random.below(3) == 0 { random.unit() } else { 0.0 }).collect();
            let mut outlier = base.clone();
            outlier[n / 2] = 1e6;
            let cases = [
                base.clone(),
                base.iter().map(|s| s + 1e6).collect(),
                base.iter().map(|s| s * 1e6).collect(),
                base.iter().map(|s| s * 1e-3).collect(),
                vec![0.5; n],
                outlier,
            ];
            for (case, scores) in cases.iter().enumerate() {
                for (worth, t) in [(Worth::Logarithm, 1.0), (Worth::Reciprocal, 0.1)] {
                    let (mut g, mut h) = (vec![0.0; n], vec![0.0; n]);
                    ranks.anchor(shares.iter().copied());
                    let measure = ranks.measure(scores, worth, t, 1.0, &mut g, Some(&mut h));
                    let (expected, slopes, curves, most) = plain(scores, &shares, worth, t);
                    assert!((measure - expected).abs() <= 1e-9 * expected, "n = {n}, case {case}");
                    // The pair (i, i) has a slope of a_i/4 in both sums: errors are relative to that.
                    let scale = curves.iter().fold(most / t, |m: f64, x| m.max(x * t));
                    let close = |a: &[f64], b: &[f64], e: f64| {
                        a.iter().zip(b).all(|(a, b)| (a - b).abs() <= e * scale)
                    };
                    assert!(close(&g, &slopes, 1e-9), "n = {n}, case {case}: slopes");
                    assert!(close(&h, &curves, 1e-9 / t), "n = {n}, case {case}: hessian");
                }
            }
        }
    }

    #[test]
    fn the_hessian_bounds_the_second_derivative() {
        let scores = [0.3, -0.4, 1.0, 0.9, 0.2, -2.0];
        let shares = [0.5, 0.0, 0.0, 0.3, 0.1, 0.7];
        for (worth, t) in [(Worth::Logarithm, 1.0), (Worth::Logarithm, 0.2), (Worth::Reciprocal, 0.5)] {
            let mut ranks = SmoothRanks::default();
            ranks.anchor(shares.iter().copied());
            let mut h = [0.0; 6];
            ranks.measure(&scores, worth, t, 1.0, &mut [0.0; 6], Some(&mut h));
            for j in 0..6 {
                let mut at = |x: f64| {
                    let (mut moved, mut g) = (scores, [0.0; 6]);
                    moved[j] += x;
                    ranks.measure(&moved, worth, t, 1.0, &mut g, None);
                    g[j]
                };
                let second = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!(h[j] > 0.0 && second <= h[j], "{worth:?}, T = {t}, item {j}: {second} {}", h[j]);
            }
        }
    }

    #[test]
    fn scale_multiplies_and_adds() {
        let mut ranks = SmoothRanks::default();
        ranks.anchor([0.0, 1.0].into_iter());
        let (mut g, mut h) = ([10.0; 2], [10.0; 2]);
        let measure = ranks.measure(&[0.0, 0.0], Worth::Reciprocal, 1.0, 2.0, &mut g, Some(&mut h));
        // Rank 3/2, a = 4/9, σ' = ¼.
        assert!((measure - 2.0 / 3.0).abs() < 1e-15);
        assert!((g[0] - (10.0 + 2.0 / 9.0)).abs() < 1e-13 && (g[1] - (10.0 - 2.0 / 9.0)).abs() < 1e-13);
        assert!(h.iter().all(|h| (h - (10.0 + 2.0 / 9.0)).abs() < 1e-13), "{h:?}");
    }
}

/*!
Sums of hinges over a list: what squared-hinge and hinge surrogates need for every anchor, and the adjoint.

With d = x_j − x_i + c and ℓ(x) = max(0, x + c)² (or max(0, x + c)), for every anchor i over all items j ≠ i:

```text
forward    value_i = Σ_j ω_j ℓ(x_j − x_i),   slope_i = Σ_j ω_j ℓ'(x_j − x_i),   curve_i = Σ_j ω_j ℓ''(x_j − x_i)
backward   pull_j  = ω_j Σ_i a_i ℓ'(x_j − x_i),   second_j = ω_j Σ_i |a_i| ℓ''(x_j − x_i)      (all a_i of one sign)
           (for the hinge, whose ℓ'' is 0, 1 where d > 0)
```

Two paths, the same numbers to rounding:

- **direct**, O(n·m) in vectorised blocks: up to 40 anchors, or up to 128 items;
- **sweep**, one sort and then O(n + m): go through the scores in descending order with the moments S0, S1, S2 = Σ ω (1, d, d²). When
  the anchor's score decreases by e the moments shift, S2 += 2e·S1 + e²·S0, S1 += e·S0, then the items with d > 0 enter. Every term
  is ≥ 0, so nothing cancels, as it would in prefix sums of 1, s, s² (errors of 2e-3 at offsets of 1e6). Backward: the same in
  ascending order with Σ a (1, d).

The self pair is excluded from all sums. The sweep adds it with all others and subtracts it at the end, with an error of
one rounding of ω_i c².
*/

use super::order::{OrderWork, descending};
use crate::simd::fma;

/// Anchors up to which the direct path is taken.
const DIRECT_ANCHORS: usize = 40;
/// Items up to which the direct path is taken.
const DIRECT_ITEMS: usize = 128;
/// Items of a block of the direct backward pass: sums and scores stay in the L1 cache.
const BLOCK: usize = 1024;

/// Largest |score| in units of the margin for which d = x_j − (x_i − c) saves an operation per pair: the difference in
/// parentheses is then correct to 1e-13 of the margin. Beyond it, d = (x_j − x_i) + c.
const NEAR: f64 = 1e3;

/// Which hinge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hinge {
    /// ℓ = max(0, x + c)² instead of max(0, x + c).
    pub squared: bool,
    /// The margin c ≥ 0.
    pub margin: f64,
}

/// Scratch memory of the sums over one list, and the order of its scores while that list is processed.
#[derive(Clone, Debug, Default)]
pub struct HingeWork {
    order: OrderWork,
    /// Items by decreasing score.
    by_score: Vec<u32>,
    /// Their scores.
    sorted: Vec<f64>,
    /// Anchors by decreasing score: their number among the anchors.
    anchors: Vec<u32>,
    /// Their scores.
    anchor_scores: Vec<f64>,
    /// For each item its number among the anchors, or NONE.
    number: Vec<u32>,
    /// A copy of the scores, in which the direct path excludes an anchor from its own sum.
    copy: Vec<f64>,
    /// True if all scores are so near 0 that x_i − c may be rounded, see [`NEAR`].
    near: bool,
    /// Moments of the anchors; then sums of a block of items.
    s0: Vec<f64>,
    s1: Vec<f64>,
    s2: Vec<f64>,
}

const NONE: u32 = u32::MAX;

/// Weights ω of the items.
#[derive(Clone, Copy, Debug)]
pub enum Omega<'a> {
    /// The same for all.
    Alike(f64),
    /// One each, ≥ 0.
    Each(&'a [f64]),
}

impl Omega<'_> {
    /// ω of item `j`.
    #[inline]
    pub fn at(self, j: usize) -> f64 {
        match self {
            Omega::Alike(w) => w,
            Omega::Each(w) => w[j],
        }
    }
}

/// Sums for the anchors, in their order.
pub struct Sums<'a> {
    /// Σ ω ℓ.
    pub value: &'a mut [f64],
    /// Σ ω ℓ'.
    pub slope: &'a mut [f64],
    /// Σ ω ℓ''; for the hinge, which has none, Σ ω over d > 0. Empty: not wanted.
    pub curve: &'a mut [f64],
}

impl Hinge {
    /// Prepares for one list; `anchors` are items, ascending. The forward and backward calls that follow take the
    /// same scores and anchors.
    pub fn plan(self, scores: &[f64], anchors: &[u32], work: &mut HingeWork) {
        let n = scores.len();
        if is_direct(n, anchors.len()) {
            work.copy.clear();
            work.copy.extend_from_slice(scores);
            work.near = largest(scores) <= NEAR * self.margin;
            // Padding to full lanes: the padding is below every margin.
            work.copy.resize(n.next_multiple_of(LANES), f64::NEG_INFINITY);
            return;
        }
        work.by_score.resize(n, 0);
        descending(scores, &mut work.by_score, &mut work.order);
        work.number.clear();
        work.number.resize(n, NONE);
        for (number, &item) in anchors.iter().enumerate() {
            work.number[item as usize] = number as u32;
        }
        work.sorted.clear();
        work.anchors.clear();
        work.anchor_scores.clear();
        for &item in &work.by_score {
            let score = scores[item as usize];
            work.sorted.push(score);
            let number = work.number[item as usize];
            if number != NONE {
                work.anchors.push(number);
                work.anchor_scores.push(score);
            }
        }
    }

    /// Value, slope and curve of every anchor.
    pub fn forward(
        self,
        scores: &[f64],
        omega: Omega,
        anchors: &[u32],
        work: &mut HingeWork,
        sums: &mut Sums,
    ) {
        if !is_direct(scores.len(), anchors.len()) {
            return self.sweep_down(omega, anchors, work, sums);
        }
        let HingeWork { copy, near, s0, s1, s2, .. } = work;
        for sums in [&mut *s0, &mut *s1, &mut *s2] {
            sums.clear();
            sums.resize(anchors.len(), 0.0);
        }
        let (c, wants_count) = (self.margin, !self.squared || !sums.curve.is_empty());
        match omega {
            Omega::Alike(w) => {
                if *near {
                    moments_near(copy, anchors, c, s1, s2);
                } else {
                    moments_alike(copy, anchors, c, s1, s2);
                }
                if wants_count {
                    count_inside(copy, anchors, c, s0);
                }
                s0.iter_mut().chain(s1.iter_mut()).chain(s2.iter_mut()).for_each(|s| *s *= w);
            }
            Omega::Each(weights) => {
                let copy = &mut copy[..weights.len()];
                moments(copy, weights, anchors, c, s1, s2);
                if wants_count {
                    weight_inside(copy, weights, anchors, c, s0);
                }
            }
        }
        for (i, ((s0, s1), s2)) in s0.iter().zip(s1.iter()).zip(s2.iter()).enumerate() {
            self.sums(i, [*s0, *s1, *s2], sums);
        }
    }

    /// Value, slope and curve from the moments of d.
    #[inline]
    fn sums(self, i: usize, [s0, s1, s2]: [f64; 3], sums: &mut Sums) {
        let (value, slope, curve) = if self.squared { (s2, 2.0 * s1, 2.0 * s0) } else { (s1, s0, s0) };
        sums.value[i] = value;
        sums.slope[i] = slope;
        if let Some(slot) = sums.curve.get_mut(i) {
            *slot = curve;
        }
    }

    fn sweep_down(self, omega: Omega, anchors: &[u32], work: &HingeWork, sums: &mut Sums) {
        let c = self.margin;
        let (mut s0, mut s1, mut s2) = (0.0, 0.0, 0.0);
        let mut next = 0;
        let mut above = work.anchor_scores.first().copied().unwrap_or(0.0);
        for (&number, &score) in work.anchors.iter().zip(&work.anchor_scores) {
            let fall = above - score;
            s2 += 2.0 * fall * s1 + fall * fall * s0;
            s1 += fall * s0;
            above = score;
            while next < work.sorted.len() && work.sorted[next] - score + c > 0.0 {
                let d = work.sorted[next] - score + c;
                let w = omega.at(work.by_score[next] as usize);
                s0 += w;
                s1 += w * d;
                s2 += w * d * d;
                next += 1;
            }
            // Its own pair has d = c and was added unless c is 0.
            let own = if c > 0.0 { omega.at(anchors[number as usize] as usize) } else { 0.0 };
            let rest = [s0 - own, s1 - own * c, s2 - own * c * c].map(|s: f64| s.max(0.0));
            self.sums(number as usize, rest, sums);
        }
    }

    /// Adds pull_j − a_i slope_i to `gradient`, and second_j + |a_i| curve_i to `hessian`, with the slopes and curves
    /// of the forward pass. All a_i have one sign.
    #[allow(clippy::too_many_arguments, reason = "the operands of one formula")]
    pub fn backward(
        self,
        scores: &[f64],
        omega: Omega,
        anchors: &[u32],
        a: &[f64],
        (slope, curve): (&[f64], &[f64]),
        work: &mut HingeWork,
        gradient: &mut [f64],
        mut hessian: Option<&mut [f64]>,
    ) {
        if is_direct(scores.len(), anchors.len()) {
            let HingeWork { near, s0, .. } = work;
            self.spread_direct(scores, omega, anchors, a, *near, s0, gradient, hessian.as_deref_mut());
        } else {
            self.sweep_up(omega, anchors, a, work, gradient, hessian.as_deref_mut());
        }
        for (i, &item) in anchors.iter().enumerate() {
            gradient[item as usize] -= a[i] * slope[i];
            if let Some(h) = hessian.as_deref_mut() {
                h[item as usize] += a[i].abs() * curve[i];
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the operands of one formula")]
    fn spread_direct(
        self,
        scores: &[f64],
        omega: Omega,
        anchors: &[u32],
        a: &[f64],
        near: bool,
        memory: &mut Vec<f64>,
        gradient: &mut [f64],
        mut hessian: Option<&mut [f64]>,
    ) {
        let c = self.margin;
        memory.resize(BLOCK.min(scores.len()), 0.0);
        for (block, x) in scores.chunks(BLOCK).enumerate() {
            let start = block * BLOCK;
            let sums = &mut memory[..x.len()];
            sums.fill(0.0);
            if self.squared && near {
                pull_near(x, start, scores, anchors, c, a, sums);
            } else if self.squared {
                pull_squared(x, start, scores, anchors, c, a, sums);
            } else {
                pull_plain(x, start, scores, anchors, c, a, sums);
            }
            add_weighted(&mut gradient[start..], omega, start, sums, 1.0);
            if let Some(h) = hessian.as_deref_mut() {
                // All a have one sign, so the sum of absolute values is the absolute value of the sum.
                sums.fill(0.0);
                pull_plain(x, start, scores, anchors, c, a, sums);
                for second in &mut *sums {
                    *second = second.abs();
                }
                add_weighted(&mut h[start..], omega, start, sums, if self.squared { 2.0 } else { 1.0 });
            }
        }
    }

    fn sweep_up(
        self,
        omega: Omega,
        anchors: &[u32],
        a: &[f64],
        work: &HingeWork,
        gradient: &mut [f64],
        mut hessian: Option<&mut [f64]>,
    ) {
        let c = self.margin;
        let (mut t0, mut t1) = (0.0, 0.0);
        let mut entered = work.anchors.len(); // anchors from here on have been added
        let mut below = work.sorted.last().copied().unwrap_or(0.0);
        for (&item, &score) in work.by_score.iter().zip(&work.sorted).rev() {
            let rise = score - below;
            t1 += rise * t0;
            below = score;
            while entered > 0 && score - work.anchor_scores[entered - 1] + c > 0.0 {
                entered -= 1;
                let weight = a[work.anchors[entered] as usize];
                t0 += weight;
                t1 += weight * (score - work.anchor_scores[entered] + c);
            }
            let item = item as usize;
            let number = work.number[item];
            let own = if number == NONE || c <= 0.0 { 0.0 } else { a[number as usize] };
            let (slopes, curves) =
                if self.squared { (2.0 * (t1 - own * c), 2.0 * (t0 - own)) } else { (t0 - own, t0 - own) };
            gradient[item] += omega.at(item) * slopes;
            if let Some(h) = hessian.as_deref_mut() {
                h[item] += omega.at(item) * curves.abs();
            }
        }
        debug_assert_eq!(anchors.len(), work.anchors.len());
    }
}

/// out_j += factor ω_j x_j for a block of items from `start` on.
fn add_weighted(out: &mut [f64], omega: Omega, start: usize, x: &[f64], factor: f64) {
    match omega {
        Omega::Alike(w) => out.iter_mut().zip(x).for_each(|(out, x)| *out += factor * w * x),
        Omega::Each(w) => {
            for ((out, w), x) in out.iter_mut().zip(&w[start..]).zip(x) {
                *out += factor * w * x;
            }
        }
    }
}

fn is_direct(items: usize, anchors: usize) -> bool {
    anchors <= DIRECT_ANCHORS || items <= DIRECT_ITEMS
}

/// Runs a body for every block of items and every anchor: its number, its score, the block and where it starts. The
/// anchor is excluded by setting its own score to −∞, below every margin. A macro, since a closure would not be vectorised.
macro_rules! for_each_anchor {
    ($x:ident, $anchors:ident, |$i:ident, $at:ident, $block:ident, $start:ident| $body:block) => {
        for $start in (0..$x.len()).step_by(BLOCK) {
            let end = ($start + BLOCK).min($x.len());
            for ($i, &item) in $anchors.iter().enumerate() {
                let $at = std::mem::replace(&mut $x[item as usize], f64::NEG_INFINITY);
                let $block = &$x[$start..end];
                $body
                $x[item as usize] = $at;
            }
        }
    };
}

/// Numbers that are processed in parallel; [`BLOCK`] is a multiple of it.
const LANES: usize = 16;

/// Sum of the lanes by halves: a running sum would be a chain of sixteen dependent additions.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call would leave the caller's vector registers")]
fn sum(lanes: [f64; LANES]) -> f64 {
    // Through memory: otherwise the compiler pairs lanes of two sums and vectorises neither (half the speed).
    let lanes = std::hint::black_box(lanes);
    let eight: [f64; 8] = std::array::from_fn(|l| lanes[l] + lanes[l + 8]);
    let four: [f64; 4] = std::array::from_fn(|l| eight[l] + eight[l + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

vectorised! {
    /// s1_i, s2_i += Σ ω (d, d²) over d = max(0, (x − x_i) + c): in this order, since c − x_i would round at large
    /// offsets.
    fn moments(x: &mut [f64], omega: &[f64], anchors: &[u32], c: f64, s1: &mut [f64], s2: &mut [f64]) {
        for_each_anchor!(x, anchors, |i, at, block, start| {
            let (mut l1, mut l2) = ([0.0; LANES], [0.0; LANES]);
            let (xs, rest) = block.as_chunks::<LANES>();
            let (ws, w_rest) = omega[start..start + block.len()].as_chunks::<LANES>();
            for (x, w) in xs.iter().zip(ws) {
                // One loop per operation: in one loop, the compiler pairs l1 with l2 instead of lane with lane.
                let d: [f64; LANES] = std::array::from_fn(|l| (x[l] - at + c).max(0.0));
                let wd: [f64; LANES] = std::array::from_fn(|l| w[l] * d[l]);
                for l in 0..LANES {
                    l1[l] += wd[l];
                }
                for l in 0..LANES {
                    l2[l] += wd[l] * d[l];
                }
            }
            for ((x, w), l) in rest.iter().zip(w_rest).zip(0..) {
                let d = (x - at + c).max(0.0);
                l1[l] += w * d;
                l2[l] += w * d * d;
            }
            s1[i] += sum(l1);
            s2[i] += sum(l2);
        });
    }
}

vectorised! {
    /// The same with ω = 1.
    fn moments_alike(x: &mut [f64], anchors: &[u32], c: f64, s1: &mut [f64], s2: &mut [f64]) {
        for_each_anchor!(x, anchors, |i, at, block, start| {
            let (mut l1, mut l2) = ([0.0; LANES], [0.0; LANES]);
            let (xs, rest) = block.as_chunks::<LANES>();
            for x in xs {
                let d: [f64; LANES] = std::array::from_fn(|l| (x[l] - at + c).max(0.0));
                for l in 0..LANES {
                    l1[l] += d[l];
                }
                for l in 0..LANES {
                    l2[l] += d[l] * d[l];
                }
            }
            debug_assert!(rest.is_empty());
            s1[i] += sum(l1);
            s2[i] += sum(l2);
        });
    }
}

vectorised! {
    /// The same where all scores are near, see [`NEAR`].
    fn moments_near<FUSED>(x: &mut [f64], anchors: &[u32], c: f64, s1: &mut [f64], s2: &mut [f64]) {
        for_each_anchor!(x, anchors, |i, at, block, start| {
            let (mut l1, mut l2) = ([0.0; LANES], [0.0; LANES]);
            let (xs, rest) = block.as_chunks::<LANES>();
            let edge = at - c;
            for x in xs {
                let d: [f64; LANES] = std::array::from_fn(|l| (x[l] - edge).max(0.0));
                for l in 0..LANES {
                    l1[l] += d[l];
                }
                for l in 0..LANES {
                    l2[l] = fma::<FUSED>(d[l], d[l], l2[l]);
                }
            }
            debug_assert!(rest.is_empty());
            s1[i] += sum(l1);
            s2[i] += sum(l2);
        });
    }
}

vectorised! {
    /// The largest |x|; 0 of nothing.
    fn largest(x: &[f64]) -> f64 {
        let mut lanes = [0.0f64; LANES];
        let (xs, rest) = x.as_chunks::<LANES>();
        for x in xs {
            for l in 0..LANES {
                lanes[l] = lanes[l].max(x[l].abs());
            }
        }
        rest.iter().map(|x| x.abs()).chain(lanes).fold(0.0, f64::max)
    }
}

vectorised! {
    /// s0_i += Σ ω over (x − x_i) + c > 0.
    fn weight_inside(x: &mut [f64], omega: &[f64], anchors: &[u32], c: f64, s0: &mut [f64]) {
        for_each_anchor!(x, anchors, |i, at, block, start| {
            let mut l0 = [0.0; LANES];
            let (xs, rest) = block.as_chunks::<LANES>();
            let (ws, w_rest) = omega[start..start + block.len()].as_chunks::<LANES>();
            for (x, w) in xs.iter().zip(ws) {
                // A choice between constants compiles to a mask, one between variables to a branch.
                let inside: [f64; LANES] = std::array::from_fn(|l| if x[l] - at + c > 0.0 { 1.0 } else { 0.0 });
                for l in 0..LANES {
                    l0[l] += w[l] * inside[l];
                }
            }
            for ((x, w), l) in rest.iter().zip(w_rest).zip(0..) {
                l0[l] += if x - at + c > 0.0 { *w } else { 0.0 };
            }
            s0[i] += l0.iter().sum::<f64>();
        });
    }
}

vectorised! {
    /// s0_i += how many x have (x − x_i) + c > 0.
    fn count_inside(x: &mut [f64], anchors: &[u32], c: f64, s0: &mut [f64]) {
        for_each_anchor!(x, anchors, |i, at, block, start| {
            let mut inside = 0u64;
            for x in block {
                inside += u64::from(x - at + c > 0.0);
            }
            s0[i] += inside as f64;
        });
    }
}

vectorised! {
    /// pull_j += Σ a_i max(0, (x_j − x_i) + c) over a block of items that starts at `start`, without self pairs.
    fn pull_squared(x: &[f64], start: usize, scores: &[f64], anchors: &[u32], c: f64, a: &[f64], pull: &mut [f64]) {
        for (&item, a) in anchors.iter().zip(a) {
            let at = scores[item as usize];
            let own = (item as usize).wrapping_sub(start);
            let kept = pull.get(own).copied();
            for (p, x) in pull.iter_mut().zip(x) {
                *p += 2.0 * a * (x - at + c).max(0.0);
            }
            if let Some(kept) = kept {
                pull[own] = kept;
            }
        }
    }
}

vectorised! {
    /// The same where all scores are near, see [`NEAR`].
    fn pull_near<FUSED>(x: &[f64], start: usize, scores: &[f64], anchors: &[u32], c: f64, a: &[f64], pull: &mut [f64]) {
        for (&item, a) in anchors.iter().zip(a) {
            let (edge, twice) = (scores[item as usize] - c, 2.0 * a);
            let own = (item as usize).wrapping_sub(start);
            let kept = pull.get(own).copied();
            for (p, x) in pull.iter_mut().zip(x) {
                *p = fma::<FUSED>(twice, (x - edge).max(0.0), *p);
            }
            if let Some(kept) = kept {
                pull[own] = kept;
            }
        }
    }
}

vectorised! {
    /// pull_j += Σ a_i over anchors with (x_j − x_i) + c > 0, without self pairs.
    fn pull_plain(x: &[f64], start: usize, scores: &[f64], anchors: &[u32], c: f64, a: &[f64], pull: &mut [f64]) {
        for (&item, &a) in anchors.iter().zip(a) {
            let at = scores[item as usize];
            let own = (item as usize).wrapping_sub(start);
            let kept = pull.get(own).copied();
            for (p, x) in pull.iter_mut().zip(x) {
                *p += if x - at + c > 0.0 { a } else { 0.0 };
            }
            if let Some(kept) = kept {
                pull[own] = kept;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    /// The definition, pair by pair.
    struct Plain {
        value: Vec<f64>,
        slope: Vec<f64>,
        curve: Vec<f64>,
        gradient: Vec<f64>,
        hessian: Vec<f64>,
        /// The scale for the rounding error of a gradient: Σ of the absolute terms, the self pair's a_i ω c included.
        scale: Vec<f64>,
    }

    fn plain(hinge: Hinge, x: &[f64], omega: &[f64], anchors: &[u32], a: &[f64]) -> Plain {
        let zeros = |n: usize| vec![0.0; n];
        let (m, n) = (anchors.len(), x.len());
        let mut out = Plain {
            value: zeros(m),
            slope: zeros(m),
            curve: zeros(m),
            gradient: zeros(n),
            hessian: zeros(n),
            scale: zeros(n),
        };
        for (k, &i) in anchors.iter().enumerate() {
            let i = i as usize;
            for j in 0..n {
                let d = x[j] - x[i] + hinge.margin;
                if d <= 0.0 {
                    continue;
                }
                let (value, slope, curve) = if hinge.squared { (d * d, 2.0 * d, 2.0) } else { (d, 1.0, 1.0) };
                out.scale[j] += (a[k] * omega[j] * slope).abs();
                out.scale[i] += (a[k] * omega[j] * slope).abs();
                if j == i {
                    continue;
                }
                out.value[k] += omega[j] * value;
                out.slope[k] += omega[j] * slope;
                out.curve[k] += omega[j] * curve;
                out.gradient[j] += a[k] * omega[j] * slope;
                out.gradient[i] -= a[k] * omega[j] * slope;
                out.hessian[j] += a[k].abs() * omega[j] * curve;
                out.hessian[i] += a[k].abs() * omega[j] * curve;
            }
        }
        out
    }

    fn check(hinge: Hinge, x: &[f64], omega: &[f64], anchors: &[u32], a: &[f64], case: &str) {
        check_with(hinge, x, omega, Omega::Each(omega), anchors, a, case);
        check_with(hinge, x, &vec![0.25; x.len()], Omega::Alike(0.25), anchors, a, case);
    }

    fn check_with(
        hinge: Hinge,
        x: &[f64],
        omega: &[f64],
        given: Omega,
        anchors: &[u32],
        a: &[f64],
        case: &str,
    ) {
        let expected = plain(hinge, x, omega, anchors, a);
        let (m, n) = (anchors.len(), x.len());
        let mut work = HingeWork::default();
        let (mut value, mut slope, mut curve) = (vec![0.0; m], vec![0.0; m], vec![0.0; m]);
        let mut sums = Sums { value: &mut value, slope: &mut slope, curve: &mut curve };
        let (mut gradient, mut hessian) = (vec![0.0; n], vec![0.0; n]);
        hinge.plan(x, anchors, &mut work);
        hinge.forward(x, given, anchors, &mut work, &mut sums);
        hinge.backward(x, given, anchors, a, (&slope, &curve), &mut work, &mut gradient, Some(&mut hessian));
        let c = hinge.margin;
        for k in 0..m {
            let own = omega[anchors[k] as usize]; // one rounding of the self pair
            for (found, wanted, own) in [
                (value[k], expected.value[k], own * c * c),
                (slope[k], expected.slope[k], 2.0 * own * c),
                (curve[k], expected.curve[k], 2.0 * own),
            ] {
                let scale = wanted.abs() + own;
                assert!((found - wanted).abs() <= 1e-10 * scale, "{case}, anchor {k}: {found} for {wanted}");
            }
        }
        let top = expected.scale.iter().fold(0.0, |top: f64, s| top.max(*s));
        for j in 0..n {
            let error = (gradient[j] - expected.gradient[j]).abs();
            assert!(error <= 1e-10 * expected.scale[j].max(1e-3 * top), "{case}, item {j}: {error:e}");
            let second = expected.hessian[j];
            assert!(
                (hessian[j] - second).abs() <= 1e-9 * (second + 1e-3),
                "{case}, item {j}: {} {second}",
                hessian[j]
            );
        }
    }

    #[test]
    fn both_paths_equal_the_reference_implementation_on_adversarial_scores() {
        let mut random = Stream::new(5, "hinge").open();
        for (n, m) in
            [(1, 1), (2, 1), (2, 2), (100, 45), (128, 128), (129, 41), (300, 130), (2000, 30), (2000, 500)]
        {
            let base: Vec<f64> = (0..n).map(|_| random.unit() * 4.0 - 2.0).collect();
            let mut anchors: Vec<u32> = (0..n as u32).collect();
            random.shuffle(&mut anchors);
            anchors.truncate(m);
            anchors.sort_unstable();
            let omega: Vec<f64> =
                (0..n).map(|_| if random.unit() < 0.2 { 0.0 } else { random.unit() }).collect();
            let a: Vec<f64> = (0..m).map(|_| random.unit()).collect();
            let mut outlier = base.clone();
            outlier[n / 2] = 1e6;
            let cases = [
                ("plain", base.clone()),
                ("equal", vec![0.3; n]),
                ("offset", base.iter().map(|s| s + 1e6).collect()),
                ("spread", base.iter().map(|s| s * 1e6).collect()),
                ("cluster far off", base.iter().map(|s| s * 1e-3 + 1e6).collect()),
                ("outlier", outlier),
                ("coarse", base.iter().map(|s| (s * 3.0).round()).collect()),
            ];
            for (case, x) in &cases {
                for squared in [true, false] {
                    for margin in [0.0, 0.1, 1.0] {
                        let hinge = Hinge { squared, margin };
                        let name = format!("{case}, n = {n}, m = {m}, {hinge:?}");
                        check(hinge, x, &omega, &anchors, &a, &name);
                        let minus: Vec<f64> = a.iter().map(|a| -a).collect();
                        check(hinge, x, &omega, &anchors, &minus, &name);
                    }
                }
            }
        }
    }

    #[test]
    fn a_list_of_20_000_items_equals_the_reference_implementation() {
        let mut random = Stream::new(6, "hinge").open();
        let x: Vec<f64> = (0..20_000).map(|_| random.unit() * 1e6 + 1e6).collect();
        let anchors: Vec<u32> = (0..200).map(|i| i * 100).collect();
        let a: Vec<f64> = (0..200).map(|_| random.unit()).collect();
        for margin in [1.0, 1e5] {
            check(Hinge { squared: true, margin }, &x, &vec![1.0; x.len()], &anchors, &a, "20,000 items");
        }
    }
}

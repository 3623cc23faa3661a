/*!
Sums of a smooth function over all pairs of sources and targets in time linear in their number.

```text
out_i = Σ_j w_j k((x_j − t_i)/T)      k = σ, σ' or softplus

cut the line into intervals of length 2.5 T; u, v ∈ [−1, 1] are the positions of a source and of a target in theirs
moments:    M_s[a] = Σ_{j in s} w_j u_j^a,  a < 16                        one loop over the sources
near:       L_t[b] += Σ_a A_d[a][b] M_s[a],  d = s − t, |d| ≤ 16          one 16 × 16 matrix per distance
far above:  k is 1 (σ), 0 (σ') or linear (softplus): running sums; far below it is 0
values:     out_i = Σ_b L_t[b] v_i^b                                      one loop over the targets
```

k is analytic in |Im z| < π, so intervals next to each other need no special care, and the coefficients decrease by a factor of 5.2 per
term. The matrices are constants: k(1.25 (2d + u − v)) at Chebyshev nodes, turned into powers of u and v. (Fewer terms
on shorter intervals cost as much; 12 terms on 2 T leave 2e-9.)

Error: the relative error of every pair's k is at most 1e-10 (σ': 3e-10); from a distance of 40 T on the absolute error is 5e-18.

If there are fewer intervals than points, they are numbered from the top (no sort). Otherwise the positions are
sorted and only non-empty intervals exist; a gap above 44 T starts a new segment with its own origin, so
neither outliers nor offsets cost memory or digits.
*/

use std::sync::LazyLock;

use rayon::prelude::*;

use super::order::{OrderWork, descending};
use super::scalar::{sigmoid, softplus};
use crate::simd::fma;

/// Powers kept.
const TERMS: usize = 16;
/// Half the length of an interval in units of T.
const HALF: f64 = 1.25;
/// Distance in intervals up to which pairs are near.
const NEAR: i64 = 16;
/// Gap in units of T that separates two segments: their intervals are then more than [`NEAR`] apart.
const GAP: f64 = 44.0;
/// Interval numbers below this times the upper half of the interval's length are exact.
const EXACT: f64 = (1u64 << 26) as f64;

/// Points of a part that one thread processes. Parts do not depend on the number of threads, and neither do the results.
const PART: usize = 1 << 15;

type Powers = [f64; TERMS];
type Matrix = [Powers; TERMS];

/// The function that is summed; z = (x_j − t_i)/T.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// σ(z) = 1/(1 + e^{−z}).
    Sigmoid,
    /// σ'(z) = σ(z)(1 − σ(z)); even.
    Slope,
    /// ln(1 + e^z).
    Softplus,
}

impl Curve {
    /// Its value.
    #[inline]
    pub fn at(self, z: f64) -> f64 {
        match self {
            Curve::Sigmoid => sigmoid(z),
            Curve::Slope => {
                let e = (-z.abs()).exp();
                e / ((1.0 + e) * (1.0 + e))
            }
            Curve::Softplus => softplus(z),
        }
    }

    fn matrices(self) -> &'static [Matrix] {
        static SIGMOID: LazyLock<Vec<Matrix>> = LazyLock::new(|| Curve::Sigmoid.fit());
        static SLOPE: LazyLock<Vec<Matrix>> = LazyLock::new(|| Curve::Slope.fit());
        static SOFTPLUS: LazyLock<Vec<Matrix>> = LazyLock::new(|| Curve::Softplus.fit());
        match self {
            Curve::Sigmoid => &SIGMOID,
            Curve::Slope => &SLOPE,
            Curve::Softplus => &SOFTPLUS,
        }
    }

    /// For each distance d = −16 … 16 the matrix A with k(HALF·(2d + u − v)) ≈ Σ_ab A[a][b] u^a v^b.
    fn fit(self) -> Vec<Matrix> {
        let angle = |node: usize| std::f64::consts::PI * (node as f64 + 0.5) / TERMS as f64;
        let nodes: Powers = std::array::from_fn(|node| angle(node).cos());
        // From values at the nodes to Chebyshev coefficients, and from those to powers. One step for both would round
        // sums of large numbers; the coefficients are small where the integers of the second step are large.
        let to_chebyshev: Matrix = std::array::from_fn(|degree| {
            let scale = if degree == 0 { 1.0 } else { 2.0 } / TERMS as f64;
            std::array::from_fn(|node| scale * (degree as f64 * angle(node)).cos())
        });
        let mut to_powers = [[0.0; TERMS]; TERMS]; // [power][degree]
        to_powers[0][0] = 1.0;
        to_powers[1][1] = 1.0;
        for degree in 2..TERMS {
            for power in 0..TERMS {
                let shifted = if power == 0 { 0.0 } else { to_powers[power - 1][degree - 1] };
                to_powers[power][degree] = 2.0 * shifted - to_powers[power][degree - 2];
            }
        }
        let on_both_sides = |map: &Matrix, values: &Matrix| -> Matrix {
            let rows: Matrix = std::array::from_fn(|a| {
                std::array::from_fn(|v| (0..TERMS).map(|u| map[a][u] * values[u][v]).sum())
            });
            rows.map(|row| std::array::from_fn(|b| (0..TERMS).map(|v| map[b][v] * row[v]).sum()))
        };
        (-NEAR..=NEAR)
            .map(|d| {
                let values = nodes.map(|u| nodes.map(|v| self.at(HALF * ((2 * d) as f64 + u - v))));
                on_both_sides(&to_powers, &on_both_sides(&to_chebyshev, &values))
            })
            .collect()
    }
}

/// A non-empty interval; intervals are in descending order.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    segment: u32,
    /// Its number, counted upwards from the origin of its segment.
    number: i64,
    /// The origin of its segment, in units of scores.
    origin: f64,
    sources: bool,
    targets: bool,
}

impl Interval {
    /// Distance from the middle of `lower` to the middle of this one, in half lengths.
    fn above(&self, lower: &Interval, temperature: f64) -> f64 {
        (self.origin - lower.origin) / (HALF * temperature) + (2 * (self.number - lower.number)) as f64
    }
}

/// The intervals of points and their positions −1 … 1 in them.
#[derive(Clone, Debug, Default)]
struct Places {
    interval: Vec<u32>,
    within: Vec<f64>,
}

/// Sources and targets laid out on intervals; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    temperature: f64,
    intervals: Vec<Interval>,
    sources: Places,
    targets: Places,
    moments: Vec<Powers>,
    locals: Vec<Powers>,
    merged: Vec<f64>,
    order: Vec<u32>,
    sorting: OrderWork,
}

/// How a score finds its interval.
#[derive(Clone, Copy)]
struct Ruler {
    /// 1/(half the length).
    inverse: f64,
    /// The length of an interval in two parts; the first times a number below 2²⁶ is exact.
    high: f64,
    low: f64,
}

impl Ruler {
    fn new(temperature: f64) -> Ruler {
        let half = HALF * temperature;
        let high = f64::from_bits((2.0 * half).to_bits() & !((1 << 27) - 1));
        Ruler { inverse: 1.0 / half, high, low: 2.0 * half - high }
    }

    /// Number of the interval that holds `x`, counted from 0; an integer.
    #[inline]
    fn number(self, x: f64) -> f64 {
        (0.5 * self.inverse * x).floor()
    }

    /// Position −1 … 1 of `x` in interval `number`.
    #[inline]
    fn within(self, x: f64, number: f64) -> f64 {
        ((x - number * self.high) - number * self.low) * self.inverse - 1.0
    }
}

impl Grid {
    /// Estimated nanoseconds of one sum over `points` sources and targets: loops over points and pairs of near intervals, and a
    /// sort if there are more intervals than points.
    pub fn cost(temperature: f64, [low, high]: [f64; 2], points: f64) -> f64 {
        let intervals = Grid::intervals(temperature, low, high);
        let (intervals, of_a_point) = if intervals <= points { (intervals, 6.0) } else { (points, 40.0) };
        150.0 + of_a_point * points + 20.0 * intervals * intervals.min((2 * NEAR + 1) as f64)
    }

    /// How many intervals cover low … high.
    fn intervals(temperature: f64, low: f64, high: f64) -> f64 {
        (high / 2.0 - low / 2.0) / (HALF * temperature) + 1.0
    }

    /// Lays out `sign`·x of all points, which lie in `low ..= high`.
    pub fn lay(
        &mut self,
        sources: &[f64],
        targets: &[f64],
        sign: f64,
        temperature: f64,
        [low, high]: [f64; 2],
    ) {
        self.temperature = temperature;
        let ruler = Ruler::new(temperature);
        // Counting from 0 keeps every digit while numbers are small; else from the lowest score of a segment.
        let exact = ruler.number(low).abs().max(ruler.number(high).abs()) < EXACT;
        let points = sources.len() + targets.len();
        self.intervals.clear();
        if Grid::intervals(temperature, low, high) <= points as f64 {
            let origin = if exact { 0.0 } else { low };
            let top = ruler.number(high - origin);
            let count = (top - ruler.number(low - origin)) as usize + 1;
            let interval =
                |i: usize| Interval { number: top as i64 - i as i64, origin, ..Interval::default() };
            self.intervals.extend((0..count).map(interval));
            for (points, places) in [(sources, &mut self.sources), (targets, &mut self.targets)] {
                places.interval.resize(points.len(), 0);
                places.within.resize(points.len(), 0.0);
                let parts = points
                    .par_chunks(PART)
                    .zip(places.interval.par_chunks_mut(PART))
                    .zip(places.within.par_chunks_mut(PART));
                parts.for_each(|((x, interval), within)| {
                    place(x, [sign, origin, top], ruler, interval, within);
                });
            }
        } else {
            self.lay_sorted(sources, targets, sign, ruler, exact);
        }
        for &i in &self.sources.interval {
            self.intervals[i as usize].sources = true;
        }
        for &i in &self.targets.interval {
            self.intervals[i as usize].targets = true;
        }
    }

    fn lay_sorted(&mut self, sources: &[f64], targets: &[f64], sign: f64, ruler: Ruler, exact: bool) {
        self.merged.clear();
        self.merged.extend(sources.iter().chain(targets).map(|x| sign * x));
        self.order.clear();
        self.order.resize(self.merged.len(), 0);
        descending(&self.merged, &mut self.order, &mut self.sorting);
        for (points, places) in [(sources, &mut self.sources), (targets, &mut self.targets)] {
            places.interval.resize(points.len(), 0);
            places.within.resize(points.len(), 0.0);
        }
        let mut start = 0;
        while start < self.order.len() {
            let at = |place: usize| self.merged[self.order[place] as usize];
            let mut end = start + 1;
            while end < self.order.len() && at(end - 1) - at(end) <= GAP * self.temperature {
                end += 1;
            }
            let origin = if exact { 0.0 } else { at(end - 1) };
            let segment = self.intervals.last().map_or(0, |last| last.segment + 1);
            for place in start..end {
                let (x, point) = (at(place) - origin, self.order[place] as usize);
                let number = ruler.number(x);
                let same = |last: &Interval| last.segment == segment && last.number == number as i64;
                if !self.intervals.last().is_some_and(same) {
                    let interval = Interval { segment, number: number as i64, origin, ..Interval::default() };
                    self.intervals.push(interval);
                }
                let (places, point) = match point.checked_sub(sources.len()) {
                    None => (&mut self.sources, point),
                    Some(target) => (&mut self.targets, target),
                };
                places.interval[point] = self.intervals.len() as u32 - 1;
                places.within[point] = ruler.within(x, number);
            }
            start = end;
        }
    }

    /// Moments of the sources under the given weights.
    pub fn weigh(&mut self, weights: &[f64]) {
        let count = self.intervals.len();
        // Each part has its own moments, added in order; one part if there would be as many moments as points.
        let part = if count <= PART / TERMS { PART } else { weights.len() };
        self.moments.clear();
        self.moments.resize(count * weights.len().div_ceil(part), [0.0; TERMS]);
        let sources = self.sources.interval.par_chunks(part).zip(self.sources.within.par_chunks(part));
        sources
            .zip(weights.par_chunks(part))
            .zip(self.moments.par_chunks_mut(count))
            .for_each(|(((interval, within), weights), out)| moments(interval, within, weights, out));
        let (first, others) = self.moments.split_at_mut(count);
        for other in others.chunks(count) {
            for (sum, x) in first.as_flattened_mut().iter_mut().zip(other.as_flattened()) {
                *sum += x;
            }
        }
        self.moments.truncate(count);
    }

    /// The sums at all targets, with the moments of [`Grid::weigh`].
    pub fn sum(&mut self, curve: Curve, out: &mut [f64]) {
        self.locals.clear();
        self.locals.resize(self.intervals.len(), [0.0; TERMS]);
        let (mut first, mut end) = (0, 0); // the sources near the present target: first .. end
        let (mut above, mut above_distance) = (0.0, 0.0); // Σ w and Σ w·(distance to the last interval that became far)
        let intervals = &self.intervals;
        for (t, target) in intervals.iter().enumerate().filter(|(_, target)| target.targets) {
            while intervals[first].segment < target.segment || intervals[first].number - target.number > NEAR
            {
                if first > 0 {
                    above_distance += above * intervals[first - 1].above(&intervals[first], self.temperature);
                }
                above += self.moments[first][0];
                above_distance += self.moments[first][1];
                first += 1;
            }
            while end < intervals.len()
                && (intervals[end].segment < target.segment
                    || intervals[end].segment == target.segment
                        && target.number - intervals[end].number <= NEAR)
            {
                end += 1;
            }
            let local = &mut self.locals[t];
            if first > 0 {
                match curve {
                    Curve::Sigmoid => local[0] = above,
                    Curve::Slope => {}
                    Curve::Softplus => {
                        let distance = intervals[first - 1].above(target, self.temperature);
                        local[0] = HALF * (above_distance + above * distance);
                        local[1] = -HALF * above;
                    }
                }
            }
            let shift = target.number - NEAR;
            near(&intervals[first..end], &self.moments[first..end], shift, curve.matrices(), local);
        }
        let targets = self.targets.interval.par_chunks(PART).zip(self.targets.within.par_chunks(PART));
        targets
            .zip(out.par_chunks_mut(PART))
            .for_each(|((interval, within), out)| values(interval, within, &self.locals, out));
    }
}

vectorised! {
    /// Interval and position of each point if intervals are numbered from the top.
    fn place(x: &[f64], geometry: [f64; 3], ruler: Ruler, interval: &mut [u32], within: &mut [f64]) {
        const SHIFT: f64 = 4_503_599_627_370_496.0; // 2⁵²: leaves an integer in the low bits of the sum
        let [sign, origin, top] = geometry;
        for ((x, interval), within) in x.iter().zip(interval).zip(within) {
            let x = sign * x - origin;
            let number = ruler.number(x);
            *interval = ((top - number) + SHIFT).to_bits() as u32;
            *within = ruler.within(x, number);
        }
    }
}

/// 1, u … u¹⁵.
#[inline(always)]
#[allow(clippy::inline_always)] // must be inlined for its caller to be vectorised
fn powers(u: f64) -> Powers {
    let square = u * u;
    let (fourth, mut p) = (square * square, [0.0; TERMS]);
    let eighth = fourth * fourth;
    p[..4].copy_from_slice(&[1.0, u, square, square * u]);
    for a in 0..4 {
        p[a + 4] = p[a] * fourth;
    }
    for a in 0..8 {
        p[a + 8] = p[a] * eighth;
    }
    p
}

vectorised! {
    /// Adds w·u^a of each source to its interval.
    fn moments<FUSED>(interval: &[u32], within: &[f64], weights: &[f64], moments: &mut [Powers]) {
        for ((interval, u), w) in interval.iter().zip(within).zip(weights) {
            let powers = powers(*u);
            let moments = &mut moments[*interval as usize];
            for a in 0..TERMS {
                moments[a] = fma::<FUSED>(*w, powers[a], moments[a]);
            }
        }
    }
}

vectorised! {
    /// Adds what near sources give to a target interval; `shift` + i is the number of a source at distance i − 16.
    fn near<FUSED>(sources: &[Interval], moments: &[Powers], shift: i64, matrices: &[Matrix], local: &mut Powers) {
        let mut sum = *local;
        for (source, moments) in sources.iter().zip(moments).filter(|(source, _)| source.sources) {
            let matrix = &matrices[(source.number - shift) as usize];
            for (row, m) in matrix.iter().zip(moments) {
                for (sum, a) in sum.iter_mut().zip(row) {
                    *sum = fma::<FUSED>(*m, *a, *sum);
                }
            }
        }
        *local = sum;
    }
}

vectorised! {
    /// Value of its interval's polynomial at each target.
    fn values(interval: &[u32], within: &[f64], locals: &[Powers], out: &mut [f64]) {
        for ((interval, v), out) in interval.iter().zip(within).zip(out) {
            let local = &locals[*interval as usize];
            let mut terms = powers(*v);
            for a in 0..TERMS {
                terms[a] *= local[a];
            }
            for a in 0..8 {
                terms[a] += terms[a + 8];
            }
            for a in 0..4 {
                terms[a] += terms[a + 4];
            }
            *out = (terms[0] + terms[1]) + (terms[2] + terms[3]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_within_the_stated_error() {
        for (curve, bound) in [(Curve::Sigmoid, 1e-10), (Curve::Slope, 3e-10), (Curve::Softplus, 1e-10)] {
            let mut worst = (0.0f64, 0);
            for (matrix, d) in curve.matrices().iter().zip(-NEAR..) {
                for (iu, iv) in (0..=40).flat_map(|iu| (0..=40).map(move |iv| (iu, iv))) {
                    let (u, v) = (f64::from(iu) / 20.0 - 1.0, f64::from(iv) / 20.0 - 1.0);
                    let got: f64 = (0..TERMS)
                        .flat_map(|a| (0..TERMS).map(move |b| (a, b)))
                        .map(|(a, b)| matrix[a][b] * u.powi(a as i32) * v.powi(b as i32))
                        .sum();
                    let want = curve.at(HALF * ((2 * d) as f64 + u - v));
                    let error = (got / want - 1.0).abs();
                    if error > worst.0 {
                        worst = (error, d);
                    }
                }
            }
            println!("{curve:?}: {worst:?}");
            assert!(worst.0 <= bound, "{curve:?}: {} at distance {}", worst.0, worst.1);
        }
    }
}

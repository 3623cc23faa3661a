/*!
Sums of σ, σ' and softplus over all pairs of sources and targets: smooth ranks, logistic losses, and their gradients.

```text
out_i = Σ_j w_j k(z_ij),   z_ij = (x_j − t_i)/T   or   (t_i − x_j)/T,   k = σ, σ' or ln(1 + e^z)
```

| path | when | cost, one core of a 2.8 GHz Xeon | error |
| --- | --- | --- | --- |
| all pairs, e^{x/T} once per point, four fractions over one denominator | σ, range ≤ 300 T | 0.2 ns a pair | 1e-13 |
| all pairs, e^{x/T} once per point | range ≤ 1000 T | 0.6 ns a pair, softplus 1.2 | 1e-13 |
| all pairs, by the formula | otherwise | 8 ns a pair | 1e-15 |
| expansion in moments (`expansion.rs`) | many points | 6 ns a point, 20 ns a pair of near intervals | 1e-10, σ' 3e-10 |

The error is relative to the sum, for terms of one sign. The path is chosen by the cost model in
[`Sums::write`], for each function separately and from the positions alone, so asking for one more function does not change
the results of the others.
*/

pub use super::expansion::Curve;
use super::expansion::Grid;
use super::vector::{exp_all, twice_artanh};

/// Scratch memory of [`SigmoidSums`].
#[derive(Clone, Debug, Default)]
pub struct SigmoidWork {
    grid: Grid,
    pairs: Pairs,
    /// Of operations such as [`SigmoidSums::ranks`].
    ones: Vec<f64>,
    sums: Vec<f64>,
}

/// Points as the sums over all pairs read them; sources padded with weight 0 to a multiple of 4.
#[derive(Clone, Debug, Default)]
struct Pairs {
    /// x/T of the sources, from the middle of the range.
    source: Vec<f64>,
    source_exp: Vec<f64>,
    target: Vec<f64>,
    target_exp: Vec<f64>,
    weight: Vec<f64>,
    weighted_exp: Vec<f64>,
}

/// Range in units of T up to which a product of four sums of exponentials stays finite, with headroom for weights.
const FOUR_RANGE: f64 = 300.0;
/// Range in units of T up to which exponentials stay finite.
const EXP_RANGE: f64 = 1000.0;

/// Sums at one temperature.
///
/// ```
/// use toprank_objectives::kernels::sigmoid::{Curve, SigmoidSums, SigmoidWork};
/// let (items, weights, anchors) = ([0.0, 1.0, 3.0], [1.0, 1.0, 0.5], [1.0]);
/// let (mut rank, mut slope) = ([0.0], [0.0]);
/// let mut work = SigmoidWork::default();
/// let mut sums = SigmoidSums::new(2.0).sources_minus_targets(&items, &anchors, &mut work);
/// sums.write([Curve::Sigmoid, Curve::Slope], &weights, [&mut rank, &mut slope]);
/// let sigma = |z: f64| 1.0 / (1.0 + (-z).exp());
/// assert!((rank[0] - (sigma(-0.5) + 0.5 + 0.5 * sigma(1.0))).abs() < 1e-13);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SigmoidSums {
    temperature: f64,
}

impl SigmoidSums {
    /// For T = `temperature` > 0; it is clamped to 1e-300 … 1e300.
    pub fn new(temperature: f64) -> SigmoidSums {
        SigmoidSums { temperature: temperature.clamp(1e-300, 1e300) }
    }

    /// Sums of k((source − target)/T).
    pub fn sources_minus_targets<'a>(
        self,
        sources: &'a [f64],
        targets: &'a [f64],
        work: &'a mut SigmoidWork,
    ) -> Sums<'a> {
        self.sums(sources, targets, 1.0, work)
    }

    /// Sums of k((target − source)/T).
    pub fn targets_minus_sources<'a>(
        self,
        sources: &'a [f64],
        targets: &'a [f64],
        work: &'a mut SigmoidWork,
    ) -> Sums<'a> {
        self.sums(sources, targets, -1.0, work)
    }

    fn sums<'a>(
        self,
        sources: &'a [f64],
        targets: &'a [f64],
        sign: f64,
        work: &'a mut SigmoidWork,
    ) -> Sums<'a> {
        let widest = |[low, high]: [f64; 2], &x: &f64| [low.min(x), high.max(x)];
        let mut range = [f64::INFINITY, f64::NEG_INFINITY];
        range = sources.iter().chain(targets).fold(range, widest);
        if sign < 0.0 {
            range = [-range[1], -range[0]];
        }
        let SigmoidWork { grid, pairs, .. } = work;
        Sums {
            temperature: self.temperature,
            sources,
            targets,
            sign,
            range,
            grid,
            pairs,
            expansion: Ready::Nothing,
            all_pairs: Ready::Nothing,
        }
    }

    /// Smooth rank of every item without the one for itself: `ranks[i] = Σ_{j≠i} σ((s_j − s_i)/T)`.
    ///
    /// ```
    /// use toprank_objectives::kernels::sigmoid::{SigmoidSums, SigmoidWork};
    /// let mut ranks = [0.0; 2];
    /// SigmoidSums::new(0.1).ranks(&[5.0, 1.0], &mut ranks, &mut SigmoidWork::default());
    /// assert!(ranks[0] < 1e-15 && (ranks[1] - 1.0).abs() < 1e-13);
    /// ```
    pub fn ranks(self, scores: &[f64], ranks: &mut [f64], work: &mut SigmoidWork) {
        let mut ones = std::mem::take(&mut work.ones);
        ones.clear();
        ones.resize(scores.len(), 1.0);
        self.sources_minus_targets(scores, scores, work).write([Curve::Sigmoid], &ones, [ranks]);
        for rank in ranks {
            *rank = (*rank - 0.5).max(0.0);
        }
        work.ones = ones;
    }

    /// The backward pass of [`SigmoidSums::ranks`]: adds `Σ_i a_i ∂ranks[i]/∂s_k` to `gradient[k]`.
    ///
    /// ```text
    /// ∂/∂s_k = (1/T) Σ_{i≠k} (a_i − a_k) σ'((s_k − s_i)/T)
    /// ```
    pub fn ranks_backward(self, scores: &[f64], a: &[f64], gradient: &mut [f64], work: &mut SigmoidWork) {
        let (mut ones, mut sums) = (std::mem::take(&mut work.ones), std::mem::take(&mut work.sums));
        ones.clear();
        ones.resize(scores.len(), 1.0);
        sums.clear();
        sums.resize(2 * scores.len(), 0.0);
        let (pull, slopes) = sums.split_at_mut(scores.len());
        let mut between = self.sources_minus_targets(scores, scores, work);
        between.write([Curve::Slope], a, [pull]);
        between.write([Curve::Slope], &ones, [slopes]);
        for k in 0..scores.len() {
            gradient[k] += (pull[k] - a[k] * slopes[k]) / self.temperature;
        }
        (work.ones, work.sums) = (ones, sums);
    }
}

/// Sources and targets of one [`SigmoidSums`]; what several sums share is computed once.
pub struct Sums<'a> {
    temperature: f64,
    sources: &'a [f64],
    targets: &'a [f64],
    sign: f64,
    /// Least and greatest of sign·x.
    range: [f64; 2],
    grid: &'a mut Grid,
    pairs: &'a mut Pairs,
    expansion: Ready,
    all_pairs: Ready,
}

/// What has been computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ready {
    Nothing,
    Points,
    Weights,
}

/// How a sum is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Fours,
    Pairs,
    Plain,
    Expansion,
}

impl Sums<'_> {
    /// Writes the sums of each curve: `out[c][i] = Σ_j weights[j]·curves[c](z_ij)`.
    ///
    /// Cost: the least of the paths' costs by the table in the [module](self), never more than linear in the number
    /// of points times a constant (up to 700 ns a point when they are some 2.5 T apart).
    ///
    /// # Panics
    /// If there is not one weight per source and one number per target in each output.
    pub fn write<const K: usize>(&mut self, curves: [Curve; K], weights: &[f64], out: [&mut [f64]; K]) {
        assert_eq!(weights.len(), self.sources.len(), "one weight per source");
        assert!(out.iter().all(|out| out.len() == self.targets.len()), "one number per target");
        if self.sources.is_empty() || self.targets.is_empty() {
            for out in out {
                out.fill(0.0);
            }
            return;
        }
        self.expansion = self.expansion.min(Ready::Points);
        self.all_pairs = self.all_pairs.min(Ready::Points);
        for (curve, out) in curves.into_iter().zip(out) {
            self.write_by(self.path(curve), curve, weights, out);
        }
    }

    fn write_by(&mut self, path: Path, curve: Curve, weights: &[f64], out: &mut [f64]) {
        match path {
            Path::Plain => self.plain(curve, weights, out),
            Path::Expansion => {
                if self.expansion == Ready::Nothing {
                    self.grid.lay(self.sources, self.targets, self.sign, self.temperature, self.range);
                }
                if self.expansion < Ready::Weights {
                    self.grid.weigh(weights);
                }
                self.expansion = Ready::Weights;
                self.grid.sum(curve, out);
            }
            Path::Fours | Path::Pairs => {
                if self.all_pairs == Ready::Nothing {
                    self.raise();
                }
                if self.all_pairs < Ready::Weights {
                    self.pairs.weigh(weights);
                }
                self.all_pairs = Ready::Weights;
                out.fill(0.0);
                let Pairs { source, source_exp, target, target_exp, weight, weighted_exp } = &*self.pairs;
                match curve {
                    Curve::Sigmoid if path == Path::Fours => {
                        sigmoids_by_fours(target_exp, source_exp, weighted_exp, out);
                    }
                    Curve::Sigmoid => sigmoids(target_exp, source_exp, weighted_exp, out),
                    Curve::Slope => slopes(target_exp, source_exp, weighted_exp, out),
                    Curve::Softplus => {
                        softpluses([target, target_exp], [source, source_exp, weight], out);
                    }
                }
            }
        }
    }

    /// The cheapest path; costs in ns.
    fn path(&self, curve: Curve) -> Path {
        let range = (self.range[1] / 2.0 - self.range[0] / 2.0) / self.temperature * 2.0;
        let (points, pairs) = (
            (self.sources.len() + self.targets.len()) as f64,
            self.sources.len() as f64 * self.targets.len() as f64,
        );
        let (direct, of_a_pair) = match curve {
            _ if range > EXP_RANGE => (Path::Plain, 8.0),
            Curve::Sigmoid if range <= FOUR_RANGE => (Path::Fours, 0.2),
            Curve::Sigmoid | Curve::Slope => (Path::Pairs, 0.6),
            Curve::Softplus => (Path::Pairs, 1.2),
        };
        let direct_cost = 100.0 + 3.0 * points + of_a_pair * pairs;
        if direct_cost <= Grid::cost(self.temperature, self.range, points) { direct } else { Path::Expansion }
    }

    fn plain(&self, curve: Curve, weights: &[f64], out: &mut [f64]) {
        for (out, t) in out.iter_mut().zip(self.targets) {
            let terms = self.sources.iter().zip(weights);
            *out = terms.map(|(x, w)| w * curve.at(self.sign * (x - t) / self.temperature)).sum();
        }
    }

    /// Positions from the middle of the range, and their exponentials.
    fn raise(&mut self) {
        let middle = self.range[0] / 2.0 + self.range[1] / 2.0;
        let (sign, temperature) = (self.sign, self.temperature);
        let fill = |positions: &mut Vec<f64>, exps: &mut Vec<f64>, points: &[f64], length: usize| {
            positions.clear();
            positions.extend(points.iter().map(|x| (sign * x - middle) / temperature));
            positions.resize(length, 0.0);
            exps.clone_from(positions);
            exp_all(exps);
        };
        let Pairs { source, source_exp, target, target_exp, .. } = &mut *self.pairs;
        fill(source, source_exp, self.sources, self.sources.len().next_multiple_of(4));
        fill(target, target_exp, self.targets, self.targets.len());
    }
}

impl Pairs {
    fn weigh(&mut self, weights: &[f64]) {
        self.weight.clear();
        self.weight.extend_from_slice(weights);
        self.weight.resize(self.source.len(), 0.0);
        self.weighted_exp.clear();
        self.weighted_exp.extend(self.weight.iter().zip(&self.source_exp).map(|(w, e)| w * e));
    }
}

// In all four the inner loop runs over the targets: its iterations are independent, so it is vectorised.

vectorised! {
    /// Σ_j w_j e_j/(e_i + e_j), four fractions over one denominator.
    fn sigmoids_by_fours(targets: &[f64], sources: &[f64], weighted: &[f64], out: &mut [f64]) {
        for (e, we) in sources.as_chunks::<4>().0.iter().zip(weighted.as_chunks::<4>().0) {
            for (t, out) in targets.iter().zip(&mut *out) {
                let [a, b, c, d] = [e[0] + t, e[1] + t, e[2] + t, e[3] + t];
                let (ab, cd) = (a * b, c * d);
                let over_ab = we[0] * b + we[1] * a;
                let over_cd = we[2] * d + we[3] * c;
                *out += (over_ab * cd + over_cd * ab) / (ab * cd);
            }
        }
    }
}

vectorised! {
    /// Σ_j w_j e_j/(e_i + e_j).
    fn sigmoids(targets: &[f64], sources: &[f64], weighted: &[f64], out: &mut [f64]) {
        for (e, we) in sources.iter().zip(weighted) {
            for (t, out) in targets.iter().zip(&mut *out) {
                *out += we / (e + t);
            }
        }
    }
}

vectorised! {
    /// Σ_j w_j e_i e_j/(e_i + e_j)².
    fn slopes(targets: &[f64], sources: &[f64], weighted: &[f64], out: &mut [f64]) {
        for (e, we) in sources.iter().zip(weighted) {
            for (t, out) in targets.iter().zip(&mut *out) {
                let inverse = 1.0 / (e + t);
                *out += (we * inverse) * (t * inverse);
            }
        }
    }
}

vectorised! {
    /// Σ_j w_j (max(z, 0) + ln(1 + q)), q = e^{−|z|} the smaller exponential over the greater.
    fn softpluses<FUSED>(targets: [&[f64]; 2], sources: [&[f64]; 3], out: &mut [f64]) {
        for ((x, e), w) in sources[0].iter().zip(sources[1]).zip(sources[2]) {
            for ((x_t, t), out) in targets[0].iter().zip(targets[1]).zip(&mut *out) {
                let less = if e < t { e } else { t };
                let more = if e < t { t } else { e };
                let z = x - x_t;
                let positive = if z > 0.0 { z } else { 0.0 };
                *out += w * (positive + twice_artanh::<FUSED>(less / (2.0 * more + less)));
            }
        }
    }
}

#[cfg(test)]
mod tests;

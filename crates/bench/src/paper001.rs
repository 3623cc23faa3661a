//! The simulation of SOPRC's paper (bib key `wen2022exploring`, section 3 and appendix B.2): does an estimate of AUPRC depend on how often relevant
//! items are drawn?
//!
//! Five times 100,000 scores of three kinds, one in ten relevant. Batches of 1000 hold relevant items at rates of 0.01 to
//! 0.2; 500 batches after 50 that warm v up. Every estimate uses the step function in place of the surrogates. Writes estimates.csv,
//! interpolation.csv and a plot of each for every kind of scores.

use std::fmt::Write as _;
use std::path::Path;

use toprank::core::Stream;
use toprank::objectives::compositional::soprc::interpolate;
use toprank_plots::{Series, curves};

use crate::common::{Outcome, mean_and_deviation, normal};

/// Relevant items and others of the population.
const RELEVANT: usize = 10_000;
const OTHERS: usize = 90_000;
/// Items of a batch, and weight of the newest batch in v.
const BATCH: usize = 1000;
const BETA: f64 = 0.1;
const WARM_UP: usize = 50;
/// Populations, each drawn anew.
const POPULATIONS: u64 = 5;
/// Shares of relevant items in a batch.
const RATES: [f64; 5] = [0.01, 0.02, 0.03, 0.1, 0.2];

/// What scores look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// N(0, 1) and N(1, 1).
    Binormal,
    /// B(2, 5) and B(5, 2).
    Bibeta,
    /// U(0, 1) and U(0.5, 1.5).
    Uniform,
}

/// All of them, with their names in files.
const KINDS: [(Kind, &str); 3] =
    [(Kind::Binormal, "binormal"), (Kind::Bibeta, "bibeta"), (Kind::Uniform, "offset-uniform")];

impl Kind {
    fn draw(self, relevant: bool, random: &mut toprank::core::stream::Random) -> f64 {
        match self {
            Kind::Binormal => normal(random) + f64::from(u8::from(relevant)),
            Kind::Bibeta => {
                // The k-th of six uniform numbers is B(k, 7 − k).
                let mut six: [f64; 6] = std::array::from_fn(|_| random.unit());
                six.sort_by(f64::total_cmp);
                if relevant { six[4] } else { six[1] }
            }
            Kind::Uniform => random.unit() + if relevant { 0.5 } else { 0.0 },
        }
    }
}

/// All scores, falling.
struct Population {
    relevant: Vec<f64>,
    others: Vec<f64>,
}

impl Population {
    /// Drawn anew for each seed.
    fn new(kind: Kind, seed: u64) -> Population {
        let mut random = Stream::new(seed, "paper 001").of_list(kind as u32).open();
        let mut of = |relevant: bool, n: usize| {
            let mut scores: Vec<f64> = (0..n).map(|_| kind.draw(relevant, &mut random)).collect();
            scores.sort_by(|a, b| b.total_cmp(a));
            scores
        };
        Population { relevant: of(true, RELEVANT), others: of(false, OTHERS) }
    }

    /// 1 − AUPRC of the whole population.
    fn loss(&self) -> f64 {
        batch_loss(&self.relevant, &self.others)
    }
}

/// The mean over populations.
fn true_loss(populations: &[Population]) -> f64 {
    populations.iter().map(Population::loss).sum::<f64>() / populations.len() as f64
}

/// How many of the falling scores are at least `s`.
fn at_least(scores: &[f64], s: f64) -> usize {
    scores.partition_point(|x| *x >= s)
}

/// 1 − average precision of a batch by itself.
fn batch_loss(relevant: &[f64], others: &[f64]) -> f64 {
    let precision = |s: &f64| {
        let (hits, misses) = (at_least(relevant, *s) as f64, at_least(others, *s) as f64);
        hits / (hits + misses)
    };
    1.0 - relevant.iter().map(precision).sum::<f64>() / relevant.len() as f64
}

/// SOPRC's estimate: rates instead of counts, the true prior, relevant scores from v.
fn rate_loss(relevant: &[f64], others: &[f64], v: &[f64]) -> f64 {
    let odds = OTHERS as f64 / RELEVANT as f64;
    let term = |s: &f64| {
        let false_ones = odds * at_least(others, *s) as f64 / others.len() as f64;
        let true_ones = at_least(v, *s) as f64 / v.len() as f64;
        if false_ones == 0.0 { 0.0 } else { false_ones / (false_ones + true_ones) }
    };
    relevant.iter().map(term).sum::<f64>() / relevant.len() as f64
}

/// The interpolation as printed: the i-th of n stands at i/n.
fn interpolate_as_printed(sample: &[f64], points: &mut [f64]) {
    let n = sample.len();
    let node = |i: isize| match usize::try_from(i) {
        Err(_) if n > 1 => 2.0 * sample[0] - sample[1],
        Err(_) => sample[0],
        Ok(i) => sample[i.min(n - 1)],
    };
    let scale = n as f64 / points.len() as f64;
    for (j, point) in points.iter_mut().enumerate() {
        // Place of v_j among nodes at 1/n, 2/n …: the first has number 0.
        let at = (j as f64 + 1.0) * scale - 1.0;
        let left = at.floor();
        let (high, low) = (node(left as isize), node(left as isize + 1));
        *point = high + (at - left) * (low - high);
    }
}

/// A batch without replacement, falling.
struct Sampler<'a> {
    population: &'a Population,
    relevant: Vec<u32>,
    others: Vec<u32>,
    random: toprank::core::stream::Random,
}

impl<'a> Sampler<'a> {
    fn new(population: &'a Population, stream: Stream) -> Sampler<'a> {
        Sampler {
            population,
            relevant: (0..RELEVANT as u32).collect(),
            others: (0..OTHERS as u32).collect(),
            random: stream.open(),
        }
    }

    fn draw(&mut self, relevant: usize, others: usize) -> (Vec<f64>, Vec<f64>) {
        let mut class = |places: &mut Vec<u32>, scores: &[f64], count: usize| {
            for i in 0..count {
                let other = i + self.random.below(places.len() - i);
                places.swap(i, other);
            }
            let mut drawn: Vec<f64> = places[..count].iter().map(|place| scores[*place as usize]).collect();
            drawn.sort_by(|a, b| b.total_cmp(a));
            drawn
        };
        (
            class(&mut self.relevant, &self.population.relevant, relevant),
            class(&mut self.others, &self.population.others, others),
        )
    }
}

/// Mean and standard deviation over batches.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    /// Mean.
    mean: f64,
    /// Standard deviation of a single batch.
    sd: f64,
}

impl Estimate {
    fn of(values: &[f64]) -> Estimate {
        let (mean, sd) = mean_and_deviation(values);
        Estimate { mean, sd }
    }
}

/// The estimators, in the order of [`estimates`].
const ESTIMATORS: [&str; 3] = ["soprc", "soprc, nodes as printed", "mini-batch AP"];

/// What each estimator says at one rate of relevant items, over `batches` of every population.
fn estimates(populations: &[Population], rate: f64, batches: usize) -> [Estimate; 3] {
    let mut found: [Vec<f64>; 3] = Default::default();
    for (seed, population) in populations.iter().enumerate() {
        let stream = Stream::new(100 + seed as u64, "paper 001");
        follow_batches(population, stream, rate, batches, &mut found);
    }
    found.map(|values| Estimate::of(&values))
}

fn follow_batches(
    population: &Population,
    stream: Stream,
    rate: f64,
    batches: usize,
    found: &mut [Vec<f64>; 3],
) {
    let relevant = (rate * BATCH as f64).round() as usize;
    let mut sampler = Sampler::new(population, stream.of_list(relevant as u32));
    let mut ours: Vec<f64> = Vec::new();
    let mut printed: Vec<f64> = Vec::new();
    let mut newest = vec![0.0; RELEVANT];
    let follow = |v: &mut Vec<f64>, newest: &[f64]| {
        if v.is_empty() {
            v.extend_from_slice(newest);
        }
        v.iter_mut().zip(newest).for_each(|(v, new)| *v += BETA * (new - *v));
    };
    for batch in 0..WARM_UP + batches {
        let (relevant, others) = sampler.draw(relevant, BATCH - relevant);
        interpolate(&relevant, None, &mut newest);
        follow(&mut ours, &newest);
        interpolate_as_printed(&relevant, &mut newest);
        follow(&mut printed, &newest);
        if batch >= WARM_UP {
            found[0].push(rate_loss(&relevant, &others, &ours));
            found[1].push(rate_loss(&relevant, &others, &printed));
            found[2].push(batch_loss(&relevant, &others));
        }
    }
}

/// Distance of the mean interpolation of `draws` samples of `n` from the true scores: mean and largest, by the
/// standard deviation of the scores; ours and as printed.
fn interpolation_errors(population: &Population, n: usize, draws: usize) -> [[f64; 2]; 2] {
    let mut sampler = Sampler::new(population, Stream::new(3, "paper 001").of_list(n as u32));
    let (mut point, mut means) = (vec![0.0; RELEVANT], [vec![0.0; RELEVANT], vec![0.0; RELEVANT]]);
    for _ in 0..draws {
        let (sample, _) = sampler.draw(n, 0);
        for (form, mean) in means.iter_mut().enumerate() {
            if form == 0 {
                interpolate(&sample, None, &mut point);
            } else {
                interpolate_as_printed(&sample, &mut point);
            }
            mean.iter_mut().zip(&point).for_each(|(mean, x)| *mean += x / draws as f64);
        }
    }
    let unit = Estimate::of(&population.relevant).sd;
    means.map(|mean| {
        let errors = mean.iter().zip(&population.relevant).map(|(v, s)| (v - s).abs() / unit);
        let (sum, largest) = errors.fold((0.0, 0.0), |(sum, top): (f64, f64), e| (sum + e, top.max(e)));
        [sum / RELEVANT as f64, largest]
    })
}

pub fn run(args: &[String]) -> Outcome {
    let folder = Path::new(args.first().map_or("bench/paper001", String::as_str));
    std::fs::create_dir_all(folder)?;
    let mut csv = String::from("scores,rate,estimator,mean,sd,true_loss,relative_error\n");
    let mut errors = String::from("scores,relevant_items,nodes,mean_error,largest_error\n");
    for (kind, name) in KINDS {
        let populations: Vec<Population> =
            (1..=POPULATIONS).map(|seed| Population::new(kind, seed)).collect();
        let truth = true_loss(&populations);
        let mut series: Vec<Series> =
            ESTIMATORS.iter().map(|name| Series { name: (*name).into(), points: Vec::new() }).collect();
        for rate in RATES {
            for (k, estimate) in estimates(&populations, rate, 500).into_iter().enumerate() {
                let (mean, off) = (estimate.mean, estimate.mean / truth - 1.0);
                writeln!(
                    csv,
                    "{name},{rate},{},{mean:.5},{:.5},{truth:.5},{off:.4}",
                    ESTIMATORS[k].replace(',', ""),
                    estimate.sd
                )?;
                println!(
                    "{name}, rate {rate}, {}: {mean:.4} ± {:.4}, true {truth:.4}",
                    ESTIMATORS[k], estimate.sd
                );
                series[k].points.push((rate, mean));
            }
        }
        series.push(Series { name: "true".into(), points: RATES.map(|rate| (rate, truth)).to_vec() });
        let title = format!("{name}: 1 - AUPRC as batches estimate it");
        curves(&title, "share of relevant items in a batch", "estimate", &series)
            .save(&folder.join(format!("estimates-{name}.svg")))?;
        let mut series = [("ours", Vec::new()), ("as printed", Vec::new())];
        for n in [5, 10, 20, 30, 50, 100, 200, 500] {
            let found = interpolation_errors(&populations[0], n, 500);
            for ((nodes, points), [mean, largest]) in series.iter_mut().zip(found) {
                writeln!(errors, "{name},{n},{nodes},{mean:.5},{largest:.5}")?;
                points.push(((n as f64).log10(), mean));
            }
        }
        let series = series.map(|(nodes, points)| Series { name: format!("nodes {nodes}"), points });
        let title = format!("{name}: error of the interpolated score distribution");
        curves(&title, "log10 of relevant items in a batch", "mean error, in standard deviations", &series)
            .save(&folder.join(format!("interpolation-{name}.svg")))?;
    }
    std::fs::write(folder.join("estimates.csv"), csv)?;
    std::fs::write(folder.join("interpolation.csv"), errors)?;
    Ok(())
}

/// The simulation shows what it is run for, here with fewer batches.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soprc_does_not_depend_on_the_sampling_rate_and_mini_batch_ap_does() {
        for (kind, name) in KINDS {
            let populations: Vec<Population> = (1..=2).map(|seed| Population::new(kind, seed)).collect();
            let truth = true_loss(&populations);
            let mut drift = Vec::new();
            for rate in RATES {
                let [soprc, _, batch] = estimates(&populations, rate, 200);
                // 2 % as the bench shows with 2500 batches, and three standard errors of 400.
                let allowed = 0.02 * truth + 3.0 * soprc.sd / 400f64.sqrt();
                assert!((soprc.mean - truth).abs() < allowed, "{name}, rate {rate}: {soprc:?} for {truth}");
                drift.push(batch.mean / truth - 1.0);
            }
            assert!(
                drift[0] > 0.1 && drift[4] < -0.1,
                "{name}: a mini-batch follows its own share: {drift:?}"
            );
        }
    }

    #[test]
    fn the_interpolation_error_falls_with_the_number_of_relevant_items() {
        let population = Population::new(KINDS[0].0, 1);
        let [few, _] = interpolation_errors(&population, 10, 200);
        let [many, printed] = interpolation_errors(&population, 200, 200);
        assert!(many[0] < 0.01 && few[0] < 0.06 && many[0] < few[0], "{few:?} {many:?}");
        let [_, printed_few] = interpolation_errors(&population, 10, 200);
        assert!(
            printed_few[0] > 2.0 * few[0],
            "nodes at i/n are too high: {printed_few:?} {few:?} {printed:?}"
        );
    }
}

//! How often do intervals over rows hold the true value? Prints the fraction of simulated samples whose 95 % interval does.
//!
//! ```text
//! interval-coverage [SAMPLES] [REPLICATES]      2000 and 1000 by default
//! ```
//!
//! Scores are normal: N(d, 1) for relevant rows, N(0, 1) for others. The true value of AUROC is Φ(d/√2); that of the others
//! is their mean over 40,000 further samples of the same size.

use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};
use toprank::core::{Lists, Policy, Stream};
use toprank::metrics::bootstrap::{IntervalKind, IntervalOptions};
use toprank::metrics::{Measure, evaluate, rows};

use crate::common::{Outcome, WrongUse, words};

const MEASURES: &str = "auroc,auprc,p@50,ndcg@50";

struct Setting {
    relevant: usize,
    others: usize,
    shift: f64,
}

impl Setting {
    /// One sample: its lists and scores.
    fn sample(&self, purpose: &str, number: usize) -> (Lists, Vec<f64>) {
        let normal = Normal::standard();
        let mut random = Stream::new(1, purpose).of_list(number as u32).open();
        // The middle of each of the 2⁵³ steps, so that 0 is never drawn.
        let mut draw = || normal.inverse_cdf(random.unit() + 0.5f64.powi(54));
        let scores = (0..self.relevant + self.others)
            .map(|row| draw() + if row < self.relevant { self.shift } else { 0.0 })
            .collect();
        let label = |row| f32::from(u8::from(row < self.relevant));
        let rows = self.relevant + self.others;
        (Lists::from_lengths(&[rows], (0..rows).map(label).collect()), scores)
    }

    /// The true value of each measure.
    fn truth(&self, measures: &[Measure]) -> Vec<f64> {
        const SAMPLES: usize = 40_000;
        let of_sample = |number| {
            let (lists, scores) = self.sample("truth", number);
            let found = evaluate(&lists, &scores, measures).expect("samples can be evaluated");
            found.results.iter().map(|result| result.mean.unwrap_or(f64::NAN)).collect::<Vec<_>>()
        };
        let all: Vec<Vec<f64>> = (0..SAMPLES).into_par_iter().map(of_sample).collect();
        let mut truth: Vec<f64> = (0..measures.len())
            .map(|m| all.iter().map(|values| values[m]).sum::<f64>() / SAMPLES as f64)
            .collect();
        truth[0] = Normal::standard().cdf(self.shift / 2f64.sqrt());
        truth
    }
}

pub fn run(args: &[String]) -> Outcome {
    let (samples, replicates): (usize, usize) = match words(args)[..] {
        [] => (2000, 1000),
        [samples] => (samples.parse()?, 1000),
        [samples, replicates] => (samples.parse()?, replicates.parse()?),
        _ => return Err(WrongUse.into()),
    };
    if samples == 0 {
        return Err("SAMPLES must be at least 1, but is 0".into());
    }
    let measures = Measure::parse_all(MEASURES, &Policy::default())?;
    println!(
        "{samples} samples, {replicates} resamples; fraction of 95 % intervals that hold the true value"
    );
    println!("relevant others shift  metric    true    bootstrap  DeLong");
    for (relevant, others, shift) in
        [(50, 450, 1.0), (50, 450, 2.0), (200, 300, 1.0), (20, 480, 1.5), (10, 490, 1.5)]
    {
        let setting = Setting { relevant, others, shift };
        let truth = setting.truth(&measures);
        let kinds = [IntervalKind::Bca, IntervalKind::Delong];
        let of_sample = |number: usize| {
            let (lists, scores) = setting.sample("coverage", number);
            let found = evaluate(&lists, &scores, &measures).expect("samples can be evaluated");
            kinds.map(|kind| {
                let options =
                    IntervalOptions { kind, replicates, seed: number as u64, ..IntervalOptions::default() };
                // DeLong is AUROC's alone: the other metrics need no second bootstrap.
                let some = if kind == IntervalKind::Delong { &measures[..1] } else { &measures[..] };
                let intervals = rows::intervals(&lists, &scores, some, &found, &options).expect("as above");
                let held = |(interval, truth): (&rows::RowIntervals, &f64)| {
                    interval.mean.is_some_and(|interval| interval.low <= *truth && *truth <= interval.high)
                };
                intervals.iter().zip(&truth).map(held).collect::<Vec<bool>>()
            })
        };
        let held: Vec<[Vec<bool>; 2]> = (0..samples).into_par_iter().map(of_sample).collect();
        for (m, measure) in measures.iter().enumerate() {
            let fraction = |kind: usize| {
                let hits = held.iter().filter(|kinds| kinds[kind].get(m) == Some(&true)).count();
                match held[0][kind].len() > m {
                    true => format!("{:.4}", hits as f64 / samples as f64),
                    false => "–     ".to_string(),
                }
            };
            println!(
                "{relevant:8} {others:6} {shift:5}  {:8} {:.4}  {}     {}",
                measure.name(),
                truth[m],
                fraction(0),
                fraction(1)
            );
        }
    }
    Ok(())
}

//! The feature table: missing values, range, mean, number of different values.

use rayon::prelude::*;
use serde::Serialize;

use crate::dataset::{Dataset, Matrix};

/// Different values are counted up to this many.
const MOST_DISTINCT: usize = 100;

/// Rows of one block of the parallel pass.
const BLOCK: usize = 4096;

/// What is known of one feature.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FeatureRow {
    /// Its name.
    pub name: String,
    /// True for categories.
    pub categorical: bool,
    /// Rows without a value.
    pub missing: u64,
    /// Fraction of rows without a value.
    pub missing_rate: f64,
    /// Fraction of the values present that are 0.
    pub zero_rate: f64,
    /// Least value; `None` if all are missing.
    pub min: Option<f32>,
    /// Mean of the values present.
    pub mean: Option<f64>,
    /// Largest value.
    pub max: Option<f32>,
    /// Different values present; 101 stands for more than 100.
    pub distinct: usize,
    /// True if all rows have the same value, or all miss it.
    pub constant: bool,
}

/// Sums over some rows of one feature.
#[derive(Clone)]
struct Stat {
    missing: u64,
    zeros: u64,
    present: u64,
    sum: f64,
    min: f32,
    max: f32,
    /// Different values, ascending by bits; one more than the most means "more".
    distinct: Vec<u32>,
}

impl Stat {
    const NONE: Stat = Stat {
        missing: 0,
        zeros: 0,
        present: 0,
        sum: 0.0,
        min: f32::INFINITY,
        max: f32::NEG_INFINITY,
        distinct: Vec::new(),
    };

    fn many(&self) -> bool {
        self.distinct.len() > MOST_DISTINCT
    }

    fn see(&mut self, value: f32, counted: bool) {
        if value.is_nan() {
            self.missing += 1;
            return;
        }
        self.present += 1;
        self.zeros += u64::from(value == 0.0);
        self.sum += f64::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if counted && !self.many() {
            self.note((value + 0.0).to_bits()); // −0 + 0 = 0: one zero
        }
    }

    fn note(&mut self, bits: u32) {
        if let Err(place) = self.distinct.binary_search(&bits) {
            self.distinct.insert(place, bits);
        }
    }

    fn join(&mut self, block: &Stat) {
        self.missing += block.missing;
        self.zeros += block.zeros;
        self.present += block.present;
        self.sum += block.sum;
        self.min = self.min.min(block.min);
        self.max = self.max.max(block.max);
        for &bits in &block.distinct {
            if self.many() {
                break;
            }
            self.note(bits);
        }
    }
}

/// One line per feature.
pub(super) fn table(data: &Dataset) -> Vec<FeatureRow> {
    let width = data.features.width();
    let rows = data.rows() as u64;
    let mut stats = vec![Stat::NONE; width];
    match &data.features {
        Matrix::Dense { values, .. } if width > 0 => dense(values, &mut stats),
        Matrix::Dense { .. } => {}
        Matrix::Sparse(sparse) => {
            for (&feature, &value) in sparse.indices.iter().zip(&sparse.values) {
                stats[feature as usize].see(value, true);
            }
            for stat in &mut stats {
                let unstated = rows - stat.present - stat.missing;
                if unstated > 0 {
                    let zeros = Stat { zeros: unstated, present: unstated, min: 0.0, max: 0.0, ..Stat::NONE };
                    stat.join(&Stat { distinct: vec![0], ..zeros });
                }
            }
        }
    }
    let line = |(feature, stat): (usize, &Stat)| {
        let column = data.columns.get(feature);
        let present = stat.present > 0;
        FeatureRow {
            name: column.map_or_else(|| (feature + 1).to_string(), |column| column.name.clone()),
            categorical: column.is_some_and(|column| column.levels.is_some()),
            missing: stat.missing,
            missing_rate: stat.missing as f64 / rows.max(1) as f64,
            zero_rate: stat.zeros as f64 / stat.present.max(1) as f64,
            min: present.then_some(stat.min),
            mean: present.then_some(stat.sum / stat.present as f64),
            max: present.then_some(stat.max),
            distinct: stat.distinct.len(),
            constant: stat.distinct.len() + usize::from(stat.missing > 0) <= 1,
        }
    };
    stats.iter().enumerate().map(line).collect()
}

fn dense(values: &[f32], stats: &mut [Stat]) {
    let width = stats.len();
    let wave = 4 * rayon::current_num_threads();
    for blocks in values.chunks(wave * BLOCK * width) {
        let counted: Vec<bool> = stats.iter().map(|stat| !stat.many()).collect();
        let sums: Vec<Vec<Stat>> = blocks
            .par_chunks(BLOCK * width)
            .map(|block| {
                let mut sums = vec![Stat::NONE; width];
                for row in block.chunks_exact(width) {
                    for ((stat, &value), &counted) in sums.iter_mut().zip(row).zip(&counted) {
                        stat.see(value, counted);
                    }
                }
                sums
            })
            .collect();
        for block in &sums {
            stats.iter_mut().zip(block).for_each(|(stat, block)| stat.join(block));
        }
    }
}

//! Row-sparse Adam against dense Adam.

use toprank_core::Stream;

use crate::{RowAdam, RowConstants, RowStep, Rows};

/// Dense Adam over all rows, in f64: rows without a gradient let their means decay, and stay where they are.
struct Dense {
    decoupled: bool,
    mean: Vec<f64>,
    square: Vec<f64>,
}

impl Dense {
    fn step(&mut self, t: u64, rate: f64, table: &mut [f64], gradient: &[f64], touched: &[bool]) {
        let (beta1, beta2, eps, decay) = (0.9, 0.99, 1e-8, 0.01);
        let width = table.len() / touched.len();
        for at in 0..table.len() {
            let here = touched[at / width];
            let g = gradient[at] + if here && !self.decoupled { decay * table[at] } else { 0.0 };
            self.mean[at] = beta1 * self.mean[at] + (1.0 - beta1) * g;
            self.square[at] = beta2 * self.square[at] + (1.0 - beta2) * g * g;
            if here {
                let m = self.mean[at] / (1.0 - beta1.powi(t as i32 + 1));
                let v = self.square[at] / (1.0 - beta2.powi(t as i32 + 1));
                let kept = if self.decoupled { 1.0 - rate * decay } else { 1.0 };
                table[at] = kept * table[at] - rate * m / (v.sqrt() + eps);
            }
        }
    }
}

#[test]
fn skipped_steps_decay_the_means_as_dense_adam_does() {
    for decoupled in [false, true] {
        skipped_steps(decoupled);
    }
}

fn skipped_steps(decoupled: bool) {
    let (rows, width) = (700, 5);
    let mut random = Stream::new(4, "test").open();
    let start: Vec<f32> = (0..rows * width).map(|_| random.unit() as f32 - 0.5).collect();
    let mut table = start.clone();
    let mut reference: Vec<f64> = start.iter().map(|&w| f64::from(w)).collect();
    let mut adam =
        RowAdam::new(rows, width, RowConstants { beta: [0.9, 0.99], eps: 1e-8, decay: 0.01, decoupled });
    let mut dense = Dense { decoupled, mean: vec![0.0; rows * width], square: vec![0.0; rows * width] };
    for t in 0..60 {
        // Row r is drawn with probability 1/(1 + r mod 40): some skip dozens of steps. One step has none, one nearly all.
        let touched: Vec<bool> = (0..rows)
            .map(|r| match t {
                7 => false,
                8 => r != 3,
                _ => random.unit() * (1 + r % 40) as f64 <= 1.0,
            })
            .collect();
        let numbers: Vec<u32> = (0..rows as u32).filter(|&r| touched[r as usize]).collect();
        let some: Vec<f32> = (0..numbers.len() * width).map(|_| random.unit() as f32 - 0.4).collect();
        let mut all = vec![0.0; rows * width];
        for (&r, gradient) in numbers.iter().zip(some.chunks_exact(width)) {
            for (j, g) in gradient.iter().enumerate() {
                all[r as usize * width + j] = f64::from(*g);
            }
        }
        let rate = 0.01 / (1.0 + t as f64);
        adam.step(RowStep { number: t, rate }, &mut table, &numbers, &some);
        dense.step(t, rate, &mut reference, &all, &touched);
        for at in 0..rows * width {
            assert!((f64::from(table[at]) - reference[at]).abs() < 1e-5, "step {t}, number {at}");
            if touched[at / width] {
                assert!((f64::from(adam.mean[at]) - dense.mean[at]).abs() < 1e-5, "step {t}, number {at}");
            }
        }
    }
}

#[test]
fn a_row_skipped_for_long_has_forgotten_its_mean() {
    let mut adam =
        RowAdam::new(1, 1, RowConstants { beta: [0.9, 0.999], eps: 1e-8, decay: 0.0, decoupled: false });
    let mut table = [0.0];
    adam.step(RowStep { number: 0, rate: 0.1 }, &mut table, &[0], &[1.0]);
    adam.step(RowStep { number: 5000, rate: 0.1 }, &mut table, &[0], &[-1.0]);
    assert!((adam.mean[0] + 0.1).abs() < 1e-7, "only the new gradient is left: {}", adam.mean[0]);
    assert!(table[0] > -0.1 + 0.2, "and the row turned round: {}", table[0]);
}

#[test]
fn rows_of_the_step_before_are_found_again() {
    let table = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let before = Rows { numbers: vec![1], values: vec![30.0, 40.0] };
    let mut rows = Rows::default();
    rows.gather(&table, 2, &[0, 1], Some(&before));
    assert_eq!(rows.values, [1.0, 2.0, 30.0, 40.0]);
    rows.gather(&table, 2, &[2], None);
    assert_eq!((rows.numbers, rows.values), (vec![2], vec![5.0, 6.0]));
}

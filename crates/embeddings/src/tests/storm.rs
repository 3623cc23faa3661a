//! STORM over rows against dense STORM.

use toprank_core::Stream;

use crate::{RowSlopes, RowStep, RowStorm, Rows, TableStorage};

/// The gradient of a row in a step, at some values of it.
fn slope(t: u64, at: usize, w: f64) -> f64 {
    0.8 * (w - (at as f64).sin()) + 0.3 * ((t * 7 + at as u64) as f64).cos()
}

#[test]
fn rows_that_no_batch_reads_move_as_in_dense_storm() {
    let (rows, width, gamma) = (300, 3, 0.1);
    let mut random = Stream::new(4, "test").open();
    let start: Vec<f32> = (0..rows * width).map(|_| random.unit() as f32 - 0.5).collect();
    let mut table = start.clone();
    let mut storm = RowStorm::new_in(rows, width, gamma, 0.0, &TableStorage::Memory).unwrap();
    let mut dense: Vec<f64> = start.iter().map(|w| f64::from(*w)).collect();
    let (mut before, mut mean) = (dense.clone(), vec![0.0; rows * width]);
    let (mut undo, mut now, mut previous) = (Rows::default(), Rows::default(), Rows::default());
    for t in 0..120u64 {
        let read = |row: usize| t % (1 + row as u64 % 40) == 0 || t == 7;
        let numbers: Vec<u32> = (0..rows as u32).filter(|row| read(*row as usize)).collect();
        storm.gather(&table, &numbers, None, &mut now);
        storm.gather(&table, &numbers, Some(&undo), &mut previous);
        let of = |rows: &Rows| -> Vec<f32> {
            let each = rows.numbers.iter().flat_map(|row| (0..width).map(move |j| *row as usize * width + j));
            each.zip(&rows.values).map(|(at, w)| slope(t, at, f64::from(*w)) as f32).collect()
        };
        let rate = 0.2 / (1.0 + t as f64 / 50.0);
        let (at_now, at_previous) = (of(&now), of(&previous));
        let slopes = RowSlopes { now: &at_now, previous: (t > 0).then_some(&at_previous[..]) };
        storm.step(RowStep { number: t, rate }, &mut table, &now, slopes);
        std::mem::swap(&mut undo, &mut now);

        for at in 0..rows * width {
            let [g, g_before] =
                [dense[at], before[at]].map(|w| if read(at / width) { slope(t, at, w) } else { 0.0 });
            mean[at] = if t > 0 { (1.0 - gamma) * (mean[at] - g_before) + g } else { g };
            before[at] = dense[at];
            dense[at] -= rate * mean[at];
        }
        // As at the end of an epoch.
        if t % 30 == 29 {
            storm.settle(&mut table);
        }
        let mut present = table.clone();
        storm.write_present(&mut present);
        for (at, (found, expected)) in present.iter().zip(&dense).enumerate() {
            assert!(
                (f64::from(*found) - expected).abs() < 2e-5,
                "step {t}, number {at}: {found} for {expected}"
            );
        }
    }
    assert!(dense.iter().zip(&start).any(|(w, s)| (w - f64::from(*s)).abs() > 0.3), "rows moved");
}

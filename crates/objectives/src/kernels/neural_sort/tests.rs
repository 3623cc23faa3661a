use super::*;
use toprank_core::Stream;

type Matrix = Vec<Vec<f64>>;

/// P as its formula reads; scores are centred, which changes nothing but the rounding.
fn matrix(s: &[f64], temperature: f64) -> Matrix {
    let n = s.len();
    let middle = s.iter().sum::<f64>() / n as f64;
    let s: Vec<f64> = s.iter().map(|s| s - middle).collect();
    let row = |r: usize| {
        let exponent = |j: usize| {
            let far: f64 = s.iter().map(|other| (s[j] - other).abs()).sum();
            ((n as f64 - 1.0 - 2.0 * r as f64) * s[j] - far) / temperature
        };
        let exponents: Vec<f64> = (0..n).map(exponent).collect();
        let top = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let e: Vec<f64> = exponents.iter().map(|x| (x - top).exp()).collect();
        let sum: f64 = e.iter().sum();
        e.iter().map(|e| e / sum).collect::<Vec<f64>>()
    };
    (0..n).map(row).collect()
}

fn transposed(m: &Matrix) -> Matrix {
    (0..m.len()).map(|j| m.iter().map(|row| row[j]).collect()).collect()
}

fn rows_to_one(m: &Matrix) -> Matrix {
    m.iter().map(|row| row.iter().map(|x| x / row.iter().sum::<f64>()).collect()).collect()
}

/// Slope in `m` of something whose slope in `rows_to_one(m)` is `slope`.
fn rows_to_one_back(m: &Matrix, slope: &Matrix) -> Matrix {
    let row = |(m, slope): (&Vec<f64>, &Vec<f64>)| {
        let sum: f64 = m.iter().sum();
        let mean: f64 = m.iter().zip(slope).map(|(m, d)| m * d).sum::<f64>() / sum;
        slope.iter().map(|d| (d - mean) / sum).collect::<Vec<f64>>()
    };
    m.iter().zip(slope).map(row).collect()
}

/// Measure and slopes with whole matrices, iteration after iteration: the definition.
fn reference(task: &Task, iterations: usize) -> (f64, Vec<f64>) {
    let n = task.scores.len();
    let p = matrix(task.scores, task.temperature);
    let mut seen = vec![p.clone()];
    for _ in 0..iterations {
        let columns = transposed(&rows_to_one(&transposed(&seen[seen.len() - 1])));
        let both = rows_to_one(&columns);
        seen.extend([columns, both]);
    }
    let discount = |r: usize| if r < task.places { 1.0 / (r as f64 + 2.0).log2() } else { 0.0 };
    let last = &seen[seen.len() - 1];
    let measure =
        (0..n).map(|r| discount(r) * (0..n).map(|j| last[r][j] * task.shares[j]).sum::<f64>()).sum();
    let mut slope: Matrix =
        (0..n).map(|r| task.shares.iter().map(|share| discount(r) * share).collect()).collect();
    for step in (0..iterations).rev() {
        slope = rows_to_one_back(&seen[2 * step + 1], &slope);
        slope = transposed(&rows_to_one_back(&transposed(&seen[2 * step]), &transposed(&slope)));
    }
    // Softmax of each row, then the exponents.
    let mut g = vec![0.0; n];
    for r in 0..n {
        let mean: f64 = (0..n).map(|j| p[r][j] * slope[r][j]).sum();
        for j in 0..n {
            let d = p[r][j] * (slope[r][j] - mean) / task.temperature;
            g[j] += d * (n as f64 - 1.0 - 2.0 * r as f64);
            for k in 0..n {
                let sign = if task.scores[j] == task.scores[k] {
                    0.0
                } else {
                    (task.scores[j] - task.scores[k]).signum()
                };
                g[j] -= d * sign;
                g[k] += d * sign;
            }
        }
    }
    (measure, g)
}

/// Kinds of scores and gains that break careless sums.
fn cases(n: usize) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut random = Stream::new(9, "neural sort").open();
    let base: Vec<f64> = (0..n).map(|_| 4.0 * random.unit() - 2.0).collect();
    let shares: Vec<f64> = (0..n).map(|_| random.below(4) as f64 / n as f64).collect();
    let mut outlier = base.clone();
    outlier[0] = 1e6;
    [
        base.iter().map(|s| (s * 3.0).round()).collect(),
        base.iter().map(|s| s * 1e6).collect(),
        base.iter().map(|s| s + 1e6).collect(),
        base.iter().map(|s| s * 1e-6).collect(),
        vec![0.7; n],
        outlier,
        base,
    ]
    .into_iter()
    .map(|scores| (scores, shares.clone()))
    .collect()
}

fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let scale = b.iter().fold(1e-6, |m: f64, x| m.max(x.abs()));
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * scale)
}

#[test]
fn bands_and_scaling_vectors_equal_whole_matrices() {
    let mut sort = NeuralSort::default();
    for n in [2, 3, 10, 60] {
        for (case, (scores, shares)) in cases(n).iter().enumerate() {
            for (temperature, places, iterations) in [(1.0, n, 50), (0.1, 3, 7), (5.0, 2, 1)] {
                let task = Task { scores, shares, temperature, places };
                let mut slope = vec![0.0; n];
                let (measure, steps) = sort.balanced(&task, Stop::After(iterations), &mut slope, None);
                assert_eq!(steps, iterations);
                let (expected, slopes) = reference(&task, iterations);
                let what = format!("n = {n}, case {case}, τ = {temperature}");
                // The reference's own exponents lose digits at a spread of 1e6.
                let tolerance = if case == 1 || case == 5 { 1e-6 } else { 1e-9 };
                assert!((measure - expected).abs() <= 1e-9 * expected.abs(), "{what}: {measure} {expected}");
                assert!(close(&slope, &slopes, tolerance), "{what}:\n{slope:?}\n{slopes:?}");
                let measure = sort.plain(&task, &mut slope, None);
                let (expected, slopes) = reference(&task, 0);
                assert!((measure - expected).abs() <= 1e-9 * expected.abs(), "{what}: {measure} {expected}");
                assert!(close(&slope, &slopes, tolerance), "{what}:\n{slope:?}\n{slopes:?}");
            }
        }
    }
}

#[test]
fn rows_that_are_not_kept_give_the_same_bytes() {
    for (scores, shares) in cases(60) {
        let task = Task { scores: &scores, shares: &shares, temperature: 0.3, places: 9 };
        let [kept, built] = [None, Some(0)].map(|keep| {
            let mut sort = NeuralSort { keep, ..NeuralSort::default() };
            let (mut slope, mut curve) = (vec![0.0; 60], vec![0.0; 60]);
            let (measure, steps) = sort.balanced(&task, Stop::Near(20, 1e-6), &mut slope, Some(&mut curve));
            assert_eq!(sort.rows.bands.is_empty(), keep.is_some());
            (measure.to_bits(), steps, slope, curve)
        });
        assert_eq!(kept, built);
    }
}

#[test]
fn balancing_stops_when_it_is_near_and_then_rows_and_columns_sum_to_one() {
    let (scores, shares) = &cases(60)[6];
    let task = Task { scores, shares, temperature: 1.0, places: 60 };
    let mut sort = NeuralSort::default();
    let few = sort.iterations(&task, Stop::Near(1000, 1e-2));
    let many = sort.iterations(&task, Stop::Near(1000, 1e-6));
    assert!(1 < few && few < many && many < 1000, "{few} {many}");
    let (v, u) = sort.scales[(many - 1) * 120..].split_at(60);
    let mut columns = [0.0; 60];
    sort.rows.each(|r, first, p| {
        let m: Vec<f64> = p.iter().enumerate().map(|(i, p)| u[r] * p * v[first + i]).collect();
        assert!((m.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        m.iter().enumerate().for_each(|(i, m)| columns[first + i] += m);
    });
    assert!(columns.iter().all(|c| (c - 1.0).abs() < 1e-6), "{columns:?}");
    assert_eq!(sort.iterations(&task, Stop::Near(5, 1e-6)), 5);
}

#[test]
fn three_items_by_hand() {
    // Gaps ln 2 and ln 3: weights of the rows 1, ½, ½·1/27;  ½, 1, ⅓;  ⅛·⅓, ⅓, 1.
    let scores = [6f64.ln(), 3f64.ln(), 0.0];
    let task = Task { scores: &scores, shares: &[1.0, 0.0, 0.0], temperature: 1.0, places: 3 };
    let first = 1.0 / (1.0 + 1.0 / 2.0 + 1.0 / 54.0);
    let second = 0.5 / (0.5 + 1.0 + 1.0 / 3.0);
    let third = (1.0 / 24.0) / (1.0 / 24.0 + 1.0 / 3.0 + 1.0);
    let measure = NeuralSort::default().plain(&task, &mut [0.0; 3], None);
    assert!((measure - (first + second / 3f64.log2() + third / 4f64.log2())).abs() < 1e-15);
}

#[test]
fn the_hessian_of_the_plain_form_bounds_the_second_derivative() {
    let mut sort = NeuralSort::default();
    for (scores, shares) in [&cases(10)[6], &cases(3)[6], &cases(60)[6]] {
        for temperature in [0.3, 1.0, 4.0] {
            let task = Task { scores, shares, temperature, places: 5 };
            let n = scores.len();
            let (mut slope, mut curve) = (vec![0.0; n], vec![0.0; n]);
            sort.plain(&task, &mut slope, Some(&mut curve));
            for j in 0..n {
                let mut at = |x: f64| {
                    let mut moved = scores.clone();
                    moved[j] += x;
                    let mut slope = vec![0.0; n];
                    sort.plain(&Task { scores: &moved, ..task }, &mut slope, None);
                    slope[j]
                };
                let second = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!(second.abs() <= curve[j] + 1e-6, "n = {n}, τ = {temperature}: {second} {}", curve[j]);
            }
        }
    }
}

#[test]
fn the_hard_measure_shares_places_among_equal_scores() {
    let task = Task { scores: &[1.0, 3.0, 1.0], shares: &[0.5, 0.0, 0.25], temperature: 1.0, places: 2 };
    let mut sort = NeuralSort::default();
    sort.plain(&task, &mut [0.0; 3], None);
    assert!((sort.hard(2) - 0.375 / 3f64.log2()).abs() < 1e-15);
    assert!((sort.hard(9) - 0.375 / 3f64.log2() - 0.375 / 4f64.log2()).abs() < 1e-15);
}

//! Every path against the definition.

use super::*;
use toprank_core::Stream;

const CURVES: [Curve; 3] = [Curve::Sigmoid, Curve::Slope, Curve::Softplus];

fn tolerance(path: Path, curve: Curve) -> f64 {
    match (path, curve) {
        (Path::Expansion, Curve::Slope) => 3e-10,
        (Path::Expansion, _) => 1e-10,
        _ => 1e-13,
    }
}

fn ranges_allow(path: Path, curve: Curve, range: f64) -> bool {
    match path {
        Path::Fours => curve == Curve::Sigmoid && range <= FOUR_RANGE,
        Path::Pairs => range <= EXP_RANGE,
        Path::Plain | Path::Expansion => true,
    }
}

/// Positions that break sums: all equal, offsets, spreads, clusters with outliers, ends of intervals.
fn adversarial(n: usize, temperature: f64, seed: u64) -> Vec<(&'static str, Vec<f64>)> {
    let mut random = Stream::new(seed, "sigmoid sums").open();
    let base: Vec<f64> = (0..n).map(|_| (0..12).map(|_| random.unit()).sum::<f64>() - 6.0).collect(); // nearly normal
    let scaled = |factor: f64, offset: f64| -> Vec<f64> {
        base.iter().map(|x| x * factor * temperature + offset).collect()
    };
    let mut outlier = scaled(1e-3, 0.0);
    let mut two_outliers = scaled(1e-3, 0.0);
    if let Some(first) = outlier.first_mut() {
        *first = 1e6 * temperature;
        two_outliers[0] = 1e12 * temperature;
        two_outliers[n - 1] = -1e12 * temperature;
    }
    vec![
        ("normal", scaled(1.0, 0.0)),
        ("ten wide", scaled(10.0, 0.3)),
        ("hundred wide", scaled(100.0, 0.0)),
        ("all equal", vec![0.7; n]),
        ("offset 1e6", scaled(3.0, 1e6)),
        ("spread 1e6", scaled(1e6, 0.0)),
        ("spread 1e6 at 1e9", scaled(1e6, 1e9)),
        ("cluster and outlier", outlier),
        ("cluster between outliers", two_outliers),
        ("ends of intervals", (0..n).map(|i| (i % 7) as f64 * 2.5 * temperature).collect()),
        ("too wide for numbers", base.iter().map(|x| x * 1e300).collect()),
    ]
}

/// Compares all paths that may run, both directions and all curves with the definition at some targets.
fn check(name: &str, sources: &[f64], targets: &[f64], temperature: f64, paths: &[Path]) {
    let mut random = Stream::new(5, "weights").open();
    let weights: Vec<f64> = sources.iter().map(|_| random.unit() + 0.01).collect();
    let total: f64 = weights.iter().sum();
    let step = (targets.len() / 40).max(1);
    let mut work = SigmoidWork::default();
    let kernel = SigmoidSums::new(temperature);
    let mut out = vec![0.0; targets.len()];
    for sign in [1.0, -1.0] {
        for curve in CURVES {
            let want: Vec<f64> = (0..targets.len())
                .step_by(step)
                .map(|i| {
                    let z = |x: f64| sign * (x - targets[i]) / temperature;
                    sources.iter().zip(&weights).map(|(x, w)| w * curve.at(z(*x))).sum()
                })
                .collect();
            for &path in paths {
                let mut sums = if sign > 0.0 {
                    kernel.sources_minus_targets(sources, targets, &mut work)
                } else {
                    kernel.targets_minus_sources(sources, targets, &mut work)
                };
                if !ranges_allow(path, curve, (sums.range[1] - sums.range[0]) / temperature) {
                    continue;
                }
                sums.write_by(path, curve, &weights, &mut out);
                for (got, want) in out.iter().step_by(step).zip(&want) {
                    // 5e-18: what a pair beyond 40 T loses.
                    let bound = tolerance(path, curve) * want + 5e-18 * total;
                    assert!(
                        (got - want).abs() <= bound,
                        "{name}, T = {temperature}, {} sources, {curve:?} by {path:?}, sign {sign}: {got} is not {want}",
                        sources.len()
                    );
                }
            }
        }
    }
}

const ALL: [Path; 4] = [Path::Fours, Path::Pairs, Path::Plain, Path::Expansion];

#[test]
fn every_path_equals_the_definition_on_short_lists() {
    // A third: the length of an interval then has no short binary form.
    for temperature in [1.0, 0.1, 1.0 / 3.0] {
        for n in [1, 2, 3, 17, 100] {
            for (name, x) in adversarial(n, temperature, n as u64) {
                check(name, &x, &x, temperature, &ALL);
            }
        }
    }
}

#[test]
fn every_path_equals_the_definition_when_targets_are_not_the_sources() {
    for ((name, x), (_, other)) in adversarial(300, 0.1, 1).into_iter().zip(adversarial(45, 0.1, 2)) {
        check(name, &x, &other, 0.1, &ALL);
        check(name, &other, &x, 0.1, &ALL);
    }
}

#[test]
fn the_expansion_equals_the_definition_at_20_000_items() {
    for (name, x) in adversarial(20_000, 0.1, 9) {
        check(name, &x, &x, 0.1, &[Path::Expansion]);
    }
}

#[test]
fn weights_of_either_sign_add_up() {
    let x: Vec<f64> = (0..200).map(|i| f64::from(i) * 0.037).collect();
    let weights: Vec<f64> = (0..200).map(|i| f64::from(i % 3) - 1.0).collect();
    let mut work = SigmoidWork::default();
    for path in ALL {
        let mut out = vec![0.0; x.len()];
        let mut sums = SigmoidSums::new(1.0).sources_minus_targets(&x, &x, &mut work);
        sums.write_by(path, Curve::Sigmoid, &weights, &mut out);
        for (got, t) in out.iter().zip(&x) {
            let want: f64 = x.iter().zip(&weights).map(|(x, w)| w * Curve::Sigmoid.at(x - t)).sum();
            assert!((got - want).abs() <= 1e-10 * 133.0, "{path:?}: {got} is not {want}");
        }
    }
}

#[test]
fn the_model_takes_pairs_for_short_lists_and_the_expansion_for_long_ones() {
    let mut work = SigmoidWork::default();
    let mut path = |n: usize, width: f64, curve: Curve| {
        let x: Vec<f64> = (0..n).map(|i| i as f64 * width / n as f64).collect();
        let y = x.clone();
        SigmoidSums::new(1.0).sources_minus_targets(&x, &y, &mut work).path(curve)
    };
    assert_eq!(path(20, 6.0, Curve::Sigmoid), Path::Fours);
    assert_eq!(path(20, 600.0, Curve::Sigmoid), Path::Pairs);
    assert_eq!(path(20, 1e6, Curve::Sigmoid), Path::Plain);
    assert_eq!(path(10, 6.0, Curve::Softplus), Path::Pairs);
    for width in [0.0, 6.0, 600.0, 1e6] {
        assert_eq!(path(20_000, width, Curve::Sigmoid), Path::Expansion);
    }
}

#[test]
fn ranks_and_their_gradient_equal_the_definition() {
    let mut random = Stream::new(2, "ranks").open();
    let mut work = SigmoidWork::default();
    for n in [1, 2, 30, 900] {
        let s: Vec<f64> = (0..n).map(|_| 4.0 * random.unit()).collect();
        let a: Vec<f64> = (0..n).map(|_| random.unit() - 0.3).collect();
        let t = 0.3;
        let (mut ranks, mut gradient) = (vec![0.0; n], vec![0.0; n]);
        SigmoidSums::new(t).ranks(&s, &mut ranks, &mut work);
        SigmoidSums::new(t).ranks_backward(&s, &a, &mut gradient, &mut work);
        for k in 0..n {
            let others = || (0..n).filter(|&j| j != k);
            let rank: f64 = others().map(|j| Curve::Sigmoid.at((s[j] - s[k]) / t)).sum();
            assert!((ranks[k] - rank).abs() <= 1e-10 * (1.0 + rank), "{n}: {} is not {rank}", ranks[k]);
            let slope: f64 = others().map(|i| (a[i] - a[k]) * Curve::Slope.at((s[k] - s[i]) / t) / t).sum();
            assert!((gradient[k] - slope).abs() <= 1e-9 * n as f64, "{n}: {} is not {slope}", gradient[k]);
        }
    }
}

#[test]
fn same_bits_at_any_number_of_threads() {
    let mut random = Stream::new(12, "threads").open();
    let x: Vec<f64> = (0..150_000).map(|_| 4.0 * random.unit()).collect();
    let w: Vec<f64> = x.iter().map(|_| random.unit()).collect();
    for temperature in [1.0, 0.01, 1e-5] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut out = vec![0.0; x.len()];
            let mut work = SigmoidWork::default();
            pool.install(|| {
                let mut sums = SigmoidSums::new(temperature).sources_minus_targets(&x, &x, &mut work);
                sums.write([Curve::Sigmoid], &w, [&mut out]);
            });
            out.iter().map(|sum| sum.to_bits()).collect::<Vec<u64>>()
        };
        assert!(on(1) == on(3), "T = {temperature}");
    }
}

#[test]
fn two_clusters_at_every_distance_feel_each_other_as_they_should() {
    // One point in each makes more intervals than points, forty fewer: both ways to lay them out.
    for copies in [1, 40] {
        for step in 0..=300 {
            let distance = f64::from(step) * 0.2 + 0.01;
            let x: Vec<f64> =
                (0..2 * copies).map(|i| if i % 2 == 0 { 3.3 } else { 3.3 + distance }).collect();
            check("two clusters", &x, &x[..2], 1.0, &[Path::Expansion]);
            check("two clusters", &x[..1], &x[1..2], 1.0, &[Path::Expansion]);
            check("two clusters", &x[1..2], &x[..1], 1.0, &[Path::Expansion]);
        }
    }
}

//! Promises of all tests, and numbers of scipy.

use super::*;
use proptest::prelude::*;

/// Values that Python can make again: a = ((37 i) mod 101)/100, b = ((53 i + 7) mod 103)/100.
fn golden(n: usize) -> Pairs {
    let a: Vec<f64> = (0..n).map(|i| ((i * 37) % 101) as f64 / 100.0).collect();
    let b: Vec<f64> = (0..n).map(|i| ((i * 53 + 7) % 103) as f64 / 100.0).collect();
    Pairs::new(&a, &b, None)
}

fn near(ours: Option<f64>, theirs: f64, tolerance: f64) {
    let ours = ours.expect("defined");
    assert!((ours - theirs).abs() <= tolerance, "ours {ours:?}, expected {theirs:?}");
}

fn all_tests() -> Vec<(&'static str, Box<dyn Test>)> {
    let make = |entry: &Entry<dyn Test>| (entry.make)(&Spec::parse(entry.name).unwrap()).unwrap();
    TESTS.iter().map(|entry| (entry.name, make(entry))).collect()
}

// scipy 1.17.1, with a, b as in `golden` and d = np.round(b - a, 12):
//   scipy.stats.ttest_rel(b, a)
//   scipy.stats.wilcoxon(d, zero_method="wilcox", method="exact")                          (n = 10)
//   scipy.stats.wilcoxon(d, zero_method="wilcox", method="asymptotic", correction=True)    (ties: n = 20, 60, 1000)
//   scipy.stats.binomtest(wins, wins + losses)
#[test]
fn t_wilcoxon_and_sign_are_those_of_scipy() {
    for (n, t, t_p, w, w_p, wins, sign_p) in [
        (10, -0.432_632_408_015_046_7, 0.675_463_647_670_350_2, 25.0, 0.845_703_125, 5.0, 1.0),
        (20, -0.161_647_790_741_418_88, 0.873_289_784_518_626_5, 99.5, 0.851_911_843_727_603_4, 10.0, 1.0),
        (
            60,
            0.335_314_656_614_300_9,
            0.738_577_106_544_844_9,
            871.0,
            0.748_750_601_105_703_6,
            32.0,
            0.698_883_427_620_005_8,
        ),
        (
            1000,
            0.679_582_141_697_562,
            0.496_926_510_543_671_15,
            240_378.5,
            0.549_868_103_422_769_7,
            505.0,
            0.567_487_011_218_827_9,
        ),
    ] {
        let pairs = golden(n);
        let student = Student.run(&pairs, 1);
        near(student.statistic, t, 1e-12);
        near(student.p, t_p, 1e-10);
        let wilcoxon = Wilcoxon.run(&pairs, 1);
        assert_eq!(wilcoxon.statistic, Some(w));
        near(wilcoxon.p, w_p, 1e-10);
        let sign = Sign.run(&pairs, 1);
        assert_eq!(sign.statistic, Some(wins));
        near(sign.p, sign_p, 1e-10);
    }
    assert_eq!(Wilcoxon.run(&golden(1000), 1).method, "normal approximation, 9 zeros dropped");
    assert_eq!(Wilcoxon.run(&golden(10), 1).method, "exact");
}

// scipy 1.17.1: 2 * scipy.stats.t.sf(t, df); differences ±h around 1 have t = √n / (h √(n/(n−1))).
#[test]
fn far_tails_of_t_keep_their_digits() {
    for (t, n, p) in [
        (2.0, 20_000, 0.045_513_762_633_452_8),
        (10.0, 100, 1.093_975_700_799_206e-16),
        (30.0, 51, 1.238_002_279_598_724_4e-33),
    ] {
        // n − n mod 2 values 1 ± h and perhaps one 1: variance h² (n − n mod 2)/(n − 1).
        let paired = (n - n % 2) as f64;
        let h = (n as f64 * (n as f64 - 1.0) / paired).sqrt() / t;
        let mut values: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 - h } else { 1.0 + h }).collect();
        if n % 2 == 1 {
            values[n - 1] = 1.0;
        }
        let outcome = Student.run(&Pairs::new(&vec![0.0; n], &values, None), 1);
        near(outcome.statistic, t, 1e-9);
        near(outcome.p, p, p * 1e-6);
    }
}

// scipy 1.17.1, permutation_type="samples", statistic np.mean:
//   scipy.stats.permutation_test((b - a,), ..., n_resamples=2000).pvalue      (n = 10: exact)
//   scipy.stats.permutation_test((b - a,), ..., n_resamples=1000000, rng=1)   (n = 60: standard error 0.00044)
#[test]
fn randomisation_is_that_of_scipy() {
    let exact = Randomisation::default().run(&golden(10), 1);
    assert_eq!(exact.p, Some(0.673_828_125));
    assert_eq!(exact.method, "exact, all 1024 sign patterns");
    let random = Randomisation::default().run(&golden(60), 1);
    near(random.p, 0.742_385_257_614_742_4, 0.006);
    // Drawn instead of counted out, the same within five standard errors.
    let drawn = Randomisation { replicates: 100_000, exact: false }.run(&golden(10), 1);
    near(drawn.p, 0.673_828_125, 0.0075);
}

#[test]
fn randomisation_counts_equal_sums_as_hits_in_spite_of_rounding() {
    // |±0.1 ± 0.2 ± 0.3 ± 0.4| ≥ 0.2 fails only for the two patterns that cancel.
    let pairs = Pairs::new(&[0.0; 4], &[0.1, 0.2, 0.3, -0.4], None);
    let p = Randomisation::default().run(&pairs, 1).p;
    assert_eq!(p, Some(14.0 / 16.0));
}

#[test]
fn the_bootstrap_test_agrees_with_t_on_many_lists() {
    let a: Vec<f64> = (0..1000).map(|i| ((i * 37) % 101) as f64 / 100.0).collect();
    let b: Vec<f64> = (0..1000).map(|i| ((i * 53 + 7) % 103) as f64 / 100.0 + 0.015).collect();
    let pairs = Pairs::new(&a, &b, None);
    let t = Student.run(&pairs, 1).p.unwrap();
    assert!((0.05..0.3).contains(&t), "{t}");
    // 10,000 resamples: standard error 0.004; the two tests agree to first order in 1/n.
    near(Bootstrap::default().run(&pairs, 1).p, t, 0.02);
}

#[test]
fn a_weighted_t_is_that_of_the_formula() {
    let d = [0.1, -0.2, 0.4, 0.3];
    let w = [1.0f32, 2.0, 0.5, 1.0];
    let total: f64 = w.iter().map(|w| f64::from(*w)).sum();
    let mean = d.iter().zip(w).map(|(d, w)| d * f64::from(w)).sum::<f64>() / total;
    let squares: f64 = d.iter().zip(w).map(|(d, w)| (f64::from(w) * (d - mean)).powi(2)).sum();
    let t = mean / ((4.0 / 3.0 * squares).sqrt() / total);
    near(Student.run(&Pairs::new(&[0.0; 4], &d, Some(&w)), 1).statistic, t, 1e-12);
    // One weight for all changes nothing.
    let plain = Student.run(&golden(20), 1);
    let mut pairs = golden(20);
    pairs.weights = Some(vec![3.0; 20]);
    near(Student.run(&pairs, 1).p, plain.p.unwrap(), 1e-12);
}

#[test]
fn trap_11_p_is_never_0_and_the_same_per_seed_on_1_and_4_threads() {
    let sure = Pairs::new(&[0.0; 200], &[1.0; 200], None);
    let open = golden(150);
    for (name, test) in all_tests() {
        let p = test.run(&sure, 1).p;
        assert!(p.is_none_or(|p| p > 0.0), "{name}: {p:?}");
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (test.run(&open, 5), test.run(&open, 5)))
        };
        let (one, again) = on(1);
        assert_eq!(one, again, "{name}");
        assert_eq!(one, on(4).0, "{name}");
    }
    let random = Randomisation { replicates: 999, exact: true };
    assert_eq!(random.run(&sure, 1).p, Some(1.0 / 1000.0));
    assert_eq!(Bootstrap { replicates: 999 }.run(&sure, 1).p, Some(1.0 / 1000.0));
    assert_ne!(random.run(&open, 1).p, random.run(&open, 2).p);
}

#[test]
fn degenerate_inputs_are_defined() {
    let nan = f64::NAN;
    for (name, test) in all_tests() {
        for (first, second) in
            [(&[][..], &[][..]), (&[nan, 1.0], &[1.0, nan]), (&[f64::INFINITY], &[f64::INFINITY])]
        {
            let outcome = test.run(&Pairs::new(first, second, None), 1);
            assert_eq!((outcome.p, outcome.lists), (None, 0), "{name}");
            assert!(outcome.method.starts_with("undefined: "), "{name}: {}", outcome.method);
        }
        let equal = test.run(&Pairs::new(&[0.3, 0.1 + 0.2, 0.7], &[0.3, 0.3, 0.7], None), 1);
        assert_eq!(equal.p, Some(1.0), "{name}: {equal:?}");
        let one = test.run(&Pairs::new(&[0.2], &[0.7], None), 1);
        assert!(one.p.is_none_or(|p| p == 1.0), "{name}: {one:?}");
        let steady = test.run(&Pairs::new(&[0.1, 0.2, 0.3], &[0.2, 0.3, 0.4], None), 1);
        assert!(steady.p.is_none_or(|p| p > 0.0 && p <= 1.0), "{name}: {steady:?}");
        let wild = Pairs::new(&[0.0, 0.0, 0.0], &[1e-300, -1e300, 1e300], Some(&[1e-30, 1e30, 1.0]));
        let wild = test.run(&wild, 1);
        assert!(wild.p.is_none_or(|p| p > 0.0 && p <= 1.0), "{name}: {wild:?}");
    }
}

#[test]
fn effects_are_those_of_their_definitions() {
    let pairs = Pairs::new(&[0.0; 4], &[0.1, 0.2, 0.0, -0.3], None);
    let ours = effects(&pairs);
    assert!((ours.mean_difference - 0.0).abs() < 1e-15);
    assert_eq!(ours.rank_biserial, (1.0 + 2.0 - 3.0) / 6.0);
    let d = [0.5, 0.1, 0.3];
    let mean = 0.3;
    let deviation = (d.iter().map(|d: &f64| (d - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
    near(effects(&Pairs::new(&[0.0; 3], &d, None)).cohen_dz, mean / deviation, 1e-12);
    assert_eq!(effects(&Pairs::default()).cohen_dz, None);
    assert_eq!(effects(&Pairs::new(&[0.0; 3], &[0.2; 3], None)).cohen_dz, None);
    assert_eq!(effects(&Pairs::new(&[0.2; 3], &[0.2; 3], None)).cohen_dz, Some(0.0));
}

#[test]
fn the_biggest_differences_come_first_and_keep_their_list() {
    let nan = f64::NAN;
    let pairs = Pairs::new(&[0.5, nan, 0.0, 0.9, 0.1], &[0.6, 0.3, 0.7, 0.2, 0.1], None);
    let found = biggest(&pairs, 3);
    assert_eq!(found.iter().map(|(list, _)| *list).collect::<Vec<_>>(), [2, 3, 0]);
    assert_eq!(biggest(&pairs, 1), [(2, 0.7)]);
    assert_eq!(biggest(&pairs, 9).len(), 3, "a list without a difference is not among them");
}

#[test]
fn what_the_table_does_not_know_is_refused() {
    for (text, message) in [
        ("randomisation:n=0", "n must be an integer in [1, 100000000], but is 0"),
        ("randomization:exact=maybe", "exact must be yes or no, but is maybe"),
        ("t:n", "test must be name[:key=value]…, but is t:n"),
        ("t:n=5", "a parameter of t must be none, but is n"),
        ("bootstrap:k=5", "a parameter of bootstrap must be one of n, but is k"),
        ("sign@3", "test sign must be without a cut-off, but is @3"),
    ] {
        assert_eq!(parse(text).err().unwrap().to_string(), message);
    }
    assert_eq!(parse("t,wilcoxon,randomization:n=10").unwrap().len(), 3);
}

proptest! {
    #[test]
    fn swapping_the_runs_flips_the_sign_and_keeps_p(
        rows in prop::collection::vec((0.0..1.0f64, 0.0..1.0f64, 0.1..3.0f32, prop::bool::weighted(0.1)), 0..40),
        weighted: bool,
    ) {
        let first: Vec<f64> = rows.iter().map(|r| if r.3 { f64::NAN } else { r.0 }).collect();
        let second: Vec<f64> = rows.iter().map(|r| r.1).collect();
        let weights: Vec<f32> = rows.iter().map(|r| r.2).collect();
        let weights = weighted.then_some(weights.as_slice());
        let there = Pairs::new(&first, &second, weights);
        let back = Pairs::new(&second, &first, weights);
        prop_assert_eq!(there.mean(), -back.mean());
        prop_assert_eq!(there.skipped, rows.iter().filter(|r| r.3).count());
        let (a, b) = (effects(&there), effects(&back));
        prop_assert_eq!((a.cohen_dz, a.rank_biserial), (b.cohen_dz.map(|d| -d), -b.rank_biserial));
        for text in ["t", "wilcoxon", "sign", "randomisation:n=500", "bootstrap:n=200"] {
            let test = &parse(text).unwrap()[0].1;
            prop_assert_eq!(test.run(&there, 3).p, test.run(&back, 3).p, "{}", text);
        }
    }
}

//! Numbers of ranx, a reference implementation, and the edges.

use super::*;
use proptest::prelude::*;

const NAN: f64 = f64::NAN;
const RUNS: [[f64; 6]; 3] =
    [[9.0, 7.5, 7.0, 1.0, NAN, NAN], [0.3, 0.9, NAN, NAN, 0.8, 0.1], [NAN, 3.0, 11.0, NAN, NAN, 12.0]];

fn fused(text: &str, runs: &[&[f64]]) -> Vec<f64> {
    fuse(parse(text).unwrap().as_ref(), runs).unwrap()
}

// ranx 0.3.21:
//   a = {"q": {"d0": 9.0, "d1": 7.5, "d2": 7.0, "d3": 1.0}}
//   b = {"q": {"d1": 0.9, "d4": 0.8, "d0": 0.3, "d5": 0.1}}
//   c = {"q": {"d5": 12.0, "d2": 11.0, "d1": 3.0}}
//   fuse(runs=[Run(a), Run(b), Run(c)], norm=norm, method=method)      (rrf: params={"k": 60}; zscore: norm="zmuv")
// Digits as Python prints them, one method a line.
#[rustfmt::skip]
#[allow(clippy::unreadable_literal)]
const RANX: [(&str, [f64; 6]); 15] = [
    ("rrf", [0.032266458495966696, 0.04839549075403121, 0.03200204813108039, 0.015625, 0.016129032258064516, 0.032018442622950824]),
    ("borda", [12.0, 15.0, 10.5, 6.5, 8.5, 10.5]),
    ("combsum", [1.25, 1.8125, 1.6388888888888888, 0.0, 0.875, 1.0]),
    ("combmnz", [2.5, 5.4375, 3.2777777777777777, 0.0, 0.875, 2.0]),
    ("combanz", [0.625, 0.6041666666666666, 0.8194444444444444, 0.0, 0.875, 0.5]),
    ("combmed", [0.625, 0.8125, 0.8194444444444444, 0.0, 0.875, 0.5]),
    ("combmax", [1.0, 1.0, 0.8888888888888888, 0.0, 0.875, 1.0]),
    ("combmin", [0.24999999999999997, 0.0, 0.75, 0.0, 0.875, 0.0]),
    ("combsum:norm=sum", [0.5078909612625538, 0.7876614060258249, 0.7632711621233859, 0.0, 0.4117647058823529, 0.5294117647058824]),
    ("combmnz:norm=sum", [1.0157819225251077, 2.3629842180774747, 1.5265423242467717, 0.0, 0.4117647058823529, 1.0588235294117647]),
    ("combsum:norm=zscore", [0.2702164874676636, 0.16517866243381163, 0.8662961436134333, -1.680836126466115, 0.8221786020271294, -0.44303376907592307]),
    ("combmnz:norm=zscore", [0.5404329749353272, 0.4955359873014349, 1.7325922872268666, -1.680836126466115, 0.8221786020271294, -0.8860675381518461]),
    ("combsum:norm=none", [9.3, 11.4, 18.0, 1.0, 0.8, 12.1]),
    ("combmnz:norm=none", [18.6, 34.2, 36.0, 1.0, 0.8, 24.2]),
    ("combmed:norm=none", [4.65, 3.0, 9.0, 1.0, 0.8, 6.05]),
];

#[test]
fn without_ties_the_numbers_are_those_of_ranx() {
    for (text, theirs) in RANX {
        for (ours, theirs) in fused(text, &RUNS.each_ref().map(|run| &run[..])).iter().zip(theirs) {
            assert!((ours - theirs).abs() < 1e-12, "{text}: {ours} {theirs}");
        }
    }
}

#[test]
fn documents_of_equal_score_share_their_mean_rank() {
    let runs: [&[f64]; 1] = [&[5.0, 7.0, 5.0, 0.0, -0.0]];
    let ranks = [2.5, 1.0, 2.5, 4.5, 4.5];
    assert_eq!(fused("rrf:k=0", &runs), ranks.map(|rank| 1.0 / rank));
    assert_eq!(fused("borda", &runs), ranks.map(|rank| 5.0 - rank + 1.0));
}

#[test]
fn a_run_of_one_score_for_all_adds_nothing_after_normalisation() {
    for norm in ["minmax", "sum", "zscore"] {
        let constant = [0.1; 3].map(|tenth: f64| tenth * 3.0);
        assert_eq!(fused(&format!("combsum:norm={norm}"), &[&constant]), [0.0; 3]);
        assert_eq!(fused(&format!("combsum:norm={norm}"), &[&[7.0]]), [0.0]);
    }
    // Small scores are not taken for equal ones.
    assert_eq!(fused("combsum", &[&[1e-30, 3e-30]]), [0.0, 1.0]);
}

#[test]
fn nothing_retrieved_is_nan_and_no_run_is_nothing() {
    for entry in FUSIONS {
        assert!(fused(entry.name, &[&[NAN, NAN], &[NAN, 1.0]])[0].is_nan(), "{}", entry.name);
        assert!(fused(entry.name, &[&[NAN, NAN], &[NAN, 1.0]])[1].is_finite(), "{}", entry.name);
        assert!(fused(entry.name, &[]).is_empty());
        assert!(fused(entry.name, &[&[]]).is_empty());
    }
}

#[test]
fn scores_that_cannot_be_added_are_refused() {
    for (text, run) in [
        ("combsum", [1.0, f64::INFINITY]),
        ("combsum:norm=none", [1.0, f64::NEG_INFINITY]),
        ("combsum:norm=zscore", [f64::MAX, f64::MIN]),
    ] {
        let error = fuse(parse(text).unwrap().as_ref(), &[&run]).unwrap_err();
        assert!(error.to_string().starts_with("the fused score of document"), "{error}");
    }
    // Ranks do not care.
    assert_eq!(fused("rrf:k=0", &[&[1.0, f64::INFINITY]]), [0.5, 1.0]);
}

#[test]
fn what_the_table_does_not_know_is_refused() {
    for (text, message) in [
        ("rrf:k=-1", "k must be a number ≥ 0, but is -1"),
        ("combsum:norm=max", "norm must be minmax, sum, zscore or none, but is max"),
        ("borda:k=1", "a parameter of borda must be none, but is k"),
    ] {
        assert_eq!(parse(text).err().unwrap().to_string(), message);
    }
    assert!(parse("CombSUM").is_ok() && parse("comb-mnz").is_ok());
}

/// Reference implementation: definitions read aloud, one document at a time.
fn plain(text: &str, runs: &[Vec<f64>], document: usize) -> f64 {
    let retrieved = |run: &[f64]| -> Vec<f64> { run.iter().copied().filter(|s| !s.is_nan()).collect() };
    let rank = |run: &[f64]| {
        let above = retrieved(run).iter().filter(|s| **s > run[document]).count() as f64;
        let equal = retrieved(run).iter().filter(|s| **s == run[document]).count() as f64;
        above + f64::midpoint(equal, 1.0)
    };
    let having: Vec<&Vec<f64>> = runs.iter().filter(|run| !run[document].is_nan()).collect();
    if having.is_empty() {
        return NAN;
    }
    let candidates = (0..runs[0].len()).filter(|&d| runs.iter().any(|run| !run[d].is_nan())).count() as f64;
    let count = having.len() as f64;
    let norms = having.iter().map(|run| {
        let least = retrieved(run).into_iter().fold(f64::INFINITY, f64::min);
        let most = retrieved(run).into_iter().fold(f64::NEG_INFINITY, f64::max);
        if most > least { (run[document] - least) / (most - least) } else { 0.0 }
    });
    match text {
        "rrf" => having.iter().map(|run| 1.0 / (60.0 + rank(run))).sum(),
        "borda" => {
            let points = |run: &Vec<f64>| {
                let left_over = f64::midpoint(candidates - retrieved(run).len() as f64, 1.0);
                if run[document].is_nan() { left_over } else { candidates - rank(run) + 1.0 }
            };
            runs.iter().map(points).sum()
        }
        "combsum" => norms.sum(),
        "combmnz" => norms.sum::<f64>() * count,
        "combanz" => norms.sum::<f64>() / count,
        "combmax" => norms.fold(f64::NEG_INFINITY, f64::max),
        "combmin" => norms.fold(f64::INFINITY, f64::min),
        other => unreachable!("{other}"),
    }
}

fn some_runs() -> impl Strategy<Value = Vec<Vec<f64>>> {
    let score = prop_oneof![1 => Just(NAN), 3 => (0..8i32).prop_map(f64::from), 2 => -5.0..5.0f64];
    (1..5usize, 1..9usize).prop_flat_map(move |(runs, documents)| {
        prop::collection::vec(prop::collection::vec(score.clone(), documents), runs)
    })
}

proptest! {
    #[test]
    fn kernel_equals_plain_twin_and_the_order_of_runs_does_not_matter(runs in some_runs()) {
        let views: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        let back: Vec<&[f64]> = views.iter().rev().copied().collect();
        for text in ["rrf", "borda", "combsum", "combmnz", "combanz", "combmax", "combmin"] {
            let ours = fused(text, &views);
            let reversed = fused(text, &back);
            for document in 0..runs[0].len() {
                let plain = plain(text, &runs, document);
                let same = |a: f64, b: f64| a.is_nan() && b.is_nan() || (a - b).abs() < 1e-12;
                prop_assert!(same(ours[document], plain), "{} {:?} {}", text, ours, plain);
                prop_assert!(same(ours[document], reversed[document]), "{}", text);
            }
        }
    }
}

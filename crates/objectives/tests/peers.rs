//! On the same lists our losses and gradients are those of allRank, Rax, LibAUC, LightGBM and XGBoost, and where one of
//! them is wrong they are not. `golden/peers.json` is written by `bench/peers/make_objectives.py`.

use std::collections::BTreeMap;

use serde_json::Value;
use toprank_core::{Lists, Policy};
use toprank_objectives::{Batch, Goal, Gradients};

/// Both sides compute in f64, and what remains is the order of sums and allRank's 1e-10 beside an ideal DCG. A peer that
/// computes in 32 bits states its own tolerance.
const F64: f64 = 1e-9;

fn golden() -> Value {
    let file = format!("{}/tests/golden/peers.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_else(|| panic!("{key} is a text in {case}"))
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is an array"))
}

/// The numbers of an array, times `scale`.
fn numbers(values: &Value, scale: f64) -> Vec<f64> {
    array(values).iter().map(|x| scale * x.as_f64().unwrap_or_else(|| panic!("{x} is a number"))).collect()
}

fn number(case: &Value, key: &str, default: f64) -> f64 {
    case.get(key).map_or(default, |value| value.as_f64().unwrap_or_else(|| panic!("{key} is a number")))
}

/// What we say to the lists of a case.
fn ours(case: &Value) -> Gradients {
    let lists = array(&case["lists"]);
    let join = |key: &str| lists.iter().flat_map(|list| numbers(&list[key], 1.0)).collect::<Vec<f64>>();
    let lengths: Vec<usize> = lists.iter().map(|list| array(&list["scores"]).len()).collect();
    let mut data = Lists::from_lengths(&lengths, join("labels").iter().map(|&y| y as f32).collect());
    if lists[0].get("weights").is_some() {
        data.item_weights = Some(join("weights").iter().map(|&w| w as f32).collect());
    }
    let goal =
        Goal::parse(text(case, "objective"), &Policy::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut state = goal.state(&data).expect("labels every objective takes");
    for visit in lists[0].get("earlier").map_or(&[][..], |visits| array(visits)) {
        let scores = numbers(visit, 1.0);
        goal.step(&Batch::all(&data, &scores), &mut state, &mut Gradients::default()).expect("finite scores");
    }
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    goal.step(&Batch::all(&data, &join("scores")), &mut state, &mut out).expect("finite scores");
    out
}

/// What the peer says, in our units.
struct Theirs {
    /// `None`: the peer has no value, only a gradient.
    loss: Option<f64>,
    gradient: Vec<Vec<f64>>,
    /// `None`: the peer shows none.
    hessian: Option<Vec<Vec<f64>>>,
}

fn theirs(case: &Value) -> Theirs {
    let scale = number(case, "scale", 1.0);
    let rows = |key: &str, scale: f64| array(&case[key]).iter().map(|row| numbers(row, scale)).collect();
    Theirs {
        loss: case["value"].as_f64().map(|value| value * scale + number(case, "offset", 0.0)),
        gradient: rows("gradient", number(case, "gradient_scale", scale)),
        hessian: case.get("hessian").map(|_| rows("hessian", number(case, "hessian_scale", 1.0))),
    }
}

/// Largest difference over the largest entry of theirs, list by list.
fn distance(ours: &[f64], theirs: &[Vec<f64>]) -> f64 {
    assert_eq!(ours.len(), theirs.iter().map(Vec::len).sum::<usize>());
    let mut rest = ours;
    let mut largest = 0.0_f64;
    for theirs in theirs {
        let (ours, later) = rest.split_at(theirs.len());
        rest = later;
        let apart = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let size = theirs.iter().fold(0.0_f64, |size, b| size.max(b.abs()));
        assert!(ours.iter().all(|g| g.is_finite()));
        largest = largest.max(if size > 0.0 { apart / size } else { apart });
    }
    largest
}

fn relative(ours: f64, theirs: f64) -> f64 {
    assert!(ours.is_finite());
    (ours - theirs).abs() / theirs.abs().max(1.0)
}

fn describe(case: &Value) -> String {
    let lengths: Vec<usize> = array(&case["lists"]).iter().map(|list| array(&list["scores"]).len()).collect();
    format!(
        "{} {} as {} on {lengths:?} items",
        text(case, "peer"),
        text(case, "loss"),
        text(case, "objective")
    )
}

/// Counts the cases of each peer and stops if one has fewer than `least`.
fn count(cases: &[&Value], least: &[(&str, usize)]) {
    let mut counts = BTreeMap::new();
    for case in cases {
        *counts.entry(text(case, "peer")).or_insert(0) += 1;
    }
    for (peer, least) in least {
        let found = counts.get(peer).copied().unwrap_or(0);
        assert!(found >= *least, "{found} cases of {peer}, expected at least {least}");
    }
}

#[test]
fn losses_gradients_and_hessians_are_the_peers() {
    let golden = golden();
    let cases: Vec<&Value> =
        array(&golden["cases"]).iter().filter(|case| case.get("slip").is_none()).collect();
    count(&cases, &[("allrank", 84), ("rax", 81), ("libauc", 87), ("lightgbm", 24), ("xgboost", 18)]);
    let mut wrong = Vec::new();
    for case in cases {
        let (ours, theirs) = (ours(case), theirs(case));
        let tolerance = number(case, "tolerance", F64);
        let mut compare = |what: &str, apart: f64| {
            if apart > tolerance {
                wrong.push(format!("{}: {what} apart by {apart:.1e}", describe(case)));
            }
        };
        if let Some(loss) = theirs.loss {
            compare("loss", relative(ours.loss, loss));
        }
        compare("gradient", distance(&ours.gradient, &theirs.gradient));
        if let Some(hessian) = &theirs.hessian {
            compare("hessian", distance(&ours.hessian, hessian));
        }
    }
    assert!(wrong.is_empty(), "{} differ from {}:\n{}", wrong.len(), golden["versions"], wrong.join("\n"));
}

#[test]
fn known_errors_of_a_peer_are_not_ours() {
    let golden = golden();
    let cases: Vec<&Value> =
        array(&golden["cases"]).iter().filter(|case| case.get("slip").is_some()).collect();
    count(&cases, &[("allrank", 4), ("rax", 1), ("libauc", 10)]);
    for case in cases {
        let ours = ours(case);
        assert!(ours.loss.is_finite() && ours.gradient.iter().all(|g| g.is_finite()), "{}", describe(case));
        if case.get("not_finite").is_none() {
            let theirs = theirs(case);
            let loss = theirs.loss.map_or(0.0, |loss| relative(ours.loss, loss));
            let apart = loss.max(distance(&ours.gradient, &theirs.gradient));
            assert!(apart > 1e-3, "{}: {} and so do we", describe(case), text(case, "slip"));
        }
    }
}

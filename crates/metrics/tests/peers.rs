//! Under `--like PEER` our numbers are the peer's own, on random lists with ties, grades, empty and one-item lists,
//! weights, unjudged and missed items. `golden/README.md` tells how the values were made.

use serde_json::Value;
use toprank_core::{Lists, Ragged};
use toprank_metrics::{Evaluation, Measure, Preset, evaluate};

fn golden(peer: &str) -> Value {
    let file = format!("{}/tests/golden/{peer}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The numbers of an array; `null` is NaN.
fn numbers(array: &Value) -> Vec<f64> {
    array.as_array().expect("an array").iter().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn lists_and_scores(case: &Value) -> (Lists, Vec<f64>) {
    let all = case["lists"].as_array().expect("lists");
    let (mut lengths, mut labels, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    let (mut list_weights, mut item_weights, mut tie_keys) = (Vec::new(), Vec::new(), Vec::new());
    let mut missed = Ragged { offsets: vec![0], values: Vec::new() };
    for list in all {
        let own = numbers(&list["labels"]);
        lengths.push(own.len());
        labels.extend(own.iter().map(|&y| y as f32));
        scores.extend(numbers(&list["scores"]));
        list_weights.extend(list["weight"].as_f64().map(|w| w as f32));
        if let Some(weights) = list.get("item_weights") {
            item_weights.extend(numbers(weights).iter().map(|&w| w as f32));
        }
        if let Some(names) = list["names"].as_array() {
            tie_keys.extend(
                names.iter().map(|name| names.iter().filter(|n| text(n) > text(name)).count() as u32),
            );
            missed.values.extend(numbers(&list["missed"]).iter().map(|&y| y as f32));
        }
        missed.offsets.push(missed.values.len() as u64);
    }
    let mut lists = Lists::from_lengths(&lengths, labels);
    lists.list_weights = Some(list_weights).filter(|weights| !weights.is_empty());
    lists.item_weights = Some(item_weights).filter(|weights| !weights.is_empty());
    if all.iter().any(|list| list.get("names").is_some()) {
        lists.tie_keys = Some(tie_keys);
        lists.missed = Some(missed);
    }
    (lists, scores)
}

fn judge(peer: &str, case: &Value, metrics: &[&str]) -> Evaluation {
    let (lists, scores) = lists_and_scores(case);
    let preset = Preset::find(peer).expect("a preset of the peer's name");
    let measures = Measure::parse_like(&metrics.join(","), preset, &[]).expect("metrics that exist");
    assert_eq!(measures.len(), metrics.len(), "{metrics:?}");
    evaluate(&lists, &scores, &measures).expect("lists that can be judged")
}

/// Replays every case of a peer; `tolerance` is absolute, values are of the order of 1.
fn replay(peer: &str, tolerance: f64) {
    let golden = golden(peer);
    let mut compared = 0;
    let mut wrong = Vec::new();
    let mut compare = |what: String, ours: f64, theirs: f64| {
        compared += 1;
        let difference = (ours - theirs).abs();
        if difference.is_nan() || difference > tolerance {
            wrong.push(format!("{what}: ours {ours}, theirs {theirs}"));
        }
    };
    for case in golden["cases"].as_array().expect("cases") {
        let values = case["values"].as_object().expect("values");
        let metrics: Vec<&str> = values.keys().map(String::as_str).collect();
        for (metric, result) in metrics.iter().zip(judge(peer, case, &metrics).results) {
            let what = format!("{}: {metric}", text(&case["name"]));
            let theirs = values[*metric].as_f64().expect("a mean");
            compare(what.clone(), result.mean.unwrap_or(f64::NAN), theirs);
            let Some(each) = case.get("per_list").and_then(|table| table.get(*metric)) else { continue };
            let each = numbers(each);
            assert_eq!(each.len(), result.per_list.len());
            for (q, (ours, theirs)) in result.per_list.iter().zip(each).enumerate() {
                compare(format!("{what}, list {q}"), *ours, theirs);
            }
        }
    }
    assert!(compared > 50, "only {compared} values of {peer} were compared");
    assert!(
        wrong.is_empty(),
        "{} of {compared} values differ from {}:\n{}",
        wrong.len(),
        golden["version"],
        wrong.join("\n")
    );
}

/// Every peer adds up in f64; the rest is the order of the sums. Where one holds scores, labels or weights in f32
/// (XGBoost all, LightGBM and CatBoost labels and weights), the cases use numbers that f32 holds exactly, or its preset
/// rounds as it does.
const F64: f64 = 1e-12;

#[test]
fn pytrec_eval_gives_the_same_values() {
    replay("pytrec_eval", F64);
}

#[test]
fn ranx_gives_the_same_values() {
    replay("ranx", F64);
}

#[test]
fn scikit_learn_and_scipy_give_the_same_values() {
    replay("sklearn", F64);
}

#[test]
fn lightgbm_gives_the_same_values() {
    replay("lightgbm", F64);
}

#[test]
fn xgboost_gives_the_same_values() {
    replay("xgboost", F64);
}

#[test]
fn catboost_gives_the_same_values() {
    replay("catboost", F64);
}

/// Where a peer breaks its own definition we follow the definition, and this test shows both numbers.
#[test]
fn a_peers_bug_is_not_copied() {
    for peer in ["lightgbm", "xgboost", "catboost", "ranx"] {
        let golden = golden(peer);
        let bugs = golden["bugs"].as_array().expect("bugs");
        assert!(!bugs.is_empty(), "{peer} has bugs on record");
        for bug in bugs {
            let what = format!("{peer}: {}: {}", text(&bug["name"]), text(&bug["why"]));
            let result = &judge(peer, bug, &[text(&bug["metric"])]).results[0];
            let ours = result.mean.expect("a mean");
            let right = bug["right"].as_f64().expect("a value");
            assert!((ours - right).abs() < 1e-12, "{what}: ours {ours}, right {right}");
            if let Some(theirs) = bug["peer"].as_f64() {
                assert!((ours - theirs).abs() > 1e-3, "{what}: the peer's {theirs} is ours");
            }
        }
    }
}

/// A new seed must not lose the hard cases: every peer has lists without a relevant item, of one
/// item (where the peer takes them), and tied scores.
#[test]
fn the_cases_hold_what_they_promise() {
    for peer in ["lightgbm", "xgboost", "catboost", "pytrec_eval", "ranx", "sklearn"] {
        let golden = golden(peer);
        let lists: Vec<(Vec<f64>, Vec<f64>)> = golden["cases"]
            .as_array()
            .expect("cases")
            .iter()
            .flat_map(|case| case["lists"].as_array().expect("lists"))
            .map(|list| (numbers(&list["scores"]), numbers(&list["labels"])))
            .collect();
        let tied = |scores: &[f64]| scores.iter().enumerate().any(|(i, s)| scores[..i].contains(s));
        assert!(lists.iter().any(|(scores, _)| tied(scores)), "{peer}: ties");
        assert!(lists.iter().any(|(_, labels)| labels.iter().all(|&y| y == 0.0)), "{peer}: no relevant item");
        assert!(lists.iter().any(|(_, labels)| labels.iter().all(|&y| y > 0.0)), "{peer}: all relevant");
        assert!(lists.iter().any(|(_, labels)| labels.contains(&3.0)), "{peer}: grades");
        let takes_one_item = peer != "sklearn";
        assert_eq!(lists.iter().any(|(scores, _)| scores.len() == 1), takes_one_item, "{peer}: one item");
    }
}

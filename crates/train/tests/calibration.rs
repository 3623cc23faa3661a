//! Probabilities, their quality and intervals of shares are scikit-learn's and scipy's (`bench/peers/make_calibration.py`).

use serde_json::Value;
use toprank_core::{List, Policy};
use toprank_metrics::probability::reliability;
use toprank_metrics::threshold::wilson;
use toprank_train::rank::calibration::{Calibration, Method};

fn golden() -> Value {
    let file = format!("{}/tests/golden/calibration.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|x| x.as_f64().expect("a number")).collect()
}

#[test]
fn platt_and_isotonic_give_the_peers_probabilities() {
    let golden = golden();
    let cases = golden["cases"].as_array().expect("cases");
    assert!(cases.len() >= 4);
    for case in cases {
        let narrow = |key: &str| numbers(&case[key]).iter().map(|x| *x as f32).collect::<Vec<f32>>();
        let (scores, labels) = (numbers(&case["scores"]), narrow("labels"));
        let weights = (!case["weights"].is_null()).then(|| narrow("weights"));
        let list = List { weights: weights.as_deref(), ..List::new(&scores, &labels) };
        for (method, key, tolerance) in [
            // Their minimiser stops at a gradient of 1e-6 or so, ours much later.
            (Method::Platt, "platt", 1e-4),
            (Method::Isotonic, "isotonic", 1e-12),
        ] {
            let fitted = Calibration::fit(method, &list, &Policy::default()).expect("both classes");
            for (score, expected) in numbers(&case["ask"]).into_iter().zip(numbers(&case[key])) {
                let found = fitted.probability(score);
                assert!(
                    (found - expected).abs() < tolerance,
                    "{} {key} at {score}: {found}, {expected}",
                    case["name"]
                );
            }
        }
        let judged = numbers(&case["judged"]);
        let list = List { scores: &judged, ..list };
        let found = reliability(&list, &Policy::default(), 10).expect("probabilities").expect("judged items");
        for (key, found) in [("brier", found.brier), ("log_loss", found.log_loss)] {
            let expected = case[key].as_f64().expect("a number");
            assert!((found - expected).abs() < 1e-12, "{} {key}: {found}, {expected}", case["name"]);
        }
    }
}

#[test]
fn wilson_gives_the_peers_bounds() {
    for row in golden()["wilson"].as_array().expect("rows") {
        let row = numbers(row);
        let (low, high) = wilson(row[0] / row[1], row[1], row[2]);
        assert!((low - row[3]).abs() < 1e-9 && (high - row[4]).abs() < 1e-9, "{row:?}: {low}, {high}");
    }
}

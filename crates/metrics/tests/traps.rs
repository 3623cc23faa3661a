//! Traps in which tools of this kind have been caught.

use toprank_core::{Empty, List, Lists, Policy};
use toprank_metrics::{METRICS, Measure, PRESETS, Preset, Work, evaluate};

fn one(spec: &str, scores: &[f64], labels: &[f32]) -> f64 {
    let measure = &Measure::parse_all(spec, &Policy::default()).unwrap()[0];
    measure.of_list(&List::new(scores, labels), &mut Work::default()).unwrap().unwrap()
}

fn like(preset: &str, spec: &str, scores: &[f64], labels: &[f32]) -> f64 {
    let measure = &Measure::parse_like(spec, Preset::find(preset).unwrap(), &[]).unwrap()[0];
    measure.of_list(&List::new(scores, labels), &mut Work::default()).unwrap().unwrap()
}

#[test]
fn constant_scores_do_not_profit_from_the_order_of_the_rows() {
    let (best_first, worst_first) = ([3.0, 2.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
    let scores = [7.0; 6];
    for measure in METRICS {
        let (a, b) = (one(measure.name, &scores, &best_first), one(measure.name, &scores, &worst_first));
        assert!((a - b).abs() < 1e-12, "{}: {a} and {b}", measure.name);
    }
    let averaged = one("ndcg@3", &scores, &best_first); // scikit-learn with the gains 2^y − 1: 0.416
    let log2 = f64::log2;
    let mean_gain = (7.0 + 3.0 + 1.0) / 6.0;
    let want = mean_gain * (1.0 + 1.0 / log2(3.0) + 1.0 / 2.0) / (7.0 + 3.0 / log2(3.0) + 1.0 / 2.0);
    assert!((averaged - want).abs() < 1e-15 && (averaged - 0.416).abs() < 5e-4);
    // The other rules do what they say: 1 as LightGBM and XGBoost, 0 as CatBoost.
    assert_eq!(like("lightgbm", "ndcg@3", &scores, &best_first), 1.0);
    assert_eq!(like("xgboost", "ndcg@3", &scores, &best_first), 1.0);
    assert_eq!(like("catboost", "ndcg@3", &scores, &best_first), 0.0);
}

#[test]
fn a_weighted_mean_with_an_empty_list_never_exceeds_one() {
    let scores = [2.0, 1.0, 2.0, 1.0];
    for (weights, by_rule) in [
        // The first list is perfect, the second has no relevant item.
        ([1.0, 0.1], [(Empty::Skip, 1.0), (Empty::Zero, 1.0 / 1.1), (Empty::One, 1.0)]),
        ([0.1, 0.1], [(Empty::Skip, 1.0), (Empty::Zero, 0.1 / 0.2), (Empty::One, 1.0)]),
    ] {
        let mut lists = Lists::from_lengths(&[2, 2], vec![1.0, 0.0, 0.0, 0.0]);
        lists.list_weights = Some(weights.to_vec());
        for (empty, want) in by_rule {
            let measures =
                Measure::parse_all("ndcg,map,mrr", &Policy { empty, ..Policy::default() }).unwrap();
            for result in evaluate(&lists, &scores, &measures).unwrap().results {
                let mean = result.mean.unwrap();
                assert!(mean <= 1.0 && (mean - want).abs() < 1e-7, "{} {empty:?}: {mean}", result.name);
                assert_eq!((result.counts.lists, result.counts.empty), (2, 1));
                assert_eq!(result.counts.used, if empty == Empty::Skip { 1 } else { 2 });
            }
        }
    }
}

#[test]
fn every_rule_is_printed_with_the_policy() {
    for preset in PRESETS {
        let text = preset.policy().to_string();
        assert!(Policy::KEYS.iter().all(|key| text.contains(&format!("{key}="))), "{text}");
    }
}

#[test]
fn the_divisors_of_map_at_k_and_p_at_k_are_those_of_the_tool_named() {
    let (scores, labels) = ([3.0, 2.0, 1.0], [1.0, 1.0, 1.0]);
    for (preset, map_at_1, p_at_5_of_one) in [
        ("trec_eval", 1.0 / 3.0, 1.0 / 5.0),
        ("ranx", 1.0 / 3.0, 1.0 / 5.0),
        ("lightgbm", 1.0, 1.0),
        ("xgboost", 1.0, 1.0),
        ("catboost", 1.0, 1.0),
    ] {
        assert_eq!(like(preset, "map@1", &scores, &labels), map_at_1, "{preset}");
        assert_eq!(like(preset, "p@5", &[1.0], &[1.0]), p_at_5_of_one, "{preset}");
    }
}

#[test]
fn linear_and_exponential_gain_differ_and_the_policy_names_the_one_used() {
    let (scores, labels) = ([2.0, 3.0, 4.0, 1.0], [3.0, 2.0, 0.0, 1.0]);
    assert!((one("ndcg:gain=linear", &scores, &labels) - 0.67044).abs() < 5e-6);
    assert!((one("ndcg:gain=exp2", &scores, &labels) - 0.61999).abs() < 5e-6);
    let measures = Measure::parse_all("ndcg,ndcg:gain=linear", &Policy::default()).unwrap();
    assert!(measures[0].policy().to_string().contains("gain=exp2"));
    assert!(measures[1].policy().to_string().contains("gain=linear"));
}

#[test]
fn scores_that_differ_in_f64_only_tie_where_the_tool_rounds_to_f32() {
    // The better score belongs to the item that is not relevant; by name the relevant one comes first.
    let list = List { tie_keys: Some(&[0, 1]), ..List::new(&[1.0, 1.0 + 1e-10], &[1.0, 0.0]) };
    let value = |preset: &str| {
        let measure = &Measure::parse_like("mrr", Preset::find(preset).unwrap(), &[]).unwrap()[0];
        measure.of_list(&list, &mut Work::default()).unwrap().unwrap()
    };
    assert_eq!([value("trec_eval"), value("pytrec_eval")], [1.0 / 2.0, 1.0]);
    assert_eq!(one("mrr:scores=f32", list.scores, list.labels), f64::midpoint(1.0, 1.0 / 2.0));
}

#[test]
fn cut_offs_given_in_any_order_keep_their_values() {
    let (scores, labels) = ([5.0, 4.0, 3.0, 2.0, 1.0], vec![0.0, 1.0, 0.0, 1.0, 1.0]);
    let lists = Lists::from_lengths(&[5], labels);
    let values = |text: &str| {
        let measures = Measure::parse_all(text, &Policy::default()).unwrap();
        let results = evaluate(&lists, &scores, &measures).unwrap().results;
        results.into_iter().map(|result| (result.name, result.mean)).collect::<Vec<_>>()
    };
    let mut falling = values("p@5,p@3,p@1,ndcg@5,ndcg@1");
    assert_eq!(falling[0], ("p@5".to_string(), Some(3.0 / 5.0)));
    assert_eq!(falling[2], ("p@1".to_string(), Some(0.0)));
    let mut rising = values("ndcg@1,ndcg@5,p@1,p@3,p@5");
    falling.sort_by(|a, b| a.0.cmp(&b.0));
    rising.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(falling, rising);
}

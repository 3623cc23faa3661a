use toprank_core::{Lists, Policy};

use super::*;

fn measures(text: &str) -> Vec<Measure> {
    Measure::parse_all(text, &Policy::default()).unwrap()
}

#[test]
fn a_nan_score_names_its_list_and_entry() {
    let lists = Lists::from_lengths(&[1, 2], vec![0.0, 1.0, 0.0]);
    let error = evaluate(&lists, &[0.0, 0.0, f64::NAN], &measures("map")).unwrap_err();
    assert_eq!(error, EvaluateError::Score { list: 1, item: 1, entry: 2 });
}

#[test]
fn a_label_without_a_gain_names_its_list_and_entry() {
    let lists = Lists::from_lengths(&[0, 1, 2], vec![0.0, 1.0, 32.0]);
    let refused = |text: &str| evaluate(&lists, &[0.0; 3], &measures(text)).unwrap_err();
    assert!(matches!(refused("ndcg"), EvaluateError::Label { list: 2, entry: Some(2), .. }));
    assert!(matches!(refused("ndcg:gain=0/1/3"), EvaluateError::Label { list: 2, entry: Some(2), .. }));
    assert!(evaluate(&lists, &[0.0; 3], &measures("ndcg:gain=linear")).is_ok());
}

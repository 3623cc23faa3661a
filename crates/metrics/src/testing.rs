//! Short hands for tests.

use toprank_core::{List, Policy};

use crate::{Measure, Work};

/// The value of a metric on one list.
pub(crate) fn value(spec: &str, scores: &[f64], labels: &[f32]) -> Option<f64> {
    value_of(spec, &List::new(scores, labels))
}

/// The value of a metric on one list with all its columns.
pub(crate) fn value_of(spec: &str, list: &List) -> Option<f64> {
    let measures = Measure::parse_all(spec, &Policy::default()).unwrap();
    assert_eq!(measures.len(), 1, "{spec}");
    measures[0].of_list(list, &mut Work::default()).unwrap()
}

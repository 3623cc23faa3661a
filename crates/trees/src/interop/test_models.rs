//! Models that the tests of all formats use.

use toprank_core::Stream;
use toprank_data::Matrix;

use crate::{BinSettings, Bins, Booster, Boosting, Ensemble, Growth, Next, Node, Test, Tree};

/// Rows with missing values; the last of four features holds categories.
pub(crate) fn rows(count: usize) -> Matrix {
    let mut random = Stream::new(7, "rows for tests").open();
    let mut values = Vec::with_capacity(count * 4);
    for _ in 0..count {
        values.push(random.unit() as f32 * 10.0 - 5.0);
        values.push((random.unit() * 8.0).floor() as f32);
        values.push(if random.unit() < 0.3 { f32::NAN } else { random.unit() as f32 * 1e-3 });
        values.push(if random.unit() < 0.1 { f32::NAN } else { random.below(40) as f32 });
    }
    Matrix::Dense { width: 4, values }
}

/// Trees grown on those rows; `categorical`: whether the last feature is taken for categories.
pub(crate) fn grown(outputs: usize, categorical: bool) -> Ensemble {
    let rows = rows(600);
    let Matrix::Dense { values, .. } = &rows else { unreachable!() };
    let label = |row: &[f32], output: usize| {
        let strange = if row[2].is_nan() { 2.0 } else { 1e3 * f64::from(row[2]) };
        let category = if row[3].is_nan() { -1.0 } else { f64::from(row[3] as u32 * 7 % 5) };
        f64::from(row[0]).sin() * f64::from(row[1]) + strange + category * (1.0 + output as f64)
    };
    let bins = Bins::fit(&rows, &[false, false, false, categorical], &BinSettings::default()).unwrap();
    let data = bins.apply(&rows).unwrap();
    let growth = Growth { leaves: 12, min_rows: 5, ..Growth::default() };
    let mut booster = Booster::new(&data, &[], outputs, Boosting { growth, ..Boosting::default() }).unwrap();
    for output in 0..outputs {
        booster.add_base(output, 1.5 + output as f64);
    }
    for _ in 0..6 {
        let gradient: Vec<f64> = (booster.scores().iter().enumerate())
            .map(|(i, score)| score - label(&values[i / outputs * 4..][..4], i % outputs))
            .collect();
        booster.round(&gradient, &vec![1.0; gradient.len()]).unwrap();
    }
    booster.into_ensemble()
}

fn chain(tests: &[(u32, Test, bool)]) -> Tree {
    let next = |at: usize| match at < tests.len() {
        true => Next::Node(at as u32),
        false => Next::Leaf(at as u32),
    };
    let node = |(at, (feature, test, missing_left)): (usize, &(u32, Test, bool))| {
        Node::new(*feature, test.clone(), *missing_left, Next::Leaf(at as u32), next(at + 1))
    };
    let nodes = tests.iter().enumerate().map(node).collect();
    Tree { nodes, leaves: (0..=tests.len()).map(|leaf| leaf as f64 * 0.3 - 1.0).collect() }
}

/// Thresholds at the edges of `f32`, one feature each, so that every leaf can be reached.
pub(crate) fn edges() -> Ensemble {
    let mut thresholds = vec![0.0, -0.0, 1.0, -2.0, 0.1, 16_777_216.0, f32::MAX, f32::MIN, 1e-30, -1e-30];
    thresholds.extend([123_456.79, f32::INFINITY, f32::NEG_INFINITY]);
    let tests: Vec<(u32, Test, bool)> = thresholds
        .iter()
        .enumerate()
        .map(|(f, &threshold)| (f as u32, Test::AtMost(threshold), f % 2 == 0))
        .collect();
    Ensemble {
        trees: vec![chain(&tests), Tree::constant(0.25)],
        base: vec![-3.0],
        ..Ensemble::new(thresholds.len(), 1)
    }
}

/// Sets of categories: in the first word, over several words, of one member.
pub(crate) fn sets() -> Ensemble {
    let set = |some: &[u32]| Test::In(some.iter().copied().collect());
    let tests = [(0, set(&[0, 5, 31]), false), (1, set(&[32, 64, 100]), false), (0, set(&[7]), false)];
    Ensemble { trees: vec![chain(&tests)], ..Ensemble::new(2, 1) }
}

/// All of them, with names.
pub(crate) fn models() -> Vec<(&'static str, Ensemble)> {
    vec![
        ("grown", grown(1, false)),
        ("grown with categories", grown(1, true)),
        ("grown with three outputs", grown(3, false)),
        ("edges", edges()),
        ("sets", sets()),
        ("constant", Ensemble { trees: vec![Tree::constant(2.5)], ..Ensemble::new(1, 1) }),
    ]
}

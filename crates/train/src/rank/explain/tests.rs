//! Against definitions: Shapley values over all subsets, means of rows changed by hand.

use toprank_core::{Features, Lists, Policy};
use toprank_data::{Column, Dataset, Matrix};
use toprank_metrics::Measure;

use super::{Explainer, Method, Sampling, Shap, score_rows};
use crate::{Job, Model, Settings, TrainerKind};

const WIDTH: usize = 4;

/// Rows of four features; the first two decide, together, the third misses where an item is relevant.
fn dataset(lists: usize, length: usize, missing: bool) -> Dataset {
    let mut random = toprank_core::Stream::new(5, "rows to explain").open();
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..lists * length {
        let row: Vec<f32> = (0..WIDTH).map(|_| random.unit() as f32 * 2.0 - 1.0).collect();
        let relevant = row[0] + row[0] * row[1] + 0.3 * row[3] > 0.2;
        values.extend_from_slice(&row);
        if missing && relevant && random.unit() < 0.7 {
            let third = values.len() - 2;
            values[third] = f32::NAN;
        }
        labels.push(f32::from(u8::from(relevant)));
    }
    Dataset {
        lists: Lists::from_lengths(&vec![length; lists], labels),
        features: Matrix::Dense { width: WIDTH, values },
        columns: (0..WIDTH).map(|f| Column { name: format!("f{f}"), levels: None }).collect(),
        ..Dataset::default()
    }
}

fn trained(model: &str, transforms: &str, data: &Dataset) -> Model {
    let trees = model.starts_with("trees");
    let settings = Settings {
        model: Some(model.into()),
        transforms: (!trees).then(|| transforms.into()),
        objective: Some(if data.lists.len() == 1 { "logistic" } else { "listnet" }.into()),
        sampler: (!trees)
            .then(|| if data.lists.len() == 1 { "rows:batch=16" } else { "lists:batch=4" }.into()),
        learning_rate: Some(0.05),
        epochs: Some(8),
        ..Settings::default()
    };
    let job = Job::new(&settings.resolve(TrainerKind::Rank).unwrap(), data.clone().into(), None).unwrap();
    let views = job.views().unwrap();
    let mut trainer = job.trainer(&views).unwrap();
    trainer.run(&mut (), None).unwrap();
    job.model(&*trainer).unwrap()
}

fn explainer<'a>(model: &'a Model, data: &Dataset) -> Explainer<'a> {
    Explainer::new(model, "d.csv", data.clone(), 0.0).unwrap()
}

/// Shapley values of one row by their definition: all subsets, the features outside of them from each of the background rows.
fn shapley(of: &Explainer, row: usize, background: &[usize]) -> Vec<f64> {
    let features = &of.data.features;
    let value = |known: usize| -> f64 {
        let mut rows = Vec::new();
        for &from in background {
            for column in 0..features.width() {
                let feature = of.columns.iter().position(|columns| columns.contains(&column)).unwrap();
                rows.push(features.get(if known >> feature & 1 == 1 { row } else { from }, column));
            }
        }
        let rows = Matrix::Dense { width: features.width(), values: rows };
        score_rows(of.model, &rows).unwrap().iter().sum::<f64>() / background.len() as f64
    };
    let values: Vec<f64> = (0..1 << WIDTH).map(value).collect();
    let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
    (0..WIDTH)
        .map(|feature| {
            (0..1usize << WIDTH)
                .filter(|known| known >> feature & 1 == 0)
                .map(|known| {
                    let size = known.count_ones() as usize;
                    let weight = factorial(size) * factorial(WIDTH - size - 1) / factorial(WIDTH);
                    weight * (values[known | 1 << feature] - values[known])
                })
                .sum()
        })
        .collect()
}

fn adds_up(shap: &Shap, tolerance: f64) {
    for (place, (score, expected)) in shap.scores.iter().zip(&shap.expected).enumerate() {
        let sum = expected + shap.of(place / shap.outputs, place % shap.outputs).iter().sum::<f64>();
        assert!((sum - score).abs() < tolerance, "row {place}: {sum} {score}");
    }
}

/// Sampled values are not further from the exact ones than their errors allow: few beyond two errors, none beyond five.
fn within_errors(found: &Shap, exact: &[f64]) {
    let errors = found.errors.as_ref().unwrap();
    let apart: Vec<f64> = (found.values.iter().zip(exact).zip(errors))
        .filter(|(_, error)| **error > 1e-9)
        .map(|((found, exact), error)| (found - exact).abs() / error)
        .collect();
    let beyond = apart.iter().filter(|apart| **apart > 2.0).count();
    assert!(apart.len() * 2 > exact.len(), "{} of {} values have an error", apart.len(), exact.len());
    assert!(beyond * 10 < apart.len(), "{beyond} of {} beyond two errors", apart.len());
    assert!(apart.iter().all(|apart| *apart < 5.0), "{apart:?}");
    // The errors say something: they are small beside the values.
    let size = exact.iter().map(|value| value.abs()).sum::<f64>() / exact.len() as f64;
    assert!(found.typical_error().unwrap() < 0.5 * size, "{:?} {size}", found.typical_error());
}

#[test]
fn sampled_values_of_an_mlp_are_shapley_values_over_all_subsets_within_their_errors() {
    let data = dataset(1, 60, true);
    let model = trained("mlp:hidden=8", "missing:to=mean:indicator=yes,standardise", &data);
    let explainer = explainer(&model, &data);
    let found = explainer.shap(Sampling { samples: 240, seed: 3 }).unwrap();
    assert_eq!((found.method, found.width), (Method::Sampled(240), WIDTH));
    adds_up(&found, 1e-9);
    let all: Vec<usize> = (0..60).collect();
    let exact: Vec<f64> = (0..60).flat_map(|row| shapley(&explainer, row, &all)).collect();
    within_errors(&found, &exact);
}

#[test]
fn values_of_a_linear_model_have_a_closed_form_that_sampled_ones_meet_within_their_errors() {
    let data = dataset(1, 80, true);
    let model = trained("linear", "missing:to=mean:indicator=yes,standardise", &data);
    let explainer = explainer(&model, &data);
    let exact = explainer.shap(Sampling::default()).unwrap();
    assert_eq!((exact.method, exact.errors.is_none()), (Method::Linear, true));
    adds_up(&exact, 1e-6);
    let all: Vec<usize> = (0..80).collect();
    for row in [0, 7, 41] {
        for (closed, plain) in exact.of(row, 0).iter().zip(shapley(&explainer, row, &all)) {
            assert!((closed - plain).abs() < 1e-6, "row {row}: {closed} {plain}");
        }
    }
    let sampled = explainer.sampled(Sampling { samples: 160, seed: 1 }).unwrap();
    adds_up(&sampled, 1e-9);
    within_errors(&sampled, &exact.values);
    // Bounded by a sigmoid it is not linear any more.
    let bounded = trained("linear:output=sigmoid", "missing:to=mean,standardise", &data);
    let bounded = Explainer::new(&bounded, "d.csv", data, 0.0).unwrap();
    let found = bounded.shap(Sampling { samples: 8, seed: 1 }).unwrap();
    assert_eq!(found.method, Method::Sampled(8));
    adds_up(&found, 1e-9);
}

#[test]
fn sampled_values_of_trees_meet_the_exact_ones_within_their_errors_where_features_are_independent() {
    // All combinations of four features with three values each: the mean over paths is the mean over rows.
    let rows = 3usize.pow(WIDTH as u32);
    let digit = |row: usize, feature: usize| (row / 3usize.pow(feature as u32) % 3) as f32;
    let values: Vec<f32> = (0..rows).flat_map(|row| (0..WIDTH).map(move |f| digit(row, f))).collect();
    let labels =
        (0..rows).map(|row| f32::from(u8::from(digit(row, 0) * digit(row, 1) + digit(row, 2) > 2.0)));
    let data = Dataset {
        lists: Lists::from_lengths(&[rows], labels.collect()),
        features: Matrix::Dense { width: WIDTH, values },
        columns: (0..WIDTH).map(|f| Column { name: format!("f{f}"), levels: None }).collect(),
        ..Dataset::default()
    };
    let model = trained("trees:leaves=6:min-rows=2", "", &data);
    let explainer = explainer(&model, &data);
    let exact = explainer.shap(Sampling::default()).unwrap();
    assert_eq!(exact.method, Method::Trees);
    adds_up(&exact, 1e-9);
    let all: Vec<usize> = (0..rows).collect();
    for row in [0, 40, 80] {
        for (paths, plain) in exact.of(row, 0).iter().zip(shapley(&explainer, row, &all)) {
            assert!((paths - plain).abs() < 1e-9, "row {row}: {paths} {plain}");
        }
    }
    let sampled = explainer.sampled(Sampling { samples: 2 * rows, seed: 2 }).unwrap();
    adds_up(&sampled, 1e-9);
    within_errors(&sampled, &exact.values);
}

#[test]
fn values_of_a_context_ranker_add_up_while_the_other_items_of_the_list_stay_as_they_are() {
    let data = dataset(6, 5, false);
    let model = trained("context:blocks=1:width=8:heads=2", "missing:to=mean,per-list", &data);
    let explainer = explainer(&model, &data);
    let found = explainer.shap(Sampling { samples: 6, seed: 1 }).unwrap();
    adds_up(&found, 1e-9);
    assert_eq!(found.scores, model.score(data.clone()).unwrap());
    // What the values of item 7 start from: its list with the background rows in its place, by hand.
    let mut order: Vec<usize> = (0..30).collect();
    toprank_core::Stream::new(1, "SHAP background").open().shuffle(&mut order);
    let mut sum = 0.0;
    for &from in &order[..6] {
        let mut values = vec![0.0; 30 * WIDTH];
        explainer.data.features.gather(&(0..30).collect::<Vec<u32>>(), &mut values);
        values.copy_within(from * WIDTH..(from + 1) * WIDTH, 7 * WIDTH);
        let changed = Matrix::Dense { width: WIDTH, values };
        sum += model.score_transformed(&data.lists, &changed).unwrap()[7];
    }
    assert!((found.expected[7] - sum / 6.0).abs() < 1e-9, "{} {}", found.expected[7], sum / 6.0);
}

#[test]
fn values_have_the_same_bytes_on_one_thread_and_two() {
    let (one_list, lists) = (dataset(1, 40, true), dataset(6, 5, false));
    for (model, transforms, data) in [
        ("mlp:hidden=8", "missing:to=mean,standardise", &one_list),
        ("context:blocks=1:width=8:heads=2", "missing:to=mean,per-list", &lists),
    ] {
        let model = trained(model, transforms, data);
        let explainer = explainer(&model, data);
        let run = |threads: usize, seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| explainer.shap(Sampling { samples: 5, seed })).unwrap()
        };
        assert_eq!(run(1, 1), run(2, 1));
        assert_ne!(run(1, 1), run(1, 2), "another seed draws others");
    }
}

#[test]
fn dependence_is_the_mean_score_of_rows_changed_before_the_transforms() {
    let data = dataset(1, 50, true);
    for (kind, transforms) in
        [("mlp:hidden=8", "missing:to=mean:indicator=yes,standardise"), ("trees:leaves=4:min-rows=2", "")]
    {
        let model = trained(kind, transforms, &data);
        let found = explainer(&model, &data).dependence(2, 6).unwrap();
        assert!(found.values.len() == 7 && found.values[6].is_nan() && !found.within_lists);
        for (value, mean) in found.values.iter().zip(&found.means) {
            let Matrix::Dense { values, .. } = &data.features else { unreachable!() };
            let mut values = values.clone();
            values.iter_mut().skip(2).step_by(WIDTH).for_each(|cell| *cell = *value);
            let features = Matrix::Dense { width: WIDTH, values };
            let scores = model.score(Dataset { features, ..data.clone() }).unwrap();
            let plain = scores.iter().sum::<f64>() / 50.0;
            assert!((mean - plain).abs() < 1e-6, "{kind} {value}: {mean} {plain}");
        }
    }
    let lists = dataset(6, 5, false);
    let model = trained("mlp:hidden=8", "missing:to=mean,per-list:kind=minmax", &lists);
    let within = explainer(&model, &lists).dependence(0, 4).unwrap();
    assert!(within.within_lists && within.values.iter().all(|value| (0.0..=1.0).contains(value)));
    assert!(within.means.iter().any(|mean| *mean != within.means[0]), "{within:?}");
}

#[test]
fn a_feature_that_matters_where_it_is_missing_loses_the_metric_when_shuffled_with_its_indicator() {
    let data = dataset(1, 300, true);
    let model = trained("linear", "missing:to=mean:indicator=yes,standardise", &data);
    let measure = Measure::parse_all("auroc", &Policy::default()).unwrap().remove(0);
    let found = explainer(&model, &data).permutation(&measure, 3, 1).unwrap();
    assert_eq!(found.len(), WIDTH);
    // Its value is noise; only the column of its indicator says anything.
    assert!(found[2].mean > 0.02 && found[2].mean > found[1].mean, "{found:?}");
}

#[test]
fn what_cannot_be_explained_is_said() {
    let lists = dataset(6, 5, false);
    let model = trained("context:blocks=1:width=8:heads=2", "missing:to=mean,per-list", &lists);
    let of = explainer(&model, &lists);
    let error = of.shap(Sampling { samples: 1, seed: 1 }).unwrap_err().to_string();
    assert_eq!(error, "samples must be an integer from 2, so that the draws have a standard error, but is 1");
    let error = of.shap(Sampling { samples: 1 << 28, seed: 1 }).unwrap_err().to_string();
    assert!(error.contains("explain fewer rows, or with fewer samples"), "{error}");
    assert!(of.dependence(WIDTH, 4).is_err() && of.dependence(0, 1).is_err());
    let measure = Measure::parse_all("ndcg@5", &Policy::default()).unwrap().remove(0);
    assert!(of.permutation(&measure, 0, 1).unwrap_err().to_string().contains("at least one shuffle"));
    let none = Dataset {
        lists: Lists::from_lengths(&[0], Vec::new()),
        features: Matrix::Dense { width: WIDTH, values: Vec::new() },
        ..lists.clone()
    };
    let error = Explainer::new(&model, "d.csv", none, 0.0).unwrap_err().to_string();
    assert!(error.contains("no rows; expected rows to explain the model on"), "{error}");
}

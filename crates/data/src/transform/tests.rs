//! Each step against its definition, dense and sparse alike.

use proptest::prelude::*;
use toprank_core::{Features, Lists};

use super::*;
use crate::dataset::{Column, Matrix, Sparse};
use crate::names::Names;

const NAN: f32 = f32::NAN;

fn dense(width: usize, values: Vec<f32>, lengths: &[usize]) -> Dataset {
    let rows = values.len() / width;
    Dataset {
        lists: Lists::from_lengths(lengths, vec![0.0; rows]),
        columns: (1..=width).map(|f| Column { name: f.to_string(), levels: None }).collect(),
        features: Matrix::Dense { width, values },
        ..Dataset::default()
    }
}

/// The same data with zeros left out.
fn sparse(data: &Dataset) -> Dataset {
    let Matrix::Dense { width, values } = &data.features else { panic!("dense data wanted") };
    let mut sparse = Sparse { width: *width, offsets: vec![0], ..Sparse::default() };
    for row in values.chunks_exact(*width) {
        for (feature, &value) in (0..).zip(row) {
            if value != 0.0 {
                sparse.indices.push(feature);
                sparse.values.push(value);
            }
        }
        sparse.offsets.push(sparse.indices.len() as u64);
    }
    Dataset { features: Matrix::Sparse(sparse), ..data.clone() }
}

fn rows(data: &Dataset) -> Vec<Vec<f32>> {
    let mut row = vec![0.0; data.features.width()];
    (0..data.rows())
        .map(|r| {
            data.features.row_into(r, &mut row);
            row.clone()
        })
        .collect()
}

fn steps(text: &str) -> Vec<StepConfig> {
    StepConfig::parse_all(text).unwrap()
}

/// Equal up to 1e-5 of the size, NaN equal to NaN: sums of zeros stated and not stated round differently.
fn close(a: &[Vec<f32>], b: &[Vec<f32>]) -> bool {
    a.len() == b.len()
        && a.iter()
            .flatten()
            .zip(b.iter().flatten())
            .all(|(a, b)| a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-5 * (1.0 + a.abs().max(b.abs())))
}

#[test]
fn each_step_follows_its_formula() {
    let train = [1.0, -3.0, NAN, 8.0];
    let ln = |x: f32| f64::from(x).ln() as f32;
    let mean = 2.0;
    let deviation = ((1.0f32 + 25.0 + 36.0) / 3.0).sqrt();
    for (text, expected) in [
        ("log1p", [ln(2.0), -ln(4.0), NAN, ln(9.0)]),
        ("standardise", [(1.0 - mean) / deviation, (-3.0 - mean) / deviation, NAN, (8.0 - mean) / deviation]),
        ("standardise:centre=no", [1.0 / deviation, -3.0 / deviation, NAN, 8.0 / deviation]),
        ("minmax", [4.0 / 11.0, 0.0, NAN, 1.0]),
        // Quartiles −1, 1 and 4.5 of −3, 1, 8.
        ("robust", [0.0, -4.0 / 5.5, NAN, 7.0 / 5.5]),
        (
            "smooth-clip",
            [1.0 / (10.0f32 / 9.0).sqrt(), -3.0 / 2f32.sqrt(), NAN, 8.0 / (73.0f32 / 9.0).sqrt()],
        ),
        ("smooth-clip:bound=1", [1.0 / 2f32.sqrt(), -3.0 / 10f32.sqrt(), NAN, 8.0 / 65f32.sqrt()]),
        ("clip:min=0", [1.0, 0.0, NAN, 8.0]),
        ("clip:min=-2:max=5", [1.0, -2.0, NAN, 5.0]),
        // Ranks 0.5 and 1.5 of −3, 1, 8.
        ("clip:low=0.25:high=0.75", [1.0, -1.0, NAN, 4.5]),
        ("missing:to=keep", [1.0, -3.0, NAN, 8.0]),
        ("missing:to=zero", [1.0, -3.0, 0.0, 8.0]),
        ("missing:to=mean", [1.0, -3.0, 2.0, 8.0]),
        ("missing:to=median", [1.0, -3.0, 1.0, 8.0]),
    ] {
        let mut data = dense(1, train.to_vec(), &[4]);
        let pipeline = Pipeline::fit(&data, &steps(text)).unwrap();
        pipeline.apply(&mut data).unwrap();
        let expected: Vec<Vec<f32>> = expected.iter().map(|&x| vec![x]).collect();
        assert!(close(&rows(&data), &expected), "{text}: {:?}, expected {expected:?}", rows(&data));
    }
}

#[test]
fn per_list_looks_at_one_list_only() {
    let values = vec![1.0, 3.0, 100.0, 300.0, NAN, 7.0, 7.0];
    for (kind, expected) in
        [("minmax", [0.0, 1.0, 0.0, 1.0, NAN, 0.0, 0.0]), ("zscore", [-1.0, 1.0, -1.0, 1.0, NAN, 0.0, 0.0])]
    {
        let mut data = dense(1, values.clone(), &[2, 3, 2]);
        Pipeline::fit_apply(&mut data, &steps(&format!("per-list:kind={kind}"))).unwrap();
        let expected: Vec<Vec<f32>> = expected.iter().map(|&x| vec![x]).collect();
        assert!(close(&rows(&data), &expected), "{kind}: {:?}", rows(&data));
        assert_eq!(data.lists.check(), Ok(()));
    }
}

#[test]
fn constant_and_empty_features_do_not_divide_by_0() {
    // 0.1 three times: the mean rounds, yet the deviation is 0.
    let train = dense(2, vec![0.1, NAN, 0.1, NAN, 0.1, NAN], &[3]);
    for text in
        ["standardise", "minmax", "robust", "per-list", "clip", "log1p", "smooth-clip", "missing:to=median"]
    {
        let mut data = train.clone();
        Pipeline::fit_apply(&mut data, &steps(text)).unwrap();
        for row in rows(&data) {
            assert!(row[0].is_finite(), "{text}: {row:?}");
            if ["standardise", "minmax", "robust", "per-list"].contains(&text) {
                assert!(row[0].abs() < 1e-6, "{text}: {row:?}");
            }
        }
    }
}

#[test]
fn a_feature_of_mostly_equal_values_is_scaled_by_its_range() {
    let train = dense(1, vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0], &[7]);
    for train in [train.clone(), sparse(&train)] {
        let pipeline = Pipeline::fit(&train, &steps("robust,smooth-clip")).unwrap();
        let mut test = dense(1, vec![0.0, 5.0, f32::INFINITY, f32::NEG_INFINITY, 1e-30], &[5]);
        pipeline.apply(&mut test).unwrap();
        // 2 · 5 / 10 = 1, and the bounds of infinite values.
        assert!(close(&rows(&test), &[0.0, 1.0 / (10.0f32 / 9.0).sqrt(), 3.0, -3.0, 0.0].map(|x| vec![x])));
        let (mut kept, stays) = (train.clone(), matches!(train.features, Matrix::Sparse(_)));
        pipeline.apply(&mut kept).unwrap();
        assert_eq!(
            matches!(kept.features, Matrix::Sparse(_)),
            stays,
            "a median of 0 keeps sparse data sparse"
        );
    }
}

#[test]
fn every_column_after_the_transforms_is_traced_to_its_feature() {
    let train = dense(3, vec![1.0, NAN, 2.0, NAN, 3.0, 4.0], &[2]);
    let pipeline =
        Pipeline::fit(&train, &steps("missing:to=keep:indicator=yes,log1p,missing:to=mean:indicator=yes"))
            .unwrap();
    let (mut after, origins) = (train.clone(), pipeline.origins());
    pipeline.apply(&mut after).unwrap();
    assert_eq!(origins, [0, 1, 2, 0, 1, 0, 1]);
    assert_eq!(origins.len(), after.features.width());
    assert!(
        !pipeline.looks_at_lists() && Pipeline::fit(&train, &steps("per-list")).unwrap().looks_at_lists()
    );
}

#[test]
fn an_indicator_column_marks_what_missed_in_training() {
    let train = dense(3, vec![1.0, NAN, 0.0, NAN, 2.0, 5.0], &[2]);
    for train in [train.clone(), sparse(&train)] {
        let pipeline = Pipeline::fit(&train, &steps("missing:to=zero:indicator=yes")).unwrap();
        let test = dense(3, vec![NAN, 1.0, NAN], &[1]);
        for mut test in [test.clone(), sparse(&test)] {
            pipeline.apply(&mut test).unwrap();
            // Feature 3 never missed in training: it is filled, but has no column.
            assert_eq!(rows(&test), [[0.0, 1.0, 0.0, 1.0, 0.0]]);
            assert_eq!(test.columns[3].name, "1 missing");
            assert_eq!(test.columns.len(), 5);
        }
    }
}

#[test]
fn categories_pass_unchanged() {
    let mut data = dense(2, vec![0.0, 5.0, 2.0, 7.0], &[2]);
    data.columns[0].levels = Some(["a", "b", "c"].into_iter().collect::<Names>());
    for text in ["log1p", "standardise", "minmax", "robust", "smooth-clip", "clip:max=1", "per-list"] {
        let mut copy = data.clone();
        Pipeline::fit_apply(&mut copy, &steps(text)).unwrap();
        let found: Vec<f32> = rows(&copy).iter().map(|row| row[0]).collect();
        assert_eq!(found, [0.0, 2.0], "{text}");
        assert_ne!(rows(&copy)[1][1], 7.0, "{text}");
    }
}

#[test]
fn sparse_data_too_large_to_be_dense_are_refused() {
    let rows = 1 << 10;
    let width = 1 << 21;
    let sparse = Sparse {
        width,
        offsets: (0..=rows).collect(),
        indices: vec![7; 1 << 10],
        values: vec![2.0; 1 << 10],
    };
    let mut data = Dataset {
        lists: Lists::from_lengths(&[1 << 10], vec![0.0; 1 << 10]),
        features: Matrix::Sparse(sparse),
        ..Dataset::default()
    };
    assert!(Pipeline::fit(&data, &steps("log1p")).is_ok());
    let error = Pipeline::fit_apply(&mut data, &steps("per-list")).unwrap_err().to_string();
    assert!(error.contains("1024 × 2097152") && error.contains("1073741824"), "{error}");
    assert_eq!(data.lists.check(), Ok(()), "the lists are whole after an error");
}

#[test]
fn what_keeps_zero_keeps_sparse_data_sparse() {
    let data = sparse(&dense(2, vec![0.0, 3.0, 1.0, 0.0], &[2]));
    for (text, stays) in [
        ("log1p", true),
        ("standardise:centre=no", true),
        ("minmax", true),
        ("robust", false),
        ("smooth-clip", true),
        ("missing:to=mean", true),
        ("clip:min=-1:max=1", true),
        ("clip:min=0.5", false),
        ("standardise", false),
        ("per-list", false),
    ] {
        let mut copy = data.clone();
        Pipeline::fit_apply(&mut copy, &steps(text)).unwrap();
        assert_eq!(matches!(copy.features, Matrix::Sparse(_)), stays, "{text}");
    }
}

#[test]
fn wrong_entries_are_refused_with_what_would_be_right() {
    for (text, expected) in [
        (
            "scale",
            "unknown transform \"scale\"; expected one of log1p, standardise, minmax, robust, smooth-clip, clip, \
             per-list, missing",
        ),
        ("log1p:base=2", "the parameter of log1p must be absent, but is base"),
        ("clip:low=0.5:high=0.4", "high must be in [0.5, 1], but is 0.4"),
        ("clip:min=3:max=1", "max must be a number from 3 on, but is 1"),
        ("clip:min=3:low=0.1", "low or high must be absent where min or max is given, but is 0.1"),
        ("smooth-clip:bound=0", "bound must be in (0, ∞), but is 0"),
        ("missing:to=max", "to must be keep, zero, mean or median, but is max"),
        ("per-list:kind=rank", "kind must be zscore or minmax, but is rank"),
    ] {
        assert_eq!(StepConfig::parse_all(text).unwrap_err().to_string(), expected);
    }
    let pipeline = Pipeline::fit(&dense(2, vec![1.0, 2.0], &[1]), &steps("minmax")).unwrap();
    let error = pipeline.apply(&mut dense(1, vec![1.0], &[1])).unwrap_err();
    assert_eq!(error.to_string(), "the number of features must be 2, as in the training data, but is 1");
}

#[test]
fn every_transform_of_the_table_parses_by_its_name() {
    for transform in TRANSFORMS {
        assert!(StepConfig::parse_all(transform.name).is_ok(), "{}", transform.name);
    }
}

/// Every row of `features`, some of them twice, fetched at once.
fn gathered(features: &dyn Features) -> Vec<Vec<f32>> {
    let rows: Vec<u32> = (0..features.rows() as u32).rev().chain(0..features.rows() as u32).collect();
    let mut flat = vec![7.0; rows.len() * features.width()];
    features.gather(&rows, &mut flat);
    let (again, all) = flat.split_at(flat.len() / 2);
    let all: Vec<Vec<f32>> = all.chunks_exact(features.width()).map(<[f32]>::to_vec).collect();
    let again: Vec<&[f32]> = again.chunks_exact(features.width()).rev().collect();
    assert_eq!(format!("{all:?}"), format!("{again:?}"));
    all
}

fn bits(rows: &[Vec<f32>]) -> Vec<Vec<u32>> {
    rows.iter().map(|row| row.iter().map(|x| x.to_bits()).collect()).collect()
}

#[test]
fn rows_that_are_fetched_one_by_one_cannot_be_normalised_by_list() {
    let data = dense(1, vec![1.0, 2.0], &[2]);
    let pipeline = Pipeline::fit(&data, &steps("log1p,per-list")).unwrap();
    let error = OnTheFly::new(&data, &data.columns, &pipeline).err().unwrap().to_string();
    assert!(error.contains("per-list") && error.contains("train on the original file"), "{error}");
    let narrow = Pipeline { width: 2, ..Pipeline::default() };
    let error = OnTheFly::new(&data, &data.columns, &narrow).err().unwrap().to_string();
    assert_eq!(error, "the number of features must be 2, as in the training data, but is 1");
    let unfitted = Pipeline { width: 1, steps: vec![Step::Clip { low: vec![], high: vec![] }] };
    let error = OnTheFly::new(&data, &data.columns, &unfitted).err().unwrap().to_string();
    assert_eq!(error, "the fitted numbers of a transform must be 1, one per feature, but is 0");
}

#[test]
fn every_row_wise_transform_of_the_table_is_tested_on_the_fly() {
    for transform in TRANSFORMS.iter().filter(|transform| transform.name != "per-list") {
        assert!(ROW_WISE.iter().any(|text| text.contains(transform.name)), "{}", transform.name);
    }
}

#[test]
fn rows_without_features_are_counted_by_their_data_set() {
    let data = Dataset { lists: Lists::from_lengths(&[2], vec![0.0; 2]), ..Dataset::default() };
    assert_eq!((Features::rows(&data), Features::rows(&data.features)), (2, 0));
    data.gather(&[1, 0], &mut []);
    let pipeline = Pipeline::fit(&data, &steps("standardise")).unwrap();
    OnTheFly::new(&data, &data.columns, &pipeline).unwrap().gather(&[1, 0], &mut []);
}

const ROW_WISE: &[&str] = &[
    "log1p",
    "standardise",
    "standardise:centre=no",
    "minmax",
    "robust,smooth-clip",
    "clip:low=0.2:high=0.7",
    "clip:min=-1:max=50",
    "missing:to=zero",
    "missing:to=keep:indicator=yes",
    "missing:to=median:indicator=yes,standardise,missing:to=mean:indicator=yes",
    "log1p,missing:to=mean:indicator=yes,log1p,minmax,clip",
];

fn value() -> impl Strategy<Value = f32> {
    prop_oneof![3 => Just(0.0f32), 1 => Just(NAN), 4 => -100.0f32..100.0]
}

proptest! {
    #[test]
    fn rows_fetched_one_by_one_have_the_bits_of_data_transformed_at_once(
        values in prop::collection::vec(value(), 12..=12),
        others in prop::collection::vec(value(), 6..=6),
        category in any::<bool>(),
    ) {
        let mut train = dense(3, values, &[1, 3]);
        let mut test = dense(3, others, &[2]);
        if category {
            for data in [&mut train, &mut test] {
                data.columns[1].levels = Some(["a", "b"].into_iter().collect::<Names>());
            }
        }
        for text in ROW_WISE {
            for (train, test) in [(train.clone(), test.clone()), (sparse(&train), sparse(&test))] {
                let pipeline = Pipeline::fit(&train, &steps(text)).unwrap();
                let mut at_once = test.clone();
                pipeline.apply(&mut at_once).unwrap();
                let one_by_one = OnTheFly::new(&test.features, &test.columns, &pipeline).unwrap();
                prop_assert_eq!(one_by_one.width(), at_once.features.width());
                prop_assert_eq!(one_by_one.width(), pipeline.width_after());
                prop_assert_eq!(bits(&gathered(&one_by_one)), bits(&rows(&at_once)), "{}", text);
                prop_assert_eq!(bits(&gathered(&at_once)), bits(&rows(&at_once)), "{}", text);
            }
        }
    }

    #[test]
    fn sparse_and_dense_data_give_the_same_and_json_keeps_the_pipeline(
        values in prop::collection::vec(value(), 12..=12),
        others in prop::collection::vec(value(), 6..=6),
        text in prop::sample::select(vec![
            "log1p,standardise", "standardise:centre=no", "minmax", "clip:low=0.2:high=0.7", "robust,smooth-clip", "per-list",
            "missing:to=mean,per-list:kind=minmax", "missing:to=median:indicator=yes,standardise", "clip:min=-1,log1p",
        ]),
    ) {
        let train = dense(3, values, &[1, 3]);
        let test = dense(3, others, &[2]);
        let a = Pipeline::fit(&train, &steps(text)).unwrap();
        let b = Pipeline::fit(&sparse(&train), &steps(text)).unwrap();
        let json = serde_json::to_string(&a).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Pipeline>(&json).unwrap(), &a);
        let (mut x, mut y) = (test.clone(), sparse(&test));
        a.apply(&mut x).unwrap();
        b.apply(&mut y).unwrap();
        prop_assert!(close(&rows(&x), &rows(&y)), "{:?} {:?}", rows(&x), rows(&y));
        // Nothing but the missing step fills a gap, and nothing makes one.
        if !text.contains("missing") {
            for (before, after) in rows(&test).iter().flatten().zip(rows(&x).iter().flatten()) {
                prop_assert_eq!(before.is_nan(), after.is_nan());
            }
        }
    }
}

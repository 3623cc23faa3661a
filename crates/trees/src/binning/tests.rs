use proptest::prelude::*;
use toprank_data::{Matrix, Sparse};

use super::*;

fn matrix(width: usize, values: Vec<f32>) -> Matrix {
    Matrix::Dense { width, values }
}

fn settings(most: usize, least: u32) -> BinSettings {
    BinSettings { max_bins: most, min_rows: least, ..BinSettings::default() }
}

#[test]
fn constant_features_have_no_column_and_a_constant_with_missing_values_has_one() {
    let nan = f32::NAN;
    let rows = matrix(4, vec![7.0, 1.0, 5.0, nan, 7.0, 2.0, nan, nan, 7.0, 3.0, 5.0, nan]);
    let binned = Bins::fit(&rows, &[], &settings(255, 1)).unwrap().apply(&rows).unwrap();
    assert_eq!(binned.slots().iter().map(|slot| slot.feature).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(binned.column(0), [0, 1, 2]);
    assert_eq!(binned.column(1), [0, 1, 0]); // one bin, and code 1 for what is missing
    assert_eq!(binned.bin(1, 0), 0);
}

#[test]
fn the_most_frequent_categories_have_bins_and_the_others_count_as_missing() {
    let rows = matrix(1, vec![5.0, 5.0, 9.0, 9.0, 1.0, 3.0, f32::NAN, -2.0]);
    let bins = Bins::fit(&rows, &[true], &settings(3, 1)).unwrap();
    assert_eq!(*bins.of(0), FeatureBins::Categorical { categories: vec![1, 5, 9] });
    let binned = bins.apply(&rows).unwrap();
    assert_eq!(binned.column(0), [1, 1, 2, 2, 0, 3, 3, 3]);
}

#[test]
fn cuts_of_a_sample_are_near_those_of_all_rows() {
    let rows = matrix(1, (0..100_000).map(|i| ((i * 7919) % 100_000) as f32).collect());
    let all = Bins::fit(&rows, &[], &settings(10, 1)).unwrap();
    let some = Bins::fit(&rows, &[], &BinSettings { sample: 5000, ..settings(10, 1) }).unwrap();
    let (FeatureBins::Numeric { cuts: all }, FeatureBins::Numeric { cuts: some }) = (all.of(0), some.of(0))
    else {
        panic!("numbers")
    };
    assert_eq!(all.len(), 9);
    assert!(all.iter().zip(some).all(|(a, s)| a != s && (a - s).abs() < 1500.0), "{all:?} {some:?}");
}

#[test]
fn what_cannot_be_binned_is_said() {
    let rows = matrix(2, vec![0.0; 4]);
    assert!(Bins::fit(&rows, &[], &settings(256, 1)).is_err());
    assert!(Bins::fit(&rows, &[], &settings(1, 1)).is_err());
    assert!(Bins::fit(&rows, &[true], &settings(9, 1)).is_err());
    let bins = Bins::fit(&rows, &[], &settings(9, 1)).unwrap();
    let error = bins.apply(&matrix(3, vec![0.0; 3])).unwrap_err().to_string();
    assert_eq!(error, "rows of 3 features, expected 2 features, as in the data the bins were made from");
}

#[test]
fn no_rows_and_no_features_are_no_problem() {
    for rows in [matrix(0, vec![]), matrix(3, vec![])] {
        let bins = Bins::fit(&rows, &[], &BinSettings::default()).unwrap();
        let binned = bins.apply(&rows).unwrap();
        assert_eq!((binned.rows(), binned.width()), (0, 0));
    }
}

proptest! {
    #[test]
    fn both_layouts_hold_what_the_plain_rule_says(
        values in prop::collection::vec(
            prop_oneof![4 => -50i32..50, 1 => Just(1000), 1 => Just(2000), 1 => Just(-2000)], 1..2000),
        width in 1usize..12, most in 2usize..=255, least in 1u32..4, categorical: bool,
    ) {
        let values: Vec<f32> = values
            .into_iter()
            .map(|v| match v { 1000 => f32::NAN, 2000 => f32::INFINITY, -2000 => f32::NEG_INFINITY, v => v as f32 * 0.5 })
            .collect();
        let rows = values.len() / width;
        let dense = matrix(width, values[..rows * width].to_vec());
        let kinds: Vec<bool> = (0..width).map(|f| categorical && f % 3 == 0).collect();
        let settings = BinSettings { bundles: false, ..settings(most, least) };
        let bins = Bins::fit(&dense, &kinds, &settings).unwrap();
        let binned = bins.apply(&dense).unwrap();
        for column in 0..binned.width() {
            let feature = binned.slots()[column].feature as usize;
            for row in 0..rows {
                let expected = bins.of(feature).bin(dense.get(row, feature));
                prop_assert_eq!(binned.column(column)[row], expected);
                prop_assert_eq!(binned.bin(row, feature), expected);
                let word = binned.words()[row * binned.tiles() + column / TILE];
                prop_assert_eq!(word.to_le_bytes()[column % TILE], expected);
            }
        }
    }

    #[test]
    fn sparse_rows_have_the_bins_of_dense_ones(
        values in prop::collection::vec(prop_oneof![3 => Just(0.0f32), 1 => -3.0f32..3.0, 1 => Just(f32::NAN)], 3..300),
    ) {
        let rows = values.len() / 3;
        let mut sparse = Sparse { width: 3, offsets: vec![0], ..Sparse::default() };
        for row in values[..rows * 3].chunks(3) {
            for (feature, &value) in (0..).zip(row).filter(|(_, value)| **value != 0.0) {
                sparse.indices.push(feature);
                sparse.values.push(value);
            }
            sparse.offsets.push(sparse.indices.len() as u64);
        }
        let (dense, sparse) = (matrix(3, values[..rows * 3].to_vec()), Matrix::Sparse(sparse));
        let bins = Bins::fit(&dense, &[], &settings(16, 1)).unwrap();
        prop_assert_eq!(&Bins::fit(&sparse, &[], &settings(16, 1)).unwrap(), &bins);
        prop_assert_eq!(bins.apply(&sparse).unwrap(), bins.apply(&dense).unwrap());
    }
}

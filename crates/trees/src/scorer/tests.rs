use proptest::prelude::*;
use toprank_data::Matrix;

use super::testing::{tree, tree_of};
use super::*;
use crate::growth::quantise::mix;

fn values(rows: usize, width: usize, seed: u64) -> Vec<f32> {
    (0..rows * width)
        .map(|i| match mix(seed ^ mix(i as u64) ^ 1) % 29 {
            0 if seed & 1 == 0 => f32::NAN, // chunks without missing values take another way
            1 => f32::INFINITY,
            2 => f32::NEG_INFINITY,
            3 => (-4.0f32 + 2.5).next_up(),
            4 => -0.0,
            level => level as f32 * 0.5 - 4.0, // mostly equal to a threshold
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_way_to_score_gives_the_bytes_of_the_plain_one(
        leaves in prop::collection::vec(prop_oneof![1usize..6, 25usize..40, 60usize..130, 250usize..300], 1..6),
        outputs in 1usize..3, width in 1usize..20, rows in 0usize..100, categories: bool, many_levels: bool, seed: u64,
    ) {
        let mut leaves = leaves;
        leaves.truncate(leaves.len() / outputs * outputs);
        let levels = if many_levels { 3000 } else { 23 }; // more than a byte counts, or many equal
        let model = Ensemble {
            base: vec![0.25; outputs],
            trees: leaves.iter().enumerate().map(|(t, &n)| tree_of(n, width as u32, categories, levels, mix(seed) ^ t as u64)).collect(),
            ..Ensemble::new(width, outputs)
        };
        prop_assert_eq!(model.check(), Ok(()));
        let values = values(rows, width, seed);
        let mut plain = vec![0.0; rows * outputs];
        for (row, scores) in values.chunks(width).zip(plain.chunks_mut(outputs)) {
            model.score_row(row, scores);
        }
        let matrix = Matrix::Dense { width, values: values.clone() };
        for by_codes in [false, true] {
            let scorer = Scorer::laid_out(&model, by_codes);
            let mut scores = vec![f64::NAN; rows * outputs];
            scorer.score_rows(&values, &mut scores).unwrap();
            prop_assert_eq!(&scores, &plain);
            prop_assert_eq!(&scorer.score(&matrix).unwrap(), &plain);
        }
    }
}

#[test]
fn rows_of_the_wrong_length_are_an_error() {
    let scorer = Scorer::new(&Ensemble::new(3, 2)).unwrap();
    assert!(scorer.score_rows(&[0.0; 5], &mut [0.0; 4]).is_err());
    assert!(scorer.score_rows(&[0.0; 6], &mut [0.0; 3]).is_err());
    assert!(scorer.score(&Matrix::Dense { width: 2, values: vec![0.0; 2] }).is_err());
    assert!(Scorer::new(&Ensemble { outputs: 0, ..Ensemble::new(1, 1) }).is_err());
}

#[test]
fn many_rows_in_many_threads_have_the_bytes_of_one() {
    let model = Ensemble { trees: (0..20).map(|t| tree(31, 7, false, t)).collect(), ..Ensemble::new(7, 1) };
    let values = values(5000, 7, 3);
    let mut one = vec![0.0; 5000];
    let scorer = Scorer::new(&model).unwrap();
    scorer.score_rows(&values, &mut one).unwrap();
    let matrix = Matrix::Dense { width: 7, values };
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| scorer.score(&matrix)).unwrap(), one);
    }
}

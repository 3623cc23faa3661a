//! The seeds and findings of the fuzzers as ordinary tests: no reader of models panics on them.

use std::path::Path;

use toprank_data::Source;
use toprank_testkit::fuzz::seeds;
use toprank_trees::interop;

#[test]
fn no_seed_of_the_fuzzers_makes_a_reader_of_models_panic() {
    for (folder, whole) in [("lightgbm_model", "categories.txt"), ("xgboost_model", "categories.json")] {
        for (path, bytes) in seeds(folder) {
            let found = interop::read(&Source::bytes("seed", bytes));
            let name = path.file_name().unwrap().to_string_lossy();
            if let Ok(found) = &found {
                assert_eq!(found.ensemble.check(), Ok(()), "{folder}/{name}");
            }
            // Written by the tool itself: one tree of thresholds and one of categories.
            if name == whole {
                assert_eq!(found.map(|found| found.ensemble.trees.len()), Ok(2), "{folder}/{name}");
            }
        }
    }
}

/// Rows that LightGBM 4.7.0 and XGBoost 3.2.0 scored with the seeds they wrote, missing values and odd categories among
/// them; the raw scores are theirs.
#[test]
fn models_of_the_tools_score_as_the_tools_do() {
    const NAN: f32 = f32::NAN;
    let rows = [
        [0.125_730_22, -0.132_104_86, 3.0],
        [0.104_900_114, -0.535_669_4, 2.0],
        [1.304, 0.947_081, 2.0],
        [-1.265_421_5, -0.623_274_45, 3.0],
        [-2.325_030_8, -0.218_791_66, 4.0],
        [-0.732_267_4, -0.544_259, 0.0],
        [0.411_630_54, 1.042_513_4, 4.0],
        [1.366_463_4, NAN, 1.0],
        [NAN, NAN, NAN],
        [0.0, 0.0, 3.7],
        [0.0, 0.0, -1.0],
    ];
    let lightgbm = [
        0.565_722_764_546_372_5,
        0.294_178_759_609_807_3,
        0.431_434_727_014_081_14,
        0.392_698_864_273_330_1,
        0.056_947_464_793_028_59,
        0.159_036_107_962_649_75,
        0.431_434_727_014_081_14,
        0.431_434_727_014_081_14,
        0.294_178_759_609_807_3,
        0.532_976_100_139_996_1,
        0.294_178_759_609_807_3,
    ];
    let xgboost = [
        0.881_657,
        0.189_050_94,
        0.783_181_67,
        0.483_842_4,
        -0.211_092_62,
        -0.211_092_62,
        0.512_889_4,
        0.783_181_67,
        0.189_050_94,
        0.944_600_34,
        0.944_600_34,
    ];
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let cases = [
        ("lightgbm_model/categories.txt", &lightgbm, 0.0),
        ("xgboost_model/categories.json", &xgboost, 1e-6),
    ];
    for (file, expected, tolerance) in cases {
        let model = interop::read(&Source::path(seeds.join(file))).unwrap().ensemble;
        for (row, &expected) in rows.iter().zip(expected) {
            let mut score = [0.0];
            model.score_row(row, &mut score);
            let difference: f64 = score[0] - expected;
            assert!(difference.abs() <= tolerance, "{file} {row:?}: {} {expected}", score[0]);
        }
    }
}

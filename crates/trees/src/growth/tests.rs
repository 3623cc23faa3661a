//! Trees against a reference implementation that tries every split by adding up rows.

use proptest::prelude::*;
use toprank_core::collective::Alone;
use toprank_data::Matrix;

use super::quantise::{TreeRows, mix, pack};
use super::*;
use crate::binning::{BinSettings, Binned, Bins, FeatureBins};
use crate::booster::{Booster, Boosting};
use crate::ensemble::Ensemble;
use crate::sampling::Sampling;
use crate::tree::Test;

struct Case {
    matrix: Matrix,
    data: Binned,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

/// Rows of few distinct values, some missing, with gradients that integers hold exactly.
fn case(rows: usize, width: usize, levels: u64, seed: u64) -> Case {
    let random = |i: usize| mix(seed ^ mix(i as u64));
    let values = (0..rows * width)
        .map(|i| match random(i) % (levels + 2) {
            missing if missing > levels && (i % width).is_multiple_of(2) => f32::NAN,
            level => level as f32,
        })
        .collect();
    let matrix = Matrix::Dense { width, values };
    let settings = BinSettings { min_rows: 1, ..BinSettings::default() };
    let data = Bins::fit(&matrix, &[], &settings).unwrap().apply(&matrix).unwrap();
    let part = |i: usize| (random(i + 77_777) % (1 << 20)) as f64 / f64::from(1 << 20);
    let gradient = (0..rows)
        .map(|row| {
            let value = matrix.get(row, 0);
            2.0 * part(row) - if value.is_nan() { 1.5 } else { f64::from(value) * 0.25 }
        })
        .collect();
    let hessian = (0..rows).map(|row| 0.25 + part(row + rows)).collect();
    Case { matrix, data, gradient, hessian }
}

/// The tree that one round grows, as the value of every row.
fn grown(case: &Case, growth: &Growth) -> (Ensemble, Vec<f64>) {
    let settings = Boosting { rate: 1.0, growth: growth.clone(), ..Boosting::default() };
    let mut booster = Booster::new(&case.data, &[], 1, settings).unwrap();
    booster.round(&case.gradient, &case.hessian).unwrap();
    let scores = booster.scores().to_vec();
    (booster.into_ensemble(), scores)
}

/// Rows of a leaf of the twin, its depth, its best split.
struct Leaf {
    rows: Vec<usize>,
    depth: usize,
    best: Option<(f64, Vec<usize>, Vec<usize>)>,
}

struct Twin<'a> {
    case: &'a Case,
    growth: &'a Growth,
}

impl Twin<'_> {
    fn sums(&self, rows: &[usize]) -> (f64, f64) {
        (rows.iter().map(|&r| self.case.gradient[r]).sum(), rows.iter().map(|&r| self.case.hessian[r]).sum())
    }

    fn value(&self, rows: &[usize]) -> f64 {
        let (g, h) = self.sums(rows);
        -g.signum() * (g.abs() - self.growth.l1).max(0.0) / (h + self.growth.l2)
    }

    fn drop(&self, rows: &[usize]) -> f64 {
        let (g, h) = self.sums(rows);
        0.5 * (g.abs() - self.growth.l1).max(0.0).powi(2) / (h + self.growth.l2)
    }

    fn leaf(&self, rows: Vec<usize>, depth: usize) -> Leaf {
        let growth = self.growth;
        let mut best: Option<(f64, Vec<usize>, Vec<usize>)> = None;
        let data = &self.case.data;
        for feature in 0..data.bins().width() {
            let FeatureBins::Numeric { cuts } = data.bins().of(feature) else { panic!("numbers") };
            for threshold in cuts.iter().copied().chain([f32::INFINITY]) {
                for missing_left in [false, true] {
                    let (left, right): (Vec<usize>, Vec<usize>) = rows.iter().partition(|&&row| {
                        let value = self.case.matrix.get(row, feature);
                        if value.is_nan() { missing_left } else { value <= threshold }
                    });
                    let enough = |side: &[usize]| {
                        side.len() >= (growth.min_rows as usize).max(1)
                            && self.sums(side).1 >= growth.min_hessian
                    };
                    if !enough(&left) || !enough(&right) || (growth.depth > 0 && depth >= growth.depth) {
                        continue;
                    }
                    let gain = self.drop(&left) + self.drop(&right) - self.drop(&rows);
                    if gain > best.as_ref().map_or(growth.min_gain.max(1e-12), |best| best.0 * (1.0 + 1e-9)) {
                        best = Some((gain, left, right));
                    }
                }
            }
        }
        Leaf { rows, depth, best }
    }

    fn grow(&self) -> Vec<f64> {
        let mut leaves = vec![self.leaf((0..self.case.data.rows()).collect(), 0)];
        while leaves.len() < self.growth.leaves {
            let key = |leaf: &Leaf| {
                let level = if self.growth.order == Order::Depth { leaf.depth as f64 } else { 0.0 };
                leaf.best.as_ref().map(|best| (-level, best.0))
            };
            let open = (0..leaves.len()).filter(|&i| leaves[i].best.is_some());
            let Some(next) = open.max_by(|&a, &b| key(&leaves[a]).partial_cmp(&key(&leaves[b])).unwrap())
            else {
                break;
            };
            let depth = leaves[next].depth + 1;
            let (_, left, right) = leaves[next].best.take().unwrap();
            leaves[next] = self.leaf(left, depth);
            leaves.push(self.leaf(right, depth));
        }
        let mut values = vec![0.0; self.case.data.rows()];
        for leaf in &leaves {
            leaf.rows.iter().for_each(|&row| values[row] = self.value(&leaf.rows));
        }
        values
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn a_tree_is_the_one_that_trying_every_split_grows(
        rows in 2usize..160, width in 1usize..12, levels in 2u64..9, seed: u64,
        leaves in 2usize..9, depth in 0usize..4, min_rows in 0u32..12, by_depth: bool,
        l1 in prop_oneof![Just(0.0), 0.1f64..2.0], l2 in prop_oneof![Just(0.0), 0.1f64..5.0],
        min_hessian in 0.0f64..6.0,
    ) {
        let case = case(rows, width, levels, seed);
        let growth = Growth {
            order: if by_depth { Order::Depth } else { Order::Leaf },
            leaves, depth, min_rows, l1, l2, min_hessian, ..Growth::default()
        };
        let (model, scores) = grown(&case, &growth);
        let plain = Twin { case: &case, growth: &growth }.grow();
        for (row, (score, plain)) in scores.iter().zip(&plain).enumerate() {
            prop_assert!((score - plain).abs() < 1e-9 * (1.0 + plain.abs()), "row {}: {} {}", row, score, plain);
        }
        prop_assert_eq!(model.check(), Ok(()));
        // The tree over values says what the rows' bins said.
        let read = model.score(&case.matrix).unwrap();
        prop_assert_eq!(read, scores);
    }

    /// A bin whose sums are 0 can hold rows all the same: they have no gradient, or their gradients add up to 0.
    #[test]
    fn rows_without_a_gradient_score_as_the_tree_says(
        rows in 20usize..160, width in 1usize..6, levels in 2u64..9, seed: u64, min_rows in 0u32..12, bundles: bool,
    ) {
        let mut case = case(rows, width, levels, seed);
        for row in 0..rows {
            if case.matrix.get(row, 0).is_nan() || row % 3 == 0 {
                (case.gradient[row], case.hessian[row]) = (0.0, 0.0);
            }
        }
        let settings = BinSettings { min_rows: 1, bundles, ..BinSettings::default() };
        case.data = Bins::fit(&case.matrix, &[], &settings).unwrap().apply(&case.matrix).unwrap();
        let (model, scores) = grown(&case, &Growth { min_rows, min_hessian: 0.0, ..Growth::default() });
        prop_assert_eq!(model.score(&case.matrix).unwrap(), scores);
    }

    #[test]
    fn a_monotone_feature_moves_the_score_one_way_only(seed: u64, sign in prop_oneof![Just(-1i8), Just(1)]) {
        let case = case(400, 3, 20, seed);
        let growth = Growth { leaves: 16, min_rows: 2, monotone: vec![sign, 0, 0], ..Growth::default() };
        let settings = Boosting { rate: 0.3, growth, ..Boosting::default() };
        let mut booster = Booster::new(&case.data, &[], 1, settings).unwrap();
        for round in 0..5 {
            let gradient: Vec<f64> = booster.scores().iter().zip(&case.gradient).map(|(s, g)| s + g).collect();
            prop_assert!(booster.round(&gradient, &vec![1.0; 400]).is_ok());
            prop_assert!(booster.ensemble().trees[round].nodes.len() > 1 || round > 0);
        }
        let model = booster.into_ensemble();
        let mut scores = [0.0];
        for other in [[0.0, 5.0], [7.0, 1.0], [20.0, 13.0], [f32::NAN, 4.0]] {
            let mut before = f64::NEG_INFINITY;
            for value in 0..=21 {
                model.score_row(&[value as f32, other[0], other[1]], &mut scores);
                let score = f64::from(sign) * scores[0];
                prop_assert!(score >= before);
                before = score;
            }
        }
    }
}

/// All that may differ by threads: structure and values, under every draw.
#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let case = case(3000, 30, 200, 5);
    let offsets: Vec<u64> = (0..=300).map(|list| list * 10).collect();
    for (sampling, extra) in [
        (Sampling::All, false),
        (Sampling::Lists { fraction: 0.6 }, true),
        (Sampling::Rows { fraction: 0.6 }, false),
        (Sampling::Goss { top: 0.2, other: 0.2 }, false),
    ] {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let growth =
                    Growth { features: 0.5, node_features: 0.5, extra, smooth: 1.0, ..Growth::default() };
                let settings = Boosting { sampling, growth, ..Boosting::default() };
                let mut booster = Booster::new(&case.data, &offsets, 1, settings).unwrap();
                for _ in 0..4 {
                    let gradient: Vec<f64> =
                        booster.scores().iter().zip(&case.gradient).map(|(s, g)| s + g).collect();
                    booster.round(&gradient, &case.hessian).unwrap();
                }
                let scores = booster.scores().to_vec();
                // Rows that were not drawn have the score of the model, too.
                assert_eq!(booster.ensemble().score(&case.matrix).unwrap(), scores);
                booster.into_ensemble()
            })
        };
        let one = run(1);
        assert!(one.trees.iter().all(|tree| tree.leaves.len() > 10));
        for threads in [2, 3, 8] {
            assert_eq!(run(threads), one, "{threads} threads, {sampling:?}");
        }
    }
}

#[test]
fn a_tree_does_not_depend_on_the_order_of_its_rows() {
    let mut case = case(2000, 6, 40, 11);
    // Sums of tenths and thirds are rounded differently in every order.
    case.gradient.iter_mut().for_each(|g| *g /= 10.0);
    case.hessian.iter_mut().for_each(|h| *h /= 3.0);
    let rows: Vec<u32> = (0..2000).filter(|row| row % 7 != 3).collect();
    let mut packed = vec![0; 2000];
    let of = TreeRows { rows: &rows, first: 0, workers: &Alone };
    let units = pack(&case.gradient, &case.hessian, of, 1, &mut packed).unwrap();
    let growth = Growth::default();
    let grown = |rows: Vec<u32>| {
        let task = Task {
            data: &case.data,
            growth: &growth,
            gradient: &case.gradient,
            hessian: &case.hessian,
            packed: &packed,
            units,
            allowed: &[true; 6],
            rate: 0.1,
            nodes: toprank_core::Stream::new(0, "test"),
            workers: &Alone,
        };
        let mut scratch = GrowthScratch::default();
        scratch.rows.extend(rows);
        grow(&task, &mut scratch).unwrap().tree
    };
    let tree = grown(rows.clone());
    assert_eq!(tree.leaves.len(), 31);
    for seed in 0..5 {
        let mut shuffled = rows.clone();
        shuffled.sort_by_key(|&row| mix(seed ^ u64::from(row)));
        assert_eq!(grown(shuffled), tree);
    }
}

/// The features that the nodes of the first tree test.
fn tested(case: &Case, growth: &Growth) -> Vec<u32> {
    grown(case, growth).0.trees[0].nodes.iter().map(|node| node.feature).collect()
}

#[test]
fn every_node_draws_its_own_features() {
    let case = case(3000, 10, 40, 5);
    let first = |node_features: f64, seed: u64| {
        let growth = Growth { node_features, ..Growth::default() };
        let settings = Boosting { growth, seed, ..Boosting::default() };
        let mut booster = Booster::new(&case.data, &[], 1, settings).unwrap();
        booster.round(&case.gradient, &case.hessian).unwrap();
        booster.ensemble().trees[0].nodes[0].feature
    };
    // The gradient follows feature 0, so the root tests it if it may: in about a third of the draws.
    assert!((0..60).all(|seed| first(1.0, seed) == 0));
    let times = (0..60).filter(|&seed| first(0.3, seed) == 0).count();
    assert!((8..30).contains(&times), "{times}");
    let all = tested(&case, &Growth { node_features: 0.1, ..Growth::default() });
    assert!((0..10).all(|feature| all.contains(&feature)), "one feature each, and not the same one: {all:?}");
}

#[test]
fn extra_trees_cut_where_chance_says_within_the_values_of_the_node() {
    let case = case(3000, 3, 100, 5);
    let roots: Vec<f32> = (0..40)
        .map(|seed| {
            let growth = Growth { leaves: 2, extra: true, features: 0.3, ..Growth::default() };
            let settings = Boosting { growth, seed, ..Boosting::default() };
            let mut booster = Booster::new(&case.data, &[], 1, settings).unwrap();
            booster.round(&case.gradient, &case.hessian).unwrap();
            let Test::AtMost(threshold) = booster.ensemble().trees[0].nodes[0].test else {
                panic!("numbers")
            };
            threshold
        })
        .collect();
    // Values are 0 to 99: the cuts are spread over all of them.
    for quarter in [0.0f32..25.0, 25.0..50.0, 50.0..75.0, 75.0..100.0] {
        assert!(roots.iter().filter(|&cut| quarter.contains(cut)).count() >= 4, "{roots:?}");
    }
    // Deep in the tree every node still has rows on both sides.
    let growth = Growth { leaves: 200, extra: true, min_rows: 1, ..Growth::default() };
    let (model, scores) = grown(&case, &growth);
    assert_eq!(model.trees[0].leaves.len(), 200);
    assert_eq!(model.score(&case.matrix).unwrap(), scores);
}

#[test]
fn smoothing_draws_a_leaf_to_its_parent_by_its_hessian() {
    // Four rows: the root parts 0 from the rest, the next node parts 1 from 2 and 3.
    let matrix = Matrix::Dense { width: 1, values: vec![0.0, 1.0, 2.0, 3.0] };
    let bins = BinSettings { min_rows: 1, ..BinSettings::default() };
    let data = Bins::fit(&matrix, &[], &bins).unwrap().apply(&matrix).unwrap();
    let (gradient, hessian) = (vec![8.0, 3.0, -1.0, -1.0], vec![1.0, 1.0, 2.0, 2.0]);
    let case = Case { matrix, data, gradient, hessian };
    let growth = Growth { leaves: 3, min_rows: 1, smooth: 2.0, ..Growth::default() };
    let (_, scores) = grown(&case, &growth);
    let root = -9.0 / 6.0;
    let node = (5.0 * (-1.0 / 5.0) + 2.0 * root) / 7.0;
    let expected = [
        (-8.0 + 2.0 * root) / 3.0,
        (-3.0 + 2.0 * node) / 3.0,
        (4.0 * 0.5 + 2.0 * node) / 6.0,
        (4.0 * 0.5 + 2.0 * node) / 6.0,
    ];
    for (score, expected) in scores.iter().zip(expected) {
        assert!((score - expected).abs() < 1e-9, "{scores:?} {expected}");
    }
    let (_, bounded) = grown(&case, &Growth { smooth: 0.0, max_delta: 0.75, ..growth });
    assert_eq!(bounded, [-0.75, -0.75, 0.5, 0.5]);
}

#[test]
fn rows_that_are_not_drawn_do_not_teach() {
    let case = case(2000, 4, 60, 9);
    let counts: Vec<u32> = (0..5)
        .map(|seed| {
            let sampling = Sampling::Rows { fraction: 0.25 };
            let mut booster =
                Booster::new(&case.data, &[], 1, Boosting { sampling, seed, ..Boosting::default() }).unwrap();
            booster.round(&case.gradient, &case.hessian).unwrap();
            booster.ensemble().trees[0].nodes[0].rows
        })
        .collect();
    assert!(counts.iter().all(|&rows| rows.abs_diff(500) <= 1), "{counts:?}");
}

#[test]
fn categories_that_belong_together_are_split_off_by_one_test() {
    let rows = 600;
    let values: Vec<f32> =
        (0..rows).map(|row| if row % 13 == 12 { f32::NAN } else { (row % 13) as f32 }).collect();
    let wanted = |row: usize| [1, 4, 5, 9].contains(&(row % 13));
    let matrix = Matrix::Dense { width: 1, values };
    let data = Bins::fit(&matrix, &[true], &BinSettings::default()).unwrap().apply(&matrix).unwrap();
    let settings =
        Boosting { rate: 1.0, growth: Growth { leaves: 2, ..Growth::default() }, ..Boosting::default() };
    let mut booster = Booster::new(&data, &[], 1, settings).unwrap();
    let gradient: Vec<f64> = (0..rows).map(|row| if wanted(row) { -1.0 } else { 1.0 }).collect();
    booster.round(&gradient, &vec![1.0; rows]).unwrap();
    let model = booster.into_ensemble();
    let scores = model.score(&matrix).unwrap();
    for (row, score) in scores.iter().enumerate() {
        assert_eq!(*score, if wanted(row) { 1.0 } else { -1.0 }, "row {row}");
    }
    let mut unknown = [0.0];
    model.score_row(&[77.0], &mut unknown);
    assert_eq!(unknown, [-1.0]);
}

#[test]
fn what_is_missing_only_later_goes_the_way_of_most_rows() {
    let matrix = Matrix::Dense { width: 1, values: (0..100).map(|i| i as f32).collect() };
    let data = Bins::fit(&matrix, &[], &BinSettings::default()).unwrap().apply(&matrix).unwrap();
    for (cut, missing_left) in [(30, false), (70, true)] {
        let growth = Growth { leaves: 2, ..Growth::default() };
        let mut booster = Booster::new(&data, &[], 1, Boosting { growth, ..Boosting::default() }).unwrap();
        let gradient: Vec<f64> = (0..100).map(|row| if row < cut { 1.0 } else { -1.0 }).collect();
        booster.round(&gradient, &[1.0; 100]).unwrap();
        assert_eq!(booster.ensemble().trees[0].nodes[0].missing_left, missing_left);
    }
}

#[test]
fn a_run_taken_up_again_ends_in_the_same_trees() {
    let case = case(500, 6, 30, 9);
    let settings = Boosting { sampling: Sampling::Lists { fraction: 0.7 }, ..Boosting::default() };
    let rounds = |booster: &mut Booster, rounds: usize| {
        for _ in 0..rounds {
            let gradient: Vec<f64> =
                booster.scores().iter().zip(&case.gradient).map(|(s, g)| s + g).collect();
            booster.round(&gradient, &case.hessian).unwrap();
        }
    };
    let mut whole = Booster::new(&case.data, &[], 1, settings.clone()).unwrap();
    rounds(&mut whole, 7);
    let mut first = Booster::new(&case.data, &[], 1, settings.clone()).unwrap();
    rounds(&mut first, 3);
    let half = first.into_ensemble();
    let scores = half.score(&case.matrix).unwrap();
    let mut second = Booster::resume(&case.data, &[], settings, half, scores).unwrap();
    rounds(&mut second, 4);
    assert_eq!(second.into_ensemble(), whole.into_ensemble());
}

#[test]
fn outputs_grow_their_own_trees() {
    let case = case(300, 4, 12, 3);
    let settings = Boosting::default();
    let mut both = Booster::new(&case.data, &[], 2, settings.clone()).unwrap();
    let gradient: Vec<f64> = case.gradient.iter().flat_map(|g| [*g, -2.0 * g]).collect();
    both.round(&gradient, &[1.0; 600]).unwrap();
    let mut one = Booster::new(&case.data, &[], 1, settings).unwrap();
    one.round(&case.gradient, &[1.0; 300]).unwrap();
    assert_eq!(both.ensemble().trees.len(), 2);
    for (row, scores) in both.scores().chunks(2).enumerate() {
        assert_eq!(scores[0], one.scores()[row]);
        assert!((scores[1] + 2.0 * scores[0]).abs() < 1e-12, "row {row}");
    }
}

#[test]
fn nonsense_is_refused_in_words() {
    let case = case(50, 2, 5, 1);
    let with = |settings: Boosting| Booster::new(&case.data, &[], 1, settings).err().map(|e| e.to_string());
    let growth = Growth::default();
    let wrong = [
        Boosting { rate: 0.0, ..Boosting::default() },
        Boosting { growth: Growth { leaves: 1, ..growth.clone() }, ..Boosting::default() },
        Boosting { growth: Growth { l2: -1.0, ..growth.clone() }, ..Boosting::default() },
        Boosting { growth: Growth { features: 1.5, ..growth.clone() }, ..Boosting::default() },
        Boosting { growth: Growth { node_features: 0.0, ..growth.clone() }, ..Boosting::default() },
        Boosting { growth: Growth { smooth: -1.0, ..growth.clone() }, ..Boosting::default() },
        Boosting { growth: Growth { max_delta: f64::NAN, ..growth.clone() }, ..Boosting::default() },
        Boosting { sampling: Sampling::Rows { fraction: 0.0 }, ..Boosting::default() },
        Boosting { growth: Growth { monotone: vec![2, 0], ..growth.clone() }, ..Boosting::default() },
        Boosting { growth: Growth { monotone: vec![1], ..growth }, ..Boosting::default() },
        Boosting { sampling: Sampling::Goss { top: 0.9, other: 0.2 }, ..Boosting::default() },
    ];
    for settings in wrong {
        assert!(with(settings.clone()).is_some_and(|text| text.contains("expected")), "{settings:?}");
    }
    let mut booster = Booster::new(&case.data, &[], 1, Boosting::default()).unwrap();
    assert_eq!(
        booster.round(&[0.0; 3], &[0.0; 50]).unwrap_err().to_string(),
        "3 gradients, expected 1 for each of 50 rows"
    );
    assert!(Booster::new(&case.data, &[0, 60], 1, Boosting::default()).is_err());
}

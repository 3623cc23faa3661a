//! Figures worked by hand, reference implementations for everything found by hashes, and real data.

use proptest::prelude::*;
use toprank_core::{Lists, Ragged};

use super::*;
use crate::dataset::{Column, LineNumbers, Matrix, Sparse};
use crate::formats::{ReadOptions, read};
use crate::source::Source;

/// Lists of the given lengths over rows of one or more features.
fn data(lengths: &[usize], labels: Vec<f32>, width: usize, values: Vec<f32>) -> Dataset {
    let mut lines = LineNumbers::default();
    (0..labels.len()).for_each(|row| lines.push(row, row as u64 + 10));
    Dataset {
        list_names: Some((0..lengths.len()).map(|q| format!("q{q}")).collect()),
        lists: Lists::from_lengths(lengths, labels),
        columns: (1..=width).map(|f| Column { name: f.to_string(), levels: None }).collect(),
        features: Matrix::Dense { width, values },
        lines,
        ..Dataset::default()
    }
}

fn sparse(data: &Dataset) -> Dataset {
    let Matrix::Dense { width, values } = &data.features else { panic!("dense data wanted") };
    let mut sparse = Sparse { width: *width, offsets: vec![0], ..Sparse::default() };
    for row in values.chunks_exact(*width) {
        for (feature, &value) in (0..).zip(row).filter(|(_, value)| **value != 0.0) {
            sparse.indices.push(feature);
            sparse.values.push(value);
        }
        sparse.offsets.push(sparse.indices.len() as u64);
    }
    Dataset { features: Matrix::Sparse(sparse), ..data.clone() }
}

#[test]
fn a_small_set_worked_by_hand() {
    let nan = f32::NAN;
    let mut data = data(
        &[3, 1, 0, 2, 2],
        vec![0.0, 2.0, nan, 0.0, 1.0, 1.0, 0.0, 0.0],
        3,
        vec![
            1.0, 5.0, nan, /**/ 2.0, 5.0, 0.0, /**/ 1.0, 5.0, nan, // row 2 repeats row 0
            3.0, 5.0, 1.0, /**/ -4.0, 5.0, 1.0, /**/ -4.0, 5.0, 1.0, // row 5 repeats row 4
            3.0, 5.0, 1.0, /**/ 7.0, 5.0, 1.0, // row 6 repeats row 3, of another list
        ],
    );
    data.item_names = Some(["a", "b", "a", "a", "", "", "c", "d"].into_iter().collect());
    data.lists.item_weights = Some(vec![0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]);
    data.lists.missed = Some(Ragged { offsets: vec![0, 1, 1, 1, 1, 1], values: vec![3.0] });
    let found = inspect(&data);
    assert_eq!((found.rows, found.lists, found.entries, found.features), (8, 5, 8, 3));
    assert_eq!((found.unjudged, found.missed), (1, 1));
    assert_eq!(found.without_relevant, 3, "lists 1, 2 and 4");
    assert_eq!(found.same_label, 2, "lists 3 and 4");
    assert_eq!((found.single_item, found.empty), (1, 1));
    let labels: Vec<_> = found.labels.bins.iter().map(|bin| (bin.from, bin.count)).collect();
    assert_eq!((found.labels.exact, labels), (true, vec![(0.0, 4), (1.0, 2), (2.0, 1)]));
    let lengths = found.lengths.unwrap();
    assert_eq!((lengths.min, lengths.max, lengths.mean), (0, 3, 8.0 / 5.0));
    assert_eq!(lengths.histogram, [(0, 0, 1), (1, 1, 1), (2, 2, 2), (3, 4, 1)]);
    assert!(lengths.quantiles.contains(&(0.5, 2)), "{:?}", lengths.quantiles);
    let first = &found.feature_table[0];
    assert_eq!((first.min, first.max, first.distinct), (Some(-4.0), Some(7.0), 5));
    assert_eq!(first.mean, Some((1.0 + 2.0 + 1.0 + 3.0 - 4.0 - 4.0 + 3.0 + 7.0) / 8.0));
    let third = &found.feature_table[2];
    assert_eq!((third.missing, third.missing_rate, third.zero_rate), (2, 0.25, 1.0 / 6.0));
    assert_eq!(found.constant_features, ["2"]);
    let rows = found.duplicate_rows.unwrap();
    assert_eq!((rows.overall, rows.within_list, rows.conflicting), (3, 2, 1));
    let repeat = |list: &str, item: &str, line, first_line| Repeat {
        list: list.into(),
        item: Some(item.into()),
        line: Some(line),
        first_list: list.into(),
        first_line: Some(first_line),
    };
    assert_eq!(rows.examples, [repeat("q0", "a", 12, 10), repeat("q3", "", 15, 14)]);
    let items = found.duplicate_items.unwrap();
    assert_eq!((items.within_list, items.examples), (1, vec![repeat("q0", "a", 12, 10)]));
    let weights = found.item_weights.unwrap();
    assert_eq!((weights.min, weights.mean, weights.max, weights.zeros), (0.0, 1.0, 2.0, 1));
}

#[test]
fn many_different_labels_are_counted_in_bins() {
    let values: Vec<f32> = (0..=100).map(|i| i as f32 / 10.0).collect();
    let found = Histogram::of(&values);
    assert!(!found.exact);
    assert_eq!((found.bins.len(), found.bins[0].from, found.bins[19].to), (20, 0.0, 10.0));
    assert_eq!(found.bins.iter().map(|bin| bin.count).sum::<u64>(), 101);
    assert_eq!(found.bins[19].count, 6, "9.5 to 10.0");
}

#[test]
fn labels_of_multi_label_data_are_listed_one_by_one() {
    let mut lists = Lists::from_lengths(&[3, 3], vec![1.0, 0.0, f32::NAN, 1.0, 1.0, 0.0]);
    lists.rows = Some(vec![0, 1, 2, 0, 1, 2]);
    lists.output = Some(vec![0, 1]);
    let data = Dataset {
        lists,
        features: Matrix::Dense { width: 1, values: vec![1.0, 2.0, 2.0] },
        output_names: Some(["spam", "ham"].into_iter().collect()),
        ..Dataset::default()
    };
    let found = inspect(&data);
    let row = |name: &str, positive, negative, unjudged| OutputRow {
        name: name.into(),
        positive,
        negative,
        unjudged,
    };
    assert_eq!(found.outputs, [row("spam", 1, 1, 1), row("ham", 2, 1, 0)]);
    assert_eq!(found.duplicate_rows.unwrap().overall, 1);
    assert_eq!(found.popularity, None);
}

#[test]
fn interactions_show_how_popular_items_are() {
    let mut lists = Lists::from_lengths(&[2, 2], vec![1.0; 4]);
    lists.rows = Some(vec![0, 1, 0, 0]);
    let data = Dataset {
        lists,
        item_names: Some((0..10).map(|i| format!("i{i}")).collect()),
        list_names: Some(["u", "v"].into_iter().collect()),
        ..Dataset::default()
    };
    let found = inspect(&data);
    let popularity = Popularity { unused: 8, most: 3, top_tenth: 0.75, density: 4.0 / 20.0 };
    assert_eq!(found.popularity, Some(popularity));
    assert_eq!(found.duplicate_items.unwrap().within_list, 1, "v has i0 twice");
    assert_eq!(found.duplicate_rows, None);
}

#[test]
fn the_leaks_between_train_and_test_are_found() {
    let mut train = data(&[2, 2], vec![1.0, 0.0, 0.0, 2.0], 1, vec![1.0, 2.0, 3.0, 4.0]);
    train.item_names = Some(["a", "b", "c", "d"].into_iter().collect());
    // q0 holds the documents of train's q1 in another order, q1 shares its name, row 3 has another label there.
    let mut test = data(&[2, 3], vec![2.0, 0.0, 1.0, 0.0, 1.0], 1, vec![4.0, 3.0, 3.0, 9.0, 8.0]);
    test.item_names = Some(["x", "y", "d", "d", "z"].into_iter().collect());
    let overlap = shared(&train, &test);
    let pair = |name: &str, first_line, second_line| Pair {
        name: name.into(),
        first_line: Some(first_line),
        second_line: Some(second_line),
    };
    let expected = |of, examples: Vec<Pair>| Some(Shared { count: examples.len() as u64, of, examples });
    assert_eq!(overlap.list_names, expected(2, vec![pair("q0", 10, 10), pair("q1", 12, 12)]));
    assert_eq!(overlap.list_contents, expected(2, vec![pair("q0", 12, 10)]));
    assert_eq!(overlap.items, expected(4, vec![pair("d", 13, 12)]));
    assert_eq!(overlap.entries, expected(5, vec![pair("q1 / d", 13, 12), pair("q1 / d", 13, 13)]));
    assert_eq!(overlap.rows, expected(5, vec![pair("x", 13, 10), pair("y", 12, 11)]));
    assert_eq!(overlap.conflicting_rows, expected(5, vec![pair("d", 12, 12)]));
}

#[test]
fn questions_without_an_answer_stay_open() {
    let plain = Dataset { lists: Lists::from_lengths(&[2], vec![1.0, 0.0]), ..Dataset::default() };
    let overlap = shared(&plain, &plain);
    let none = Overlap {
        list_names: None,
        list_contents: None,
        items: None,
        entries: None,
        rows: None,
        conflicting_rows: None,
    };
    assert_eq!(overlap, none);
    assert_eq!(inspect(&Dataset::default()).lengths, None);
}

proptest! {
    #[test]
    fn repeated_and_shared_rows_equal_their_plain_twins(
        a in prop::collection::vec((0u8..3, 0u8..3, 0u8..2), 1..40),
        b in prop::collection::vec((0u8..3, 0u8..3, 0u8..2), 1..40),
        cut in 0usize..40,
    ) {
        let make = |rows: &[(u8, u8, u8)]| {
            let cut = cut.min(rows.len());
            let values = rows.iter().flat_map(|r| [f32::from(r.0), f32::from(r.1)]).collect();
            data(&[cut, rows.len() - cut], rows.iter().map(|r| f32::from(r.2)).collect(), 2, values)
        };
        let same = |x: &(u8, u8, u8), y: &(u8, u8, u8)| (x.0, x.1) == (y.0, y.1);
        let (train, test) = (make(&a), make(&b));
        let found = inspect(&train).duplicate_rows.unwrap();
        let overall = (0..a.len()).filter(|&i| a[..i].iter().any(|x| same(x, &a[i]))).count();
        let start = |i: usize| if i < cut { 0 } else { cut.min(a.len()) };
        let first = |i: usize| a[start(i)..i].iter().find(|x| same(x, &a[i]));
        let within: Vec<usize> = (0..a.len()).filter(|&i| first(i).is_some()).collect();
        prop_assert_eq!(found.overall, overall as u64);
        prop_assert_eq!(found.within_list, within.len() as u64);
        prop_assert_eq!(found.conflicting, within.iter().filter(|&&i| first(i).unwrap().2 != a[i].2).count() as u64);
        let equal = b.iter().filter(|y| a.contains(y)).count();
        let known = b.iter().filter(|y| a.iter().any(|x| same(x, y))).count();
        for (train, test) in [(train.clone(), test.clone()), (sparse(&train), test.clone()), (train, sparse(&test))] {
            let overlap = shared(&train, &test);
            prop_assert_eq!(overlap.rows.unwrap().count, equal as u64);
            prop_assert_eq!(overlap.conflicting_rows.unwrap().count, (known - equal) as u64);
        }
    }

    #[test]
    fn sparse_and_dense_data_are_described_alike(values in prop::collection::vec(prop_oneof![Just(0.0f32), Just(f32::NAN), -3.0f32..3.0], 30..=30)) {
        let dense = data(&[10], vec![0.0; 10], 3, values);
        let (mut a, mut b) = (inspect(&dense), inspect(&sparse(&dense)));
        for (x, y) in a.feature_table.iter_mut().zip(&mut b.feature_table) {
            // The same ten numbers added in another order.
            let (p, q) = (x.mean.take().unwrap_or(0.0), y.mean.take().unwrap_or(0.0));
            prop_assert!((p - q).abs() < 1e-12);
        }
        (a.bytes, b.bytes) = (0, 0);
        prop_assert_eq!(a, b);
    }
}

#[test]
fn the_figures_do_not_depend_on_threads() {
    // More than one block of 4096 rows, and a feature with more than 100 different values.
    let rows = 10_000;
    let values = (0..rows).flat_map(|r| [(r % 7) as f32, (r as f32).sqrt(), (r % 150) as f32]).collect();
    let data = data(&[rows], vec![0.0; rows], 3, values);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (inspect(&data), shared(&data, &data)))
    };
    let one = with(1);
    assert_eq!(one, with(3));
    let distinct: Vec<usize> = one.0.feature_table.iter().map(|row| row.distinct).collect();
    assert_eq!(distinct, [7, 101, 101]);
}

fn real_queries_have_the_published_counts_and_folds_share_no_query() {
    let mut labels = [0; 3];
    let mut parts = Vec::new();
    for part in 1..=5 {
        let path = toprank_testkit::real_file(&format!("letor/mq2008/S{part}.txt.gz"));
        let data = read(&Source::path(path), &ReadOptions::default()).unwrap();
        let found = inspect(&data);
        for bin in &found.labels.bins {
            labels[bin.from as usize] += bin.count;
        }
        assert_eq!((found.features, found.unjudged), (46, 0));
        parts.push((found.lists, found.rows, data));
    }
    assert_eq!(parts.iter().map(|p| p.0).collect::<Vec<_>>(), [157, 157, 157, 157, 156]);
    assert_eq!(parts.iter().map(|p| p.1).collect::<Vec<_>>(), [2933, 3635, 3062, 2707, 2874]);
    assert_eq!(labels, [12279, 2001, 931]);
    assert_eq!(shared(&parts[0].2, &parts[1].2).list_names.unwrap().count, 0);
    let same = shared(&parts[0].2, &parts[0].2);
    assert_eq!(same.list_names.unwrap().count, 157);
    assert_eq!(same.list_contents.unwrap().count, 157);
}

toprank_testkit::real_data_tests! { real_queries_have_the_published_counts_and_folds_share_no_query }

//! Parts are disjoint, together they are the whole, and every column goes along.

use proptest::prelude::*;
use toprank_core::{Lists, Ragged};

use super::*;
use crate::dataset::{Column, LineNumbers, Matrix, Sparse};
use crate::names::Names;

/// A data set in which every column of entry e, row r and list q can be told from its number.
fn numbered(lengths: &[usize], sparse: bool) -> Dataset {
    let entries: usize = lengths.iter().sum();
    let per = |scale: f64| (0..entries).map(move |e| e as f64 * scale);
    let mut lists = Lists::from_lengths(lengths, per(1.0).map(|x| x as f32).collect());
    lists.item_weights = Some(per(10.0).map(|x| x as f32).collect());
    lists.list_weights = Some((0..lengths.len()).map(|q| q as f32 + 0.5).collect());
    lists.tie_keys = Some(lengths.iter().flat_map(|&n| (0..n as u32).rev()).collect());
    lists.missed = Some(Ragged {
        offsets: (0..=lengths.len() as u64).collect(),
        values: (0..lengths.len()).map(|q| q as f32).collect(),
    });
    let mut lines = LineNumbers::default();
    (0..entries).for_each(|row| lines.push(row, 2 * row as u64 + 1));
    let features = if sparse {
        Matrix::Sparse(Sparse {
            width: 3,
            offsets: (0..=entries as u64).collect(),
            indices: (0..entries as u32).map(|r| r % 3).collect(),
            values: per(1.0).map(|x| x as f32).collect(),
        })
    } else {
        Matrix::Dense { width: 2, values: per(1.0).flat_map(|x| [x as f32, -x as f32]).collect() }
    };
    Dataset {
        graphs: None,
        lists,
        columns: (0..features.width()).map(|f| Column { name: f.to_string(), levels: None }).collect(),
        features,
        item_names: Some((0..entries).map(|r| format!("item{r}")).collect()),
        list_names: Some((0..lengths.len()).map(|q| format!("list{q}")).collect()),
        output_names: None,
        times: Some(per(-1.0).collect()),
        positions: Some((0..entries as u32).collect()),
        init_scores: Some(per(1.0).flat_map(|x| [x, x + 0.5]).collect()),
        unread: Vec::new(),
        extra: vec![("slice".into(), (0..entries).map(|r| format!("s{r}")).collect())],
        lines,
        file_rows: None,
    }
}

/// Labels over shared rows, as multi-label readers make them: label l of row r is 100 l + r.
fn multi_label(rows: usize, labels: usize) -> Dataset {
    let entries = (0..labels).flat_map(|l| (0..rows).map(move |r| (l, r)));
    let mut lists = Lists::from_lengths(
        &vec![rows; labels],
        entries.clone().map(|(l, r)| (100 * l + r) as f32).collect(),
    );
    lists.rows = Some(entries.map(|(_, r)| r as u32).collect());
    lists.output = Some((0..labels as u16).collect());
    Dataset {
        lists,
        features: Matrix::Dense { width: 1, values: (0..rows).map(|r| r as f32).collect() },
        item_names: Some((0..rows).map(|r| format!("row{r}")).collect()),
        output_names: Some((0..labels).map(|l| format!("label{l}")).collect()),
        ..Dataset::default()
    }
}

/// Checks that every column of every entry of `part` is the one of the entry its label names.
fn check_columns(part: &Dataset) -> Result<(), TestCaseError> {
    prop_assert_eq!(part.lists.check(), Ok(()));
    let width = part.features.width();
    for q in 0..part.lists.len() {
        let name = part.list_name(q);
        let old_q: f32 = name.strip_prefix("list").unwrap().parse().unwrap();
        prop_assert_eq!(part.lists.list_weights.as_ref().unwrap()[q], old_q + 0.5);
        prop_assert_eq!(part.lists.missed.as_ref().unwrap().of(q), &[old_q]);
        let range = part.lists.range(q);
        // Names descend with the entry in `numbered`, so places descend too, down to 0.
        let places: Vec<u32> = part.lists.tie_keys.as_ref().unwrap()[range.clone()].to_vec();
        prop_assert_eq!(places, (0..range.len() as u32).rev().collect::<Vec<_>>());
        for row in range {
            let old = part.lists.labels[row] as usize;
            prop_assert_eq!(part.lists.item_weights.as_ref().unwrap()[row], 10.0 * old as f32);
            prop_assert_eq!(part.times.as_ref().unwrap()[row], -(old as f64));
            prop_assert_eq!(part.positions.as_ref().unwrap()[row], old as u32);
            prop_assert_eq!(part.item_names.as_ref().unwrap().get(row), format!("item{old}"));
            prop_assert_eq!(part.extra[0].1.get(row), format!("s{old}"));
            prop_assert_eq!(part.lines.of(row), Some(2 * old as u64 + 1));
            prop_assert_eq!(
                &part.init_scores.as_ref().unwrap()[2 * row..2 * row + 2],
                &[old as f64, old as f64 + 0.5]
            );
            let expected: &[f32] = match (width, old % 3) {
                (2, _) => &[old as f32, -(old as f32)],
                (_, 0) => &[old as f32, 0.0, 0.0],
                (_, 1) => &[0.0, old as f32, 0.0],
                _ => &[0.0, 0.0, old as f32],
            };
            let mut found = vec![0.0; width];
            part.features.row_into(row, &mut found);
            prop_assert_eq!(&found[..], expected);
        }
    }
    prop_assert_eq!(part.rows(), part.lists.entries());
    Ok(())
}

fn parts(data: &Dataset, spec: &str, seed: u64) -> Vec<Part> {
    plan(data, &Spec::parse(spec).unwrap(), seed).unwrap()
}

proptest! {
    #[test]
    fn parts_are_disjoint_and_together_the_whole_with_every_column(
        lengths in prop::collection::vec(1usize..6, 2..40),
        seed: u64,
        sparse: bool,
        spec in prop::sample::select(vec!["lists", "lists:fractions=1/1", "leave-last:by=file", "leave-last:by=time", "random", "random:fractions=1/1"]),
    ) {
        let data = numbered(&lengths, sparse);
        let mut seen: Vec<f32> = Vec::new();
        for part in parts(&data, spec, seed) {
            let part = part.take(&data);
            check_columns(&part)?;
            seen.extend(&part.lists.labels);
        }
        seen.sort_by(f32::total_cmp);
        prop_assert_eq!(seen, data.lists.labels);
    }

    #[test]
    fn the_whole_is_its_own_subset(lengths in prop::collection::vec(1usize..6, 1..20), sparse: bool) {
        let data = numbered(&lengths, sparse);
        let all = |n: usize| (0..n as u32).collect::<Vec<_>>();
        prop_assert_eq!(&subset_lists(&data, &all(lengths.len())), &data);
        prop_assert_eq!(&subset_rows(&data, &all(data.rows())), &data);
        let entries: Vec<u64> = (0..data.lists.entries() as u64).collect();
        prop_assert_eq!(&subset_entries(&data, &entries), &data);
    }

    #[test]
    fn folds_test_everything_once_and_train_on_the_rest(lists in 5usize..40, k in 2usize..6, seed: u64) {
        let data = numbered(&vec![2; lists], false);
        let folds = parts(&data, &format!("k-fold:k={k}"), seed);
        let mut tested: Vec<u32> = Vec::new();
        for fold in folds.chunks(2) {
            let [Pick::Lists(train), Pick::Lists(test)] = [&fold[0].pick, &fold[1].pick] else { panic!() };
            prop_assert_eq!(train.len() + test.len(), lists);
            prop_assert!(test.iter().all(|q| !train.contains(q)));
            prop_assert!(test.len().abs_diff(lists / k) <= 1);
            tested.extend(test);
        }
        tested.sort_unstable();
        prop_assert_eq!(tested, (0..lists as u32).collect::<Vec<_>>());
    }

    #[test]
    fn stratified_parts_keep_the_positive_share_within_one_row(
        labels in prop::collection::vec(prop::bool::weighted(0.1), 1..300),
        seed: u64,
    ) {
        let labels: Vec<f32> = labels.into_iter().map(|p| f32::from(u8::from(p))).collect();
        let positives = labels.iter().sum::<f32>() as f64;
        let rows = labels.len() as f64;
        let data = Dataset { lists: Lists::from_lengths(&[labels.len()], labels), ..Dataset::default() };
        for (part, share) in parts(&data, "stratified:fractions=60/20/20", seed).iter().zip([0.6, 0.2, 0.2]) {
            let part = part.take(&data);
            let found = part.lists.labels.iter().sum::<f32>() as f64;
            prop_assert!((found - share * positives).abs() <= 1.0, "{} of {}", found, positives);
            prop_assert!((part.rows() as f64 - share * rows).abs() <= 1.0);
        }
    }

    #[test]
    fn rows_of_several_labels_stay_together(rows in 3usize..30, labels in 1usize..5, seed: u64) {
        let data = multi_label(rows, labels);
        let mut seen = 0;
        for part in parts(&data, "lists", seed) {
            let part = part.take(&data);
            prop_assert_eq!(part.lists.check(), Ok(()));
            prop_assert_eq!(part.lists.len(), labels, "every label keeps its list");
            prop_assert_eq!(part.outputs(), labels);
            for q in 0..labels {
                for entry in part.lists.range(q) {
                    let row = part.lists.rows.as_ref().unwrap()[entry] as usize;
                    let old = part.features.get(row, 0);
                    prop_assert_eq!(part.lists.labels[entry], 100.0 * q as f32 + old);
                    prop_assert_eq!(part.item_names.as_ref().unwrap().get(row), format!("row{old}"));
                }
            }
            seen += part.rows();
        }
        prop_assert_eq!(seen, rows);
    }
}

#[test]
fn entries_of_a_part_are_those_it_takes_in_their_order() {
    for (data, specs) in [
        (numbered(&[3, 1, 4, 2, 2], false), &["lists", "k-fold:k=3", "leave-last"][..]),
        (numbered(&[40], false), &["lists", "k-fold:k=3"]),
        (multi_label(30, 3), &["lists", "k-fold:k=4", "stratified"]),
    ] {
        for spec in specs {
            for part in parts(&data, spec, 3) {
                let labels: Vec<f32> =
                    part.entries(&data).iter().map(|&entry| data.lists.labels[entry as usize]).collect();
                assert_eq!(labels, part.take(&data).lists.labels, "{spec} {}", part.name);
            }
        }
    }
}

/// 600 rows with ten labels, from 2 % to 40 % of the rows, that come together or not.
fn ten_labels() -> Dataset {
    let mut data = multi_label(600, 10);
    let mut random = Stream::new(5, "test").open();
    let common: Vec<f64> = (0..600).map(|_| random.unit()).collect();
    data.lists.labels = (0..10)
        .flat_map(|label| (0..600).map(move |row| (label, row)))
        .map(|(label, row)| {
            let chance = 0.02 + 0.04 * f64::from(label);
            f32::from(u8::from(0.5 * common[row] + 0.5 * random.unit() < chance))
        })
        .collect();
    data
}

/// Largest distance of a part's positives of a label from its share, over all parts and labels.
fn worst(data: &Dataset, parts: &[Part], share: f64) -> f64 {
    let positives = |data: &Dataset, q: usize| {
        data.lists.labels[data.lists.range(q)].iter().filter(|y| **y > 0.0).count() as f64
    };
    let of_part = |part: &Part| {
        let taken = part.take(data);
        (0..data.lists.len())
            .map(|q| (positives(&taken, q) - share * positives(data, q)).abs())
            .fold(0.0, f64::max)
    };
    parts.iter().map(of_part).fold(0.0, f64::max)
}

#[test]
fn every_fold_has_its_share_of_every_label() {
    let data = ten_labels();
    for seed in 0..5 {
        let tests: Vec<Part> =
            parts(&data, "k-fold:k=5", seed).into_iter().filter(|part| part.name.ends_with("test")).collect();
        let mut rows: Vec<u32> = Vec::new();
        for test in &tests {
            let Pick::Rows(picked) = &test.pick else { panic!("rows are dealt") };
            assert!(picked.len().abs_diff(120) <= 2, "{} rows", picked.len());
            rows.extend(picked);
        }
        rows.sort_unstable();
        assert_eq!(rows, (0..600).collect::<Vec<u32>>());
        assert!(worst(&data, &tests, 0.2) <= 3.0, "{}", worst(&data, &tests, 0.2));
        // At random one label is off by much more, and the test above would see it.
        let random: Vec<Vec<u32>> = deal(&[(0..600).collect()], &[0.2, 0.4, 0.6, 0.8, 1.0], seed);
        let sorted = |mut rows: Vec<u32>| {
            rows.sort_unstable();
            rows
        };
        let random: Vec<Part> = random
            .into_iter()
            .map(|rows| Part { name: "test".into(), pick: Pick::Rows(sorted(rows)) })
            .collect();
        assert!(worst(&data, &random, 0.2) > 5.0);
    }
    let shares = parts(&data, "stratified:fractions=80/20", 1);
    assert!(worst(&data, &shares[1..], 0.2) <= 3.0);
}

#[test]
fn the_last_item_by_time_is_test_and_the_one_before_it_vali() {
    let mut data = numbered(&[4, 1, 2], false);
    data.times = Some(vec![3.0, 9.0, 5.0, 9.0, 1.0, 2.0, 1.0]);
    let found: Vec<Pick> = parts(&data, "leave-last", 1).into_iter().map(|part| part.pick).collect();
    // Entries 1 and 3 are equally late: file order decides. One item stays in train; of two none is left for vali.
    let expected = [vec![0, 2, 4, 6], vec![1], vec![3, 5]];
    assert_eq!(found, expected.map(Pick::Entries));
    let by_file = parts(&data, "leave-last:by=file", 1).pop().unwrap();
    assert_eq!(by_file.pick, Pick::Entries(vec![3, 6]));
}

#[test]
fn points_in_time_that_are_the_same_for_all_lists_divide_the_entries() {
    let mut data = numbered(&[4, 1, 2], false);
    data.times = Some(vec![3.0, 9.0, 5.0, 9.0, 1.0, 2.0, 1.0]);
    let of = |data: &Dataset, spec: &str| -> Vec<Pick> {
        parts(data, spec, 1).into_iter().map(|part| part.pick).collect()
    };
    // In order: 1 1 2 3 | 5 | 9 9. By 60 and 80 % of 7 entries the last times are the fourth and the fifth.
    let expected = [vec![0, 4, 5, 6], vec![2], vec![1, 3]];
    assert_eq!(of(&data, "temporal:fractions=60/20/20"), expected.map(Pick::Entries));
    // Nothing is learned from what comes later: equal times stay in one part, the earlier.
    assert_eq!(of(&data, "temporal:fractions=6/1"), [vec![0, 1, 2, 3, 4, 5, 6], vec![]].map(Pick::Entries));
    assert_eq!(of(&data, "temporal:fractions=0/1"), [vec![], vec![0, 1, 2, 3, 4, 5, 6]].map(Pick::Entries));
    for times in [None, Some(vec![1.0, f64::NAN, 1.0, 1.0, 1.0, 1.0, 1.0])] {
        data.times = times;
        let error = plan(&data, &Spec::parse("temporal").unwrap(), 1).unwrap_err().to_string();
        assert!(error.contains("a time in every line"), "{error}");
    }
}

#[test]
fn users_over_the_same_items_keep_the_whole_table_of_items() {
    let mut lists = Lists::from_lengths(&[2, 1], vec![1.0, 1.0, 1.0]);
    lists.rows = Some(vec![0, 2, 1]);
    let names: Names = ["a", "b", "c"].into_iter().collect();
    let data = Dataset { lists, item_names: Some(names), ..Dataset::default() };
    let part = subset_lists(&data, &[1]);
    assert_eq!((part.lists.rows, part.item_names), (Some(vec![1]), data.item_names));
}

#[test]
fn the_seed_decides_and_nothing_else() {
    let data = numbered(&[1; 50], false);
    assert_eq!(parts(&data, "lists", 1), parts(&data, "lists", 1));
    assert_ne!(parts(&data, "lists", 1), parts(&data, "lists", 2));
}

#[test]
fn a_wrong_split_is_refused_with_what_would_be_right() {
    let data = Dataset { times: None, ..numbered(&[1; 4], false) };
    for (spec, expected) in [
        (
            "shuffled",
            "unknown split \"shuffled\"; expected one of lists, k-fold, stratified, leave-last, scaffold, random, temporal, none",
        ),
        ("lists:k=3", "unknown parameter of lists \"k\"; expected one of fractions"),
        ("lists:fractions=1", "fractions must be two or three numbers ≥ 0 separated by /, but is 1"),
        ("lists:fractions=1/x", "fractions must be two or three numbers ≥ 0 separated by /, but is 1/x"),
        ("lists:fractions=0/0", "fractions must be two or three numbers ≥ 0 separated by /, but is 0/0"),
        ("k-fold:k=5", "k must be at most 4, one for each fold, but is 5"),
        (
            "stratified",
            "the data of a stratified split must be binary data (one list) or multi-label data; for queries take lists or k-fold, but is 4 lists",
        ),
        ("leave-last:by=time", "by must be file, as the data have no times, but is time"),
    ] {
        let error = plan(&data, &Spec::parse(spec).unwrap(), 1).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn every_list_has_its_share_in_every_part_and_a_single_item_stays_in_train() {
    let data = numbered(&[10, 1, 30, 3], false);
    let parts = parts(&data, "random:fractions=80/10/10", 4);
    assert_eq!(parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["train", "vali", "test"]);
    let lengths = |part: &Part| {
        let inside = |q: usize| {
            part.entries(&data).iter().filter(|&&e| data.lists.range(q).contains(&(e as usize))).count()
        };
        (0..4).map(inside).collect::<Vec<_>>()
    };
    assert_eq!(
        parts.iter().map(lengths).collect::<Vec<_>>(),
        [vec![8, 1, 24, 3], vec![1, 0, 3, 0], vec![1, 0, 3, 0]]
    );
    assert_ne!(
        parts[2],
        super::plan(&data, &Spec::parse("random:fractions=80/10/10").unwrap(), 5).unwrap()[2]
    );
}

#[test]
fn none_puts_everything_into_train() {
    let data = numbered(&[2, 1, 3], false);
    let [train] = parts(&data, "none", 1).try_into().unwrap();
    assert_eq!((train.name.as_str(), train.take(&data)), ("train", data));
}

#[test]
fn a_part_of_a_part_is_what_is_taken_of_what_was_taken() {
    let lists_of_two = numbered(&[4, 9], false);
    for data in [
        numbered(&[3, 1, 4, 2, 5, 3], false),
        numbered(&[3, 1, 4, 2, 5, 3], true),
        numbered(&[12], false),
        multi_label(12, 3),
        lists_of_two,
    ] {
        for [train, test] in k_fold(&data.lists, data.rows(), 2, 7).unwrap() {
            for part in [&train, &test] {
                let taken = part.take(&data);
                assert_eq!(part.lists(&data), taken.lists);
                assert_eq!(part.rows(&data), taken.rows());
            }
            let outer = train.take(&data);
            for inner in k_fold(&outer.lists, outer.rows(), 2, 3).unwrap().into_iter().flatten() {
                assert_eq!(train.within(&data, &inner).take(&data), inner.take(&outer));
            }
        }
    }
}

//! Real tables, interactions and multi-label files: the counts their description states.

use toprank_data::{Dataset, ReadOptions, Source, read};
use toprank_testkit::real_file;

fn load(file: &str, options: &ReadOptions) -> Dataset {
    let data = read(&Source::path(real_file(file)), options).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(data.lists.check(), Ok(()));
    data
}

fn positives(data: &Dataset, list: usize) -> usize {
    data.lists.labels[data.lists.range(list)].iter().filter(|&&label| label > 0.0).count()
}

fn binary_tables_have_their_rows_features_and_positives() {
    for (name, rows, features, positive) in [
        ("german-credit", 1000, 61, 300),
        ("keel-abalone19", 4174, 10, 32),
        ("keel-kddcup-rootkit-imap_vs_back", 2225, 52, 22),
        ("keel-page-blocks0", 5472, 10, 559),
        ("keel-winequality-white-3-9_vs_5", 1482, 11, 25),
        ("mammography", 11183, 6, 260),
        ("oil-spill", 937, 49, 41),
        ("spambase", 4597, 57, 1812),
    ] {
        let data = load(&format!("binary/{name}.csv.gz"), &ReadOptions::default());
        let found = (data.rows(), data.features.width(), positives(&data, 0), data.lists.len());
        assert_eq!(found, (rows, features, positive, 1), "{name}");
    }
}

fn tox21_leaves_out_what_was_not_measured() {
    let options = ReadOptions {
        labels: vec!["NR-*".into(), "SR-*".into()],
        item: Some("mol_id".into()),
        keep: vec!["smiles".into()],
        ..ReadOptions::default()
    };
    let data = load("binary/molecules/tox21.csv.gz", &options);
    assert_eq!((data.rows(), data.lists.len(), data.outputs()), (7831, 12, 12));
    assert_eq!(data.output_names.as_ref().unwrap().get(0), "NR-AR");
    let positives: Vec<usize> = (0..12).map(|list| positives(&data, list)).collect();
    assert_eq!((positives.iter().min(), positives.iter().max()), (Some(&186), Some(&942)));
    assert!(data.lists.entries() < 12 * 7831, "empty cells are no entries");
    assert_eq!(data.item_names.unwrap().get(0), "TOX3021");
    assert_eq!(data.extra[0].1.get(1), "CCN1C(=O)NC(c2ccccc2)C1=O");
    assert_eq!(data.features.width(), 0, "no number column is left");
}

fn multi_label_files_have_their_rows_features_labels_and_labels_a_row() {
    for (file, rows, features, labels, labels_a_row) in [
        ("yeast/yeast-train", 1500, 103, 14, "4.228"),
        ("yeast/yeast-test", 917, 103, 14, "4.252"),
        ("scene/scene-train", 1211, 294, 6, "1.062"),
        ("scene/scene-test", 1196, 294, 6, "1.086"),
        ("emotions/emotions-train", 391, 72, 6, "1.813"),
        ("emotions/emotions-test", 202, 72, 6, "1.975"),
        ("corel5k/Corel5k-train-sparse", 4500, 499, 374, "3.522"),
        ("corel5k/Corel5k-test-sparse", 500, 499, 374, "3.526"),
        ("bibtex/bibtex-train", 4880, 1836, 159, "2.380"),
        ("bibtex/bibtex-test", 2515, 1836, 159, "2.444"),
    ] {
        let data = load(&format!("multilabel/{file}.arff.gz"), &ReadOptions::default());
        assert_eq!(
            (data.rows(), data.features.width(), data.lists.len()),
            (rows, features, labels),
            "{file}"
        );
        let set = data.lists.labels.iter().filter(|&&label| label > 0.0).count();
        assert_eq!(format!("{:.3}", set as f64 / rows as f64), labels_a_row, "{file}");
        assert_eq!(data.lists.entries(), rows * labels, "{file}: no label is missing");
        assert!(
            data.columns.iter().all(|column| column.levels.is_none()),
            "{file}: all features are numbers"
        );
    }
}

fn movielens_100k_has_its_users_items_and_ratings() {
    let options = ReadOptions { format: Some("interactions".into()), ..ReadOptions::default() };
    let data = load("recsys/ml-100k/u.data.gz", &options);
    assert_eq!((data.lists.len(), data.rows(), data.lists.entries()), (943, 1682, 100_000));
    let stars = |wanted: f32| data.lists.labels.iter().filter(|&&label| label == wanted).count();
    assert_eq!([1.0, 2.0, 3.0, 4.0, 5.0].map(stars), [6110, 11370, 27145, 34174, 21201]);
    assert_eq!((data.list_name(0), data.item_names.as_ref().unwrap().get(0)), ("196".into(), "242"));
    assert_eq!(data.times.as_ref().map(|times| (times.len(), times[0])), Some((100_000, 881_250_949.0)));
    // By content, without naming the format, it is recognised too.
    let same = load("recsys/ml-100k/u.data.gz", &ReadOptions::default());
    assert_eq!(same, data);
}

fn movielens_1m_adjacency_lines_have_their_pairs() {
    let named = ReadOptions { format: Some("adjacency".into()), ..ReadOptions::default() };
    // Users without an item in a part have no line there.
    let parts = [("train", 590_733, 6039), ("valid", 80_897, 6033), ("test", 164_848, 6038)];
    for (part, pairs, users) in parts {
        let file = format!("recsys/ml-1m-implicit/{part}.txt.gz");
        let data = load(&file, &ReadOptions::default());
        assert_eq!(data, load(&file, &named), "{part} is recognised by its content");
        assert_eq!(data.lists.entries(), pairs, "{part}");
        assert_eq!(data.lists.len(), users, "{part}");
        assert!(data.lists.labels.iter().all(|&label| label == 1.0));
    }
}

fn mnist_has_its_images_and_the_labels_of_the_file_beside_them() {
    let file = "retrieval/mnist-t10k/t10k-images-idx3-ubyte.gz";
    let data = load(file, &ReadOptions::default());
    assert_eq!((data.rows(), data.features.width(), data.lists.len()), (10_000, 784, 1));
    let count = |class: u8| data.lists.labels.iter().filter(|label| **label == f32::from(class)).count();
    let counts: Vec<usize> = (0..10).map(count).collect();
    assert_eq!((counts.iter().min(), counts.iter().max()), (Some(&892), Some(&1135)), "{counts:?}");
}

toprank_testkit::real_data_tests! {
    binary_tables_have_their_rows_features_and_positives,
    tox21_leaves_out_what_was_not_measured,
    multi_label_files_have_their_rows_features_labels_and_labels_a_row,
    movielens_100k_has_its_users_items_and_ratings,
    movielens_1m_adjacency_lines_have_their_pairs,
    mnist_has_its_images_and_the_labels_of_the_file_beside_them,
}

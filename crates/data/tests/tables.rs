//! Tables in every format: what is written is read back, and the same table gives the same data set.

use proptest::prelude::*;
use toprank_core::Lists;
use toprank_data::formats::{self, Format};
use toprank_data::{Column, Dataset, Matrix, Names, ReadOptions, Source};

fn table_formats() -> Vec<&'static Format> {
    ["csv", "tsv", "parquet", "arrow"].iter().filter_map(|name| formats::by_name(name)).collect()
}

fn through(format: &Format, data: &Dataset, options: &ReadOptions) -> Dataset {
    let mut bytes = Vec::new();
    format.write.expect("tables can be written")(data, &mut bytes).expect(format.name);
    match (format.read)(&Source::bytes("t", bytes), options) {
        Ok(data) => data,
        Err(error) => panic!("{}: {error}", format.name),
    }
}

/// NaN equals NaN, lines are left out.
fn shown(data: &Dataset) -> String {
    let Dataset { lists, features, columns, item_names, list_names, output_names, times, .. } = data;
    let (positions, init, extra) = (&data.positions, &data.init_scores, &data.extra);
    format!(
        "{lists:?}\n{features:?}\n{columns:?}\n{item_names:?}\n{list_names:?}\n{output_names:?}\n{times:?}\n\
         {positions:?}\n{init:?}\n{extra:?}"
    )
}

/// Text that is hard on writers: separators, quotes, line ends, blanks, non-ASCII.
fn hard_text() -> impl Strategy<Value = String> {
    "[ab ,;|\"'\\t\\n\\r\\\\é木#%?:]{0,6}"
}

fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => any::<f32>().prop_filter("finite", |v| v.is_finite()),
        2 => (-9i8..9).prop_map(f32::from),
        1 => Just(f32::NAN),
    ]
}

fn unique(names: Vec<String>) -> Vec<String> {
    names.into_iter().enumerate().map(|(i, name)| format!("{name}{i}")).collect()
}

fn column<T: std::fmt::Debug>(rows: usize, cell: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(cell, rows)
}

/// A data set as a table can hold it.
fn dataset() -> impl Strategy<Value = Dataset> {
    (prop::collection::vec(1usize..4, 1..4), 0usize..4, any::<[bool; 8]>(), any::<bool>())
        .prop_flat_map(|(lengths, width, with, multi_label)| {
            let rows = lengths.iter().sum::<usize>();
            let columns = (
                column(rows, number()),
                column(rows, number()),
                column(rows * width, number()),
                column(rows, 0.0f32..9.0),
                column(rows, hard_text()),
                column(rows, hard_text()),
                column(rows, -1e300..1e300),
                column(rows, 0usize..3),
                column(width + lengths.len() + 1, hard_text()),
                column(rows, any::<u32>()),
            );
            (Just(lengths), Just(width), Just(with), Just(multi_label), columns)
        })
        .prop_map(|(lengths, width, with, multi_label, columns)| {
            let (labels, more, values, weights, items, mut texts, times, words, names, positions) = columns;
            // A column of nothing but missing cells and numbers would be a feature of a CSV file.
            texts[0].insert(0, 't');
            let names = unique(names);
            let lists = if multi_label {
                let judged = |labels: &[f32]| -> Vec<u32> {
                    (0..labels.len() as u32).filter(|&row| !labels[row as usize].is_nan()).collect()
                };
                let parts = [(judged(&labels), &labels), (judged(&more), &more)];
                let offsets = vec![0, parts[0].0.len() as u64, (parts[0].0.len() + parts[1].0.len()) as u64];
                let entries =
                    || parts.iter().flat_map(|(rows, of)| rows.iter().map(move |&row| (row as usize, of)));
                Lists {
                    offsets,
                    rows: Some(entries().map(|(row, _)| row as u32).collect()),
                    output: Some(vec![0, 1]),
                    labels: entries().map(|(row, of)| of[row]).collect(),
                    item_weights: with[0].then(|| entries().map(|(row, _)| weights[row]).collect()),
                    ..Lists::default()
                }
            } else {
                Lists {
                    item_weights: with[0].then(|| weights.clone()),
                    list_weights: with[1].then(|| lengths.iter().map(|&n| n as f32 / 3.0).collect()),
                    ..Lists::from_lengths(&lengths, labels)
                }
            };
            let labels = ["first label", "second \"label\""].into_iter().collect::<Names>();
            let list_names = names[width..width + lengths.len()].iter().collect::<Names>();
            let mut data = Dataset {
                lists,
                columns: names[..width].iter().map(|n| Column { name: n.clone(), levels: None }).collect(),
                features: Matrix::Dense { width, values },
                // Without features and names, rows that no label judges leave no trace in a data set.
                item_names: (with[2] || (multi_label && width == 0)).then(|| items.iter().collect()),
                list_names: Some(if multi_label { labels.clone() } else { list_names }),
                output_names: multi_label.then_some(labels),
                times: (with[3] && !multi_label).then(|| times.clone()),
                positions: with[4].then_some(positions),
                init_scores: with[5].then_some(times),
                extra: if with[6] { vec![("kept, text".into(), texts.iter().collect())] } else { vec![] },
                ..Dataset::default()
            };
            // The last feature becomes categorical, levels in order of first appearance.
            if let (Matrix::Dense { width: 1.., values }, true) = (&mut data.features, with[7]) {
                let mut levels = toprank_data::group::Interner::default();
                for (row, &word) in words.iter().enumerate() {
                    let code = levels.number(["x, y", "\"é\"", "1.5"][word]);
                    values[row * width + width - 1] = code as f32;
                }
                data.columns[width - 1].levels = Some(levels.into_names());
            }
            data
        })
}

fn options_for(data: &Dataset) -> ReadOptions {
    // A pattern would match too much and a name may hold a `*`; none of ours does.
    let categorical = data.columns.iter().filter(|column| column.levels.is_some());
    ReadOptions {
        labels: data.output_names.iter().flat_map(Names::iter).map(String::from).collect(),
        keep: data.extra.iter().map(|(name, _)| name.clone()).collect(),
        categorical: categorical.map(|column| column.name.clone()).collect(),
        ..ReadOptions::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn reading_what_was_written_gives_the_data_set_back(data in dataset()) {
        prop_assert_eq!(data.lists.check(), Ok(()));
        let options = options_for(&data);
        for format in table_formats() {
            prop_assert_eq!(shown(&through(format, &data, &options)), shown(&data), "{}", format.name);
        }
    }
}

#[test]
fn examples_are_read_alike_in_all_formats() {
    let mut all = table_formats().into_iter().map(|format| {
        let data = (format.read)(&Source::bytes("example", format.example), &ReadOptions::default());
        (format.name, data.unwrap_or_else(|error| panic!("{}: {error}", format.name)))
    });
    let (_, first) = all.next().unwrap();
    for (name, data) in all.filter(|(name, _)| *name != "tsv") {
        assert_eq!(shown(&data), shown(&first), "{name}");
    }
}

#[test]
fn packed_tables_are_unpacked() {
    use std::io::Write;
    for format in table_formats() {
        let plain = (format.read)(&Source::bytes("t", format.example), &ReadOptions::default()).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(format.example).unwrap();
        let packed = [gzip.finish().unwrap(), zstd::encode_all(format.example, 1).unwrap()];
        for bytes in packed {
            let data = (format.read)(&Source::bytes("t", bytes), &ReadOptions::default()).unwrap();
            assert_eq!(shown(&data), shown(&plain), "{}", format.name);
        }
    }
}

//! Tables in every format: what is written is read back, and the same table gives the same data set.

use proptest::prelude::*;
use toprank_core::Lists;
use toprank_data::formats::{self, Format};
use toprank_data::{Column, Dataset, Matrix, Names, ReadOptions, Source, files};

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
            // The last feature becomes categorical, with the levels that occur, sorted.
            if let (Matrix::Dense { width: 1.., values }, true) = (&mut data.features, with[7]) {
                let words: Vec<&str> = words.iter().map(|&word| ["x, y", "\"é\"", "1.5"][word]).collect();
                let levels = sorted_levels(&words);
                for (row, word) in words.iter().enumerate() {
                    values[row * width + width - 1] = code(&levels, word);
                }
                data.columns[width - 1].levels = Some(levels.into_iter().collect());
            }
            data
        })
}

/// The distinct strings, compared byte by byte.
fn sorted_levels<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut levels = words.to_vec();
    levels.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    levels.dedup();
    levels
}

fn code(levels: &[&str], word: &str) -> f32 {
    levels.iter().position(|level| *level == word).expect("a level") as f32
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

/// Strings whose bytewise order is neither that of this table nor one that ignores case or reads numbers.
const COLOURS: [&str; 8] = ["red", "Blue", "木", "10", "blue", "9", "é", "amber"];

/// A table with the number of each row, and its colour; 8: missing.
fn coloured(rows: &[(usize, usize)]) -> Dataset {
    let values = rows.iter().flat_map(|&(row, colour)| {
        [row as f32, if colour < COLOURS.len() { colour as f32 } else { f32::NAN }]
    });
    let column = |name: &str, levels: Option<Names>| Column { name: name.into(), levels };
    Dataset {
        lists: Lists::from_lengths(&[rows.len()], vec![1.0; rows.len()]),
        features: Matrix::Dense { width: 2, values: values.collect() },
        columns: vec![column("row", None), column("colour", Some(COLOURS.into_iter().collect()))],
        ..Dataset::default()
    }
}

/// The levels of the colours, and the code of each row, by its number; NaN as -1.
fn codes_of_colours(data: &Dataset) -> (Vec<String>, Vec<f32>) {
    let mut codes = vec![f32::NAN; data.rows()];
    for row in 0..data.rows() {
        let code = data.features.get(row, 1);
        codes[data.features.get(row, 0) as usize] = if code.is_nan() { -1.0 } else { code };
    }
    let levels = data.columns[1].levels.as_ref().expect("a categorical column");
    (levels.iter().map(String::from).collect(), codes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn codes_of_categories_depend_neither_on_the_order_of_rows_nor_on_their_files(
        (in_order, shuffled, files) in prop::collection::vec(0..=COLOURS.len(), 1..20).prop_flat_map(|colours| {
            let rows: Vec<(usize, usize)> = colours.into_iter().enumerate().collect();
            let files = prop::collection::vec(0usize..3, rows.len());
            (Just(rows.clone()), Just(rows).prop_shuffle(), files)
        }),
    ) {
        let words: Vec<Option<&str>> = in_order.iter().map(|&(_, colour)| COLOURS.get(colour).copied()).collect();
        let levels = sorted_levels(&words.iter().flatten().copied().collect::<Vec<_>>());
        let codes = words.iter().map(|word| word.map_or(-1.0, |word| code(&levels, word))).collect();
        let wanted = (levels.iter().map(ToString::to_string).collect(), codes);
        // Rows in any order, each in one of up to three files.
        let part = |file: usize| -> Vec<(usize, usize)> {
            shuffled.iter().zip(&files).filter(|(_, of)| **of == file).map(|(row, _)| *row).collect()
        };
        let parts: Vec<Vec<(usize, usize)>> = (0..3).map(part).filter(|rows| !rows.is_empty()).collect();
        for format in table_formats() {
            let options = ReadOptions {
                format: Some(format.name.into()), categorical: vec!["colour".into()], ..ReadOptions::default()
            };
            for rows in [&in_order, &shuffled] {
                prop_assert_eq!(&codes_of_colours(&through(format, &coloured(rows), &options)), &wanted, "{}", format.name);
            }
            let folder = tempfile::tempdir().unwrap();
            let path = |p: usize, name: &str| folder.path().join(format!("{p}.{name}")).display().to_string();
            let (mut tables, mut mapped) = (Vec::new(), Vec::new());
            for (p, rows) in parts.iter().enumerate() {
                let mut bytes = Vec::new();
                format.write.expect("tables can be written")(&coloured(rows), &mut bytes).unwrap();
                tables.push(path(p, format.name));
                std::fs::write(&tables[p], bytes).unwrap();
                mapped.push(path(p, "toprank-data"));
                toprank_data::mapped::convert(&Source::path(&tables[p]), &options, mapped[p].as_ref()).unwrap();
            }
            let all = files::read_all(&tables, &options).unwrap();
            prop_assert_eq!(&codes_of_colours(&all), &wanted, "{} files of {}", tables.len(), format.name);
            let all = files::read_all(&mapped, &ReadOptions::default()).unwrap();
            prop_assert_eq!(&codes_of_colours(&all), &wanted, "{} memory-mapped files", mapped.len());
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

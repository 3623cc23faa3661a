/*!
Several files as one data set: names and patterns in, rows file after file out.

```no_run
use toprank_data::{ReadOptions, files};
let files = files::expand("parts/part-*.txt").unwrap();
let data = files::read_all(&files, &ReadOptions::default()).unwrap();
```

Rows stand in the order of the files and, within a file, in its order; a list may only be in two of them with
`regroup`, which brings its rows together. Tables must have the same feature columns, in any order. A text that calls
features by number may state fewer of them than another one. The levels of a categorical column are those of all files, in
bytewise order (where all files declare the same ones in another order, as ARFF and memory-mapped files can, in that order):
tables give the same codes however the rows are distributed over the files. Binary files become one list, files of several labels keep
one list per label, interactions are joined by the names of users and items.
*/

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use toprank_core::Lists;

use crate::dataset::{Column, Dataset, Matrix};
use crate::error::{ReadError, show_names};
use crate::formats::{self, Absent, ReadOptions};
use crate::names::Names;
use crate::source::Source;
use crate::split::copy_rows;

/// The files that a name stands for: itself, or those that match a pattern with `*` and `?`, in order of their names.
///
/// # Errors
/// If no file matches a pattern.
pub fn expand(name: &str) -> Result<Vec<String>, ReadError> {
    if !name.contains(['*', '?']) || Path::new(name).exists() {
        return Ok(vec![name.into()]);
    }
    let mut found = vec![PathBuf::new()];
    for part in Path::new(name).components() {
        let pattern = part.as_os_str().to_string_lossy();
        if !pattern.contains(['*', '?']) {
            for path in &mut found {
                path.push(part);
            }
            continue;
        }
        let matching = |folder: &PathBuf| {
            let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder.as_path() };
            let names =
                std::fs::read_dir(here).into_iter().flatten().flatten().map(|entry| entry.file_name());
            let hidden = |name: &str| name.starts_with('.') && !pattern.starts_with('.');
            let fits = |name: &str| !hidden(name) && matches(&pattern, name);
            names
                .filter(|name| fits(&name.to_string_lossy()))
                .map(|name| folder.join(name))
                .collect::<Vec<_>>()
        };
        found = found.iter().flat_map(matching).collect();
    }
    found.retain(|path| path.is_file());
    found.sort();
    if found.is_empty() {
        let error = std::io::Error::new(std::io::ErrorKind::NotFound, "no file matches this pattern");
        return Err(ReadError::io(name, &error));
    }
    Ok(found.into_iter().map(|path| path.display().to_string()).collect())
}

/// True if `name` fits `pattern`, in which `*` stands for any text and `?` for one character.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.chars().next() {
        None => name.is_empty(),
        Some('*') => {
            let rest = &pattern[1..];
            name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| matches(rest, &name[at..]))
        }
        Some(wanted) => {
            let mut chars = name.chars();
            let fits = chars.next().is_some_and(|found| wanted == '?' || found == wanted);
            fits && matches(&pattern[wanted.len_utf8()..], chars.as_str())
        }
    }
}

/// Reads files one after the other as one data set.
///
/// # Errors
/// If a file cannot be read, or two of them do not fit together.
pub fn read_all(files: &[String], options: &ReadOptions) -> Result<Dataset, ReadError> {
    if let [file] = files {
        return formats::read(&Source::path(file), options);
    }
    let read =
        |file: &String| Ok(Part { file: file.clone(), data: formats::read(&Source::path(file), options)? });
    let parts: Vec<Part> = files.iter().map(read).collect::<Result<_, ReadError>>()?;
    let Some(first) = parts.first() else {
        return Err(ReadError::options("--data", "no file", "at least one file"));
    };
    let kind = Kind::of(&first.data);
    for part in &parts {
        first.check_kind(part, kind)?;
    }
    let absent = if options.absent == Absent::Missing { f32::NAN } else { 0.0 };
    let columns = common_columns(&parts)?;
    join(parts, kind, &columns, absent, options.regroup)
}

struct Part {
    file: String,
    data: Dataset,
}

/// How lists and rows belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Named lists with rows of their own.
    Lists,
    /// All rows are one list.
    OneList,
    /// One list per label over the same rows.
    Labels,
    /// Users over the same items.
    Interactions,
}

impl Kind {
    fn of(data: &Dataset) -> Kind {
        match (&data.lists.output, &data.lists.rows, &data.list_names) {
            (Some(_), ..) => Kind::Labels,
            (None, Some(_), _) => Kind::Interactions,
            (None, None, Some(_)) => Kind::Lists,
            (None, None, None) => Kind::OneList,
        }
    }
}

impl Part {
    fn refuse(&self, found: impl AsRef<str>, expected: impl AsRef<str>) -> ReadError {
        ReadError::data(&self.file, found, expected)
    }

    fn check_kind(&self, other: &Part, kind: Kind) -> Result<(), ReadError> {
        if other.data.graphs.is_some() {
            return Err(other.refuse("items that are graphs", "all of them in one file"));
        }
        if Kind::of(&other.data) != kind {
            let expected = format!("lists of the same kind as in {}", self.file);
            return Err(other.refuse("another kind of lists", expected));
        }
        let labels = |part: &Part| {
            part.data.output_names.as_ref().map(|names| names.iter().collect::<Vec<_>>().join(", "))
        };
        if labels(self) != labels(other) {
            let found = format!("the labels {}", labels(other).unwrap_or_default());
            return Err(
                other.refuse(found, format!("{}, as in {}", labels(self).unwrap_or_default(), self.file))
            );
        }
        Ok(())
    }
}

/// Something that all parts have or none.
fn all_or_none<'a, T>(
    parts: &'a [Part],
    what: &str,
    of: impl Fn(&'a Dataset) -> Option<T>,
) -> Result<Option<Vec<T>>, ReadError> {
    let has = of(&parts[0].data).is_some();
    if let Some(other) = parts.iter().find(|part| of(&part.data).is_some() != has) {
        let (with, without) = if has { ("no", "with") } else { ("", "without") };
        let found = format!("{with} {what}");
        return Err(other.refuse(found.trim(), format!("files all {without} them, as {} is", parts[0].file)));
    }
    Ok(parts.iter().map(|part| of(&part.data)).collect())
}

/// The features of all parts, with the levels of all of them, in an order that does not depend on the order of the parts.
fn common_columns(parts: &[Part]) -> Result<Vec<Column>, ReadError> {
    let numbered = |column: &Column| column.name.parse::<u32>().is_ok();
    let widest = parts.iter().max_by_key(|part| part.data.columns.len()).unwrap_or(&parts[0]);
    let by_number = parts.iter().flat_map(|part| &part.data.columns).all(numbered);
    let like = if by_number { widest } else { &parts[0] };
    let mut columns = like.data.columns.clone();
    for part in parts {
        for (column, other) in [(part, like), (like, part)] {
            let lacks = |wanted: &&Column| !other.data.columns.iter().any(|there| there.name == wanted.name);
            let lacking: Vec<&str> =
                column.data.columns.iter().filter(lacks).map(|c| c.name.as_str()).collect();
            if !lacking.is_empty() && !by_number {
                let found = format!("no feature column {}", show_names(lacking));
                return Err(other.refuse(found, format!("the feature columns of {}", column.file)));
            }
        }
        for column in &mut columns {
            let Some(there) = part.data.columns.iter().find(|there| there.name == column.name) else {
                continue;
            };
            match (&column.levels, &there.levels) {
                (None, None) => {}
                (Some(known), Some(more)) if known == more => {}
                (Some(known), Some(more)) => {
                    let mut levels: Vec<&str> = known.iter().chain(more.iter()).collect();
                    levels.sort_unstable();
                    levels.dedup();
                    column.levels = Some(levels.into_iter().collect());
                }
                _ => {
                    let found =
                        format!("column {} with categories in one file and numbers in another", column.name);
                    let error = part.refuse(found, format!("the same as in {}", like.file));
                    return Err(error.advice("Name the column with --categorical."));
                }
            }
        }
    }
    Ok(columns)
}

/// The features of a part under the common columns.
fn aligned(data: &mut Dataset, columns: &[Column], absent: f32, dense: bool) -> Matrix {
    let place = |wanted: &Column| data.columns.iter().position(|there| there.name == wanted.name);
    let places: Vec<Option<usize>> = columns.iter().map(place).collect();
    let as_they_are =
        places.len() == data.columns.len() && (0..).zip(&places).all(|(i, place)| *place == Some(i));
    let features = std::mem::take(&mut data.features);
    let mut features = if as_they_are { features } else { features.pick_columns(&places, absent) };
    if dense && let Matrix::Sparse(sparse) = &features {
        let (width, rows) = (sparse.width, features.rows());
        let mut values = vec![0.0; width * rows];
        (0..rows)
            .zip(values.chunks_exact_mut(width.max(1)))
            .for_each(|(row, out)| features.row_into(row, out));
        features = Matrix::Dense { width, values };
    }
    for (at, column) in columns.iter().enumerate() {
        let own = data.columns.iter().find(|own| own.name == column.name).and_then(|own| own.levels.as_ref());
        let (Some(own), Some(all)) = (own, &column.levels) else { continue };
        let codes: HashMap<&str, usize> = all.iter().zip(0..).collect();
        if let (false, Matrix::Dense { width, values }) = (own == all, &mut features) {
            for row in values.chunks_exact_mut((*width).max(1)).filter(|row| !row[at].is_nan()) {
                row[at] = codes[own.get(row[at] as usize)] as f32;
            }
        }
    }
    features
}

/// Lists that grow from file to file: the entries of each as (part, entry).
#[derive(Default)]
struct Grouped {
    names: Names,
    members: Vec<Vec<(usize, usize)>>,
}

impl Grouped {
    fn of(parts: &[Part], kind: Kind, regroup: bool) -> Result<Grouped, ReadError> {
        let mut grouped = Grouped::default();
        let mut known: HashMap<String, (usize, usize)> = HashMap::new();
        for (p, part) in parts.iter().enumerate() {
            for q in 0..part.data.lists.len() {
                let key = match kind {
                    Kind::Lists | Kind::Interactions => part.data.list_name(q),
                    Kind::OneList => String::new(),
                    Kind::Labels => q.to_string(),
                };
                let next = (grouped.members.len(), p);
                let (list, first) = *known.entry(key.clone()).or_insert(next);
                if list == grouped.members.len() {
                    grouped.members.push(Vec::new());
                    grouped.names.push(&key);
                } else if kind == Kind::Lists && !regroup && first != p {
                    let found = format!("list {key}, which is also in {}", parts[first].file);
                    let error = part.refuse(found, "every list in one file");
                    return Err(error.advice("Use --regroup to bring its rows together."));
                }
                grouped.members[list].extend(part.data.lists.range(q).map(|entry| (p, entry)));
            }
        }
        Ok(grouped)
    }
}

/// One number per list, where the files have it.
fn list_weights(parts: &[Part], members: &[Vec<(usize, usize)>]) -> Result<Option<Vec<f32>>, ReadError> {
    let Some(weights) = all_or_none(parts, "list weights", |data| data.lists.list_weights.as_ref())? else {
        return Ok(None);
    };
    let list_of = |p: usize, entry: usize| {
        parts[p].data.lists.offsets.partition_point(|&end| end <= entry as u64).saturating_sub(1)
    };
    let mut all = Vec::with_capacity(members.len());
    for entries in members {
        let mut of_list = entries.iter().map(|&(p, entry)| (p, weights[p][list_of(p, entry)]));
        let first = of_list.next().map_or(1.0, |(_, weight)| weight);
        if let Some((p, other)) = of_list.find(|(_, weight)| *weight != first) {
            let found = format!("the list weight {other}, {first} in an earlier file");
            return Err(parts[p].refuse(found, "one weight for all rows of a list"));
        }
        all.push(first);
    }
    Ok(Some(all))
}

fn join(
    mut parts: Vec<Part>,
    kind: Kind,
    columns: &[Column],
    absent: f32,
    regroup: bool,
) -> Result<Dataset, ReadError> {
    let Grouped { names, members } = Grouped::of(&parts, kind, regroup)?;
    let list_weights = list_weights(&parts, &members)?;
    let entries: Vec<(usize, usize)> = members.iter().flatten().copied().collect();
    let mut base = vec![0];
    for part in &parts {
        base.push(base[base.len() - 1] + part.data.rows());
    }
    if base[parts.len()] > u32::MAX as usize {
        let error =
            ReadError::data(&parts[0].file, "more than 4294967295 rows with the other files", "fewer rows");
        return Err(error);
    }
    let row = |&(p, entry): &(usize, usize)| base[p] + parts[p].data.lists.row(entry);
    let (rows, order): (Option<Vec<u32>>, Vec<usize>) = match kind {
        Kind::Lists | Kind::OneList => (None, entries.iter().map(row).collect()),
        Kind::Labels => {
            (Some(entries.iter().map(|entry| row(entry) as u32).collect()), (0..base[parts.len()]).collect())
        }
        Kind::Interactions => {
            let (mut known, mut order) = (HashMap::new(), Vec::new());
            let rows = entries.iter().map(|&(p, entry)| {
                let name = parts[p].data.item_name(parts[p].data.lists.row(entry));
                *known.entry(name).or_insert_with(|| {
                    order.push(row(&(p, entry)));
                    order.len() as u32 - 1
                })
            });
            (Some(rows.collect()), order)
        }
    };
    let gathered = |of: Option<Vec<&Vec<f32>>>| of.map(|of| entries.iter().map(|&(p, e)| of[p][e]).collect());
    let times = all_or_none(&parts, "times", |data| data.times.as_ref())?;
    let ends = members.iter().scan(0, |end, entries| {
        *end += entries.len() as u64;
        Some(*end)
    });
    let lists = Lists {
        offsets: std::iter::once(0).chain(ends).collect(),
        rows,
        output: parts[0].data.lists.output.clone(),
        labels: entries.iter().map(|&(p, entry)| parts[p].data.lists.labels[entry]).collect(),
        item_weights: gathered(all_or_none(&parts, "item weights", |data| data.lists.item_weights.as_ref())?),
        list_weights,
        ..Lists::default()
    };
    let file_rows: Vec<u32> = match kind {
        Kind::Interactions => Vec::new(),
        _ => {
            let of = |(p, part): (usize, &Part)| {
                (0..part.data.rows())
                    .map(|row| (base[p] + part.data.file_row(row)) as u32)
                    .collect::<Vec<_>>()
            };
            let all: Vec<u32> = parts.iter().enumerate().flat_map(of).collect();
            order.iter().map(|&row| all[row]).collect()
        }
    };
    let mut joined = Dataset {
        times: times.map(|times| entries.iter().map(|&(p, entry)| times[p][entry]).collect()),
        list_names: match kind {
            Kind::Lists | Kind::Interactions => Some(names),
            Kind::Labels => parts[0].data.list_names.clone(),
            Kind::OneList => None,
        },
        output_names: parts[0].data.output_names.clone(),
        unread: parts[0].data.unread.clone(),
        lists,
        ..Dataset::default()
    };
    let all = rows_one_after_the_other(&mut parts, columns, absent)?;
    copy_rows(&all, &order, &mut joined);
    joined.columns = all.columns;
    let in_order = (0..).zip(&file_rows).all(|(row, &file_row)| file_row == row);
    joined.file_rows = (!in_order).then_some(file_rows);
    Ok(joined)
}

/// Everything that is kept per row. Line numbers are not: those of two files would be mistaken for one another.
fn rows_one_after_the_other(
    parts: &mut [Part],
    columns: &[Column],
    absent: f32,
) -> Result<Dataset, ReadError> {
    let names = all_or_none(parts, "item names", |data| data.item_names.as_ref())?;
    let item_names = names.map(|names| names.iter().flat_map(|names| names.iter()).collect());
    let positions = all_or_none(parts, "positions", |data| data.positions.as_ref())?;
    let positions = positions.map(|all| all.into_iter().flatten().copied().collect());
    let scores = all_or_none(parts, "starting scores", |data| data.init_scores.as_ref())?;
    let init_scores = scores.map(|all| all.into_iter().flatten().copied().collect());
    let mut extra = Vec::new();
    let has = |part: &Part, name: &str| part.data.extra.iter().any(|(there, _)| there == name);
    for part in parts.iter() {
        if let Some((name, _)) = part.data.extra.iter().find(|(name, _)| !has(&parts[0], name)) {
            let found = format!("column {name}, which {} does not have", parts[0].file);
            return Err(part.refuse(found, "the same columns in every file"));
        }
    }
    for (name, _) in &parts[0].data.extra {
        let of = |part: &Part| {
            part.data.extra.iter().find(|(there, _)| there == name).map(|(_, texts)| texts.clone())
        };
        let texts: Option<Vec<Names>> = parts.iter().map(of).collect();
        let Some(texts) = texts else {
            return Err(parts[0].refuse(format!("column {name}"), "the same columns in every file"));
        };
        extra.push((name.clone(), texts.iter().flat_map(Names::iter).collect()));
    }
    let dense = parts.iter().any(|part| matches!(part.data.features, Matrix::Dense { .. }));
    let mut features: Option<Matrix> = None;
    for part in parts {
        let more = aligned(&mut part.data, columns, absent, dense);
        match &mut features {
            None => features = Some(more),
            Some(all) => all.append(&more),
        }
    }
    let features = features.unwrap_or_default();
    Ok(Dataset {
        features,
        columns: columns.to_vec(),
        item_names,
        positions,
        init_scores,
        extra,
        ..Dataset::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let paths = files.iter().map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        });
        let paths = paths.collect();
        (folder, paths)
    }

    /// Reads the texts as files of their own and as one file.
    fn both(head: &str, texts: [&str; 2], extension: &str, options: &ReadOptions) -> [Dataset; 2] {
        let [a, b] = texts.map(|text| format!("{head}{text}"));
        let whole = format!("{head}{}{}", texts[0], texts[1]);
        let names = ["a", "b", "whole"].map(|name| format!("{name}.{extension}"));
        let (_folder, paths) = folder(&[(&names[0], &a), (&names[1], &b), (&names[2], &whole)]);
        let one = read_all(&paths[2..], options).unwrap();
        let many = read_all(&paths[..2], options).unwrap();
        // Lines are of files.
        [many, Dataset { lines: crate::dataset::LineNumbers::default(), ..one }]
    }

    #[test]
    fn files_one_after_the_other_are_read_as_one_file() {
        let plain = ReadOptions::default();
        let letor = ["1 qid:a 1:1 2:2 # d1\n0 qid:a 2:3 # d2\n", "2 qid:b 1:4 3:5 # d3\n0 qid:b 1:1 # d4\n"];
        let [many, one] = both("", letor, "txt", &plain);
        assert_eq!(many, one);
        let regroup = ReadOptions { regroup: true, ..ReadOptions::default() };
        let [many, one] = both("", ["1 qid:a 1:1\n0 qid:b 1:3\n", "2 qid:a 1:4\n"], "txt", &regroup);
        assert_eq!(many, one);
        assert_eq!((0..3).map(|row| many.file_row(row)).collect::<Vec<_>>(), [0, 2, 1]);
        let [many, one] = both(
            "x,label,colour\n",
            ["1,1,amber\n2,0,blue\n", "3,0,red\n,1,blue\n"],
            "csv",
            &ReadOptions { categorical: vec!["colour".into()], ..ReadOptions::default() },
        );
        assert_eq!(format!("{many:?}"), format!("{one:?}"), "NaN equals itself as text");
        let labels = ReadOptions { labels: vec!["y*".into()], ..ReadOptions::default() };
        let [many, one] = both("x,y1,y2\n", ["1,1,0\n2,0,\n", "3,0,1\n"], "csv", &labels);
        assert_eq!(many, one);
        let interactions = ReadOptions { format: Some("interactions".into()), ..ReadOptions::default() };
        let [many, one] =
            both("", ["u1\ti1\t5\t1\nu2\ti2\t3\t2\n", "u1\ti2\t4\t3\nu3\ti3\t1\t4\n"], "tsv", &interactions);
        assert_eq!(
            (many.lists, many.item_names, many.list_names),
            (one.lists, one.item_names, one.list_names)
        );
    }

    #[test]
    fn files_that_do_not_fit_together_are_refused() {
        let plain = ReadOptions::default();
        let kept = ReadOptions { words: crate::formats::Words::Kept, ..ReadOptions::default() };
        let refused = |files: &[(&str, &str)], options: &ReadOptions| {
            let (_folder, paths) = folder(files);
            read_all(&paths, options).unwrap_err().to_string()
        };
        let error = |files: &[(&str, &str)]| refused(files, &plain);
        let more = refused(&[("a.csv", "x,label\n1,1\n"), ("b.csv", "x,label,title\n1,0,t\n")], &kept);
        assert!(more.contains("b.csv: column title, which"), "{more}");
        let twice = error(&[("a.txt", "1 qid:a 1:1\n"), ("b.txt", "0 qid:a 1:1\n")]);
        assert!(twice.contains("list a, which is also in") && twice.contains("--regroup"), "{twice}");
        let lacking = error(&[("a.csv", "x,z,label\n1,1,1\n"), ("b.csv", "x,label\n1,0\n")]);
        assert!(lacking.contains("b.csv: no feature column z; expected the feature columns of"), "{lacking}");
        let more = error(&[("a.csv", "x,label\n1,1\n"), ("b.csv", "x,z,label\n1,1,0\n")]);
        assert!(more.contains("a.csv: no feature column z"), "{more}");
        let kind = error(&[("a.csv", "x,label\n1,1\n"), ("b.csv", "qid,x,label\nq,1,0\n")]);
        assert!(kind.contains("another kind of lists"), "{kind}");
        let weights = error(&[("a.csv", "x,item_weight,label\n1,2,1\n"), ("b.csv", "x,label\n1,0\n")]);
        assert!(weights.contains("no item weights; expected files all with them"), "{weights}");
    }

    #[test]
    fn a_pattern_stands_for_files_in_order_of_their_names() {
        let (folder, paths) =
            folder(&[("part-2.txt", ""), ("part-1.txt", ""), ("other.txt", ""), (".part-0.txt", "")]);
        let pattern = folder.path().join("part-?.t*").display().to_string();
        assert_eq!(expand(&pattern).unwrap(), [paths[1].clone(), paths[0].clone()]);
        assert_eq!(expand(&paths[2]).unwrap(), [paths[2].clone()]);
        assert_eq!(expand("-").unwrap(), ["-"]);
        let nothing = folder.path().join("no*").display().to_string();
        assert!(expand(&nothing).unwrap_err().to_string().contains("no file matches this pattern"));
        for (pattern, name, fits) in
            [("*", "", true), ("a*b?", "axxbc", true), ("a?", "a", false), ("*.txt", "a.csv", false)]
        {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}

//! Interactions of named users and items, in three parts: training, validation, test.

use std::collections::HashMap;

use toprank_core::{Choices, Features, ParamError};
use toprank_data::split::{self, Part};
use toprank_data::{Dataset, Matrix, Names};
use toprank_embeddings::Shape;

use super::config::Feedback;
use super::recency::{self, Dated};
use crate::error::TrainError;
use crate::fit::settings::Config;
use crate::store::fingerprint::Input;

/// Named users and items with their choices, in three parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interactions {
    /// Names of the users.
    pub users: Names,
    /// Names of the items.
    pub items: Names,
    /// What is learned from. Labels are as in the data.
    pub train: Choices,
    /// What early stopping looks at; may have no pair.
    pub valid: Choices,
    /// What is judged at the end; may have no pair.
    pub test: Choices,
    /// Features of users, for models that read some.
    pub user_features: Option<Known>,
    /// Features of items, for models that read some.
    pub item_features: Option<Known>,
    /// How many of its user's training pairs are later than each of them, in the order of `train`; empty: their order in time
    /// is not known.
    pub later: Vec<u32>,
}

/// What is known about users or items: one row each, every column with mean 0 and standard deviation 1, missing ones NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The numbers, row after row.
    pub values: Vec<f32>,
}

impl Known {
    /// The rows of a table by the names of users or items; who is not in the table has nothing but missing values.
    ///
    /// # Errors
    /// If the table has no column, or none of its rows has one of the names.
    pub fn of_table(table: &Dataset, names: &Names, what: Input) -> Result<Known, TrainError> {
        let width = table.features.width();
        if width == 0 || table.item_names.is_none() {
            let of_names =
                if table.item_names.is_some() { "a column of names" } else { "no column of names" };
            let found = format!("{width} features and {of_names}");
            let expected =
                "one line per name: a column called user or item (or --list, --item) and columns of numbers";
            return Err(TrainError::unsuitable(what, &found, expected));
        }
        let rows: HashMap<String, u32> =
            (0..table.rows()).map(|row| (table.item_name(row), row as u32)).collect();
        let mut values = vec![f32::NAN; names.len() * width];
        let mut found = 0;
        for (name, to) in names.iter().zip(values.chunks_exact_mut(width)) {
            if let Some(&row) = rows.get(name) {
                table.features.gather(&[row], to);
                found += 1;
            }
        }
        if found == 0 {
            let found = "no row has a name of the interactions";
            return Err(TrainError::unsuitable(what, found, "rows with the names of users or items"));
        }
        for column in 0..width {
            standardise(&mut values, width, column);
        }
        Ok(Known { columns: table.columns.iter().map(|column| column.name.clone()).collect(), values })
    }
}

fn standardise(values: &mut [f32], width: usize, column: usize) {
    let known = || values.iter().skip(column).step_by(width).filter(|v| !v.is_nan()).map(|v| f64::from(*v));
    let count = known().count().max(1) as f64;
    let mean = known().sum::<f64>() / count;
    let deviation = (known().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count).sqrt();
    let scale = if deviation > 0.0 { 1.0 / deviation } else { 0.0 };
    for value in values.iter_mut().skip(column).step_by(width) {
        *value = ((f64::from(*value) - mean) * scale) as f32;
    }
}

impl Features for Known {
    fn rows(&self) -> usize {
        self.values.len() / self.columns.len().max(1)
    }

    fn width(&self) -> usize {
        self.columns.len()
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        let width = self.width();
        for (&row, out) in rows.iter().zip(out.chunks_exact_mut(width.max(1))) {
            out.copy_from_slice(&self.values[row as usize * width..][..width]);
        }
    }
}

impl Interactions {
    /// Interactions divided as [`split::parse`] reads it: `leave-last` (each user's last item is test, the one before it
    /// validation), `random` (`random:fractions=80/10/10`, within each user) or `none`. Order in time is kept, but not where the
    /// parts are random: what is held out then is no later than the rest.
    ///
    /// # Errors
    /// If the data are no interactions or the split is unknown.
    pub fn split(data: &Dataset, how: &str, seed: u64) -> Result<Interactions, ParamError> {
        let spec = split::parse(how)?;
        let name = spec.name.as_str();
        if !["leave-last", "random", "none"].contains(&name) {
            let expected = "one of interactions: leave-last, random[:fractions=80/10/10] or none";
            return Err(ParamError::new("split", how, expected));
        }
        check(data)?;
        let entries = |part: Option<&Part>| part.map_or(Vec::new(), |part| part.entries(data));
        let user = |entry: u64| data.lists.offsets.partition_point(|&end| end <= entry) as u32 - 1;
        let pair = |&e: &u64| (user(e), data.lists.row(e as usize) as u32, data.lists.labels[e as usize]);
        let pairs = |entries: &[u64]| -> Vec<(u32, u32, f32)> { entries.iter().map(pair).collect() };
        let (users, items) = (data.lists.len(), data.rows());
        let choices = |entries: &[u64]| Choices::from_pairs(users, items, pairs(entries));
        // Where the file's order says what is last, it is the order in time.
        let by_file = name == "leave-last" && (data.times.is_none() || spec.args.get("by") == Some("file"));
        let parts = split::plan(data, &spec, seed)?;
        let find = |name: &str| parts.iter().find(|part| part.name == name);
        let (train, valid, test) = (entries(find("train")), entries(find("vali")), entries(find("test")));
        let dated = |&e: &u64| {
            let (user, item, _) = pair(&e);
            let time = if by_file {
                e as f64
            } else {
                data.times.as_ref().map_or(f64::NAN, |times| times[e as usize])
            };
            Dated { user, item, time }
        };
        let later = if name == "random" { Vec::new() } else { in_order(train.iter().map(dated).collect()) };
        Ok(Interactions {
            users: (0..users).map(|q| data.list_name(q)).collect(),
            items: (0..items).map(|row| data.item_name(row)).collect(),
            train: choices(&train),
            valid: choices(&valid),
            test: choices(&test),
            later,
            ..Interactions::default()
        })
    }

    /// Interactions whose parts are given. Users and items are numbered in order of first appearance.
    ///
    /// # Errors
    /// If a part is no interactions, or a pair is in two of them.
    pub fn given(
        train: &Dataset,
        valid: Option<&Dataset>,
        test: Option<&Dataset>,
    ) -> Result<Interactions, ParamError> {
        let (mut users, mut items) = (Numbers::default(), Numbers::default());
        let mut dated = Vec::new();
        let mut parts: Vec<Vec<(u32, u32, f32)>> = Vec::new();
        for data in [Some(train), valid, test] {
            let mut pairs = Vec::new();
            if let Some(data) = data {
                check(data)?;
                let rows: Vec<u32> = (0..data.rows()).map(|row| items.of(&data.item_name(row))).collect();
                for q in 0..data.lists.len() {
                    let user = users.of(&data.list_name(q));
                    for e in data.lists.range(q) {
                        let item = rows[data.lists.row(e)];
                        pairs.push((user, item, data.lists.labels[e]));
                        if let (true, Some(times)) = (parts.is_empty(), &data.times) {
                            dated.push(Dated { user, item, time: times[e] });
                        }
                    }
                }
            }
            parts.push(pairs);
        }
        let (users, items) = (users.names, items.names);
        let mut parts = parts.into_iter().map(|pairs| Choices::from_pairs(users.len(), items.len(), pairs));
        let [train, valid, test] = [(); 3].map(|()| parts.next().unwrap_or_default());
        for (a, b, words) in [
            (&train, &valid, "training and validation"),
            (&train, &test, "training and test"),
            (&valid, &test, "validation and test"),
        ] {
            for u in 0..a.len() {
                if let Some(&item) = b.of(u).iter().find(|item| a.of(u).binary_search(item).is_ok()) {
                    let found = format!("user {:?} with item {:?}", users.get(u), items.get(item as usize));
                    return Err(ParamError::new(
                        &format!("the {words} data"),
                        &found,
                        "without a common pair: what was learned from is not recommended again",
                    ));
                }
            }
        }
        Ok(Interactions {
            users,
            items,
            train,
            valid,
            test,
            later: in_order(dated),
            ..Interactions::default()
        })
    }

    /// The pairs that are learned from: labels of 1, or ratings; what is recent weighs more.
    pub(crate) fn learned(&self, config: &Config) -> Choices {
        recency::weighed(labelled(&self.train, Feedback::of(config)), &self.later, config.recency())
    }

    /// How many users and items there are, and what is known about them.
    pub fn shape(&self) -> Shape<'_> {
        Shape {
            users: self.users.len(),
            items: self.items.len(),
            user_features: self.user_features.as_ref().map(|k| k as &dyn Features),
            item_features: self.item_features.as_ref().map(|k| k as &dyn Features),
        }
    }

    /// All pairs of several parts: what users are not recommended again.
    pub(crate) fn union(parts: &[&Choices]) -> Choices {
        let Some(first) = parts.first() else { return Choices::default() };
        let mut all = Choices { item_count: first.item_count, offsets: vec![0], ..Choices::default() };
        let mut here: Vec<(u32, f32)> = Vec::new();
        for u in 0..first.len() {
            here.clear();
            for part in parts {
                here.extend(part.of(u).iter().copied().zip(part.labels_of(u).iter().copied()));
            }
            here.sort_unstable_by_key(|pair| pair.0);
            here.dedup_by_key(|pair| pair.0);
            all.items.extend(here.iter().map(|pair| pair.0));
            all.labels.extend(here.iter().map(|pair| pair.1));
            all.offsets.push(all.items.len() as u64);
        }
        all
    }
}

/// A part with the labels that it is learned from or judged by: 1 for every pair, or its rating, where a missing one counts 0.
pub(crate) fn labelled(part: &Choices, feedback: Feedback) -> Choices {
    let labels = match feedback {
        Feedback::Implicit => vec![1.0; part.pairs()],
        Feedback::Ratings => part.labels.iter().map(|y| if y.is_nan() { 0.0 } else { *y }).collect(),
    };
    Choices { labels, ..part.clone() }
}

/// [`Interactions::later`] of these pairs; nothing where a time is missing.
fn in_order(pairs: Vec<Dated>) -> Vec<u32> {
    if pairs.iter().any(|pair| pair.time.is_nan()) { Vec::new() } else { recency::later(pairs) }
}

fn check(data: &Dataset) -> Result<(), ParamError> {
    let wrong = |found: &str| {
        let expected = "users with the items they interacted with: user item [rating [time]] a line, or --input-format adjacency";
        Err(ParamError::new("the data of a recommendation", found, expected))
    };
    match (&data.item_names, &data.list_names, &data.features) {
        (None, ..) => wrong("without names of items"),
        (_, None, _) => wrong("without names of users"),
        (_, _, Matrix::Dense { width: 0, .. }) if data.lists.rows.is_some() => Ok(()),
        _ => wrong("lists of rows with features"),
    }
}

/// Names and their numbers.
#[derive(Default)]
struct Numbers {
    names: Names,
    numbers: HashMap<String, u32>,
}

impl Numbers {
    fn of(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name);
        self.numbers.insert(name.to_string(), number);
        number
    }
}

//! Interactions of named users and items, in three parts: training, validation, test.

use std::collections::HashMap;

use toprank_core::{Choices, Features, ParamError};
use toprank_data::split;
use toprank_data::{Dataset, Matrix, Names};
use toprank_embeddings::Shape;

use super::config::Feedback;
use super::parts::PartBuilder;
use super::recency;
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
    /// validation), `temporal` (`temporal:fractions=80/10/10`: the latest of all interactions are test, those before them validation),
    /// `random` (`random:fractions=80/10/10`, within each user) or `none`. Order in time is kept, but not where the
    /// parts are random: what is held out then is no later than the rest.
    ///
    /// # Errors
    /// If the data are no interactions or the split is unknown.
    pub fn split(data: &Dataset, how: &str, seed: u64) -> Result<Interactions, ParamError> {
        let spec = split::parse(how)?;
        let name = spec.name.as_str();
        if !["leave-last", "temporal", "random", "none"].contains(&name) {
            let expected = "one of interactions: leave-last, temporal[:fractions=80/10/10], random[:fractions=80/10/10] or none";
            return Err(ParamError::new("split", how, expected));
        }
        check(data)?;
        let lists = &data.lists;
        // Where the file's order says what is last, it is the order in time.
        let by_file = name == "leave-last" && (data.times.is_none() || spec.args.get("by") == Some("file"));
        let time = |entry: u64| match &data.times {
            _ if by_file => entry as f64,
            Some(times) => times[entry as usize],
            None => f64::NAN,
        };
        let parts = split::plan(data, &spec, seed)?;
        let part = |wanted: &str, in_order: bool| {
            let entries = parts.iter().find(|part| part.name == wanted).map(|part| part.entries(data));
            let mut rest = entries.as_deref().unwrap_or_default();
            let mut part = PartBuilder::new(data.rows(), in_order);
            for &end in &lists.offsets[1..] {
                let (of_user, after) = rest.split_at(rest.partition_point(|&entry| entry < end));
                part.push(of_user.iter().map(|&entry| {
                    let at = entry as usize;
                    (lists.row(at) as u32, lists.labels[at], time(entry))
                }));
                rest = after;
            }
            part.finish()
        };
        let (train, later) = part("train", name != "random");
        Ok(Interactions {
            users: (0..lists.len()).map(|q| data.list_name(q)).collect(),
            items: (0..data.rows()).map(|row| data.item_name(row)).collect(),
            train,
            valid: part("vali", false).0,
            test: part("test", false).0,
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
        let mut numbered = |data| Numbered::new(data, &mut users, &mut items);
        let train = numbered(train)?;
        let [valid, test] = [valid, test].map(|data| data.map(&mut numbered).transpose());
        let (valid, test) = (valid?, test?);
        let (users, items) = (users.names, items.names);
        let (train, later) = train.part(users.len(), items.len(), train.data.times.as_deref());
        let held_out = |part: Option<Numbered>| match part {
            Some(part) => part.part(users.len(), items.len(), None).0,
            None => Choices::from_pairs(users.len(), items.len(), Vec::new()),
        };
        let (valid, test) = (held_out(valid), held_out(test));
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
        Ok(Interactions { users, items, train, valid, test, later, ..Interactions::default() })
    }

    /// The pairs that are learned from: labels of 1, or ratings; what is recent weighs more.
    pub(crate) fn learned(&self, config: &Config) -> Choices {
        recency::weighed(labelled(&self.train, Feedback::of(config)), &self.later, config.recency())
    }

    /// What item models score from: the training pairs and those of later parts, from the earlier to the later part. What is recent
    /// weighs more if the order in time is known; all pairs of a later part are as recent as each other.
    pub(crate) fn histories(&self, config: &Config, parts: &[&Choices]) -> Choices {
        let feedback = Feedback::of(config);
        let in_order = !self.later.is_empty();
        let half_life = if in_order { config.recency() } else { 0.0 };
        let parts: Vec<Choices> = std::iter::once(&self.train)
            .chain(parts.iter().copied())
            .map(|part| labelled(part, feedback))
            .collect();
        let (mut all, mut weights, mut later) = (Choices::of_items(self.items.len()), Vec::new(), Vec::new());
        let mut of_user: Vec<(u32, f32, u32)> = Vec::new();
        for u in 0..self.users.len() {
            of_user.clear();
            let mut behind = 0;
            for (number, part) in parts.iter().enumerate().rev() {
                for (at, (&item, &label)) in part.of(u).iter().zip(part.labels_of(u)).enumerate() {
                    let own = match number {
                        0 => self.later.get(part.range(u).start + at).copied().unwrap_or(0),
                        _ => 0,
                    };
                    of_user.push((item, label, behind + own));
                }
                behind += part.of(u).len() as u32;
            }
            // Of an item that is in two parts, the later counts.
            of_user.sort_unstable_by_key(|(item, _, later)| (*item, *later));
            of_user.dedup_by_key(|(item, ..)| *item);
            all.push(of_user.iter().map(|(item, label, _)| (*item, *label)));
            if in_order {
                let first = later.len();
                later.extend(of_user.iter().map(|(.., later)| *later));
                if half_life > 0.0 {
                    weights.extend(recency::weights(&later[first..], half_life));
                }
            }
        }
        Choices { weights, later, ..all }
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
        let mut all = Choices::of_items(first.item_count);
        let mut here: Vec<(u32, f32)> = Vec::new();
        for u in 0..first.len() {
            here.clear();
            for part in parts {
                here.extend(part.of(u).iter().copied().zip(part.labels_of(u).iter().copied()));
            }
            here.sort_unstable_by_key(|pair| pair.0);
            here.dedup_by_key(|pair| pair.0);
            all.push(here.iter().copied());
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
    Choices {
        item_count: part.item_count,
        offsets: part.offsets.clone(),
        items: part.items.clone(),
        weights: part.weights.clone(),
        later: part.later.clone(),
        labels,
    }
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

/// Data with the numbers that their users and items have among those of all parts.
struct Numbered<'a> {
    data: &'a Dataset,
    /// Item of each row.
    items: Vec<u32>,
    /// User of each list, and the list, by user.
    lists: Vec<(u32, usize)>,
}

impl Numbered<'_> {
    fn new<'a>(
        data: &'a Dataset,
        users: &mut Numbers,
        items: &mut Numbers,
    ) -> Result<Numbered<'a>, ParamError> {
        check(data)?;
        let items = (0..data.rows()).map(|row| items.of(&data.item_name(row))).collect();
        let of_list = (0..data.lists.len()).map(|q| (users.of(&data.list_name(q)), q));
        let mut lists: Vec<(u32, usize)> = of_list.collect();
        lists.sort_unstable();
        Ok(Numbered { data, items, lists })
    }

    /// The choices of all users, and how many pairs are later than each where their times are given.
    fn part(&self, users: usize, items: usize, times: Option<&[f64]>) -> (Choices, Vec<u32>) {
        let lists = &self.data.lists;
        let mut part = PartBuilder::new(items, times.is_some());
        let mut rest = self.lists.as_slice();
        for user in 0..users as u32 {
            let (own, after) = rest.split_at(rest.partition_point(|(of, _)| *of <= user));
            let entries = own.iter().flat_map(|&(_, q)| lists.range(q));
            part.push(entries.map(|entry| {
                let time = times.map_or(f64::NAN, |times| times[entry]);
                (self.items[lists.row(entry)], lists.labels[entry], time)
            }));
            rest = after;
        }
        part.finish()
    }
}

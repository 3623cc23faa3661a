/*!
Parts of a data set: train, validation and test, or folds.

A list is never split, with two exceptions that are the point: of a single list (a binary data set) and of
several labels over the same rows, the rows are divided; `leave-last` takes each user's last items, `random` any.

[`parse`] reads the one grammar of splits, which `toprank split`, `recommend train` and `embed train` share.

```
use toprank_core::Lists;
use toprank_data::{Dataset, split};
let data = Dataset { lists: Lists::from_lengths(&[2; 10], vec![0.0; 20]), ..Dataset::default() };
let parts = split::plan(&data, &split::parse("lists:fractions=60/20/20").unwrap(), 1).unwrap();
let lists: Vec<usize> = parts.iter().map(|part| part.take(&data).lists.len()).collect();
assert_eq!(lists, [6, 2, 2]); // train, vali, test
```
*/

mod multi_label;
mod scaffold;
mod subset;

use toprank_core::{Lists, Param, ParamError, Spec, Stream, catalog};

use crate::dataset::Dataset;
use subset::Kept;
pub(crate) use subset::copy_rows;
pub use subset::{subset_entries, subset_lists, subset_rows};

/// One way to divide a data set.
pub struct Split {
    /// Name in the grammar `name[:key=value]*`.
    pub name: &'static str,
    /// One line for the listing.
    pub about: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    plan: fn(&Dataset, &Spec, u64) -> Result<Vec<Part>, ParamError>,
}

const FRACTIONS: Param = Param {
    name: "fractions",
    default: "60/20/20",
    range: "two or three numbers ≥ 0 separated by /",
    about: "train/vali/test, or train/test; divided by their sum",
};

const SCAFFOLD_FRACTIONS: Param = Param { default: "80/10/10", ..FRACTIONS };

/// Every way to divide a data set.
pub static SPLITS: &[Split] = &[
    Split {
        name: "lists",
        about: "whole lists at random; rows of a single list and of multi-label data",
        params: &[FRACTIONS],
        plan: |data, spec, seed| by_fractions(data, &units(Shape::of(data)), spec, seed),
    },
    Split {
        name: "k-fold",
        about: "k tests that together are the data, each with the rest as train; binary and multi-label data stratified",
        params: &[Param { name: "k", default: "5", range: "2 to 1000", about: "number of folds" }],
        plan: k_fold_of_spec,
    },
    Split {
        name: "stratified",
        about: "rows of binary or multi-label data at random, each label as frequent in every part",
        params: &[FRACTIONS],
        plan: |data, spec, seed| by_fractions(data, &strata(Shape::of(data))?, spec, seed),
    },
    Split {
        name: "leave-last",
        about: "each list's last item is test, the one before it vali, the others train",
        params: &[Param {
            name: "by",
            default: "time, where the data have times, else file",
            range: "time or file",
            about: "what last means; equal times count in file order",
        }],
        plan: leave_last,
    },
    Split {
        name: "scaffold",
        about: "molecules by scaffold, as in MoleculeNet: the largest groups are train, no scaffold stands in two parts; no draws",
        params: &[SCAFFOLD_FRACTIONS],
        plan: |data, spec, _| scaffold::plan(data, spec),
    },
    Split {
        name: "random",
        about: "the items of each list at random: every user has some in train, vali and test",
        params: &[FRACTIONS],
        plan: within_lists,
    },
    Split {
        name: "temporal",
        about: "by time: the latest entries of all lists together are test, those before them vali, the others train",
        params: &[SCAFFOLD_FRACTIONS],
        plan: temporal,
    },
    Split {
        name: "none",
        about: "everything is train",
        params: &[],
        plan: |data, _, _| {
            let all = (0..data.lists.len() as u32).collect();
            Ok(vec![Part { name: "train".into(), pick: Pick::Lists(all) }])
        },
    },
];

/// A named part of a data set: numbers only, so that any number of folds costs little.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// `train`, `vali`, `test`, or `fold1.train`, `fold1.test`, …
    pub name: String,
    /// What belongs to it.
    pub pick: Pick,
}

/// Numbers of what belongs to a part, ascending.
#[derive(Clone, Debug, PartialEq)]
pub enum Pick {
    /// Whole lists.
    Lists(Vec<u32>),
    /// Rows, in whichever lists they stand.
    Rows(Vec<u32>),
    /// Single entries.
    Entries(Vec<u64>),
}

impl Part {
    /// The part as a data set of its own.
    pub fn take(&self, data: &Dataset) -> Dataset {
        match &self.pick {
            Pick::Lists(lists) => subset_lists(data, lists),
            Pick::Rows(rows) => subset_rows(data, rows),
            Pick::Entries(entries) => subset_entries(data, entries),
        }
    }

    /// The entries of `data` that belong to the part, in the order in which [`Part::take`] holds them.
    ///
    /// ```
    /// use toprank_core::Lists;
    /// use toprank_data::{Dataset, split};
    /// let data = Dataset { lists: Lists::from_lengths(&[1, 2], vec![3.0, 1.0, 0.0]), ..Dataset::default() };
    /// let folds = split::plan(&data, &split::parse("k-fold:k=2").unwrap(), 1).unwrap();
    /// let mut tested: Vec<u64> = folds.iter().skip(1).step_by(2).flat_map(|test| test.entries(&data)).collect();
    /// tested.sort_unstable();
    /// assert_eq!(tested, [0, 1, 2]);
    /// ```
    ///
    /// # Panics
    /// If the part is of another data set.
    pub fn entries(&self, data: &Dataset) -> Vec<u64> {
        self.entries_of(&data.lists, data.rows())
    }

    fn entries_of(&self, lists: &Lists, rows_in_all: usize) -> Vec<u64> {
        match &self.pick {
            Pick::Lists(picked) => picked
                .iter()
                .flat_map(|&q| lists.offsets[q as usize]..lists.offsets[q as usize + 1])
                .collect(),
            Pick::Rows(rows) => {
                let mut picked = vec![false; rows_in_all];
                for &row in rows {
                    picked[row as usize] = true;
                }
                (0..lists.entries()).filter(|&e| picked[lists.row(e)]).map(|e| e as u64).collect()
            }
            Pick::Entries(entries) => entries.clone(),
        }
    }

    /// The lists of the part, as [`Part::take`] gives them; no row of features is copied.
    ///
    /// # Panics
    /// If the part is of another data set.
    pub fn lists(&self, data: &Dataset) -> Lists {
        let from = &data.lists;
        let kept = match &self.pick {
            Pick::Lists(lists) => Kept::lists(from, lists),
            Pick::Rows(rows) => Kept::rows(from, rows, data.rows()),
            Pick::Entries(entries) => Kept::entries(from, entries),
        };
        kept.of_lists(from)
    }

    /// Number of rows of features that [`Part::take`] gives.
    pub fn rows(&self, data: &Dataset) -> usize {
        match &self.pick {
            Pick::Rows(rows) => rows.len(),
            _ if data.lists.rows.is_some() => data.rows(),
            _ => self.entries(data).len(),
        }
    }

    /// A part of this part as a part of `data`: nothing is copied in between.
    ///
    /// ```
    /// use toprank_core::Lists;
    /// use toprank_data::{Dataset, split::{Part, Pick}};
    /// let data = Dataset { lists: Lists::from_lengths(&[1; 4], vec![3.0, 1.0, 0.0, 2.0]), ..Dataset::default() };
    /// let part = |lists: &[u32]| Part { name: "some".into(), pick: Pick::Lists(lists.to_vec()) };
    /// assert_eq!(part(&[0, 2, 3]).within(&data, &part(&[1, 2])), part(&[2, 3]));
    /// ```
    ///
    /// # Panics
    /// If this is no part of `data`, or `inner` no part of this one.
    #[must_use]
    pub fn within(&self, data: &Dataset, inner: &Part) -> Part {
        let numbers = |outer: &[u32], inner: &[u32]| inner.iter().map(|&i| outer[i as usize]).collect();
        let pick = match (&self.pick, &inner.pick) {
            (Pick::Lists(outer), Pick::Lists(inner)) => Pick::Lists(numbers(outer, inner)),
            (Pick::Rows(outer), Pick::Rows(inner)) => Pick::Rows(numbers(outer, inner)),
            _ => {
                let outer = self.entries(data);
                let inner = inner.entries_of(&self.lists(data), self.rows(data));
                Pick::Entries(inner.into_iter().map(|entry| outer[entry as usize]).collect())
            }
        };
        Part { name: inner.name.clone(), pick }
    }
}

/// Reads a split as it is written everywhere: `lists:fractions=80/20`, `k-fold:k=10`, `leave-last:by=time`, `none`. Fractions
/// alone divide whole lists: `60/20/20` is `lists:fractions=60/20/20`.
///
/// ```
/// use toprank_data::split::parse;
/// assert_eq!(parse("60/20/20").unwrap().to_string(), "lists:fractions=60/20/20");
/// let error = parse("leave-lst").unwrap_err().to_string();
/// assert_eq!(error, "unknown split \"leave-lst\"; did you mean \"leave-last\"?");
/// ```
///
/// # Errors
/// If there is no such split, or it has no such parameter.
pub fn parse(text: &str) -> Result<Spec, ParamError> {
    let fractions = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || "./ ".contains(c));
    let spec = match fractions {
        true => Spec::parse(&format!("lists:{}={}", FRACTIONS.name, text.trim())),
        false => Spec::parse(text),
    };
    let grammar = "name[:key=value]…, for example lists:fractions=60/20/20 or leave-last";
    let spec = spec.map_err(|_| ParamError::new("split", text, grammar))?;
    find(&spec)?;
    Ok(spec)
}

/// The split that is named, with parameters that it has.
fn find(spec: &Spec) -> Result<&'static Split, ParamError> {
    let named = SPLITS.iter().find(|split| split.name == spec.name);
    let split = named.ok_or_else(|| catalog::unknown("split", &spec.name, SPLITS.iter().map(|s| s.name)))?;
    let takes = |key: &str| split.params.iter().any(|param| param.name == key);
    match spec.args.0.iter().find(|(key, _)| !takes(key)) {
        None => Ok(split),
        Some((key, _)) => {
            let what = format!("parameter of {}", split.name);
            Err(catalog::unknown(&what, key, split.params.iter().map(|param| param.name)))
        }
    }
}

/// Divides `data` as `spec` says; [`parse`] reads one.
///
/// # Errors
/// If the split is unknown, a parameter is invalid, or the data cannot be divided in this way.
pub fn plan(data: &Dataset, spec: &Spec, seed: u64) -> Result<Vec<Part>, ParamError> {
    let split = find(spec)?;
    (split.plan)(data, spec, seed)
}

/// What is dealt out.
enum Units {
    /// Lists, in groups that are dealt out separately.
    Lists(Vec<Vec<u32>>),
    /// Rows, in groups that are dealt out separately.
    Rows(Vec<Vec<u32>>),
    /// Rows of several labels: the positive rows of each.
    Labels { rows: usize, positive: Vec<Vec<u32>> },
}

impl Units {
    fn count(&self) -> usize {
        match self {
            Units::Lists(groups) | Units::Rows(groups) => groups.iter().map(Vec::len).sum(),
            Units::Labels { rows, .. } => *rows,
        }
    }

    /// Cut at the fractions `ends` (ascending, the last 1).
    fn deal(&self, ends: &[f64], seed: u64) -> Vec<Vec<u32>> {
        match self {
            Units::Lists(groups) | Units::Rows(groups) => deal(groups, ends, seed),
            Units::Labels { rows, positive } => multi_label::deal(*rows, positive, ends, seed),
        }
    }

    fn pick(&self, mut numbers: Vec<u32>) -> Pick {
        numbers.sort_unstable();
        match self {
            Units::Lists(_) => Pick::Lists(numbers),
            Units::Rows(_) | Units::Labels { .. } => Pick::Rows(numbers),
        }
    }
}

/// What folds and fractions are planned by: lists, and the number of rows of features that they read.
#[derive(Clone, Copy)]
struct Shape<'a> {
    lists: &'a Lists,
    rows: usize,
}

impl Shape<'_> {
    fn of(data: &Dataset) -> Shape<'_> {
        Shape { lists: &data.lists, rows: data.rows() }
    }
}

fn units(data: Shape) -> Units {
    if data.lists.are_labels() {
        Units::Rows(vec![(0..data.rows as u32).collect()])
    } else {
        Units::Lists(vec![(0..data.lists.len() as u32).collect()])
    }
}

/// The rows of a single list by label, where NaN (not judged) is a group too; of multi-label data the rows by the labels
/// they have.
fn strata(data: Shape) -> Result<Units, ParamError> {
    const MOST: usize = 100;
    let refuse =
        |found: String, expected| Err(ParamError::new("the data of a stratified split", &found, expected));
    if !data.lists.are_labels() {
        let expected = "binary data (one list) or multi-label data; for queries take lists or k-fold";
        return refuse(format!("{} lists", data.lists.len()), expected);
    }
    if data.lists.len() > 1 {
        let positive = |q: usize| {
            let entries = data.lists.range(q).filter(|&entry| data.lists.labels[entry] > 0.0);
            entries.map(|entry| data.lists.row(entry) as u32).collect()
        };
        let positive = (0..data.lists.len()).map(positive).collect();
        return Ok(Units::Labels { rows: data.rows, positive });
    }
    let mut groups: Vec<(f32, Vec<u32>)> = Vec::new();
    for (entry, &label) in data.lists.labels.iter().enumerate() {
        let row = data.lists.rows.as_ref().map_or(entry as u32, |rows| rows[entry]);
        match groups.iter().position(|(of, _)| *of == label || of.is_nan() && label.is_nan()) {
            Some(g) => groups[g].1.push(row),
            None if groups.len() == MOST => {
                return refuse(format!("more than {MOST} different labels"), "few different labels");
            }
            None => groups.push((label, vec![row])),
        }
    }
    // The highest label first: that group gets the tightest promise of `deal`.
    groups.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(Units::Rows(groups.into_iter().map(|(_, rows)| rows).collect()))
}

/// The names of the parts, and the fraction of the data at which each ends.
fn fractions(spec: &Spec) -> Result<(&'static [&'static str], Vec<f64>), ParamError> {
    let of_80 = ["scaffold", "temporal"].contains(&spec.name.as_str());
    let default = if of_80 { SCAFFOLD_FRACTIONS.default } else { FRACTIONS.default };
    let text = spec.args.get(FRACTIONS.name).unwrap_or(default);
    let refuse = || ParamError::new(FRACTIONS.name, text, FRACTIONS.range);
    let fractions: Vec<f64> =
        text.split('/').map(str::parse).collect::<Result<_, _>>().map_err(|_| refuse())?;
    let total: f64 = fractions.iter().sum();
    let names: &[&str] = match fractions.len() {
        2 => &["train", "test"],
        3 => &["train", "vali", "test"],
        _ => return Err(refuse()),
    };
    if !fractions.iter().all(|fraction| fraction.is_finite() && *fraction >= 0.0)
        || total <= 0.0
        || !total.is_finite()
    {
        return Err(refuse());
    }
    let mut upto = 0.0;
    let ends = fractions
        .iter()
        .map(|fraction| {
            upto += fraction;
            upto / total
        })
        .collect();
    Ok((names, ends))
}

fn by_fractions(data: &Dataset, units: &Units, spec: &Spec, seed: u64) -> Result<Vec<Part>, ParamError> {
    let (names, ends) = fractions(spec)?;
    check_numbers(Shape::of(data))?;
    let dealt = units.deal(&ends, seed);
    Ok(names
        .iter()
        .zip(dealt)
        .map(|(name, numbers)| Part { name: (*name).into(), pick: units.pick(numbers) })
        .collect())
}

fn k_fold_of_spec(data: &Dataset, spec: &Spec, seed: u64) -> Result<Vec<Part>, ParamError> {
    let range = "an integer in [2, 1000]";
    let k = spec.args.number("k", 5.0, range, |k| (2.0..=1000.0).contains(&k) && k.fract() == 0.0)? as usize;
    let folds = k_fold(&data.lists, data.rows(), k, seed)?;
    Ok(folds.into_iter().flatten().collect())
}

/// The folds of the split `k-fold`, as train and test, planned by lists alone; `rows`: number of rows of features that they read.
///
/// # Errors
/// If there are fewer lists than folds, or rows where rows are divided.
pub fn k_fold(lists: &Lists, rows: usize, k: usize, seed: u64) -> Result<Vec<[Part; 2]>, ParamError> {
    let data = Shape { lists, rows };
    check_numbers(data)?;
    let units = strata(data).unwrap_or_else(|_| units(data));
    let count = units.count();
    if count < k {
        return Err(ParamError::new("k", &k.to_string(), &format!("at most {count}, one for each fold")));
    }
    let ends: Vec<f64> = (1..=k).map(|fold| fold as f64 / k as f64).collect();
    let folds = units.deal(&ends, seed);
    let part = |test: usize, name: &str, numbers: Vec<u32>| Part {
        name: format!("fold{}.{name}", test + 1),
        pick: units.pick(numbers),
    };
    let fold = |test: usize| {
        let rest = (0..k).filter(|fold| *fold != test);
        let train = rest.flat_map(|fold| folds[fold].iter().copied()).collect();
        [part(test, "train", train), part(test, "test", folds[test].clone())]
    };
    Ok((0..k).map(fold).collect())
}

/// Shuffles each group and cuts it at the fractions `ends` (ascending, the last 1): every part gets its fraction of the
/// first group at most one unit off. What a group leaves over by rounding is carried to the next, so that the parts
/// as a whole are at most one unit off too, and the fraction of any other group at most two.
fn deal(groups: &[Vec<u32>], ends: &[f64], seed: u64) -> Vec<Vec<u32>> {
    let mut parts = vec![Vec::new(); ends.len()];
    let mut before = 0;
    for (g, group) in groups.iter().enumerate() {
        let mut numbers = group.clone();
        Stream::new(seed, "split").of_list(g as u32).open().shuffle(&mut numbers);
        let cut = |units: usize, end: f64| (units as f64 * end).round() as usize;
        let mut start = 0;
        for (part, &end) in parts.iter_mut().zip(ends) {
            let stop = (cut(before + numbers.len(), end) - cut(before, end)).clamp(start, numbers.len());
            part.extend_from_slice(&numbers[start..stop]);
            start = stop;
        }
        before += numbers.len();
    }
    parts
}

fn leave_last(data: &Dataset, spec: &Spec, _seed: u64) -> Result<Vec<Part>, ParamError> {
    let default = if data.times.is_some() { "time" } else { "file" };
    let times = match spec.args.get("by").unwrap_or(default) {
        "file" => None,
        "time" => match &data.times {
            Some(times) => Some(times),
            None => return Err(ParamError::new("by", "time", "file, as the data have no times")),
        },
        other => return Err(ParamError::new("by", other, "time or file")),
    };
    if let Some(entry) = times.and_then(|times| times.iter().position(|time| time.is_nan())) {
        return Err(ParamError::new("by", "time", &format!("file, as entry {entry} has no time")));
    }
    let [mut train, mut vali, mut test] = [const { Vec::new() }; 3];
    let mut order: Vec<u64> = Vec::new();
    for q in 0..data.lists.len() {
        order.clear();
        order.extend(data.lists.range(q).map(|entry| entry as u64));
        if let Some(times) = times {
            order.sort_by(|&a, &b| times[a as usize].total_cmp(&times[b as usize]));
        }
        // One item is not enough to learn from and to be judged by: it stays in train.
        if order.len() > 1 {
            test.extend(order.pop());
        }
        if order.len() > 1 {
            vali.extend(order.pop());
        }
        train.extend_from_slice(&order);
    }
    train.sort_unstable();
    let part = |name: &str, entries| Part { name: name.into(), pick: Pick::Entries(entries) };
    Ok(vec![part("train", train), part("vali", vali), part("test", test)])
}

/// Points in time, the same for all lists, divide the entries. Entries of the same time stay in one part, the earlier one.
fn temporal(data: &Dataset, spec: &Spec, _seed: u64) -> Result<Vec<Part>, ParamError> {
    let (names, ends) = fractions(spec)?;
    let refuse = |found: &str| {
        let expected =
            "another split, or data with a time in every line: parts are divided by points in time";
        ParamError::new("split", found, expected)
    };
    let Some(times) = &data.times else { return Err(refuse("temporal")) };
    if let Some(entry) = times.iter().position(|time| time.is_nan()) {
        return Err(refuse(&format!("temporal, where entry {entry} has no time")));
    }
    let mut sorted = times.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    // The last time of every part but the last; of no entries: before all.
    let lasts: Vec<f64> = ends[..ends.len() - 1]
        .iter()
        .map(|end| match (end * sorted.len() as f64 + 1e-9) as usize {
            0 => f64::NEG_INFINITY,
            count => sorted[count.min(sorted.len()) - 1],
        })
        .collect();
    let mut parts = vec![Vec::new(); names.len()];
    for (entry, time) in times.iter().enumerate() {
        parts[lasts.partition_point(|last| last < time)].push(entry as u64);
    }
    let part = |(name, entries): (&&str, _)| Part { name: (*name).into(), pick: Pick::Entries(entries) };
    Ok(names.iter().zip(parts).map(part).collect())
}

/// The items of each list are shuffled and cut at the fractions; what rounding leaves over goes to train, so that a list with
/// one item keeps it there.
fn within_lists(data: &Dataset, spec: &Spec, seed: u64) -> Result<Vec<Part>, ParamError> {
    let (names, ends) = fractions(spec)?;
    check_numbers(Shape::of(data))?;
    let mut parts = vec![Vec::new(); names.len()];
    for q in 0..data.lists.len() {
        let mut order: Vec<u64> = data.lists.range(q).map(|entry| entry as u64).collect();
        Stream::new(seed, "split within lists").of_list(q as u32).open().shuffle(&mut order);
        let count = order.len();
        // From the back: test, then vali, each its share rounded down.
        for k in (1..names.len()).rev() {
            let share = ends[k] - ends[k - 1];
            // A hair of tolerance: 0.1 · 30 is less than 3 by rounding.
            let taken = ((share * count as f64 + 1e-9) as usize).min(order.len());
            parts[k].extend(order.drain(order.len() - taken..));
        }
        parts[0].extend(order);
    }
    let part = |(name, mut entries): (&&str, Vec<u64>)| {
        entries.sort_unstable();
        Part { name: (*name).into(), pick: Pick::Entries(entries) }
    };
    Ok(names.iter().zip(parts).map(part).collect())
}

/// Lists and rows are numbered by 32 bits here.
fn check_numbers(data: Shape) -> Result<(), ParamError> {
    let most = data.lists.len().max(data.rows);
    if u32::try_from(most).is_err() {
        return Err(ParamError::new(
            "the data to be split",
            &format!("{most} rows"),
            "at most 4294967295 rows",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

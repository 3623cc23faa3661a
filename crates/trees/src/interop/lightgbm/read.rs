//! Reads the text model.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use toprank_data::ReadError;
use toprank_data::error::show;

use super::ZERO;
use crate::ensemble::Ensemble;
use crate::interop::Imported;
use crate::interop::shape::round_down;
use crate::tree::{Categories, Next, Node, Test, Tree};

pub(super) fn read(file: &str, bytes: &[u8]) -> Result<Imported, ReadError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&b| b == b'\n').count() as u64;
        ReadError::data(file, "bytes that are not UTF-8", "a text model").at_line(line)
    })?;
    let mut lines = text.lines().enumerate().map(|(i, line)| (i as u64 + 1, line.trim_end()));
    match lines.next() {
        Some((_, "tree")) => {}
        other => {
            let found = show(other.unwrap_or_default().1.as_bytes());
            return Err(
                ReadError::data(file, found, "the line \"tree\", which a text model starts with").at_line(1)
            );
        }
    }
    let mut header = Block { file, name: "the header".into(), line: 1, fields: BTreeMap::new() };
    let mut trees: Vec<Tree> = Vec::new();
    let mut block: Option<Block> = None;
    let mut width = 0;
    let mut ended = false;
    for (number, line) in lines {
        if line == "end of trees" {
            ended = true;
            break;
        }
        if line.starts_with("Tree=") {
            match block.take() {
                Some(block) => trees.push(block.tree(width)?),
                None => width = header.width()?,
            }
            let name = format!("tree {}", trees.len());
            block = Some(Block { file, name, line: number, fields: BTreeMap::new() });
        } else if let Some((key, value)) = line.split_once('=') {
            block.as_mut().unwrap_or(&mut header).fields.insert(key, (number, value));
        } else if !line.is_empty() {
            block.as_mut().unwrap_or(&mut header).fields.insert(line, (number, ""));
        }
    }
    if !ended {
        return Err(ReadError::data(file, "no line \"end of trees\"", "a whole file"));
    }
    match block {
        Some(block) => trees.push(block.tree(width)?),
        None => width = header.width()?,
    }
    header.imported(width, trees)
}

/// `key=value` lines of the header or a tree, with their line numbers.
struct Block<'a> {
    file: &'a str,
    name: String,
    line: u64,
    fields: BTreeMap<&'a str, (u64, &'a str)>,
}

impl<'a> Block<'a> {
    fn error(&self, key: &str, found: impl Display, expected: impl Display) -> ReadError {
        let line = self.fields.get(key).map_or(self.line, |field| field.0);
        let found = format!("{}: {key} is {found}", self.name);
        ReadError::data(self.file, found, expected.to_string()).at_line(line)
    }

    fn get(&self, key: &str) -> Result<&'a str, ReadError> {
        let found = self.fields.get(key).map(|field| field.1);
        found.ok_or_else(|| self.error(key, "missing", format!("a line \"{key}=\"")))
    }

    fn one<T: FromStr>(&self, key: &str, expected: &str) -> Result<T, ReadError> {
        let text = self.get(key)?;
        text.trim().parse().map_err(|_| self.error(key, show(text.as_bytes()), expected))
    }

    fn one_or<T: FromStr>(&self, key: &str, default: T, expected: &str) -> Result<T, ReadError> {
        if self.fields.contains_key(key) { self.one(key, expected) } else { Ok(default) }
    }

    /// Exactly `count` numbers.
    fn many<T: FromStr>(&self, key: &str, count: usize, expected: &str) -> Result<Vec<T>, ReadError> {
        let text = self.get(key)?;
        let parse = |word: &str| {
            word.parse().map_err(|_| self.error(key, show(word.as_bytes()), format!("{expected} each")))
        };
        let found: Vec<T> = text.split_ascii_whitespace().map(parse).collect::<Result<_, _>>()?;
        if found.len() != count {
            return Err(self.error(
                key,
                format!("a row of {} numbers", found.len()),
                format!("{count} of them"),
            ));
        }
        Ok(found)
    }

    fn width(&self) -> Result<usize, ReadError> {
        let last: u32 = self.one("max_feature_idx", "a whole number from 0 on")?;
        Ok(last as usize + 1)
    }

    fn imported(&self, width: usize, mut trees: Vec<Tree>) -> Result<Imported, ReadError> {
        let classes: usize = self.one_or("num_class", 1, "a whole number")?;
        let outputs: usize = self.one_or("num_tree_per_iteration", classes, "a whole number")?;
        let whole_rounds =
            outputs > 0 && outputs <= trees.len().max(1) && trees.len().is_multiple_of(outputs);
        if !whole_rounds {
            let expected = format!("a number that divides the {} trees", trees.len());
            return Err(self.error("num_tree_per_iteration", outputs, expected));
        }
        // A random forest is the mean of its trees.
        if self.fields.contains_key("average_output") {
            let rounds = (trees.len() / outputs) as f64;
            trees.iter_mut().flat_map(|tree| &mut tree.leaves).for_each(|leaf| *leaf /= rounds);
        }
        if trees.is_empty() {
            trees = vec![Tree::constant(0.0); outputs];
        }
        let names: Vec<String> = self
            .fields
            .get("feature_names")
            .map_or(Vec::new(), |field| field.1.split_ascii_whitespace().map(str::to_owned).collect());
        if !names.is_empty() && names.len() != width {
            return Err(self.error(
                "feature_names",
                format!("{} names", names.len()),
                format!("{width} names"),
            ));
        }
        let ensemble = Ensemble { trees, ..Ensemble::new(width, outputs) };
        ensemble.check().map_err(|error| ReadError::data(self.file, error.what, error.expected))?;
        let objective = self.fields.get("objective").map(|field| field.1.to_owned());
        Ok(Imported { ensemble, names, objective })
    }

    fn tree(&self, width: usize) -> Result<Tree, ReadError> {
        let leaves: usize = self.one("num_leaves", "a whole number from 1 on")?;
        if self.one_or("is_linear", 0u8, "0 or 1")? != 0 {
            return Err(self.error("is_linear", 1, "0: linear models in leaves are not read"));
        }
        if leaves == 0 {
            return Err(self.error("num_leaves", leaves, "a whole number from 1 on"));
        }
        let values: Vec<f64> = self.many("leaf_value", leaves, "a number")?;
        if leaves == 1 {
            return self.checked(Tree { nodes: Vec::new(), leaves: values }, width);
        }
        let count = leaves - 1;
        let features: Vec<u32> = self.many("split_feature", count, "a whole number from 0 on")?;
        let thresholds: Vec<f64> = self.many("threshold", count, "a number")?;
        let left: Vec<i64> = self.many("left_child", count, "a whole number")?;
        let right: Vec<i64> = self.many("right_child", count, "a whole number")?;
        let optional = |key: &str| self.fields.contains_key(key);
        let decisions = match optional("decision_type") {
            true => self.many("decision_type", count, "a whole number from 0 to 255")?,
            false => vec![0u8; count],
        };
        // Statistics do not change scores: a file may have them or not.
        let statistic = |key: &str| match optional(key) {
            true => self.many(key, count, "a number"),
            false => Ok(vec![0.0f64; count]),
        };
        let (gains, weights, rows) =
            (statistic("split_gain")?, statistic("internal_weight")?, statistic("internal_count")?);
        let sets = self.sets()?;
        let mut nodes = Vec::with_capacity(count);
        for at in 0..count {
            let next = |key: &str, child: i64| {
                let leaf = if child < 0 { Some(-1 - child) } else { None };
                let place = u32::try_from(leaf.unwrap_or(child));
                let place = place.map_err(|_| self.error(key, child, "a node or leaf of the tree"))?;
                Ok::<_, ReadError>(if leaf.is_some() { Next::Leaf(place) } else { Next::Node(place) })
            };
            let (test, missing_left) = self.test(at, decisions[at], thresholds[at], &sets)?;
            let (left, right) = (next("left_child", left[at])?, next("right_child", right[at])?);
            nodes.push(Node {
                gain: gains[at],
                curvature: weights[at],
                rows: rows[at] as u32,
                ..Node::new(features[at], test, missing_left, left, right)
            });
        }
        self.checked(Tree { nodes, leaves: values }, width)
    }

    fn checked(&self, tree: Tree, width: usize) -> Result<Tree, ReadError> {
        tree.check(width).map_err(|error| {
            let found = format!("{}: {}", self.name, error.what);
            ReadError::data(self.file, found, error.expected).at_line(self.line)
        })?;
        Ok(tree)
    }

    fn test(
        &self,
        at: usize,
        decision: u8,
        threshold: f64,
        sets: &[Categories],
    ) -> Result<(Test, bool), ReadError> {
        if decision & 1 == 1 {
            let set = (threshold >= 0.0 && threshold.fract() == 0.0)
                .then(|| sets.get(threshold as usize))
                .flatten();
            let set = set.ok_or_else(|| {
                let expected = format!("the number of one of {} sets of categories", sets.len());
                self.error("threshold", format!("{threshold} at node {at}"), expected)
            })?;
            return Ok((Test::In(set.clone()), false));
        }
        if threshold.is_nan() {
            return Err(self.error("threshold", format!("not a number at node {at}"), "numbers"));
        }
        let test = Test::AtMost(round_down(threshold));
        let zero_left = 0.0 <= threshold;
        let default_left = decision & 2 != 0;
        match decision >> 2 & 3 {
            0 => Ok((test, zero_left)),
            // Zero is what lies within ±ZERO; here the threshold separates it from one side only.
            1 if threshold.abs() <= f64::from(ZERO) => {
                let threshold = if default_left { ZERO } else { (-ZERO).next_down() };
                Ok((Test::AtMost(threshold), default_left))
            }
            1 if default_left == zero_left => Ok((test, default_left)),
            1 => Err(self.error(
                "decision_type",
                format!("{decision} at node {at}: zeros go to the other side than their neighbours"),
                "a model trained without zero_as_missing",
            )),
            2 => Ok((test, default_left)),
            _ => Err(self.error("decision_type", format!("{decision} at node {at}"), "bits 2 and 3 below 3")),
        }
    }

    /// The sets of categories.
    fn sets(&self) -> Result<Vec<Categories>, ReadError> {
        let count: usize = self.one_or("num_cat", 0, "a whole number")?;
        if count == 0 {
            return Ok(Vec::new());
        }
        // Counted before anything of that size is made.
        let bounds: Vec<usize> = self.many("cat_boundaries", count.saturating_add(1), "a whole number")?;
        let words: Vec<u32> =
            self.many("cat_threshold", bounds.last().copied().unwrap_or(0), "a whole number below 2^32")?;
        if bounds[0] != 0 || bounds.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(self.error("cat_boundaries", "not ascending from 0", "ascending numbers from 0 on"));
        }
        if bounds.windows(2).any(|pair| pair[1] - pair[0] > 1 << 27) {
            return Err(self.error("cat_boundaries", "a set beyond 2^32", "categories below 2^32"));
        }
        let members = |words: &[u32]| {
            let of_word = |(w, &word): (usize, &u32)| {
                (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| w as u32 * 32 + bit)
            };
            words.iter().enumerate().flat_map(of_word).collect::<Vec<_>>()
        };
        Ok(bounds.windows(2).map(|pair| members(&words[pair[0]..pair[1]]).into_iter().collect()).collect())
    }
}

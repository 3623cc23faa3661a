//! Reads the text model.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use toprank_data::ReadError;
use toprank_data::error::show;

use super::ZERO;
use super::zero::{BELOW_ZERO, around_zeros};
use crate::ensemble::Ensemble;
use crate::interop::Imported;
use crate::interop::shape::{MOST_FEATURES, round_down};
use crate::interop::unfold::NodeBudget;
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
    let mut budget = NodeBudget::default();
    let mut ended = false;
    for (number, line) in lines {
        if line == "end of trees" {
            ended = true;
            break;
        }
        if line.starts_with("Tree=") {
            match block.take() {
                Some(block) => trees.push(block.tree(width, &mut budget)?),
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
        Some(block) => trees.push(block.tree(width, &mut budget)?),
        None => width = header.width()?,
    }
    header.imported(width, trees)
}

/// What counts as missing: bits 2 and 3 of `decision_type`.
const MISSING_NONE: u8 = 0;
const MISSING_ZERO: u8 = 1;
const MISSING_NAN: u8 = 2;

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
        let last: usize = self.one("max_feature_idx", "an integer from 0 on")?;
        match last < MOST_FEATURES {
            true => Ok(last + 1),
            false => Err(self.error("max_feature_idx", last, format!("below {MOST_FEATURES}"))),
        }
    }

    fn imported(&self, width: usize, mut trees: Vec<Tree>) -> Result<Imported, ReadError> {
        let classes: usize = self.one_or("num_class", 1, "an integer")?;
        let outputs: usize = self.one_or("num_tree_per_iteration", classes, "an integer")?;
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

    fn tree(&self, width: usize, budget: &mut NodeBudget) -> Result<Tree, ReadError> {
        let leaves: usize = self.one("num_leaves", "an integer from 1 on")?;
        if self.one_or("is_linear", 0u8, "0 or 1")? != 0 {
            return Err(self.error("is_linear", 1, "0: linear models in leaves are not read"));
        }
        if leaves == 0 {
            return Err(self.error("num_leaves", leaves, "an integer from 1 on"));
        }
        let values: Vec<f64> = self.many("leaf_value", leaves, "a number")?;
        if leaves == 1 {
            return self.checked(Tree { nodes: Vec::new(), leaves: values }, width);
        }
        let count = leaves - 1;
        let features: Vec<u32> = self.many("split_feature", count, "an integer from 0 on")?;
        let thresholds: Vec<f64> = self.many("threshold", count, "a number")?;
        let left: Vec<i64> = self.many("left_child", count, "an integer")?;
        let right: Vec<i64> = self.many("right_child", count, "an integer")?;
        let optional = |key: &str| self.fields.contains_key(key);
        let decisions = match optional("decision_type") {
            true => self.many("decision_type", count, "an integer from 0 to 255")?,
            false => vec![0u8; count],
        };
        // Statistics do not change scores: a file may have them or not.
        let statistic = |key: &str| match optional(key) {
            true => self.many(key, count, "a number"),
            false => Ok(vec![0.0f64; count]),
        };
        let (gains, weights, rows) =
            (statistic("split_gain")?, statistic("internal_weight")?, statistic("internal_count")?);
        let mut sets = self.sets()?;
        let mut nodes = Vec::with_capacity(count);
        let mut around_zero = vec![false; count];
        for at in 0..count {
            let next = |key: &str, child: i64| {
                let leaf = if child < 0 { Some(-1 - child) } else { None };
                let place = u32::try_from(leaf.unwrap_or(child));
                let place = place.map_err(|_| self.error(key, child, "a node or leaf of the tree"))?;
                Ok::<_, ReadError>(if leaf.is_some() { Next::Leaf(place) } else { Next::Node(place) })
            };
            let (test, missing_left) = self.test(at, decisions[at], thresholds[at], &mut sets)?;
            around_zero[at] = decisions[at] & 1 == 0
                && decisions[at] >> 2 & 3 == MISSING_ZERO
                && matches!(test, Test::AtMost(threshold) if (0.0 <= threshold) != missing_left);
            let (left, right) = (next("left_child", left[at])?, next("right_child", right[at])?);
            nodes.push(Node {
                gain: gains[at],
                hessian: weights[at],
                rows: rows[at] as u32,
                ..Node::new(features[at], test, missing_left, left, right)
            });
        }
        let tree = self.checked(Tree { nodes, leaves: values }, width)?;
        if !around_zero.contains(&true) {
            return Ok(tree);
        }
        let unfolded = around_zeros(&tree, &around_zero, budget);
        unfolded.ok_or_else(|| {
            let found = "too many zeros above each other that go to the other side than their neighbours";
            self.error("decision_type", found, "a model trained without zero_as_missing")
        })
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
        sets: &mut [Option<Categories>],
    ) -> Result<(Test, bool), ReadError> {
        if decision & 1 == 1 {
            let set = (threshold >= 0.0 && threshold.fract() == 0.0)
                .then(|| sets.get_mut(threshold as usize).and_then(Option::take))
                .flatten();
            let set = set.ok_or_else(|| {
                let expected = format!("the number of one of {} sets of categories, each once", sets.len());
                self.error("threshold", format!("{threshold} at node {at}"), expected)
            })?;
            return Ok((Test::In(set), false));
        }
        if threshold.is_nan() {
            return Err(self.error("threshold", format!("not a number at node {at}"), "numbers"));
        }
        let test = Test::AtMost(round_down(threshold));
        let default_left = decision & 2 != 0;
        match decision >> 2 & 3 {
            MISSING_NONE => Ok((test, 0.0 <= threshold)),
            // Zero is what lies within ±ZERO; here the threshold separates it from one side only.
            MISSING_ZERO if threshold.abs() <= f64::from(ZERO) => {
                let threshold = if default_left { ZERO } else { BELOW_ZERO };
                Ok((Test::AtMost(threshold), default_left))
            }
            MISSING_ZERO | MISSING_NAN => Ok((test, default_left)),
            _ => Err(self.error("decision_type", format!("{decision} at node {at}"), "bits 2 and 3 below 3")),
        }
    }

    /// The sets of categories.
    fn sets(&self) -> Result<Vec<Option<Categories>>, ReadError> {
        let count: usize = self.one_or("num_cat", 0, "an integer")?;
        if count == 0 {
            return Ok(Vec::new());
        }
        // Counted before anything of that size is made.
        let bounds: Vec<usize> = self.many("cat_boundaries", count.saturating_add(1), "an integer")?;
        let words: Vec<u32> =
            self.many("cat_threshold", bounds.last().copied().unwrap_or(0), "an integer below 2^32")?;
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
        let set = |pair: &[usize]| Some(members(&words[pair[0]..pair[1]]).into_iter().collect());
        Ok(bounds.windows(2).map(set).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    /// Arrays of a tree as the file has them.
    struct Arrays {
        features: Vec<usize>,
        thresholds: Vec<f64>,
        decisions: Vec<u8>,
        left: Vec<i64>,
        right: Vec<i64>,
    }

    impl Arrays {
        /// A tree of `nodes` nodes, each hung below a random branch; all kinds of missing values.
        fn draw(nodes: usize, seed: u64) -> Arrays {
            let mut random = Stream::new(seed, "trees of the tests").open();
            let thresholds = [-2.0, -1e-36, 0.0, 1e-36, f64::from(ZERO), 2e-35, 0.5, 3.0, -0.5];
            let mut arrays = Arrays {
                features: (0..nodes).map(|_| random.below(2)).collect(),
                thresholds: (0..nodes).map(|_| thresholds[random.below(thresholds.len())]).collect(),
                decisions: (0..nodes).map(|_| [0, 2, 4, 6, 8, 10][random.below(6)]).collect(),
                left: vec![0; nodes],
                right: vec![0; nodes],
            };
            let mut open = vec![(0, true), (0, false)];
            for at in 0..nodes {
                if at > 0 {
                    let (parent, left) = open.swap_remove(random.below(open.len()));
                    *arrays.side(parent, left) = at as i64;
                    open.extend([(at, true), (at, false)]);
                }
            }
            for (leaf, (parent, left)) in open.into_iter().enumerate() {
                *arrays.side(parent, left) = -1 - leaf as i64;
            }
            arrays
        }

        fn side(&mut self, parent: usize, left: bool) -> &mut i64 {
            if left { &mut self.left[parent] } else { &mut self.right[parent] }
        }

        fn text(&self) -> String {
            fn row<T: Display>(key: &str, values: impl IntoIterator<Item = T>) -> String {
                let words: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
                format!("{key}={}\n", words.join(" "))
            }
            let leaves = self.features.len() + 1;
            [
                format!("tree\nmax_feature_idx=1\n\nTree=0\nnum_leaves={leaves}\n"),
                row("split_feature", &self.features),
                row("threshold", self.thresholds.iter().map(|threshold| format!("{threshold:?}"))),
                row("decision_type", &self.decisions),
                row("left_child", &self.left),
                row("right_child", &self.right),
                row("leaf_value", 0..leaves),
                "\nend of trees\n".into(),
            ]
            .concat()
        }

        /// The leaf by the words of LightGBM's `NumericalDecision`.
        fn leaf(&self, row: &[f32]) -> i64 {
            let mut at = 0;
            loop {
                let mut value = f64::from(row[self.features[at]]);
                let missing = self.decisions[at] >> 2 & 3;
                if value.is_nan() && missing != MISSING_NAN {
                    value = 0.0;
                }
                let is_zero = value.abs() <= f64::from(ZERO);
                let left = if missing == MISSING_ZERO && is_zero || missing == MISSING_NAN && value.is_nan() {
                    self.decisions[at] & 2 != 0
                } else {
                    value <= self.thresholds[at]
                };
                let next = if left { self.left[at] } else { self.right[at] };
                if next < 0 {
                    return -1 - next;
                }
                at = next as usize;
            }
        }
    }

    #[test]
    fn every_kind_of_missing_values_leads_where_lightgbm_goes() {
        let values =
            [f32::NAN, 0.0, -0.0, ZERO, -ZERO, 2e-35, -2e-35, 0.25, 0.5, 3.0, 4.0, -0.5, -1.0, -2.0, -3.0];
        let mut unfolded = 0;
        for seed in 0..300 {
            let arrays = Arrays::draw(1 + seed as usize % 9, seed);
            let model = read("model.txt", arrays.text().as_bytes()).unwrap().ensemble;
            unfolded += usize::from(model.trees[0].nodes.len() > arrays.features.len());
            for a in values {
                for b in values {
                    // Before any test LightGBM takes what is within ±ZERO for 0; nothing else is promised of it.
                    let seen = [a, b].map(|value| super::super::sees(value, false));
                    let mut score = [0.0];
                    model.score_row(&seen, &mut score);
                    assert_eq!(score[0] as i64, arrays.leaf(&seen), "{seed}: {a} {b}\n{}", arrays.text());
                }
            }
        }
        assert!(unfolded > 50, "{unfolded} trees have zeros that go elsewhere than their neighbours");
    }

    #[test]
    fn zeros_that_go_elsewhere_again_and_again_are_refused_before_they_fill_the_memory() {
        let mut arrays = Arrays::draw(1, 0);
        let nodes = 60;
        arrays.features = vec![0; nodes];
        arrays.thresholds = vec![0.5; nodes];
        arrays.decisions = vec![4; nodes];
        arrays.left = (1..=nodes as i64).map(|next| if next < nodes as i64 { next } else { -1 }).collect();
        arrays.right = (0..nodes as i64).map(|leaf| -2 - leaf).collect();
        let error = read("model.txt", arrays.text().as_bytes()).unwrap_err().to_string();
        assert!(error.contains("zero_as_missing"), "{error}");
    }

    #[test]
    fn a_set_named_twice_is_refused() {
        let text = "tree\nmax_feature_idx=0\n\nTree=0\nnum_leaves=3\nnum_cat=1\nsplit_feature=0 0\nthreshold=0 0\n\
                    decision_type=1 1\nleft_child=1 -1\nright_child=-2 -3\nleaf_value=1 2 3\ncat_boundaries=0 1\n\
                    cat_threshold=5\n\nend of trees\n";
        let error = read("model.txt", text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("each once"), "{error}");
        assert!(read("model.txt", text.replace("type=1 1", "type=1 2").as_bytes()).is_ok());
    }
}

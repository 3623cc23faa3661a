//! Reads the JSON model.

use std::fmt::Display;

use serde::Deserialize;
use toprank_data::ReadError;

use crate::ensemble::Ensemble;
use crate::interop::Imported;
use crate::interop::shape::MOST_FEATURES;
use crate::interop::unfold::{NodeBudget, unfold};
use crate::tree::{Categories, Next, Node, Test, Tree};

#[derive(Deserialize)]
struct Model {
    learner: Learner,
}

#[derive(Deserialize)]
struct Learner {
    #[serde(default)]
    feature_names: Vec<String>,
    gradient_booster: Booster,
    #[serde(rename = "learner_model_param")]
    param: Param,
    objective: Objective,
}

/// A tree booster, or one with dropped trees, which wraps it.
#[derive(Deserialize)]
struct Booster {
    name: String,
    model: Option<Trees>,
    gbtree: Option<Wrapped>,
    weight_drop: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Wrapped {
    model: Trees,
}

#[derive(Deserialize)]
struct Trees {
    // Other boosters have neither; they are named in the error.
    #[serde(default)]
    tree_info: Vec<usize>,
    #[serde(default)]
    trees: Vec<JsonTree>,
}

#[derive(Deserialize)]
struct Param {
    base_score: String,
    num_feature: String,
    #[serde(default)]
    num_class: Option<String>,
    #[serde(default)]
    num_target: Option<String>,
}

#[derive(Deserialize)]
struct Objective {
    name: String,
}

#[derive(Deserialize)]
struct TreeParam {
    #[serde(default)]
    size_leaf_vector: Option<String>,
}

#[derive(Deserialize)]
struct JsonTree {
    #[serde(default)]
    categories: Vec<u32>,
    #[serde(default)]
    categories_nodes: Vec<usize>,
    #[serde(default)]
    categories_segments: Vec<usize>,
    #[serde(default)]
    categories_sizes: Vec<usize>,
    default_left: Vec<Flag>,
    left_children: Vec<i32>,
    #[serde(default)]
    loss_changes: Vec<f32>,
    right_children: Vec<i32>,
    split_conditions: Vec<f32>,
    split_indices: Vec<u32>,
    #[serde(default)]
    split_type: Vec<u8>,
    #[serde(default)]
    sum_hessian: Vec<f32>,
    tree_param: TreeParam,
}

/// `0`, `1`, `false` or `true`: older files have strings.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Flag {
    Word(bool),
    Number(u8),
}

impl Flag {
    fn is_set(self) -> bool {
        matches!(self, Flag::Word(true) | Flag::Number(1..))
    }
}

pub(super) fn read(file: &str, bytes: &[u8]) -> Result<Imported, ReadError> {
    let error = |found: String, expected: &str| ReadError::data(file, found, expected);
    let model: Model = serde_json::from_slice(bytes).map_err(|problem| {
        error(problem.to_string(), "a JSON model of XGBoost")
            .at_line(problem.line() as u64)
            .advice("Save it with booster.save_model(\"model.json\"); UBJSON and dumps are not read.")
    })?;
    let Learner { feature_names, gradient_booster, param, objective } = model.learner;
    let number = |key: &str, text: &str| {
        let expected = format!("an integer up to {MOST_FEATURES}");
        let found = text.trim().parse().ok().filter(|&n| n <= MOST_FEATURES);
        found.ok_or_else(|| error(format!("learner_model_param.{key} is {text:?}"), &expected))
    };
    let width = number("num_feature", &param.num_feature)?;
    let classes = param.num_class.as_deref().map_or(Ok(0), |text| number("num_class", text))?;
    let targets = param.num_target.as_deref().map_or(Ok(1), |text| number("num_target", text))?;
    let outputs = classes.max(targets).max(1);
    let Booster { name, model, gbtree, weight_drop } = gradient_booster;
    let (trees, drops) = match (name.as_str(), model, gbtree) {
        ("gbtree", Some(trees), _) => (trees, None),
        ("dart", _, Some(wrapped)) => (wrapped.model, weight_drop),
        _ => return Err(error(format!("a gradient_booster {name:?}"), "gbtree or dart with its trees")),
    };
    let Trees { tree_info, trees } = trees;
    if tree_info.len() != trees.len() {
        let found = format!("{} entries of tree_info for {} trees", tree_info.len(), trees.len());
        return Err(error(found, "one each"));
    }
    if drops.as_ref().is_some_and(|drops| drops.len() != trees.len()) {
        return Err(error("weight_drop of another length than trees".into(), "one number each"));
    }
    // A wrong number of classes must not take memory: there is a tree for each, or none at all.
    if outputs > trees.len().max(1) {
        return Err(error(format!("{} trees for {outputs} outputs", trees.len()), "a tree for each output"));
    }
    let mut budget = NodeBudget::default();
    let mut of_output: Vec<Vec<Tree>> = vec![Vec::new(); outputs];
    for (t, (json, &output)) in trees.iter().zip(&tree_info).enumerate() {
        let broken = |found: String, expected: String| error(format!("trees[{t}]: {found}"), &expected);
        let mut tree = json.tree(&mut budget).map_err(|(found, expected)| broken(found, expected))?;
        if let Some(drops) = &drops {
            tree.leaves.iter_mut().for_each(|leaf| *leaf *= drops[t]);
        }
        tree.check(width).map_err(|problem| broken(problem.what, problem.expected))?;
        let trees = of_output.get_mut(output);
        trees
            .ok_or_else(|| broken(format!("tree_info is {output}"), format!("a number below {outputs}")))?
            .push(tree);
    }
    let base = base_score(file, &param.base_score, &objective.name, outputs)?;
    let trees = take_turns(of_output);
    let ensemble = Ensemble { width, outputs, base, trees };
    ensemble.check().map_err(|problem| error(problem.what, &problem.expected))?;
    if !feature_names.is_empty() && feature_names.len() != width {
        return Err(error(format!("{} feature_names", feature_names.len()), "as many as num_feature says"));
    }
    Ok(Imported { ensemble, names: feature_names, objective: Some(objective.name) })
}

/// Round after round, one tree per output. Where outputs have different numbers of trees, the short ones get empty trees.
fn take_turns(of_output: Vec<Vec<Tree>>) -> Vec<Tree> {
    let rounds = of_output.iter().map(Vec::len).max().unwrap_or(0);
    let mut queues: Vec<_> = of_output.into_iter().map(Vec::into_iter).collect();
    let mut trees = Vec::new();
    for _ in 0..rounds {
        trees.extend(queues.iter_mut().map(|queue| queue.next().unwrap_or_else(|| Tree::constant(0.0))));
    }
    trees
}

/// What each output starts from, before the objective's link: `0.5`, `[0.5]`, `[0.1,0.2,0.7]`.
fn base_score(file: &str, text: &str, objective: &str, outputs: usize) -> Result<Vec<f64>, ReadError> {
    let wrong = |expected: &str| ReadError::data(file, format!("base_score is {text:?}"), expected);
    let inside = text.trim().trim_start_matches('[').trim_end_matches(']');
    let mut bases: Vec<f64> = Vec::new();
    for word in inside.split(',').take(outputs + 1) {
        let base: f32 = word.trim().parse().map_err(|_| wrong("a number, or numbers in brackets"))?;
        bases.push(f64::from(base));
    }
    if bases.len() == 1 {
        bases = vec![bases[0]; outputs];
    }
    if bases.len() != outputs {
        return Err(wrong("one number, or one for each output"));
    }
    let link: fn(f64) -> f64 = match objective {
        "binary:logistic" | "reg:logistic" => |p| -(1.0 / p - 1.0).ln(),
        "count:poisson" | "reg:gamma" | "reg:tweedie" | "survival:cox" | "survival:aft" => f64::ln,
        name if name.starts_with("rank:") || name.starts_with("multi:") => |base| base,
        "reg:squarederror"
        | "reg:absoluteerror"
        | "reg:pseudohubererror"
        | "reg:quantileerror"
        | "reg:expectileerror"
        | "reg:squaredlogerror"
        | "binary:hinge"
        | "binary:logitraw" => |base| base,
        other => {
            let found = format!("objective {other:?}, whose base_score has an unknown meaning");
            return Err(ReadError::data(file, found, "an objective of XGBoost 1 to 3 over trees"));
        }
    };
    for base in &mut bases {
        *base = link(*base);
    }
    match bases.iter().all(|base| base.is_finite()) {
        true => Ok(bases),
        false => Err(wrong(&format!("a number in the range of {objective}"))),
    }
}

/// A place of the file that becomes a node: all of it, or what is left of a node of categories when the missing values
/// are sorted out.
#[derive(Clone, Copy)]
enum Item {
    Whole(usize),
    Known(usize),
}

/// What was found, what was expected.
type Wrong = (String, String);

fn wrong<T>(found: impl Display, expected: impl Display) -> Result<T, Wrong> {
    Err((found.to_string(), expected.to_string()))
}

impl JsonTree {
    /// The nodes that can be reached, in order of breadth: children may stand before their parents in the file.
    fn tree(&self, budget: &mut NodeBudget) -> Result<Tree, Wrong> {
        let count = self.left_children.len();
        if self.tree_param.size_leaf_vector.as_deref().is_some_and(|size| !matches!(size, "0" | "1" | "")) {
            return wrong("leaves of several numbers", "trees with one number in each leaf");
        }
        let lengths = [
            ("right_children", self.right_children.len()),
            ("split_conditions", self.split_conditions.len()),
            ("split_indices", self.split_indices.len()),
            ("default_left", self.default_left.len()),
        ];
        if let Some((name, found)) = lengths.into_iter().find(|&(_, found)| found != count) {
            return wrong(format!("{found} {name}"), format!("{count}, as left_children"));
        }
        if count == 0 {
            return wrong("no node", "at least a leaf");
        }
        self.check_ways()?;
        let sets = self.sets()?;
        let leaf = |item: Item| match item {
            Item::Whole(at) if self.left_children[at] < 0 => Some(f64::from(self.split_conditions[at])),
            _ => None,
        };
        let node = |item, next: &mut dyn FnMut(Item) -> Next| self.node(item, next, &sets);
        match unfold(Item::Whole(0), leaf, node, count + self.categories.len(), budget)? {
            Some(tree) => Ok(tree),
            None => wrong(
                "too many nodes above each other that send missing categories to the named ones",
                "fewer: what is below each of them has to be repeated",
            ),
        }
    }

    /// Checks that the children of what can be reached are nodes, each reached once.
    fn check_ways(&self) -> Result<(), Wrong> {
        let count = self.left_children.len();
        let mut seen = vec![false; count];
        seen[0] = true;
        let mut open = vec![0usize];
        while let Some(at) = open.pop() {
            if self.left_children[at] < 0 {
                continue;
            }
            for child in [self.left_children[at], self.right_children[at]] {
                let child = usize::try_from(child).unwrap_or(usize::MAX);
                match seen.get_mut(child) {
                    Some(seen) if !*seen => *seen = true,
                    Some(_) => return wrong(format!("node {child} is reached twice"), "a tree"),
                    None => return wrong(format!("node {at} leads to {child}"), format!("below {count}")),
                }
                open.push(child);
            }
        }
        Ok(())
    }

    fn node(
        &self,
        item: Item,
        next: &mut dyn FnMut(Item) -> Next,
        sets: &[(usize, Categories)],
    ) -> Result<Node, Wrong> {
        let (Item::Whole(at) | Item::Known(at)) = item;
        // Checked: they are nodes.
        let (left, right) = (self.left_children[at] as usize, self.right_children[at] as usize);
        let (left, right) = (Item::Whole(left), Item::Whole(right));
        let (feature, condition) = (self.split_indices[at], self.split_conditions[at]);
        let default_left = self.default_left[at].is_set();
        let mut gain = self.loss_changes.get(at).copied().unwrap_or(0.0);
        let node = if self.split_type.get(at) == Some(&1) {
            let Ok(set) = sets.binary_search_by_key(&at, |set| set.0) else {
                return wrong(format!("node {at} without its categories"), "an entry of categories_nodes");
            };
            if !default_left && matches!(item, Item::Whole(_)) {
                // Missing values go with the named, which our sets do not say: they are sorted out before.
                gain = 0.0;
                let (known, missing) = (next(Item::Known(at)), next(right));
                Node::new(feature, Test::AtMost(f32::INFINITY), false, known, missing)
            } else {
                // The named go right there and left here.
                let (named, others) = (next(right), next(left));
                Node::new(feature, Test::In(sets[set].1.clone()), false, named, others)
            }
        } else if condition.is_nan() {
            return wrong(format!("split_conditions[{at}] is not a number"), "a number");
        } else if condition <= f32::MIN {
            // No number is below: all go right, here to the left.
            let (right, left) = (next(right), next(left));
            Node::new(feature, Test::AtMost(f32::INFINITY), !default_left, right, left)
        } else {
            let (left, right) = (next(left), next(right));
            Node::new(feature, Test::AtMost(condition.next_down()), default_left, left, right)
        };
        let hessian = self.sum_hessian.get(at).copied().unwrap_or(0.0);
        Ok(Node { gain: f64::from(gain), hessian: f64::from(hessian), ..node })
    }

    /// Nodes with categories and their sets, by node.
    fn sets(&self) -> Result<Vec<(usize, Categories)>, Wrong> {
        let count = self.categories_nodes.len();
        if self.categories_segments.len() != count || self.categories_sizes.len() != count {
            return wrong(
                "categories_nodes, categories_segments and categories_sizes of different lengths",
                "one entry for each node with categories",
            );
        }
        // Sets that overlap could take far more memory than the file.
        let members = self.categories_sizes.iter().fold(0usize, |sum, &size| sum.saturating_add(size));
        if members > self.categories.len() {
            let found = format!("categories_sizes of {members} together");
            return wrong(found, format!("at most the {} categories", self.categories.len()));
        }
        let mut sets = Vec::with_capacity(count);
        for i in 0..count {
            let (first, size) = (self.categories_segments[i], self.categories_sizes[i]);
            let Some(some) = first.checked_add(size).and_then(|end| self.categories.get(first..end)) else {
                return wrong(
                    format!("categories_segments[{i}] is {first}, its size {size}"),
                    format!("a part of the {} categories", self.categories.len()),
                );
            };
            sets.push((self.categories_nodes[i], some.iter().copied().collect()));
        }
        sets.sort_unstable_by_key(|set: &(usize, Categories)| set.0);
        Ok(sets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of nodes that send missing categories to the named ones, each with its own category.
    fn chain(nodes: usize) -> JsonTree {
        let numbers = |value: i64| vec![value; 2 * nodes + 1];
        let mut left = numbers(-1);
        let mut right = numbers(-1);
        for at in 0..nodes {
            (left[at], right[at]) = ((nodes + 1 + at) as i64, at as i64 + 1);
        }
        let json = serde_json::json!({
            "categories": (0..nodes).collect::<Vec<_>>(),
            "categories_nodes": (0..nodes).collect::<Vec<_>>(),
            "categories_segments": (0..nodes).collect::<Vec<_>>(),
            "categories_sizes": vec![1; nodes],
            "default_left": numbers(0), "left_children": left, "right_children": right,
            "split_conditions": (0..=2 * nodes).collect::<Vec<_>>(), "split_indices": numbers(0),
            "split_type": numbers(1), "tree_param": {},
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn missing_categories_go_with_the_named_and_what_would_fill_the_memory_is_refused() {
        let mut budget = NodeBudget::default();
        let tree = chain(3).tree(&mut budget).unwrap();
        // Places 4, 5 and 6 are the left children of 0, 1 and 2; place 3 is the end of the chain.
        for (value, expected) in [(f32::NAN, 3.0), (0.0, 5.0), (1.0, 4.0), (7.0, 4.0)] {
            assert_eq!(tree.value(&[value]), expected, "{value}");
        }
        let (found, _) = chain(60).tree(&mut budget).unwrap_err();
        assert!(found.contains("too many nodes"), "{found}");
        let mut overlapping = chain(3);
        overlapping.categories_sizes[0] = 3;
        assert!(overlapping.tree(&mut budget).unwrap_err().0.contains("categories_sizes of 5"));
    }

    #[test]
    fn bases_of_every_version_are_read_and_go_through_the_link_of_the_objective() {
        let base = |text, objective, outputs| base_score("model.json", text, objective, outputs).ok();
        for text in ["0", "0E0", "[0E0]", "[0]", " [0.0] "] {
            assert_eq!(base(text, "rank:ndcg", 1), Some(vec![0.0]), "{text}");
        }
        assert_eq!(base("5E-1", "binary:logistic", 1), Some(vec![0.0]));
        assert_eq!(base("[2.5E-1]", "binary:logitraw", 1), Some(vec![0.25]));
        assert_eq!(base("1", "count:poisson", 1), Some(vec![0.0]));
        assert_eq!(base("[1,2,3]", "multi:softprob", 3), Some(vec![1.0, 2.0, 3.0]));
        assert_eq!(base("[0.5]", "multi:softprob", 3), Some(vec![0.5; 3]));
        let broken = [("[1,2]", "multi:softprob"), ("x", "rank:ndcg"), ("0", "count:poisson"), ("1", "own")];
        for (text, objective) in broken {
            assert_eq!(base(text, objective, 3), None, "{text} {objective}");
        }
    }
}

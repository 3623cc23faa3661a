/*!
Rows on which a wrong export shows: each aims at one leaf of one tree, and its values are thresholds, their float
neighbours, missing values, zeros of both signs, the smallest and largest numbers, categories in and out of the sets.
*/

use std::collections::HashMap;

use toprank_core::Stream;
use toprank_data::Matrix;

use super::shape::categorical;
use crate::ensemble::Ensemble;
use crate::tree::{Next, Node, Test, Tree, category_of};

/// Values that any feature is tried with. NaN stands three times, so that missing values are frequent.
const EXTREMES: [f32; 17] = [
    f32::NAN,
    f32::NAN,
    f32::NAN,
    0.0,
    -0.0,
    1.0,
    -1.0,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    1e-35,
    1e-36,
];

/// Values that features with categories are tried with.
const ODD_CATEGORIES: [f32; 12] =
    [f32::NAN, f32::NAN, 0.0, -0.0, -0.5, -1.0, 0.9, 2.7, 31.5, 16_777_216.0, 2_147_483_648.0, f32::INFINITY];

/// `count` rows that test a model; the same for the same seed.
///
/// Row i aims at leaf i (counted over all trees, round and round): features on its path take values that lead there,
/// the others any. Cost: O(rows · (features + nodes and categories on the path + thresholds of their features)).
///
/// ```
/// use toprank_trees::{interop::probe_rows, Ensemble, Next, Node, Test, Tree};
/// let node = Node::new(0, Test::AtMost(0.5), true, Next::Leaf(0), Next::Leaf(1));
/// let model = Ensemble { trees: vec![Tree { nodes: vec![node], leaves: vec![0.0, 1.0] }], ..Ensemble::new(1, 1) };
/// let scores = model.score(&probe_rows(&model, 100, 0)).unwrap();
/// assert_eq!(scores.iter().sum::<f64>(), 50.0);
/// ```
pub fn probe_rows(ensemble: &Ensemble, count: usize, seed: u64) -> Matrix {
    let candidates = candidates(ensemble);
    let leaves: Vec<(usize, usize)> = (ensemble.trees.iter().enumerate())
        .flat_map(|(t, tree)| (0..tree.leaves.len()).map(move |leaf| (t, leaf)))
        .collect();
    let parents: Vec<Vec<Option<(usize, bool)>>> = ensemble.trees.iter().map(parents).collect();
    let mut values = Vec::with_capacity(count * ensemble.width);
    let stream = Stream::new(seed, "probe rows");
    // Where in `fitting` the values of each feature are; only those of the present path count.
    let mut place_of: Vec<Option<usize>> = vec![None; ensemble.width];
    for row in 0..count {
        let mut random = stream.at_step(row as u64).open();
        let start = values.len();
        values.extend(candidates.iter().map(|some| some[random.below(some.len())]));
        if leaves.is_empty() {
            continue;
        }
        // With fewer rows than leaves the leaves are spread over all trees.
        let aim = if count < leaves.len() { random.below(leaves.len()) } else { row % leaves.len() };
        let (t, leaf) = leaves[aim];
        let tree = &ensemble.trees[t];
        let way = way_to(&parents[t], tree.nodes.len() + leaf);
        let mut wanted: Vec<Wanted> = Vec::new();
        for &(at, left) in &way {
            let node = &tree.nodes[at];
            let place = *place_of[node.feature as usize].get_or_insert_with(|| {
                wanted.push(Wanted::default());
                wanted.len() - 1
            });
            wanted[place].add(node, left);
        }
        let mut fitting: Vec<Option<Vec<f32>>> = vec![None; wanted.len()];
        for &(at, _) in &way {
            let feature = tree.nodes[at].feature as usize;
            let Some(place) = place_of[feature] else { continue };
            let fitting = fitting[place].get_or_insert_with(|| {
                candidates[feature].iter().copied().filter(|&value| wanted[place].holds(value)).collect()
            });
            if !fitting.is_empty() {
                values[start + feature] = fitting[random.below(fitting.len())];
            }
        }
        for &(at, _) in &way {
            place_of[tree.nodes[at].feature as usize] = None;
        }
    }
    Matrix::Dense { width: ensemble.width, values }
}

/// The values of one feature that take all its branches of a path.
#[derive(Default)]
struct Wanted {
    /// Above all of these, of which the largest counts.
    above: Option<f32>,
    /// At most all of these, of which the least counts.
    at_most: Option<f32>,
    /// Whether some branch is not that of missing values.
    not_missing: bool,
    /// Sets of categories that the value must be in.
    sets: usize,
    /// How many of these sets each category is in; too many if it must not be in some set.
    in_sets: HashMap<u32, usize>,
}

impl Wanted {
    fn add(&mut self, node: &Node, left: bool) {
        self.not_missing |= node.goes_left(f32::NAN) != left;
        match &node.test {
            Test::AtMost(threshold) if left => {
                self.at_most = Some(self.at_most.map_or(*threshold, |least| least.min(*threshold)));
            }
            Test::AtMost(threshold) => {
                self.above = Some(self.above.map_or(*threshold, |most| most.max(*threshold)));
            }
            Test::In(some) => {
                self.sets += usize::from(left);
                for category in some.iter() {
                    let count = self.in_sets.entry(category).or_default();
                    *count = if left { count.saturating_add(1) } else { usize::MAX };
                }
            }
        }
    }

    fn holds(&self, value: f32) -> bool {
        if value.is_nan() {
            return !self.not_missing;
        }
        let count = category_of(value).and_then(|category| self.in_sets.get(&category)).copied().unwrap_or(0);
        self.above.is_none_or(|least| value > least)
            && self.at_most.is_none_or(|most| value <= most)
            && count == self.sets
    }
}

/// What each feature is tried with.
fn candidates(ensemble: &Ensemble) -> Vec<Vec<f32>> {
    let mut candidates: Vec<Vec<f32>> = categorical(ensemble)
        .iter()
        .map(|&categorical| if categorical { ODD_CATEGORIES.to_vec() } else { EXTREMES.to_vec() })
        .collect();
    for node in ensemble.trees.iter().flat_map(|tree| &tree.nodes) {
        let some = &mut candidates[node.feature as usize];
        match &node.test {
            Test::AtMost(threshold) => {
                some.extend([*threshold, threshold.next_down(), threshold.next_up()]);
            }
            Test::In(categories) => {
                some.extend(categories.iter().flat_map(|category| [category as f32, category as f32 + 1.0]));
            }
        }
    }
    for some in &mut candidates {
        let extremes = some.len().min(EXTREMES.len());
        let rest = &mut some[extremes..];
        rest.sort_unstable_by(f32::total_cmp);
        let mut kept: Vec<f32> = rest.to_vec();
        kept.dedup_by(|a, b| a.to_bits() == b.to_bits());
        some.truncate(extremes);
        some.append(&mut kept);
    }
    candidates
}

/// Who leads to each node and then to each leaf: the parent, and whether it is its left child.
fn parents(tree: &Tree) -> Vec<Option<(usize, bool)>> {
    let mut parents = vec![None; tree.nodes.len() + tree.leaves.len()];
    for (at, node) in tree.nodes.iter().enumerate() {
        for (next, left) in [(node.left, true), (node.right, false)] {
            let to = match next {
                Next::Node(child) => child as usize,
                Next::Leaf(leaf) => tree.nodes.len() + leaf as usize,
            };
            parents[to] = Some((at, left));
        }
    }
    parents
}

fn way_to(parents: &[Option<(usize, bool)>], place: usize) -> Vec<(usize, bool)> {
    let mut way = Vec::new();
    let mut at = place;
    while let Some((parent, left)) = parents[at] {
        way.push((parent, left));
        at = parent;
    }
    way
}

#[cfg(test)]
mod tests {
    use super::super::test_models::models;
    use super::*;
    use toprank_core::Features;

    #[test]
    fn every_leaf_that_can_be_reached_is_reached_and_every_threshold_is_hit_from_both_sides() {
        for (name, model) in models() {
            let rows = probe_rows(&model, 10_000, 1);
            let mut values = vec![0.0; rows.rows() * model.width];
            rows.gather(&(0..10_000).collect::<Vec<u32>>(), &mut values);
            for (t, tree) in model.trees.iter().enumerate() {
                let mut seen = vec![0; tree.leaves.len()];
                for row in values.chunks_exact(model.width) {
                    seen[tree.leaf(row)] += 1;
                }
                assert!(seen.iter().all(|&n| n > 0), "{name}: tree {t} {seen:?}");
                for node in &tree.nodes {
                    let Test::AtMost(threshold) = node.test else { continue };
                    let column = || values.iter().skip(node.feature as usize).step_by(model.width);
                    for value in [threshold, threshold.next_up(), threshold.next_down()] {
                        assert!(column().any(|v| v.to_bits() == value.to_bits()), "{name}: {value}");
                    }
                    assert!(column().any(|v| v.is_nan()));
                }
            }
        }
    }

    #[test]
    fn the_values_wanted_on_a_path_are_those_that_take_every_branch() {
        for (name, model) in models() {
            let candidates = candidates(&model);
            for tree in &model.trees {
                let parents = parents(tree);
                for leaf in 0..tree.leaves.len() {
                    let way = way_to(&parents, tree.nodes.len() + leaf);
                    for (feature, candidates) in candidates.iter().enumerate() {
                        let asked: Vec<(&Node, bool)> = way
                            .iter()
                            .map(|&(at, left)| (&tree.nodes[at], left))
                            .filter(|(node, _)| node.feature as usize == feature)
                            .collect();
                        let mut wanted = Wanted::default();
                        for (node, left) in &asked {
                            wanted.add(node, *left);
                        }
                        for &value in candidates {
                            let expected = asked.iter().all(|(node, left)| node.goes_left(value) == *left);
                            assert_eq!(wanted.holds(value), expected, "{name}: {value} of feature {feature}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_rows() {
        let (_, model) = models().remove(0);
        let text = |seed| format!("{:?}", probe_rows(&model, 50, seed));
        assert_eq!(text(3), text(3));
        assert_ne!(text(3), text(4));
    }
}

/*!
Exact tree SHAP: what each feature adds to a score, so that all of them add up to the score.

```text
v(S)   = E[score | the features in S]: a node asks them; at other nodes the row takes both branches, weighted by Cover
φ_f    = Σ_{S∌f} |S|!(n−|S|−1)!/n! · (v(S∪f) − v(S))          (Shapley's value)
score  = v(∅) + Σ_f φ_f
```

For one leaf, v is a product over the d features on its path: `v(S) = value·Π_{j∈S} o_j·Π_{j∉S} z_j`, where o_j is 1 if
the row passes the tests of j and 0 if not, and z_j is the fraction of rows that pass them. Shapley's weights are moments of a
uniform number t, so that

```text
φ_f = value·(o_f − z_f)·∫₀¹ Π_{j≠f} (t·o_j + (1−t)·z_j) dt
```

The integrand is a polynomial of degree d − 1: ⌈d/2⌉ points of Gauss and Legendre integrate it exactly. There are no
differences of large numbers and no division, where the usual recursion unwinds a path by dividing.

Source: Lundberg, Erion, Lee, "Consistent Individualized Feature Attribution for Tree Ensembles" (path-dependent variant);
Owen, "Multilinear extensions of games". Cost: O(leaves · d²) per tree and row.
*/

use rayon::prelude::*;
use toprank_core::{Features, ModelError};

use super::{Cover, check_fault, check_width};
use crate::ensemble::Ensemble;
use crate::tree::{Next, Tree};

/// Explains scores of an ensemble.
///
/// ```
/// use toprank_data::Matrix;
/// use toprank_trees::{Ensemble, Next, Node, Test, Tree, explain::{Cover, Shap}};
/// let node = Node::new(0, Test::AtMost(0.5), true, Next::Leaf(0), Next::Leaf(1));
/// let model = Ensemble { trees: vec![Tree { nodes: vec![node], leaves: vec![0.0, 4.0] }], ..Ensemble::new(2, 1) };
/// let rows = Matrix::Dense { width: 2, values: vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0] };
/// let shap = Shap::new(&model, &Cover::count(&model, &rows).unwrap()).unwrap();
/// let explained = shap.explain(&rows).unwrap();
/// assert_eq!(explained.expected, [1.0]); // a quarter of the rows scores 4
/// assert_eq!(explained.of(3, 0), [3.0, 0.0]); // 4 − 1, all of it by the first feature
/// ```
#[derive(Clone, Debug)]
pub struct Shap<'a> {
    ensemble: &'a Ensemble,
    trees: Vec<Vec<LeafPath>>,
    expected: Vec<f64>,
    /// Points and weights on [0, 1]; entry n − 1 has n of them.
    rules: Vec<Vec<(f64, f64)>>,
}

/// The path to a leaf, by feature.
#[derive(Clone, Debug)]
struct LeafPath {
    value: f64,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    feature: usize,
    /// Fraction of the rows that pass.
    fraction: f64,
    /// Nodes that test the feature, and whether the path goes left there.
    tests: Vec<(u32, bool)>,
}

/// Contribution of each feature to each score.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// Features per row.
    pub width: usize,
    /// The mean score of each output, over the rows of the cover.
    pub expected: Vec<f64>,
    /// Row after row, output after output, one number per feature.
    pub values: Vec<f64>,
}

impl Explained {
    /// What each feature added to an output of a row.
    ///
    /// # Panics
    /// If there is no such row or output.
    pub fn of(&self, row: usize, output: usize) -> &[f64] {
        let at = (row * self.expected.len() + output) * self.width;
        &self.values[at..at + self.width]
    }

    /// The mean of |value| of each feature, over rows and outputs.
    pub fn mean_sizes(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.width];
        let count = self.values.len() / self.width.max(1);
        for values in self.values.chunks_exact(self.width.max(1)) {
            mean.iter_mut().zip(values).for_each(|(mean, value)| *mean += value.abs() / count as f64);
        }
        mean
    }
}

/// Maximum number of features on the path to a leaf.
const MOST_STEPS: usize = 2048;
/// Rows explained by one task.
const BLOCK: usize = 64;

impl<'a> Shap<'a> {
    /// Prepares an ensemble; `cover` says how many rows go each path.
    pub fn new(ensemble: &'a Ensemble, cover: &Cover) -> Result<Shap<'a>, ModelError> {
        ensemble.check()?;
        cover.check(ensemble)?;
        let mut expected = ensemble.base.clone();
        let mut trees = Vec::with_capacity(ensemble.trees.len());
        for (t, tree) in ensemble.trees.iter().enumerate() {
            let (paths, mean) = paths(tree, cover.nodes(t), cover.leaves(t));
            expected[t % ensemble.outputs] += mean;
            trees.push(paths);
        }
        let most = trees.iter().flatten().map(|path| path.steps.len()).max().unwrap_or(0);
        if most > MOST_STEPS {
            let what = format!("{most} features on the path to a leaf");
            return Err(ModelError::new(what, format!("at most {MOST_STEPS}")));
        }
        let rules = (1..=most.div_ceil(2)).map(gauss_legendre).collect();
        Ok(Shap { ensemble, trees, expected, rules })
    }

    /// Explains all rows. The bytes do not depend on the number of threads.
    pub fn explain(&self, features: &dyn Features) -> Result<Explained, ModelError> {
        check_width(self.ensemble, features)?;
        let (width, outputs) = (self.ensemble.width, self.ensemble.outputs);
        let size = (width * outputs).max(1);
        let mut values = vec![0.0; features.rows() * width * outputs];
        values.par_chunks_mut(BLOCK * size).enumerate().for_each(|(block, values)| {
            let first = block * BLOCK;
            let rows: Vec<u32> = (first..first + values.len() / size).map(|row| row as u32).collect();
            let mut inputs = vec![0.0; rows.len() * width];
            features.gather(&rows, &mut inputs);
            let mut work = Work::default();
            for (input, values) in inputs.chunks_exact(width).zip(values.chunks_exact_mut(size)) {
                self.row(input, values, &mut work);
            }
        });
        check_fault(features)?;
        Ok(Explained { width, expected: self.expected.clone(), values })
    }

    fn row(&self, row: &[f32], values: &mut [f64], work: &mut Work) {
        let width = self.ensemble.width;
        for (t, (tree, paths)) in self.ensemble.trees.iter().zip(&self.trees).enumerate() {
            work.left.clear();
            work.left.extend(tree.nodes.iter().map(|node| node.goes_left(row[node.feature as usize])));
            let output = t % self.ensemble.outputs;
            let values = &mut values[output * width..(output + 1) * width];
            for path in paths.iter().filter(|path| !path.steps.is_empty()) {
                self.add(path, values, work);
            }
        }
    }

    /// Adds φ of one leaf.
    fn add(&self, path: &LeafPath, values: &mut [f64], work: &mut Work) {
        let d = path.steps.len();
        work.passed.clear();
        for step in &path.steps {
            let passed = step.tests.iter().all(|&(node, left)| work.left[node as usize] == left);
            work.passed.push(if passed { 1.0 } else { 0.0 });
        }
        work.integrals.clear();
        work.integrals.resize(d, 0.0);
        work.before.resize(d, 0.0);
        for &(t, weight) in &self.rules[d.div_ceil(2) - 1] {
            let factor = |j: usize| t * work.passed[j] + (1.0 - t) * path.steps[j].fraction;
            let mut product = weight;
            for j in 0..d {
                work.before[j] = product;
                product *= factor(j);
            }
            let mut behind = 1.0;
            for j in (0..d).rev() {
                work.integrals[j] += work.before[j] * behind;
                behind *= factor(j);
            }
        }
        for (j, step) in path.steps.iter().enumerate() {
            values[step.feature] += path.value * (work.passed[j] - step.fraction) * work.integrals[j];
        }
    }
}

/// Scratch memory of one task.
#[derive(Default)]
struct Work {
    left: Vec<bool>,
    passed: Vec<f64>,
    before: Vec<f64>,
    integrals: Vec<f64>,
}

/// The paths to all leaves, and the mean value over the cover.
fn paths(tree: &Tree, node_rows: &[u64], leaf_rows: &[u64]) -> (Vec<LeafPath>, f64) {
    if tree.nodes.is_empty() {
        return (vec![LeafPath { value: tree.leaves[0], steps: Vec::new() }], tree.leaves[0]);
    }
    let rows = |next: Next| match next {
        Next::Node(node) => node_rows[node as usize],
        Next::Leaf(leaf) => leaf_rows[leaf as usize],
    };
    let mut found = Vec::with_capacity(tree.leaves.len());
    let mut mean = 0.0;
    let mut open: Vec<(usize, Vec<Step>, f64)> = vec![(0, Vec::new(), 1.0)];
    while let Some((at, steps, reach)) = open.pop() {
        let node = &tree.nodes[at];
        for (next, left) in [(node.left, true), (node.right, false)] {
            // Without rows both sides have the same weight.
            let fraction = if node_rows[at] == 0 { 0.5 } else { rows(next) as f64 / node_rows[at] as f64 };
            let mut steps = steps.clone();
            let feature = node.feature as usize;
            match steps.iter_mut().find(|step| step.feature == feature) {
                Some(step) => {
                    step.fraction *= fraction;
                    step.tests.push((at as u32, left));
                }
                None => steps.push(Step { feature, fraction, tests: vec![(at as u32, left)] }),
            }
            match next {
                Next::Node(child) => open.push((child as usize, steps, reach * fraction)),
                Next::Leaf(leaf) => {
                    let value = tree.leaves[leaf as usize];
                    mean += value * reach * fraction;
                    found.push(LeafPath { value, steps });
                }
            }
        }
    }
    (found, mean)
}

/// The n points and weights that integrate polynomials of degree 2n − 1 over [0, 1] exactly: roots of Legendre's
/// polynomial by Newton's method.
fn gauss_legendre(n: usize) -> Vec<(f64, f64)> {
    (0..n)
        .map(|i| {
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (mut before, mut value) = (1.0, x);
                for k in 2..=n {
                    let k = k as f64;
                    (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
                }
                slope = n as f64 * (x * value - before) / (x * x - 1.0);
                let step = value / slope;
                x -= step;
                if step.abs() < 1e-16 {
                    break;
                }
            }
            (0.5 * (1.0 + x), 1.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::probe_rows;
    use crate::interop::test_models::{grown, models, rows};
    use crate::{Ensemble, Node, Test};
    use proptest::prelude::*;
    use toprank_data::Matrix;

    /// v(S) of one tree: the definition.
    fn value_plain(tree: &Tree, cover: (&[u64], &[u64]), row: &[f32], known: u32, next: Next) -> f64 {
        let at = match next {
            Next::Leaf(leaf) => return tree.leaves[leaf as usize],
            Next::Node(at) => at as usize,
        };
        let node = &tree.nodes[at];
        let side = |next| value_plain(tree, cover, row, known, next);
        if known >> node.feature & 1 == 1 {
            return side(if node.goes_left(row[node.feature as usize]) { node.left } else { node.right });
        }
        let rows = |next| match next {
            Next::Node(node) => cover.0[node as usize],
            Next::Leaf(leaf) => cover.1[leaf as usize],
        };
        let all = cover.0[at];
        let fraction = |next| if all == 0 { 0.5 } else { rows(next) as f64 / all as f64 };
        fraction(node.left) * side(node.left) + fraction(node.right) * side(node.right)
    }

    fn root(tree: &Tree) -> Next {
        if tree.nodes.is_empty() { Next::Leaf(0) } else { Next::Node(0) }
    }

    /// Shapley's value over all subsets.
    fn shap_plain(tree: &Tree, cover: (&[u64], &[u64]), row: &[f32], feature: usize) -> f64 {
        let n = row.len();
        let factorial = |k: usize| (1..=k).map(|i| i as f64).product::<f64>();
        let v = |known| value_plain(tree, cover, row, known, root(tree));
        (0..1u32 << n)
            .filter(|known| known >> feature & 1 == 0)
            .map(|known| {
                let size = known.count_ones() as usize;
                let weight = factorial(size) * factorial(n - size - 1) / factorial(n);
                weight * (v(known | 1 << feature) - v(known))
            })
            .sum()
    }

    fn equals_plain(model: &Ensemble, background: &Matrix, explained: &Matrix) {
        let cover = Cover::count(model, background).unwrap();
        let found = Shap::new(model, &cover).unwrap().explain(explained).unwrap();
        let Matrix::Dense { values, .. } = explained else { unreachable!() };
        let scores = model.score(explained).unwrap();
        for (r, row) in values.chunks_exact(model.width).enumerate() {
            for output in 0..model.outputs {
                let found_row = found.of(r, output);
                for (feature, &found) in found_row.iter().enumerate() {
                    let plain: f64 = (output..model.trees.len())
                        .step_by(model.outputs)
                        .map(|t| shap_plain(&model.trees[t], (cover.nodes(t), cover.leaves(t)), row, feature))
                        .sum();
                    assert!((found - plain).abs() < 1e-10, "row {r} feature {feature}: {found} {plain}");
                }
                let sum = found.expected[output] + found_row.iter().sum::<f64>();
                let score = scores[r * model.outputs + output];
                assert!((sum - score).abs() < 1e-10, "row {r}: {sum} {score}");
            }
        }
    }

    #[test]
    fn equals_the_sum_over_all_subsets_with_missing_values_categories_and_several_outputs() {
        for model in [grown(1, true), grown(2, false)] {
            equals_plain(&model, &rows(300), &rows(40));
        }
        for (_, model) in models() {
            equals_plain(&model, &probe_rows(&model, 60, 1), &probe_rows(&model, 8, 2));
        }
    }

    #[test]
    fn expected_is_the_mean_score_of_the_rows_of_the_cover() {
        let (model, rows) = (grown(1, true), rows(300));
        let shap = Shap::new(&model, &Cover::count(&model, &rows).unwrap()).unwrap();
        let mean = model.score(&rows).unwrap().iter().sum::<f64>() / 300.0;
        assert!((shap.expected[0] - mean).abs() < 1e-10);
    }

    #[test]
    fn a_long_way_adds_up() {
        // 60 features on one way: factorials of the definition would overflow long before.
        let width = 60;
        let nodes = (0..width)
            .map(|f| {
                let next = if f + 1 < width { Next::Node(f + 1) } else { Next::Leaf(width) };
                Node::new(f, Test::AtMost(0.5), true, Next::Leaf(f), next)
            })
            .collect();
        let tree = Tree { nodes, leaves: (0..=width).map(f64::from).collect() };
        let model = Ensemble { trees: vec![tree], ..Ensemble::new(width as usize, 1) };
        let background = probe_rows(&model, 4000, 3);
        let shap = Shap::new(&model, &Cover::count(&model, &background).unwrap()).unwrap();
        let some = probe_rows(&model, 200, 4);
        let (found, scores) = (shap.explain(&some).unwrap(), model.score(&some).unwrap());
        for (r, score) in scores.iter().enumerate() {
            let sum = found.expected[0] + found.of(r, 0).iter().sum::<f64>();
            assert!((sum - score).abs() < 1e-10, "row {r}: {sum} {score}");
        }
    }

    #[test]
    fn wrong_shapes_are_errors() {
        let model = grown(1, false);
        let other = Ensemble { trees: vec![Tree::constant(0.0)], ..Ensemble::new(4, 1) };
        let cover = Cover::count(&other, &rows(10)).unwrap();
        assert!(Shap::new(&model, &cover).is_err());
        let narrow = Matrix::Dense { width: 2, values: vec![0.0; 4] };
        assert!(Cover::count(&model, &narrow).is_err());
        assert!(Shap::new(&other, &cover).unwrap().explain(&narrow).is_err());
    }

    proptest! {
        #[test]
        fn points_integrate_powers_exactly(n in 1usize..40) {
            let rule = gauss_legendre(n);
            for power in 0..2 * n {
                let sum: f64 = rule.iter().map(|(x, w)| w * x.powi(power as i32)).sum();
                prop_assert!((sum - 1.0 / (power as f64 + 1.0)).abs() < 1e-13, "{power}: {sum}");
            }
        }
    }
}

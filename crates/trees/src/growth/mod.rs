//! One tree from gradient and Hessian.

mod grow;
mod histogram;
mod partition;
pub(crate) mod quantise;
mod search;
mod spent;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use toprank_core::ModelError;

pub(crate) use grow::{GrowthScratch, Task, grow};
pub use spent::{Part, Spent};

/// How one tree grows.
///
/// | field | default | range | meaning |
/// |---|---|---|---|
/// | `order` | leaf | | which leaf is split next |
/// | `leaves` | 31 | 2 … 65536 | maximum number of leaves |
/// | `depth` | 0 | 0 … | maximum depth; 0: no limit |
/// | `min_rows` | 20 | 0 … | minimum rows per leaf |
/// | `min_hessian` | 1e-3 | [0, ∞) | minimum Hessian sum of a leaf |
/// | `min_gain` | 0 | [0, ∞) | minimum loss reduction of a split |
/// | `l1`, `l2` | 0 | [0, ∞) | penalty on \|leaf\| and on ½·leaf² |
/// | `features` | 1 | (0, 1] | fraction of the features drawn for each tree |
/// | `node_features` | 1 | (0, 1] | fraction of those drawn for each node |
/// | `extra` | false | | one random threshold for each feature and node |
/// | `smooth` | 0 | [0, ∞) | how much the value of a leaf is drawn to that of the nodes above it |
/// | `max_delta` | 0 | [0, ∞) | maximum of \|leaf\| before the learning rate; 0: no limit |
/// | `monotone` | none | −1, 0, 1 each | monotone constraint of each feature: decreasing, none, increasing |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Growth {
    /// Which leaf is split next.
    pub order: Order,
    /// Maximum number of leaves.
    pub leaves: usize,
    /// Maximum depth: tests between root and leaf; 0: no limit.
    pub depth: usize,
    /// Minimum rows per leaf.
    pub min_rows: u32,
    /// Minimum Hessian sum of a leaf.
    pub min_hessian: f64,
    /// A split must lower the loss (its quadratic approximation) by more than this.
    pub min_gain: f64,
    /// Penalty on |leaf|.
    pub l1: f64,
    /// Penalty on ½·leaf².
    pub l2: f64,
    /// Fraction of the features drawn for each tree.
    pub features: f64,
    /// Fraction of the features of the tree drawn for each node.
    pub node_features: f64,
    /// Whether a node tries one random threshold of each feature instead of all (extremely randomised trees).
    pub extra: bool,
    /// The value v of a node below the root becomes (H·v + smooth·parent)/(H + smooth): few rows say less than many.
    pub smooth: f64,
    /// Maximum of |leaf| before the learning rate; 0: no limit.
    pub max_delta: f64,
    /// Monotone constraint of each feature. 1: the score increases with it, −1: it decreases, 0: none; empty: none at all.
    pub monotone: Vec<i8>,
    /// How categories are split.
    pub category: Category,
}

/// Which leaf is split next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The one whose split lowers the loss most, wherever it is.
    #[default]
    Leaf,
    /// The one nearest to the root, of those the one whose split lowers the loss most.
    Depth,
}

/// How categories are split: LightGBM's rule and defaults.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Category {
    /// Hessian added to each category where categories are sorted; default 10.
    pub smooth: f64,
    /// Added to `l2` in splits by category; default 10.
    pub l2: f64,
    /// Maximum number of categories in the set of a split; default 32.
    pub max: usize,
}

impl Default for Category {
    fn default() -> Category {
        Category { smooth: 10.0, l2: 10.0, max: 32 }
    }
}

impl Default for Growth {
    fn default() -> Growth {
        Growth {
            order: Order::Leaf,
            leaves: 31,
            depth: 0,
            min_rows: 20,
            min_hessian: 1e-3,
            min_gain: 0.0,
            l1: 0.0,
            l2: 0.0,
            features: 1.0,
            node_features: 1.0,
            extra: false,
            smooth: 0.0,
            max_delta: 0.0,
            monotone: Vec::new(),
            category: Category::default(),
        }
    }
}

impl Growth {
    /// Checks the ranges, for rows of `width` features.
    pub fn check(&self, width: usize) -> Result<(), ModelError> {
        let wrong = |what: String, expected: &str| Err(ModelError::new(what, expected));
        if !(2..=MOST_LEAVES).contains(&self.leaves) {
            return wrong(format!("{} leaves", self.leaves), "2 to 65536 leaves");
        }
        let from_zero = [
            ("min_hessian", self.min_hessian),
            ("min_gain", self.min_gain),
            ("l1", self.l1),
            ("l2", self.l2),
            ("smooth", self.smooth),
            ("max_delta", self.max_delta),
            ("category smooth", self.category.smooth),
            ("category l2", self.category.l2),
        ];
        for (name, value) in from_zero {
            if !value.is_finite() || value < 0.0 {
                return wrong(format!("{name} is {value}"), "a finite number from 0 on");
            }
        }
        if let Some(wrong) = [self.features, self.node_features].iter().find(|f| !(**f > 0.0 && **f <= 1.0)) {
            return Err(ModelError::new(format!("a fraction of features of {wrong}"), "a number in (0, 1]"));
        }
        if !self.monotone.is_empty() && self.monotone.len() != width {
            return wrong(
                format!("{} monotone constraints for {width} features", self.monotone.len()),
                "none, or one for each feature",
            );
        }
        match self.monotone.iter().find(|&&sign| !(-1..=1).contains(&sign)) {
            Some(sign) => wrong(format!("a monotone constraint of {sign}"), "-1, 0 or 1"),
            None => Ok(()),
        }
    }
}

const MOST_LEAVES: usize = 65_536;

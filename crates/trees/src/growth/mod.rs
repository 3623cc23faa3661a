//! One tree from gradient and curvature.

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

pub(crate) use grow::{Room, Task, grow};
pub use spent::{Part, Spent};

/// How one tree grows.
///
/// | field | default | range | meaning |
/// |---|---|---|---|
/// | `order` | leaf | | which leaf is split next |
/// | `leaves` | 31 | 2 … | most leaves |
/// | `depth` | 0 | 0 … | most tests on the way to a leaf; 0: no limit |
/// | `least_rows` | 20 | 0 … | fewest rows of a leaf |
/// | `least_curvature` | 1e-3 | [0, ∞) | least sum of curvatures of a leaf |
/// | `least_gain` | 0 | [0, ∞) | a split must lower the loss by more than this |
/// | `l1`, `l2` | 0 | [0, ∞) | penalty on \|leaf\| and on ½·leaf² |
/// | `features` | 1 | (0, 1] | share of the features drawn for each tree |
/// | `monotone` | none | −1, 0, 1 each | whether the score may only fall or rise with a feature |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Growth {
    /// Which leaf is split next.
    pub order: Order,
    /// Most leaves.
    pub leaves: usize,
    /// Most tests on the way to a leaf; 0: no limit.
    pub depth: usize,
    /// Fewest rows of a leaf.
    pub least_rows: u32,
    /// Least sum of curvatures of a leaf.
    pub least_curvature: f64,
    /// A split must lower the loss (of the tree's quadratic model) by more than this.
    pub least_gain: f64,
    /// Penalty on |leaf|.
    pub l1: f64,
    /// Penalty on ½·leaf².
    pub l2: f64,
    /// Share of the features drawn for each tree.
    pub features: f64,
    /// For each feature 1: the score may only rise with it, −1: only fall, 0: no matter; empty: no matter.
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
    /// Curvature added to each category where they are put in order, 10 by default.
    pub smooth: f64,
    /// Added to `l2` where leaves are cut off by category, 10 by default.
    pub l2: f64,
    /// Most categories on the side that names them, 32 by default.
    pub most: usize,
}

impl Default for Category {
    fn default() -> Category {
        Category { smooth: 10.0, l2: 10.0, most: 32 }
    }
}

impl Default for Growth {
    fn default() -> Growth {
        Growth {
            order: Order::Leaf,
            leaves: 31,
            depth: 0,
            least_rows: 20,
            least_curvature: 1e-3,
            least_gain: 0.0,
            l1: 0.0,
            l2: 0.0,
            features: 1.0,
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
            return wrong(format!("{} leaves", self.leaves), "leaves from 2 to 65536");
        }
        let from_zero = [
            ("least_curvature", self.least_curvature),
            ("least_gain", self.least_gain),
            ("l1", self.l1),
            ("l2", self.l2),
            ("category smooth", self.category.smooth),
            ("category l2", self.category.l2),
        ];
        for (name, value) in from_zero {
            if !value.is_finite() || value < 0.0 {
                return wrong(format!("{name} is {value}"), "a finite number from 0 on");
            }
        }
        if !(self.features > 0.0 && self.features <= 1.0) {
            return wrong(format!("a share of features of {}", self.features), "a number in (0, 1]");
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

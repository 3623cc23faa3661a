/*!
XGBoost: the JSON of `save_model("model.json")`, version 3.

What their files mean (`src/predictor`, `src/common/categorical.h`):

- a row goes left where `value < split_condition`, in `f32`: our `value ≤ t` is written as `value < next float above t`;
- the right child is looked for right behind the left one, wherever `right_children` points;
- missing values follow `default_left`;
- a category in the set goes **right**, all others left: children of such nodes are swapped. Negative values and those from
  2²⁴ on are no category there, also −0.5, which other tools take for 0;
- XGBoost's own models mostly send missing categories right, with the named ones: reading makes two nodes of such a node;
- leaves are `f32`; `base_score` is in the space of the objective's output: through logit or logarithm for some;
- infinite values are refused when data is loaded.
*/

mod read;
mod write;

use super::{Format, Player};

/// The JSON model.
pub(crate) const JSON: Format = Format {
    name: "xgboost",
    extension: "json",
    about: "XGBoost's JSON model, also for Elasticsearch's and OpenSearch's plug-in",
    single: true,
    sees,
    write: write::write,
    read: Some(read::read),
    play: |bytes, _| {
        let ensemble = read::read("the written model", bytes)?.ensemble;
        let play: Player = Box::new(move |row| ensemble.trees.iter().map(|tree| tree.value(row)).collect());
        Ok(play)
    },
};

/// Categories below this: `f32` holds every integer up to it.
const MOST_CATEGORIES: u32 = 1 << 24;

/// The parent of a root.
const NOBODY: i32 = i32::MAX;

fn sees(value: f32, categorical: bool) -> f32 {
    if categorical && value < 0.0 { -1.0 } else { value.clamp(f32::MIN, f32::MAX) }
}

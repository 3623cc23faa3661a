/*!
LightGBM: the text model (version v4) and the JSON of `dump_model()`, which Vespa and eland read.

What their files mean (`Tree::NumericalDecision`, `CategoricalDecision` in LightGBM's `tree.h`):

- a row goes left where `value <= threshold`, in `f64`;
- bits of `decision_type`: 1 categories, 2 missing values go left, 4 and 8 what counts as missing (none, zero, NaN). Where
  it is not NaN, NaN counts as 0;
- where zero is missing (`zero_as_missing`) and goes to the other side than its neighbours, reading makes three nodes of one;
- a set of categories is a row of bits; the value's integer part is looked up, what is missing, negative or unknown goes right;
- with `average_output` (random forests) the score is the mean of the trees, taken before the link;
- before any test, a value within ±1e-35 is set to 0. A threshold of 0 therefore cannot tell such a value from 0 there.
*/

mod dump;
mod read;
mod text;
mod zero;

use super::{Format, Player};

/// The text model.
pub(crate) const TEXT: Format = Format {
    name: "lightgbm",
    extension: "txt",
    about: "LightGBM's text model",
    single: false,
    sees,
    write: text::write,
    read: Some(read::read),
    play: |bytes, _| {
        let ensemble = read::read("the written model", bytes)?.ensemble;
        let play: Player = Box::new(move |row| ensemble.trees.iter().map(|tree| tree.value(row)).collect());
        Ok(play)
    },
};

/// The JSON of `dump_model()`.
pub(crate) const DUMP: Format = Format {
    name: "lightgbm-json",
    extension: "json",
    about: "JSON of LightGBM's dump_model(), for Vespa and eland",
    single: false,
    sees: |value, categorical| sees(value, categorical).clamp(f32::MIN, f32::MAX),
    write: dump::write,
    read: None,
    play: |bytes, _| dump::play(bytes),
};

/// LightGBM's `kZeroThreshold`.
const ZERO: f32 = 1e-35;

/// Categories below this; a set takes a bit for each, written as text.
const MOST_CATEGORIES: u32 = 1 << 20;

fn sees(value: f32, _: bool) -> f32 {
    if value.abs() <= ZERO { 0.0 } else { value }
}

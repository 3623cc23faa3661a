/*!
Models that score rows of features: from settings and data to a model that ranks.

```text
Settings ─▶ data_defaults (what the data suggest) ─▶ Config ─▶ Job (transforms, views) ─▶ Trainer or Boost ─▶ Model
                                                     choice: which objective serves the metric
folds, calibration, run: what is done around it             predict: scores of data of any size
auto: a portfolio of such models on folds, blended
```
*/

pub mod auto;
pub mod boost;
pub mod calibration;
pub mod choice;
pub(crate) mod classes;
mod collapse;
pub mod config;
mod data_defaults;
pub mod explain;
mod first_scores;
pub mod folds;
pub mod forecast;
pub(crate) mod graph_model;
pub mod job;
pub mod json_list;
mod json_plain;
pub mod models;
pub(crate) mod position_bias;
pub mod predict;
pub mod run;
pub mod scoring;
#[cfg(test)]
mod tests;
pub mod trainer;
#[cfg(test)]
mod workers_tests;

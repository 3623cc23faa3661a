/*!
Feature transforms: fitted on training data, applied to any data with the same features, stored with a model.

| entry                        | value                                             | sparse data                      |
|------------------------------|---------------------------------------------------|----------------------------------|
| `log1p`                      | sign(x)·ln(1 + \|x\|)                             | stay sparse                      |
| `standardise[:centre=no]`    | (x − mean) / deviation; x / deviation             | become dense; `centre=no` not    |
| `minmax`                     | (x − min) / (max − min)                           | become dense unless every min is 0 |
| `robust`                     | (x − median) / interquartile range; where that is 0, 2 (x − median) / (max − min) | become dense unless every median is 0 |
| `smooth-clip[:bound=3]`      | x / √(1 + (x / bound)²)                           | stay sparse                      |
| `clip:low=0.01:high=0.99`    | x within these quantiles of the training data     | become dense if a bound excludes 0 |
| `clip:min=0:max=10`          | x within these bounds                             | the same                         |
| `per-list[:kind=minmax]`     | z-score or min–max within the list                | become dense                     |
| `missing:to=mean[:indicator=yes]` | a missing x becomes zero, mean or median (`keep`: stays); `indicator` adds a 0/1 column per feature with missing values in training | stay sparse |

Missing values stay missing in every step but `missing`. A constant feature becomes 0 (nothing is divided by 0). Means,
deviations, bounds and quantiles are those of the finite values; the deviation divides by n. Categorical features pass
unchanged. Sparse data that would take more than [`MOST_DENSE`] values are refused.

`robust,smooth-clip` is the preprocessing of RealMLP: Holzmüller, Grinsztajn, Steinwart, "Better by default: Strong pre-tuned MLPs and
boosted trees on tabular data", NeurIPS 2024, appendix A.1.

```
use toprank_core::Lists;
use toprank_data::{Dataset, Matrix, transform::{Pipeline, StepConfig}};
let data = |values: Vec<f32>| Dataset {
    lists: Lists::from_lengths(&[values.len()], vec![0.0; values.len()]),
    features: Matrix::Dense { width: 1, values },
    ..Dataset::default()
};
let steps = StepConfig::parse_all("missing:to=mean, minmax").unwrap();
let pipeline = Pipeline::fit(&data(vec![1.0, f32::NAN, 5.0]), &steps).unwrap();
let mut test = data(vec![2.0, f32::NAN]);
pipeline.apply(&mut test).unwrap();
assert_eq!(test.features, Matrix::Dense { width: 1, values: vec![0.25, 0.5] });
```

[`OnTheFly`] applies a fitted pipeline to rows while they are fetched, for data that stay on disk.
*/

mod config;
mod fit;
mod on_the_fly;
mod steps;

use serde::{Deserialize, Serialize};
use toprank_core::ParamError;

use crate::dataset::Dataset;
pub use config::{Clip, Fill, PerList, StepConfig, TRANSFORMS, Transform};
pub use on_the_fly::OnTheFly;
pub(crate) use on_the_fly::row_wise;
pub use steps::{MOST_DENSE, Step};

/// Fitted steps in the order in which they are applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipeline {
    /// Number of features before the first step.
    pub width: usize,
    /// The steps.
    pub steps: Vec<Step>,
}

impl Pipeline {
    /// Fits the steps to `train`, which stays as it is (a copy of its features is made).
    pub fn fit(train: &Dataset, configs: &[StepConfig]) -> Result<Pipeline, ParamError> {
        let mut copy = Dataset {
            lists: train.lists.clone(),
            features: train.features.clone(),
            columns: train.columns.clone(),
            ..Dataset::default()
        };
        Pipeline::fit_apply(&mut copy, configs)
    }

    /// Fits the steps to `train` and applies them to it, without a copy. On an error the steps before it are applied.
    pub fn fit_apply(train: &mut Dataset, configs: &[StepConfig]) -> Result<Pipeline, ParamError> {
        let mut pipeline = Pipeline { width: train.features.width(), steps: Vec::new() };
        for config in configs {
            let step = fit::fit(train, config);
            step.apply(train)?;
            pipeline.steps.push(step);
        }
        Ok(pipeline)
    }

    /// Applies the steps to `data`, in place. On an error the steps before it are applied.
    pub fn apply(&self, data: &mut Dataset) -> Result<(), ParamError> {
        self.check_width(data.features.width())?;
        self.steps.iter().try_for_each(|step| step.apply(data))
    }

    /// Number of features after the last step.
    pub fn width_after(&self) -> usize {
        self.width + self.steps.iter().map(|step| step.indicators().len()).sum::<usize>()
    }

    /// For each column after the last step the feature that it comes from.
    pub fn origins(&self) -> Vec<usize> {
        let mut origins: Vec<usize> = (0..self.width).collect();
        for step in &self.steps {
            let added: Vec<usize> = step
                .indicators()
                .iter()
                .map(|&of| origins.get(of as usize).copied().unwrap_or_default())
                .collect();
            origins.extend(added);
        }
        origins
    }

    /// True if a step looks at the whole list of a row.
    pub fn looks_at_lists(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::PerList { .. }))
    }

    fn check_width(&self, found: usize) -> Result<(), ParamError> {
        if found == self.width {
            return Ok(());
        }
        let expected = format!("{}, as in the training data", self.width);
        Err(ParamError::new("the number of features", &found.to_string(), &expected))
    }
}

#[cfg(test)]
mod tests;

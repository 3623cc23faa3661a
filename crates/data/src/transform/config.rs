//! Settings of transforms: the table of transforms and the grammar `name[:key=value]*`.

use serde::{Deserialize, Serialize};
use toprank_core::{Param, ParamError, Spec, catalog};

/// One kind of transform.
pub struct Transform {
    /// Name in the grammar.
    pub name: &'static str,
    /// One line for the listing.
    pub about: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    parse: fn(&Spec) -> Result<StepConfig, ParamError>,
}

/// Every transform.
pub static TRANSFORMS: &[Transform] = &[
    Transform { name: "log1p", about: "sign(x) ln(1 + |x|)", params: &[], parse: |_| Ok(StepConfig::Log1p) },
    Transform {
        name: "standardise",
        about: "scale to mean 0 and standard deviation 1",
        params: &[Param {
            name: "centre",
            default: "yes",
            range: "yes or no",
            about: "no: only divide by the standard deviation, which keeps sparse data sparse",
        }],
        parse: |spec| Ok(StepConfig::Standardise { centre: yes(spec, "centre", true)? }),
    },
    Transform {
        name: "minmax",
        about: "scale to 0 … 1 on the training data",
        params: &[],
        parse: |_| Ok(StepConfig::MinMax),
    },
    Transform {
        name: "robust",
        about: "subtract the median, divide by the interquartile range: extreme values do not set the scale",
        params: &[],
        parse: |_| Ok(StepConfig::Robust),
    },
    Transform {
        name: "smooth-clip",
        about: "x / sqrt(1 + (x / bound)^2): about x near 0, never beyond ±bound",
        params: &[Param { name: "bound", default: "3", range: "(0, ∞)", about: "limit of large values" }],
        parse: |spec| Ok(StepConfig::SmoothClip { bound: spec.args.positive("bound", 3.0)? }),
    },
    Transform {
        name: "clip",
        about: "clip to quantiles of the training data, or to bounds",
        params: &[
            Param { name: "low", default: "0.01", range: "0 to 1", about: "quantile of the lower end" },
            Param { name: "high", default: "0.99", range: "low to 1", about: "quantile of the upper end" },
            Param {
                name: "min",
                default: "none",
                range: "a number",
                about: "lower bound, instead of quantiles",
            },
            Param {
                name: "max",
                default: "none",
                range: "min or more",
                about: "upper bound, instead of quantiles",
            },
        ],
        parse: clip,
    },
    Transform {
        name: "per-list",
        about: "normalise each feature within its list",
        params: &[Param {
            name: "kind",
            default: "zscore",
            range: "zscore or minmax",
            about: "kind of normalisation",
        }],
        parse: |spec| match spec.args.get("kind").unwrap_or("zscore") {
            "zscore" => Ok(StepConfig::PerList(PerList::Zscore)),
            "minmax" => Ok(StepConfig::PerList(PerList::Minmax)),
            other => Err(ParamError::new("kind", other, "zscore or minmax")),
        },
    },
    Transform {
        name: "missing",
        about: "replace missing values",
        params: &[
            Param {
                name: "to",
                default: "keep",
                range: "keep, zero, mean or median",
                about: "its new value",
            },
            Param {
                name: "indicator",
                default: "no",
                range: "yes or no",
                about: "add a 0/1 column for each feature with missing values in training",
            },
        ],
        parse: |spec| {
            let to = match spec.args.get("to").unwrap_or("keep") {
                "keep" => Fill::Keep,
                "zero" => Fill::Zero,
                "mean" => Fill::Mean,
                "median" => Fill::Median,
                other => return Err(ParamError::new("to", other, "keep, zero, mean or median")),
            };
            Ok(StepConfig::Missing { to, indicator: yes(spec, "indicator", false)? })
        },
    },
];

/// A transform that is not fitted yet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum StepConfig {
    /// sign(x) ln(1 + |x|).
    Log1p,
    /// Mean 0, deviation 1.
    Standardise {
        /// False: only divide by the deviation.
        centre: bool,
    },
    /// From 0 to 1.
    MinMax,
    /// Median 0, interquartile range 1.
    Robust,
    /// x / √(1 + (x / bound)²).
    SmoothClip {
        /// Limit of large values.
        bound: f64,
    },
    /// No further out than this.
    Clip(Clip),
    /// Within each list.
    PerList(PerList),
    /// What a missing value becomes.
    Missing {
        /// Its new value.
        to: Fill,
        /// Add a column of 0 and 1 for each feature that missed in training.
        indicator: bool,
    },
}

/// Ends of [`StepConfig::Clip`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Clip {
    /// Quantiles of the training data, between neighbours linearly.
    Quantiles {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// Fixed bounds.
    Bounds {
        /// Lower end.
        min: f32,
        /// Upper end.
        max: f32,
    },
}

/// Kinds of [`StepConfig::PerList`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PerList {
    /// Mean 0, deviation 1 in each list.
    Zscore,
    /// From 0 to 1 in each list.
    Minmax,
}

/// What a missing value becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// It stays missing.
    Keep,
    /// 0.
    Zero,
    /// Mean of the training data.
    Mean,
    /// Median of the training data.
    Median,
}

impl StepConfig {
    /// Reads one entry.
    pub fn parse(spec: &Spec) -> Result<StepConfig, ParamError> {
        let Some(transform) = TRANSFORMS.iter().find(|t| t.name == spec.name && spec.cut.is_none()) else {
            let found = if spec.cut.is_some() { spec.to_string() } else { spec.name.clone() };
            return Err(catalog::unknown("transform", &found, TRANSFORMS.iter().map(|t| t.name)));
        };
        let known: Vec<&str> = transform.params.iter().map(|p| p.name).collect();
        if let Some((key, _)) = spec.args.0.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            let range =
                if known.is_empty() { "absent".into() } else { format!("one of {}", known.join(", ")) };
            return Err(ParamError::new(&format!("the parameter of {}", transform.name), key, &range));
        }
        (transform.parse)(spec)
    }

    /// Reads entries separated by commas, in the order in which they are to be applied. An entry may come twice.
    pub fn parse_all(text: &str) -> Result<Vec<StepConfig>, ParamError> {
        let parts = text.split(',').filter(|part| !part.trim().is_empty());
        parts.map(|part| StepConfig::parse(&Spec::parse(part)?)).collect()
    }
}

fn yes(spec: &Spec, key: &str, default: bool) -> Result<bool, ParamError> {
    match spec.args.get(key) {
        None => Ok(default),
        Some("yes") => Ok(true),
        Some("no") => Ok(false),
        Some(other) => Err(ParamError::new(key, other, "yes or no")),
    }
}

fn clip(spec: &Spec) -> Result<StepConfig, ParamError> {
    let args = &spec.args;
    let bounds = args.get("min").is_some() || args.get("max").is_some();
    if bounds && let Some(low) = args.get("low").or(args.get("high")) {
        return Err(ParamError::new("low or high", low, "absent where min or max is given"));
    }
    if bounds {
        // The largest numbers instead of ±∞, which JSON cannot hold.
        let (least, most) = (f64::from(f32::MIN), f64::from(f32::MAX));
        let min = args.number("min", least, "a number", |x| (least..=most).contains(&x))?;
        let max =
            args.number("max", most, &format!("a number from {min} on"), |x| (min..=most).contains(&x))?;
        return Ok(StepConfig::Clip(Clip::Bounds { min: min as f32, max: max as f32 }));
    }
    let low = args.number("low", 0.01, "in [0, 1]", |x| (0.0..=1.0).contains(&x))?;
    let high =
        args.number("high", 0.99_f64.max(low), &format!("in [{low}, 1]"), |x| (low..=1.0).contains(&x))?;
    Ok(StepConfig::Clip(Clip::Quantiles { low, high }))
}

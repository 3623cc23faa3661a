//! `toprank explain`: feature importance, SHAP values and partial dependence of a model.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toprank::core::{Policy, catalog};
use toprank::data::sink;
use toprank::metrics::Measure;
use toprank::train::Model;
use toprank::train::rank::explain::{Dependence, Explainer, Sampling, Shap, tree_importance};
use toprank::trees::explain::Importance;

use crate::failure::Failure;
use crate::inspect::feature_name;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::table::{Style, Table, csv_cell};
use crate::{Common, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank explain model.toprank
  toprank explain model.toprank --data test.txt -m ndcg@10
  toprank explain model.toprank --data test.txt --shap --dependence 12,40 -o why
  toprank explain mlp.toprank --data some.csv --label label --shap --samples 400 -o why

A feature is a column of the data; what transforms make of it belongs to it. Of a model of trees the table lists for each feature the
gain (how much its splits lowered the training loss) and the number of splits on it. With --data it has, for every model, the
permutation importance: how much the metric loses when the values of the feature are shuffled within their lists. --dependence gives
the mean score of all rows with a feature set to each of its values (partial dependence); of a model whose transforms look at whole
lists (per-list) they are the values within the list.

--shap writes what each feature adds to the score of each row: the expected score plus the sum over a row is the row's score.
  trees   exact, over the paths of the trees, against all rows of the data
  linear  exact, weight × (value − mean value of the data)
  others  (mlp, context, blends of auto): sampled. Each of --samples draws takes a background row from the data and switches its features
          to those of the explained row, one after the other, in a random order and in the reverse order; a value is the mean over the
          draws of what the feature changed. Its standard error is in shap-error.csv; four times the samples halve it. Time grows with
          rows × samples × features, so explain some hundred rows, not all.

With -o FOLDER everything is written as CSV and SVG: importance, shap.csv, dependence-FEATURE.";

/// Explain a model: feature importance, SHAP values, partial dependence
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Explain {
    /// Model file
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Data to explain the model on; repeat it or give a pattern for several files
    #[arg(long, value_name = "FILE")]
    data: Vec<String>,
    /// Metric of permutation importance [default: that of the model's validation]
    #[arg(long, short, alias = "metrics", value_name = "METRIC", requires = "data")]
    metric: Option<String>,
    /// Number of shuffles of each feature
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Seed of the shuffles and of sampled SHAP values
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write what each feature adds to the score of each row (needs -o)
    #[arg(long, requires = "data")]
    shap: bool,
    /// Draws for each row, where SHAP values are sampled
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..), requires = "shap")]
    samples: u32,
    /// Features whose partial dependence to print, by name
    #[arg(long, value_name = "FEATURES", value_delimiter = ',', requires = "data")]
    dependence: Vec<String>,
    /// Maximum number of values of a feature for partial dependence
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(2..))]
    values: u16,
    /// Number of features to print [default: 20]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Folder for CSV files and plots
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

/// Importance of each feature, in several measures.
struct Found {
    names: Vec<String>,
    /// Gains and numbers of splits, of a model of trees.
    trees: Option<(Vec<f64>, Vec<u64>)>,
    /// The metric, and what it loses.
    permuted: Option<(String, Vec<Importance>)>,
    shap: Option<Shap>,
    /// Mean |SHAP|.
    sizes: Option<Vec<f64>>,
    dependences: Vec<(String, Dependence)>,
    /// The most important first.
    order: Vec<usize>,
    outputs: usize,
}

impl Explain {
    /// Loads, computes, prints and writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let model = Model::load(&self.model)?;
        if self.shap && self.output.is_none() {
            return Err(Failure::usage(
                "--shap writes one line per row of the data: expected -o FOLDER for it",
            ));
        }
        let trees = tree_importance(&model);
        if trees.is_none() && self.data.is_empty() {
            let file = self.model.display();
            let found = "a model that is not made of trees is explained on data";
            return Err(Failure::usage(format!("{file}: {found}: expected --data")));
        }
        let mut found = self.explained(&model, trees, common)?;
        found.sort();
        if let Some(folder) = &self.output {
            std::fs::create_dir_all(folder)
                .map_err(|error| Failure::failed(format!("{}: {error}", folder.display())))?;
            found.write(folder)?;
            note(common, format!("wrote {}", folder.display()));
        }
        if let Some(error) = found.shap.as_ref().and_then(Shap::typical_error) {
            let samples = self.samples;
            note(
                common,
                format!("SHAP values sampled, {samples} draws a row: standard error of a value {error:.2e}"),
            );
        }
        if common.json {
            return print_json(&found.json());
        }
        let mut text = found.table(self.top.unwrap_or(20)).render(Style::Table);
        for (feature, one) in &found.dependences {
            text += &format!("\n{}\n", dependence_table(feature, one, found.outputs).render(Style::Table));
        }
        print(&text)
    }

    /// Everything that was asked for.
    fn explained(
        &self,
        model: &Model,
        trees: Option<(Vec<f64>, Vec<u64>)>,
        common: &Common,
    ) -> Result<Found, Failure> {
        let names: Vec<String> =
            (0..model.header().width).map(|feature| feature_name(model, feature)).collect();
        let wanted = self.dependence.iter().map(|name| {
            let place = names.iter().position(|known| known == name);
            place.ok_or_else(|| {
                Failure::from(catalog::unknown("feature", name, names.iter().map(String::as_str)))
            })
        });
        let wanted: Vec<usize> = wanted.collect::<Result<_, Failure>>()?;
        let outputs = model.header().outputs;
        let mut found = Found {
            names,
            trees,
            permuted: None,
            shap: None,
            sizes: None,
            dependences: Vec::new(),
            order: Vec::new(),
            outputs,
        };
        if self.data.is_empty() {
            return Ok(found);
        }
        let read = self.reading.as_trained(model).read_all(&self.data, Vec::new(), common.quiet)?;
        let absent = if self.reading.absent_is_missing { f32::NAN } else { 0.0 };
        let explainer = Explainer::new(model, &self.data.join(", "), read, absent)?;
        let measure = self.measure(model)?;
        {
            let _spinner = Progress::spinner(common.quiet, "shuffling features");
            let lost = explainer.permutation(&measure, usize::from(self.rounds), self.seed)?;
            found.permuted = Some((measure.name().to_string(), lost));
        }
        if self.shap {
            let _spinner = Progress::spinner(common.quiet, "computing SHAP values");
            let shap = explainer.shap(Sampling { samples: self.samples as usize, seed: self.seed })?;
            found.sizes = Some(shap.mean_sizes());
            found.shap = Some(shap);
        }
        for feature in wanted {
            let name = found.names[feature].clone();
            found.dependences.push((name, explainer.dependence(feature, usize::from(self.values))?));
        }
        Ok(found)
    }

    /// The metric of permutation importance.
    fn measure(&self, model: &Model) -> Result<Measure, Failure> {
        let name = self.metric.as_ref().map_or(model.header().config.valid_metric(), String::as_str);
        let mut measures = Measure::parse_all(name, &Policy::default())?;
        match (measures.pop(), measures.is_empty()) {
            (Some(measure), true) => Ok(measure),
            _ => Err(Failure::usage(format!("--metric must be one metric, but is {name}"))),
        }
    }
}

fn save(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(sink::write_file(path, |out| out.write_all(text.as_bytes()))?)
}

/// A name that every file system takes.
fn file_name(feature: &str) -> String {
    feature.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

impl Found {
    /// By mean |SHAP| if it was computed, else by the loss of the metric, else by gain.
    fn sort(&mut self) {
        let key = |feature: usize| match (&self.permuted, &self.sizes, &self.trees) {
            (_, Some(sizes), _) => sizes[feature],
            (Some((_, lost)), None, _) => lost[feature].mean,
            (None, None, Some((gains, _))) => gains[feature],
            (None, None, None) => 0.0,
        };
        let used = |feature: &usize| self.trees.as_ref().is_none_or(|(_, splits)| splits[*feature] > 0);
        let mut order: Vec<usize> = (0..self.names.len()).filter(used).collect();
        order.sort_by(|&a, &b| key(b).total_cmp(&key(a)).then(a.cmp(&b)));
        self.order = order;
    }

    fn table(&self, top: usize) -> Table {
        let mut head = vec!["feature".to_string()];
        if self.trees.is_some() {
            head.extend(["gain".into(), "splits".into()]);
        }
        if let Some((metric, _)) = &self.permuted {
            head.extend([format!("loss of {metric}"), "± deviation".into()]);
        }
        head.extend(self.sizes.iter().map(|_| "mean |SHAP|".to_string()));
        let mut table = Table::new(head);
        for &feature in self.order.iter().take(top) {
            let mut cells = vec![self.names[feature].clone()];
            if let Some((gains, splits)) = &self.trees {
                cells.extend([format!("{:.4}", gains[feature]), splits[feature].to_string()]);
            }
            if let Some((_, lost)) = &self.permuted {
                cells.extend([
                    format!("{:.5}", lost[feature].mean),
                    format!("{:.5}", lost[feature].deviation),
                ]);
            }
            cells.extend(self.sizes.iter().map(|sizes| format!("{:.5}", sizes[feature])));
            table.row(cells);
        }
        table
    }

    fn json(&self) -> Value {
        let features = self.order.iter().map(|&feature| {
            let mut value = json!({"feature": self.names[feature]});
            if let Some((gains, splits)) = &self.trees {
                value["gain"] = json!(gains[feature]);
                value["splits"] = json!(splits[feature]);
            }
            if let Some((metric, lost)) = &self.permuted {
                value["permutation"] =
                    json!({"metric": metric, "loss": lost[feature].mean, "deviation": lost[feature].deviation});
            }
            if let Some(sizes) = &self.sizes {
                value["mean_abs_shap"] = json!(sizes[feature]);
            }
            value
        });
        let dependences = self.dependences.iter().map(|(feature, one)| {
            let values: Vec<Option<f32>> = one.values.iter().map(|v| (!v.is_nan()).then_some(*v)).collect();
            json!({"feature": feature, "values": values, "means": one.means, "within_lists": one.within_lists})
        });
        let mut all =
            json!({"features": features.collect::<Vec<_>>(), "dependence": dependences.collect::<Vec<_>>()});
        if let Some(shap) = &self.shap {
            all["shap"] = json!({"method": shap.method.name(), "standard_error": shap.typical_error()});
        }
        all
    }

    /// CSV files and plots.
    fn write(&self, folder: &Path) -> Result<(), Failure> {
        save(&folder.join("importance.csv"), &self.table(usize::MAX).render(Style::Csv))?;
        for (feature, one) in &self.dependences {
            let file = folder.join(format!("dependence-{}.csv", file_name(feature)));
            save(&file, &dependence_table(feature, one, self.outputs).render(Style::Csv))?;
        }
        if let Some(shap) = &self.shap {
            self.write_shap(&folder.join("shap.csv"), shap, &shap.values)?;
            if let Some(errors) = &shap.errors {
                self.write_shap(&folder.join("shap-error.csv"), shap, errors)?;
            }
        }
        plots::save(folder, self)
    }

    /// A number per feature for each score, line by line: as a table of strings it would be many times the numbers.
    fn write_shap(&self, path: &Path, shap: &Shap, values: &[f64]) -> Result<(), Failure> {
        sink::write_file(path, |out| {
            write!(out, "row,output,score,expected")?;
            self.names.iter().try_for_each(|name| write!(out, ",{}", csv_cell(name)))?;
            writeln!(out)?;
            let scores = shap.scores.iter().zip(&shap.expected);
            for ((place, (score, expected)), values) in
                scores.enumerate().zip(values.chunks_exact(shap.width.max(1)))
            {
                let (row, output) = (place / shap.outputs + 1, place % shap.outputs + 1);
                write!(out, "{row},{output},{score},{expected}")?;
                values.iter().try_for_each(|value| write!(out, ",{value}"))?;
                writeln!(out)?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

fn dependence_table(feature: &str, one: &Dependence, outputs: usize) -> Table {
    let mut head = vec![feature.to_string()];
    head.extend(
        (1..=outputs).map(|o| if outputs == 1 { "mean score".into() } else { format!("mean score {o}") }),
    );
    let mut table = Table::new(head);
    for (value, means) in one.values.iter().zip(one.means.chunks_exact(outputs)) {
        let value = if value.is_nan() { "missing".to_string() } else { value.to_string() };
        table.row([value].into_iter().chain(means.iter().map(|mean| format!("{mean:.6}"))));
    }
    table
}

#[cfg(not(feature = "plots"))]
mod plots {
    use super::{Failure, Found, Path};

    /// This build has no plots; the numbers stand in the CSV files.
    #[allow(clippy::unnecessary_wraps)]
    pub fn save(_: &Path, _: &Found) -> Result<(), Failure> {
        Ok(())
    }
}

#[cfg(feature = "plots")]
mod plots {
    use toprank_plots::{IntervalRow, Series, curves, ranked_bars};

    use super::{Failure, Found, Path, file_name};

    /// Features in the plot.
    const MOST: usize = 20;

    pub fn save(folder: &Path, found: &Found) -> Result<(), Failure> {
        // The measure that the features are sorted by.
        let (title, axis) = match (&found.permuted, &found.sizes) {
            (_, Some(_)) => ("by SHAP values", "mean |SHAP value|".to_string()),
            (Some((metric, _)), None) => (
                "by permutation",
                format!("loss of {metric} when the feature is shuffled, ± standard deviation"),
            ),
            (None, None) => ("by gain", "total gain of the splits".to_string()),
        };
        let row = |&feature: &usize| {
            let (value, spread) = match (&found.permuted, &found.sizes, &found.trees) {
                (_, Some(sizes), _) => (sizes[feature], 0.0),
                (Some((_, lost)), None, _) => (lost[feature].mean, lost[feature].deviation),
                (None, None, Some((gains, _))) => (gains[feature], 0.0),
                (None, None, None) => (0.0, 0.0),
            };
            IntervalRow {
                name: found.names[feature].clone(),
                value,
                low: value - spread,
                high: value + spread,
            }
        };
        let rows: Vec<IntervalRow> = found.order.iter().take(MOST).map(row).collect();
        let title = match (rows.len(), found.order.len()) {
            (shown, all) if shown < all => format!("The {shown} most important of {all} features, {title}"),
            _ => format!("Importance of features, {title}"),
        };
        let failed = |error: toprank_plots::PlotError| Failure::failed(error);
        ranked_bars(&title, &axis, &rows).save(&folder.join("importance.svg")).map_err(failed)?;
        for (feature, one) in &found.dependences {
            let series: Vec<Series> = (0..found.outputs)
                .map(|output| {
                    let means = one.means.iter().skip(output).step_by(found.outputs);
                    let points = one.values.iter().zip(means).map(|(&x, &y)| (f64::from(x), y)).collect();
                    let name = match found.outputs {
                        1 => "mean score".into(),
                        _ => format!("output {}", output + 1),
                    };
                    Series { name, points }
                })
                .collect();
            let title = format!("Partial dependence of the score on feature {feature}");
            let axis = match one.within_lists {
                true => format!("feature {feature}, within its list"),
                false => format!("feature {feature}"),
            };
            let file = folder.join(format!("dependence-{}.svg", file_name(feature)));
            curves(&title, &axis, "mean score", &series).save(&file).map_err(failed)?;
        }
        Ok(())
    }
}

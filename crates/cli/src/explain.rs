//! `toprank explain`: feature importance, SHAP values and partial dependence of a model of trees.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toprank::core::{Policy, catalog};
use toprank::data::{Dataset, sink};
use toprank::metrics::Measure;
use toprank::train::rank::{explain, predict};
use toprank::train::{Model, TrainError};
use toprank::trees::Ensemble;
use toprank::trees::explain::{
    Cover, Importance, Shap, gain_importance, grid, partial_dependence, split_importance,
};

use crate::export::of_trees;
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

The table lists for each feature the gain (how much its splits lowered the training loss) and the number of splits on it. With
--data it also has the permutation importance: how much the metric loses when the values of the feature are shuffled within
their lists. --shap writes what each feature adds to the score of each row (exact path-dependent tree SHAP over the rows of the
data): the expected score plus the sum over a row is the row's score. --dependence gives the mean score of all rows with a
feature set to each of its values (partial dependence). With -o FOLDER everything is written as CSV and SVG: importance,
shap.csv, dependence-FEATURE.";

/// Explain a model of trees: feature importance, SHAP values, partial dependence
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
    /// Seed of the shuffles
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write what each feature adds to the score of each row (needs -o)
    #[arg(long, requires = "data")]
    shap: bool,
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

/// SHAP values of one call: 2 GB of memory.
const MOST_VALUES: usize = 1 << 28;

/// Importance of each feature, in several measures.
struct Found {
    names: Vec<String>,
    gains: Vec<f64>,
    splits: Vec<u64>,
    /// The metric, and what it loses.
    permuted: Option<(String, Vec<Importance>)>,
    /// Mean |SHAP|.
    shap: Option<Vec<f64>>,
    /// The most important first.
    order: Vec<usize>,
}

/// Partial dependence of one feature: its values, and for each one number per output.
struct Dependence {
    feature: String,
    values: Vec<f32>,
    means: Vec<f64>,
}

impl Explain {
    /// Loads, computes, prints and writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let model = Model::load(&self.model)?;
        if model.header().blend.is_some() && model.scoring().trees().is_none() {
            return self.blend(&model, common);
        }
        let ensemble = of_trees(&model, &self.model)?.ensemble();
        if self.shap && self.output.is_none() {
            return Err(Failure::usage(
                "--shap writes one line per row of the data: expected -o FOLDER for it",
            ));
        }
        let names: Vec<String> = (0..ensemble.width).map(|feature| feature_name(&model, feature)).collect();
        let wanted = self.dependence.iter().map(|name| {
            let place = names.iter().position(|known| known == name);
            place.ok_or_else(|| {
                Failure::from(catalog::unknown("feature", name, names.iter().map(String::as_str)))
            })
        });
        let wanted: Vec<usize> = wanted.collect::<Result<_, Failure>>()?;
        let data = if self.data.is_empty() {
            None
        } else {
            let read = self.reading.read_all(&self.data, Vec::new(), common.quiet)?;
            let absent = if self.reading.absent_is_missing { f32::NAN } else { 0.0 };
            Some(predict::as_seen(&model, &self.data.join(", "), read, absent)?)
        };
        if let Some(folder) = &self.output {
            std::fs::create_dir_all(folder)
                .map_err(|error| Failure::failed(format!("{}: {error}", folder.display())))?;
        }
        let mut found = Found {
            gains: gain_importance(ensemble),
            splits: split_importance(ensemble),
            permuted: None,
            shap: None,
            order: Vec::new(),
            names,
        };
        let mut dependences = Vec::new();
        if let Some(data) = &data {
            let _spinner = Progress::spinner(common.quiet, "shuffling features");
            let measure = self.measure(&model)?;
            let lost = explain::permutation(&model, data, &measure, usize::from(self.rounds), self.seed)?;
            found.permuted = Some((measure.name().to_string(), lost));
            if self.shap {
                found.shap = Some(self.write_shap(ensemble, data, &found.names)?);
            }
            for feature in wanted {
                let values =
                    grid(&data.features, feature, usize::from(self.values)).map_err(TrainError::from)?;
                let means = partial_dependence(ensemble, &data.features, feature, &values)
                    .map_err(TrainError::from)?;
                dependences.push(Dependence { feature: found.names[feature].clone(), values, means });
            }
        }
        found.sort();
        if let Some(folder) = &self.output {
            let table = found.table(usize::MAX);
            save(&folder.join("importance.csv"), &table.render(Style::Csv))?;
            for one in &dependences {
                let file = folder.join(format!("dependence-{}.csv", file_name(&one.feature)));
                save(&file, &one.table(ensemble.outputs).render(Style::Csv))?;
            }
            plots::save(folder, &found, &dependences, ensemble.outputs)?;
            note(common, format!("wrote {}", folder.display()));
        }
        if common.json {
            return print_json(&found.json(&dependences));
        }
        let mut text = found.table(self.top.unwrap_or(20)).render(Style::Table);
        for one in &dependences {
            text += &format!("\n{}\n", one.table(ensemble.outputs).render(Style::Table));
        }
        print(&text)
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

    /// A blend of more than trees: its features as they were read, by permutation importance.
    fn blend(&self, model: &Model, common: &Common) -> Result<(), Failure> {
        let file = self.model.display();
        if self.shap || !self.dependence.is_empty() {
            return Err(Failure::usage(format!(
                "{file}: a blend of more than trees has permutation importance only: expected neither --shap nor --dependence, or a \
                 model of trees (--model trees, or --model auto with --members of trees)"
            )));
        }
        if self.data.is_empty() {
            return Err(Failure::usage(format!(
                "{file}: a blend of more than trees is explained on data: expected --data"
            )));
        }
        let read = self.reading.read_all(&self.data, Vec::new(), common.quiet)?;
        let absent = if self.reading.absent_is_missing { f32::NAN } else { 0.0 };
        let data = predict::as_seen(model, &self.data.join(", "), read, absent)?;
        let measure = self.measure(model)?;
        let spinner = Progress::spinner(common.quiet, "shuffling features");
        let lost = explain::permutation(model, &data, &measure, usize::from(self.rounds), self.seed)?;
        drop(spinner);
        let mut order: Vec<usize> = (0..lost.len()).collect();
        order.sort_by(|&a, &b| lost[b].mean.total_cmp(&lost[a].mean).then(a.cmp(&b)));
        let metric = measure.name();
        let table = |top: usize| {
            let mut table =
                Table::new(["feature".to_string(), format!("loss of {metric}"), "± deviation".into()]);
            for &feature in order.iter().take(top) {
                let Importance { mean, deviation } = lost[feature];
                table.row([feature_name(model, feature), format!("{mean:.5}"), format!("{deviation:.5}")]);
            }
            table
        };
        if let Some(folder) = &self.output {
            std::fs::create_dir_all(folder)
                .map_err(|error| Failure::failed(format!("{}: {error}", folder.display())))?;
            save(&folder.join("importance.csv"), &table(usize::MAX).render(Style::Csv))?;
            note(common, format!("wrote {}", folder.display()));
        }
        if common.json {
            let features = order.iter().map(|&feature| {
                let Importance { mean, deviation } = lost[feature];
                json!({
                    "feature": feature_name(model, feature),
                    "permutation": {"metric": metric, "loss": mean, "deviation": deviation},
                })
            });
            return print_json(&json!({"features": features.collect::<Vec<_>>(), "dependence": []}));
        }
        print(&table(self.top.unwrap_or(20)).render(Style::Table))
    }

    /// Writes what each feature added to each score; gives the mean of its size.
    fn write_shap(&self, ensemble: &Ensemble, data: &Dataset, names: &[String]) -> Result<Vec<f64>, Failure> {
        let (rows, width, outputs) = (data.rows(), ensemble.width, ensemble.outputs);
        let values = rows.saturating_mul(width).saturating_mul(outputs);
        if values > MOST_VALUES {
            let data = self.data.join(", ");
            return Err(Failure::usage(format!(
                "{data}: --shap would write {values} values, one for each of {rows} rows, {width} features and {outputs} outputs; \
                 expected at most {MOST_VALUES}: explain fewer rows"
            )));
        }
        let cover = Cover::count(ensemble, &data.features).map_err(TrainError::from)?;
        let shap = Shap::new(ensemble, &cover).map_err(TrainError::from)?;
        let explained = shap.explain(&data.features).map_err(TrainError::from)?;
        let scores = ensemble.score(&data.features).map_err(TrainError::from)?;
        let mean = explained.mean_sizes();
        let Some(folder) = &self.output else { return Ok(mean) };
        // Line by line: as a table of strings it would be many times the numbers.
        sink::write_file(&folder.join("shap.csv"), |out| {
            write!(out, "row,output,score,expected")?;
            names.iter().try_for_each(|name| write!(out, ",{}", csv_cell(name)))?;
            writeln!(out)?;
            for (row, output) in (0..rows).flat_map(|row| (0..outputs).map(move |output| (row, output))) {
                let (score, expected) = (scores[row * outputs + output], explained.expected[output]);
                write!(out, "{},{},{score},{expected}", row + 1, output + 1)?;
                explained.of(row, output).iter().try_for_each(|value| write!(out, ",{value}"))?;
                writeln!(out)?;
            }
            Ok(())
        })?;
        Ok(mean)
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
        let key = |feature: usize| match (&self.permuted, &self.shap) {
            (_, Some(shap)) => shap[feature],
            (Some((_, lost)), None) => lost[feature].mean,
            (None, None) => self.gains[feature],
        };
        let mut order: Vec<usize> =
            (0..self.names.len()).filter(|&feature| self.splits[feature] > 0).collect();
        order.sort_by(|&a, &b| key(b).total_cmp(&key(a)).then(a.cmp(&b)));
        self.order = order;
    }

    fn table(&self, top: usize) -> Table {
        let mut head = vec!["feature".to_string(), "gain".into(), "splits".into()];
        if let Some((metric, _)) = &self.permuted {
            head.extend([format!("loss of {metric}"), "± deviation".into()]);
        }
        head.extend(self.shap.iter().map(|_| "mean |SHAP|".to_string()));
        let mut table = Table::new(head);
        for &feature in self.order.iter().take(top) {
            let mut cells = vec![
                self.names[feature].clone(),
                format!("{:.4}", self.gains[feature]),
                self.splits[feature].to_string(),
            ];
            if let Some((_, lost)) = &self.permuted {
                cells.extend([
                    format!("{:.5}", lost[feature].mean),
                    format!("{:.5}", lost[feature].deviation),
                ]);
            }
            cells.extend(self.shap.iter().map(|shap| format!("{:.5}", shap[feature])));
            table.row(cells);
        }
        table
    }

    fn json(&self, dependences: &[Dependence]) -> Value {
        let features = self.order.iter().map(|&feature| {
            let mut value = json!({
                "feature": self.names[feature], "gain": self.gains[feature], "splits": self.splits[feature],
            });
            if let Some((metric, lost)) = &self.permuted {
                value["permutation"] =
                    json!({"metric": metric, "loss": lost[feature].mean, "deviation": lost[feature].deviation});
            }
            if let Some(shap) = &self.shap {
                value["mean_abs_shap"] = json!(shap[feature]);
            }
            value
        });
        let dependences = dependences.iter().map(|one| {
            let values: Vec<Option<f32>> = one.values.iter().map(|v| (!v.is_nan()).then_some(*v)).collect();
            json!({"feature": one.feature, "values": values, "means": one.means})
        });
        json!({"features": features.collect::<Vec<_>>(), "dependence": dependences.collect::<Vec<_>>()})
    }
}

impl Dependence {
    fn table(&self, outputs: usize) -> Table {
        let mut head = vec![self.feature.clone()];
        head.extend(
            (1..=outputs).map(|o| if outputs == 1 { "mean score".into() } else { format!("mean score {o}") }),
        );
        let mut table = Table::new(head);
        for (value, means) in self.values.iter().zip(self.means.chunks_exact(outputs)) {
            let value = if value.is_nan() { "missing".to_string() } else { value.to_string() };
            table.row([value].into_iter().chain(means.iter().map(|mean| format!("{mean:.6}"))));
        }
        table
    }
}

#[cfg(not(feature = "plots"))]
mod plots {
    use super::{Dependence, Failure, Found, Path};

    /// This build has no plots; the numbers stand in the CSV files.
    #[allow(clippy::unnecessary_wraps)]
    pub fn save(_: &Path, _: &Found, _: &[Dependence], _: usize) -> Result<(), Failure> {
        Ok(())
    }
}

#[cfg(feature = "plots")]
mod plots {
    use toprank_plots::{IntervalRow, Series, curves, ranked_bars};

    use super::{Dependence, Failure, Found, Path, file_name};

    /// Features in the plot.
    const MOST: usize = 20;

    pub fn save(
        folder: &Path,
        found: &Found,
        dependences: &[Dependence],
        outputs: usize,
    ) -> Result<(), Failure> {
        // The measure that the features are sorted by.
        let (title, axis) = match (&found.permuted, &found.shap) {
            (_, Some(_)) => ("by SHAP values", "mean |SHAP value|".to_string()),
            (Some((metric, _)), None) => (
                "by permutation",
                format!("loss of {metric} when the feature is shuffled, ± standard deviation"),
            ),
            (None, None) => ("by gain", "total gain of the splits".to_string()),
        };
        let row = |&feature: &usize| {
            let (value, spread) = match (&found.permuted, &found.shap) {
                (_, Some(shap)) => (shap[feature], 0.0),
                (Some((_, lost)), None) => (lost[feature].mean, lost[feature].deviation),
                (None, None) => (found.gains[feature], 0.0),
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
        for one in dependences {
            let series: Vec<Series> = (0..outputs)
                .map(|output| {
                    let means = one.means.iter().skip(output).step_by(outputs);
                    let points = one.values.iter().zip(means).map(|(&x, &y)| (f64::from(x), y)).collect();
                    let name =
                        if outputs == 1 { "mean score".into() } else { format!("output {}", output + 1) };
                    Series { name, points }
                })
                .collect();
            let title = format!("Partial dependence of the score on feature {}", one.feature);
            let file = folder.join(format!("dependence-{}.svg", file_name(&one.feature)));
            curves(&title, &format!("feature {}", one.feature), "mean score", &series)
                .save(&file)
                .map_err(failed)?;
        }
        Ok(())
    }
}

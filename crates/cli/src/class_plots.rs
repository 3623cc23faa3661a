//! Plots of what was evaluated: ROC and precision-recall curves, reliability.

use std::path::Path;

use toprank::core::Lists;

use crate::failure::Failure;
use crate::judged::{Basis, Judged};
use crate::rules::Measures;

/// One run under its name.
pub struct NamedRun<'a> {
    pub name: String,
    pub judged: &'a Judged<'a>,
}

/// What the evaluated lists were before they were pooled, for titles.
pub struct Origin {
    /// Where the labels come from.
    pub data: String,
    pub lists: usize,
    /// The lists are labels over the same rows.
    pub labels: bool,
}

impl Origin {
    pub fn of(basis: &Basis, lists: &Lists) -> Origin {
        Origin { data: basis.name(), lists: lists.len(), labels: lists.are_labels() }
    }

    /// Scores of different queries are compared with each other only if they are pooled: a title must say so.
    #[cfg(feature = "plots")]
    fn pooled(&self) -> Option<String> {
        let word = if self.labels { "label" } else { "query" };
        (self.lists > 1).then(|| format!("{} pooled into one list", crate::table::counted(self.lists, word)))
    }
}

/// Draws ROC and precision-recall curves of all runs; the regions of the measures are marked.
#[cfg(feature = "plots")]
pub fn curves(path: &Path, origin: &Origin, runs: &[NamedRun], measures: &Measures) -> Result<(), Failure> {
    match curves_plot(origin, runs, measures)? {
        Some(plot) => plot.save(path).map_err(Failure::failed),
        None => Err(Failure::data("--plot: expected relevant and other items; there is one class only")),
    }
}

/// The same as a plot; nothing if there is one class only.
#[cfg(feature = "plots")]
pub fn curves_plot(
    origin: &Origin,
    runs: &[NamedRun],
    measures: &Measures,
) -> Result<Option<toprank_plots::Plot>, Failure> {
    use toprank::core::{List, Policy};
    use toprank::metrics::threshold::Thresholds;
    use toprank::metrics::{Measure, Work, pool};
    use toprank_plots::{ClassCurves, class_curves};

    /// Most labels that get a curve of their own.
    const MOST_LABELS: usize = 14;
    let policy = &measures.policy;
    let areas = Measure::parse_all("auroc,auprc", policy)?;
    let mut drawn = Vec::new();
    let mut base_rates: Vec<f64> = Vec::new();
    let mut draw = |name: &str, list: &List, policy: &Policy| -> Result<(), Failure> {
        let points = Thresholds::of(list, policy).map_err(|error| {
            Failure::data(format!("{name}: the score of item {} is not a number", error.item + 1))
        })?;
        let (Some(roc), Some(precision_recall)) = (points.roc(), points.precision_recall()) else {
            return Ok(());
        };
        let value = |measure: &Measure| {
            let value = measure.of_list(list, &mut Work::default()).ok().flatten();
            value.map_or("–".into(), |value| format!("{value:.4}"))
        };
        let all = points.points()[0];
        base_rates.push(all.positives() / all.items());
        drawn.push(ClassCurves {
            roc_name: format!("{name}: AUROC {}", value(&areas[0])),
            roc,
            precision_recall_name: format!("{name}: AP {}", value(&areas[1])),
            precision_recall,
        });
        Ok(())
    };
    let mut title = format!("ROC and precision–recall curves on {}", origin.data);
    let mut of_labels = false;
    for run in runs {
        let (lists, scores) = (&run.judged.lists, &run.judged.scores);
        if lists.len() == 1 {
            draw(&run.name, &lists.list(0, scores), policy)?;
        } else if runs.len() == 1 && lists.are_labels() && lists.len() <= MOST_LABELS {
            of_labels = true;
            for q in 0..lists.len() {
                draw(&run.judged.names[q], &lists.list(q, scores), policy)?;
            }
        } else {
            let (lists, scores) = pool(lists, scores);
            draw(&run.name, &lists.list(0, &scores), policy)?;
        }
    }
    if drawn.is_empty() {
        return Ok(None);
    }
    match origin.pooled() {
        _ if of_labels => title += ", one per label",
        Some(pooled) => title += &format!(", {pooled}"),
        None => {}
    }
    // Labels of different frequency have no common base line.
    let base_rate = base_rates.first().copied().filter(|first| base_rates.iter().all(|rate| rate == first));
    let emphasis = toprank_plots::Emphasis { base_rate, ..emphasis(measures)? };
    Ok(Some(class_curves(&title, &drawn, emphasis)))
}

/// What the measures look at: the region of the first partial area, the recall of the first precision at a recall.
#[cfg(feature = "plots")]
fn emphasis(measures: &Measures) -> Result<toprank_plots::Emphasis, Failure> {
    let mut emphasis = toprank_plots::Emphasis::default();
    for measure in &measures.all {
        let spec = toprank::core::Spec::parse(measure.name())?;
        let number = |key: &str| spec.args.get(key).and_then(|text| text.parse::<f64>().ok());
        match measure.entry().name {
            "pauc" if emphasis.region.is_none() => {
                let of = |key: &str, default: f64| number(key).unwrap_or(default);
                emphasis.region = Some((of("from", 0.0), of("fpr", 1.0), of("tpr", 0.0)));
            }
            "p" if emphasis.recall.is_none() => emphasis.recall = number("recall"),
            _ => {}
        }
    }
    Ok(emphasis)
}

/// Draws a reliability diagram of the bins of one ranking, or of each of its labels.
#[cfg(feature = "plots")]
pub fn reliability(
    path: &Path,
    origin: &Origin,
    ranking: &str,
    runs: &[(String, Vec<[f64; 4]>)],
) -> Result<(), Failure> {
    let point = |&[probability, fraction, low, high]: &[f64; 4]| toprank_plots::ReliabilityPoint {
        probability,
        fraction,
        low,
        high,
    };
    let single = runs.len() == 1;
    let name = |name: &str| if single { ranking.to_string() } else { name.to_string() };
    let runs: Vec<_> =
        runs.iter().map(|(label, bins)| (name(label), bins.iter().map(point).collect())).collect();
    let title = format!("Reliability diagram of {ranking} on {}", origin.data);
    let mut subtitle = "bins of equally many items, with 95 % intervals".to_string();
    subtitle += &origin.pooled().filter(|_| single).map_or(String::new(), |pooled| format!("; {pooled}"));
    toprank_plots::reliability(&title, &subtitle, &runs).save(path).map_err(Failure::failed)
}

#[cfg(not(feature = "plots"))]
pub fn curves(_: &Path, origin: &Origin, runs: &[NamedRun], _: &Measures) -> Result<(), Failure> {
    let _ = (&origin.data, origin.lists, origin.labels);
    let _ = runs.iter().map(|run| (&run.name, &run.judged.names)).count();
    Err(without_plots())
}

#[cfg(not(feature = "plots"))]
pub fn reliability(_: &Path, _: &Origin, _: &str, _: &[(String, Vec<[f64; 4]>)]) -> Result<(), Failure> {
    Err(without_plots())
}

#[cfg(not(feature = "plots"))]
fn without_plots() -> Failure {
    Failure::usage("this toprank was built without plots; expected a build with the feature plots")
}

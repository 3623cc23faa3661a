//! Plots of what was evaluated: ROC and precision-recall curves, reliability.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::judged::Judged;
use crate::rules::Measures;

/// One run under its name.
pub struct NamedRun<'a> {
    pub name: String,
    pub judged: &'a Judged<'a>,
}

/// Draws ROC and precision-recall curves of all runs; the regions of the measures are marked.
#[cfg(feature = "plots")]
pub fn curves(path: &Path, title: &str, runs: &[NamedRun], measures: &Measures) -> Result<(), Failure> {
    use toprank::core::{List, Policy};
    use toprank::metrics::threshold::Thresholds;
    use toprank::metrics::{Measure, Work, pool};
    use toprank_plots::{ClassCurves, class_curves};

    /// Most labels that get a curve of their own.
    const MOST_LABELS: usize = 14;
    let policy = &measures.policy;
    let areas = Measure::parse_all("auroc,auprc", policy)?;
    let mut drawn = Vec::new();
    let mut base_rate = None;
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
        base_rate.get_or_insert(all.positives() / all.items());
        drawn.push(ClassCurves {
            roc_name: format!("{name}: AUROC {}", value(&areas[0])),
            roc,
            precision_recall_name: format!("{name}: AP {}", value(&areas[1])),
            precision_recall,
        });
        Ok(())
    };
    for run in runs {
        let (lists, scores) = (&run.judged.lists, &run.judged.scores);
        if lists.len() == 1 {
            draw(&run.name, &lists.list(0, scores), policy)?;
        } else if runs.len() == 1 && lists.are_labels() && lists.len() <= MOST_LABELS {
            for q in 0..lists.len() {
                draw(&run.judged.names[q], &lists.list(q, scores), policy)?;
            }
        } else {
            let (lists, scores) = pool(lists, scores);
            draw(&run.name, &lists.list(0, &scores), policy)?;
        }
    }
    if drawn.is_empty() {
        return Err(Failure::data("--plot: expected relevant and other items; there is one class only"));
    }
    let emphasis = toprank_plots::Emphasis { base_rate, ..emphasis(measures)? };
    class_curves(title, &drawn, emphasis).save(path).map_err(Failure::failed)
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

/// Draws a reliability diagram.
#[cfg(feature = "plots")]
pub fn reliability(path: &Path, title: &str, runs: &[(String, Vec<[f64; 4]>)]) -> Result<(), Failure> {
    let point = |&[probability, fraction, low, high]: &[f64; 4]| toprank_plots::ReliabilityPoint {
        probability,
        fraction,
        low,
        high,
    };
    let runs: Vec<_> =
        runs.iter().map(|(name, bins)| (name.clone(), bins.iter().map(point).collect())).collect();
    toprank_plots::reliability(title, &runs).save(path).map_err(Failure::failed)
}

#[cfg(not(feature = "plots"))]
pub fn curves(_: &Path, _: &str, runs: &[NamedRun], _: &Measures) -> Result<(), Failure> {
    let _ = runs.iter().map(|run| (&run.name, &run.judged.names)).count();
    Err(without_plots())
}

#[cfg(not(feature = "plots"))]
pub fn reliability(_: &Path, _: &str, _: &[(String, Vec<[f64; 4]>)]) -> Result<(), Failure> {
    Err(without_plots())
}

#[cfg(not(feature = "plots"))]
fn without_plots() -> Failure {
    Failure::usage("this toprank was built without plots; expected a build with the feature plots")
}

/// A path that a picture can be written to.
pub fn check_name(flag: &str, path: Option<&PathBuf>) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    match path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).as_deref() {
        Some("svg" | "png") => Ok(()),
        _ => Err(Failure::usage(format!(
            "{flag}: expected a name that ends in .svg or .png, but it is {}",
            path.display()
        ))),
    }
}

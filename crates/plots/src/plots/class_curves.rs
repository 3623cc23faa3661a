use crate::Plot;
use crate::chart::{Axis, Direction, Figure, Mark, Panel, Side};
use crate::colour::{Look, ORANGE};
use crate::legend::Sample;
use crate::scale::Scale;

/// One run against two classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassCurves {
    /// Name in the legend of the ROC curve, such as `song: AUROC 0.93`.
    pub roc_name: String,
    /// (false positive rate, true positive rate), joined by straight lines.
    pub roc: Vec<(f64, f64)>,
    /// Name in the legend of the precision-recall curve.
    pub precision_recall_name: String,
    /// (recall, precision), joined by straight lines.
    pub precision_recall: Vec<(f64, f64)>,
}

/// What the plot emphasises.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Emphasis {
    /// The region of a partial area under the ROC curve: least and greatest false positive rate, least true positive rate.
    pub region: Option<(f64, f64, f64)>,
    /// A recall at which precision is wanted.
    pub recall: Option<f64>,
    /// Precision of a random order: the fraction of relevant items, if it is the same for all runs.
    pub base_rate: Option<f64>,
}

/// ROC curves at the left, precision-recall curves at the right, one of each per run; the partial region is shaded.
///
/// ```
/// use toprank_plots::{ClassCurves, Emphasis, class_curves};
/// let run = ClassCurves {
///     roc_name: "a: AUROC 0.75".into(),
///     roc: vec![(0.0, 0.0), (0.0, 0.5), (1.0, 1.0)],
///     precision_recall_name: "a: AP 0.83".into(),
///     precision_recall: vec![(0.0, 1.0), (0.5, 1.0), (1.0, 0.67)],
/// };
/// let shaded = Emphasis { region: Some((0.0, 0.1, 0.0)), ..Emphasis::default() };
/// let plot = class_curves("test", &[run], shaded);
/// assert!(plot.svg().contains("AUROC 0.75") && plot.svg().contains("AP 0.83"));
/// ```
pub fn class_curves(title: &str, runs: &[ClassCurves], emphasis: Emphasis) -> Plot {
    let panel = |title: &str, x: &str, y: &str| {
        let unit = Scale::linear([0.0, 1.0], 0.0);
        Panel {
            title: title.into(),
            empty: runs.is_empty(),
            ..Panel::new(Axis::new(x, unit), Axis::new(y, unit))
        }
    };
    let random = Sample::Line(Look::REFERENCE);
    let mut roc = panel("ROC curve", "false positive rate", "true positive rate");
    let mut precision_recall = panel("precision–recall curve", "recall", "precision");
    if let Some((from, to, least)) = emphasis.region {
        let bars = vec![[from, to, least, 1.0]];
        roc.marks.push(Mark::Bars { bars, colour: ORANGE, opacity: 0.22 });
    }
    roc.marks.push(Mark::reference((0.0, 0.0), (1.0, 1.0)));
    if let Some(base) = emphasis.base_rate {
        precision_recall.marks.push(Mark::reference((0.0, base), (1.0, base)));
    }
    if let Some(recall) = emphasis.recall.filter(|recall| recall.is_finite()) {
        let label = format!("recall {recall}");
        let look = Look::REFERENCE;
        precision_recall.marks.push(Mark::Rule { at: recall, look, direction: Direction::Vertical, label });
    }
    for (i, run) in runs.iter().enumerate() {
        let look = Look::of(i);
        roc.marks.push(Mark::curve(&run.roc, look, Side::Left));
        precision_recall.marks.push(Mark::curve(&run.precision_recall, look, Side::Left));
        roc.legend.push((run.roc_name.clone(), Sample::Line(look)));
        precision_recall.legend.push((run.precision_recall_name.clone(), Sample::Line(look)));
    }
    roc.legend.push(("random order".into(), random));
    if emphasis.base_rate.is_some() {
        precision_recall.legend.push(("random order".into(), random));
    }
    if emphasis.region.is_some() {
        roc.legend.push(("region of the partial AUC".into(), Sample::Bar(ORANGE, 0.22)));
    }
    let panels = vec![roc, precision_recall];
    Figure { title: title.into(), subtitle: String::new(), panels, width: 920.0, height: 350.0 }.draw()
}

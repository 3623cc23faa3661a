//! Plots of scores against two classes: ROC and precision-recall curves, reliability diagrams.

use kuva::plot::{BandPlot, LegendEntry, LegendPosition, LegendShape, LinePlot, LineStyle, ScatterPlot};
use kuva::render::annotations::ReferenceLine;
use kuva::render::figure::Figure;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot as Drawn;

use crate::Plot;
use crate::charts::{COLOURS, plain, short, with_fixed_clip_names};

const PANEL: (f64, f64) = (470.0, 450.0);
const GREY: &str = "#777777";
/// Points closer than this to the last one drawn are skipped.
const PIXEL: f64 = 1.0 / 1500.0;

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
    /// Precision of a random order: the fraction of relevant items.
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
/// let svg = class_curves("test", &[run], shaded).svg();
/// assert!(svg.contains("AUROC 0.75") && svg.contains("AP 0.83"));
/// ```
pub fn class_curves(title: &str, runs: &[ClassCurves], emphasis: Emphasis) -> Plot {
    let mut roc = Vec::new();
    if let Some((from, to, least)) = emphasis.region {
        let band = BandPlot::new(vec![from, to], vec![least; 2], vec![1.0; 2]);
        roc.push(Drawn::from(band.with_color(COLOURS[4]).with_opacity(0.22)));
    }
    roc.push(random_order((0.0, 0.0), (1.0, 1.0)));
    let mut precision_recall = Vec::new();
    if let Some(base) = emphasis.base_rate {
        precision_recall.push(random_order((0.0, base), (1.0, base)));
    }
    let (mut roc_legend, mut precision_recall_legend) = (Vec::new(), Vec::new());
    for (i, run) in runs.iter().enumerate() {
        let (colour, style) = look(i);
        roc.push(line(&run.roc, colour, &style));
        precision_recall.push(line(&run.precision_recall, colour, &style));
        roc_legend.push(entry(&run.roc_name, colour, &style));
        precision_recall_legend.push(entry(&run.precision_recall_name, colour, &style));
    }
    let mut right = panel("precision and recall", "recall", "precision")
        .with_legend_entries(precision_recall_legend)
        .with_legend_position(LegendPosition::OutsideBottomLeft);
    if let Some(recall) = emphasis.recall {
        right = right.with_reference_line(ReferenceLine::vertical(recall).with_color(GREY));
    }
    let left = panel("ROC", "false positive rate", "true positive rate")
        .with_legend_entries(roc_legend)
        .with_legend_position(LegendPosition::OutsideBottomLeft);
    figure(title, vec![vec![roc], vec![precision_recall]], vec![left, right], runs.len())
}

/// One bin of a reliability diagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReliabilityPoint {
    /// Mean probability.
    pub probability: f64,
    /// Fraction of relevant items.
    pub fraction: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// A reliability diagram: the fraction of relevant items against the predicted probability; calibrated probabilities are on the
/// diagonal.
///
/// Both axes end where the values do: probabilities of a rare class all lie near 0.
///
/// ```
/// use toprank_plots::{ReliabilityPoint, reliability};
/// let point = ReliabilityPoint { probability: 0.2, fraction: 0.25, low: 0.1, high: 0.4 };
/// assert!(reliability("model", &[("a".into(), vec![point])]).svg().contains("fraction of relevant items"));
/// ```
pub fn reliability(title: &str, runs: &[(String, Vec<ReliabilityPoint>)]) -> Plot {
    let usable = |p: &&ReliabilityPoint| {
        [p.probability, p.fraction, p.low, p.high].iter().all(|value| value.is_finite())
    };
    let all = || runs.iter().flat_map(|run| &run.1).filter(usable);
    let most = all().flat_map(|point| [point.probability, point.high]).fold(0.02, f64::max).min(1.0);
    let most = if most > 0.6 { 1.0 } else { most * 1.05 };
    let mut drawn = vec![random_order((0.0, 0.0), (most, most))];
    let mut legend = Vec::new();
    for (i, (name, points)) in runs.iter().enumerate() {
        let (colour, style) = look(i);
        let points: Vec<&ReliabilityPoint> = points.iter().filter(usable).collect();
        let places: Vec<(f64, f64)> = points.iter().map(|p| (p.probability, p.fraction)).collect();
        let errors = points.iter().map(|p| ((p.fraction - p.low).max(0.0), (p.high - p.fraction).max(0.0)));
        drawn.push(line(&places, colour, &style));
        let dots = ScatterPlot::new().with_data(places).with_y_err_asymmetric(errors);
        drawn.push(Drawn::from(dots.with_color(colour).with_size(4.0)));
        legend.push(entry(name, colour, &style));
    }
    let layout = panel("", "probability", "fraction of relevant items")
        .with_x_axis_max(most)
        .with_y_axis_max(most)
        .with_legend_entries(legend)
        .with_legend_position(LegendPosition::OutsideBottomLeft);
    figure(title, vec![vec![drawn]], vec![layout], runs.len())
}

fn look(i: usize) -> (&'static str, LineStyle) {
    let styles = [LineStyle::Solid, LineStyle::Dashed, LineStyle::Dotted, LineStyle::DashDot];
    (COLOURS[i % COLOURS.len()], styles[i / COLOURS.len() % styles.len()].clone())
}

fn entry(name: &str, colour: &str, style: &LineStyle) -> LegendEntry {
    LegendEntry {
        label: short(name),
        color: colour.into(),
        shape: LegendShape::Line,
        dasharray: style.dasharray(),
    }
}

/// The curve of a random order.
fn random_order(from: (f64, f64), to: (f64, f64)) -> Drawn {
    let line = LinePlot::new().with_data(vec![from, to]).with_color(GREY).with_stroke_width(1.0);
    Drawn::from(line.with_line_style(LineStyle::Dashed))
}

fn line(points: &[(f64, f64)], colour: &str, style: &LineStyle) -> Drawn {
    let line = LinePlot::new().with_data(thinned(points)).with_color(colour).with_stroke_width(2.0);
    Drawn::from(line.with_line_style(style.clone()))
}

/// Without points that are too close to their neighbours to be distinguished; the last one is kept.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let finite = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut last = None;
    for &point in points.iter().filter(finite) {
        let far = |from: &(f64, f64)| (point.0 - from.0).abs().max((point.1 - from.1).abs()) >= PIXEL;
        if kept.last().is_none_or(far) {
            kept.push(point);
            last = None;
        } else {
            last = Some(point);
        }
    }
    kept.extend(last);
    kept
}

/// Axes from 0 to 1.
fn panel(title: &str, x_axis: &str, y_axis: &str) -> Layout {
    let layout = Layout::new((0.0, 1.0), (0.0, 1.0))
        .with_x_label(x_axis)
        .with_y_label(y_axis)
        .with_x_axis_min(0.0)
        .with_x_axis_max(1.0)
        .with_y_axis_min(0.0)
        .with_y_axis_max(1.0)
        .with_legend_box(false);
    if title.is_empty() { layout } else { layout.with_title(title) }
}

fn figure(title: &str, plots: Vec<Vec<Vec<Drawn>>>, layouts: Vec<Layout>, entries: usize) -> Plot {
    let columns = plots.len();
    let plots: Vec<Vec<Drawn>> = plots.into_iter().flatten().collect();
    let height = PANEL.1 + 18.0 * entries.min(60) as f64;
    let figure = Figure::new(1, columns)
        .with_title(plain(title))
        .with_plots(plots)
        .with_layouts(layouts)
        .with_keep_panel_legends()
        .with_cell_size(PANEL.0, height);
    Plot { scene: with_fixed_clip_names(figure.render()) }
}

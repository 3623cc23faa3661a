use crate::chart::{Axis, Direction, Figure, Mark, Panel, Side};
use crate::colour::Look;
use crate::legend::Sample;
use crate::scale::Scale;
use crate::{Plot, Series};

/// Where the model that is kept stands on the x axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Its epoch.
    pub x: f64,
    /// What stands above the mark, such as `best: epoch 12, ndcg@10 0.4312`.
    pub label: String,
}

/// Learning curves: the training loss read off the left axis, validation metrics read off the right one, the best epoch marked.
///
/// ```
/// use toprank_plots::{Best, Series, learning_curves};
/// let loss = Series { name: "training loss".into(), points: vec![(1.0, 0.9), (2.0, 0.7), (3.0, 0.6)] };
/// let ndcg = Series { name: "validation ndcg@10".into(), points: vec![(1.0, 0.3), (2.0, 0.4), (3.0, 0.39)] };
/// let best = Best { x: 2.0, label: "best: epoch 2, ndcg@10 0.4000".into() };
/// let plot = learning_curves("mlp with lambdarank", "epoch", &loss, &[ndcg], Some(best));
/// assert!(plot.svg().contains("best: epoch 2"));
/// ```
pub fn learning_curves(
    title: &str,
    x_axis: &str,
    loss: &Series,
    metrics: &[Series],
    best: Option<Best>,
) -> Plot {
    let measured: Vec<&Series> = metrics.iter().filter(|series| series.finite().next().is_some()).collect();
    let all = || std::iter::once(loss).chain(measured.iter().copied()).flat_map(Series::finite);
    let x = Axis::over(x_axis, all());
    let mut y = Axis::new(&loss.name, Scale::linear(loss.finite().map(|point| point.1), 0.05));
    let look = Look::of(1);
    y.colour = look.colour;
    let mut panel = Panel::new(x, y);
    panel.marks.push(Mark::curve(&loss.points, look, Side::Left));
    panel.legend.push((loss.name.clone(), Sample::Line(look)));
    if !measured.is_empty() {
        let values = measured.iter().flat_map(|series| series.finite()).map(|point| point.1);
        let mut right = Axis::new("validation metrics", Scale::linear(values, 0.05));
        for (i, series) in measured.iter().enumerate() {
            // Blue first; vermilion is the loss.
            let look = Look::of(if i == 0 { 0 } else { i + 1 });
            panel.marks.push(Mark::curve(&series.points, look, Side::Right));
            panel.legend.push((series.name.clone(), Sample::Line(look)));
            if measured.len() == 1 {
                right.label.clone_from(&series.name);
                right.colour = look.colour;
            }
        }
        panel.right = Some(right);
    }
    if let Some(best) = best.filter(|best| best.x.is_finite()) {
        let look = Look::REFERENCE;
        panel.marks.push(Mark::Rule { at: best.x, look, direction: Direction::Vertical, label: best.label });
    }
    panel.empty = all().next().is_none();
    Figure::of(title, panel).draw()
}

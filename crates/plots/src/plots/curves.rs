use crate::chart::{Axis, Figure, Mark, Panel, Side};
use crate::colour::Look;
use crate::legend::Sample;
use crate::scale::Scale;
use crate::{Plot, Series};

/// Named curves over common axes.
///
/// Colours repeat after 7 curves; dashes change with each round, so no two of the first 28 look the same.
///
/// ```
/// use toprank_plots::{curves, Series};
/// let ours = Series { name: "song".into(), points: vec![(1.0, 0.3), (2.0, 0.4)] };
/// assert!(curves("NDCG on validation", "epoch", "ndcg@10", &[ours]).svg().contains("song"));
/// ```
pub fn curves(title: &str, x_axis: &str, y_axis: &str, series: &[Series]) -> Plot {
    let all = || series.iter().flat_map(Series::finite);
    let x = Axis::over(x_axis, all());
    let y = Axis::new(y_axis, Scale::linear(all().map(|point| point.1), 0.05));
    let mut panel = Panel::new(x, y);
    for (i, series) in series.iter().enumerate() {
        let look = Look::of(i);
        panel.marks.push(Mark::curve(&series.points, look, Side::Left));
        panel.legend.push((series.name.clone(), Sample::Line(look)));
    }
    // The name of the y axis says what a single curve of the same name is.
    if let [only] = series
        && only.name == y_axis
    {
        panel.legend.clear();
    }
    panel.empty = all().next().is_none();
    Figure::of(title, panel).draw()
}

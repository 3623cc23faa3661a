//! The entries of a legend, side by side above a frame.

use crate::chart::Panel;
use crate::colour::{Colour, INK, Look};
use crate::draw::{Fill, SMALL, Text, coloured, dot, line, text};
use crate::svg::Svg;
use crate::text::{fitted, width as text_width};

/// Height of a row.
pub(crate) const ROW: f64 = 20.0;
/// Most entries; the last one says how many are left out.
pub(crate) const MOST_ENTRIES: usize = 28;
/// Between a sample and its name.
const GAP: f64 = 7.0;
/// Between two entries.
const BETWEEN: f64 = 20.0;
/// Longest name in pixels; longer names are truncated.
const LONGEST_NAME: f64 = 390.0;

/// How an entry of the legend looks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sample {
    Line(Look),
    Bar(Colour, f64),
    Dot(Colour, Fill),
}

impl Sample {
    fn width(self) -> f64 {
        if matches!(self, Sample::Line(_)) { 24.0 } else { 12.0 }
    }
}

/// An entry of a legend and its place.
pub(crate) struct Entry {
    name: String,
    /// `None` for the last one, which says how many are left out.
    sample: Option<Sample>,
    x: f64,
    pub row: usize,
}

/// Entries side by side; in columns if they need more than one row.
pub(crate) fn entries(panel: &Panel, width: f64) -> Vec<Entry> {
    let mut all: Vec<(String, Option<Sample>)> =
        panel.legend.iter().map(|(name, sample)| (name.clone(), Some(*sample))).collect();
    if all.len() > MOST_ENTRIES {
        let more = all.len() - MOST_ENTRIES + 1;
        all.truncate(MOST_ENTRIES - 1);
        all.push((format!("… and {more} more"), None));
    }
    let beside = |sample: Option<Sample>| sample.map_or(0.0, |sample| sample.width() + GAP);
    let shortened = |(name, sample): (String, Option<Sample>)| {
        (fitted(&name, SMALL, (width - beside(sample)).min(LONGEST_NAME)), sample)
    };
    let all: Vec<(String, Option<Sample>)> = all.into_iter().map(shortened).collect();
    let needed =
        |(name, sample): &(String, Option<Sample>)| beside(*sample) + text_width(name, SMALL) + BETWEEN;
    let in_a_row: f64 = all.iter().map(needed).sum();
    let column = all.iter().map(needed).fold(1.0, f64::max);
    let columns = ((width + BETWEEN) / column).floor().max(1.0) as usize;
    let mut x = 0.0;
    let mut entries = Vec::new();
    for (i, one) in all.into_iter().enumerate() {
        let next = x + needed(&one);
        let (name, sample) = one;
        let (place, row) = match in_a_row <= width + BETWEEN {
            true => (x, 0),
            false => ((i % columns) as f64 * column, i / columns),
        };
        entries.push(Entry { name, sample, x: place, row });
        x = next;
    }
    entries
}

impl Entry {
    pub fn draw(&self, svg: &mut Svg, left: f64, top: f64) {
        let (mut x, y) = (left + self.x, top + self.row as f64 * ROW + ROW / 2.0);
        if let Some(sample) = self.sample {
            let width = sample.width();
            match sample {
                Sample::Line(look) => {
                    coloured(svg, look.colour, |svg| line(svg, [x, y, x + width, y], 2.0, look.dash));
                }
                Sample::Bar(colour, opacity) => coloured(svg, colour, |svg| {
                    svg.element(
                        "rect",
                        &[
                            ("x", x.into()),
                            ("y", (y - width / 2.0).into()),
                            ("width", width.into()),
                            ("height", width.into()),
                            ("fill", "currentColor".into()),
                            ("fill-opacity", opacity.into()),
                        ],
                    );
                }),
                Sample::Dot(colour, fill) => {
                    coloured(svg, colour, |svg| dot(svg, x + width / 2.0, y, fill));
                }
            }
            x += width + GAP;
        }
        text(svg, Text::at(x, y + SMALL * 0.35, INK), &self.name);
    }
}

//! Figures of one or more panels: title, legend, axes and marks, laid out in pixels.
//!
//! ```text
//! title
//! subtitle
//! ── a panel ────────────────────────────
//! its title
//! legend, legend, legend
//!            label of a marked place
//!  y │                              │ second y
//!    │  frame: marks over grid      │
//!    └──────────────────────────────┘
//!                  x
//! ```

use crate::Plot;
use crate::colour::{self, Colour, INK, Look, PAPER, SOFT};
use crate::draw::{Fill, SMALL, Text, coloured, text};
use crate::frame::Frame;
use crate::legend::{self, Entry, MOST_ENTRIES, ROW, Sample};
use crate::scale::{Scale, Tick};
use crate::svg::{Svg, beginning, number_text};
use crate::text::{fitted, wrapped};

const TITLE: f64 = 16.0;
/// Size of the labels of axes.
pub(crate) const LABEL: f64 = 13.0;
/// Space around everything.
const EDGE: f64 = 16.0;
/// Longest name of a row, in pixels; longer names are truncated.
const LONGEST_NAME: f64 = 260.0;
const FONTS: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', sans-serif";

/// What is drawn in a frame; coordinates are values of the axes.
#[derive(Clone, Debug)]
pub(crate) enum Mark {
    /// Points joined in their order, by straight lines or by steps.
    Line { points: Vec<(f64, f64)>, look: Look, join: Join, side: Side, width: f64 },
    /// Dots; hollow ones are circles.
    Dots { points: Vec<(f64, f64)>, colour: Colour, fill: Fill },
    /// Rectangles (x from, x to, y from, y to).
    Bars { bars: Vec<[f64; 4]>, colour: Colour, opacity: f64 },
    /// Intervals with caps: (place, low, high).
    Whiskers { intervals: Vec<(f64, f64, f64)>, colour: Colour, direction: Direction },
    /// A line across the whole frame, with a label above it if it is vertical.
    Rule { at: f64, look: Look, direction: Direction, label: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    Straight,
    /// Each value holds until the next one.
    Steps,
}

/// The axis that y values belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Horizontal,
    Vertical,
}

impl Mark {
    /// A curve; points that are not finite are skipped, a single point is a dot.
    pub fn curve(points: &[(f64, f64)], look: Look, side: Side) -> Mark {
        Mark::Line { points: points.to_vec(), look, join: Join::Straight, side, width: 2.0 }
    }

    /// A thin dashed line that the data are compared with.
    pub fn reference(from: (f64, f64), to: (f64, f64)) -> Mark {
        let look = Look::REFERENCE;
        Mark::Line { points: vec![from, to], look, join: Join::Straight, side: Side::Left, width: 1.2 }
    }
}

/// What stands at an axis.
#[derive(Clone, Debug)]
pub(crate) enum Ticks {
    Numbers,
    Integers,
    /// One name per integer from 0, the first one on top; on a y axis only.
    Names(Vec<String>),
}

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub label: String,
    pub scale: Scale,
    pub ticks: Ticks,
    /// The colour of the label, if the axis belongs to one curve.
    pub colour: Colour,
}

impl Axis {
    pub fn new(label: &str, scale: Scale) -> Axis {
        Axis { label: label.into(), scale, ticks: Ticks::Numbers, colour: INK }
    }

    /// An x axis over the points of curves; epochs and steps are integers, and so are their ticks.
    pub fn over(label: &str, points: impl Iterator<Item = (f64, f64)> + Clone) -> Axis {
        let places = points.map(|point| point.0);
        let counts = places.clone().all(|x| x.fract() == 0.0);
        let ticks = if counts { Ticks::Integers } else { Ticks::Numbers };
        Axis { ticks, ..Axis::new(label, Scale::linear(places, 0.0)) }
    }

    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        match &self.ticks {
            Ticks::Numbers => self.scale.ticks(most),
            Ticks::Integers => self.scale.integer_ticks(most),
            Ticks::Names(names) => {
                let n = names.len();
                let tick = |(i, name): (usize, &String)| Tick {
                    value: (n - 1 - i) as f64,
                    label: fitted(name, SMALL, LONGEST_NAME),
                };
                names.iter().enumerate().map(tick).collect()
            }
        }
    }
}

/// Axes with marks.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    /// A second y axis at the right.
    pub right: Option<Axis>,
    pub marks: Vec<Mark>,
    pub legend: Vec<(String, Sample)>,
    /// There is nothing to draw; the panel says so.
    pub empty: bool,
}

impl Panel {
    pub fn new(x: Axis, y: Axis) -> Panel {
        Panel { title: String::new(), x, y, right: None, marks: Vec::new(), legend: Vec::new(), empty: false }
    }
}

/// A whole drawing.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub title: String,
    /// A line below the title.
    pub subtitle: String,
    /// Side by side.
    pub panels: Vec<Panel>,
    pub width: f64,
    /// Height of the frames.
    pub height: f64,
}

impl Figure {
    /// One panel of the usual size.
    pub fn of(title: &str, panel: Panel) -> Figure {
        Figure {
            title: title.into(),
            subtitle: String::new(),
            panels: vec![panel],
            width: 760.0,
            height: 330.0,
        }
    }

    pub fn draw(&self) -> Plot {
        let inner = self.width - 2.0 * EDGE;
        let title = wrapped(&self.title, TITLE, inner, 3);
        let subtitle = wrapped(&self.subtitle, LABEL, inner, 2);
        let lines = title.len() as f64 * 22.0 + subtitle.len() as f64 * 19.0;
        let top = EDGE + lines;
        let gap = EDGE;
        let n = self.panels.len().max(1) as f64;
        let width = (inner - gap * (n - 1.0)) / n;
        let legends: Vec<Vec<Entry>> =
            self.panels.iter().map(|panel| legend::entries(panel, width)).collect();
        // Frames side by side begin at the same height.
        let rows = legends.iter().flatten().map(|entry| entry.row + 1).max().unwrap_or(0) as f64;
        let has_title = self.panels.iter().any(|panel| !panel.title.is_empty());
        let has_label = self.panels.iter().any(|panel| panel.marks.iter().any(is_labelled));
        let head = if has_title { 24.0 } else { 0.0 } + rows * ROW;
        let frame_top = top + head + if has_label { 24.0 } else { 12.0 };
        let has_x_label = self.panels.iter().any(|panel| !panel.x.label.is_empty());
        let height = frame_top + self.height + 24.0 + if has_x_label { 22.0 } else { 0.0 } + EDGE - 6.0;

        let mut svg = Svg::default();
        let size = format!("0 0 {} {}", number_text(self.width), number_text(height));
        let name = beginning(&self.title);
        let root = [
            ("xmlns", "http://www.w3.org/2000/svg".into()),
            ("class", "toprank-plot".into()),
            ("width", self.width.into()),
            ("height", height.into()),
            ("viewBox", (&size).into()),
            ("role", "img".into()),
            ("aria-label", name.into()),
            ("font-family", FONTS.into()),
            ("font-size", SMALL.into()),
        ];
        svg.group("svg", &root, |svg| {
            svg.text("title", &[], name);
            svg.text("desc", &[], &self.description());
            colour::style(svg);
            coloured(svg, PAPER, |svg| {
                let paper =
                    [("width", "100%".into()), ("height", "100%".into()), ("fill", "currentColor".into())];
                svg.element("rect", &paper);
            });
            let mut y = EDGE;
            for line in &title {
                y += 22.0;
                text(svg, Text { size: TITLE, weight: "600", ..Text::at(EDGE, y - 8.0, INK) }, line);
            }
            for line in &subtitle {
                y += 19.0;
                text(svg, Text { size: LABEL, ..Text::at(EDGE, y - 7.0, SOFT) }, line);
            }
            for ((panel, entries), i) in self.panels.iter().zip(&legends).zip(0..) {
                let left = EDGE + f64::from(i) * (width + gap);
                let mut y = top;
                if has_title {
                    let style = Text { size: LABEL, weight: "600", ..Text::at(left, y + 14.0, INK) };
                    text(svg, style, &fitted(&panel.title, LABEL, width));
                    y += 24.0;
                }
                for entry in entries {
                    entry.draw(svg, left, y);
                }
                Frame::of(panel, left, width, frame_top, self.height).draw(svg, panel);
            }
        });
        Plot::new(svg.finish())
    }

    /// What is drawn, for readers who cannot see it.
    fn description(&self) -> String {
        let axis = |name: &str, axis: &Axis| {
            if let Ticks::Names(names) = &axis.ticks {
                return format!(
                    "{name}: {}.",
                    names.iter().take(MOST_ENTRIES).cloned().collect::<Vec<_>>().join(", ")
                );
            }
            let ticks = axis.ticks(6);
            let [low, high] =
                [ticks.first(), ticks.last()].map(|tick| tick.map_or("", |tick| tick.label.as_str()));
            let label = if axis.label.is_empty() { String::new() } else { format!(" {},", axis.label) };
            format!("{name}:{label} from {low} to {high}.")
        };
        let mut parts = Vec::new();
        parts.extend((!self.subtitle.is_empty()).then(|| format!("{}.", self.subtitle)));
        for panel in &self.panels {
            parts.extend((!panel.title.is_empty()).then(|| format!("{}.", panel.title)));
            parts.extend(panel.empty.then(|| "No values.".to_string()));
            parts.push(axis("x axis", &panel.x));
            parts.push(axis("y axis", &panel.y));
            parts.extend(panel.right.as_ref().map(|right| axis("second y axis", right)));
            let names: Vec<&str> =
                panel.legend.iter().take(MOST_ENTRIES).map(|entry| entry.0.as_str()).collect();
            parts.extend((!names.is_empty()).then(|| format!("Legend: {}.", names.join("; "))));
            let labels = panel.marks.iter().filter_map(|mark| match mark {
                Mark::Rule { label, .. } if !label.is_empty() => Some(format!("Marked: {label}.")),
                _ => None,
            });
            parts.extend(labels);
        }
        parts.join(" ")
    }
}

fn is_labelled(mark: &Mark) -> bool {
    matches!(mark, Mark::Rule { label, .. } if !label.is_empty())
}

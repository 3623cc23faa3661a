//! Colours that colour-blind readers can tell apart, on light and on dark paper.

use crate::svg::Svg;

/// A colour with the class by which the dark scheme changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour {
    pub class: &'static str,
    pub value: &'static str,
}

const fn colour(class: &'static str, value: &'static str) -> Colour {
    Colour { class, value }
}

/// The colours of Okabe and Ito, dark ones first; yellow is omitted, since it is hard to see on white.
pub(crate) const COLOURS: [Colour; 7] = [
    colour("blue", "#0072B2"),
    colour("vermilion", "#D55E00"),
    colour("green", "#009E73"),
    colour("purple", "#CC79A7"),
    colour("orange", "#E69F00"),
    colour("sky", "#56B4E9"),
    colour("black", "#000000"),
];
pub(crate) const BLUE: Colour = COLOURS[0];
pub(crate) const VERMILION: Colour = COLOURS[1];
pub(crate) const ORANGE: Colour = COLOURS[4];
/// Text, axes.
pub(crate) const INK: Colour = colour("ink", "#222222");
/// What is read second: labels of ticks, reference lines.
pub(crate) const SOFT: Colour = colour("soft", "#666666");
/// Grid lines.
pub(crate) const GRID: Colour = colour("grid", "#E6E6E6");
pub(crate) const PAPER: Colour = colour("paper", "#FFFFFF");

/// The classes that look otherwise on dark paper. The colours above are attributes, so a viewer without style sheets draws the
/// light scheme; the rules name the class of the plot, so they change nothing else on a page that the plot is part of.
const DARK: [(&str, &str); 5] = [
    ("ink", "#E8E8E8"),
    ("soft", "#A6ACB3"),
    ("grid", "#33383E"),
    ("paper", "#16181C"),
    ("black", "#FFFFFF"),
];

/// Writes the style sheet.
pub(crate) fn style(svg: &mut Svg) {
    let rules = DARK.map(|(class, value)| format!(".toprank-plot .{class}{{color:{value}}}")).concat();
    svg.text("style", &[], &format!("@media (prefers-color-scheme:dark){{{rules}}}"));
}

/// How a series is drawn: colours repeat after 7 series, dashes change with each round, so no two of the first 28 look the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub colour: Colour,
    /// Lengths of dashes and gaps; empty: a solid line.
    pub dash: &'static str,
}

impl Look {
    pub const fn solid(colour: Colour) -> Look {
        Look { colour, dash: "" }
    }

    /// Thin dashes for what the data are compared with.
    pub const REFERENCE: Look = Look { colour: SOFT, dash: "4 4" };

    /// Of the i-th series.
    pub fn of(i: usize) -> Look {
        let dashes = ["", "8 4", "2 3", "8 3 2 3"];
        Look { colour: COLOURS[i % COLOURS.len()], dash: dashes[i / COLOURS.len() % dashes.len()] }
    }
}

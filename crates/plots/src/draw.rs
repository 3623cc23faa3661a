//! Shapes and text in a colour.

use crate::colour::Colour;
use crate::svg::{Svg, number_text};

/// Size of text unless it is said otherwise.
pub(crate) const SMALL: f64 = 12.0;

/// How a dot looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    Full,
    Hollow,
}

/// A group whose current colour is the given one; the class lets the dark scheme change it.
pub(crate) fn coloured(svg: &mut Svg, colour: Colour, content: impl FnOnce(&mut Svg)) {
    svg.group("g", &[("class", colour.class.into()), ("color", colour.value.into())], content);
}

pub(crate) fn line(svg: &mut Svg, [x1, y1, x2, y2]: [f64; 4], width: f64, dash: &str) {
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(number_text);
    path(svg, &format!("M{x1} {y1}L{x2} {y2}"), width, dash);
}

pub(crate) fn path(svg: &mut Svg, d: &str, width: f64, dash: &str) {
    let mut attributes = vec![
        ("d", d.into()),
        ("fill", "none".into()),
        ("stroke", "currentColor".into()),
        ("stroke-width", width.into()),
        ("stroke-linejoin", "round".into()),
    ];
    if !dash.is_empty() {
        attributes.push(("stroke-dasharray", dash.into()));
    }
    svg.element("path", &attributes);
}

pub(crate) fn dot(svg: &mut Svg, x: f64, y: f64, fill: Fill) {
    let place = [("cx", x.into()), ("cy", y.into())];
    let look = match fill {
        Fill::Full => [("r", 4.0.into()), ("fill", "currentColor".into()), ("stroke", "none".into())],
        Fill::Hollow => [("r", 3.5.into()), ("fill", "none".into()), ("stroke", "currentColor".into())],
    };
    let mut attributes = [place.as_slice(), &look].concat();
    if fill == Fill::Hollow {
        attributes.push(("stroke-width", 1.5.into()));
    }
    svg.element("circle", &attributes);
}

/// How a text is set.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    pub x: f64,
    pub y: f64,
    pub colour: Colour,
    pub size: f64,
    pub anchor: &'static str,
    pub weight: &'static str,
    /// Degrees, clockwise.
    pub turn: f64,
}

impl Text {
    pub fn at(x: f64, y: f64, colour: Colour) -> Text {
        Text { x, y, colour, size: SMALL, anchor: "start", weight: "", turn: 0.0 }
    }
}

pub(crate) fn text(svg: &mut Svg, style: Text, words: &str) {
    if words.trim().is_empty() {
        return;
    }
    let Text { x, y, colour, size, anchor, weight, turn } = style;
    let turned = format!("rotate({} {} {})", number_text(turn), number_text(x), number_text(y));
    let mut attributes = vec![
        ("class", colour.class.into()),
        ("color", colour.value.into()),
        ("fill", "currentColor".into()),
        ("x", x.into()),
        ("y", y.into()),
    ];
    attributes.extend((size != SMALL).then_some(("font-size", size.into())));
    attributes.extend((anchor != "start").then_some(("text-anchor", anchor.into())));
    attributes.extend((!weight.is_empty()).then_some(("font-weight", weight.into())));
    attributes.extend((turn != 0.0).then_some(("transform", (&turned).into())));
    svg.text("text", &attributes, words);
}

//! The frame of a panel: grid, axes with their ticks and labels, and the marks.

use crate::chart::{Axis, Direction, Join, LABEL, Mark, Panel, Side, Ticks};
use crate::colour::{GRID, INK, SOFT};
use crate::draw::{Fill, SMALL, Text, coloured, dot, line, path, text};
use crate::scale::{Scale, Tick};
use crate::svg::{Svg, number_text};
use crate::text::{fitted, width as text_width};

/// The rectangle between the axes, in pixels.
pub(crate) struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    /// Widest label of the left ticks.
    labels: f64,
}

impl Frame {
    /// As wide as the labels of the axes allow.
    pub fn of(panel: &Panel, left: f64, width: f64, top: f64, height: f64) -> Frame {
        let widest = |axis: &Axis| {
            let ticks = axis.ticks(vertical_ticks(height));
            ticks.iter().map(|tick| text_width(&tick.label, SMALL)).fold(0.0, f64::max)
        };
        let side = |axis: &Axis| widest(axis) + 12.0 + if axis.label.is_empty() { 0.0 } else { 22.0 };
        let before = side(&panel.y);
        // The last label of the x axis stands half beyond the frame.
        let after = panel.right.as_ref().map_or(20.0, side);
        Frame { left: left + before, top, width: width - before - after, height, labels: widest(&panel.y) }
    }

    fn right(&self) -> f64 {
        self.left + self.width
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }

    fn x(&self, scale: &Scale, value: f64) -> f64 {
        self.left + self.width * scale.place(value)
    }

    fn y(&self, scale: &Scale, value: f64) -> f64 {
        self.bottom() - self.height * scale.place(value)
    }

    pub fn draw(&self, svg: &mut Svg, panel: &Panel) {
        let x_ticks = self.x_ticks(&panel.x);
        let y_ticks = panel.y.ticks(vertical_ticks(self.height));
        // Named rows need no axis: their bars and intervals have a line at 0.
        let named = matches!(panel.y.ticks, Ticks::Names(_));
        coloured(svg, GRID, |svg| {
            for tick in &x_ticks {
                let x = self.x(&panel.x.scale, tick.value);
                line(svg, [x, self.top, x, self.bottom()], 1.0, "");
            }
            for tick in y_ticks.iter().filter(|_| !named) {
                let y = self.y(&panel.y.scale, tick.value);
                line(svg, [self.left, y, self.right(), y], 1.0, "");
            }
        });
        for mark in panel.marks.iter().filter(|_| !panel.empty) {
            self.mark(svg, panel, mark);
        }
        coloured(svg, SOFT, |svg| {
            line(svg, [self.left, self.bottom(), self.right(), self.bottom()], 1.0, "");
            if !named {
                line(svg, [self.left, self.top, self.left, self.bottom()], 1.0, "");
            }
            if panel.right.is_some() {
                line(svg, [self.right(), self.top, self.right(), self.bottom()], 1.0, "");
            }
        });
        for tick in &x_ticks {
            let x = self.x(&panel.x.scale, tick.value);
            text(svg, Text { anchor: "middle", ..Text::at(x, self.bottom() + 18.0, SOFT) }, &tick.label);
        }
        for tick in &y_ticks {
            let y = self.y(&panel.y.scale, tick.value) + SMALL * 0.35;
            let colour = if named { INK } else { SOFT };
            text(svg, Text { anchor: "end", ..Text::at(self.left - 8.0, y, colour) }, &tick.label);
        }
        let middle = (self.left + self.width / 2.0, self.top + self.height / 2.0);
        let label = Text {
            size: LABEL,
            anchor: "middle",
            ..Text::at(middle.0, self.bottom() + 40.0, panel.x.colour)
        };
        text(svg, label, &fitted(&panel.x.label, LABEL, self.width + self.labels));
        let beside = |svg: &mut Svg, axis: &Axis, x: f64, turn: f64| {
            let style = Text { size: LABEL, anchor: "middle", turn, ..Text::at(x, middle.1, axis.colour) };
            text(svg, style, &fitted(&axis.label, LABEL, self.height + 20.0));
        };
        beside(svg, &panel.y, self.left - self.labels - 18.0, -90.0);
        if let Some(right) = &panel.right {
            let ticks = right.ticks(vertical_ticks(self.height));
            let mut widest: f64 = 0.0;
            for tick in &ticks {
                let y = self.y(&right.scale, tick.value) + SMALL * 0.35;
                text(svg, Text::at(self.right() + 8.0, y, SOFT), &tick.label);
                widest = widest.max(text_width(&tick.label, SMALL));
            }
            beside(svg, right, self.right() + widest + 18.0, 90.0);
        }
        if panel.empty {
            text(
                svg,
                Text { anchor: "middle", size: LABEL, ..Text::at(middle.0, middle.1, SOFT) },
                "no values",
            );
        }
    }

    /// As many ticks as have place for their labels.
    fn x_ticks(&self, axis: &Axis) -> Vec<Tick> {
        let fits = |ticks: &Vec<Tick>| {
            ticks.windows(2).all(|pair| {
                let space = self.x(&axis.scale, pair[1].value) - self.x(&axis.scale, pair[0].value);
                f64::midpoint(text_width(&pair[0].label, SMALL), text_width(&pair[1].label, SMALL)) + 14.0
                    <= space
            })
        };
        let most = (self.width / 60.0) as usize;
        let mut choices = (2..=most.max(2)).rev().map(|most| axis.ticks(most));
        choices.find(fits).unwrap_or_else(|| axis.ticks(2))
    }

    fn mark(&self, svg: &mut Svg, panel: &Panel, mark: &Mark) {
        let scale_of = |side: Side| match (side, &panel.right) {
            (Side::Right, Some(right)) => &right.scale,
            _ => &panel.y.scale,
        };
        let (x_scale, y_scale) = (&panel.x.scale, &panel.y.scale);
        let finite = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
        match mark {
            Mark::Line { points, look, join, side, width } => {
                let scale = scale_of(*side);
                let places = points.iter().filter(finite).map(|p| (self.x(x_scale, p.0), self.y(scale, p.1)));
                let places = thinned(places);
                coloured(svg, look.colour, |svg| match places.as_slice() {
                    [] => {}
                    [(x, y)] => dot(svg, *x, *y, Fill::Full),
                    _ => path(svg, &joined(&places, *join), *width, look.dash),
                });
            }
            Mark::Dots { points, colour, fill } => coloured(svg, *colour, |svg| {
                for (x, y) in points.iter().filter(finite) {
                    dot(svg, self.x(x_scale, *x), self.y(y_scale, *y), *fill);
                }
            }),
            Mark::Bars { bars, colour, opacity } => {
                let mut d = String::new();
                for [x0, x1, y0, y1] in bars.iter().filter(|bar| bar.iter().all(|v| v.is_finite())) {
                    let ([x0, x1], [y0, y1]) =
                        ([x0, x1].map(|x| self.x(x_scale, *x)), [y0, y1].map(|y| self.y(y_scale, *y)));
                    let [x0, x1, y0, y1] = [x0, x1, y0, y1].map(number_text);
                    d += &format!("M{x0} {y0}H{x1}V{y1}H{x0}Z");
                }
                if !d.is_empty() {
                    coloured(svg, *colour, |svg| {
                        let fill = [
                            ("d", (&d).into()),
                            ("fill", "currentColor".into()),
                            ("fill-opacity", (*opacity).into()),
                        ];
                        svg.element("path", &fill);
                    });
                }
            }
            Mark::Whiskers { intervals, colour, direction } => {
                let mut d = String::new();
                let finite = |i: &&(f64, f64, f64)| [i.0, i.1, i.2].iter().all(|v| v.is_finite());
                for &(at, low, high) in intervals.iter().filter(finite) {
                    d += &match direction {
                        Direction::Horizontal => {
                            let (y, x0, x1) =
                                (self.y(y_scale, at), self.x(x_scale, low), self.x(x_scale, high));
                            let [y, x0, x1, up, down] = [y, x0, x1, y - 4.0, y + 4.0].map(number_text);
                            format!("M{x0} {y}H{x1}M{x0} {up}V{down}M{x1} {up}V{down}")
                        }
                        Direction::Vertical => {
                            let (x, y0, y1) =
                                (self.x(x_scale, at), self.y(y_scale, low), self.y(y_scale, high));
                            let [x, y0, y1, before, after] = [x, y0, y1, x - 4.0, x + 4.0].map(number_text);
                            format!("M{x} {y0}V{y1}M{before} {y0}H{after}M{before} {y1}H{after}")
                        }
                    };
                }
                if !d.is_empty() {
                    coloured(svg, *colour, |svg| path(svg, &d, 1.5, ""));
                }
            }
            Mark::Rule { at, look, direction: Direction::Horizontal, .. } => {
                let y = self.y(y_scale, *at);
                coloured(svg, look.colour, |svg| line(svg, [self.left, y, self.right(), y], 1.2, look.dash));
            }
            Mark::Rule { at, look, direction: Direction::Vertical, label } => {
                let x = self.x(x_scale, *at);
                coloured(svg, look.colour, |svg| line(svg, [x, self.top, x, self.bottom()], 1.2, look.dash));
                let label = fitted(label, SMALL, self.width);
                let half = text_width(&label, SMALL) / 2.0;
                let middle = x.clamp(self.left + half, (self.right() - half).max(self.left + half));
                text(svg, Text { anchor: "middle", ..Text::at(middle, self.top - 7.0, INK) }, &label);
            }
        }
    }
}

fn vertical_ticks(height: f64) -> usize {
    (height / 45.0) as usize
}

/// Without points that are too close to the one before to be distinguished; the last one is kept.
fn thinned(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    const NEAR: f64 = 0.3;
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut last = None;
    for point in points {
        let far = |from: &(f64, f64)| (point.0 - from.0).abs().max((point.1 - from.1).abs()) >= NEAR;
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

fn joined(places: &[(f64, f64)], join: Join) -> String {
    let mut d = String::new();
    for (i, (x, y)) in places.iter().enumerate() {
        let [x, y] = [*x, *y].map(number_text);
        d += &match (i, join) {
            (0, _) => format!("M{x} {y}"),
            (_, Join::Straight) => format!("L{x} {y}"),
            (_, Join::Steps) => format!("H{x}V{y}"),
        };
    }
    d
}

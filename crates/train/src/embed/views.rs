/*!
Views of rows: each row twice, noise added and features masked anew each time, for learning without labels.

Row r of the data is rows 2r and 2r + 1 here. The numbers come from (seed, view, step), so they depend neither on threads nor
on the other rows of a batch. A masked feature is 0, which is its mean where features are standardised.
*/

use toprank_core::stream::Random;
use toprank_core::{Entry, Features, Param, ParamError, Stream, catalog};

/// What is done to a row to make a view of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Views {
    /// Standard deviation of the noise.
    pub noise: f64,
    /// Probability that a feature is masked.
    pub mask: f64,
    /// A view is compared with second views of rows only (two-way form), instead of with all other views.
    pub across: bool,
}

static FORMS: &[Entry<Option<Views>>] = &[
    Entry {
        name: "none",
        family: "views",
        about: "rows as they are, classes by label",
        page: "",
        params: &[],
        make: |_| Ok(Box::new(None)),
    },
    Entry {
        name: "two",
        family: "views",
        about: "two views of every row, each row a class of its own",
        page: "",
        params: &[
            Param {
                name: "noise",
                default: "0.3",
                range: "in [0, ∞)",
                about: "standard deviation of the noise added to every feature",
            },
            Param {
                name: "mask",
                default: "0.2",
                range: "in [0, 1)",
                about: "probability that a feature is masked",
            },
            Param {
                name: "candidates",
                default: "all",
                range: "all or across",
                about: "a view meets all other views (one-way), or only second views of rows (two-way)",
            },
        ],
        make: |spec| {
            let number =
                |key: &str, default, range, ok: fn(f64) -> bool| spec.args.number(key, default, range, ok);
            Ok(Box::new(Some(Views {
                noise: number("noise", 0.3, "in [0, ∞)", |x| x >= 0.0 && x.is_finite())?,
                mask: number("mask", 0.2, "in [0, 1)", |x| (0.0..1.0).contains(&x))?,
                across: match spec.args.get("candidates").unwrap_or("all") {
                    "all" => false,
                    "across" => true,
                    other => return Err(ParamError::new("candidates", other, "all or across")),
                },
            })))
        },
    },
];

impl Views {
    /// Reads `none` or `two:noise=0.3:mask=0.2:candidates=across`.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Option<Views>, ParamError> {
        Ok(*catalog::make("views", FORMS, text)?.1)
    }
}

/// Features of which every row is there twice, as two views.
pub(crate) struct Viewed<'a> {
    pub of: &'a dyn Features,
    pub views: Views,
    /// Seed and step.
    pub stream: Stream,
}

impl Features for Viewed<'_> {
    fn rows(&self) -> usize {
        2 * self.of.rows()
    }

    fn width(&self) -> usize {
        self.of.width()
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        let Views { noise, mask, .. } = self.views;
        for (&view, out) in rows.iter().zip(out.chunks_exact_mut(self.width().max(1))) {
            self.of.gather(&[view / 2], out);
            let mut random = self.stream.of_list(view).open();
            for value in out {
                *value += (noise * normal(&mut random)) as f32;
                if random.unit() < mask {
                    *value = 0.0;
                }
            }
        }
    }

    fn fault(&self) -> Option<String> {
        self.of.fault()
    }

    fn recheck(&self) -> Option<String> {
        self.of.recheck()
    }
}

/// A standard normal number (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    let (u, angle) = (1.0 - random.unit(), std::f64::consts::TAU * random.unit());
    (-2.0 * u.ln()).sqrt() * angle.cos()
}

//! Features of rows without a query: noisy views of a few hidden numbers, of different kinds and scales.

use toprank_core::Stream;
use toprank_core::stream::Random;

use super::draws::{chance, log_normal, noise, sigmoid};
use super::output::Text;

/// Hidden numbers of a row.
pub(super) const HIDDEN: usize = 6;

/// What is hidden of a row: independent, mean 0, variance 1.
pub(super) type Hidden = [f64; HIDDEN];

pub(super) fn hidden(random: &mut Random) -> Hidden {
    std::array::from_fn(|_| noise(random))
}

enum Kind {
    /// Two hidden numbers mixed.
    Mix,
    /// Positive with a heavy tail.
    Amount,
    /// In (0, 1).
    Share,
    /// Integers 0..9.
    Grade,
    /// Noise.
    Useless,
}

struct View {
    kind: Kind,
    of: [usize; 2],
    mix: f64,
    blur: f64,
    scale: f64,
}

/// The features of all rows.
pub(super) struct Views {
    views: Vec<View>,
    missing: f64,
}

impl Views {
    pub(super) fn new(seed: u64, features: u64, missing: f64) -> Views {
        let view = |f: u64| {
            let mut random = Stream::new(seed, "views").of_list(f as u32).open();
            let kind = match f % 6 {
                0 | 3 => Kind::Mix,
                1 => Kind::Amount,
                2 => Kind::Share,
                4 => Kind::Grade,
                _ => Kind::Useless,
            };
            // Kinds and hidden numbers go round at different paces, so that every kind shows every number.
            let of = [(f + f / 6) as usize % HIDDEN, random.below(HIDDEN)];
            let mix = 0.6 * noise(&mut random);
            let blur = 0.2 + 0.8 * random.unit();
            View { kind, of, mix, blur, scale: log_normal(&mut random, 1.0, 1.0) }
        };
        Views { views: (0..features).map(view).collect(), missing }
    }

    /// Appends the features of a row, each followed by a comma; a missing one is `absent`.
    pub(super) fn write(&self, hidden: &Hidden, absent: &str, random: &mut Random, text: &mut Text) {
        for (f, view) in self.views.iter().enumerate() {
            let seen = hidden[view.of[0]] + view.mix * hidden[view.of[1]] + view.blur * noise(random);
            // Every fourth feature may miss.
            if f % 4 == 3 && chance(random, self.missing) {
                text.text(absent);
            } else {
                match view.kind {
                    Kind::Mix => text.decimal(view.scale * seen, 4),
                    Kind::Amount => text.decimal(view.scale * libm::exp(seen), 2),
                    Kind::Share => text.decimal(sigmoid(1.5 * seen), 4),
                    Kind::Grade => text.decimal((4.5 + 1.5 * seen).clamp(0.0, 9.0), 0),
                    Kind::Useless => text.decimal(view.scale * noise(random), 4),
                }
            }
            text.byte(b',');
        }
    }
}

/// The value that a fraction `share` of the rows exceeds, estimated from 4096 rows of a stream of its own.
pub(super) fn threshold(stream: Stream, share: f64, score: impl Fn(&mut Random) -> f64) -> f64 {
    const ROWS: u32 = 4096;
    let mut scores: Vec<f64> = (0..ROWS).map(|row| score(&mut stream.of_list(row).open())).collect();
    scores.sort_by(f64::total_cmp);
    scores[((1.0 - share) * f64::from(ROWS - 1)).round() as usize]
}

/*!
Files beside the data, as LightGBM has them: `train.txt.query` or `.group` (rows of each list), `.weight`,
`.position`, `.init`. One number a line, in the order of the rows; each may be packed too.
*/

use crate::error::{ReadError, show};
use crate::lines::Lines;
use crate::source::Source;

/// Numbers of a side file, with its name for messages.
pub(super) struct Side<T> {
    pub file: String,
    pub values: Vec<T>,
}

impl<T> Side<T> {
    /// Checks the count.
    pub(super) fn one_per(self, rows: usize, data: &str) -> Result<Vec<T>, ReadError> {
        if self.values.len() == rows {
            return Ok(self.values);
        }
        let found = format!("{} lines", self.values.len());
        Err(ReadError::data(&self.file, found, format!("{rows}, one per row of {data}")))
    }
}

/// The lengths of the lists from each `.query` and `.group` file there is.
pub(super) fn lengths(source: &Source) -> Result<Vec<Side<u64>>, ReadError> {
    let files = [".query", ".group"].into_iter().filter_map(|suffix| source.beside(suffix));
    files.map(|file| numbers(&file, "the number of rows of a list", |text| text.parse().ok())).collect()
}

/// Finite weights that are not negative.
pub(super) fn weights(source: &Source) -> Result<Option<Side<f32>>, ReadError> {
    let weight = |text: &str| text.parse().ok().filter(|w: &f32| w.is_finite() && *w >= 0.0);
    source.beside(".weight").map(|file| numbers(&file, "a finite weight of at least 0", weight)).transpose()
}

/// Positions at which the rows were shown.
pub(super) fn positions(source: &Source) -> Result<Option<Side<u32>>, ReadError> {
    let position = |text: &str| text.parse().ok();
    source.beside(".position").map(|file| numbers(&file, "a position 0, 1, 2, …", position)).transpose()
}

/// Scores to start from.
pub(super) fn init_scores(source: &Source) -> Result<Option<Side<f64>>, ReadError> {
    let score = |text: &str| text.parse().ok().filter(|s: &f64| s.is_finite());
    source.beside(".init").map(|file| numbers(&file, "one finite score", score)).transpose()
}

fn numbers<T>(
    source: &Source,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Side<T>, ReadError> {
    let mut lines = Lines::open(source)?;
    let mut values = Vec::new();
    let mut blank = false;
    while let Some(line) = lines.next_line()? {
        let word = line.trim_ascii();
        if word.is_empty() {
            blank = true;
            continue;
        }
        match std::str::from_utf8(word).ok().and_then(&parse) {
            Some(value) if !blank => values.push(value),
            Some(_) => {
                return Err(lines.error("a number after a blank line", "no blank lines between numbers"));
            }
            None => {
                let found = show(word);
                return Err(lines.error(found, expected));
            }
        }
    }
    Ok(Side { file: source.name().into(), values })
}

//! Files that harnesses read.

use std::io::Read as _;
use std::path::PathBuf;

use toprank::data::Source;

use super::Outcome;

/// The path of a real data set, which a clone of the repository does not hold.
pub fn real_data(file: &str) -> Outcome<PathBuf> {
    toprank_testkit::real_data(file).ok_or_else(|| {
        format!("{file} was not found; set TOPRANK_REAL_DATA to the folder that holds it").into()
    })
}

/// The text of a real data set, decompressed.
pub fn real_text(file: &str) -> Outcome<String> {
    let mut text = String::new();
    Source::path(real_data(file)?).open()?.read_to_string(&mut text)?;
    Ok(text)
}

/// All little-endian `f32` numbers of a file.
pub fn numbers_in(path: &str) -> Outcome<Vec<f32>> {
    let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(bytes.as_chunks().0.iter().map(|&number| f32::from_le_bytes(number)).collect())
}

/// Scores and labels of `total` items, which a file holds as little-endian pairs (f64 score, f32 label).
pub fn scored_items(path: &str, total: usize) -> Outcome<(Vec<f64>, Vec<f32>)> {
    let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let items = bytes.as_chunks::<12>().0;
    if bytes.len() != 12 * total {
        return Err(
            format!("{path}: expected 12 bytes for each of {total} items, found {}", bytes.len()).into()
        );
    }
    Ok(items
        .iter()
        .map(|&[s0, s1, s2, s3, s4, s5, s6, s7, label @ ..]| {
            (f64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7]), f32::from_le_bytes(label))
        })
        .unzip())
}

/// Settings written as `key=value`, separated by blanks, as lines of a config file.
pub fn settings_toml(text: &str) -> Outcome<String> {
    let mut toml = String::new();
    for setting in text.split_whitespace() {
        let (key, value) =
            setting.split_once('=').ok_or_else(|| format!("found {setting:?}, expected key=value"))?;
        let quoted = if value.parse::<f64>().is_ok() { value.to_string() } else { format!("\"{value}\"") };
        toml += &format!("{key} = {quoted}\n");
    }
    Ok(toml)
}

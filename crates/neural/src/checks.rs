//! What every network checks of what it is given, so that an error says what was found and what was expected.

use toprank_core::{Differentiable, ModelError, ModelInput};

/// Lengths and lists of a forward pass.
pub(crate) fn input(
    network: &impl Differentiable,
    parameters: &[f32],
    input: &ModelInput,
    scores: &[f64],
) -> Result<(), ModelError> {
    let rows = input.rows.len();
    lengths([
        ("parameters", parameters.len(), network.parameters()),
        ("features per row", input.features.width(), network.width()),
        ("scores to write", scores.len(), rows * network.outputs()),
    ])?;
    let offsets = input.offsets;
    let cover = offsets.first() == Some(&0) && offsets.last() == Some(&rows);
    if network.couples_items() && !(cover && offsets.is_sorted()) {
        let found = format!("lists at {:?} …", &offsets[..offsets.len().min(8)]);
        return Err(ModelError::new(found, format!("ascending offsets from 0 to {rows}")));
    }
    Ok(())
}

/// Lengths of a backward pass over so many rows.
pub(crate) fn derivatives(
    network: &impl Differentiable,
    rows: usize,
    parameters: &[f32],
    dscore: &[f64],
    gradient: &[f32],
) -> Result<(), ModelError> {
    lengths([
        ("derivatives of scores", dscore.len(), rows * network.outputs()),
        ("places for the gradient", gradient.len(), network.parameters()),
        ("parameters", parameters.len(), network.parameters()),
    ])
}

/// The features of these rows: all must be finite.
pub(crate) fn features(width: usize, rows: &[u32], features: &[f32]) -> Result<(), ModelError> {
    // Without a way out of the loop it runs in vectors.
    if features.iter().fold(true, |finite, value| finite & value.is_finite()) {
        return Ok(());
    }
    let Some(bad) = features.iter().position(|value| !value.is_finite()) else { return Ok(()) };
    let (row, feature) = (rows[bad / width], bad % width);
    Err(ModelError::new(
        format!("row {row}, feature {feature} (both from 0): the value is {}", features[bad]),
        "a finite number: fill missing values first, for example by missing:to=mean",
    ))
}

fn lengths(each: [(&str, usize, usize); 3]) -> Result<(), ModelError> {
    match each.into_iter().find(|(_, found, expected)| found != expected) {
        None => Ok(()),
        Some((what, found, expected)) => {
            Err(ModelError::new(format!("{found} {what}"), expected.to_string()))
        }
    }
}

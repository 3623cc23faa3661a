//! One cell of a text table: a number, missing, or neither. Shared by all separated formats and ARFF.

use crate::error::{ReadError, show};

/// Strings that mean "missing", besides the empty cell and any spelling of NaN.
pub(crate) const MISSING: &[&str] = &["NA", "NaN", "nan", "null", "NULL", "?"];

/// True if the cell means "missing".
pub(crate) fn is_missing(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    text.is_empty() || (text.len() < 5 && MISSING.iter().any(|word| word.as_bytes() == text))
}

/// True if the cell is a number: a finite one, or digits that are beyond the range, which is an error where it is read.
pub(crate) fn is_number(text: &[u8]) -> bool {
    match number(text) {
        Ok(value) => !value.is_nan(),
        Err(NoNumber::TooLarge) => text.iter().any(u8::is_ascii_digit),
        Err(NoNumber::Text) => false,
    }
}

/// Why a cell is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoNumber {
    Text,
    /// Infinite, or finite and beyond the range of the type.
    TooLarge,
}

/// The number in a cell; NaN = missing.
pub(crate) fn number(text: &[u8]) -> Result<f32, NoNumber> {
    parse(text, f32::NAN, f32::is_infinite)
}

/// The number in a cell in double precision; NaN = missing.
pub(crate) fn number_f64(text: &[u8]) -> Result<f64, NoNumber> {
    parse(text, f64::NAN, f64::is_infinite)
}

fn parse<T: fast_float2::FastFloat>(text: &[u8], missing: T, infinite: fn(T) -> bool) -> Result<T, NoNumber> {
    let text = text.trim_ascii();
    match fast_float2::parse::<T, _>(text) {
        Ok(value) if infinite(value) => Err(NoNumber::TooLarge),
        Ok(value) => Ok(value),
        Err(_) if is_missing(text) => Ok(missing),
        Err(_) => Err(NoNumber::Text),
    }
}

/// The error for a cell that is not a number; the caller adds the place.
pub(crate) fn not_a_number(file: &str, text: &[u8], why: NoNumber) -> ReadError {
    match why {
        NoNumber::TooLarge => ReadError::data(
            file,
            format!("{} is too large for a 32-bit number", show(text)),
            "a finite number below 3.4e38 or an empty cell",
        ),
        NoNumber::Text => {
            let error = ReadError::data(
                file,
                format!("{} is not a number", show(text)),
                "a number, or an empty cell where it is missing",
            );
            let comma = memchr::memchr_iter(b',', text).count() == 1;
            if comma && text.iter().all(|byte| byte.is_ascii_digit() || b",+-eE ".contains(byte)) {
                return error.advice("Write a point as the decimal mark.");
            }
            error
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_missing_or_neither() {
        for (text, expected) in [
            ("1", Ok(1.0)),
            (" -2.5e-3 ", Ok(-2.5e-3)),
            ("+3", Ok(3.0)),
            (".5", Ok(0.5)),
            ("5.", Ok(5.0)),
            ("0x10", Err(NoNumber::Text)),
            ("1_000", Err(NoNumber::Text)),
            ("1,5", Err(NoNumber::Text)),
            ("1 2", Err(NoNumber::Text)),
            ("-", Err(NoNumber::Text)),
            ("inf", Err(NoNumber::TooLarge)),
            ("-Infinity", Err(NoNumber::TooLarge)),
            ("1e39", Err(NoNumber::TooLarge)),
            ("1e-60", Ok(0.0)),
        ] {
            assert_eq!(number(text.as_bytes()), expected, "{text}");
        }
        for text in ["", " ", "NA", "NaN", "nan", "null", "NULL", "?", "NAN"] {
            assert!(number(text.as_bytes()).unwrap().is_nan(), "{text:?}");
        }
        assert_eq!(number_f64(b"881250949"), Ok(881_250_949.0));
    }
}

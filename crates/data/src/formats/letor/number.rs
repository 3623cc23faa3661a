/*!
Decimal text to `f32`, correctly rounded, as fast as the digits can be read.

```text
digits → integer m (≤ 18 digits) and k digits after the point
m · 10⁻ᵏ in f64 is off by at most 2 units of its last place
→ its rounding to f32 is right unless it lies within a few such units of the middle between two f32
→ then, and for exponents, longer numbers and words: the exact parser
```
*/

/// What stands where a number should.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// A finite number.
    Is(f32),
    /// Nothing at all, `NULL`, `nan` or `NA`, in any case.
    Missing,
    /// A word for infinity.
    Infinite,
    /// A number beyond the range of `f32`.
    TooLarge,
    /// Something else.
    Junk,
}

/// 10⁻ᵏ.
const INVERSE: [f64; 19] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15,
    1e-16, 1e-17, 1e-18,
];
const MOST_DIGITS: usize = 18;

/// Reads the number at `text[at]` and says where it ends; `None`: ask [`slow`].
///
/// `text` ends with a byte that no number holds.
#[inline]
pub(super) fn fast(text: &[u8], mut at: usize) -> Option<(f32, usize)> {
    let negative = text[at] == b'-';
    at += usize::from(negative);
    let start = at;
    let mut mantissa = 0u64;
    let mut fraction = 0;
    while text[at].wrapping_sub(b'0') < 10 {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(text[at] - b'0'));
        at += 1;
    }
    let mut digits = at - start;
    if text[at] == b'.' {
        at += 1;
        let point = at;
        while text[at].wrapping_sub(b'0') < 10 {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(text[at] - b'0'));
            at += 1;
        }
        fraction = at - point;
        digits += fraction;
    }
    if digits == 0 || digits > MOST_DIGITS || text[at] > b'9' {
        return None;
    }
    scaled(mantissa, fraction).map(|value| (if negative { -value } else { value }, at))
}

/// `mantissa · 10^-fraction` rounded to f32, unless only exact arithmetic can tell.
#[inline]
fn scaled(mantissa: u64, fraction: usize) -> Option<f32> {
    // f32 keeps 24 of the 53 bits: 29 are cut, the middle is 2²⁸. Mantissa, power and product each add at most
    // half a unit of the last place (one below a power of two): 8 is ample.
    const MIDDLE: u64 = 1 << 28;
    const MARGIN: u64 = 8;
    let close = mantissa as i64 as f64 * INVERSE[fraction];
    let cut = close.to_bits() & ((1 << 29) - 1);
    if cut.wrapping_sub(MIDDLE - MARGIN) <= 2 * MARGIN {
        return None;
    }
    Some(close as f32)
}

/// Reads a whole token, whatever it is.
#[cold]
#[inline(never)]
pub(super) fn slow(token: &[u8]) -> Number {
    let unsigned = token.strip_prefix(b"+").or_else(|| token.strip_prefix(b"-")).unwrap_or(token);
    let is = |word: &str| unsigned.eq_ignore_ascii_case(word.as_bytes());
    if token.is_empty() || is("nan") || is("null") || is("na") {
        return Number::Missing;
    }
    if is("inf") || is("infinity") {
        return Number::Infinite;
    }
    // Everything left that is a number starts so; the parser below knows words that we do not.
    if !unsigned.first().is_some_and(|&byte| byte.is_ascii_digit() || byte == b'.') {
        return Number::Junk;
    }
    match std::str::from_utf8(token).ok().and_then(|text| fast_float2::parse::<f32, _>(text).ok()) {
        Some(value) if value.is_finite() => Number::Is(value),
        Some(_) => Number::TooLarge,
        None => Number::Junk,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn both(token: &str) -> Number {
        let text = [token.as_bytes(), b"\n"].concat();
        match fast(&text, 0) {
            Some((value, end)) if end == token.len() => {
                assert_eq!(slow(token.as_bytes()), Number::Is(value), "{token}: fast and slow agree");
                Number::Is(value)
            }
            _ => slow(token.as_bytes()),
        }
    }

    #[test]
    fn the_middle_between_two_floats_is_left_to_the_exact_parser() {
        // 2²⁴ + 1 lies exactly between two f32; one digit more decides.
        assert_eq!(fast(b"16777217 ", 0), None);
        assert_eq!(both("16777217"), Number::Is(16_777_216.0));
        assert_eq!(both("16777217.0000001"), Number::Is(16_777_218.0));
        assert_eq!(both("1.000000059604644775"), Number::Is(1.0));
        assert_eq!(both("1.00000005960464478"), Number::Is(1.000_000_1));
    }

    #[test]
    fn words_and_borders() {
        for missing in ["", "NULL", "null", "nan", "NaN", "-nan", "NA"] {
            assert_eq!(both(missing), Number::Missing, "{missing}");
        }
        for infinite in ["inf", "-Inf", "+infinity"] {
            assert_eq!(both(infinite), Number::Infinite, "{infinite}");
        }
        for junk in [".", "-", "+", "1e", "1.2.3", "0x10", "1_000", "--1", "+-1", "1,5", "nano", "e5", "١"] {
            assert_eq!(both(junk), Number::Junk, "{junk}");
        }
        assert_eq!(both("3.5e38"), Number::TooLarge);
        assert_eq!(both("1e-60"), Number::Is(0.0));
        assert_eq!(both("+1.5"), Number::Is(1.5));
        assert_eq!(both("5."), Number::Is(5.0));
        assert_eq!(both(".5"), Number::Is(0.5));
        assert_eq!(both("1e3"), Number::Is(1000.0));
        assert!(matches!(both("-0"), Number::Is(zero) if zero.is_sign_negative()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn a_decimal_text_becomes_the_nearest_f32(token in r"-?[0-9]{0,20}\.?[0-9]{0,20}(e-?[0-9]{1,2})?") {
            let expected = match token.parse::<f32>() {
                Ok(value) if value.is_finite() => Number::Is(value),
                Ok(_) => Number::TooLarge,
                Err(_) if token.is_empty() => Number::Missing,
                Err(_) => Number::Junk,
            };
            prop_assert_eq!(both(&token), expected);
        }

        #[test]
        fn printed_floats_and_their_neighbours_come_back(bits in any::<u32>(), places in 0usize..18) {
            let value = f32::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(both(&value.to_string()), Number::Is(value));
            // The middle to the next float, printed in full and cut: the hardest cases.
            let next = f64::from(f32::from_bits(bits + 1));
            prop_assume!(next.is_finite());
            let middle = f64::midpoint(f64::from(value), next);
            for token in [format!("{middle}"), format!("{middle:.places$}")] {
                prop_assume!(token.parse::<f32>().is_ok_and(f32::is_finite));
                prop_assert_eq!(both(&token), Number::Is(token.parse().unwrap()));
            }
        }
    }
}

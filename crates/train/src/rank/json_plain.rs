/*!
The list that nearly every request holds, read in one sweep over its bytes:

```text
{"id": "q7", "features": [[0.5, 2, null], [1e-3, 4, 5]]}
```

Rows are lists of numbers, the id is a plain string or a small integer, in either order. Whatever is not exactly that (rows by name, other
fields, escapes, every error) is `None`, and the parser of [`super::json_list`] answers. What both read is the same to the bit: a number of
at most 15 digits and a power of ten up to 22 is one exact product or quotient (Clinger 1990), any other goes to the parser of the standard
library, which rounds correctly, as that of `serde_json` does.
*/

use serde_json::Value;

/// Powers of ten that a float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Digits of an integer that a float holds exactly.
const DIGITS: usize = 15;

/// Id and rows of a list whose rows have `width` numbers, if it is as plain as that and has fewer than `most` numbers.
pub(super) fn read(text: &[u8], width: usize, most: usize) -> Option<(Option<Value>, Vec<f32>)> {
    let mut at = Cursor { text, at: 0 };
    let (mut id, mut values) = (None, None);
    at.expect(b'{')?;
    loop {
        if at.word(b"\"id\"") && id.is_none() {
            at.expect(b':')?;
            id = Some(at.id()?);
        } else if at.word(b"\"features\"") && values.is_none() {
            at.expect(b':')?;
            values = Some(at.rows(width, most)?);
        } else {
            return None;
        }
        match at.next()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    at.blanks();
    (at.at == text.len()).then_some(())?;
    Some((id, values?))
}

/// A place in the text.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// The next byte that is not blank.
    fn next(&mut self) -> Option<u8> {
        self.blanks();
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// Goes over a word, if it stands here.
    fn word(&mut self, word: &[u8]) -> bool {
        self.blanks();
        let here = self.text[self.at..].starts_with(word);
        self.at += if here { word.len() } else { 0 };
        here
    }

    /// A string without escapes, or an integer that any program reads as the same one.
    fn id(&mut self) -> Option<Value> {
        self.blanks();
        let start = self.at;
        if self.peek()? == b'"' {
            let rest = &self.text[start + 1..];
            // Longer ones are for the parser to refuse.
            let end = rest.iter().take(1000).position(|&byte| byte == b'"')?;
            let plain = &rest[..end];
            if plain.iter().any(|&byte| byte < b' ' || byte == b'\\') {
                return None;
            }
            self.at = start + end + 2;
            return std::str::from_utf8(plain).ok().map(Value::from);
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let digits = &self.text[start..self.at];
        let plain = (1..=DIGITS).contains(&digits.len()) && (digits.len() == 1 || digits[0] != b'0');
        let ends = matches!(self.peek(), Some(b',' | b'}' | b' ' | b'\t' | b'\n' | b'\r'));
        let number = digits.iter().fold(0_u64, |number, digit| number * 10 + u64::from(digit - b'0'));
        (plain && ends).then(|| Value::from(number))
    }

    fn rows(&mut self, width: usize, most: usize) -> Option<Vec<f32>> {
        if width == 0 {
            return None;
        }
        // A number takes two bytes or more.
        let mut values = Vec::with_capacity((self.text.len() / 8).min(most));
        self.expect(b'[')?;
        self.blanks();
        if self.peek()? == b']' {
            self.at += 1;
            return Some(values);
        }
        loop {
            self.expect(b'[')?;
            let start = values.len();
            loop {
                self.blanks();
                let value = if self.peek()? == b'n' {
                    self.word(b"null").then_some(f32::NAN)?
                } else {
                    let small = self.number()? as f32;
                    small.is_finite().then_some(small)?
                };
                values.push(value);
                match self.next()? {
                    b',' if values.len() - start < width && values.len() < most => {}
                    b']' if values.len() - start == width => break,
                    _ => return None,
                }
            }
            match self.next()? {
                b',' => {}
                b']' => return (values.len() < most).then_some(values),
                _ => return None,
            }
        }
    }

    /// Digits from here on, as a number; further ones than fit are counted only.
    fn digits(&mut self, number: &mut u64) -> usize {
        let start = self.at;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            *number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        self.at - start
    }

    /// A number of JSON.
    fn number(&mut self) -> Option<f64> {
        let start = self.at;
        let negative = self.peek()? == b'-';
        self.at += usize::from(negative);
        let first = self.peek()?;
        let mut number = 0;
        let mut digits = self.digits(&mut number);
        if digits == 0 || first == b'0' && digits > 1 {
            return None;
        }
        let mut exponent = 0_i64;
        if self.peek() == Some(b'.') {
            self.at += 1;
            let behind = self.digits(&mut number);
            if behind == 0 {
                return None;
            }
            digits += behind;
            exponent -= behind as i64;
        }
        let mut small = digits <= DIGITS;
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            let minus = self.peek() == Some(b'-');
            self.at += usize::from(matches!(self.peek(), Some(b'-' | b'+')));
            let mut power = 0;
            let length = self.digits(&mut power);
            if length == 0 {
                return None;
            }
            small &= length <= 4;
            let power = power.min(1 << 20) as i64;
            exponent += if minus { -power } else { power };
        }
        if small && exponent.unsigned_abs() < POWERS.len() as u64 {
            let power = POWERS[exponent.unsigned_abs() as usize];
            let number = number as f64;
            let value = if exponent < 0 { number / power } else { number * power };
            return Some(if negative { -value } else { value });
        }
        std::str::from_utf8(&self.text[start..self.at]).ok()?.parse().ok()
    }
}

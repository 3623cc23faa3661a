/*!
A line of text cut into its first `N` words.

```text
plain line: no blank at its ends, one blank between words, exactly N words, at most 64 bytes
    mark every byte of the next 64 that is below 33: all separators are, and the N-th mark must be the newline
any line:
    walk word by word, eight bytes at a time
```

Nearly every line of a real file is plain, and there the cost does not depend on where its words end: no branch
is guessed wrong. Both roads give the same words.
*/

/// The words of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<const N: usize> {
    /// First byte of each word and the one after its last.
    pub words: [(usize, usize); N],
    /// How many of them there are; 0 for an empty line and for a comment.
    pub found: usize,
    /// The byte after the last word in `words`.
    pub after: usize,
    /// The newline.
    pub end: usize,
}

/// The line that starts at `at`.
#[inline]
pub(super) fn line<const N: usize>(bytes: &[u8], at: usize) -> Line<N> {
    plain_line(bytes, at).unwrap_or_else(|| any_line(bytes, at))
}

#[inline]
fn plain_line<const N: usize>(bytes: &[u8], at: usize) -> Option<Line<N>> {
    let window = bytes.get(at..)?.first_chunk::<64>()?;
    let marks = below_33(window);
    let (mut words, mut rest, mut start) = ([(0, 0); N], marks, 0);
    let mut blanks = true;
    for (i, word) in words.iter_mut().enumerate() {
        let end = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        *word = (at + start, at + end);
        if i + 1 < N {
            blanks &= window.get(end).is_some_and(|&byte| is_blank(byte));
        }
        start = end + 1;
    }
    let end = start - 1;
    let neighbours = marks & (marks << 1 | 1);
    let plain = window.get(end) == Some(&b'\n')
        && blanks
        && neighbours.trailing_zeros() as usize > end
        && window[0] != b'#';
    plain.then_some(Line { words, found: N, after: at + end, end: at + end })
}

/// One bit per byte that is below 33.
#[inline]
fn below_33(window: &[u8; 64]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let mut marks = 0;
    for (i, eight) in window.as_chunks::<8>().0.iter().enumerate() {
        let eight = u64::from_le_bytes(*eight);
        // With its high bit set no byte borrows from the next.
        let below = !((eight | HIGH) - 0x21 * ONES) & !eight & HIGH;
        // Gathers the eight high bits in the top byte.
        marks |= ((below >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    marks
}

fn any_line<const N: usize>(bytes: &[u8], at: usize) -> Line<N> {
    let mut line = Line { words: [(0, 0); N], found: 0, after: at, end: at };
    while line.found < N {
        let (start, end) = next_word(bytes, line.after);
        line.after = end;
        if start == end || (line.found == 0 && bytes[start] == b'#') {
            break;
        }
        line.words[line.found] = (start, end);
        line.found += 1;
    }
    line.end = line.after + memchr::memchr(b'\n', &bytes[line.after..]).unwrap_or(bytes.len() - line.after);
    line
}

/// The next word of the line; empty at the end of the line.
fn next_word(bytes: &[u8], mut at: usize) -> (usize, usize) {
    while bytes.get(at).is_some_and(|&byte| is_blank(byte)) {
        at += 1;
    }
    let start = at;
    while bytes.get(at).is_some_and(|&byte| byte != b'\n' && !is_blank(byte)) {
        at += 1;
    }
    (start, at)
}

/// What C's `isspace` calls a blank, newline apart.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_plain_line_is_cut_as_any_line(
            words in prop::collection::vec("[!-~é]{1,14}", 0..8),
            blank in prop::sample::select(vec![" ", "\t", "  ", "\x0b", "\x01", "\r"]),
            odd in 0..8usize,
            after in "[ -~\n]{64}",
        ) {
            let mut text = String::new();
            for (i, word) in words.iter().enumerate() {
                text.push_str(if i == 0 { "" } else if i == odd { blank } else { " " });
                text.push_str(word);
            }
            text.push('\n');
            text.push_str(&after);
            let bytes = text.as_bytes();
            prop_assert_eq!(line::<4>(bytes, 0), any_line::<4>(bytes, 0));
            prop_assert_eq!(line::<6>(bytes, 0), any_line::<6>(bytes, 0));
        }
    }

    #[test]
    fn plain_lines_take_the_short_road_and_others_do_not() {
        let after = "x".repeat(64);
        let plain = |line: &str| plain_line::<4>(format!("{line}{after}").as_bytes(), 0).is_some();
        assert!(plain("q1 0 d1 1\n") && plain("q1\t0\td1\t1\n"));
        for other in
            ["q1 0 d1\n", "q1 0 d1 1 x\n", " q1 0 d1 1\n", "q1  0 d1 1\n", "q1 0 d1 1 \n", "q1 0 d1\x01 1\n"]
        {
            assert!(!plain(other), "{other:?}");
        }
        assert!(!plain("# 0 d1 1\n") && !plain("q1 0 d1 1\r\n") && !plain("q1 0\nd1 1\n"));
    }

    #[test]
    fn marks_are_exact_for_every_byte_at_every_place() {
        for byte in 0..=u8::MAX {
            for at in 0..64 {
                let mut window = [b'a'; 64];
                window[at] = byte;
                assert_eq!(below_33(&window), u64::from(byte < 33) << at);
            }
        }
    }
}

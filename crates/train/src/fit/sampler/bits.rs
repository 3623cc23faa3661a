//! Sets of places as bits: put in order and moved past others without a search or a sort.

/// Numbers that one word holds.
pub(super) const WORD: usize = 64;

/// Moves the numbers of `set` past `taken`, which ascend: the bit of number r comes to the place of the r-th that is not taken.
/// `to` holds all places.
///
/// ```text
/// each word of places: the next bits of the set; a 0 put in at each taken place moves those above it up by one
/// ```
///
/// Cost: O(words + taken).
pub(super) fn spread(set: &[u64], taken: &[u32], to: &mut [u64]) {
    let (mut at, mut taken) = (0, taken.iter().map(|&place| place as usize).peekable());
    for (word, to) in to.iter_mut().enumerate() {
        let (first, shift) = (at / WORD, at % WORD);
        // Behind its last word the set is empty.
        let next = |at: usize| set.get(at).copied().unwrap_or(0);
        let mut bits = next(first) >> shift | (next(first + 1) << 1) << (WORD - 1 - shift);
        at += WORD;
        while let Some(place) = taken.next_if(|place| place / WORD == word) {
            let below = (1 << (place % WORD)) - 1;
            bits = bits & below | (bits & !below) << 1;
            at -= 1;
        }
        *to = bits;
    }
}

/// Appends the numbers of a set in order and empties it.
pub(super) fn empty_into(set: &mut [u64], numbers: &mut Vec<u32>) {
    for (word, bits) in set.iter_mut().enumerate() {
        while *bits != 0 {
            numbers.push((word * WORD) as u32 + bits.trailing_zeros());
            *bits &= *bits - 1;
        }
    }
}

/// Adds a number to a set.
pub(super) fn put(set: &mut [u64], number: u32) {
    set[number as usize / WORD] |= 1 << (number as usize % WORD);
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    #[test]
    fn numbers_come_to_the_places_that_are_left() {
        let mut random = Stream::new(5, "test").open();
        for length in [1, 2, 63, 64, 65, 130, 1000] {
            for share in [0, 1, 3, 9, 10] {
                let taken: Vec<u32> = (0..length).filter(|_| random.below(10) < share).collect();
                let left: Vec<u32> = (0..length).filter(|place| !taken.contains(place)).collect();
                let numbers: Vec<u32> = (0..left.len() as u32).filter(|_| random.below(3) == 0).collect();
                let words = (length as usize).div_ceil(WORD);
                let (mut set, mut places) = (vec![0; left.len().div_ceil(WORD)], vec![0; words]);
                for &number in &numbers {
                    put(&mut set, number);
                }
                spread(&set, &taken, &mut places);
                let mut found = vec![7];
                empty_into(&mut places, &mut found);
                let plain: Vec<u32> =
                    [7].into_iter().chain(numbers.iter().map(|&r| left[r as usize])).collect();
                assert_eq!(found, plain, "{length} places, {} taken", taken.len());
                assert!(places.iter().all(|bits| *bits == 0));
            }
        }
    }
}

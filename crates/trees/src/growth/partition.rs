//! Rows of a node, cut in two.

/// Puts the rows whose bin goes left in front, both sides in their old order; returns how many they are.
///
/// No branch depends on the data: every row is written to both sides, and only one end moves on.
pub(crate) fn partition(rows: &mut [u32], other: &mut Vec<u32>, column: &[u8], left: &[bool; 256]) -> usize {
    let length = rows.len();
    other.resize(other.len().max(length), 0);
    let right = &mut other[..length];
    let (mut to_left, mut to_right) = (0, 0);
    for i in 0..length {
        let row = rows[i];
        let goes_left = usize::from(left[column[row as usize] as usize]);
        rows[to_left] = row;
        right[to_right] = row;
        to_left += goes_left;
        to_right += 1 - goes_left;
    }
    rows[to_left..].copy_from_slice(&right[..to_right]);
    to_left
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_stable_partition(bins in prop::collection::vec(0u8..=255, 0..300), cut: u8) {
            let rows: Vec<u32> = (0..bins.len() as u32).filter(|row| row % 3 != 1).collect();
            let table = std::array::from_fn(|bin| bin <= cut as usize);
            let goes_left = |row: &u32| bins[*row as usize] <= cut;
            let (left, right): (Vec<u32>, Vec<u32>) = rows.iter().partition(|row| goes_left(row));
            let mut found = rows.clone();
            let mut other = Vec::new();
            prop_assert_eq!(partition(&mut found, &mut other, &bins, &table), left.len());
            prop_assert_eq!(found, [left, right].concat());
        }
    }
}

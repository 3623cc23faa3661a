//! Sums in a fixed order.

/// Sum of `values` by a fixed tree: blocks of 64 left to right, then halves. The result depends on the values
/// and their order only, and the error grows with log n instead of n.
///
/// ```
/// let tenth = vec![0.1; 1_000_000];
/// assert!((toprank_core::ordered_sum(&tenth) - 100_000.0).abs() < 1e-9); // a running sum is off by 1e-6
/// ```
pub fn ordered_sum(values: &[f64]) -> f64 {
    const BLOCK: usize = 64;
    if values.len() <= BLOCK {
        return values.iter().sum();
    }
    // Cut at a multiple of the block, so that the tree does not depend on where recursion happened to split.
    let middle = (values.len() / 2).next_multiple_of(BLOCK);
    let (left, right) = values.split_at(middle.min(values.len()));
    ordered_sum(left) + ordered_sum(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_plain_sum_of_whole_numbers() {
        for n in [0usize, 1, 63, 64, 65, 127, 128, 129, 1000] {
            let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
            assert_eq!(ordered_sum(&values), (n * n.saturating_sub(1) / 2) as f64, "n = {n}");
        }
    }
}

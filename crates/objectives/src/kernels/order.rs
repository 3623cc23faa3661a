/*!
The order of a list by decreasing score, exact, ties in input order.

```text
key of item j = (max − s_j)·(2³² − 1)/(max − min) as u32, index of j below it: one u64
sort the u64s (radix of 3 × 11 bits from 500 items on), then sort each run of equal keys by the f64 scores
```

A linear key loses nothing to an offset, unlike the bits of an f32. Cost: O(n) from 500 items on while keys differ
(12–20 ns an item at 20,000), O(n log n) at worst, if one outlier maps all others to one key.
*/

/// Scratch memory of [`descending`].
#[derive(Clone, Debug, Default)]
pub struct OrderWork {
    keys: Vec<u64>,
    spare: Vec<u64>,
    /// How often each digit occurs, for each pass.
    counts: Vec<u32>,
}

const RADIX_FROM: usize = 500;
const BITS: u32 = 11;

/// Fills `order` with the positions of `scores` from the highest to the lowest; equal scores stay in input order.
///
/// ```
/// use toprank_objectives::kernels::order::{OrderWork, descending};
/// let mut order = [0; 4];
/// descending(&[0.5, 2.0, 0.5, 1.0], &mut order, &mut OrderWork::default());
/// assert_eq!(order, [1, 3, 0, 2]);
/// ```
///
/// # Panics
/// If the lengths differ.
pub fn descending(scores: &[f64], order: &mut [u32], work: &mut OrderWork) {
    assert_eq!(scores.len(), order.len(), "one position per score");
    let (low, high) =
        scores.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &s| (low.min(s), high.max(s)));
    // Half the range cannot overflow.
    let scale = f64::from(u32::MAX) / (high / 2.0 - low / 2.0);
    let key = |s: f64| if scale.is_finite() { ((high / 2.0 - s / 2.0) * scale) as u32 } else { 0 };
    let keys = &mut work.keys;
    keys.clear();
    keys.extend(scores.iter().enumerate().map(|(j, &s)| u64::from(key(s)) << 32 | j as u64));
    if keys.len() < RADIX_FROM {
        keys.sort_unstable();
    } else {
        radix(keys, &mut work.spare, &mut work.counts);
    }
    for (place, key) in order.iter_mut().zip(keys.iter()) {
        *place = *key as u32;
    }
    let mut start = 0;
    while start < keys.len() {
        let run = keys[start] >> 32;
        let mut end = start + 1;
        while end < keys.len() && keys[end] >> 32 == run {
            end += 1;
        }
        if end - start > 1 {
            let by_score = |a: &u32, b: &u32| {
                (scores[*b as usize] + 0.0).total_cmp(&(scores[*a as usize] + 0.0)).then(a.cmp(b)) // −0 ties with 0
            };
            order[start..end].sort_unstable_by(by_score);
        }
        start = end;
    }
}

/// [`descending`] of numbers that are usually small integers, such as grades: a counting sort if all are 0, 1 … 31.
///
/// ```
/// use toprank_objectives::kernels::order::{OrderWork, by_grade};
/// let mut order = [0; 4];
/// by_grade(&[1.0, 0.0, 4.0, 1.0], &mut order, &mut OrderWork::default());
/// assert_eq!(order, [2, 0, 3, 1]);
/// ```
///
/// # Panics
/// If the lengths differ.
pub fn by_grade(grades: &[f64], order: &mut [u32], work: &mut OrderWork) {
    const GRADES: usize = 32;
    assert_eq!(grades.len(), order.len(), "one position per grade");
    let mut next = [0u32; GRADES];
    for &grade in grades {
        let whole = grade as usize; // saturates
        if whole >= GRADES || whole as f64 != grade {
            return descending(grades, order, work);
        }
        next[whole] += 1;
    }
    let mut start = 0;
    for next in next.iter_mut().rev() {
        start += std::mem::replace(next, start);
    }
    for (place, &grade) in grades.iter().enumerate() {
        let next = &mut next[grade as usize];
        order[*next as usize] = place as u32;
        *next += 1;
    }
}

/// Sorts by the upper 32 bits, least significant digit first; stable, so indices stay ascending.
fn radix(keys: &mut Vec<u64>, spare: &mut Vec<u64>, counts: &mut Vec<u32>) {
    const BUCKETS: usize = 1 << BITS;
    let digit = |key: u64, pass: usize| (key >> (32 + pass as u32 * BITS)) as usize & (BUCKETS - 1);
    counts.clear();
    counts.resize(3 * BUCKETS, 0);
    for &key in keys.iter() {
        for pass in 0..3 {
            counts[pass * BUCKETS + digit(key, pass)] += 1;
        }
    }
    spare.clear();
    spare.resize(keys.len(), 0);
    for (pass, counts) in counts.chunks_exact_mut(BUCKETS).enumerate() {
        let mut next = 0;
        for count in counts.iter_mut() {
            next += std::mem::replace(count, next);
        }
        for &key in keys.iter() {
            let place = &mut counts[digit(key, pass)];
            spare[*place as usize] = key;
            *place += 1;
        }
        std::mem::swap(keys, spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    fn plain(scores: &[f64]) -> Vec<u32> {
        let mut order: Vec<u32> = (0..scores.len() as u32).collect();
        order.sort_by(|a, b| scores[*b as usize].partial_cmp(&scores[*a as usize]).unwrap());
        order
    }

    #[test]
    fn equals_a_stable_sort_on_adversarial_scores() {
        let mut random = Stream::new(3, "order").open();
        let mut work = OrderWork::default();
        for n in [0, 1, 2, 100, 499, 500, 3000] {
            let base: Vec<f64> = (0..n).map(|_| random.unit()).collect();
            let coarse: Vec<f64> = base.iter().map(|s| (s * 20.0).floor()).collect();
            let mut outlier: Vec<f64> = base.iter().map(|s| s * 1e-3).collect();
            let mut tied_beside_outlier: Vec<f64> = coarse.iter().map(|s| s * 1e-6).collect();
            if n > 0 {
                (outlier[n / 2], tied_beside_outlier[n / 2]) = (1e6, 1e6);
            }
            let cases = [
                base.clone(),
                coarse,
                outlier,
                tied_beside_outlier,
                vec![0.1; n],
                base.iter().map(|s| s * 1e-3 + 1e6).collect(),
                base.iter().map(|s| (s - 0.5) * f64::MAX).collect(),
                base.iter().map(|s| (s - 0.5) * 2.0 * f64::MAX).collect(),
                base.iter().map(|s| s * f64::MIN_POSITIVE).collect(),
                base.iter().map(|s| if *s < 0.5 { 0.0 } else { -0.0 }).collect(),
                base.iter().map(|s| (s * 32.0).floor()).collect(),
                base.iter().map(|s| (s * 33.0).floor()).collect(),
                base.iter().map(|s| (s * 32.0).floor() / 2.0 - 1.0).collect(),
            ];
            for (case, scores) in cases.iter().enumerate() {
                let mut order = vec![0; n];
                descending(scores, &mut order, &mut work);
                assert_eq!(order, plain(scores), "n = {n}, case {case}");
                by_grade(scores, &mut order, &mut work);
                assert_eq!(order, plain(scores), "n = {n}, case {case}, as grades");
            }
        }
    }
}

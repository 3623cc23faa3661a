/*!
How many of some ascending numbers are below a value: the bin of a value, and its code for scoring.

Without SIMD: binary search in eight steps. With AVX2: first among every 16th number, then among the 16 after it, 8 in a
comparison.
*/

/// Numbers that are compared at once.
const STEP: usize = 16;
/// What is found for a missing value: more than there are numbers.
pub(crate) const MISSING: usize = STEP * STEP + STEP;
/// The same by [`Ranks::find_few`].
pub(crate) const MISSING_OF_FEW: usize = STEP;

/// Ascending numbers, laid out for search.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    /// The last number of each full block, then numbers that no value is above.
    ends: [f32; STEP],
    /// The numbers, then numbers that no value is above. A missing value counts as above everything and comes to the last block,
    /// which holds nothing else.
    blocks: Box<[[f32; STEP]; STEP + 1]>,
    count: usize,
}

impl Ranks {
    /// Of at most 255 ascending numbers.
    pub(crate) fn new(numbers: &[f32]) -> Ranks {
        let mut blocks = Box::new([[f32::INFINITY; STEP]; STEP + 1]);
        blocks.as_flattened_mut()[..numbers.len()].copy_from_slice(numbers);
        let mut ends = [f32::INFINITY; STEP];
        for (end, block) in ends.iter_mut().zip(&*blocks).take(numbers.len() / STEP) {
            *end = block[STEP - 1];
        }
        Ranks { ends, blocks, count: numbers.len() }
    }

    /// The numbers.
    pub(crate) fn numbers(&self) -> &[f32] {
        &self.blocks.as_flattened()[..self.count]
    }

    /// True if [`Ranks::find_few`] finds what [`Ranks::find`] finds, missing values aside.
    pub(crate) fn are_few(&self) -> bool {
        self.count < STEP
    }

    /// How many numbers are below `x`, or [`MISSING`].
    #[inline]
    pub(crate) fn find(&self, x: f32) -> usize {
        let numbers = self.blocks.as_flattened();
        let mut below = 0;
        for step in [128, 64, 32, 16, 8, 4, 2, 1] {
            below += step * usize::from(numbers[(below + step - 1) & 255] < x);
        }
        if x.is_nan() { MISSING } else { below }
    }

    /// The same for fewer than 16 numbers; [`MISSING_OF_FEW`] for a missing value.
    #[inline]
    pub(crate) fn find_few(&self, x: f32) -> usize {
        if x.is_nan() { MISSING_OF_FEW } else { self.find(x) }
    }

    /// [`Ranks::find`] with AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,popcnt")]
    #[inline]
    pub(crate) fn find_avx2(&self, x: f32) -> usize {
        let block = above_avx2(&self.ends, x);
        block * STEP + above_avx2(&self.blocks[block], x)
    }

    /// [`Ranks::find_few`] with AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,popcnt")]
    #[inline]
    pub(crate) fn find_few_avx2(&self, x: f32) -> usize {
        above_avx2(&self.blocks[0], x)
    }
}

/// True if the processor has AVX2 and POPCNT.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt")
}

/// How many of the numbers are below `x`; all if it is missing.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
#[allow(unsafe_code)]
fn above_avx2(numbers: &[f32; STEP], x: f32) -> usize {
    use std::arch::x86_64::{
        _CMP_NLE_UQ, _mm256_castps_si256, _mm256_cmp_ps, _mm256_loadu_ps, _mm256_movemask_epi8,
        _mm256_packs_epi32, _mm256_set1_ps,
    };
    let x = _mm256_set1_ps(x);
    // SAFETY: `numbers` are 16 floats, which are read as 8 and 8.
    let (low, high) =
        unsafe { (_mm256_loadu_ps(numbers.as_ptr()), _mm256_loadu_ps(numbers.as_ptr().add(8))) };
    let above = |numbers| _mm256_castps_si256(_mm256_cmp_ps::<_CMP_NLE_UQ>(x, numbers));
    // Two bits for each number.
    let bits = _mm256_movemask_epi8(_mm256_packs_epi32(above(low), above(high)));
    bits.count_ones() as usize / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_finds_how_many_are_below() {
        for count in [0, 1, 15, 16, 17, 100, 239, 240, 254, 255] {
            let numbers: Vec<f32> = (0..count).map(|i| i as f32 - 20.0).collect();
            let ranks = Ranks::new(&numbers);
            let edges = [f32::NEG_INFINITY, f32::INFINITY, f32::NAN, -0.0, 0.0, f32::MAX, f32::MIN];
            let near = numbers.iter().flat_map(|x| [*x, x.next_up(), x.next_down()]);
            for x in near.chain(edges) {
                let below = numbers.partition_point(|number| *number < x);
                let wanted = if x.is_nan() { MISSING } else { below };
                assert_eq!(ranks.find(x), wanted, "{x} among {count}");
                #[cfg(target_arch = "x86_64")]
                if has_avx2() {
                    // SAFETY: what they need was found just above.
                    #[allow(unsafe_code)]
                    let found = unsafe { (ranks.find_avx2(x), ranks.find_few_avx2(x)) };
                    assert_eq!(found.0, wanted, "{x} among {count}");
                    assert!(!ranks.are_few() || found.1 == ranks.find_few(x), "{x} among {count}");
                }
            }
        }
    }
}

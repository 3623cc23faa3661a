/*!
Features as codes of one byte: the rank of a value among the thresholds that trees ask it for.

```text
code(x) = #{ thresholds < x }        so   x ≤ threshold[i]   ⟺   code(x) ≤ i
```

Values are coded once for all trees; a test is then a comparison of bytes, four times as many at once as of `f32`. A feature with
more than 254 thresholds has several columns of codes.

Each column is there turned round too (255 − code), so that one comparison serves both kinds of tests, "above" and "up to".
Where values are missing, their code depends on the test: lowest where it sends them left, highest where it sends them right. The
columns for the former stand in a second half of the memory, which is filled only if a chunk has missing values; else its places
lead to the first half.
*/

use super::CHUNK;
#[cfg(target_arch = "x86_64")]
use crate::ranks::has_avx2;
use crate::ranks::{self, Ranks};
use crate::tree::{Test, Tree};

/// Thresholds of one column at most: codes go to 254.
const MOST: usize = 254;
/// The code of missing values where there are at least 16 thresholds.
const MISSING: usize = 255;

/// The codes of one column for a chunk of rows, moved by 128 so that they can be compared as signed bytes.
pub(super) type Codes = [i8; CHUNK];

/// What turns rows into codes.
#[derive(Clone, Debug, Default)]
pub(super) struct Coder {
    columns: Vec<CodedColumn>,
    /// Where the second half begins: a power of two, at least twice the number of columns.
    half: usize,
}

/// The codes of a chunk of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Coded {
    pub(super) columns: Vec<Codes>,
    /// What is kept of the places of columns: all, or what leads to the first half.
    pub(super) kept: usize,
}

/// A test of codes: it fails above `code` in the column at `place`.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodedTest {
    pub(super) place: usize,
    pub(super) code: i8,
}

/// Some thresholds of a feature.
#[derive(Clone, Debug)]
struct CodedColumn {
    feature: u32,
    ranks: Ranks,
}

impl CodedColumn {
    /// The code of missing values, which no other has.
    fn missing(&self) -> usize {
        if self.ranks.are_few() { ranks::MISSING_OF_FEW } else { MISSING }
    }
}

impl Coder {
    /// Columns for the thresholds of these trees.
    pub(super) fn new<'a>(trees: impl Iterator<Item = &'a Tree>) -> Coder {
        let mut asked: Vec<(u32, f32)> = trees
            .flat_map(|tree| &tree.nodes)
            .filter_map(|node| match node.test {
                // −0 is no other threshold than 0.
                Test::AtMost(threshold) => Some((node.feature, threshold + 0.0)),
                Test::In(_) => None,
            })
            .collect();
        asked.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        asked.dedup();
        let column = |part: &[(u32, f32)]| {
            let thresholds: Vec<f32> = part.iter().map(|(_, threshold)| *threshold).collect();
            CodedColumn { feature: part[0].0, ranks: Ranks::new(&thresholds) }
        };
        let features = asked.chunk_by(|a, b| a.0 == b.0);
        let columns: Vec<CodedColumn> = features.flat_map(|same| same.chunks(MOST).map(column)).collect();
        let half = (2 * columns.len()).next_power_of_two();
        Coder { columns, half }
    }

    /// Places of columns.
    pub(super) fn places(&self) -> usize {
        2 * self.half
    }

    /// The test that fails where the value is above the threshold, or, turned round, where it is not.
    pub(super) fn test(&self, feature: u32, threshold: f32, missing_left: bool, turned: bool) -> CodedTest {
        let before = |column: &CodedColumn| {
            column.feature < feature
                || (column.feature == feature
                    && column.ranks.numbers().last().is_some_and(|last| *last < threshold))
        };
        let column = self.columns.partition_point(before);
        let rank = self.columns[column].ranks.numbers().partition_point(|other| *other < threshold);
        // code ≤ rank ⟺ 255 − code > 254 − rank.
        let code = if turned { MOST - rank } else { rank };
        let place = 2 * column + usize::from(turned) + if missing_left { self.half } else { 0 };
        CodedTest { place, code: code.wrapping_sub(128) as i8 }
    }

    /// Codes of at most a chunk of rows of `width` features.
    pub(super) fn code(&self, values: &[f32], width: usize, coded: &mut Coded) {
        coded.columns.resize(self.places(), [0; CHUNK]);
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            // SAFETY: what `code_avx2` needs was found just above.
            #[allow(unsafe_code)]
            return unsafe { code_avx2(self, values, width, coded) };
        }
        code_with(self, values, width, coded, Ranks::find, Ranks::find_few);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn code_avx2(coder: &Coder, values: &[f32], width: usize, coded: &mut Coded) {
    let (find, find_few) = (|ranks: &Ranks, x| ranks.find_avx2(x), |ranks: &Ranks, x| ranks.find_few_avx2(x));
    code_with(coder, values, width, coded, find, find_few);
}

/// Codes by a function that finds ranks.
#[inline(always)]
#[allow(clippy::inline_always)] // must be compiled for the CPU of its caller
fn code_with(
    coder: &Coder,
    values: &[f32],
    width: usize,
    coded: &mut Coded,
    find: impl Fn(&Ranks, f32) -> usize,
    find_few: impl Fn(&Ranks, f32) -> usize,
) {
    let (first, second) = coded.columns.split_at_mut(coder.half);
    let mut missing = false;
    for (column, [plain, turned]) in coder.columns.iter().zip(first.as_chunks_mut().0) {
        let feature = column.feature as usize;
        let rows = values.chunks_exact(width).map(|row| row[feature]);
        let mut all = 0;
        if column.ranks.are_few() {
            for (to, x) in plain.iter_mut().zip(rows) {
                let code = find_few(&column.ranks, x);
                all |= code;
                *to = signed(code);
            }
            missing |= all >= ranks::MISSING_OF_FEW;
        } else {
            for (to, x) in plain.iter_mut().zip(rows) {
                let code = find(&column.ranks, x);
                all |= code;
                *to = signed(code.min(MISSING));
            }
            missing |= all > MISSING;
        }
        *turned = plain.map(|code| !code);
    }
    coded.kept = if missing { usize::MAX } else { coder.half - 1 };
    if !missing {
        return;
    }
    let (first, second) = (first.as_chunks().0, second.as_chunks_mut().0);
    for ((column, [plain, _]), [low, turned]) in coder.columns.iter().zip(first).zip(second) {
        let missing = signed(column.missing());
        *low = plain.map(|code| if code == missing { i8::MIN } else { code });
        *turned = low.map(|code| !code);
    }
}

/// A code as it is stored.
fn signed(code: usize) -> i8 {
    (code as u8).wrapping_sub(128) as i8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Next, Node};

    /// Trees that ask feature 0 for these thresholds.
    fn asking(thresholds: impl Iterator<Item = f32>) -> Vec<Tree> {
        let node = |threshold| Node::new(0, Test::AtMost(threshold), false, Next::Leaf(0), Next::Leaf(1));
        thresholds.map(|threshold| Tree { nodes: vec![node(threshold)], leaves: vec![0.0, 1.0] }).collect()
    }

    #[test]
    fn a_test_of_codes_says_what_the_test_of_values_says() {
        let infinite = [f32::NEG_INFINITY, f32::INFINITY];
        for count in [1, 15, 16, 17, 253, 254, 255, 600] {
            let thresholds: Vec<f32> = infinite.into_iter().chain((0..count).map(|i| i as f32)).collect();
            let coder = Coder::new(asking(thresholds.iter().copied()).iter());
            let values: Vec<f32> =
                thresholds.iter().flat_map(|t| [*t, t.next_up(), t.next_down(), -0.0]).collect();
            for missing in [false, true] {
                for chunk in values.chunks(CHUNK - 1) {
                    let mut chunk = chunk.to_vec();
                    chunk.retain(|x| !x.is_nan());
                    if missing {
                        chunk.push(f32::NAN);
                    }
                    let mut coded = Coded::default();
                    coder.code(&chunk, 1, &mut coded);
                    let mut plain = Coded { columns: vec![[0; CHUNK]; coder.places()], kept: 0 };
                    code_with(&coder, &chunk, 1, &mut plain, Ranks::find, Ranks::find_few);
                    assert_eq!((&coded.columns, coded.kept), (&plain.columns, plain.kept));
                    for &threshold in &thresholds {
                        for (missing_left, turned) in
                            [(false, false), (false, true), (true, false), (true, true)]
                        {
                            let test = coder.test(0, threshold, missing_left, turned);
                            let codes = &coded.columns[test.place & coded.kept];
                            for (x, code) in chunk.iter().zip(codes) {
                                let left = if x.is_nan() { missing_left } else { *x <= threshold };
                                assert_eq!(
                                    *code > test.code,
                                    left == turned,
                                    "{x} at {threshold} of {count}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

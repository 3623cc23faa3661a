/*!
Every row of a batch as a query over the other rows of the batch and those of the memory.

Rows are numbered so that classes lie together. In the list of row q its own class comes first, q itself left out, then all
other rows: so relevant items are the first places of every list, whichever rows a batch holds, and an objective's state is
kept per row or per pair of a class, never per pair of rows.

```text
row r of q's class, which starts at a and has c rows:  place r − a, one less behind q
any other row r:                                       place c − 1 + r, c less behind the class
```

Two-way views: the list of a view are the second views of all rows (first views, for a second one); its own row comes first.
*/

use toprank_objectives::{DrawRates, Draws};

/// Which rows belong together.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    /// Group g owns rows `starts[g]..starts[g + 1]`.
    pub starts: Vec<u32>,
    /// A view meets only views of the other kind.
    pub across: bool,
}

impl Groups {
    pub fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0) as usize
    }

    fn group_of(&self, row: u32) -> usize {
        self.starts.partition_point(|&start| start <= row) - 1
    }

    fn span(&self, row: u32) -> (u32, u32) {
        let group = self.group_of(row);
        (self.starts[group], self.starts[group + 1])
    }

    /// Items of every list.
    pub fn items(&self) -> usize {
        if self.across { self.starts.len() - 1 } else { self.rows() - 1 }
    }

    /// Relevant items of the list of every row.
    pub fn relevant(&self) -> Vec<u32> {
        let groups = self.starts.windows(2);
        groups
            .flat_map(|w| {
                let each = if self.across { 1 } else { w[1] - w[0] - 1 };
                std::iter::repeat_n(each, (w[1] - w[0]) as usize)
            })
            .collect()
    }

    /// How often a row, and a pair of rows of a class, is drawn, if the sampler draws classes and their rows at these rates and
    /// `memory` rows are kept beside a batch. Classes are taken to be of equal size.
    pub fn rates(&self, drawn: DrawRates, memory: usize) -> DrawRates {
        let size = self.rows() as f64 / (self.starts.len().max(2) - 1) as f64;
        let met = size * drawn.pairs / drawn.lists;
        // Of a drawn row, the others of its class that are drawn with it; those that are not may be in the memory.
        let beside = if size > 1.0 { ((met - 1.0) / (size - 1.0)).clamp(0.0, 1.0) } else { 1.0 };
        let kept = (memory as f64 / self.rows().max(1) as f64).min(1.0);
        let partner = beside + (1.0 - beside) * kept;
        let pairs = if partner > 0.0 { drawn.pairs * partner } else { drawn.pairs };
        DrawRates { pairs, lists: drawn.pairs }
    }

    /// The place of row `r` in the list of row `q`, whose class spans `(from, to)`.
    fn place(&self, q: u32, (from, to): (u32, u32), r: u32) -> u32 {
        let inside = (from..to).contains(&r);
        match (self.across, inside) {
            (false, true) => r - from - u32::from(r > q),
            (false, false) => to - from - 1 + if r < from { r } else { r - (to - from) },
            (true, true) => 0,
            // Both kinds of a row share a place: a list holds one kind only.
            (true, false) => 1 + if r < from { r / 2 } else { r / 2 - 1 },
        }
    }
}

/// The lists of one batch.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    /// Rows of the batch as lists, their candidates as items.
    pub draws: Draws,
    /// 1: of the same class.
    pub labels: Vec<f32>,
    /// The candidate that each entry is: a row of the batch by its place there, behind them those of the memory.
    pub candidates: Vec<u32>,
    /// Rows and numbers of all candidates, by row.
    sorted: Vec<(u32, u32)>,
}

impl Pairing {
    /// `batch` ascends; `memory` holds rows that are not in it.
    pub fn lay(&mut self, groups: &Groups, batch: &[u32], memory: &[u32]) {
        self.sorted.clear();
        self.sorted.extend(batch.iter().chain(memory).copied().zip(0..));
        self.sorted.sort_unstable();
        let Draws { lists, offsets, items, importance, .. } = &mut self.draws;
        lists.clear();
        lists.extend_from_slice(batch);
        offsets.clear();
        offsets.push(0);
        items.clear();
        importance.clear();
        self.labels.clear();
        self.candidates.clear();
        for &q in batch {
            let span = groups.span(q);
            let at = |row: u32| self.sorted.partition_point(|(known, _)| *known < row);
            let own = at(span.0)..at(span.1);
            let met = |r: u32| r != q && !(groups.across && (r ^ q) & 1 == 0);
            let (before, behind) = (0..own.start, own.end..self.sorted.len());
            for (part, label) in [(own, 1.0), (before, 0.0), (behind, 0.0)] {
                for &(r, candidate) in self.sorted[part].iter().filter(|(r, _)| met(*r)) {
                    items.push(groups.place(q, span, r));
                    self.labels.push(label);
                    self.candidates.push(candidate);
                }
            }
            offsets.push(items.len() as u64);
        }
    }

    /// Entries of the d-th row of the batch.
    pub fn entries(&self, d: usize) -> std::ops::Range<usize> {
        self.draws.offsets[d] as usize..self.draws.offsets[d + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_row_has_a_place_of_its_own_and_the_class_comes_first() {
        let groups = Groups { starts: vec![0, 3, 4, 9], across: false };
        assert_eq!((groups.rows(), groups.items()), (9, 8));
        assert_eq!(groups.relevant(), [2, 2, 2, 0, 4, 4, 4, 4, 4]);
        let mut pairing = Pairing::default();
        pairing.lay(&groups, &[0, 1, 2, 3, 4, 5, 6, 7, 8], &[]);
        for q in 0..9 {
            let entries = pairing.entries(q);
            // A whole batch is the whole list: places 0, 1, 2 …
            assert_eq!(pairing.draws.items[entries.clone()], [0, 1, 2, 3, 4, 5, 6, 7], "{q}");
            let relevant = groups.relevant()[q] as usize;
            assert!(
                pairing.labels[entries.clone()].iter().enumerate().all(|(i, y)| (*y > 0.0) == (i < relevant))
            );
            let mut rows = pairing.candidates[entries].to_vec();
            rows.sort_unstable();
            assert_eq!(rows, (0..9).filter(|r| *r != q as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_pair_keeps_its_place_whatever_else_is_drawn() {
        let groups = Groups { starts: vec![0, 3, 4, 9], across: false };
        let mut pairing = Pairing::default();
        pairing.lay(&groups, &[1, 5], &[8, 0, 3]);
        assert_eq!(pairing.draws.offsets, [0, 4, 8]);
        // Row 1: its class is 0, 1, 2; then 3 …; candidates: 0 and 1 the batch, 2, 3, 4 the memory.
        assert_eq!(pairing.draws.items[..4], [0, 2, 4, 7]);
        assert_eq!(pairing.candidates[..4], [3, 4, 1, 2]);
        assert_eq!(pairing.labels[..4], [1.0, 0.0, 0.0, 0.0]);
        // Row 5: its class is 4 … 8, then 0, 1, 2, 3.
        assert_eq!(pairing.draws.items[4..], [3, 4, 5, 7]);
        assert_eq!(pairing.labels[4..], [1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn two_way_views_meet_the_other_kind_only() {
        let groups = Groups { starts: vec![0, 2, 4, 6], across: true };
        assert_eq!((groups.items(), groups.relevant()), (3, vec![1; 6]));
        let mut pairing = Pairing::default();
        pairing.lay(&groups, &[0, 1, 2, 3, 4, 5], &[]);
        for q in 0..6u32 {
            let entries = pairing.entries(q as usize);
            assert_eq!(pairing.draws.items[entries.clone()], [0, 1, 2]);
            assert_eq!(pairing.labels[entries.clone()], [1.0, 0.0, 0.0]);
            assert_eq!(pairing.candidates[entries.start], q ^ 1);
            assert!(pairing.candidates[entries].iter().all(|r| (r ^ q) & 1 == 1));
        }
    }

    proptest::proptest! {
        /// Whatever classes, batch and memory: places ascend, stay within the list, and are those of the whole list.
        #[test]
        fn places_ascend_and_do_not_depend_on_the_batch(
            sizes in proptest::collection::vec(1u32..5, 2..6),
            picks in proptest::collection::vec(0u8..3, 30),
        ) {
            let mut starts = vec![0];
            for size in &sizes {
                starts.push(starts[starts.len() - 1] + size);
            }
            let groups = Groups { starts, across: false };
            let rows = groups.rows() as u32;
            let which = |wanted: u8| (0..rows).filter(|row| picks[*row as usize] == wanted).collect::<Vec<u32>>();
            let (batch, memory) = (which(0), which(1));
            let (mut some, mut all) = (Pairing::default(), Pairing::default());
            some.lay(&groups, &batch, &memory);
            all.lay(&groups, &(0..rows).collect::<Vec<_>>(), &[]);
            let candidates = [batch.clone(), memory].concat();
            for (d, &q) in batch.iter().enumerate() {
                let (here, whole) = (some.entries(d), all.entries(q as usize));
                let items = &some.draws.items[here.clone()];
                proptest::prop_assert!(items.windows(2).all(|w| w[0] < w[1]));
                proptest::prop_assert!(items.iter().all(|item| (*item as usize) < groups.items()));
                proptest::prop_assert_eq!(items.len(), candidates.len() - 1);
                for entry in here {
                    let row = candidates[some.candidates[entry] as usize];
                    let place = some.draws.items[entry] as usize;
                    proptest::prop_assert_eq!(all.candidates[whole.start + place], row);
                    proptest::prop_assert_eq!(all.labels[whole.start + place], some.labels[entry]);
                }
            }
        }
    }
}

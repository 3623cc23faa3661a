/*!
Which rows a batch needs, how they are divided into shards, and which score each entry of the batch reads.

The training data are divided once into `parts` runs of lists of about the same number of rows (rows, where there are fewer lists
than parts and the model scores each row by itself). A batch has a shard for every part that it draws from. So a shard, its random
numbers and its gradient depend on the data, the batch and the setting `parts` alone, never on the threads that compute it.
*/

use toprank_core::{Differentiable, Features, Lists};
use toprank_objectives::Draws;

use super::optimiser::NEGLIGIBLE;

/// Rows of a batch, shard after shard.
#[derive(Default)]
pub(crate) struct Plan {
    /// Rows to score.
    rows: Vec<u32>,
    /// Lists of shard k over its rows, counted from its first row: `offsets[list_cuts[k]..list_cuts[k + 1]]`.
    offsets: Vec<usize>,
    list_cuts: Vec<usize>,
    /// Rows of shard k: `row_cuts[k]..row_cuts[k + 1]`.
    row_cuts: Vec<usize>,
    /// The part of each shard.
    parts: Vec<u32>,
    /// Score that each entry reads.
    place: Vec<usize>,
    outputs: usize,
    /// The part of each unit (a list or a row), and units in the order of parts.
    part_of: Vec<u32>,
    order: Vec<u32>,
    bounds: Vec<usize>,
}

impl Plan {
    /// For the lists of a batch.
    pub(crate) fn lay(
        &mut self,
        lists: &Lists,
        features: &dyn Features,
        draws: &Draws,
        model: &dyn Differentiable,
        parts: usize,
    ) {
        self.start(model.outputs());
        let outputs = self.outputs;
        let output = |d: usize| lists.output.as_ref().map_or(0, |o| usize::from(o[draws.lists[d] as usize]));
        let entries_of = |d: usize| draws.offsets[d] as usize..draws.offsets[d + 1] as usize;
        let row = |d: usize, entry: usize| {
            lists.row(lists.range(draws.lists[d] as usize).start + draws.items[entry] as usize) as u32
        };
        let count = draws.items.len();
        if model.couples_items() {
            self.bound_lists(lists, parts);
            let first = |q: &u32| lists.range(*q as usize).start;
            self.part_of.extend(draws.lists.iter().map(|q| part(&self.bounds, first(q))));
            self.sort_units();
            self.place.resize(count, 0);
            for at in 0..self.order.len() {
                let d = self.order[at] as usize;
                self.open_shard_of(self.part_of[d]);
                let shard_start = *self.row_cuts.last().unwrap_or(&0);
                for entry in entries_of(d) {
                    self.place[entry] = self.rows.len() * outputs + output(d);
                    self.rows.push(row(d, entry));
                }
                self.offsets.push(self.rows.len() - shard_start);
            }
            return self.close();
        }
        let drawn = || (0..draws.lists.len()).flat_map(|d| entries_of(d).map(move |entry| (d, entry)));
        if lists.rows.is_some() {
            // Several lists may read the same row: it is scored once.
            self.rows.extend(drawn().map(|(d, entry)| row(d, entry)));
            self.rows.sort_unstable();
            self.rows.dedup();
            let place = |(d, entry)| {
                self.rows.binary_search(&row(d, entry)).unwrap_or_default() * outputs + output(d)
            };
            self.place.extend(drawn().map(place));
            self.bound_rows(features.rows(), parts);
            let rows = std::mem::take(&mut self.rows);
            for row in &rows {
                self.open_shard_of(part(&self.bounds, *row as usize));
                self.rows.push(*row);
            }
        } else {
            if lists.len() < parts {
                self.bound_rows(lists.entries(), parts);
            } else {
                self.bound_lists(lists, parts);
            }
            self.part_of.extend(drawn().map(|(d, entry)| part(&self.bounds, row(d, entry) as usize)));
            self.sort_units();
            let rows: Vec<(u32, usize)> = drawn().map(|(d, entry)| (row(d, entry), output(d))).collect();
            self.place_rows(rows.len(), |unit| rows[unit].0);
            for (place, (_, output)) in self.place.iter_mut().zip(&rows) {
                *place = *place * outputs + output;
            }
        }
        self.close_rows();
    }

    /// For rows by themselves, whatever list they are of, with all their outputs.
    pub(crate) fn lay_rows(&mut self, rows: &[u32], features: &dyn Features, outputs: usize, parts: usize) {
        self.start(outputs);
        self.bound_rows(features.rows(), parts);
        self.part_of.extend(rows.iter().map(|row| part(&self.bounds, *row as usize)));
        self.sort_units();
        self.place_rows(rows.len(), |unit| rows[unit]);
        let places = std::mem::take(&mut self.place);
        self.place.extend(places.iter().flat_map(|place| place * outputs..(place + 1) * outputs));
        self.close_rows();
    }

    fn start(&mut self, outputs: usize) {
        self.outputs = outputs;
        for column in
            [&mut self.offsets, &mut self.list_cuts, &mut self.row_cuts, &mut self.place, &mut self.bounds]
        {
            column.clear();
        }
        for column in [&mut self.rows, &mut self.parts, &mut self.part_of, &mut self.order] {
            column.clear();
        }
    }

    /// First entry of every part, each the first of a list.
    fn bound_lists(&mut self, lists: &Lists, parts: usize) {
        let (entries, starts) = (lists.entries() as u64, &lists.offsets[..lists.len()]);
        let bound = |k: usize| {
            let wanted = entries * k as u64 / parts as u64;
            starts.get(starts.partition_point(|&start| start < wanted)).copied().unwrap_or(entries) as usize
        };
        self.bounds.extend((0..parts).map(bound));
    }

    /// First row of every part.
    fn bound_rows(&mut self, rows: usize, parts: usize) {
        self.bounds.extend((0..parts).map(|k| rows * k / parts));
    }

    /// Units in the order of their parts; those of a part in the order of the batch.
    fn sort_units(&mut self) {
        self.order.extend(0..self.part_of.len() as u32);
        // Stable, so that the order within a part is that of the batch.
        self.order.sort_by_key(|&unit| self.part_of[unit as usize]);
    }

    /// Rows of units in their order, and the place of each.
    fn place_rows(&mut self, count: usize, row: impl Fn(usize) -> u32) {
        self.place.resize(count, 0);
        for at in 0..self.order.len() {
            let unit = self.order[at] as usize;
            self.open_shard_of(self.part_of[unit]);
            self.place[unit] = self.rows.len();
            self.rows.push(row(unit));
        }
    }

    /// Begins a shard if the part is another than that of the shard before.
    fn open_shard_of(&mut self, part: u32) {
        if self.parts.last() != Some(&part) {
            self.parts.push(part);
            self.row_cuts.push(self.rows.len());
            self.list_cuts.push(self.offsets.len());
            self.offsets.push(0);
        }
    }

    fn close(&mut self) {
        self.row_cuts.push(self.rows.len());
        self.list_cuts.push(self.offsets.len());
    }

    /// One list per shard.
    fn close_rows(&mut self) {
        self.row_cuts.push(self.rows.len());
        self.offsets.clear();
        self.list_cuts.clear();
        for k in 0..self.shards() {
            self.list_cuts.push(self.offsets.len());
            self.offsets.extend([0, self.rows_of(k).len()]);
        }
        self.list_cuts.push(self.offsets.len());
    }

    pub(super) fn shards(&self) -> usize {
        self.parts.len()
    }

    /// The shards that worker `rank` of `size` computes, those of a run of parts. Worker after worker they make up all shards.
    pub(super) fn shards_of(&self, rank: usize, size: usize, parts: usize) -> std::ops::Range<usize> {
        let first = |rank: usize| self.parts.partition_point(|&part| (part as usize) < parts * rank / size);
        first(rank)..if rank + 1 == size { self.shards() } else { first(rank + 1) }
    }

    /// All shards.
    pub(crate) fn all_shards(&self) -> std::ops::Range<usize> {
        0..self.shards()
    }

    /// First row of shard `k`, or how many rows there are if there is no such shard.
    pub(super) fn first_row(&self, k: usize) -> usize {
        self.row_cuts.get(k).copied().unwrap_or(self.rows.len())
    }

    /// Rows of shard `k`, as positions in the plan.
    pub(super) fn rows_of(&self, k: usize) -> std::ops::Range<usize> {
        self.row_cuts[k]..self.row_cuts[k + 1]
    }

    /// Rows of shard `k`, its lists over them, and its part.
    pub(super) fn shard(&self, k: usize) -> (&[u32], &[usize], u32) {
        let lists = self.list_cuts[k]..self.list_cuts[k + 1];
        (&self.rows[self.rows_of(k)], &self.offsets[lists], self.parts[k])
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Scores per row.
    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    pub(crate) fn entries_from_rows(&self, by_row: &[f64], by_entry: &mut Vec<f64>) {
        by_entry.clear();
        by_entry.extend(self.place.iter().map(|&place| by_row[place]));
    }

    /// Adds the gradients of all entries that read the same score, in the order of entries. Exponential forms give most
    /// pairs next to nothing: that is 0, lest the products behind it work with subnormal numbers.
    pub(crate) fn rows_from_entries(&self, by_entry: &[f64], by_row: &mut Vec<f64>) {
        by_row.clear();
        by_row.resize(self.rows.len() * self.outputs, 0.0);
        for (&place, gradient) in self.place.iter().zip(by_entry) {
            by_row[place] += gradient;
        }
        by_row.iter_mut().filter(|g| g.abs() < f64::from(NEGLIGIBLE)).for_each(|g| *g = 0.0);
    }
}

/// The part that an entry or a row lies in. Several parts may begin at the same one: the others are empty.
fn part(bounds: &[usize], at: usize) -> u32 {
    bounds.partition_point(|&bound| bound <= at).saturating_sub(1) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use toprank_core::{Block, ModelError, ModelInput, Stream, Tape};

    use super::*;

    /// Says only whether it couples items.
    struct Kind(bool);

    impl Differentiable for Kind {
        fn blocks(&self) -> &[Block] {
            &[]
        }

        fn width(&self) -> usize {
            1
        }

        fn outputs(&self) -> usize {
            2
        }

        fn couples_items(&self) -> bool {
            self.0
        }

        fn init(&self, _: Stream, _: &mut [f32]) {}

        fn forward(
            &self,
            _: &[f32],
            _: &ModelInput,
            _: Option<Stream>,
            _: &mut Tape,
            _: &mut [f64],
        ) -> Result<(), ModelError> {
            unreachable!("plans are laid, not computed")
        }

        fn backward(&self, _: &[f32], _: &mut Tape, _: &[f64], _: &mut [f32]) -> Result<(), ModelError> {
            unreachable!("plans are laid, not computed")
        }

        fn score(&self, _: &[f32], _: &ModelInput, _: &mut Tape, _: &mut [f64]) -> Result<(), ModelError> {
            unreachable!("plans are laid, not computed")
        }
    }

    struct Rows(usize);

    impl Features for Rows {
        fn rows(&self) -> usize {
            self.0
        }

        fn width(&self) -> usize {
            1
        }

        fn gather(&self, _: &[u32], _: &mut [f32]) {}
    }

    /// Draws whole lists.
    fn draws(lists: &Lists, drawn: &[u32]) -> Draws {
        let mut draws = Draws { lists: drawn.to_vec(), offsets: vec![0], ..Draws::default() };
        for &q in drawn {
            draws.items.extend(0..lists.range(q as usize).len() as u32);
            draws.offsets.push(draws.items.len() as u64);
        }
        draws
    }

    fn plan(lists: &Lists, rows: usize, draws: &Draws, couples: bool, parts: usize) -> Plan {
        let mut plan = Plan::default();
        plan.lay(lists, &Rows(rows), draws, &Kind(couples), parts);
        plan
    }

    /// Rows and lists of every part.
    fn shards(plan: &Plan) -> BTreeMap<u32, (Vec<u32>, Vec<usize>)> {
        let shards = (0..plan.shards()).map(|k| plan.shard(k));
        shards.map(|(rows, offsets, part)| (part, (rows.to_vec(), offsets.to_vec()))).collect()
    }

    const LENGTHS: [usize; 7] = [3, 1, 4, 0, 2, 5, 3];

    #[test]
    fn every_entry_reads_the_score_of_its_row_and_output() {
        let plain = Lists::from_lengths(&LENGTHS, vec![0.0; 18]);
        let turned = (0..18).map(|i| (i * 5 % 7) as u32).collect();
        let output = Some(vec![0, 1, 0, 1, 1, 0, 1]);
        let shared = Lists { rows: Some(turned), output, ..plain.clone() };
        for (lists, rows) in [(&plain, 18), (&shared, 7)] {
            for couples in [true, false] {
                for parts in [1, 2, 3, 8, 256] {
                    let drawn = draws(lists, &[5, 0, 2, 6, 3, 1]);
                    let plan = plan(lists, rows, &drawn, couples, parts);
                    let mut by_row = Vec::new();
                    for (rows, _, _) in (0..plan.shards()).map(|k| plan.shard(k)) {
                        by_row.extend(rows.iter().flat_map(|&row| [f64::from(row), f64::from(row) + 100.0]));
                    }
                    let mut found = Vec::new();
                    plan.entries_from_rows(&by_row, &mut found);
                    let mut expected = Vec::new();
                    for &q in &drawn.lists {
                        let output = lists.output.as_ref().map_or(0, |o| o[q as usize]);
                        let read = |entry| lists.row(entry) as f64 + 100.0 * f64::from(output);
                        expected.extend(lists.range(q as usize).map(read));
                    }
                    assert_eq!(found, expected, "couples {couples}, {parts} parts");
                }
            }
        }
    }

    /// What another machine would compute for the lists that it holds.
    #[test]
    fn a_shard_depends_only_on_what_the_batch_draws_from_its_part() {
        let lists = Lists::from_lengths(&LENGTHS, vec![0.0; 18]);
        for couples in [true, false] {
            let whole = shards(&plan(&lists, 18, &draws(&lists, &[6, 2, 0, 5, 1, 4]), couples, 3));
            assert!(whole.len() > 1);
            let mut seen = 0;
            for without in 0..7 {
                let some: Vec<u32> = [6, 2, 0, 5, 1, 4].into_iter().filter(|q| *q != without).collect();
                for (part, shard) in shards(&plan(&lists, 18, &draws(&lists, &some), couples, 3)) {
                    let hit = whole[&part]
                        .0
                        .iter()
                        .any(|row| lists.range(without as usize).contains(&(*row as usize)));
                    assert!(hit || shard == whole[&part], "couples {couples}, part {part}");
                    seen += usize::from(!hit);
                }
            }
            assert!(seen > 3);
        }
    }

    #[test]
    fn lists_stay_whole_where_items_are_coupled_and_one_list_is_divided_by_rows_where_not() {
        let lists = Lists::from_lengths(&LENGTHS, vec![0.0; 18]);
        let coupled = shards(&plan(&lists, 18, &draws(&lists, &[5, 1, 2]), true, 256));
        let mut found: Vec<Vec<u32>> = coupled.into_values().map(|(rows, _)| rows).collect();
        found.sort();
        assert_eq!(found, [vec![3], vec![4, 5, 6, 7], vec![10, 11, 12, 13, 14]]);
        let one = Lists::from_lengths(&[18], vec![0.0; 18]);
        let divided = shards(&plan(&one, 18, &draws(&one, &[0]), false, 3));
        assert_eq!(divided.into_values().map(|(rows, _)| rows.len()).collect::<Vec<_>>(), [6, 6, 6]);
    }
}

/*!
Growing: split the leaf with the best split until no split gains anything.

```text
root: histogram of all rows, best split of every column
until there are enough leaves:
    take the leaf whose best split lowers the loss most
    cut its rows in two
    build the histogram of the smaller side; that of the larger is parent − smaller
    find the best split of both
leaf values: from the gradients of the leaf's rows, in much finer units than those of histograms
```

Columns are distributed over threads in groups of 8: a thread builds the histograms of its columns, searches their best
splits while they are in its cache, subtracts them from the parent's and searches again. Nothing is added across threads.

With several workers each has a part of the rows. Their histograms, numbers of rows and sums of leaves are added up, integers all
of them; then every worker searches the same histograms and splits its own rows. The tree is that of one worker with all rows,
to the bit.

Histograms hold no numbers of rows. The minimum rows per leaf are checked for the best split by counting, which ends as soon
as both sides have enough; only if a side is too small, the column's rows are counted bin by bin and its split is searched
again. The result is the same as if all columns were counted.
*/

use std::ops::Range;
use std::time::Instant;

use rayon::prelude::*;
use toprank_core::{Collective, ModelError, Stream};

use super::histogram::{Tile, build, subtract};
use super::partition::partition;
use super::quantise::{FixedSums, Units, hessian_of};
use super::search::{Bounds, Column, Cut, Here, Rules, Split, search};
use super::spent::{Part, Spent};
use super::{Growth, Order};
use crate::binning::{Binned, FeatureBins, Slot, TILE};
use crate::sampling::draw;
use crate::tree::{Next, Node, Test, Tree};

/// What a tree is grown from.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) data: &'a Binned,
    pub(crate) growth: &'a Growth,
    /// Gradient and Hessian of every row, as computed.
    pub(crate) gradient: &'a [f64],
    pub(crate) hessian: &'a [f64],
    /// The same rounded to integers.
    pub(crate) packed: &'a [u64],
    pub(crate) units: Units,
    /// Which slots may be used.
    pub(crate) allowed: &'a [bool],
    /// Learning rate: leaf values are multiplied by it.
    pub(crate) rate: f64,
    /// Random draws of the nodes of this tree.
    pub(crate) nodes: Stream,
    /// Those that have the other rows.
    pub(crate) workers: &'a dyn Collective,
}

/// Scratch memory that is kept from tree to tree.
#[derive(Debug, Default)]
pub(crate) struct GrowthScratch {
    /// The rows of the tree, leaf after leaf. Before growing: those to learn from.
    pub(crate) rows: Vec<u32>,
    other: Vec<u32>,
    histograms: Vec<Vec<Tile>>,
    free: Vec<usize>,
    /// Best split of every column of the smaller and of the larger side.
    found: [Vec<Option<Split>>; 2],
    /// Which slots the smaller and the larger side may use.
    allowed: [Vec<bool>; 2],
    /// Time that growing took so far, by part.
    pub(crate) spent: Spent,
}

impl GrowthScratch {
    fn histogram(&mut self, tiles: usize) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.histograms.push(vec![[[0; 256]; TILE]; tiles]);
            self.histograms.len() - 1
        })
    }
}

/// A tree and where its rows are.
pub(crate) struct Grown {
    pub(crate) tree: Tree,
    /// The rows of each leaf in [`GrowthScratch::rows`].
    pub(crate) ranges: Vec<Range<usize>>,
}

/// A leaf that may still be split.
#[derive(Clone)]
struct Open {
    /// Where the rows of this worker stand.
    rows: Range<usize>,
    /// How many rows all workers have here.
    count: u64,
    here: Here,
    depth: usize,
    /// The branch that leads here.
    from: Option<(usize, bool)>,
    histogram: Option<usize>,
    best: Option<(usize, Split)>,
}

/// Grows a tree over `scratch.rows`.
pub(crate) fn grow(task: &Task, scratch: &mut GrowthScratch) -> Result<Grown, ModelError> {
    let total = scratch.rows.iter().fold(0u64, |sum, &row| sum.wrapping_add(task.packed[row as usize]));
    let mut of_all = [total, scratch.rows.len() as u64];
    task.workers.sum(&mut of_all)?;
    let [total, count] = of_all;
    let rules = Rules::new(task.growth, task.units);
    let root = Open {
        rows: 0..scratch.rows.len(),
        count,
        here: Here { total, bounds: Bounds::NONE, random: None },
        depth: 0,
        from: None,
        histogram: None,
        best: None,
    };
    scratch.free = (0..scratch.histograms.len()).rev().collect();
    for found in &mut scratch.found {
        found.clear();
        found.resize(task.data.slots().len(), None);
    }
    scratch.allowed.fill(task.allowed.to_vec());
    let mut grower = Grower { task, rules, scratch, nodes: Vec::new(), leaves: vec![root] };
    grower.open(0, None)?;
    while grower.leaves.len() < task.growth.leaves
        && let Some(leaf) = grower.next()
    {
        grower.split(leaf)?;
    }
    grower.finish()
}

struct Grower<'a, 'b> {
    task: &'a Task<'b>,
    rules: Rules,
    scratch: &'a mut GrowthScratch,
    nodes: Vec<Node>,
    leaves: Vec<Open>,
}

impl<'b> Grower<'_, 'b> {
    /// The leaf to split next; of equal ones the first.
    fn next(&self) -> Option<usize> {
        let mut next: Option<(usize, usize, f64)> = None;
        for (leaf, open) in self.leaves.iter().enumerate() {
            let Some((_, split)) = &open.best else { continue };
            let level = if self.task.growth.order == Order::Depth { open.depth } else { 0 };
            if next.is_none_or(|(_, depth, gain)| level < depth || (level == depth && split.gain > gain)) {
                next = Some((leaf, level, split.gain));
            }
        }
        next.map(|(leaf, ..)| leaf)
    }

    fn column(&self, slot: &Slot) -> Column<'b> {
        let (data, growth) = (self.task.data, self.task.growth);
        let feature = slot.feature as usize;
        let monotone = growth.monotone.get(feature).copied().unwrap_or(0);
        Column { feature: slot.feature, bins: data.bins().of(feature), monotone }
    }

    /// True if other workers have rows, too.
    fn has_others(&self) -> bool {
        self.task.workers.size() > 1
    }

    fn split(&mut self, leaf: usize) -> Result<(), ModelError> {
        let mut left = self.leaves[leaf].clone();
        let Some((place, split)) = left.best.take() else { return Ok(()) };
        let slot = self.task.data.slots()[place];
        let column = slot.column as usize;
        let Column { bins, monotone, .. } = self.column(&slot);
        let table = slot.by_code(&split.table(bins.missing()));
        let rows = left.rows.clone();
        let start = Instant::now();
        let middle = rows.start
            + partition(
                &mut self.scratch.rows[rows.clone()],
                &mut self.scratch.other,
                self.task.data.column(column),
                &table,
            );
        self.scratch.spent.partition += Part::since(start, rows.len() * (2 * size_of::<u32>() + 1));
        let is_missing = || self.task.data.some_missing(place, &self.scratch.rows[rows.clone()]);
        let numeric = matches!(split.cut, Cut::UpTo(_));
        let mut of_all = [(middle - rows.start) as u64, u64::from(numeric && is_missing())];
        self.task.workers.sum(&mut of_all)?;
        let count_left = of_all[0];
        let count_right = left.count - count_left;

        let (test, missing_left) = match (split.cut, bins) {
            (Cut::UpTo(bin), FeatureBins::Numeric { cuts }) => {
                // If no value was missing in training, missing values go to the side with more rows. The histogram does
                // not say so: the gradients of rows with missing values can be 0, or add up to it.
                let (most_left, some_missing) = (count_left >= count_right, of_all[1] > 0);
                // Above all cuts nothing but missing values goes right.
                let threshold = cuts.get(bin as usize).copied().unwrap_or(f32::INFINITY);
                (Test::AtMost(threshold), if some_missing { split.missing_left } else { most_left })
            }
            (Cut::Set(set), FeatureBins::Categorical { categories }) => {
                let members = (0..categories.len()).filter(|bin| set[bin / 64] >> (bin % 64) & 1 == 1);
                (Test::In(members.map(|bin| categories[bin]).collect()), false)
            }
            _ => unreachable!("a cut of the kind of its column"),
        };
        let node = self.nodes.len();
        self.nodes.push(Node {
            feature: slot.feature,
            test,
            missing_left,
            left: Next::Leaf(leaf as u32),
            right: Next::Leaf(self.leaves.len() as u32),
            gain: split.gain,
            hessian: f64::from(hessian_of(left.here.total)) * self.task.units.hessian,
            rows: left.count as u32,
        });
        if let Some((parent, is_left)) = left.from {
            let parent = &mut self.nodes[parent];
            *(if is_left { &mut parent.left } else { &mut parent.right }) = Next::Node(node as u32);
        }

        let bounds = self.bounds(&left.here, &split, monotone);
        let right = Open {
            rows: middle..rows.end,
            count: count_right,
            here: Here { total: left.here.total.wrapping_sub(split.left), bounds: bounds[1], random: None },
            depth: left.depth + 1,
            from: Some((node, false)),
            histogram: None,
            best: None,
        };
        let parent = left.histogram.take();
        left = Open {
            rows: rows.start..middle,
            count: count_left,
            here: Here { total: split.left, bounds: bounds[0], random: None },
            depth: right.depth,
            from: Some((node, true)),
            ..left
        };
        let left_is_smaller = count_left <= count_right;
        let other = self.leaves.len();
        self.leaves[leaf] = left;
        self.leaves.push(right);
        if self.leaves.len() == self.task.growth.leaves {
            return Ok(());
        }
        let (small, large) = if left_is_smaller { (leaf, other) } else { (other, leaf) };
        self.open(small, parent.map(|parent| (large, parent)))
    }

    /// Bounds of the two sides of a split: on a monotone feature the middle of their values parts them.
    fn bounds(&self, here: &Here, split: &Split, monotone: i8) -> [Bounds; 2] {
        let bounds = here.bounds;
        if monotone == 0 {
            return [bounds; 2];
        }
        let value = |sum| {
            let (g, h) = self.rules.sums(sum);
            self.rules.leaf(g, h, bounds)
        };
        let middle = 0.5 * (value(split.left) + value(here.total.wrapping_sub(split.left)));
        let (below, above) = (Bounds { high: middle, ..bounds }, Bounds { low: middle, ..bounds });
        if monotone > 0 { [below, above] } else { [above, below] }
    }

    /// True if the leaf is large enough to be split.
    fn worth_it(&self, leaf: usize) -> bool {
        let (open, growth) = (&self.leaves[leaf], self.task.growth);
        let (_, hessian) = self.rules.sums(open.here.total);
        (growth.depth == 0 || open.depth < growth.depth)
            && open.count >= 2 * u64::from(growth.min_rows).max(1)
            && hessian >= 2.0 * growth.min_hessian
    }

    /// Draws what is random in a node: its features, and the seed of its thresholds.
    fn draw(&mut self, leaf: usize, side: usize) {
        let Task { growth, nodes, allowed, .. } = *self.task;
        // The root, or the left or right side of a node.
        let number = self.leaves[leaf].from.map_or(0, |(node, left)| 2 * node as u32 + 1 + u32::from(left));
        let stream = nodes.of_list(number);
        if growth.extra {
            self.leaves[leaf].here.random = Some(stream.open().bits());
        }
        if growth.node_features < 1.0 {
            let slots: Vec<u32> =
                self.task.data.slots_by_feature().filter(|&slot| allowed[slot as usize]).collect();
            let wanted = ((growth.node_features * slots.len() as f64).round() as usize).max(1);
            let drawn = &mut self.scratch.allowed[side];
            drawn.fill(false);
            for slot in draw(slots, wanted, stream) {
                drawn[slot as usize] = true;
            }
        }
    }

    /// Builds the histogram of leaf `small`, makes that of `large` out of the parent's, finds the best split of both.
    fn open(&mut self, small: usize, large: Option<(usize, usize)>) -> Result<(), ModelError> {
        let wanted = [self.worth_it(small), large.is_some_and(|(leaf, _)| self.worth_it(leaf))];
        if wanted == [false, false] {
            self.scratch.free.extend(large.map(|(_, parent)| parent));
            return Ok(());
        }
        self.draw(small, 0);
        if let Some((leaf, _)) = large {
            self.draw(leaf, 1);
        }
        let tiles = self.task.data.tiles();
        let slot = self.scratch.histogram(tiles);
        let mut small_sums = std::mem::take(&mut self.scratch.histograms[slot]);
        let mut large_sums = large.map(|(_, parent)| std::mem::take(&mut self.scratch.histograms[parent]));
        let [mut small_found, mut large_found] = std::mem::take(&mut self.scratch.found);
        let pair = Pair {
            grower: self,
            rows: &self.scratch.rows[self.leaves[small].rows.clone()],
            small: wanted[0].then_some(&self.leaves[small].here),
            large: large.filter(|_| wanted[1]).map(|(leaf, _)| &self.leaves[leaf].here),
            allowed: &self.scratch.allowed,
            phase: if self.has_others() { Phase::Build } else { Phase::Both },
        };
        let groups = rayon::current_num_threads().min(tiles);
        let large_tiles = large_sums.as_deref_mut().unwrap_or_default();
        let [mut histograms, mut search] =
            pair.run(0, groups, &mut small_sums, large_tiles, &mut small_found, &mut large_found);
        if self.has_others() {
            let start = Instant::now();
            self.task.workers.sum(small_sums.as_flattened_mut().as_flattened_mut())?;
            histograms += Part::since(start, 2 * size_of_val(small_sums.as_slice()));
            let pair = Pair { phase: Phase::Search, ..pair };
            [_, search] =
                pair.run(0, groups, &mut small_sums, large_tiles, &mut small_found, &mut large_found);
        }
        self.scratch.spent.histograms += histograms;
        self.scratch.spent.search += search;

        let mut close =
            |leaf: usize, slot: usize, found: &mut [Option<Split>], sums: Vec<Tile>, wanted: bool| {
                let best = if wanted { self.best(leaf, found, &sums)? } else { None };
                self.scratch.histograms[slot] = sums;
                if best.is_none() {
                    self.scratch.free.push(slot);
                }
                self.leaves[leaf].histogram = best.is_some().then_some(slot);
                self.leaves[leaf].best = best;
                Ok::<(), ModelError>(())
            };
        close(small, slot, &mut small_found, small_sums, wanted[0])?;
        if let (Some((leaf, parent)), Some(sums)) = (large, large_sums) {
            close(leaf, parent, &mut large_found, sums, wanted[1])?;
        }
        self.scratch.found = [small_found, large_found];
        Ok(())
    }

    /// The best split of a leaf out of the best of every column, with enough rows on both sides.
    fn best(
        &self,
        leaf: usize,
        found: &mut [Option<Split>],
        sums: &[Tile],
    ) -> Result<Option<(usize, Split)>, ModelError> {
        let growth = self.task.growth;
        let open = &self.leaves[leaf];
        let rows = &self.scratch.rows[open.rows.clone()];
        loop {
            let slots = self.task.data.slots();
            let mut best: Option<(usize, &Split)> = None;
            for (s, split) in found.iter().enumerate() {
                // Of equal ones the first feature, wherever it stands.
                let ahead = |split: &Split| match best {
                    None => split.gain > growth.min_gain,
                    Some((other, best)) if split.gain == best.gain => slots[s].feature < slots[other].feature,
                    Some((_, best)) => split.gain > best.gain,
                };
                if let Some(split) = split
                    && ahead(split)
                {
                    best = Some((s, split));
                }
            }
            let Some((s, split)) = best else { return Ok(None) };
            let slot = &slots[s];
            let column = slot.column as usize;
            let bins = self.task.data.column(column);
            let about = self.column(slot);
            let table = slot.by_code(&split.table(about.bins.missing()));
            let least = growth.min_rows.max(1);
            let enough = if self.has_others() {
                let goes_left = |row: &&u32| table[bins[**row as usize] as usize];
                let mut left = [rows.iter().filter(goes_left).count() as u64];
                self.task.workers.sum(&mut left)?;
                left[0] >= u64::from(least) && open.count - left[0] >= u64::from(least)
            } else {
                let mut sides = [0, 0];
                rows.iter().any(|&row| {
                    sides[usize::from(table[bins[row as usize] as usize])] += 1;
                    sides[0] >= least && sides[1] >= least
                })
            };
            if enough {
                return Ok(Some((s, *split)));
            }
            let mut counts = [0; 256];
            for &row in rows {
                counts[bins[row as usize] as usize] += 1;
            }
            self.task.workers.sum(&mut counts)?;
            let counts = slot.unbundled(&counts, open.count).unwrap_or(counts).map(|count| count as u32);
            let sums = &sums[column / TILE][column % TILE];
            let own = slot.unbundled(sums, open.here.total);
            let sums = own.as_ref().unwrap_or(sums);
            found[s] = search(sums, &about, &open.here, &self.rules, Some((&counts, least)));
        }
    }

    fn finish(self) -> Result<Grown, ModelError> {
        let Grower { task, rules, scratch, nodes, leaves } = self;
        let sums = |open: &Open| {
            let rows = &scratch.rows[open.rows.clone()];
            FixedSums::of(rows, task.gradient, task.hessian, task.units)
        };
        let start = Instant::now();
        let mut sums: Vec<FixedSums> = leaves.par_iter().map(sums).collect();
        if task.workers.size() > 1 {
            let mut words: Vec<u64> = sums
                .iter()
                .flat_map(|sums| [sums.gradient.cast_unsigned(), sums.hessian.cast_unsigned()])
                .collect();
            task.workers.sum(&mut words)?;
            for (sums, words) in sums.iter_mut().zip(words.as_chunks::<2>().0) {
                let [gradient, hessian] = words.map(u64::cast_signed);
                *sums = FixedSums { gradient, hessian };
            }
        }
        let mut values: Vec<f64> = sums
            .iter()
            .zip(&leaves)
            .map(|(sums, open)| {
                let (gradient, hessian) = sums.values(task.units);
                rules.leaf(gradient, hessian, open.here.bounds)
            })
            .collect();
        if task.growth.smooth > 0.0 {
            smooth(task, &rules, &nodes, &sums, &mut values);
        }
        let most = if task.growth.max_delta > 0.0 { task.growth.max_delta } else { f64::INFINITY };
        for (value, open) in values.iter_mut().zip(&leaves) {
            let Bounds { low, high } = open.here.bounds;
            *value = task.rate * value.clamp(low, high).clamp(-most, most);
        }
        scratch.spent.scores +=
            Part::since(start, scratch.rows.len() * (size_of::<u32>() + 2 * size_of::<f64>()));
        Ok(Grown {
            tree: Tree { nodes, leaves: values },
            ranges: leaves.into_iter().map(|open| open.rows).collect(),
        })
    }
}

/// Draws every leaf to the nodes above it: v ← (H·v + smooth·parent)/(H + smooth), from the root down.
fn smooth(task: &Task, rules: &Rules, nodes: &[Node], sums: &[FixedSums], values: &mut [f64]) {
    let mut of_nodes = vec![FixedSums::default(); nodes.len()];
    // A node stands behind its parent.
    for (node, Node { left, right, .. }) in nodes.iter().enumerate().rev() {
        for next in [left, right] {
            let part = match *next {
                Next::Leaf(leaf) => sums[leaf as usize],
                Next::Node(node) => of_nodes[node as usize],
            };
            of_nodes[node].gradient += part.gradient;
            of_nodes[node].hessian += part.hessian;
        }
    }
    let own = |sums: FixedSums| {
        let (gradient, hessian) = sums.values(task.units);
        (rules.leaf(gradient, hessian, Bounds::NONE), hessian)
    };
    let mut smoothed: Vec<f64> = of_nodes.iter().map(|&sums| own(sums).0).collect();
    for (node, Node { left, right, .. }) in nodes.iter().enumerate() {
        let parent = smoothed[node];
        let draw = |(value, hessian): (f64, f64)| {
            (hessian * value + task.growth.smooth * parent) / (hessian + task.growth.smooth)
        };
        for next in [left, right] {
            match *next {
                Next::Leaf(leaf) => values[leaf as usize] = draw(own(sums[leaf as usize])),
                Next::Node(node) => smoothed[node as usize] = draw(own(of_nodes[node as usize])),
            }
        }
    }
}

/// What is done with the tiles of a histogram.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// They are built, and searched as soon as they are.
    Both,
    /// They are built. What other workers have comes in before the search.
    Build,
    /// They are there, and are searched.
    Search,
}

/// The two sides of a split, while their histograms are made.
#[derive(Clone, Copy)]
struct Pair<'a, 'b, 'c> {
    grower: &'a Grower<'b, 'c>,
    /// Rows of the smaller side.
    rows: &'a [u32],
    /// The sides whose splits are wanted.
    small: Option<&'a Here>,
    large: Option<&'a Here>,
    /// Which slots they may use.
    allowed: &'a [Vec<bool>; 2],
    phase: Phase,
}

impl Pair<'_, '_, '_> {
    /// Cuts the tiles in groups, one after the other or at once. Returns what histograms and search took.
    fn run(
        &self,
        first: usize,
        groups: usize,
        small: &mut [Tile],
        large: &mut [Tile],
        small_found: &mut [Option<Split>],
        large_found: &mut [Option<Split>],
    ) -> [Part; 2] {
        if groups > 1 && small.len() > 1 {
            let middle = small.len() / 2;
            let data = self.grower.task.data;
            let columns = |tile: usize| (tile * TILE).min(data.width());
            let slots = data.slots_of(columns(first)..columns(first + middle)).len();
            let (small, small_right) = small.split_at_mut(middle);
            let (large, large_right) = large.split_at_mut(middle.min(large.len()));
            let (small_found, small_found_right) = small_found.split_at_mut(slots);
            let (large_found, large_found_right) = large_found.split_at_mut(slots);
            let (mut parts, others) = rayon::join(
                || self.run(first, groups / 2, small, large, small_found, large_found),
                || {
                    let (first, groups) = (first + middle, groups - groups / 2);
                    self.run(first, groups, small_right, large_right, small_found_right, large_found_right)
                },
            );
            parts.iter_mut().zip(others).for_each(|(part, other)| *part += other);
            return parts;
        }
        let task = self.grower.task;
        let first_slot = task.data.slots_of(0..(first * TILE).min(task.data.width())).end;
        let (start, mut search_part) = (Instant::now(), Part::default());
        let sides = usize::from(self.small.is_some()) + 2 * usize::from(!large.is_empty());
        let mut done = |tile: usize, sums: &mut Tile| {
            let start = Instant::now();
            for (c, sums) in sums.iter().enumerate() {
                let column = tile * TILE + c;
                if column >= task.data.width() {
                    break;
                }
                let mut parent = large.get_mut(tile - first).map(|parent| &mut parent[c]);
                if let Some(parent) = &mut parent {
                    subtract(parent, sums);
                }
                for s in task.data.slots_of(column..column + 1) {
                    let slot = &task.data.slots()[s];
                    let about = self.grower.column(slot);
                    let find = |here: Option<&Here>, side: usize, sums: &[u64; 256]| {
                        let here = here.filter(|_| self.allowed[side][s])?;
                        match slot.unbundled(sums, here.total) {
                            None => search(sums, &about, here, &self.grower.rules, None),
                            Some(own) => search(&own, &about, here, &self.grower.rules, None),
                        }
                    };
                    small_found[s - first_slot] = find(self.small, 0, sums);
                    if let Some(parent) = &parent {
                        large_found[s - first_slot] = find(self.large, 1, parent);
                    }
                }
            }
            search_part += Part::since(start, sides * size_of::<Tile>());
        };
        match self.phase {
            Phase::Both => build(task.data, self.rows, task.packed, first, small, done),
            Phase::Build => build(task.data, self.rows, task.packed, first, small, |_, _| ()),
            Phase::Search => small.iter_mut().enumerate().for_each(|(t, sums)| done(first + t, sums)),
        }
        let a_row = (small.len() + 1) * size_of::<u64>() + size_of::<u32>();
        let mut histograms = Part::since(start, self.rows.len() * a_row + size_of_val(small));
        histograms.seconds -= search_part.seconds;
        [histograms, search_part]
    }
}

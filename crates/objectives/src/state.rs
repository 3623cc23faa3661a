//! The state of an objective over a data set: one block of numbers per list, divided into columns.

use toprank_core::{Choices, Lists, Policy};

/// What a column has one entry for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// One per list.
    List,
    /// One per relevant item.
    Relevant,
    /// One per item.
    Item,
    /// One per class of lists, shared by its lists; see [`Objective::columns_of_classes`](crate::Objective::columns_of_classes).
    Class,
}

/// One column of state. NaN = not yet visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, for checkpoints and messages.
    pub name: &'static str,
    /// What it has an entry for.
    pub per: Per,
    /// Numbers per entry.
    pub width: usize,
}

/// All state of an objective over one data set.
///
/// Compact: a column per relevant item takes memory for relevant items only, which are found by binary search in their
/// ascending positions. Each list owns its block, so lists can be processed in parallel.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub(crate) shape: Shape,
    /// All numbers, list after list.
    pub(crate) values: Vec<f64>,
}

/// Which numbers belong to which list; steps only read it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    columns: &'static [Column],
    /// Block b: `values[starts[b]..starts[b + 1]]`; each list has its own, or each class.
    starts: Vec<u64>,
    /// If lists of a class share a block: the class of each list, ascending.
    classes: Option<Vec<u32>>,
    /// Number of labelled items of each list.
    pub items: Vec<u32>,
    /// Positions of the relevant items of list q: `relevant[relevant_starts[q]..relevant_starts[q + 1]]`.
    relevant_starts: Vec<u64>,
    relevant: Vec<u32>,
    /// If relevant items come first in every list: how many there are. All lists then share `relevant`, 0, 1, 2 …
    first: Option<Vec<u32>>,
}

impl Shape {
    fn new(columns: &'static [Column], lists: usize) -> Shape {
        let mut shape = Shape {
            columns,
            starts: Vec::with_capacity(lists + 1),
            classes: None,
            items: Vec::with_capacity(lists),
            relevant_starts: Vec::with_capacity(lists + 1),
            relevant: Vec::new(),
            first: None,
        };
        shape.starts.push(0);
        shape.relevant_starts.push(0);
        shape
    }

    /// Adds a list of `all` items, `judged` of them labelled, whose relevant items are among `labels`, positions ascending.
    fn add(&mut self, all: usize, judged: usize, labels: impl Iterator<Item = (u32, f32)>, policy: &Policy) {
        let before = self.relevant.len();
        self.relevant.extend(labels.filter(|(_, y)| policy.relevant.is(*y)).map(|(place, _)| place));
        let relevant = self.relevant.len() - before;
        let end = self.starts.last().copied().unwrap_or(0) + length(self.columns, all, relevant) as u64;
        self.items.push(judged as u32);
        self.relevant_starts.push(self.relevant.len() as u64);
        self.starts.push(end);
    }

    /// Number of the block of list `q`.
    pub fn block_number(&self, q: usize) -> usize {
        self.classes.as_ref().map_or(q, |classes| classes[q] as usize)
    }

    /// True if no list has a number.
    pub fn is_stateless(&self) -> bool {
        self.columns.is_empty()
    }

    /// The numbers of list `q`.
    pub fn block(&self, q: usize) -> std::ops::Range<usize> {
        let b = self.block_number(q);
        self.starts[b] as usize..self.starts[b + 1] as usize
    }

    fn unvisited(self) -> State {
        let end = self.starts.last().copied().unwrap_or(0);
        State { shape: self, values: vec![f64::NAN; end as usize] }
    }

    /// The state of list `q`, which has `all` items, unlabelled ones included, over its own block of numbers.
    pub fn of_list<'a>(&'a self, q: usize, all: usize, values: &'a mut [f64]) -> ListState<'a> {
        let relevant = match &self.first {
            None => self.relevant_starts[q] as usize..self.relevant_starts[q + 1] as usize,
            Some(counts) => 0..counts[q] as usize,
        };
        ListState {
            values,
            columns: self.columns,
            all,
            items: self.items[q] as usize,
            relevant: &self.relevant[relevant],
        }
    }
}

impl State {
    /// State with every number not yet visited.
    pub(crate) fn new(columns: &'static [Column], lists: &Lists, policy: &Policy) -> State {
        let mut shape = Shape::new(columns, lists.len());
        for q in 0..lists.len() {
            let labels = &lists.labels[lists.range(q)];
            let judged = labels.iter().filter(|y| !y.is_nan()).count();
            shape.add(labels.len(), judged, (0..).zip(labels.iter().copied()), policy);
        }
        shape.unvisited()
    }

    /// The same for lists of user interactions: memory for the interactions only.
    pub(crate) fn of_choices(columns: &'static [Column], choices: &Choices, policy: &Policy) -> State {
        let mut shape = Shape::new(columns, choices.len());
        for u in 0..choices.len() {
            let chosen = choices.of(u).iter().copied().zip(choices.labels_of(u).iter().copied());
            shape.add(choices.item_count, choices.item_count, chosen, policy);
        }
        shape.unvisited()
    }

    /// The same for lists of `items` items whose relevant items come first: memory for the relevant items only.
    pub(crate) fn of_first(columns: &'static [Column], items: usize, first: &[u32]) -> State {
        let mut shape = Shape::new(columns, first.len());
        shape.relevant = (0..first.iter().copied().max().unwrap_or(0)).collect();
        for &relevant in first {
            let end = shape.starts[shape.starts.len() - 1] + length(columns, items, relevant as usize) as u64;
            shape.items.push(items as u32);
            shape.starts.push(end);
        }
        shape.first = Some(first.to_vec());
        shape.unvisited()
    }

    /// The same for lists that are the rows of classes, class after class, `classes[c]..classes[c + 1]` those of class c: columns
    /// per class are shared by its lists.
    pub(crate) fn of_classes(
        columns: &'static [Column],
        items: usize,
        first: &[u32],
        classes: &[u32],
    ) -> State {
        if !columns.iter().any(|column| column.per == Per::Class) {
            return State::of_first(columns, items, first);
        }
        assert!(columns.iter().all(|column| column.per == Per::Class), "numbers per class only, or none");
        let mut state = State::of_first(&[], items, first);
        let (each, count) = (length(columns, 0, 0) as u64, classes.len().saturating_sub(1));
        state.shape.columns = columns;
        state.shape.starts = (0..=count as u64).map(|class| class * each).collect();
        let rows = classes.windows(2).zip(0..);
        let of_rows = rows.flat_map(|(span, class)| std::iter::repeat_n(class, (span[1] - span[0]) as usize));
        state.shape.classes = Some(of_rows.collect());
        state.shape.unvisited()
    }

    /// Its columns.
    pub fn columns(&self) -> &'static [Column] {
        self.shape.columns
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.shape.items.len()
    }

    /// True if there is no list.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The state of list `q`, which has `all` items, unlabelled ones included.
    pub fn of_list(&mut self, q: usize, all: usize) -> ListState<'_> {
        let block = self.shape.block(q);
        self.shape.of_list(q, all, &mut self.values[block])
    }

    /// The state as bytes: the same bytes load bit for bit.
    pub fn save(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.layout().to_le_bytes());
        bytes.extend((self.values.len() as u64).to_le_bytes());
        bytes.extend(self.values.iter().flat_map(|value| value.to_bits().to_le_bytes()));
        bytes
    }

    /// Loads what [`State::save`] gave, for the same objective over the same lists.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let wrong = |found: String, expected: String| Err(StateError { found, expected });
        if bytes.len() < 20 || bytes[..4] != MAGIC {
            return wrong(format!("{} bytes in another format", bytes.len()), "a saved state".into());
        }
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        if number(4) != self.layout() || number(12) != self.values.len() as u64 {
            return wrong(
                format!("{} numbers of another objective or data set", number(12)),
                format!("{} numbers of this objective over these lists", self.values.len()),
            );
        }
        if bytes.len() - 20 != 8 * self.values.len() {
            let (found, expected) = (bytes.len(), 20 + 8 * self.values.len());
            return wrong(format!("{found} bytes"), format!("{expected} bytes; the file may be truncated"));
        }
        for (i, value) in self.values.iter_mut().enumerate() {
            *value = f64::from_bits(number(20 + 8 * i));
        }
        Ok(())
    }

    /// A fingerprint of the layout: columns, lengths of lists, positions of relevant items (FNV-1a).
    fn layout(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |value: u64| hash = (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3);
        for column in self.shape.columns {
            column.name.bytes().for_each(|byte| add(u64::from(byte)));
            add(column.width as u64);
        }
        self.shape.starts.iter().for_each(|start| add(*start));
        self.shape.relevant.iter().for_each(|place| add(u64::from(*place)));
        self.shape.first.iter().flatten().for_each(|count| add(u64::from(*count)));
        self.shape.classes.iter().flatten().for_each(|class| add(u64::from(*class)));
        hash
    }
}

const MAGIC: [u8; 4] = *b"TRs1";

fn length(columns: &[Column], items: usize, relevant: usize) -> usize {
    columns.iter().map(|column| column.len(items, relevant)).sum()
}

impl Column {
    fn len(&self, items: usize, relevant: usize) -> usize {
        self.width
            * match self.per {
                Per::List | Per::Class => 1,
                Per::Relevant => relevant,
                Per::Item => items,
            }
    }
}

/// The state of one list.
#[derive(Debug)]
pub struct ListState<'a> {
    pub(crate) values: &'a mut [f64],
    pub(crate) columns: &'static [Column],
    pub(crate) all: usize,
    /// Number of labelled items of the whole list, N.
    pub items: usize,
    /// Positions of the relevant items in the whole list, ascending; their number is N+.
    pub relevant: &'a [u32],
}

impl ListState<'_> {
    /// The columns, in their order; column k has `width` numbers per entry.
    ///
    /// # Panics
    /// If `K` is not the number of columns.
    pub fn cut<const K: usize>(&mut self) -> [&mut [f64]; K] {
        assert_eq!(K, self.columns.len(), "one slice per column");
        let (all, relevant) = (self.all, self.relevant.len());
        let mut rest = &mut *self.values;
        std::array::from_fn(|k| {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(self.columns[k].len(all, relevant));
            rest = tail;
            head
        })
    }
}

/// Bytes that are not a saved state of this objective and data set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("saved state: found {found}, expected {expected}")]
pub struct StateError {
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column { name: "z", per: Per::List, width: 1 },
        Column { name: "u", per: Per::Relevant, width: 2 },
        Column { name: "seen", per: Per::Item, width: 1 },
    ];

    fn state() -> State {
        let lists = Lists::from_lengths(&[3, 0, 2], vec![1.0, f32::NAN, 2.0, 0.0, 1.0]);
        State::new(COLUMNS, &lists, &Policy::default())
    }

    #[test]
    fn columns_are_as_long_as_what_they_are_per() {
        let mut state = state();
        let mut first = state.of_list(0, 3);
        assert_eq!((first.items, first.relevant), (2, [0, 2].as_slice()));
        assert_eq!(first.cut::<3>().map(|c| c.len()), [1, 4, 3]);
        assert_eq!(state.of_list(1, 0).cut::<3>().map(|c| c.len()), [1, 0, 0]);
        assert_eq!(state.of_list(2, 2).cut::<3>().map(|c| c.len()), [1, 2, 2]);
    }

    #[test]
    fn what_is_saved_loads_bit_for_bit() {
        let mut saved = state();
        for (i, value) in saved.values.iter_mut().enumerate() {
            *value = if i % 3 == 0 { f64::NAN } else { 0.1 * i as f64 };
        }
        let mut loaded = state();
        loaded.load(&saved.save()).unwrap();
        assert_eq!(loaded.save(), saved.save());
    }

    #[test]
    fn bytes_of_something_else_are_refused() {
        let bytes = state().save();
        assert!(state().load(&bytes[..bytes.len() - 1]).unwrap_err().to_string().contains("truncated"));
        assert!(state().load(b"TRs1").is_err());
        let lists = Lists::from_lengths(&[3, 0, 2], vec![0.0, 1.0, 2.0, 0.0, 1.0]);
        let other = State::new(COLUMNS, &lists, &Policy::default()).save();
        let error = state().load(&other).unwrap_err();
        assert!(error.to_string().contains("another objective or data set"), "{error}");
    }
}

/*!
Interning of names and grouping of rows into lists, for every reader whose lists have names.

A list whose rows are not adjacent comes back after it ended. By default that is an error of the reader; with
`regroup` the rows are brought together, lists in order of first appearance, rows in file order within a list.
*/

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use crate::names::Names;

/// Gives each distinct name a number, in order of first appearance.
///
/// ```
/// let mut levels = toprank_data::group::Interner::default();
/// assert_eq!([levels.number("red"), levels.number("blue"), levels.number("red")], [0, 1, 0]);
/// assert_eq!(levels.into_names().iter().collect::<Vec<_>>(), ["red", "blue"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Interner {
    names: Names,
    table: HashTable<u32>,
}

impl Interner {
    /// The number of this name; a new name gets the next one.
    pub fn number(&mut self, name: &str) -> u32 {
        let Interner { names, table } = self;
        let hash = xxh3_64(name.as_bytes());
        let entry = table.entry(
            hash,
            |&n| names.get(n as usize) == name,
            |&n| xxh3_64(names.get(n as usize).as_bytes()),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(there) => *there.get(),
            hashbrown::hash_table::Entry::Vacant(free) => {
                let number = names.len() as u32;
                free.insert(number);
                names.push(name);
                number
            }
        }
    }

    /// The number of this name if it has one.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.table.find(xxh3_64(name.as_bytes()), |&n| self.names.get(n as usize) == name).copied()
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there is no name.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names, by number.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The names, by number.
    pub fn into_names(self) -> Names {
        let mut names = self.names;
        names.shrink();
        names
    }

    /// The names in bytewise order, and for each number the place of its name among them. They depend on which names
    /// there are, not on the order in which they came.
    ///
    /// ```
    /// let mut levels = toprank_data::group::Interner::default();
    /// assert_eq!([levels.number("red"), levels.number("blue")], [0, 1]);
    /// let (names, places) = levels.into_sorted();
    /// assert_eq!(names.iter().collect::<Vec<_>>(), ["blue", "red"]);
    /// assert_eq!(places, [1, 0]);
    /// ```
    pub fn into_sorted(self) -> (Names, Vec<u32>) {
        let names = self.names;
        let mut order: Vec<u32> = (0..names.len() as u32).collect();
        order.sort_unstable_by_key(|&number| names.get(number as usize));
        let mut places = vec![0; order.len()];
        for (place, &number) in (0..).zip(&order) {
            places[number as usize] = place;
        }
        (gather_names(&names, &order), places)
    }
}

/// Cuts rows into lists while they are read.
///
/// ```
/// use toprank_data::group::Groups;
/// let mut groups = Groups::new(true);
/// for (row, query) in ["a", "b", "b", "a"].into_iter().enumerate() {
///     groups.push(row, query).unwrap();
/// }
/// let cut = groups.finish(4);
/// assert_eq!(cut.offsets, [0, 2, 4]);
/// assert_eq!(cut.order, Some(vec![0, 3, 1, 2]));
/// ```
pub struct Groups {
    regroup: bool,
    lists: Interner,
    /// (list, first row) of each run of adjacent rows.
    runs: Vec<(u32, u32)>,
    /// Last row of each list that has ended.
    ended: Vec<u32>,
    returned: bool,
}

/// Rows cut into lists.
pub struct Cut {
    /// Name of each list.
    pub names: Names,
    /// `lists + 1` ascending positions.
    pub offsets: Vec<u64>,
    /// The rows in the order of the lists; `None`: as they were read.
    pub order: Option<Vec<u32>>,
}

impl Groups {
    /// No row yet.
    pub fn new(regroup: bool) -> Groups {
        Groups { regroup, lists: Interner::default(), runs: Vec::new(), ended: Vec::new(), returned: false }
    }

    /// Puts `row`, the next one, into the list called `name`. An error gives the row at which that list ended
    /// before.
    pub fn push(&mut self, row: usize, name: &str) -> Result<(), usize> {
        let row = row as u32;
        if let Some(&(current, _)) = self.runs.last() {
            if self.lists.names().get(current as usize) == name {
                return Ok(());
            }
            self.ended[current as usize] = row - 1;
        }
        let list = self.lists.number(name);
        if list as usize == self.ended.len() {
            self.ended.push(row);
        } else if self.regroup {
            self.returned = true;
        } else {
            return Err(self.ended[list as usize] as usize);
        }
        self.runs.push((list, row));
        Ok(())
    }

    /// The lists of all `rows` rows.
    pub fn finish(self, rows: usize) -> Cut {
        let ends = self.runs.iter().skip(1).map(|run| run.1).chain([rows as u32]);
        let mut offsets = vec![0u64; self.lists.len() + 1];
        for (&(list, first), end) in self.runs.iter().zip(ends.clone()) {
            offsets[list as usize + 1] += u64::from(end - first);
        }
        for q in 1..offsets.len() {
            offsets[q] += offsets[q - 1];
        }
        let order = self.returned.then(|| {
            let mut next = offsets.clone();
            let mut order = vec![0u32; rows];
            for (&(list, first), end) in self.runs.iter().zip(ends) {
                for row in first..end {
                    order[next[list as usize] as usize] = row;
                    next[list as usize] += 1;
                }
            }
            order
        });
        Cut { names: self.lists.into_names(), offsets, order }
    }
}

/// The values of `width` numbers a row, rows in the order given.
///
/// ```
/// assert_eq!(toprank_data::group::gather(&[1, 2, 3, 4], 2, &[1, 0]), [3, 4, 1, 2]);
/// ```
pub fn gather<T: Copy>(values: &[T], width: usize, order: &[u32]) -> Vec<T> {
    let mut ordered = Vec::with_capacity(values.len());
    for &row in order {
        ordered.extend_from_slice(&values[row as usize * width..(row as usize + 1) * width]);
    }
    ordered
}

/// Names in the order given.
pub fn gather_names(names: &Names, order: &[u32]) -> Names {
    order.iter().map(|&row| names.get(row as usize)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_comes_back_is_told_with_the_row_it_ended_at() {
        let mut groups = Groups::new(false);
        for (row, name) in ["a", "a", "b"].into_iter().enumerate() {
            groups.push(row, name).unwrap();
        }
        assert_eq!(groups.push(3, "a"), Err(1));
    }

    #[test]
    fn adjacent_lists_keep_their_order() {
        let mut groups = Groups::new(true);
        for (row, name) in ["z", "a", "a"].into_iter().enumerate() {
            groups.push(row, name).unwrap();
        }
        let cut = groups.finish(3);
        assert_eq!((cut.offsets, cut.order), (vec![0, 1, 3], None));
        assert_eq!(cut.names.iter().collect::<Vec<_>>(), ["z", "a"]);
    }

    #[test]
    fn no_row_makes_no_list() {
        assert_eq!(Groups::new(false).finish(0).offsets, [0]);
    }
}

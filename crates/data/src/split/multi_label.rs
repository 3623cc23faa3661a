/*!
Rows that have several labels, dealt out so that every part has its share of each label.

Iterative stratification. Source: Sechidis, Tsoumakas, Vlahavas, "On the stratification of multi-label data", ECML PKDD
2011, algorithm 1. The label with the fewest rows left is dealt first, since later there would be nothing left to balance
it with:

```text
wish[part][label] = share · rows with the label,  capacity[part] = share · rows
while a label has rows left:
    take the label with the fewest
    for each of its rows: into the part that wishes most for the label, then the one with most capacity, then the first
rows without a label: into the part with most capacity
```

Ours differs: rows are shuffled first, so that "the first" favours no row. Cost: O(labels² + rows · (parts + labels a row)).
*/

use toprank_core::Stream;

/// Parts of `rows` rows at the shares `ends` (ascending, the last 1); `positive` holds the rows that have each label.
pub(super) fn deal(rows: usize, positive: &[Vec<u32>], ends: &[f64], seed: u64) -> Vec<Vec<u32>> {
    let shares: Vec<f64> =
        ends.iter().scan(0.0, |before, end| Some(end - std::mem::replace(before, *end))).collect();
    let wish = |amount: usize| shares.iter().map(|share| share * amount as f64).collect::<Vec<f64>>();
    let mut dealer = Dealer {
        wishes: positive.iter().map(|rows| wish(rows.len())).collect(),
        capacity: wish(rows),
        parts: vec![Vec::new(); shares.len()],
        dealt: vec![false; rows],
        left: positive.iter().map(Vec::len).collect(),
        labels: vec![Vec::new(); rows],
    };
    for (label, rows) in (0..).zip(positive) {
        for &row in rows {
            dealer.labels[row as usize].push(label);
        }
    }
    let shuffled = |label: usize, mut rows: Vec<u32>| {
        Stream::new(seed, "split of labels").of_list(label as u32).open().shuffle(&mut rows);
        rows
    };
    while let Some(label) = dealer.rarest() {
        for row in shuffled(label, positive[label].clone()) {
            dealer.give(row, Some(label));
        }
    }
    for row in shuffled(positive.len(), (0..rows as u32).collect()) {
        dealer.give(row, None);
    }
    dealer.parts
}

struct Dealer {
    /// Rows of each label that each part still wants.
    wishes: Vec<Vec<f64>>,
    /// Rows that each part still wants.
    capacity: Vec<f64>,
    parts: Vec<Vec<u32>>,
    dealt: Vec<bool>,
    /// Rows of each label that are not dealt yet.
    left: Vec<usize>,
    /// Labels of each row.
    labels: Vec<Vec<u32>>,
}

impl Dealer {
    /// The label with the fewest rows left, of equal ones the first; `None` if no row with a label is left.
    fn rarest(&self) -> Option<usize> {
        (0..self.left.len()).filter(|&label| self.left[label] > 0).min_by_key(|&label| self.left[label])
    }

    /// Deals a row for the sake of `label`, unless it is dealt already.
    fn give(&mut self, row: u32, label: Option<usize>) {
        if std::mem::replace(&mut self.dealt[row as usize], true) {
            return;
        }
        let wants = |part: usize| (label.map_or(0.0, |label| self.wishes[label][part]), self.capacity[part]);
        // Of equal parts `max_by` takes the last, so count from behind.
        let order = |a: &usize, b: &usize| {
            let (a, b) = (wants(*a), wants(*b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        };
        let Some(part) = (0..self.capacity.len()).rev().max_by(order) else { return };
        self.parts[part].push(row);
        self.capacity[part] -= 1.0;
        for &label in &self.labels[row as usize] {
            self.wishes[label as usize][part] -= 1.0;
            self.left[label as usize] -= 1;
        }
    }
}

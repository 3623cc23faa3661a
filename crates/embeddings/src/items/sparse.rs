//! Weights from item to item of which few are not 0, row by row: how they are kept, checked and scored.

use toprank_core::{Choices, ModelError};

use super::{ItemParameters, valued};

/// Rows with their numbers: `ends` (one more than rows), then the items of each row, ascending.
pub(super) fn packed(name: &str, rows: Vec<Vec<(u32, f32)>>) -> Result<ItemParameters, ModelError> {
    let total: usize = rows.iter().map(Vec::len).sum();
    if u32::try_from(total).is_err() {
        return Err(ModelError::new(
            format!("{name}: {total} neighbours in all"),
            "less than 2³², with fewer neighbours",
        ));
    }
    let (mut numbers, mut values) = (Vec::with_capacity(rows.len() + 1 + total), Vec::with_capacity(total));
    let mut end = 0;
    numbers.push(0);
    for row in &rows {
        end += row.len() as u32;
        numbers.push(end);
    }
    for (other, value) in rows.into_iter().flatten() {
        numbers.push(other);
        values.push(value);
    }
    Ok(ItemParameters { numbers, values: values.into() })
}

/// What is wrong with rows of so many items whose weights are `values`.
pub(super) fn check(name: &str, items: usize, numbers: &[u32], values: &[f32]) -> Result<(), ModelError> {
    let wrong = |found: &str| Err(ModelError::new(format!("{name}: {found}"), "the neighbours of each item"));
    let Some((ends, others)) = numbers.split_at_checked(items.saturating_add(1)) else {
        return wrong("too few numbers");
    };
    if ends[0] != 0 || !ends.is_sorted() || ends[items] as usize != others.len() {
        return wrong("neighbours that do not end where they should");
    }
    if others.len() != values.len() || others.iter().any(|&other| other as usize >= items) {
        return wrong("neighbours that are no items");
    }
    Ok(())
}

/// Scores of all items for a user of `histories`: the sum of the rows of its items, each times its value.
pub(super) fn scores(numbers: &[u32], values: &[f32], histories: &Choices, user: usize, scores: &mut [f32]) {
    let (ends, others) = numbers.split_at(histories.item_count + 1);
    scores.fill(0.0);
    for (&item, x) in histories.of(user).iter().zip(valued(histories, user)) {
        let range = ends[item as usize] as usize..ends[item as usize + 1] as usize;
        let row = others[range.clone()].iter().zip(&values[range]);
        row.for_each(|(&other, value)| scores[other as usize] += x * value);
    }
}

/// Keeps the `most` greatest of a row, ascending by item; of equal ones the first items.
pub(super) fn keep_greatest(row: &mut Vec<(u32, f32)>, most: usize) {
    if row.len() > most {
        row.select_nth_unstable_by(most - 1, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        row.truncate(most);
        row.sort_unstable_by_key(|(other, _)| *other);
    }
}

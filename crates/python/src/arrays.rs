//! Lists from arrays.

use numpy::{Element, PyReadonlyArray1};
use pyo3::prelude::*;
use toprank::core::Lists;

use crate::errors::refused;

/// A borrowed array of numbers.
pub type Array<'py, T> = PyReadonlyArray1<'py, T>;

/// The numbers of an array that may be omitted.
pub fn numbers<'a, T: Element>(array: Option<&'a Array<T>>) -> PyResult<Option<&'a [T]>> {
    Ok(array.map(Array::as_slice).transpose()?)
}

/// Labels and weights cut into lists, borrowed.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    pub offsets: &'a [u64],
    pub labels: &'a [f32],
    pub item_weights: Option<&'a [f32]>,
    pub list_weights: Option<&'a [f32]>,
}

impl<'a> Columns<'a> {
    /// Refuses arrays whose lengths do not fit each other, so that parts can be cut without looking again.
    pub fn new(
        labels: &'a Array<f32>,
        offsets: &'a Array<u64>,
        item_weights: Option<&'a Array<f32>>,
        list_weights: Option<&'a Array<f32>>,
    ) -> PyResult<Columns<'a>> {
        let columns = Columns {
            offsets: offsets.as_slice()?,
            labels: labels.as_slice()?,
            item_weights: numbers(item_weights)?,
            list_weights: numbers(list_weights)?,
        };
        let Columns { offsets, labels, item_weights, list_weights } = columns;
        let items = labels.len();
        if offsets.first() != Some(&0)
            || offsets.last() != Some(&(items as u64))
            || offsets.windows(2).any(|pair| pair[0] > pair[1])
        {
            return Err(refused(format!("the lists do not add up to {items} items, as there are labels")));
        }
        for (what, found, expected) in
            [("weights of items", item_weights, items), ("weights of lists", list_weights, columns.len())]
        {
            if let Some(found) = found.map(<[f32]>::len).filter(|&found| found != expected) {
                return Err(refused(format!("{what}: found {found} numbers, expected {expected}")));
            }
        }
        Ok(columns)
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The columns as lists of their own, not yet checked.
    pub fn lists(&self) -> Lists {
        Lists {
            offsets: self.offsets.to_vec(),
            labels: self.labels.to_vec(),
            item_weights: self.item_weights.map(<[f32]>::to_vec),
            list_weights: self.list_weights.map(<[f32]>::to_vec),
            ..Lists::default()
        }
    }

    /// The same for lists `first..end` alone; offsets must have been checked.
    pub fn part(&self, first: usize, end: usize) -> Lists {
        let start = self.offsets[first];
        let entries = start as usize..self.offsets[end] as usize;
        Lists {
            offsets: self.offsets[first..=end].iter().map(|offset| offset - start).collect(),
            labels: self.labels[entries.clone()].to_vec(),
            item_weights: self.item_weights.map(|weights| weights[entries].to_vec()),
            list_weights: self.list_weights.map(|weights| weights[first..end].to_vec()),
            ..Lists::default()
        }
    }
}

//! Molecules divided by scaffold.
//!
//! Molecules of one scaffold stay together. Groups, the largest first and of equal ones the one that begins last, go to
//! train while they fit into its share, else to vali while train and vali fit into theirs, else to test: what is tested is
//! unlike what was learned from. Molecules without a ring are one group.
//!
//! Source: Wu et al., "MoleculeNet: a benchmark for molecular machine learning", Chemical Science 2018, and its code.

use std::collections::HashMap;

use toprank_core::{ParamError, Spec};

use super::{Part, Pick, fractions};
use crate::dataset::Dataset;
use crate::graph_items::{GraphKind, read_smiles, scaffold_key};

pub(super) fn plan(data: &Dataset, spec: &Spec) -> Result<Vec<Part>, ParamError> {
    let (names, ends) = fractions(spec)?;
    let refuse = |found: &str, expected| ParamError::new("the data of a scaffold split", found, expected);
    let items = data.graphs.as_ref().filter(|items| items.kind == GraphKind::Smiles);
    let words = data.columns.first().and_then(|column| column.levels.as_ref());
    let Some((_, words)) = items.zip(words) else {
        return Err(refuse("without molecules", "items that are molecules: name their column with --smiles"));
    };
    if !data.lists.are_labels() {
        let found = format!("{} lists of molecules", data.lists.len());
        return Err(refuse(&found, "binary data (one list) or multi-label data"));
    }
    let mut key_of_word: HashMap<usize, Option<u64>> = HashMap::new();
    let mut groups: HashMap<Option<u64>, Vec<u32>> = HashMap::new();
    for row in 0..data.rows() {
        let word = data.features.get(row, 0) as usize;
        let key = *key_of_word.entry(word).or_insert_with(|| {
            read_smiles(words.get(word)).ok().and_then(|molecule| scaffold_key(&molecule))
        });
        groups.entry(key).or_default().push(row as u32);
    }
    let mut groups: Vec<Vec<u32>> = groups.into_values().collect();
    groups.sort_unstable_by_key(|rows| std::cmp::Reverse((rows.len(), rows[0])));
    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); names.len()];
    for group in groups {
        let mut before = 0;
        let part = (0..names.len() - 1).find(|&k| {
            before += parts[k].len();
            // A hair of tolerance: 0.8 + 0.1 is less than 0.9 by rounding.
            (before + group.len()) as f64 <= ends[k] * data.rows() as f64 + 1e-6
        });
        parts[part.unwrap_or(names.len() - 1)].extend(group);
    }
    let part = |(name, mut rows): (&&str, Vec<u32>)| {
        rows.sort_unstable();
        Part { name: (*name).into(), pick: Pick::Rows(rows) }
    };
    Ok(names.iter().zip(parts).map(part).collect())
}

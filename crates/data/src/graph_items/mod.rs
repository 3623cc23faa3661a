/*!
Graphs as items: molecules written as SMILES, or any graphs given as tables of nodes and edges.

The rows of a data set then have one feature, a categorical column whose strings name the graphs (the SMILES themselves, or
names in the tables); the code of a string is the number of its graph in [`GraphItems::store`]. Everything that moves
rows (splits, folds, samplers, writers) therefore works as for any other data.

| a node of a molecule | values |
|---|---|
| `element` | the symbol; `*` for an unknown atom |
| `degree` | number of bonds to atoms that are nodes |
| `charge` | formal charge: -1, 0, +1 … |
| `hydrogens` | hydrogens that are no nodes |
| `aromatic`, `ring` | yes, no: written as aromatic, or found to be (Hückel's rule on single rings); part of a ring |
| `chirality` | stated, none |

| an edge of a molecule | values |
|---|---|
| `order` | single, double, triple, quadruple, aromatic |
| `conjugated`, `ring` | yes, no: see [`Molecule::conjugated_bonds`], [`Molecule::ring_bonds`] |
| `stereo` | stated (a double bond with `/` or `\` at both ends), none |

These values are the same however a molecule is written, which is why the two hands (`@`, `@@`) and the two sides are not
told apart: what they mean depends on the order of the text. Isotopes are left out. `[H]` atoms with one bond are counted
as hydrogens of their neighbour.

Nodes and edges of other graphs have the columns of their tables, numbers or strings, and nodes also the values of `degree`.
*/

mod aromaticity;
mod coding;
mod edge_list;
mod elements;
mod molecule;
mod scaffold;
mod smiles;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toprank_core::{GraphFeature, GraphShape, Graphs};

pub use coding::{Coding, ColumnCoding, Values};
pub use edge_list::{EdgeList, read_edge_list};
pub use molecule::{ATOM_FEATURES, Atom, BOND_FEATURES, Bond, Molecule, Order};
pub use scaffold::scaffold_key;
pub use smiles::{SmilesError, read_smiles};

use crate::dataset::{Column, Dataset};
use crate::error::{ReadError, show};
use crate::formats::{BadItems, ReadOptions};
use crate::group::Interner;
use crate::names::Names;
use crate::source::Source;
use crate::split::subset_rows;

/// How the graphs of a data set were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GraphKind {
    /// As SMILES.
    Smiles,
    /// As tables of nodes and edges.
    Edges,
}

/// The graphs of a data set.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphItems {
    /// How they were written.
    pub kind: GraphKind,
    /// Graph g is that of string g of the data's column; strings that no row has may have no graph.
    pub store: Graphs,
    /// Names of the features of nodes and, where they are strings, what the codes stand for.
    pub node_columns: Vec<Column>,
    /// The same of edges.
    pub edge_columns: Vec<Column>,
    /// Rows that were left out since their graph cannot be read, with the reason.
    pub left_out: Vec<ReadError>,
}

/// The column that names graphs, and how they are written.
fn asked<'o>(file: &str, options: &'o ReadOptions) -> Result<Option<(GraphKind, &'o str)>, ReadError> {
    let tables = [&options.graph, &options.nodes, &options.edges];
    let given = tables.iter().filter(|option| option.is_some()).count();
    match (&options.smiles, &options.graph) {
        (None, _) if given == 0 => Ok(None),
        (Some(column), _) if given == 0 => Ok(Some((GraphKind::Smiles, column))),
        (None, Some(column)) if given == 3 => Ok(Some((GraphKind::Edges, column))),
        _ => {
            let named = [
                ("smiles", &options.smiles),
                ("graph", tables[0]),
                ("nodes", tables[1]),
                ("edges", tables[2]),
            ];
            let named: Vec<&str> =
                named.into_iter().filter(|(_, option)| option.is_some()).map(|(name, _)| name).collect();
            let expected = "smiles alone, or all of graph, nodes and edges";
            Err(ReadError::options(file, format!("the options {}", named.join(", ")), expected))
        }
    }
}

/// The options with which a format reads its rows: the column of graphs is the only feature.
pub(crate) fn row_options(file: &str, options: &ReadOptions) -> Result<ReadOptions, ReadError> {
    Ok(match asked(file, options)? {
        None => options.clone(),
        Some((_, column)) => ReadOptions {
            features: vec![column.to_string()],
            categorical: vec![column.to_string()],
            ..options.clone()
        },
    })
}

/// Reads the graphs that the options ask for; without any the data stay as they are.
pub(crate) fn attach(mut data: Dataset, file: &str, options: &ReadOptions) -> Result<Dataset, ReadError> {
    let Some((kind, column)) = asked(file, options)? else { return Ok(data) };
    let place = data.columns.iter().position(|found| found.name == column && found.levels.is_some());
    let Some(place) = place else {
        let expected = format!("a column {column} of strings that name the graphs");
        return Err(ReadError::options(file, "a format or table without it", expected));
    };
    if data.columns.len() > 1 {
        data.features = data.features.pick_columns(&[Some(place)], f32::NAN);
        data.columns = vec![data.columns.swap_remove(place)];
    }
    let words = data.columns[0].levels.clone().unwrap_or_default();
    let (mut items, faults) = match kind {
        GraphKind::Smiles => molecules(&words),
        GraphKind::Edges => {
            let path = |option: &Option<String>| Source::path(option.as_deref().unwrap_or_default());
            read_edge_list(&path(&options.nodes), &path(&options.edges))?.named(&words)
        }
    };
    let mut kept = Vec::with_capacity(data.rows());
    for row in 0..data.rows() {
        let code = data.features.get(row, 0);
        let empty = || Some(("an empty cell".to_string(), "the graph of the item".to_string()));
        let fault = if code.is_nan() { empty() } else { faults[code as usize].clone() };
        let Some((found, expected)) = fault else {
            kept.push(row as u32);
            continue;
        };
        let found = match data.lines.of(row) {
            Some(_) => found,
            None => format!("row {}: {found}", row + 1),
        };
        let mut error = ReadError::data(file, found, expected).in_column(column);
        if let Some(line) = data.lines.of(row) {
            error = error.at_line(line);
        }
        if options.bad_items == BadItems::Error {
            return Err(error.advice("Correct it, or leave out what cannot be read with --bad-items skip."));
        }
        items.left_out.push(error);
    }
    if kept.is_empty() {
        let found = format!("{} rows, none with a graph that can be read", data.rows());
        return Err(ReadError::data(file, found, "at least one").in_column(column));
    }
    if kept.len() < data.rows() {
        data = subset_rows(&data, &kept);
    }
    data.graphs = Some(Arc::new(items));
    Ok(data)
}

/// What is wrong with a string: what was found, what was expected.
type WordFault = Option<(String, String)>;

/// The molecules that SMILES mean; what cannot be read has no atoms and a fault.
fn molecules(words: &Names) -> (GraphItems, Vec<WordFault>) {
    let mut atoms: Vec<Interner> = vec![Interner::default(); ATOM_FEATURES.len()];
    let mut bonds: Vec<Interner> = vec![Interner::default(); BOND_FEATURES.len()];
    let mut store = Graphs::empty(GraphShape {
        nodes: vec![GraphFeature::Code(0); atoms.len()],
        edges: vec![GraphFeature::Code(0); bonds.len()],
    });
    let mut faults = Vec::with_capacity(words.len());
    for word in words.iter() {
        match read_smiles(word) {
            Ok(molecule) => {
                let code = |columns: &mut [Interner], words: &[&str], values: &mut Vec<f32>| {
                    values.extend(words.iter().zip(columns).map(|(word, column)| column.number(word) as f32));
                };
                molecule.words(
                    |words| code(&mut atoms, &words, &mut store.node_values),
                    |words| code(&mut bonds, &words, &mut store.edge_values),
                );
                store.ends.extend(molecule.bonds.iter().map(|bond| bond.ends));
                faults.push(None);
            }
            Err(error) => {
                let found = format!("{}: {} at character {}", show(word.as_bytes()), error.found, error.at);
                faults.push(Some((found, error.expected)));
            }
        }
        store.close();
    }
    let columns = |names: &[&str], words: Vec<Interner>| -> Vec<Column> {
        let column = |(name, words): (&&str, Interner)| Column {
            name: (*name).to_string(),
            levels: Some(words.into_names()),
        };
        names.iter().zip(words).map(column).collect()
    };
    let (node_columns, edge_columns) = (columns(ATOM_FEATURES, atoms), columns(BOND_FEATURES, bonds));
    (GraphItems::new(GraphKind::Smiles, store, node_columns, edge_columns), faults)
}

impl GraphItems {
    fn new(
        kind: GraphKind,
        mut store: Graphs,
        node_columns: Vec<Column>,
        edge_columns: Vec<Column>,
    ) -> GraphItems {
        let feature = |column: &Column| match &column.levels {
            Some(words) => GraphFeature::Code(words.len()),
            None => GraphFeature::Number,
        };
        store.shape = GraphShape {
            nodes: node_columns.iter().map(feature).collect(),
            edges: edge_columns.iter().map(feature).collect(),
        };
        GraphItems { kind, store, node_columns, edge_columns, left_out: Vec::new() }
    }
}

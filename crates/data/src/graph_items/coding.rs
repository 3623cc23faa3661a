/*!
From strings and numbers as they were read to the inputs of a model: fitted to training graphs, stored with the model.

- A string that occurs in at least two training graphs has a code of its own, 1, 2, …; **code 0 is "other"**: strings of
  a single training graph, and strings unseen in training (an atom of a new element). A model learns from the rare ones what
  to do with unknown ones; where no training graph has a rare string, nothing is learned for code 0 and it adds nothing.
- A number is standardised by mean and deviation over the nodes (or edges) of the training graphs; missing is the mean, a
  constant column is 0.
- Columns are found by their names; a model's column that new data lack is an error.
*/

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use toprank_core::{GraphFeature, GraphShape, Graphs};

use super::GraphItems;
use crate::dataset::Column;

/// How the features of nodes and edges become codes and standardised numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coding {
    /// Of nodes.
    pub nodes: Vec<ColumnCoding>,
    /// Of edges.
    pub edges: Vec<ColumnCoding>,
}

/// The coding of one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnCoding {
    /// Its name.
    pub name: String,
    /// What its values become.
    pub values: Values,
}

/// What the values of a column become.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Values {
    /// Codes: string i has code i + 1, all others 0.
    Words(Vec<String>),
    /// (x − mean) / spread; spread 0: always 0.
    Number {
        /// Mean over the training graphs.
        mean: f64,
        /// Deviation over the training graphs.
        spread: f64,
    },
}

impl Coding {
    /// Fits to the graphs that stand in `used`, each of which counts once however often it is named.
    pub fn fit(items: &GraphItems, used: impl IntoIterator<Item = usize>) -> Coding {
        let store = &items.store;
        let mut taken = vec![false; store.len()];
        used.into_iter().for_each(|graph| taken[graph] = true);
        let graphs: Vec<usize> = (0..store.len()).filter(|&graph| taken[graph]).collect();
        let column = |column: &Column, of: &dyn Fn(usize) -> Vec<f32>| ColumnCoding {
            name: column.name.clone(),
            values: match &column.levels {
                None => standard(graphs.iter().flat_map(|&graph| of(graph)).map(f64::from)),
                Some(words) => {
                    let mut graphs_with = vec![0u32; words.len()];
                    let mut last = vec![usize::MAX; words.len()];
                    for &graph in &graphs {
                        for code in of(graph).into_iter().filter(|code| !code.is_nan()) {
                            let code = code as usize;
                            graphs_with[code] += u32::from(last[code] != graph);
                            last[code] = graph;
                        }
                    }
                    let own = (0..words.len()).filter(|&code| graphs_with[code] > 1);
                    let mut own: Vec<String> = own.map(|code| words.get(code).to_string()).collect();
                    // Not in the order of the file: that two files with the same graphs agree.
                    own.sort_unstable();
                    Values::Words(own)
                }
            },
        };
        let nodes = items.node_columns.iter().enumerate().map(|(place, of)| {
            column(of, &|graph| store.nodes_of(graph).map(|node| store.node(node)[place]).collect())
        });
        let edges = items.edge_columns.iter().enumerate().map(|(place, of)| {
            column(of, &|graph| store.edges_of(graph).map(|edge| store.edge(edge)[place]).collect())
        });
        Coding { nodes: nodes.collect(), edges: edges.collect() }
    }

    /// The features that a model sees.
    pub fn shape(&self) -> GraphShape {
        let feature = |column: &ColumnCoding| match &column.values {
            Values::Words(words) => GraphFeature::Code(words.len() + 1),
            Values::Number { .. } => GraphFeature::Number,
        };
        GraphShape {
            nodes: self.nodes.iter().map(feature).collect(),
            edges: self.edges.iter().map(feature).collect(),
        }
    }

    /// The same graphs as a model sees them. An error says what was found and what was expected.
    pub fn apply(&self, items: &GraphItems) -> Result<Graphs, (String, String)> {
        let store = &items.store;
        let (nodes, edges) = (
            recoded(&self.nodes, &items.node_columns, &store.node_values, "nodes")?,
            recoded(&self.edges, &items.edge_columns, &store.edge_values, "edges")?,
        );
        Ok(Graphs {
            shape: self.shape(),
            nodes: store.nodes.clone(),
            edges: store.edges.clone(),
            ends: store.ends.clone(),
            node_values: nodes,
            edge_values: edges,
        })
    }
}

fn standard(values: impl Iterator<Item = f64> + Clone) -> Values {
    let stated = values.filter(|value| !value.is_nan());
    let count = stated.clone().count().max(1) as f64;
    let mean = stated.clone().sum::<f64>() / count;
    let spread = (stated.map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    Values::Number { mean, spread }
}

/// Values row after row, in the columns of the coding.
fn recoded(
    wanted: &[ColumnCoding],
    found: &[Column],
    values: &[f32],
    what: &str,
) -> Result<Vec<f32>, (String, String)> {
    let mut columns = Vec::with_capacity(wanted.len());
    for coding in wanted {
        let Some(place) = found.iter().position(|column| column.name == coding.name) else {
            let names: Vec<&str> = found.iter().map(|column| column.name.as_str()).collect();
            let found = format!("{what} with the features {}", names.join(", "));
            return Err((found, format!("also {}, as in training", coding.name)));
        };
        let codes: Option<Vec<f32>> = match (&coding.values, &found[place].levels) {
            (Values::Number { .. }, None) => None,
            (Values::Words(words), Some(levels)) => {
                let code: HashMap<&str, usize> =
                    words.iter().enumerate().map(|(i, word)| (word.as_str(), i + 1)).collect();
                Some(levels.iter().map(|word| code.get(word).copied().unwrap_or(0) as f32).collect())
            }
            (Values::Number { .. }, Some(_)) => {
                return Err((
                    format!("{what} with strings in {}", coding.name),
                    "numbers, as in training".into(),
                ));
            }
            (Values::Words(_), None) => {
                return Err((
                    format!("{what} with numbers in {}", coding.name),
                    "strings, as in training".into(),
                ));
            }
        };
        columns.push((place, &coding.values, codes));
    }
    let width = found.len();
    let rows = values.len().checked_div(width).unwrap_or(0);
    let mut out = Vec::with_capacity(rows * wanted.len());
    for row in 0..rows {
        for (place, coding, codes) in &columns {
            let value = values[row * width + place];
            out.push(match (coding, codes) {
                (_, Some(codes)) => {
                    if value.is_nan() {
                        0.0
                    } else {
                        codes[value as usize]
                    }
                }
                (Values::Number { mean, spread }, None) if !value.is_nan() && *spread > 0.0 => {
                    ((f64::from(value) - mean) / spread) as f32
                }
                _ => 0.0,
            });
        }
    }
    Ok(out)
}

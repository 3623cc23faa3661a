/*!
Models of graphs: how graphs are read is fitted to the training data and kept with the model, so that new graphs are read
in the same way. The self-test of a model file holds a few graphs as the model sees them.
*/

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toprank_core::{Features, GraphShape, Graphs, ParamError};
use toprank_data::graph_items::{Coding, GraphKind};
use toprank_data::{Dataset, GraphItems};

use super::job::Data;
use super::models::{self, Model};
use crate::error::TrainError;
use crate::fit::settings::Config;
use crate::store::container::{Stored, Tensor};
use crate::store::fingerprint::Input;

/// How the graphs of a model are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphReading {
    /// How they were written in the training data.
    pub kind: GraphKind,
    /// Codes of strings and scales of numbers.
    pub coding: Coding,
}

impl GraphReading {
    /// Fitted to the graphs of the rows; `None`: items are rows of numbers.
    pub(crate) fn fit(train: &Data) -> Option<GraphReading> {
        let Data::Memory(data) = train else { return None };
        let items = data.graphs.as_ref()?;
        let used = (0..data.rows()).map(|row| data.features.get(row, 0) as usize);
        Some(GraphReading { kind: items.kind, coding: Coding::fit(items, used) })
    }
}

/// Refuses a model that does not read what the items of the training data are.
pub(crate) fn check(reading: Option<&GraphReading>, config: &Config, train: &Data) -> Result<(), TrainError> {
    let (model, none) = (models::parse(config.model()), train.features().width() == 0);
    match (reading, model) {
        (Some(reading), Ok(Model::Network(architecture))) => {
            architecture.build_for_graphs(&reading.coding.shape(), train.outputs())?;
        }
        (Some(_), Ok(Model::Trees(_))) => {
            let expected = "gin: items are graphs, not rows of numbers";
            return Err(ParamError::new("model", config.model(), expected).into());
        }
        // A model of graphs says more than that there are no numbers.
        (None, Ok(Model::Network(architecture))) if none => drop(architecture.build(1, train.outputs())?),
        _ => {}
    }
    if none {
        let expected = "rows with features: a model learns from them";
        return Err(TrainError::unsuitable(Input::Data, "no features", expected));
    }
    if reading.is_some() && !config.transforms().is_empty() {
        let expected = "omitted: the features of graphs are coded, not transformed";
        return Err(ParamError::new("transforms", config.transforms(), expected).into());
    }
    Ok(())
}

/// Data with their graphs as a model sees them; an error where one has graphs and the other has not.
pub(crate) fn code(reading: Option<&GraphReading>, data: &mut Data) -> Result<(), TrainError> {
    match data {
        Data::Memory(data) if reading.is_none() && data.graphs.is_none() => Ok(()),
        Data::Memory(data) => code_items(reading, Arc::make_mut(data)),
        Data::Mapped(_) => match reading {
            None => Ok(()),
            Some(_) => Err(mismatch("rows of numbers", "graphs, as in training")),
        },
    }
}

pub(crate) fn code_items(reading: Option<&GraphReading>, data: &mut Dataset) -> Result<(), TrainError> {
    match (reading, &data.graphs) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(mismatch("graphs", "rows of numbers, as the model was trained on")),
        (Some(_), None) => {
            let expected = "graphs, as the model was trained on: name their column with --smiles or --graph";
            Err(mismatch("rows without graphs", expected))
        }
        (Some(reading), Some(items)) => {
            let store =
                reading.coding.apply(items).map_err(|(found, expected)| mismatch(&found, &expected))?;
            data.graphs = Some(Arc::new(GraphItems {
                kind: items.kind,
                store,
                node_columns: Vec::new(),
                edge_columns: Vec::new(),
                left_out: Vec::new(),
            }));
            Ok(())
        }
    }
}

fn mismatch(found: &str, expected: &str) -> TrainError {
    ParamError::new("the items of the data", found, expected).into()
}

/// The graphs of a few rows, renumbered by row.
pub(crate) fn of_rows(features: &dyn Features, numbers: &[f32]) -> Option<Graphs> {
    let picked: Vec<usize> = numbers.iter().map(|&number| number as usize).collect();
    Some(features.graphs()?.pick(&picked))
}

const NAMES: [&str; 5] = ["nodes", "edges", "ends", "node_values", "edge_values"];

fn tensor_name(name: &str) -> String {
    format!("probe.graphs.{name}")
}

/// Graphs as tensors of a file.
pub(crate) fn tensors(graphs: &Graphs) -> [Tensor<'_>; 5] {
    let wide = |values: &[usize]| values.iter().map(|&value| value as f64).collect::<Vec<f64>>();
    let ends: Vec<f64> = graphs.ends.iter().flatten().map(|&end| f64::from(end)).collect();
    let [nodes, edges, of_ends, node_values, edge_values] = NAMES.map(tensor_name);
    [
        Tensor::flat(nodes, wide(&graphs.nodes)),
        Tensor::flat(edges, wide(&graphs.edges)),
        Tensor::flat(of_ends, ends),
        Tensor::flat(node_values, &graphs.node_values),
        Tensor::flat(edge_values, &graphs.edge_values),
    ]
}

/// What [`tensors`] gave, checked.
pub(crate) fn load(stored: &Stored, shape: GraphShape) -> Result<Graphs, TrainError> {
    let whole = |name: &str| -> Result<Vec<usize>, TrainError> {
        let values = stored.f64(&tensor_name(name))?;
        match values.iter().find(|value| !(**value >= 0.0 && value.fract() == 0.0 && **value < 4e9)) {
            Some(value) => Err(stored.wrong(format!("{value} in {name}"), "integers")),
            None => Ok(values.iter().map(|&value| value as usize).collect()),
        }
    };
    let ends = whole("ends")?;
    let graphs = Graphs {
        shape,
        nodes: whole("nodes")?,
        edges: whole("edges")?,
        ends: ends.as_chunks::<2>().0.iter().map(|&[a, b]| [a as u32, b as u32]).collect(),
        node_values: stored.f32(&tensor_name("node_values"))?.1,
        edge_values: stored.f32(&tensor_name("edge_values"))?.1,
    };
    match graphs.fault() {
        Some(fault) => Err(stored.wrong(format!("a self-test with {fault}"), "sound graphs")),
        None => Ok(graphs),
    }
}

//! An exported graph, read back and evaluated.

use std::collections::{BTreeMap, HashMap};

use toprank_core::ModelError;

use crate::array::Array;
use crate::operators::{Attributes, apply};
use crate::protobuf::{Field, fields};

/// A graph read from the bytes of an ONNX file.
#[derive(Clone, Debug)]
pub struct Program {
    nodes: Vec<Node>,
    constants: HashMap<String, Array>,
    outputs: Vec<String>,
}

#[derive(Clone, Debug)]
struct Node {
    operator: String,
    inputs: Vec<String>,
    output: String,
    attributes: Attributes,
}

impl Program {
    /// Reads an exported graph.
    ///
    /// # Errors
    /// If the bytes are not a model, or hold tensors of types that [`crate::Graph`] does not write.
    pub fn read(bytes: &[u8]) -> Result<Program, ModelError> {
        parse(bytes)
            .ok_or_else(|| ModelError::new("bytes that cannot be read", "an ONNX model written by toprank"))
    }

    /// The outputs for these inputs.
    ///
    /// # Errors
    /// If an input is missing, or an operator is unknown or does not fit its inputs.
    pub fn run(&self, inputs: &[(&str, Array)]) -> Result<BTreeMap<String, Array>, ModelError> {
        let mut found: HashMap<&str, Array> =
            inputs.iter().map(|(name, array)| (*name, array.clone())).collect();
        for node in &self.nodes {
            let given: Option<Vec<&Array>> = node
                .inputs
                .iter()
                .map(|name| found.get(name.as_str()).or_else(|| self.constants.get(name)))
                .collect();
            let given = given.ok_or_else(|| {
                ModelError::new(
                    format!("{} reads a tensor that nothing produces", node.operator),
                    "every input of the graph",
                )
            })?;
            let array = apply(&node.operator, &given, &node.attributes).ok_or_else(|| {
                let shapes: Vec<&[usize]> = given.iter().map(|array| array.sizes.as_slice()).collect();
                ModelError::new(
                    format!("{} over shapes {shapes:?}", node.operator),
                    "a known operator and shapes that fit",
                )
            })?;
            found.insert(&node.output, array);
        }
        let outputs = self.outputs.iter().map(|name| {
            let array = found.remove(name.as_str());
            array.map(|array| (name.clone(), array)).ok_or_else(|| {
                ModelError::new(format!("nothing produces the output {name}"), "a node for every output")
            })
        });
        outputs.collect()
    }
}

/// The fields of one number that hold bytes.
fn inside(bytes: &[u8], wanted: u64) -> Option<Vec<&[u8]>> {
    let found = fields(bytes)?.into_iter().filter(|&(number, _)| number == wanted);
    found.map(|(_, field)| if let Field::Bytes(bytes) = field { Some(bytes) } else { None }).collect()
}

fn text(bytes: &[u8], field: u64) -> Option<String> {
    String::from_utf8(inside(bytes, field)?.first()?.to_vec()).ok()
}

fn texts(bytes: &[u8], field: u64) -> Option<Vec<String>> {
    inside(bytes, field)?.into_iter().map(|text| String::from_utf8(text.to_vec()).ok()).collect()
}

fn parse(bytes: &[u8]) -> Option<Program> {
    let graph = *inside(bytes, 7)?.first()?;
    let node = |bytes: &[u8]| {
        Some(Node {
            operator: text(bytes, 4)?,
            inputs: texts(bytes, 1)?,
            output: text(bytes, 2)?,
            attributes: attributes(&inside(bytes, 5)?)?,
        })
    };
    let constants = inside(graph, 5)?.into_iter().map(|bytes| Some((text(bytes, 8)?, tensor(bytes)?)));
    Some(Program {
        nodes: inside(graph, 1)?.into_iter().map(node).collect::<Option<_>>()?,
        constants: constants.collect::<Option<_>>()?,
        outputs: inside(graph, 12)?.into_iter().map(|bytes| text(bytes, 1)).collect::<Option<_>>()?,
    })
}

fn attributes(found: &[&[u8]]) -> Option<Attributes> {
    let mut attributes = Attributes::default();
    for bytes in found {
        let name = text(bytes, 1)?;
        for (number, field) in fields(bytes)? {
            match (number, field) {
                (2, Field::Float(value)) => {
                    attributes.floats.insert(name.clone(), value);
                }
                (3 | 8, Field::Number(value)) => {
                    attributes.wholes.entry(name.clone()).or_default().push(value as i64);
                }
                (4, Field::Bytes(value)) => {
                    attributes.texts.insert(name.clone(), String::from_utf8(value.to_vec()).ok()?);
                }
                _ => {}
            }
        }
    }
    Some(attributes)
}

fn tensor(bytes: &[u8]) -> Option<Array> {
    let (mut sizes, mut kind) = (Vec::new(), 0);
    for (number, field) in fields(bytes)? {
        match (number, field) {
            (1, Field::Number(size)) => sizes.push(usize::try_from(size).ok()?),
            (2, Field::Number(number)) => kind = number,
            _ => {}
        }
    }
    let raw = *inside(bytes, 9)?.first()?;
    let eight = || raw.as_chunks::<8>().0.iter();
    let values: Vec<f64> = match kind {
        1 => raw.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect(),
        7 => eight().map(|bytes| i64::from_le_bytes(*bytes) as f64).collect(),
        11 => eight().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
        _ => return None,
    };
    let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size))?;
    (count == values.len()).then_some(Array { sizes, values })
}

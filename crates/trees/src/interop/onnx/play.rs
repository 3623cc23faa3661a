//! Evaluates a written model by the text of the operator's definition.

use std::collections::BTreeMap;

use toprank_data::ReadError;
use toprank_onnx::protobuf::{Field, fields};

use super::{AT_MOST, MEMBER};
use crate::interop::Player;

/// The attributes of a node, by name.
#[derive(Default)]
struct Attributes {
    numbers: BTreeMap<String, Vec<u64>>,
    tensors: BTreeMap<String, Vec<u8>>,
}

pub(super) fn play(bytes: &[u8]) -> Result<Player, ReadError> {
    let wrong =
        || ReadError::data("the written model", "something else", "an ONNX model with a TreeEnsemble");
    let attributes = tree_ensemble(bytes).ok_or_else(wrong)?;
    let operator = Operator::new(&attributes).ok_or_else(wrong)?;
    // NaN, where the operator lacks something, equals no value of a leaf.
    Ok(Box::new(move |row| {
        operator.roots.iter().map(|&root| operator.walk(root, row).unwrap_or(f64::NAN)).collect()
    }))
}

fn tree_ensemble(bytes: &[u8]) -> Option<Attributes> {
    let inside = |bytes, wanted: u64| -> Option<Vec<&[u8]>> {
        let found = fields(bytes)?.into_iter().filter(|&(number, _)| number == wanted);
        found.map(|(_, field)| if let Field::Bytes(bytes) = field { Some(bytes) } else { None }).collect()
    };
    let graph = *inside(bytes, 7)?.first()?;
    for node in inside(graph, 1)? {
        if inside(node, 4)?.first() != Some(&&b"TreeEnsemble"[..]) {
            continue;
        }
        let mut attributes = Attributes::default();
        for attribute in inside(node, 5)? {
            let name = String::from_utf8(inside(attribute, 1)?.first()?.to_vec()).ok()?;
            if let Some(tensor) = inside(attribute, 5)?.first() {
                attributes.tensors.insert(name, inside(tensor, 9)?.first()?.to_vec());
                continue;
            }
            let numbers = fields(attribute)?.into_iter().filter(|&(number, _)| number == 3 || number == 8);
            let number = |field| if let Field::Number(number) = field { Some(number) } else { None };
            attributes.numbers.insert(name, numbers.map(|(_, field)| number(field)).collect::<Option<_>>()?);
        }
        return Some(attributes);
    }
    None
}

struct Operator {
    features: Vec<u64>,
    splits: Vec<f64>,
    modes: Vec<u8>,
    missing_true: Vec<u64>,
    /// Where a node leads and whether that is a leaf: if it holds, if not.
    ways: [(Vec<u64>, Vec<u64>); 2],
    /// The set of each node of categories.
    sets: Vec<Vec<f64>>,
    leaf_weights: Vec<f64>,
    roots: Vec<u64>,
}

impl Operator {
    fn new(attributes: &Attributes) -> Option<Operator> {
        let numbers = |name: &str| attributes.numbers.get(name).cloned();
        let doubles = |name: &str| {
            let raw = attributes.tensors.get(name)?;
            Some(
                raw.chunks_exact(8)
                    .map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes")))
                    .collect::<Vec<_>>(),
            )
        };
        let modes = attributes.tensors.get("nodes_modes")?.clone();
        // Sets follow each other, each ended by NaN, in the order of their nodes.
        let members = doubles("membership_values").unwrap_or_default();
        let mut rest = members.split(|member| member.is_nan()).map(<[f64]>::to_vec);
        let sets = modes.iter().map(|&mode| if mode == MEMBER { rest.next() } else { Some(Vec::new()) });
        Some(Operator {
            sets: sets.collect::<Option<_>>()?,
            features: numbers("nodes_featureids")?,
            splits: doubles("nodes_splits")?,
            missing_true: numbers("nodes_missing_value_tracks_true")?,
            ways: [
                (numbers("nodes_truenodeids")?, numbers("nodes_trueleafs")?),
                (numbers("nodes_falsenodeids")?, numbers("nodes_falseleafs")?),
            ],
            leaf_weights: doubles("leaf_weights")?,
            roots: numbers("tree_roots")?,
            modes,
        })
    }

    fn walk(&self, root: u64, row: &[f32]) -> Option<f64> {
        let mut at = root as usize;
        loop {
            let value = f64::from(*row.get(*self.features.get(at)? as usize)?);
            let holds = match *self.modes.get(at)? {
                AT_MOST => value <= *self.splits.get(at)?,
                MEMBER => self.sets.get(at)?.contains(&value),
                _ => return None,
            };
            let holds = holds || value.is_nan() && *self.missing_true.get(at)? == 1;
            let (ids, leaves) = &self.ways[usize::from(!holds)];
            let to = *ids.get(at)? as usize;
            if *leaves.get(at)? == 1 {
                return self.leaf_weights.get(to).copied();
            }
            at = to;
        }
    }
}

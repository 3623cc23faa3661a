/*!
Boosted trees in files of the house: flat columns of nodes and leaves, how they were boosted, and a self-test.

The self-test is the first rows of the training data with their scores, which are computed again at every load and must be
equal to the bit: trees compare and add, nothing else.
*/

use std::path::Path;

use serde::{Deserialize, Serialize};
use toprank_core::Features;
use toprank_data::Matrix;
use toprank_trees::{Columns, Ensemble};

use crate::boost::BoostSettings;
use crate::container::{self, Loaded, Tensor, Values};
use crate::error::TrainError;

const KIND: &str = "trees";
/// Rows in the self-test.
const PROBED: usize = 16;

/// What a file of trees says about them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreesHeader {
    /// The objective they were trained with.
    pub objective: String,
    /// How they were boosted.
    pub settings: BoostSettings,
    /// Names of the features, as in the training data.
    pub features: Vec<String>,
    /// Names of the outputs, if there are several.
    pub output_names: Vec<String>,
    /// What each output starts from.
    pub base: Vec<f64>,
    /// Lists they were trained on.
    pub lists: usize,
    /// Rows they were trained on.
    pub rows: usize,
    /// The round that was kept, and its value of the metric on the validation data.
    pub best: Option<(usize, f64)>,
}

/// Trees with what is known about them.
#[derive(Clone, Debug, PartialEq)]
pub struct TreesFile {
    /// What is known about them.
    pub header: TreesHeader,
    /// The trees.
    pub ensemble: Ensemble,
}

impl TreesFile {
    /// Writes them, with a self-test over the first of `rows`; the old file stays until the new one is whole.
    pub fn save(&self, path: &Path, rows: &dyn Features) -> Result<(), TrainError> {
        let probed: Vec<u32> = (0..rows.rows().min(PROBED) as u32).collect();
        let mut values = vec![0.0; probed.len() * rows.width()];
        rows.gather(&probed, &mut values);
        let probes = Matrix::Dense { width: rows.width(), values };
        let scores = self.ensemble.score(&probes)?;
        let Matrix::Dense { values, .. } = &probes else { unreachable!("dense as made") };
        let header = TreesHeader { base: self.ensemble.base.clone(), ..self.header.clone() };
        let columns = Columns::of(&self.ensemble);
        let mut tensors = vec![
            Tensor {
                name: "probe.features".into(),
                shape: vec![probed.len(), rows.width()],
                values: Values::F32(values),
            },
            Tensor::flat("probe.scores", Values::F64(&scores)),
            Tensor::flat("nodes.thresholds", Values::F32(&columns.thresholds)),
            Tensor::flat("nodes.kinds", Values::Bytes(&columns.kinds)),
        ];
        tensors.extend(
            NAMES
                .iter()
                .zip(numbers(&columns))
                .map(|(name, column)| Tensor::flat(*name, Values::F64(column))),
        );
        container::save(path, KIND, &header, &tensors)
    }

    /// Reads trees; every byte is checked and the self-test is run.
    pub fn load(path: &Path) -> Result<TreesFile, TrainError> {
        let loaded: Loaded<TreesHeader> = container::load(path, KIND)?;
        let header = loaded.header.clone();
        let mut columns = Columns {
            thresholds: loaded.f32("nodes.thresholds")?.1,
            kinds: loaded.bytes("nodes.kinds")?.to_vec(),
            ..Columns::default()
        };
        for (name, column) in NAMES.iter().zip(numbers_mut(&mut columns)) {
            *column = loaded.f64(name)?;
        }
        let width = header.features.len();
        let ensemble = columns.ensemble(width, header.base.clone())?;
        let (shape, values) = loaded.f32("probe.features")?;
        if shape.len() != 2 || shape[1] != width {
            return Err(
                loaded.wrong(format!("a self-test of shape {shape:?}"), format!("rows of {width} features"))
            );
        }
        let expected = loaded.f64("probe.scores")?;
        let found = ensemble.score(&Matrix::Dense { width, values })?;
        if found != expected {
            let expected = "the scores it had when it was written: this build computes something else";
            return Err(loaded.wrong("a self-test that fails", expected));
        }
        Ok(TreesFile { header, ensemble })
    }

    /// True if the file at `path` looks like trees, whole or not.
    pub fn is_one(path: &Path) -> bool {
        container::looks_like(path, KIND)
    }
}

const NAMES: [&str; 10] = [
    "trees.sizes",
    "trees.leaves",
    "nodes.features",
    "nodes.left",
    "nodes.right",
    "nodes.gains",
    "nodes.curvatures",
    "nodes.rows",
    "sets.sizes",
    "sets.categories",
];

fn numbers(columns: &Columns) -> [&Vec<f64>; 10] {
    let Columns {
        sizes, leaves, features, left, right, gains, curvatures, rows, set_sizes, categories, ..
    } = columns;
    [sizes, leaves, features, left, right, gains, curvatures, rows, set_sizes, categories]
}

fn numbers_mut(columns: &mut Columns) -> [&mut Vec<f64>; 10] {
    let Columns {
        sizes, leaves, features, left, right, gains, curvatures, rows, set_sizes, categories, ..
    } = columns;
    [sizes, leaves, features, left, right, gains, curvatures, rows, set_sizes, categories]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boost::{Part, boost};
    use toprank_core::{Lists, Policy, Stream};
    use toprank_objectives::Goal;

    fn trained() -> (TreesFile, Matrix) {
        let mut random = Stream::new(7, "trees in a file").open();
        let values: Vec<f32> = (0..300)
            .map(|i| {
                if i % 3 == 2 {
                    (i % 5) as f32
                } else if i % 17 == 0 {
                    f32::NAN
                } else {
                    random.unit() as f32
                }
            })
            .collect();
        let labels = (0..100).map(|row| f32::from(u8::from(values[3 * row] > 0.5))).collect();
        let lists = Lists::from_lengths(&[50, 50], labels);
        let rows = Matrix::Dense { width: 3, values };
        let goal = Goal::parse("logistic", &Policy::default()).unwrap();
        let settings = BoostSettings { trees: 7, ..BoostSettings::default() };
        let part = Part { lists: &lists, features: &rows, categorical: &[false, false, true] };
        let ensemble = boost(&goal, part, None, &settings, None, &mut |_| true).unwrap().ensemble;
        let header = TreesHeader {
            objective: goal.name().into(),
            settings,
            features: ["a", "b", "c"].map(String::from).to_vec(),
            base: ensemble.base.clone(),
            lists: 2,
            rows: 100,
            ..TreesHeader::default()
        };
        (TreesFile { header, ensemble }, rows)
    }

    #[test]
    fn trees_come_back_as_they_were_and_damage_is_seen() {
        let (trees, rows) = trained();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.toprank");
        trees.save(&path, &rows).unwrap();
        assert!(TreesFile::is_one(&path));
        assert_eq!(TreesFile::load(&path).unwrap(), trees);
        let bytes = std::fs::read(&path).unwrap();
        for place in [bytes.len() / 3, bytes.len() / 2, bytes.len() - 9] {
            let mut damaged = bytes.clone();
            damaged[place] ^= 4;
            std::fs::write(&path, damaged).unwrap();
            assert!(TreesFile::load(&path).is_err(), "byte {place}");
        }
    }
}

//! What a run reads, in a few bytes: a checkpoint or the results of a search are only continued on the inputs they began with.

use std::fmt;

use serde::{Deserialize, Serialize};
use toprank_core::{Choices, Graphs, Lists, Preferences, take_f32s};
use toprank_data::Names;
use xxhash_rust::xxh3::Xxh3;

use super::container::{Number, numbers};
use crate::fit::engine::Examples;
use crate::fit::settings::Settings;

/// An input of a run, called as the setting that names its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// Training data.
    Data,
    /// Preference pairs of the training lists.
    Pairs,
    /// Judged graphs to learn from.
    Graphs,
    /// Validation data.
    Valid,
    /// Held-out test data.
    Test,
    /// Features of users.
    UserFeatures,
    /// Features of items.
    ItemFeatures,
    /// The model to warm-start from.
    From,
}

impl Input {
    /// The files that settings name for it.
    pub fn files(self, paths: &Settings) -> Vec<String> {
        let many = |files: &Option<crate::fit::settings::Files>| {
            files.as_ref().map_or(Vec::new(), |files| files.0.clone())
        };
        let one = |file: &Option<String>| file.iter().cloned().collect();
        let own = match self {
            Input::Data => many(&paths.data),
            Input::Pairs => one(&paths.pairs),
            Input::Graphs => one(&paths.graphs),
            Input::Valid => many(&paths.valid),
            Input::Test => many(&paths.test),
            Input::UserFeatures => one(&paths.user_features),
            Input::ItemFeatures => one(&paths.item_features),
            Input::From => one(&paths.from),
        };
        // A part that has no file of its own was cut off the training data.
        if own.is_empty() { many(&paths.data) } else { own }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Input::Data => "training data",
            Input::Pairs => "preference pairs",
            Input::Graphs => "training graphs",
            Input::Valid => "validation data",
            Input::Test => "test data",
            Input::UserFeatures => "user features",
            Input::ItemFeatures => "item features",
            Input::From => "model to warm-start from",
        })
    }
}

/// The checksum of every input of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(Vec<(Input, String)>);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let sums: Vec<&str> = self.0.iter().map(|(_, sum)| sum.as_str()).collect();
        f.write_str(&sums.join(" "))
    }
}

impl Fingerprint {
    /// The same with one input more.
    #[must_use]
    pub(crate) fn with(mut self, input: Input, add: impl FnOnce(&mut Content)) -> Fingerprint {
        let mut content = Content(Xxh3::new());
        add(&mut content);
        self.0.push((input, format!("{:016x}", content.0.digest())));
        self
    }

    /// The same with one input more, if it is there.
    #[must_use]
    pub(crate) fn with_some<T>(
        self,
        input: Input,
        part: Option<T>,
        add: impl FnOnce(&mut Content, T),
    ) -> Fingerprint {
        match part {
            None => self,
            Some(part) => self.with(input, |content| add(content, part)),
        }
    }

    /// Both, one after the other.
    #[must_use]
    pub(crate) fn and(mut self, other: &Fingerprint) -> Fingerprint {
        self.0.extend(other.0.iter().cloned());
        self
    }

    /// The first input that is not the same in both.
    pub fn difference(&self, other: &Fingerprint) -> Option<Input> {
        let pairs = self.0.iter().zip(&other.0).find(|(a, b)| a != b).map(|(a, _)| a.0);
        pairs.or_else(|| {
            let (short, long) = if self.0.len() < other.0.len() { (self, other) } else { (other, self) };
            long.0.get(short.0.len()).map(|part| part.0)
        })
    }
}

/// The checksum of lists, labels and weights.
pub(crate) fn of_lists(lists: &Lists) -> String {
    let mut content = Content(Xxh3::new());
    content.lists(lists);
    format!("{:016x}", content.0.digest())
}

/// Training and validation data of features.
pub(crate) fn of_examples(train: Examples, valid: Option<Examples>) -> Fingerprint {
    Fingerprint::default()
        .with(Input::Data, |content| content.examples(train))
        .with_some(Input::Pairs, train.lists.pairs.as_ref(), Content::preferences)
        .with_some(Input::Valid, valid, Content::examples)
}

/// What is read of one input.
pub(crate) struct Content(Xxh3);

impl Content {
    /// Bytes with their number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Integers.
    pub fn numbers<T: Number>(&mut self, values: &[T]) {
        self.bytes(&numbers(values));
    }

    /// Floats, to the bit.
    pub fn floats(&mut self, values: &[f32]) {
        self.0.update(&(values.len() as u64).to_le_bytes());
        take_f32s(values, &mut |bytes| self.0.update(bytes));
    }

    /// Strings.
    pub fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) {
        let mut count: u64 = 0;
        for text in texts {
            self.bytes(text.as_bytes());
            count += 1;
        }
        self.0.update(&count.to_le_bytes());
    }

    /// Names, or that there are none.
    pub fn names(&mut self, names: Option<&Names>) {
        self.texts(names.into_iter().flat_map(Names::iter));
    }

    /// Lists, labels, weights and all features.
    pub fn examples(&mut self, examples: Examples) {
        self.lists(examples.lists);
        self.features(examples.features);
    }

    /// Every value of rows of features.
    pub fn features(&mut self, features: &dyn toprank_core::Features) {
        self.numbers(&[features.rows() as u64, features.width() as u64]);
        features.content(&mut |bytes| self.0.update(bytes));
        if let Some(graphs) = features.graphs() {
            self.graphs(graphs);
        }
    }

    fn lists(&mut self, lists: &Lists) {
        self.numbers(&lists.offsets);
        self.numbers(lists.rows.as_deref().unwrap_or_default());
        let outputs: Vec<u32> = lists.output.iter().flatten().map(|&output| u32::from(output)).collect();
        self.numbers(&outputs);
        self.floats(&lists.labels);
        for weights in [&lists.item_weights, &lists.list_weights] {
            self.floats(weights.as_deref().unwrap_or_default());
        }
    }

    /// Which items are preferred to which, and how much that counts.
    fn preferences(&mut self, Preferences { offsets, pairs }: &Preferences) {
        self.numbers(offsets);
        let items: Vec<u32> = pairs.iter().flat_map(|pair| [pair.better, pair.worse]).collect();
        self.numbers(&items);
        let weights: Vec<f32> = pairs.iter().map(|pair| pair.weight).collect();
        self.floats(&weights);
    }

    fn graphs(&mut self, graphs: &Graphs) {
        for offsets in [&graphs.nodes, &graphs.edges] {
            let offsets: Vec<u64> = offsets.iter().map(|&offset| offset as u64).collect();
            self.numbers(&offsets);
        }
        self.numbers(graphs.ends.as_flattened());
        self.floats(&graphs.node_values);
        self.floats(&graphs.edge_values);
    }

    /// Who interacted with what.
    pub fn choices(&mut self, choices: &Choices) {
        self.numbers(&[choices.item_count as u64]);
        self.numbers(&choices.offsets);
        self.numbers(&choices.items);
        self.floats(&choices.labels);
    }
}

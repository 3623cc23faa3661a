/*!
From data as they were read to a trainer, and from the trainer to a model: transforms are fitted, the network is built for
the width that they give.

```
use toprank_train::{Job, Settings, TrainerKind};
let data = toprank_data::formats::read(
    &toprank_data::Source::bytes("d.txt", "2 qid:1 1:0.9\n0 qid:1 1:0.1\n0 qid:2 1:0.2\n1 qid:2 1:0.8\n".as_bytes()),
    &toprank_data::ReadOptions::default(),
).unwrap();
let settings = Settings { model: Some("linear".into()), learning_rate: Some(0.5), epochs: Some(20), ..Settings::default() };
# #[cfg(feature = "neural")] {
let job = Job::new(&settings.resolve(TrainerKind::Rank).unwrap(), data.clone().into(), None).unwrap();
let views = job.views().unwrap();
let mut trainer = job.trainer(&views).unwrap();
trainer.run(&mut (), None).unwrap();
let scores = job.model(&*trainer).unwrap().score(data).unwrap();
assert!(scores[0] > scores[1] && scores[3] > scores[2]);
# }
```
*/

use std::collections::BTreeMap;
use std::sync::Arc;

use toprank_core::{Features, Graphs, Lists};
use toprank_data::mapped::MappedDataset;
use toprank_data::transform::{OnTheFly, Pipeline, StepConfig};
use toprank_data::{Column, Dataset, Names, Source, preferences};
use toprank_objectives::Goal;
use toprank_trees::Ensemble;

use super::boost::{Binning, Boost, Start};
use super::graph_model::{self, GraphReading};
use super::models;
use super::position_bias::PositionBias;
use super::predict::{codes, recode};
use super::scoring::Scoring;
use super::trainer::Trainer;
use crate::error::TrainError;
use crate::fit::engine::Examples;
use crate::fit::settings::Config;
use crate::fit::training_loop::TrainingLoop;
use crate::fit::warm_start::check_kind;
use crate::fit::workers::Workers;
use crate::store::fingerprint::{Content, Fingerprint, Input};
use crate::store::header::{Header, Reached};
use crate::store::model_file::{About, Model, Probes};

/// A model that scores rows of features, in training.
pub trait Learner: TrainingLoop {
    /// What a user gets: the best on validation, else the average, else the last.
    ///
    /// # Errors
    /// If there is none yet.
    fn kept(&self) -> Result<Scoring, TrainError>;

    /// The model as it is now, whatever validation says of it.
    ///
    /// # Errors
    /// If there is none yet.
    fn present(&self) -> Result<Scoring, TrainError>;

    /// The scores that [`Learner::kept`] gives the validation data, from the epoch that measured the best; `None`: there was none
    /// in this process, as where a resumed run had passed it, so they are to be computed. They can be taken once.
    fn take_kept_scores(&mut self) -> Option<Vec<f64>>;

    /// What the positions of clicks add, where that is learned.
    fn position_bias(&self) -> Option<PositionBias> {
        None
    }
}

/// Data to train, validate or evaluate on.
#[derive(Clone)]
pub enum Data {
    /// In memory; transformed once. What others hold too is copied before it is changed.
    Memory(Arc<Dataset>),
    /// In a memory-mapped file, larger than memory perhaps; each row is transformed when it is fetched.
    Mapped(Box<MappedDataset>),
}

impl From<Dataset> for Data {
    fn from(data: Dataset) -> Data {
        Data::Memory(Arc::new(data))
    }
}

impl From<MappedDataset> for Data {
    fn from(data: MappedDataset) -> Data {
        Data::Mapped(Box::new(data))
    }
}

impl Data {
    /// Names of the lists, if they have any.
    pub fn list_names(&self) -> Option<&Names> {
        match self {
            Data::Memory(data) => data.list_names.as_ref(),
            Data::Mapped(data) => data.list_names.as_ref(),
        }
    }

    /// The data in memory: a memory-mapped file is read.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn into_memory(self) -> Result<Dataset, TrainError> {
        match self {
            Data::Memory(data) => Ok(Arc::unwrap_or_clone(data)),
            Data::Mapped(data) => Ok(data.read()?),
        }
    }

    /// Reads the preference pairs of the lists ([`toprank_data::preferences`]); pairwise objectives then learn from these.
    ///
    /// # Errors
    /// If a pair names a list or an item that the data do not have.
    pub fn read_pairs(&mut self, source: &Source) -> Result<(), TrainError> {
        match self {
            Data::Memory(data) => {
                let pairs = preferences::read(source, data)?;
                Arc::make_mut(data).lists.pairs = Some(pairs);
            }
            Data::Mapped(data) => {
                data.lists.pairs = Some(preferences::read(source, &data.without_features()?)?);
            }
        }
        Ok(())
    }

    /// Labels, weights, list boundaries.
    pub fn lists(&self) -> &Lists {
        match self {
            Data::Memory(data) => &data.lists,
            Data::Mapped(data) => &data.lists,
        }
    }

    pub(crate) fn features(&self) -> &dyn Features {
        match self {
            Data::Memory(data) => &**data,
            Data::Mapped(data) => &data.features,
        }
    }

    pub(crate) fn columns(&self) -> &[Column] {
        match self {
            Data::Memory(data) => &data.columns,
            Data::Mapped(data) => &data.columns,
        }
    }

    pub(crate) fn outputs(&self) -> usize {
        let lists = self.lists();
        lists.output.as_ref().and_then(|o| o.iter().max()).map_or(1, |&o| usize::from(o) + 1)
    }

    fn output_names(&self) -> Option<&Names> {
        match self {
            Data::Memory(data) => data.output_names.as_ref(),
            Data::Mapped(data) => data.output_names.as_ref(),
        }
    }
}

/// Everything a run needs, made ready once.
pub struct Job {
    config: Config,
    train: Data,
    valid: Option<Data>,
    transforms: Pipeline,
    probes: Probes,
    columns: Vec<Column>,
    width: usize,
    /// How graphs are read, where items are graphs.
    graphs: Option<GraphReading>,
    /// What it is warm-started from.
    from: Option<Scoring>,
    /// What the learner does not see of the data, and the model that it is warm-started from.
    inputs: Fingerprint,
    /// Fewer epochs than the config allows, where folds have found how many are best.
    epochs: Option<u32>,
    /// Trees that the model is averaged with.
    averaged: Vec<Ensemble>,
    /// Who trains it.
    workers: Workers,
}

/// The features of a job as its model sees them.
pub struct Views<'a> {
    train: Box<dyn Features + 'a>,
    valid: Option<Box<dyn Features + 'a>>,
    /// The same in bins, for trees.
    binning: Option<Binning>,
}

impl Job {
    /// Fits the transforms to `train` and makes both data sets ready.
    pub fn new(config: &Config, train: Data, valid: Option<Data>) -> Result<Job, TrainError> {
        Job::begin(config, None, train, valid)
    }

    /// The same, warm-started from a model: its transforms are kept, its parameters or trees are the start.
    pub fn warm_started(
        config: &Config,
        from: &Model,
        train: Data,
        valid: Option<Data>,
    ) -> Result<Job, TrainError> {
        let header = from.header();
        check_kind(config.model(), header.config.model())?;
        let found = (train.features().width(), train.outputs());
        if found != (header.width, header.outputs) {
            let words = |(width, outputs)| format!("{width} features and {outputs} outputs");
            let expected =
                format!("{}, as the model to warm-start from has", words((header.width, header.outputs)));
            return Err(TrainError::unsuitable(Input::Data, &words(found), &expected));
        }
        Job::begin(config, Some(from), train, valid)
    }

    fn begin(
        config: &Config,
        from: Option<&Model>,
        mut train: Data,
        mut valid: Option<Data>,
    ) -> Result<Job, TrainError> {
        config.check()?;
        let steps = StepConfig::parse_all(config.transforms())?;
        let width = train.features().width();
        if let Some(valid) = &valid
            && valid.features().width() != width
        {
            let found = format!("{} features", valid.features().width());
            let expected = format!("the {width} features of the training data");
            return Err(TrainError::unsuitable(Input::Valid, &found, &expected));
        }
        let graphs = match from {
            Some(from) => from.header().graphs.clone(),
            None => GraphReading::fit(&train),
        };
        graph_model::check(graphs.as_ref(), config, &train)?;
        for data in [Some(&mut train), valid.as_mut()].into_iter().flatten() {
            graph_model::code(graphs.as_ref(), data)?;
        }
        if graphs.is_none() {
            if let Some(from) = from {
                put_in_order(Input::Data, &mut train, &from.header().features)?;
            }
            let names: Vec<String> = train.columns().iter().map(|column| column.name.clone()).collect();
            if let Some(valid) = &mut valid {
                put_in_order(Input::Valid, valid, &names)?;
            }
        }
        let mut columns: Vec<Column> = match &graphs {
            // Not the strings: every molecule of the training data is one.
            Some(_) => {
                train.columns().iter().map(|column| Column { levels: None, ..column.clone() }).collect()
            }
            None => train.columns().to_vec(),
        };
        if let Some(from) = from {
            // Its trees and parameters were learned from the codes that it knows.
            for (&place, known) in &from.header().levels {
                if let Some(Column { levels: Some(levels), .. }) = columns.get_mut(place) {
                    *levels = known.iter().collect();
                }
            }
            as_in_training(Input::Data, &mut train, &columns)?;
        }
        let probes = Probes::take(train.lists(), train.features());
        let transforms = match (&mut train, from) {
            (Data::Memory(_), _) if graphs.is_some() => Pipeline { width, steps: Vec::new() },
            (Data::Memory(_), None) if steps.is_empty() => Pipeline { width, steps: Vec::new() },
            (Data::Memory(data), None) => Pipeline::fit_apply(Arc::make_mut(data), &steps)?,
            (Data::Mapped(data), None) => data.fit(&steps, None)?,
            (train, Some(from)) => {
                apply(&from.header().transforms, train)?;
                from.header().transforms.clone()
            }
        };
        if let Some(valid) = &mut valid {
            as_in_training(Input::Valid, valid, &columns)?;
            if graphs.is_none() {
                apply(&transforms, valid)?;
            }
        }
        let inputs = Fingerprint::default()
            .with(Input::Data, |content| add_names(content, &train, &columns))
            .with_some(Input::From, from, |content, from| from.add_to(content));
        let from = from.map(|model| model.scoring().clone());
        Ok(Job {
            inputs,
            config: config.clone(),
            train,
            valid,
            transforms,
            probes,
            columns,
            width,
            graphs,
            from,
            epochs: None,
            averaged: Vec::new(),
            workers: Workers::default(),
        })
    }

    /// The training data, transformed where they lie in memory.
    pub fn train(&self) -> &Data {
        &self.train
    }

    /// True if there are validation data.
    pub fn is_validated(&self) -> bool {
        self.valid.is_some()
    }

    /// Trains for at most so many epochs, warm-up included. The config stays as it is, so a schedule of the learning rate is that of
    /// the whole run, cut off.
    pub fn limit_epochs(&mut self, epochs: u32) {
        self.epochs = Some(epochs);
    }

    /// The model will be the mean of the one that is trained and these.
    pub(crate) fn average_with(&mut self, trees: Vec<Ensemble>) {
        self.averaged = trees;
    }

    /// Trains it together with other workers, who have the same data and settings.
    pub fn train_among(&mut self, workers: &Workers) {
        self.workers = workers.clone();
    }

    /// True if trees are trained.
    pub fn is_of_trees(&self) -> bool {
        models::is_trees(self.config.model())
    }

    /// Training and validation data, transformed where they lie in memory.
    pub fn into_data(self) -> (Data, Option<Data>) {
        (self.train, self.valid)
    }

    /// The features as the model sees them.
    pub fn views(&self) -> Result<Views<'_>, TrainError> {
        let valid = self.valid.as_ref().map(|data| self.view(data)).transpose()?;
        let train = self.view(&self.train)?;
        let binning = match models::parse(self.config.model())? {
            models::Model::Network(_) => None,
            models::Model::Trees(forest) => {
                let categorical = self.categorical(train.width());
                let own = Examples { lists: self.train.lists(), features: &*train };
                let valid = self.valid.as_ref().zip(valid.as_deref());
                let valid = valid.map(|(data, features)| Examples { lists: data.lists(), features });
                Some(Binning::new(&forest, own, valid, &categorical, &self.workers)?)
            }
        };
        Ok(Views { train, valid, binning })
    }

    /// Which features hold categories. Transforms that add or drop columns are the user's own words: all are numbers then.
    fn categorical(&self, width: usize) -> Vec<bool> {
        let own: Vec<bool> = self.columns.iter().map(|column| column.levels.is_some()).collect();
        if own.len() == width && own.contains(&true) { own } else { Vec::new() }
    }

    fn view<'a>(&'a self, data: &'a Data) -> Result<Box<dyn Features + 'a>, TrainError> {
        Ok(match data {
            Data::Memory(data) => Box::new(Borrowed(&**data)),
            Data::Mapped(data) => Box::new(OnTheFly::new(&data.features, &data.columns, &self.transforms)?),
        })
    }

    /// The learner, before its first step.
    pub fn trainer<'a>(&'a self, views: &'a Views) -> Result<Box<dyn Learner + 'a>, TrainError> {
        self.trainer_with(views, self.config.goal()?)
    }

    /// The same with an objective of one's own ([`Goal::own`]) where trees are trained; networks follow the config.
    pub fn trainer_with<'a>(
        &'a self,
        views: &'a Views,
        goal: Goal,
    ) -> Result<Box<dyn Learner + 'a>, TrainError> {
        let train = Examples { lists: self.train.lists(), features: &*views.train };
        let valid = self.valid.as_ref().zip(views.valid.as_deref());
        let valid = valid.map(|(data, features)| Examples { lists: data.lists(), features });
        let outputs = self.train.outputs();
        let config = &self.config;
        let mut learner: Box<dyn Learner> = match (models::parse(self.config.model())?, &views.binning) {
            (models::Model::Network(architecture), _) => {
                let network = match &self.graphs {
                    Some(graphs) => architecture.build_for_graphs(&graphs.coding.shape(), outputs)?,
                    None => architecture.build(self.transforms.width_after(), outputs)?,
                };
                let mut trainer = Trainer::new(config, network, train, valid)?;
                if let Some(Scoring::Network(_, parameters)) = &self.from {
                    trainer.start_from(parameters)?;
                }
                Box::new(trainer)
            }
            (models::Model::Trees(forest), Some(binning)) => {
                let from = match &self.from {
                    Some(Scoring::Trees(trees)) => trees.ensemble().clone(),
                    _ => Ensemble::new(self.transforms.width_after(), outputs),
                };
                let start = Start { goal, from, positions: self.positions(), workers: &self.workers };
                Box::new(Boost::new(config, *forest, start, binning, train, valid)?)
            }
            (models::Model::Trees(_), None) => unreachable!("views of trees have bins"),
        };
        let state = learner.state_mut();
        state.more_inputs = self.inputs.clone();
        state.epoch_limit = self.epochs;
        state.workers = self.workers.clone();
        Ok(learner)
    }

    /// The place at which each row was shown, if the data say so.
    fn positions(&self) -> Option<&[u32]> {
        match &self.train {
            Data::Memory(data) if data.lists.rows.is_none() => data.positions.as_deref(),
            _ => None,
        }
    }

    /// Scores of the training data under the model that a user gets.
    pub fn train_scores(&self, learner: &dyn Learner, views: &Views) -> Result<Vec<f64>, TrainError> {
        learner.kept()?.score(Examples { lists: self.train.lists(), features: &*views.train })
    }

    /// Scores of the training data under the model as it is now: what a learning curve follows.
    pub fn present_train_scores(&self, learner: &dyn Learner, views: &Views) -> Result<Vec<f64>, TrainError> {
        learner.present()?.score(Examples { lists: self.train.lists(), features: &*views.train })
    }

    /// Lists and scores of the validation data under the model that a user gets, if there are any: those that training measured, or
    /// computed now where it has none.
    pub fn valid_scores(
        &self,
        learner: &mut dyn Learner,
        views: &Views,
    ) -> Result<Option<(&Lists, Vec<f64>)>, TrainError> {
        let Some((data, features)) = self.valid.as_ref().zip(views.valid.as_deref()) else { return Ok(None) };
        let scores = match learner.take_kept_scores() {
            Some(scores) => scores,
            None => learner.kept()?.score(Examples { lists: data.lists(), features })?,
        };
        Ok(Some((data.lists(), scores)))
    }

    /// The words of each categorical feature.
    fn levels(&self) -> BTreeMap<usize, Vec<String>> {
        let words = |names: &Names| (0..names.len()).map(|i| names.get(i).to_string()).collect();
        let columns = self.columns.iter().enumerate();
        columns.filter_map(|(place, column)| Some((place, words(column.levels.as_ref()?)))).collect()
    }

    /// What a model of it says of its features and outputs.
    pub(crate) fn about(&self) -> About {
        let names = self.train.output_names();
        let outputs = self.train.outputs();
        About {
            width: self.width,
            features: self.columns.iter().map(|column| column.name.clone()).collect(),
            levels: self.levels(),
            outputs,
            output_names: names
                .map(|names| (0..names.len()).map(|i| names.get(i).to_string()).collect())
                .unwrap_or_default(),
            transforms: self.transforms.clone(),
            probes: Vec::new(),
            graphs: self.graphs.clone(),
            position_bias: None,
            blend: None,
            calibration: Vec::new(),
        }
    }

    /// Items for a self-test, as they were read.
    pub(crate) fn probes(&self) -> &Probes {
        &self.probes
    }

    /// The model that the learner has now.
    pub fn model(&self, learner: &dyn Learner) -> Result<Model, TrainError> {
        let (lists, rows) = (self.train.lists().len(), self.train.features().rows());
        let header = Header {
            config: self.config.clone(),
            reached: Reached::by(as_loop(learner), lists, rows),
            about: About { position_bias: learner.position_bias(), ..self.about() },
        };
        let scoring = match (learner.kept()?, self.averaged.is_empty()) {
            (Scoring::Trees(trees), false) => {
                let all: Vec<&Ensemble> = std::iter::once(trees.ensemble()).chain(&self.averaged).collect();
                Scoring::of_trees(Ensemble::mean(&all)?)?
            }
            (scoring, _) => scoring,
        };
        Ok(Model::new(header, scoring, &self.probes))
    }
}

/// Transforms data that lie in memory; rows of a memory-mapped file are transformed when they are fetched.
fn apply(transforms: &Pipeline, data: &mut Data) -> Result<(), TrainError> {
    match data {
        Data::Memory(data) if !transforms.steps.is_empty() => Ok(transforms.apply(Arc::make_mut(data))?),
        _ => Ok(()),
    }
}

/// Names of columns, categories and outputs, and the places at which rows were shown.
fn add_names(content: &mut Content, train: &Data, columns: &[Column]) {
    content.texts(columns.iter().map(|column| column.name.as_str()));
    for column in columns {
        content.names(column.levels.as_ref());
    }
    content.names(train.output_names());
    if let Data::Memory(data) = train {
        content.numbers(data.positions.as_deref().unwrap_or_default());
    }
}

/// A learner seen as nothing but a training loop.
fn as_loop(learner: &dyn Learner) -> &dyn TrainingLoop {
    learner
}

/// Finds features by their names, as prediction does, and puts them into the order of `names`. Features that are only numbered have no
/// names; a memory-mapped file stays as it is, so its order must be the same.
fn put_in_order(which: Input, data: &mut Data, names: &[String]) -> Result<(), TrainError> {
    let found: Vec<&str> = data.columns().iter().map(|column| column.name.as_str()).collect();
    let numbered =
        |names: &[&str]| names.iter().zip(1..).all(|(name, number): (_, u32)| *name == number.to_string());
    let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
    if found == wanted || found.len() != wanted.len() || numbered(&found) || numbered(&wanted) {
        return Ok(());
    }
    let place_of = |name: &&str| found.iter().position(|known| known == name);
    let places: Vec<Option<usize>> = wanted.iter().map(place_of).collect();
    let lacking: Vec<&str> =
        wanted.iter().zip(&places).filter(|(_, place)| place.is_none()).map(|(name, _)| *name).collect();
    if !lacking.is_empty() {
        let found = format!("no feature is called {}", toprank_data::error::show_names(lacking));
        let expected = match which {
            Input::Valid => "the features of the training data, under the same names, in any order",
            _ => "the features of the model to warm-start from, under the same names, in any order",
        };
        return Err(TrainError::unsuitable(which, &found, expected));
    }
    match data {
        Data::Memory(data) => {
            let data = Arc::make_mut(data);
            data.columns = places.iter().flatten().map(|&place| data.columns[place].clone()).collect();
            data.features = data.features.pick_columns(&places, 0.0);
            Ok(())
        }
        Data::Mapped(_) => {
            let found = "a memory-mapped file with the features in another order";
            let expected = "the order of the training data, or the table that it was converted from";
            Err(TrainError::unsuitable(which, found, expected))
        }
    }
}

/// Gives the strings of categorical columns the codes they have in `columns`: those of the training data or, warm-started, of
/// the model. A string that is not there becomes missing. Memory-mapped rows stay as they are, so theirs must be the same.
fn as_in_training(which: Input, data: &mut Data, columns: &[Column]) -> Result<(), TrainError> {
    let moved = columns.iter().zip(data.columns()).enumerate().filter_map(|(place, (ours, theirs))| {
        let (ours, theirs) = (ours.levels.as_ref()?, theirs.levels.as_ref()?);
        let words: Vec<String> = ours.iter().map(String::from).collect();
        Some((place, codes(theirs, &words)?))
    });
    let moved: Vec<(usize, Vec<f32>)> = moved.collect();
    let Some((first, _)) = moved.first() else { return Ok(()) };
    match data {
        Data::Memory(data) => {
            let data = Arc::make_mut(data);
            recode(&mut data.features, &moved);
            for (place, _) in moved {
                data.columns[place].levels.clone_from(&columns[place].levels);
            }
            Ok(())
        }
        Data::Mapped(_) => {
            let found =
                format!("a memory-mapped file with other categories in column {}", columns[*first].name);
            let expected = "a file with the categories that the model learns from, or the table that it was converted from";
            Err(TrainError::unsuitable(which, &found, expected))
        }
    }
}

/// Features that somebody else holds.
struct Borrowed<'a>(&'a dyn Features);

impl Features for Borrowed<'_> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn width(&self) -> usize {
        self.0.width()
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        self.0.gather(rows, out);
    }

    fn gather_part(&self, rows: &[u32], columns: std::ops::Range<usize>, out: &mut [f32]) {
        self.0.gather_part(rows, columns, out);
    }

    fn fault(&self) -> Option<String> {
        self.0.fault()
    }

    fn recheck(&self) -> Option<String> {
        self.0.recheck()
    }

    fn graphs(&self) -> Option<&Graphs> {
        self.0.graphs()
    }

    fn content(&self, take: &mut dyn FnMut(&[u8])) {
        self.0.content(take);
    }
}

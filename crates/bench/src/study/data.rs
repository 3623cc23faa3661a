//! The data of a study, read once for every fold.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{Arc, Mutex};

use toprank::data::{Dataset, ReadOptions, Source, formats, split};
#[cfg(feature = "neural")]
use toprank::train::embed::Classes;
use toprank::train::recommend::Interactions;

use super::plan::{Plan, Set, Task};
use crate::common::{Failure, Outcome, real_data};

/// Training, validation and test data of one fold.
pub enum Data {
    Rank(Box<[Dataset; 3]>),
    Recommend(Box<Interactions>),
    #[cfg(feature = "neural")]
    Embed(Box<[Classes; 3]>),
}

/// What was read so far.
#[derive(Default)]
pub struct Cache(Mutex<HashMap<(String, usize), Arc<Data>>>);

impl Cache {
    pub fn get(&self, plan: &Plan, set: &Set, fold: usize) -> Outcome<Arc<Data>> {
        // Another run that needs the same data waits for them instead of reading them, too.
        let mut all = self.0.lock().map_err(|_| "a run failed while it read data")?;
        let key = (set.name.clone(), fold);
        if let Some(data) = all.get(&key) {
            return Ok(data.clone());
        }
        let data = Arc::new(
            read(plan.task, set, fold)
                .map_err(|error| -> Failure { format!("{}: {error}", set.name).into() })?,
        );
        all.insert(key, data.clone());
        Ok(data)
    }
}

fn read(task: Task, set: &Set, fold: usize) -> Outcome<Data> {
    let files = |parts: &[usize]| -> Outcome<Option<Dataset>> {
        let parts: Vec<&str> =
            parts.iter().map(|part| set.files[(part + fold) % set.files.len()].as_str()).collect();
        if parts.is_empty() { Ok(None) } else { read_files(task, set, &parts).map(Some) }
    };
    let train = files(&set.train)?.ok_or("a set needs training files")?;
    let (valid, test) = (files(&set.valid)?, files(&set.test)?);
    let how = set.split.as_deref();
    match task {
        Task::Rank => {
            let [train, valid, test] = divide(train, valid, test, how, set.split_seed)?;
            Ok(Data::Rank(Box::new([train, valid, test])))
        }
        Task::Recommend => Ok(Data::Recommend(Box::new(match (how, &valid, &test) {
            (Some(how), None, None) => Interactions::split(&train, how, set.split_seed)?,
            _ => {
                let [train, valid, test] = divide(train, valid, test, how, set.split_seed)?;
                Interactions::given(&train, Some(&valid), Some(&test))?
            }
        }))),
        #[cfg(feature = "neural")]
        Task::Embed => {
            let how = how.ok_or("an embedding needs a split")?;
            Ok(Data::Embed(Box::new(Classes::of(train)?.split(how, set.split_seed)?)))
        }
        #[cfg(not(feature = "neural"))]
        Task::Embed => Err("embeddings need the feature neural".into()),
    }
}

/// The three parts: those that no file gives are cut from the training data.
fn divide(
    train: Dataset,
    valid: Option<Dataset>,
    test: Option<Dataset>,
    how: Option<&str>,
    seed: u64,
) -> Outcome<[Dataset; 3]> {
    if let (Some(valid), Some(test)) = (valid.as_ref(), test.as_ref()) {
        return Ok([train, valid.clone(), test.clone()]);
    }
    let parts = split::plan(&train, &split::parse(how.ok_or("a split is missing")?)?, seed)?;
    let cut = |given: Option<Dataset>, name: &str| -> Outcome<Dataset> {
        match (given, parts.iter().find(|part| part.name == name)) {
            (Some(given), _) => Ok(given),
            (None, Some(part)) => Ok(part.take(&train)),
            (None, None) => Err(format!("the split makes no part {name}").into()),
        }
    };
    Ok([cut(None, "train")?, cut(valid, "vali")?, cut(test, "test")?])
}

/// Several files become one data set: they are of one text format, and the first has the header, if there is one.
fn read_files(task: Task, set: &Set, files: &[&str]) -> Outcome<Dataset> {
    let options = ReadOptions {
        format: set.format.clone(),
        label: set.label.clone(),
        labels: set.labels.clone(),
        smiles: set.smiles.clone(),
        list: set.list.clone(),
        regroup: task == Task::Embed,
        unlabelled: task == Task::Embed && (set.list.is_some() || set.classes.is_some()),
        ..ReadOptions::default()
    };
    if let ([file], false) = (files, set.headerless) {
        let mut data = formats::read(&Source::path(real_data(file)?), &options)?;
        if let Some(table) = &set.classes {
            data.lists.labels = first_column(table, data.rows())?;
        }
        return Ok(data);
    }
    let mut text = String::new();
    for file in files {
        Source::path(real_data(file)?).open()?.read_to_string(&mut text)?;
    }
    if set.headerless {
        let columns = text.lines().next().map_or(0, |line| line.split(',').count());
        let names: Vec<String> = (1..columns).map(|k| format!("f{k}")).collect();
        text.insert_str(0, &format!("{},label\n", names.join(",")));
    }
    let name = files[0].trim_end_matches(".gz");
    Ok(formats::read(&Source::bytes(name, text.into_bytes()), &options)?)
}

/// The numbers in the first column of a table with a line of names, one for each row of data.
fn first_column(table: &str, rows: usize) -> Outcome<Vec<f32>> {
    let mut text = String::new();
    Source::path(real_data(table)?).open()?.read_to_string(&mut text)?;
    let cells = text.lines().skip(1).map(|line| line.split(',').next().unwrap_or_default().parse());
    let numbers: Vec<f32> = cells.collect::<Result<_, _>>()?;
    match numbers.len() {
        found if found == rows => Ok(numbers),
        found => Err(format!("{table}: {found} rows; expected {rows}, one for each row of the data").into()),
    }
}

/*!
`--model auto`: a portfolio of models within a budget of time, and the blend of them that is best by the metric that was asked for.

```text
budget ─▶ cost table ─▶ list of members ─▶ k fits each ─▶ out-of-fold scores ─▶ greedy selection ─▶ one model
          cost          portfolio          fit            on a common scale     blend               parts
```

**Folds are kept.** The k models of a member are averaged, not refitted: out-of-fold scores then belong to exactly the models that
predict. With validation data a member is one model, stops early and is selected on them.

**The list comes first.** What is trained follows from settings and data alone, so the bytes do not depend on machine or threads. A run
that is over its budget stops after the present fit, records the shorter list in its config, and blends the members that are done; a
run that is given that list (`--members`, `--folds`) ends in the same bytes.

**Crash-safe.** Every fit is kept in the folder of folds beside the checkpoint until the model is written.
*/

pub mod blend;
pub mod cost;
mod fit;
pub mod parts;
pub mod portfolio;

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use toprank_core::{Entry, Lists, ParamError, Policy};
use toprank_data::{Dataset, Matrix};
use toprank_metrics::{Better, Measure, evaluate};

use self::blend::{mean, select};
pub use self::cost::seconds;
use self::cost::{Folds, Size};
use self::fit::{Fit, Name, best_epoch};
use self::parts::{Affine, Part, PartAbout, merged, rescale, scales};
use self::portfolio::Chosen;
use super::calibration::Calibrate;
use super::folds::{
    Fold, FoldFiles, FoldResults, Scale, Watched, evaluate_folds, examples, folds, usual_metrics,
};
use super::job::{Data, Job};
use super::models;
use super::run::{Run, Trained};
use super::scoring::Scoring;
use crate::error::TrainError;
use crate::fit::engine::Examples;
use crate::fit::run::{RunFiles, beside, checkpoint_of, is_final, save_finished};
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::fit::training_loop::{Callbacks, Leaderboard, Outcome};
use crate::fit::workers::Workers;
use crate::store::checkpoint;
use crate::store::fingerprint::{self, Fingerprint, Input};
use crate::store::header::{Header, Reached};
use crate::store::model_file::{About, Model};

/// The portfolio as a line of the table of models.
pub static MODELS: &[Entry<()>] = &[Entry {
    name: "auto",
    family: "blends",
    about: "a portfolio of models within a budget of time, blended for the metric that was asked for",
    page: include_str!("page.md"),
    params: &[],
    make: |_| Ok(Box::new(())),
}];

/// The budget where the user names none.
const BUDGET: &str = "5m";
/// Settings that every member has its own of.
const OF_MEMBERS: [&str; 19] = [
    "algorithm",
    "optimiser",
    "learning-rate",
    "schedule",
    "sampler",
    "epochs",
    "trees",
    "leaves",
    "min-rows",
    "transforms",
    "patience",
    "early-stopping",
    "warm-up",
    "warm-up-objective",
    "after-warm-up",
    "warm-up-learning-rate",
    "clip",
    "parts",
    "weight-average",
];

/// Refuses settings that do not belong together: those of one kind of model with `auto`, those of `auto` with another model.
pub(crate) fn check_settings(settings: &Settings) -> Result<(), ParamError> {
    let model = settings.model.as_deref().unwrap_or_default();
    let refuse = |key: &str, expected: &str| match settings.get(key) {
        Some(text) if !text.is_empty() => Err(ParamError::new(key, &text, expected)),
        _ => Ok(()),
    };
    if !models::is_auto(model) {
        let expected = "omitted, or given with --model auto";
        return ["budget", "members"].iter().try_for_each(|key| refuse(key, expected));
    }
    let expected = "omitted with --model auto, whose members have their own: set it for one kind of model, such as --model trees";
    OF_MEMBERS.iter().try_for_each(|key| refuse(key, expected))?;
    refuse(
        "pairs",
        "omitted with --model auto: preference pairs are learned by one kind of model, such as --model trees",
    )?;
    refuse("from", "omitted with --model auto, which starts from scratch")?;
    if settings.members.as_ref().is_some_and(|members| !members.is_empty()) {
        refuse("budget", "omitted where members are given: a budget is turned into them")?;
    }
    if settings.valid.is_some() && settings.folds.is_some_and(|folds| folds > 0) {
        refuse("folds", "omitted where validation data are given: members are selected on them")?;
    }
    Ok(())
}

/// Checks a list of members.
pub(crate) fn check_members(text: &str) -> Result<(), ParamError> {
    portfolio::parse(text).map(drop)
}

/// What a model file says of a blend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlendAbout {
    /// The metric that members were selected by.
    pub metric: String,
    /// Its value for the blend.
    pub value: f64,
    /// Its value where all scores are equal.
    pub chance: f64,
    /// Folds; 0: members were selected on validation data.
    pub folds: u32,
    /// Every member that was trained.
    pub members: Vec<MemberAbout>,
    /// The models whose scores are added up; none: the blend is one model of trees.
    pub parts: Vec<PartAbout>,
}

/// What a model file says of a member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberAbout {
    /// Its name in the portfolio.
    pub name: String,
    /// What its models were trained with.
    pub config: Config,
    /// Epochs of each of its models; 0: it has none.
    pub epochs: u32,
    /// The metric on its own scores of held-out data.
    pub value: Option<f64>,
    /// Its weight in the blend; 0: it is no part of it.
    pub weight: f64,
    /// Why it cannot be part of the blend, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// A member whose fits are done.
struct Member {
    chosen: Chosen,
    epochs: u32,
    /// Scores of all that members are selected on, on the common scale.
    scores: Vec<f64>,
    parts: Vec<Part>,
    value: Option<f64>,
    left_out: Option<String>,
}

/// What members are trained and selected on.
struct Task<'a> {
    config: &'a Config,
    measure: Measure,
    train: Arc<Dataset>,
    /// What members are selected on: validation data, or the training data, each row under the model that did not learn from it.
    judged: Arc<Dataset>,
    folds: Vec<Fold>,
    /// Held-out data of each fold.
    held: Vec<Arc<Dataset>>,
    inputs: Fingerprint,
    files: Option<FoldFiles>,
}

/// The time of a run.
struct Clock {
    started: Instant,
    /// Seconds of fits that an interrupted run had done.
    before: f64,
    /// `None`: the list of members is final.
    budget: Option<f64>,
}

impl Clock {
    fn seconds(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }

    fn is_over(&self) -> bool {
        self.budget.is_some_and(|budget| self.seconds() > budget)
    }
}

/// Trains the portfolio and blends it.
pub(crate) fn train(run: Run, callbacks: &mut dyn Callbacks) -> Result<Trained, TrainError> {
    let Run { config, train, valid, from, fold_metrics, files, .. } = run;
    if from.is_some() {
        let expected = "omitted with --model auto, which starts from scratch";
        return Err(ParamError::new("from", "a model", expected).into());
    }
    let started = Instant::now();
    let train = train.into_memory()?;
    let valid = valid.map(Data::into_memory).transpose()?.map(Arc::new);
    let measure = config.measure()?;
    let chance = check_data(&train, valid.as_deref(), &measure)?;
    let inputs = fingerprint::of_examples(examples(&train), valid.as_deref().map(examples));
    let planned = match &files {
        Some(files) if files.lock.resumes() => resumed(config, files)?,
        _ => None,
    };
    let config = match planned {
        Some(config) => config,
        None => planned_config(config, &train, valid.is_some())?,
    };
    // Before anything is written: a list may name members that these data do not have.
    let members = portfolio::named(&config, &train.lists)?;
    let fold_files = files
        .as_ref()
        .map(|files| FoldFiles { folder: beside(files.lock.output(), ".folds"), every: files.every });
    if let (Some(files), Some(folder)) = (&files, &fold_files) {
        let path = checkpoint_of(files.lock.output());
        if files.lock.resumes() {
            checkpoint::check_announced(&path, &inputs)?;
        }
        folder.open(files.lock.resumes())?;
        if !files.lock.resumes() {
            checkpoint::announce(&path, &config, files.origin, inputs.clone())?;
        }
    }
    let budget = if config.budget().is_empty() { None } else { Some(seconds(config.budget())?) };
    let task = Task::new(&config, measure, Arc::new(train), valid, inputs, fold_files)?;
    let mut clock = Clock { started, before: 0.0, budget };
    let trained = task.members(&members, chance, &mut clock, callbacks);
    if let (true, Some(files), Some(folder)) = (trained.as_ref().is_err_and(is_final), &files, &task.files) {
        files.lock.remove_checkpoint()?;
        folder.remove()?;
    }
    let trained = trained?;
    let outcome = if trained.len() < members.len() { Outcome::StoppedEarly } else { Outcome::Finished };
    let (task, fold_files) = task.without_files();
    let list: Vec<&str> = trained.iter().map(|member| member.chosen.text.as_str()).collect();
    let list = Settings { members: Some(list.join(",")), ..Settings::default() };
    let last = config.with(list).without("budget");
    if let (Some(files), Outcome::StoppedEarly) = (&files, outcome) {
        // From here on the shorter list is the list, whatever the clock says when the run is resumed.
        checkpoint::announce(&checkpoint_of(files.lock.output()), &last, files.origin, task.inputs.clone())?;
        callbacks.note(&format!(
            "the budget of {} is over: {} of {} members are trained; --members {} gives the same model",
            config.budget(),
            trained.len(),
            members.len(),
            last.members()
        ));
    }
    let task = Task { config: &last, ..task };
    let done = task.finish(trained, chance, outcome, fold_metrics)?;
    if let Some(files) = &files {
        save_finished(files, || done.model.save(files.lock.output()))?;
    }
    Ok(Trained { fold_files, ..done })
}

/// The config of the run that is resumed, with its list of members; `None`: it was stopped before it had one.
fn resumed(config: &Config, files: &RunFiles) -> Result<Option<Config>, TrainError> {
    let path = checkpoint_of(files.lock.output());
    let (found, _) = checkpoint::about(&path, TrainerKind::Rank)?;
    // What planning adds may differ from what the caller has resolved again.
    let bare = |config: &Config| config.clone().without("members").without("folds").without("budget");
    if bare(&found) != bare(config) {
        return Err(TrainError::Format {
            file: path.display().to_string(),
            found: "a checkpoint of another config".into(),
            expected: "the config it was started with; omit the flags, or start a new run".into(),
        });
    }
    Ok(Some(found).filter(|found| !found.members().is_empty()))
}

/// The config with the list of members and the number of folds that its budget pays for, or that the user names.
fn planned_config(config: &Config, train: &Dataset, validated: bool) -> Result<Config, TrainError> {
    let most = most_folds(&train.lists);
    let folds = match (validated, config.folds()) {
        (true, _) => Folds::None,
        (false, 0) if most < 2 => return Err(too_few(&train.lists)),
        (false, 0) => Folds::AtMost(most),
        (false, folds) => Folds::Exactly(folds),
    };
    let (members, folds) = if config.members().is_empty() {
        let budget = if config.budget().is_empty() { BUDGET } else { config.budget() };
        let size = Size::of(&train.lists, train.rows(), train.features.width());
        let plan = cost::plan(&portfolio::of_data(config, &train.lists)?, &size, folds, seconds(budget)?)?;
        let list: Vec<&str> = plan.members.iter().map(|member| member.text.as_str()).collect();
        (list.join(","), plan.folds)
    } else {
        let folds = match folds {
            Folds::None => 0,
            Folds::Exactly(folds) | Folds::AtMost(folds) => folds,
        };
        (config.members().to_string(), folds)
    };
    let budget = match (config.members().is_empty(), config.budget()) {
        (true, "") => Some(BUDGET.to_string()),
        _ => None,
    };
    Ok(config.with(Settings { members: Some(members), folds: Some(folds), budget, ..Settings::default() }))
}

/// Folds, at most: so many that each can hold relevant and other items.
fn most_folds(lists: &Lists) -> u32 {
    const MOST: usize = 5;
    let fewer = |q: usize| of_the_rarer_class(lists, q);
    let enough = match lists.are_labels() {
        true => (0..lists.len()).map(fewer).max().unwrap_or(0),
        false => (0..lists.len()).filter(|&q| fewer(q) > 0).count(),
    };
    enough.min(MOST) as u32
}

/// Relevant or other items of a list, whichever are fewer.
fn of_the_rarer_class(lists: &Lists, list: usize) -> usize {
    let relevant = Policy::default().relevant;
    let labels = &lists.labels[lists.range(list)];
    let count = |is: bool| labels.iter().filter(|y| !y.is_nan() && relevant.is(**y) == is).count();
    count(true).min(count(false))
}

fn too_few(lists: &Lists) -> TrainError {
    let found = match lists.are_labels() {
        true => "fewer than two relevant or two other items",
        false => "fewer than two lists with relevant and other items",
    };
    let expected = "at least two, so that members can be evaluated on folds; or validation data (--valid)";
    TrainError::unsuitable(Input::Data, found, expected)
}

/// The metric where all scores are equal; an error where no model can learn from the data or be evaluated on them.
fn check_data(train: &Dataset, valid: Option<&Dataset>, measure: &Measure) -> Result<f64, TrainError> {
    if train.graphs.is_some() {
        let expected = "gin: items are graphs, which no member of auto reads";
        return Err(ParamError::new("model", "auto", expected).into());
    }
    if train.features.width() == 0 || train.lists.entries() == 0 {
        return Err(TrainError::unsuitable(
            Input::Data,
            "no features",
            "rows with features: a model learns from them",
        ));
    }
    if (0..train.lists.len()).all(|q| of_the_rarer_class(&train.lists, q) == 0) {
        let expected = "relevant and other items in a list: a model learns their order";
        return Err(TrainError::unsuitable(Input::Data, "labels of one class", expected));
    }
    if !any_varies(&train.features) {
        let found = "features that are constant or missing in every row";
        return Err(TrainError::unsuitable(
            Input::Data,
            found,
            "a feature that differs between rows: a model learns from it",
        ));
    }
    let mut chance = 0.0;
    for (input, data) in [(Input::Data, Some(train)), (Input::Valid, valid)] {
        let Some(data) = data else { continue };
        let equal = vec![0.0; data.lists.entries()];
        let found = evaluate(&data.lists, &equal, std::slice::from_ref(measure))?.results[0].mean;
        chance = found.ok_or_else(|| {
            let found = format!("no list on which {} is defined", measure.name());
            TrainError::unsuitable(input, &found, "relevant and other items in a list")
        })?;
    }
    Ok(chance)
}

/// True if some feature differs between two rows; missing values are equal.
fn any_varies(features: &Matrix) -> bool {
    let (mut first, mut row) = (vec![0.0; features.width()], vec![0.0; features.width()]);
    if features.rows() > 0 {
        features.row_into(0, &mut first);
    }
    (1..features.rows()).any(|place| {
        features.row_into(place, &mut row);
        first.iter().zip(&row).any(|(a, b)| a != b && !(a.is_nan() && b.is_nan()))
    })
}

impl<'a> Task<'a> {
    fn new(
        config: &'a Config,
        measure: Measure,
        train: Arc<Dataset>,
        valid: Option<Arc<Dataset>>,
        inputs: Fingerprint,
        files: Option<FoldFiles>,
    ) -> Result<Task<'a>, TrainError> {
        let (folds, held, judged) = match valid {
            Some(valid) => (Vec::new(), vec![Arc::clone(&valid)], valid),
            None => {
                let folds = folds(config, &train)?;
                let held = folds.iter().map(|fold| Arc::new(fold.held_out(&train))).collect();
                (folds, held, Arc::clone(&train))
            }
        };
        Ok(Task { config, measure, train, judged, folds, held, inputs, files })
    }

    /// The files apart from the rest, which keeps no lock on them.
    fn without_files(mut self) -> (Task<'a>, Option<FoldFiles>) {
        let files = self.files.take();
        (self, files)
    }

    /// 1 where a larger value is better, −1 where a smaller one is.
    fn sign(&self) -> f64 {
        if self.measure.metric().better() == Better::Higher { 1.0 } else { -1.0 }
    }

    /// The metric on scores of what members are selected on, larger is better.
    fn worth(&self, scores: &[f64]) -> Option<f64> {
        let found = evaluate(&self.judged.lists, scores, std::slice::from_ref(&self.measure));
        found.ok()?.results[0].mean.map(|value| self.sign() * value)
    }

    /// Trains one member after the other; fewer than planned if the budget is over.
    fn members(
        &self,
        planned: &[Chosen],
        chance: f64,
        clock: &mut Clock,
        callbacks: &mut dyn Callbacks,
    ) -> Result<Vec<Member>, TrainError> {
        let mut done: Vec<Member> = Vec::new();
        for chosen in planned {
            // One member there is on any budget.
            let any = done.iter().any(|member| member.left_out.is_none());
            let member = match self.fits(chosen, any, clock, callbacks) {
                Ok(None) => break,
                Ok(Some(fits)) => self.judge(chosen, &fits, chance)?,
                // What would happen again: the others may do without it, unless all fail.
                Err(error) if is_final(&error) && planned.len() > 1 => Member {
                    chosen: chosen.clone(),
                    epochs: 0,
                    scores: Vec::new(),
                    parts: Vec::new(),
                    value: None,
                    left_out: Some(error.to_string()),
                },
                Err(error) => return Err(error),
            };
            done.push(member);
            self.show(&done, planned.len(), clock, callbacks);
        }
        match done.iter().all(|member| member.parts.is_empty()) {
            false => Ok(done),
            true => {
                let why = done.first().and_then(|member| member.left_out.clone()).unwrap_or_default();
                Err(ParamError::new(
                    "members",
                    self.config.members(),
                    &format!("one that can be trained: {why}"),
                )
                .into())
            }
        }
    }

    /// The leaderboard, with the last member as the one that is done now.
    fn show(&self, done: &[Member], planned: usize, clock: &Clock, callbacks: &mut dyn Callbacks) {
        let Some(last) = done.last() else { return };
        let best = done
            .iter()
            .filter(|member| member.left_out.is_none())
            .filter_map(|member| Some((member.chosen.text.as_str(), member.value?)));
        let best = best.reduce(|a, b| if self.sign() * b.1 > self.sign() * a.1 { b } else { a });
        callbacks.leaderboard(&Leaderboard {
            name: &last.chosen.text,
            metric: self.measure.name(),
            value: last.value.filter(|_| last.left_out.is_none()),
            best,
            members: (done.len(), planned),
            seconds: clock.seconds(),
        });
    }

    /// The fits of a member, trained or read from files; `None`: the budget is over before all are done. `may_stop`: another member
    /// is there.
    fn fits(
        &self,
        chosen: &Chosen,
        may_stop: bool,
        clock: &mut Clock,
        callbacks: &mut dyn Callbacks,
    ) -> Result<Option<Vec<Fit>>, TrainError> {
        let mut fits: Vec<Fit> = Vec::new();
        for (place, held) in self.held.iter().enumerate() {
            let name = Name { member: chosen, fold: place as u32 + 1, inputs: &self.inputs };
            let file = self.files.as_ref().map(|files| {
                let member = chosen.text.replace([':', '='], "-");
                files.folder.join(format!("{member}.fold{}", name.fold))
            });
            if let Some(file) = file.as_deref().filter(|file| file.exists()) {
                let fit = Fit::load(file, &name)?;
                clock.before += fit.seconds;
                fits.push(fit);
                continue;
            }
            if may_stop && clock.is_over() {
                return Ok(None);
            }
            // The first fold decides how many epochs all of them take, so that their curves have one length.
            let epochs = fits.first().map(|first| first.curve.len());
            let config = match epochs {
                None => chosen.config.clone(),
                Some(_) => chosen.config.with(Settings { patience: Some(0), ..Settings::default() }),
            };
            let part = match self.folds.len() {
                0 => chosen.text.clone(),
                folds => format!("{}, fold {} of {folds}", chosen.text, name.fold),
            };
            let job = match self.folds.get(place) {
                Some(fold) => fold.job(&config, &self.train, Watched::Valid(held))?,
                None => Job::new(
                    &config,
                    Data::Memory(Arc::clone(&self.train)),
                    Some(Data::Memory(Arc::clone(held))),
                )?,
            };
            let fit = Fit::train(chosen, &job, epochs, &part, callbacks)?;
            if let Some(file) = &file {
                fit.save(file, &name)?;
            }
            fits.push(fit);
        }
        Ok(Some(fits))
    }

    /// What a member is worth: the models of its best epoch, and the scores of each on what it did not learn from, on the common
    /// scale. Every model scores all that is judged, which gives its scale; then the member's out-of-fold scores get spread 1.
    fn judge(&self, chosen: &Chosen, fits: &[Fit], chance: f64) -> Result<Member, TrainError> {
        let (lists, epochs) = (&self.judged.lists, best_epoch(fits, self.sign()));
        let examples = Examples { lists, features: &*self.judged };
        let mut scores = vec![0.0; lists.entries()];
        let mut parts = Vec::with_capacity(fits.len());
        for (place, fit) in fits.iter().enumerate() {
            let mut part = Part {
                model: chosen.config.model().into(),
                transforms: fit.transforms.clone(),
                scoring: fit.scoring(epochs)?,
                scale: Vec::new(),
            };
            let found = part.score(examples, &self.judged.columns, !lists.are_labels())?;
            part.scale = scales(lists, &found).into_iter().map(Affine::standardising).collect();
            let mut standard = vec![0.0; found.len()];
            rescale(lists, &found, &part.scale, &mut standard);
            match self.folds.get(place) {
                None => scores = standard,
                Some(fold) => {
                    fold.entries().iter().for_each(|&e| scores[e as usize] = standard[e as usize]);
                }
            }
            parts.push(part);
        }
        let spreads: Vec<Scale> = scales(lists, &scores);
        let all: Vec<Affine> = spreads.iter().copied().map(Affine::standardising).collect();
        let raw = std::mem::replace(&mut scores, vec![0.0; lists.entries()]);
        rescale(lists, &raw, &all, &mut scores);
        for part in &mut parts {
            part.scale = part.scale.iter().zip(&all).map(|(own, all)| own.then(*all)).collect();
        }
        let finite = raw.iter().all(|score| score.is_finite());
        let worth = if finite { self.worth(&scores) } else { None };
        let left_out = if !finite {
            Some("scores that are not finite".to_string())
        } else if spreads.iter().all(|scale| scale.spread == 0.0) {
            Some("constant scores".into())
        } else if worth.is_none_or(|worth| worth < self.sign() * chance) {
            Some("worse than chance".into())
        } else {
            None
        };
        let value = worth.map(|worth| self.sign() * worth);
        Ok(Member { chosen: chosen.clone(), epochs, scores, parts, value, left_out })
    }

    /// Selects, and makes the model.
    fn finish(
        &self,
        members: Vec<Member>,
        chance: f64,
        outcome: Outcome,
        fold_metrics: Option<&str>,
    ) -> Result<Trained, TrainError> {
        // Where nothing beats chance, the first member that has a model is better than none.
        let fine: Vec<usize> =
            match (0..members.len()).filter(|&m| members[m].left_out.is_none()).collect::<Vec<_>>() {
                fine if fine.is_empty() => {
                    let usable = |member: &Member| !member.parts.is_empty() && member.value.is_some();
                    members.iter().position(usable).into_iter().collect()
                }
                fine => fine,
            };
        let scores: Vec<&[f64]> = fine.iter().map(|&member| members[member].scores.as_slice()).collect();
        let selected = select(&scores, &|scores: &[f64]| self.worth(scores)).ok_or_else(|| {
            let expected = "members whose scores are finite: another objective or transforms may help";
            ParamError::new("members", self.config.members(), expected)
        })?;
        let blended = mean(&scores, &selected.weights());
        let mut weights = vec![0.0; members.len()];
        fine.iter().zip(selected.weights()).for_each(|(&member, weight)| weights[member] = weight);
        let value = self.worth(&blended).unwrap_or(selected.value) * self.sign();

        let lists = &self.train.lists;
        let job_config = &members[fine[0]].chosen.config;
        // Nothing is trained by it: it knows names, categories and a few rows for the self-test.
        let bare = job_config.with(Settings { transforms: Some(String::new()), ..Settings::default() });
        let job = Job::new(&bare, Data::Memory(Arc::clone(&self.train)), None)?;
        let about = job.about();
        let abouts: Vec<MemberAbout> = members
            .iter()
            .zip(&weights)
            .map(|(member, &weight)| MemberAbout {
                name: member.chosen.text.clone(),
                config: member.chosen.config.clone(),
                epochs: if member.parts.is_empty() { 0 } else { member.epochs },
                value: member.value,
                weight,
                left_out: member.left_out.clone(),
            })
            .collect();
        let mut parts = Vec::new();
        for (member, weight) in members.into_iter().zip(&weights).filter(|(_, weight)| **weight > 0.0) {
            let each = weight / member.parts.len() as f64;
            for mut part in member.parts {
                part.scale.iter_mut().for_each(|affine| *affine = affine.times(each));
                parts.push(part);
            }
        }
        let parts = merged(parts, about.width, about.outputs)?;
        let scoring = Scoring::of_parts(parts, about.columns());
        let parts = match &scoring {
            Scoring::Blend(blend) => blend.parts().iter().map(Part::about).collect(),
            _ => Vec::new(),
        };
        let epochs = abouts.iter().map(|member| member.epochs * self.held.len() as u32).sum();
        let blend = BlendAbout {
            metric: self.measure.name().into(),
            value,
            chance,
            folds: self.folds.len() as u32,
            members: abouts,
            parts,
        };
        let header = Header {
            config: self.config.clone(),
            reached: Reached {
                lists: lists.len(),
                rows: self.train.rows(),
                steps: u64::from(epochs),
                epochs,
                best: None,
                loss: None,
            },
            about: About { blend: Some(blend), ..about },
        };
        // An average of k models has a little less spread than one of them, which calibration is fitted to.
        let calibration = Calibrate::parse(self.config.calibrate())?;
        let calibration = calibration.fit(&self.judged.lists, &blended, header.outputs)?;
        let model = Model::new(header, scoring, job.probes()).with_calibration(calibration);
        let (train, _) = job.into_data();
        let (results, valid) = if self.folds.is_empty() {
            (None, Some((Data::Memory(Arc::clone(&self.judged)), blended)))
        } else {
            let usual = usual_metrics(self.config, lists);
            let measures = Measure::parse_all(fold_metrics.unwrap_or(&usual), &Policy::default())?;
            let metrics = evaluate_folds(lists, &self.folds, &blended, &measures)?;
            let sizes = self.folds.iter().map(Fold::size).collect();
            (Some(FoldResults { scores: blended, metrics, sizes }), None)
        };
        Ok(Trained {
            traffic: Workers::default().traffic(),
            model,
            outcome,
            records: Vec::new(),
            folds: results,
            train,
            valid,
            fold_files: None,
        })
    }
}

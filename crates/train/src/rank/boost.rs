/*!
Boosted trees from lists, an objective of the catalog and a metric: LambdaMART and its relatives, in the [`TrainingLoop`].

```text
base:  where shifting all scores changes the loss, the shift that Newton's method finds; of classes, ln of their frequencies
scale: gradient and hessian times one constant, such that the mean hessian of a row is ¼ before the first tree (that of
       the logistic loss): l2, min-hessian and min-gain mean the same for every objective and length of lists
each round: gradient and hessian of the objective at the present scores → one tree per output
            validation: the metric on other lists; the best round is kept, `patience` rounds without a better one end it
```

```
use toprank_train::{Job, Settings, TrainerKind};
let text: String = (0..80).map(|i| format!("{} qid:{} 1:{}\n", i % 3, i / 40, (i % 3) as f32 * 0.5)).collect();
let data = toprank_data::formats::read(
    &toprank_data::Source::bytes("d.txt", text.as_bytes()),
    &toprank_data::ReadOptions::default(),
).unwrap();
let settings = Settings {
    model: Some("trees".into()), objective: Some("lambdamart@10".into()), trees: Some(5), ..Settings::default()
};
let job = Job::new(&settings.resolve(TrainerKind::Rank).unwrap(), data.clone().into(), None).unwrap();
let views = job.views().unwrap();
let mut boost = job.trainer(&views).unwrap();
boost.run(&mut (), None).unwrap();
let scores = job.model(&*boost).unwrap().score(data).unwrap();
assert!(scores[2] > scores[1] && scores[1] > scores[0]);
```
*/

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use toprank_core::{Lists, ParamError, Stream, ordered_sum};
use toprank_metrics::evaluate;
use toprank_objectives::{Among, Batch, Goal, Gradients, Reduction};
use toprank_trees::{Binned, Bins, Booster, Boosting, Ensemble, Forest, Sampling};

use super::classes::{log_frequencies, rows_as_lists};
use super::collapse;
use super::job::Learner;
use super::position_bias::{Learned, PositionBias};
use super::scoring::{self, Scoring, Trees};
use crate::error::TrainError;
use crate::fit::engine::{Examples, trusted};
use crate::fit::settings::Config;
use crate::fit::training_loop::{Computed, LoopState, Position, Rounds, TrainingLoop, accessors};
use crate::fit::workers::{Share, Workers, gather_floats};
use crate::store::container::{Stored, Tensor};
use crate::store::fingerprint::{self, Fingerprint, Input};

/// Training and validation data in bins: the rows of this worker.
pub struct Binning {
    train: Rows,
    valid: Option<Rows>,
}

/// The rows of this worker, in bins, and where they stand.
struct Rows {
    binned: Binned,
    share: Share,
    /// Where its lists end, for sampling by list; empty: every row counts as a list.
    offsets: Vec<u64>,
}

impl Binning {
    /// Bins of `train`, and what they make of `valid`. `categorical` says which features hold categories; empty: none.
    pub fn new(
        forest: &Forest,
        train: Examples,
        valid: Option<Examples>,
        categorical: &[bool],
        workers: &Workers,
    ) -> Result<Binning, TrainError> {
        // What is sampled by list must be with one worker.
        let by_list = matches!(forest.boosting.sampling, Sampling::Lists { .. } | Sampling::Goss { .. });
        let share = workers.share(train.lists, train.features.rows(), by_list);
        let bins = Bins::fit_among(workers, &share.of(train), categorical, &forest.bins)?;
        let apply = |examples: Examples, share: Share| {
            let binned = bins.apply(&share.of(examples))?;
            trusted(examples.features)?;
            let offsets = offsets(examples.lists, &share);
            Ok::<Rows, TrainError>(Rows { binned, share, offsets })
        };
        let valid = valid.map(|valid| apply(valid, workers.share(valid.lists, valid.features.rows(), false)));
        Ok(Binning { train: apply(train, share)?, valid: valid.transpose()? })
    }
}

/// The lists of validation, and their scores so far.
struct Watched<'a> {
    examples: Examples<'a>,
    data: &'a Rows,
    /// Of every row of this worker, by all trees.
    scores: Vec<f64>,
    /// Of the rows of all workers; empty: there is one worker.
    all: Vec<f64>,
    /// Of every row, by the trees of the best round; empty: not measured.
    best: Vec<f64>,
}

impl Watched<'_> {
    /// The scores of all rows, as measured last.
    fn of_rows(&self) -> &[f64] {
        if self.all.is_empty() { &self.scores } else { &self.all }
    }

    /// The score of every entry, from those of every row.
    fn of_entries<'s>(&self, scores: impl Into<Cow<'s, [f64]>>, outputs: usize) -> Cow<'s, [f64]> {
        let (lists, scores) = (self.examples.lists, scores.into());
        let shared = lists.rows.is_some() || lists.output.is_some();
        if shared { lists.scores_of_entries(&scores, outputs).into() } else { scores }
    }
}

/// Boosting state.
pub struct Boost<'a> {
    common: LoopState,
    rounds: Rounds,
    train: Examples<'a>,
    valid: Option<Watched<'a>>,
    derivatives: Derivatives<'a>,
    booster: Booster<'a>,
    /// How trees grow, for a booster that is resumed.
    boosting: Boosting,
    data: &'a Rows,
    workers: &'a Workers,
    /// Scores of the rows of all workers, where there are several.
    all_scores: Vec<f64>,
    /// What positions add, where the data have them.
    places: Option<Learned>,
    /// Rounds of the trees it was warm-started from.
    before: usize,
    /// What every tree of a random forest learns from: the scores before the first tree. `None`: trees are boosted.
    unmoved: Option<Vec<f64>>,
}

/// What boosting starts with.
pub struct Start<'a> {
    /// The objective.
    pub goal: Goal,
    /// The trees to warm-start from; may be none.
    pub from: Ensemble,
    /// The position at which each row was shown, where clicks are to be corrected for it.
    pub positions: Option<&'a [u32]>,
    /// All workers, who have divided the rows as `Binning` has them.
    pub workers: &'a Workers,
}

impl<'a> Boost<'a> {
    /// Boosting before its first round. `train` and `valid` hold features as `binning` has them.
    pub fn new(
        config: &Config,
        forest: Forest,
        start: Start<'a>,
        binning: &'a Binning,
        train: Examples<'a>,
        valid: Option<Examples<'a>>,
    ) -> Result<Boost<'a>, TrainError> {
        let common = LoopState::new(config)?;
        for (examples, what) in [(Some(train), Input::Data), (valid, Input::Valid)] {
            if let Some(examples) = examples {
                check_rows(examples, what)?;
            }
        }
        let width = train.features.width();
        let Start { goal, from, positions, workers } = start;
        let (bias_l2, averaged) = (forest.bias_l2, forest.forest);
        let boosting = boosting(config, forest, width)?;
        let before = from.rounds();
        let data = &binning.train;
        let booster = data.booster(workers, train, boosting.clone(), from)?;
        let mut boost = Boost {
            rounds: Rounds { steps: u64::from(config.epochs()), learning_rate: config.learning_rate() },
            common,
            derivatives: Derivatives::new(goal, train, config.seed())?,
            places: positions.map(|positions| Learned::new(positions, bias_l2)),
            train,
            valid: None,
            booster,
            boosting,
            data,
            workers,
            all_scores: Vec::new(),
            before,
            unmoved: None,
        };
        let objective = boost.derivatives.goal.objective();
        if before == 0 && objective.over_outputs() {
            let base = log_frequencies(&boost.derivatives.lists);
            base.into_iter().enumerate().for_each(|(output, base)| boost.booster.add_base(output, base));
        } else if before == 0 && !objective.shift_invariant() {
            boost.derivatives.find_base(&mut boost.booster)?;
        }
        boost.derivatives.find_scale(&boost.booster.ensemble().base)?;
        boost.unmoved = averaged.then(|| boost.booster.ensemble().base.repeat(train.features.rows()));
        if let (Some(examples), Some(data)) = (valid, &binning.valid) {
            let scores = data.scores(boost.booster.ensemble(), examples)?;
            boost.valid = Some(Watched { examples, data, scores, all: Vec::new(), best: Vec::new() });
        }
        Ok(boost)
    }

    /// The trees so far.
    pub fn ensemble(&self) -> &Ensemble {
        self.booster.ensemble()
    }

    /// The lists whose gradient this worker computes; `None`: all of them. Where lists share rows every worker computes all, and
    /// where positions are learned: their sums are over all rows in their order.
    fn among(&self) -> Option<Among<'a>> {
        let lists = self.train.lists;
        let plain = lists.rows.is_none() && lists.output.is_none() && self.places.is_none();
        (plain && !self.workers.is_alone()).then(|| Among {
            workers: self.workers,
            computes: self.data.share.lists.clone(),
            owns: self.data.share.owns.clone(),
        })
    }
}

impl Rows {
    /// The numbers of these rows in columns of `outputs` numbers for every row of all workers.
    fn numbers(&self, outputs: usize) -> Range<usize> {
        self.share.rows.start * outputs..self.share.rows.end * outputs
    }

    /// What trees say of these rows.
    fn scores(&self, ensemble: &Ensemble, examples: Examples) -> Result<Vec<f64>, TrainError> {
        if self.share.rows.is_empty() {
            return Ok(Vec::new());
        }
        Ok(ensemble.score(&self.share.of(examples))?)
    }

    /// Boosting that is resumed from these trees.
    fn booster<'a>(
        &'a self,
        workers: &'a Workers,
        examples: Examples<'a>,
        boosting: Boosting,
        from: Ensemble,
    ) -> Result<Booster<'a>, TrainError> {
        let scores = self.scores(&from, examples)?;
        Ok(Booster::resume_among(workers, &self.binned, &self.offsets, boosting, from, scores)?)
    }
}

impl TrainingLoop for Boost<'_> {
    accessors!(common, rounds);

    fn compute(&mut self) -> Result<Computed, TrainError> {
        let outputs = self.booster.ensemble().outputs;
        let round = self.booster.ensemble().rounds() as u64 + 1;
        let among = self.among();
        let before_this_tree = match &self.unmoved {
            Some(unmoved) => unmoved,
            None if self.workers.is_alone() => self.booster.scores(),
            None => {
                let own = self.booster.scores();
                // Where every list is with one worker, nobody looks at the scores of others.
                if among.is_some() && !self.data.share.divides_lists {
                    self.all_scores.resize(self.train.features.rows() * outputs, 0.0);
                    self.all_scores[self.data.numbers(outputs)].copy_from_slice(own);
                } else {
                    self.all_scores = self.workers.all(own)?.into_owned();
                }
                &self.all_scores
            }
        };
        let scores = match &mut self.places {
            None => before_this_tree,
            Some(places) => places.add_to(before_this_tree),
        };
        let computed = self.derivatives.compute(scores, outputs, round, among.as_ref())?;
        if self.common.position.total == 0 && self.before == 0 && computed.norm == 0.0 {
            let expected =
                "one with a gradient where all scores are equal, as they are before the first tree";
            return Err(
                ParamError::new("the objective of trees", self.common.config.algorithm(), expected).into()
            );
        }
        Ok(computed)
    }

    fn commit(&mut self, learning_rate: f64) -> Result<(), TrainError> {
        let Derivatives { gradient, hessian, .. } = &self.derivatives;
        let own = self.data.numbers(self.booster.ensemble().outputs);
        self.booster.round(&gradient[own.clone()], &hessian[own])?;
        if let Some(places) = &mut self.places {
            places.learn(gradient, hessian, learning_rate);
        }
        Ok(())
    }

    fn validate(&mut self) -> Result<Option<Option<f64>>, TrainError> {
        let Some(valid) = &mut self.valid else { return Ok(None) };
        self.booster.add_last_round(&valid.data.binned, &mut valid.scores);
        if !self.workers.is_alone() {
            valid.all = self.workers.all(&valid.scores)?.into_owned();
        }
        let scores = valid.of_entries(valid.of_rows(), self.booster.ensemble().outputs);
        let measures = std::slice::from_ref(&self.common.measure);
        Ok(Some(evaluate(valid.examples.lists, &scores, measures)?.results[0].mean))
    }

    /// The best round is a prefix of the trees: its number says all but the scores that were measured.
    fn keep_best(&mut self) -> Result<(), TrainError> {
        if let Some(valid) = &mut self.valid {
            valid.best = valid.of_rows().to_vec();
        }
        Ok(())
    }

    fn advice(&self) -> Result<Option<String>, TrainError> {
        let scores = self.workers.all(self.booster.scores())?;
        let equal = collapse::all_equal(&scores, self.booster.ensemble().outputs);
        Ok(equal.then(|| collapse::of_trees(self.common.config.algorithm())))
    }

    fn epochs_before(&self) -> u32 {
        self.before as u32
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint::of_examples(self.train, self.valid.as_ref().map(|valid| valid.examples))
    }

    fn tensors(&self) -> Vec<Tensor<'_>> {
        let mut tensors = scoring::tree_tensors(self.booster.ensemble());
        tensors.push(Tensor::flat("objective", self.derivatives.state.save()));
        tensors.extend(self.places.iter().map(|places| Tensor::flat("bias", &places.bias.values)));
        tensors
    }

    fn restore(&mut self, stored: &Stored, position: &Position) -> Result<(), TrainError> {
        let ensemble = scoring::load_trees(stored, self.train.features.width())?;
        if ensemble.outputs != self.booster.ensemble().outputs
            || ensemble.rounds() as u64 != self.before as u64 + position.total
        {
            let found = format!("{} rounds of {} outputs", ensemble.rounds(), ensemble.outputs);
            return Err(stored.wrong(found, "the trees of every round that is done"));
        }
        stored.objective_into(&mut self.derivatives.state)?;
        if let Some(places) = &mut self.places {
            let values = stored.f64("bias")?;
            if values.len() != places.bias.values.len() {
                let expected = places.bias.values.len().to_string();
                return Err(stored.wrong(format!("{} positions", values.len()), expected));
            }
            places.bias.values = values;
        }
        // Scores are sums in the order of the trees, so those of an uninterrupted run come out again to the bit.
        if let Some(valid) = &mut self.valid {
            valid.scores = valid.data.scores(&ensemble, valid.examples)?;
            valid.best = Vec::new();
        }
        self.booster = self.data.booster(self.workers, self.train, self.boosting.clone(), ensemble)?;
        Ok(())
    }
}

impl Learner for Boost<'_> {
    fn kept(&self) -> Result<Scoring, TrainError> {
        let mut ensemble = self.booster.ensemble().clone();
        if let Some((_, round)) = self.common.position.best {
            ensemble.truncate(round as usize);
        }
        Ok(Scoring::Trees(Arc::new(Trees::new(ensemble)?)))
    }

    fn present(&self) -> Result<Scoring, TrainError> {
        Scoring::of_trees(self.booster.ensemble().clone())
    }

    fn take_kept_scores(&mut self) -> Option<Vec<f64>> {
        let outputs = self.booster.ensemble().outputs;
        let valid = self.valid.as_mut()?;
        let best = Some(std::mem::take(&mut valid.best)).filter(|best| !best.is_empty())?;
        Some(valid.of_entries(best, outputs).into_owned())
    }

    fn position_bias(&self) -> Option<PositionBias> {
        self.places.as_ref().map(|places| places.bias.clone())
    }
}

/// Where the lists of a worker end, for sampling by list. Where lists share rows a list cannot be left out by leaving rows out: every
/// row counts as a list.
fn offsets(lists: &Lists, share: &Share) -> Vec<u64> {
    if lists.rows.is_some() || lists.output.is_some() || share.divides_lists {
        return Vec::new();
    }
    let own = &lists.offsets[share.owns.start..=share.owns.end];
    own.iter().map(|offset| offset - own[0]).collect()
}

fn boosting(config: &Config, forest: Forest, width: usize) -> Result<Boosting, TrainError> {
    let mut boosting = Boosting { rate: config.learning_rate(), seed: config.seed(), ..forest.boosting };
    let monotone = &mut boosting.growth.monotone;
    if monotone.len() > width {
        let found = format!("feature {}", monotone.len());
        let expected = format!("features from 1 to {width}, as the data have");
        return Err(ParamError::new("increasing and decreasing", &found, &expected).into());
    }
    if !monotone.is_empty() {
        monotone.resize(width, 0);
    }
    Ok(boosting)
}

fn check_rows(examples: Examples, what: Input) -> Result<(), TrainError> {
    let (lists, rows) = (examples.lists, examples.features.rows());
    if lists.entries() == 0 {
        return Err(TrainError::unsuitable(what, "no items", "lists with items"));
    }
    let needed = match &lists.rows {
        Some(rows) => rows.iter().max().map_or(0, |&row| row as usize + 1),
        None => lists.entries(),
    };
    if needed > rows || lists.rows.is_none() && needed != rows {
        let found = format!("{rows} rows of features");
        return Err(TrainError::unsuitable(what, &found, &format!("{needed}, as the lists have")));
    }
    Ok(())
}

/// Gradients of the objective, by row and output.
struct Derivatives<'a> {
    goal: Goal,
    /// The lists of the data; rows, for objectives over outputs.
    lists: Cow<'a, Lists>,
    rows: usize,
    state: toprank_objectives::State,
    out: Gradients,
    stream: Stream,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
    scale: f64,
}

impl<'a> Derivatives<'a> {
    fn new(
        goal: Goal,
        Examples { lists, features }: Examples<'a>,
        seed: u64,
    ) -> Result<Derivatives<'a>, TrainError> {
        let lists = match goal.objective().over_outputs() {
            false => Cow::Borrowed(lists),
            true => Cow::Owned(rows_as_lists(lists, features.rows())?),
        };
        Ok(Derivatives {
            state: goal.state(&lists)?,
            goal,
            lists,
            rows: features.rows(),
            out: Gradients { want_hessian: true, ..Gradients::default() },
            stream: Stream::new(seed, "objective"),
            gradient: Vec::new(),
            hessian: Vec::new(),
            scale: 1.0,
        })
    }

    /// Gradient and Hessian of the sum over the lists at these scores of rows.
    ///
    /// With `among` those of other workers' lists are 0.
    fn compute(
        &mut self,
        scores: &[f64],
        outputs: usize,
        step: u64,
        among: Option<&Among>,
    ) -> Result<Computed, TrainError> {
        let lists = &*self.lists;
        let shared = lists.rows.is_some() || lists.output.is_some();
        let entries = if shared { lists.scores_of_entries(scores, outputs) } else { Vec::new() };
        let batch = Batch {
            stream: self.stream.at_step(step),
            reduction: Reduction::Sum,
            ..Batch::all(lists, if shared { &entries } else { scores })
        };
        match among {
            None => self.goal.step(&batch, &mut self.state, &mut self.out)?,
            Some(among) => self.goal.step_among(among, &batch, &mut self.state, &mut self.out)?,
        }
        let scaled = self.out.gradient.iter_mut().chain(&mut self.out.hessian);
        scaled.for_each(|value| *value *= self.scale);
        if !shared {
            std::mem::swap(&mut self.gradient, &mut self.out.gradient);
            std::mem::swap(&mut self.hessian, &mut self.out.hessian);
            let norm = self.norm_by_list(among)?;
            return Ok(self.computed(norm));
        }
        for (by_row, by_entry) in
            [(&mut self.gradient, &self.out.gradient), (&mut self.hessian, &self.out.hessian)]
        {
            by_row.clear();
            by_row.resize(scores.len(), 0.0);
            for q in 0..lists.len() {
                let output = lists.output.as_ref().map_or(0, |o| usize::from(o[q]));
                for entry in lists.range(q) {
                    by_row[lists.row(entry) * outputs + output] += by_entry[entry];
                }
            }
        }
        Ok(self.computed(self.gradient.iter().map(|g| g * g).sum()))
    }

    /// Σ gradient², list after list.
    fn norm_by_list(&self, among: Option<&Among>) -> Result<f64, TrainError> {
        let lists = &*self.lists;
        let of_list = |q: usize| self.gradient[lists.range(q)].iter().map(|g| g * g).sum();
        let own: Vec<f64> = among.map_or(0..lists.len(), |among| among.owns.clone()).map(of_list).collect();
        Ok(match among {
            None => ordered_sum(&own),
            Some(among) => ordered_sum(&gather_floats(among.workers, &own)?),
        })
    }

    fn computed(&self, squares: f64) -> Computed {
        let counts = self.out.counts;
        Computed {
            loss: self.out.loss / counts.used.max(1) as f64,
            norm: squares.sqrt(),
            without_gradient: counts.idle,
            keeps_previous: false,
        }
    }

    /// Shifts each output to where Newton's method over one number ends.
    fn find_base(&mut self, booster: &mut Booster) -> Result<(), TrainError> {
        const STEPS: usize = 20;
        let outputs = booster.ensemble().outputs;
        for _ in 0..STEPS {
            // No tree: all rows have the same scores, whichever worker has them.
            let scores = booster.ensemble().base.repeat(self.rows);
            self.compute(&scores, outputs, 0, None)?;
            let mut moved = false;
            for output in 0..outputs {
                let column = |values: &[f64]| {
                    values.iter().skip(output).step_by(outputs).copied().collect::<Vec<f64>>()
                };
                let (g, h) = (ordered_sum(&column(&self.gradient)), ordered_sum(&column(&self.hessian)));
                let step = if h > 0.0 { -g / h } else { 0.0 };
                if step.is_finite() && step.abs() > 1e-9 {
                    booster.add_base(output, step);
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        self.forget()
    }

    /// Finds the constant that brings the mean Hessian of a row to that of the logistic loss.
    fn find_scale(&mut self, base: &[f64]) -> Result<(), TrainError> {
        const WANTED: f64 = 0.25;
        // Some losses are singular where all scores are equal (a norm or a spread of 0): their Hessian there says nothing.
        const SINGULAR: f64 = 1e4;
        let before_the_first_tree = base.repeat(self.rows);
        self.compute(&before_the_first_tree, base.len(), 0, None)?;
        let mean = ordered_sum(&self.hessian) / self.hessian.len().max(1) as f64;
        if mean > 0.0 && mean < SINGULAR {
            self.scale = WANTED / mean;
        }
        self.forget()
    }

    /// The state of the objective starts with the first round.
    fn forget(&mut self) -> Result<(), TrainError> {
        self.state = self.goal.state(&self.lists)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::training_loop::Callbacks;
    use crate::{Checkpoints, Job, Outcome, Settings, TrainerKind};
    use toprank_core::Policy;
    use toprank_data::{Dataset, Matrix, ReadOptions, Source};
    use toprank_objectives::{Input, ListState, Objective, Out, Work};

    /// Lists of 10 whose labels follow the first feature, more or less.
    fn data(count: usize, seed: u64) -> Dataset {
        let mut random = Stream::new(seed, "boosting").open();
        let rows = count * 10;
        let values: Vec<f32> = (0..rows * 2).map(|_| random.unit() as f32).collect();
        let noisy = |row: usize, noise: f64| f64::from(values[2 * row]) + noise > 0.9;
        let labels = (0..rows).map(|row| f32::from(u8::from(noisy(row, 0.6 * random.unit())))).collect();
        Dataset {
            lists: Lists::from_lengths(&vec![10; count], labels),
            features: Matrix::Dense { width: 2, values },
            ..Dataset::default()
        }
    }

    fn config(text: &str) -> Config {
        let model = if text.contains("model =") { "" } else { "model = \"trees\"\n" };
        Settings::from_toml(&format!("{model}{text}")).unwrap().resolve(TrainerKind::Rank).unwrap()
    }

    fn job(text: &str, train: Dataset, valid: Option<Dataset>) -> Job {
        Job::new(&config(text), train.into(), valid.map(Into::into)).unwrap()
    }

    fn trained(text: &str, train: Dataset) -> Ensemble {
        let job = job(text, train, None);
        let views = job.views().unwrap();
        let mut boost = job.trainer(&views).unwrap();
        assert_eq!(boost.run(&mut (), None).unwrap(), Outcome::Finished);
        boost.kept().unwrap().trees().unwrap().ensemble().clone()
    }

    #[test]
    fn the_best_round_on_other_lists_is_kept() {
        let (train, valid) = (data(60, 1), data(40, 2));
        let job = job("objective = \"lambdamart\"\ntrees = 200\npatience = 10", train, Some(valid.clone()));
        let views = job.views().unwrap();
        let mut boost = job.trainer(&views).unwrap();
        assert_eq!(boost.run(&mut (), None).unwrap(), Outcome::StoppedEarly);
        let (value, round) = boost.best().unwrap();
        assert_eq!(boost.records().len() as u32, round + 10, "ten rounds without a better one end it");
        let best =
            boost.records().iter().filter_map(|record| record.metrics[0]).fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(value, best);
        // What was judged round by round over bins is what the trees that are kept say of the values.
        let model = job.model(&*boost).unwrap();
        assert_eq!(model.scoring().trees().unwrap().ensemble().rounds(), round as usize);
        let measures = [config("").measure().unwrap()];
        let scores = model.score(valid.clone()).unwrap();
        let again = evaluate(&valid.lists, &scores, &measures).unwrap();
        assert_eq!(again.results[0].mean, Some(value));
        assert_eq!(boost.take_kept_scores(), Some(scores), "to the bit");
    }

    #[test]
    fn the_base_of_logistic_loss_is_the_logarithm_of_the_odds() {
        let train = data(50, 3);
        let share = f64::from(train.lists.labels.iter().sum::<f32>()) / train.lists.entries() as f64;
        let logistic = trained("objective = \"logistic\"\ntrees = 1", train.clone());
        assert!((logistic.base[0] - (share / (1.0 - share)).ln()).abs() < 1e-6);
        assert_eq!(trained("objective = \"lambdamart\"\ntrees = 1", train).base, [0.0]);
    }

    #[test]
    fn trees_of_a_forest_all_learn_from_the_same_gradient() {
        let forest = |parameters: &str| {
            let text = format!(
                "objective = \"logistic\"\ntrees = 3\nmodel = \"trees:forest=yes:min-rows=1{parameters}\""
            );
            trained(&text, data(30, 3)).trees
        };
        let same = forest(":rows=1:node-features=1:extra=no:leaves=4");
        // Gains come from gradients that are rounded at random, anew for each tree.
        let shape = |tree: &toprank_trees::Tree| {
            let tests = tree.nodes.iter().map(|node| (node.feature, node.test.clone(), node.rows));
            (tests.collect::<Vec<_>>(), tree.leaves.clone())
        };
        assert!(same.iter().all(|tree| shape(tree) == shape(&same[0])));
        let drawn = forest(":rows=0.6");
        assert!(drawn[0].leaves != drawn[1].leaves, "only what is drawn differs");
    }

    #[test]
    fn a_leaf_of_one_long_list_counts_rows_as_many_short_lists_do() {
        let train = data(50, 3);
        let mut one = train.clone();
        one.lists.offsets = vec![0, 500];
        let text = "objective = \"logistic\"\ntrees = 3\nmodel = \"trees:l2=5\"";
        let trained = |data| {
            let settings = Settings::from_toml(text).unwrap().resolve(TrainerKind::Rank).unwrap();
            let job = Job::new(&settings, Dataset::into(data), None).unwrap();
            let views = job.views().unwrap();
            let mut boost = job.trainer(&views).unwrap();
            boost.run(&mut (), None).unwrap();
            boost.kept().unwrap().trees().unwrap().ensemble().clone()
        };
        let (short, long) = (trained(train), trained(one));
        assert!(short.trees[0].nodes.len() > 3);
        for (a, b) in
            short.trees.iter().flat_map(|t| &t.leaves).zip(long.trees.iter().flat_map(|t| &t.leaves))
        {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }

    #[test]
    fn a_run_that_was_stopped_and_taken_up_ends_in_the_same_trees() {
        struct StopAfter(usize);
        impl Callbacks for StopAfter {
            fn stop(&mut self) -> bool {
                self.0 -= 1;
                self.0 == 0
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        for objective in ["song", "logistic", "yetirank"] {
            let text = format!("objective = \"{objective}\"\ntrees = 9\nseed = 3");
            let job = job(&text, data(50, 4), Some(data(20, 5)));
            let views = job.views().unwrap();
            let mut whole = job.trainer(&views).unwrap();
            whole.run(&mut (), None).unwrap();
            let keep = Checkpoints {
                path: &path,
                every: std::time::Duration::ZERO,
                origin: &serde_json::Value::Null,
            };
            let mut first = job.trainer(&views).unwrap();
            assert_eq!(first.run(&mut StopAfter(4), Some(keep)).unwrap(), Outcome::Interrupted);
            let mut second = job.trainer(&views).unwrap();
            second.load_checkpoint(&path).unwrap();
            assert_eq!(second.steps_done(), 4);
            second.run(&mut (), Some(keep)).unwrap();
            let trees = |learner: &dyn Learner| learner.kept().unwrap().trees().unwrap().ensemble().clone();
            assert_eq!(trees(&*second), trees(&*whole), "{objective}");
            assert_eq!(second.best(), whole.best());
            let [kept, expected] = [second.take_kept_scores(), whole.take_kept_scores()];
            assert!(kept.is_none() || kept == expected, "{objective}");
        }
    }

    #[test]
    fn trees_that_go_on_from_others_end_where_an_unbroken_run_ends() {
        let train = data(50, 4);
        for objective in ["logistic", "lambdamart"] {
            let text = |trees: u32| format!("objective = \"{objective}\"\ntrees = {trees}");
            let whole = trained(&text(9), train.clone());
            let first = job(&text(5), train.clone(), None);
            let views = first.views().unwrap();
            let mut boost = first.trainer(&views).unwrap();
            boost.run(&mut (), None).unwrap();
            let model = first.model(&*boost).unwrap();
            let second = Job::warm_started(&config(&text(4)), &model, train.clone().into(), None).unwrap();
            let views = second.views().unwrap();
            let mut boost = second.trainer(&views).unwrap();
            assert_eq!(boost.run(&mut (), None).unwrap(), Outcome::Finished);
            let both = boost.kept().unwrap().trees().unwrap().ensemble().clone();
            assert_eq!(both, whole, "{objective}");
        }
    }

    /// 300 rows of these colours in turn, as a file; green rows are relevant.
    fn coloured(folder: &tempfile::TempDir, name: &str, colours: &[&str]) -> std::path::PathBuf {
        let rows = (0..300).map(|row| colours[row % colours.len()]);
        let rows: String = rows.map(|c| format!("{c},{}\n", u8::from(c == "green"))).collect();
        let path = folder.path().join(name);
        std::fs::write(&path, format!("colour,label\n{rows}")).unwrap();
        path
    }

    fn categorical() -> ReadOptions {
        ReadOptions { categorical: vec!["colour".into()], ..ReadOptions::default() }
    }

    fn read(path: &std::path::Path) -> Dataset {
        toprank_data::formats::read(&Source::path(path), &categorical()).unwrap()
    }

    #[test]
    fn a_warm_start_reads_categories_with_the_codes_of_its_model() {
        let folder = tempfile::tempdir().unwrap();
        let old = read(&coloured(&folder, "old.csv", &["red", "green", "blue"]));
        let text = "objective = \"logistic\"\ntrees = 5";
        let first = job(text, old.clone(), None);
        let views = first.views().unwrap();
        let mut boost = first.trainer(&views).unwrap();
        boost.run(&mut (), None).unwrap();
        let model = first.model(&*boost).unwrap();
        // By itself this file counts green as 0 and mauve, which is new, as 1.
        let new = read(&coloured(&folder, "new.csv", &["green", "mauve", "red"]));
        assert_eq!(new.features.get(0, 0), 0.0);
        let values = [1.0, f32::NAN, 2.0].repeat(100);
        let recoded = Dataset {
            features: Matrix::Dense { width: 1, values },
            columns: old.columns.clone(),
            ..new.clone()
        };
        let warm_started = |data: Dataset| {
            let job =
                Job::warm_started(&config(text), &model, data.clone().into(), Some(data.into())).unwrap();
            let views = job.views().unwrap();
            let mut boost = job.trainer(&views).unwrap();
            boost.run(&mut (), None).unwrap();
            let model = job.model(&*boost).unwrap();
            assert_eq!(model.header().levels[&0], ["blue", "green", "red"]);
            (boost.best(), model.score(old.clone()).unwrap())
        };
        assert_eq!(warm_started(new), warm_started(recoded));
    }

    #[test]
    fn memory_mapped_validation_data_with_other_categories_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let train = read(&coloured(&folder, "train.csv", &["red", "green", "blue"]));
        let begin = |colours: &[&str]| {
            let table = coloured(&folder, "valid.csv", colours);
            let mapped = folder.path().join("valid.toprank-data");
            toprank_data::mapped::convert(&Source::path(table), &categorical(), &mapped).unwrap();
            let valid = toprank_data::MappedDataset::open(&mapped).unwrap();
            let config = config("objective = \"logistic\"\ntrees = 5");
            Job::new(&config, train.clone().into(), Some(valid.into())).map(drop).map_err(|e| e.to_string())
        };
        assert_eq!(begin(&["green", "blue", "red"]), Ok(()));
        let error = begin(&["green", "red"]).unwrap_err();
        assert!(
            error
                .contains("the validation data: a memory-mapped file with other categories in column colour"),
            "{error}"
        );
    }

    #[test]
    fn data_that_others_hold_are_copied_only_if_they_are_changed() {
        let (train, valid) = (Arc::new(data(20, 1)), Arc::new(data(10, 2)));
        let shared = |settings: &Config| {
            let [train, valid] = [&train, &valid].map(|data| crate::Data::Memory(Arc::clone(data)));
            let (train, valid) = Job::new(settings, train, Some(valid)).unwrap().into_data();
            [Some(train), valid].map(|data| match data {
                Some(crate::Data::Memory(data)) => data,
                _ => panic!("in memory"),
            })
        };
        let [a, b] = shared(&config(""));
        assert!(Arc::ptr_eq(&a, &train) && Arc::ptr_eq(&b, &valid), "trees see them as they are");
        let before = (Dataset::clone(&train), Dataset::clone(&valid));
        let [a, b] = shared(&config("transforms = \"standardise\""));
        assert!(a.features != train.features && b.features != valid.features);
        assert_eq!((&before.0, &before.1), (&*train, &*valid));
    }

    #[test]
    fn labels_over_the_same_rows_have_an_output_each() {
        let one = data(20, 5);
        let rows = one.lists.entries();
        let labels = &one.lists.labels;
        let labels: Vec<f32> = labels.iter().copied().chain(labels.iter().map(|y| 1.0 - y)).collect();
        let lists = Lists {
            rows: Some((0..rows as u32).chain(0..rows as u32).collect()),
            output: Some(vec![0, 1]),
            ..Lists::from_lengths(&[rows, rows], labels)
        };
        let features = one.features.clone();
        let both = Dataset { lists, ..one };
        let job = job("objective = \"logistic\"\ntrees = 10", both.clone(), None);
        let views = job.views().unwrap();
        let mut boost = job.trainer(&views).unwrap();
        boost.run(&mut (), None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.toprank");
        job.model(&*boost).unwrap().save(&path).unwrap();
        let loaded = crate::Model::load(&path).unwrap();
        let model = loaded.scoring().trees().unwrap().ensemble().clone();
        assert_eq!(
            &model,
            boost.kept().unwrap().trees().unwrap().ensemble(),
            "what is saved loads bit for bit"
        );
        assert_eq!((model.outputs, model.trees.len()), (2, 20));
        let scores = model.score(&features).unwrap();
        for pair in scores.chunks(2) {
            assert!((pair[0] + pair[1]).abs() < 1e-6, "the second label is the first turned round: {pair:?}");
        }
        assert!(scores.iter().any(|score| score.abs() > 0.3));
    }

    /// Half the squared distance to the label.
    struct Half;

    impl Objective for Half {
        fn shift_invariant(&self) -> bool {
            false
        }

        fn list(&self, input: &Input, _: &mut ListState, _: &mut Work, out: &mut Out) -> Option<f64> {
            let mut loss = 0.0;
            for (i, (score, label)) in input.list.scores.iter().zip(input.list.labels).enumerate() {
                let apart = score - f64::from(*label);
                loss += 0.5 * apart * apart;
                out.gradient[i] += apart;
                if let Some(hessian) = &mut out.hessian {
                    hessian[i] += 1.0;
                }
            }
            Some(loss)
        }
    }

    #[test]
    fn an_objective_of_ones_own_trains_trees() {
        let train = data(50, 7);
        let job = job("trees = 30", train.clone(), None);
        let views = job.views().unwrap();
        let goal = Goal::own("half", Half, &Policy::default());
        let mut boost = job.trainer_with(&views, goal).unwrap();
        boost.run(&mut (), None).unwrap();
        let losses: Vec<f64> = boost.records().iter().map(|record| record.loss).collect();
        assert!(losses.is_sorted_by(|a, b| a > b) && losses[29] < 0.7 * losses[0], "{losses:?}");
        let mean = f64::from(train.lists.labels.iter().sum::<f32>()) / 500.0;
        let base = boost.kept().unwrap().trees().unwrap().ensemble().base[0];
        assert!((base - mean).abs() < 1e-9, "the best constant is the mean");
    }

    #[test]
    fn what_cannot_work_is_said_before_anything_grows() {
        let fails = |text: &str| {
            let job = job(text, data(5, 6), None);
            let views = job.views()?;
            let mut boost = job.trainer(&views)?;
            boost.run(&mut (), None)
        };
        let message = |text: &str| fails(text).unwrap_err().to_string();
        let flat = message("objective = \"auroc:surrogate=one-side-sigmoid\"");
        assert!(flat.contains("a gradient where all scores are equal"), "{flat}");
        for variables in ["", ":variables=online", ":variables=exact"] {
            assert!(fails(&format!("objective = \"pauc-cvar:fpr=0.5{variables}\"\ntrees = 2")).is_ok());
        }
        let settings = Settings { model: Some("trees:increasing=1-7".into()), ..Settings::default() };
        let job = Job::new(&settings.resolve(TrainerKind::Rank).unwrap(), data(5, 6).into(), None).unwrap();
        let views = job.views().unwrap();
        let error = job.trainer(&views).err().unwrap().to_string();
        assert_eq!(
            error,
            "increasing and decreasing must be features from 1 to 2, as the data have, but is feature 7"
        );
    }
}

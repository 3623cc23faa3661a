/*!
Boosted trees from lists, an objective of the catalog and a metric: LambdaMART and its relatives.

```text
base: where shifting all scores changes the loss, the shift that Newton's method finds
each round: gradient and curvature of the objective at the present scores → one tree per output
            validation: the metric on other lists; the best round is kept, `patience` rounds without a better one end it
```

```
use toprank_core::{Lists, Policy};
use toprank_data::Matrix;
use toprank_objectives::Goal;
use toprank_train::boost::{BoostSettings, Part, boost};
let lists = Lists::from_lengths(&[40, 40], (0..80).map(|i| (i % 3) as f32).collect());
let features = Matrix::Dense { width: 1, values: (0..80).map(|i| (i % 3) as f32 * 0.5).collect() };
let goal = Goal::parse("lambdarank@10:norm=lightgbm", &Policy::default()).unwrap();
let train = Part { lists: &lists, features: &features, categorical: &[] };
let settings = BoostSettings { trees: 5, ..BoostSettings::default() };
let model = boost(&goal, train, None, &settings, None, &mut |_| true).unwrap().ensemble;
assert_eq!(model.rounds(), 5);
let scores = model.score(&features).unwrap();
assert!(scores[2] > scores[1] && scores[1] > scores[0]);
```
*/

use serde::{Deserialize, Serialize};
use toprank_core::{Features, Lists, ModelError, Policy, Stream, ordered_sum};
use toprank_metrics::{Measure, MeasureResult, evaluate};
use toprank_objectives::{Batch, Goal, Gradients, Reduction};
use toprank_trees::{BinSettings, Binned, Bins, Booster, Boosting, Ensemble};

use crate::error::TrainError;

/// How trees are boosted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BoostSettings {
    /// Most rounds, 100 by default.
    pub trees: usize,
    /// The metric of validation, `ndcg@10` by default.
    pub metric: String,
    /// Rounds without a better validation before boosting stops, 50 by default; 0: never.
    pub patience: usize,
    /// How features become bins.
    pub bins: BinSettings,
    /// How each tree grows and counts.
    pub boosting: Boosting,
}

impl Default for BoostSettings {
    fn default() -> BoostSettings {
        BoostSettings {
            trees: 100,
            metric: "ndcg@10".into(),
            patience: 50,
            bins: BinSettings::default(),
            boosting: Boosting::default(),
        }
    }
}

/// Lists to learn from or to be judged on.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// Labels, weights, places.
    pub lists: &'a Lists,
    /// One row per item.
    pub features: &'a dyn Features,
    /// Which features hold categories; empty: none.
    pub categorical: &'a [bool],
}

/// What a round came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Its number, from 1.
    pub round: usize,
    /// Loss before it, over the training lists.
    pub loss: f64,
    /// The metric after it, over the validation lists.
    pub valid: Option<f64>,
}

/// What boosting came to.
#[derive(Clone, Debug)]
pub struct Boosted {
    /// The trees up to the best round, or all.
    pub ensemble: Ensemble,
    /// Every round that was made.
    pub rounds: Vec<Round>,
    /// The best round and its value of the metric, with validation.
    pub best: Option<(usize, f64)>,
    /// The metric of every validation list after the best round.
    pub valid: Option<MeasureResult>,
}

/// The lists of validation, while boosting.
struct Watched<'a> {
    lists: &'a Lists,
    data: Binned,
    scores: Vec<f64>,
    measure: Vec<Measure>,
    best: Option<(usize, MeasureResult)>,
}

/// Boosts trees; `from`: the trees to go on from. `each` hears of every round and says whether to go on.
pub fn boost(
    goal: &Goal,
    train: Part,
    valid: Option<Part>,
    settings: &BoostSettings,
    from: Option<Ensemble>,
    each: &mut dyn FnMut(&Round) -> bool,
) -> Result<Boosted, TrainError> {
    let outputs = outputs(train.lists);
    let bins = Bins::fit(train.features, train.categorical, &settings.bins)?;
    let data = bins.apply(train.features)?;
    let shared = train.lists.rows.is_some() || train.lists.output.is_some();
    // Where lists share rows a list cannot be left out by leaving rows out: every row counts as a list.
    let offsets = if shared { &[][..] } else { &train.lists.offsets };
    check_rows(train.lists, data.rows())?;
    let fresh = from.is_none();
    let start = from.unwrap_or_else(|| Ensemble::new(bins.width(), outputs));
    let scores = start.score(train.features)?;
    let mut booster = Booster::resume(&data, offsets, settings.boosting.clone(), start, scores)?;
    if booster.ensemble().outputs != outputs {
        let found = format!("trees of {} outputs", booster.ensemble().outputs);
        return Err(ModelError::new(found, format!("{outputs}, as the lists ask for")).into());
    }
    let mut pass = Pass::new(goal, train.lists, settings.boosting.seed)?;
    if fresh && !goal.objective().shift_invariant() {
        pass.find_base(&mut booster)?;
    }
    let mut watched = match valid {
        None => None,
        Some(part) => {
            check_rows(part.lists, part.features.rows())?;
            let data = bins.apply(part.features)?;
            let scores = booster.ensemble().score(part.features)?;
            let measure = Measure::parse_all(&settings.metric, &Policy::default())?;
            Some(Watched { lists: part.lists, data, scores, measure, best: None })
        }
    };

    let mut rounds = Vec::new();
    let before = booster.ensemble().rounds();
    for round in before + 1..=before + settings.trees {
        let loss = pass.gradients(booster.scores(), outputs, round as u64)?;
        booster.round(&pass.gradient, &pass.curvature)?;
        let value = watched.as_mut().map(|watched| watched.judge(&booster, round)).transpose()?.flatten();
        let now = Round { round, loss, valid: value };
        rounds.push(now);
        let best = watched.as_ref().and_then(|watched| watched.best.as_ref());
        let tired = settings.patience > 0 && best.is_some_and(|best| round - best.0 >= settings.patience);
        if !each(&now) || tired {
            break;
        }
    }
    let mut ensemble = booster.into_ensemble();
    let best = watched.and_then(|watched| watched.best);
    if let Some((round, _)) = best {
        ensemble.truncate(round);
    }
    let (best, valid) =
        best.map(|(round, result)| ((round, result.mean.unwrap_or(f64::NAN)), result)).unzip();
    Ok(Boosted { ensemble, rounds, best, valid })
}

fn outputs(lists: &Lists) -> usize {
    lists.output.as_ref().and_then(|o| o.iter().max()).map_or(1, |&o| usize::from(o) + 1)
}

fn check_rows(lists: &Lists, rows: usize) -> Result<(), TrainError> {
    let needed = match &lists.rows {
        Some(rows) => rows.iter().max().map_or(0, |&row| row as usize + 1),
        None => lists.entries(),
    };
    if needed > rows || (lists.rows.is_none() && needed != rows) {
        return Err(ModelError::new(
            format!("{rows} rows of features"),
            format!("{needed}, as the lists have"),
        )
        .into());
    }
    Ok(())
}

impl Watched<'_> {
    fn judge(&mut self, booster: &Booster, round: usize) -> Result<Option<f64>, TrainError> {
        booster.add_last_round(&self.data, &mut self.scores);
        let scores = self.lists.scores_of_entries(&self.scores, booster.ensemble().outputs);
        let result = evaluate(self.lists, &scores, &self.measure)?.results.swap_remove(0);
        let value = result.mean;
        let better = |new: f64, old: f64| match result.better {
            toprank_metrics::Better::Higher => new > old,
            toprank_metrics::Better::Lower => new < old,
        };
        let old = self.best.as_ref().and_then(|best| best.1.mean);
        if value.is_some_and(|value| old.is_none_or(|old| better(value, old))) {
            self.best = Some((round, result));
        }
        Ok(value)
    }
}

/// Gradients of the objective, by row and output.
struct Pass<'a> {
    goal: &'a Goal,
    lists: &'a Lists,
    state: toprank_objectives::State,
    out: Gradients,
    stream: Stream,
    gradient: Vec<f64>,
    curvature: Vec<f64>,
}

impl<'a> Pass<'a> {
    fn new(goal: &'a Goal, lists: &'a Lists, seed: u64) -> Result<Pass<'a>, TrainError> {
        Ok(Pass {
            goal,
            lists,
            state: goal.state(lists)?,
            out: Gradients { want_curvature: true, ..Gradients::default() },
            stream: Stream::new(seed, "objective"),
            gradient: Vec::new(),
            curvature: Vec::new(),
        })
    }

    /// Gradient and curvature at these scores of rows; returns the loss.
    fn gradients(&mut self, scores: &[f64], outputs: usize, step: u64) -> Result<f64, TrainError> {
        let lists = self.lists;
        let shared = lists.rows.is_some() || lists.output.is_some();
        let entries = if shared { lists.scores_of_entries(scores, outputs) } else { Vec::new() };
        let batch = Batch {
            stream: self.stream.at_step(step),
            reduction: Reduction::Sum,
            ..Batch::all(lists, if shared { &entries } else { scores })
        };
        self.goal.step(&batch, &mut self.state, &mut self.out)?;
        if !shared {
            std::mem::swap(&mut self.gradient, &mut self.out.gradient);
            std::mem::swap(&mut self.curvature, &mut self.out.curvature);
            return Ok(self.out.loss);
        }
        for (by_row, by_entry) in
            [(&mut self.gradient, &self.out.gradient), (&mut self.curvature, &self.out.curvature)]
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
        Ok(self.out.loss)
    }

    /// Shifts each output to where Newton's method over one number ends.
    fn find_base(&mut self, booster: &mut Booster) -> Result<(), TrainError> {
        const STEPS: usize = 20;
        let outputs = booster.ensemble().outputs;
        for _ in 0..STEPS {
            self.gradients(booster.scores(), outputs, 0)?;
            let mut moved = false;
            for output in 0..outputs {
                let column = |values: &[f64]| {
                    values.iter().skip(output).step_by(outputs).copied().collect::<Vec<f64>>()
                };
                let (g, h) = (ordered_sum(&column(&self.gradient)), ordered_sum(&column(&self.curvature)));
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
        // What the objective remembers starts with the first round.
        self.state = self.goal.state(self.lists)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_data::Matrix;

    fn goal(text: &str) -> Goal {
        Goal::parse(text, &Policy::default()).unwrap()
    }

    /// Lists of 10 whose labels follow the first feature, more or less.
    fn lists(count: usize, seed: u64) -> (Lists, Matrix) {
        let mut random = Stream::new(seed, "boosting").open();
        let rows = count * 10;
        let values: Vec<f32> = (0..rows * 2).map(|_| random.unit() as f32).collect();
        let noisy = |row: usize, noise: f64| f64::from(values[2 * row]) + noise > 0.9;
        let labels = (0..rows).map(|row| f32::from(u8::from(noisy(row, 0.6 * random.unit())))).collect();
        (Lists::from_lengths(&vec![10; count], labels), Matrix::Dense { width: 2, values })
    }

    fn settings(trees: usize) -> BoostSettings {
        BoostSettings { trees, ..BoostSettings::default() }
    }

    #[test]
    fn the_best_round_on_other_lists_is_kept() {
        let ((lists, features), (other, other_features)) = (lists(60, 1), lists(40, 2));
        let train = Part { lists: &lists, features: &features, categorical: &[] };
        let valid = Part { lists: &other, features: &other_features, categorical: &[] };
        let settings = BoostSettings { patience: 10, ..settings(200) };
        let boosted = boost(&goal("lambdarank"), train, Some(valid), &settings, None, &mut |_| true).unwrap();
        let (round, value) = boosted.best.unwrap();
        assert_eq!(boosted.ensemble.rounds(), round);
        assert_eq!(boosted.rounds.len(), round + 10, "ten rounds without a better one end it");
        let best = boosted.rounds.iter().filter_map(|round| round.valid).fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(value, best);
        // What was judged round by round over bins is what the trees that are kept say of the values.
        let measures = Measure::parse_all("ndcg@10", &Policy::default()).unwrap();
        let scores = boosted.ensemble.score(&other_features).unwrap();
        let again = evaluate(&other, &scores, &measures).unwrap().results.swap_remove(0);
        assert_eq!(again.mean, Some(value));
        assert_eq!(again.per_list.len(), boosted.valid.unwrap().per_list.len());
    }

    #[test]
    fn the_base_of_logistic_loss_is_the_logarithm_of_the_odds() {
        let (lists, features) = lists(50, 3);
        let train = Part { lists: &lists, features: &features, categorical: &[] };
        let boosted = boost(&goal("logistic"), train, None, &settings(1), None, &mut |_| true).unwrap();
        let share = f64::from(lists.labels.iter().sum::<f32>()) / lists.entries() as f64;
        assert!((boosted.ensemble.base[0] - (share / (1.0 - share)).ln()).abs() < 1e-6);
        let ranked = boost(&goal("lambdarank"), train, None, &settings(1), None, &mut |_| true).unwrap();
        assert_eq!(ranked.ensemble.base, [0.0]);
    }

    #[test]
    fn going_on_from_trees_ends_where_an_unbroken_run_ends() {
        let (lists, features) = lists(50, 4);
        let train = Part { lists: &lists, features: &features, categorical: &[] };
        let run = |trees: usize, from: Option<Ensemble>| {
            boost(&goal("logistic"), train, None, &settings(trees), from, &mut |_| true).unwrap().ensemble
        };
        assert_eq!(run(4, Some(run(5, None))), run(9, None));
    }

    #[test]
    fn labels_over_the_same_rows_have_an_output_each() {
        let (one, features) = lists(20, 5);
        let rows = one.entries();
        let labels: Vec<f32> = one.labels.iter().copied().chain(one.labels.iter().map(|y| 1.0 - y)).collect();
        let both = Lists {
            rows: Some((0..rows as u32).chain(0..rows as u32).collect()),
            output: Some(vec![0, 1]),
            ..Lists::from_lengths(&[rows, rows], labels)
        };
        let train = Part { lists: &both, features: &features, categorical: &[] };
        let model =
            boost(&goal("logistic"), train, None, &settings(10), None, &mut |_| true).unwrap().ensemble;
        assert_eq!((model.outputs, model.trees.len()), (2, 20));
        let scores = model.score(&features).unwrap();
        for pair in scores.chunks(2) {
            assert!((pair[0] + pair[1]).abs() < 1e-6, "the second label is the first turned round: {pair:?}");
        }
        assert!(scores.iter().any(|score| score.abs() > 0.3));
    }

    #[test]
    fn rows_that_do_not_fit_the_lists_are_an_error() {
        let (lists, _) = lists(2, 6);
        let features = Matrix::Dense { width: 1, values: vec![0.0; 7] };
        let train = Part { lists: &lists, features: &features, categorical: &[] };
        let error = boost(&goal("listnet"), train, None, &settings(1), None, &mut |_| true).unwrap_err();
        assert_eq!(error.to_string(), "7 rows of features, expected 20, as the lists have");
    }
}

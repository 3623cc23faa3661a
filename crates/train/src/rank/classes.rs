//! Learning over classes: rows as lists whose items are the outputs, and where the scores of trees start.

use toprank_core::Lists;

use crate::error::TrainError;
use crate::store::fingerprint::Input;

/// Rows as lists, each with one item per output, for objectives [over outputs](toprank_objectives::Objective::over_outputs): the
/// layout of scores by row. The weight of a row is that of its list.
pub(super) fn rows_as_lists(lists: &Lists, rows: usize) -> Result<Lists, TrainError> {
    let outputs = lists.output.iter().flatten().max().map_or(1, |&last| usize::from(last) + 1);
    let mut labels = vec![f32::NAN; rows * outputs];
    let mut weights = vec![1.0; rows];
    for q in 0..lists.len() {
        let output = lists.output.as_ref().map_or(0, |output| usize::from(output[q]));
        for entry in lists.range(q) {
            let row = lists.row(entry);
            labels[row * outputs + output] = lists.labels[entry];
            if let Some(of_entries) = &lists.item_weights {
                weights[row] = of_entries[entry];
            }
        }
    }
    if outputs < 2 || labels.iter().any(|label| label.is_nan()) {
        let found = if outputs < 2 { "one label" } else { "rows without a label of every class" };
        let expected =
            "a column of classes (--class), or a label column of 0 and 1 for each class (--labels)";
        return Err(TrainError::unsuitable(Input::Data, found, expected));
    }
    Ok(Lists {
        list_weights: lists.item_weights.as_ref().map(|_| weights),
        ..Lists::from_lengths(&vec![outputs; rows], labels)
    })
}

/// ln of the weighted fraction of each class: the best scores that are the same for all rows. A class without rows counts as half a
/// row.
pub(super) fn log_frequencies(rows: &Lists) -> Vec<f64> {
    let outputs = rows.range(0).len();
    let weight = |row: usize| rows.list_weights.as_ref().map_or(1.0, |weights| f64::from(weights[row]));
    let mut counts = vec![0.0; outputs];
    for (row, labels) in rows.labels.chunks(outputs).enumerate() {
        let total: f64 = labels.iter().map(|label| f64::from(label.max(0.0))).sum();
        if total > 0.0 {
            let share = |label: f32| weight(row) * f64::from(label.max(0.0)) / total;
            counts.iter_mut().zip(labels).for_each(|(count, &label)| *count += share(label));
        }
    }
    let all: f64 = counts.iter().sum();
    counts.iter().map(|count| (count.max(0.5) / all.max(1.0)).ln()).collect()
}

/// Scores of entries to probabilities: the softmax over the outputs of each row.
pub(crate) fn softmax_of_rows(lists: &Lists, scores: &mut [f64]) {
    let rows = (0..lists.entries()).map(|entry| lists.row(entry) + 1).max().unwrap_or(0);
    let (mut tops, mut sums) = (vec![f64::NEG_INFINITY; rows], vec![0.0; rows]);
    for (entry, score) in scores.iter().enumerate() {
        tops[lists.row(entry)] = score.max(tops[lists.row(entry)]);
    }
    for (entry, score) in scores.iter_mut().enumerate() {
        *score = (*score - tops[lists.row(entry)]).exp();
        sums[lists.row(entry)] += *score;
    }
    scores.iter_mut().enumerate().for_each(|(entry, score)| *score /= sums[lists.row(entry)]);
}

#[cfg(test)]
mod tests {
    use toprank_core::{Features, Stream};
    use toprank_data::{Dataset, Matrix, Names};

    use super::*;
    use crate::fit::training_loop::{Callbacks, Checkpoints};
    use crate::{Job, Outcome, Settings, TrainerKind};

    const CLASSES: usize = 3;

    /// Rows of three classes, one list each, that depend on two features and chance; every other row weighs 2 if wanted.
    fn data(rows: usize, seed: u64, weighted: bool) -> Dataset {
        let mut random = Stream::new(seed, "classes").open();
        let (mut values, mut classes) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let (x, y) = (random.unit(), random.unit());
            values.extend([x as f32, y as f32]);
            let noisy = x + 0.4 * random.unit();
            classes.push(if noisy > 0.9 { 0 } else { 1 + usize::from(y > 0.3) });
        }
        let labels = (0..CLASSES).flat_map(|k| classes.iter().map(move |&c| f32::from(u8::from(c == k))));
        let names: Names = ["a", "b", "c"].into_iter().collect();
        Dataset {
            lists: Lists {
                rows: Some((0..CLASSES).flat_map(|_| 0..rows as u32).collect()),
                output: Some(vec![0, 1, 2]),
                item_weights: weighted
                    .then(|| (0..CLASSES * rows).map(|entry| 1.0 + (entry % rows % 2) as f32).collect()),
                ..Lists::from_lengths(&[rows; CLASSES], labels.collect())
            },
            features: Matrix::Dense { width: 2, values },
            output_names: Some(names.clone()),
            list_names: Some(names),
            ..Dataset::default()
        }
    }

    fn job(text: &str, train: Dataset, valid: Option<Dataset>) -> Job {
        let text = format!("model = \"trees:leaves=4:min-rows=5\"\nobjective = \"multiclass\"\n{text}");
        let config = Settings::from_toml(&text).unwrap().resolve(TrainerKind::Rank).unwrap();
        let config = config.suited_to(&train.lists).unwrap();
        Job::new(&config, train.into(), valid.map(Into::into)).unwrap()
    }

    /// Mean −ln of the probability of the class of each row.
    fn log_loss(data: &Dataset, probabilities: &[f64]) -> f64 {
        let rows = data.lists.entries() / CLASSES;
        let of_class = data.lists.labels.iter().zip(probabilities).filter(|(label, _)| **label == 1.0);
        of_class.map(|(_, p)| -p.ln()).sum::<f64>() / rows as f64
    }

    #[test]
    fn trees_learn_the_probabilities_of_classes() {
        let (train, test) = (data(600, 1, true), data(600, 2, false));
        let job = job("trees = 40\nlearning-rate = 0.2", train.clone(), Some(test.clone()));
        let views = job.views().unwrap();
        let mut boost = job.trainer(&views).unwrap();
        assert_eq!(boost.run(&mut (), None).unwrap(), Outcome::Finished);
        let losses: Vec<f64> = boost.records().iter().map(|record| record.loss).collect();
        assert!(losses.is_sorted_by(|a, b| a > b), "{losses:?}");
        let model = job.model(&*boost).unwrap();
        let ensemble = model.scoring().trees().unwrap().ensemble();
        // Before the first tree every row has the frequencies of the classes, weighted.
        let total: f32 = train.lists.item_weights.as_ref().unwrap()[..600].iter().sum();
        for (k, base) in ensemble.base.iter().enumerate() {
            let range = train.lists.range(k);
            let weights = &train.lists.item_weights.as_ref().unwrap()[range.clone()];
            let count: f32 = train.lists.labels[range].iter().zip(weights).map(|(y, w)| y * w).sum();
            assert!((base.exp() - f64::from(count / total)).abs() < 1e-6, "{k}: {base}");
        }
        let mut probabilities = model.score(test.clone()).unwrap();
        let constant: Vec<f64> = ensemble.base.iter().flat_map(|base| vec![base.exp(); 600]).collect();
        assert!(model.gives_probabilities() && model.to_probabilities(&test.lists, &mut probabilities));
        for row in 0..600 {
            let sum: f64 = (0..CLASSES).map(|k| probabilities[k * 600 + row]).sum();
            assert!((sum - 1.0).abs() < 1e-12);
        }
        let (learned, plain) = (log_loss(&test, &probabilities), log_loss(&test, &constant));
        assert!(learned < 0.5 * plain, "{learned} {plain}");
    }

    #[test]
    fn the_gradient_of_a_round_is_the_softmax_minus_the_class() {
        let train = data(50, 3, true);
        let rows = rows_as_lists(&train.lists, 50).unwrap();
        let goal = toprank_objectives::Goal::parse("multiclass", &toprank_core::Policy::default()).unwrap();
        let scores: Vec<f64> = (0..150).map(|i| f64::from(i).sin()).collect();
        let mut out = toprank_objectives::Gradients::default();
        let batch = toprank_objectives::Batch {
            reduction: toprank_objectives::Reduction::Sum,
            ..toprank_objectives::Batch::all(&rows, &scores)
        };
        goal.step(&batch, &mut goal.state(&rows).unwrap(), &mut out).unwrap();
        for row in 0..50 {
            let exp = |k: usize| scores[CLASSES * row + k].exp();
            let sum: f64 = (0..CLASSES).map(exp).sum();
            for k in 0..CLASSES {
                let expected = exp(k) / sum - f64::from(train.lists.labels[50 * k + row]);
                let weight = 1.0 + (row % 2) as f64;
                assert!((out.gradient[CLASSES * row + k] - weight * expected).abs() < 1e-12, "{row} {k}");
            }
        }
    }

    #[test]
    fn a_resumed_run_ends_in_the_same_trees() {
        struct Stop(usize);
        impl Callbacks for Stop {
            fn stop(&mut self) -> bool {
                self.0 -= 1;
                self.0 == 0
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        let job = job("trees = 6", data(200, 4, false), None);
        let views = job.views().unwrap();
        let mut whole = job.trainer(&views).unwrap();
        whole.run(&mut (), None).unwrap();
        let origin = serde_json::Value::Null;
        let keep = Checkpoints { path: &path, every: std::time::Duration::ZERO, origin: &origin };
        let mut first = job.trainer(&views).unwrap();
        assert_eq!(first.run(&mut Stop(3), Some(keep)).unwrap(), Outcome::Interrupted);
        let mut second = job.trainer(&views).unwrap();
        second.load_checkpoint(&path).unwrap();
        second.run(&mut (), Some(keep)).unwrap();
        let [a, b] = [&whole, &second].map(|l| l.kept().unwrap().trees().unwrap().ensemble().clone());
        assert_eq!(a, b);
    }

    #[test]
    fn what_is_not_classes_is_refused() {
        let mut unlabelled = data(30, 5, false);
        unlabelled.lists.labels[7] = f32::NAN;
        let one = Dataset {
            lists: Lists::from_lengths(&[30], vec![1.0; 30]),
            features: unlabelled.features.clone(),
            ..Dataset::default()
        };
        for (data, words) in [(unlabelled, "rows without a label"), (one, "one label")] {
            let job = job("trees = 2", data, None);
            let error = job.trainer(&job.views().unwrap()).err().unwrap().to_string();
            assert!(error.contains(words) && error.contains("--class"), "{error}");
        }
        for (text, words) in [
            ("model = \"linear\"\nwarm-up = 2", "warm-up must be omitted"),
            ("model = \"trees\"\ncalibrate = \"platt\"", "calibrate must be auto or none"),
        ] {
            let settings = Settings::from_toml(&format!("objective = \"multiclass\"\n{text}")).unwrap();
            let error = settings.resolve(TrainerKind::Rank).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[cfg(feature = "neural")]
    mod networks {
        use super::*;

        fn network_job(text: &str, train: Dataset, valid: Option<Dataset>) -> Job {
            let text = format!("objective = \"multiclass\"\n{text}");
            let config = Settings::from_toml(&text).unwrap().resolve(TrainerKind::Rank).unwrap();
            let config = config.suited_to(&train.lists).unwrap();
            Job::new(&config, train.into(), valid.map(Into::into)).unwrap()
        }

        #[test]
        fn networks_learn_the_probabilities_of_classes() {
            let (train, test) = (data(600, 1, true), data(600, 2, false));
            let plain = log_loss(&test, &[1.0 / CLASSES as f64; CLASSES * 600]);
            for (model, most) in [("linear", 0.8), ("mlp:hidden=16", 0.6)] {
                let text = format!("model = \"{model}\"\nlearning-rate = 0.03\nepochs = 30");
                let job = network_job(&text, train.clone(), Some(test.clone()));
                let views = job.views().unwrap();
                let mut trainer = job.trainer(&views).unwrap();
                assert_eq!(trainer.config().sampler(), "lists:batch=128");
                assert_eq!(trainer.run(&mut (), None).unwrap(), Outcome::Finished);
                let model = job.model(&*trainer).unwrap();
                let mut probabilities = model.score(test.clone()).unwrap();
                assert!(
                    model.gives_probabilities() && model.to_probabilities(&test.lists, &mut probabilities)
                );
                for row in 0..600 {
                    let sum: f64 = (0..CLASSES).map(|k| probabilities[k * 600 + row]).sum();
                    assert!((sum - 1.0).abs() < 1e-12);
                }
                let written = crate::store::onnx::write(&model, 20).unwrap();
                let program = toprank_onnx::Program::read(&written.bytes).unwrap();
                let mut values = vec![0.0; 2 * written.rows.rows()];
                written
                    .rows
                    .features
                    .gather(&(0..written.rows.rows() as u32).collect::<Vec<_>>(), &mut values);
                let rows = toprank_onnx::Array::new(&[20, 2], values.into_iter().map(f64::from).collect());
                let outputs = program.run(&[("features", rows)]).unwrap();
                for (scores, softmax) in outputs["scores"]
                    .values
                    .chunks(CLASSES)
                    .zip(outputs["probabilities"].values.chunks(CLASSES))
                {
                    let sum: f64 = scores.iter().map(|s| s.exp()).sum();
                    assert!(scores.iter().zip(softmax).all(|(s, p)| (s.exp() / sum - p).abs() < 1e-6));
                }
                let learned = log_loss(&test, &probabilities);
                assert!(learned < most * plain, "{learned} {plain}");
            }
        }

        #[test]
        fn the_gradient_of_a_step_is_the_derivative_of_its_loss() {
            use toprank_core::{Differentiable, Policy};
            use toprank_objectives::{Draws, Goal};

            use crate::fit::engine::{At, Engine, Examples, Into as To, Task};

            let train = data(40, 3, true);
            let rows = rows_as_lists(&train.lists, 40).unwrap();
            let architecture = crate::rank::models::network("mlp:hidden=5:activation=tanh").unwrap().unwrap();
            let model: Box<dyn Differentiable> = architecture.build(2, CLASSES).unwrap();
            let goal = Goal::parse("multiclass", &Policy::default()).unwrap();
            let mut parameters = vec![0.0; model.parameters()];
            model.init(Stream::new(1, "init"), &mut parameters);
            // Rows in any order, each with all its outputs.
            let drawn: Vec<u32> = vec![3, 7, 8, 21, 39];
            let count = drawn.len();
            let draws = Draws {
                items: (0..count).flat_map(|_| 0..CLASSES as u32).collect(),
                offsets: (0..=count).map(|d| (d * CLASSES) as u64).collect(),
                lists: drawn,
                ..Draws::default()
            };
            let examples = Examples { lists: &rows, features: &train.features };
            let task = Task { model: &*model, goal: &goal, examples };
            let at = |parameters: &[f32]| {
                let mut gradient = vec![0.0; parameters.len()];
                let mut state = goal.state(&rows).unwrap();
                let to = To { gradient: &mut gradient, previous: None };
                let at = At { parameters, previous: None };
                let seen =
                    Engine::new(3).gradient(task, at, &mut state, &draws, Stream::new(1, "t"), to).unwrap();
                (seen.loss, gradient)
            };
            let (_, gradient) = at(&parameters);
            let largest = gradient.iter().fold(0.0f32, |top, g| top.max(g.abs()));
            assert!(largest > 0.01);
            for place in 0..parameters.len() {
                let moved = |h: f32| {
                    let mut moved = parameters.clone();
                    moved[place] += h;
                    at(&moved).0
                };
                let h = 4e-3;
                let slope = (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h)))
                    / (12.0 * f64::from(h));
                let error = (f64::from(gradient[place]) - slope).abs();
                assert!(error < 0.01 * f64::from(largest), "{place}: {} {slope}", gradient[place]);
            }
        }

        #[test]
        fn models_of_whole_lists_and_samplers_of_single_items_are_refused() {
            for (text, words) in [
                ("model = \"context\"", "model must be a model that looks at each row by itself"),
                (
                    "model = \"linear\"\nsampler = \"rows:batch=8\"",
                    "sampler must be lists for an objective over",
                ),
            ] {
                let job = network_job(text, data(30, 5, false), None);
                let error = job.trainer(&job.views().unwrap()).err().unwrap().to_string();
                assert!(error.contains(words), "{error}");
            }
        }
    }
}

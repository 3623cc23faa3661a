//! The trainer on a model small enough to compute by hand: score = w·x + b.

use toprank_core::{Block, Differentiable, Lists, ModelError, ModelInput, Role, Stream, Tape};
use toprank_data::Matrix;

use crate::fit::engine::{Examples, score};
use crate::rank::job::Learner;
use crate::{
    Callbacks, Checkpoints, Config, Outcome, Progress, Record, Settings, TrainError, Trainer, TrainerKind,
    TrainingLoop,
};

struct Line {
    width: usize,
    blocks: Vec<Block>,
}

fn line(width: usize) -> Box<dyn Differentiable> {
    let block = |name: &str, length, role, last_layer| Block {
        name: name.into(),
        shape: vec![length],
        role,
        last_layer,
    };
    Box::new(Line {
        width,
        blocks: vec![block("weight", width, Role::Weight, false), block("bias", 1, Role::Offset, true)],
    })
}

fn gathered(input: &ModelInput) -> Vec<f32> {
    let mut x = vec![0.0; input.rows.len() * input.features.width()];
    input.features.gather(input.rows, &mut x);
    x
}

impl Differentiable for Line {
    fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    fn width(&self) -> usize {
        self.width
    }

    fn init(&self, stream: Stream, parameters: &mut [f32]) {
        let mut random = stream.open();
        for w in parameters {
            *w = random.unit() as f32 - 0.5;
        }
    }

    fn forward(
        &self,
        w: &[f32],
        input: &ModelInput,
        _: Option<Stream>,
        tape: &mut Tape,
        scores: &mut [f64],
    ) -> Result<(), ModelError> {
        self.score(w, input, tape, scores)?;
        *tape.get() = gathered(input);
        Ok(())
    }

    fn backward(
        &self,
        _: &[f32],
        tape: &mut Tape,
        dscore: &[f64],
        gradient: &mut [f32],
    ) -> Result<(), ModelError> {
        let width = self.width;
        for (x, g) in tape.get::<Vec<f32>>().chunks(width).zip(dscore) {
            gradient[..width].iter_mut().zip(x).for_each(|(sum, x)| *sum += *g as f32 * x);
            gradient[width] += *g as f32;
        }
        Ok(())
    }

    fn score(
        &self,
        w: &[f32],
        input: &ModelInput,
        _: &mut Tape,
        scores: &mut [f64],
    ) -> Result<(), ModelError> {
        for (x, score) in gathered(input).chunks(self.width).zip(scores) {
            *score = x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum::<f64>()
                + f64::from(w[self.width]);
        }
        Ok(())
    }
}

/// Lists whose relevant items have a greater first feature, with noise.
fn data(lists: usize, seed: u64) -> (Lists, Matrix) {
    let (mut lengths, mut labels, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for q in 0..lists {
        let mut random = Stream::new(seed, "test data").of_list(q as u32).open();
        let length = 2 + random.below(20);
        lengths.push(length);
        for _ in 0..length {
            let label = random.below(3) as f32;
            labels.push(label);
            values.extend([label + 2.0 * random.unit() as f32, random.unit() as f32, random.unit() as f32]);
        }
    }
    (Lists::from_lengths(&lengths, labels), Matrix::Dense { width: 3, values })
}

fn config(text: &str) -> Config {
    Settings::from_toml(text).unwrap().resolve(TrainerKind::Rank).unwrap()
}

fn examples(data: &(Lists, Matrix)) -> Examples<'_> {
    Examples { lists: &data.0, features: &data.1 }
}

#[test]
fn one_step_is_the_step_computed_by_hand() {
    // RankNet on two items at scores a and b: gradient -σ(b - a) on the relevant one.
    let lists = Lists::from_lengths(&[2], vec![1.0, 0.0]);
    let features = Matrix::Dense { width: 2, values: vec![1.0, 2.0, 3.0, -1.0] };
    let config = config(
        "objective = \"ranknet\"\noptimiser = \"sgd\"\nrate = 0.5\nepochs = 1\nclip = 0.0\nsampler = \"lists:batch=1\"",
    );
    let mut trainer =
        Trainer::new(&config, line(2), Examples { lists: &lists, features: &features }, None).unwrap();
    let before = trainer.parameters();
    let score = |x: [f32; 2]| f64::from(before[0] * x[0] + before[1] * x[1] + before[2]);
    let pull = 1.0 / (1.0 + (score([1.0, 2.0]) - score([3.0, -1.0])).exp());
    trainer.run(&mut (), None).unwrap();
    // ∂loss/∂w = -pull·x₁ + pull·x₂, and the bias feels both.
    let expected = [
        f64::from(before[0]) - 0.5 * pull * (3.0 - 1.0),
        f64::from(before[1]) - 0.5 * pull * (-1.0 - 2.0),
        f64::from(before[2]),
    ];
    for (found, expected) in trainer.parameters().iter().zip(expected) {
        assert!((f64::from(*found) - expected).abs() < 1e-6, "{found} is not {expected}");
    }
}

/// Stops after a number of steps.
struct After(u64);

impl Callbacks for After {
    fn step(&mut self, _: &Progress) {
        self.0 = self.0.saturating_sub(1);
    }

    fn stop(&mut self) -> bool {
        self.0 == 0
    }
}

#[test]
fn objectives_are_told_how_often_items_and_lists_are_drawn() {
    let train = data(30, 1);
    let run = |objective: &str, sampler: &str| {
        let text = format!("objective = \"{objective}\"\nepochs = 3\nsampler = \"{sampler}\"");
        let mut trainer = Trainer::new(&config(&text), line(3), examples(&train), None).unwrap();
        trainer.run(&mut (), None).unwrap();
        trainer.parameters()
    };
    let (two, all, few) = ("lists:batch=2", "lists:batch=all", "strata:batch=15:relevant=2:others=2");
    let pairs = ["song-v2:beta=theory", "song-v2:beta=theory:rate=1"];
    assert_ne!(run(pairs[0], two), run(pairs[1], two));
    assert_ne!(run(pairs[0], few), run(pairs[1], few));
    assert_eq!(run(pairs[0], all), run(pairs[1], all));
    let lists = "k-song-v2@3:beta-s=theory";
    assert_ne!(run(lists, two), run(&format!("{lists}:list-rate=1"), two));
}

/// Every kind of thing that a checkpoint must hold.
const RUNS: &[&str] = &[
    "objective = \"listnet\"\nepochs = 4\nsampler = \"lists:batch=7\"",
    "objective = \"song\"\nepochs = 4\nsampler = \"pairs:batch=16:items=8\"\naverage = \"ema:decay=0.9\"",
    "objective = \"song-v2\"\nepochs = 3\noptimiser = \"storm\"\nsampler = \"strata:batch=9:relevant=3:others=3\"",
    "objective = \"ranknet\"\nepochs = 3\noptimiser = \"storm\"\nsampler = \"lists:batch=9\"\nwarm-up = 2",
    "objective = \"gumbel-ndcg\"\nepochs = 3\nsampler = \"slates:batch=8:items=6\"\nschedule = \"cosine\"",
    "objective = \"ndcg@5\"\nepochs = 30\npatience = 3\naverage = \"tail:from=0.1\"\nsampler = \"lists:batch=16\"",
];

/// The records without the time they took.
fn timeless(trainer: &Trainer) -> Vec<Record> {
    trainer.records().iter().map(|record| Record { seconds: 0.0, ..record.clone() }).collect()
}

#[test]
fn a_run_taken_up_again_and_again_ends_in_the_same_bits() {
    let (train, valid) = (data(30, 1), data(10, 2));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    for text in RUNS {
        let config = config(text);
        let fresh = || Trainer::new(&config, line(3), examples(&train), Some(examples(&valid))).unwrap();
        let mut whole = fresh();
        let outcome = whole.run(&mut (), None).unwrap();
        let scores = score(&*line(3), &whole.parameters(), examples(&valid)).unwrap();
        assert_eq!(whole.take_kept_scores().as_ref(), Some(&scores), "{text}: as measured, averaged or not");
        for length in [1, 5, 11] {
            let keep = Checkpoints {
                path: &path,
                every: std::time::Duration::MAX,
                origin: &serde_json::json!(null),
            };
            let mut pieces = fresh();
            pieces.run(&mut After(length), Some(keep)).unwrap();
            let mut last = None;
            for _ in 0..10_000 {
                // Nothing but the file goes from one piece to the next.
                pieces = fresh();
                pieces.load_checkpoint(&path).unwrap();
                last = Some(pieces.run(&mut After(length), Some(keep)).unwrap());
                if last != Some(Outcome::Interrupted) {
                    break;
                }
            }
            assert_eq!(last, Some(outcome), "{text}");
            let bits = |trainer: &Trainer| -> Vec<u32> {
                trainer.parameters().iter().map(|w| w.to_bits()).collect()
            };
            assert_eq!(bits(&pieces), bits(&whole), "{text} in pieces of {length}");
            assert_eq!(timeless(&pieces), timeless(&whole), "{text} in pieces of {length}");
            // The piece that measured the best may have been another one.
            let kept = pieces.take_kept_scores();
            assert!(kept.is_none_or(|kept| kept == scores), "{text} in pieces of {length}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (train, valid) = (data(200, 1), data(20, 2));
    for text in RUNS {
        let config = config(text);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut trainer =
                    Trainer::new(&config, line(3), examples(&train), Some(examples(&valid))).unwrap();
                trainer.run(&mut (), None).unwrap();
                (trainer.parameters(), timeless(&trainer))
            })
        };
        let one = run(1);
        assert_eq!(one, run(2), "{text}");
        assert_eq!(one, run(4), "{text}");
    }
}

#[test]
fn the_best_pass_on_validation_is_kept_and_patience_ends_the_run() {
    let (train, valid) = (data(40, 1), data(15, 2));
    let config =
        config("objective = \"ndcg@5\"\nepochs = 200\npatience = 4\nrate = 0.3\nsampler = \"lists:batch=5\"");
    let mut trainer = Trainer::new(&config, line(3), examples(&train), Some(examples(&valid))).unwrap();
    assert_eq!(trainer.run(&mut (), None).unwrap(), Outcome::StoppedEarly);
    let values: Vec<f64> = trainer.records().iter().map(|record| record.metrics[0].unwrap()).collect();
    let (best, epoch) = trainer.best().unwrap();
    assert_eq!(best, values.iter().copied().fold(f64::MIN, f64::max));
    assert_eq!(values[epoch as usize - 1], best);
    assert_eq!(values.len(), epoch as usize + 4);
    let scores = score(&*line(3), &trainer.parameters(), examples(&valid)).unwrap();
    let judged =
        toprank_metrics::evaluate(&valid.0, &scores, &[config.measure().unwrap()]).unwrap().results[0].mean;
    assert_eq!(judged, Some(best), "the parameters handed out are those of the best pass");
}

#[test]
fn a_loss_that_is_not_finite_names_the_batch_and_leaves_the_last_good_parameters() {
    let lists = Lists::from_lengths(&[2, 2], vec![1.0, 0.0, 1.0, 0.0]);
    let features = Matrix::Dense { width: 1, values: vec![1e30, -1e30, 1.0, 2.0] };
    let config = config(
        "objective = \"squared\"\noptimiser = \"sgd\"\nrate = 1e30\nepochs = 50\nclip = 0.0\nsampler = \"lists:batch=2\"",
    );
    let mut trainer =
        Trainer::new(&config, line(1), Examples { lists: &lists, features: &features }, None).unwrap();
    let error = trainer.run(&mut (), None).unwrap_err();
    assert!(matches!(&error, TrainError::NotFinite { lists, .. } if lists == &[0, 1]), "{error}");
    assert!(trainer.parameters().iter().all(|w| w.is_finite()), "{:?}", trainer.parameters());
}

/// The loss and the gradient of the first step are finite, the weights after it are not: the scores of the validation data are NaN,
/// and the error is that of a run that diverged, not one of the data.
#[test]
fn a_model_that_diverges_in_the_last_step_of_an_epoch_is_not_an_error_of_the_validation_data() {
    let lists = Lists::from_lengths(&[2, 2], vec![1.0, 0.0, 1.0, 0.0]);
    let features = Matrix::Dense { width: 2, values: vec![1e9, 0.0, 0.0, 1e9, 1e9, 0.0, 0.0, 1e9] };
    let config = config(
        "objective = \"squared\"\noptimiser = \"sgd\"\nrate = 1e30\nepochs = 5\nclip = 0.0\nsampler = \"lists:batch=2\"",
    );
    let data = || Examples { lists: &lists, features: &features };
    let mut trainer = Trainer::new(&config, line(2), data(), Some(data())).unwrap();
    let error = trainer.run(&mut (), None).unwrap_err();
    assert!(matches!(&error, TrainError::NotFinite { what: "model", .. }), "{error}");
}

#[test]
fn after_a_warm_up_the_last_layer_starts_afresh_and_the_rest_goes_on() {
    let train = data(20, 1);
    let text =
        "objective = \"listnet\"\nepochs = 1\nwarm-up = 2\nrate = 1e-30\nsampler = \"lists:batch=all\"";
    let mut trainer = Trainer::new(&config(text), line(3), examples(&train), None).unwrap();
    let before = trainer.parameters();
    trainer.run(&mut (), None).unwrap();
    let after = trainer.parameters();
    assert_eq!(before[..3], after[..3], "with no rate to speak of the weights stay");
    assert_ne!(before[3], after[3], "the last layer is drawn anew");
    assert_eq!(trainer.records().len(), 3);
}

#[test]
fn a_warm_up_that_continues_keeps_every_layer_and_its_models_may_be_the_best() {
    let (train, valid) = (data(20, 1), data(20, 2));
    let shared = "warm-up = 2\nwarm-up-objective = \"softmax\"\nafter-warm-up = \"continue\"\nsampler = \"lists:batch=all\"\n";
    let still = format!("{shared}objective = \"listnet\"\nepochs = 1\nrate = 1e-30");
    let mut trainer = Trainer::new(&config(&still), line(3), examples(&train), None).unwrap();
    let before = trainer.parameters();
    trainer.run(&mut (), None).unwrap();
    assert_eq!(before, trainer.parameters(), "with no rate to speak of nothing moves");
    // The objective's own stage changes nothing, so that none of its epochs is better than the warm-up was.
    let warmed = format!("{still}\nwarm-up-learning-rate = 0.05");
    let best_epoch = |text: &str| {
        let valid = Some(examples(&valid));
        let mut trainer = Trainer::new(&config(text), line(3), examples(&train), valid).unwrap();
        trainer.run(&mut (), None).unwrap();
        trainer.best().unwrap().1
    };
    assert!(best_epoch(&warmed) <= 2);
    assert_eq!(best_epoch(&warmed.replace("continue", "reinitialise")), 3, "the warm-up is not kept");
    for text in ["warm-up-objective = \"softmax\"", "after-warm-up = \"continue\""] {
        let error = Settings::from_toml(text).unwrap().resolve(TrainerKind::Rank).unwrap_err().to_string();
        assert!(error.contains("--warm-up"), "{error}");
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let (train, other) = (data(20, 1), data(20, 3));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    let config = config("objective = \"listnet\"\nepochs = 2");
    Trainer::new(&config, line(3), examples(&train), None)
        .unwrap()
        .save_checkpoint(&path, &serde_json::json!({"data": "a.txt"}))
        .unwrap();
    assert_eq!(crate::store::checkpoint::about(&path, TrainerKind::Rank).unwrap().1["data"], "a.txt");
    let mut on_other = Trainer::new(&config, line(3), examples(&other), None).unwrap();
    let error = on_other.load_checkpoint(&path).unwrap_err().to_string();
    assert!(error.contains("the training data changed"), "{error}");
    let another = config.with(Settings { learning_rate: Some(0.5), ..Settings::default() });
    let mut of_other = Trainer::new(&another, line(3), examples(&train), None).unwrap();
    let error = of_other.load_checkpoint(&path).unwrap_err().to_string();
    assert!(error.contains("another config"), "{error}");
}

#[test]
fn rows_that_several_lists_read_are_scored_once_and_learn_from_all_of_them() {
    // The same rows as two lists of shared rows, and as two lists of their own.
    let own = Lists::from_lengths(&[3, 3], vec![2.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
    let values = vec![0.1, 0.5, 0.2, 0.9, 0.3, 0.4, 0.8, 0.1, 0.7];
    let twice: Vec<f32> = values.iter().chain(&values).copied().collect();
    let shared = Lists { rows: Some(vec![0, 1, 2, 0, 1, 2]), ..own.clone() };
    let config = config("objective = \"listnet\"\nepochs = 3\noptimiser = \"sgd\"\nrate = 0.1");
    let run = |lists: &Lists, values: Vec<f32>| {
        let features = Matrix::Dense { width: 3, values };
        let mut trainer =
            Trainer::new(&config, line(3), Examples { lists, features: &features }, None).unwrap();
        trainer.run(&mut (), None).unwrap();
        trainer.parameters()
    };
    for (a, b) in run(&shared, values).iter().zip(run(&own, twice)) {
        assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    }
}

#[test]
fn data_without_items_and_of_another_width_are_refused() {
    let config = config("objective = \"listnet\"");
    let none = (Lists::from_lengths(&[], Vec::new()), Matrix::Dense { width: 3, values: Vec::new() });
    let error = Trainer::new(&config, line(3), examples(&none), None).err().unwrap().to_string();
    assert_eq!(error, "the training data: no items; expected lists with items");
    let train = data(3, 1);
    assert_eq!(train.1.width(), 3);
    let error = Trainer::new(&config, line(2), examples(&train), None).err().unwrap().to_string();
    assert!(error.contains("3 features"), "{error}");
}

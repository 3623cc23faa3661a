//! Times binning, training with LambdaRank and prediction on LETOR text; one line of JSON per measurement.
//!
//! ```sh
//! trees-speed make FOLDER 1500     # 179,250 rows × 136 features
//! trees-speed run FOLDER leaves=31 threads=1 trees=100
//! ```
//!
//! `make` writes train.txt and, for other tools, the same as raw numbers: x.f32 (row after row), y.f32, sizes.u32.
//!
//! Lines "spent on …" say what training was spent on: seconds added up over threads, and the bytes that had to be moved at least
//! in each of them (`gb_per_s`). `run FOLDER from=mapped` takes the rows from a memory-mapped file, made at the first call, instead
//! of the text; "own memory" (gigabytes under `wall`) leaves out what belongs to that file. The harness `memory` says what the
//! machine moves when it does nothing else.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use toprank::core::{Args, Features, Lists, Policy};
use toprank::data::{Dataset, MappedDataset, Matrix, ReadOptions, Source, mapped};
use toprank::metrics::{Measure, evaluate};
use toprank::objectives::{Batch, Goal, Gradients, Reduction};
use toprank::trees::{BinSettings, Bins, Booster, Boosting, Growth, Part, Scorer};

use crate::common::{Outcome, WrongUse, anonymous_bytes, cpu_seconds, words};

pub fn run(args: &[String]) -> Outcome {
    match words(args)[..] {
        ["make", folder, lists] => make(Path::new(folder), lists),
        ["run", folder, ref settings @ ..] => measure(Path::new(folder), settings),
        _ => Err(WrongUse.into()),
    }
}

fn read(folder: &Path) -> Outcome<Dataset> {
    Ok(toprank::data::read(&Source::path(folder.join("train.txt")), &ReadOptions::default())?)
}

/// The lists, and the features of their rows.
fn open(folder: &Path, from: &str) -> Outcome<(Lists, Box<dyn Features>)> {
    match from {
        "text" => {
            let Dataset { lists, features, .. } = read(folder)?;
            Ok((lists, Box::new(features)))
        }
        "mapped" => {
            let file = folder.join("train.toprank-data");
            if !file.exists() {
                mapped::convert(&Source::path(folder.join("train.txt")), &ReadOptions::default(), &file)?;
            }
            let MappedDataset { lists, features, .. } = MappedDataset::open(&file)?;
            Ok((lists, Box::new(features)))
        }
        _ => Err(format!("from={from}, expected from=text or from=mapped").into()),
    }
}

fn make(folder: &Path, lists: &str) -> Outcome {
    let settings = [("lists", lists), ("length", "119"), ("features", "136"), ("split", "100/0/0")];
    let args = Args(settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect());
    let generator = toprank::data::generate::by_name("letor").ok_or("no generator of LETOR data")?;
    generator.run(&args, folder, &mut |_, _| {})?;
    let data = read(folder)?;
    let Matrix::Dense { values, .. } = &data.features else { return Err("expected dense rows".into()) };
    let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    std::fs::File::create(folder.join("x.f32"))?.write_all(&bytes(values))?;
    std::fs::File::create(folder.join("y.f32"))?.write_all(&bytes(&data.lists.labels))?;
    let sizes = data.lists.offsets.windows(2).flat_map(|pair| ((pair[1] - pair[0]) as u32).to_le_bytes());
    std::fs::File::create(folder.join("sizes.u32"))?.write_all(&sizes.collect::<Vec<u8>>())?;
    println!("{} rows, {} lists", data.rows(), data.lists.len());
    Ok(())
}

/// Wall and CPU seconds since a start.
struct Clock(Instant, f64);

impl Clock {
    fn start() -> Clock {
        Clock(Instant::now(), cpu_seconds())
    }

    fn seconds(&self) -> (f64, f64) {
        (self.0.elapsed().as_secs_f64(), cpu_seconds() - self.1)
    }
}

fn measure(folder: &Path, settings: &[&str]) -> Outcome {
    let value = |key: &str, default: &str| {
        let found = settings.iter().find_map(|setting| setting.strip_prefix(key)?.strip_prefix('='));
        found.unwrap_or(default).to_string()
    };
    let (leaves, trees): (usize, usize) = (value("leaves", "31").parse()?, value("trees", "100").parse()?);
    let threads: usize = value("threads", "1").parse()?;
    let objective = value("objective", "lambdarank@30:norm=lightgbm");
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let about = format!("\"leaves\":{leaves},\"trees\":{trees},\"threads\":{threads}");
    let report = |what: &str, (wall, cpu): (f64, f64), more: &str| {
        println!("{{\"what\":\"{what}\",{about},\"wall\":{wall:.6},\"cpu\":{cpu:.3}{more}}}");
    };

    let clock = Clock::start();
    let (lists, features) = open(folder, &value("from", "text"))?;
    let features = &*features;
    report("read", clock.seconds(), &format!(",\"rows\":{}", features.rows()));

    let clock = Clock::start();
    let bins = Bins::fit(features, &[], &BinSettings::default())?;
    report("fit bins", clock.seconds(), "");
    let data = bins.apply(features)?;
    report("bin", clock.seconds(), "");

    let goal = Goal::parse(&objective, &Policy::default())?;
    let growth = Growth { leaves, ..Growth::default() };
    let boosting = Boosting { growth, ..Boosting::default() };
    let clock = Clock::start();
    let mut booster = Booster::new(&data, &lists.offsets, 1, boosting)?;
    let mut state = goal.state(&lists)?;
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    let mut of_gradients = Part::default();
    for _ in 0..trees {
        let start = Instant::now();
        let batch = Batch { reduction: Reduction::Sum, ..Batch::all(&lists, booster.scores()) };
        goal.step(&batch, &mut state, &mut out)?;
        of_gradients.seconds += start.elapsed().as_secs_f64();
        of_gradients.bytes += (features.rows() * A_GRADIENT) as u64;
        booster.round(&out.gradient, &out.hessian)?;
    }
    let time = clock.seconds();
    let measures = Measure::parse_all("ndcg@10", &Policy::default())?;
    let ndcg = evaluate(&lists, booster.scores(), &measures)?.results[0].mean.unwrap_or(f64::NAN);
    report("train", time, &format!(",\"ndcg@10\":{ndcg:.5}"));
    report("own memory", (anonymous_bytes() / f64::from(1 << 30), 0.0), "");
    // By the clock, not added up over threads: the objective spreads its lists itself.
    let parts = [("gradients (wall)", of_gradients)].into_iter().chain(booster.spent().parts());
    for (name, Part { seconds, bytes }) in parts.collect::<Vec<_>>() {
        let speed = format!(",\"gb_per_s\":{:.2}", bytes as f64 / 1e9 / seconds.max(1e-9));
        report(&format!("spent on {name}"), (seconds, 0.0), &speed);
    }

    let model = booster.into_ensemble();
    let mut best: Option<(f64, f64)> = None;
    for _ in 0..REPEATS {
        let clock = Clock::start();
        let scores = model.score(features)?;
        let seconds = clock.seconds();
        assert_eq!(scores.len(), features.rows());
        best = Some(best.filter(|best| best.0 < seconds.0).unwrap_or(seconds));
    }
    report("predict", best.unwrap_or_default(), "");

    // One list of 100 rows at a time, as a server would; every list is another one.
    let scorer = Scorer::new(&model)?;
    let rows: Vec<u32> = (0..features.rows() as u32).collect();
    let mut values = vec![0.0; LIST * features.width()];
    let mut scores = [0.0; LIST];
    let mut seconds: Vec<f64> = rows
        .chunks_exact(LIST)
        .take(1000)
        .map(|list| {
            features.gather(list, &mut values);
            let start = Instant::now();
            scorer.score_rows(&values, &mut scores).map(|()| start.elapsed().as_secs_f64())
        })
        .collect::<Result<_, _>>()?;
    seconds.sort_by(f64::total_cmp);
    report("predict one list", (seconds[seconds.len() / 2], 0.0), &format!(",\"lists\":{}", seconds.len()));
    Ok(())
}

/// Rows of a list that is scored by itself.
const LIST: usize = 100;
/// All rows are scored so often; the best time counts.
const REPEATS: usize = 3;
/// Bytes of a row's score and label, read, and of its gradient and Hessian, written.
const A_GRADIENT: usize = 8 + 4 + 8 + 8;

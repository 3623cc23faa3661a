//! Times binning, training with LambdaRank and prediction on LETOR text; one line of JSON per measurement.
//!
//! ```sh
//! cargo run --release -p toprank-trees --example trees_bench -- make FOLDER 1500     # 178 000 rows × 136 features
//! cargo run --release -p toprank-trees --example trees_bench -- run FOLDER leaves=31 threads=1 trees=100
//! ```
//!
//! `make` writes train.txt and, for other tools, the same as raw numbers: x.f32 (row after row), y.f32, sizes.u32.
//!
//! Lines "spent on …" say what training was spent on: seconds added up over threads, and the bytes that had to be moved at least
//! in each of them (`gb_per_s`). `run FOLDER from=mapped` takes the rows from a mapped file, made at the first call, instead of
//! the text; "own memory" (gigabytes under `wall`) leaves out what belongs to that file. `memory THREADS` says what the machine moves where it does nothing else: a = b + s·c over 600 MB.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use rayon::prelude::*;
use toprank_core::{Args, Features, Lists, Policy};
use toprank_data::{Dataset, MappedDataset, Matrix, ReadOptions, Source, mapped};
use toprank_metrics::{Measure, evaluate};
use toprank_objectives::{Batch, Goal, Gradients, Reduction};
use toprank_trees::{BinSettings, Bins, Booster, Boosting, Growth, Part, Scorer};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", folder, lists] => make(Path::new(folder), lists),
        ["run", folder, ref settings @ ..] => run(Path::new(folder), settings),
        ["memory", threads] => memory(threads.parse()?),
        _ => Err("expected `make FOLDER LISTS`, `run FOLDER [key=value]…` or `memory THREADS`".into()),
    }
}

fn read(folder: &Path) -> Fallible<Dataset> {
    Ok(toprank_data::read(&Source::path(folder.join("train.txt")), &ReadOptions::default())?)
}

/// The lists, and the features of their rows.
fn open(folder: &Path, from: &str) -> Fallible<(Lists, Box<dyn Features>)> {
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

fn make(folder: &Path, lists: &str) -> Fallible<()> {
    let settings = [("lists", lists), ("length", "119"), ("features", "136"), ("split", "100/0/0")];
    let args = Args(settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect());
    let generator = toprank_data::generate::by_name("letor").ok_or("no generator of LETOR data")?;
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

/// CPU seconds of this process (Linux; elsewhere 0).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks: Vec<f64> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse().ok())
        .collect();
    ticks.iter().sum::<f64>() / 100.0
}

/// Gigabytes that belong to this process alone, without pages of mapped files (Linux; elsewhere 0).
fn own_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or_default() / 1024.0 / 1024.0
}

fn run(folder: &Path, settings: &[&str]) -> Fallible<()> {
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
    let mut out = Gradients { want_curvature: true, ..Gradients::default() };
    let mut of_gradients = Part::default();
    for _ in 0..trees {
        let start = Instant::now();
        let batch = Batch { reduction: Reduction::Sum, ..Batch::all(&lists, booster.scores()) };
        goal.step(&batch, &mut state, &mut out)?;
        of_gradients.seconds += start.elapsed().as_secs_f64();
        of_gradients.bytes += (features.rows() * A_GRADIENT) as u64;
        booster.round(&out.gradient, &out.curvature)?;
    }
    let time = clock.seconds();
    let measures = Measure::parse_all("ndcg@10", &Policy::default())?;
    let ndcg = evaluate(&lists, booster.scores(), &measures)?.results[0].mean.unwrap_or(f64::NAN);
    report("train", time, &format!(",\"ndcg@10\":{ndcg:.5}"));
    report("own memory", (own_memory(), 0.0), "");
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
/// Bytes of a row's score and label, read, and of its gradient and curvature, written.
const A_GRADIENT: usize = 8 + 4 + 8 + 8;

/// Gigabytes a second that all threads together move in a = b + s·c, the best of five; each number counts once.
fn memory(threads: usize) -> Fallible<()> {
    const NUMBERS: usize = 25_000_000;
    const BLOCK: usize = 10_000;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let (b, c) = (vec![1.0f64; NUMBERS], vec![2.0f64; NUMBERS]);
    let mut a = vec![0.0f64; NUMBERS];
    let seconds = (0..5).map(|round| {
        let start = Instant::now();
        let blocks = a.par_chunks_mut(BLOCK).zip(b.par_chunks(BLOCK)).zip(c.par_chunks(BLOCK));
        blocks.for_each(|((a, b), c)| {
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                *a = b + f64::from(round) * c;
            }
        });
        start.elapsed().as_secs_f64()
    });
    let best = seconds.fold(f64::INFINITY, f64::min);
    let speed = 3.0 * 8.0 * NUMBERS as f64 / 1e9 / best;
    println!(
        "{{\"what\":\"memory\",\"threads\":{threads},\"wall\":{best:.6},\"cpu\":0,\"gb_per_s\":{speed:.2}}}"
    );
    Ok(())
}

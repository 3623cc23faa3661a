//! How fast are recommenders? One line of JSON per measurement; `bench/recommend/speed_vs_peers.py` runs it beside others.
//!
//! ```text
//! cargo run --release -p toprank --no-default-features --example recommend_bench -- make FOLDER 6040 3706 165
//! cargo run --release -p toprank --no-default-features --example recommend_bench -- step FOLDER 60      # NeuMF under SONG
//! cargo run --release -p toprank --no-default-features --example recommend_bench -- bpr FOLDER 20       # passes of MF under BPR
//! cargo run --release -p toprank --no-default-features --example recommend_bench -- rank FOLDER         # full ranking of MF
//! ```
//!
//! `make` writes generated interactions (users, items, mean number of items of a user), one held-out item per user, as
//! train.txt and test.txt: a user and its items on each line; other folders with such files will do. All runs on one thread; seconds are CPU seconds.

use std::path::Path;
use std::time::Instant;

use toprank::core::{Args, Choices, Policy};
use toprank::data::{ReadOptions, Source, formats, generate};
use toprank::metrics::Measure;
use toprank::train::Course;
use toprank::train::recommend::{Interactions, Part, Settings, Trainer};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let threads = std::env::var("THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", folder, users, items, length] => make(Path::new(folder), users, items, length),
        ["step", folder, steps] => step(&read(Path::new(folder))?, steps.parse()?),
        ["bpr", folder, passes, ref more @ ..] => bpr(&read(Path::new(folder))?, passes.parse()?, more),
        ["rank", folder] => rank(&read(Path::new(folder))?),
        _ => Err("expected `make FOLDER USERS ITEMS LENGTH`, `step FOLDER STEPS`, `bpr FOLDER PASSES` or `rank FOLDER`".into()),
    }
}

fn make(folder: &Path, users: &str, items: &str, length: &str) -> Fallible<()> {
    let settings = [("users", users), ("items", items), ("length", length)];
    let args = Args(settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect());
    let generator = generate::by_name("interactions").ok_or("no generator of interactions")?;
    generator.run(&args, folder, &mut |_, _| {})?;
    let options = ReadOptions { format: Some("interactions".into()), ..ReadOptions::default() };
    let data = formats::read(&Source::path(folder.join("interactions.csv")), &options)?;
    let data = Interactions::split(&data, "leave-last", 1)?;
    for (name, part) in [("train", &data.train), ("test", &data.test)] {
        let line = |user: usize| {
            let items: String = part.of(user).iter().map(|item| format!(" {item}")).collect();
            format!("{user}{items}\n")
        };
        let lines: String = (0..part.len()).filter(|&user| !part.of(user).is_empty()).map(line).collect();
        std::fs::write(folder.join(format!("{name}.txt")), lines)?;
    }
    println!("{} users, {} items, {} pairs", data.users.len(), data.items.len(), data.train.pairs());
    Ok(())
}

fn read(folder: &Path) -> Fallible<Interactions> {
    let options = ReadOptions { format: Some("adjacency".into()), ..ReadOptions::default() };
    let part = |name: &str| {
        let files = ["txt", "txt.gz"].map(|ending| folder.join(format!("{name}.{ending}")));
        formats::read(&Source::path(files.iter().find(|file| file.exists()).unwrap_or(&files[0])), &options)
    };
    Ok(Interactions::given(&part("train")?, None, Some(&part("test")?))?)
}

/// CPU seconds of this process, all its threads together (Linux; elsewhere 0).
fn cpu_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    // The first number is nanoseconds on a CPU.
    let spent = |path: std::path::PathBuf| -> Option<f64> {
        std::fs::read_to_string(path.join("schedstat")).ok()?.split(' ').next()?.parse().ok()
    };
    threads.filter_map(|thread| spent(thread.path())).sum::<f64>() / 1e9
}

fn trainer<'a>(data: &'a Interactions, model: &str, objective: &str, more: &str) -> Fallible<Trainer<'a>> {
    let mut settings = Settings::from_toml(more)?;
    settings.model = Some(model.into());
    settings.objective = Some(objective.into());
    settings.patience = Some(0);
    Ok(Trainer::new(&settings.resolve()?, data)?)
}

/// Steps of 256 users, 10 relevant items and 300 others each.
fn step(data: &Interactions, steps: usize) -> Fallible<()> {
    let more = "sampler = \"pairs:batch=2560:group=10:items=300\"\nepochs = 1000";
    let mut trainer = trainer(data, "neumf", "song", more)?;
    for _ in 0..5 {
        trainer.step(&mut (), Instant::now())?;
    }
    let mut seconds = Vec::new();
    for _ in 0..steps {
        let start = Instant::now();
        trainer.step(&mut (), start)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    println!("{{\"what\":\"step\",\"seconds\":{:.6}}}", seconds[steps / 2]);
    Ok(())
}

/// Passes over all pairs, each with one item that was not taken, as implicit counts them; judged after every pass.
fn bpr(data: &Interactions, passes: u32, more: &[&str]) -> Fallible<()> {
    let more: String = more.iter().map(|line| format!("{line}\n")).collect();
    let settings = format!("epochs = {passes}\n{more}");
    let mut trainer = trainer(data, "mf:width=64", "bpr", &settings)?;
    let measures = Measure::parse_all("ndcg@10", &Policy::default())?;
    let mut spent = 0.0;
    for pass in 1..=passes {
        let start = cpu_seconds();
        while trainer.records().len() < pass as usize {
            trainer.step(&mut (), Instant::now())?;
        }
        spent += cpu_seconds() - start;
        let judged = trainer.recommender()?.judge(Part::Test, &measures, false, None, 10)?;
        let ndcg = judged.evaluation.results[0].mean.unwrap_or(0.0);
        println!("{{\"what\":\"bpr\",\"pass\":{pass},\"seconds\":{spent:.3},\"ndcg@10\":{ndcg:.5}}}");
    }
    Ok(())
}

/// All unseen items ranked for all users, with NDCG, recall and MAP.
fn rank(data: &Interactions) -> Fallible<()> {
    let recommender = trainer(data, "mf:width=64", "bpr", "epochs = 1")?.recommender()?;
    let measures = Measure::parse_all("ndcg@10,recall@10,map@10", &Policy::default())?;
    let users = |choices: &Choices| (0..choices.len()).filter(|&user| !choices.of(user).is_empty()).count();
    for _ in 0..3 {
        let (start, wall) = (cpu_seconds(), Instant::now());
        let judged = recommender.judge(Part::Test, &measures, false, None, 10)?;
        let (cpu, wall) = (cpu_seconds() - start, wall.elapsed().as_secs_f64());
        let ndcg = judged.evaluation.results[0].mean.unwrap_or(0.0);
        println!(
            "{{\"what\":\"rank\",\"users\":{},\"seconds\":{wall:.4},\"cpu\":{cpu:.4},\"ndcg@10\":{ndcg:.5}}}",
            users(&data.test)
        );
    }
    Ok(())
}

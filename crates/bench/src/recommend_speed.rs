//! How fast are recommenders? One line of JSON per measurement; `bench/recommend/speed_vs_peers.py` runs it beside others.
//!
//! ```text
//! recommend-speed make FOLDER 6040 3706 165
//! recommend-speed step FOLDER 60      # NeuMF under SONG
//! recommend-speed bpr FOLDER 20       # epochs of MF under BPR
//! recommend-speed rank FOLDER         # full ranking of MF
//! ```
//!
//! `make` writes generated interactions (users, items, mean number of items of a user), one held-out item per user, as
//! train.txt and test.txt: a user and its items on each line; other folders with such files will do. Everything runs on one
//! thread unless the environment variable THREADS says otherwise; seconds of `bpr` are CPU seconds.

use std::path::Path;
use std::time::Instant;

use toprank::core::{Args, Choices, Policy};
use toprank::data::{ReadOptions, Source, formats, generate};
use toprank::metrics::Measure;
use toprank::train::recommend::{Interactions, Part, Trainer};
use toprank::train::{Settings, TrainerKind, TrainingLoop};

use crate::common::{Outcome, WrongUse, cpu_seconds, words};

pub fn run(args: &[String]) -> Outcome {
    let threads = std::env::var("THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    match words(args)[..] {
        ["make", folder, users, items, length] => make(Path::new(folder), users, items, length),
        ["step", folder, steps] => step(&read(Path::new(folder))?, steps.parse()?),
        ["bpr", folder, epochs, ref more @ ..] => bpr(&read(Path::new(folder))?, epochs.parse()?, more),
        ["rank", folder] => rank(&read(Path::new(folder))?),
        _ => Err(WrongUse.into()),
    }
}

fn make(folder: &Path, users: &str, items: &str, length: &str) -> Outcome {
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

fn read(folder: &Path) -> Outcome<Interactions> {
    let options = ReadOptions { format: Some("adjacency".into()), ..ReadOptions::default() };
    let part = |name: &str| {
        let files = ["txt", "txt.gz"].map(|ending| folder.join(format!("{name}.{ending}")));
        formats::read(&Source::path(files.iter().find(|file| file.exists()).unwrap_or(&files[0])), &options)
    };
    Ok(Interactions::given(&part("train")?, None, Some(&part("test")?))?)
}

fn trainer<'a>(data: &'a Interactions, model: &str, objective: &str, more: &str) -> Outcome<Trainer<'a>> {
    let mut settings = Settings::from_toml(more)?;
    settings.model = Some(model.into());
    settings.objective = Some(objective.into());
    settings.patience = Some(0);
    Ok(Trainer::new(&settings.resolve(TrainerKind::Recommend)?, data)?)
}

/// Steps of 256 users, 10 relevant items and 300 others each.
fn step(data: &Interactions, steps: usize) -> Outcome {
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

/// Epochs over all pairs, each pair with one item without interaction, as implicit counts them; evaluated after every epoch.
fn bpr(data: &Interactions, epochs: u32, more: &[&str]) -> Outcome {
    let more: String = more.iter().map(|line| format!("{line}\n")).collect();
    let settings = format!("epochs = {epochs}\n{more}");
    let mut trainer = trainer(data, "mf:width=64", "bpr", &settings)?;
    let measures = Measure::parse_all("ndcg@10", &Policy::default())?;
    let mut spent = 0.0;
    for epoch in 1..=epochs {
        let start = cpu_seconds();
        while trainer.records().len() < epoch as usize {
            trainer.step(&mut (), Instant::now())?;
        }
        spent += cpu_seconds() - start;
        let evaluated = trainer.recommender()?.evaluate(Part::Test, &measures, false, None, 10)?;
        let ndcg = evaluated.evaluation.results[0].mean.unwrap_or(0.0);
        println!("{{\"what\":\"bpr\",\"epoch\":{epoch},\"seconds\":{spent:.3},\"ndcg@10\":{ndcg:.5}}}");
    }
    Ok(())
}

/// All unseen items ranked for all users, with NDCG, recall and MAP.
fn rank(data: &Interactions) -> Outcome {
    let recommender = trainer(data, "mf:width=64", "bpr", "epochs = 1")?.recommender()?;
    let measures = Measure::parse_all("ndcg@10,recall@10,map@10", &Policy::default())?;
    let users = |choices: &Choices| (0..choices.len()).filter(|&user| !choices.of(user).is_empty()).count();
    for _ in 0..3 {
        let (start, wall) = (cpu_seconds(), Instant::now());
        let evaluated = recommender.evaluate(Part::Test, &measures, false, None, 10)?;
        let (cpu, wall) = (cpu_seconds() - start, wall.elapsed().as_secs_f64());
        let ndcg = evaluated.evaluation.results[0].mean.unwrap_or(0.0);
        println!(
            "{{\"what\":\"rank\",\"users\":{},\"seconds\":{wall:.4},\"cpu\":{cpu:.4},\"ndcg@10\":{ndcg:.5}}}",
            users(&data.test)
        );
    }
    Ok(())
}

//! How well do trackers follow the smooth ranks of real lists while a model trains?
//!
//! A linear model trains by SONG on the five folds of OHSUMED (106 lists of 35–320 items); its scores, step after step,
//! are the same for all trackers. In every step every list is drawn, with a sample of its items: all relevant ones
//! (rate 1) or three in ten (rate 0.3), and one in ten of the others. The error of a tracker is the mean of |u − g| over
//! relevant pairs and steps, g the mean over the whole list (SONG, figures 1 and 2). Writes result.csv and errors.svg.

use std::fmt::Write as _;
use std::path::Path;

use toprank::core::{Lists, Policy, Stream};
use toprank::data::formats::{self, ReadOptions};
use toprank::data::source::Source;
use toprank::objectives::{Batch, Draws, Goal, Gradients, State};
use toprank_plots::{Series, curves};

use crate::common::{Outcome, mean, mean_and_deviation, real_data};

const STEPS: u64 = 300;
/// Steps that are not counted: trackers start with the first estimate.
const BURN_IN: u64 = 30;
const SEEDS: u64 = 3;
const OTHERS: f64 = 0.1;

/// Trackers, their objective, and the moving average of equal γ they are compared with.
const TRACKERS: [(&str, &str, Option<f64>); 17] = [
    ("mini-batch", "song-minibatch", None),
    ("moving average 0.05", "song:gamma=0.05", None),
    ("moving average 0.1 (SONG)", "song:gamma=0.1", None),
    ("moving average 0.2", "song:gamma=0.2", None),
    ("moving average 0.3", "song:gamma=0.3", None),
    ("moving average 0.5", "song:gamma=0.5", None),
    ("moving average 0.7", "song:gamma=0.7", None),
    ("moving average 0.9", "song:gamma=0.9", None),
    ("v1 0.05, 0.95", "song-v1:gamma=0.05:beta=1-gamma", Some(0.05)),
    ("v1 0.1, 0.9", "song-v1:gamma=0.1:beta=1-gamma", Some(0.1)),
    ("v1 0.3, 0.7", "song-v1:gamma=0.3:beta=1-gamma", Some(0.3)),
    ("v1 paper 0.1, 0.005", "song-v1:preset=paper", Some(0.1)),
    ("v1 code 0.9, 0.005", "song-v1:preset=code", Some(0.9)),
    ("v2 0.1, 0.9, 0.4", "song-v2:gamma=0.1:beta=0.9:tau=0.4", Some(0.1)),
    ("v2 0.3, 0.7, 0.2", "song-v2:gamma=0.3:beta=0.7:tau=0.2", Some(0.3)),
    ("v2 paper 0.9, 0.005, 0.4", "song-v2:gamma=0.9:beta=0.005:tau=0.4", Some(0.9)),
    ("storm 0.1", "song-storm:gamma=0.1", Some(0.1)),
];
/// The sample as it is, without the weights of its strata, under a moving average: what peers do.
const UNWEIGHTED: &str = "moving average 0.1, sample unweighted (peers)";

pub fn run(args: &[String]) -> Outcome {
    let folder = Path::new(args.first().map_or("bench/trackers", String::as_str));
    let (lists, features) = read()?;
    let path = train(&lists, &features)?;
    eprintln!("{} lists, {} items, {} steps", lists.len(), lists.entries(), path.len() - 1);
    let mut csv = String::from(
        "rate,tracker,objective,mean_error,sd_over_seeds,against_best_average,against_equal_gamma\n",
    );
    let mut shown = Vec::new();
    for rate in [1.0, 0.3] {
        let exact = exact_means(&lists, &path)?;
        let mut rows: Vec<(&str, &str, Option<f64>, Vec<f64>)> = Vec::new();
        for (name, objective, equal) in TRACKERS {
            let runs = runs(|seed| errors(objective, &lists, &path, &exact, rate, seed))?;
            if rate == 1.0
                && [
                    "mini-batch",
                    "moving average 0.1 (SONG)",
                    "v1 0.1, 0.9 (ours)",
                    "v2 0.1, 0.9, 0.4 (ours)",
                ]
                .contains(&name)
            {
                shown.push(smooth(name, &runs[0]));
            }
            rows.push((
                name,
                objective,
                equal,
                runs.iter().map(|run| mean(&run[BURN_IN as usize..])).collect(),
            ));
        }
        let runs = runs(|seed| Ok(unweighted(&lists, &path, &exact, rate, seed)))?;
        rows.push((
            UNWEIGHTED,
            "",
            Some(0.1),
            runs.iter().map(|run| mean(&run[BURN_IN as usize..])).collect(),
        ));
        let averages = rows.iter().filter(|row| row.0.starts_with("moving average") && row.0 != UNWEIGHTED);
        let best = averages.map(|row| mean(&row.3)).fold(f64::INFINITY, f64::min);
        for (name, objective, equal, errors) in &rows {
            let (error, spread) = mean_and_deviation(errors);
            let at_equal = equal.and_then(|gamma| {
                let twin = format!("song:gamma={gamma}");
                rows.iter().find(|row| row.1 == twin).map(|row| error / mean(&row.3) - 1.0)
            });
            let at_equal = at_equal.map_or(String::new(), |change| format!("{change:+.3}"));
            let best = error / best - 1.0;
            writeln!(csv, "{rate},\"{name}\",{objective},{error:.6},{spread:.6},{best:+.3},{at_equal}")?;
        }
    }
    print!("{csv}");
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("result.csv"), csv)?;
    let title = "Error of trackers while a linear model trains (all pairs in every step)";
    curves(title, "step", "mean |u − g|, mean over 10 steps", &shown).save(&folder.join("errors.svg"))?;
    Ok(())
}

type Features = Vec<Vec<f64>>;

/// The lists of all folds with standardised features.
fn read() -> Outcome<(Lists, Features)> {
    let (mut lengths, mut labels, mut features) = (Vec::new(), Vec::new(), Features::new());
    for fold in 1..=5 {
        let path = real_data(&format!("letor/ohsumed/fold{fold}.test.txt.gz"))?;
        let data = formats::read(&Source::path(&path), &ReadOptions::default())?;
        lengths.extend((0..data.lists.len()).map(|q| data.lists.range(q).len()));
        labels.extend_from_slice(&data.lists.labels);
        let mut row = vec![0.0; data.features.width()];
        for i in 0..data.rows() {
            data.features.row_into(i, &mut row);
            features.push(row.iter().map(|x| f64::from(*x)).collect());
        }
    }
    for k in 0..features[0].len() {
        let column: Vec<f64> = features.iter().map(|row| row[k]).collect();
        let centre = mean(&column);
        let sd = mean(&column.iter().map(|x| (x - centre).powi(2)).collect::<Vec<f64>>()).sqrt().max(1e-12);
        for row in &mut features {
            row[k] = ((row[k] - centre) / sd).clamp(-5.0, 5.0);
        }
    }
    Ok((Lists::from_lengths(&lengths, labels), features))
}

/// Scores of all items, step after step, of a linear model that trains by the exact SONG gradient with momentum.
fn train(lists: &Lists, features: &Features) -> Outcome<Vec<Vec<f64>>> {
    let goal = Goal::parse("song:gamma=1", &Policy::default())?;
    let mut state = goal.state(lists)?;
    let mut out = Gradients::default();
    let (mut w, mut m) = (vec![0.0; features[0].len()], vec![0.0; features[0].len()]);
    let mut path = Vec::new();
    for _ in 0..=STEPS {
        let scores: Vec<f64> =
            features.iter().map(|row| row.iter().zip(&w).map(|(x, w)| x * w).sum()).collect();
        goal.step(&Batch::all(lists, &scores), &mut state, &mut out)?;
        for k in 0..w.len() {
            let gradient: f64 = out.gradient.iter().zip(features).map(|(g, row)| g * row[k]).sum();
            m[k] = 0.9 * m[k] + gradient;
            w[k] -= 0.3 * m[k];
        }
        path.push(scores);
    }
    Ok(path)
}

/// The trackers' numbers, list after list.
fn trackers(state: &mut State, lists: &Lists) -> Vec<f64> {
    let mut all = Vec::new();
    let columns = state.columns().len();
    for q in 0..lists.len() {
        let mut list = state.of_list(q, lists.range(q).len());
        let u: &[f64] = if columns == 2 { list.cut::<2>()[1] } else { list.cut::<5>()[1] };
        all.extend_from_slice(u);
    }
    all
}

/// g of every relevant pair in every step.
fn exact_means(lists: &Lists, path: &[Vec<f64>]) -> Outcome<Vec<Vec<f64>>> {
    let goal = Goal::parse("song-minibatch", &Policy::default())?;
    let mut out = Gradients::default();
    path.iter()
        .map(|scores| {
            let mut state = goal.state(lists)?;
            goal.step(&Batch::all(lists, scores), &mut state, &mut out)?;
            Ok(trackers(&mut state, lists))
        })
        .collect()
}

/// All lists, each with a sample of its items.
fn draw(lists: &Lists, rate: f64, seed: u64, step: u64) -> Draws {
    let mut draws = Draws { offsets: vec![0], ..Draws::default() };
    for q in 0..lists.len() {
        let mut random = Stream::new(seed, "tracker quality").of_list(q as u32).at_step(step).open();
        let labels = &lists.labels[lists.range(q)];
        for (relevant, share, least) in [(true, rate, 2), (false, OTHERS, 3)] {
            let mut places: Vec<u32> =
                (0..labels.len() as u32).filter(|&i| (labels[i as usize] > 0.0) == relevant).collect();
            random.shuffle(&mut places);
            places.truncate(((places.len() as f64 * share).round() as usize).max(least));
            draws.items.extend(places);
        }
        let start = *draws.offsets.last().expect("an offset") as usize;
        draws.items[start..].sort_unstable();
        draws.lists.push(q as u32);
        draws.offsets.push(draws.items.len() as u64);
    }
    draws
}

fn drawn_scores(lists: &Lists, draws: &Draws, scores: &[f64]) -> Vec<f64> {
    let mut all = Vec::with_capacity(draws.items.len());
    for (d, &q) in draws.lists.iter().enumerate() {
        let start = lists.range(q as usize).start;
        let items = &draws.items[draws.offsets[d] as usize..draws.offsets[d + 1] as usize];
        all.extend(items.iter().map(|&i| scores[start + i as usize]));
    }
    all
}

/// Mean |u − g| over relevant pairs, step after step.
fn errors(
    objective: &str,
    lists: &Lists,
    path: &[Vec<f64>],
    exact: &[Vec<f64>],
    rate: f64,
    seed: u64,
) -> Outcome<Vec<f64>> {
    let goal = Goal::parse(objective, &Policy::default())?;
    let mut state = goal.state(lists)?;
    let mut out = Gradients::default();
    let mut errors = Vec::new();
    for step in 0..=STEPS {
        let draws = draw(lists, rate, seed, step);
        let scores = drawn_scores(lists, &draws, &path[step as usize]);
        let previous = step.checked_sub(1).map(|last| drawn_scores(lists, &draws, &path[last as usize]));
        let batch = Batch {
            draws: Some(&draws),
            previous: previous.as_deref(),
            stream: Stream::new(seed, "objective").at_step(step),
            ..Batch::all(lists, &scores)
        };
        goal.step(&batch, &mut state, &mut out)?;
        errors.push(mean_error(&trackers(&mut state, lists), &exact[step as usize]));
    }
    Ok(errors)
}

/// The same for the plain mean over the sample, followed by a moving average with γ 0.1.
fn unweighted(lists: &Lists, path: &[Vec<f64>], exact: &[Vec<f64>], rate: f64, seed: u64) -> Vec<f64> {
    let relevant: Vec<Vec<u32>> = (0..lists.len())
        .map(|q| {
            let labels = &lists.labels[lists.range(q)];
            (0..labels.len() as u32).filter(|&i| labels[i as usize] > 0.0).collect()
        })
        .collect();
    let mut u: Vec<Vec<f64>> = relevant.iter().map(|places| vec![f64::NAN; places.len()]).collect();
    let mut errors = Vec::new();
    for step in 0..=STEPS {
        let draws = draw(lists, rate, seed, step);
        let scores = drawn_scores(lists, &draws, &path[step as usize]);
        for q in 0..lists.len() {
            let part = draws.offsets[q] as usize..draws.offsets[q + 1] as usize;
            let sample = &scores[part.clone()];
            for (k, item) in draws.items[part].iter().enumerate() {
                let Ok(slot) = relevant[q].binary_search(item) else { continue };
                let hinge = |s: &f64| (s - sample[k] + 1.0).max(0.0).powi(2);
                let estimate = sample.iter().map(hinge).sum::<f64>() / sample.len() as f64;
                let u = &mut u[q][slot];
                *u = if u.is_nan() { estimate } else { 0.9 * *u + 0.1 * estimate };
            }
        }
        errors.push(mean_error(&u.concat(), &exact[step as usize]));
    }
    errors
}

/// Over the pairs that were seen.
fn mean_error(u: &[f64], exact: &[f64]) -> f64 {
    let errors: Vec<f64> =
        u.iter().zip(exact).filter(|(u, g)| !u.is_nan() && !g.is_nan()).map(|(u, g)| (u - g).abs()).collect();
    mean(&errors)
}

fn runs(run: impl Fn(u64) -> Outcome<Vec<f64>>) -> Outcome<Vec<Vec<f64>>> {
    (1..=SEEDS).map(run).collect()
}

fn smooth(name: &str, errors: &[f64]) -> Series {
    let points = errors.chunks(10).enumerate().map(|(i, part)| (10.0 * i as f64 + 5.0, mean(part))).collect();
    Series { name: name.into(), points }
}

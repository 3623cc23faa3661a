use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::plan::Plan;
use super::{Run, resumable::Run as _, tests as test_runs, tries};

const PLAN: &str = r#"
about = "a plan for tests"
task = "recommend"
metric = "ndcg@10"
report = "ndcg@10,recall@20"
tries = 4
seeds = [7, 8]
settings = { model = "mf", epochs = 3 }

[[sets]]
name = "small"
files = ["a", "b", "c"]
train = [0]
valid = [1]
test = [2]
folds = 3

[[methods]]
name = "SONG"
settings = { objective = "song", epochs = 5 }
grid = { dimensions = [8, 16], learning-rate = [0.1, 0.01] }

[[methods]]
name = "BPR"
settings = { objective = "bpr" }
grid = { learning-rate = [0.1, 0.2, 0.3] }
also = [{ learning-rate = 0.1, dimensions = 9 }]
"#;

fn plan(text: &str) -> Result<Plan, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    std::fs::write(&path, text).unwrap();
    Plan::read(path.to_str().unwrap()).map_err(|error| error.to_string())
}

#[test]
fn every_combination_is_a_try_and_later_settings_replace_earlier_ones() {
    let plan = plan(PLAN).unwrap();
    let runs = tries(&plan);
    assert_eq!(runs.len(), 3 * 2 * 4);
    let song = &runs[1];
    assert_eq!(song.tried, "dimensions = 8, learning-rate = 0.01");
    assert_eq!(
        (song.settings["epochs"].as_integer(), song.settings["model"].as_str()),
        (Some(5), Some("mf"))
    );
    assert!(runs.iter().all(|run| run.seed == 7 && !run.test));
}

#[test]
fn a_plan_with_unequal_numbers_of_tries_is_refused() {
    let unequal = PLAN.replace("also = [{ learning-rate = 0.1, dimensions = 9 }]", "");
    assert!(plan(&unequal).unwrap_err().contains("BPR has 3 tries, but the plan gives every method 4"));
    let twice =
        PLAN.replace("dimensions = 9 }", "}").replace("learning-rate = 0.1, }", "learning-rate = 0.1 }");
    assert!(plan(&twice).unwrap_err().contains("BPR tries the same settings twice"));
    let unknown = PLAN.replace("about", "abuot");
    assert!(plan(&unknown).unwrap_err().contains("abuot"));
}

#[test]
fn the_test_data_are_evaluated_only_for_the_try_that_is_best_on_validation_data() {
    let plan = plan(PLAN).unwrap();
    let runs = tries(&plan);
    let line = |run: &Run, valid: Value| json!({ "run": run.name(), "valid": valid });
    // In fold 1 SONG's third try is best, and one diverged; the others of fold 1 are not done.
    let of_song: Vec<&Run> = runs.iter().filter(|run| run.fold == 1 && run.method == "SONG").collect();
    let values = [json!(0.1), json!(null), json!(0.3), json!(0.2)];
    let lines: Vec<Value> = of_song.iter().zip(values).map(|(run, valid)| line(run, valid)).collect();
    assert!(test_runs(&plan, &lines[..3]).is_empty(), "not before all tries are done");
    let chosen = test_runs(&plan, &lines);
    let found: BTreeMap<u64, &str> = chosen.iter().map(|run| (run.seed, run.tried.as_str())).collect();
    let third = "dimensions = 16, learning-rate = 0.1";
    assert_eq!(found, BTreeMap::from([(7, third), (8, third)]));
    assert!(chosen.iter().all(|run| run.test && run.fold == 1));
}

/// The plans of the papers, by path.
#[cfg(feature = "neural")]
fn plans_of_the_papers() -> Vec<(String, Plan)> {
    let bench = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench");
    let mut plans = Vec::new();
    for paper in ["paper000", "paper001"] {
        for folder in std::fs::read_dir(bench.join(paper)).unwrap().map(|entry| entry.unwrap().path()) {
            let Ok(files) = std::fs::read_dir(&folder) else { continue };
            for file in files.map(|file| file.unwrap().path()) {
                if file.extension().is_some_and(|ending| ending == "toml") {
                    let path = file.to_str().unwrap().to_string();
                    plans.push((path.clone(), Plan::read(&path).unwrap()));
                }
            }
        }
    }
    plans
}

#[cfg(feature = "neural")]
#[test]
fn every_try_of_the_papers_plans_has_valid_settings() {
    use super::plan::Task;
    use super::tasks::settings;
    use toprank::core::Policy;
    use toprank::objectives::Goal;
    use toprank::train::TrainerKind;
    let plans = plans_of_the_papers();
    assert!(plans.len() > 5, "{} plans", plans.len());
    for (path, plan) in &plans {
        let kind = match plan.task {
            Task::Rank => TrainerKind::Rank,
            Task::Recommend => TrainerKind::Recommend,
            Task::Embed => TrainerKind::Embed,
        };
        let parse = |objective: &str| Goal::parse(objective, &Policy::default());
        if let Some(followed) = plan.curves.as_ref().and_then(|curves| curves.objective.as_deref()) {
            parse(followed).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
        for run in tries(plan) {
            let name = run.name();
            let config = settings(plan, &run).and_then(|settings| Ok(settings.resolve(kind)?));
            config.unwrap_or_else(|error| panic!("{path}: {name}: {error}"));
            let objective = run.settings["objective"].as_str().unwrap();
            parse(objective).unwrap_or_else(|error| panic!("{path}: {name}: {error}"));
        }
    }
}

#[test]
fn a_curve_is_the_mean_over_runs_and_ends_where_one_diverged() {
    let with_curves = PLAN.replace("task = \"recommend\"", "task = \"rank\"").replace(
        "tries = 4",
        "tries = 4\ncurves = { every = 2, objective = \"song:gamma=1\", chooses = true }",
    );
    let plan = plan(&with_curves).unwrap();
    let curve = |losses: &[f64]| -> Value {
        losses.iter().enumerate().map(|(i, loss)| json!([2 * i, 8 * i, null, loss, loss / 2.0])).collect()
    };
    // The metric prefers the first try, the loss at the end of the curve the second one.
    let runs = tries(&plan);
    let of_song: Vec<&Run> = runs.iter().filter(|run| run.fold == 0 && run.method == "SONG").collect();
    let lines: Vec<Value> = of_song
        .iter()
        .zip([(0.9, 0.7), (0.8, 0.2), (0.7, 0.5), (0.6, 0.6)])
        .map(|(run, (valid, loss))| json!({ "run": run.name(), "valid": valid, "curve": curve(&[1.0, loss, loss, loss, loss, loss]) }))
        .collect();
    let chosen = test_runs(&plan, &lines);
    assert!(chosen.len() == 2 && chosen.iter().all(|run| run.tried == of_song[1].tried));

    let test = |method: &str, fold: usize, seed: u64, valid: Value, losses: &[f64]| {
        json!({
            "test": true, "set": "small", "method": method, "fold": fold, "seed": seed, "tried": "t", "valid": valid, "curve": curve(losses),
        })
    };
    let mut lines = Vec::new();
    for fold in 0..3 {
        lines.push(test("SONG", fold, 7, json!(0.5), &[0.9, 0.5, 0.3]));
        lines.push(test("SONG", fold, 8, json!(0.5), &[0.7, 0.1, 0.1]));
        lines.push(test("BPR", fold, 7, json!(0.5), &[0.9, 0.5, 0.3]));
        lines.push(test("BPR", fold, 8, json!(null), &[0.7]));
    }
    let folder = tempfile::tempdir().unwrap();
    super::curves::write(&plan, &lines, folder.path()).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let (points, ends) = (read("curves.csv"), read("ends.csv"));
    assert!(points.contains("small,SONG,4,16,,0.20000,"), "{points}");
    assert_eq!(points.lines().filter(|line| line.contains("BPR")).count(), 1, "{points}");
    // (0.9 + 0.5 + 0.3)/3 and (0.7 + 0.1 + 0.1)/3; of BPR only the run that did not diverge.
    assert!(ends.contains("small,SONG,6,0,0.43333,"), "{ends}");
    assert!(ends.contains("small,BPR,6,3,0.56667,0.00000,"), "{ends}");
    assert!(read("small-objective.svg").contains("SONG") && read("small-valid.svg").contains("BPR"));
}

#[test]
fn tables_have_the_followed_loss_of_each_try_and_names_with_commas_are_one_cell() {
    let plan = plan(&PLAN.replace("name = \"SONG\"", "name = \"SONG, γ 0.1\"")).unwrap();
    let line = |test: bool, fold: usize, seed: u64| {
        let lists = json!({ "mean": 0.5, "lists": [0.25, 0.75] });
        json!({
            "test": test, "set": "small", "method": "SONG, γ 0.1", "fold": fold, "seed": seed, "tried": "a = \"b\", c = 1", "valid": 0.5,
            "epoch": 3, "seconds": 1.0, "curve": [[1, 1, null, 0.25, 0.5], [2, 2, null, 0.75, 0.5]],
            "metrics": { "ndcg@10": lists, "recall@20": { "mean": 0.125 } },
        })
    };
    let mut lines = vec![line(false, 0, 7)];
    lines.extend((0..3).flat_map(|fold| [7, 8].map(|seed| line(true, fold, seed))));
    let folder = tempfile::tempdir().unwrap();
    super::table::write(&plan, &lines, folder.path()).unwrap();
    let read = |name: &str| -> Vec<BTreeMap<String, String>> {
        let mut file = csv::Reader::from_path(folder.path().join(name)).unwrap();
        file.deserialize().map(Result::unwrap).collect()
    };
    let (tries, tests) = (read("tries.csv"), read("test.csv"));
    assert_eq!((tries.len(), tries[0]["followed"].as_str()), (1, "0.50000"));
    assert_eq!((tests.len(), tests[0]["method"].as_str()), (1, "SONG, γ 0.1"));
    assert_eq!([&tests[0]["ndcg@10"], &tests[0]["recall@20"]], ["0.50000", "0.12500"]);
    assert_eq!(tests[0]["chosen"], "a = \"b\", c = 1");
}

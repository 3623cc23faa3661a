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

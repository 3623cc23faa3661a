//! One grammar for every command, help that fits a screen, pages for a terminal, and no silent traps.

mod common;

use common::{Toprank, json};

/// LETOR text: lists of six items with this many features.
fn letor(lists: u32, features: u32, first: u32) -> String {
    let row = |list: u32, item: u32| {
        let value =
            |k: u32| f64::from((list * 31 + item * 17 + k * 7).wrapping_mul(2_654_435_761) >> 16) / 65536.0;
        let cells: String = (1..=features).map(|k| format!(" {k}:{:.4}", value(k))).collect();
        format!("{} qid:{list}{cells}\n", u8::from(value(1) > 0.5))
    };
    (first..first + lists).flat_map(|list| (0..6).map(move |item| row(list, item))).collect()
}

const TREES: &str = "--model trees --trees 5 --leaves 4 --objective lambdamart --quiet";

fn with_model(features: u32) -> Toprank {
    let shell = Toprank::new();
    shell.file("train.txt", &letor(30, features, 1));
    shell.file("test.txt", &letor(10, features, 100));
    shell.ok(&format!("train --data train.txt {TREES} -o model.toprank"));
    shell
}

#[test]
fn the_model_file_is_an_argument_and_minus_o_is_a_path() {
    let shell = with_model(5);
    shell.ok("predict model.toprank --data test.txt -o scores.txt");
    assert_eq!(shell.read("scores.txt").lines().count(), 60);
    shell.ok("export model.toprank --to lightgbm -o model.txt --probes 100");
    assert!(shell.read("model.txt").starts_with("tree"));
    assert!(shell.ok("explain model.toprank --data test.txt -m ndcg@10").contains("loss of ndcg@10"));
    assert!(shell.ok("inspect model.toprank").contains("tree 1 of 5"));
    for gone in
        ["predict --model model.toprank --data test.txt", "export model.toprank --format lightgbm -o x"]
    {
        assert!(shell.fails(2, gone).contains("unexpected argument"), "{gone}");
    }
}

#[test]
fn a_recommender_is_evaluated_by_its_file() {
    let shell = Toprank::new();
    shell.ok("generate interactions --users 40 --items 60 --length 10 --seed 1 -o shop --quiet");
    shell.ok(
        "recommend train --data shop/interactions.csv --split leave-last --objective ndcg@10 --model mf:width=4 --epochs 2 \
         --seed 1 -o rec.toprank --quiet",
    );
    let found = json(&shell.ok("recommend evaluate rec.toprank -m ndcg@10 --json"));
    let value = found["metrics"]["ndcg@10"].as_f64().unwrap();
    let interval = &found["intervals"]["ndcg@10"];
    assert!(
        interval["low"].as_f64().unwrap() <= value && value <= interval["high"].as_f64().unwrap(),
        "{found}"
    );
    assert!(shell.ok("recommend evaluate rec.toprank -m ndcg@10 --format csv").starts_with("metric,value"));
    assert!(shell.ok("recommend top rec.toprank --user u1 --k 3").contains("u1"));
}

#[test]
fn short_help_leaves_the_reading_of_data_to_the_whole_one() {
    let shell = Toprank::new();
    for command in
        ["predict", "train", "evaluate", "split", "recommend train", "pagerank rank", "generate letor"]
    {
        let short = shell.ok(&format!("{command} -h"));
        assert!(short.lines().count() <= 40, "toprank {command} -h has {} lines", short.lines().count());
        assert!(!short.contains("--absent-is-missing"), "{short}");
        let whole = shell.ok(&format!("{command} --help"));
        assert!(whole.lines().count() > short.lines().count(), "toprank {command} --help");
    }
    let all = shell.ok("--help");
    assert!(all.lines().count() <= 40 && all.lines().all(|line| line.chars().count() <= 100), "{all}");
    for group in ["Evaluate:", "Train:", "Data:", "Explore:"] {
        assert!(all.lines().any(|line| line == group), "no group {group}\n{all}");
    }
    assert_eq!(shell.ok("-h"), all);
    assert!(shell.ok("predict --help").contains("--absent-is-missing"));
}

#[test]
fn pages_are_plain_text() {
    let shell = Toprank::new();
    for page in [
        "metrics ndcg",
        "objectives song",
        "objectives listnet",
        "models trees",
        "models adam",
        "formats letor",
    ] {
        let text = shell.ok(page);
        assert!(!text.contains("```") && !text.contains("assert"), "{page}:\n{text}");
        assert!(!text.contains("|---"), "{page}:\n{text}");
    }
    let about = shell.ok("generate letor --help");
    assert!(about.lines().all(|line| line.chars().count() <= 100), "{about}");
}

#[test]
fn a_metric_tells_which_objective_serves_it_for_each_kind_of_model() {
    let shell = Toprank::new();
    let page = shell.ok("metrics ndcg");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("networks with `yetirank`") && words.contains("recommenders with `listwise-ce`"),
        "{page}"
    );
    let value = json(&shell.ok("metrics ndcg --json"));
    assert_eq!(value["trained_by"]["trees"], "yetirank");
    assert!(shell.ok("metrics judged").contains("No objective serves this metric"));
}

#[test]
fn catalogs_name_commands_that_exist_and_unknown_names_get_one_sentence() {
    let shell = Toprank::new();
    for command in ["metrics", "objectives", "models"] {
        let text = shell.ok(command);
        assert!(text.contains(&format!("`toprank {command} NAME` explains one.")), "{text}");
    }
    for (args, message) in [
        ("objectives ndgc", "unknown objective \"ndgc\"; did you mean \"ndcg\"?"),
        ("metrics ndgc", "unknown metric \"ndgc\"; did you mean \"ndcg\"?"),
        ("models treess", "\"treess\"; did you mean \"trees\"?"),
        ("formats letr", "unknown format \"letr\"; did you mean \"letor\"?"),
        ("train --data x --objective ndgc -o m", "unknown objective \"ndgc\"; did you mean \"ndcg\"?"),
        ("split x --method leave-lst -o y", "unknown split \"leave-lst\"; did you mean \"leave-last\"?"),
        ("export x --to lightgm -o y", "unknown format \"lightgm\"; did you mean \"lightgbm\"?"),
    ] {
        let error = shell.fails(2, args);
        assert!(error.contains(message), "{args}: {error}");
    }
}

#[test]
fn a_second_split_does_not_mix_with_the_first() {
    let shell = Toprank::new();
    shell.file("data.txt", &letor(20, 2, 1));
    shell.ok("split data.txt --method 60/20/20 -o parts");
    let before = shell.read("parts/train.txt");
    shell.file("parts/notes.md", "mine");
    let error = shell.fails(2, "split data.txt --method 80/20 -o parts");
    assert!(error.contains("test.txt, train.txt, vali.txt") && error.contains("--force"), "{error}");
    assert_eq!(shell.read("parts/train.txt"), before, "nothing was written");
    shell.ok("split data.txt --method 80/20 --force -o parts");
    let mut names = shell.names("parts");
    names.sort();
    assert_eq!(names, ["notes.md", "test.txt", "train.txt"], "the stale part is gone, other files stay");
    let rows = |name: &str| shell.read(name).lines().count();
    assert_eq!((rows("parts/train.txt"), rows("parts/test.txt")), (96, 24));
}

#[test]
fn generated_files_are_not_mixed_with_those_of_an_earlier_run() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 10 --seed 1 -o demo");
    let error = shell.fails(2, "generate letor --lists 10 --seed 2 --split 100/0/0 -o demo");
    assert!(error.contains("test.txt, train.txt, vali.txt") && error.contains("--force"), "{error}");
    shell.ok("generate letor --lists 10 --seed 2 --split 100/0/0 --force -o demo");
    assert_eq!(shell.names("demo"), ["train.txt"]);
}

#[test]
fn splits_have_the_same_names_in_every_command() {
    let shell = Toprank::new();
    shell.ok("generate interactions --users 30 --items 40 --length 8 --seed 1 -o shop --quiet");
    for split in ["leave-last", "random:fractions=80/10/10", "none"] {
        shell.ok(&format!("split shop/interactions.csv --list user --label rating --method {split} --input-format interactions --force -o parts"));
        shell.ok(&format!(
            "recommend train --data shop/interactions.csv --split {split} --model mf:width=2 --epochs 1 -o r.toprank --quiet"
        ));
    }
    let error = shell.fails(2, "recommend train --data shop/interactions.csv --split k-fold -o r.toprank");
    assert!(error.contains("leave-last, random[:fractions=80/10/10] or none"), "{error}");
}

#[test]
fn data_with_more_features_than_the_model_are_refused() {
    let shell = with_model(25);
    shell.file("wide.txt", &letor(5, 46, 1));
    let error = shell.fails(3, "predict model.toprank --data wide.txt -o scores.txt");
    assert!(error.contains("46 features") && error.contains("25 features"), "{error}");
    assert!(!shell.has("scores.txt"));
    let error = shell.fails(3, "explain model.toprank --data wide.txt");
    assert!(error.contains("46 features"), "{error}");
    // Asked for, the other features are left out.
    shell.ok("predict model.toprank --data wide.txt --ignore 26-46 -o scores.txt");
    assert_eq!(shell.read("scores.txt").lines().count(), 30);
}

#[test]
fn training_names_the_columns_it_uses_and_those_it_does_not() {
    let shell = Toprank::new();
    let row =
        |i: u32| format!("{},{},{},item {i},{}\n", 1000 + i, i % 7, ["red", "blue"][i as usize % 2], i % 2);
    shell.file(
        "d.csv",
        &("customer_id,age,colour,title,label\n".to_string() + &(0..40).map(row).collect::<String>()),
    );
    let train = "train --data d.csv --model trees --trees 2 --leaves 3 --objective logistic -o m.toprank";
    let (_, note) = shell.with_notes(train);
    assert!(note.contains("2 numeric features: customer_id, age; not used: colour, title"), "{note}");
    assert!(note.contains("--ignore customer_id"), "{note}");
    let (_, note) = shell.with_notes(&format!("{train} --categorical colour --ignore customer_id"));
    assert!(
        note.contains("1 numeric feature: age; categorical: colour; not used: customer_id, title"),
        "{note}"
    );
    assert_eq!(json(&shell.ok("inspect m.toprank --json"))["features"], serde_json::json!(["age", "colour"]));
    let error = shell.fails(2, &format!("{train} --ignore custmer_id"));
    assert!(error.contains("no column is called custmer_id") && error.contains("customer_id"), "{error}");
    let (_, note) = shell.with_notes(&format!("{train} --quiet"));
    assert!(note.is_empty(), "{note}");
}

#[test]
fn predictions_are_one_json_object_if_asked_for() {
    let shell = with_model(5);
    let scores: Vec<f64> =
        shell.ok("predict model.toprank --data test.txt").lines().map(|line| line.parse().unwrap()).collect();
    let value = json(&shell.ok("predict model.toprank --data test.txt --json"));
    assert_eq!(value["scores"], serde_json::json!(scores));
    assert_eq!((&value["lists"], &value["items"]), (&10.into(), &60.into()));
    let top = json(&shell.ok("predict model.toprank --data test.txt --top 2 --json"));
    assert_eq!(top["top"].as_array().unwrap().len(), 10);
    assert_eq!(top["top"][0]["items"].as_array().unwrap().len(), 2);
    let summary = json(&shell.ok("predict model.toprank --data test.txt -o s.txt --json"));
    assert_eq!((&summary["output"], summary.get("scores")), (&"s.txt".into(), None));
    assert_eq!(shell.read("s.txt").lines().count(), 60);
    let error = shell.fails(2, "predict model.toprank --data test.txt --trec-run --json");
    assert!(error.contains("--json and --trec-run"), "{error}");
}

#[test]
fn several_files_are_read_as_one() {
    let shell = with_model(5);
    let (a, b) = (letor(4, 5, 200), letor(3, 5, 300));
    shell.file("part-1.txt", &a);
    shell.file("part-2.txt", &b);
    shell.file("whole.txt", &(a + &b));
    let scores = |data: &str| shell.ok(&format!("predict model.toprank {data}"));
    let whole = scores("--data whole.txt");
    assert_eq!(scores("--data part-1.txt --data part-2.txt"), whole);
    assert_eq!(scores("--data part-*.txt"), whole);
    shell.ok(&format!("train --data part-*.txt {TREES} -o parts.toprank"));
    shell.ok(&format!("train --data whole.txt {TREES} -o one.toprank"));
    let with = |name: &str| shell.ok(&format!("predict {name} --data whole.txt"));
    assert_eq!(with("parts.toprank"), with("one.toprank"));
    let gradient = |data: &str| shell.ok(&format!("gradient {data} --feature 1 --objective listnet --json"));
    assert_eq!(gradient("--data part-1.txt --data part-2.txt"), gradient("--data whole.txt"));
    shell.ok("split part-1.txt part-2.txt --method 50/50 -o halves");
    shell.ok("split whole.txt --method 50/50 -o again");
    assert_eq!(shell.read("halves/train.txt"), shell.read("again/train.txt"));
    let error = shell.fails(3, "predict model.toprank --data part-1.txt --data part-1.txt");
    assert!(error.contains("which is also in part-1.txt") && error.contains("--regroup"), "{error}");
    let error = shell.fails(1, "predict model.toprank --data no-*.txt");
    assert!(error.contains("no file matches this pattern"), "{error}");
}

#[test]
fn ranklib_models_and_refusals_count_from_1_as_inspect_does() {
    let shell = with_model(5);
    shell.ok("export model.toprank --to ranklib --missing zero -o model.xml --probes 100");
    let text = shell.read("model.xml");
    assert!(
        text.contains("<tree id=\"1\"")
            && text.contains("<tree id=\"5\"")
            && !text.contains("<tree id=\"0\"")
    );
    // The first split of the first tree, as inspect prints it.
    let shown = shell.ok("inspect model.toprank --tree 1");
    let first = text.split("<feature> ").nth(1).unwrap().split(' ').next().unwrap();
    let root = shown.lines().skip_while(|line| !line.starts_with("tree 1 of")).nth(1).unwrap();
    assert!(root.split_whitespace().any(|word| word == first), "feature {first}: {root}");
    let probes = shell.read("model.xml.probe.csv");
    assert!(probes.starts_with("score,1,2,3,4,5\n"), "{probes}");
}

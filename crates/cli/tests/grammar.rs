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
    // As it was asked for: parameters decide, too.
    assert!(shell.ok("metrics ndcg@5").contains("`--objective ndcg@5` trains"));
    let value = json(&shell.ok("metrics pauc:fpr=0.1 --json"));
    let algorithm = value["trained_by"]["networks"].as_str().unwrap();
    assert!(algorithm.starts_with("pauc-cvar:fpr=0.1"), "{algorithm}");
}

#[test]
fn catalogs_name_commands_that_exist_and_unknown_names_get_one_sentence() {
    let shell = Toprank::new();
    shell.file("here.txt", &letor(2, 2, 1));
    for command in ["metrics", "objectives", "models"] {
        let text = shell.ok(command);
        assert!(text.contains(&format!("`toprank {command} NAME` explains one.")), "{text}");
    }
    for (args, message) in [
        ("objectives lisnet", "unknown objective \"lisnet\"; did you mean \"listnet\"?"),
        ("metrics ndgc", "unknown metric \"ndgc\"; did you mean \"ndcg\"?"),
        ("models treess", "\"treess\"; did you mean \"trees\"?"),
        ("formats letr", "unknown format \"letr\"; did you mean \"letor\"?"),
        ("train --data x --objective ndgc -o m", "unknown objective \"ndgc\"; did you mean \"ndcg\"?"),
        ("split x --method leave-lst -o y", "unknown split \"leave-lst\"; did you mean \"leave-last\"?"),
        ("export x --to lightgm -o y", "unknown format \"lightgm\"; did you mean \"lightgbm\"?"),
        ("train --data x --model mpl -o m", "unknown model \"mpl\"; did you mean \"mlp\"?"),
        ("train --data x --optimiser adm -o m", "unknown optimiser \"adm\"; did you mean \"adam\"?"),
        ("train --data x --sampler lits -o m", "unknown sampler \"lits\"; did you mean \"lists\"?"),
        ("train --data x --schedule cosin -o m", "unknown schedule \"cosin\"; did you mean \"cosine\"?"),
        (
            "train --data x --transforms standardize -o m",
            "unknown transform \"standardize\"; did you mean \"standardise\"?",
        ),
        (
            "train --data x --weight-average emma -o m",
            "unknown weight average \"emma\"; did you mean \"ema\"?",
        ),
        ("train --data x --calibrate plat -o m", "unknown calibration \"plat\"; did you mean \"platt\"?"),
        ("train --data x --valid-metric ndgc -o m", "unknown metric \"ndgc\"; did you mean \"ndcg\"?"),
        ("recommend train --data x --model nuemf -o m", "unknown model \"nuemf\"; did you mean \"neumf\"?"),
        ("inspect here.txt --input-format leter", "unknown format \"leter\"; did you mean \"letor\"?"),
        ("convert here.txt out.x --to paquet", "unknown format \"paquet\"; did you mean \"parquet\"?"),
        (
            "compare --data here.txt a=feature:1 b=feature:1 --correction hol",
            "unknown correction \"hol\"; did you mean \"holm\"?",
        ),
        (
            "compare --data here.txt a=feature:1 b=feature:1 --tests tt",
            "unknown test \"tt\"; did you mean \"t\"?",
        ),
        (
            "evaluate --data here.txt --feature 1 --like ranks",
            "unknown tool for --like \"ranks\"; did you mean \"ranx\"?",
        ),
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
    for split in ["leave-last", "temporal:fractions=80/10/10", "random:fractions=80/10/10", "none"] {
        shell.ok(&format!("split shop/interactions.csv --list user --label rating --method {split} --input-format interactions --force -o parts"));
        shell.ok(&format!(
            "recommend train --data shop/interactions.csv --split {split} --model mf:width=2 --epochs 1 -o r.toprank --quiet"
        ));
    }
    let error = shell.fails(2, "recommend train --data shop/interactions.csv --split k-fold -o r.toprank");
    assert!(
        error.contains("leave-last, temporal[:fractions=80/10/10], random[:fractions=80/10/10] or none"),
        "{error}"
    );
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

#[test]
fn every_evaluation_prints_its_policy_and_how_its_intervals_were_found() {
    let shell = Toprank::new();
    shell.ok("generate interactions --users 40 --items 60 --length 10 --seed 1 -o shop --quiet");
    let small = "--model mf:width=4 --epochs 1 --seed 1 -o rec.toprank --quiet";
    shell.ok(&format!("recommend train --data shop/interactions.csv {small}"));
    shell.ok("generate graphs --queries 6 --seed 1 -o graphs --quiet");
    shell.ok("pagerank train --graphs graphs --steps 1 -o walk.toprank --quiet");
    shell.file("test.txt", &letor(10, 2, 1));
    let mut commands = vec![
        ("evaluate --data test.txt --feature 1 -m ndcg@5,map:relevant=2", "lists"),
        ("recommend evaluate rec.toprank -m ndcg@5,map:relevant=2", "users"),
        ("pagerank evaluate walk.toprank --graphs graphs -m ndcg@5,map:relevant=2", "lists"),
    ];
    if cfg!(feature = "neural") {
        let rows: String =
            (0..24).map(|i| format!("{},{},{}\n", ["a", "b", "c"][i % 3], i % 3, i * i % 7)).collect();
        shell.file("rows.csv", &format!("kind,x,y\n{rows}"));
        let small = "--model mlp:hidden=2 --epochs 1 -o emb.toprank --quiet";
        shell.ok(&format!("embed train --data rows.csv --class kind --split 100/0/0 {small}"));
        commands.push((
            "retrieve emb.toprank --queries rows.csv --class kind -m ndcg@5,map:relevant=2",
            "queries",
        ));
    }
    for (command, lists) in commands {
        let text = shell.ok(command);
        let intervals = format!("\nintervals: BCa bootstrap over {lists}, ");
        assert!(text.contains(&intervals), "toprank {command}\n{text}");
        assert!(text.contains("\npolicy: gain=exp2 ties=averaged"), "toprank {command}\n{text}");
        assert!(text.contains("\n        map:relevant=2: relevant=2"), "toprank {command}\n{text}");
        let value = json(&shell.ok(&format!("{command} --json")));
        assert_eq!(value["policy"]["relevant"], ">0", "toprank {command}");
        assert_eq!(value["policy"]["per_metric"]["map:relevant=2"]["relevant"], "2", "toprank {command}");
        if let Some(interval) = value["intervals"].get("ndcg@5") {
            assert_eq!(
                (&interval["level"], &interval["kind"]),
                (&0.95.into(), &"bca".into()),
                "toprank {command}"
            );
        }
    }
}

#[test]
fn a_model_of_trees_is_described_in_boosting_rounds() {
    let shell = with_model(5);
    shell.file("vali.txt", &letor(10, 5, 200));
    shell.ok(&format!("train --data train.txt --valid vali.txt {TREES} -o best.toprank"));
    let text = shell.ok("inspect best.toprank");
    assert!(text.contains("5 boosting rounds\n"), "{text}");
    let best = text.lines().find(|line| line.starts_with("best ")).expect("the best on validation");
    assert!(best.contains(", in round ") && !best.contains("epoch"), "{best}");
}

#[test]
fn notes_count_one_thing_as_one() {
    let shell = Toprank::new();
    shell.file("one.csv", "qid,label,x\n1,1,0.5\n1,0,0.2\n");
    let (_, note) = shell.with_notes("convert one.csv copy.csv");
    assert_eq!(note, "note: wrote 1 list, 2 items, 1 feature to copy.csv\n");
    shell.file("a.run", "q Q0 d 1 0.5 t\n");
    let (_, note) = shell.with_notes("fuse a.run a.run -o fused.run");
    assert_eq!(note, "note: fused 2 runs: 1 query, 1 document\n");
    let (_, note) = shell.with_notes("gradient --data one.csv --feature x --objective listnet -o -");
    assert!(note.contains(" over 1 list, 0 without gradient"), "{note}");
}

/// Two features, of which only `a` says something; named and ordered as `head` does.
fn two_features(head: &str, lists: std::ops::Range<u32>) -> String {
    let value = |list: u32, item: u32, k: u32| {
        f64::from((list * 31 + item * 17 + k * 7).wrapping_mul(2_654_435_761) >> 16) / 65536.0
    };
    let mut text = format!("qid,label,{head}\n");
    for (list, item) in lists.flat_map(|list| (0..6).map(move |item| (list, item))) {
        let (a, b) = (value(list, item, 1), value(list, item, 2));
        let cells = if head == "a,b" { format!("{a},{b}") } else { format!("{b},{a}") };
        text += &format!("{list},{},{cells}\n", u8::from(a > 0.5));
    }
    text
}

#[test]
fn validation_data_and_warm_starts_find_features_by_name() {
    // Was: by position, so that another order of the columns gave another model without a word.
    let shell = Toprank::new();
    shell.file("train.csv", &two_features("a,b", 0..40));
    for (name, head) in [("same", "a,b"), ("turned", "b,a"), ("renamed", "y,x")] {
        shell.file(&format!("{name}.csv"), &two_features(head, 100..120));
    }
    let train = |valid: &str| {
        let args =
            format!("train --data train.csv --valid {valid} --min-rows 5 {TREES} --json -o {valid}.toprank");
        json(&shell.ok(&args))["best"]["value"].clone()
    };
    assert_eq!(train("turned.csv"), train("same.csv"));
    assert_eq!(shell.bytes("turned.csv.toprank"), shell.bytes("same.csv.toprank"));
    let error = shell.fails(3, &format!("train --data train.csv --valid renamed.csv {TREES} -o x.toprank"));
    assert!(
        error.contains("renamed.csv: no feature is called a, b; expected the features of the training"),
        "{error}"
    );
    shell.ok("convert turned.csv turned.toprank-data");
    let error =
        shell.fails(3, &format!("train --data train.csv --valid turned.toprank-data {TREES} -o x.toprank"));
    assert!(
        error.contains("turned.toprank-data: a memory-mapped file with the features in another order"),
        "{error}"
    );
    // The model to warm-start from has an order, too.
    for name in ["same", "turned"] {
        shell.ok(&format!("train --data {name}.csv --from same.csv.toprank {TREES} -o on-{name}.toprank"));
    }
    let scores = |name: &str| shell.ok(&format!("predict on-{name}.toprank --data same.csv"));
    assert_eq!(scores("turned"), scores("same"));
    let error =
        shell.fails(3, &format!("train --data renamed.csv --from same.csv.toprank {TREES} -o x.toprank"));
    assert!(
        error.contains("renamed.csv: no feature is called a, b; expected the features of the model"),
        "{error}"
    );
}

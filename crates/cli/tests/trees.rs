//! Models of trees: trained, resumed, explained, and handed to other tools and back.

mod common;

use common::{Toprank, json};

fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 60 --seed 1 -o demo --quiet");
    shell
}

const RUN: &str = "train --data demo/train.txt --valid demo/vali.txt --model trees --quiet";
const SMALL: &str = "--objective lambdamart:k=10 --trees 20 --leaves 8 --rate 0.1";

#[test]
fn trees_are_trained_inspected_and_better_than_chance() {
    let shell = shell();
    let value = json(&shell.ok(&format!("{RUN} {SMALL} -o m.toprank --curves curves --json")));
    assert!(value["best"]["value"].as_f64().unwrap() > 0.6, "{value}");
    assert_eq!((&value["config"]["algorithm"], &value["epochs"]), (&"lambdarank@10".into(), &20.into()));
    assert_eq!(shell.read("curves/curve.csv").lines().count(), 21);
    let lists = shell.read("curves/lists.csv");
    let values: Vec<f64> =
        lists.lines().skip(1).filter_map(|line| line.split(',').nth(1)?.parse().ok()).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    assert!((mean - value["best"]["value"].as_f64().unwrap()).abs() < 1e-12, "{mean} {lists}");
    let text = shell.ok("inspect m.toprank --tree 2 --top 3");
    assert!(
        text.contains("tree 2 of") && text.contains("├─ yes") && text.contains("self-test passes"),
        "{text}"
    );
    let best = value["best"]["epoch"].as_u64().unwrap() as usize;
    let model = json(&shell.ok("inspect m.toprank --json"));
    assert_eq!(
        model["trees"]["trees"].as_array().unwrap().len(),
        best,
        "the trees of the best round are kept"
    );
    assert!(shell.fails(2, "inspect m.toprank --tree 999").contains("--tree must be in 1"));
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let shell = shell();
    for objective in ["lambdamart", "song", "auroc", "xe-ndcg"] {
        for (threads, out) in [(1, "one.toprank"), (2, "two.toprank")] {
            let sampled = "--model trees:features=0.5:lists=0.7 --trees 5 --leaves 8";
            let data = "train --data demo/train.txt --valid demo/vali.txt --quiet";
            shell.ok(&format!("{data} --objective {objective} {sampled} --threads {threads} -o {out}"));
        }
        assert_eq!(shell.bytes("one.toprank"), shell.bytes("two.toprank"), "{objective}");
    }
}

#[test]
#[cfg(unix)]
fn killed_again_and_again_and_taken_up_the_trees_are_the_same_to_the_byte() {
    let shell = shell();
    let settings = "--objective song-v1 --trees 150 --leaves 16 --patience 0 --checkpoint-every 0";
    shell.ok(&format!("{RUN} {settings} -o whole.toprank"));
    let mut kills = 0;
    let mut command = format!("{RUN} {settings} -o killed.toprank");
    for round in 0..6 {
        if shell.signalled(&command, "-KILL", "killed.toprank.checkpoint", 2 + round).is_none() {
            kills += 1;
        }
        command = "train --resume killed.toprank --checkpoint-every 0 --quiet".into();
    }
    assert!(kills >= 2, "only {kills} of six runs were killed before their end");
    shell.ok("train --resume killed.toprank --quiet");
    assert_eq!(shell.bytes("whole.toprank"), shell.bytes("killed.toprank"));
}

#[test]
fn training_goes_on_from_a_model() {
    let shell = shell();
    let plain = "train --data demo/train.txt --model trees --objective lambdamart --quiet --leaves 8";
    shell.ok(&format!("{plain} --trees 5 -o first.toprank"));
    shell.ok(&format!("{plain} --trees 7 --from first.toprank -o second.toprank"));
    let trees = |name: &str| json(&shell.ok(&format!("inspect {name} --json")))["trees"]["trees"].clone();
    let (first, second) = (trees("first.toprank"), trees("second.toprank"));
    assert_eq!(second.as_array().unwrap().len(), 12);
    assert_eq!(&second.as_array().unwrap()[..5], &first.as_array().unwrap()[..]);
    let error = shell.fails(2, &format!("{plain} --trees 7 --from first.toprank --folds 3 -o x.toprank"));
    assert!(error.contains("--from"), "{error}");
}

#[test]
fn every_format_is_proved_and_those_that_are_read_score_the_same() {
    let shell = shell();
    shell.ok(&format!("{RUN} {SMALL} -o m.toprank"));
    shell.ok("predict m.toprank --data demo/test.txt -o ours.txt --quiet");
    for format in ["lightgbm", "lightgbm-json", "xgboost", "ranklib", "solr", "onnx"] {
        let zero = if format == "ranklib" { "--missing zero" } else { "" };
        let export = format!("export m.toprank --to {format} {zero} -o m.{format} --probes 500 --json");
        let proved = json(&shell.ok(&export));
        assert_eq!(proved["rows"], 500, "{format}");
        assert!(proved["relative"].as_f64().unwrap() <= 1e-6, "{format}: {proved}");
        let probes = shell.read(&format!("m.{format}.probe.csv"));
        assert_eq!(probes.lines().count(), 501);
        assert!(probes.starts_with("score,1,2,"), "{}", &probes[..40]);
    }
    let numbers =
        |name: &str| -> Vec<f64> { shell.read(name).lines().map(|line| line.parse().unwrap()).collect() };
    let ours = numbers("ours.txt");
    for (format, most) in [("lightgbm", 0.0), ("xgboost", 1e-6)] {
        shell.ok(&format!("import m.{format} -o back.toprank --quiet"));
        shell.ok("predict back.toprank --data demo/test.txt -o theirs.txt --quiet");
        let theirs = numbers("theirs.txt");
        let largest = ours.iter().fold(0.0f64, |m, s| m.max(s.abs()));
        let apart = ours.iter().zip(&theirs).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(apart <= most * largest, "{format}: {apart}");
    }
    assert!(shell.fails(3, "import demo/test.txt -o x.toprank").contains("LightGBM"));
    assert!(shell.fails(2, "export m.toprank --to lgbm -o x").contains("lightgbm-json"));
    shell.ok("train --data demo/train.txt --model linear --epochs 1 -o l.toprank --quiet");
    assert!(shell.fails(2, "export l.toprank --to solr -o x").contains("--model trees"));
}

#[test]
fn what_each_feature_adds_makes_up_the_score() {
    let shell = shell();
    shell.ok(&format!("{RUN} {SMALL} -o m.toprank"));
    let command = "explain m.toprank --data demo/test.txt --shap --dependence 25 -o why --json --quiet";
    let value = json(&shell.ok(command));
    let features = value["features"].as_array().unwrap();
    assert!(features[0]["mean_abs_shap"].as_f64() >= features[1]["mean_abs_shap"].as_f64());
    assert!(features[0]["permutation"]["loss"].as_f64().unwrap() > 0.0, "{}", features[0]);
    for line in shell.read("why/shap.csv").lines().skip(1).take(50) {
        let numbers: Vec<f64> = line.split(',').skip(2).map(|cell| cell.parse().unwrap()).collect();
        let sum: f64 = numbers[1..].iter().sum();
        assert!((numbers[0] - sum).abs() < 1e-9, "{line}");
    }
    assert!(shell.read("why/dependence-25.csv").starts_with("25,mean score\n"));
    for plot in ["why/importance.svg", "why/dependence-25.svg"] {
        assert!(shell.read(plot).starts_with("<svg"), "{plot}");
    }
    // Drawn by the measure that the features are sorted by.
    let plot = shell.read("why/importance.svg");
    let place = |i: usize| plot.find(&format!(">{}</text>", features[i]["feature"].as_str().unwrap()));
    assert!(plot.contains("mean |SHAP value|") && place(0).is_some() && place(0) < place(1), "{plot}");
    assert!(shell.ok("explain m.toprank --top 2").lines().count() <= 4);
    assert!(shell.fails(2, "explain m.toprank --data demo/test.txt --shap").contains("-o FOLDER"));
    let error = shell.fails(2, "explain m.toprank --data demo/test.txt --dependence nope");
    assert!(error.contains("nope"), "{error}");
}

#[test]
fn a_column_that_was_categorical_in_training_is_read_so_by_all_that_take_the_model() {
    let shell = Toprank::new();
    let row = |i: usize| {
        let (code, word) = ([90210, 10001, 60601, 33101][i % 4], ["red", "green", "blue"][i % 3]);
        format!("{},{code},{word},{}\n", u8::from((i % 4).is_multiple_of(3)), i % 7)
    };
    shell.file("d.csv", &("label,code,colour,number\n".to_string() + &(0..120).map(row).collect::<String>()));
    let asked = "--label label --categorical code,colour";
    shell.ok(&format!(
        "train --data d.csv {asked} --model trees --objective auroc --trees 5 -o m.toprank --quiet"
    ));
    shell.ok(&format!("predict m.toprank --data d.csv {asked} -o said.txt --quiet"));
    shell.ok("predict m.toprank --data d.csv --label label -o known.txt --quiet");
    assert_eq!(shell.read("said.txt"), shell.read("known.txt"));
    let found =
        json(&shell.ok("evaluate --data d.csv --label label --scores known.txt -m auroc --json --quiet"));
    assert_eq!(found["metrics"]["auroc"], 1.0, "the codes decide");
    let explained = json(&shell.ok("explain m.toprank --data d.csv --label label --rounds 1 --json --quiet"));
    assert_eq!(explained["features"][0]["feature"], "code");
    assert!(explained["features"][0]["permutation"]["loss"].as_f64().unwrap() > 0.1, "{explained}");
}

#[test]
fn words_keep_their_meaning_in_a_file_that_counts_them_otherwise() {
    let shell = Toprank::new();
    let row = |i: usize, words: [&str; 3]| format!("{},{},{}\n", u8::from(i % 3 == 1), words[i % 3], i % 7);
    let table = |words: [&str; 3], start: usize| -> String {
        let rows: String = (start..start + 120).map(|i| row(i, words)).collect();
        format!("label,colour,number\n{rows}")
    };
    let words = ["red", "green", "blue"];
    shell.file("train.csv", &table(words, 0));
    // Another colour comes first here.
    shell.file("test.csv", &table(words, 1));
    let read = "--label label --categorical colour --quiet";
    shell.ok(&format!(
        "train --data train.csv {read} --model trees:min-rows=5 --objective logistic --trees 30 -o m.toprank"
    ));
    shell.ok(&format!("predict m.toprank --data test.csv {read} -o s.txt"));
    let value =
        json(&shell.ok(&format!("evaluate --data test.csv {read} --scores s.txt --metrics auroc --json")));
    assert_eq!(value["metrics"]["auroc"], 1.0, "{value}");
}

#[test]
fn what_places_add_to_clicks_is_learned_and_kept_in_the_model() {
    let shell = Toprank::new();
    // Everything above is clicked, whatever its feature says.
    let rows = |i: usize| format!("{} qid:{} 1:{}\n", u8::from(i % 10 < 3), i / 10, (i * 7919) % 13);
    shell.file("train.txt", &(0..600).map(rows).collect::<String>());
    shell.file("train.txt.position", &(0..600).map(|i| format!("{}\n", i % 10 + 1)).collect::<String>());
    shell.ok("train --data train.txt --model trees --objective lambdamart --trees 20 -o m.toprank --quiet");
    let bias = json(&shell.ok("inspect m.toprank --json"))["position_bias"].clone();
    assert_eq!(bias["positions"].as_array().unwrap().len(), 10, "{bias}");
    assert!(bias["values"][0].as_f64() > bias["values"][9].as_f64(), "{bias}");
    assert!(shell.ok("inspect m.toprank").contains("position bias of clicks"));
}

#[test]
fn settings_that_trees_do_not_have_are_refused() {
    let shell = shell();
    for (args, words) in [
        ("--model trees --optimiser adam", "optimiser must be omitted"),
        ("--model trees:leaves=7 --leaves 8", "leaves must be given once"),
        ("--model trees --trees 3 --epochs 4", "trees must be given once"),
        ("--model linear --trees 3", "trees must be omitted, or given with --model trees"),
        ("--model trees:leaves=7:+ --trees 3", "leaves=7:+"),
        ("--model trees:bins=300", "bins must be 2 … 255"),
        ("--model trees --rate 1.5", "learning-rate must be above 0 and at most 1 for trees"),
        (
            "--model trees --objective auroc:surrogate=one-side-sigmoid",
            "a gradient where all scores are equal",
        ),
    ] {
        let error = shell.fails(2, &format!("train --data demo/train.txt {args} -o x.toprank --quiet"));
        assert!(error.contains(words), "{args}: {error}");
    }
}

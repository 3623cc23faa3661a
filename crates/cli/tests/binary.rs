//! Binary and multi-label data: from a table to a model, its folds, probabilities, thresholds and curves.

#![cfg(feature = "neural")]

mod common;

use common::{Toprank, json};

/// Rows of five features, one in eight positive; what makes them so is in the first two.
fn table(rows: u32, seed: u32, label: bool) -> String {
    let head = if label { "a,b,c,d,e,label\n" } else { "a,b,c,d,e\n" };
    let line = |row: u32| {
        let noise = |k: u32| {
            let mixed = (row * 7 + k * 131 + seed * 977).wrapping_mul(2_654_435_761);
            f64::from(mixed >> 8) / f64::from(1u32 << 24)
        };
        let positive = row % 8 == 3;
        let shift = f64::from(u8::from(positive)) * 0.7;
        let cells = [noise(1) + shift, noise(2) + shift, noise(3), noise(4) * 1e4, noise(5) - 7.0];
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:.5}")).collect();
        match label {
            true => format!("{},{}\n", cells.join(","), u8::from(positive)),
            false => format!("{}\n", cells.join(",")),
        }
    };
    head.to_string() + &(0..rows).map(line).collect::<String>()
}

fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.file("train.csv", &table(400, 1, true));
    shell.file("test.csv", &table(200, 2, true));
    shell.file("new.csv", &table(200, 2, false));
    shell
}

/// Few passes at a high rate.
const TRAIN: &str = "train --data train.csv --label label --objective auprc --model mlp:hidden=8 --folds 5 --seed 1 \
                     --rate 0.03 --epochs 15 -o model.toprank --quiet";

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

#[test]
fn from_a_table_to_folds_a_model_probabilities_a_threshold_and_curves() {
    let shell = shell();
    let trained = json(&shell.ok(&format!("{TRAIN} --json")));
    // Folds: every metric on every fold, the mean, and all together.
    let metrics = trained["folds"]["metrics"].as_array().unwrap();
    let names: Vec<&str> = metrics.iter().map(|found| found["metric"].as_str().unwrap()).collect();
    assert_eq!(names, ["auprc", "auroc", "pauc:fpr=0.1", "p:recall=0.8"]);
    for found in metrics {
        let folds: Vec<f64> =
            found["folds"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
        assert_eq!(folds.len(), 5);
        assert!((found["mean"].as_f64().unwrap() - folds.iter().sum::<f64>() / 5.0).abs() < 1e-12);
        // Chance is 0.125, and 0.5 for AUROC.
        assert!(found["pooled"].as_f64().unwrap() > 0.25, "{found}");
    }
    for fold in trained["folds"]["held_out"].as_array().unwrap() {
        assert_eq!((fold["items"].as_u64(), fold["relevant"].as_u64()), (Some(80), Some(10)), "stratified");
    }
    assert_eq!(json(&shell.read("model.toprank.folds.json")), trained["folds"]);
    assert_eq!(trained["config"]["sampler"], "strata:relevant=32:others=96:epoch=all");
    assert_eq!(trained["calibrated"], true);
    assert!(!shell.has("model.toprank.checkpoint") && !shell.has("model.toprank.folds"), "nothing is left");
    // The out-of-fold scores give the pooled value.
    let found = json(&shell.ok(
        "evaluate --data train.csv --label label --scores model.toprank.oof.txt --metrics auprc,auroc --json --quiet",
    ));
    assert_eq!(found["metrics"]["auprc"], metrics[0]["pooled"]);
    assert_eq!(found["metrics"]["auroc"], metrics[1]["pooled"]);
    // Scores of new rows do not need a label, and do not depend on the rows beside them.
    shell.ok("predict model.toprank --data test.csv --label label -o s.txt --quiet");
    shell.ok("predict model.toprank --data new.csv -o new.txt --quiet");
    assert_eq!(shell.bytes("s.txt"), shell.bytes("new.txt"));
    let rows: Vec<String> = shell.read("new.csv").lines().map(str::to_string).collect();
    shell.file("one.csv", &format!("{}\n{}\n", rows[0], rows[4]));
    let alone = numbers(&shell.ok("predict model.toprank --data one.csv --quiet"));
    let scores = numbers(&shell.read("s.txt"));
    assert!((alone[0] - scores[3]).abs() < 1e-5 * scores[3].abs().max(1.0), "{alone:?} {}", scores[3]);
    // Curves, and a second run in the picture.
    let out = shell.ok(
        "evaluate --data test.csv --label label --scores s.txt --metrics auroc,auprc,pauc:fpr=0.1,p:recall=0.8 \
         --plot curves.svg --quiet",
    );
    assert!(
        ["auroc", "auprc", "pauc:fpr=0.1", "p:recall=0.8"].iter().all(|name| out.contains(name)),
        "{out}"
    );
    let svg = shell.read("curves.svg");
    assert!(svg.contains("s: AUROC 0.") && svg.contains("s: AP 0.") && svg.contains("precision"), "{svg}");
    shell.ok("evaluate --data test.csv --scores s.txt --also other=new.txt -m auroc --plot both.svg --quiet");
    assert!(shell.read("both.svg").contains("other: AUROC"));
    // Probabilities: the same order, near the share of positives on average.
    shell.ok("predict model.toprank --data new.csv --probability -o p.txt --quiet");
    let p = numbers(&shell.read("p.txt"));
    for (i, j) in (0..200).map(|i| (i, (i * 37 + 11) % 200)) {
        assert_eq!(scores[i] < scores[j], p[i] < p[j], "rows {i} and {j}");
    }
    let mean = p.iter().sum::<f64>() / 200.0;
    assert!(p.iter().all(|p| (0.0..=1.0).contains(p)) && (mean - 0.125).abs() < 0.06, "{mean}");
    let judged = json(&shell.ok(
        "evaluate --data test.csv --scores p.txt -m auroc --probability --reliability-plot r.svg --json --quiet",
    ));
    let all = &judged["probability"]["all"];
    // A forecast of the share alone has 1/8 · 7/8.
    assert!(all["brier"].as_f64().unwrap() < 0.125 * 0.875, "{all}");
    assert!(all["calibration_error"].as_f64().unwrap() < 0.1 && all["bins"].as_array().unwrap().len() == 10);
    assert!(shell.read("r.svg").contains("fraction of relevant items"));
    let answer = shell.with_input(
        "predict model.toprank --jsonl --probability",
        "{\"features\": [[1.5, 1.5, 0.5, 5000, -6.5]]}\n",
    );
    let one = json(&answer)["scores"][0].as_f64().unwrap();
    assert!((0.5..=1.0).contains(&one), "{answer}");
}

#[test]
fn a_threshold_says_what_it_does_and_ties_stay_together() {
    let shell = Toprank::new();
    shell.file("d.csv", "f,label\n1,1\n2,0\n3,1\n4,0\n5,1\n6,0\n");
    shell.file("s.txt", "0.9\n0.8\n0.7\n0.7\n0.3\n0.2\n");
    let run = |wish: &str| json(&shell.ok(&format!("threshold --data d.csv --scores s.txt {wish} --json")));
    for (wish, threshold, tp, fp) in [
        ("--recall 0.5", 0.7, 2.0, 2.0),
        ("--precision 0.6", 0.3, 3.0, 2.0),
        ("--alerts 3", 0.8, 1.0, 1.0),
        ("--alerts 70%", 0.7, 2.0, 2.0),
        ("--cost fp=1,fn=10", 0.3, 3.0, 2.0),
        ("--at 0.75", 0.75, 1.0, 1.0),
    ] {
        let found = run(wish);
        assert_eq!(found["threshold"].as_f64(), Some(threshold), "{wish}");
        let table = &found["confusion"];
        let counts = ["true_positives", "false_positives", "false_negatives", "true_negatives"]
            .map(|key| table[key].as_f64().unwrap());
        assert_eq!(counts, [tp, fp, 3.0 - tp, 3.0 - fp], "{wish}");
        let lift = found["rates"]["lift"]["value"].as_f64().unwrap();
        assert!((lift - tp / (tp + fp) / 0.5).abs() < 1e-12, "{wish}");
    }
    assert_eq!(run("--alerts 3")["next"]["alerts"].as_f64(), Some(4.0), "what the tie would cost");
    assert_eq!(run("--cost fp=1,fn=10")["cost"].as_f64(), Some(2.0));
    // Wilson at 2 of 3: (p + z²/2n ± z√(p(1−p)/n + z²/4n²))/(1 + z²/n)
    let recall = &run("--recall 0.5")["rates"]["recall"];
    assert!((recall["low"].as_f64().unwrap() - 0.2077).abs() < 1e-4, "{recall}");
    assert!((recall["high"].as_f64().unwrap() - 0.9385).abs() < 1e-4, "{recall}");
    let text = shell.ok("threshold --data d.csv --scores s.txt --alerts 3");
    assert!(
        text.contains("score ≥ 0.8") && text.contains("no alert") && text.contains("95 % interval"),
        "{text}"
    );
    assert!(text.contains("the next lower threshold 0.7 has 4 alerts"), "{text}");
    for (code, wish, words) in [
        (2, "", "--recall"),
        (2, "--recall 1.5", "--recall must be a fraction"),
        (2, "--recall 0.5 --alerts 3", "cannot be used"),
        (2, "--alerts many", "--alerts must be a number"),
        (2, "--cost fp=1", "--cost must be two numbers"),
        (2, "--at 0.5 --level 1", "--level"),
        (3, "--recall 0.5 --relevant 2", "0 relevant items of 6"),
    ] {
        let error = shell.fails(code, &format!("threshold --data d.csv --scores s.txt {wish}"));
        assert!(error.contains(words), "{wish}: {error}");
    }
    shell.file("bad.csv", "f,label\n1,0\n2,1\n");
    shell.file("two.txt", "2\n1\n");
    let error = shell.fails(3, "threshold --data bad.csv --scores two.txt --precision 0.9");
    assert!(error.contains("the greatest is 0.5000"), "{error}");
}

#[test]
fn several_labels_train_fold_and_predict_together() {
    let shell = Toprank::new();
    // The second label is not known for every sixth row.
    let line = |row: u32| {
        let noise = f64::from(row.wrapping_mul(2_654_435_761) >> 8) / f64::from(1u32 << 24);
        let (x, z) = (row.is_multiple_of(3), row.is_multiple_of(7));
        let second = if row % 6 == 5 { String::new() } else { u8::from(z).to_string() };
        let a = f64::from(u8::from(x)) + 0.3 * noise;
        let b = f64::from(u8::from(z)) + 0.3 * noise;
        format!("{a:.4},{b:.4},{noise:.4},{},{second}\n", u8::from(x))
    };
    shell.file("m.csv", &("a,b,c,y_x,y_z\n".to_string() + &(0..210).map(line).collect::<String>()));
    let train = "train --data m.csv --labels y_* --objective auroc --model linear --rate 0.05 --epochs 20 --folds 3 \
                 -o m.toprank --quiet --json";
    let trained = json(&shell.ok(train));
    assert!(trained["folds"]["metrics"][0]["pooled"].as_f64().unwrap() > 0.95, "{}", trained["folds"]);
    let found = json(&shell.ok(
        "evaluate --data m.csv --labels y_* --scores m.toprank.oof.txt -m auroc --plot c.svg --json --quiet",
    ));
    assert_eq!(found["metrics"]["auroc"], trained["folds"]["metrics"][0]["pooled"]);
    assert!(["y_x: AUROC", "y_z: AUROC"].iter().all(|name| shell.read("c.svg").contains(name)));
    // Every row is scored for every label, judged or not, labelled or not.
    shell.ok("predict m.toprank --data m.csv --labels y_* --probability -o p.txt --quiet");
    let bare: String = shell
        .read("m.csv")
        .lines()
        .map(|line| line.splitn(4, ',').take(3).collect::<Vec<_>>().join(",") + "\n")
        .collect();
    shell.file("bare.csv", &bare);
    shell.ok("predict m.toprank --data bare.csv --probability -o q.txt --quiet");
    assert_eq!(shell.read("p.txt"), shell.read("q.txt"));
    let rows: Vec<Vec<f64>> = shell.read("p.txt").lines().map(numbers).collect();
    assert!(rows.len() == 210 && rows.iter().all(|row| row.len() == 2));
    assert!(
        rows[21].iter().all(|p| *p > 0.4) && rows[1].iter().all(|p| *p < 0.4),
        "{:?} {:?}",
        rows[21],
        rows[1]
    );
    let thresholds =
        json(&shell.ok("threshold --data m.csv --labels y_* --scores m.toprank.oof.txt --recall 0.9 --json"));
    let labels: Vec<&str> =
        thresholds["labels"].as_array().unwrap().iter().map(|one| one["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["y_x", "y_z"]);
}

#[test]
fn queries_are_folded_by_list_and_keep_their_scores() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 60 --seed 1 -o demo --quiet");
    let trained = json(&shell.ok(
        "train --data demo/train.txt --objective ndcg@10 --model linear --epochs 5 --folds 3 -o q.toprank --json --quiet",
    ));
    let names: Vec<&str> = trained["folds"]["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["metric"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["ndcg@10", "map", "mrr"]);
    assert_eq!(trained["calibrated"], false);
    let found = json(
        &shell.ok("evaluate --data demo/train.txt --scores q.toprank.oof.txt -m ndcg@10 --json --quiet"),
    );
    assert_eq!(found["metrics"]["ndcg@10"], trained["folds"]["metrics"][0]["pooled"]);
    let error = shell.fails(2, "predict q.toprank --data demo/test.txt --probability -o p.txt");
    assert!(error.contains("--calibrate"), "{error}");
}

#[test]
#[cfg(unix)]
fn folds_killed_again_and_again_end_in_the_same_bytes() {
    let shell = shell();
    let settings = "--data train.csv --objective auprc --model mlp:hidden=8 --folds 3 --epochs 60 --checkpoint-every 0 --quiet";
    shell.ok(&format!("train {settings} -o whole.toprank"));
    let mut kills = 0;
    let mut command = format!("train {settings} -o killed.toprank");
    for round in 0..6 {
        let watched = ["fold1.checkpoint", "fold2.checkpoint", "fold3.checkpoint"][round / 2];
        let watched = format!("killed.toprank.folds/{watched}");
        if shell.signalled(&command, "-KILL", &watched, 2 + round).is_none() {
            kills += 1;
        }
        if shell.has("killed.toprank.checkpoint") {
            command = "train --resume killed.toprank --checkpoint-every 0 --quiet".into();
        }
    }
    assert!(kills >= 2, "only {kills} of six runs were killed before their end");
    shell.ok("train --resume killed.toprank --quiet");
    assert_eq!(shell.bytes("whole.toprank"), shell.bytes("killed.toprank"));
    for beside in [".oof.txt", ".folds.json"] {
        let [whole, killed] = ["whole", "killed"].map(|name| shell.bytes(&format!("{name}.toprank{beside}")));
        assert_eq!(whole, killed, "{beside}");
    }
    assert!(!shell.has("killed.toprank.folds") && !shell.has("killed.toprank.checkpoint"));
}

#[test]
fn folds_and_probabilities_do_not_depend_on_the_threads() {
    let shell = shell();
    let settings = "--data train.csv --objective auroc --model mlp:hidden=8 --folds 3 --rate 0.03 --epochs 5 --calibrate isotonic";
    for threads in [1, 2] {
        shell.ok(&format!("train {settings} --threads {threads} -o m{threads}.toprank --quiet"));
    }
    assert_eq!(shell.bytes("m1.toprank"), shell.bytes("m2.toprank"));
    assert_eq!(shell.bytes("m1.toprank.oof.txt"), shell.bytes("m2.toprank.oof.txt"));
    let model = json(&shell.ok("inspect m1.toprank --json"));
    assert!(model["calibration"][0]["isotonic"]["knots"].as_array().unwrap().len() > 2, "{model}");
}

#[test]
fn validation_data_calibrate_too_and_what_cannot_be_done_is_said() {
    let shell = shell();
    shell.ok("train --data train.csv --valid test.csv --objective auroc --model linear --epochs 3 -o v.toprank --quiet");
    assert!(shell.ok("predict v.toprank --data new.csv --probability --quiet").lines().count() == 200);
    for (code, args, words) in [
        (2, "train --data train.csv --model linear --calibrate platt -o m.toprank", "--valid or --folds"),
        (
            2,
            "train --data train.csv --calibrate plat -o m.toprank",
            "unknown calibration \"plat\"; did you mean \"platt\"?",
        ),
        (2, "train --data train.csv --folds 1 -o m.toprank", "folds must be an integer from 2 to 1000"),
        (2, "train --data train.csv --folds 900 -o m.toprank", "at most 400"),
        (2, "evaluate --data test.csv --feature a --plot c.pdf", ".svg or .png"),
        (2, "evaluate --data test.csv --feature a --plot c.svg --also b", "NAME=FILE"),
        (3, "evaluate --data test.csv --feature d --probability", "expected numbers in [0, 1]"),
    ] {
        let error = shell.fails(code, &format!("{args} --quiet"));
        assert!(error.contains(words), "{args}: {error}");
    }
    shell.ok("train --data train.csv --model linear --epochs 1 -o plain.toprank --quiet");
    let error = shell.fails(2, "predict plain.toprank --data new.csv --probability");
    assert!(error.contains("--folds or --valid"), "{error}");
    assert!(!shell.has("m.toprank") && !shell.has("m.toprank.checkpoint") && !shell.has("m.toprank.folds"));
}

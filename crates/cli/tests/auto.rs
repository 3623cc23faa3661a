//! `--model auto`: from a budget to one model, the same bytes whatever happens on the way.

#![cfg(feature = "neural")]

mod common;

use common::{Toprank, json};

/// Rows of three features, one in five relevant; what makes them so is in the first two.
fn table(rows: u32, seed: u32) -> String {
    let line = |row: u32| {
        let noise = |k: u32| {
            // Mixed twice: once leaves a lattice, in which the third feature says where the relevant rows are.
            let once = (row * 7 + k * 131 + seed * 977).wrapping_mul(2_654_435_761);
            let mixed = (once ^ (once >> 15)).wrapping_mul(2_246_822_519);
            f64::from(mixed >> 8) / f64::from(1u32 << 24)
        };
        let relevant = row % 5 == 3;
        let shift = f64::from(u8::from(relevant)) * 0.4;
        format!("{:.4},{:.4},{:.4},{}\n", noise(1) + shift, noise(2) + shift, noise(3), u8::from(relevant))
    };
    "a,b,c,label\n".to_string() + &(0..rows).map(line).collect::<String>()
}

fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.file("train.csv", &table(200, 1));
    shell.file("test.csv", &table(100, 2));
    shell
}

/// A few members with few epochs.
const FEW: &str = "--members trees:epochs=8,linear:epochs=4,mlp:epochs=3 --folds 3";

fn few(rest: &str) -> String {
    format!(
        "train --data train.csv --label label --objective auprc --model auto --seed 1 --quiet {FEW} {rest}"
    )
}

#[test]
fn the_command_of_the_readme_gives_one_model_that_predicts_is_inspected_and_explained() {
    let shell = shell();
    let (_, notes) = shell.with_notes(
        "train --data train.csv --label label --objective auprc --model auto --budget 60s --seed 1 -o model.toprank",
    );
    assert!(notes.contains("members, ") && notes.contains("best "), "a leaderboard: {notes}");
    assert!(!shell.has("model.toprank.checkpoint") && !shell.has("model.toprank.folds"));
    let text = shell.ok("inspect model.toprank");
    for words in ["auprc out of fold", "mlp-metric", "mlp", "linear", "blend", "chance"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let model = json(&shell.ok("inspect model.toprank --json"));
    let blend = &model["blend"];
    let members = blend["members"].as_array().unwrap();
    let best = members.iter().filter_map(|member| member["value"].as_f64()).fold(0.0, f64::max);
    assert!(blend["value"].as_f64().unwrap() >= best - 1e-12, "{blend}");
    let weights: f64 = members.iter().map(|member| member["weight"].as_f64().unwrap()).sum();
    assert!((weights - 1.0).abs() < 1e-9);
    assert_eq!((&model["config"]["folds"], model["config"].get("budget")), (&5.into(), None));
    shell.ok("predict model.toprank --data test.csv --label label -o scores.txt --quiet");
    let found =
        json(&shell.ok("evaluate --data test.csv --label label --scores scores.txt -m auprc --json --quiet"));
    assert!(found["metrics"]["auprc"].as_f64().unwrap() > 0.4, "{found}");
    shell.ok("predict model.toprank --data test.csv --label label --probability -o p.txt --quiet");
    let held = json(&shell.ok(
        "evaluate --data train.csv --label label --scores model.toprank.oof.txt -m auprc --json --quiet",
    ));
    let difference = held["metrics"]["auprc"].as_f64().unwrap() - blend["value"].as_f64().unwrap();
    assert!(difference.abs() < 1e-9, "the out-of-fold scores are those that were blended");
    let explained =
        json(&shell.ok("explain model.toprank --data test.csv --label label --rounds 2 --json --quiet"));
    let first = explained["features"][0]["feature"].as_str().unwrap();
    assert!(["a", "b"].contains(&first), "{explained}");
}

#[test]
fn every_model_is_explained_by_values_that_add_up_to_its_scores() {
    let shell = shell();
    let base = "train --data train.csv --label label --objective auprc --seed 1 --quiet";
    shell.ok(&format!("{base} --model linear --epochs 40 -o linear.toprank"));
    shell.ok(&format!("{base} --model mlp:hidden=4 --epochs 40 -o mlp.toprank"));
    shell.ok(&few("-o auto.toprank"));
    for (model, sampled) in [("linear", false), ("mlp", true), ("auto", true)] {
        let explain = |threads: u32, to: &str| {
            json(&shell.ok(&format!(
                "explain {model}.toprank --data test.csv --label label --rounds 2 --shap --samples 10 --dependence a,c --values 5 \
                 --threads {threads} -o {to} --json --quiet"
            )))
        };
        let found = explain(1, model);
        assert_eq!(found["shap"]["method"] == "sampled", sampled, "{model}: {found}");
        assert_eq!(shell.has(&format!("{model}/shap-error.csv")), sampled, "{model}");
        assert_eq!(found["shap"]["standard_error"].is_null(), !sampled, "{model}");
        let features = found["features"].as_array().unwrap();
        let loss = |name: &str| {
            let feature = features.iter().find(|feature| feature["feature"] == name).unwrap();
            feature["permutation"]["loss"].as_f64().unwrap()
        };
        assert!(loss("a").max(loss("b")) > 0.05 && loss("c") < 0.05, "c is noise: {model} {found}");
        shell.ok(&format!("predict {model}.toprank --data test.csv --label label -o {model}.txt --quiet"));
        let scores = shell.read(&format!("{model}.txt"));
        let values = shell.read(&format!("{model}/shap.csv"));
        assert_eq!(values.lines().next(), Some("row,output,score,expected,a,b,c"));
        for (line, score) in values.lines().skip(1).zip(scores.lines()) {
            let cells: Vec<f64> = line.split(',').skip(2).map(|cell| cell.parse().unwrap()).collect();
            let score: f64 = score.parse().unwrap();
            assert!((cells[0] - score).abs() < 1e-5, "{model}: {line} {score}");
            assert!((cells[1..].iter().sum::<f64>() - score).abs() < 1e-5, "{model}: {line} {score}");
        }
        assert_eq!(found["dependence"][0]["means"].as_array().unwrap().len(), 5);
        explain(2, "two");
        for file in ["shap.csv", "importance.csv", "dependence-a.csv"] {
            assert_eq!(
                shell.bytes(&format!("{model}/{file}")),
                shell.bytes(&format!("two/{file}")),
                "{model} {file}"
            );
        }
    }
    assert!(shell.fails(2, "explain mlp.toprank").contains("expected --data"));
    let error = shell.fails(2, "explain mlp.toprank --data test.csv --label label --samples 10");
    assert!(error.contains("--shap"), "{error}");
}

#[test]
fn the_bytes_are_the_same_on_one_thread_two_and_four() {
    let shell = shell();
    for threads in [1, 2, 4] {
        shell.ok(&few(&format!("--threads {threads} -o {threads}.toprank")));
    }
    for other in [2, 4] {
        assert_eq!(shell.bytes("1.toprank"), shell.bytes(&format!("{other}.toprank")));
        assert_eq!(shell.bytes("1.toprank.oof.txt"), shell.bytes(&format!("{other}.toprank.oof.txt")));
    }
}

#[test]
#[cfg(unix)]
fn killed_again_and_again_and_resumed_it_ends_in_the_same_bytes() {
    let shell = shell();
    shell.ok(&few("-o whole.toprank"));
    let mut command = few("-o killed.toprank");
    let mut kills = 0;
    let fits = [
        "trees-epochs-8.fold1",
        "trees-epochs-8.fold3",
        "linear-epochs-4.fold2",
        "mlp-epochs-3.fold1",
        "mlp-epochs-3.fold2",
    ];
    for fit in fits {
        if shell.signalled(&command, "-KILL", &format!("killed.toprank.folds/{fit}"), 1).is_none() {
            kills += 1;
        }
        if shell.has("killed.toprank.checkpoint") {
            command = "train --resume killed.toprank --quiet".into();
        }
    }
    assert!(kills >= 1, "no run was killed before its end");
    shell.ok("train --resume killed.toprank --quiet");
    assert_eq!(shell.bytes("whole.toprank"), shell.bytes("killed.toprank"));
    assert!(!shell.has("killed.toprank.folds") && !shell.has("killed.toprank.checkpoint"));
}

#[test]
fn a_run_over_its_budget_records_the_shorter_list_which_gives_the_same_bytes() {
    let shell = shell();
    let base = "train --data train.csv --label label --objective auroc --model auto --seed 3 --quiet";
    // Less than one fit takes: the one fast member of trees is trained all the same.
    shell.ok(&format!("{base} --budget 1ms -o tiny.toprank"));
    let config = json(&shell.ok("inspect tiny.toprank --json"))["config"].clone();
    let (members, folds) = (config["members"].as_str().unwrap(), config["folds"].as_u64().unwrap());
    assert!(members.starts_with("trees:epochs=") && !members.contains(','), "{members}");
    shell.ok(&format!("{base} --members {members} --folds {folds} -o again.toprank"));
    assert_eq!(shell.bytes("tiny.toprank"), shell.bytes("again.toprank"));
    // Trees alone are a model of trees.
    shell.ok("explain tiny.toprank --quiet");
    shell.ok("export tiny.toprank --to lightgbm -o tiny.txt --quiet");
}

#[test]
fn lists_multi_label_and_validation_data_are_blended_too() {
    let shell = shell();
    shell.ok("generate letor --lists 40 --seed 1 -o demo --quiet");
    let members = "--members trees:epochs=6,context:epochs=2,mlp:epochs=2";
    shell.ok(&format!(
        "train --data demo/train.txt --objective ndcg@10 --model auto {members} --folds 2 -o lists.toprank --quiet"
    ));
    shell.ok("predict lists.toprank --data demo/test.txt -o text.txt --quiet");
    shell.ok("convert demo/test.txt test.toprank-data --quiet");
    shell.ok("predict lists.toprank --data test.toprank-data -o mapped.txt --quiet");
    assert_eq!(shell.read("text.txt"), shell.read("mapped.txt"), "the same wherever the rows lie");
    shell.ok(&format!(
        "train --data demo/train.txt --valid demo/vali.txt --objective ndcg@10 --model auto {members} -o valid.toprank --quiet"
    ));
    let blend = json(&shell.ok("inspect valid.toprank --json"))["blend"].clone();
    assert_eq!(blend["folds"], 0, "selected on validation data");
    assert!(blend["value"].as_f64().unwrap() > 0.5, "{blend}");
    let labels: String =
        (0..60).map(|i| format!("{},{},{}\n", i % 7, i % 3 / 2, u8::from(i % 5 == 0))).collect();
    shell.file("labels.csv", &format!("x,one,two\n{labels}"));
    shell.ok(
        "train --data labels.csv --labels one,two --objective auprc --model auto --members trees:epochs=4,linear:epochs=3 \
         --folds 2 -o labels.toprank --quiet",
    );
    shell.ok("predict labels.toprank --data labels.csv --labels one,two -o labels.txt --quiet");
}

#[test]
fn what_cannot_be_blended_is_said() {
    let shell = shell();
    shell.file("one.csv", "a,label\n1,1\n2,1\n3,1\n4,1\n");
    shell.file("rare.csv", "a,label\n1,1\n2,0\n3,0\n4,0\n");
    for (code, args, words) in [
        (3, "--data one.csv --label label --objective auprc", "relevant and other items"),
        (3, "--data rare.csv --label label --objective auprc", "fewer than two relevant"),
        (2, "--data train.csv --label label --epochs 3", "omitted with --model auto"),
        (2, "--data train.csv --label label --budget soon", "90s, 10m or 1h"),
        (2, "--data train.csv --label label --members trees,woods", "unknown member of auto \"woods\""),
        (2, "--data train.csv --label label --members trees --budget 9s", "omitted where members are given"),
        (2, "--data train.csv --label label --members context", "unknown member of auto for these data"),
    ] {
        let error = shell.fails(code, &format!("train {args} --model auto -o m.toprank --quiet"));
        assert!(error.contains(words), "{args}: {error}");
    }
    let error = shell.fails(2, "train --data train.csv --label label --model mlp --budget 9s -o m.toprank");
    assert!(error.contains("given with --model auto"), "{error}");
    assert!(!shell.has("m.toprank") && !shell.has("m.toprank.checkpoint"));
}

#[test]
fn odd_data_end_with_a_model_that_scores_them_or_with_an_error_that_says_why() {
    let shell = Toprank::new();
    let lines = |count: usize, of: &dyn Fn(usize) -> String| (0..count).map(of).collect::<String>();
    let label = |i: usize, every: usize| u8::from(i.is_multiple_of(every));
    let noise = |i: usize| (i * 7919 % 1009) as f32 / 1009.0;
    let members = "--members trees:epochs=5,linear:epochs=2,mlp:epochs=2 --folds 2";
    let wide: Vec<String> = (0..500).map(|column| format!("w{column}")).collect();
    for (name, head, rows) in [
        ("thirty rows", "a,label", lines(30, &|i| format!("{},{}\n", noise(i), label(i, 4)))),
        ("two relevant rows", "a,label", lines(300, &|i| format!("{},{}\n", noise(i), label(i, 150)))),
        (
            "a constant and a missing column",
            "a,b,c,label",
            lines(60, &|i| format!("{},7,,{}\n", noise(i), label(i, 3))),
        ),
        (
            "rows that are all the same but one",
            "a,label",
            lines(60, &|i| format!("{},{}\n", i / 59, label(i, 3))),
        ),
        ("duplicate rows", "a,label", lines(200, &|i| format!("{},{}\n", noise(i % 10), label(i % 10, 3)))),
        (
            "values near the largest",
            "a,b,label",
            lines(60, &|i| format!("{},{}e38,{}\n", noise(i), i % 3, label(i, 3))),
        ),
        (
            "more columns than rows",
            &format!("{},label", wide.join(",")),
            lines(40, &|i| {
                let cells: Vec<String> = (0..500).map(|column| noise(i * 500 + column).to_string()).collect();
                format!("{},{}\n", cells.join(","), label(i, 4))
            }),
        ),
        (
            "weights of zero",
            "a,item_weight,label",
            lines(60, &|i| format!("{},{},{}\n", noise(i), i % 2, label(i, 3))),
        ),
        ("four rows", "a,label", "1,1\n2,0\n3,1\n4,0\n".into()),
    ] {
        shell.file("odd.csv", &format!("{head}\n{rows}"));
        shell.ok(&format!("train --data odd.csv --label label --objective auprc --model auto --seed 1 {members} -o m.toprank --force --quiet"));
        let scores = shell.ok("predict m.toprank --data odd.csv --label label --quiet -o -");
        assert_eq!(scores.lines().count(), rows.lines().count(), "{name}");
        assert!(scores.lines().all(|line| line.parse::<f64>().is_ok_and(f64::is_finite)), "{name}: {scores}");
    }
    shell.file("ones.txt", &lines(40, &|i| format!("{} qid:{i} 1:{}\n", label(i, 2), noise(i))));
    for (name, rows, words) in [
        (
            "constant",
            lines(60, &|i| format!("7,,{}\n", label(i, 3))),
            "constant or missing in every row; expected a feature that differs",
        ),
        (
            "too large",
            lines(60, &|i| format!("1e300,{i},{}\n", label(i, 3))),
            "column a: \"1e300\" is too large for a 32-bit number",
        ),
        (
            "infinite",
            lines(60, &|i| {
                format!("{i},inf{i},{}\n", label(i, 3)).replace("inf3,", "1e999,").replace("inf", "")
            }),
            "\"1e999\" is too large",
        ),
    ] {
        shell.file("odd.csv", &format!("a,b,label\n{rows}"));
        let error = shell.fails(
            3,
            &format!(
                "train --data odd.csv --label label --model auto {members} -o m.toprank --force --quiet"
            ),
        );
        assert!(error.contains(words), "{name}: {error}");
    }
    let error = shell.fails(
        3,
        &format!("train --data ones.txt --model auto --objective ndcg@10 {members} -o n.toprank --quiet"),
    );
    assert!(error.contains("expected relevant and other items in a list"), "{error}");
    // Lists with one item among others.
    shell.file("some.txt", &lines(60, &|i| format!("{} qid:{} 1:{}\n", label(i, 2), i.min(40), noise(i))));
    shell.ok("train --data some.txt --model auto --objective ndcg@10 --members trees:epochs=3,linear:epochs=2 --folds 2 -o n.toprank --quiet");
}

#[test]
fn a_blend_of_networks_is_exported_to_onnx() {
    let shell = shell();
    let base = "train --data train.csv --label label --objective auprc --model auto --folds 2 --quiet";
    shell.ok(&format!("{base} --members linear:epochs=3,mlp:epochs=3 -o networks.toprank"));
    shell.ok("export networks.toprank --to onnx -o networks.onnx --probes 50 --quiet");
}

//! `toprank train --pairs`: preference pairs in place of labels.

#![cfg(feature = "neural")]

mod common;

use common::{Toprank, json};

/// Lists with labels, and a table of the pairs that the labels of the training lists imply, items by position.
fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 60 --seed 1 -o demo --quiet");
    // Without the comments that name items.
    let text = shell.read("demo/train.txt");
    let lines: Vec<&str> = text.lines().map(|line| line.split('#').next().unwrap_or_default()).collect();
    shell.file("train.txt", &lines.join("\n"));
    let rows: Vec<(String, f32)> = (lines.iter())
        .map(|line| {
            let mut words = line.split_whitespace();
            let label = words.next().unwrap().parse().unwrap();
            (words.next().unwrap().strip_prefix("qid:").unwrap().to_string(), label)
        })
        .collect();
    let mut pairs = vec!["qid,better,worse".to_string()];
    for list in rows.chunk_by(|a, b| a.0 == b.0) {
        for (i, (qid, better)) in list.iter().enumerate() {
            for j in (0..list.len()).filter(|&j| *better > list[j].1) {
                pairs.push(format!("{qid},{},{}", i + 1, j + 1));
            }
        }
    }
    shell.file("pairs.csv", &pairs.join("\n"));
    // The same lines in another order, each weight in two halves.
    let (head, body) = pairs.split_first().unwrap();
    let halves = body.iter().rev().map(|pair| format!("{pair},0.5")).collect::<Vec<_>>().join("\n");
    shell.file("halves.csv", &format!("{head},weight\n{halves}\n{halves}\n"));
    shell
}

const RUN: &str = "train --data train.txt --valid demo/vali.txt --quiet";

fn scores(shell: &Toprank, model: &str) -> Vec<f64> {
    let text = shell.ok(&format!("predict {model} --data demo/test.txt --quiet"));
    text.lines().map(|line| line.trim().parse().unwrap()).collect()
}

#[test]
fn the_pairs_of_the_labels_train_the_model_of_the_labels() {
    let shell = shell();
    for (model, settings) in [
        ("linear", "--model linear --epochs 5"),
        ("mlp", "--model mlp:hidden=8 --epochs 3"),
        ("trees", "--model trees --trees 4"),
    ] {
        for objective in ["ranknet", "squared-hinge"] {
            let run = format!("{RUN} --objective {objective} {settings}");
            shell.ok(&format!("{run} -o labels.toprank --force"));
            shell.ok(&format!("{run} --pairs pairs.csv -o pairs.toprank --force"));
            shell.ok(&format!("{run} --pairs halves.csv -o halves.toprank --force"));
            let [labels, pairs, halves] =
                ["labels", "pairs", "halves"].map(|name| scores(&shell, &format!("{name}.toprank")));
            let spread = labels.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
            for other in [&pairs, &halves] {
                let apart = labels.iter().zip(other).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
                assert!(spread > 1e-3 && apart < 1e-3 * spread, "{model}, {objective}: {apart} of {spread}");
            }
        }
    }
}

#[test]
fn neither_threads_nor_the_order_of_the_lines_change_a_byte() {
    let shell = shell();
    let pairs = shell.read("pairs.csv");
    let (head, body) = pairs.split_once('\n').unwrap();
    let turned: Vec<&str> = body.lines().rev().collect();
    shell.file("turned.csv", &format!("{head}\n{}\n", turned.join("\n")));
    for model in ["mlp:hidden=8 --epochs 2", "trees --trees 3"] {
        let run = format!("{RUN} --model {model}");
        shell.ok(&format!("{run} --pairs pairs.csv --threads 1 -o one.toprank"));
        shell.ok(&format!("{run} --pairs turned.csv --threads 2 -o two.toprank"));
        assert_eq!(shell.bytes("one.toprank"), shell.bytes("two.toprank"), "{model}");
    }
    shell.ok("convert train.txt train.toprank-data --quiet");
    for (data, to) in [("train.txt", "text"), ("train.toprank-data", "mapped")] {
        let same = "--transforms missing:to=mean,standardise --model linear --epochs 2";
        shell.ok(&format!("train --data {data} --pairs pairs.csv {same} -o {to}.toprank --quiet"));
    }
    assert_eq!(shell.bytes("text.toprank"), shell.bytes("mapped.toprank"));
}

/// Four lists without labels whose items have names; the greater x is preferred.
fn unlabelled() -> Toprank {
    let shell = Toprank::new();
    let mut data = "list,item,x,noise\n".to_string();
    let mut pairs = "list,better,worse,weight\n".to_string();
    for q in 0..4 {
        for i in 0..30 {
            data += &format!("q{q},d{i},{},{}\n", (i * 7 + q) % 30, (i * 11 + 3 * q) % 30);
        }
        for i in 0..29 {
            let x = |i: usize| (i * 7 + q) % 30;
            let (better, worse) = if x(i) > x(i + 1) { (i, i + 1) } else { (i + 1, i) };
            pairs += &format!("q{q},d{better},d{worse},{}\n", 1 + i % 2);
        }
    }
    shell.file("data.csv", &data);
    shell.file("pairs.csv", &pairs);
    shell
}

#[test]
fn data_without_labels_are_learned_from_by_the_names_of_their_items() {
    let shell = unlabelled();
    let error = shell.fails(2, "train --data data.csv -o m.toprank --quiet");
    assert!(error.contains("no label column"), "{error}");
    for model in [
        "linear --lr 0.1 --epochs 40",
        "trees --trees 60 --min-rows 5",
        "trees --trees 60 --min-rows 5 --folds 2",
    ] {
        let run = format!("train --data data.csv --pairs pairs.csv --model {model} --quiet --json");
        let value = json(&shell.ok(&format!("{run} -o m.toprank --force")));
        assert_eq!(value["config"]["objective"], "ranknet");
        let scores = shell.ok("predict m.toprank --data data.csv --quiet");
        let scores: Vec<f64> = scores.lines().map(|line| line.trim().parse().unwrap()).collect();
        let right = (0..29).filter(|&i| {
            let x = |i: usize| i * 7 % 30;
            (scores[i] > scores[i + 1]) == (x(i) > x(i + 1))
        });
        assert!(right.count() >= 24, "{model}");
    }
}

#[test]
fn what_is_wrong_with_pairs_is_said_with_line_list_and_item() {
    let shell = unlabelled();
    shell.file("item.csv", "list,better,worse\nq0,d1,d2\nq1,d1,d77\n");
    shell.file("list.csv", "list,better,worse\nq9,d1,d2\n");
    shell.file("weight.csv", "list,better,worse,weight\nq0,d1,d2,-3\n");
    let run = "train --data data.csv -o m.toprank --quiet --pairs";
    for (code, args, words) in [
        (3, "item.csv", "item.csv:3: column worse: item \"d77\" in list \"q1\""),
        (3, "list.csv", "list.csv:2: list \"q9\""),
        (3, "weight.csv", "weight.csv:2: column weight: -3"),
        (1, "absent.csv", "absent.csv"),
        (2, "pairs.csv --objective ndcg@10", "objective must be a pairwise objective"),
        (2, "pairs.csv --objective lambdarank --model trees", "such as ranknet"),
        (2, "pairs.csv --warm-up 2", "warm-up must be omitted"),
        (2, "pairs.csv --model linear --sampler rows", "sampler must be lists"),
    ] {
        let error = shell.fails(code, &format!("{run} {args}"));
        assert!(error.contains(words), "{args}: {error}");
    }
    let error = shell.fails(2, "train --data data.csv --pairs pairs.csv -o pairs.csv --quiet");
    assert!(error.contains("pairs.csv"), "{error}");
}

#[test]
#[cfg(unix)]
fn a_resumed_run_wants_the_pairs_that_it_began_with() {
    let shell = unlabelled();
    let settings = "--data data.csv --pairs pairs.csv --model mlp:hidden=8 --checkpoint-every 0 --quiet";
    let code = shell.signalled(
        &format!("train {settings} --epochs 20000 -o m.toprank"),
        "-INT",
        "m.toprank.checkpoint",
        3,
    );
    assert_eq!(code, Some(130));
    let pairs = shell.read("pairs.csv");
    shell.file("pairs.csv", &pairs.replacen(",2\n", ",3\n", 1));
    let error = shell.fails(3, "train --resume m.toprank --quiet");
    assert!(error.contains("preference pairs") && error.contains("pairs.csv"), "{error}");
}

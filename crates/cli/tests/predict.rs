//! Scores of a model, by the real binary: from memory, from text in two passes, from a mapped file, in a pipe.

#![cfg(feature = "neural")]

mod common;

use common::{Toprank, json};

/// A folder with data and a model of each kind that scores differently: by row, by list, and with transforms by list.
fn trained(models: &[(&str, &str)]) -> Toprank {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 40 --seed 3 -o demo");
    for (model, transforms) in models {
        let file = model.split(':').next().unwrap_or_default();
        shell.ok(&format!(
            "train --data demo/train.txt --model {model} --objective listnet --epochs 1 --seed 1 -o {file}.toprank \
             --transforms {transforms} --quiet"
        ));
    }
    shell
}

#[test]
fn text_mapped_files_tables_and_standard_input_give_the_same_scores() {
    let shell = trained(&[
        ("linear", "missing:to=mean:indicator=yes,standardise"),
        ("mlp:hidden=16-8", "missing:to=mean,per-list"),
        ("context:blocks=1:width=8:heads=2", "missing:to=zero,log1p"),
    ]);
    shell.ok("convert demo/test.txt big.toprank-data");
    shell.ok("convert demo/test.txt table.csv");
    let rows = shell.read("demo/test.txt").lines().count();
    for model in ["linear", "mlp", "context"] {
        let scores = |args: &str| shell.ok(&format!("predict {model}.toprank {args}"));
        let text = scores("--data demo/test.txt");
        assert_eq!(text.lines().count(), rows);
        assert_eq!(scores("--data big.toprank-data"), text, "{model}: mapped");
        assert_eq!(scores("--data table.csv --list qid"), text, "{model}: a table");
        assert_eq!(scores("--data demo/test.txt --threads 1"), text, "{model}: one thread");
        let piped =
            shell.with_input(&format!("predict {model}.toprank --data -"), &shell.read("demo/test.txt"));
        assert_eq!(piped, text, "{model}: standard input");
        shell.ok(&format!("predict {model}.toprank --data demo/test.txt -o scores.txt"));
        assert_eq!(shell.read("scores.txt"), text, "{model}: a file");
        // Regrouped rows are scored in lists and written in the order of the file.
        let shuffled: String =
            shell.read("demo/test.txt").lines().rev().map(|line| format!("{line}\n")).collect();
        shell.file("shuffled.txt", &shuffled);
        let backwards = scores("--data shuffled.txt --regroup");
        if model == "linear" {
            assert_eq!(backwards.lines().rev().collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
        }
    }
    let judged =
        json(&shell.ok("evaluate --data demo/test.txt --scores scores.txt --metrics ndcg@10 --json"));
    assert!(judged["metrics"]["ndcg@10"].as_f64().is_some());
}

#[test]
fn runs_and_top_lists_rank_by_score() {
    let shell = trained(&[("linear", "missing:to=mean,standardise")]);
    let predict = "predict linear.toprank --data demo/test.txt";
    shell.ok(&format!("{predict} -o scores.txt"));
    shell.ok(&format!("{predict} --trec-run -o model.run"));
    shell.ok("convert demo/test.txt expected.run --scores scores.txt");
    assert_eq!(shell.read("model.run"), shell.read("expected.run"));

    let top = shell.ok(&format!("{predict} --top 3"));
    let mut lines = top.lines();
    assert_eq!(lines.next(), Some("list,rank,item,score"));
    let best: Vec<&str> = lines.collect();
    let short_run = shell.ok(&format!("{predict} --top 3 --trec-run"));
    let from_run: Vec<String> = short_run
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            format!("{},{},{},{}", words[0], words[3], words[2], words[4])
        })
        .collect();
    assert_eq!(best, from_run);
    let whole = shell.read("model.run");
    assert!(short_run.lines().all(|line| whole.lines().any(|other| other == line)));
    assert!(short_run.lines().all(|line| ["1", "2", "3"].contains(&line.split(' ').nth(3).unwrap())));
}

#[test]
fn each_line_of_json_is_answered_by_the_scores_of_its_list() {
    let shell = trained(&[("context:blocks=1:width=8:heads=2", "missing:to=mean,standardise")]);
    let model = "predict context.toprank";
    let scores: Vec<f64> = shell
        .ok(&format!("{model} --data demo/test.txt"))
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    // The test data as lines of JSON, every second list by name.
    let text = shell.read("demo/test.txt");
    let mut lists: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split('#').next().unwrap().split_whitespace().collect();
        let qid = words[1].strip_prefix("qid:").unwrap();
        if lists.last().is_none_or(|list| list.0 != qid) {
            lists.push((qid.to_string(), Vec::new()));
        }
        let by_name = lists.len().is_multiple_of(2);
        let cells: Vec<String> = words[2..]
            .iter()
            .map(|cell| {
                let (name, value) = cell.split_once(':').unwrap();
                let value = if value.parse().is_ok_and(f32::is_finite) { value } else { "null" };
                if by_name { format!("\"{name}\": {value}") } else { value.to_string() }
            })
            .collect();
        let row = cells.join(", ");
        lists.last_mut().unwrap().1.push(if by_name { format!("{{{row}}}") } else { format!("[{row}]") });
    }
    let input: String = lists
        .iter()
        .map(|(qid, rows)| format!("{{\"id\": \"{qid}\", \"features\": [{}]}}\n", rows.join(", ")))
        .collect();
    let answers = shell.with_input(&format!("{model} --jsonl"), &format!("{input}\n{{\"features\": []}}\n"));
    let mut answers = answers.lines();
    let mut place = 0;
    for (qid, rows) in &lists {
        let answer = json(answers.next().unwrap());
        assert_eq!(answer["id"], qid.as_str());
        let found: Vec<f64> =
            answer["scores"].as_array().unwrap().iter().map(|s| s.as_f64().unwrap()).collect();
        assert_eq!(found, &scores[place..place + rows.len()]);
        place += rows.len();
    }
    assert_eq!(answers.next(), Some("{\"scores\":[]}"));

    for (line, message) in [
        ("{\"id\": 1, \"features\": [[1, 2]]}", "2 features of item 1; expected "),
        ("{\"id\": 1}", "missing field `features`"),
        ("[1]", "stdin:2: "),
        (
            "{\"features\": [{\"speed\": 1}]}",
            "feature \"speed\" of item 1; expected features of the model: 1, ",
        ),
        ("{\"features\": [{\"1\": \"x\"}]}", "\"x\" in item 1; expected a number, or null"),
        ("{\"features\": [7]}", "item 1 as 7; expected its features in [] or {}"),
    ] {
        let (answers, error) = shell.fails_with_input(
            3,
            &format!("{model} --jsonl --strict"),
            &format!("{{\"features\": []}}\n{line}\n"),
        );
        assert_eq!(answers, "{\"scores\":[]}\n", "what came before is answered");
        assert!(error.contains("stdin:2: ") && error.contains(message), "{line}: {error}");
    }
}

#[test]
fn data_that_do_not_fit_the_model_are_refused_or_explained() {
    let shell = Toprank::new();
    shell.file("train.csv", "qid,label,price,age\n1,1,0.5,3\n1,0,0.2,1\n2,0,0.1,2\n2,1,0.4,5\n");
    shell.ok("train --data train.csv --list qid --model linear --epochs 1 -o m.toprank --quiet");
    shell
        .file("other.csv", "qid,label,extra,age,price\n1,1,9,3,0.5\n1,0,9,1,0.2\n2,0,9,2,0.1\n2,1,9,5,0.4\n");
    let same = shell.ok("predict m.toprank --data train.csv --list qid");
    assert_eq!(shell.ok("predict m.toprank --data other.csv --list qid"), same, "columns go by their names");
    shell.file("short.csv", "qid,label,price\n1,1,0.5\n1,0,0.2\n");
    let error = shell.fails(3, "predict m.toprank --data short.csv --list qid");
    assert!(error.contains("without 1 of those the model learned from: age"), "{error}");

    shell.file("train.txt", "1 qid:1 1:1 2:3 3:1\n0 qid:1 1:2 2:1 3:2\n");
    shell.ok("train --data train.txt --model linear --epochs 1 -o t.toprank --quiet");
    // A text that never states feature 3 means 0 by that, for one row as for all.
    shell.file("a.txt", "1 qid:1 1:1 2:3\n0 qid:1 1:2 2:1\n");
    shell.file("b.txt", "1 qid:1 1:1 2:3 3:0\n0 qid:1 1:2 2:1 3:0\n");
    let a = shell.ok("predict t.toprank --data a.txt");
    assert_eq!(a, shell.ok("predict t.toprank --data b.txt"));
    let error = shell.fails(3, "predict train.txt --data a.txt");
    assert!(error.contains("train.txt: "), "{error}");
    shell.fails(2, "predict t.toprank");
    shell.fails(2, "predict t.toprank --jsonl --top 3");
}

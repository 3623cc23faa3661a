//! `toprank gradient`: the library's numbers, in the order of the file, or an error that says where.

mod common;

use common::{Toprank, json};
use toprank::core::{Lists, Policy, Stream};
use toprank::objectives::{Batch, Goal, Gradients, Reduction};

const LETOR: &str = "\
2 qid:10 1:0.9
0 qid:10 1:0.8
1 qid:10 1:0.1
0 qid:11 1:0.4
1 qid:11 1:0.3
0 qid:12 1:0.3
";
const SCORES: [f64; 6] = [0.5, -1.25, 2.0, 1e-3, 0.75, 3.0];

fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.file("test.txt", LETOR);
    shell.file("scores.txt", &SCORES.map(|score| format!("{score}\n")).concat());
    shell
}

/// What the library says of the same lists.
fn library(objective: &str, reduction: Reduction) -> Gradients {
    let lists = Lists::from_lengths(&[3, 2, 1], vec![2.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    step(objective, &lists, &SCORES, reduction)
}

fn step(objective: &str, lists: &Lists, scores: &[f64], reduction: Reduction) -> Gradients {
    let goal = Goal::parse(objective, &Policy::default()).unwrap();
    let batch = Batch { reduction, stream: Stream::new(1, "objective"), ..Batch::all(lists, scores) };
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    goal.step(&batch, &mut goal.state(lists).unwrap(), &mut out).unwrap();
    out
}

/// The cells of a CSV file without its header.
fn cells(text: &str) -> Vec<Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect()).collect()
}

fn numbers(text: &str, column: usize) -> Vec<f64> {
    cells(text).iter().map(|row| row[column].parse().unwrap()).collect()
}

#[test]
fn every_objective_gives_the_numbers_of_the_library_bit_for_bit() {
    let shell = shell();
    for line in toprank::objectives::OBJECTIVES {
        let name = line.entry.name;
        let expected = library(name, Reduction::Mean);
        let args =
            format!("gradient --data test.txt --scores scores.txt --objective {name} --hessian -o g.csv");
        let value = json(&shell.ok(&format!("{args} --json")));
        assert_eq!(value["objective"], name);
        assert_eq!(value["loss"].as_f64().unwrap().to_bits(), expected.loss.to_bits(), "{name}");
        assert_eq!(value["lists"]["total"], 3, "{name}");
        assert_eq!(value["lists"]["used"], expected.counts.used, "{name}");
        assert_eq!(value["lists"]["without_gradient"], expected.counts.idle, "{name}");
        assert_eq!(value["lists"]["items"], 6, "{name}");
        let file = shell.read("g.csv");
        assert_eq!(file.lines().next(), Some("row,list,gradient,hessian"), "{name}");
        assert_eq!(numbers(&file, 2), expected.gradient, "{name}");
        assert_eq!(numbers(&file, 3), expected.hessian, "{name}");
    }
}

#[test]
fn the_file_has_one_line_per_row_with_its_number_and_list() {
    let shell = shell();
    let table = shell.ok("gradient --data test.txt --scores scores.txt --objective listnet -o g.csv");
    let file = shell.read("g.csv");
    assert_eq!(file.lines().next(), Some("row,list,gradient"));
    let rows: Vec<(&str, &str)> = cells(&file).iter().map(|row| (row[0], row[1])).collect();
    assert_eq!(rows, [("1", "10"), ("2", "10"), ("3", "10"), ("4", "11"), ("5", "11"), ("6", "12")]);
    let expected = library("listnet", Reduction::Mean);
    assert!(table.contains("listnet") && table.contains(&format!("{:.6}", expected.loss)), "{table}");
    assert!(table.contains("mean over lists"), "{table}");
    assert_eq!(
        shell.ok("gradient --data test.txt --scores scores.txt --objective listnet -o - --quiet"),
        file,
        "standard output holds the file and nothing else"
    );
}

#[test]
fn rows_keep_the_order_of_the_file_when_lists_are_brought_together() {
    let shell = Toprank::new();
    shell.file("scattered.txt", "1 qid:a 1:3\n0 qid:b 1:4\n0 qid:a 1:2\n1 qid:b 1:5\n");
    shell.file("scores.txt", "3\n4\n2\n5\n");
    shell.ok("gradient --data scattered.txt --regroup --scores scores.txt --objective listnet -o g.csv");
    let file = shell.read("g.csv");
    let rows: Vec<(&str, &str)> = cells(&file).iter().map(|row| (row[0], row[1])).collect();
    assert_eq!(rows, [("1", "a"), ("2", "b"), ("3", "a"), ("4", "b")]);
    let lists = Lists::from_lengths(&[2, 2], vec![1.0, 0.0, 0.0, 1.0]);
    let g = step("listnet", &lists, &[3.0, 2.0, 4.0, 5.0], Reduction::Mean).gradient;
    assert_eq!(numbers(&file, 2), [g[0], g[2], g[1], g[3]]);
}

#[test]
fn multi_label_data_has_one_line_per_row_and_label() {
    let shell = Toprank::new();
    shell.file("data.csv", "x,y1,\"y,2\"\n1,1,0\n2,0,1\n3,0,\n");
    shell.file("scores.txt", "0.9 0.1\n0.5 0.2\n0.1 0.3\n");
    let args = "gradient --data data.csv --labels y* --scores scores.txt --objective listnet -o g.csv";
    shell.ok(args);
    let file = shell.read("g.csv");
    let starts: Vec<&str> = file.lines().skip(1).map(|line| line.rsplit_once(',').unwrap().0).collect();
    assert_eq!(starts, ["1,y1", "1,\"y,2\"", "2,y1", "2,\"y,2\"", "3,y1"]);
}

#[test]
fn sum_is_the_mean_times_the_number_of_lists() {
    let shell = shell();
    let args = "gradient --data test.txt --scores scores.txt --objective listnet";
    let sum = json(&shell.ok(&format!("{args} --sum -o g.csv --json")));
    let expected = library("listnet", Reduction::Sum);
    assert_eq!(sum["loss"].as_f64(), Some(expected.loss));
    assert_eq!(sum["reduction"], "sum");
    assert_eq!(numbers(&shell.read("g.csv"), 2), expected.gradient);
    let mean = json(&shell.ok(&format!("{args} --json")));
    assert_eq!(mean["reduction"], "mean");
    assert!((sum["loss"].as_f64().unwrap() - 3.0 * mean["loss"].as_f64().unwrap()).abs() < 1e-12);
    assert_eq!(mean["policy"], serde_json::json!({}), "listnet heeds no rule");
    let song = "gradient --data test.txt --scores scores.txt --objective song:gain=linear";
    let policy = json(&shell.ok(&format!("{song} --json")))["policy"].clone();
    assert_eq!(policy, serde_json::json!({"gain": "linear", "relevant": ">0"}));
    assert!(shell.ok(song).contains("policy: gain=linear relevant=>0"));
}

#[test]
fn weights_of_the_data_count() {
    let shell = Toprank::new();
    shell.file("data.csv", "qid,label,score,w\n1,1,0.2,2\n1,0,0.1,1\n2,0,0.4,1\n2,1,0.3,1\n2,0,0.2,3\n");
    let args = "gradient --data data.csv --score-column score --objective ranknet";
    let weighted = json(&shell.ok(&format!("{args} --weight w --json")));
    let lists = Lists {
        item_weights: Some(vec![2.0, 1.0, 1.0, 1.0, 3.0]),
        ..Lists::from_lengths(&[2, 3], vec![1.0, 0.0, 0.0, 1.0, 0.0])
    };
    let expected = step("ranknet", &lists, &[0.2, 0.1, 0.4, 0.3, 0.2], Reduction::Mean);
    assert_eq!(weighted["loss"].as_f64(), Some(expected.loss));
    assert_ne!(weighted["loss"], json(&shell.ok(&format!("{args} --json")))["loss"]);
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 300 --seed 4 -o demo");
    let run = |threads: usize| {
        let args = "gradient --data demo/train.txt --feature 5 --objective ranknet --hessian -o g.csv --json";
        (shell.ok(&format!("{args} --threads {threads}")), shell.read("g.csv"))
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_nothing_is_written() {
    let shell = shell();
    shell.file("nan.txt", "1\n2\nnan\n4\n5\n6\n");
    shell.file("short.txt", "1\n2\n");
    shell.file("high.txt", "# grades\n1 qid:1 1:0.5\n40 qid:1 1:0.25\n");
    shell.file("long.txt", &("0 qid:1 1:1\n1 qid:1 1:2\n".to_string() + &"1 qid:2 1:0\n".repeat(4001)));
    let base = "gradient --data test.txt --scores";
    let error = |code, args: &str| shell.fails(code, args);
    for (code, args, part) in [
        (2, format!("{base} scores.txt --objective listnt -o g.csv"), "did you mean \"listnet\"?"),
        (2, format!("{base} scores.txt --objective listnet:targt=exp -o g.csv"), "did you mean \"target\"?"),
        (2, format!("{base} scores.txt --objective listnet:target=cubic -o g.csv"), "exp, linear"),
        (2, format!("{base} scores.txt --objective listnet: -o g.csv"), "objective must be name[:key=value]"),
        (2, "gradient --data test.txt --objective listnet -o g.csv".into(), "--scores"),
        (2, format!("{base} scores.txt -o g.csv"), "--objective"),
        (2, format!("{base} scores.txt --objective listnet --json -o -"), "standard output"),
        (2, format!("{base} scores.txt --objective listnet --hessian"), "--output"),
        (3, format!("{base} nan.txt --objective listnet -o g.csv"), "nan.txt:3"),
        (
            3,
            "gradient --data high.txt --feature 1 --objective song -o g.csv".into(),
            "high.txt:3: list 0, item 1: the label is 40",
        ),
        (
            3,
            "gradient --data long.txt --feature 1 --objective softrank -o g.csv".into(),
            "long.txt:3: list 1 has 4001 items, expected at most 4000",
        ),
        (3, format!("{base} short.txt --objective listnet -o g.csv"), "short.txt"),
        (1, format!("{base} missing.txt --objective listnet -o g.csv"), "missing.txt"),
        (1, format!("{base} scores.txt --objective listnet -o no/g.csv"), "no/g.csv"),
    ] {
        let message = error(code, &args);
        assert!(message.contains(part), "{args}\n{message}");
        assert!(!shell.names(".").contains(&"g.csv".to_string()), "{args}");
    }
}

//! The real binary, as a person would use it.

mod common;

use common::{Toprank, json};

const LETOR: &str = "\
2 qid:10 1:0.9 2:0.1 # docid = d1
0 qid:10 1:0.8 2:0.3
1 qid:10 1:0.1 2:0.5
0 qid:11 1:0.4 2:0.2
1 qid:11 1:0.3 2:0.9
0 qid:12 1:0.3 2:0.9
";

#[test]
fn evaluate_prints_metrics_lists_and_policy_as_json() {
    let shell = Toprank::new();
    shell.file("test.txt", LETOR);
    shell.file("scores.txt", "3\n2\n1\n2\n1\n1\n");
    let out = shell
        .ok("evaluate --data test.txt --scores scores.txt --metrics ndcg@10,map --per-list out.csv --json");
    let value = json(&out);
    // List 10: gains 3, 0, 1 in this order; list 11: relevant at rank 2; list 12 has nothing relevant: skipped.
    let ndcg10 = (3.0 / 1.0 + 1.0 / 2.0) / (3.0 / 1.0 + 1.0 / 3f64.log2());
    let ndcg = f64::midpoint(ndcg10, 1.0 / 3f64.log2());
    let map = f64::midpoint(f64::midpoint(1.0, 2.0 / 3.0), 0.5);
    assert!((value["metrics"]["ndcg@10"].as_f64().unwrap() - ndcg).abs() < 1e-12, "{out}");
    assert!((value["metrics"]["map"].as_f64().unwrap() - map).abs() < 1e-12, "{out}");
    assert_eq!(value["lists"]["total"], 3);
    assert_eq!(value["policy"]["ties"], "averaged");
    let per_list = shell.read("out.csv");
    assert_eq!(per_list.lines().next(), Some("list,ndcg@10,map"));
    assert_eq!(per_list.lines().count(), 4);
    assert!(per_list.contains("\n12,,"), "a skipped list has empty cells: {per_list}");
}

#[test]
fn evaluate_reads_judgements_and_a_run() {
    let shell = Toprank::new();
    shell.file("qrels.test", "1 0 a 1\n1 0 b 0\n1 0 c 1\n2 0 a 1\n");
    shell.file("results.test", "1 Q0 a 1 0.9 tag\n1 Q0 b 2 0.8 tag\n3 Q0 a 1 0.8 tag\n");
    let args = "evaluate --qrels qrels.test --run results.test --like trec_eval --metrics map,p@5,mrr,ndcg@10 --json";
    let value = json(&shell.ok(args));
    assert_eq!(value["metrics"]["map"], 0.5);
    assert_eq!(value["metrics"]["p@5"], 0.2);
    assert_eq!(value["metrics"]["mrr"], 1.0);
    assert_eq!(value["policy"]["ties"], "trec");
    assert_eq!(value["lists"]["only_in_qrels"], 1);
    assert_eq!(value["lists"]["only_in_run"], 1);
    let complete = json(&shell.ok(&format!("{args} --complete")));
    assert_eq!(complete["metrics"]["map"], 0.25);
}

#[test]
fn a_column_can_be_judged_as_a_baseline() {
    let shell = Toprank::new();
    shell.file("test.txt", LETOR);
    shell.file("table.csv", "qid,label,bm25,kind\n1,1,0.2,x\n1,0,0.1,x\n2,0,0.4,y\n2,1,0.3,y\n");
    let by_feature = json(&shell.ok("evaluate --data test.txt --feature 2 --metrics mrr --json"));
    assert_eq!(by_feature["metrics"]["mrr"], 1.0);
    let by_column =
        json(&shell.ok("evaluate --data table.csv --score-column bm25 --metrics mrr --by kind --json"));
    assert_eq!(by_column["metrics"]["mrr"], 0.75);
    assert_eq!(by_column["slices"]["x"]["metrics"]["mrr"], 1.0);
    assert_eq!(by_column["slices"]["y"]["metrics"]["mrr"], 0.5);
}

#[test]
fn compare_names_the_runs_and_tests_their_difference() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 120 --seed 3 -o demo");
    let scores = |weight: f64| {
        let rows = shell.read("demo/test.txt").lines().count();
        (0..rows).map(|i| format!("{}\n", ((i * 7919) % 101) as f64 * weight)).collect::<String>()
    };
    shell.file("scores_a.txt", &scores(1.0));
    shell.file("scores_b.txt", &scores(-1.0));
    let args = "compare --data demo/test.txt --metrics ndcg@10 a=scores_a.txt b=scores_b.txt";
    let table = shell.ok(args);
    assert!(table.contains("ndcg@10") && table.contains('a') && table.contains('b'), "{table}");
    let value = json(&shell.ok(&format!("{args} --json")));
    let pair = &value["comparisons"][0]["pairs"][0];
    assert_eq!((&pair["first"], &pair["second"]), (&"a".into(), &"b".into()));
    for test in pair["tests"].as_array().unwrap() {
        let p = test["p"].as_f64().unwrap();
        assert!(p > 0.0 && p <= 1.0, "{test}");
    }
    assert_eq!(
        shell.ok(&format!("{args} --json --threads 1")),
        shell.ok(&format!("{args} --json --threads 4"))
    );
}

#[test]
fn generate_inspect_convert_and_back() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 30 --seed 1 -o demo");
    assert!(shell.ok("inspect demo/test.txt").contains("lists"));
    let overlap = json(&shell.ok("inspect demo/test.txt --against demo/train.txt --json"));
    assert_eq!(overlap["overlap"]["list_names"]["count"], 0);
    shell.ok("convert demo/test.txt test.parquet");
    shell.ok("convert test.parquet again.txt");
    let judge = |data: &str| {
        json(&shell.ok(&format!("evaluate --data {data} --feature 3 --metrics ndcg@5,map --json")))["metrics"]
            .clone()
    };
    assert_eq!(judge("demo/test.txt"), judge("test.parquet"));
    assert_eq!(judge("demo/test.txt"), judge("again.txt"));
}

#[test]
fn the_catalog_lists_and_explains_metrics() {
    let shell = Toprank::new();
    let all = shell.ok("metrics");
    for name in ["ndcg", "map", "mrr", "rprec", "bpref", "success", "err", "rbp", "auroc", "auprc", "pauc"] {
        assert!(all.lines().any(|line| line.trim_start().starts_with(name)), "{name} is not listed:\n{all}");
    }
    assert!(shell.ok("metrics ndcg").contains("log2"));
    assert!(shell.fails(2, "metrics nothing").contains("nothing"));
}

#[test]
fn the_catalog_lists_and_explains_objectives() {
    let shell = Toprank::new();
    let all = shell.ok("objectives");

    let value = json(&shell.ok("objectives --json"));
    let listed = value["objectives"].as_array().unwrap();
    assert_eq!(listed.len(), toprank::objectives::OBJECTIVES.len());
    for line in toprank::objectives::OBJECTIVES {
        let entry = &line.entry;
        // A long line is wrapped.
        let folded = all.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(folded.contains(entry.about), "{} is not listed:\n{all}", entry.name);
        assert!(all.lines().any(|line| line == entry.family), "no heading {}:\n{all}", entry.family);
        assert!(listed.iter().any(|one| one["name"] == entry.name && one["family"] == entry.family));
    }
    let page = shell.ok("objectives listnet");
    for part in [
        "listnet:target=linear is also called softmax.",
        "∂loss/∂s_j",
        "parameter",
        "target",
        "Examples: listnet:target=linear",
    ] {
        assert!(page.contains(part), "no {part}:\n{page}");
    }
    assert_eq!(shell.ok("objectives softmax"), page);
    let one = json(&shell.ok("objectives listnet --json"));
    assert_eq!((&one["params"][0]["name"], &one["params"][0]["default"]), (&"target".into(), &"exp".into()));
    assert_eq!(one["page"], toprank::objectives::find("listnet").unwrap().entry.page);
    let error = shell.fails(2, "objectives listnt");
    assert!(error.contains("unknown objective \"listnt\"; did you mean \"listnet\"?"), "{error}");
}

#[test]
fn scores_are_in_the_order_of_the_file_even_when_rows_are_brought_together() {
    let shell = Toprank::new();
    shell.file("scattered.txt", "1 qid:a 1:3\n0 qid:b 1:4\n0 qid:a 1:2\n1 qid:b 1:5\n");
    shell.file("scores.txt", "3\n4\n2\n5\n"); // the feature, line by line
    let judge = |scores: &str| {
        json(&shell.ok(&format!("evaluate --data scattered.txt --regroup {scores} --metrics mrr --json")))["metrics"]
            .clone()
    };
    assert_eq!(judge("--scores scores.txt")["mrr"], 1.0);
    assert_eq!(judge("--scores scores.txt"), judge("--feature 1"));
    shell.ok("convert scattered.txt model.run --regroup --scores scores.txt");
    assert!(shell.read("model.run").contains("b Q0 row4 1 5.0 toprank"), "{}", shell.read("model.run"));
}

#[test]
fn exit_codes_tell_usage_from_bad_data_from_failure() {
    let shell = Toprank::new();
    shell.file("test.txt", LETOR);
    shell.file("short.txt", "1\n2\n");
    shell.file("nan.txt", "1\n2\nnan\n4\n5\n6\n");
    shell.file("scores.txt", "3\n2\n1\n2\n1\n1\n");
    shell.file("broken.txt", "1 qid:1 1:0.5\n1 qid:1 1:x\n");
    assert!(
        shell.fails(2, "evaluate --data test.txt --scores scores.txt --metrics ndgc@10").contains("ndcg")
    );
    shell.fails(2, "evaluate --data test.txt --metrics map");
    shell.fails(2, "evaluate --metrics map");
    shell.fails(2, "nonsense");
    assert!(shell.fails(3, "evaluate --data test.txt --scores short.txt").contains("short.txt"));
    assert!(shell.fails(3, "evaluate --data test.txt --scores nan.txt").contains("nan.txt:3"));
    assert!(shell.fails(3, "inspect broken.txt").contains("broken.txt:2"));
    assert!(shell.fails(1, "inspect missing.txt").contains("missing.txt"));
}

#[test]
#[cfg(feature = "parquet")]
fn a_decoder_that_panics_says_nothing_beside_our_error() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds");
    let shell = Toprank::new();
    shell.file("qrels", "1 0 a 1\n");
    for (args, file, expected) in [
        ("inspect", "parquet/decoder_panics.parquet", "an undamaged Parquet file"),
        ("inspect", "arrow/decoder_panics.arrow", "an undamaged Arrow file or stream"),
        ("evaluate --qrels qrels --run", "run_parquet/decoder_panics.parquet", "an undamaged Parquet file"),
    ] {
        let stderr = shell.fails(3, &format!("{args} {seeds}/{file}"));
        let want = format!("{file}: content the decoder cannot make sense of; expected {expected}.\n");
        assert!(stderr.ends_with(&want) && stderr.lines().count() == 1, "{stderr}");
    }
}

#[test]
fn policies_are_printed_and_can_be_set_per_metric() {
    let shell = Toprank::new();
    shell.file("test.txt", LETOR);
    shell.file("scores.txt", "1\n1\n1\n1\n1\n1\n");
    let out = shell.ok("evaluate --data test.txt --scores scores.txt --metrics ndcg@2:gain=linear,ndcg@2");
    assert!(out.contains("gain=") && out.contains("ties=averaged") && out.contains("empty=skip"), "{out}");
    let value = json(&shell.ok(
        "evaluate --data test.txt --scores scores.txt --metrics ndcg@2:gain=linear,ndcg@2 --empty one --json",
    ));
    assert_ne!(value["metrics"]["ndcg@2:gain=linear"], value["metrics"]["ndcg@2"]);
    assert_eq!(value["policy"]["empty"], "one");
}

#[test]
fn fuse_writes_a_run_that_evaluate_reads() {
    let shell = Toprank::new();
    shell.file("qrels", "1 0 a 1\n1 0 b 0\n");
    shell.file("r1", "1 Q0 a 1 0.9 x\n1 Q0 b 2 0.1 x\n");
    shell.file("r2", "1 Q0 b 1 9 y\n1 Q0 a 2 8 y\n1 Q0 c 3 1 y\n");
    shell.ok("fuse r1 r2 --method rrf -o fused.run");
    assert_eq!(shell.read("fused.run").lines().count(), 3);
    let value = json(&shell.ok("evaluate --qrels qrels --run fused.run --metrics recall@2 --json"));
    assert_eq!(value["metrics"]["recall@2"], 1.0);
}

#[test]
fn data_and_scores_become_a_run_that_judges_the_same() {
    let shell = Toprank::new();
    shell.file("test.txt", LETOR);
    shell.file("scores.txt", "3\n2\n1\n2\n1\n1\n");
    shell.ok("convert test.txt model.run --scores scores.txt");
    assert_eq!(shell.read("model.run").lines().next(), Some("10 Q0 d1 1 3.0 toprank"));
    shell.ok("convert model.run model.json --input-format run");
    shell.file("qrels", "10 0 d1 2\n10 0 row3 1\n11 0 row5 1\n12 0 row6 0\n");
    let by_run = json(&shell.ok("evaluate --qrels qrels --run model.json --metrics ndcg@10,map --json"));
    let by_data =
        json(&shell.ok("evaluate --data test.txt --scores scores.txt --metrics ndcg@10,map --json"));
    assert_eq!(by_run["metrics"], by_data["metrics"]);
}

#[test]
fn parts_of_a_split_are_the_whole() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 40 --seed 2 --split 100/0/0 -o demo");
    let parts = json(&shell.ok("split demo/train.txt --method k-fold:k=4 --seed 7 -o folds --json"));
    let files = parts["files"].as_array().unwrap();
    let tests = files.iter().filter(|file| file["path"].as_str().unwrap().contains("test"));
    assert_eq!(tests.map(|file| file["lists"].as_u64().unwrap()).sum::<u64>(), 40);
    assert_eq!(files.len(), 8);
    let again = shell.read("folds/fold1.test.txt");
    shell.ok("split demo/train.txt --method k-fold:k=4 --seed 7 -o folds --force");
    assert_eq!(shell.read("folds/fold1.test.txt"), again);
}

#[test]
fn micro_pools_the_labels_of_multi_label_data() {
    let shell = Toprank::new();
    shell.file("data.csv", "x,y1,y2\n1,1,0\n2,0,1\n3,0,\n");
    shell.file("scores.txt", "0.9 0.1\n0.5 0.2\n0.1 0.3\n");
    let args = "evaluate --data data.csv --labels y1,y2 --scores scores.txt --metrics auroc --json";
    assert_eq!(json(&shell.ok(args))["metrics"]["auroc"], 1.0);
    // Pooled: relevant 0.9 and 0.2 against 0.5, 0.1, 0.1: 5 of 6 pairs in order.
    assert_eq!(json(&shell.ok(&format!("{args} --average micro")))["metrics"]["auroc"], 5.0 / 6.0);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 200 --seed 1 -o demo");
    let (status, stderr) = shell.piped_into_nothing("convert demo/train.txt - --to letor");
    assert!(status.success(), "{stderr}");
    assert!(!stderr.contains("panicked") && !stderr.contains("error"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_no_half_written_file() {
    let shell = Toprank::new();
    let code = shell.interrupted("generate letor --lists 10000000 -o demo", "demo");
    assert_eq!(code, Some(130));
    assert_eq!(shell.names("demo"), Vec::<String>::new());
}

#[test]
fn help_teaches_and_completions_exist() {
    let shell = Toprank::new();
    let help = shell.ok("--help");
    assert!(help.contains("Exit codes") && help.contains("Example"));
    for command in [
        "evaluate",
        "compare",
        "fuse",
        "inspect",
        "convert",
        "split",
        "generate",
        "gradient",
        "metrics",
        "objectives",
        "formats",
    ] {
        assert!(help.contains(command), "{command} is not in the help");
        shell.ok(&format!("{command} --help"));
    }
    assert!(shell.ok("completions bash").contains("toprank"));
    assert!(shell.ok("man").contains(".TH"));
}

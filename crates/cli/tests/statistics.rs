//! What `evaluate`, `compare` and `fuse` say about a difference, and how they print it.

mod common;

use common::{Toprank, json};

/// Binary data of `rows` rows, one in four relevant, with two sets of scores: one that separates well, one that hardly does.
fn binary(shell: &Toprank, rows: u32) {
    let noise = |row: u32, k: u32| {
        let mixed = (row * 7 + k * 131).wrapping_mul(2_654_435_761);
        f64::from(mixed >> 8) / f64::from(1u32 << 24)
    };
    let label = |row: u32| u8::from(row % 4 == 1);
    let table = |head: &str, line: &dyn Fn(u32) -> String| {
        head.to_string() + &(0..rows).map(line).collect::<String>()
    };
    shell.file("test.csv", &table("x,label\n", &|row| format!("{row},{}\n", label(row))));
    for (name, shift) in [("good.txt", 1.0), ("poor.txt", 0.3)] {
        let score = |row: u32| noise(row, name.len() as u32 + shift as u32) + shift * f64::from(label(row));
        shell.file(name, &table("", &|row| format!("{}\n", score(row))));
    }
}

#[test]
fn binary_data_have_intervals_and_the_method_is_printed() {
    let shell = Toprank::new();
    binary(&shell, 400);
    let args = "evaluate --data test.csv --label label --scores poor.txt -m auroc,auprc,p@20,ndcg@20,recall@50,pauc:fpr=0.2";
    let value = json(&shell.ok(&format!("{args} --json")));
    for (metric, kind) in
        [("auroc", "delong"), ("auprc", "bca"), ("p@20", "bca"), ("ndcg@20", "bca"), ("recall@50", "bca")]
    {
        let interval = &value["intervals"][metric];
        let mean = value["metrics"][metric].as_f64().unwrap();
        let [low, high] = ["low", "high"].map(|end| interval[end].as_f64().unwrap());
        assert!(low < high && low <= mean && mean <= high, "{metric}: {interval}");
        assert_eq!(interval["kind"], kind, "{metric}");
        assert_eq!(interval["unit"], "rows", "{metric}");
    }
    assert_eq!(value["intervals"]["auprc"]["method"], "stratified BCa bootstrap over rows, 1000 resamples");
    let table = shell.ok(args);
    assert!(table.contains("intervals of auroc: DeLong"), "{table}");
    assert!(table.contains("stratified BCa bootstrap over rows, 1000 resamples"), "{table}");
    let [one, four] = [1, 4].map(|threads| shell.ok(&format!("{args} --json --threads {threads}")));
    assert_eq!(one, four, "the number of threads changes nothing");
}

#[test]
fn two_runs_on_one_list_are_told_apart() {
    // Was: interval [0.6486, 0.6486] and p 1.0000 for AUROC 0.993 against 0.754.
    let shell = Toprank::new();
    binary(&shell, 300);
    let args =
        "compare --data test.csv --label label -m auroc,auprc poor=poor.txt good=good.txt --replicates 500";
    let value = json(&shell.ok(&format!("{args} --json")));
    for comparison in value["comparisons"].as_array().unwrap() {
        assert_eq!(comparison["unit"], "rows");
        let pair = &comparison["pairs"][0];
        assert!(pair["interval"]["low"].as_f64().unwrap() > 0.0, "{pair}");
        assert!(pair["interval"]["low"].as_f64() < pair["interval"]["high"].as_f64(), "{pair}");
        for test in pair["tests"].as_array().unwrap().iter().filter(|test| !test["p"].is_null()) {
            assert!(test["p_corrected"].as_f64().unwrap() < 0.01, "{test}");
        }
    }
    assert_eq!(value["comparisons"][0]["pairs"][0]["tests"][0]["test"], "delong");
    let text = shell.ok(args);
    let verdict = text.lines().next().unwrap();
    assert!(verdict.starts_with("good beats poor on auroc by 0.") && verdict.ends_with("(Holm)"), "{text}");
    assert!(text.contains("DeLong") && text.contains("random permutations of the rows"), "{text}");
    let error = shell.fails(2, &format!("{args} --tests t"));
    assert!(
        error.contains("unknown test over rows \"t\"; expected one of delong, bootstrap, permutation"),
        "{error}"
    );
    let error = shell.fails(2, &format!("{args} --tukey"));
    assert!(error.contains("--tukey compares the values of lists"), "{error}");
}

#[test]
fn labels_are_evaluated_and_compared_one_by_one_and_as_a_mean() {
    let shell = Toprank::new();
    let line =
        |row: u32| format!("{row},{},{}\n", u8::from(row.is_multiple_of(3)), u8::from(row.is_multiple_of(5)));
    shell.file("m.csv", &("x,y1,y2\n".to_string() + &(0..150).map(line).collect::<String>()));
    let scores = |step: u32, shift: u32| -> String {
        let score = |row: u32, of: u32| (row * step * of) % 97 + shift * u32::from(row.is_multiple_of(of));
        (0..150).map(|row| format!("{} {}\n", score(row, 3), score(row, 5))).collect()
    };
    shell.file("a.txt", &scores(31, 0));
    shell.file("b.txt", &scores(31, 60));
    let value = json(&shell.ok("evaluate --data m.csv --labels y1,y2 --scores b.txt -m auroc,auprc --json"));
    for metric in ["auroc", "auprc"] {
        let of = |label: &str| value["labels"][label]["metrics"][metric].as_f64().unwrap();
        let mean = value["metrics"][metric].as_f64().unwrap();
        assert!((mean - f64::midpoint(of("y1"), of("y2"))).abs() < 1e-12, "{metric}");
        assert!(value["labels"]["y1"]["intervals"][metric]["low"].as_f64().unwrap() <= of("y1"));
        assert_eq!(value["intervals"][metric]["unit"], "rows");
    }
    let table = shell.ok("evaluate --data m.csv --labels y1,y2 --scores b.txt -m auroc");
    assert!(
        table.lines().any(|line| line.starts_with("y2"))
            && table.lines().any(|line| line.starts_with("mean")),
        "{table}"
    );
    let value = json(&shell.ok(
        "compare --data m.csv --labels y1,y2 a=a.txt b=b.txt -m auroc,p@10 --replicates 300 --tests delong,permutation:n=300 --json",
    ));
    let labels = value["comparisons"][0]["pairs"][0]["labels"].as_array().unwrap();
    assert_eq!(labels.iter().map(|label| label["list"].as_str().unwrap()).collect::<Vec<_>>(), ["y1", "y2"]);
    assert!(labels[0]["tests"][0]["p"].as_f64().unwrap() < 0.001);
}

fn lists(shell: &Toprank) {
    shell.ok("generate letor --lists 150 --seed 3 -o demo --quiet");
    let labels: Vec<f64> = shell
        .read("demo/test.txt")
        .lines()
        .map(|line| line.split(' ').next().unwrap().parse().unwrap())
        .collect();
    // a and c are noise, b knows the labels.
    for (name, weight, step) in [("a", 0.0, 7919), ("b", 0.9, 7919), ("c", 0.0, 6007)] {
        let score =
            |(i, label): (usize, &f64)| format!("{}\n", ((i * step) % 101) as f64 / 40.0 + weight * label);
        shell.file(&format!("scores_{name}.txt"), &labels.iter().enumerate().map(score).collect::<String>());
    }
}

#[test]
fn a_comparison_opens_with_a_verdict_per_metric_and_pair() {
    let shell = Toprank::new();
    lists(&shell);
    let text = shell.ok("compare --data demo/test.txt -m ndcg@10 a=scores_a.txt b=scores_b.txt");
    let verdict = text.lines().next().unwrap();
    assert!(verdict.starts_with("b beats a on ndcg@10 by 0."), "{text}");
    let counts = verdict.rsplit_once(", ").unwrap().1;
    assert!(verdict.contains("] ") || verdict.contains("], p "), "{verdict}");
    assert!(verdict.contains(" (Holm), ") && counts.split('/').count() == 3, "{verdict}");
    let all =
        shell.ok("compare --data demo/test.txt -m ndcg@10,map a=scores_a.txt b=scores_b.txt c=scores_c.txt");
    assert!(all.lines().take(6).any(|line| line.starts_with("no significant difference on")), "{all}");
    let value =
        json(&shell.ok("compare --data demo/test.txt -m ndcg@10 a=scores_a.txt b=scores_b.txt --json"));
    assert_eq!(value["comparisons"][0]["pairs"][0]["verdict"], verdict);
}

#[test]
fn the_matrix_shows_runs_by_metrics_in_every_style() {
    let shell = Toprank::new();
    lists(&shell);
    let args = "compare --data demo/test.txt -m ndcg@10,map a=scores_a.txt b=scores_b.txt c=scores_c.txt";
    let table = shell.ok(args);
    let head = table.lines().position(|line| line.starts_with("run ")).unwrap();
    let rows: Vec<&str> = table.lines().skip(head).take(4).collect();
    assert!(rows[0].contains("ndcg@10") && rows[0].contains("map"), "{table}");
    assert!(rows[2].starts_with('b') && rows[2].contains("*†"), "{table}");
    assert!(!rows[1].contains('†') && table.contains("† differs from a (corrected p ≤ 0.05)"), "{table}");
    // Lists that differ most stand under the names of the runs.
    assert!(
        table
            .lines()
            .any(|line| line.split_whitespace().collect::<Vec<_>>()
                == ["metric", "list", "a", "b", "difference"]),
        "{table}"
    );
    let markdown = shell.ok(&format!("{args} --format markdown"));
    assert!(markdown.contains("| run ") && markdown.contains("**†"), "{markdown}");
    assert!(markdown.starts_with("- b beats a on ndcg@10 by "), "{markdown}");
    let latex = shell.ok(&format!("{args} --format latex"));
    assert!(latex.contains("\\textbf{0.") && latex.contains("$^\\dagger$"), "{latex}");
    let csv = shell.ok(&format!("{args} --format csv"));
    assert!(csv.starts_with("metric,pair,difference,interval (Holm),d,win/tie/loss,p t (Holm)"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 2 * 3, "one table: {csv}");
}

#[test]
fn intervals_of_differences_have_the_level_of_the_correction() {
    let shell = Toprank::new();
    lists(&shell);
    let args = "compare --data demo/test.txt -m ndcg@10 a=scores_a.txt b=scores_b.txt c=scores_c.txt --tests t --json";
    let level = |args: &str, pair: usize| {
        json(&shell.ok(args))["comparisons"][0]["pairs"][pair]["interval"]["level"].as_f64().unwrap()
    };
    // Three pairs: the smallest p is held against 0.05/3, and its interval has the same level.
    let levels: Vec<f64> = (0..3).map(|pair| level(args, pair)).collect();
    let mut sorted = levels.clone();
    sorted.sort_by(f64::total_cmp);
    for (got, want) in sorted.iter().zip([1.0 - 0.05, 1.0 - 0.05 / 2.0, 1.0 - 0.05 / 3.0]) {
        assert!((got - want).abs() < 1e-12, "{levels:?}");
    }
    assert!((level(&format!("{args} --correction none"), 0) - 0.95).abs() < 1e-12);
    let value = json(&shell.ok(args));
    for pair in value["comparisons"][0]["pairs"].as_array().unwrap() {
        let says = pair["verdict"].as_str().unwrap().contains("disagrees with the test");
        assert_eq!(pair["interval_agrees"], !says, "{pair}");
    }
}

const LETOR: &str = "1 qid:1 1:3\n0 qid:1 1:2\n0 qid:2 1:2\n1 qid:2 1:1\n";

#[test]
fn the_values_per_list_are_alone_on_standard_output() {
    let shell = Toprank::new();
    shell.file("test.txt", LETOR);
    let csv = shell.ok("evaluate --data test.txt --feature 1 -m mrr --per-list -");
    assert_eq!(csv, "list,mrr\n1,1\n2,0.5\n");
    let csv = shell.ok("compare --data test.txt a=feature:1 b=feature:1 -m mrr --per-list -");
    assert_eq!(csv, "list,a:mrr,b:mrr\n1,1,1\n2,0.5,0.5\n");
    let error = shell.fails(2, "evaluate --data test.txt --feature 1 -m mrr --per-list - --json");
    assert!(error.contains("--per-list - prints the CSV alone"), "{error}");
}

#[test]
fn names_of_other_tools_are_read_and_ours_are_printed() {
    let shell = Toprank::new();
    shell.file("q", "1 0 a 1\n1 0 b 0\n2 0 a 0\n2 0 b 2\n");
    shell.file("r", "1 Q0 a 1 0.9 t\n1 Q0 b 2 0.8 t\n2 Q0 a 1 0.9 t\n2 Q0 b 2 0.8 t\n");
    let of = |metrics: &str| {
        json(&shell.ok(&format!("evaluate --qrels q --run r --like trec_eval -m {metrics} --json")))["metrics"].clone()
    };
    let found = of("map,P_5,ndcg_cut_10");
    assert_eq!(found.as_object().unwrap().keys().collect::<Vec<_>>(), ["map", "p@5", "ndcg@10"]);
    assert_eq!(of("AP,P@5,nDCG@10"), found);
    assert!((of("gm_map")["gm-map"].as_f64().unwrap() - 0.5f64.sqrt()).abs() < 1e-12);
    assert_eq!(of("P(rel=2)@1")["p@1:relevant=2"], 0.0);
    let all = of("all_trec");
    assert!(all.as_object().unwrap().len() > 60 && all["recall@100"] == 1.0, "{all}");
    let error = shell.fails(2, "evaluate --qrels q --run r -m ndgc");
    assert_eq!(error.trim(), "error: unknown metric \"ndgc\"; did you mean \"ndcg\"?");
    let error = shell.fails(2, "compare --qrels q -m gm_map x=r y=r");
    assert!(error.contains("compare map instead"), "{error}");
}

#[test]
fn fuse_reports_as_json() {
    let shell = Toprank::new();
    shell.file("r1", "1 Q0 a 1 0.9 x\n1 Q0 b 2 0.1 x\n");
    shell.file("r2", "1 Q0 b 1 9 y\n1 Q0 a 2 8 y\n1 Q0 c 3 1 y\n");
    let value = json(&shell.ok("fuse r1 r2 -o fused.run --json"));
    assert_eq!(
        (&value["queries"], &value["documents"], &value["output"]),
        (&1.into(), &3.into(), &"fused.run".into())
    );
    let value = json(&shell.ok("fuse r1 r2 --method combsum --json"));
    assert_eq!(value["run"]["1"]["a"].as_f64().unwrap(), 1.0 + (8.0 - 1.0) / (9.0 - 1.0));
    shell.file("fused.json", &value["run"].to_string());
    shell.file("q", "1 0 a 1\n");
    assert_eq!(json(&shell.ok("evaluate --qrels q --run fused.json -m mrr --json"))["metrics"]["mrr"], 1.0);
    let error = shell.fails(2, "fuse r1 r2 --method rff");
    assert_eq!(error.trim(), "error: unknown fusion method \"rff\"; did you mean \"rrf\"?");
}

#[test]
fn the_calls_of_the_manual_work_as_written() {
    let shell = Toprank::new();
    lists(&shell);
    shell.ok("convert demo/test.txt test.txt --quiet");
    shell.file("scores.txt", &shell.read("scores_b.txt"));
    let value = json(&shell.ok("evaluate --data test.txt --scores scores.txt -m ndcg@10,map --json"));
    assert!(value["intervals"]["ndcg@10"]["low"].as_f64() < value["intervals"]["ndcg@10"]["high"].as_f64());
    shell.ok("compare --data test.txt -m ndcg@10 a=scores_a.txt b=scores_b.txt");
    shell.ok("evaluate --data test.txt --scores scores.txt --input-format letor --format markdown");
}

//! What the README shows, run as it stands there.

mod common;

use common::Toprank;

#[test]
fn every_toprank_line_of_the_readme_runs() {
    let shell = Toprank::new();
    let letor = "1 qid:1 1:0.5\n0 qid:1 1:0.25\n0 qid:2 1:1\n2 qid:2 1:0.5\n0 qid:3 1:2\n1 qid:3 1:1\n";
    shell.file("test.txt", letor);
    for copy in ["train.txt", "vali.txt", "big.txt"] {
        shell.file(copy, letor);
    }
    shell.file("space.toml", "data = \"train.txt\"\nmodel = \"linear\"\nepochs = 2\n[tune]\nfolds = 2\n[space]\nrate = [0.1, 0.2]\n");
    shell.file("scores.txt", "1\n2\n3\n4\n5\n6\n");
    shell.file("scores_a.txt", "6\n5\n3\n4\n5\n6\n");
    shell.file("scores_b.txt", "1\n2\n3\n4\n6\n5\n");
    shell.file("edges.csv", "source,target\na,b\nb,c\nc,a\n");
    shell.file("qrels.test", "1 0 a 1\n1 0 b 0\n2 0 a 1\n");
    shell.file("results.test", "1 Q0 a 1 0.9 tag\n1 Q0 b 2 0.8 tag\n2 Q0 a 1 0.8 tag\n");
    let row = |i: u32| format!("{},{},{}\n", i * 7 % 50, i * 3 % 11, u8::from(i * 7 % 50 > 40));
    let table = "a,b,label\n".to_string() + &(0..100).map(row).collect::<String>();
    for name in ["train.csv", "test.csv"] {
        shell.file(name, &table);
    }
    let row = |i: u32| format!("{},{},l{}\n", i % 10 * 3 + i / 40, i % 10 * 7 % 5, i % 10);
    shell.file("letters.csv", &("a,b,letter\n".to_string() + &(0..80).map(row).collect::<String>()));
    let readme = include_str!("../../../README.md");
    // What trains, and what reads what was trained.
    let trains = |line: &str| {
        let train = ["train", "predict", "tune", "threshold", "embed", "retrieve"]
            .iter()
            .any(|name| line.starts_with(name));
        train || line.contains("--scores s.txt") || line.contains("--scores p.txt")
    };
    let lines: Vec<&str> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("toprank ")?.split('#').next())
        // It has a test of its own.
        .filter(|line| !line.starts_with("quickstart"))
        .filter(|line| cfg!(feature = "neural") || !trains(line))
        .collect();
    assert!(lines.len() > 5, "the README shows how to use the command");
    for line in lines {
        shell.ok(line);
    }
}

//! `toprank report`: the page that it writes.

mod common;

use common::Toprank;

/// Three queries with judgements and two runs; `hostile` stands in the names of a document, a query and a run.
fn search(shell: &Toprank, hostile: &str) {
    let mut qrels = String::new();
    let (mut a, mut b) = (String::new(), String::new());
    for q in 0..12 {
        let query = if q == 0 { format!("q{hostile}") } else { format!("q{q}") };
        for d in 0..6 {
            let doc = if d == 0 { format!("d{hostile}") } else { format!("d{d}") };
            qrels += &format!("{query} 0 {doc} {}\n", if d == q % 6 { 2 } else { 0 });
            a += &format!("{query} Q0 {doc} 1 {} a\n", (d * 5 + q) % 6);
            b += &format!("{query} Q0 {doc} 1 {} b\n", if d == q % 6 { 9 } else { d });
        }
        b += &format!("{query} Q0 unjudged 1 8.5 b\n");
    }
    shell.file("qrels", &qrels);
    shell.file("a.run", &a);
    shell.file("b.run", &b);
}

#[test]
fn the_page_has_verdict_tables_plots_and_rankings_and_needs_nothing_from_elsewhere() {
    let shell = Toprank::new();
    search(&shell, "");
    let args = "report --qrels qrels --run a=a.run --run b=b.run -m ndcg@10,map -o page.html";
    let (out, notes) = shell.with_notes(args);
    assert!(out.is_empty() && notes.contains("wrote page.html"), "{notes}");
    let page = shell.read("page.html");
    let verdict = shell.ok("compare --qrels qrels a=a.run b=b.run -m ndcg@10,map");
    let verdict = verdict.lines().next().unwrap();
    let said = common::json(&shell.ok(&format!("{args} --json")));
    assert_eq!((said["verdicts"][0].as_str(), said["output"].as_str()), (Some(verdict), Some("page.html")));
    shell.ok(args);
    assert!(verdict.starts_with("b beats a on ndcg@10") && page.contains(verdict), "{verdict}");
    for expected in [
        "lists-data",
        "Where do they differ?",
        "list-3",
        "unjudged",
        "Copy LaTeX",
        "toprank report --qrels qrels",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(page.contains("gain") && page.contains("exp2"), "the policy");
    for elsewhere in ["http://", "https://", "url(", "@import", " src="] {
        let found = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(elsewhere), "{elsewhere}");
    }
    shell.ok(&format!("{args} --quiet --threads 1"));
    assert_eq!(
        shell.read("page.html").replace(" --quiet --threads 1", ""),
        page,
        "the same input gives the same page at any number of threads"
    );
}

#[test]
fn no_name_of_a_file_becomes_markup() {
    let count = |hostile: &str| {
        let shell = Toprank::new();
        search(&shell, hostile);
        shell.ok("report --qrels qrels a=a.run b=b.run -o page.html --quiet");
        let page = shell.read("page.html");
        assert!(!page.contains(['\u{202e}', '\u{1b}', '\0']));
        ["<script", "</script", "<img", "<!--", "<td", "onerror="].map(|mark| page.matches(mark).count())
    };
    let plain = count("");
    for hostile in
        ["</script><script>alert(1)</script>", "<img/src=x/onerror=1>", "<!--", "\u{202e}x", "\u{1b}[2J"]
    {
        let found = count(hostile);
        assert_eq!(found[..5], plain[..5], "{hostile}");
    }
}

#[test]
fn a_page_of_data_shows_models_slices_curves_and_the_importance_of_features() {
    let shell = Toprank::new();
    shell.ok("generate binary --rows 3000 --seed 1 -o table --quiet");
    shell.ok(
        "train --data table/train.csv --valid table/vali.csv --label label --objective auroc --model trees --trees 8 \
         -o trees.toprank --curves run --quiet",
    );
    shell.ok("predict trees.toprank --data table/test.csv --label label -o scores.txt --quiet");
    shell.ok(
        "report --data table/test.csv --label label one=feature:f3 trees=trees.toprank -m auroc,auprc --curves run \
         -o page.html --quiet",
    );
    let page = shell.read("page.html");
    for expected in
        ["Features of trees by gain", "ROC and precision", "Learning curves of run", "beats one on auroc"]
    {
        assert!(page.contains(expected), "{expected}");
    }
    let of = |run: &str| {
        shell.ok(&format!(
            "report --data table/test.csv --label label trees={run} -m auroc -o p.html --quiet"
        ));
        let page = shell.read("p.html");
        let start = page.find("trees: auroc 0.").expect("the value of the only run");
        page[start..start + 40].to_string()
    };
    assert_eq!(of("trees.toprank"), of("scores.txt"), "a model scores as `predict` does");
    shell.file("t.csv", "q,label,market,s\n1,1,de,0.3\n1,0,fr,0.5\n2,0,de,0.1\n2,1,fr,0.9\n");
    shell
        .ok("report --data t.csv --list q --label label s=column:s --by market -m ndcg@10 -o m.html --quiet");
    assert!(shell.read("m.html").contains("ndcg@10 by market"));
}

#[test]
fn what_cannot_be_shown_is_said_before_a_page_is_written() {
    let shell = Toprank::new();
    search(&shell, "");
    let error = shell.fails(2, "report --qrels qrels a=a.run a=b.run -o page.html");
    assert!(error.contains("two runs are called a"), "{error}");
    let error = shell.fails(2, "report --qrels qrels a=a.run -o a.run");
    assert!(error.contains("a.run"), "{error}");
    let error = shell.fails(2, "report --qrels qrels -o page.html");
    assert!(error.contains("NAME=FILE"), "{error}");
    let error = shell.fails(1, "report --qrels qrels a=a.run --curves nothing -o page.html");
    assert!(error.contains("nothing/curve.jsonl"), "{error}");
    let error = shell.fails(2, "report --qrels qrels a=feature:1 -o page.html");
    assert!(error.contains("give runs"), "{error}");
    assert!(!shell.path("page.html").exists());
}

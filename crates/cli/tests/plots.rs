//! What plots of the command say.
#![cfg(feature = "plots")]

mod common;

use common::Toprank;

fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 30 --seed 1 --split 100/0/0 -o demo --quiet");
    shell
}

/// One list with two sets of scores.
fn binary(shell: &Toprank) {
    let rows = |line: &dyn Fn(u32) -> String| (0..200).map(line).collect::<String>();
    let label = |row: u32| row % 4 / 3;
    shell.file("test.csv", &("x,label\n".to_string() + &rows(&|row| format!("{row},{}\n", label(row)))));
    shell.file("a.txt", &rows(&|row| format!("{}\n", row * 37 % 101 + 40 * label(row))));
    shell.file("b.txt", &rows(&|row| format!("{}\n", row * 53 % 101 + 10 * label(row))));
}

#[test]
fn curves_pooled_over_queries_say_so() {
    let shell = shell();
    for average in ["macro", "micro"] {
        shell.ok(&format!(
            "evaluate --data demo/train.txt --feature 1 -m auroc --average {average} --plot p.svg"
        ));
        assert!(shell.read("p.svg").contains(", 30 queries pooled into one list</title>"), "{average}");
    }
    binary(&shell);
    shell.ok("evaluate --data test.csv --label label --scores a.txt -m auroc --plot p.svg");
    let svg = shell.read("p.svg");
    assert!(svg.contains("<title>ROC and precision–recall curves on test</title>"), "{svg}");
}

#[test]
fn a_comparison_over_rows_draws_the_interval_of_every_pair() {
    let shell = Toprank::new();
    binary(&shell);
    shell.file("c.txt", &shell.read("a.txt"));
    shell.ok("compare --data test.csv --label label a=a.txt b=b.txt c=c.txt -m auroc --plot p.svg");
    let svg = shell.read("p.svg");
    assert!(
        svg.contains("Differences of auroc")
            && svg.contains(">b − a</text>")
            && svg.contains(">c − b</text>"),
        "{svg}"
    );
}

#[test]
fn lists_with_a_lower_value_are_the_better_ones_where_lower_is_better() {
    let shell = shell();
    let counts = |metric: &str| {
        shell.ok(&format!("compare --data demo/train.txt a=feature:1 b=feature:2 -m {metric} --plot p.svg"));
        let svg = shell.read("p.svg");
        let count = |word: &str| -> u32 {
            let end = svg.find(word).unwrap();
            svg[..end].rsplit(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
        };
        (count(" better"), count(" worse"))
    };
    let (better, worse) = counts("auroc");
    assert!(better + worse > 10 && better != worse, "{better} {worse}");
    // With p = 1 it is 1 − AUROC.
    assert_eq!(counts("p-norm-push:p=1"), (better, worse));
}

#[cfg(not(feature = "png"))]
#[test]
fn a_build_without_png_says_how_to_get_it_before_the_work_begins() {
    let shell = Toprank::new();
    for args in [
        "evaluate --data none.csv --feature 1 --plot p.png",
        "evaluate --data none.csv --feature 1 --probability --reliability-plot p.PNG",
        "compare --data none.csv a=a.txt b=b.txt --plot p.png",
        "pagerank train --graphs none -o w.toprank --plot p.png",
    ] {
        let error = shell.fails(2, args);
        let expected =
            "this build writes SVG only; install toprank with --features png, or name the file with .svg";
        assert!(error.contains(expected), "{args}: {error}");
    }
}

#[cfg(feature = "png")]
#[test]
fn a_build_with_png_writes_it() {
    let shell = Toprank::new();
    binary(&shell);
    shell.ok("evaluate --data test.csv --label label --scores a.txt -m auroc --plot p.png");
    assert_eq!(shell.bytes("p.png")[1..4], *b"PNG");
}

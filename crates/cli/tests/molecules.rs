//! Graphs as items: from SMILES, or tables of nodes and edges, to a model and its scores.

#![cfg(feature = "neural")]

mod common;

use common::{Toprank, json};

/// Molecules of chains, rings and a few elements; those with a nitrogen in a ring are relevant.
fn molecules(count: usize) -> Vec<(String, u8)> {
    (0..count)
        .map(|k| {
            let chain = "C".repeat(1 + k % 4);
            let end = ["O", "N", "Cl", "C", "F"][(k / 4) % 5];
            match k % 7 {
                0 | 3 => (format!("{chain}c1ccnc({end})c1"), 1),
                1 => (format!("{chain}c1ccccc1{end}"), 0),
                2 => (format!("{chain}C1CCC({end})C1"), 0),
                4 => (format!("{chain}C(=O){end}"), 0),
                5 => (format!("{chain}n1cccc1{end}"), 1),
                _ => (format!("{chain}C#C{end}"), 0),
            }
        })
        .collect()
}

fn shell() -> Toprank {
    let shell = Toprank::new();
    let (mut one, mut two) = (String::from("smiles,label,note\n"), String::from("smiles,ring,nitrogen\n"));
    for (k, (smiles, label)) in molecules(140).into_iter().enumerate() {
        one += &format!("{smiles},{label},x{k}\n");
        let ring = if k % 9 == 0 { String::new() } else { u8::from(smiles.contains('1')).to_string() };
        two += &format!("{smiles},{ring},{label}\n");
    }
    shell.file("all.csv", &one);
    shell.file("two.csv", &two);
    shell.ok("split all.csv --method lists:fractions=60/20/20 --smiles smiles -o parts --quiet");
    shell
}

const RUN: &str = "train --data parts/train.csv --valid parts/vali.csv --smiles smiles --quiet";
const SMALL: &str = "--model gin:layers=2:hidden=8:dropout=0.1 --rate 0.01 --patience 0";

#[test]
fn molecules_are_split_learned_from_scored_and_judged() {
    let shell = shell();
    assert!(shell.read("parts/train.csv").starts_with("label,smiles,note\n"));
    let trained = json(
        &shell.ok(&format!("{RUN} --objective auprc {SMALL} --epochs 12 --seed 1 -o model.toprank --json")),
    );
    assert_eq!(trained["config"]["transforms"], "");
    assert!(trained["best"]["value"].as_f64().unwrap() > 0.8, "{trained}");
    // The column of the training data is the default.
    shell.ok("predict model.toprank --data parts/test.csv -o scores.txt --quiet");
    let judged = json(&shell.ok(
        "evaluate --data parts/test.csv --label label --scores scores.txt --metrics auprc,auroc,p@5 --json",
    ));
    assert!(judged.to_string().contains("auroc"), "{judged}");
    shell.ok("predict model.toprank --data parts/test.csv --probability -o probabilities.txt --quiet");
    // Another way to write the same molecules, in a column of another name, gives the same scores.
    shell.file("one.csv", "smiles\nCc1ccnc(O)c1\nCCC(=O)N\n");
    shell.file("other.csv", "molecule\nOc1nccc(C)c1\nNC(=O)CC\n");
    let of = |args: &str| -> Vec<f64> {
        let text = shell.ok(&format!("predict model.toprank --quiet {args}"));
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    let (one, other) = (of("--data one.csv"), of("--data other.csv --smiles molecule"));
    assert!(
        one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-4) && one[0] > one[1],
        "{one:?} {other:?}"
    );
    // An element that was never seen is scored like every rare one.
    shell.file("new.csv", "smiles\nCc1ccnc([Pt])c1\n[Xe]\n");
    assert!(of("--data new.csv").iter().all(|score| score.is_finite()));
    let text = shell.ok("inspect model.toprank");
    assert!(text.contains("self-test passes"), "{text}");
}

#[test]
fn several_labels_some_of_them_missing_are_several_outputs_and_folds_hold_out_molecules() {
    let shell = shell();
    let labels = "--smiles smiles --labels ring,nitrogen --quiet";
    shell.ok(&format!(
        "train --data two.csv {labels} --objective top-ap@10 {SMALL} --epochs 4 --folds 2 -o m.toprank"
    ));
    assert_eq!(shell.read("m.toprank.oof.txt").lines().count(), 140);
    let text = shell.ok("predict m.toprank --data two.csv --quiet");
    assert!(text.lines().all(|line| line.split([' ', '\t', ',']).count() == 2), "{text}");
    shell.ok(&format!("split two.csv --method scaffold {labels} -o scaffolds"));
    let rows = |part: &str| shell.read(&format!("scaffolds/{part}.csv")).lines().count() - 1;
    assert_eq!(rows("train") + rows("vali") + rows("test"), 140);
    let pyridines = |part: &str| shell.read(&format!("scaffolds/{part}.csv")).matches("c1ccnc").count();
    assert_eq!(["train", "vali", "test"].map(pyridines).iter().filter(|count| **count > 0).count(), 1);
}

#[test]
fn graphs_in_tables_of_nodes_and_edges_are_learned_from() {
    let shell = Toprank::new();
    let mut tables = [
        String::from("id,label\n"),
        String::from("graph,node,kind,size\n"),
        String::from("graph,from,to,length\n"),
    ];
    // Rings are relevant, paths are not.
    for g in 0..60 {
        let nodes = 3 + g % 5;
        tables[0] += &format!("g{g},{}\n", g % 2);
        for v in 0..nodes {
            tables[1] += &format!("g{g},{v},{},{}\n", ["red", "blue"][(g + v) % 2], (g * v) % 3);
        }
        for v in 1..nodes {
            tables[2] += &format!("g{g},{},{v},0.{v}\n", v - 1);
        }
        if g % 2 == 1 {
            tables[2] += &format!("g{g},{},0,0.5\n", nodes - 1);
        }
    }
    for (name, text) in ["items.csv", "nodes.csv", "edges.csv"].into_iter().zip(&tables) {
        shell.file(name, text);
    }
    let graphs = "--graph id --nodes nodes.csv --edges edges.csv --quiet";
    shell.ok(&format!(
        "train --data items.csv {graphs} --objective auroc {SMALL} --epochs 20 -o model.toprank"
    ));
    shell.ok("predict model.toprank --data items.csv --nodes nodes.csv --edges edges.csv -o s.txt --quiet");
    let judged =
        json(&shell.ok("evaluate --data items.csv --label label --scores s.txt --metrics auroc --json"));
    assert!(judged.to_string().contains("auroc"), "{judged}");
    shell.file("more.csv", "id,label\ng1,1\ng99,0\n");
    let error = shell.fails(3, &format!("predict model.toprank --data more.csv {graphs}"));
    assert!(error.contains("more.csv:3: column id: graph \"g99\"; expected a graph that"), "{error}");
}

#[test]
fn the_model_has_the_same_bytes_on_any_number_of_threads() {
    let shell = shell();
    for objective in ["top-ap@10", "p@10", "cross-entropy"] {
        for threads in [1, 2, 4] {
            shell.ok(&format!(
                "{RUN} {SMALL} --objective {objective} --epochs 2 --threads {threads} -o {threads}.toprank"
            ));
        }
        let one = shell.bytes("1.toprank");
        assert!(one == shell.bytes("2.toprank") && one == shell.bytes("4.toprank"), "{objective}");
    }
}

#[test]
#[cfg(unix)]
fn killed_again_and_again_and_taken_up_the_model_is_the_same_to_the_byte() {
    let shell = shell();
    let settings = format!("{SMALL} --epochs 12 --objective top-ap@10 --checkpoint-every 0");
    shell.ok(&format!("{RUN} {settings} -o whole.toprank"));
    let mut kills = 0;
    let mut command = format!("{RUN} {settings} -o killed.toprank");
    for round in 0..5 {
        if shell.signalled(&command, "-KILL", "killed.toprank.checkpoint", 2 + round).is_none() {
            kills += 1;
        }
        command = "train --resume killed.toprank --checkpoint-every 0 --quiet".into();
    }
    assert!(kills >= 2, "only {kills} of five runs were killed before their end");
    shell.ok("train --resume killed.toprank --quiet");
    assert_eq!(shell.bytes("whole.toprank"), shell.bytes("killed.toprank"));
}

#[test]
fn bad_molecules_and_models_that_read_no_graphs_are_told() {
    let shell = shell();
    shell.file("bad.csv", "smiles,label\nCCO,1\nCC(C,0\nCC,0\n");
    let error = shell.fails(3, "train --data bad.csv --smiles smiles --model gin -o m.toprank");
    let words = "bad.csv:3: column smiles: \"CC(C\": a branch that is never closed, at character 3; expected a ) after it";
    assert!(error.contains(words) && error.contains("--bad-items skip"), "{error}");
    shell.ok("split bad.csv --method lists:fractions=50/50 --smiles smiles --bad-items skip -o halves");
    for (code, args, words) in [
        (3, "--data all.csv --smiles smiles --model mlp", "a graph network: --model gin"),
        (2, "--data all.csv --smiles smiles --model trees", "gin: items are graphs"),
        (3, "--data all.csv --model gin", "name the column of molecules with --smiles"),
        (2, "--data all.csv --smiles smiles --model gin --transforms log1p", "transforms must be omitted"),
        (2, "--data all.csv --smiles smile --model gin", "no column is called smile"),
        (2, "--data all.csv --smiles smiles --graph id --model gin", "cannot be used with"),
        (2, "--data all.csv --nodes n.csv --model gin", "--edges"),
    ] {
        let error = shell.fails(code, &format!("train {args} -o m.toprank"));
        assert!(error.contains(words), "{args}: {error}");
        assert!(!shell.has("m.toprank"));
    }
}

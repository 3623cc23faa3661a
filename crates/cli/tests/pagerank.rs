//! `toprank pagerank`: from files to rankings and learned walks.

mod common;

use common::{Toprank, json};

const EDGES: &str = "source,target,w\na,b,2\na,c,1\nb,c,3\nc,a,1\nc,d,0.5\nd,e,1\nd,a,0.25\n";

#[test]
fn rank_prints_the_best_nodes_and_a_certified_error() {
    let shell = Toprank::new();
    shell.file("edges.csv", EDGES);
    let out = json(&shell.ok("pagerank rank --edges edges.csv --restart 0.15 --top 3 --json"));
    let top = out["top"].as_array().unwrap();
    assert_eq!((top.len(), top[0]["name"].as_str()), (3, Some("c")));
    assert!(out["error_bound"].as_f64().unwrap() <= 1e-9);
    assert_eq!(
        (out["nodes"].as_u64(), out["edges"].as_u64(), out["dangling"].as_u64()),
        (Some(5), Some(7), Some(1))
    );
    // Damping is the complement, and the other solvers agree.
    for other in ["--damping 0.85", "--solver power", "--solver nn", "--threads 1"] {
        let same = json(&shell.ok(&format!("pagerank rank --edges edges.csv --top 3 --json {other}")));
        for (a, b) in top.iter().zip(same["top"].as_array().unwrap()) {
            assert_eq!(a["name"], b["name"], "{other}");
            assert!((a["score"].as_f64().unwrap() - b["score"].as_f64().unwrap()).abs() < 2e-9, "{other}");
        }
    }
    let table = shell.ok("pagerank rank --edges edges.csv");
    assert!(table.starts_with("node") && table.contains("error at most"), "{table}");
}

#[test]
fn weights_seeds_and_dangling_rules_change_what_they_say() {
    let shell = Toprank::new();
    shell.file("edges.csv", EDGES);
    shell.file("seeds.txt", "# topic\nd\ne\t3\n");
    let first = |args: &str| {
        let out = json(&shell.ok(&format!("pagerank rank --edges edges.csv --top 5 --json {args}")));
        out["top"].as_array().unwrap().iter().map(|n| n["score"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    let plain = first("");
    assert!((plain.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    for args in [
        "--weight w",
        "--seeds seeds.txt",
        "--undirected",
        "--restart 0.5",
        "--source target --target source",
    ] {
        assert_ne!(first(args), plain, "{args}");
    }
    let own = first("--seeds seeds.txt --dangling restart");
    assert_ne!(first("--seeds seeds.txt --dangling uniform"), own);
    // A restart of 1 is the seeds themselves.
    assert_eq!(first("--seeds seeds.txt --restart 1")[..2], [0.75, 0.25]);
    shell.ok("pagerank rank --edges edges.csv -o all.tsv --quiet");
    assert_eq!(shell.read("all.tsv").lines().count(), 5);
    shell.ok("pagerank rank --edges edges.csv --weight w --save g.toprank-graph --quiet");
    let same = |args: &str| json(&shell.ok(&format!("pagerank rank --json {args}")))["top"].clone();
    assert_eq!(same("--edges g.toprank-graph"), same("--edges edges.csv --weight w"));
}

#[test]
fn comments_are_counted_and_names_that_start_like_one_are_nodes() {
    let shell = Toprank::new();
    shell.file("links.tsv", "# links\n\n%41\tb\nb\t%41\nb\tc\n");
    let out = json(&shell.ok("pagerank rank --edges links.tsv --json"));
    assert_eq!((out["nodes"].as_u64(), out["edges"].as_u64()), (Some(3), Some(3)));
    assert_eq!(out["comment_lines"].as_u64(), Some(1));
    shell.file("tags.csv", "source,target\n#rust,#go\n#go,#rust\n#go,c\n");
    shell.file("seeds.txt", "# tags\n#rust\n");
    let out = json(&shell.ok("pagerank rank --edges tags.csv --seeds seeds.txt --restart 1 --json"));
    assert_eq!((out["nodes"].as_u64(), out["comment_lines"].as_u64()), (Some(3), Some(0)));
    assert_eq!((out["top"][0]["name"].as_str(), out["top"][0]["score"].as_f64()), (Some("#rust"), Some(1.0)));
}

#[test]
fn bad_input_of_rank_is_told_in_words() {
    let shell = Toprank::new();
    shell.file("edges.csv", EDGES);
    shell.file("bad.csv", "source,target,w\na,b,-1\n");
    shell.file("half.csv", "1,2\n3\n");
    shell.file("seeds.txt", "a\nx\n");
    shell.file("none.txt", "a\t0\n");
    shell.file("empty.txt", "# nobody\n");
    for (code, args, words) in [
        (2, "--edges edges.csv --restart 0", "--restart must be above 0 and at most 1, but is 0"),
        (2, "--edges edges.csv --restart 1.5", "--restart must be"),
        (2, "--edges edges.csv --damping 1", "--damping must be at least 0 and below 1, but is 1"),
        (2, "--edges edges.csv --error 0", "--error must be above 0"),
        (2, "--edges edges.csv --weight x", "no column x for the weight"),
        (3, "--edges bad.csv --weight w", "bad.csv:2: the weight \"-1\""),
        (3, "--edges half.csv", "half.csv:2:"),
        (
            3,
            "--edges edges.csv --seeds seeds.txt",
            "seeds.txt:2: the seed \"x\"; expected nodes of edges.csv",
        ),
        (3, "--edges edges.csv --seeds none.txt", "none.txt: seeds whose weights add up to 0"),
        (3, "--edges edges.csv --seeds empty.txt", "empty.txt: no seed"),
        (1, "--edges missing.csv", "missing.csv"),
    ] {
        let error = shell.fails(code, &format!("pagerank rank {args}"));
        assert!(error.contains(words), "{error}\nexpected {words}");
    }
}

#[test]
fn a_walk_is_learned_kept_and_used() {
    let shell = Toprank::new();
    shell.ok("generate graphs --queries 40 --nodes 20 --seed 1 -o graphs --quiet");
    shell.ok("generate graphs --queries 20 --nodes 20 --seed 1 -o test --quiet");
    let args = "pagerank train --graphs graphs --objective margin --method gbn --steps 15 -o walk.toprank --json \
                --curves curves";
    let out = json(&shell.ok(args));
    let loss = |key: &str| out["loss"][key].as_f64().unwrap();
    assert!(loss("learned") < loss("untuned"), "{out}");
    assert_eq!(out["weights"].as_object().unwrap().len(), 8 + 6);
    assert_eq!(shell.read("curves/curve.csv").lines().count() as u64, 1 + out["steps"].as_u64().unwrap());
    if cfg!(feature = "plots") {
        shell.ok("pagerank train --graphs graphs --steps 1 -o plotted.toprank --plot weights.svg --quiet");
        assert!(shell.read("weights.svg").starts_with("<svg"));
    }
    // The same bytes on one thread.
    let first = shell.bytes("walk.toprank");
    shell.ok(&format!("{args} --threads 1"));
    assert_eq!(shell.bytes("walk.toprank"), first);

    shell.ok("pagerank predict walk.toprank --graphs test -o scores.txt --quiet");
    let scores = shell.read("scores.txt");
    let nodes = shell.read("test/nodes.tsv");
    assert!(scores.starts_with("query\tnode\tscore\n"));
    assert_eq!(scores.lines().count(), nodes.lines().count());
    shell.ok("pagerank predict walk.toprank --graphs test --trec-run -o walk.run --quiet");
    assert_eq!(shell.read("walk.run").lines().count() + 1, nodes.lines().count());

    let judged = json(&shell.ok("pagerank evaluate walk.toprank --graphs test --metrics ndcg@5,map --json"));
    let results = judged["results"].as_array().unwrap();
    assert_eq!(results.len(), 6);
    assert_eq!(results[0]["ranking"], "learned");
    assert!(shell.ok("pagerank evaluate walk.toprank --graphs test").contains("in-degree"));
    let verdict = &judged["comparisons"][0]["pairs"][0]["verdict"];
    let text = shell.ok("pagerank evaluate walk.toprank --graphs test --metrics ndcg@5,map");
    assert!(text.starts_with(verdict.as_str().unwrap()), "{verdict}\n{text}");
    // On the lists of training it says what training said, of the untuned walk, too.
    let metric = out["metric"].as_str().unwrap();
    let again =
        json(&shell.ok(&format!("pagerank evaluate walk.toprank --graphs graphs --metrics {metric} --json")));
    for (row, key) in ["learned", "untuned"].into_iter().enumerate() {
        let (found, said) = (again["results"][row]["value"].as_f64(), out["train"][key].as_f64());
        assert!((found.unwrap() - said.unwrap()).abs() < 1e-9, "{key}: {found:?} {said:?}");
    }

    let told = shell.ok("inspect walk.toprank");
    assert!(
        told.contains("a learned random walk, its self-test passes") && told.contains("restart f1"),
        "{told}"
    );
    let told = json(&shell.ok("inspect walk.toprank --json"));
    assert!(told["weights"]["restart f1"].is_f64() && told["reached"]["lists"].is_u64(), "{told}");
}

#[test]
fn every_method_and_objective_learns() {
    let shell = Toprank::new();
    shell.ok("generate graphs --queries 25 --nodes 12 --seed 2 -o graphs --quiet");
    for args in [
        "--method gfn --steps 40",
        "--method gbp --step-size 20 --steps 5",
        "--method adam --steps 10",
        "--objective song --steps 10",
        "--objective ndcg@5 --steps 5 --valid graphs",
        "--objective ranknet --steps 5 --score log --dangling uniform --radius 0.5",
        "--objective margin:b=0 --steps 3 --edge-features both --no-scale",
        "--l1 0.001 --l2 0.01 --steps 5",
        "--bounds 0.001..3 --l1 0.01 --steps 5",
        "--method adam --bounds 0.1..4 --l2 0.1 --steps 5",
        "--method gfn --bounds 0.01..3 --steps 20",
    ] {
        let out = json(&shell.ok(&format!("pagerank train --graphs graphs -o w.toprank --json {args}")));
        let (before, after) =
            (out["loss"]["untuned"].as_f64().unwrap(), out["loss"]["learned"].as_f64().unwrap());
        assert!(after <= before, "{args}: {before} {after}");
        let extra = if args.contains("both") { "--edge-features both" } else { "" };
        shell.ok(&format!("pagerank predict w.toprank --graphs graphs -o s.txt --quiet {extra}"));
    }
    let table = shell.ok("pagerank train --graphs graphs --steps 2 -o w.toprank --quiet");
    assert!(table.contains("weight of") && table.contains("restart f1"), "{table}");
}

#[test]
fn bad_input_of_learning_is_told_in_words() {
    let shell = Toprank::new();
    shell.ok("generate graphs --queries 5 --nodes 8 --seed 3 -o graphs --quiet");
    shell.ok("generate graphs --queries 5 --nodes 8 --node-features 3 --seed 3 -o narrow --quiet");
    shell.ok("pagerank train --graphs graphs --steps 2 -o w.toprank --quiet");
    for (code, args, words) in [
        (2, "train --graphs graphs -o x --restart 0", "restart must be a number above 0 and below 1"),
        (2, "train --graphs graphs -o x --restart 1", "restart must be a number above 0 and below 1"),
        (2, "train --graphs graphs -o x --damping 1", "--damping must be above 0 and below 1"),
        (2, "train --graphs graphs -o x --radius 1", "radius must be a number above 0 and below 1"),
        (2, "train --graphs graphs -o x --method gbn --theory", "method must be gfn"),
        (2, "train --graphs graphs -o x --folds 3", "unexpected argument"),
        (2, "train --graphs graphs -o x --epsilon 0", "epsilon"),
        (2, "train --graphs graphs -o x --objective nonsense", "nonsense"),
        (1, "train --graphs nowhere -o x", "nowhere"),
        (3, "train --graphs graphs --valid narrow -o x", "other features"),
        (3, "predict w.toprank --graphs narrow", "no feature \"f4\" of nodes"),
        (3, "predict graphs/nodes.tsv --graphs graphs", "graphs/nodes.tsv"),
    ] {
        let error = shell.fails(code, &format!("pagerank {args}"));
        assert!(error.contains(words), "{error}\nexpected {words}");
    }
    let nodes = shell.read("graphs/nodes.tsv");
    let negative: String = nodes
        .lines()
        .enumerate()
        .map(|(i, line)| if i == 2 { line.to_string() + "-" } else { line.to_string() } + "\n")
        .collect();
    shell.file("graphs/nodes.tsv", &negative);
    assert!(shell.fails(3, "pagerank train --graphs graphs -o x").contains("nodes.tsv:3:"));
}

#[test]
fn sessions_become_graphs() {
    let shell = Toprank::new();
    shell.file(
        "sessions.tsv",
        "user\ttime\tpage\tquery\nu\t0\ta\tq\nu\t60\tb\t\nu\t90\tc\t\nv\t5\ta\tq\nv\t9\tc\t\nw\t1\tb\tr\n",
    );
    let out = json(&shell.ok("pagerank sessions --log sessions.tsv -o graphs --json"));
    assert_eq!(
        (out["graphs"].as_u64(), out["sessions"].as_u64(), out["nodes"].as_u64()),
        (Some(2), Some(3), Some(4))
    );
    shell.file("graphs/judgements.tsv", "query\tnode\tlabel\nq\ta\t0\nq\tb\t1\nq\tc\t2\n");
    shell.ok("pagerank train --graphs graphs --edge-features both --steps 5 -o w.toprank --quiet");
    shell.ok("pagerank predict w.toprank --graphs graphs --edge-features both -o s.txt --quiet");
    assert_eq!(shell.read("s.txt").lines().count(), 5);
    assert!(shell.fails(2, "pagerank sessions --log sessions.tsv -o g --gap -1").contains("a gap of -1"));
    assert!(shell.fails(2, "pagerank sessions --log sessions.tsv -o g --page url").contains("url"));
}

#[test]
fn the_help_teaches() {
    let shell = Toprank::new();
    let help = shell.ok("pagerank --help");
    for words in [
        "damping factor",
        "generate graphs",
        "judgements",
        "rank",
        "sessions",
        "train",
        "predict",
        "evaluate",
    ] {
        assert!(help.contains(words), "{words}");
    }
    assert!(shell.ok("pagerank train --help").contains("gfn   random directions"));
}

#[cfg(unix)]
#[test]
fn killed_again_and_again_and_resumed_the_walk_is_the_same_to_the_byte() {
    let shell = Toprank::new();
    shell.ok("generate graphs --queries 40 --nodes 20 --seed 1 -o graphs --quiet");
    shell.ok("generate graphs --queries 10 --nodes 20 --seed 2 -o valid --quiet");
    for method in ["gbn", "gfn --steps 300", "adam --steps 80"] {
        let run = format!("pagerank train --graphs graphs --valid valid --method {method} --quiet");
        shell.ok(&format!("{run} -o whole.toprank"));
        let mut command = format!("{run} --checkpoint-every 0 -o killed.toprank");
        let mut kills = 0;
        for round in 0..4 {
            kills += usize::from(
                shell.signalled(&command, "-KILL", "killed.toprank.checkpoint", 2 + round).is_none(),
            );
            command = "pagerank train --resume killed.toprank --checkpoint-every 0 --quiet".into();
        }
        assert!(kills >= 1, "{method}: no run was killed before its end");
        shell.ok("pagerank train --resume killed.toprank --quiet");
        assert_eq!(shell.bytes("whole.toprank"), shell.bytes("killed.toprank"), "{method}");
    }
}

#[cfg(unix)]
#[test]
fn a_warm_start_goes_on_from_the_weights_of_another_walk_and_is_resumed_to_the_byte() {
    let shell = Toprank::new();
    shell.ok("generate graphs --queries 40 --nodes 20 --seed 1 -o graphs --quiet");
    shell.ok("generate graphs --queries 40 --nodes 20 --node-features 3 --seed 1 -o narrow --quiet");
    let run = "pagerank train --graphs graphs --json";
    let first = json(&shell.ok(&format!("{run} --steps 15 -o first.toprank")));
    let next = json(&shell.ok(&format!("{run} --steps 1 --from first.toprank -o next.toprank")));
    let loss = |result: &serde_json::Value, key: &str| result["loss"][key].as_f64().unwrap();
    assert_eq!(next["from"]["new_features"], 0);
    assert_eq!(loss(&next, "untuned"), loss(&first, "untuned"));
    assert!(loss(&next, "learned") <= loss(&first, "learned") + 1e-9, "{next} {first}");
    // Features that the walk does not know start as without it; one that the graphs lack is refused.
    shell.ok("pagerank train --graphs narrow --steps 5 -o small.toprank --quiet");
    let (out, notes) = shell.with_notes(&format!("{run} --steps 2 --from small.toprank -o wide.toprank"));
    let new = json(&out)["from"]["new_features"].as_u64().unwrap();
    assert!(
        new > 0 && notes.contains(&format!("warm start: {new} features new to the walk")),
        "{out}{notes}"
    );
    let error = shell.fails(3, "pagerank train --graphs narrow --from first.toprank -o x.toprank --quiet");
    assert!(error.contains("narrow: no feature \"f4\" of nodes") && error.contains("warm-start"), "{error}");

    let run = "pagerank train --graphs graphs --method adam --steps 80 --from first.toprank --quiet";
    shell.ok(&format!("{run} -o whole.toprank"));
    let command = format!("{run} --checkpoint-every 0 -o killed.toprank");
    assert_eq!(shell.signalled(&command, "-KILL", "killed.toprank.checkpoint", 3), None, "not killed");
    let first = shell.bytes("first.toprank");
    shell.file_of_bytes("first.toprank", &shell.bytes("next.toprank"));
    let error = shell.fails(3, "pagerank train --resume killed.toprank --quiet");
    assert!(error.contains("the model to warm-start from changed"), "{error}");
    shell.file_of_bytes("first.toprank", &first);
    shell.ok("pagerank train --resume killed.toprank --quiet");
    assert_eq!(shell.bytes("whole.toprank"), shell.bytes("killed.toprank"));
}

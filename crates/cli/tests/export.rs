//! `toprank export` of networks and recommenders to ONNX; where a Python with onnxruntime is there, it runs them too.

mod common;

use std::process::Command;

use common::{Toprank, json};

/// `--onnxruntime PYTHON` where `TOPRANK_PYTHON` has onnxruntime; a note and nothing where not.
fn onnxruntime() -> String {
    let python = std::env::var("TOPRANK_PYTHON").unwrap_or_else(|_| "python3".into());
    let found = Command::new(&python).args(["-c", "import onnxruntime, numpy"]).output();
    match found.is_ok_and(|found| found.status.success()) {
        true => format!("--onnxruntime {python}"),
        false => {
            eprintln!(
                "{python} has no onnxruntime: models are verified by the reference implementation alone"
            );
            String::new()
        }
    }
}

/// What `--json` says about an export: close enough, and run in onnxruntime if that is there.
fn assert_verified(done: &serde_json::Value, run: &str, model: &str) {
    assert!(done["relative"].as_f64().unwrap() <= 1e-5, "{model}: {done}");
    if !run.is_empty() {
        assert!(done["onnxruntime"].as_str().unwrap().contains("differ by at most"), "{model}: {done}");
        eprintln!(
            "{model}: {:e}; {}",
            done["relative"].as_f64().unwrap(),
            done["onnxruntime"].as_str().unwrap()
        );
    }
}

#[test]
fn networks_are_exported_with_their_transforms_and_proved() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 40 --length 12 --features 6 --seed 1 -o demo --quiet");
    let run = onnxruntime();
    for (model, transforms, list_by_list) in [
        ("linear", "missing:to=mean,standardise", false),
        (
            "mlp:hidden=16-8:norm=batch:activation=silu",
            "log1p,missing:to=median:indicator=yes,standardise",
            false,
        ),
        ("mlp:hidden=8:output=tanh", "clip:low=0.01:high=0.99,missing:to=zero,per-list", true),
        ("mlp:hidden=8-8:norm=layer:activation=gelu", "missing:to=zero,per-list:kind=minmax", true),
        ("context:width=16:heads=2:blocks=2:hidden=16:activation=elu", "missing:to=mean,standardise", true),
    ] {
        shell.ok(&format!(
            "train --data demo/train.txt --model {model} --transforms {transforms} --objective listnet --epochs 2 \
             -o m.toprank --quiet"
        ));
        let done = json(
            &shell.ok(&format!("export m.toprank --to onnx --probes 300 {run} -o m.onnx --json --quiet")),
        );
        assert_verified(&done, &run, model);
        let probes = shell.read("m.onnx.probe.csv");
        assert_eq!(probes.lines().count(), 301);
        assert!(probes.starts_with(if list_by_list { "list,score,1,2," } else { "score,1,2," }));
    }
    let text = shell.ok("export m.toprank --to onnx --probes 20 -o m.onnx --quiet");
    assert!(text.contains("one list a run") && text.contains("not run in onnxruntime"), "{text}");
    let refused = shell.fails(2, "export m.toprank --to lightgbm -o x");
    assert!(
        refused.contains("m.toprank: a model of the kind context") && refused.contains("expected --to onnx"),
        "{refused}"
    );
    let refused = shell.fails(2, "export m.toprank --to onnx --onnxruntime no-such-python -o x");
    assert!(refused.contains("no-such-python") && refused.contains("onnxruntime and numpy"), "{refused}");
    let refused = shell.fails(2, "export m.toprank --to solr --onnxruntime -o x");
    assert!(refused.contains("--to is solr"), "{refused}");
}

#[test]
fn recommenders_are_exported_and_proved() {
    let shell = Toprank::new();
    shell.ok("generate interactions --users 60 --items 80 --length 12 --seed 1 -o demo --quiet");
    let run = onnxruntime();
    let features = "user,age,tall\nu1,1.5,0\nu2,-1,1\nu3,0.5,\n";
    shell.file("users.csv", features);
    let short = "--sampler pairs:batch=256:group=5:items=20 --epochs 2 --patience 0 --objective listnet";
    for (model, more, head) in [
        ("mf:width=8", "", "user,item,score\n"),
        ("two-tower:width=8:layers=12:out=6", "", "user,item,score\n"),
        (
            "two-tower:width=4:layers=none:out=6",
            "--user-features users.csv",
            "user,item,score,user age,user tall\n",
        ),
    ] {
        shell.ok(&format!(
            "recommend train --data demo/interactions.csv --split leave-last --model {model} {more} {short} \
             -o rec.toprank --quiet"
        ));
        let done =
            json(&shell.ok(&format!(
                "export rec.toprank --to onnx --probes 200 {run} -o towers.onnx --json --quiet"
            )));
        assert_verified(&done, &run, model);
        assert!(shell.has("towers.user.onnx") && shell.has("towers.item.onnx"));
        assert!(shell.read("towers.onnx.probe.csv").starts_with(head), "{model}");
    }
    for model in ["neumf:width=4:layers=6", "neumf:width=8:layers=12-5:dropout=0.1"] {
        shell.ok(&format!(
            "recommend train --data demo/interactions.csv --split leave-last --model {model} {short} -o rec.toprank --quiet"
        ));
        let done = json(
            &shell
                .ok(&format!("export rec.toprank --to onnx --probes 200 {run} -o pairs.onnx --json --quiet")),
        );
        assert_verified(&done, &run, model);
        assert!(shell.has("pairs.onnx") && !shell.has("pairs.user.onnx"));
        assert!(shell.read("pairs.onnx.probe.csv").starts_with("user,item,score\n"), "{model}");
    }
    let text = shell.ok("export rec.toprank --to onnx --probes 20 -o pairs.onnx --quiet");
    assert!(text.contains("scores of pairs") && text.contains("verified on 20 pairs"), "{text}");
}

#[test]
fn a_sequence_model_is_exported_as_the_scores_of_a_history_and_proved() {
    let shell = Toprank::new();
    shell.ok("generate interactions --users 60 --items 80 --length 12 --seed 1 -o demo --quiet");
    // Histories of twelve items: all of them are read, and only the last five.
    for length in [50, 5] {
        let model = format!("sequence:width=8:heads=2:hidden=9:length={length}:batch=20");
        shell.ok(&format!(
            "recommend train --data demo/interactions.csv --split leave-last --objective ndcg@10 --model {model} --epochs 3 \
             --patience 0 -o rec.toprank --quiet"
        ));
        let done =
            json(&shell.ok("export rec.toprank --to onnx --probes 200 -o history.onnx --json --quiet"));
        assert_verified(&done, "", &model);
        assert!(shell.has("history.onnx"));
    }
    let text = shell.ok("export rec.toprank --to onnx --probes 20 -o history.onnx --quiet");
    assert!(text.contains("scores of all items for a history"), "{text}");
    shell.ok("recommend train --data demo/interactions.csv --objective ndcg@10 --model ease -o ease.toprank --quiet");
    let error = shell.fails(3, "export ease.toprank --to onnx -o no.onnx");
    assert!(error.contains("mf, neumf, two-tower or sequence"), "{error}");
}

#[test]
fn models_of_graphs_are_exported_and_proved() {
    let shell = Toprank::new();
    let run = onnxruntime();
    let mut molecules = "smiles,label,other\n".to_string();
    for k in 0..40 {
        let (chain, end) = ("C".repeat(1 + k % 4), ["O", "N", "Cl", "C", "F"][k / 4 % 5]);
        let molecule = ["C", "[Na+].[Cl-]", "c1ccncc1", "C1CCCC1", "C(=O)"][k % 5];
        molecules += &format!("{chain}{molecule}{end},{},{}\n", u8::from(k % 5 == 2), u8::from(k % 3 == 0));
    }
    shell.file("molecules.csv", &molecules);
    // Edges without features, nodes with a number that is not always known.
    let mut nodes = "graph,node,kind,size\n".to_string();
    let mut edges = "graph,from,to\n".to_string();
    let mut items = "graph,label\n".to_string();
    for graph in 0..30 {
        items += &format!("g{graph},{}\n", u8::from(graph % 3 == 0));
        for node in 0..=graph % 5 {
            let size = if node == 3 { String::new() } else { format!("{}", (graph * 7 + node) % 11) };
            nodes += &format!("g{graph},{node},{},{size}\n", ["a", "b", "c"][(graph + node) % 3]);
            if node > 0 {
                edges += &format!("g{graph},{},{node}\n", node / 2);
            }
        }
    }
    for (name, text) in [("nodes.csv", nodes), ("edges.csv", edges), ("items.csv", items)] {
        shell.file(name, &text);
    }
    for (data, model) in [
        ("--data molecules.csv --smiles smiles --label label", "gin:layers=3:hidden=16"),
        (
            "--data molecules.csv --smiles smiles --labels label,other",
            "gin:layers=2:hidden=12:pool=mean:norm=none",
        ),
        (
            "--data items.csv --graph graph --nodes nodes.csv --edges edges.csv --label label",
            "gin:layers=2:hidden=8:pool=mean:output=sigmoid",
        ),
    ] {
        shell.ok(&format!(
            "train {data} --model {model} --objective logistic --epochs 3 -o g.toprank --quiet"
        ));
        let done = json(
            &shell.ok(&format!("export g.toprank --to onnx --probes 100 {run} -o g.onnx --json --quiet")),
        );
        assert_verified(&done, &run, model);
        assert_eq!(done["rows"], "100 graphs");
        let probes = json(&shell.read("g.onnx.probe.json"));
        let of_run = |run: &serde_json::Value, name: &str| run["inputs"][name]["sizes"][0].as_u64().unwrap();
        let runs = probes.as_array().unwrap();
        assert_eq!(runs.iter().map(|run| of_run(run, "sizes")).sum::<u64>(), 100);
        assert_eq!(of_run(&runs[0], "sizes"), 1, "a graph by itself is part of the proof");
        let sizes = runs.iter().flat_map(|run| run["inputs"]["sizes"]["values"].as_array().unwrap());
        assert!(sizes.map(|size| size.as_f64().unwrap()).any(|size| size == 0.0), "graphs without nodes are");
    }
    let text = shell.ok("export g.toprank --to onnx --probes 20 -o g.onnx --quiet");
    assert!(text.contains("graphs as tensors") && text.contains("verified on 20 graphs"), "{text}");
    let refused = shell.fails(2, "export g.toprank --to xgboost -o x");
    assert!(refused.contains("gin:layers=2") && refused.contains("expected --to onnx"), "{refused}");
}

#[test]
fn an_embedding_is_exported_with_its_vectors() {
    let shell = Toprank::new();
    let line = |i: usize| {
        format!("{},{},{},{}\n", i % 7, (i * 37 % 11) as f32 / 3.0, i % 5, ["a", "b", "c", "d"][i % 4])
    };
    shell.file("rows.csv", &format!("x,y,z,class\n{}", (0..80).map(line).collect::<String>()));
    let lengths = ["cosine", "euclidean"].map(|similarity| {
        shell.ok(&format!(
            "embed train --data rows.csv --class class --model mlp:hidden=8 --dimensions 3 --objective triplet --split 100/0/0 \
             --similarity {similarity} --epochs 2 -o e.toprank --quiet --force",
        ));
        let run = onnxruntime();
        let done = json(&shell.ok(&format!(
            "export e.toprank --to onnx --probes 100 {run} -o {similarity}.onnx --json --quiet"
        )));
        assert_verified(&done, &run, "embedding");
        let probes = shell.read(&format!("{similarity}.onnx.probe.csv"));
        assert!(probes.starts_with("score1,score2,score3,"));
        let first = probes.lines().nth(1).unwrap();
        first.split(',').take(3).map(|x| x.parse::<f64>().unwrap().powi(2)).sum::<f64>()
    });
    assert!((lengths[0] - 1.0).abs() < 1e-5 && (lengths[1] - 1.0).abs() > 1e-3, "{lengths:?}");
}

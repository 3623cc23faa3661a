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
        assert!(done["relative"].as_f64().unwrap() <= 1e-5, "{model}: {done}");
        if !run.is_empty() {
            assert!(done["onnxruntime"].as_str().unwrap().contains("differ by at most"), "{model}: {done}");
        }
        let probes = shell.read("m.onnx.probe.csv");
        assert_eq!(probes.lines().count(), 301);
        assert!(probes.starts_with(if list_by_list { "list,score,1,2," } else { "score,1,2," }));
    }
    let text = shell.ok("export m.toprank --to onnx --probes 20 -o m.onnx --quiet");
    assert!(text.contains("one list a run") && text.contains("not run in onnxruntime"), "{text}");
    let refused = shell.fails(2, "export m.toprank --to lightgbm -o x");
    assert!(refused.contains("--to must be onnx for m.toprank") && refused.contains("context"), "{refused}");
    let refused = shell.fails(2, "export m.toprank --to onnx --onnxruntime no-such-python -o x");
    assert!(refused.contains("no-such-python") && refused.contains("onnxruntime and numpy"), "{refused}");
    let refused = shell.fails(2, "export m.toprank --to solr --onnxruntime -o x");
    assert!(refused.contains("--to is solr"), "{refused}");
}

#[test]
fn both_sides_of_a_recommender_are_exported_and_proved() {
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
        assert!(done["relative"].as_f64().unwrap() <= 1e-5, "{model}: {done}");
        if !run.is_empty() {
            assert!(done["onnxruntime"].as_str().unwrap().contains("differ by at most"), "{model}: {done}");
        }
        assert!(shell.has("towers.user.onnx") && shell.has("towers.item.onnx"));
        assert!(shell.read("towers.onnx.probe.csv").starts_with(head), "{model}");
    }
    shell.ok(&format!(
        "recommend train --data demo/interactions.csv --split leave-last --model neumf:width=4:layers=4 {short} \
         -o rec.toprank --quiet"
    ));
    let refused = shell.fails(3, "export rec.toprank --to onnx -o x.onnx");
    assert!(refused.contains("neumf") && refused.contains("mf or two-tower"), "{refused}");
}

#[test]
fn an_embedding_is_exported_with_its_unit_vectors() {
    let shell = Toprank::new();
    let line = |i: usize| {
        format!("{},{},{},{}\n", i % 7, (i * 37 % 11) as f32 / 3.0, i % 5, ["a", "b", "c", "d"][i % 4])
    };
    shell.file("rows.csv", &format!("x,y,z,class\n{}", (0..80).map(line).collect::<String>()));
    shell.ok(
        "embed train --data rows.csv --class class --model mlp:hidden=8 --dimensions 3 --objective triplet --split 100/0/0 \
         --epochs 2 -o e.toprank --quiet",
    );
    let done =
        json(&shell.ok(&format!(
            "export e.toprank --to onnx --probes 100 {} -o e.onnx --json --quiet",
            onnxruntime()
        )));
    assert!(done["relative"].as_f64().unwrap() <= 1e-5, "{done}");
    assert!(shell.read("e.onnx.probe.csv").starts_with("score1,score2,score3,"));
}

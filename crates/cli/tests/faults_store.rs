//! Model files, checkpoints and training runs under attack, with the real binary: nothing is lost, nothing is overwritten unasked,
//! nothing panics.

#![cfg(feature = "neural")]

mod common;

use common::{Toprank, json};
use toprank_testkit::StoredFile;

fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 30 --seed 1 -o demo --quiet");
    shell
}

const RUN: &str = "train --data demo/train.txt --model linear --quiet";

// D2: a run that diverges.

#[test]
fn a_run_that_diverges_replaces_no_model_and_fails() {
    let shell = shell();
    shell.ok(&format!("{RUN} --epochs 2 -o model.toprank"));
    let good = shell.bytes("model.toprank");
    // The last step overflows the parameters: no later step sees an infinite loss.
    for (code, settings) in [
        (1, "--objective listnet --lr 1e300 --epochs 1 --sampler lists:batch=1000"),
        (1, "--objective squared --lr 1e39 --epochs 1 --sampler lists:batch=1000"),
        (1, "--objective squared --lr 1e30 --epochs 3"),
    ] {
        let settings =
            format!("{settings} --optimiser sgd --clip 0 --transforms missing:to=mean,standardise");
        let error = shell.fails(code, &format!("{RUN} {settings} -o model.toprank"));
        assert!(error.contains("finite"), "{error}");
        assert_eq!(shell.bytes("model.toprank"), good, "{settings}");
        assert!(!shell.has("model.toprank.checkpoint") && !shell.has("model.toprank.lock"), "{settings}");
        shell.fails(code, &format!("{RUN} {settings} -o new.toprank"));
        assert!(!shell.has("new.toprank"), "{settings}");
    }
}

// D6, D7, D8: files whose checksum is right.

#[test]
fn a_resigned_model_is_an_error_of_every_command_that_takes_one() {
    let shell = shell();
    shell.ok(&format!("{RUN} --epochs 2 -o model.toprank"));
    let file = StoredFile::parse(&shell.bytes("model.toprank"));
    let attack = |name: &str, change: &dyn Fn(&mut StoredFile)| {
        let mut file = file.clone();
        change(&mut file);
        shell.file_of_bytes("bad.toprank", &file.signed());
        for command in [
            "inspect bad.toprank",
            "predict bad.toprank --data demo/test.txt",
            "predict bad.toprank --jsonl",
            "export bad.toprank --to onnx -o bad.onnx",
            "train --data demo/train.txt --from bad.toprank --model linear -o next.toprank --quiet",
        ] {
            let error = shell.fails(3, command);
            assert!(error.contains("bad.toprank"), "{name}, {command}: {error}");
        }
    };
    attack("more features", &|file| file.header["about"]["width"] = (1_u64 << 62).into());
    attack("fewer names", &|file| file.header["about"]["features"] = serde_json::json!(["1"]));
    attack("more outputs", &|file| file.header["about"]["outputs"] = 65_000.into());
    attack("a huge model", &|file| file.header["config"]["model"] = "mlp:hidden=65536-65536".into());
    attack("a long self-test", &|file| file.header["about"]["probes"] = serde_json::json!([1_u64 << 60]));
    attack("no self-test", &|file| file.tensors.retain(|tensor| tensor.name != "probe.scores"));
    attack("a self-test of NaN", &|file| {
        let probe = file.tensors.iter_mut().find(|tensor| tensor.name == "probe.scores").unwrap();
        probe.bytes.fill(0xff);
    });
}

#[test]
fn a_file_of_another_kind_is_an_error_that_names_it() {
    let shell = shell();
    shell.ok(&format!("{RUN} --epochs 2 -o model.toprank"));
    shell.file("pairs.csv", "user,item,time\na,x,1\na,y,2\na,z,3\nb,x,1\nb,y,2\nb,w,3\n");
    shell.ok(
        "recommend train --data pairs.csv --split none --model mf:width=2 --epochs 1 -o rec.toprank --quiet",
    );
    let kept = shell.bytes("rec.toprank");
    for (command, file) in [
        ("predict rec.toprank --data demo/test.txt", "rec.toprank"),
        ("predict demo/train.txt --data demo/test.txt", "demo/train.txt"),
        ("recommend top model.toprank --user a", "model.toprank"),
        ("recommend evaluate model.toprank", "model.toprank"),
        ("embed apply model.toprank --data demo/test.txt -o v.npy", "model.toprank"),
        ("pagerank evaluate model.toprank --graphs demo", "model.toprank"),
    ] {
        let error = shell.fails(3, command);
        assert!(error.contains(file), "{command}: {error}");
    }
    assert_eq!(shell.bytes("rec.toprank"), kept);
}

// D12, D13: inputs that changed.

#[test]
#[cfg(unix)]
fn a_run_is_not_resumed_on_changed_inputs_and_the_file_is_named() {
    let shell = shell();
    let run = "train --data demo/train.txt --valid demo/vali.txt --model linear --epochs 100000 --patience 0 \
               --checkpoint-every 0 --quiet -o model.toprank";
    assert_eq!(shell.signalled(run, "-INT", "model.toprank.checkpoint", 3), Some(130));
    for file in ["demo/train.txt", "demo/vali.txt"] {
        let good = shell.read(file);
        // One feature of one row: neither labels nor lists change.
        let at = good.rfind(" 3:").unwrap();
        let end = at + good[at + 1..].find(' ').unwrap() + 1;
        shell.file(file, &format!("{} 3:0.123456{}", &good[..at], &good[end..]));
        let error = shell.fails(3, "train --resume model.toprank --quiet");
        assert!(error.contains(file) && error.contains("changed"), "{error}");
        assert!(shell.has("model.toprank.checkpoint"));
        shell.file(file, &good);
    }
    // With everything restored, it goes on.
    let resumed = "train --resume model.toprank --checkpoint-every 0 --quiet";
    assert_eq!(shell.signalled(resumed, "-INT", "model.toprank.checkpoint", 2), Some(130));
}

#[test]
fn a_search_is_not_continued_on_changed_data_and_the_file_is_named() {
    let shell = shell();
    shell.file(
        "space.toml",
        "data = \"demo/train.txt\"\nvalid = \"demo/vali.txt\"\nmodel = \"linear\"\nepochs = 1\n[tune]\ntrials = 2\n[space]\nrate = [0.1, 0.2]\n",
    );
    shell.ok("tune --config space.toml -o found --quiet");
    let good = shell.read("demo/vali.txt");
    let at = good.rfind(" 3:").unwrap();
    let end = at + good[at + 1..].find(' ').unwrap() + 1;
    shell.file("demo/vali.txt", &format!("{} 3:0.123456{}", &good[..at], &good[end..]));
    let error = shell.fails(3, "tune --config space.toml -o found --quiet");
    assert!(error.contains("demo/vali.txt") && error.contains("results.jsonl"), "{error}");
    assert!(!shell.has("found/results.jsonl.lock"));
}

// D14, D15: runs that share files.

#[cfg(unix)]
const LONG: &str = "--epochs 100000 --patience 0 --checkpoint-every 0 -o model.toprank";

#[test]
#[cfg(unix)]
fn a_new_run_does_not_overwrite_the_checkpoint_of_another_unless_forced() {
    let shell = shell();
    assert_eq!(shell.signalled(&format!("{RUN} {LONG}"), "-KILL", "model.toprank.checkpoint", 3), None);
    assert!(shell.has("model.toprank.lock"), "a killed process cannot remove its lock file");
    let kept = shell.bytes("model.toprank.checkpoint");
    let error = shell.fails(2, &format!("{RUN} --epochs 1 -o model.toprank"));
    for words in ["model.toprank.checkpoint", "--resume model.toprank", "--force", "-o"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert_eq!(shell.bytes("model.toprank.checkpoint"), kept);
    // The lock of a dead process blocks nobody.
    shell.ok(&format!("{RUN} --epochs 1 -o model.toprank --force"));
    assert!(shell.has("model.toprank"));
    assert!(!shell.has("model.toprank.checkpoint") && !shell.has("model.toprank.lock"));
}

#[test]
#[cfg(unix)]
fn two_runs_never_write_the_same_model() {
    let shell = shell();
    let mut running = shell.start(&format!("{RUN} {LONG}"));
    while !shell.has("model.toprank.checkpoint") {
        assert!(running.is_running(), "it ended too early");
        std::thread::yield_now();
    }
    for second in [
        format!("{RUN} --epochs 1 -o model.toprank"),
        format!("{RUN} --epochs 1 -o model.toprank --force"),
        "train --resume model.toprank".to_string(),
    ] {
        let error = shell.fails(1, &second);
        assert!(error.contains("another run is writing it") && error.contains("model.toprank"), "{error}");
    }
    assert!(running.is_running(), "the first one is not disturbed");
    drop(running);
    assert!(shell.has("model.toprank.checkpoint"));
}

// D24, D25: checkpoints of strangers.

#[test]
#[cfg(unix)]
fn paths_outside_the_folder_of_the_model_are_only_used_when_confirmed() {
    let shell = shell();
    shell.folder("models");
    let run = format!("{RUN} --epochs 100000 --patience 0 --checkpoint-every 0 -o models/m.toprank");
    let (code, error) = shell.signalled_with_message(&run, "-INT", "models/m.toprank.checkpoint", 3);
    assert_eq!(code, Some(130));
    assert!(error.contains("--resume models/m.toprank --trust-paths"), "{error}");
    let error = shell.fails(2, "train --resume models/m.toprank");
    assert!(error.contains("demo/train.txt") && error.contains("--trust-paths"), "{error}");
    let resumed = "train --resume models/m.toprank --trust-paths --checkpoint-every 0 --quiet";
    assert_eq!(shell.signalled(resumed, "-INT", "models/m.toprank.checkpoint", 2), Some(130));
    // Neither a way up nor the curves of a stranger.
    let file = StoredFile::parse(&shell.bytes("models/m.toprank.checkpoint"));
    for (key, value) in [("curves", "/tmp/elsewhere"), ("curves", "models/../elsewhere")] {
        let mut file = file.clone();
        file.header["origin"]["paths"]["data"] = "models/train.txt".into();
        file.header["origin"][key] = value.into();
        shell.file_of_bytes("models/m.toprank.checkpoint", &file.signed());
        let error = shell.fails(2, "train --resume models/m.toprank");
        assert!(error.contains(value) && !error.contains("train.txt"), "{error}");
        assert!(!shell.has("elsewhere"));
    }
}

#[test]
#[cfg(unix)]
fn links_are_not_followed_for_writes() {
    let shell = shell();
    shell.file("precious", "mine");
    for link in ["model.toprank", "model.toprank.checkpoint", "model.toprank.lock"] {
        shell.link("precious", link);
        let error = shell.fails(2, &format!("{RUN} --epochs 1 -o model.toprank"));
        assert!(error.contains(link) && error.contains("link"), "{error}");
        assert_eq!(shell.read("precious"), "mine");
        shell.remove(link);
    }
    shell.folder("curves");
    shell.link("../precious", "curves/curve.csv");
    let error = shell.fails(2, &format!("{RUN} --epochs 1 -o model.toprank --curves curves"));
    assert!(error.contains("curve.csv"), "{error}");
    assert_eq!(shell.read("precious"), "mine");
    // --force discards the link, not what it leads to.
    shell.remove("curves/curve.csv");
    if shell.has("model.toprank.checkpoint") {
        shell.remove("model.toprank.checkpoint");
    }
    shell.link("precious", "model.toprank.checkpoint");
    shell.ok(&format!("{RUN} --epochs 1 -o model.toprank --force"));
    assert_eq!(shell.read("precious"), "mine");
}

#[test]
#[cfg(unix)]
fn a_checkpoint_with_more_epochs_done_than_its_settings_allow_ends_at_once() {
    let shell = shell();
    assert_eq!(shell.signalled(&format!("{RUN} {LONG}"), "-INT", "model.toprank.checkpoint", 6), Some(130));
    let mut file = StoredFile::parse(&shell.bytes("model.toprank.checkpoint"));
    assert!(!file.header["position"]["records"].as_array().unwrap().is_empty());
    file.header["config"]["epochs"] = 1.into();
    file.header["position"]["total"] = 1_000_000.into();
    shell.file_of_bytes("model.toprank.checkpoint", &file.signed());
    let error = shell.fails(3, "train --resume model.toprank");
    assert!(error.contains("epochs") && error.contains("model.toprank.checkpoint"), "{error}");
}

// D28: drafts of killed runs.

#[test]
#[cfg(unix)]
fn drafts_of_killed_runs_are_removed_at_the_next_run() {
    let shell = shell();
    let drafts =
        |shell: &Toprank| shell.names(".").iter().filter(|name| name.starts_with(".toprank-draft-")).count();
    // What a kill in the middle of a write leaves behind.
    shell.file(".toprank-draft-abcdef.tmp", "half a checkpoint");
    shell.file(".toprank-own-notes", "not ours");
    assert_eq!(drafts(&shell), 1);
    shell.ok(&format!("{RUN} --epochs 1 -o model.toprank"));
    assert_eq!(drafts(&shell), 0);
    assert!(shell.has(".toprank-own-notes"));
    let report = json(&shell.ok("inspect model.toprank --json"));
    assert_eq!(report["config"]["model"], "linear");
}

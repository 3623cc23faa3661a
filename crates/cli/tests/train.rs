//! `toprank train`: from files to a model, whatever happens on the way.

#![cfg(feature = "neural")]

mod common;

use common::{Toprank, json};

/// Lists whose relevant items have a greater first feature.
fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 60 --seed 1 -o demo --quiet");
    shell
}

const RUN: &str = "train --data demo/train.txt --valid demo/vali.txt --quiet";

#[test]
fn a_model_is_trained_inspected_and_better_than_chance() {
    let shell = shell();
    let value = json(&shell.ok(&format!(
        "{RUN} --objective ndcg@10 --model linear --epochs 30 --seed 1 -o model.toprank --curves curves --json"
    )));
    assert!(value["best"]["value"].as_f64().unwrap() > 0.5, "{value}");
    assert_eq!(value["best"]["metric"], "ndcg@10");
    let epochs = value["epochs"].as_u64().unwrap() as usize;
    assert_eq!(shell.read("curves/curve.csv").lines().count(), epochs + 1);
    assert_eq!(shell.read("curves/curve.jsonl").lines().count(), epochs);
    let plot = shell.read("curves/curve.svg");
    let best = format!("best: epoch {}, ndcg@10 ", value["best"]["epoch"]);
    assert!(
        plot.starts_with("<svg") && plot.contains(&best) && plot.contains("second y axis"),
        "{best}\n{plot}"
    );
    assert!(shell.has("curves/events.out.tfevents.toprank"));
    assert!(!shell.has("model.toprank.checkpoint"), "a finished run leaves nothing to take up");
    let model = json(&shell.ok("inspect model.toprank --json"));
    assert_eq!(model["config"]["model"], "linear");
    assert_eq!(model["reached"]["best"][1], value["best"]["value"]);
    let text = shell.ok("inspect model.toprank");
    assert!(text.contains("self-test passes") && text.contains("ndcg@10"), "{text}");
}

#[test]
fn every_model_trains_with_the_same_bytes_on_one_thread_and_on_two() {
    let shell = shell();
    for model in ["linear", "mlp:hidden=16-8:dropout=0.2:norm=batch", "context:width=16:blocks=1:heads=2"] {
        for (threads, out) in [(1, "one.toprank"), (2, "two.toprank")] {
            shell.ok(&format!(
                "{RUN} --objective song --sampler pairs:batch=64:items=20 --model {model} --epochs 2 \
                 --threads {threads} -o {out}"
            ));
        }
        assert_eq!(shell.bytes("one.toprank"), shell.bytes("two.toprank"), "{model}");
    }
}

#[test]
#[cfg(unix)]
fn killed_ten_times_and_resumed_the_model_is_the_same_to_the_byte() {
    let shell = shell();
    let settings = "--objective song-v1 --optimiser storm --model mlp:hidden=8 --epochs 12 --patience 0 \
                    --average ema:decay=0.9 --sampler pairs:batch=32:items=10 --warm-up 2 --checkpoint-every 0";
    shell.ok(&format!("{RUN} {settings} -o whole.toprank"));
    let mut kills = 0;
    let mut command = format!("{RUN} {settings} -o killed.toprank");
    for round in 0..10 {
        if shell.signalled(&command, "-KILL", "killed.toprank.checkpoint", 2 + round).is_none() {
            kills += 1;
        }
        command = "train --resume killed.toprank --checkpoint-every 0 --quiet".into();
    }
    assert!(kills >= 3, "only {kills} of ten runs were killed before their end");
    shell.ok("train --resume killed.toprank --quiet");
    assert_eq!(shell.bytes("whole.toprank"), shell.bytes("killed.toprank"));
}

#[test]
#[cfg(unix)]
fn an_interrupt_keeps_what_was_done_and_says_how_to_go_on() {
    let shell = shell();
    let settings = "--objective listnet --model mlp:hidden=8 --epochs 400 --patience 0 --checkpoint-every 0";
    let code =
        shell.signalled(&format!("{RUN} {settings} -o model.toprank"), "-INT", "model.toprank.checkpoint", 3);
    assert_eq!(code, Some(130));
    assert!(shell.has("model.toprank.checkpoint") && !shell.has("model.toprank"));
    assert!(shell.names(".").iter().all(|name| !name.starts_with(".toprank-")), "a draft was left");
}

#[test]
fn a_config_file_is_the_flags_and_flags_override_it() {
    let shell = shell();
    shell.file(
        "run.toml",
        "data = \"demo/train.txt\"\nvalid = \"demo/vali.txt\"\nout = \"a.toprank\"\nmodel = \"linear\"\nepochs = 3\nrate = 0.5\n",
    );
    shell.ok("train --config run.toml --rate 0.01 --quiet");
    shell.ok(&format!("{RUN} --model linear --epochs 3 --rate 0.01 -o b.toprank"));
    assert_eq!(shell.bytes("a.toprank"), shell.bytes("b.toprank"));
    shell.file("bad.toml", "modle = \"linear\"\n");
    let error = shell.fails(2, "train --config bad.toml");
    assert!(error.contains("bad.toml") && error.contains("modle"), "{error}");
}

#[test]
fn a_mapped_file_trains_the_same_model_as_the_text_it_was_made_of() {
    let shell = shell();
    shell.ok("convert demo/train.txt train.toprank-data --quiet");
    let settings = "--model linear --epochs 3 --objective listnet";
    let same = "--transforms missing:to=mean,standardise";
    shell.ok(&format!("train --data demo/train.txt {settings} {same} -o text.toprank --quiet"));
    shell.ok(&format!("train --data train.toprank-data {settings} -o mapped.toprank --quiet"));
    assert_eq!(shell.bytes("text.toprank"), shell.bytes("mapped.toprank"));
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_written() {
    let shell = shell();
    for (code, args, words) in [
        (2, "train -o m.toprank", "no data"),
        (2, "train --data demo/train.txt", "no out"),
        (1, "train --data absent.txt -o m.toprank", "absent.txt"),
        (2, "train --data demo/train.txt --model mpl -o m.toprank", "did you mean \"mlp\"?"),
        (2, "train --data demo/train.txt --objective ndgc@10 -o m.toprank", "did you mean"),
        (2, "train --data demo/train.txt --rate -1 -o m.toprank", "rate"),
        (2, "train --data demo/train.txt --sampler lists:batch=0 -o m.toprank", "batch"),
        (
            1,
            "train --data demo/train.txt --model linear --epochs 1 -o no/such/folder/m.toprank",
            "no/such/folder",
        ),
        (1, "train --resume m.toprank", "m.toprank.checkpoint"),
        (2, "train --resume m.toprank --rate 1", "--resume"),
        (2, "train --data demo/train.txt --objective song --optimiser storm -o m.toprank", "song-v1"),
    ] {
        let error = shell.fails(code, &format!("{args} --quiet"));
        assert!(error.contains(words), "{args}: {error}");
    }
    assert!(!shell.has("m.toprank") && !shell.has("m.toprank.checkpoint"));
}

#[test]
fn a_damaged_cut_or_foreign_model_is_named() {
    let shell = shell();
    shell.ok("train --data demo/train.txt --model linear --epochs 1 -o m.toprank --quiet");
    let good = shell.bytes("m.toprank");
    let mut bad = good.clone();
    let last = bad.len() - 1;
    bad[last] ^= 1;
    for (bytes, words) in [(&bad[..], "checksum"), (&good[..last], "m.toprank")] {
        shell.file_of_bytes("m.toprank", bytes);
        let error = shell.fails(3, "inspect m.toprank");
        assert!(error.contains(words) && error.contains("m.toprank"), "{error}");
    }
}

#[test]
fn every_setting_of_a_trainer_is_a_flag_whose_help_says_the_default_that_a_run_takes() {
    use toprank::train::{SETTINGS, Settings, TrainerKind};
    for kind in [TrainerKind::Rank, TrainerKind::Recommend, TrainerKind::Embed, TrainerKind::Walk] {
        let help = Toprank::new().ok(&format!("{} --help", kind.command()));
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let config = Settings::default().resolve(kind).unwrap();
        for setting in SETTINGS {
            let Some(default) = setting.default_for(kind) else { continue };
            let value = if setting.metavar.is_empty() { "" } else { "<" };
            let about = help.split(&format!(" --{} {value}", setting.key)).nth(1);
            let about = about.unwrap_or_else(|| panic!("no --{} in {help}", setting.key));
            let fixed = !default.is_empty() && !default.starts_with("by ") && !setting.metavar.is_empty();
            if fixed {
                assert!(about.contains(&format!("[default: {default}]")), "--{}: {default}", setting.key);
            }
            if let (true, Some(taken)) = (fixed, config.settings().get(setting.key)) {
                let same = taken == default || taken.parse::<f64>() == default.parse::<f64>();
                assert!(same, "--{} is {taken}, but help says {default}", setting.key);
            }
        }
    }
}

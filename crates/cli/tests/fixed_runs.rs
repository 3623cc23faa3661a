//! Twelve fixed runs give the numbers that are written down: every tensor of the model and every predicted score, to the byte.
//!
//! A change of these numbers is a breaking change: name it in CHANGELOG.md and write the file again with
//! `TOPRANK_WRITE_GOLDEN=1 cargo test -p toprank-cli --test fixed_runs`. There is a file for each kind of processor that somebody wrote
//! one on; that for AVX2 has no networks and no NeuMF, since they have changed and no such processor was at hand.

#![cfg(feature = "neural")]

mod common;

use std::fmt::Write;

use common::{Toprank, json};

fn golden() -> String {
    format!("{}/tests/golden/fixed_runs.{}.txt", env!("CARGO_MANIFEST_DIR"), processor())
}

/// The instructions that decide the last bits of matrix products: other processors give other bytes.
fn processor() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return "x86_64-avx512";
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            return "x86_64-avx2";
        }
    }
    "other"
}

/// FNV-1a, the same on every machine and in every version.
fn hash(bytes: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// One line per tensor of a safetensors file, by name.
fn tensors(run: &str, file: &[u8]) -> String {
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let (head, data) = file[8..].split_at(length);
    let head = json(std::str::from_utf8(head).unwrap());
    let mut lines: Vec<String> = head
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| *name != "__metadata__")
        .map(|(name, about)| {
            let end = |i: usize| about["data_offsets"][i].as_u64().unwrap() as usize;
            format!("{run} {name} {}\n", hash(&data[end(0)..end(1)]))
        })
        .collect();
    lines.sort();
    lines.concat()
}

/// A table with numbers, a column of strings and two labels; strings appear in an order that is not alphabetical.
fn table(rows: usize, seed: u32) -> String {
    let mut text = String::from("a,b,colour,c,label,second\n");
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1u32 << 24)
    };
    for _ in 0..rows {
        let (a, b, c) = (next(), next(), next());
        let colour = ["red", "blue", "green", "amber"][(next() * 4.0) as usize];
        let (bonus, noise) = (if colour == "green" { 0.4 } else { 0.0 }, next());
        let (label, second) = (u8::from(a + bonus + 0.5 * noise > 1.1), u8::from(b + c + noise > 1.8));
        let b = if noise < 0.1 { String::new() } else { format!("{b:.5}") };
        text += &format!("{a:.5},{b},{colour},{c:.5},{label},{second}\n");
    }
    text
}

/// Molecules of chains, rings and a few elements; those with a nitrogen in a ring are relevant.
fn molecules(count: usize) -> String {
    let mut text = String::from("smiles,label\n");
    for k in 0..count {
        let (chain, end) = ("C".repeat(1 + k % 4), ["O", "N", "Cl", "C", "F"][(k / 4) % 5]);
        let (molecule, label) = match k % 5 {
            0 => (format!("{chain}c1ccnc({end})c1"), 1),
            1 => (format!("{chain}c1ccccc1{end}"), 0),
            2 => (format!("{chain}C1CCC({end})C1"), 0),
            3 => (format!("{chain}n1cccc1{end}"), 1),
            _ => (format!("{chain}C(=O){end}"), 0),
        };
        let _ = writeln!(text, "{molecule},{label}");
    }
    text
}

/// Ten classes of rows.
fn classes() -> String {
    let mut text = String::from("name,kind,a,b,c\n");
    for row in 0..160 {
        let class = row * 7 % 10;
        let cell = |k: usize| ((class * 3 + k * 5) % 7) as f64 + (row * (k + 3) % 11) as f64 / 22.0;
        let _ = writeln!(text, "r{row},k{class},{:.4},{:.4},{:.4}", cell(0), cell(1), cell(2));
    }
    text
}

/// Name, command that trains `m`, command that writes the file `s`.
const RUNS: [(&str, &str, &str); 12] = [
    (
        "linear",
        "train --data demo/train.txt --valid demo/vali.txt --objective ndcg@10 --model linear --epochs 6 --seed 1",
        "predict m --data demo/test.txt -o s",
    ),
    (
        "mlp",
        "train --data demo/train.txt --valid demo/vali.txt --objective song:gamma=0.3 --model mlp:hidden=24-12:dropout=0.1 --warm-up 2 --average ema:decay=0.9 --schedule cosine --epochs 5 --seed 2",
        "predict m --data demo/test.txt -o s",
    ),
    (
        "context",
        "train --data demo/train.txt --valid demo/vali.txt --objective listnet --model context:blocks=1:width=8:heads=2 --epochs 3 --seed 3",
        "predict m --data demo/test.txt -o s",
    ),
    (
        "gin",
        "train --data molecules.csv --smiles smiles --objective auprc --model gin:layers=2:hidden=8 --rate 0.01 --epochs 4 --seed 4",
        "predict m --data molecules.csv -o s",
    ),
    (
        "trees-lambdamart",
        "train --data demo/train.txt --valid demo/vali.txt --objective lambdamart:k=10 --model trees --trees 30 --leaves 15 --seed 5",
        "predict m --data demo/test.txt -o s",
    ),
    (
        "trees-categorical",
        "train --data table.csv --label label --features a,b,c,colour --categorical colour --objective logistic --model trees:min-rows=20:l2=0:node-features=1:rows=1 --learning-rate 0.1 --trees 20 --leaves 7 --seed 6",
        "predict m --data other.csv --label label --features a,b,c,colour --categorical colour -o s",
    ),
    (
        "trees-multilabel",
        "train --data table.csv --labels label,second --features a,b,c --objective auroc --algorithm auroc --model trees:goss=0.3-0.2:min-rows=20:l2=0:node-features=1 --learning-rate 0.1 --trees 15 --leaves 7 --seed 7",
        "predict m --data other.csv --labels label,second --features a,b,c -o s",
    ),
    (
        "mf",
        "recommend train --data shop/interactions.csv --split leave-last --objective ndcg@20 --model mf:width=8 --epochs 3 --seed 8",
        "recommend top m --all --k 5 -o s",
    ),
    (
        "neumf",
        "recommend train --data shop/interactions.csv --split leave-last --objective song-v1:gamma=0.1 --model neumf:width=6:layers=8 --warm-up 1 --epochs 2 --seed 9",
        "recommend top m --all --k 5 -o s",
    ),
    (
        "embed",
        "embed train --data classes.csv --class kind --item name --split 60/20/20 --objective map --model mlp:hidden=16 --dimensions 8 --rate 0.01 --batch-classes 6 --class-rows 4 --epochs 5 --seed 10",
        "embed apply m --data classes.csv --item name -o s.csv",
    ),
    (
        "walk",
        "pagerank train --graphs graphs --objective margin --method gbn --steps 20",
        "pagerank predict m --graphs graphs -o s",
    ),
    (
        "folds",
        "train --data table.csv --label label --features a,b,c --objective auprc --model mlp:hidden=8 --folds 3 --epochs 4 --seed 11",
        "predict m --data other.csv --label label --features a,b,c --probability -o s",
    ),
];

#[test]
fn twelve_runs_give_the_numbers_that_are_written_down() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 60 --seed 1 -o demo");
    shell.ok("generate interactions --users 60 --items 80 --length 12 --seed 1 -o shop");
    shell.ok("generate graphs --queries 12 --seed 1 -o graphs");
    shell.file("table.csv", &table(300, 1));
    shell.file("other.csv", &table(120, 2));
    shell.file("molecules.csv", &molecules(60));
    shell.file("classes.csv", &classes());
    let mut found = String::new();
    for (name, train, predict) in RUNS {
        let (model, scores) = (format!("{name}.toprank"), format!("{name}.scores"));
        shell.ok(&format!("{train} -o {model} --quiet"));
        let predict: Vec<String> = predict
            .split(' ')
            .map(|word| match word {
                "m" => model.clone(),
                "s" => scores.clone(),
                "s.csv" => format!("{name}.csv"),
                word => word.into(),
            })
            .collect();
        shell.ok(&format!("{} --quiet", predict.join(" ")));
        found += &tensors(name, &shell.bytes(&model));
        let output = &predict[predict.len() - 1];
        let _ = writeln!(found, "{name} scores {}", hash(&shell.bytes(output)));
        if name == "folds" {
            let _ = writeln!(found, "{name} out-of-fold {}", hash(&shell.bytes("folds.toprank.oof.txt")));
        }
    }
    if std::env::var_os("TOPRANK_WRITE_GOLDEN").is_some() {
        std::fs::write(golden(), &found).unwrap();
    }
    let Ok(expected) = std::fs::read_to_string(golden()) else {
        eprintln!("skipped: there is no {}, the numbers on this kind of processor", golden());
        return;
    };
    let differs: Vec<&str> = expected
        .lines()
        .filter(|line| !found.lines().any(|known| known == *line))
        .map(|line| line.rsplit_once(' ').map_or(line, |(name, _)| name))
        .collect();
    assert!(differs.is_empty(), "these numbers have changed: {}", differs.join(", "));
    assert!(expected.lines().count() > 50);
}

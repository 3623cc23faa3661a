//! Data files that are mapped instead of read, by the real binary.

mod common;

use common::{Toprank, json};

#[test]
fn a_converted_file_is_judged_as_its_text_is() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 60 --seed 3 -o demo");
    shell.ok("convert demo/test.txt big.toprank-data");
    let args = "--feature 5 --metrics ndcg@10,map --json --data";
    let of = |file: &str| {
        let mut value = json(&shell.ok(&format!("evaluate {args} {file}")));
        value.as_object_mut().unwrap().retain(|_, part| !part.to_string().contains(file));
        value
    };
    assert_eq!(of("big.toprank-data"), of("demo/test.txt"));
    assert_eq!(of("big.toprank-data")["lists"]["total"], of("demo/test.txt")["lists"]["total"]);
    // And back: names, numbers and order are all there.
    shell.ok("convert demo/test.txt a.csv");
    shell.ok("convert big.toprank-data b.csv");
    assert_eq!(shell.read("a.csv"), shell.read("b.csv"));
}

#[test]
fn inspect_verifies_and_names_what_is_damaged() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 20 --seed 3 -o demo");
    shell.ok("convert demo/test.txt big.toprank-data");
    let about = json(&shell.ok("inspect big.toprank-data --verify --json"));
    assert_eq!((&about["verified"], &about["version"]), (&true.into(), &1.into()));
    assert!(shell.ok("inspect big.toprank-data --verify").contains("checksums match"));
    let whole = shell.bytes("big.toprank-data");
    let mut damaged = whole.clone();
    damaged[100] ^= 1;
    shell.file_of_bytes("damaged.toprank-data", &damaged);
    for args in ["--verify", ""] {
        let error = shell.fails(3, &format!("inspect damaged.toprank-data {args}"));
        assert!(error.contains("damaged.toprank-data: section features: bytes "), "{error}");
    }
    shell.file_of_bytes("cut.toprank-data", &whole[..whole.len() / 2]);
    let error = shell.fails(3, "evaluate --data cut.toprank-data --feature 1 --metrics map");
    assert!(error.contains("not cut off"), "{error}");
    assert!(shell.fails(3, "inspect demo/test.txt --verify").contains("toprank convert"));
}

#[cfg(feature = "neural")]
#[test]
fn a_model_learns_the_same_from_a_mapped_file_and_nothing_from_a_damaged_one() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 40 --seed 3 -o demo");
    shell.ok("convert demo/train.txt big.toprank-data");
    // Scaling within lists, the default for text, needs them whole in memory.
    let settings = "--transforms missing:to=mean,standardise --model linear --epochs 2";
    let train = |data: &str| format!("train --data {data} {settings} --quiet -o m.toprank");
    shell.ok(&train("demo/train.txt"));
    let of_text = shell.ok("predict m.toprank --data demo/test.txt");
    shell.ok(&train("big.toprank-data"));
    let of_mapped = shell.ok("predict m.toprank --data demo/test.txt");
    assert!(of_mapped == of_text, "other scores from the mapped file");
    let mut damaged = shell.bytes("big.toprank-data");
    damaged[100] ^= 1;
    shell.file_of_bytes("damaged.toprank-data", &damaged);
    for args in [train("damaged.toprank-data"), "predict m.toprank --data damaged.toprank-data".into()] {
        let error = shell.fails(3, &args);
        assert!(error.contains("damaged.toprank-data: section features: bytes "), "{error}");
    }
}

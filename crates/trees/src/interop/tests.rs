//! What every format owes.

use toprank_data::Source;
use toprank_testkit::{ATTACKS, Owes};

use super::test_models::{edges, grown, models, rows, sets};
use super::verify::{compare, seen, verify};
use super::*;
use crate::tree::{Test, Tree};

/// What a format cannot say of the models of the tests, with a word of the error.
fn refusal(format: &str, model: &str) -> Option<&'static str> {
    match (format, model) {
        ("ranklib" | "solr" | "es-ltr" | "opensearch-ltr" | "vespa", "grown with categories" | "sets") => {
            Some("categories")
        }
        ("ranklib" | "solr" | "es-ltr" | "opensearch-ltr" | "vespa", "grown with three outputs") => {
            Some("scores per row")
        }
        ("ranklib" | "es-ltr" | "opensearch-ltr", "grown" | "edges") => Some("missing values"),
        ("solr", "edges") => Some("1e-30"),
        ("vespa", "edges") => Some("the threshold inf"),
        _ => None,
    }
}

#[test]
fn what_is_written_scores_as_ours_on_every_probe_or_is_refused_with_a_reason() {
    for format in FORMATS {
        for (name, model) in models() {
            let rows = probe_rows(&model, 3000, 5);
            match (verify(&model, format, &Export::default(), &rows), refusal(format.name, name)) {
                (Ok((_, parity)), None) => {
                    assert_eq!(parity.rows, 3000);
                    assert!(format.single || parity.difference == 0.0, "{} {name} {parity:?}", format.name);
                }
                (Err(error), Some(word)) => {
                    assert!(error.to_string().contains(word), "{} {name}: {error}", format.name);
                }
                (Ok(_), Some(_)) => panic!("{} says it can write {name}", format.name),
                (Err(error), None) => panic!("{} {name}: {error}", format.name),
            }
        }
    }
}

#[test]
fn a_model_without_trees_is_its_base() {
    let model = Ensemble { base: vec![1.25], ..Ensemble::new(3, 1) };
    for format in FORMATS {
        let (_, parity) = verify(&model, format, &Export::default(), &probe_rows(&model, 20, 0)).unwrap();
        assert_eq!((parity.difference, parity.largest), (0.0, 1.25), "{}", format.name);
    }
}

#[test]
fn every_change_of_a_tree_is_noticed() {
    let changes: [fn(&mut Tree); 6] = [
        |tree| tree.leaves[0] += 1e-3,
        |tree| tree.nodes[2].missing_left ^= true,
        |tree| {
            let node = &mut tree.nodes[0];
            std::mem::swap(&mut node.left, &mut node.right);
        },
        |tree| tree.nodes[1].feature = (tree.nodes[1].feature + 1) % 3,
        |tree| {
            if let Test::AtMost(threshold) = &mut tree.nodes[0].test {
                *threshold = threshold.next_up();
            }
        },
        |tree| {
            if let Test::AtMost(threshold) = &mut tree.nodes[0].test {
                *threshold = threshold.next_down();
            }
        },
    ];
    let model = grown(1, false);
    let rows = probe_rows(&model, 10_000, 5);
    let export = Export { missing: Missing::Exact, ..Export::default() };
    let as_zero = ["ranklib", "es-ltr", "opensearch-ltr"];
    for format in FORMATS.iter().filter(|format| !as_zero.contains(&format.name)) {
        for (case, change) in changes.iter().enumerate() {
            let mut other = model.clone();
            change(&mut other.trees[1]);
            let bytes = write(&other, format, &export).unwrap();
            let found = compare(&model, format, &export, &rows, &bytes);
            assert!(found.is_err(), "{}: change {case} was not noticed", format.name);
        }
    }
}

#[test]
fn missing_as_zero_is_said_and_then_holds() {
    let model = grown(1, false);
    for format in ["ranklib", "es-ltr", "opensearch-ltr"].map(|name| by_name(name).unwrap()) {
        let export = Export { missing: Missing::AsZero, ..Export::default() };
        let rows = probe_rows(&model, 3000, 5);
        verify(&model, format, &export, &rows).unwrap();
        let toprank_data::Matrix::Dense { values, .. } = seen(&model, format, &export, &rows) else {
            panic!()
        };
        assert!(values.iter().all(|value| !value.is_nan()));
    }
}

fn readers() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| format.reads())
}

#[test]
fn what_is_read_back_has_the_same_scores_and_names_and_is_written_the_same_again() {
    let names: Vec<String> = ["länge", "b", "c", "d"].map(String::from).to_vec();
    let model = grown(1, true);
    let rows = rows(500);
    let cover = Cover::count(&model, &rows).unwrap();
    for format in readers() {
        let export = Export { names: &names, cover: Some(&cover), ..Export::default() };
        let bytes = write(&model, format, &export).unwrap();
        let back = read(&Source::bytes("model", bytes.clone())).unwrap();
        assert_eq!(back.names, names, "{}", format.name);
        let (ours, theirs) = (model.score(&rows).unwrap(), back.ensemble.score(&rows).unwrap());
        for (a, b) in ours.iter().zip(&theirs) {
            assert!(if format.single { (a - b).abs() < 1e-5 } else { a == b }, "{}: {a} {b}", format.name);
        }
        // Nodes may come back in another order; from then on nothing changes.
        let text = |model: &Ensemble| {
            let cover = Cover::count(model, &rows).unwrap();
            let bytes = write(model, format, &Export { cover: Some(&cover), ..export }).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let once = text(&back.ensemble);
        let twice = read(&Source::bytes("model", once.clone().into_bytes())).unwrap();
        assert_eq!(once, text(&twice.ensemble), "{}", format.name);
    }
}

#[test]
fn no_attack_makes_a_reader_panic() {
    for format in readers() {
        for model in [sets(), edges(), grown(1, true)] {
            let bytes = write(&model, format, &Export::default()).unwrap();
            for attack in ATTACKS {
                let found = read(&Source::bytes("attacked", (attack.apply)(&bytes)));
                match (&found, attack.owes) {
                    (Ok(found), Owes::TheSame | Owes::TheSameAlways) => {
                        let rows = probe_rows(&model, 50, 0);
                        let rows = seen(&model, format, &Export::default(), &rows);
                        let (a, b) = (model.score(&rows).unwrap(), found.ensemble.score(&rows).unwrap());
                        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-5), "{}", attack.name);
                    }
                    (Err(error), Owes::TheSame | Owes::TheSameAlways) => {
                        panic!("{} of {}: {error}", attack.name, format.name)
                    }
                    (Ok(_), Owes::Error) => panic!("{} of {} was read", attack.name, format.name),
                    (Ok(found), _) => assert_eq!(found.ensemble.check(), Ok(())),
                    (Err(error), _) => assert!(error.to_string().contains("attacked"), "{error}"),
                }
            }
        }
    }
}

#[test]
fn no_changed_byte_makes_a_reader_or_the_model_it_gives_panic() {
    for format in readers() {
        let bytes = write(&sets(), format, &Export::default()).unwrap();
        for at in 0..bytes.len() {
            for byte in [b'0', b'9', b'-', b' ', b'\n', b'e', b'=', b',', b'"', 0, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = byte;
                if let Ok(found) = read(&Source::bytes("damaged", damaged)) {
                    assert_eq!(found.ensemble.check(), Ok(()));
                }
            }
            let cut = read(&Source::bytes("cut", bytes[..at].to_vec()));
            assert!(cut.is_err() || bytes[at..].trim_ascii().is_empty() || format.name == "lightgbm");
        }
    }
}

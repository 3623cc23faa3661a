//! `toprank embed` and `toprank retrieve`: from rows and classes to what is near, whatever happens on the way.

mod common;

use common::{Toprank, json};

/// Ten classes of 16 rows: three columns say which, two are noise; classes are words, rows in no order.
fn rows() -> String {
    let mut text = String::from("name,kind,a,b,c,noise,more\n");
    let mut state = 7u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1u32 << 24)
    };
    for row in 0..160 {
        let class = row * 7 % 10;
        let centre = |k: usize| ((class * 3 + k * 5) % 7) as f64;
        let features: Vec<String> = (0..3).map(|k| format!("{:.4}", centre(k) + 0.5 * next())).collect();
        text += &format!("r{row},k{class},{},{:.4},{:.4}\n", features.join(","), 9.0 * next(), 9.0 * next());
    }
    text
}

fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.file("rows.csv", &rows());
    shell
}

const RUN: &str = "embed train --data rows.csv --class kind --item name --split 60/20/20 --quiet";
const SMALL: &str = "--model mlp:hidden=16 --dimensions 8 --rate 0.01 --batch-classes 6 --class-rows 4 --epochs 15 --patience 0";

#[test]
fn an_embedding_is_trained_applied_searched_judged_and_inspected() {
    let shell = shell();
    let trained =
        json(&shell.ok(&format!("{RUN} --objective map {SMALL} -o emb.toprank --curves curves --json")));
    assert_eq!(trained["classes"]["train"].as_array().unwrap().len(), 6, "{trained}");
    assert_eq!(shell.read("curves/curve.csv").lines().count(), 16);
    assert!(!shell.has("emb.toprank.checkpoint"), "a finished run leaves nothing to take up");
    let search = "retrieve emb.toprank --queries rows.csv --class kind --item name";
    let judged = json(&shell.ok(&format!("{search} --part test --metrics mauprc,hit@1,success@10 --json")));
    assert_eq!(
        (judged["queries"].as_u64(), judged["each_among_the_others"].as_bool()),
        (Some(32), Some(true))
    );
    // By chance about a half: two classes of test.
    assert!(judged["metrics"]["map"].as_f64().unwrap() > 0.75, "{judged}");
    assert!(judged["metrics"]["success@1"].as_f64().unwrap() > 0.8, "{judged}");
    let text = shell.ok(&format!("{search} --part test --per-query each.csv"));
    assert!(text.contains("mean AUPRC") && text.contains("success@10"), "{text}");
    assert_eq!(shell.read("each.csv").lines().count(), 33);
    let whole = json(&shell.ok(&format!("{search} --json")));
    assert_eq!(whole["queries"], 160);
    let looked_at = json(&shell.ok("inspect emb.toprank --json"));
    assert_eq!(looked_at["config"]["dimensions"], 8);
    assert!(shell.ok("inspect emb.toprank").contains("its self-test passes"));
}

#[test]
fn vectors_come_in_the_order_of_the_file_and_the_nearest_rows_are_listed() {
    let shell = shell();
    shell.ok(&format!("{RUN} --objective multi-similarity {SMALL} -o emb.toprank"));
    shell.ok("embed apply emb.toprank --data rows.csv --item name -o v.csv --quiet");
    let csv = shell.read("v.csv");
    assert!(csv.starts_with("item,v1,v2,") && csv.lines().nth(1).unwrap().starts_with("r0,"), "{csv}");
    assert_eq!(csv.lines().count(), 161);
    let row = |line: &str| -> Vec<f32> { line.split(',').skip(1).map(|v| v.parse().unwrap()).collect() };
    let vectors: Vec<Vec<f32>> = csv.lines().skip(1).map(row).collect();
    assert!(vectors.iter().all(|v| (v.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-4));
    shell.ok("embed apply emb.toprank --data rows.csv -o v.npy --quiet");
    let npy = shell.bytes("v.npy");
    assert_eq!(&npy[..8], b"\x93NUMPY\x01\x00");
    let start = npy.len() - 160 * 8 * 4;
    assert!(start.is_multiple_of(64));
    let number = |at: usize| f32::from_le_bytes(npy[start + 4 * at..][..4].try_into().unwrap());
    assert!((0..160).all(|row| (0..8).all(|k| number(row * 8 + k) == vectors[row][k])));

    // Other rows without classes against a gallery: what is nearest.
    let lines: Vec<String> = rows().lines().map(String::from).collect();
    let head = "name,a,b,c,noise,more";
    let some = |range: std::ops::Range<usize>| {
        let lines = lines[range].iter().map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{}\n", cells[0], cells[2..].join(","))
        });
        format!("{head}\n{}", lines.collect::<String>())
    };
    shell.file("q.csv", &some(1..6));
    shell.file("g.csv", &some(1..101));
    let search = "retrieve emb.toprank --queries q.csv --gallery g.csv --item name --k 3";
    let found = json(&shell.ok(&format!("{search} --json")));
    assert_eq!(found["nearest"].as_array().unwrap().len(), 5);
    for (query, nearest) in found["nearest"].as_array().unwrap().iter().enumerate() {
        // The gallery holds the query itself, at cosine 1.
        assert_eq!(nearest["items"][0]["item"], format!("r{query}").as_str(), "{nearest}");
        assert_eq!(nearest["items"].as_array().unwrap().len(), 3);
    }
    // Distances: 0 to itself, below 0 to the others, vectors of any length.
    shell.ok(&format!("{RUN} --objective nca --similarity euclidean {SMALL} -o far.toprank"));
    let found = json(&shell.ok(&format!("{} --json", search.replace("emb.", "far."))));
    for (query, nearest) in found["nearest"].as_array().unwrap().iter().enumerate() {
        let items = nearest["items"].as_array().unwrap();
        assert_eq!(items[0]["item"], format!("r{query}").as_str(), "{nearest}");
        let scores: Vec<f64> = items.iter().map(|item| item["score"].as_f64().unwrap()).collect();
        assert!(scores[0].abs() < 1e-4 && scores[2] < scores[0] && scores[2] < 0.0, "{scores:?}");
    }
    shell.ok(&format!("{search} -o near.csv"));
    assert_eq!(shell.read("near.csv").lines().count(), 1 + 5 * 3);
    assert_eq!(shell.ok(search).lines().count(), 1 + 5 * 3);
}

#[test]
fn every_run_has_the_same_bytes_on_any_number_of_threads() {
    let shell = shell();
    for settings in [
        "--objective song-v1 --memory 50",
        "--objective nca --model mlp:hidden=16:dropout=0.2",
        "--objective global-contrastive --views two:noise=0.2:candidates=across --class-rows 2 --batch-classes 40",
    ] {
        for threads in [1, 3] {
            shell.ok(&format!("{RUN} {settings} --epochs 3 --threads {threads} -o {threads}.toprank"));
        }
        assert!(shell.bytes("1.toprank") == shell.bytes("3.toprank"), "{settings}");
    }
}

#[test]
#[cfg(unix)]
fn killed_again_and_again_and_resumed_the_embedding_is_the_same_to_the_byte() {
    let shell = shell();
    let settings = "--objective sup-con --memory 60 --model mlp:hidden=16:dropout=0.1 --epochs 30 --patience 0 \
                    --batch-classes 3 --class-rows 4 --checkpoint-every 0";
    shell.ok(&format!("{RUN} {settings} -o whole.toprank"));
    let mut kills = 0;
    let mut command = format!("{RUN} {settings} -o killed.toprank");
    for round in 0..6 {
        if shell.signalled(&command, "-KILL", "killed.toprank.checkpoint", 2 + round).is_none() {
            kills += 1;
        }
        command = "embed train --resume killed.toprank --checkpoint-every 0 --quiet".into();
    }
    assert!(kills >= 2, "only {kills} of six runs were killed before their end");
    shell.ok("embed train --resume killed.toprank --quiet");
    assert_eq!(shell.bytes("whole.toprank"), shell.bytes("killed.toprank"));
    let error = shell.fails(1, "embed train --resume absent.toprank");
    assert!(error.contains("neither such a model nor"), "{error}");
    let error = shell.fails(2, "embed train --resume killed.toprank --rate 0.1");
    assert!(error.contains("--resume takes no other settings"), "{error}");
}

#[test]
#[cfg(unix)]
fn a_warm_start_finds_features_by_name_and_is_resumed_to_the_byte() {
    let shell = shell();
    shell.ok(&format!("{RUN} {SMALL} -o first.toprank"));
    // The same columns in another order, and one more.
    let turned: String = rows()
        .lines()
        .map(|line| {
            line.split(',').rev().collect::<Vec<_>>().join(",")
                + if line.starts_with('n') { ",x\n" } else { ",7\n" }
        })
        .collect();
    shell.file("turned.csv", &turned);
    let run = RUN.replace("rows.csv", "turned.csv");
    let network = "--model mlp:hidden=16 --dimensions 8 --batch-classes 6 --class-rows 4 --patience 0 --from first.toprank";
    shell.ok(&format!("{run} {network} --epochs 1 --learning-rate 1e-30 -o same.toprank"));
    let vectors = |model: &str| {
        shell.ok(&format!("embed apply {model} --data rows.csv --item name -o v.csv --quiet"));
        shell.read("v.csv")
    };
    assert_eq!(vectors("same.toprank"), vectors("first.toprank"));
    for (code, args, words) in [
        (
            2,
            "--model linear --dimensions 8",
            "the model must be of the kind mlp:hidden=16, as the model to warm-start from",
        ),
        (2, "--model mlp:hidden=12 --dimensions 8", "which has"),
        (
            2,
            "--model mlp:hidden=16 --dimensions 4",
            "dimensions must be 8, as the model to warm-start from has, but is 4",
        ),
    ] {
        let error = shell.fails(code, &format!("{RUN} {args} --from first.toprank -o x.toprank"));
        assert!(error.contains(words), "{args}: {error}");
    }
    shell.file("narrow.csv", &rows().replace(",noise,", ",other,"));
    let error = shell.fails(3, &format!("{} {network} -o x.toprank", RUN.replace("rows.csv", "narrow.csv")));
    assert!(error.contains("narrow.csv") && error.contains("noise"), "{error}");

    let settings = format!("{network} --epochs 30 --checkpoint-every 0");
    shell.ok(&format!("{RUN} {settings} -o whole.toprank"));
    let command = format!("{RUN} {settings} -o killed.toprank");
    assert_eq!(shell.signalled(&command, "-KILL", "killed.toprank.checkpoint", 3), None, "not killed");
    let first = shell.bytes("first.toprank");
    shell.file_of_bytes("first.toprank", &shell.bytes("whole.toprank"));
    let error = shell.fails(3, "embed train --resume killed.toprank --quiet");
    assert!(error.contains("the model to warm-start from changed"), "{error}");
    shell.file_of_bytes("first.toprank", &first);
    shell.ok("embed train --resume killed.toprank --quiet");
    assert_eq!(shell.bytes("whole.toprank"), shell.bytes("killed.toprank"));
}

#[test]
fn images_of_bytes_rows_without_classes_and_labels_as_classes_are_taken() {
    let shell = Toprank::new();
    // 40 images of 2 × 3 bytes, four classes by which corner is bright.
    let (mut images, mut labels) =
        (Vec::from(*b"\0\0\x08\x03\0\0\0\x28\0\0\0\x02\0\0\0\x03"), Vec::from(*b"\0\0\x08\x01\0\0\0\x28"));
    for row in 0..40u8 {
        let bright = usize::from(row % 4);
        images.extend((0..6).map(|k| if k == bright { 200 + row } else { row % 7 * 5 }));
        labels.push(row % 4);
    }
    shell.file_of_bytes("t-images-idx3-ubyte", &images);
    shell.file_of_bytes("t-labels-idx1-ubyte", &labels);
    shell.ok("embed train --data t-images-idx3-ubyte --split 50/0/50 --batch-classes 2 --epochs 5 -o i.toprank --quiet");
    let judged = json(&shell.ok("retrieve i.toprank --queries t-images-idx3-ubyte --part test --json"));
    assert_eq!(judged["queries"], 20, "{judged}");
    let lines: String = (0..30).map(|k| format!("{},{}\n", k % 5, k / 5)).collect();
    shell.file("plain.csv", &format!("x,y\n{lines}"));
    shell.ok("embed train --data plain.csv --views two --objective global-contrastive --epochs 2 -o v.toprank --quiet");
    shell.ok("embed apply v.toprank --data plain.csv -o v.csv --quiet");
    assert_eq!(shell.read("v.csv").lines().count(), 31);
}

#[test]
fn what_a_user_can_get_wrong_is_told() {
    let shell = shell();
    shell.ok(&format!("{RUN} {SMALL} -o emb.toprank"));
    shell.file("narrow.csv", "a,b\n1,2\n");
    shell.file("one.csv", "kind,a,b,c,noise,more\nk0,1,2,3,4,5\nk0,1,2,3,4,6\n");
    for (code, args, words) in [
        (2, "embed train --data rows.csv --class knd -o x.toprank --quiet", "no column is called knd"),
        (2, "embed train --data rows.csv -o x.toprank --quiet", "--label"),
        (2, &format!("{RUN} --objective smoth-ap -o x.toprank"), "smooth-ap"),
        (2, &format!("{RUN} --model trees -o x.toprank"), "a network"),
        (2, &format!("{RUN} --dimensions 0 -o x.toprank"), "dimensions"),
        (
            3,
            "embed train --data one.csv --class kind -o x.toprank --quiet --split 100/0/0",
            "one.csv: the largest of 1 classes has 2 rows; expected at least 2 classes",
        ),
        (
            2,
            "embed train --data rows.csv --class kind --split 1 -o x.toprank --quiet",
            "fractions must be two or three numbers",
        ),
        (3, "embed apply emb.toprank --data narrow.csv -o v.csv --quiet", "without 3 of those"),
        (3, "embed apply rows.csv --data rows.csv -o v.csv", "not a safetensors file"),
        (3, "predict emb.toprank --data rows.csv", "an embedding is for `toprank embed apply`"),
        (2, "retrieve emb.toprank --queries rows.csv --class kind --metrics mpa", "map"),
    ] {
        let error = shell.fails(code, args);
        assert!(error.contains(words), "toprank {args}\n{error}");
    }
    shell.ok("embed train --data rows.csv --class kind --split 80/20/0 --epochs 1 -o none.toprank --quiet");
    let error = shell.fails(2, "retrieve none.toprank --queries rows.csv --class kind --part test");
    assert!(error.contains("no classes are of the part test"), "{error}");
}

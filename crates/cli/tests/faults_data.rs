//! Damaged, swapped, changing and outsized data and graph files, by the real binary: an error with the right exit code, never a
//! panic, another result, or memory and time without bound.

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{Toprank, json};

/// The binary in a folder, for calls that need more than [`Toprank`] has.
fn toprank(folder: &Path, args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toprank"));
    command.args(args.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn error_of(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// A call that must succeed.
fn ok(folder: &Path, args: &str) {
    let out = toprank(folder, args).output().unwrap();
    assert!(out.status.success(), "toprank {args}\n{}", error_of(&out));
}

#[test]
fn a_damaged_graph_file_is_never_ranked() {
    let shell = Toprank::new();
    shell.file("edges.txt", "a b 1\nb c 0.5\nc a 2\nc b 1\nd a 1\n");
    shell.ok("pagerank rank --edges edges.txt --weight 3 --save g.toprank-graph");
    let whole = shell.bytes("g.toprank-graph");
    let rank = "pagerank rank --edges damaged.toprank-graph --json";
    shell.file_of_bytes("damaged.toprank-graph", &whole);
    assert_eq!(json(&shell.ok(rank))["nodes"], 4);
    // Every byte is changed once by the tests of the library; here some of every column, of the head and of the checksums.
    for at in (0..whole.len()).step_by(9) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x11;
        shell.file_of_bytes("damaged.toprank-graph", &damaged);
        // Another start is another format: no text either.
        let error = shell.fails(3, rank);
        assert!(error.starts_with("error: damaged.toprank-graph: "), "byte {at}: {error}");
    }
    shell.file_of_bytes("damaged.toprank-graph", &whole[..whole.len() / 2]);
    shell.fails(3, rank);
}

#[test]
fn judgements_of_another_format_are_an_error_that_names_the_file() {
    let shell = Toprank::new();
    shell.ok("generate graphs --queries 4 --seed 1 -o graphs");
    shell.ok("generate letor --lists 4 --seed 1 -o letor");
    shell.ok("convert letor/test.txt lists.toprank-data");
    shell.ok("convert letor/test.txt lists.libsvm");
    shell.file("edges.txt", "a b\nb c\n");
    shell.ok("pagerank rank --edges edges.txt --save g.toprank-graph");
    shell.file("ratings.dat", "1::10::5::978300760\n1::11::3::978302109\n2::10::4::978301968\n");
    for name in ["letor/test.txt", "lists.toprank-data", "lists.libsvm", "ratings.dat", "g.toprank-graph"] {
        let args = format!("pagerank train --graphs graphs --judgements {name} --steps 1 -o walk.toprank");
        let (code, _, error) = shell.any(&args);
        // A table of other columns is a matter of options (2), what is no table one of data (3).
        assert_eq!(code, Some(if name == "ratings.dat" { 2 } else { 3 }), "{args}\n{error}");
        assert!(error.starts_with(&format!("error: {name}:")), "{args}\n{error}");
    }
    assert!(!shell.has("walk.toprank"));
}

#[test]
fn no_edge_is_lost_to_a_header_and_a_skipped_header_is_said() {
    let shell = Toprank::new();
    for (text, edges, said) in [
        ("4294967295 5\n1 2\n2 1\n", 3, None),
        ("99999999999999999999999 5\n1 2\n2 1\n", 3, None),
        (
            "alice,bob\ncarol,dave\n",
            2,
            Some("is read as an edge: \"alice,bob\" (a header with --header yes)"),
        ),
        ("source,target\ncarol,dave\n", 1, Some("skipped the header of edges.csv: \"source,target\"")),
        ("page,link\n1,2\n2,99999999999\n", 2, Some("skipped the header of edges.csv: \"page,link\"")),
    ] {
        shell.file("edges.csv", text);
        let (out, notes) = shell.with_notes("pagerank rank --edges edges.csv --json");
        assert_eq!(json(&out)["edges"], edges, "{text:?}");
        match said {
            Some(said) => assert!(notes.contains(said), "{text:?}: {notes}"),
            None => assert_eq!(notes, "", "{text:?}"),
        }
        let (out, notes) = shell.with_notes("pagerank rank --edges edges.csv --header no --json");
        assert_eq!(json(&out)["edges"], text.lines().count(), "{text:?}");
        assert_eq!(notes, "", "{text:?}");
        let (out, notes) = shell.with_notes("pagerank rank --edges edges.csv --header yes --json");
        assert_eq!(json(&out)["edges"], text.lines().count() - 1, "{text:?}");
        assert!(notes.contains("skipped the header"), "{text:?}: {notes}");
    }
}

#[test]
fn damage_of_a_packed_file_exits_with_3_or_changes_nothing() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 6 --seed 2 -o letor");
    for name in ["lists.txt.zst", "lists.txt.gz"] {
        shell.ok(&format!("convert letor/test.txt {name}"));
        let evaluate = format!("convert {name} - --input-format letor --to csv --quiet");
        let whole = shell.bytes(name);
        let untouched = shell.ok(&evaluate);
        for at in (0..whole.len()).step_by(whole.len() / 60) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            shell.file_of_bytes(name, &damaged);
            let (code, out, error) = shell.any(&evaluate);
            assert!(
                code == Some(3) || code == Some(0) && out == untouched,
                "{name}, byte {at}: {code:?} {error}"
            );
        }
        shell.file_of_bytes(name, &whole[..whole.len() - 2]);
        shell.fails(3, &evaluate);
    }
}

/// Trains from a memory-mapped file and calls `change` as soon as training has begun.
#[cfg(all(unix, feature = "neural"))]
fn disturbed(change: impl FnOnce(&std::fs::File)) -> (Output, bool) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    ok(folder, "generate letor --lists 60 --seed 3 -o demo");
    ok(folder, "convert demo/train.txt big.toprank-data");
    let settings = "--transforms missing:to=mean,standardise --model linear --epochs 200000 --quiet";
    let mut child =
        toprank(folder, &format!("train --data big.toprank-data {settings} -o m.toprank")).spawn().unwrap();
    let begun = || {
        let names = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name());
        names.into_iter().any(|name| name.to_string_lossy().contains("checkpoint"))
    };
    let start = Instant::now();
    while !begun() && child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_mins(1), "training does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    change(&std::fs::File::options().write(true).open(folder.join("big.toprank-data")).unwrap());
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_mins(1) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    (child.wait_with_output().unwrap(), folder.join("m.toprank").exists())
}

#[cfg(all(unix, feature = "neural"))]
#[test]
fn a_data_file_overwritten_in_place_while_training_is_an_error_and_no_model() {
    use std::os::unix::fs::FileExt;
    let (out, model) = disturbed(|file| file.write_all_at(&vec![0x3f; 40_000], 1 << 12).unwrap());
    let error = error_of(&out);
    assert_eq!(out.status.code(), Some(3), "{error}");
    assert!(
        error.contains("big.toprank-data: bytes ") && error.contains("have changed since it was opened"),
        "{error}"
    );
    assert!(!model, "no model is written");
}

#[cfg(all(unix, feature = "neural"))]
#[test]
fn a_data_file_shortened_while_training_is_an_error_and_no_crash() {
    let (out, model) = disturbed(|file| file.set_len(4096).unwrap());
    let error = error_of(&out);
    assert_eq!(out.status.code(), Some(3), "{error}");
    assert!(error.contains("shortened") || error.contains("bytes, but"), "{error}");
    assert!(!model, "no model is written");
}

#[test]
fn files_that_are_no_edges_are_refused_and_endless_files_are_not_read_to_their_end() {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 6 --seed 2 -o letor");
    shell.ok("train --data letor/train.txt --model trees --n-estimators 3 -o trees.toprank --quiet");
    let error = shell.fails(3, "pagerank rank --edges trees.toprank");
    assert!(error.contains("trees.toprank: a file that is not text"), "{error}");
    if !Path::new("/dev/zero").exists() {
        return;
    }
    let error = shell.fails(3, "pagerank rank --edges /dev/zero");
    assert!(error.contains("/dev/zero: a file that is not text"), "{error}");
    shell.fails(3, "import /dev/zero -o m.toprank");
    for args in [
        "train --config /dev/zero",
        "tune --config /dev/zero",
        "train --data letor/train.txt --from /dev/zero --model trees -o m.toprank",
        "predict /dev/zero --data letor/test.txt",
        "evaluate --data letor/test.txt --scores /dev/zero",
        "compare --data letor/test.txt a=/dev/zero b=/dev/zero",
        "pagerank rank --edges letor/test.txt --seeds /dev/zero",
        "fuse /dev/zero /dev/zero",
    ] {
        let error = shell.fails(3, args);
        assert!(error.contains("/dev/zero"), "toprank {args}\n{error}");
    }
    shell.fails(3, "pagerank sessions --log /dev/zero -o graphs");
    shell.fails(3, "inspect /dev/zero");
    shell.fails(3, "evaluate --qrels /dev/zero --run /dev/zero --metrics map");
    let formats = json(&shell.ok("formats --json"));
    for format in formats["formats"].as_array().unwrap() {
        let name = format["name"].as_str().unwrap();
        let error = shell.fails(3, &format!("inspect /dev/zero --input-format {name}"));
        assert!(error.contains("/dev/zero"), "{name}: {error}");
    }
}

/// A folder with one good file of every kind that a command reads.
fn good_files() -> Toprank {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 8 --seed 2 -o letor");
    shell.ok("generate graphs --queries 3 --seed 2 -o graphs");
    shell.ok("generate interactions --users 12 --items 15 --length 6 --seed 2 -o shop");
    shell.ok("generate sessions --users 6 --seed 2 -o clicks");
    shell.ok("train --data letor/train.txt --model trees --n-estimators 3 -o trees.toprank --quiet");
    shell.ok(
        "recommend train --data shop/interactions.csv --model mf:width=2 --epochs 1 -o rec.toprank --quiet",
    );
    shell.ok("pagerank train --graphs graphs --steps 1 -o walk.toprank --quiet");
    shell.ok("export trees.toprank --to lightgbm -o trees.txt --probes 10");
    shell.ok("predict trees.toprank --data letor/test.txt -o scores.txt");
    shell.ok("predict trees.toprank --data letor/test.txt --trec-run -o trees.run");
    shell.file("edges.txt", "a b\nb c\nc a\n");
    shell.file("seeds.txt", "a\n");
    shell.file("q.qrels", "q 0 d1 1\nq 0 d2 0\n");
    shell.file("a.run", "q Q0 d1 1 0.5 t\nq Q0 d2 2 0.4 t\n");
    shell.file("binary.csv", "x,label\n1,1\n2,0\n3,1\n4,0\n");
    shell.file("binary.txt", "0.5\n0.4\n0.3\n0.2\n");
    shell.file(
        "run.toml",
        "data = \"letor/train.txt\"\nmodel = \"trees\"\ntrees = 1\noutput = \"m.toprank\"\n",
    );
    shell.file(
        "space.toml",
        "data = \"letor/train.txt\"\nvalid = \"letor/vali.txt\"\nmodel = \"trees\"\n[tune]\ntrials = 1\n[space]\ntrees = [1, 2]\n",
    );
    let items: String = (0..15).map(|i| format!("i{i},{}\n", i % 4)).collect();
    shell.file("items.csv", &format!("item,size\n{items}"));
    shell.file("nodes.csv", "graph,node,f\ng1,a,1\ng1,b,2\ng2,a,1\ng2,b,3\n");
    shell.file("bonds.csv", "graph,from,to\ng1,a,b\ng2,a,b\n");
    shell.file("graphs.csv", "mol,label\ng1,1\ng2,0\ng1,1\ng2,0\n");
    shell.file("lines.jsonl", "{\"id\": 1, \"features\": [{\"1\": 2}]}\n");
    if cfg!(feature = "neural") {
        let rows: String =
            (0..24).map(|i| format!("{},{},{}\n", ["a", "b", "c"][i % 3], i % 3, i * i % 7)).collect();
        shell.file("rows.csv", &format!("kind,x,y\n{rows}"));
        let small = "--model mlp:hidden=2 --epochs 1 -o emb.toprank --quiet";
        shell.ok(&format!("embed train --data rows.csv --class kind --split 100/0/0 {small}"));
        shell.ok("train --data letor/train.txt --model linear --epochs 1 -o linear.toprank --quiet");
    }
    shell
}

/// Every command, with `@` for one of the files that it reads, and a good file of that kind.
const READERS: &[(&str, &str)] = &[
    ("evaluate --data @ --feature 1 --metrics map", "letor/test.txt"),
    ("evaluate --data letor/test.txt --scores @ --metrics map", "scores.txt"),
    ("evaluate --qrels @ --run a.run --metrics map", "q.qrels"),
    ("evaluate --qrels q.qrels --run @ --metrics map", "a.run"),
    ("evaluate --data binary.csv --scores binary.txt --also other=@ --plot p.svg", "binary.txt"),
    ("compare --data letor/test.txt a=@ b=scores.txt --metrics map", "scores.txt"),
    ("compare --qrels q.qrels a=@ b=a.run --metrics map", "a.run"),
    ("threshold --data binary.csv --scores @ --recall 0.5", "binary.txt"),
    ("threshold --data @ --scores binary.txt --recall 0.5", "binary.csv"),
    ("fuse @ a.run -o fused.run", "a.run"),
    ("train --data @ --model trees --trees 1 -o m.toprank --quiet", "letor/train.txt"),
    ("train --data letor/train.txt --valid @ --model trees --trees 1 -o m.toprank --quiet", "letor/vali.txt"),
    ("train --data letor/train.txt --from @ --model trees --trees 1 -o m.toprank --quiet", "trees.toprank"),
    ("train --config @ --quiet", "run.toml"),
    ("train --resume @", "trees.toprank"),
    ("tune --config @ -o tuned --quiet", "space.toml"),
    ("predict @ --data letor/test.txt", "trees.toprank"),
    ("predict trees.toprank --data @", "letor/test.txt"),
    ("explain @ --data letor/test.txt", "trees.toprank"),
    ("explain trees.toprank --data @", "letor/test.txt"),
    ("export @ -o out.txt --to lightgbm --probes 10", "trees.toprank"),
    ("import @ -o imported.toprank", "trees.txt"),
    ("recommend train --data @ --model mf:width=2 --epochs 1 -o r.toprank --quiet", "shop/interactions.csv"),
    (
        "recommend train --data shop/interactions.csv --item-features @ --model two-tower:width=2 --epochs 1 -o r.toprank --quiet",
        "items.csv",
    ),
    (
        "recommend train --data shop/interactions.csv --from @ --model mf:width=2 --epochs 1 -o r.toprank --quiet",
        "rec.toprank",
    ),
    ("recommend evaluate @", "rec.toprank"),
    ("recommend top @ --all", "rec.toprank"),
    ("pagerank rank --edges @", "edges.txt"),
    ("pagerank rank --edges edges.txt --seeds @", "seeds.txt"),
    ("pagerank sessions --log @ -o sessions", "clicks/sessions.tsv"),
    ("pagerank train --graphs graphs --judgements @ --steps 1 -o w.toprank --quiet", "graphs/judgements.tsv"),
    ("pagerank train --graphs graphs --from @ --steps 1 -o w.toprank --quiet", "walk.toprank"),
    ("pagerank predict @ --graphs graphs", "walk.toprank"),
    ("pagerank evaluate @ --graphs graphs", "walk.toprank"),
    ("pagerank evaluate walk.toprank --graphs graphs --judgements @", "graphs/judgements.tsv"),
    ("inspect @", "letor/test.txt"),
    ("inspect letor/test.txt --against @", "letor/train.txt"),
    ("convert @ out.csv", "letor/test.txt"),
    ("convert @ out.toprank-data", "letor/test.txt"),
    ("convert letor/test.txt out.run --scores @", "scores.txt"),
    ("split @ -o parts --force", "letor/test.txt"),
    ("gradient --data @ --feature 1 --objective listnet", "letor/test.txt"),
    ("gradient --data letor/test.txt --scores @ --objective listnet", "scores.txt"),
];

/// Those that need networks.
#[cfg(feature = "neural")]
const NETWORK_READERS: &[(&str, &str)] = &[
    ("embed train --data @ --class kind --split 100/0/0 --epochs 1 -o e.toprank --quiet", "rows.csv"),
    (
        "embed train --data rows.csv --class kind --split 100/0/0 --from @ --model mlp:hidden=2 --epochs 1 -o e.toprank --quiet",
        "emb.toprank",
    ),
    ("embed apply @ --data rows.csv -o v.csv", "emb.toprank"),
    ("embed apply emb.toprank --data @ -o v.csv", "rows.csv"),
    ("retrieve @ --queries rows.csv --class kind", "emb.toprank"),
    ("retrieve emb.toprank --queries rows.csv --gallery @ --class kind", "rows.csv"),
    ("export @ --to onnx -o out.onnx --probes 10", "linear.toprank"),
    (
        "train --data graphs.csv --graph mol --nodes @ --edges bonds.csv --model gin:layers=1:hidden=2 --epochs 1 -o g.toprank --quiet",
        "nodes.csv",
    ),
    (
        "train --data graphs.csv --graph mol --nodes nodes.csv --edges @ --model gin:layers=1:hidden=2 --epochs 1 -o g.toprank --quiet",
        "bonds.csv",
    ),
];
#[cfg(not(feature = "neural"))]
const NETWORK_READERS: &[(&str, &str)] = &[];

#[test]
fn a_file_of_another_format_makes_no_command_panic() {
    let shell = good_files();
    let mut files = toprank_testkit::swapped_files();
    let stored = ["trees.toprank", "rec.toprank", "walk.toprank", "emb.toprank"];
    for name in stored.into_iter().filter(|name| shell.has(name)) {
        files.push((name.into(), shell.bytes(name)));
    }
    let mut unnamed = Vec::new();
    let drawn = |command: &str| command.contains("--plot");
    let readers = READERS.iter().chain(NETWORK_READERS);
    for (command, good) in readers.filter(|(command, _)| cfg!(feature = "plots") || !drawn(command)) {
        // A command that fails for another reason would show nothing.
        shell.ok(&command.replace('@', good));
        let command = command.replace('@', "swapped");
        for (name, bytes) in &files {
            shell.file_of_bytes("swapped", bytes);
            let (code, _, error) = shell.any(&command);
            let known = matches!(code, Some(0..=3)) && !error.contains("panicked");
            assert!(known, "toprank {command}, swapped: {name}: {code:?}\n{error}");
            // The file, or the one that it does not fit to; or the setting whose default does not suit the data.
            let mut files = command
                .split(&[' ', '='][..])
                .filter(|word| word.contains('.') || ["swapped", "parts"].contains(word));
            let named =
                files.any(|file| error.contains(file)) || error.starts_with("error: the objective of ");
            if code != Some(0) && !named {
                unnamed.push(format!("toprank {command}, swapped: {name}\n  {error}"));
            }
        }
    }
    assert!(unnamed.is_empty(), "{} errors do not name the file:\n{}", unnamed.len(), unnamed.join(""));
    // Requests come from standard input.
    #[cfg(unix)]
    for (name, bytes) in &files {
        shell.file_of_bytes("swapped", bytes);
        let out = shell.sh("\"$TOPRANK\" predict trees.toprank --jsonl < swapped");
        let error = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(matches!(out.status.code(), Some(0..=3)), "requests, swapped: {name}: {error}");
    }
}

/// A file of 30 kB that is 4.4 GB as dense rows of floats.
fn sparse_rows() -> String {
    (0..1100)
        .map(|i| format!("{} qid:{} {}:1 {}:0.5\n", i % 3, i / 10, i + 1, 1_000_000 + i % 40_000))
        .collect()
}

#[test]
fn sparse_data_are_not_written_as_a_dense_table_beyond_all_measure() {
    let shell = Toprank::new();
    shell.file("sparse.txt", &sparse_rows());
    for format in ["csv", "tsv", "parquet", "arrow"] {
        let error = shell.fails(2, &format!("convert sparse.txt sparse.{format}"));
        assert!(error.contains("1100 rows of 1001099 features, of which 2200 values are not 0"), "{error}");
        assert!(!shell.has(&format!("sparse.{format}")));
    }
    shell.file("wide.txt", "1 qid:1 1000000:1\n0 qid:1 1:1\n");
    for format in ["parquet", "arrow"] {
        let error = shell.fails(2, &format!("convert wide.txt wide.{format}"));
        assert!(error.contains("1000002 columns"), "{error}");
    }
    shell.ok("convert sparse.txt sparse.toprank-data");
    shell.ok("convert sparse.toprank-data again.libsvm");
    assert_eq!(shell.read("again.libsvm").lines().count(), 1100);
}

/// A call whose memory is limited to `kilobytes` of address space.
#[cfg(target_os = "linux")]
fn limited(folder: &Path, kilobytes: u64, args: &str) -> Output {
    let call = format!("ulimit -v {kilobytes}; exec {} {args}", env!("CARGO_BIN_EXE_toprank"));
    Command::new("sh").args(["-c", &call]).current_dir(folder).output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_million_sparse_features_are_described_in_little_memory_and_few_lines() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sparse.txt"), sparse_rows()).unwrap();
    // As a table of a million lines it was 3 GB.
    let out = limited(folder.path(), 1_500_000, "inspect sparse.txt --threads 2");
    assert!(out.status.success(), "{}", error_of(&out));
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.lines().count() < 1100 && text.contains("… and 1000099 more features"), "{}", text.len());
}

#[cfg(target_os = "linux")]
#[test]
fn trees_learn_from_sparse_data_without_a_dense_copy() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sparse.txt"), sparse_rows()).unwrap();
    // The dense copy alone would be 4.4 GB.
    let train = "train --data sparse.txt --model trees --n-estimators 2 --threads 2 -o m.toprank --quiet";
    let out = limited(folder.path(), 2_500_000, train);
    assert!(out.status.success(), "{}", error_of(&out));
    // What is dense by nature is bounded: 10,000 rows to verify an export on would be 40 GB, SHAP values 9 GB.
    for format in ["lightgbm", "xgboost", "onnx"] {
        let out =
            limited(folder.path(), 2_500_000, &format!("export m.toprank --to {format} -o out.{format}"));
        assert!(out.status.success(), "{format}: {}", error_of(&out));
    }
    for (code, args, message) in [
        (
            2,
            "export m.toprank --to lightgbm --probes 1000 -o x.txt",
            "1001099000 values together; expected at most",
        ),
        (3, "explain m.toprank --data sparse.txt --shap -o why", "SHAP values would be 1101208900"),
    ] {
        let out = limited(folder.path(), 2_500_000, args);
        assert_eq!(out.status.code(), Some(code), "{args}: {}", error_of(&out));
        assert!(error_of(&out).contains(message), "{args}: {}", error_of(&out));
    }
}

#[test]
fn a_chain_of_twenty_thousand_nodes_is_imported_at_once() {
    // Cubic time would be weeks; the same holds for the sizes of the next two tests, which quadratic time would make endless.
    let shell = Toprank::new();
    let n = 20_000;
    let row = |key: &str, of: &dyn Fn(i64) -> String, count: i64| {
        let words: Vec<String> = (0..count).map(of).collect();
        format!("{key}={}\n", words.join(" "))
    };
    let last = |i: i64| if i == n - 1 { -1 - n } else { i + 1 };
    let tree = [
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective=lambdarank\n"
            .to_string(),
        format!("feature_names=f0\n\nTree=0\nnum_leaves={}\nnum_cat=0\n", n + 1),
        row("split_feature", &|_| "0".into(), n),
        row("threshold", &|i| format!("{}", i as f64 / 2.0), n),
        row("decision_type", &|_| "2".into(), n),
        row("left_child", &|i| (-1 - i).to_string(), n),
        row("right_child", &|i| last(i).to_string(), n),
        row("leaf_value", &|i| i.to_string(), n + 1),
        "\nend of trees\n".into(),
    ];
    shell.file("chain.txt", &tree.concat());
    shell.ok("import chain.txt -o chain.toprank");
    shell.file("data.csv", "label,f0\n1,7.2\n0,5000\n");
    assert_eq!(shell.ok("predict chain.toprank --data data.csv"), "15.0\n10000.0\n");
}

#[test]
fn molecules_of_a_hundred_thousand_atoms_are_split_by_scaffold_at_once() {
    let shell = Toprank::new();
    let chain = |length: usize| format!("C1CC1{}C1CC1", "C".repeat(length));
    let rows: String = (0..4).map(|i| format!("{},{}\n", chain(100_000 + i / 2), i % 2)).collect();
    shell.file("molecules.csv", &format!("smiles,label\n{rows}"));
    let out = json(
        &shell.ok("split molecules.csv --smiles smiles --method scaffold:fractions=50/50 -o parts --json"),
    );
    // Two scaffolds, told apart by one atom, of two molecules each.
    let items: Vec<u64> =
        out["files"].as_array().unwrap().iter().map(|f| f["items"].as_u64().unwrap()).collect();
    assert_eq!(items, [2, 2]);
}

#[test]
fn names_of_a_hundred_thousand_characters_are_answered_at_once() {
    let shell = Toprank::new();
    let names: String =
        (0..600).map(|i| format!("{}{i},item{},1\n", "u".repeat(2_000), i % 7)).collect::<Vec<_>>().concat();
    shell.file("taste.csv", &format!("user,item,rating\n{names}"));
    shell.ok("recommend train --data taste.csv --list user --item item --label rating --epochs 1 -o rec.toprank --quiet");
    let error = shell.fails(2, &format!("recommend top rec.toprank --user {}", "x".repeat(100_000)));
    assert!(error.contains("xxx…") && error.len() < 2_000, "{} bytes", error.len());
}

#[test]
fn more_threads_than_any_machine_has_are_refused() {
    let shell = Toprank::new();
    shell.file("a.txt", "1 qid:1 1:1\n");
    let error = shell.fails(2, "inspect a.txt --threads 10000");
    assert!(error.contains("1..=1024"), "{error}");
    shell.ok("inspect a.txt --threads 64");
}

#[test]
fn the_formats_say_which_of_them_find_damage() {
    let shell = Toprank::new();
    for call in ["formats", "formats parquet", "formats toprank-data"] {
        let text = shell.ok(call).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("hold a checksum of every 256 KiB"), "{call}: {text}");
    }
}

//! What the command does to a user's files, terminal and pipes when something is wrong: nothing is overwritten or dropped
//! without a word, names in files are only text, and every error names its file and its cause.

mod common;

use common::{Toprank, json};

const LETOR: &str =
    "1 qid:1 1:1 2:3 # d1\n0 qid:1 1:2 2:1 # d2\n1 qid:2 1:1 2:2 # d3\n0 qid:2 1:3 2:1 # d4\n";
const TABLE: &str = "qid,label,price,title\n1,1,0.5,red\n1,0,0.2,blue\n2,0,0.1,a\n2,1,0.4,b\n";

/// A folder with data, a small model and scores.
fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.file("v.txt", LETOR);
    shell.file("t.csv", TABLE);
    shell.file("s.txt", "0.4\n0.3\n0.2\n0.1\n");
    shell.ok("train --data v.txt --model trees --trees 1 -o m.toprank --quiet");
    shell
}

/// Characters that a terminal obeys, or that turn the direction of the text behind them.
fn obeyed(text: &str) -> Vec<char> {
    let unsafe_to_show = |c: &char| {
        (c.is_control() && *c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().filter(unsafe_to_show).collect()
}

#[cfg(unix)]
#[test]
fn no_command_writes_over_a_file_that_it_reads_under_any_name() {
    let shell = shell();
    shell.sh("ln -s v.txt link.txt; ln v.txt hard.txt; mkdir x same; cp v.txt x/train.txt; ln -s ../v.txt same/test.txt");
    shell.file("c.toml", "data = \"v.txt\"\noutput = \"hard.txt\"\n");
    shell.file("q.qrels", "q 0 d1 1\n");
    shell.file("a.run", "q Q0 d1 1 0.5 t\n");
    shell.sh("mkdir tuned; printf 'data = \"v.txt\"\\nmodel = \"trees\"\\n[space]\\ntrees = [1, 2]\\n' > tuned/best.toml");
    let model = shell.bytes("m.toprank");
    for (args, written, read) in [
        ("train --data v.txt --model trees --trees 1 -o v.txt", "v.txt", "--data"),
        ("train --data v.txt --model trees --trees 1 -o link.txt", "link.txt", "--data"),
        ("train --data t.csv --valid v.txt --model trees --trees 1 -o hard.txt", "hard.txt", "--valid"),
        ("train --data v?txt --model trees --trees 1 -o v.txt", "v.txt", "--data"),
        ("train --config c.toml --model trees --trees 1", "hard.txt", "data"),
        ("train --data v.txt --from m.toprank --model trees --trees 1 -o m.toprank", "m.toprank", "--from"),
        ("predict m.toprank --data v.txt -o link.txt", "link.txt", "--data"),
        ("predict m.toprank --data v.txt -o m.toprank", "m.toprank", "MODEL"),
        ("convert v.txt ./v.txt", "./v.txt", "FROM"),
        ("convert v.txt hard.txt", "hard.txt", "FROM"),
        ("convert v.txt s.txt --scores s.txt", "s.txt", "--scores"),
        ("split x/train.txt -o x", "x/train.txt", "DATA"),
        ("split x/train.txt -o x --force", "x/train.txt", "DATA"),
        ("split v.txt -o same --force", "same/test.txt", "DATA"),
        ("evaluate --data v.txt --scores s.txt --per-list s.txt", "s.txt", "--scores"),
        ("evaluate --data v.txt --scores s.txt --plot link.txt", "link.txt", "--data"),
        ("compare --data v.txt a=s.txt b=s.txt --per-list s.txt", "s.txt", "NAME=FILE"),
        ("gradient --data v.txt --feature 1 --objective listnet -o v.txt", "v.txt", "--data"),
        ("fuse a.run a.run -o a.run", "a.run", "RUNS"),
        ("export m.toprank --to lightgbm -o m.toprank", "m.toprank", "MODEL"),
        ("tune --config tuned/best.toml -o tuned", "tuned/best.toml", "--config"),
        ("pagerank rank --edges s.txt -o s.txt", "s.txt", "--edges"),
    ] {
        let error = shell.fails(2, args);
        let expected = format!(
            "error: {written}: a file that this command reads ({read}); expected another file to write."
        );
        assert!(error.trim_end().ends_with(&expected), "toprank {args}\n{error}");
    }
    let stdin = shell.sh("\"$TOPRANK\" convert - v.txt --input-format letor --to letor < v.txt");
    assert_eq!(stdin.status.code(), Some(2));
    assert_eq!((shell.read("v.txt"), shell.read("x/train.txt")), (LETOR.into(), LETOR.into()));
    assert_eq!(shell.bytes("m.toprank"), model);
    assert_eq!(shell.names("x"), ["train.txt"]);
}

#[test]
fn files_of_others_are_not_overwritten_by_generate_split_and_quickstart_without_force() {
    let shell = shell();
    for folder in ["g", "q", "q/data"] {
        std::fs::create_dir(shell.path(folder)).unwrap();
    }
    shell.file("g/train.txt", "mine\n");
    shell.file("q/data/train.txt", "mine\n");
    for args in ["generate letor --lists 3 -o g", "split v.txt -o g"] {
        let error = shell.fails(2, args);
        assert!(error.contains("g: already has train.txt") && error.contains("--force"), "{error}");
    }
    let error = shell.fails(2, "quickstart --lists 20 -o q");
    assert!(error.contains("q: has files that quickstart did not write"), "{error}");
    assert_eq!(
        (shell.read("g/train.txt"), shell.read("q/data/train.txt")),
        ("mine\n".into(), "mine\n".into())
    );
    shell.ok("generate letor --lists 3 -o g --force");
    assert_ne!(shell.read("g/train.txt"), "mine\n");
}

#[test]
fn columns_are_kept_or_named_in_an_error_and_dropped_only_if_asked() {
    let shell = shell();
    shell.ok("convert t.csv copy.csv");
    assert_eq!(shell.read("copy.csv"), TABLE);
    shell.ok("split t.csv --method k-fold:k=2 -o parts");
    for name in shell.names("parts") {
        assert!(shell.read(&format!("parts/{name}")).starts_with("qid,label,price,title\n"), "{name}");
    }
    for args in ["convert t.csv out.txt", "split t.csv --to letor -o letor"] {
        let error = shell.fails(2, args);
        assert!(error.contains("no place: title;") && error.contains("--drop"), "{error}");
    }
    assert!(!shell.has("out.txt") && shell.names("letor").is_empty());
    shell.ok("convert t.csv out.txt --drop");
    assert_eq!(shell.read("out.txt").lines().next(), Some("1 qid:1 1:0.5"));

    shell.file("i.csv", "user,item,rating,title\nu,i,5,Alien\nv,i,4,Alien\n");
    let error = shell.fails(2, "convert i.csv o.inter --input-format interactions");
    assert!(error.contains("cannot hold: title") && error.contains("--drop"), "{error}");
    shell.ok("convert i.csv o.inter --input-format interactions --drop");

    // Columns beside the molecules are kept, too.
    shell.file(
        "m.csv",
        "smiles,label,weight_g,name\nCCO,1,2.5,ethanol\nCCC,0,3,propane\nc1ccccc1,1,4,benzene\n",
    );
    shell.ok("split m.csv --method scaffold --smiles smiles -o molecules");
    let all: String =
        shell.names("molecules").iter().map(|name| shell.read(&format!("molecules/{name}"))).collect();
    assert!(all.contains("benzene") && all.contains("weight_g") && all.contains("2.5"), "{all}");

    shell.file("index.csv", ",label,x\n0,1,2\n1,0,3\n");
    let error = shell.fails(2, "convert index.csv index2.csv");
    assert!(error.contains("column 1, which has no name"), "{error}");
    shell.ok("convert index.csv index2.csv --drop");
}

#[test]
fn names_in_files_reach_no_terminal_as_control_characters() {
    let shell = shell();
    let evil = "\u{1b}[31mred\u{7}\u{9b}2J\u{202e}gpj";
    let mut data = format!("qid,label,item,f1,{evil}\n");
    for row in 0..8 {
        data += &format!("{evil}{},{},{evil}{row},{row},{}\n", row / 4, row % 2, row * row % 5);
    }
    shell.file("evil.csv", &data);
    shell.file("evil.run", &format!("q{evil} Q0 d{evil} 1 0.5 {evil}\n"));
    shell.file("evil.qrels", &format!("q{evil} 0 d{evil} 1\n"));
    shell.ok("train --data evil.csv --model trees --trees 2 -o e.toprank --quiet");
    let all = [
        "inspect evil.csv",
        "inspect e.toprank",
        "evaluate --data evil.csv --feature f1",
        "evaluate --data evil.csv --feature f1 --by item",
        "evaluate --data evil.csv --feature f1 --by item --format csv",
        "evaluate --data evil.csv --feature f1 --by item --format markdown",
        "evaluate --data evil.csv --feature f1 --by item --format latex",
        "evaluate --data evil.csv --feature f1 --by item --json",
        "evaluate --data evil.csv --feature f1 --per-list -",
        "explain e.toprank --data evil.csv",
        "predict e.toprank --data evil.csv --top 1",
        "predict e.toprank --data evil.csv --top 1 --json",
        "train --data evil.csv --model trees --trees 1 -o e2.toprank",
        "split evil.csv -o evil.parts",
    ];
    for args in all {
        let (out, notes) = shell.with_notes(args);
        assert_eq!(obeyed(&out), [], "toprank {args}\n{out:?}");
        assert_eq!(obeyed(&notes), [], "toprank {args}\n{notes:?}");
    }
    let value = json(&shell.ok("predict e.toprank --data evil.csv --top 1 --json"));
    assert_eq!(value["top"][0]["list"], format!("{evil}0"), "a parser of JSON reads the name as it is");
    for (code, args) in [
        (2, "evaluate --data evil.csv --feature none"),
        (2, "evaluate --data evil.csv --label none --feature f1"),
        (3, "predict m.toprank --data evil.csv"),
        (3, "convert evil.run out.csv --input-format letor"),
    ] {
        let error = shell.fails(code, args);
        assert_eq!(obeyed(&error), [], "toprank {args}\n{error:?}");
    }
    shell.file("words.csv", &format!("qid,label,x,{evil}\n1,1,2,a\n1,0,3,b\n"));
    let error = shell.fails(2, "convert words.csv out.txt");
    assert!(error.contains("\\u{1b}[31m") && obeyed(&error).is_empty(), "{error:?}");
}

#[test]
fn names_in_files_are_no_markup_and_no_formula() {
    let shell = Toprank::new();
    shell.file(
        "d.csv",
        "qid,label,x,by\n=1+1,1,2,a|b\n=1+1,0,1,a|b\n@sum,1,1,<script>x</script>\n@sum,0,2,<script>x</script>\n-5,1,1,*b*\n-5,0,0,*b*\n",
    );
    let csv = shell.ok("evaluate --data d.csv --feature x --per-list lists.csv --by by --format csv");
    let lists = shell.read("lists.csv");
    assert!(lists.contains("\n'=1+1,") && lists.contains("\n'@sum,") && lists.contains("\n-5,"), "{lists}");
    assert!(!csv.contains("\n="), "{csv}");
    let markdown = shell.ok("evaluate --data d.csv --feature x --by by --format markdown");
    assert!(markdown.contains("a\\|b") && markdown.contains("&lt;script&gt;x&lt;/script&gt;"), "{markdown}");
    assert!(!markdown.contains("<script>") && markdown.contains("\\*b\\*"), "{markdown}");
    let latex = shell.ok("evaluate --data d.csv --feature x --by by --format latex");
    assert!(latex.contains("$<$script$>$"), "{latex}");
    shell.file("s.txt", "1\n2\n3\n4\n5\n6\n");
    shell.file("s2.txt", "1\n2\n4\n3\n6\n5\n");
    #[cfg(feature = "plots")]
    {
        shell.ok("compare --data d.csv <b>\u{202e}x=s.txt b=s2.txt -m ndcg@2 --plot p.svg");
        let svg = shell.read("p.svg");
        assert!(!svg.contains("<b>") && svg.contains("&lt;b&gt;") && !svg.contains('\u{202e}'), "{svg}");
    }
    let markdown = shell.ok("compare --data d.csv <b>|x=s.txt **y**=s2.txt -m ndcg@2 --format markdown");
    assert!(!markdown.contains("<b>") && markdown.contains("&lt;b&gt;\\|x"), "{markdown}");
}

#[cfg(unix)]
#[test]
fn a_run_goes_on_if_nobody_can_read_its_notes() {
    let shell = shell();
    for (closed, name) in [("2>/dev/full", "full"), ("2>&-", "closed")] {
        let train =
            format!("\"$TOPRANK\" train --data t.csv --model trees --trees 2 -o {name}.toprank {closed}");
        let out = shell.sh(&train);
        assert_eq!(out.status.code(), Some(0), "{train}");
        assert!(String::from_utf8_lossy(&out.stdout).contains(&format!("model: {name}.toprank")));
        shell.ok(&format!("predict {name}.toprank --data t.csv -o {name}.txt"));
        let wrong = shell.sh(&format!("\"$TOPRANK\" evaluate --data missing.txt --feature 1 {closed}"));
        assert_eq!(wrong.status.code(), Some(1), "an error keeps its exit code");
    }
    let full = shell.sh("\"$TOPRANK\" evaluate --data v.txt --feature 1 >/dev/full");
    assert_eq!(full.status.code(), Some(1), "a result that nobody gets is a failure");
    assert!(String::from_utf8_lossy(&full.stderr).contains("standard output: "), "{full:?}");
}

#[test]
fn a_line_of_json_that_cannot_be_scored_is_answered_and_the_next_is_served() {
    let shell = shell();
    let input = "{\"id\": 1, \"features\": [[1, 2]]}\n{\"id\": \"two\", \"features\": [[1]]}\nnonsense\n\
                 {\"id\": 4, \"features\": [{\"speed\": 1}]}\n\u{0}\n{\"id\": 5, \"features\": [[1, 2]]}\n";
    let answers = shell.with_input("predict m.toprank --jsonl", input);
    let answers: Vec<serde_json::Value> = answers.lines().map(json).collect();
    assert_eq!(answers.len(), 6);
    for (place, id) in [(0, 1), (5, 5)] {
        assert_eq!(answers[place]["id"], id);
        assert!(answers[place]["scores"][0].is_f64() && answers[place].get("error").is_none());
    }
    assert_eq!(answers[1]["id"], "two");
    for (place, message) in
        [(1, "stdin:2: 1 features"), (2, "stdin:3: "), (3, "stdin:4: feature \"speed\""), (4, "stdin:5: ")]
    {
        let error = answers[place]["error"].as_str().expect("an error");
        assert!(error.contains(message) && answers[place].get("scores").is_none(), "{error}");
    }
    let (answered, error) = shell.fails_with_input(3, "predict m.toprank --jsonl --strict", input);
    assert_eq!(answered.lines().count(), 1);
    assert!(error.contains("stdin:2: 1 features of item 1; expected 2"), "{error}");
    shell.fails(2, "predict m.toprank --data v.txt --strict");
}

#[test]
fn errors_name_the_file_and_the_cause() {
    let shell = shell();
    std::fs::create_dir(shell.path("dir")).unwrap();
    shell.file("empty.txt", "");
    shell.file("wrong.toml", "lerning-rate = 1\n");
    shell.file_of_bytes("bytes.toml", b"epochs = \xff\n");
    shell.file("words.csv", "qid,label,x\n1,yes,2\n1,no,3\n");
    shell.file_of_bytes("latin.csv", b"qid,label,caf\xe9\n1,1,2\n");
    let train = "train --model trees --trees 1";
    for (code, args, parts) in [
        (1, "evaluate --data missing.txt --feature 1", &["missing.txt: No such file"][..]),
        (2, "evaluate --data dir --feature 1", &["dir: a folder; expected a file"]),
        (3, "evaluate --data empty.txt --feature 1", &["empty.txt: an empty file"]),
        (3, "evaluate --data words.csv --feature x", &["words.csv:2: column label: \"yes\" is not a number"]),
        (3, "evaluate --data latin.csv --feature x", &["latin.csv:1: ", "not UTF-8"]),
        (2, "evaluate --data t.csv --label grade --feature price", &["t.csv: no column is called grade"]),
        (
            2,
            "evaluate --data v.txt --feature 1 -m ndgc",
            &["unknown metric \"ndgc\"; did you mean \"ndcg\"?"],
        ),
        (
            1,
            "evaluate --data v.txt --feature 1 --per-list no/l.csv",
            &["no/l.csv: the folder no does not exist"],
        ),
        // Before any data are read: none of these files exists.
        (
            2,
            "evaluate --data none.txt --feature 1 --plot p.pdf",
            &["p.pdf: expected a name that ends in .svg"],
        ),
        (2, "compare --data none.txt a=a.txt b=b.txt --plot p", &["p: expected a name that ends in .svg"]),
        (
            2,
            "pagerank train --graphs none -o w.toprank --plot p.jpg",
            &["p.jpg: expected a name that ends in"],
        ),
        (1, "evaluate --data v.txt --feature 1 --plot no/p.svg", &["no/p.svg: the folder no does not exist"]),
        (1, "predict m.toprank --data v.txt -o no/s.txt", &["no/s.txt: the folder no does not exist"]),
        (2, "predict m.toprank --data v.txt -o dir", &["dir: a folder; expected a file name"]),
        (3, "predict v.txt --data v.txt", &["v.txt: ", "expected a toprank model"]),
        (3, "predict empty.txt --data v.txt", &["empty.txt: ", "expected a toprank model"]),
        (3, "predict m.toprank --data t.csv", &["t.csv: ", "features of the model"]),
        (2, "predict m.toprank --data v.txt --probability", &["m.toprank: ", "--folds or --valid"]),
        (
            3,
            "recommend top m.toprank --user x",
            &["m.toprank: a toprank model, expected a toprank recommender"],
        ),
        (2, "recommend train --data v.txt -o r.toprank", &["v.txt: ", "lists of rows with features"]),
        (2, "split v.txt -o s.txt", &["s.txt: a file; expected a folder"]),
        (2, "generate letor -o s.txt", &["s.txt: a file; expected a folder"]),
        (1, "convert v.txt no/out.csv", &["no/out.csv: the folder no does not exist"]),
        (2, "convert v.txt out.xyz", &["out.xyz: an extension of no known format"]),
        (
            1,
            &format!("{train} --data v.txt -o no/m.toprank"),
            &["no/m.toprank: the folder no does not exist"],
        ),
        (2, &format!("{train} --data v.txt -o dir"), &["dir: a folder; expected a file name"]),
        (
            2,
            &format!("{train} --data v.txt --curves s.txt -o x.toprank"),
            &["s.txt: a file; expected a folder"],
        ),
        (2, &format!("{train} --data v.txt --objective foo -o x.toprank"), &["unknown objective \"foo\""]),
        (
            2,
            &format!("{train} --data v.txt --config wrong.toml -o x.toprank"),
            &["wrong.toml: ", "lerning-rate", "did you mean \"learning-rate\"?"],
        ),
        (
            3,
            &format!("{train} --data v.txt --config bytes.toml -o x.toprank"),
            &["bytes.toml: bytes that are not UTF-8"],
        ),
        (1, "train --resume v.txt", &["v.txt: there is neither such a model nor v.txt.checkpoint"]),
        (2, "man -o s.txt", &["s.txt: a file; expected a folder"]),
        (2, "quickstart -o s.txt", &["s.txt: a file; expected a folder"]),
        (1, "import missing.json -o x.toprank", &["missing.json: No such file"]),
        (3, "import v.txt -o x.toprank", &["v.txt: ", "LightGBM"]),
        (1, "tune --config missing.toml", &["missing.toml: No such file"]),
        (2, "pagerank train --graphs dir -o x.toprank", &["dir: no table of edges in this folder"]),
    ] {
        let error = shell.fails(code, args);
        for part in parts {
            assert!(error.contains(part), "toprank {args}: expected {part:?}\n{error}");
        }
        assert!(!error.contains(".toprank-"), "the name of a draft: {error}");
    }
    assert!(!shell.has("x.toprank") && !shell.has("no"));
}

#[cfg(unix)]
#[test]
fn the_exit_codes_are_those_of_the_table() {
    let readme = include_str!("../../../README.md");
    let shell = shell();
    shell.sh("mkdir sub");
    let reached = [
        (0, shell.sh("\"$TOPRANK\" evaluate --data v.txt --feature 1")),
        (0, shell.sh("\"$TOPRANK\" metrics --help | head -n 1")),
        (1, shell.sh("\"$TOPRANK\" evaluate --data missing.txt --feature 1")),
        (2, shell.sh("\"$TOPRANK\" evaluate --data v.txt")),
        (2, shell.sh("\"$TOPRANK\" convert v.txt v.txt")),
        (
            3,
            shell.sh(
                "echo x y z > bad.txt; \"$TOPRANK\" evaluate --data bad.txt --input-format letor --feature 1",
            ),
        ),
    ];
    for (code, out) in reached {
        assert_eq!(out.status.code(), Some(code), "{}", String::from_utf8_lossy(&out.stderr));
    }
    let train = "train --data v.txt --model linear --epochs 1000000 --checkpoint-every 0 -o long.toprank";
    let interrupted =
        cfg!(feature = "neural").then(|| shell.signalled(train, "-INT", "long.toprank.checkpoint", 2));
    assert!(interrupted.is_none_or(|code| code == Some(130)), "{interrupted:?}");
    let (help, man) = (shell.ok("--help"), shell.ok("man"));
    for (code, name) in
        [(0, "done"), (1, "failed"), (2, "wrong usage"), (3, "bad data"), (101, "bug"), (130, "interrupted")]
    {
        assert!(help.contains(&format!("{code} {name}")), "{help}");
        assert!(man.contains(&format!("{name}: ")), "{man}");
        assert!(readme.contains(&format!("| {code} | {name} |")), "README: {code} {name}");
    }
}

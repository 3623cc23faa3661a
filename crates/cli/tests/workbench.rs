//! The pages of `toprank serve`, by the real binary: judging, comparing, trying, playing.

#![cfg(all(unix, feature = "serve"))]

mod common;
#[path = "common/serving.rs"]
mod serving;

use common::{Toprank, json};
use serde_json::{Value, json as value};
use serving::Serving;

const JUDGING: [&str; 9] = [
    "--qrels",
    "qrels",
    "--run",
    "old=old.run",
    "--run",
    "new=new.run",
    "--judgements",
    "judged",
    "--depth=5",
];

/// Twelve queries of ten documents, of which two are judged, and two runs; `name` makes the names of queries and documents.
fn runs(shell: &Toprank, name: impl Fn(&str) -> String) {
    let (mut qrels, mut old, mut new) = (String::new(), String::new(), String::new());
    for q in 0..12 {
        let query = name(&format!("q{q}"));
        for d in 0..10 {
            let document = name(&format!("d{d}"));
            if d < 2 {
                qrels += &format!("{query} 0 {document} {}\n", d * 2);
            }
            old += &format!("{query} Q0 {document} 1 {} old\n", (d * 3 + q) % 10);
            new += &format!("{query} Q0 {document} 1 {} new\n", (d * 7 + q * 2) % 10);
        }
    }
    shell.file("qrels", &qrels);
    shell.file("old.run", &old);
    shell.file("new.run", &new);
}

fn plain(name: &str) -> String {
    name.to_string()
}

fn judge(serving: &Serving, body: &Value) -> (u16, Value) {
    let (status, text) = serving.post("/judge", &body.to_string());
    (status, json(&text))
}

/// Grades the item of an answer, and gives the next answer.
fn grade(serving: &Serving, name: &str, answer: &Value, grade: u8) -> Value {
    let item = &answer["item"];
    let body = value!({"judge": name, "query": item["query"], "document": item["document"], "grade": grade});
    let (status, answer) = judge(serving, &body);
    assert_eq!(status, 200, "{answer}");
    answer
}

fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(plain).collect();
    lines.sort();
    lines
}

#[test]
fn a_grade_is_in_the_files_before_it_is_answered_and_kill_loses_none() {
    let shell = Toprank::new();
    runs(&shell, plain);
    let mut serving = Serving::start(&shell, &JUDGING);
    let (_, mut answer) = judge(&serving, &value!({"judge": "anna"}));
    let mut expected = Vec::new();
    for turn in 0..15 {
        let item = &answer["item"];
        let (query, document) = (item["query"].as_str().unwrap(), item["document"].as_str().unwrap());
        expected.push(format!("{query} 0 {document} {}", turn % 5));
        answer = grade(&serving, "anna", &answer, turn % 5);
        expected.sort();
        assert_eq!(lines(&shell.read("judged/judge-anna.qrels")), expected);
        let consensus = [lines(&shell.read("qrels")), expected.clone()].concat();
        assert_eq!(lines(&shell.read("judged/consensus.qrels")), lines(&consensus.join("\n")));
    }
    serving.child.kill().unwrap();
    serving.child.wait().unwrap();
    let again = Serving::start(&shell, &JUDGING);
    assert_eq!(lines(&shell.read("judged/judge-anna.qrels")), expected);
    let (_, resumed) = judge(&again, &value!({"judge": "anna"}));
    assert_eq!((&resumed["judged"], &resumed["left"]), (&value!(15), &answer["left"]));
    assert_eq!(resumed["item"], answer["item"], "the same item comes next");
    // What was judged can be evaluated at once, and another server may not write there.
    shell.ok("evaluate --qrels judged/consensus.qrels --scores new.run -m ndcg@10,judged@5");
    let error = shell.fails(2, &format!("serve {}", JUDGING.join(" ")));
    assert!(error.contains("another server writes judgements there"), "{error}");
}

#[test]
fn a_server_killed_in_the_middle_of_a_grade_leaves_whole_files() {
    let shell = Toprank::new();
    runs(&shell, plain);
    for round in 0..6_u64 {
        let mut serving = Serving::start(&shell, &JUDGING);
        let before = if shell.has("judged/judge-eve.qrels") {
            lines(&shell.read("judged/judge-eve.qrels"))
        } else {
            Vec::new()
        };
        let (_, answer) = judge(&serving, &value!({"judge": "eve"}));
        let item = &answer["item"];
        let body = value!({"judge": "eve", "query": item["query"], "document": item["document"], "grade": 3})
            .to_string();
        let mut stream = serving.connect();
        let head = serving.head("POST", "/judge", body.len(), "");
        std::io::Write::write_all(&mut stream, (head + &body).as_bytes()).unwrap();
        std::thread::sleep(std::time::Duration::from_micros(round * 400));
        serving.child.kill().unwrap();
        serving.child.wait().unwrap();
        if shell.has("judged/judge-eve.qrels") {
            let after = lines(&shell.read("judged/judge-eve.qrels"));
            let more = after.iter().filter(|line| !before.contains(line)).count();
            assert!(before.iter().all(|line| after.contains(line)) && more <= 1, "{before:?} → {after:?}");
            assert!(after.iter().all(|line| line.split(' ').count() == 4), "{after:?}");
        }
    }
}

#[test]
fn the_item_that_can_change_the_verdict_most_comes_first_and_nothing_says_which_run_found_it() {
    let shell = Toprank::new();
    // Both runs agree on q1; q2's document x is first in one run and absent from the other.
    shell.file("qrels", "q1 0 a 1\nq2 0 y 1\n");
    shell.file("old.run", "q1 Q0 a 1 3 o\nq1 Q0 b 2 2 o\nq2 Q0 y 1 3 o\nq2 Q0 z 2 2 o\n");
    shell.file("new.run", "q1 Q0 a 1 3 n\nq1 Q0 b 2 2 n\nq2 Q0 x 1 3 n\nq2 Q0 y 2 2 n\n");
    let serving = Serving::start(&shell, &JUDGING);
    let (_, answer) = judge(&serving, &value!({"judge": "a"}));
    assert_eq!((&answer["item"]["query"], &answer["item"]["document"]), (&value!("q2"), &value!("x")));
    assert_eq!(answer["left"], 3);
    let text = answer.to_string();
    assert!(!text.contains("old") && !text.contains("new.run") && !text.contains("influence"), "{text}");
    let answer = grade(&serving, "a", &answer, 0);
    assert_eq!(answer["item"]["document"], "z");
    // A skipped item does not come back, and the last one is not changed by a verdict at all.
    let body = value!({"judge": "a", "query": "q2", "document": "z", "grade": null});
    let (_, answer) = judge(&serving, &body);
    assert_eq!((&answer["item"]["document"], &answer["left"]), (&value!("b"), &value!(2)));
    let answer = grade(&serving, "a", &answer, 4);
    assert_eq!((&answer["item"], &answer["left"]), (&Value::Null, &value!(1)));
}

#[test]
fn several_judges_get_items_of_each_other_and_their_middle_grade_is_the_consensus() {
    let shell = Toprank::new();
    runs(&shell, plain);
    let serving = Serving::start(&shell, &JUDGING);
    let mut answers: Vec<Value> = Vec::new();
    for name in ["a", "b", "c"] {
        let mut answer = judge(&serving, &value!({"judge": name})).1;
        for _ in 0..20 {
            let number = answer["item"]["document"].as_str().unwrap().as_bytes()[1] - b'0';
            answer = grade(&serving, name, &answer, number % 5);
        }
        answers.push(answer);
    }
    assert_eq!(answers[0]["agreement"]["items"], 0);
    assert_eq!(answers[1]["agreement"]["items"], 4, "every fifth item of b is one of a");
    let last = &answers[2];
    let agreed = &last["agreement"];
    assert_eq!(
        (&agreed["items"], &agreed["pairs"]),
        (&value!(4), &value!(12)),
        "c got the same four: {last}"
    );
    assert_eq!((&agreed["equal"], &agreed["alpha"]), (&value!(1.0), &value!(1.0)));
    assert_eq!(
        last["judges"],
        value!([{"name": "a", "judged": 20}, {"name": "b", "judged": 20}, {"name": "c", "judged": 20}])
    );
    // One document, three opinions: 0, 4 and 3 have the middle 3.
    for (name, opinion) in [("a", 0), ("b", 4), ("c", 3)] {
        let body = value!({"judge": name, "query": "q0", "document": "d3", "grade": opinion});
        assert_eq!(judge(&serving, &body).0, 200);
    }
    assert!(shell.read("judged/consensus.qrels").lines().any(|line| line == "q0 0 d3 3"));
    assert!(
        json(&serving.post("/judge", "{\"judge\": \"a\"}").1)["agreement"]["equal"].as_f64().unwrap() < 1.0
    );
}

#[test]
fn what_is_no_judgement_is_refused_and_writes_nothing() {
    let shell = Toprank::new();
    runs(&shell, plain);
    let serving = Serving::start(&shell, &JUDGING);
    for (body, status, words) in [
        ("", 400, "EOF"),
        ("{}", 422, "missing field `judge`"),
        ("{\"judge\": \"../x\"}", 422, "lower-case letters"),
        ("{\"judge\": \"\"}", 422, "lower-case letters"),
        ("{\"judge\": \"a\", \"grade\": 1}", 422, "half of a judgement"),
        ("{\"judge\": \"a\", \"query\": \"q0\", \"document\": \"d3\", \"grade\": 5}", 422, "the grade 5"),
        (
            "{\"judge\": \"a\", \"query\": \"q0\", \"document\": \"d0\", \"grade\": 1}",
            422,
            "not to be judged",
        ),
        (
            "{\"judge\": \"a\", \"query\": \"q99\", \"document\": \"d3\", \"grade\": 1}",
            422,
            "not to be judged",
        ),
        (
            "{\"judge\": \"a\", \"query\": \"q0\", \"document\": \"\\u0000\", \"grade\": 1}",
            422,
            "not to be judged",
        ),
    ] {
        let (found, text) = serving.post("/judge", body);
        assert!(found == status && text.contains(words), "{body}: {found} {text}");
    }
    let files = || {
        let mut names = shell.names("judged");
        names.sort();
        names
    };
    // A page of another site may not judge for its reader.
    let body = "{\"judge\": \"a\", \"query\": \"q0\", \"document\": \"d3\", \"grade\": 1}";
    assert_eq!(serving.ask("POST", "/judge", "origin: http://evil.example\r\n", body.as_bytes()).0, 403);
    assert_eq!(files(), [".lock", "consensus.qrels"]);
    let own = format!("origin: http://{}\r\n", serving.address);
    assert_eq!(serving.ask("POST", "/judge", &own, body.as_bytes()).0, 200);
    assert_eq!(files(), [".lock", "consensus.qrels", "judge-a.qrels"]);
    let without = Serving::start(&shell, &[]);
    let (status, text) = without.post("/judge", "{\"judge\": \"a\"}");
    assert!(status == 404 && text.contains("--judgements FOLDER"), "{status} {text}");
    assert!(without.get("/report").1.contains("started with runs"));
}

#[test]
fn hostile_names_and_texts_reach_the_pages_as_text_and_the_files_as_they_are() {
    let shell = Toprank::new();
    let hostile = "<script>alert(1)</script>\u{202e}\u{1b}[2J\0";
    runs(&shell, |name| format!("{name}{hostile}"));
    shell.file("texts", &format!("d3{hostile}\t</p><script>alert(2)</script>\u{202e}\u{7}\n"));
    let args = [&JUDGING[..], &["--documents", "texts"]].concat();
    let serving = Serving::start(&shell, &args);
    let mut answer = Value::Null;
    let (_, mut next) = judge(&serving, &value!({"judge": "a"}));
    while next["item"] != Value::Null {
        answer = next.clone();
        next = grade(&serving, "a", &answer, 2);
    }
    let text = serving.post("/judge", &value!({"judge": "b"}).to_string()).1;
    assert!(!text.contains(['\u{202e}', '\u{1b}', '\0']), "{text}");
    assert_eq!(
        answer["item"]["query"].as_str().unwrap(),
        format!("q{}{hostile}", &answer["item"]["query"].as_str().unwrap()[1..].split('<').next().unwrap())
    );
    assert!(answer["item"]["query_name"].as_str().unwrap().contains("\\u{202e}"));
    let (status, page) = serving.get("/report");
    assert!(status == 200 && !page.contains("<script>alert") && !page.contains('\u{202e}'));
    assert!(shell.read("judged/judge-a.qrels").contains(&format!("d3{hostile} 2")));
    // A name of a megabyte, without judgements to begin with.
    let shell = Toprank::new();
    let long = "x".repeat(1 << 20);
    shell.file("a.run", &format!("q Q0 {long} 1 1 a\nq Q0 y 1 2 a\n"));
    let serving = Serving::start(&shell, &["--run", "a=a.run", "--judgements", "judged"]);
    let (_, next) = judge(&serving, &value!({"judge": "a"}));
    let next = grade(&serving, "a", &next, 1);
    assert!(next["item"]["document_name"].as_str().unwrap().len() < 1000);
    assert_eq!(next["item"]["document"].as_str().unwrap(), long);
    assert_eq!(grade(&serving, "a", &next, 2)["left"], 0);
    assert!(shell.read("judged/consensus.qrels").contains(&format!("q 0 {long} 2\n")));
    let (status, page) = serving.get("/report");
    assert!(status == 200 && page.len() < 500_000, "{status}, {} bytes", page.len());
    // Blanks do not fit into TREC files.
    let shell = Toprank::new();
    shell.file("qrels.json", "{\"a query\": {\"x y\": 1}}");
    shell.file("old.json", "{\"a query\": {\"x y\": 1, \"\": 2}, \"b\": {\"</script>\": 1}}");
    let args = ["--qrels", "qrels.json", "--run", "old=old.json", "--judgements", "judged"];
    let serving = Serving::start(&shell, &args);
    let (_, next) = judge(&serving, &value!({"judge": "a"}));
    let next = grade(&serving, "a", &next, 3);
    grade(&serving, "a", &next, 0);
    let written: Value = json(&shell.read("judged/judge-a.json"));
    assert_eq!(written.as_object().unwrap().len(), 2, "{written}");
    assert_eq!(json(&shell.read("judged/consensus.json"))["a query"]["x y"], 1.0);
    drop(serving);
    let again = Serving::start(&shell, &args);
    assert_eq!(judge(&again, &value!({"judge": "a"})).1["left"], 0);
}

#[test]
fn the_report_follows_the_judgements() {
    let shell = Toprank::new();
    runs(&shell, plain);
    let serving = Serving::start(&shell, &JUDGING);
    let version = || json(&serving.get("/report/version").1)["version"].clone();
    let (status, page) = serving.get("/report");
    let verdict = shell.ok("compare --qrels judged/consensus.qrels old=old.run new=new.run");
    let verdict = verdict.lines().next().unwrap();
    assert!(status == 200 && page.contains(verdict), "{verdict}");
    let before = version();
    assert_eq!(version(), before);
    let (_, answer) = judge(&serving, &value!({"judge": "a"}));
    grade(&serving, "a", &answer, 4);
    assert_ne!(version(), before);
    let verdict = shell.ok("compare --qrels judged/consensus.qrels old=old.run new=new.run");
    let verdict = verdict.lines().next().unwrap();
    assert!(serving.get("/report").1.contains(verdict), "{verdict}");
    shell.remove("new.run");
    let (status, text) = serving.get("/report");
    assert!(status == 422 && text.contains("new.run"), "{status} {text}");
}

#[test]
fn pages_are_served_with_a_policy_and_to_holders_of_the_token_only() {
    let shell = Toprank::new();
    let pages = ["/", "/judge", "/compare", "/try", "/playground"];
    let open = Serving::start(&shell, &[]);
    for page in pages {
        let (status, text) = open.get(page);
        assert!(status == 200 && text.starts_with("<!doctype html>"), "{page}: {status}");
    }
    let mut stream = open.connect();
    std::io::Write::write_all(&mut stream, open.head("GET", "/judge", 0, "").as_bytes()).unwrap();
    let (_, head, _) = serving::answer(&mut std::io::BufReader::new(stream)).unwrap();
    assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self'"), "{head}");
    assert_eq!(open.ask("DELETE", "/judge", "", b"").0, 405);

    shell.file("token.txt", "correct-horse-battery\n");
    let closed = Serving::start(&shell, &["--token-file", "token.txt"]);
    for page in pages {
        let (status, text) = closed.get(page);
        assert!(
            status == 401 && text.contains("asks for its token") && !text.contains("correct-horse"),
            "{page}"
        );
    }
    assert_eq!((closed.get("/workbench.css").0, closed.post("/playground", "{}").0), (200, 401));
    let mut stream = closed.connect();
    let headers = "authorization: Bearer correct-horse-battery\r\n";
    std::io::Write::write_all(&mut stream, closed.head("POST", "/login", 0, headers).as_bytes()).unwrap();
    let (status, head, _) = serving::answer(&mut std::io::BufReader::new(stream)).unwrap();
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    assert!(status == 200 && cookie.ends_with("Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    let cookie = format!("cookie: {}\r\n", cookie.split(';').next().unwrap());
    assert_eq!(closed.ask("GET", "/judge", &cookie, b"").0, 200);
    assert_eq!(closed.ask("POST", "/login", "authorization: Bearer wrong-horse-battery\r\n", b"").0, 401);
}

#[cfg(feature = "neural")]
#[test]
fn a_model_shows_rows_of_its_training_data_to_try() {
    let shell = Toprank::new();
    shell.file("train.csv", "qid,label,one,two\n1,1,1,3\n1,0,2,\n2,0,1,2\n2,1,3,5\n");
    shell.ok(
        "train --data train.csv --list qid --model trees --trees 3 --objective ndcg@10 -o m.toprank --quiet",
    );
    let serving = Serving::start(&shell, &["m.toprank"]);
    let example = json(&serving.get("/example").1);
    assert_eq!((&example["features"], &example["explains"]), (&value!(["one", "two"]), &value!(true)));
    assert_eq!(example["rows"][1], value!([2.0, null]));
    let (status, ranked) = serving.post("/rank", &value!({"features": example["rows"]}).to_string());
    assert!(status == 200, "{ranked}");
    assert_eq!(serving.get("/example?model=none").0, 404);
}

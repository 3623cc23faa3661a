//! `toprank serve`, by the real binary and a client that writes its requests byte by byte.

#![cfg(all(unix, feature = "serve", feature = "neural"))]

mod common;
#[path = "common/serving.rs"]
mod serving;

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use common::{Toprank, json};
use serde_json::Value;
use serving::{Serving, answer, until};

/// A folder with a model of each kind, trained once for all tests.
fn trained() -> &'static Toprank {
    static FOLDER: OnceLock<Toprank> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let shell = Toprank::new();
        shell.ok("generate letor --lists 30 --seed 3 -o letor");
        let train = "train --data letor/train.txt --objective ndcg@10 --seed 1 --quiet";
        shell.ok(&format!("{train} --model trees --trees 8 -o trees.toprank"));
        shell
            .ok(&format!("{train} --model linear --transforms missing:to=mean --epochs 1 -o linear.toprank"));
        shell.ok("generate binary --rows 300 --seed 1 -o table");
        let calibrated = "train --data table/train.csv --label label --objective auprc --model trees --trees 5 --folds 2 --quiet";
        shell.ok(&format!("{calibrated} -o fraud.toprank"));
        shell.ok("generate interactions --users 100 --items 60 --length 15 --seed 1 -o shop");
        let recommend =
            "recommend train --data shop/interactions.csv --split leave-last --model ease --quiet";
        shell.ok(&format!("{recommend} -o rec.toprank"));
        shell.file(
            "rows.csv",
            &(0..60).fold("class,a,b\n".to_string(), |text, k| {
                text + &format!("c{},{},{}\n", k % 6, (k * 7) % 11, k % 6 * 2 + k % 3)
            }),
        );
        let embed =
            "embed train --data rows.csv --class class --split 60/20/20 --objective map --epochs 1 --quiet";
        shell.ok(&format!("{embed} -o emb.toprank"));
        shell
    })
}

/// The lists of a LETOR file as lines of JSON.
fn lines_of(text: &str) -> Vec<String> {
    let mut lists: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split('#').next().unwrap().split_whitespace().collect();
        let qid = words[1].strip_prefix("qid:").unwrap();
        if lists.last().is_none_or(|list| list.0 != qid) {
            lists.push((qid.to_string(), Vec::new()));
        }
        let by_name = lists.len().is_multiple_of(2);
        let cells = words[2..].iter().map(|cell| {
            let (name, value) = cell.split_once(':').unwrap();
            let value = if value.parse().is_ok_and(f32::is_finite) { value } else { "null" };
            if by_name { format!("\"{name}\": {value}") } else { value.to_string() }
        });
        let row = cells.collect::<Vec<_>>().join(", ");
        lists.last_mut().unwrap().1.push(if by_name { format!("{{{row}}}") } else { format!("[{row}]") });
    }
    let line = |(qid, rows): &(String, Vec<String>)| {
        format!("{{\"id\": \"{qid}\", \"features\": [{}]}}", rows.join(", "))
    };
    lists.iter().map(line).collect()
}

#[test]
fn scores_are_those_of_predict_to_the_byte() {
    let shell = trained();
    let lists = lines_of(&shell.read("letor/test.txt"));
    let all = lists.join("\n") + "\n\nno list\n{\"id\": 4, \"features\": [[1]]}\n";
    for model in ["trees", "linear"] {
        let serving = Serving::start(shell, &[&format!("{model}.toprank")]);
        let expected = shell.with_input(&format!("predict {model}.toprank --jsonl"), &all);
        let expected = expected.replace("stdin:", "request:");
        let (status, found) = serving.post("/rank", &all);
        assert_eq!((status, found.as_str()), (200, expected.as_str()), "{model}");
        assert!(found.contains("request:") && found.contains("\"id\":4,\"error\":"), "{found}");
        for (list, line) in lists.iter().zip(expected.lines()) {
            assert_eq!(serving.post("/rank", list), (200, format!("{line}\n")));
        }
        // One list on several lines.
        let pretty = lists[0].replace("[[", "\n[\n[");
        let line = expected.lines().next().unwrap();
        assert_eq!(serving.post("/rank", &pretty), (200, format!("{line}\n")));
    }
    let serving = Serving::start(shell, &["fraud.toprank"]);
    let list = "{\"features\": [{}, {\"f1\": 1}, {\"f2\": -1.5}]}";
    let expected = shell.with_input("predict fraud.toprank --jsonl --probability", list);
    assert_eq!(serving.post("/rank?probability=true", list), (200, expected.clone()));
    assert_ne!(serving.post("/rank", list).1, expected);
    let whole = shell.ok("predict trees.toprank --data letor/test.txt");
    let answers = shell.with_input("predict trees.toprank --jsonl", &(lists.join("\n") + "\n"));
    let scores: Vec<f64> = answers
        .lines()
        .flat_map(|line| json(line)["scores"].as_array().unwrap().clone())
        .map(|score| score.as_f64().unwrap())
        .collect();
    let whole: Vec<f64> = whole.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(scores, whole);
}

#[test]
fn recommendations_vectors_and_explanations_are_those_of_the_command() {
    let shell = trained();
    let serving = Serving::start(shell, &["why=trees.toprank", "rec.toprank", "emb.toprank"]);

    let user = shell.ok("recommend top rec.toprank --user u3 --k 4 --json");
    let (status, found) = serving.post("/recommend", "{\"user\": \"u3\", \"k\": 4, \"id\": [1]}");
    let (expected, found) = (json(&user), json(&found));
    assert_eq!((status, &found["items"], &found["id"]), (200, &expected["top"][0]["items"], &json("[1]")));
    let history: Vec<String> =
        found["items"].as_array().unwrap().iter().map(|item| item["item"].as_str().unwrap().into()).collect();
    let new = shell.ok(&format!("recommend top rec.toprank --history {} --json", history.join(",")));
    let asked = serde_json::json!({ "history": history }).to_string();
    let (status, found) = serving.post("/recommend", &asked);
    assert_eq!((status, &json(&found)["items"]), (200, &json(&new)["top"][0]["items"]));

    shell.ok("embed apply emb.toprank --data rows.csv -o vectors.csv --quiet");
    let rows: Vec<String> = shell
        .read("rows.csv")
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').map(|(_, row)| format!("[{row}]")).unwrap())
        .collect();
    let (status, found) = serving.post("/embed", &format!("{{\"features\": [{}]}}", rows.join(",")));
    assert_eq!(status, 200, "{found}");
    let vectors = shell.read("vectors.csv");
    for (line, vector) in vectors.lines().skip(1).zip(json(&found)["vectors"].as_array().unwrap()) {
        let expected: Vec<f32> = line.split(',').skip(1).map(|cell| cell.parse().unwrap()).collect();
        let found: Vec<f32> =
            vector.as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect();
        assert_eq!(found, expected);
    }
    assert_eq!(serving.post("/embed", "{\"features\": []}"), (200, "{\"vectors\":[]}\n".into()));

    let lists = lines_of(&shell.read("letor/test.txt"));
    let (status, found) = serving.post("/explain?model=why", &lists[0]);
    assert_eq!(status, 200, "{found}");
    let (explained, ranked) = (json(&found), json(&serving.post("/rank", &lists[0]).1));
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let expected = numbers(&explained["expected"])[0];
    for (row, score) in numbers(&ranked["scores"]).into_iter().enumerate() {
        let added: f64 = numbers(&explained["contributions"][row][0]).iter().sum();
        assert!((expected + added - score).abs() < 1e-9 * (1.0 + score.abs()), "row {row}");
        assert_eq!(numbers(&explained["scores"][row]), [score]);
    }
}

#[test]
fn health_metrics_and_the_description_say_what_is_served() {
    let shell = trained();
    let serving = Serving::start(shell, &["trees.toprank", "rec.toprank"]);
    let (status, health) = serving.get("/health");
    let health = json(&health);
    assert_eq!((status, health["status"].as_str()), (200, Some("ok")));
    assert_eq!(health["models"][0]["endpoints"], json("[\"/rank\", \"/explain\"]"));
    assert_eq!(health["models"][1]["kind"], "recommender");
    let described = json(&serving.get("/openapi.json").1);
    assert_eq!(described["openapi"], "3.1.0");
    let paths: Vec<&str> = described["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    let workbench = ["/judge", "/report", "/report/version", "/playground", "/example"];
    let models = ["/rank", "/recommend", "/explain", "/health", "/metrics", "/openapi.json"];
    assert_eq!(paths, [&models[..], &workbench[..]].concat());
    serving.post("/rank", "{\"features\": []}");
    serving.post("/rank", "{");
    serving.get("/no-such-page");
    let (status, metrics) = serving.get("/metrics");
    assert_eq!(status, 200);
    for line in [
        "toprank_requests_total{endpoint=\"/rank\",status=\"200\"} 1",
        "toprank_requests_total{endpoint=\"/rank\",status=\"400\"} 1",
        "toprank_requests_total{endpoint=\"other\",status=\"404\"} 1",
        "toprank_request_seconds_count{endpoint=\"/rank\"} 2",
        "toprank_lists_total{outcome=\"refused\"} 1",
        "toprank_requests_in_flight 1",
        "toprank_model_reloads_total{model=\"trees\",outcome=\"loaded\"} 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    }
}

#[test]
fn what_cannot_be_answered_gets_a_status_and_the_words_of_the_command() {
    let shell = trained();
    let serving = Serving::start(shell, &["trees.toprank", "linear.toprank", "rec.toprank"]);
    let wide = format!("{{\"id\": 9, \"features\": [[{}0]]}}", "0,".repeat(5000));
    let deep = "[".repeat(100_000);
    let many = "{}\n".repeat(10_001);
    for (method, target, body, expected, words) in [
        ("POST", "/rank?model=trees", "", 400, "EOF while parsing a value"),
        ("POST", "/rank?model=trees", "\u{0}\u{1b}[2J", 400, "expected value"),
        ("POST", "/rank?model=trees", "{\"features\": [[1]]}", 422, "1 features of item 1; expected "),
        (
            "POST",
            "/rank?model=trees",
            wide.as_str(),
            422,
            "\"id\":9,\"error\":\"request: 5001 features of item 1",
        ),
        ("POST", "/rank?model=trees", "{\"id\": 1}", 422, "missing field `features`"),
        ("POST", "/rank?model=trees", "[1]", 422, "expected an object"),
        ("POST", "/rank?model=trees", deep.as_str(), 422, "request: "),
        ("POST", "/rank?model=trees", many.as_str(), 413, "more than 10000 lists"),
        (
            "POST",
            "/rank?model=trees",
            "{\"features\": [{\"<script>\\u202e\\u0000\": 1}]}",
            422,
            "feature \\\"<script>",
        ),
        (
            "POST",
            "/rank",
            "{\"features\": []}",
            400,
            "several models; expected ?model=NAME with one of trees, linear",
        ),
        ("POST", "/rank?model=tree", "{}", 404, "did you mean \\\"trees\\\"?"),
        (
            "POST",
            "/rank?model=rec",
            "{}",
            400,
            "a recommender does not answer this; expected trees or linear",
        ),
        ("POST", "/rank?modle=trees", "{}", 400, "did you mean \\\"model\\\"?"),
        ("POST", "/rank?model=%ff", "{}", 400, "UTF-8"),
        ("POST", "/rank?model=trees&probability=maybe", "{}", 422, "expected true or false"),
        ("POST", "/rank?model=linear&probability=true", "{}", 422, "not calibrated"),
        ("POST", "/explain?model=linear", "{}", 422, "expected one that was trained with --model trees"),
        ("POST", "/embed", "{}", 404, "no model of this server answers this"),
        ("POST", "/recommend", "{\"user\": \"nobody\\u0007\"}", 422, "a user of the training data"),
        ("POST", "/recommend", "{\"history\": [\"i1\", \"i1\"]}", 422, "twice"),
        ("POST", "/recommend", "{\"user\": 1, \"history\": []}", 422, "both user and history"),
        ("POST", "/recommend", "{}", 422, "neither user nor history"),
        ("POST", "/recommend", "{\"user\": \"u3\", \"k\": 0}", 422, "k of 0; expected 1 to 1000"),
        ("POST", "/recommend", "{\"user\": \"u3\", \"K\": 1}", 422, "unknown field `K`"),
        ("GET", "/rank", "", 405, "the method GET; expected POST"),
        ("POST", "/health", "", 405, "the method POST; expected GET"),
        ("GET", "/../etc/passwd", "", 404, "expected /rank, "),
    ] {
        let (status, text) = serving.ask(method, target, "", body.as_bytes());
        let shown: String = body.chars().take(60).collect();
        assert!(status == expected && text.contains(words), "{method} {target} {shown}: {status} {text}");
        assert!(json(&text)["error"].is_string() && text.len() < 2000, "{text}");
        let is_unsafe = |c: char| c != '\n' && toprank::core::text::is_unsafe(c);
        assert!(!text.contains(is_unsafe), "{text:?}");
    }
    let (status, text) = serving.ask("POST", "/rank?model=trees", "content-encoding: gzip\r\n", b"x");
    assert!(status == 415 && text.contains("plain JSON"), "{status} {text}");
    assert!(!shell.read("log.txt").contains("panicked"));
}

#[test]
fn a_body_that_is_too_large_or_too_slow_is_refused_and_others_are_served() {
    let shell = trained();
    let serving = Serving::start(shell, &["trees.toprank", "--max-body", "1", "--timeout", "5"]);
    let large = vec![b' '; (1 << 20) + 1];
    let (status, text) = serving.ask("POST", "/rank", "", &large);
    assert!(status == 413 && text.contains("a body of more than 1048576 bytes"), "{status} {text}");
    // Without a length: in chunks.
    let mut stream = serving.connect();
    let host = &serving.address;
    write!(stream, "POST /rank HTTP/1.1\r\nhost: {host}\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
    for _ in 0..17 {
        write!(stream, "10000\r\n{}\r\n", " ".repeat(1 << 16)).unwrap();
    }
    write!(stream, "0\r\n\r\n").unwrap();
    assert_eq!(answer(&mut BufReader::new(stream)).unwrap().0, 413);
    let mut slow = serving.connect();
    slow.write_all(serving.head("POST", "/rank", 100, "").as_bytes()).unwrap();
    slow.write_all(b"{\"features\"").unwrap();
    assert_eq!(serving.post("/rank", "{\"features\": []}"), (200, "{\"scores\":[]}\n".into()));
    let (status, _, text) = answer(&mut BufReader::new(slow)).unwrap();
    assert!(status == 408 && text.contains("within 5 s"), "{status} {text}");
    // What is not HTTP at all.
    let mut stream = serving.connect();
    stream.write_all(b"\x16\x03\x01 hello\r\n\r\n").unwrap();
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    assert!(text.starts_with(b"HTTP/1.1 400") || text.is_empty(), "{}", String::from_utf8_lossy(&text));
    assert_eq!(serving.get("/health").0, 200);
}

#[test]
fn only_holders_of_the_token_are_served() {
    let shell = trained();
    shell.file("token.txt", "correct-horse-battery\n");
    let serving = Serving::start(shell, &["trees.toprank", "--token-file", "token.txt"]);
    let with = |header: &str| serving.ask("POST", "/rank", header, b"{\"features\": []}").0;
    assert_eq!(with("authorization: Bearer correct-horse-battery\r\n"), 200);
    for wrong in [
        "",
        "authorization: Bearer correct-horse-batterz\r\n",
        "authorization: Bearer \r\n",
        "authorization: Basic x\r\n",
    ] {
        assert_eq!(with(wrong), 401, "{wrong}");
    }
    for page in ["/metrics", "/openapi.json", "/none"] {
        assert_eq!(serving.get(page).0, 401, "{page}");
    }
    assert_eq!(serving.get("/health").0, 200);
    assert!(!shell.read("log.txt").contains("correct-horse"));

    let error = shell.fails(2, "serve trees.toprank --listen 0.0.0.0:0");
    assert!(error.contains("expected --token-file FILE, or an address of this machine alone"), "{error}");
    shell.file("short.txt", "short\n");
    let error = shell.fails(3, "serve trees.toprank --token-file short.txt");
    assert!(error.contains("short.txt: a token of 5 characters; expected 16 to "), "{error}");
}

#[test]
fn without_a_token_a_page_of_another_host_is_not_served() {
    let serving = Serving::start(trained(), &["trees.toprank"]);
    let mut stream = serving.connect();
    write!(stream, "GET /health HTTP/1.1\r\nhost: evil.example\r\n\r\n").unwrap();
    let (status, _, text) = answer(&mut BufReader::new(stream)).unwrap();
    assert!(status == 421 && text.contains("evil.example"), "{status} {text}");
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let shell = trained();
    let error = shell.fails(2, "serve trees.toprank trees.toprank");
    assert!(error.contains("two models of the name \"trees\"; expected NAME=FILE"), "{error}");
    assert!(shell.fails(3, "serve rows.csv").contains("rows.csv: "));
    assert!(shell.fails(1, "serve none.toprank").contains("none.toprank: "));
    assert!(shell.fails(2, "serve trees.toprank --listen nowhere").contains("such as 127.0.0.1:8080"));
    let serving = Serving::start(shell, &["trees.toprank"]);
    let error = shell.fails(1, &format!("serve trees.toprank --listen {}", serving.address));
    assert!(error.contains(&serving.address), "{error}");
}

#[test]
fn requests_at_once_get_their_own_answers() {
    let shell = trained();
    let serving = Serving::start(shell, &["trees.toprank"]);
    let lists = lines_of(&shell.read("letor/test.txt"));
    let expected: Vec<String> = lists.iter().map(|list| serving.post("/rank", list).1).collect();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (serving, lists, expected) = (&serving, &lists, &expected);
            scope.spawn(move || {
                let mut stream = serving.connect();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                for turn in 0..25 {
                    let which = (thread * 7 + turn) % lists.len();
                    let head = serving.head("POST", "/rank", lists[which].len(), "");
                    stream.write_all((head + &lists[which]).as_bytes()).unwrap();
                    let (status, _, found) = answer(&mut reader).unwrap();
                    assert_eq!((status, &found), (200, &expected[which]));
                }
            });
        }
    });
}

#[test]
fn sigterm_ends_the_server_after_the_requests_that_have_begun() {
    let shell = trained();
    let mut serving = Serving::start(shell, &["trees.toprank"]);
    let idle = serving.connect();
    let mut begun = serving.connect();
    let body = "{\"features\": []}";
    begun.write_all(serving.head("POST", "/rank", body.len(), "").as_bytes()).unwrap();
    begun.write_all(&body.as_bytes()[..5]).unwrap();
    until("the request has begun", &|| serving.get("/metrics").1.contains("toprank_requests_in_flight 2\n"));
    serving.signal();
    until("no new connection", &|| TcpStream::connect(&serving.address).is_err());
    assert!(serving.child.try_wait().unwrap().is_none(), "it waits for the request");
    begun.write_all(&body.as_bytes()[5..]).unwrap();
    let (status, _, text) = answer(&mut BufReader::new(begun)).unwrap();
    assert_eq!((status, text.as_str()), (200, "{\"scores\":[]}\n"));
    let start = Instant::now();
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(8), "idle connections are closed");
    drop(idle);
}

#[test]
fn a_file_that_changes_answers_once_its_self_test_has_passed() {
    let shell = Toprank::new();
    for name in ["trees", "linear"] {
        shell.file_of_bytes(&format!("{name}.toprank"), &trained().bytes(&format!("{name}.toprank")));
    }
    std::fs::copy(shell.path("trees.toprank"), shell.path("live.toprank")).unwrap();
    let serving = Serving::start(&shell, &["live.toprank"]);
    let list = lines_of(&trained().read("letor/test.txt")).remove(0);
    let (old, new) = (
        shell.with_input("predict trees.toprank --jsonl", &format!("{list}\n")),
        shell.with_input("predict linear.toprank --jsonl", &format!("{list}\n")),
    );
    assert_ne!(old, new);
    assert_eq!(serving.post("/rank", &list).1, old);
    // A damaged file never answers.
    let mut damaged = shell.bytes("linear.toprank");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    shell.file_of_bytes("next.toprank", &damaged);
    std::fs::rename(shell.path("next.toprank"), shell.path("live.toprank")).unwrap();
    let refused = "toprank_model_reloads_total{model=\"live\",outcome=\"refused\"} 1\n";
    until("refused", &|| serving.get("/metrics").1.contains(refused));
    assert_eq!(serving.post("/rank", &list).1, old);
    assert!(shell.read("log.txt").contains("is refused, the old one answers"));
    // Nor does a file that is gone end the old model.
    shell.remove("live.toprank");
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(serving.post("/rank", &list).1, old);
    std::fs::rename(shell.path("linear.toprank"), shell.path("live.toprank")).unwrap();
    until("the new model", &|| serving.post("/rank", &list).1 == new);
    assert_eq!(json(&serving.get("/health").1)["models"][0]["reloads"], 1);
}

#[test]
fn names_of_models_and_features_cannot_do_more_than_be_read() {
    let shell = Toprank::new();
    let hostile = "<script>alert(1)</script>\u{202e}\u{1b}[2J";
    shell.file("train.csv", &format!("qid,label,{hostile},b\n1,1,1,3\n1,0,2,1\n2,0,1,2\n2,1,3,5\n"));
    shell.ok("train --data train.csv --list qid --model linear --epochs 1 -o m.toprank --quiet");
    let name = format!("{hostile}\"\\\n");
    let serving = Serving::start(&shell, &[&format!("{name}=m.toprank")]);
    for page in ["/health", "/openapi.json", "/metrics"] {
        let (status, text) = serving.get(page);
        assert_eq!(status, 200);
        if page == "/metrics" {
            assert!(text.contains("\\\"\\\\\\n\",outcome=\"loaded\"} 0"), "{text}");
        } else {
            assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'), "{text}");
            assert!(text.contains("\\u202e"));
            json(&text);
        }
    }
    let asked = serde_json::json!({"id": hostile, "features": [{hostile: 1, "b": 2}]}).to_string();
    let (status, text) = serving.post("/rank", &asked);
    assert_eq!((status, json(&text)["id"].as_str()), (200, Some(hostile)));
    assert!(!text.contains('\u{202e}'));
    let (status, text) = serving.post("/rank", "{\"features\": [{\"c\": 1}]}");
    assert!(status == 422 && !text.contains('\u{202e}'), "{text}");
    let long = "x".repeat(1 << 20);
    let (status, text) = serving.post("/rank", &format!("{{\"features\": [{{\"{long}\": 1}}]}}"));
    assert!(status == 422 && text.len() < 2000, "{} bytes", text.len());
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_requests() {
    let shell = trained();
    let serving = Serving::start(shell, &["trees.toprank"]);
    let lists = lines_of(&shell.read("letor/test.txt"));
    let mut stream = serving.connect();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut many = |count: usize| {
        for turn in 0..count {
            // Every tenth is refused.
            let body =
                if turn % 10 == 0 { "{\"features\": [[1, \"x\"]]}" } else { &lists[turn % lists.len()] };
            let head = serving.head("POST", "/rank", body.len(), "");
            stream.write_all((head + body).as_bytes()).unwrap();
            let status = answer(&mut reader).unwrap().0;
            assert_eq!(status, if turn % 10 == 0 { 422 } else { 200 });
        }
    };
    many(1000);
    let before = serving.resident();
    many(4000);
    let after = serving.resident();
    assert!(after < before + 4096, "{before} kB, after 4000 requests {after} kB");
}

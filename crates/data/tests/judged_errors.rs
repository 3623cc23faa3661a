//! Bad qrels and runs: what each message says, and that no attack panics or goes unnoticed.

use toprank_data::judged::write_run_json;
use toprank_data::{ReadError, Run, Source, read_qrels, read_run, write_run};
use toprank_testkit::attacks::{ATTACKS, Owes};

/// (name of the file, its bytes, the whole message)
type Case = (&'static str, &'static [u8], &'static str);

fn check(cases: &[Case], read: impl Fn(&Source) -> Option<ReadError>) {
    for (name, bytes, expected) in cases {
        let error = read(&Source::bytes(*name, bytes.to_vec()));
        let message = error.map_or_else(|| "no error".to_string(), |error| error.to_string());
        assert_eq!(message, *expected, "{name}: {}", bytes.escape_ascii());
    }
}

#[test]
fn qrels_errors_say_where_what_and_what_was_expected() {
    check(
        &[
            ("qrels", b"", "qrels: no query at all; expected at least one."),
            ("qrels", b"# only\n\n  \n", "qrels: no query at all; expected at least one."),
            (
                "qrels",
                b"q 0 d 1\nq 0 d2\n",
                "qrels:2: 3 columns: \"q 0 d2\"; expected 4 columns: query iteration document relevance.",
            ),
            (
                "qrels",
                b"q\n",
                "qrels:1: 1 column: \"q\"; expected 4 columns: query iteration document relevance.",
            ),
            (
                "qrels",
                b"q 0 d 1 x\n",
                "qrels:1: 5 columns: \"q 0 d 1 x\"; expected 4 columns: query iteration document relevance.",
            ),
            (
                "qrels",
                b"q Q0 d 1 0.5 tag\n",
                "qrels:1: 6 columns: \"q Q0 d 1 0.5 tag\"; expected 4 columns: query iteration document relevance.\nThis looks like a run: are qrels and run swapped?",
            ),
            ("qrels", b"\n\nq 0 d yes\n", "qrels:3: relevance \"yes\"; expected a finite number."),
            ("qrels", b"q 0 d nan\n", "qrels:1: relevance \"nan\"; expected a finite number."),
            ("qrels", b"q 0 d 1e39\n", "qrels:1: relevance \"1e39\"; expected a finite number."),
            (
                "qrels",
                b"q 0 d 1\r q 0 e 1\r",
                "qrels:1: a carriage return inside a line; expected lines that end in LF or CRLF.",
            ),
            (
                "qrels",
                b"q 0 a 1\n# c\nr 0 a 1\nq 0 b 1\nq 0 a 2\n",
                "qrels:5: document \"a\" of query \"q\" again, first on line 1; expected each document at most once per query.",
            ),
            (
                "qrels",
                b"q 0 a 1\nq 0 \xff 1\n",
                "qrels:2: bytes that are not UTF-8: \"q 0 \\xff 1\"; expected UTF-8 text.",
            ),
            (
                "qrels",
                b"\xff\xfeq\0",
                "qrels:1: UTF-16 text; expected UTF-8 or ASCII.\nConvert it first: iconv -f UTF-16 -t UTF-8.",
            ),
            (
                "qrels.json",
                b"{\"q\": {\"d\": \"x\"}}",
                "qrels.json:1: invalid type: string \"x\", expected a number; expected {\"query\": {\"document\": relevance, …}, …}.",
            ),
            (
                "qrels.csv",
                b"query,doc,relevance\nq,d,1\nq,e\n",
                "qrels.csv:3: 2 fields: \"q,e\"; expected 3, as in the header.",
            ),
            (
                "qrels.csv",
                b"query,relevance\nq,1\n",
                "qrels.csv:1: columns \"query, relevance\"; expected a column of documents called doc, doc_id, docno, docid, doc-id, document, item, item_id, corpus-id, pid.",
            ),
            (
                "qrels.tsv",
                b"query-id\tcorpus-id\tscore\nq\td\tx\n",
                "qrels.tsv:2: relevance \"x\"; expected a finite number.",
            ),
        ],
        |source| read_qrels(source).err(),
    );
}

#[test]
fn run_errors_say_where_what_and_what_was_expected() {
    check(
        &[
            ("run", b"\n", "run: no query at all; expected at least one."),
            (
                "run",
                b"q Q0 d 1 0.5\n",
                "run:1: 5 columns: \"q Q0 d 1 0.5\"; expected 6 columns: query Q0 document rank score tag.",
            ),
            (
                "run",
                b"q 0 d 1\n",
                "run:1: 4 columns: \"q 0 d 1\"; expected 6 columns: query Q0 document rank score tag.\nThis looks like a qrels file: are qrels and run swapped?",
            ),
            ("run", b"q Q0 d 1 0.5 t\nq Q0 e 2 NaN t\n", "run:2: score \"NaN\"; expected a finite number."),
            ("run", b"q Q0 d 1 -inf t\n", "run:1: score \"-inf\"; expected a finite number."),
            ("run", b"q Q0 d 1 1e999 t\n", "run:1: score \"1e999\"; expected a finite number."),
            ("run", b"q Q0 d 1 0,5 t\n", "run:1: score \"0,5\"; expected a finite number."),
            (
                "run",
                b"q Q0 d 1 0.5 t\rq Q0 e 2 0.4 t\r",
                "run:1: a carriage return inside a line; expected lines that end in LF or CRLF.",
            ),
            (
                "run",
                b"q Q0 d 1 0.5 t\nr Q0 d 1 0.5 t\nq Q0 d 2 0.4 t\n",
                "run:3: document \"d\" of query \"q\" again, first on line 1; expected each document at most once per query.",
            ),
            (
                "run.json",
                b"{\"q\": {\"d\": 1,\n \"d\": 2}}",
                "run.json: document \"d\" twice in query \"q\"; expected each document at most once per query.",
            ),
            (
                "run.json",
                b"{\"q\": {},\n\"q\": {}}",
                "run.json:2: query \"q\" twice; expected {\"query\": {\"document\": score, …}, …}.",
            ),
            (
                "run.json",
                b"{\"q\": [\"d\"]}",
                "run.json:1: invalid type: sequence, expected an object of documents; expected {\"query\": {\"document\": score, …}, …}.",
            ),
            (
                "run.json",
                b"{\"q\":\n {\"d\": NaN}}",
                "run.json:2: expected value; expected {\"query\": {\"document\": score, …}, …}.",
            ),
            (
                "run.json",
                b"{\"q\": {\"d\": 1}} x",
                "run.json:1: trailing characters; expected {\"query\": {\"document\": score, …}, …}.",
            ),
            (
                "run.json",
                b"{\"q\": {\"d\": 1",
                "run.json:1: EOF while parsing an object; expected {\"query\": {\"document\": score, …}, …}.",
            ),
            ("run.json", b"{}", "run.json: no query at all; expected at least one."),
            (
                "run.json",
                b"[{\"q\": {\"d\": 1}}]",
                "run.json:1: invalid type: sequence, expected an object of queries; expected {\"query\": {\"document\": score, …}, …}.",
            ),
            ("run.csv", b"query,doc,score\n", "run.csv: no query at all; expected at least one."),
            (
                "run.csv",
                b"query,doc,score\nq,d,1\nq,e,nan\n",
                "run.csv:3: score \"nan\"; expected a finite number.",
            ),
            ("run.csv", b"query,doc,score\nq,d,\n", "run.csv:2: score \"\"; expected a finite number."),
            (
                "run.csv",
                b"query,doc,score\nq,d,1\nr,d,1\n\nq,d,2\n",
                "run.csv:5: document \"d\" of query \"q\" again, first on line 2; expected each document at most once per query.",
            ),
            (
                "run.csv",
                b"query,doc,score\nq,\"d,1\n",
                "run.csv:2: 2 fields: \"q,\\\"d,1\"; expected 3, as in the header.",
            ),
            (
                "run.csv",
                b"query,doc\nq,d\n",
                "run.csv:1: columns \"query, doc\"; expected a column of score called score, sim, relevance, rel, label, grade.",
            ),
            (
                "run.csv",
                b"query,doc,score\nq,caf\xe9,1\n",
                "run.csv:2: bytes that are not UTF-8: \"q,caf\\xe9,1\"; expected UTF-8 text.",
            ),
        ],
        |source| read_run(source).err(),
    );
}

#[test]
fn a_run_that_trec_text_cannot_hold_is_refused() {
    for (query, doc) in [
        ("q", "a b"),
        ("q", ""),
        ("", "d"),
        ("q\n", "d"),
        ("#q", "d"),
        ("{", "d"),
        ("PAR1", "d"),
        ("\u{feff}q", "d"),
    ] {
        let run = Run::from_rows("x", [(query, doc, 1.0)]).unwrap();
        let error = write_run(&run, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("Write JSON instead."), "{error}");
        let mut json = Vec::new();
        write_run_json(&run, &mut json).unwrap();
        assert_eq!(read_run(&Source::bytes("x.json", json)).unwrap().score(query, doc), Some(1.0));
    }
}

const QRELS: &[u8] = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq2 0 d11 -1\nq3 0 d7 0.5\n";
const RUN: &[u8] = b"q1 Q0 d2 1 0.9 t\nq1 Q0 d1 2 0.81 t\nq2 Q0 d1 1 3 t\nq3 Q0 d7 1 1e-3 t\n";
const JSON: &[u8] = b"{\"q1\": {\"d1\": 1, \"d2\": 0.5},\n \"q2\": {\"d1\": 2.25, \"d11\": -1}}\n";
const CSV: &[u8] = b"query,doc,score\nq1,d1,1\nq1,d2,0.5\nq2,\"d,1\",2.25\n";

#[test]
fn every_attack_gives_the_same_data_or_an_error_that_names_the_file() {
    type Reader = fn(&Source) -> Result<Vec<(String, String, f64)>, ReadError>;
    let qrels: Reader = |source| {
        let qrels = read_qrels(source)?;
        let rows = qrels.queries().iter().enumerate().flat_map(|(q, query)| {
            qrels
                .judgements(q)
                .map(move |(doc, label)| (query.to_string(), doc.to_string(), f64::from(label)))
        });
        Ok(rows.collect())
    };
    let run: Reader = |source| {
        let run = read_run(source)?;
        let rows = run.queries().iter().enumerate().flat_map(|(q, query)| {
            run.documents(q).map(move |(doc, score)| (query.to_string(), doc.to_string(), score))
        });
        Ok(rows.collect())
    };
    for (name, bytes, read) in [
        ("a.qrels", QRELS, qrels),
        ("a.run", RUN, run),
        ("a.json", JSON, qrels),
        ("b.json", JSON, run),
        ("a.csv", CSV, qrels),
        ("b.csv", CSV, run),
    ] {
        let untouched = read(&Source::bytes(name, bytes)).unwrap();
        for attack in ATTACKS {
            let result = read(&Source::bytes(name, (attack.apply)(bytes)));
            if let Err(error) = &result {
                assert!(error.to_string().starts_with(&format!("{name}:")), "{}: {error}", attack.name);
            }
            match attack.owes {
                Owes::TheSame | Owes::TheSameAlways => {
                    assert_eq!(result.as_ref().ok(), Some(&untouched), "{name}: {}: {result:?}", attack.name);
                }
                Owes::Error => assert!(result.is_err(), "{name}: {}", attack.name),
                Owes::NoPanic => {}
            }
        }
    }
}

/// Runs ignore words after column 6, so a file with lost newlines would shrink to one line if nobody looked.
#[test]
fn old_mac_line_ends_are_an_error_not_a_one_line_run() {
    let bytes: Vec<u8> = RUN.iter().map(|&byte| if byte == b'\n' { b'\r' } else { byte }).collect();
    assert!(read_run(&Source::bytes("run", bytes)).is_err());
}

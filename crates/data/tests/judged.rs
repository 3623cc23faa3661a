//! Reading, joining and aligning against reference implementations over `HashMap`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use proptest::prelude::*;
use toprank_core::ScoreBits;
use toprank_data::judged::write_run_json;
use toprank_data::{
    JoinOptions, Joined, MissingLists, Qrels, Run, Source, align, join, read_qrels, read_run, write_run,
};

type Nested = BTreeMap<String, BTreeMap<String, f64>>;

/// Few names, so that queries and documents meet; names of several lengths, so that order is not length.
fn nested(value: impl Strategy<Value = f64> + Clone + 'static) -> impl Strategy<Value = Nested> {
    let docs = prop::collection::btree_map("[ab#é]{1,3}|doc-[0-9]{1,2}", value, 1..12);
    prop::collection::btree_map("q[0-9]{1,2}", docs, 1..6)
}

/// Scores with ties in f64, ties in f32 only, and both zeros.
fn score() -> impl Strategy<Value = f64> + Clone {
    prop_oneof![
        (-3i32..3).prop_map(f64::from),
        Just(1.0 + 1e-10),
        Just(-0.0),
        prop::num::f64::NORMAL.prop_filter("finite", |x| x.is_finite()),
    ]
}

fn label() -> impl Strategy<Value = f64> + Clone {
    prop_oneof![(-1i32..4).prop_map(f64::from), Just(0.5)]
}

/// All rows, shuffled over queries by a seed.
fn rows(data: &Nested, seed: u64) -> Vec<(&str, &str, f64)> {
    let mut rows: Vec<_> = data
        .iter()
        .flat_map(|(query, docs)| docs.iter().map(move |(doc, value)| (query.as_str(), doc.as_str(), *value)))
        .collect();
    let mut state = seed | 1;
    for i in (1..rows.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        rows.swap(i, (state >> 33) as usize % (i + 1));
    }
    rows
}

fn as_nested(run: &Run) -> Nested {
    let docs = |q| run.documents(q).map(|(doc, score)| (doc.to_string(), score)).collect();
    run.queries().iter().enumerate().map(|(q, query)| (query.to_string(), docs(q))).collect()
}

fn trec_run(rows: &[(&str, &str, f64)]) -> Vec<u8> {
    let mut text = "# a comment\n".to_string();
    for (query, doc, score) in rows {
        writeln!(text, "{query}\tQ0  {doc} 0 {score:?} tag more words").unwrap();
    }
    text.into_bytes()
}

fn trec_qrels(rows: &[(&str, &str, f64)]) -> Vec<u8> {
    let mut text = String::new();
    for (query, doc, label) in rows {
        writeln!(text, " {query} 0\t{doc} {label} \n").unwrap();
    }
    text.into_bytes()
}

/// The definition of [`join`], read aloud.
fn join_plain(
    qrels: &Nested,
    run: &[(&str, &str, f64)],
    options: &JoinOptions,
    joined: &Joined,
    names: &Run,
) {
    let mut by_query: HashMap<&str, Vec<(&str, f64)>> = HashMap::new();
    for (query, doc, score) in run {
        by_query.entry(query).or_default().push((doc, *score));
    }
    let empty = options.missing_lists == MissingLists::Empty;
    let lists: Vec<&String> = qrels.keys().filter(|q| empty || by_query.contains_key(q.as_str())).collect();
    assert_eq!(joined.list_names.iter().collect::<Vec<_>>(), lists);
    let only_in_qrels: Vec<&String> = qrels.keys().filter(|q| !by_query.contains_key(q.as_str())).collect();
    assert_eq!(joined.only_in_qrels.iter().collect::<Vec<_>>(), only_in_qrels);
    let only_in_run: BTreeSet<&str> = by_query.keys().copied().filter(|q| !qrels.contains_key(*q)).collect();
    assert_eq!(joined.only_in_run.iter().collect::<Vec<_>>(), only_in_run.into_iter().collect::<Vec<_>>());
    assert_eq!(joined.lists.check(), Ok(()));

    let item_names = joined.item_names(names);
    for (q, query) in lists.into_iter().enumerate() {
        let all = by_query.get(query.as_str()).cloned().unwrap_or_default();
        let rounded = |score: f64| match options.scores {
            ScoreBits::F64 => score,
            ScoreBits::F32 => f64::from(score as f32),
        };
        let mut best = all.clone();
        best.sort_by(|a, b| rounded(b.1).partial_cmp(&rounded(a.1)).unwrap().then_with(|| b.0.cmp(a.0)));
        best.truncate(options.depth.map_or(usize::MAX, |depth| depth as usize));
        let kept: Vec<(&str, f64)> = all.into_iter().filter(|item| best.contains(item)).collect();

        let list = joined.lists.list(q, &joined.scores);
        let found: Vec<&str> = joined.lists.range(q).map(|entry| item_names.get(entry)).collect();
        assert_eq!(found, kept.iter().map(|item| item.0).collect::<Vec<_>>());
        assert_eq!(list.scores, kept.iter().map(|item| item.1).collect::<Vec<_>>());
        for (doc, label) in found.iter().zip(list.labels) {
            match qrels[query].get(*doc) {
                Some(judged) => assert_eq!(f64::from(*label), *judged),
                None => assert!(label.is_nan()),
            }
        }
        let mut missed: Vec<f64> = list.missed.iter().map(|label| f64::from(*label)).collect();
        let mut expected: Vec<f64> = qrels[query]
            .iter()
            .filter(|(doc, _)| !found.contains(&doc.as_str()))
            .map(|judged| *judged.1)
            .collect();
        missed.sort_by(f64::total_cmp);
        expected.sort_by(f64::total_cmp);
        assert_eq!(missed, expected);
        let keys = list.tie_keys.unwrap();
        for (i, a) in found.iter().enumerate() {
            for (j, b) in found.iter().enumerate() {
                let tied = kept[i].1 as f32 == kept[j].1 as f32;
                assert_eq!(tied && keys[i] < keys[j], tied && a > b, "{a} {b} {keys:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn join_equals_plain_twin(
        judged in nested(label()),
        retrieved in nested(score()),
        seed in any::<u64>(),
        depth in prop::option::of(0u32..6),
        empty in any::<bool>(),
        f32_scores in any::<bool>(),
    ) {
        let options = JoinOptions {
            missing_lists: if empty { MissingLists::Empty } else { MissingLists::LeaveOut },
            depth,
            scores: if f32_scores { ScoreBits::F32 } else { ScoreBits::F64 },
        };
        let file_rows = rows(&retrieved, seed);
        let qrels = Qrels::from_rows("qrels", rows(&judged, seed).into_iter().map(|(q, d, l)| (q, d, l as f32))).unwrap();
        let run = Run::from_rows("run", file_rows.iter().copied()).unwrap();
        join_plain(&judged, &file_rows, &options, &join(&qrels, &run, &options), &run);
    }

    #[test]
    fn a_file_in_any_order_reads_as_its_rows(data in nested(score()), seed in any::<u64>()) {
        let data: Nested = data.into_iter().filter(|(query, _)| !query.starts_with('#')).collect();
        let rows = rows(&data, seed);
        let run = read_run(&Source::bytes("run", trec_run(&rows))).unwrap();
        prop_assert_eq!(as_nested(&run), data.clone());
        prop_assert_eq!(run.name(), "tag");
        let qrels = read_qrels(&Source::bytes("qrels", trec_qrels(&rows))).ok();
        if let Some(qrels) = qrels {
            for (query, doc, label) in rows {
                prop_assert_eq!(qrels.label(query, doc), Some(label as f32));
            }
        } else {
            prop_assert!(rows.iter().any(|row| !(row.2 as f32).is_finite()), "only too large a label may fail");
        }
    }

    #[test]
    fn what_is_written_reads_back_to_the_bit(data in nested(score()), seed in any::<u64>()) {
        let run = Run::from_rows("my tag", rows(&data, seed)).unwrap();
        let (mut trec, mut json) = (Vec::new(), Vec::new());
        write_run(&run, &mut trec).unwrap();
        write_run_json(&run, &mut json).unwrap();
        let (trec, json) = (Source::bytes("x", trec), Source::bytes("x", json));
        let bits = |run: &Run| -> Vec<_> {
            as_nested(run).into_iter().map(|(q, docs)| (q, docs.into_iter().map(|(d, s)| (d, s.to_bits())).collect::<Vec<_>>())).collect()
        };
        let (trec, json) = (read_run(&trec).unwrap(), read_run(&json).unwrap());
        prop_assert_eq!(bits(&trec), bits(&run));
        prop_assert_eq!(bits(&json), bits(&run));
        prop_assert_eq!(trec.name(), "my_tag");
        for q in 0..trec.queries().len() {
            let written: Vec<_> = trec.documents(q).collect();
            prop_assert!(written.is_sorted_by(|a, b| a.1 > b.1 || (a.1 == b.1 && a.0 > b.0)), "ranks fall");
        }
    }

    #[test]
    fn aligned_runs_hold_every_score_and_nothing_else(a in nested(score()), b in nested(score()), seed in any::<u64>()) {
        let runs = [Run::from_rows("a", rows(&a, seed)).unwrap(), Run::from_rows("b", rows(&b, seed)).unwrap()];
        let both = align(&[&runs[0], &runs[1]]);
        let queries: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        prop_assert_eq!(both.queries.iter().collect::<Vec<_>>(), queries.into_iter().collect::<Vec<_>>());
        for (q, query) in both.queries.iter().enumerate() {
            let docs: Vec<&str> = both.range(q).map(|entry| both.docs.get(entry)).collect();
            let union: BTreeSet<&str> = [&a, &b].iter().filter_map(|run| run.get(query)).flatten().map(|d| d.0.as_str()).collect();
            prop_assert_eq!(docs.len(), union.len());
            prop_assert_eq!(docs.iter().copied().collect::<BTreeSet<_>>(), union);
            for (run, data) in [&a, &b].into_iter().enumerate() {
                prop_assert_eq!(both.answered(run, q), data.contains_key(query));
                for (entry, doc) in both.range(q).zip(&docs) {
                    let found = Some(both.scores[run][entry]).filter(|score| !score.is_nan());
                    prop_assert_eq!(found, data.get(query).and_then(|docs| docs.get(*doc)).copied());
                }
            }
            let keys = &both.tie_keys[both.range(q)];
            let mut order: Vec<usize> = (0..docs.len()).collect();
            order.sort_by_key(|&i| keys[i]);
            prop_assert!(order.windows(2).all(|pair| docs[pair[0]] > docs[pair[1]]));
        }
        for (run, data) in [&a, &b].into_iter().enumerate() {
            prop_assert_eq!(&as_nested(&both.run("back", &both.scores[run]).unwrap()), data);
        }
    }
}

/// A file of several blocks and many pieces, its queries in turns, with a comment now and then.
fn long_run() -> (Vec<u8>, usize) {
    let (mut text, mut documents) = (String::new(), 0);
    let mut row = 0u64;
    while text.len() < 20 << 20 {
        row += 1;
        if row.is_multiple_of(10_007) {
            text.push_str("# comment\n\n");
        }
        let score = (row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 1000;
        writeln!(text, "query-{} Q0 document-{row} {row} {score}e-3 tag{}", row / 7 % 97, row / 100_000)
            .unwrap();
        documents += 1;
    }
    (text.into_bytes(), documents)
}

#[test]
fn one_and_several_threads_read_and_join_the_same() {
    let (bytes, documents) = long_run();
    let source = Source::bytes("run", bytes);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let run = read_run(&source).unwrap();
            let judged = run.queries().iter().enumerate().flat_map(|(q, query)| {
                run.documents(q).step_by(3).map(move |(doc, score)| (query, doc, score as f32))
            });
            let qrels = Qrels::from_rows("qrels", judged).unwrap();
            let options = JoinOptions { depth: Some(1000), ..JoinOptions::default() };
            let Joined { lists, scores, rows, .. } = join(&qrels, &run, &options);
            let labels: Vec<u32> = lists.labels.iter().map(|label| label.to_bits()).collect();
            (run.name().to_string(), run.len(), labels, scores, rows, lists.tie_keys, lists.missed)
        })
    };
    let (one, three) = (with(1), with(3));
    assert_eq!(one.0, three.0);
    assert_eq!(one.1, documents);
    assert_eq!(one.5.as_ref().map(Vec::len), Some(97 * 1000));
    assert!(one == three);
}

#[test]
fn lines_are_counted_across_pieces_and_blocks() {
    let (mut bytes, documents) = long_run();
    let lines = bytes.split(|&byte| byte == b'\n').count() - 1;
    bytes.extend_from_slice(b"query-0 Q0 document-1 1 1 tag\nquery-0 Q0 document-1 1 1");
    let error = read_run(&Source::bytes("run", bytes.clone())).unwrap_err();
    assert_eq!(error.line(), Some(lines as u64 + 2), "the last line lacks its tag: {error}");
    bytes.extend_from_slice(b" tag");
    let error = read_run(&Source::bytes("run", bytes)).unwrap_err().to_string();
    let expected =
        format!("run:{}: document \"document-1\" of query \"query-0\" again, first on line 1;", lines + 1);
    assert!(error.starts_with(&expected), "{error}; {documents} documents");
}

/// Tables of a query hold places of 1, 2 or 4 bytes: both sides of each limit, and a twin found at the very end.
#[test]
fn queries_of_any_length_know_their_documents_and_their_twins() {
    for length in [1, 127, 128, 254, 255, 256, 65_534, 65_535, 70_000] {
        let names: Vec<String> = (0..length).map(|doc| format!("d{doc}")).collect();
        let rows = names.iter().zip(0..).map(|(name, label)| ("q", name.as_str(), (label % 1000) as f32));
        let qrels = Qrels::from_rows("qrels", rows.clone()).unwrap();
        for (_, doc, label) in rows.clone() {
            assert_eq!(qrels.label("q", doc), Some(label), "{doc} of {length}");
        }
        assert_eq!(qrels.label("q", &format!("d{length}")), None);
        let last = names[length - 1].as_str();
        let error = Qrels::from_rows("qrels", rows.chain([("q", last, 0.0)])).unwrap_err().to_string();
        assert!(error.contains(&format!("document \"{last}\" twice in query")), "{error}");
    }
}

#[test]
fn tables_are_found_by_their_column_names() {
    let beir = b"query-id\tcorpus-id\tscore\n1\tMED-10\t2\n2\tMED-14\t1\n".to_vec();
    for name in ["qrels/test.tsv", "-", "test.csv"] {
        let qrels = read_qrels(&Source::bytes(name, beir.clone())).unwrap();
        assert_eq!((qrels.label("1", "MED-10"), qrels.label("2", "MED-14")), (Some(2.0), Some(1.0)));
    }
    let csv = b"score,extra,doc_id,q_id\n0.5,x,\"a,\"\"b\"\"\",q\r\n0.25,y,c,q\n".to_vec();
    let run = read_run(&Source::bytes("runs/bm25.csv", csv)).unwrap();
    assert_eq!(run.documents(0).collect::<Vec<_>>(), [("a,\"b\"", 0.5), ("c", 0.25)]);
    assert_eq!(run.name(), "bm25");
}

#[test]
fn a_query_named_like_a_header_is_still_a_query() {
    let run = Run::from_rows("x", [("query,doc,score,x", "d", 1.0)]).unwrap();
    let mut text = Vec::new();
    write_run(&run, &mut text).unwrap();
    assert_eq!(read_run(&Source::bytes("x", text)).unwrap().score("query,doc,score,x", "d"), Some(1.0));
}

#[test]
fn json_is_told_from_text_by_its_first_byte() {
    let run =
        read_run(&Source::bytes("-", b"\xef\xbb\xbf \n{\"q\": {\"d\": 1, \"e\": 0.5}, \"r\": {}}".to_vec()))
            .unwrap();
    assert_eq!(run.documents(0).collect::<Vec<_>>(), [("d", 1.0), ("e", 0.5)]);
    assert_eq!((run.queries().get(1), run.documents(1).len()), ("r", 0));
}

//! Qrels and runs of trec_eval's own test folder: every file is read, and the counts are those of its notes.

use toprank_data::{JoinOptions, Joined, MissingLists, Qrels, Run, Source, join, read_qrels, read_run};

fn source(file: &str) -> Source {
    Source::path(toprank_testkit::real_file(&format!("trec-eval/{file}.gz")))
}

fn qrels(file: &str) -> Qrels {
    read_qrels(&source(file)).unwrap()
}

fn run(file: &str) -> Run {
    read_run(&source(file)).unwrap()
}

fn qrels_have_the_counted_judgements_and_topics() {
    for (file, judgements, topics) in [
        ("qrels.test", 3681, 3),
        ("qrels.rel_level", 3681, 3),
        ("qrels.test.with-comments", 3681, 3),
        ("qrels.comment.test", 5890, 31),
        ("qrels-302.test", 1061, 1),
    ] {
        let qrels = qrels(file);
        assert_eq!((qrels.len(), qrels.queries().len()), (judgements, topics), "{file}");
    }
}

fn runs_have_the_counted_documents_topics_and_tag() {
    for (file, documents, topics, tag) in [
        ("results.test", 1500, 3, "STANDARD"),
        ("results.trunc", 584, 2, "STANDARD"),
        ("results.comment.test", 30100, 301, "comment.test"),
        ("results-302.test", 500, 1, "STANDARD"),
    ] {
        let run = run(file);
        assert_eq!((run.len(), run.queries().len(), run.name()), (documents, topics, tag), "{file}");
    }
}

fn a_hash_inside_a_document_name_is_part_of_it() {
    let qrels = qrels("qrels.test.with-comments");
    assert_eq!(qrels.label("301", "CR#93E-1860"), Some(0.0));
}

fn levels_and_negative_judgements_are_kept() {
    let qrels = qrels("qrels.rel_level");
    let labels = |wanted: f32| {
        let all = (0..qrels.queries().len()).flat_map(|query| qrels.judgements(query));
        all.filter(|judgement| judgement.1 == wanted).count()
    };
    assert_eq!([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0].map(labels), [304, 2818, 462, 14, 77, 6]);
}

fn three_groups_of_judges_are_no_plain_qrels() {
    let source = source("qrels.123");
    let error = read_qrels(&source).unwrap_err().to_string();
    assert!(error.contains("again, first on line"), "{error}");
}

fn a_truncated_run_leaves_a_topic_out_or_counts_it_as_empty() {
    let (qrels, run) = (qrels("qrels.test"), run("results.trunc"));
    let left_out = join(&qrels, &run, &JoinOptions::default());
    assert_eq!(left_out.list_names.iter().collect::<Vec<_>>(), ["301", "303"]);
    assert_eq!(left_out.only_in_qrels.iter().collect::<Vec<_>>(), ["302"]);
    assert!(left_out.only_in_run.is_empty());
    let options = JoinOptions { missing_lists: MissingLists::Empty, ..JoinOptions::default() };
    let empty = join(&qrels, &run, &options);
    assert_eq!(empty.list_names.iter().collect::<Vec<_>>(), ["301", "302", "303"]);
    assert_eq!(empty.lists.list(1, &empty.scores).len(), 0);
    assert_eq!(empty.lists.list(1, &empty.scores).missed.len(), 1061);
    assert_eq!(empty.lists.check(), Ok(()));
}

/// The file out.test says for qrels.test and results.test: 1500 retrieved, 561 relevant, 131 of them retrieved.
fn relevant_and_retrieved_counts_are_those_of_trec_eval() {
    let (qrels, run) = (qrels("qrels.test"), run("results.test"));
    let Joined { lists, scores, .. } = join(&qrels, &run, &JoinOptions::default());
    let relevant = |labels: &[f32]| labels.iter().filter(|label| **label > 0.0).count();
    let retrieved: usize = (0..lists.len()).map(|q| relevant(lists.list(q, &scores).labels)).sum();
    let missed: usize = (0..lists.len()).map(|q| relevant(lists.list(q, &scores).missed)).sum();
    assert_eq!((scores.len(), retrieved + missed, retrieved), (1500, 561, 131));
}

toprank_testkit::real_data_tests! {
    qrels_have_the_counted_judgements_and_topics,
    runs_have_the_counted_documents_topics_and_tag,
    a_hash_inside_a_document_name_is_part_of_it,
    levels_and_negative_judgements_are_kept,
    three_groups_of_judges_are_no_plain_qrels,
    a_truncated_run_leaves_a_topic_out_or_counts_it_as_empty,
    relevant_and_retrieved_counts_are_those_of_trec_eval,
}

//! Every value that trec_eval expects of its own test data, to the printed digits, under `--like trec_eval`.

use std::collections::BTreeMap;

use toprank::data::{JoinOptions, MissingLists, Source, join, read_qrels, read_run};
use toprank::metrics::{Measure, Preset, evaluate};

/// A measure of trec_eval as ours; `None`: one that we do not have.
fn ours(trec: &str) -> Option<String> {
    let whole = match trec {
        "map" => "map",
        "Rprec" => "rprec",
        "bpref" => "bpref",
        "recip_rank" => "mrr",
        "ndcg" => "ndcg",
        "set_P" => "p",
        "set_recall" => "recall",
        "set_F" => "f1",
        "11pt_avg" => "11pt",
        "11pt_avg_.25,.5,.75" => "11pt:points=.25/.5/.75",
        "rbp" => "rbp:p=0.9",
        "rbp_resid" => "rbp-residual:p=0.9",
        "ndcg_1=3,2=9,4=4.5" => "ndcg:gain=0/3/9/3/4.5",
        _ => {
            let prefixes = [
                ("P_", "p@"),
                ("recall_", "recall@"),
                ("map_cut_", "map@"),
                ("ndcg_cut_", "ndcg@"),
                ("success_", "success@"),
                ("unj_", "judged@"),
                ("Rprec_mult_", "rprec:times="),
                ("iprec_at_recall_", "iprec:recall="),
            ];
            let (prefix, name) = prefixes.iter().find(|(prefix, _)| trec.starts_with(prefix))?;
            return Some(format!("{name}{}", &trec[prefix.len()..]));
        }
    };
    Some(whole.to_string())
}

/// What we leave to trec_eval: counts, other aggregations, measures of its own.
const NOT_OURS: [&str; 13] = [
    "runid",
    "num_",
    "gm_",
    "infAP",
    "utility",
    "binG",
    "G",
    "ndcg_rel",
    "Rndcg",
    "relative_P",
    "set_relative_P",
    "set_map",
    "relstring",
];

struct Call {
    expected: &'static str,
    qrels: &'static str,
    run: &'static str,
    options: JoinOptions,
    relevant: &'static str,
    /// Lines that are measures of ours.
    values: usize,
}

/// Compares every line of an expected output that is a measure of ours.
fn replay(call: &Call) {
    let real = |file: &str| Source::path(toprank_testkit::real_file(&format!("trec-eval/{file}.gz")));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut real(call.expected).open().unwrap(), &mut text).unwrap();
    let qrels = read_qrels(&real(call.qrels)).unwrap();
    let joined = join(&qrels, &read_run(&real(call.run)).unwrap(), &call.options);
    let mut lines: BTreeMap<String, Vec<(&str, &str, &str)>> = BTreeMap::new();
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let (Some(trec), Some(list), Some(value)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        match ours(trec) {
            Some(spec) => lines.entry(spec).or_default().push((trec, list, value)),
            None => assert!(NOT_OURS.iter().any(|name| trec.starts_with(name)), "{trec} has no counterpart"),
        }
    }
    let rules = [("relevant".to_string(), call.relevant.to_string())];
    let like = Preset::find("trec_eval").unwrap();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for (spec, lines) in lines {
        let measures = Measure::parse_like(&spec, like, &rules).unwrap();
        let result = evaluate(&joined.lists, &joined.scores, &measures).unwrap().results.remove(0);
        for (trec, list, value) in lines {
            let place = joined.list_names.iter().position(|name| name == list);
            let got = place.map_or(result.mean.unwrap(), |place| result.per_list[place]);
            let got = if trec.starts_with("unj") { 1.0 - got } else { got };
            assert!(place.is_some() || list == "all", "{list} is no list");
            compared += 1;
            if format!("{got:.4}") != value {
                wrong.push(format!("{trec} of {list}: trec_eval {value}, {spec} {got}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", call.expected, wrong.join("\n"));
    assert_eq!(compared, call.values, "lines compared in {}", call.expected);
}

const PLAIN: Call = Call {
    expected: "out.test",
    qrels: "qrels.test",
    run: "results.test",
    options: JoinOptions {
        missing_lists: MissingLists::LeaveOut,
        depth: None,
        scores: toprank::core::ScoreBits::F64,
    },
    relevant: "1",
    values: 24,
};

fn out_test() {
    replay(&PLAIN);
    replay(&Call { qrels: "qrels.test.with-comments", ..PLAIN });
}

fn out_comment_test() {
    replay(&Call {
        expected: "out.comment.test",
        qrels: "qrels.comment.test",
        run: "results.comment.test",
        ..PLAIN
    });
}

fn all_measures() {
    replay(&Call { expected: "out.test.a", values: 74, ..PLAIN });
}

fn all_measures_per_list() {
    replay(&Call { expected: "out.test.aq", values: 296, ..PLAIN });
}

fn a_topic_that_the_run_leaves_out_counts_zero() {
    let options = JoinOptions { missing_lists: MissingLists::Empty, ..PLAIN.options };
    replay(&Call { expected: "out.test.aqc", run: "results.trunc", options, values: 296, ..PLAIN });
}

fn only_the_first_hundred_documents() {
    let options = JoinOptions { missing_lists: MissingLists::Empty, depth: Some(100), ..PLAIN.options };
    replay(&Call { expected: "out.test.aqcM", run: "results.trunc", options, values: 296, ..PLAIN });
}

fn relevance_from_level_two() {
    replay(&Call { expected: "out.test.aql", qrels: "qrels.rel_level", relevant: "2", values: 296, ..PLAIN });
}

fn measures_with_parameters() {
    replay(&Call { expected: "out.test.meas_params", values: 84, ..PLAIN });
}

toprank_testkit::real_data_tests! {
    out_test,
    out_comment_test,
    all_measures,
    all_measures_per_list,
    a_topic_that_the_run_leaves_out_counts_zero,
    only_the_first_hundred_documents,
    relevance_from_level_two,
    measures_with_parameters,
}

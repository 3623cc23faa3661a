/*!
Names of metrics as people know them from other tools, in any case of letters:

| tool         | examples                                                                    |
|--------------|-----------------------------------------------------------------------------|
| trec_eval    | `P_5`, `ndcg_cut_10`, `recip_rank`, `Rprec`, `gm_map`, `set_P`, `all_trec`  |
| ir_measures  | `nDCG@10`, `RR@10`, `P(rel=2)@5`, `nDCG(dcg='exp-log2')@10`, `IPrec@0.1`    |
| scikit-learn | `roc_auc`, `average_precision`, `ndcg_score`                                |

A name says which metric, not which convention: `ndcg_cut_10` is `ndcg@10` under the policy given, and `--like trec_eval`
makes it trec_eval's number. Reports print our own names.
*/

use toprank_core::{ParamError, Spec};

use crate::catalog::find;

/// Cut-offs that trec_eval prints.
const CUTS: [u32; 9] = [5, 10, 15, 20, 30, 100, 200, 500, 1000];

/// Families of trec_eval that a number ends: `P_5`. Alone they stand for all of trec_eval's cut-offs.
const WITH_CUT: &[(&str, &str)] =
    &[("p", "p"), ("recall", "recall"), ("ndcg_cut", "ndcg"), ("map_cut", "map"), ("success", "success")];

/// Families of trec_eval that a fraction ends: `iprec_at_recall_0.10`, with the parameter it is.
const WITH_FRACTION: &[(&str, &str, &str)] =
    &[("iprec_at_recall", "iprec", "recall"), ("rprec_mult", "rprec", "times")];

/// Reads names separated by commas (a comma in parentheses separates parameters): our own grammar and that of other tools.
/// A name of a set (`all_trec`, `official`, `ndcg_cut`) becomes the metrics of the set that we have.
pub(crate) fn read(text: &str) -> Result<Vec<Spec>, ParamError> {
    let mut specs: Vec<Spec> = Vec::new();
    for part in split(text) {
        for spec in read_one(part.trim())? {
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
    }
    Ok(specs)
}

/// Parts between commas that stand outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let outside = |c: char| {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth <= 0
    };
    text.split(outside).filter(|part| !part.trim().is_empty()).collect()
}

fn read_one(text: &str) -> Result<Vec<Spec>, ParamError> {
    if text.contains('(') {
        return Ok(vec![ir_measures(text)?]);
    }
    let name = text.to_ascii_lowercase();
    if let Some(set) = set(&name) {
        return Ok(set);
    }
    if let Some(recall) = name.strip_prefix("iprec@") {
        return Ok(vec![Spec::parse(&format!("iprec:recall={recall}"))?]);
    }
    // trec_eval prints P_5 and takes P.5.
    let number = name.rsplit_once(['_', '.']).filter(|(_, number)| number.parse::<u32>().is_ok());
    if let Some((family, k)) = number
        && let Some((_, ours)) = WITH_CUT.iter().find(|(theirs, _)| *theirs == family)
    {
        return Ok(vec![Spec::parse(&format!("{ours}@{k}"))?]);
    }
    for (family, ours, key) in WITH_FRACTION {
        let rest = name.strip_prefix(family).and_then(|rest| rest.strip_prefix(['_', '.']));
        if let Some(value) = rest.filter(|value| value.parse::<f64>().is_ok()) {
            return Ok(vec![Spec::parse(&format!("{ours}:{key}={value}"))?]);
        }
    }
    Ok(vec![Spec::parse(text)?])
}

/// The metrics of a set of trec_eval.
fn set(name: &str) -> Option<Vec<Spec>> {
    let cuts = |name: &str, cuts: &[u32]| cuts.iter().map(|k| format!("{name}@{k}")).collect::<Vec<_>>();
    let recalls = || (0..=10).map(|tenth| format!("iprec:recall={:.1}", f64::from(tenth) / 10.0));
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect::<Vec<_>>();
    let official = || {
        let mut all = own(&["map", "gm-map", "rprec", "bpref", "mrr"]);
        all.extend(recalls());
        all.extend(cuts("p", &CUTS));
        all
    };
    let names = match name {
        "official" => official(),
        "all_trec" => {
            let mut all = official();
            all.extend(cuts("recall", &CUTS));
            all.extend((1..=10).map(|fifth| format!("rprec:times={:.1}", f64::from(fifth) / 5.0)));
            all.extend(own(&["11pt", "ndcg"]));
            all.extend(cuts("ndcg", &CUTS));
            all.extend(cuts("map", &CUTS));
            all.extend(cuts("success", &[1, 5, 10]));
            all.extend(own(&["p", "recall", "f1"]));
            all
        }
        "ndcg_cut" => cuts("ndcg", &CUTS),
        "map_cut" => cuts("map", &CUTS),
        _ => return None,
    };
    names.iter().map(|name| Spec::parse(name).ok()).collect()
}

/// `nDCG(dcg='exp-log2', cutoff=10)`, `P(rel=2)@5`: the grammar of ir_measures.
fn ir_measures(text: &str) -> Result<Spec, ParamError> {
    let wrong = || ParamError::new("metric", text, "NAME(key=value, …)@k, for example P(rel=2)@5");
    let (name, rest) = text.split_once('(').ok_or_else(wrong)?;
    let (inside, cut) = rest.rsplit_once(')').ok_or_else(wrong)?;
    let mut ours = format!("{name}{cut}");
    let mut args = String::new();
    for part in inside.split(',').filter(|part| !part.trim().is_empty()) {
        let (key, value) = part.split_once('=').ok_or_else(wrong)?;
        let value = value.trim().trim_matches(['\'', '"']);
        match (key.trim(), value) {
            ("rel", label) => args += &format!(":relevant={label}"),
            ("dcg", "log2") => args += ":gain=linear",
            ("dcg", "exp-log2") => args += ":gain=exp2",
            ("cutoff", k) if cut.is_empty() => ours = format!("{name}@{k}"),
            ("recall", recall) if cut.is_empty() => args += &format!(":recall={recall}"),
            ("judged_only", "False" | "false") => {}
            (key, value)
                if find(&name.to_ascii_lowercase())
                    .is_some_and(|entry| entry.params.iter().any(|p| p.name == key)) =>
            {
                args += &format!(":{key}={value}");
            }
            (key, _) => {
                let expected = "rel, dcg (log2 or exp-log2), cutoff, recall or one of ours";
                return Err(ParamError::new(&format!("a parameter of {name}"), key, expected));
            }
        }
    }
    let mut spec = read_one(&ours)?.into_iter().next().ok_or_else(wrong)?;
    spec.args.0.extend(Spec::parse(&format!("x{args}"))?.args.0);
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use toprank_core::Policy;

    use crate::{METRICS, Measure};

    fn ours(text: &str) -> Vec<String> {
        let measures =
            Measure::parse_all(text, &Policy::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
        measures.iter().map(|measure| measure.name().to_string()).collect()
    }

    #[test]
    fn names_of_other_tools_are_understood_in_any_case() {
        for (theirs, want) in [
            ("P_5", "p@5"),
            ("p.5", "p@5"),
            ("ndcg_cut_10", "ndcg@10"),
            ("NDCG_CUT_10", "ndcg@10"),
            ("recall_100", "recall@100"),
            ("map_cut_10", "map@10"),
            ("success_1", "success@1"),
            ("recip_rank", "mrr"),
            ("Rprec", "rprec"),
            ("Rprec_mult_0.20", "rprec:times=0.20"),
            ("gm_map", "gm-map"),
            ("bpref", "bpref"),
            ("iprec_at_recall_0.10", "iprec:recall=0.10"),
            ("set_P", "p"),
            ("set_recall", "recall"),
            ("set_F", "f1"),
            ("11pt_avg", "11pt"),
            ("nDCG@10", "ndcg@10"),
            ("RR@10", "mrr@10"),
            ("RR", "mrr"),
            ("P@5", "p@5"),
            ("AP", "map"),
            ("AP@100", "map@100"),
            ("R@100", "recall@100"),
            ("ERR@20", "err@20"),
            ("Success@5", "success@5"),
            ("Judged@10", "judged@10"),
            ("IPrec@0.1", "iprec:recall=0.1"),
            ("SetP", "p"),
            ("P(rel=2)@5", "p@5:relevant=2"),
            ("nDCG(dcg='exp-log2')@10", "ndcg@10:gain=exp2"),
            ("nDCG(dcg=\"log2\", cutoff=20)", "ndcg@20:gain=linear"),
            ("RBP(p=0.8, rel=1)", "rbp:p=0.8:relevant=1"),
            ("roc_auc", "auroc"),
            ("ROC_AUC_score", "auroc"),
            ("average_precision", "auprc"),
            ("average_precision_score", "auprc"),
            ("ndcg_score", "ndcg"),
            ("dcg_score", "dcg"),
            ("HR@10", "success@10"),
        ] {
            assert_eq!(ours(theirs), [want], "{theirs}");
        }
    }

    #[test]
    fn a_comma_in_parentheses_does_not_end_a_metric() {
        assert_eq!(ours("RBP(p=0.8, rel=1), P_5"), ["rbp:p=0.8:relevant=1", "p@5"]);
    }

    #[test]
    fn the_sets_of_trec_eval_are_the_metrics_it_prints() {
        let all = ours("all_trec");
        for name in [
            "map",
            "gm-map",
            "rprec",
            "bpref",
            "mrr",
            "p@1000",
            "recall@5",
            "ndcg@30",
            "success@10",
            "iprec:recall=0.3",
        ] {
            assert!(all.iter().any(|one| one == name), "no {name} in {all:?}");
        }
        assert_eq!(all.len(), 5 + 11 + 9 + 9 + 10 + 2 + 9 + 9 + 3 + 3);
        assert_eq!(ours("ndcg_cut").len(), 9);
        assert_eq!(ours("official,map").len(), 5 + 11 + 9);
    }

    #[test]
    fn every_name_of_ours_is_still_its_own() {
        for entry in METRICS {
            assert_eq!(ours(entry.name), [entry.name]);
        }
    }

    #[test]
    fn what_is_unknown_gets_one_sentence() {
        for (text, message) in [
            ("ndgc", "unknown metric \"ndgc\"; did you mean \"ndcg\"?"),
            ("recip_rnak", "unknown metric \"recip_rnak\"; did you mean \"recip_rank\"?"),
            (
                "P(judged_only=True)@5",
                "a parameter of P must be rel, dcg (log2 or exp-log2), cutoff, recall or one of ours, but is judged_only",
            ),
            ("P(rel=2@5", "metric must be NAME(key=value, …)@k, for example P(rel=2)@5, but is P(rel=2@5"),
        ] {
            let error = Measure::parse_all(text, &Policy::default()).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}

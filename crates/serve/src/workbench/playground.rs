//! `POST /playground`: one small list under every preset and every objective.

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use toprank::core::text::visible_json;
use toprank::core::{Lists, Policy};
use toprank::metrics::{Measure, PRESETS, evaluate};
use toprank::objectives::{Goal, OBJECTIVES};

use super::unreadable;
use crate::refusal::Refusal;

/// Documents of the list at most.
const DOCUMENTS: usize = 30;
/// Metrics at most, and characters of their names.
const METRICS: usize = 20;
const NAMES: usize = 1000;
/// The highest grade.
const TOP: f32 = 10.0;
/// What is shown if nothing is asked for.
const DEFAULT: &str = "ndcg@3,ndcg,map,mrr,err,p@3,recall@3,rbp,auroc";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    documents: Vec<Document>,
    metrics: Option<String>,
}

/// A document: higher scores rank higher, equal scores are a tie.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    score: f64,
    /// `None`: not judged.
    grade: Option<f32>,
}

pub(super) fn schema() -> Value {
    json!({
        "type": "object", "required": ["documents"],
        "properties": {
            "documents": {"type": "array", "maxItems": DOCUMENTS, "items": {
                "type": "object", "required": ["score"],
                "properties": {"score": {"type": "number"}, "grade": {"type": ["number", "null"], "minimum": 0, "maximum": TOP}},
            }},
            "metrics": {"type": "string", "default": DEFAULT},
        },
    })
}

pub(super) fn answer(body: &[u8]) -> Result<String, Refusal> {
    let asked: Asked = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
    let wrong =
        |found: String, expected: &str| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, found, expected);
    let n = asked.documents.len();
    if n == 0 || n > DOCUMENTS {
        return Err(wrong(format!("{n} documents"), "1 to 30"));
    }
    if let Some(grade) =
        asked.documents.iter().filter_map(|document| document.grade).find(|g| !(0.0..=TOP).contains(g))
    {
        return Err(wrong(format!("the grade {grade}"), "0 to 10, or null"));
    }
    if let Some(score) = asked.documents.iter().map(|document| document.score).find(|s| s.abs() > 1e6) {
        return Err(wrong(format!("the score {score}"), "-1000000 to 1000000"));
    }
    let names = asked.metrics.as_deref().filter(|names| !names.trim().is_empty()).unwrap_or(DEFAULT);
    if names.len() > NAMES || names.split(',').count() > METRICS {
        return Err(wrong(
            format!("{} metrics", names.split(',').count()),
            "20 or fewer, separated by commas",
        ));
    }
    let scores: Vec<f64> = asked.documents.iter().map(|document| document.score).collect();
    let labels: Vec<f32> =
        asked.documents.iter().map(|document| document.grade.unwrap_or(f32::NAN)).collect();
    let lists = Lists {
        // Names are A, B, C …; trec_eval puts the last name first.
        tie_keys: Some((0..n as u32).rev().collect()),
        ..Lists::from_lengths(&[n], labels)
    };
    let refused = |error: &dyn std::fmt::Display| Refusal {
        status: StatusCode::UNPROCESSABLE_ENTITY,
        message: format!("request: {error}"),
        id: None,
        header: None,
    };
    let mut presets = Vec::new();
    let own = (("toprank", "toprank's own rules"), Measure::parse_all(names, &Policy::default()));
    let others =
        PRESETS.iter().map(|preset| ((preset.name, preset.about), Measure::parse_like(names, preset, &[])));
    let mut shown = Vec::new();
    for ((name, about), measures) in std::iter::once(own).chain(others) {
        let measures = measures.map_err(|error| refused(&error))?;
        shown = measures.iter().map(|measure| measure.name().to_string()).collect();
        // A metric that does not take these grades has no value; the others do.
        let value = |measure: &Measure| {
            let found = evaluate(&lists, &scores, std::slice::from_ref(measure)).ok()?;
            found.results[0].mean.filter(|mean| mean.is_finite())
        };
        let values: Vec<Option<f64>> = measures.iter().map(value).collect();
        presets.push(json!({"name": name, "about": about, "values": values}));
    }
    let mut objectives = Vec::new();
    let mut without = Vec::new();
    for line in OBJECTIVES {
        let (name, about) = (line.entry.name, line.entry.about);
        let found = Goal::parse(name, &Policy::default())
            .map_err(|error| error.to_string())
            .and_then(|goal| goal_of(&goal, &lists, &scores));
        match found {
            Ok((loss, gradient)) if loss.is_finite() && gradient.iter().all(|g| g.is_finite()) => {
                objectives.push(json!({"name": name, "about": about, "loss": loss, "gradient": gradient}));
            }
            Ok(_) => without.push(json!({"name": name, "why": "loss or gradient is not finite"})),
            Err(why) => without.push(json!({"name": name, "why": why})),
        }
    }
    let answer = json!({"metrics": shown, "presets": presets, "objectives": objectives, "without": without});
    Ok(visible_json(&answer.to_string()) + "\n")
}

/// Loss and gradient of the list; an objective in which something is undefined says so.
fn goal_of(goal: &Goal, lists: &Lists, scores: &[f64]) -> Result<(f64, Vec<f64>), String> {
    goal.of_list(&lists.list(0, scores)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(body: &str) -> Result<Value, Refusal> {
        answer(body.as_bytes()).map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn values_are_those_of_the_presets_and_gradients_those_of_the_objectives() {
        let found = asked(
            r#"{"metrics": "ndcg@2,map", "documents": [{"score": 3, "grade": 0}, {"score": 2, "grade": 2}, {"score": 1}]}"#,
        )
        .unwrap();
        assert_eq!(found["metrics"], json!(["ndcg@2", "map"]));
        assert_eq!(found["presets"].as_array().unwrap().len(), PRESETS.len() + 1);
        // The relevant document is second: ndcg = (gain / log2 3) / gain under any gain, map = 1/2.
        for preset in found["presets"].as_array().unwrap() {
            assert!((preset["values"][0].as_f64().unwrap() - 1.0 / 3f64.log2()).abs() < 1e-12, "{preset}");
            assert_eq!(preset["values"][1], json!(0.5), "{preset}");
        }
        let listnet =
            found["objectives"].as_array().unwrap().iter().find(|o| o["name"] == "listnet").unwrap();
        let gradient: Vec<f64> = serde_json::from_value(listnet["gradient"].clone()).unwrap();
        assert!(gradient[0] > 0.0 && gradient[1] < 0.0 && gradient[2] == 0.0, "{gradient:?}");
        let all = found["objectives"].as_array().unwrap().len() + found["without"].as_array().unwrap().len();
        assert_eq!(all, OBJECTIVES.len());
    }

    #[test]
    fn a_tie_is_averaged_by_toprank_and_broken_by_others() {
        let found =
            asked(r#"{"metrics": "p@1", "documents": [{"score": 1, "grade": 0}, {"score": 1, "grade": 1}]}"#)
                .unwrap();
        let of = |name: &str| {
            let presets = found["presets"].as_array().unwrap();
            presets.iter().find(|preset| preset["name"] == name).unwrap()["values"][0].clone()
        };
        assert_eq!((of("toprank"), of("trec_eval"), of("lightgbm")), (json!(0.5), json!(1.0), json!(0.0)));
    }

    #[test]
    fn what_is_no_small_list_is_refused_with_a_sentence() {
        let many = format!(r#"{{"documents": [{}{{"score": 1}}]}}"#, r#"{"score": 1},"#.repeat(30));
        for (body, words) in [
            ("", "EOF"),
            ("[]", "invalid"),
            ("{}", "missing field"),
            (r#"{"documents": []}"#, "0 documents"),
            (many.as_str(), "31 documents"),
            (r#"{"documents": [{"score": 1, "grade": 11}]}"#, "the grade 11"),
            (r#"{"documents": [{"score": 1e300}]}"#, "the score"),
            (r#"{"documents": [{"score": 1e999}]}"#, "number out of range"),
            (r#"{"documents": [{"score": 1}], "metrics": "ncdg"}"#, "did you mean"),
            (r#"{"documents": [{"score": 1}], "x": 1}"#, "unknown field"),
        ] {
            let refusal = asked(body).unwrap_err();
            assert!(refusal.message.contains(words), "{body}: {}", refusal.message);
        }
    }
}

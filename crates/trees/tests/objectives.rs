//! Every objective of the catalog trains trees.

use toprank_core::{Lists, Policy, Stream};
use toprank_data::Matrix;
use toprank_metrics::{Measure, evaluate};
use toprank_objectives::{Batch, Goal, Gradients, OBJECTIVES, Reduction};
use toprank_trees::{BinSettings, Bins, Booster, Boosting, Ensemble, Growth};

/// Lists whose labels follow two features and noise; a third says nothing.
fn lists() -> (Lists, Matrix) {
    let mut random = Stream::new(3, "lists for trees").open();
    let (count, length) = (30, 20);
    let mut labels = Vec::new();
    let mut values = Vec::new();
    for _ in 0..count * length {
        let row: [f32; 3] = std::array::from_fn(|_| random.unit() as f32);
        let hidden = 2.0 * row[0] + (row[1] - 0.5).abs() + 0.2 * random.unit() as f32;
        labels.push(if hidden > 1.9 { 2.0 } else { f32::from(u8::from(hidden > 1.4)) });
        values.extend(row);
    }
    (Lists::from_lengths(&vec![length; count], labels), Matrix::Dense { width: 3, values })
}

fn boost(goal: &Goal, lists: &Lists, rows: &Matrix, rounds: usize) -> (Ensemble, Vec<f64>) {
    let data = Bins::fit(rows, &[], &BinSettings::default()).unwrap().apply(rows).unwrap();
    let growth = Growth { leaves: 8, min_hessian: 0.0, ..Growth::default() };
    let mut booster =
        Booster::new(&data, &lists.offsets, 1, Boosting { growth, ..Boosting::default() }).unwrap();
    let mut state = goal.state(lists).unwrap();
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    for round in 0..rounds {
        let batch = Batch {
            reduction: Reduction::Sum,
            stream: Stream::new(1, "objective").at_step(round as u64),
            ..Batch::all(lists, booster.scores())
        };
        goal.step(&batch, &mut state, &mut out).unwrap();
        booster.round(&out.gradient, &out.hessian).unwrap();
    }
    let scores = booster.scores().to_vec();
    (booster.into_ensemble(), scores)
}

#[test]
fn every_objective_puts_lists_in_better_order() {
    let (lists, rows) = lists();
    let measures = Measure::parse_all("ndcg", &Policy::default()).unwrap();
    let value = |scores: &[f64]| evaluate(&lists, scores, &measures).unwrap().results[0].mean.unwrap();
    let before = value(&vec![0.0; lists.entries()]);
    for line in OBJECTIVES {
        let name = line.entry.name;
        // Of fewer than ten others a tenth is none.
        let with = if ["pauc-cvar", "tpauc-minmax"].contains(&name) { ":fpr=0.5" } else { "" };
        let goal = Goal::parse(&format!("{name}{with}"), &Policy::default()).unwrap();
        let (model, scores) = boost(&goal, &lists, &rows, 20);
        assert_eq!(model.check(), Ok(()), "{name}");
        let after = value(&scores);
        assert!(after > before + 0.05, "{name}: NDCG from {before} to {after}");
    }
}

#[test]
fn lambdarank_reaches_what_the_noise_allows() {
    let (lists, rows) = lists();
    let goal = Goal::parse("lambdarank@10:norm=lightgbm", &Policy::default()).unwrap();
    let (model, scores) = boost(&goal, &lists, &rows, 60);
    let measures = Measure::parse_all("ndcg@10", &Policy::default()).unwrap();
    assert!(evaluate(&lists, &scores, &measures).unwrap().results[0].mean.unwrap() > 0.97);
    // The feature that says nothing is asked less often than the one that says most.
    let asked =
        |feature: u32| model.trees.iter().flat_map(|t| &t.nodes).filter(|n| n.feature == feature).count();
    assert!(asked(2) < asked(0), "{} {}", asked(2), asked(0));
}

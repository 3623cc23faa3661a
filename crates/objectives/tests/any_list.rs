//! Whatever the scores, labels and weights of a list: loss, gradient and Hessian are numbers, and what should sum to 0
//! does.

use proptest::prelude::*;
use toprank_core::{Lists, Policy};
use toprank_objectives::{Batch, Goal, Gradients, OBJECTIVES};

/// Scores that are equal, nearly equal, far apart and tiny.
fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(1.0),
        Just(1.0 + f64::EPSILON),
        Just(1e-300),
        Just(1e6),
        Just(-1e6),
        -3.0..3.0f64,
        -50.0..50.0f64,
    ]
}

fn label() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0f32), Just(1.0), Just(2.0), Just(4.0), Just(0.5), Just(-1.0), Just(f32::NAN)]
}

fn weight() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0f32), Just(1.0), 0.1..3.0f32]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_objective_answers_with_numbers(items in prop::collection::vec((score(), label(), weight()), 0..12)) {
        let lists = Lists {
            item_weights: Some(items.iter().map(|item| item.2).collect()),
            ..Lists::from_lengths(&[items.len()], items.iter().map(|item| item.1).collect())
        };
        let scores: Vec<f64> = items.iter().map(|item| item.0).collect();
        for line in OBJECTIVES {
            let name = line.entry.name;
            let goal = Goal::parse(name, &Policy::default()).unwrap();
            let mut out = Gradients { want_hessian: true, ..Gradients::default() };
            goal.step(&Batch::all(&lists, &scores), &mut goal.state(&lists).unwrap(), &mut out).unwrap();
            prop_assert!(out.loss.is_finite(), "{name}: {}", out.loss);
            prop_assert!(out.gradient.iter().all(|g| g.is_finite()), "{name}: {:?}", out.gradient);
            // A difference of equal numbers may be rounded below 0.
            prop_assert!(out.hessian.iter().all(|h| h.is_finite() && *h >= 0.0), "{name}: {:?}", out.hessian);
            if out.counts.used == 0 {
                prop_assert!(out.loss == 0.0 && out.gradient.iter().all(|g| *g == 0.0), "{name} has no gradient");
            }
            if goal.objective().shift_invariant() {
                let size: f64 = out.gradient.iter().map(|g| g.abs()).sum();
                let sum: f64 = out.gradient.iter().sum();
                // Where scores of 10⁶ cancel, what is left of a gradient of 0 is their last bits.
                let last_bits = 4.0 * f64::EPSILON * scores.iter().fold(0.0f64, |most, s| most.max(s.abs()));
                prop_assert!(sum.abs() <= 1e-9 * size.max(1e-3) + last_bits, "{name}: {:?}", out.gradient);
            }
        }
    }
}

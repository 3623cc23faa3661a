//! The simulation of paper 001 shows what it is run for: `bench/paper001`, here with fewer batches.

#[allow(dead_code)]
#[path = "../examples/paper001.rs"]
mod example;

use example::{KINDS, Population, RATES, estimates, interpolation_errors, true_loss};

#[test]
fn soprc_does_not_depend_on_the_sampling_rate_and_mini_batch_ap_does() {
    for (kind, name) in KINDS {
        let populations: Vec<Population> = (1..=2).map(|seed| Population::new(kind, seed)).collect();
        let truth = true_loss(&populations);
        let mut drift = Vec::new();
        for rate in RATES {
            let [soprc, _, batch] = estimates(&populations, rate, 200);
            // 2 % as the bench shows with 2500 batches, and three standard errors of 400.
            let allowed = 0.02 * truth + 3.0 * soprc.sd / 400f64.sqrt();
            assert!((soprc.mean - truth).abs() < allowed, "{name}, rate {rate}: {soprc:?} for {truth}");
            drift.push(batch.mean / truth - 1.0);
        }
        assert!(drift[0] > 0.1 && drift[4] < -0.1, "{name}: a mini-batch follows its own share: {drift:?}");
    }
}

#[test]
fn the_interpolation_error_falls_with_the_number_of_relevant_items() {
    let population = Population::new(KINDS[0].0, 1);
    let [few, _] = interpolation_errors(&population, 10, 200);
    let [many, printed] = interpolation_errors(&population, 200, 200);
    assert!(many[0] < 0.01 && few[0] < 0.06 && many[0] < few[0], "{few:?} {many:?}");
    let [_, printed_few] = interpolation_errors(&population, 10, 200);
    assert!(printed_few[0] > 2.0 * few[0], "nodes at i/n are too high: {printed_few:?} {few:?} {printed:?}");
}

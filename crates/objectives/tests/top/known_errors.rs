/*!
Known errors of LibAUC 2.0.1 in losses, optimisers and samplers of this kind, and the test that would fail if we made them.

| error | test |
|---|---|
| the slope of K-SONG's gate lacks its factor | top/derivatives.rs `the_hypergradient_is_the_derivative_at_exact_thresholds` |
| the mean over a sample of positives and negatives replaces that of the list | traps.rs `the_mean_of_many_samples_is_the_mean_of_the_whole_list` |
| hence no item of a sample can have rank one | traps.rs `the_best_item_has_rank_one_in_the_list_and_in_every_sample_of_it` |
| hence the threshold selects another number of items | top/thresholds.rs `thresholds_from_samples_with_too_many_relevant_items_refer_to_the_whole_list` |
| the threshold starts at 0 and cannot come down | top/thresholds.rs `online_thresholds_reach_the_exact_ones_from_anywhere_at_any_scale` |
| one number of items for all lists | contract.rs `a_batch_is_the_mean_of_its_lists` |
| trackers start at 0, the first step is far too long | traps.rs `the_first_gradient_is_the_same_for_every_gamma_whenever_it_comes` |
| a list without a relevant item gives NaN | traps.rs `weights_of_zero_gains_of_zero_and_no_lists_at_all_give_numbers` |
| a companion in the batch sets the scale of an exponential | traps.rs `no_companion_and_no_constant_disturbs_a_tracked_list` |
| listwise cross-entropy over sampled negatives alone | peers.rs `known_errors_of_a_peer_are_not_ours` |
| trackers and duals are not saved | top/known_errors.rs `what_thresholds_and_duals_have_reached_is_saved_and_loaded` |
| an item twice in a batch: the last one wins | traps.rs `a_list_or_an_item_twice_in_one_batch_is_refused` |
| AUCM v2 has a bracket in the wrong place | peers.rs `known_errors_of_a_peer_are_not_ours`, top/duals.rs `a_b_and_alpha_reach_the_means_and_the_gap` |
| scores of 0 are excluded from the mean, one class alone gives NaN | top/known_errors.rs `scores_of_zero_count_like_any_other_and_one_class_alone_has_no_gradient` |
| a prior that is given is overwritten | top/known_errors.rs `margins_and_priors_that_are_given_are_used` |
| AUCM of several labels ignores its margin | top/known_errors.rs `the_margin_counts_for_every_label` |
| the step of α does not belong to its loss, a and b are decayed and clipped with the weights | top/duals.rs `a_b_and_alpha_reach_the_means_and_the_gap` |
| momentum with the wrong sign | ../../train/src/fit/optimiser/tests.rs `adam_and_sgd_step_as_pytorch_does` |
| exponentials of KL forms overflow | top/exponentials.rs `the_three_levels_of_the_kl_form_equal_their_reference_in_logarithms_at_huge_scores`, traps.rs `exponentials_of_huge_scores_equal_their_reference_in_logarithms_over_tracked_steps` |
| labels share the third level of two-way KL | top/known_errors.rs `every_label_of_multi_label_data_has_its_own_duals_and_its_own_third_level` |
| the dual step of CVaR has another scale than its loss | top/duals.rs `cvar_thresholds_and_two_way_duals_reach_their_closed_forms` |
| exact two-way loss cannot be made by its name, nor for several labels | top/known_errors.rs `the_margin_counts_for_every_label` |
| mAP@K weighs competitors instead of relevant items | top/known_errors.rs `the_gate_of_top_k_average_precision_weighs_relevant_items_and_not_their_competitors` |
| AP is that of the resampled classes | traps.rs `the_mean_of_many_samples_is_the_mean_of_the_whole_list` |
| the top push cannot run | top/identities.rs `the_top_push_is_a_one_way_area_that_ends_at_the_first_other` |
| focal loss multiplies a column by a row | peers.rs `known_errors_of_a_peer_are_not_ours` |
| ln(1 + e^x) overflows | peers.rs `known_errors_of_a_peer_are_not_ours`, contract.rs `far_apart_huge_and_equal_scores_stay_finite` |
| a learned temperature keeps the graph of every step: memory without bound | top/contrastive.rs `what_is_kept_of_a_query_does_not_grow` |
| one seen item of a batch makes all unseen ones start at γ times their value | top/contrastive.rs `a_query_seen_for_the_first_time_starts_at_its_own_estimate_whatever_else_is_in_the_batch` |
| a sum over negatives instead of a mean | traps.rs `an_average_over_others_does_not_change_when_every_other_item_comes_twice`, top/contrastive.rs `a_batch_of_more_others_does_not_make_a_longer_gradient` |
| the gradient of a learned temperature lacks terms (none is learned here) | top/contrastive.rs `the_temperature_is_given_and_not_learned` |
| an epoch of the sampler does not show every positive, more negatives than there are is an error, two labels are taken for one | ../../train/src/fit/sampler/tests.rs `a_pass_of_strata_shows_every_item_it_promises_and_the_rest_evenly`, `every_row_comes_once_per_pass_with_all_of_its_judged_labels` |
| the user's random numbers are reset | ../../train/src/fit/sampler/tests.rs `draws_are_a_function_of_seed_and_step` |
*/

use toprank_core::{Lists, Stream};
use toprank_objectives::{Batch, Gradients, OBJECTIVES, State};

use super::{close, close_all, goal, list, of, step};

#[test]
fn every_label_of_multi_label_data_has_its_own_duals_and_its_own_third_level() {
    let (one, labels) = list(48, 17);
    let other: Vec<f64> = one.iter().map(|s| 7.0 - 5.0 * s).collect();
    let alone = Lists::from_lengths(&[48], labels.clone());
    let both = Lists::from_lengths(&[48, 48], labels.repeat(2));
    for name in [
        "tpauc-kl",
        "auroc-minmax",
        "auroc-margin:margin=3",
        "tpauc-minmax",
        "k-song@5",
        "soprc",
        "pauc-bilevel:fpr=0.3",
    ] {
        let goal = goal(name);
        let (mut single, mut double) = (goal.state(&alone).unwrap(), goal.state(&both).unwrap());
        for t in 0..3 {
            let now: Vec<f64> = one.iter().map(|s| s + 0.1 * (4.0 * s + t as f64).sin()).collect();
            let with: Vec<f64> = now.iter().chain(&other).copied().collect();
            let (a, b) =
                (step(&goal, &alone, &now, &mut single, t), step(&goal, &both, &with, &mut double, t));
            assert_eq!(a.losses[0], b.losses[0], "{name}, step {t}: a companion disturbs");
        }
    }
}

#[test]
fn margins_and_priors_that_are_given_are_used() {
    let (scores, labels) = list(60, 18);
    let loss = |text: &str| of(text, &scores, &labels).0;
    assert!((loss("auroc-margin:margin=5") - loss("auroc-margin:margin=1")).abs() > 1.0);
    assert!((loss("soprc:prior=0.01") - loss("soprc:prior=0.5")).abs() > 0.05);
    // A list of another fraction of relevant items does not overwrite the prior that was given.
    let half: Vec<f64> = scores[..12].to_vec();
    let few = of("soprc:prior=0.01:penalty=0:penalty-others=0", &half, &labels[..12]).0;
    assert!((0.0..=1.0).contains(&few));
}

#[test]
fn the_margin_counts_for_every_label() {
    let (one, labels) = list(48, 21);
    let scores: Vec<f64> = one.iter().chain(one.iter().rev()).copied().collect();
    let lists = Lists::from_lengths(&[48, 48], labels.repeat(2));
    for name in ["auroc", "auroc-minmax", "auroc-margin", "pauc-cvar:fpr=0.3", "tpauc-minmax", "tpauc-kl"] {
        let losses = |margin: f64| {
            let goal = goal(&format!("{name}:margin={margin}"));
            step(&goal, &lists, &scores, &mut goal.state(&lists).unwrap(), 0).losses
        };
        for (narrow, wide) in losses(1.0).iter().zip(losses(5.0)) {
            assert!((narrow - wide).abs() > 1e-2, "{name}: {narrow} and {wide}");
        }
    }
}

#[test]
fn every_test_that_the_table_above_names_exists() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
    let own = read("top/known_errors.rs");
    let rows: Vec<&str> = own.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 29, "{} known errors", rows.len());
    for row in rows {
        let mut file = String::new();
        let cell = row.trim_end_matches(" |").rsplit_once(" | ").unwrap().1;
        for word in cell.split([' ', ',']).filter(|word| !word.is_empty()) {
            match word.strip_prefix('`') {
                None => file = read(word),
                Some(test) => {
                    let test = format!("fn {}()", test.trim_end_matches('`'));
                    assert!(file.contains(&test), "{row}: no {test}");
                }
            }
        }
    }
}

#[test]
fn scores_of_zero_count_like_any_other_and_one_class_alone_has_no_gradient() {
    let scores = [0.0, 1.0, 0.0, 2.0, 0.0, -1.0];
    let labels = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    let shifted: Vec<f64> = scores.iter().map(|s| s + 0.5).collect();
    for name in
        ["auroc-minmax", "auroc-margin", "pauc-cvar:fpr=0.5", "top-push", "tpauc-kl", "soprc", "auroc"]
    {
        let (a, b) = (of(name, &scores, &labels), of(name, &shifted, &labels));
        assert!(close(a.0, b.0, 1e-9) && close_all(&a.1, &b.1, 1e-9), "{name}");
        for labels in [[0.0; 6], [1.0; 6]] {
            assert_eq!(of(name, &scores, &labels), (0.0, vec![0.0; 6]), "{name}");
        }
    }
}

#[test]
fn the_gate_of_top_k_average_precision_weighs_relevant_items_and_not_their_competitors() {
    // Two relevant items, one at the top and one far down, between many others.
    let mut scores: Vec<f64> = (0..40).map(|j| 20.0 - j as f64).collect();
    let mut labels = vec![0.0; 40];
    labels[1] = 1.0;
    labels[35] = 1.0;
    scores[0] = 19.3;
    let (_, gradient) = of("top-ap@5:sharpness=5:form=theoretical:surrogate=squared-hinge", &scores, &labels);
    assert!(gradient[1] < 0.0, "the relevant item within the first five rises");
    assert!(gradient[0] > 0.0 && gradient[0] > gradient[33].abs(), "the other above it is pushed down");
    assert!(gradient[35].abs() < 1e-6, "the one far below counts for nothing at K = 5: {}", gradient[35]);
}

#[test]
fn what_thresholds_and_duals_have_reached_is_saved_and_loaded() {
    let (base, labels) = list(60, 19);
    let lists = Lists::from_lengths(&[60], labels);
    let stateful = OBJECTIVES
        .iter()
        .map(|line| line.entry.name)
        .filter(|name| !goal(name).objective().columns().is_empty());
    let mut checked = 0;
    for name in stateful {
        let goal = goal(name);
        let at = |t: u64| -> Vec<f64> { base.iter().map(|s| s + 0.2 * (5.0 * s + t as f64).sin()).collect() };
        let run = |state: &mut State, t: u64| {
            let mut out = Gradients::default();
            let (now, before) = (at(t), at(t.saturating_sub(1)));
            let stream = Stream::new(1, "objective").at_step(t);
            let batch = Batch { stream, previous: Some(&before), ..Batch::all(&lists, &now) };
            goal.step(&batch, state, &mut out).unwrap();
            (out.loss, out.gradient)
        };
        let mut straight = goal.state(&lists).unwrap();
        (0..3).for_each(|t| drop(run(&mut straight, t)));
        let saved = straight.save();
        let mut loaded = goal.state(&lists).unwrap();
        loaded.load(&saved).unwrap();
        for t in 3..6 {
            assert_eq!(run(&mut straight, t), run(&mut loaded, t), "{name}, step {t}");
        }
        checked += 1;
    }
    assert!(checked >= 20, "{checked} objectives with state");
}

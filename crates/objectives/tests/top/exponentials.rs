//! Exponentials of huge scores.

use toprank_core::Lists;
use toprank_objectives::kernels::scalar::{log_add_exp, log_sum_exp};

use super::{HINGE, classes, close, close_all, goal, list, of, step};

#[test]
fn the_three_levels_of_the_kl_form_equal_their_reference_in_logarithms_at_huge_scores() {
    let (base, labels) = list(48, 15);
    let lists = Lists::from_lengths(&[48], labels.clone());
    let relevant: Vec<usize> = (0..48).filter(|j| labels[*j] > 0.0).collect();
    let others: Vec<usize> = (0..48).filter(|j| labels[*j] == 0.0).collect();
    let gamma: f64 = 0.2;
    for (scale, lambda, worst) in [(1.0, 1.0, 0.5), (1e3, 1.0, 1.0), (1e3, 1e-3, 2e-3), (1.0, 1e-3, 10.0)] {
        let goal = goal(&format!("tpauc-kl:gamma={gamma}:lambda={lambda}:worst={worst}"));
        let mut state = goal.state(&lists).unwrap();
        let follow = |u: f64, g: f64| log_add_exp((1.0 - gamma).ln() + u, gamma.ln() + g);
        let (mut ln_u, mut ln_w): (Vec<f64>, Option<f64>) = (Vec::new(), None);
        for t in 0..3 {
            let scores: Vec<f64> =
                base.iter().map(|s| scale * (s + 0.01 * (40.0 * s + f64::from(t)).sin())).collect();
            let out = step(&goal, &lists, &scores, &mut state, u64::from(t as u32));
            let exponents = |i: usize| -> Vec<f64> {
                others.iter().map(|j| HINGE.at(scores[*j] - scores[i]).0 / lambda).collect()
            };
            let ln_g: Vec<f64> =
                relevant.iter().map(|i| log_sum_exp(&exponents(*i)) - (others.len() as f64).ln()).collect();
            ln_u = if ln_u.is_empty() {
                ln_g.clone()
            } else {
                ln_u.iter().zip(&ln_g).map(|(u, g)| follow(*u, *g)).collect()
            };
            let powers: Vec<f64> = ln_u.iter().map(|u| lambda / worst * u).collect();
            let estimate = log_sum_exp(&powers) - (relevant.len() as f64).ln();
            let w = ln_w.map_or(estimate, |w| follow(w, estimate));
            ln_w = Some(w);
            let mut gradient = vec![0.0; 48];
            for (k, &i) in relevant.iter().enumerate() {
                let outer = (powers[k] - w + ln_g[k] - ln_u[k]).exp() / relevant.len() as f64;
                for (psi, &j) in exponents(i).iter().zip(&others) {
                    let share = (psi - ln_g[k]).exp() / others.len() as f64;
                    let part = outer * share * HINGE.at(scores[j] - scores[i]).1;
                    gradient[j] += part;
                    gradient[i] -= part;
                }
            }
            // Exponents of 4e9 are themselves rounded to 5e-7.
            let largest = ln_u.iter().chain(&ln_g).fold(w.abs(), |m: f64, x| m.max(x.abs()));
            let tolerance = 1e-9 + 8.0 * f64::EPSILON * largest;
            let what = format!("× {scale}, λ {lambda}, λ' {worst}, step {t}");
            assert!(
                out.loss.is_finite() && close(out.loss, worst * w, 1e-10),
                "{what}: {} for {}",
                out.loss,
                worst * w
            );
            assert!(close_all(&out.gradient, &gradient, tolerance), "{what}");
        }
    }
}

#[test]
fn forms_at_the_top_are_finite_and_scale_with_scores_of_a_thousand() {
    let (base, labels) = list(60, 16);
    let scores: Vec<f64> = base.iter().map(|s| 1e3 * s).collect();
    let (relevant, others) = classes(&scores, &labels);
    let worst = HINGE.at(others[0] - relevant[0]).0;
    for name in [
        "pauc-kl:lambda=1e-3",
        "tpauc-kl:lambda=1e-3:worst=1e-3",
        "top-push-kl:lambda=1e-3",
        "top-push",
        "pauc-cvar",
    ] {
        let (loss, gradient) = of(name, &scores, &labels);
        assert!(loss.is_finite() && loss <= worst * (1.0 + 1e-12), "{name}: {loss} above {worst}");
        assert!(gradient.iter().all(|g| g.is_finite()), "{name}");
    }
    assert!(close(of("tpauc-kl:lambda=1e-3:worst=1e-3", &scores, &labels).0, worst, 1e-6));
}

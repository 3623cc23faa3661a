/*!
What a pair counts for by its age: what a user took lately says more about what comes next.

```text
w_i = n 2^(−a_i/h) / Σ_k 2^(−a_k/h)      a: how many of the user's n pairs are later, h: the half-life
```

The weights of a user have mean 1, so a user counts as before, and so does every pair as h grows. Objectives take them as
weights of the relevant items; as competitors all items count alike.
*/

use toprank_core::Choices;

/// The weights of all pairs of a user of whom `later` says how many are later.
pub(super) fn weights(later: &[u32], half_life: f64) -> impl Iterator<Item = f32> {
    let fresh = move |later: &u32| libm::exp2(-f64::from(*later) / half_life);
    let total: f64 = later.iter().map(fresh).sum();
    let scale = later.len() as f64 / total;
    later.iter().map(move |later| (scale * fresh(later)) as f32)
}

/// `choices` with these weights; without an order in time, or with a half-life of 0, as they are.
pub(super) fn weighed(choices: Choices, later: &[u32], half_life: f64) -> Choices {
    if later.is_empty() || half_life == 0.0 {
        return choices;
    }
    let of_user = |u: usize| weights(&later[choices.range(u)], half_life);
    Choices { weights: (0..choices.len()).flat_map(of_user).collect(), ..choices }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_halve_with_the_half_life_and_have_mean_one() {
        let choices = Choices::from_pairs(2, 9, vec![(0, 1, 1.0), (0, 7, 1.0), (0, 8, 1.0), (1, 0, 1.0)]);
        let weighed = weighed(choices.clone(), &[4, 0, 2, 0], 2.0);
        let each = [0.25, 1.0, 0.5].map(|fresh: f32| fresh * 3.0 / 1.75);
        assert!(weighed.weights[..3].iter().zip(each).all(|(w, expected)| (w - expected).abs() < 1e-6));
        assert_eq!(weighed.weights[3], 1.0);
        assert_eq!(super::weighed(choices.clone(), &[4, 0, 2, 0], 0.0), choices);
        assert_eq!(super::weighed(choices.clone(), &[], 2.0), choices);
    }
}

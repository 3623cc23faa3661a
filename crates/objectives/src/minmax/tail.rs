//! The worst part of a set: which items, with what weight each.

/// Fills `shares` with the weight of each item in the mean over the worst `mass` of the set. `order`: the items from the
/// worst on; `same`: true if two of them are tied. The item at the boundary has a part of its weight, tied items there
/// have equal parts.
pub(super) fn tail_shares(
    order: &[u32],
    weight: impl Fn(u32) -> f64,
    same: impl Fn(u32, u32) -> bool,
    mass: f64,
    shares: &mut [f64],
) {
    let (mut left, mut start) = (mass, 0);
    while start < order.len() {
        let mut end = start + 1;
        let mut total = weight(order[start]);
        while end < order.len() && same(order[start], order[end]) {
            total += weight(order[end]);
            end += 1;
        }
        // A boundary that is an integer number of items up to rounding is at that integer.
        let part = if total <= left * (1.0 + 1e-12) { 1.0 } else { (left / total).max(0.0) };
        for &item in &order[start..end] {
            shares[item as usize] = part * weight(item) / mass;
        }
        left -= part * total;
        if left <= mass * 1e-12 {
            left = 0.0;
        }
        start = end;
    }
}

/// The step of a threshold t towards the minimiser of t + mean (ℓ − t)_+ / β: the proximal point
/// argmin t + mean (ℓ − t)_+/β + (t − t_old)²/(2η), which neither overshoots nor oscillates. `loss(k)`: the k-th largest ℓ
/// of `n`, from 0; all have the same weight.
pub(super) fn proximal_threshold(
    old: f64,
    eta: f64,
    beta: f64,
    n: usize,
    loss: impl Fn(usize) -> f64,
) -> f64 {
    // With k losses above t the point is old − η(1 − k/(βn)); more losses above mean a higher point.
    let point = |k: usize| old - eta * (1.0 - k as f64 / (beta * n as f64));
    // The least k for which the (k+1)-th loss is not above the point.
    let (mut low, mut high) = (0, n);
    while low < high {
        let k = low + (high - low) / 2;
        if loss(k) <= point(k) {
            high = k;
        } else {
            low = k + 1;
        }
    }
    // The point belongs to k only if the k-th loss is above it; else the answer is that loss, at which k jumps.
    if low > 0 { point(low).min(loss(low - 1)) } else { point(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_border_takes_a_part_and_equal_items_share_it() {
        let shares = |scores: &[f64], mass: f64| {
            let mut order: Vec<u32> = (0..scores.len() as u32).collect();
            order.sort_by(|a, b| scores[*b as usize].total_cmp(&scores[*a as usize]));
            let mut shares = vec![0.0; scores.len()];
            let w = 1.0 / scores.len() as f64;
            tail_shares(&order, |_| w, |a, b| scores[a as usize] == scores[b as usize], mass, &mut shares);
            shares
        };
        assert_eq!(shares(&[3.0, 1.0, 2.0, 0.0], 0.5), [0.5, 0.0, 0.5, 0.0]);
        let part = shares(&[3.0, 1.0, 2.0, 0.0], 0.625);
        assert!((part[1] - 0.125 / 0.625).abs() < 1e-15 && (part.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert_eq!(shares(&[3.0, 1.0, 1.0, 1.0], 0.5), [0.5, 0.5 / 3.0, 0.5 / 3.0, 0.5 / 3.0]);
        assert_eq!(shares(&[1.0, 1.0, 1.0, 1.0], 0.25), [0.25; 4]);
        let thirds = shares(&[3.0, 2.0, 1.0], 2.0 / 3.0);
        assert_eq!(thirds[2], 0.0, "rounding leaves nothing for the item beyond the border");
    }

    #[test]
    fn proximal_steps_reach_the_minimisers_from_anywhere() {
        let losses = [9.0, 4.0, 2.5, 1.0, 0.5, 0.0, 0.0, 0.0];
        for beta in [0.125, 0.25, 0.5, 1.0] {
            let above = (beta * 8.0) as usize;
            for start in [-10.0, 0.0, 3.0, 10.0, 100.0] {
                let mut t = start;
                for _ in 0..2000 {
                    t = proximal_threshold(t, 0.1, beta, 8, |k| losses[k]);
                }
                let low = losses.get(above).copied().unwrap_or(f64::NEG_INFINITY);
                assert!(t >= low - 1e-12 && t <= losses[above - 1] + 1e-12, "{beta} from {start}: {t}");
            }
        }
    }
}

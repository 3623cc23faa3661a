/*!
Other items drawn by how popular they are: those a user is likely to have seen and not taken.

```text
q_j = (c_j + 1)^p,   T = Σ q_j        c_j: how many users chose item j, p: the power
```

[0, T) is cut into n equal slices, and one point is drawn in each; the item under it is drawn, those that the user chose are
left out. An item is hit n q_j/T times on average, so one that was hit m times stands for m T/(n q_j) items: a sum over the
drawn items, each times this, is an unbiased estimate of the sum over all items that the user did not choose.
*/

use toprank_core::stream::Random;

/// Draws items in proportion to a power of their popularity.
pub(super) struct Popular {
    /// Where the stretch of each item ends.
    ends: Vec<f64>,
    /// T/q of each item.
    rarity: Vec<f64>,
    /// The drawn items, ascending, and how often each was hit.
    hits: Vec<(u32, u32)>,
    /// Points of the last draw.
    points: usize,
}

impl Popular {
    /// Of items with these counts.
    pub fn new(counts: &[u32], power: f64) -> Popular {
        let mut total = 0.0;
        let weight = |count: &u32| libm::pow(f64::from(*count) + 1.0, power);
        let ends = counts.iter().map(|count| {
            total += weight(count);
            total
        });
        let ends: Vec<f64> = ends.collect();
        let rarity = counts.iter().map(|count| total / weight(count)).collect();
        Popular { ends, rarity, hits: Vec::new(), points: 0 }
    }

    /// The items under `points` points, ascending, without those in `excluded` (ascending).
    pub fn draw(
        &mut self,
        points: usize,
        excluded: &[u32],
        random: &mut Random,
    ) -> impl Iterator<Item = u32> + '_ {
        self.hits.clear();
        self.points = points;
        let total = self.ends.last().copied().unwrap_or(0.0);
        let slice = total / points as f64;
        let (mut item, mut left_out) = (0, 0);
        for k in 0..points {
            let point = (k as f64 + random.unit()) * slice;
            item = at(&self.ends, item, point);
            while excluded.get(left_out).is_some_and(|&next| (next as usize) < item) {
                left_out += 1;
            }
            if excluded.get(left_out) == Some(&(item as u32)) {
                continue;
            }
            match self.hits.last_mut() {
                Some((last, times)) if *last == item as u32 => *times += 1,
                _ => self.hits.push((item as u32, 1)),
            }
        }
        self.hits.iter().map(|(item, _)| *item)
    }

    /// What each of `items` (ascending, those of the last draw among them) stands for, by what it would stand for if as many
    /// of the `others` items had been drawn evenly; 1 for items that were not drawn here.
    pub fn stand_for(&self, items: &[u32], others: usize, to: &mut Vec<f32>) {
        let even = others as f64 / self.hits.len() as f64;
        let mut hits = self.hits.iter().peekable();
        to.extend(items.iter().map(|item| match hits.next_if(|(hit, _)| hit == item) {
            Some(&(_, times)) => {
                let stands_for = f64::from(times) * self.rarity[*item as usize] / self.points as f64;
                (stands_for / even) as f32
            }
            None => 1.0,
        }));
    }
}

/// The item from `first` on whose stretch holds `point`: steps that double, then halves.
fn at(ends: &[f64], first: usize, point: f64) -> usize {
    let mut step = 1;
    let mut low = first;
    while low + step < ends.len() && ends[low + step - 1] <= point {
        low += step;
        step *= 2;
    }
    let high = (low + step).min(ends.len());
    (low + ends[low..high].partition_point(|end| *end <= point)).min(ends.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    #[test]
    fn the_item_under_a_point_is_found_from_any_start() {
        let ends = [0.5, 2.0, 2.5, 7.0, 7.5, 9.0];
        for (point, item) in [(0.0, 0), (0.5, 1), (1.9, 1), (2.0, 2), (6.9, 3), (7.2, 4), (8.9, 5), (9.0, 5)]
        {
            for first in 0..=item {
                assert_eq!(at(&ends, first, point), item, "{point} from {first}");
            }
        }
    }

    #[test]
    fn sums_over_drawn_items_are_unbiased_and_popular_items_come_more_often() {
        let counts = [100, 0, 5, 30, 1, 7, 60, 2, 0, 11];
        let (excluded, others) = ([3, 6], 8);
        let worth: Vec<f64> = (0..10).map(|j| 1.0 + f64::from(j * j % 7)).collect();
        let wanted: f64 = (0..10u32).filter(|j| !excluded.contains(j)).map(|j| worth[j as usize]).sum();
        let mut popular = Popular::new(&counts, 0.75);
        let draws = 40_000;
        let (mut sum, mut squares, mut came) = (0.0, 0.0, [0; 10]);
        for d in 0..draws {
            let mut random = Stream::new(5, "test").at_step(d).open();
            let items: Vec<u32> = popular.draw(4, &excluded, &mut random).collect();
            assert!(items.windows(2).all(|w| w[0] < w[1]) && !items.iter().any(|j| excluded.contains(j)));
            let mut stands_for = Vec::new();
            popular.stand_for(&items, others, &mut stands_for);
            let even = others as f64 / items.len() as f64;
            let estimate: f64 =
                items.iter().zip(&stands_for).map(|(j, r)| even * f64::from(*r) * worth[*j as usize]).sum();
            sum += estimate;
            squares += estimate * estimate;
            for j in items {
                came[j as usize] += 1;
            }
        }
        let mean = sum / draws as f64;
        let error = ((squares / draws as f64 - mean * mean) / draws as f64).sqrt();
        assert!((mean - wanted).abs() < 5.0 * error, "{mean} ± {error}, wanted {wanted}");
        assert!(came[0] > came[9] && came[9] > came[2] && came[2] > came[1], "{came:?}");
    }

    #[test]
    fn items_that_were_not_drawn_here_stand_for_one() {
        let mut popular = Popular::new(&[3, 1, 8, 2], 1.0);
        let items: Vec<u32> = popular.draw(2, &[1], &mut Stream::new(1, "test").open()).collect();
        let mut with_chosen = items.clone();
        with_chosen.push(1);
        with_chosen.sort_unstable();
        let mut stands_for = vec![];
        popular.stand_for(&with_chosen, 3, &mut stands_for);
        let place = with_chosen.iter().position(|item| *item == 1).unwrap();
        assert_eq!(stands_for[place], 1.0);
        assert!(with_chosen.iter().zip(&stands_for).all(|(item, r)| *item == 1 || *r != 1.0));
    }
}

/*!
Scores of some users with all items, for models whose scores are dot products.

Items are laid out once, sixteen side by side, so that a tile of scores (6 users × 16 items) is summed in registers and
nothing is rearranged again for each block of users:

```text
panel p:  item 16p, number 0 │ item 16p + 1, number 0 │ … │ item 16p, number 1 │ …
score[user][item] = Σ_k user[k] · item[k], k ascending
```
*/

use toprank_core::vectorised;

/// Items of a panel: two vectors of AVX2.
const ACROSS: usize = 16;
/// Users of a tile: their sums take 12 of 16 registers.
const DOWN: usize = 6;

/// All items, laid out for dot products.
pub(crate) struct Panels {
    width: usize,
    /// `width` times sixteen numbers for each panel; padding is 0.
    panels: Vec<[f32; ACROSS]>,
}

impl Panels {
    /// Lays out items of `width` numbers each.
    pub fn new(items: &[f32], width: usize) -> Panels {
        let count = items.len() / width;
        let mut panels = vec![[0.0; ACROSS]; count.div_ceil(ACROSS) * width];
        for (item, row) in items.chunks_exact(width).enumerate() {
            let panel = &mut panels[item / ACROSS * width..][..width];
            panel.iter_mut().zip(row).for_each(|(numbers, value)| numbers[item % ACROSS] = *value);
        }
        Panels { width, panels }
    }

    /// Numbers between the scores of one user and those of the next.
    pub fn stride(&self) -> usize {
        self.panels.len() / self.width * ACROSS
    }

    /// Scores of these users with all items, [`Panels::stride`] numbers for each user; `scores` is resized.
    pub fn scores(&self, users: &[f32], scores: &mut Vec<f32>) {
        let width = self.width;
        let tiles = (users.len() / width).div_ceil(DOWN);
        let mut turned = vec![[0.0; DOWN]; tiles * width];
        for (user, row) in users.chunks_exact(width).enumerate() {
            let tile = &mut turned[user / DOWN * width..][..width];
            tile.iter_mut().zip(row).for_each(|(numbers, value)| numbers[user % DOWN] = *value);
        }
        scores.resize(tiles * DOWN * self.stride(), 0.0);
        products(&turned, &self.panels, width, scores);
    }
}

vectorised! {
    // Index loops: iterator adapters that are not inlined, as without link-time optimisation, would cost more than the sums.
    #[allow(clippy::needless_range_loop)]
    fn products<FUSED>(tiles: &[[f32; DOWN]], panels: &[[f32; ACROSS]], width: usize, scores: &mut [f32]) {
        let stride = panels.len() / width * ACROSS;
        for (p, panel) in panels.chunks_exact(width).enumerate() {
            for (tile, scores) in tiles.chunks_exact(width).zip(scores.chunks_exact_mut(DOWN * stride)) {
                let mut sums = [[0.0f32; ACROSS]; DOWN];
                for k in 0..width {
                    let (users, items) = (&tile[k], &panel[k]);
                    for d in 0..DOWN {
                        for a in 0..ACROSS {
                            let sum = &mut sums[d][a];
                            *sum = if FUSED { users[d].mul_add(items[a], *sum) } else { users[d] * items[a] + *sum };
                        }
                    }
                }
                for d in 0..DOWN {
                    scores[d * stride + p * ACROSS..][..ACROSS].copy_from_slice(&sums[d]);
                }
            }
        }
    }
}

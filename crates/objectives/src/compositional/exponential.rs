/*!
Means of e^{(s_j − s_i)/τ}, the inner function of listwise cross-entropy: one sum for all anchors.

```text
e_j = e^{(s_j − top)/τ},   S = Σ_j ω_j e_j,   S_i = S + (own − ω_i) e_i        (an anchor has weight `own` in its own mean)
ln g_i = ln S_i − (s_i − top)/τ
∂/∂s_j Σ_i F_i = (ω_j e_j/τ)(Σ_i a_i/S_i − a_j/S_j)  −  (a_j/τ)(S − ω_j e_j)/S_j,   a_i = g_i ∂F_i/∂g_i
```

O(n + m) instead of O(n·m) pair by pair. S_i loses digits if the anchor is nearly all of S and has a smaller weight in its own
mean: such an anchor (there is rarely more than one) is summed pair by pair.
*/

use super::inner::{Adjoint, Inner, Means, Terms};
use super::surrogate::Surrogate;

/// The least fraction of S that S_i may be: below it more than four of sixteen digits are lost.
const LEAST_FRACTION: f64 = 1e-4;

/// What all anchors of a list share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exponential {
    tau: f64,
    /// The largest score of an item with weight.
    top: f64,
    /// S.
    sum: f64,
}

impl Exponential {
    /// The kernel of an inner function; `None`: it is not this one, or no item has weight.
    pub fn of(inner: Inner, terms: &Terms, at_zero: f64) -> Option<Exponential> {
        let Inner::Of(Surrogate::Exponential { temperature: tau }) = inner else { return None };
        let weighed = terms.all().filter(|(.., w)| *w > 0.0);
        let top = weighed.fold(f64::NEG_INFINITY, |top, (_, x, _)| top.max(x));
        if at_zero != 0.0 || !top.is_finite() {
            return None;
        }
        let sum = terms.all().map(|(_, x, w)| if w > 0.0 { w * ((x - top) / tau).exp() } else { 0.0 }).sum();
        Some(Exponential { tau, top, sum })
    }

    /// (s − top)/τ.
    fn height(self, score: f64) -> f64 {
        (score - self.top) / self.tau
    }

    /// ω_j e_j.
    fn part(self, terms: &Terms, j: usize) -> f64 {
        match terms.omega.at(j) {
            0.0 => 0.0,
            w => w * self.height(terms.scores[j]).exp(),
        }
    }

    /// S_i, infinite for an anchor far above all weighted items; `None`: pair by pair.
    fn own_sum(self, terms: &Terms, item: usize) -> Option<f64> {
        let surplus = terms.own - terms.omega.at(item);
        let change = if surplus == 0.0 { 0.0 } else { surplus * self.height(terms.scores[item]).exp() };
        (change >= (LEAST_FRACTION - 1.0) * self.sum).then_some(self.sum + change)
    }

    /// Writes ln g of anchor `i`; false: it must be summed pair by pair.
    pub fn forward(self, terms: &Terms, i: usize, means: &mut Means) -> bool {
        let item = terms.anchors[i] as usize;
        let Some(own_sum) = self.own_sum(terms, item) else { return false };
        let height = self.height(terms.scores[item]);
        if height > 0.0 && terms.own > 0.0 {
            // The anchor itself is the largest, so nothing overflows.
            means.set_log(i, 0.0, (terms.own + self.sum * (-height).exp()).ln());
        } else {
            means.set_log(i, -height, own_sum.ln());
        }
        true
    }

    /// Adds the adjoint of all anchors but those that `left` is then called with.
    pub fn backward(
        self,
        terms: &Terms,
        a: &[f64],
        out: &mut Adjoint,
        mut left: impl FnMut(usize, &mut Adjoint),
    ) {
        let (mut total, square) = (0.0, self.tau * self.tau);
        for (i, &item) in terms.anchors.iter().enumerate() {
            match self.own_sum(terms, item as usize) {
                Some(own_sum) => total += a[i] / own_sum,
                None => left(i, out),
            }
        }
        let mut anchors = terms.anchors.iter().zip(a).peekable();
        for j in 0..terms.scores.len() {
            let part = self.part(terms, j);
            let anchor = anchors.next_if(|(item, _)| **item as usize == j).map(|(_, a)| *a);
            // What the anchor itself added to the total.
            let share = |a: f64| Some((a, self.own_sum(terms, j)?));
            let Some((a, own_sum)) = anchor.and_then(share) else {
                out.gradient[j] += part * total / self.tau;
                out.add_second_derivative(j, part * total / square);
                continue;
            };
            let (pull, push) = (part * (total - a / own_sum), a * ((self.sum - part) / own_sum));
            out.gradient[j] += (pull - push) / self.tau;
            out.add_second_derivative(j, (pull.abs() + push.abs()) / square);
        }
    }
}

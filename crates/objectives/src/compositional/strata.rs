/*!
How many items of the whole list each drawn item represents.

From a list of N items a draw holds n+ of the N+ relevant and n- of the N- others. Seen from an anchor that is in the
draw, a mean over the list is unbiased with these weights (they sum to 1):

```text
itself              1/N, exactly once
another relevant    (N+ − 1)/(N·(n+ − 1))
another item        N-/(N·n-)
```

N+/n+ for the other relevant items would be wrong: the anchor comes from the draw itself, so with N+ = 8 and n+ = 2 the
one other relevant item would represent 4 items instead of 7. For anchors among the others the roles are swapped. A mean over
the other class alone is unweighted. A sum over anchors is multiplied by N+/n+.
*/

use crate::objective::Input;
use crate::state::ListState;

/// Counts of a list and of the draw from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strata {
    /// N.
    pub items: usize,
    /// N+.
    pub relevant: usize,
    /// n+.
    pub drawn_relevant: usize,
    /// n-.
    pub drawn_others: usize,
}

/// The items of a mean without an anchor, or of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// All items of the list.
    All,
    /// The relevant ones.
    Relevant,
    /// The others.
    Others,
}

/// The items of an inner mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// All items of the list; divided by N.
    All,
    /// The relevant items; divided by N.
    Relevant,
    /// The class the anchors are not in; divided by its size.
    OtherClass,
}

/// Weights of one inner mean, the same for every anchor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Of the anchor itself.
    pub own: f64,
    /// Of each other relevant item.
    pub relevant: f64,
    /// Of each item that is not relevant.
    pub others: f64,
}

impl Weights {
    /// The weight, if it is the same for all drawn items.
    pub fn alike(&self, strata: &Strata) -> Option<f64> {
        let same = strata.drawn_relevant == 0 || strata.drawn_others == 0 || self.relevant == self.others;
        same.then_some(if strata.drawn_relevant == 0 { self.others } else { self.relevant })
    }
}

impl Strata {
    /// Counts of a list, and of what `input` holds of it.
    pub fn of(input: &Input, state: &ListState) -> Strata {
        let above = input.policy.relevant.above();
        let drawn_relevant = input.list.labels.iter().filter(|label| **label > above).count();
        Strata {
            items: state.items,
            relevant: state.relevant.len(),
            drawn_relevant,
            drawn_others: input.list.len() - drawn_relevant,
        }
    }

    /// How many items of the whole list are in a set.
    pub fn size(&self, set: Set) -> usize {
        match set {
            Set::All => self.items,
            Set::Relevant => self.relevant,
            Set::Others => self.others(),
        }
    }

    /// Weights of a mean over a set without an anchor: of an item that is not relevant, and of one that is.
    pub fn plain_weights(&self, set: Set) -> [f64; 2] {
        let (items, relevant, others) = (self.items as f64, self.relevant as f64, self.others() as f64);
        let each = |share: f64, drawn: usize| if drawn == 0 { 0.0 } else { share / drawn as f64 };
        match set {
            Set::All => {
                [each(others / items, self.drawn_others), each(relevant / items, self.drawn_relevant)]
            }
            Set::Relevant => [0.0, each(1.0, self.drawn_relevant)],
            Set::Others => [each(1.0, self.drawn_others), 0.0],
        }
    }

    /// The uniform distribution over all items of the list, as the drawn ones represent it: the probability of an item that is not
    /// relevant, and of one that is. A stratum of which nothing was drawn leaves its part to the other one.
    pub fn uniform(&self) -> [f64; 2] {
        let weights = self.plain_weights(Set::All);
        let drawn = weights[0] * self.drawn_others as f64 + weights[1] * self.drawn_relevant as f64;
        weights.map(|weight| weight / drawn)
    }

    /// N-.
    pub fn others(&self) -> usize {
        self.items - self.relevant
    }

    /// True if every item was drawn.
    pub fn is_whole(&self) -> bool {
        self.drawn_relevant == self.relevant && self.drawn_others == self.others()
    }

    /// True if the draw can give an unbiased estimate for the whole list: a stratum that has an item besides the anchor
    /// has a drawn one.
    pub fn is_enough(&self) -> bool {
        (self.relevant < 2 || self.drawn_relevant >= 2) && (self.others() == 0 || self.drawn_others > 0)
    }

    /// The weights of a mean over `reference`; `anchors_relevant`: the anchors are the relevant items.
    pub fn weights(&self, reference: Reference, anchors_relevant: bool) -> Weights {
        let n = self.items as f64;
        let ratio = |whole: usize, drawn: usize, divisor: f64| {
            if drawn == 0 {
                0.0
            } else if whole == drawn {
                1.0 / divisor
            } else {
                whole as f64 / (divisor * drawn as f64)
            }
        };
        let others = self.others() as f64;
        match (reference, anchors_relevant) {
            (Reference::All, _) => Weights {
                own: 1.0 / n,
                relevant: ratio(self.relevant.saturating_sub(1), self.drawn_relevant.saturating_sub(1), n),
                others: ratio(self.others(), self.drawn_others, n),
            },
            (Reference::Relevant, _) => {
                Weights { others: 0.0, ..self.weights(Reference::All, anchors_relevant) }
            }
            (Reference::OtherClass, true) => {
                Weights { own: 0.0, relevant: 0.0, others: ratio(self.others(), self.drawn_others, others) }
            }
            (Reference::OtherClass, false) => Weights {
                own: 0.0,
                relevant: ratio(self.relevant, self.drawn_relevant, self.relevant as f64),
                others: 0.0,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_and_whole_lists_weigh_alike() {
        let draw = Strata { items: 100, relevant: 8, drawn_relevant: 2, drawn_others: 10 };
        let w = draw.weights(Reference::All, true);
        assert!((w.own + w.relevant + 10.0 * w.others - 1.0).abs() < 1e-15);
        assert_eq!(w.relevant, 7.0 / 100.0); // the one other relevant item represents seven
        assert_eq!(draw.weights(Reference::Relevant, true), Weights { others: 0.0, ..w });
        assert_eq!(draw.weights(Reference::OtherClass, true).others, 1.0 / 10.0);
        assert_eq!(draw.weights(Reference::OtherClass, false).relevant, 0.5);
        let whole = Strata { items: 100, relevant: 8, drawn_relevant: 8, drawn_others: 92 };
        assert_eq!(whole.weights(Reference::All, true), Weights { own: 0.01, relevant: 0.01, others: 0.01 });
    }

    #[test]
    fn the_uniform_distribution_gives_each_stratum_its_part_whatever_was_drawn() {
        for (drawn_relevant, drawn_others) in [(2, 10), (8, 92), (1, 3)] {
            let draw = Strata { items: 100, relevant: 8, drawn_relevant, drawn_others };
            let [other, relevant] = draw.uniform();
            assert!((relevant * drawn_relevant as f64 - 0.08).abs() < 1e-15);
            assert!((other * drawn_others as f64 - 0.92).abs() < 1e-15);
        }
        let others = Strata { items: 100, relevant: 8, drawn_relevant: 0, drawn_others: 4 };
        assert_eq!(others.uniform(), [0.25, 0.0]);
    }

    #[test]
    fn a_draw_with_one_relevant_item_of_several_says_nothing_unbiased() {
        let draw = |n_relevant, drawn_relevant, drawn_others| {
            Strata { items: 20, relevant: n_relevant, drawn_relevant, drawn_others }.is_enough()
        };
        assert_eq!([draw(3, 1, 5), draw(3, 2, 5), draw(1, 1, 5), draw(3, 2, 0)], [false, true, true, false]);
    }
}

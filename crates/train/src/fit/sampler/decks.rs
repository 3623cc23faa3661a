//! The items of a class as a deck of cards for each list: shuffled, dealt out piece by piece, shuffled again.

use toprank_core::Stream;

/// Pieces of at most `most` items into which `all` are cut; as few items as `least` in none of them, where there are
/// as many.
pub(super) fn pieces(all: usize, most: usize, least: usize) -> u64 {
    all.div_ceil(most).min(all / least).max(1) as u64
}

/// One deck per list.
#[derive(Debug)]
pub(super) struct Decks {
    stream: Stream,
    decks: Vec<Deck>,
}

#[derive(Clone, Debug, Default)]
struct Deck {
    /// How often it was shuffled, for the present order.
    shuffles: Option<u64>,
    order: Vec<u32>,
}

impl Decks {
    pub fn new(seed: u64, class: &str, lists: usize) -> Decks {
        let stream = Stream::new(seed, &format!("sampler: deck of {class}"));
        Decks { stream, decks: vec![Deck::default(); lists] }
    }

    /// What is dealt in round `round`: one of `pieces` pieces, almost equal in size, of the numbers 0..n. Each of
    /// them alone is any set of its size with the same probability. A function of (seed, list, round).
    pub fn piece(&mut self, q: u32, n: usize, pieces: u64, round: u64) -> &[u32] {
        let deck = &mut self.decks[q as usize];
        let shuffles = round / pieces;
        if deck.shuffles != Some(shuffles) {
            deck.order.clear();
            deck.order.extend(0..n as u32);
            self.stream.of_list(q).at_step(shuffles).open().shuffle(&mut deck.order);
            deck.shuffles = Some(shuffles);
        }
        let at = |part: u64| (u128::from(part) * n as u128 / u128::from(pieces)) as usize;
        let part = round % pieces;
        &deck.order[at(part)..at(part + 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_not_larger_than_asked_and_not_smaller_than_allowed() {
        assert_eq!(pieces(51, 16, 2), 4);
        assert_eq!(pieces(3, 2, 2), 1); // 2 and 1 would leave one alone
        assert_eq!(pieces(4, 2, 2), 2);
        assert_eq!(pieces(10, usize::MAX, 1), 1);
        assert_eq!(pieces(0, 16, 2), 1);
        assert_eq!(pieces(1, 1, 2), 1);
    }

    #[test]
    fn every_number_comes_once_before_any_comes_again() {
        let mut decks = Decks::new(3, "test", 2);
        for (n, pieces) in [(10, 3), (1, 1), (0, 1), (7, 7)] {
            decks.decks[1] = Deck::default();
            for shuffle in 0..4 {
                let mut seen: Vec<u32> = (0..pieces)
                    .flat_map(|part| decks.piece(1, n, pieces, shuffle * pieces + part).to_vec())
                    .collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..n as u32).collect::<Vec<_>>());
            }
        }
        assert_ne!(Decks::new(3, "test", 2).piece(0, 50, 1, 0), Decks::new(3, "test", 2).piece(1, 50, 1, 0));
        assert_ne!(Decks::new(3, "test", 2).piece(0, 50, 1, 0), Decks::new(3, "test", 2).piece(0, 50, 1, 1));
    }
}

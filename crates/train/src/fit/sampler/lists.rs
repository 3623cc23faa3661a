#![doc = include_str!("pages/lists.md")]

use toprank_core::{Choices, Lists, Param, ParamError, Policy, Spec};
use toprank_objectives::{DrawRates, Draws};

use super::epoch::{Epochs, Weights, begin, end_of_list};
use super::{BATCH, Sampler, SamplerKind, count, nobody_to_draw, nothing_to_draw};

pub(super) const PARAMS: &[Param] = &[BATCH];

pub(super) fn make(spec: &Spec) -> Result<Box<dyn SamplerKind>, ParamError> {
    Ok(Box::new(WholeLists { batch: count(spec, &BATCH, 1)? }))
}

#[derive(Debug)]
struct WholeLists {
    batch: usize,
}

impl SamplerKind for WholeLists {
    fn open(&self, lists: &Lists, _: &Policy, seed: u64) -> Result<Box<dyn Sampler>, ParamError> {
        let lengths = (0..lists.len()).map(|q| lists.range(q).len() as u32).collect();
        Ok(Box::new(Open { dealer: Dealer::open("lists", self.batch, lists, seed)?, lengths }))
    }

    fn open_choices(&self, choices: &Choices, _: &Policy, seed: u64) -> Result<Box<dyn Sampler>, ParamError> {
        let dealer = Dealer::of_choices("lists", self.batch, choices, seed)?;
        Ok(Box::new(Open { dealer, lengths: vec![choices.item_count as u32; choices.len()] }))
    }
}

struct Open {
    dealer: Dealer,
    lengths: Vec<u32>,
}

impl Sampler for Open {
    fn steps_per_epoch(&self) -> u64 {
        self.dealer.steps_per_epoch()
    }

    fn rates(&self) -> DrawRates {
        let rate = 1.0 / self.dealer.steps_per_epoch() as f64;
        DrawRates { pairs: rate, lists: rate }
    }

    fn draw(&mut self, step: u64, out: &mut Draws) {
        self.dealer.draw(step, out, |q, out| out.items.extend(0..self.lengths[q as usize]));
    }
}

/// Deals lists that have a judged item (a preference pair, where pairs are given), every one once per epoch; what is drawn of each is the caller's.
pub(super) struct Dealer {
    pool: Vec<u32>,
    epochs: Epochs,
    weights: Weights,
    drawn: Vec<u32>,
}

impl Dealer {
    pub fn open(name: &str, batch: usize, lists: &Lists, seed: u64) -> Result<Dealer, ParamError> {
        let judged = |q: usize| lists.labels[lists.range(q)].iter().any(|label| !label.is_nan());
        let used = |q: usize| lists.pairs.as_ref().map_or_else(|| judged(q), |pairs| !pairs.of(q).is_empty());
        let pool: Vec<u32> = (0..lists.len() as u32).filter(|&q| used(q as usize)).collect();
        if pool.is_empty() {
            let expected = if lists.pairs.is_some() {
                "lists with a preference pair"
            } else {
                "lists with a judged item"
            };
            return Err(nothing_to_draw(name, lists, expected));
        }
        Ok(Dealer::over(pool, batch, Weights::of(lists), seed))
    }

    /// Deals users who chose something.
    pub fn of_choices(name: &str, batch: usize, choices: &Choices, seed: u64) -> Result<Dealer, ParamError> {
        let pool: Vec<u32> =
            (0..choices.len() as u32).filter(|&u| !choices.of(u as usize).is_empty()).collect();
        if pool.is_empty() {
            return Err(nobody_to_draw(name, choices));
        }
        Ok(Dealer::over(pool, batch, Weights::even(choices.len()), seed))
    }

    fn over(pool: Vec<u32>, batch: usize, weights: Weights, seed: u64) -> Dealer {
        let epochs = Epochs::new(seed, pool.len(), pool.len().div_ceil(batch));
        Dealer { pool, epochs, weights, drawn: Vec::new() }
    }

    pub fn steps_per_epoch(&self) -> u64 {
        self.epochs.steps()
    }

    /// `items` pushes the drawn items of a list to those of the draws.
    pub fn draw(&mut self, step: u64, out: &mut Draws, mut items: impl FnMut(u32, &mut Draws)) {
        begin(out);
        self.drawn.clear();
        self.drawn.extend(self.epochs.at(step).iter().map(|&place| self.pool[place as usize]));
        self.drawn.sort_unstable();
        for &q in &self.drawn {
            items(q, out);
            end_of_list(q, out);
        }
        self.weights.count(self.pool.len() as f64 / self.drawn.len() as f64, |_, _| 1.0, out);
    }
}

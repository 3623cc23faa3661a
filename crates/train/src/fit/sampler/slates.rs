#![doc = include_str!("pages/slates.md")]

use toprank_core::{Lists, Param, ParamError, Policy, Spec, Stream};
use toprank_objectives::{DrawRates, Draws};

use super::choose::Chooser;
use super::lists::Dealer;
use super::places::Places;
use super::{BATCH, Sampler, SamplerKind, count, rates_of_lists};

const ITEMS: Param = Param {
    name: "items",
    default: "100",
    range: "an integer from 1 on, or all",
    about: "most items drawn from a list",
};

pub(super) const PARAMS: &[Param] = &[BATCH, ITEMS];

pub(super) fn make(spec: &Spec) -> Result<Box<dyn SamplerKind>, ParamError> {
    Ok(Box::new(Slates { batch: count(spec, &BATCH, 1)?, items: count(spec, &ITEMS, 1)? }))
}

#[derive(Debug)]
struct Slates {
    batch: usize,
    items: usize,
}

impl SamplerKind for Slates {
    fn open(&self, lists: &Lists, policy: &Policy, seed: u64) -> Result<Box<dyn Sampler>, ParamError> {
        let dealer = Dealer::open("slates", self.batch, lists, seed)?;
        let unjudged = Places::of(lists, f32::is_nan);
        let parts = (0..lists.len()).map(|q| {
            let relevant = lists.labels[lists.range(q)].iter().filter(|label| policy.relevant.is(**label));
            let judged = unjudged.outside(q as u32).max(1);
            (relevant.count(), self.items.min(judged) as f64 / judged as f64)
        });
        Ok(Box::new(Open {
            rates: rates_of_lists(dealer.steps_per_epoch(), parts),
            dealer,
            unjudged,
            items: self.items,
            stream: Stream::new(seed, "sampler: slates"),
            chooser: Chooser::default(),
        }))
    }
}

struct Open {
    rates: DrawRates,
    dealer: Dealer,
    unjudged: Places,
    items: usize,
    stream: Stream,
    chooser: Chooser,
}

impl Sampler for Open {
    fn steps_per_epoch(&self) -> u64 {
        self.dealer.steps_per_epoch()
    }

    fn rates(&self) -> DrawRates {
        self.rates
    }

    fn draw(&mut self, step: u64, out: &mut Draws) {
        let Open { dealer, unjudged, items, stream, chooser, .. } = self;
        dealer.draw(step, out, |q, out| {
            let drawn = &mut out.items;
            let mut random = stream.of_list(q).at_step(step).open();
            let chosen = chooser.choose(unjudged.outside(q), *items, &mut random);
            drawn.extend(chosen.iter().map(|&nth| unjudged.nth_outside(q, nth)));
        });
    }
}

#![doc = include_str!("pages/slates.md")]

use toprank_core::{Lists, Param, ParamError, Policy, Spec, Stream};
use toprank_objectives::Draws;

use super::choose::Chooser;
use super::lists::Dealer;
use super::places::Places;
use super::{BATCH, Sampler, SamplerKind, count};

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
    fn open(&self, lists: &Lists, _: &Policy, seed: u64) -> Result<Box<dyn Sampler>, ParamError> {
        Ok(Box::new(Open {
            dealer: Dealer::open("slates", self.batch, lists, seed)?,
            unjudged: Places::of(lists, f32::is_nan),
            items: self.items,
            stream: Stream::new(seed, "sampler: slates"),
            chooser: Chooser::default(),
        }))
    }
}

struct Open {
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

    fn draw(&mut self, step: u64, out: &mut Draws) {
        let Open { dealer, unjudged, items, stream, chooser } = self;
        dealer.draw(step, out, |q, out| {
            let drawn = &mut out.items;
            let mut random = stream.of_list(q).at_step(step).open();
            let chosen = chooser.choose(unjudged.outside(q), *items, &mut random);
            drawn.extend(chosen.iter().map(|&nth| unjudged.nth_outside(q, nth)));
        });
    }
}

#![doc = include_str!("pages/strata.md")]

use toprank_core::{Lists, Param, ParamError, Policy, Spec, Stream};
use toprank_objectives::Draws;

use super::choose::Chooser;
use super::lists::Dealer;
use super::places::Places;
use super::{BATCH, Sampler, SamplerKind, count};

const RELEVANT: Param = Param {
    name: "relevant",
    default: "10",
    range: "a whole number from 2 on (one relevant item says nothing about the others), or all",
    about: "most relevant items drawn from a list",
};

const OTHERS: Param = Param {
    name: "others",
    default: "90",
    range: "a whole number from 1 on, or all",
    about: "most other items drawn from a list",
};

pub(super) const PARAMS: &[Param] = &[BATCH, RELEVANT, OTHERS];

pub(super) fn make(spec: &Spec) -> Result<Box<dyn SamplerKind>, ParamError> {
    Ok(Box::new(StratifiedLists {
        batch: count(spec, &BATCH, 1)?,
        relevant: count(spec, &RELEVANT, 2)?,
        others: count(spec, &OTHERS, 1)?,
    }))
}

#[derive(Debug)]
struct StratifiedLists {
    batch: usize,
    relevant: usize,
    others: usize,
}

impl SamplerKind for StratifiedLists {
    fn open(&self, lists: &Lists, policy: &Policy, seed: u64) -> Result<Box<dyn Sampler>, ParamError> {
        Ok(Box::new(Open {
            dealer: Dealer::open("strata", self.batch, lists, seed)?,
            relevant: Places::of(lists, |label| policy.relevant.is(label)),
            others: Others::of(lists, policy, seed),
            most: (self.relevant, self.others),
            stream: Stream::new(seed, "sampler: relevant items"),
        }))
    }
}

struct Open {
    dealer: Dealer,
    relevant: Places,
    others: Others,
    most: (usize, usize),
    stream: Stream,
}

impl Sampler for Open {
    fn steps_per_pass(&self) -> u64 {
        self.dealer.steps_per_pass()
    }

    fn draw(&mut self, step: u64, out: &mut Draws) {
        let Open { dealer, relevant, others, most, stream } = self;
        dealer.draw(step, out, |q, drawn| {
            let places = relevant.inside(q);
            let start = drawn.len();
            let mut random = stream.of_list(q).at_step(step).open();
            let chosen = others.chooser.choose(places.len(), most.0, &mut random);
            drawn.extend(chosen.iter().map(|&nth| places[nth as usize]));
            others.add(q, step, most.1, drawn);
            drawn[start..].sort_unstable();
        });
    }
}

/// Draws items that are judged and not relevant.
pub(super) struct Others {
    /// Relevant and unjudged items.
    excluded: Places,
    stream: Stream,
    chooser: Chooser,
}

impl Others {
    pub fn of(lists: &Lists, policy: &Policy, seed: u64) -> Others {
        Others {
            excluded: Places::of(lists, |label| label.is_nan() || policy.relevant.is(label)),
            stream: Stream::new(seed, "sampler: other items"),
            chooser: Chooser::default(),
        }
    }

    /// Adds up to `most` others of list `q`.
    pub fn add(&mut self, q: u32, step: u64, most: usize, items: &mut Vec<u32>) {
        let mut random = self.stream.of_list(q).at_step(step).open();
        let chosen = self.chooser.choose(self.excluded.outside(q), most, &mut random);
        items.extend(chosen.iter().map(|&nth| self.excluded.nth_outside(q, nth)));
    }
}

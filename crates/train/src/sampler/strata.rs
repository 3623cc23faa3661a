#![doc = include_str!("pages/strata.md")]

use toprank_core::{Choices, Lists, Param, ParamError, Policy, Spec, Stream};
use toprank_objectives::Draws;

use super::choose::Chooser;
use super::decks::{Decks, pieces};
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

const PASS: Param = Param {
    name: "pass",
    default: "lists",
    range: "lists, relevant or all",
    about: "what a pass shows: every list once, also every relevant item, or every judged item",
};

pub(super) const PARAMS: &[Param] = &[BATCH, RELEVANT, OTHERS, PASS];

/// What a pass shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Lists,
    Relevant,
    All,
}

pub(super) fn make(spec: &Spec) -> Result<Box<dyn SamplerKind>, ParamError> {
    Ok(Box::new(StratifiedLists {
        batch: count(spec, &BATCH, 1)?,
        relevant: count(spec, &RELEVANT, 2)?,
        others: count(spec, &OTHERS, 1)?,
        pass: match spec.args.get(PASS.name).unwrap_or(PASS.default) {
            "lists" => Pass::Lists,
            "relevant" => Pass::Relevant,
            "all" => Pass::All,
            other => return Err(ParamError::new(PASS.name, other, PASS.range)),
        },
    }))
}

#[derive(Debug)]
struct StratifiedLists {
    batch: usize,
    relevant: usize,
    others: usize,
    pass: Pass,
}

impl SamplerKind for StratifiedLists {
    fn open(&self, lists: &Lists, policy: &Policy, seed: u64) -> Result<Box<dyn Sampler>, ParamError> {
        let dealer = Dealer::open("strata", self.batch, lists, seed)?;
        let relevant = Places::of(lists, |label| policy.relevant.is(label));
        Ok(self.over(dealer, relevant, Others::of(lists, policy, seed), seed))
    }

    fn open_choices(
        &self,
        choices: &Choices,
        policy: &Policy,
        seed: u64,
    ) -> Result<Box<dyn Sampler>, ParamError> {
        let dealer = Dealer::of_choices("strata", self.batch, choices, seed)?;
        let relevant = Places::of_choices(choices, |label| policy.relevant.is(label));
        Ok(self.over(dealer, relevant, Others::of_choices(choices, policy, seed), seed))
    }
}

impl StratifiedLists {
    fn over(&self, dealer: Dealer, relevant: Places, others: Others, seed: u64) -> Box<dyn Sampler> {
        let most = (self.relevant, self.others);
        if self.pass == Pass::Lists {
            let stream = Stream::new(seed, "sampler: relevant items");
            return Box::new(Open { dealer, relevant, others, most, stream });
        }
        let lists = relevant.lists();
        let pieces = |q: u32| {
            let relevant = pieces(relevant.inside(q).len(), most.0, 2);
            (relevant, pieces(others.excluded.outside(q), most.1, 1))
        };
        let pieces: Vec<(u64, u64)> = (0..lists as u32).map(pieces).collect();
        let rounds = |(relevant, others): &(u64, u64)| match self.pass {
            Pass::Relevant => *relevant,
            _ => *relevant.max(others),
        };
        Box::new(Dealt {
            rounds: pieces.iter().map(rounds).max().unwrap_or(1),
            decks: [Decks::new(seed, "relevant", lists), Decks::new(seed, "others", lists)],
            dealer,
            relevant,
            excluded: others.excluded,
            pieces,
        })
    }
}

/// Every list once per pass, its items drawn anew in every step.
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

/// Every list once per round; each class of a list is dealt out in pieces, round after round.
struct Dealt {
    dealer: Dealer,
    /// Rounds over the lists until every item that a pass shows was dealt.
    rounds: u64,
    relevant: Places,
    /// Relevant and unjudged items.
    excluded: Places,
    /// Of the relevant and of the other items of each list.
    pieces: Vec<(u64, u64)>,
    decks: [Decks; 2],
}

impl Sampler for Dealt {
    fn steps_per_pass(&self) -> u64 {
        self.rounds.saturating_mul(self.dealer.steps_per_pass())
    }

    fn draw(&mut self, step: u64, out: &mut Draws) {
        let Dealt { dealer, relevant, excluded, pieces, decks: [relevant_decks, other_decks], .. } = self;
        let round = step / dealer.steps_per_pass();
        dealer.draw(step, out, |q, drawn| {
            let start = drawn.len();
            let (of_relevant, of_others) = pieces[q as usize];
            let places = relevant.inside(q);
            let piece = relevant_decks.piece(q, places.len(), of_relevant, round);
            drawn.extend(piece.iter().map(|&nth| places[nth as usize]));
            let piece = other_decks.piece(q, excluded.outside(q), of_others, round);
            drawn.extend(piece.iter().map(|&nth| excluded.nth_outside(q, nth)));
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

    /// Items that a user did not choose, or did not like.
    pub fn of_choices(choices: &Choices, policy: &Policy, seed: u64) -> Others {
        Others {
            excluded: Places::of_choices(choices, |label| label.is_nan() || policy.relevant.is(label)),
            stream: Stream::new(seed, "sampler: other items"),
            chooser: Chooser::default(),
        }
    }

    /// Adds up to `most` others of list `q`, in no order.
    pub fn add(&mut self, q: u32, step: u64, most: usize, items: &mut Vec<u32>) {
        let mut random = self.stream.of_list(q).at_step(step).open();
        let chosen = self.chooser.draw(self.excluded.outside(q), most, &mut random);
        items.extend(chosen.iter().map(|&nth| self.excluded.nth_outside(q, nth)));
    }
}

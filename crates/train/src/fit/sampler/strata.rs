#![doc = include_str!("pages/strata.md")]

use toprank_core::{Choices, Lists, Param, ParamError, Policy, Spec, Stream};
use toprank_objectives::{DrawRates, Draws};

use super::bits::{WORD, empty_into, put, spread};
use super::choose::Chooser;
use super::decks::{Decks, pieces};
use super::lists::Dealer;
use super::places::Places;
use super::popular::Popular;
use super::{BATCH, Sampler, SamplerKind, count, rates_of_lists};

const RELEVANT: Param = Param {
    name: "relevant",
    default: "10",
    range: "an integer from 2 on (one relevant item says nothing about the others), or all",
    about: "most relevant items drawn from a list",
};

const OTHERS: Param = Param {
    name: "others",
    default: "90",
    range: "an integer from 1 on, or all",
    about: "most other items drawn from a list",
};

const EPOCH: Param = Param {
    name: "epoch",
    default: "lists",
    range: "lists, relevant or all",
    about: "what an epoch shows: every list once, also every relevant item, or every judged item",
};

pub(super) const PARAMS: &[Param] = &[BATCH, RELEVANT, OTHERS, EPOCH, POPULAR, CORRECT];

/// What an epoch shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Epoch {
    Lists,
    Relevant,
    All,
}

pub(super) fn make(spec: &Spec) -> Result<Box<dyn SamplerKind>, ParamError> {
    Ok(Box::new(StratifiedLists {
        batch: count(spec, &BATCH, 1)?,
        relevant: count(spec, &RELEVANT, 2)?,
        others: count(spec, &OTHERS, 1)?,
        epoch: match spec.args.get(EPOCH.name).unwrap_or(EPOCH.default) {
            "lists" => Epoch::Lists,
            "relevant" => Epoch::Relevant,
            "all" => Epoch::All,
            other => return Err(ParamError::new(EPOCH.name, other, EPOCH.range)),
        },
        draw: Draw::from_spec(spec)?,
    }))
}

#[derive(Debug)]
struct StratifiedLists {
    batch: usize,
    relevant: usize,
    others: usize,
    epoch: Epoch,
    draw: Draw,
}

impl SamplerKind for StratifiedLists {
    fn open(&self, lists: &Lists, policy: &Policy, seed: u64) -> Result<Box<dyn Sampler>, ParamError> {
        self.draw.even()?;
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
        if self.epoch != Epoch::Lists {
            self.draw.even()?;
        }
        let dealer = Dealer::of_choices("strata", self.batch, choices, seed)?;
        let relevant = Places::of_choices(choices, |label| policy.relevant.is(label));
        Ok(self.over(dealer, relevant, Others::of_choices(choices, policy, seed, self.draw), seed))
    }
}

impl StratifiedLists {
    fn over(&self, dealer: Dealer, relevant: Places, others: Others, seed: u64) -> Box<dyn Sampler> {
        let most = (self.relevant, self.others);
        if self.epoch == Epoch::Lists {
            let stream = Stream::new(seed, "sampler: relevant items");
            return Box::new(Open { dealer, relevant, others, most, stream });
        }
        let lists = relevant.lists();
        let pieces = |q: u32| {
            let relevant = pieces(relevant.inside(q).len(), most.0, 2);
            (relevant, pieces(others.excluded.outside(q), most.1, 1))
        };
        let pieces: Vec<(u64, u64)> = (0..lists as u32).map(pieces).collect();
        let rounds = |(relevant, others): &(u64, u64)| match self.epoch {
            Epoch::Relevant => *relevant,
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

/// Every list once per epoch, its items drawn anew in every step.
struct Open {
    dealer: Dealer,
    relevant: Places,
    others: Others,
    most: (usize, usize),
    stream: Stream,
}

impl Sampler for Open {
    fn steps_per_epoch(&self) -> u64 {
        self.dealer.steps_per_epoch()
    }

    fn rates(&self) -> DrawRates {
        let parts = (0..self.relevant.lists() as u32).map(|q| {
            let relevant = self.relevant.inside(q).len();
            (relevant, self.most.0.min(relevant) as f64 / relevant.max(1) as f64)
        });
        rates_of_lists(self.dealer.steps_per_epoch(), parts)
    }

    fn draw(&mut self, step: u64, out: &mut Draws) {
        let Open { dealer, relevant, others, most, stream } = self;
        dealer.draw(step, out, |q, out| {
            let places = relevant.inside(q);
            let start = out.items.len();
            let mut random = stream.of_list(q).at_step(step).open();
            let chosen = others.chooser.choose(places.len(), most.0, &mut random);
            out.items.extend(chosen.iter().map(|&nth| places[nth as usize]));
            others.complete(q, step, most.1, start, out);
        });
    }
}

/// Every list once per round; each class of a list is dealt out in pieces, round after round.
struct Dealt {
    dealer: Dealer,
    /// Rounds over the lists until every item that an epoch shows was dealt.
    rounds: u64,
    relevant: Places,
    /// Relevant and unjudged items.
    excluded: Places,
    /// Of the relevant and of the other items of each list.
    pieces: Vec<(u64, u64)>,
    decks: [Decks; 2],
}

impl Sampler for Dealt {
    fn steps_per_epoch(&self) -> u64 {
        self.rounds.saturating_mul(self.dealer.steps_per_epoch())
    }

    fn rates(&self) -> DrawRates {
        let parts = (0u32..).zip(&self.pieces);
        let parts = parts.map(|(q, (relevant, _))| (self.relevant.inside(q).len(), 1.0 / *relevant as f64));
        rates_of_lists(self.dealer.steps_per_epoch(), parts)
    }

    fn draw(&mut self, step: u64, out: &mut Draws) {
        let Dealt { dealer, relevant, excluded, pieces, decks: [relevant_decks, other_decks], .. } = self;
        let round = step / dealer.steps_per_epoch();
        dealer.draw(step, out, |q, out| {
            let drawn = &mut out.items;
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

pub(super) const POPULAR: Param = Param {
    name: "popular",
    default: "0",
    range: "in [0, 2]",
    about: "the other items are drawn in proportion to this power of how often they were chosen; 0: evenly",
};

pub(super) const CORRECT: Param = Param {
    name: "correct",
    default: "true",
    range: "true or false",
    about: "items that were drawn by popularity count for what they stand for",
};

/// How the other items of users are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Draw {
    power: f64,
    correct: bool,
}

impl Draw {
    pub fn from_spec(spec: &Spec) -> Result<Draw, ParamError> {
        let power = spec.args.number(POPULAR.name, 0.0, POPULAR.range, |x| (0.0..=2.0).contains(&x))?;
        let correct = match spec.args.get(CORRECT.name).unwrap_or(CORRECT.default) {
            "true" => true,
            "false" => false,
            other => return Err(ParamError::new(CORRECT.name, other, CORRECT.range)),
        };
        Ok(Draw { power, correct })
    }

    /// Refuses what makes no sense where lists have their own items.
    pub fn even(self) -> Result<(), ParamError> {
        match self.power == 0.0 {
            true => Ok(()),
            false => Err(ParamError::new(
                POPULAR.name,
                &self.power.to_string(),
                "0: items are popular only where all users choose among the same ones (toprank recommend)",
            )),
        }
    }
}

/// So many words of bits are walked in less time than one drawn item is searched for and sorted.
const WORDS_AN_ITEM: usize = 4;

/// Draws items that are judged and not relevant.
pub(super) struct Others {
    /// Relevant and unjudged items.
    excluded: Places,
    stream: Stream,
    chooser: Chooser,
    /// One bit per item, for the draw of one list.
    places: Vec<u64>,
    /// Draws by popularity, and whether they are corrected for.
    popular: Option<(Popular, bool)>,
}

impl Others {
    pub fn of(lists: &Lists, policy: &Policy, seed: u64) -> Others {
        Others {
            excluded: Places::of(lists, |label| label.is_nan() || policy.relevant.is(label)),
            stream: Stream::new(seed, "sampler: other items"),
            chooser: Chooser::default(),
            places: Vec::new(),
            popular: None,
        }
    }

    /// Items that a user did not choose, or did not like.
    pub fn of_choices(choices: &Choices, policy: &Policy, seed: u64, draw: Draw) -> Others {
        Others {
            popular: (draw.power > 0.0)
                .then(|| (Popular::new(&choices.popularity(), draw.power), draw.correct)),
            excluded: Places::of_choices(choices, |label| label.is_nan() || policy.relevant.is(label)),
            stream: Stream::new(seed, "sampler: other items"),
            chooser: Chooser::default(),
            places: Vec::new(),
        }
    }

    /// Completes the draw of list `q`, whose relevant items are those of `out` from `start` on: up to `most` others are added,
    /// all are put in order, and what they stand for is said where it is not the same for all.
    pub fn complete(&mut self, q: u32, step: u64, most: usize, start: usize, out: &mut Draws) {
        let mut random = self.stream.of_list(q).at_step(step).open();
        let outside = self.excluded.outside(q);
        match &mut self.popular {
            Some((popular, correct)) if most < outside => {
                out.items.extend(popular.draw(most, self.excluded.inside(q), &mut random));
                out.items[start..].sort_unstable();
                if *correct {
                    out.stands_for.resize(start, 1.0);
                    popular.stand_for(&out.items[start..], outside, &mut out.stands_for);
                }
            }
            _ => {
                let words = self.excluded.length(q).div_ceil(WORD);
                if words > WORDS_AN_ITEM * most.min(outside) {
                    let chosen = self.chooser.draw(outside, most, &mut random);
                    out.items.extend(chosen.iter().map(|&nth| self.excluded.nth_outside(q, nth)));
                    out.items[start..].sort_unstable();
                } else {
                    if self.places.len() < words {
                        self.places.resize(words, 0);
                    }
                    let (inside, places) = (self.excluded.inside(q), &mut self.places[..words]);
                    self.chooser.with_bits(outside, most, &mut random, |set| spread(set, inside, places));
                    out.items.drain(start..).for_each(|relevant| put(places, relevant));
                    empty_into(places, &mut out.items);
                }
            }
        }
        if !out.stands_for.is_empty() {
            out.stands_for.resize(out.items.len(), 1.0);
        }
    }
}

#![doc = include_str!("pages/pairs.md")]

use toprank_core::{Choices, Lists, Param, ParamError, Policy, Spec, Stream};
use toprank_objectives::{DrawRates, Draws};

use super::epoch::{Epochs, Weights, begin, end_of_list};
use super::places::{Places, Shuffled};
use super::strata::{CORRECT, Draw, Others, POPULAR};
use super::{BATCH, Sampler, SamplerKind, at_least_one, count, nobody_to_draw, nothing_to_draw};

const PAIRS: Param = Param { default: "256", about: "relevant pairs per step, on average at most", ..BATCH };

const GROUP: Param = Param {
    name: "group",
    default: "10",
    range: "an integer from 2 on (one relevant item says nothing about the others), or all",
    about: "relevant items of a list that are drawn together",
};

const ITEMS: Param = Param {
    name: "items",
    default: "100",
    range: "an integer from 1 on, or all",
    about: "most other items drawn from each drawn list",
};

pub(super) const PARAMS: &[Param] = &[PAIRS, GROUP, ITEMS, POPULAR, CORRECT];

pub(super) fn make(spec: &Spec) -> Result<Box<dyn SamplerKind>, ParamError> {
    Ok(Box::new(Pairs {
        batch: count(spec, &PAIRS, 1)?,
        group: count(spec, &GROUP, 2)?,
        items: count(spec, &ITEMS, 1)?,
        draw: Draw::from_spec(spec)?,
    }))
}

#[derive(Debug)]
struct Pairs {
    batch: usize,
    group: usize,
    items: usize,
    draw: Draw,
}

impl SamplerKind for Pairs {
    fn open(&self, lists: &Lists, policy: &Policy, seed: u64) -> Result<Box<dyn Sampler>, ParamError> {
        self.draw.even()?;
        let relevant = Places::of(lists, |label| policy.relevant.is(label));
        self.over(relevant, Others::of(lists, policy, seed), Weights::of(lists), seed)
            .ok_or_else(|| nothing_to_draw("pairs", lists, "lists with a relevant item"))
    }

    fn open_choices(
        &self,
        choices: &Choices,
        policy: &Policy,
        seed: u64,
    ) -> Result<Box<dyn Sampler>, ParamError> {
        let relevant = Places::of_choices(choices, |label| policy.relevant.is(label));
        let others = Others::of_choices(choices, policy, seed, self.draw);
        self.over(relevant, others, Weights::even(choices.len()), seed)
            .ok_or_else(|| nobody_to_draw("pairs", choices))
    }
}

impl Pairs {
    /// `None`: nothing is relevant.
    fn over(
        &self,
        relevant: Places,
        others: Others,
        weights: Weights,
        seed: u64,
    ) -> Option<Box<dyn Sampler>> {
        let mut groups = Vec::new();
        let mut pairs = 0;
        for q in 0..relevant.lists() as u32 {
            let all = relevant.inside(q).len();
            pairs += all;
            // As many groups as the size asks for, but none of one item where there are more.
            let number = all.div_ceil(self.group).min((all / 2).max(1));
            groups.extend((0..number.min(all) as u32).map(|part| Group { list: q, part, of: number as u32 }));
        }
        if pairs == 0 {
            return None;
        }
        Some(Box::new(Open {
            epochs: Epochs::new(seed, groups.len(), pairs.div_ceil(self.batch)),
            groups,
            dealt: Shuffled::new(&relevant, Stream::new(seed, "sampler: pairs of a list")),
            others,
            weights,
            relevant,
            items: self.items,
            step: Vec::new(),
            drawn: Vec::new(),
        }))
    }
}

/// Part `part` of the `of` parts into which the shuffled relevant items of a list are cut in each epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    list: u32,
    part: u32,
    of: u32,
}

struct Open {
    groups: Vec<Group>,
    epochs: Epochs,
    /// Which relevant items of a list are in which group, epoch by epoch.
    dealt: Shuffled,
    relevant: Places,
    others: Others,
    weights: Weights,
    items: usize,
    /// The groups of this step.
    step: Vec<Group>,
    /// How many relevant items each draw has.
    drawn: Vec<u32>,
}

impl Sampler for Open {
    fn steps_per_epoch(&self) -> u64 {
        self.epochs.steps()
    }

    fn rates(&self) -> DrawRates {
        let (groups, steps) = (self.groups.len(), self.epochs.steps());
        let first = self.groups.iter().filter(|group| group.part == 0);
        let (lists, seen) = first.fold((0.0, 0.0), |(lists, seen), group| {
            (lists + 1.0, seen + at_least_one(group.of as usize, groups, steps))
        });
        DrawRates { pairs: 1.0 / steps as f64, lists: seen / lists }
    }

    fn draw(&mut self, step: u64, out: &mut Draws) {
        begin(out);
        self.drawn.clear();
        self.step.clear();
        self.step.extend(self.epochs.at(step).iter().map(|&g| self.groups[g as usize]));
        self.step.sort_unstable();
        for same_list in self.step.chunk_by(|a, b| a.list == b.list) {
            let q = same_list[0].list;
            let start = out.items.len();
            if same_list[0].of as usize == same_list.len() {
                // All of them, in whatever order.
                out.items.extend_from_slice(self.relevant.inside(q));
            } else {
                let order = self.dealt.of(&self.relevant, q, self.epochs.epoch(step));
                for group in same_list {
                    let at = |part: u32| part as usize * order.len() / group.of as usize;
                    out.items.extend_from_slice(&order[at(group.part)..at(group.part + 1)]);
                }
            }
            self.drawn.push((out.items.len() - start) as u32);
            self.others.complete(q, step, self.items, start, out);
            end_of_list(q, out);
        }
        // The objective lets the n+ drawn relevant items stand for all N+ of the list; their own part is n+/N+.
        let part = |d: usize, q| f64::from(self.drawn[d]) / self.relevant.inside(q).len() as f64;
        self.weights.count(self.groups.len() as f64 / self.step.len() as f64, part, out);
    }
}

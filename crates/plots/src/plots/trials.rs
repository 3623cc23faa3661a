use crate::chart::{Axis, Direction, Figure, Join, Mark, Panel, Side, Ticks};
use crate::colour::{Look, SOFT};
use crate::draw::Fill;
use crate::legend::Sample;
use crate::scale::Scale;
use crate::{Better, Plot};

/// One result of a search for settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Its number.
    pub trial: u32,
    /// The round of halving, from 0.
    pub round: u32,
    /// The value of the metric; not finite if there is none.
    pub value: f64,
}

/// The results of a search: a dot per trial, and per round the best value so far as steps. Trials do not depend on each other, so
/// no line joins them; values of different rounds come from different numbers of epochs, so the steps begin anew.
///
/// `trials` stand in the order in which they were evaluated; `best` is the number of the trial that was chosen, in the last round.
///
/// ```
/// use toprank_plots::{Better, Trial, trials};
/// let all: Vec<Trial> = (0..4).map(|i| Trial { trial: i, round: 0, value: 0.4 + f64::from(i % 3) * 0.01 }).collect();
/// let plot = trials("tuning: 4 trials", "validation ndcg@10", &all, Better::Higher, Some(2));
/// assert!(plot.svg().contains("best so far") && plot.svg().contains("best: trial 2"));
/// ```
pub fn trials(title: &str, axis: &str, trials: &[Trial], better: Better, best: Option<u32>) -> Plot {
    let rounds = trials.iter().map(|trial| trial.round).max().map_or(0, |last| last + 1);
    // Of a single round the numbers of the trials can be read off; with more rounds a trial has several values.
    let place = |i: usize| if rounds <= 1 { f64::from(trials[i].trial) } else { (i + 1) as f64 };
    let usable: Vec<(f64, Trial)> = (0..trials.len())
        .map(|i| (place(i), trials[i]))
        .filter(|(_, trial)| trial.value.is_finite())
        .collect();
    let places = (0..trials.len()).map(place);
    let mut x = Axis::new(
        if rounds <= 1 { "trial" } else { "evaluations, in their order" },
        Scale::linear(places.flat_map(|x| [x - 0.5, x + 0.5]), 0.0),
    );
    x.ticks = Ticks::Integers;
    let y = Axis::new(axis, Scale::linear(usable.iter().map(|(_, trial)| trial.value), 0.06));
    let mut panel = Panel::new(x, y);
    for round in 0..rounds {
        let mut of_round: Vec<(f64, f64)> = usable
            .iter()
            .filter(|(_, trial)| trial.round == round)
            .map(|(x, trial)| (*x, trial.value))
            .collect();
        of_round.sort_by(|a, b| a.0.total_cmp(&b.0));
        if of_round.is_empty() {
            continue;
        }
        let mut so_far = of_round[0].1;
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for &(x, value) in &of_round {
            so_far = if better == Better::Higher { so_far.max(value) } else { so_far.min(value) };
            steps.push((x, so_far));
        }
        if let Some(last) = steps.last().copied() {
            steps.push((last.0 + 0.5, last.1));
        }
        let look = Look { colour: Look::of(round as usize).colour, dash: "" };
        panel.marks.push(Mark::Line { points: steps, look, join: Join::Steps, side: Side::Left, width: 1.5 });
        panel.marks.push(Mark::Dots { points: of_round, colour: look.colour, fill: Fill::Full });
        let name = if rounds == 1 { "trial".into() } else { format!("round {round}") };
        panel.legend.push((name, Sample::Dot(look.colour, Fill::Full)));
    }
    let line = if rounds <= 1 { "best so far" } else { "best so far in the round" };
    if !usable.is_empty() {
        let colour = if rounds <= 1 { Look::of(0).colour } else { SOFT };
        panel.legend.push((line.into(), Sample::Line(Look::solid(colour))));
    }
    let chosen = |best: u32| {
        let of_best = usable.iter().filter(|(_, trial)| trial.trial == best);
        of_best.max_by_key(|(_, trial)| trial.round).map(|(x, _)| (*x, best))
    };
    if let Some((at, best)) = best.and_then(chosen) {
        let label = format!("best: trial {best}");
        panel
            .marks
            .insert(0, Mark::Rule { at, look: Look::REFERENCE, direction: Direction::Vertical, label });
    }
    panel.empty = usable.is_empty();
    let without = trials.len() - usable.len();
    let mut figure = Figure::of(title, panel);
    if without > 0 {
        figure.subtitle = format!("{without} of {} evaluations failed", trials.len());
    }
    figure.draw()
}

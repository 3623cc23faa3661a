//! New users: a row learned from a history, everything else as it is.

use toprank_core::{Choices, Stream};
use toprank_embeddings::{BatchView, EmbeddingModel, Plan, RowAdam, RowStep, Rows, Shape, Slopes, Tape};
use toprank_objectives::{Batch, Draws, Gradients};

use super::config::row_rule;
use super::recency;
use super::rows::PLAIN_ADAM;
use super::vector_trainer::{Lookup, Parameters, given, labels_and_weights};
use crate::error::TrainError;
use crate::fit::optimiser::RowRule;
use crate::fit::sampler;
use crate::fit::schedule;
use crate::fit::settings::Config;

/// Steps in which the row is learned.
const STEPS: u64 = 200;
/// The rate it starts with; it falls to 0 along half a cosine.
const RATE: f64 = 0.05;
/// The whole history against at most so many other items in each step.
const SAMPLER: &str = "strata:batch=1:relevant=all:others=1000";

/// The row of a user who took `history`, first to last: it starts at the mean of all users and follows the objective.
pub(super) fn fold_in(
    config: &Config,
    model: &dyn EmbeddingModel,
    shape: Shape,
    parameters: &Parameters,
    history: &[u32],
) -> Result<Vec<f32>, TrainError> {
    let mut later: Vec<(u32, u32)> = history.iter().copied().zip((0..history.len() as u32).rev()).collect();
    later.sort_unstable();
    let choices = Choices {
        item_count: shape.items,
        offsets: vec![0, history.len() as u64],
        items: later.iter().map(|(item, _)| *item).collect(),
        labels: vec![1.0; history.len()],
        ..Choices::default()
    };
    let later: Vec<u32> = later.into_iter().map(|(_, later)| later).collect();
    let choices = recency::weighed(choices, &later, config.recency());
    let goal = config.goal()?;
    let mut sampler = sampler::parse(SAMPLER)?.1.open_choices(&choices, goal.policy(), config.seed())?;
    let goal = goal.at_rates(sampler.rates())?;
    let schedule = schedule::parse("cosine")?.1;
    let mut state = goal.state_of_choices(&choices)?;
    let [user_width, item_width] = model.widths();
    let mut row = mean_row(&parameters.users, user_width);
    let constants = match row_rule(config)? {
        RowRule::Adam(constants) => constants,
        RowRule::Storm { .. } => PLAIN_ADAM,
    };
    let mut adam = RowAdam::new(1, user_width, constants);
    let (mut draws, mut plan) = (Draws::default(), Plan::default());
    let (mut labels, mut weights) = (Vec::new(), Vec::new());
    let (mut items, mut tape, mut out) = (Rows::default(), Tape::default(), Gradients::default());
    let (mut scores, mut lookup) = (Vec::new(), Lookup::default());
    let mut slopes = [vec![0.0; user_width], Vec::new(), vec![0.0; parameters.weights.len()]];
    for step in 0..STEPS {
        sampler.draw(step, &mut draws);
        plan.lay(shape.items, &draws.lists, &draws.offsets, &draws.items);
        labels_and_weights(&choices, &draws, &mut lookup, &mut labels, &mut weights);
        items.gather(&parameters.items, item_width, &plan.items, None);
        scores.resize(plan.len(), 0.0);
        let view =
            BatchView { plan: &plan, users: &row, items: &items.values, shape, weights: &parameters.weights };
        model.forward(&view, None, &mut tape, &mut scores);
        let stream = Stream::new(config.seed(), "objective").at_step(step);
        // A form that asks for the model of the step before goes without: it then follows the present alone.
        let drawn_weights = given(&weights);
        let batch = Batch { stream, drawn_weights, ..Batch::of_choices(&draws, &labels, &scores) };
        goal.step(&batch, &mut state, &mut out)?;
        slopes[1].resize(items.values.len(), 0.0);
        let [users, of_items, of_weights] = &mut slopes;
        let to = Slopes { users, items: of_items, weights: of_weights };
        model.backward(&view, &mut tape, &out.gradient, to);
        let rate = schedule.rate(step, STEPS, RATE);
        adam.step(RowStep { number: step, rate }, &mut row, &[0], &slopes[0]);
    }
    Ok(row)
}

fn mean_row(rows: &[f32], width: usize) -> Vec<f32> {
    let count = (rows.len() / width).max(1) as f64;
    let column = |j: usize| rows.iter().skip(j).step_by(width).map(|v| f64::from(*v)).sum::<f64>() / count;
    (0..width).map(|j| column(j) as f32).collect()
}

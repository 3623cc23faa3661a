/*!
The members that `recommend train --model auto` may train, and which of them a budget pays for.

The list is a function of settings, data and the stored times of the models (`seconds` of [`ItemModel`](toprank_embeddings::ItemModel)) alone, so that it depends neither
on the machine nor on its load. Members are looked at in their order: one that what is left of the budget pays for is taken; of a model
that is fitted in epochs, as many epochs as it pays for, unless they are too few to learn anything.
*/

use toprank_core::{ParamError, Spec, catalog};

use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::rank::auto::portfolio::{Chosen, Member, limit, member};
use crate::recommend::Feedback;
use crate::recommend::interactions::{Interactions, labelled};
use crate::recommend::trainer::item_model;

/// The portfolio of interactions, those that are expected to be worth most for their time first.
pub static OF_INTERACTIONS: &[Member] = &[
    member("knn", "model=knn recency=3"),
    member("ease", "model=ease recency=3"),
    member("als", "model=als recency=3 epochs=20 patience=3"),
    member("gf-cf", "model=gf-cf recency=3"),
    member("slim", "model=slim recency=3"),
    member("ease-low-rank", "model=ease-low-rank recency=3"),
    member("sequence", "model=sequence epochs=200 patience=10"),
    member("ease-recent", "model=ease:lambda=500:dropout=0.3 recency=1.5"),
    member("sequence-wide", "model=sequence:width=128 epochs=200 patience=10"),
    member("pop", "model=pop"),
];

/// What is left of the budget for reading, selecting and writing.
const OF_BUDGET: f64 = 0.8;
/// With fewer epochs nothing is learned.
const FEWEST_EPOCHS: u32 = 5;
/// Seconds per user and item of a ranking: scores, and the best of them.
const RANKING: f64 = 1e-9;

impl Member {
    /// Its settings over those of the user.
    fn of_interactions(&self, auto: &Config, place: usize) -> Result<Config, ParamError> {
        let user = auto.settings();
        let mut settings = Settings {
            objective: Some(auto.objective().into()),
            valid_metric: Some(auto.valid_metric().into()),
            feedback: user.feedback.clone(),
            valid_items: user.valid_items,
            // Members differ by chance too.
            seed: Some(auto.seed().wrapping_add(place as u64)),
            ..Settings::default()
        };
        for pair in self.settings.split(' ') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            settings.set(key, value)?;
        }
        settings.resolve(TrainerKind::Recommend)
    }
}

/// The members that the budget of a config pays for on these data; at least one.
///
/// # Errors
/// If the config has an invalid budget.
pub fn planned(auto: &Config, data: &Interactions, budget: f64) -> Result<Vec<Chosen>, ParamError> {
    let choices = labelled(&data.train, Feedback::of(auto));
    let ranking = data.valid.pairs().min(data.users.len()) as f64 * data.items.len() as f64 * RANKING;
    let (mut left, mut chosen) = (budget * OF_BUDGET, Vec::new());
    for (place, member) in OF_INTERACTIONS.iter().enumerate() {
        let config = member.of_interactions(auto, place)?;
        let model = item_model(config.model())?;
        if model.reads_order() && data.later.is_empty() {
            continue;
        }
        let whole = Chosen { text: member.name.into(), config };
        let each = model.seconds(&choices) + ranking;
        let epochs = if model.is_iterative() { whole.config.epochs() } else { 1 };
        let paid = (left / each).min(f64::from(epochs)) as u32;
        let fewest = FEWEST_EPOCHS.min(epochs);
        // On any budget there is one.
        if paid < fewest && !(chosen.is_empty() && place == 0) {
            continue;
        }
        left -= each * f64::from(paid.max(fewest));
        chosen.push(if paid < epochs && model.is_iterative() {
            whole.limited(paid.max(fewest))
        } else {
            whole
        });
    }
    Ok(chosen)
}

/// All members that a list names, in its order.
///
/// # Errors
/// If one is not of the portfolio, or needs an order in time that is not known.
pub fn named(auto: &Config, data: &Interactions) -> Result<Vec<Chosen>, ParamError> {
    let chosen = crate::rank::auto::portfolio::parse(auto.members())?.into_iter().map(|spec| {
        let (place, member) = find(&spec)?;
        let config = member.of_interactions(auto, place)?;
        let model = item_model(config.model())?;
        if model.reads_order() && data.later.is_empty() {
            let expected = "members that need no order in time: it is not known of these interactions";
            return Err(ParamError::new("members", &spec.name, expected));
        }
        let chosen = Chosen { text: spec.name.clone(), config };
        match limit(&spec)? {
            Some(_) if !model.is_iterative() => {
                let expected = format!("{} alone: it is fitted at once, not in epochs", spec.name);
                Err(ParamError::new("members", auto.members(), &expected))
            }
            Some(epochs) => Ok(chosen.limited(epochs)),
            None => Ok(chosen),
        }
    });
    chosen.collect()
}

fn find(spec: &Spec) -> Result<(usize, &'static Member), ParamError> {
    let names = || OF_INTERACTIONS.iter().map(|member| member.name);
    let place = names().position(|name| name == spec.name);
    let place =
        place.ok_or_else(|| catalog::unknown("member of auto for recommendation", &spec.name, names()))?;
    Ok((place, &OF_INTERACTIONS[place]))
}

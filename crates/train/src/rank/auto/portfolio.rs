/*!
The members that `--model auto` may train, the ones expected to be worth most first.

A member is a set of settings over the user's objective, metric and seed; where it sets nothing, the defaults of its kind of model and of
the data hold. Cross-entropy leads on binary data, as it is the safest start there; a member with the metric's own objective sees the
same data otherwise, which is what a blend gains from.
*/

use toprank_core::{Architecture, Lists, ParamError, Spec, catalog};

use crate::fit::settings::{Config, Files, Settings, TrainerKind};
use crate::rank::models::{self, Model};
use crate::recommend::auto::OF_INTERACTIONS;

/// One line of a portfolio.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// How `--members` calls it.
    pub name: &'static str,
    /// What it sets: `key=value`, separated by spaces.
    pub settings: &'static str,
}

/// The portfolio of binary and multi-label data.
pub static OF_LABELS: &[Member] = &[
    member("trees", "model=trees algorithm=logistic trees=300"),
    member("mlp", "model=mlp algorithm=logistic"),
    member(
        "extra-trees",
        "model=trees:forest=yes:extra=yes:leaves=512:min-rows=1:l2=0:node-features=0.3:rows=1 algorithm=logistic trees=200 \
         patience=0",
    ),
    member(
        "forest",
        "model=trees:forest=yes:leaves=256:min-rows=1:l2=0:node-features=0.3:rows=0.632 algorithm=logistic trees=200 \
         patience=0",
    ),
    member("trees-metric", "model=trees trees=300"),
    member(
        "trees-slow",
        "model=trees:features=0.5:leaves=15:min-rows=10:extra=no algorithm=logistic learning-rate=0.04 trees=600",
    ),
    member(
        "mlp-slow",
        "model=mlp:hidden=128:embed=none algorithm=logistic optimiser=adam learning-rate=0.001 epochs=200 patience=30 \
         transforms=missing:to=mean,standardise weight-average=none",
    ),
    member("linear", "model=linear algorithm=logistic"),
    member(
        "trees-deep",
        "model=trees:features=0.3:leaves=63:min-rows=5:l2=5:extra=no algorithm=logistic learning-rate=0.05 trees=300",
    ),
    member("mlp-metric", "model=mlp"),
    member("mlp-wide", "model=mlp:hidden=256-128:dropout=0.2 algorithm=logistic"),
    member(
        "trees-stumps",
        "model=trees:leaves=4:features=0.7:extra=no algorithm=logistic learning-rate=0.1 trees=600",
    ),
    member("linear-metric", "model=linear"),
];

/// The portfolio of queries, whose items are ranked list by list.
pub static OF_QUERIES: &[Member] = &[
    member("trees", "model=trees trees=300"),
    member("trees-lambda", "model=trees algorithm=lambdarank trees=300"),
    member("trees-softmax", "model=trees algorithm=softmax trees=300"),
    member("linear", "model=linear algorithm=softmax"),
    member("context", "model=context"),
    member("mlp", "model=mlp algorithm=softmax"),
    member("trees-slow", "model=trees:features=0.3:leaves=15:min-rows=20 learning-rate=0.03 trees=600"),
    member("mlp-metric", "model=mlp"),
    member(
        "trees-large",
        "model=trees:features=0.5:leaves=63:min-rows=50 algorithm=lambdarank learning-rate=0.05 trees=300",
    ),
];

pub(crate) const fn member(name: &'static str, settings: &'static str) -> Member {
    Member { name, settings }
}

/// A member that is to be trained.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// As `--members` says it: the name, and perhaps how many epochs at most.
    pub text: String,
    /// What each of its models is trained with.
    pub config: Config,
}

impl Chosen {
    /// The same member, trained for at most so many epochs.
    #[must_use]
    pub fn limited(&self, epochs: u32) -> Chosen {
        Chosen {
            text: format!("{}:epochs={epochs}", self.text),
            config: self.config.with(Settings { epochs: Some(epochs), ..Settings::default() }),
        }
    }

    /// True if it is made of trees.
    pub fn is_trees(&self) -> bool {
        models::is_trees(self.config.model())
    }
}

/// All members that suit these data, in their order. What this build does not have (networks) is left out, and so is what another
/// member already trains.
///
/// # Errors
/// If the objective suits no member.
pub fn of_data(auto: &Config, lists: &Lists) -> Result<Vec<Chosen>, ParamError> {
    let mut chosen: Vec<Chosen> = Vec::new();
    for (place, member) in portfolio(lists).iter().enumerate() {
        let Some(config) = member.config(auto, lists, place)? else { continue };
        let same = |other: &Chosen| {
            let seed = Settings { seed: Some(other.config.seed()), ..Settings::default() };
            config.with(seed) == other.config
        };
        if !chosen.iter().any(same) {
            chosen.push(Chosen { text: member.name.into(), config });
        }
    }
    Ok(chosen)
}

/// The members that a list names, in its order.
///
/// # Errors
/// If one is not of the portfolio of these data.
pub fn named(auto: &Config, lists: &Lists) -> Result<Vec<Chosen>, ParamError> {
    let all = portfolio(lists);
    let chosen = parse(auto.members())?.into_iter().map(|spec| {
        let place = all.iter().position(|member| member.name == spec.name);
        let place = place.ok_or_else(|| {
            catalog::unknown(
                "member of auto for these data",
                &spec.name,
                all.iter().map(|member| member.name),
            )
        })?;
        let config = all[place].config(auto, lists, place)?.ok_or_else(|| {
            ParamError::new("members", &spec.name, "members that this build has: it is without networks")
        })?;
        let chosen = Chosen { text: spec.name.clone(), config };
        Ok(match limit(&spec)? {
            None => chosen,
            Some(epochs) => chosen.limited(epochs),
        })
    });
    chosen.collect()
}

/// How many epochs a list allows a member at most, if it says so.
pub(crate) fn limit(spec: &Spec) -> Result<Option<u32>, ParamError> {
    match spec.args.get(EPOCHS) {
        None => Ok(None),
        Some(_) => Ok(Some(spec.args.count(EPOCHS, 1, MOST_EPOCHS)? as u32)),
    }
}

const EPOCHS: &str = "epochs";
const MOST_EPOCHS: usize = 1_000_000;

/// Reads a list of members: `trees,mlp,trees-slow:epochs=40`.
///
/// # Errors
/// If it is empty, names a member twice, or one that no portfolio has.
pub(crate) fn parse(text: &str) -> Result<Vec<Spec>, ParamError> {
    let specs = Spec::parse_all(text)?;
    for (place, spec) in specs.iter().enumerate() {
        let known = || OF_LABELS.iter().chain(OF_QUERIES).chain(OF_INTERACTIONS).map(|member| member.name);
        if !known().any(|name| name == spec.name) {
            let mut names: Vec<&str> = known().collect();
            names.sort_unstable();
            names.dedup();
            return Err(catalog::unknown("member of auto", &spec.name, names));
        }
        if let Some((key, _)) = spec.args.0.iter().find(|(key, _)| key != EPOCHS) {
            return Err(catalog::unknown_parameter(&spec.name, key, [EPOCHS]));
        }
        spec.args.count(EPOCHS, 1, MOST_EPOCHS)?;
        if specs[..place].iter().any(|before| before.name == spec.name) {
            return Err(ParamError::new("members", text, "every member at most once"));
        }
    }
    if specs.is_empty() {
        return Err(ParamError::new("members", text, "at least one member, such as trees"));
    }
    Ok(specs)
}

fn portfolio(lists: &Lists) -> &'static [Member] {
    if lists.are_labels() { OF_LABELS } else { OF_QUERIES }
}

impl Member {
    /// Its settings over the user's, resolved for the data; `None`: this build does not have its kind of model. A network over
    /// whole lists has no members for one list that is all the data. Members have seeds of their own, so that they differ by
    /// chance too.
    fn config(&self, auto: &Config, lists: &Lists, place: usize) -> Result<Option<Config>, ParamError> {
        let mut settings = Settings {
            objective: Some(auto.objective().into()),
            valid_metric: Some(auto.valid_metric().into()),
            seed: Some(auto.seed().wrapping_add(place as u64)),
            calibrate: Some("none".into()),
            // Every member has held-out data to stop early on, which some defaults ask for.
            valid: Some(Files::default()),
            ..Settings::default()
        };
        for pair in self.settings.split(' ') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            settings.set(key, value)?;
        }
        let model = settings.model.as_deref().unwrap_or_default();
        if models::NETWORKS.is_empty() && !models::is_trees(model) {
            return Ok(None);
        }
        let couples = |network: &dyn Architecture| network.couples_items();
        if lists.are_labels()
            && matches!(models::parse(model)?, Model::Network(network) if couples(&*network))
        {
            return Ok(None);
        }
        Ok(Some(settings.resolve(TrainerKind::Rank)?.suited_to(lists)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(text: &str) -> Config {
        let settings = Settings::from_toml(&format!("model = \"auto\"\n{text}")).unwrap();
        settings.resolve(TrainerKind::Rank).unwrap()
    }

    fn one_list() -> Lists {
        Lists::from_lengths(&[4], vec![1.0, 0.0, 0.0, 1.0])
    }

    fn queries() -> Lists {
        Lists::from_lengths(&[2, 2], vec![1.0, 0.0, 0.0, 1.0])
    }

    #[test]
    fn every_member_of_every_portfolio_resolves_and_no_two_are_the_same() {
        for (lists, all) in [(one_list(), OF_LABELS), (queries(), OF_QUERIES)] {
            let chosen = of_data(&auto("objective = \"map\"").suited_to(&lists).unwrap(), &lists).unwrap();
            #[cfg(feature = "neural")]
            assert_eq!(chosen.len(), all.len());
            assert!(chosen.len() <= all.len() && chosen[0].is_trees(), "the first is fast");
            assert!(chosen.iter().all(|member| member.config.valid_metric() == "map"));
        }
        // Where cross-entropy is the objective itself, its members are not trained twice.
        let lists = one_list();
        let config = auto("objective = \"logistic\"").suited_to(&lists).unwrap();
        let names: Vec<String> = of_data(&config, &lists).unwrap().into_iter().map(|m| m.text).collect();
        assert!(!names.contains(&"trees-metric".to_string()), "{names:?}");
    }

    #[test]
    fn a_list_names_members_of_the_data_and_their_epochs() {
        let lists = one_list();
        let config = auto("members = \"trees-slow:epochs=40,trees\"").suited_to(&lists).unwrap();
        let chosen = named(&config, &lists).unwrap();
        assert_eq!((chosen[0].text.as_str(), chosen[0].config.epochs()), ("trees-slow:epochs=40", 40));
        assert_eq!((chosen[1].text.as_str(), chosen[1].config.epochs()), ("trees", 300));
        let lambda = auto("members = \"trees-lambda\"").suited_to(&lists).unwrap();
        let error = named(&lambda, &lists).unwrap_err().to_string();
        assert!(error.contains("unknown member of auto for these data \"trees-lambda\""), "{error}");
        for (text, words) in [
            ("woods", "unknown member of auto \"woods\""),
            ("trees,trees:epochs=3", "every member at most once"),
            ("trees:rounds=3", "unknown parameter of trees \"rounds\""),
            ("trees:epochs=0", "epochs must be an integer from 1"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}

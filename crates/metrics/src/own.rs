//! Users' own metrics under a name, for this process: what a program registers, `Measure::parse_all` finds.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use toprank_core::ParamError;

use crate::metric::Metric;

/// How the names of users' own metrics begin.
pub const OWN_PREFIX: &str = "own-";

static OWN: RwLock<BTreeMap<String, Arc<dyn Metric>>> = RwLock::new(BTreeMap::new());

/// Makes a metric known under a name that begins with [`OWN_PREFIX`]; one of the same name is replaced. Settings that take the name of
/// a metric take this one then; a model file keeps the name alone.
///
/// ```
/// use toprank_core::{List, Policy};
/// use toprank_metrics::{Measure, Metric, Ranked, Work};
/// struct First;
/// impl Metric for First {
///     fn value(&self, ranked: &Ranked, _: &Policy) -> Option<f64> {
///         ranked.labels().first().map(|label| f64::from(*label))
///     }
/// }
/// toprank_metrics::register("own-first", std::sync::Arc::new(First)).unwrap();
/// let measure = &Measure::parse_all("own-first", &Policy::default()).unwrap()[0];
/// assert_eq!(measure.of_list(&List::new(&[0.1, 0.9], &[1.0, 3.0]), &mut Work::default()), Ok(Some(3.0)));
/// ```
///
/// # Errors
/// If it is no such name.
pub fn register(name: &str, metric: Arc<dyn Metric>) -> Result<(), ParamError> {
    check_name("metric", name)?;
    OWN.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_string(), metric);
    Ok(())
}

/// The metric of this name, if it was registered.
pub(crate) fn registered(name: &str) -> Option<Arc<dyn Metric>> {
    OWN.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

/// Refuses a name that is not of users' own metrics or objectives.
pub fn check_name(what: &str, name: &str) -> Result<(), ParamError> {
    let rest = name.strip_prefix(OWN_PREFIX).unwrap_or_default();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if rest.is_empty() || !rest.chars().all(fits) {
        let expected = "own- and lower-case letters, digits and -, as in own-first-click";
        return Err(ParamError::new(&format!("the name of an own {what}"), name, expected));
    }
    Ok(())
}

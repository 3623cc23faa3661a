//! Parameters of a generator: the table of defaults, overlaid by what the user gave, read with a range each.

use toprank_core::{Args, Param, ParamError};

/// Most lists, users or rows of one run: a stream is addressed by 32 bits.
pub(super) const MOST: f64 = 4_000_000_000.0;

/// The parameter every generator has.
pub(super) const SEED: Param = Param {
    name: "seed",
    default: "1",
    range: "an integer from 0 on",
    about: "the same seed gives the same bytes on every machine",
};

/// The parameter of every generator that writes train, vali and test.
pub(super) const SPLIT: Param = Param {
    name: "split",
    default: "60/20/20",
    range: "three shares ≥ 0 separated by /",
    about: "shares of train, vali and test; a share of 0 writes no file",
};

/// The parameters in force.
pub(super) struct Settings(Args);

impl Settings {
    pub(super) fn new(params: &[Param], given: &Args) -> Result<Settings, ParamError> {
        if let Some((key, _)) = given.0.iter().find(|(key, _)| params.iter().all(|p| p.name != *key)) {
            let known: Vec<&str> = params.iter().map(|p| p.name).collect();
            return Err(ParamError::new("the parameter", key, &format!("one of {}", known.join(", "))));
        }
        let value = |p: &Param| (p.name.into(), given.get(p.name).unwrap_or(p.default).into());
        Ok(Settings(Args(params.iter().map(value).collect())))
    }

    pub(super) fn text(&self, key: &str) -> &str {
        self.0.get(key).unwrap_or_default()
    }

    /// A number in `[low, high]`.
    pub(super) fn number(&self, key: &str, low: f64, high: f64) -> Result<f64, ParamError> {
        self.0.number(key, f64::NAN, &format!("a number in [{low}, {high}]"), |x| low <= x && x <= high)
    }

    /// An integer in `[low, high]`.
    pub(super) fn whole(&self, key: &str, low: f64, high: f64) -> Result<u64, ParamError> {
        let range = format!("an integer in [{low}, {high}]");
        let whole = |x: f64| low <= x && x <= high && x.fract() == 0.0;
        Ok(self.0.number(key, f64::NAN, &range, whole)? as u64)
    }

    pub(super) fn seed(&self) -> Result<u64, ParamError> {
        let text = self.text(SEED.name);
        text.parse().map_err(|_| ParamError::new(SEED.name, text, SEED.range))
    }

    /// Where train, vali and test end among `units` lists. Lists are alike and independent, so the first ones may
    /// be train and the last ones test.
    pub(super) fn ends(&self, units: u64) -> Result<[u64; 3], ParamError> {
        let text = self.text(SPLIT.name);
        let shares: Vec<f64> = text.split('/').filter_map(|share| share.trim().parse().ok()).collect();
        let total: f64 = shares.iter().sum();
        let fine = |share: &f64| share.is_finite() && *share >= 0.0;
        if shares.len() != 3 || text.split('/').count() != 3 || !shares.iter().all(fine) || total <= 0.0 {
            return Err(ParamError::new(SPLIT.name, text, SPLIT.range));
        }
        let end = |upto: f64| ((units as f64) * (upto / total)).round() as u64;
        Ok([end(shares[0]), end(shares[0] + shares[1]), units])
    }
}

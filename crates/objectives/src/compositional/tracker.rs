/*!
Trackers: one number u per anchor that follows its inner mean g from noisy estimates ĝ.

```text
moving average   u ← (1−γ)u + γĝ                                        (SONG, SOX; γ = 1: the mini-batch)
MSVR             u ← (1−γ)u + γĝ + β(ĝ − ĝ⁻)                             (Faster SONG v1, SONG eq. 12; STORM: β = 1−γ)
quadratic        v ← (1−γ)v + γ(u−ĝ) + β((u−ĝ) − (u⁻−ĝ⁻)), u ← u − τv    (Faster SONG v2, SONG eq. 15)
```

ĝ⁻ is the estimate of the same batch at the previous weights, u⁻ the tracker one step ago (u itself if the pair was not
drawn then). First visit: u = ĝ, v = 0: the papers' u = 0 would make 1/log2(N·0 + 1) infinite. After MSVR and the
quadratic rule u is clamped at the least value its mean can have. Means of exponentials are tracked as ln u: the same
rules in units of e^m, m the largest logarithm at hand, so nothing overflows.
*/

use toprank_core::{Param, ParamError, Spec};

use crate::params::{flag, share, word};
use crate::state::{Column, Per};

/// The rule by which u follows ĝ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// u ← (1−γ)u + γĝ.
    MovingAverage,
    /// Moving average plus β(ĝ − ĝ⁻).
    Msvr,
    /// A step of length τ along a tracked error.
    Quadratic,
}

/// A number that may depend on the step t = 1, 2, …
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// The same in every step.
    Constant(f64),
    /// scale · t^−power.
    Power {
        /// Value at t = 1.
        scale: f64,
        /// How fast it falls.
        power: f64,
    },
    /// What the papers' theorems ask for: γ = t^{−2/3}, τ = t^{−1/3}, β = (1/p − 1)/(1 − γ) + 1 − γ at draw rate p.
    Theory,
    /// β = 1 − γ.
    Complement,
}

/// Follows inner means; its numbers live in the state of the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracker {
    /// How u follows.
    pub rule: Rule,
    /// γ in (0, 1].
    pub gamma: Schedule,
    /// β ≥ 0.
    pub beta: Schedule,
    /// τ in (0, 1].
    pub tau: Schedule,
    /// Chance that a pair is drawn in a step.
    pub rate: f64,
    /// The gradient takes u as it was before this step's update (SONG eq. 5) instead of after (its code).
    pub lagged: bool,
}

/// γ, β, τ of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    gamma: f64,
    beta: f64,
    tau: f64,
    step: u64,
}

/// The numbers of one pair and component.
#[derive(Debug)]
pub struct Cell<'a> {
    /// u, or ln u.
    pub u: &'a mut f64,
    /// v; in log space in units of u.
    pub v: Option<&'a mut f64>,
    /// u before the last update, and the step of that update.
    pub before: Option<(&'a mut f64, &'a mut f64)>,
}

/// Where a tracker stands for one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracked {
    /// u after the update.
    pub now: f64,
    /// u before it; on the first visit the estimate at the previous weights, or the present one.
    pub before: f64,
}

/// A new estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// ĝ at the present weights.
    pub now: f64,
    /// ĝ⁻ of the same batch at the previous weights.
    pub previous: Option<f64>,
    /// The least value the mean can have.
    pub floor: f64,
}

impl Tracker {
    /// γ, β, τ of step `step` (from 0).
    pub fn rates(&self, step: u64) -> Rates {
        let t = step as f64 + 1.0;
        let value = |schedule: Schedule, theory: f64| match schedule {
            Schedule::Constant(value) => value,
            Schedule::Power { scale, power } => scale * t.powf(-power),
            Schedule::Theory | Schedule::Complement => theory,
        };
        let gamma = value(self.gamma, t.powf(-2.0 / 3.0)).min(1.0);
        let beta = match self.beta {
            Schedule::Complement => 1.0 - gamma,
            Schedule::Theory if gamma < 1.0 => (1.0 / self.rate - 1.0) / (1.0 - gamma) + 1.0 - gamma,
            schedule => value(schedule, 0.0),
        };
        Rates { gamma, beta, tau: value(self.tau, t.powf(-1.0 / 3.0)).min(1.0), step }
    }

    /// Takes an estimate of a mean that is tracked as it is.
    pub fn follow(&self, rates: Rates, cell: Cell, estimate: Estimate) -> Tracked {
        if let Some(first) = first_visit(&cell, estimate) {
            return store(rates, cell, first, 0.0);
        }
        let (u, v) = (*cell.u, cell.v.as_deref().copied().unwrap_or(0.0));
        let (now, v) = self.advance(rates, u, v, u_before(rates, &cell), estimate);
        store(rates, cell, Tracked { now, before: u }, v)
    }

    /// Takes an estimate of a mean of exponentials; everything is a logarithm.
    pub fn follow_log(&self, rates: Rates, cell: Cell, estimate: Estimate) -> Tracked {
        if let Some(first) = first_visit(&cell, estimate) {
            return store(rates, cell, first, 0.0);
        }
        let ln_u = *cell.u;
        let ln_before = u_before(rates, &cell);
        let unit =
            [estimate.now, ln_before, estimate.previous.unwrap_or(ln_u)].into_iter().fold(ln_u, f64::max);
        let scaled = |ln: f64| (ln - unit).exp();
        let u = scaled(ln_u);
        let v = cell.v.as_deref().copied().unwrap_or(0.0) * u;
        let estimate = Estimate {
            now: scaled(estimate.now),
            previous: estimate.previous.map(scaled),
            floor: scaled(estimate.floor).max(f64::MIN_POSITIVE),
        };
        let (now, v) = self.advance(rates, u, v, scaled(ln_before), estimate);
        store(rates, cell, Tracked { now: now.max(estimate.floor).ln() + unit, before: ln_u }, v / now)
    }

    fn advance(&self, rates: Rates, u: f64, v: f64, u_before: f64, g: Estimate) -> (f64, f64) {
        let Rates { gamma, beta, tau, .. } = rates;
        let average = (1.0 - gamma) * u + gamma * g.now;
        match self.rule {
            Rule::MovingAverage => (average, 0.0),
            Rule::Msvr => {
                let moved = g.previous.map_or(0.0, |previous| beta * (g.now - previous));
                ((average + moved).max(g.floor), 0.0)
            }
            Rule::Quadratic => {
                let error = u - g.now;
                let moved = g.previous.map_or(0.0, |previous| beta * (error - (u_before - previous)));
                let v = (1.0 - gamma) * v + gamma * error + moved;
                ((u - tau * v).max(g.floor), v)
            }
        }
    }

    /// True if it wants ĝ⁻.
    pub fn needs_previous(&self) -> bool {
        self.rule != Rule::MovingAverage
    }

    /// Columns of state for one or two components of anchors that are `per`: the list's own number first.
    pub(crate) fn columns(&self, components: usize, per: Per) -> &'static [Column] {
        match (self.rule == Rule::Quadratic, components, per) {
            (false, 1, Per::Item) => &[OWN, U1_ITEM],
            (true, 1, Per::Item) => &[OWN, U1_ITEM, V1_ITEM, B1_ITEM, STAMP_ITEM],
            (false, 1, _) => &[OWN, U1],
            (false, ..) => &[OWN, U2],
            (true, 1, _) => &[OWN, U1, V1, B1, STAMP],
            (true, ..) => &[OWN, U2, V2, B2, STAMP],
        }
    }
}

fn first_visit(cell: &Cell, estimate: Estimate) -> Option<Tracked> {
    cell.u.is_nan().then(|| Tracked { now: estimate.now, before: estimate.previous.unwrap_or(estimate.now) })
}

/// u one step ago: another number only if the pair was drawn in that step.
fn u_before(rates: Rates, cell: &Cell) -> f64 {
    match &cell.before {
        Some((before, stamp)) if **stamp + 1.0 == rates.step as f64 => **before,
        _ => *cell.u,
    }
}

fn store(rates: Rates, cell: Cell, tracked: Tracked, v: f64) -> Tracked {
    if let Some((before, stamp)) = cell.before {
        *before = if cell.u.is_nan() { tracked.now } else { *cell.u };
        *stamp = rates.step as f64;
    }
    if let Some(cell_v) = cell.v {
        *cell_v = v;
    }
    *cell.u = tracked.now;
    tracked
}

const fn column(name: &'static str, per: Per, width: usize) -> Column {
    Column { name, per, width }
}
const OWN: Column = column("list", Per::List, 1);
const U1: Column = column("u", Per::Relevant, 1);
const U2: Column = column("u", Per::Relevant, 2);
const V1: Column = column("v", Per::Relevant, 1);
const V2: Column = column("v", Per::Relevant, 2);
const B1: Column = column("u before", Per::Relevant, 1);
const B2: Column = column("u before", Per::Relevant, 2);
const STAMP: Column = column("step", Per::Relevant, 1);
const U1_ITEM: Column = column("u", Per::Item, 1);
const V1_ITEM: Column = column("v", Per::Item, 1);
const B1_ITEM: Column = column("u before", Per::Item, 1);
const STAMP_ITEM: Column = column("step", Per::Item, 1);

const RANGE: &str = "in (0, 1], or SCALEt-POWER for SCALE·t^−POWER, or theory";

/// γ.
pub(crate) const GAMMA: Param =
    Param { name: "gamma", default: "0.1", range: RANGE, about: "γ: weight of the newest estimate" };
/// u before or after the update.
pub(crate) const LAGGED: Param = Param {
    name: "lagged",
    default: "false",
    range: "true or false",
    about: "take u from before this step's update (SONG eq. 5)",
};
/// β.
pub(crate) const BETA: Param = Param {
    name: "beta",
    default: "1-gamma",
    range: "in [0, ∞), SCALEt-POWER, theory or 1-gamma",
    about: "β: weight of the change from the previous weights",
};
/// τ.
pub(crate) const TAU: Param = Param {
    name: "tau",
    default: "0.4",
    range: RANGE,
    about: "τ: length of a step (0.2 at a rate below 0.5)",
};
/// p.
pub(crate) const RATE: Param = Param {
    name: "rate",
    default: "1",
    range: "in (0, 1]",
    about: "chance that a pair is drawn in a step: sets defaults and theory",
};
/// Published values.
pub(crate) const PRESET: Param = Param {
    name: "preset",
    default: "ours",
    range: "ours, paper or code",
    about: "γ, β, τ as ours, as the paper's or as its code's",
};

impl Schedule {
    fn from_spec(spec: &Spec, key: &str, default: Schedule, most: f64) -> Result<Schedule, ParamError> {
        let Some(text) = spec.args.get(key) else { return Ok(default) };
        let number = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
        let refuse = || {
            let range = if most > 1.0 { BETA.range } else { RANGE };
            ParamError::new(key, text, range)
        };
        let allowed = |x: f64| x <= most && (most > 1.0 || x > 0.0);
        match text {
            "theory" => Ok(Schedule::Theory),
            "1-gamma" if most > 1.0 => Ok(Schedule::Complement),
            _ => match text.split_once("t-") {
                None => number(text).filter(|x| allowed(*x)).map(Schedule::Constant).ok_or_else(refuse),
                Some((scale, power)) => match (number(scale).filter(|x| allowed(*x)), number(power)) {
                    (Some(scale), Some(power)) => Ok(Schedule::Power { scale, power }),
                    _ => Err(refuse()),
                },
            },
        }
    }
}

impl Tracker {
    /// Reads γ and, for rules that have them, β, τ, rate and preset.
    pub(crate) fn from_spec(spec: &Spec, rule: Rule) -> Result<Tracker, ParamError> {
        let rate = share(spec, "rate", 1.0)?;
        let preset = word(spec, "preset", "ours", &[("ours", 0), ("paper", 1), ("code", 2)])?;
        let constant = Schedule::Constant;
        let (gamma, beta, tau) = match (rule, preset) {
            (Rule::MovingAverage, _) => (0.1, constant(0.0), 1.0),
            (Rule::Msvr, 0) => (if rate < 0.5 { 0.3 } else { 0.1 }, Schedule::Complement, 1.0),
            (Rule::Quadratic, 0) if rate < 0.5 => (0.3, constant(0.7), 0.2),
            (Rule::Quadratic, 0) => (0.1, constant(0.9), 0.4),
            (Rule::Msvr, 1) => (0.1, constant(0.005), 1.0),
            (Rule::Msvr, _) => (0.9, constant(0.005), 1.0),
            (Rule::Quadratic, _) => (0.9, constant(0.005), 0.4),
        };
        Ok(Tracker {
            rule,
            gamma: Schedule::from_spec(spec, "gamma", constant(gamma), 1.0)?,
            beta: Schedule::from_spec(spec, "beta", beta, f64::MAX)?,
            tau: Schedule::from_spec(spec, "tau", constant(tau), 1.0)?,
            rate,
            lagged: flag(spec, "lagged", false)?,
        })
    }

    /// The mini-batch: u = ĝ.
    pub(crate) const MINI_BATCH: Tracker = Tracker {
        rule: Rule::MovingAverage,
        gamma: Schedule::Constant(1.0),
        beta: Schedule::Constant(0.0),
        tau: Schedule::Constant(1.0),
        rate: 1.0,
        lagged: false,
    };
}

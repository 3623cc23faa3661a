/*!
Trackers: one number u per anchor that follows its inner mean g from noisy estimates ĝ.

```text
moving average   u ← (1−γ)u + γĝ                                        (SONG, SOX; γ = 1: the mini-batch)
MSVR             u ← (1−γ)u + γĝ + β(ĝ − ĝ⁻)                             (Faster SONG v1, eq. 12; STORM: β = 1−γ)
quadratic        v ← (1−γ)v + γ(u−ĝ) + β((u−ĝ) − (u⁻−ĝ⁻)), u ← u − τv    (Faster SONG v2, eq. 15)
```

ĝ⁻ is the estimate of the same batch at the previous weights, u⁻ the tracker one step ago (u itself if the pair was not
drawn then). On the first visit u = ĝ and v = 0; the paper's u = 0 would make 1/log2(N·0 + 1) infinite. After MSVR and the
quadratic rule u is clamped at the least value that its mean can have. Means of exponentials are tracked as ln u: the same
rules in units of e^m, m the largest logarithm involved, so that nothing overflows.

**Two gradients of one batch.** STORM (eq. 11) subtracts the gradient at the previous weights from that at the present ones.
Both look at a tracker that took the same step from the same u: with ĝ at the present weights, with ĝ⁻ in its place at the
previous ones. Equal weights then give equal gradients. If one of the two saw u before the step, its mean would be another one:
ĝ and its slopes are of one batch and not independent; STORM would multiply the difference of the means by (1 − γ_m)/γ_m.

Source: Qiu, Hu, Zhong, Tu, Zhang, Yang, "Optimal large-scale stochastic optimization of NDCG surrogates for deep learning",
Machine Learning, 2024; equation numbers are those of this paper.
*/

use toprank_core::{Param, ParamError, Spec};

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
        /// How fast it decays.
        power: f64,
    },
    /// What theorem 5 and lemmas 14 to 17 of the paper require, constants aside: τ = (c + t)^{−1/3}, γ = τ²/p and
    /// β = (1/p − 1)/(1 − γ) + 1 − γ at sampling rate p, with c = max(8, (2/p)^{3/2}), so that γ ≤ ½ and τ ≤ ½ from the first
    /// step on.
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
    /// Probability that a pair is drawn in a step (the sampling rate).
    pub rate: f64,
    /// The gradient uses u as it was before this step's update (eq. 5) instead of after it (the published code).
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

impl Rates {
    /// (1−γ)z + γe + β(e − e⁻).
    pub(crate) fn msvr(&self, z: f64, now: f64, previous: f64) -> f64 {
        (1.0 - self.gamma) * z + self.gamma * now + self.beta * (now - previous)
    }

    /// τ.
    pub(crate) fn tau(&self) -> f64 {
        self.tau
    }
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

/// The value of a tracker for one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracked {
    /// u after the update.
    pub now: f64,
    /// u before it; on the first visit the estimate.
    pub before: f64,
    /// u for the gradient at the previous weights: after the same update with ĝ⁻ in place of ĝ, or, in a lagged tracker,
    /// before it. On the first visit ĝ⁻.
    pub previous: f64,
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
        let falling = ((2.0 / self.rate).powf(1.5).max(8.0) + t).powf(-1.0 / 3.0);
        let gamma = value(self.gamma, falling * falling / self.rate).min(1.0);
        let beta = match self.beta {
            Schedule::Complement => 1.0 - gamma,
            Schedule::Theory if gamma < 1.0 => (1.0 / self.rate - 1.0) / (1.0 - gamma) + 1.0 - gamma,
            schedule => value(schedule, 0.0),
        };
        Rates { gamma, beta, tau: value(self.tau, falling).min(1.0), step }
    }

    /// Takes an estimate of a mean that is tracked as it is.
    pub fn follow(&self, rates: Rates, cell: Cell, estimate: Estimate) -> Tracked {
        if let Some(first) = first_visit(&cell, estimate) {
            return store(rates, cell, first, 0.0);
        }
        let (u, v) = (*cell.u, cell.v.as_deref().copied().unwrap_or(0.0));
        let before = u_before(rates, &cell);
        let previous = self.previous(rates, u, v, before, estimate);
        let (now, v) = self.advance(rates, u, v, before, estimate);
        store(rates, cell, Tracked { now, before: u, previous }, v)
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
        let ln = |x: f64| x.max(estimate.floor).ln() + unit;
        let previous =
            if self.lagged { ln_u } else { ln(self.previous(rates, u, v, scaled(ln_before), estimate)) };
        let (now, v) = self.advance(rates, u, v, scaled(ln_before), estimate);
        store(rates, cell, Tracked { now: ln(now), before: ln_u, previous }, v / now)
    }

    /// u for the gradient at the previous weights, if there is one.
    fn previous(&self, rates: Rates, u: f64, v: f64, u_before: f64, g: Estimate) -> f64 {
        match g.previous {
            Some(previous) if !self.lagged => {
                self.advance(rates, u, v, u_before, Estimate { now: previous, ..g }).0
            }
            _ => u,
        }
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

    /// Columns of state for one or two components of anchors that are `per`: the list's own numbers first, `list` of
    /// them: 1, 2 where a third level is tracked, [`GATED`] where there is a threshold.
    pub(crate) fn columns(&self, components: usize, per: Per, list: usize) -> &'static [Column] {
        match (self.rule == Rule::Quadratic, components, per) {
            (false, 1, _) if list == 2 => &[OWN2, U1],
            (false, 1, _) if list == GATED => &[GATES, U1],
            (false, ..) if list == GATED => &[GATES, U2],
            (true, 1, _) if list == GATED => &[GATES, U1, V1, B1, STAMP],
            (false, 1, Per::Item) => &[OWN, U1_ITEM],
            (true, 1, Per::Item) => &[OWN, U1_ITEM, V1_ITEM, B1_ITEM, STAMP_ITEM],
            (false, 1, _) => &[OWN, U1],
            (false, ..) => &[OWN, U2],
            (true, 1, _) => &[OWN, U1, V1, B1, STAMP],
            (true, ..) => &[OWN, U2, V2, B2, STAMP2],
        }
    }
}

fn first_visit(cell: &Cell, estimate: Estimate) -> Option<Tracked> {
    let now = estimate.now;
    cell.u.is_nan().then(|| Tracked { now, before: now, previous: estimate.previous.unwrap_or(now) })
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
const OWN2: Column = column("list", Per::List, 2);
/// Numbers of a list with thresholds.
pub(crate) const GATED: usize = 1 + crate::bilevel::MEMORY;
const GATES: Column = column("list", Per::List, GATED);
const U1: Column = column("u", Per::Relevant, 1);
const U2: Column = column("u", Per::Relevant, 2);
const V1: Column = column("v", Per::Relevant, 1);
const V2: Column = column("v", Per::Relevant, 2);
const B1: Column = column("u before", Per::Relevant, 1);
const B2: Column = column("u before", Per::Relevant, 2);
const STAMP: Column = column("step", Per::Relevant, 1);
const STAMP2: Column = column("step", Per::Relevant, 2);
const U1_ITEM: Column = column("u", Per::Item, 1);
const V1_ITEM: Column = column("v", Per::Item, 1);
const B1_ITEM: Column = column("u before", Per::Item, 1);
const STAMP_ITEM: Column = column("step", Per::Item, 1);

const RANGE: &str = "in (0, 1], or SCALEt-POWER for SCALE·t^−POWER, or theory";

/// γ.
pub(crate) const GAMMA: Param =
    Param { name: "gamma", default: "0.1", range: RANGE, about: "γ: weight of the newest estimate" };
/// γ of smooth ranks under NDCG: on MQ2008 and MSLR the training loss ends lower than with 0.1 (bench/paper000, table 4).
pub(crate) const GAMMA_OF_RANKS: Param = Param { default: "0.3", ..GAMMA };
/// u before or after the update.
pub(crate) const LAGGED: Param = Param {
    name: "lagged",
    default: "false",
    range: "true or false",
    about: "whether the gradient uses u from before this step's update",
};
/// β.
pub(crate) const BETA: Param = Param {
    name: "beta",
    default: "0.005",
    range: "in [0, ∞), SCALEt-POWER, theory or 1-gamma",
    about: "β: weight of the change since the previous step",
};
/// τ.
pub(crate) const TAU: Param = Param { name: "tau", default: "0.4", range: RANGE, about: "τ: step size" };
/// p.
pub(crate) const RATE: Param = Param {
    name: "rate",
    default: "1",
    range: "in (0, 1]",
    about: "probability that a relevant item is drawn in a step, for theory; training sets it",
};
/// p of lists.
pub(crate) const LIST_RATE: Param = Param {
    name: "list-rate",
    default: "that of rate",
    range: "in (0, 1]",
    about: "probability that a list is drawn in a step, the same for s and z; training sets it",
};
/// γ of s.
pub(crate) const GAMMA_S: Param = Param {
    name: "gamma-s",
    default: "that of gamma",
    range: RANGE,
    about: "γ of s, the tracked second derivative of the lower level",
};
/// γ of z.
pub(crate) const GAMMA_Z: Param = Param {
    name: "gamma-z",
    default: "1",
    range: RANGE,
    about: "weight of the newest slope in z, along which λ moves: 1 has no momentum; 0.9 in the published code",
};
/// γ of z where it is tracked by a variance-reduced rule.
pub(crate) const GAMMA_Z_FASTER: Param =
    Param { default: "that of gamma", about: "γ of z, along which λ moves", ..GAMMA_Z };
/// β of s.
pub(crate) const BETA_S: Param = Param {
    name: "beta-s",
    default: "that of beta",
    about: "β of s: weight of the change since the previous step",
    ..BETA
};
/// β of z.
pub(crate) const BETA_Z: Param = Param {
    name: "beta-z",
    default: "that of beta",
    about: "β of z: weight of the change since the previous step",
    ..BETA
};
/// Published values.
pub(crate) const PRESET: Param = Param {
    name: "preset",
    default: "ours",
    range: "ours, paper or code",
    about: "γ, β, τ as chosen here, in the paper or in its code",
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
        let rate = spec.args.fraction(RATE.name, 1.0)?;
        let default = Tracker::default_of(spec, rule, rate)?;
        Ok(Tracker {
            gamma: Schedule::from_spec(spec, GAMMA.name, default.gamma, 1.0)?,
            beta: Schedule::from_spec(spec, BETA.name, default.beta, f64::MAX)?,
            tau: Schedule::from_spec(spec, TAU.name, default.tau, 1.0)?,
            lagged: spec.args.flag(LAGGED.name, false)?,
            ..default
        })
    }

    /// The tracker of s, a number per list: its own γ and β, else those of u, and the rate at which lists are drawn.
    pub(crate) fn of_second_derivative(spec: &Spec, rule: Rule) -> Result<Tracker, ParamError> {
        Tracker::of_list(spec, rule, GAMMA_S.name, BETA_S.name)
    }

    /// The tracker of z, along which λ moves. A moving average has no momentum by default, as algorithm 2 is printed.
    pub(crate) fn of_direction(spec: &Spec, rule: Rule) -> Result<Tracker, ParamError> {
        let tracker = Tracker::of_list(spec, rule, GAMMA_Z.name, BETA_Z.name)?;
        if rule == Rule::MovingAverage && spec.args.get(GAMMA_Z.name).is_none() {
            return Ok(Tracker { gamma: Schedule::Constant(1.0), ..tracker });
        }
        Ok(tracker)
    }

    fn of_list(spec: &Spec, rule: Rule, gamma: &str, beta: &str) -> Result<Tracker, ParamError> {
        let rate = spec.args.fraction(LIST_RATE.name, spec.args.fraction(RATE.name, 1.0)?)?;
        let default = Tracker::default_of(spec, rule, rate)?;
        let shared_gamma = Schedule::from_spec(spec, GAMMA.name, default.gamma, 1.0)?;
        let shared_beta = Schedule::from_spec(spec, BETA.name, default.beta, f64::MAX)?;
        Ok(Tracker {
            gamma: Schedule::from_spec(spec, gamma, shared_gamma, 1.0)?,
            beta: Schedule::from_spec(spec, beta, shared_beta, f64::MAX)?,
            tau: Schedule::from_spec(spec, TAU.name, default.tau, 1.0)?,
            ..default
        })
    }

    /// The default of a rule, under the preset of `spec`.
    fn default_of(spec: &Spec, rule: Rule, rate: f64) -> Result<Tracker, ParamError> {
        let preset =
            spec.args.one_of(PRESET.name, PRESET.default, &[("ours", 0), ("paper", 1), ("code", 2)])?;
        let (gamma, beta, tau) = match (rule, preset) {
            (Rule::MovingAverage, _) => (0.1, 0.0, 1.0),
            (Rule::Msvr, 0 | 1) => (0.1, 0.005, 1.0),
            (Rule::Msvr, _) => (0.9, 0.005, 1.0),
            (Rule::Quadratic, _) => (0.9, 0.005, 0.4),
        };
        let [gamma, beta, tau] = [gamma, beta, tau].map(Schedule::Constant);
        Ok(Tracker { rule, gamma, beta, tau, rate, lagged: false })
    }

    /// u ← (1−γ)u + γĝ.
    pub const fn moving_average(gamma: f64) -> Tracker {
        Tracker { gamma: Schedule::Constant(gamma), ..Tracker::MINI_BATCH }
    }

    /// The mini-batch: u = ĝ.
    pub const MINI_BATCH: Tracker = Tracker {
        rule: Rule::MovingAverage,
        gamma: Schedule::Constant(1.0),
        beta: Schedule::Constant(0.0),
        tau: Schedule::Constant(1.0),
        rate: 1.0,
        lagged: false,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    fn tracker(rule: Rule, gamma: f64, beta: f64, tau: f64) -> Tracker {
        let constant = Schedule::Constant;
        let (gamma, beta, tau) = (constant(gamma), constant(beta), constant(tau));
        Tracker { rule, gamma, beta, tau, rate: 1.0, lagged: false }
    }

    /// A cell with memory, as a pair of a list has it.
    #[derive(Clone, Copy)]
    struct Pair {
        u: f64,
        v: f64,
        before: f64,
        stamp: f64,
    }
    const UNSEEN: Pair = Pair { u: f64::NAN, v: f64::NAN, before: f64::NAN, stamp: f64::NAN };

    impl Pair {
        fn cell(&mut self) -> Cell<'_> {
            Cell { u: &mut self.u, v: Some(&mut self.v), before: Some((&mut self.before, &mut self.stamp)) }
        }
    }

    fn estimate(now: f64, previous: f64) -> Estimate {
        Estimate { now, previous: Some(previous), floor: 0.0 }
    }

    const RULES: [Rule; 3] = [Rule::MovingAverage, Rule::Msvr, Rule::Quadratic];

    #[test]
    fn three_steps_by_hand() {
        // γ 0.5, β 0.25, τ 0.5; estimates 4, 6, 2, at the previous weights 3, 5, 1.
        let follow = |rule| {
            let tracker = tracker(rule, 0.5, 0.25, 0.5);
            let mut pair = UNSEEN;
            [(4.0, 3.0), (6.0, 5.0), (2.0, 1.0)]
                .into_iter()
                .enumerate()
                .map(|(t, (now, previous))| {
                    tracker.follow(tracker.rates(t as u64), pair.cell(), estimate(now, previous)).now
                })
                .collect::<Vec<f64>>()
        };
        assert_eq!(follow(Rule::MovingAverage), [4.0, 5.0, 3.5]);
        assert_eq!(follow(Rule::Msvr), [4.0, 5.0 + 0.25, 0.5 * 5.25 + 0.5 * 2.0 + 0.25]);
        // v = 0.5·(4−6) + 0.25·((4−6) − (4−5)) = −1.25, u = 4.625;
        // v = 0.5·(−1.25) + 0.5·2.625 + 0.25·(2.625 − (4−1)) = 0.59375, u = 4.328125.
        assert_eq!(follow(Rule::Quadratic), [4.0, 4.625, 4.328_125]);
    }

    #[test]
    fn u_before_is_the_present_u_for_a_pair_that_skipped_a_step() {
        let tracker = tracker(Rule::Quadratic, 0.5, 0.25, 0.5);
        let mut pair = UNSEEN;
        for (t, now) in [(0, 4.0), (1, 6.0), (3, 2.0)] {
            tracker.follow(tracker.rates(t), pair.cell(), estimate(now, now - 1.0));
        }
        // As by hand above, but with u⁻ = u = 4.625: v = −0.625 + 1.3125 + 0.25·(2.625 − 3.625).
        assert_eq!(pair.u, 4.625 - 0.5 * (-0.625 + 1.3125 - 0.25));
    }

    #[test]
    fn the_first_visit_takes_the_estimate_whatever_the_rates() {
        for rule in RULES {
            for gamma in [0.1, 0.5, 0.9, 1.0] {
                let tracker = tracker(rule, gamma, 0.7, 0.3);
                let tracked = tracker.follow(tracker.rates(5), { UNSEEN }.cell(), estimate(2.5, 2.0));
                assert_eq!(tracked, Tracked { now: 2.5, before: 2.5, previous: 2.0 });
                let tracked =
                    tracker.follow_log(tracker.rates(5), { UNSEEN }.cell(), estimate(-700.0, -800.0));
                assert_eq!(tracked.now, -700.0);
            }
        }
    }

    #[test]
    fn logarithms_follow_as_the_numbers_themselves_do_and_never_overflow() {
        let mut random = Stream::new(2, "tracker").open();
        for rule in RULES {
            let tracker = tracker(rule, 0.3, 0.6, 0.4);
            let (mut plain, mut logs, mut huge) = (UNSEEN, UNSEEN, UNSEEN);
            for t in 0..50 {
                if t % 7 == 6 {
                    continue; // not drawn
                }
                let (now, previous) = (0.5 + random.unit(), 0.5 + random.unit());
                let rates = tracker.rates(t);
                let floor = 0.2;
                let u =
                    tracker.follow(rates, plain.cell(), Estimate { floor, ..estimate(now, previous) }).now;
                let shifted = |by: f64| Estimate {
                    now: now.ln() + by,
                    previous: Some(previous.ln() + by),
                    floor: floor.ln() + by,
                };
                let ln_u = tracker.follow_log(rates, logs.cell(), shifted(0.0)).now;
                assert!((ln_u - u.ln()).abs() < 1e-12, "{rule:?}, step {t}: {ln_u} for {}", u.ln());
                let far = tracker.follow_log(rates, huge.cell(), shifted(1e5)).now;
                assert!((far - 1e5 - u.ln()).abs() < 1e-10, "{rule:?}, step {t}");
            }
        }
    }

    #[test]
    fn no_rule_goes_below_the_self_term() {
        for rule in [Rule::Msvr, Rule::Quadratic] {
            let tracker = tracker(rule, 0.1, 2.0, 1.0);
            let mut pair = UNSEEN;
            for t in 0..20 {
                // The mean falls by one each step: β = 2 overshoots.
                let now = (10.0 - t as f64).max(0.25);
                let tracked = tracker.follow(
                    tracker.rates(t),
                    pair.cell(),
                    Estimate { now, previous: Some(now + 1.0), floor: 0.25 },
                );
                assert!(tracked.now >= 0.25, "{rule:?}: {}", tracked.now);
            }
        }
    }

    #[test]
    fn noise_and_lag_are_those_of_the_theory() {
        // Static mean, noise of variance 1: γ/(2−γ) for the moving average.
        let variance = |tracker: Tracker| {
            let mut random = Stream::new(4, "noise").open();
            let mut pair = UNSEEN;
            let (mut sum, steps) = (0.0, 200_000);
            for t in 0..steps {
                let noise = (random.unit() - 0.5) * 12f64.sqrt();
                let u = tracker.follow(tracker.rates(t), pair.cell(), estimate(noise, noise)).now;
                sum += u * u;
            }
            sum / steps as f64
        };
        let average = variance(tracker(Rule::MovingAverage, 0.2, 0.0, 1.0));
        assert!((average / (0.2 / 1.8) - 1.0).abs() < 0.03, "{average}");
        // Drift d per step: lag d(1−γ)/γ, d(1−γ−β)/γ, d(1−τ)/τ.
        let lag = |tracker: Tracker| {
            let mut pair = UNSEEN;
            let mut gap = 0.0;
            for t in 0..2000 {
                let g = t as f64;
                gap = g - tracker.follow(tracker.rates(t), pair.cell(), estimate(g, g - 1.0)).now;
            }
            gap
        };
        assert!((lag(tracker(Rule::MovingAverage, 0.2, 0.0, 1.0)) - 4.0).abs() < 1e-9);
        assert!((lag(tracker(Rule::Msvr, 0.2, 0.3, 1.0)) - 2.5).abs() < 1e-9);
        assert!(lag(tracker(Rule::Msvr, 0.2, 0.8, 1.0)).abs() < 1e-9);
        assert!((lag(tracker(Rule::Quadratic, 0.2, 0.3, 0.4)) - 1.5).abs() < 1e-6);
    }

    #[test]
    fn schedules_read_as_written() {
        let read = |text: &str, rule| Tracker::from_spec(&Spec::parse(text).unwrap(), rule);
        let rates = |text: &str, step| read(text, Rule::Msvr).unwrap().rates(step);
        assert_eq!(rates("x:gamma=0.5", 9), Rates { gamma: 0.5, beta: 0.005, tau: 1.0, step: 9 });
        assert_eq!(rates("x:gamma=0.4:beta=1-gamma", 9).beta, 0.6);
        assert_eq!(rates("x:gamma=0.8t-0.5:beta=0", 3).gamma, 0.8 * 4f64.powf(-0.5));
        assert!((rates("x:gamma=theory", 7).gamma - 16f64.powf(-2.0 / 3.0)).abs() < 1e-15);
        assert!((rates("x:gamma=0.2:beta=theory:rate=0.25", 0).beta - (3.0 / 0.8 + 0.8)).abs() < 1e-15);
        assert_eq!(rates("x:preset=paper", 0), Rates { gamma: 0.1, beta: 0.005, tau: 1.0, step: 0 });
        assert_eq!(rates("x", 0), Rates { gamma: 0.1, beta: 0.005, tau: 1.0, step: 0 });
        for text in ["x", "x:rate=0.3", "x:preset=paper", "x:preset=code"] {
            let of_quadratic = read(text, Rule::Quadratic).unwrap().rates(0);
            assert_eq!(of_quadratic, Rates { gamma: 0.9, beta: 0.005, tau: 0.4, step: 0 }, "{text}");
        }
        for bad in
            ["x:gamma=0", "x:gamma=1.5", "x:gamma=t-1", "x:beta=-1", "x:tau=2", "x:gamma=1-gamma", "x:rate=0"]
        {
            let error = read(bad, Rule::Quadratic).unwrap_err().to_string();
            assert!(error.contains(" must be in "), "{bad}: {error}");
        }
    }

    #[test]
    fn the_schedules_of_the_theory_stay_in_the_ranges_of_its_lemmas() {
        for rate in [1.0, 0.6, 0.5, 0.07, 1e-3, 1e-6] {
            let text = format!("x:gamma=theory:beta=theory:tau=theory:rate={rate}");
            let tracker = Tracker::from_spec(&Spec::parse(&text).unwrap(), Rule::Quadratic).unwrap();
            let mut last = f64::INFINITY;
            for step in [0, 1, 5, 100, 10_000, 10_000_000] {
                let Rates { gamma, beta, tau, .. } = tracker.rates(step);
                // Lemma 17: γ ≤ ½; lemmas 14 to 16: τ ≤ ½; theorem 5: γ = Θ(τ²/p), falling.
                assert!(
                    gamma <= 0.5 && tau <= 0.5 && gamma < last,
                    "rate {rate}, step {step}: γ {gamma}, τ {tau}"
                );
                assert!((gamma * rate / (tau * tau) - 1.0).abs() < 1e-12, "rate {rate}, step {step}");
                let expected = 1.0 - gamma + (1.0 - rate) / (rate * (1.0 - gamma));
                assert!((beta / expected - 1.0).abs() < 1e-12, "rate {rate}, step {step}: β {beta}");
                last = gamma;
            }
            let late = tracker.rates(1_000_000_000_000);
            assert!((late.tau / 1e-4 - 1.0).abs() < 1e-3, "τ falls as t^(−1/3): {}", late.tau);
        }
    }

    #[test]
    fn s_and_z_have_rates_of_their_own() {
        let text = "x:gamma=0.2:gamma-s=0.3:gamma-z=0.4:beta=theory:beta-z=0.7:rate=0.25:list-rate=0.5";
        let spec = Spec::parse(text).unwrap();
        for rule in [Rule::Msvr, Rule::Quadratic] {
            let u = Tracker::from_spec(&spec, rule).unwrap().rates(0);
            let s = Tracker::of_second_derivative(&spec, rule).unwrap().rates(0);
            let z = Tracker::of_direction(&spec, rule).unwrap().rates(0);
            assert_eq!([u.gamma, s.gamma, z.gamma], [0.2, 0.3, 0.4]);
            // β of the theory at the rate of pairs for u, of lists for s.
            assert!((u.beta - (0.8 + 3.0 / 0.8)).abs() < 1e-12 && (s.beta - (0.7 + 1.0 / 0.7)).abs() < 1e-12);
            assert_eq!(z.beta, 0.7);
        }
        let plain = Spec::parse("x:gamma=0.2").unwrap();
        let gamma = |tracker: Result<Tracker, ParamError>| tracker.unwrap().rates(0).gamma;
        assert_eq!(gamma(Tracker::of_second_derivative(&plain, Rule::MovingAverage)), 0.2);
        assert_eq!(
            gamma(Tracker::of_direction(&plain, Rule::MovingAverage)),
            1.0,
            "algorithm 2 has no momentum"
        );
        assert_eq!(gamma(Tracker::of_direction(&plain, Rule::Msvr)), 0.2);
    }

    #[test]
    fn equal_estimates_at_both_weights_give_equal_trackers() {
        let mut random = Stream::new(6, "tracker").open();
        for rule in RULES {
            for lagged in [false, true] {
                let tracker = Tracker { lagged, ..tracker(rule, 0.3, 0.6, 0.4) };
                let (mut plain, mut logs) = (UNSEEN, UNSEEN);
                for t in 0..30 {
                    let g = 0.5 + random.unit();
                    let rates = tracker.rates(t);
                    let seen = tracker.follow(rates, plain.cell(), estimate(g, g));
                    let used = if lagged { seen.before } else { seen.now };
                    assert_eq!(seen.previous, used, "{rule:?}, lagged {lagged}, step {t}");
                    let floor = f64::NEG_INFINITY;
                    let ln = Estimate { now: g.ln(), previous: Some(g.ln()), floor };
                    let seen = tracker.follow_log(rates, logs.cell(), ln);
                    let used = if lagged { seen.before } else { seen.now };
                    assert_eq!(seen.previous, used, "{rule:?}, lagged {lagged}, step {t}, logarithms");
                }
            }
        }
    }
}

//! Surrogates ℓ(x) of 1[x ≥ 0], x = s_j − s_i: "j is ranked above i".

use toprank_core::{Param, ParamError, Spec};

use crate::kernels::scalar::{sigmoid, softplus};

/// A smooth surrogate of 1[x ≥ 0].
///
/// | name | ℓ(x) | non-decreasing | ≥ 1[x ≥ 0] |
/// | --- | --- | --- | --- |
/// | squared-hinge | max(0, x + c)² | yes | from margin c = 1 on |
/// | hinge | max(0, x + c) | yes | from c = 1 on |
/// | square | (x + c)² | no | from c = 1 on |
/// | logistic | ln(1 + e^{x/τ}) | yes | no |
/// | logistic2 | log2(1 + e^{x/τ}) | yes | yes |
/// | sigmoid | σ(x/τ) | yes | no |
/// | exponential | e^{x/τ} | yes | yes |
/// | barrier-hinge | max(200(x − 50) + 50, −200(x + 50), x + 50) | no | yes |
/// | huber | 0 up to −τ, (1 + x/τ)² up to 0, then 1 + 2x/τ (one-sided Huber) | yes | yes |
/// | one-side-sigmoid | 0 up to 0, then tanh(x/2τ) | yes | no |
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Surrogate {
    /// max(0, x + margin)².
    SquaredHinge {
        /// c.
        margin: f64,
    },
    /// max(0, x + margin).
    Hinge {
        /// c.
        margin: f64,
    },
    /// (x + margin)².
    Square {
        /// c.
        margin: f64,
    },
    /// factor · ln(1 + e^{x/temperature}).
    Logistic {
        /// τ.
        temperature: f64,
        /// 1, or 1/ln 2.
        factor: f64,
    },
    /// σ(x/temperature).
    Sigmoid {
        /// τ.
        temperature: f64,
    },
    /// e^{x/temperature}; its means are kept as logarithms.
    Exponential {
        /// τ.
        temperature: f64,
    },
    /// Steep outside [−50, 50].
    BarrierHinge,
    /// 0 up to −τ, (1 + x/τ)² up to 0, then linear: ((x + τ)₊² − x₊²)/τ².
    Huber {
        /// τ.
        temperature: f64,
    },
    /// 0 up to 0, then tanh(x/2τ).
    OneSideSigmoid {
        /// τ.
        temperature: f64,
    },
}

const BARRIER_SLOPE: f64 = 200.0;
const BARRIER_WIDTH: f64 = 50.0;

/// The parameter that names the surrogate.
pub(crate) const SURROGATE: Param = Param {
    name: "surrogate",
    default: "squared-hinge",
    range: "squared-hinge, hinge, square, logistic, logistic2, sigmoid, exponential, barrier-hinge, huber or one-side-sigmoid",
    about: "ℓ(x), the smooth surrogate of 1[x ≥ 0]",
};
/// All surrogates whose means are not stored as logarithms.
pub(crate) const PLAIN: Param = Param {
    range: "squared-hinge, hinge, square, logistic, logistic2, sigmoid, barrier-hinge, huber or one-side-sigmoid",
    ..SURROGATE
};
/// Those of them that are non-decreasing.
pub(crate) const RISING: Param = Param {
    range: "squared-hinge, hinge, logistic, logistic2, sigmoid, huber or one-side-sigmoid",
    ..SURROGATE
};
/// The margin of the hinges.
pub(crate) const MARGIN: Param =
    Param { name: "margin", default: "1", range: "in [0, ∞)", about: "c of the hinges and of square" };
/// The temperature of the others.
pub(crate) const TEMPERATURE: Param = Param {
    name: "temperature",
    default: "1",
    range: "in (0, ∞)",
    about: "τ of logistic, sigmoid, exponential, huber and one-side-sigmoid",
};

impl Surrogate {
    /// Reads `surrogate`, `margin` and `temperature`.
    pub(crate) fn from_spec(spec: &Spec) -> Result<Surrogate, ParamError> {
        let margin = spec.args.not_negative("margin", 1.0)?;
        let temperature = spec.args.positive("temperature", 1.0)?;
        let names = [
            ("squared-hinge", Surrogate::SquaredHinge { margin }),
            ("hinge", Surrogate::Hinge { margin }),
            ("square", Surrogate::Square { margin }),
            ("logistic", Surrogate::Logistic { temperature, factor: 1.0 }),
            ("logistic2", Surrogate::Logistic { temperature, factor: std::f64::consts::LOG2_E }),
            ("sigmoid", Surrogate::Sigmoid { temperature }),
            ("exponential", Surrogate::Exponential { temperature }),
            ("barrier-hinge", Surrogate::BarrierHinge),
            ("huber", Surrogate::Huber { temperature }),
            ("one-side-sigmoid", Surrogate::OneSideSigmoid { temperature }),
        ];
        spec.args.one_of("surrogate", SURROGATE.default, &names)
    }

    /// Reads one of [`PLAIN`].
    pub(crate) fn plain(spec: &Spec) -> Result<Surrogate, ParamError> {
        let surrogate = Surrogate::from_spec(spec)?;
        if matches!(surrogate, Surrogate::Exponential { .. }) {
            return Err(ParamError::new("surrogate", "exponential", PLAIN.range));
        }
        Ok(surrogate)
    }

    /// Reads one of [`RISING`].
    pub(crate) fn rising(spec: &Spec) -> Result<Surrogate, ParamError> {
        let surrogate = Surrogate::from_spec(spec)?;
        if !surrogate.is_non_decreasing() || matches!(surrogate, Surrogate::Exponential { .. }) {
            let found = spec.args.get("surrogate").unwrap_or_default();
            return Err(ParamError::new("surrogate", found, RISING.range));
        }
        Ok(surrogate)
    }

    /// ℓ, ℓ' and ℓ'' at x.
    ///
    /// ```
    /// use toprank_objectives::compositional::Surrogate;
    /// assert_eq!(Surrogate::SquaredHinge { margin: 1.0 }.at(0.5), (2.25, 3.0, 2.0));
    /// ```
    #[inline]
    pub fn at(self, x: f64) -> (f64, f64, f64) {
        match self {
            Surrogate::SquaredHinge { margin } => {
                let d = (x + margin).max(0.0);
                (d * d, 2.0 * d, if d > 0.0 { 2.0 } else { 0.0 })
            }
            Surrogate::Hinge { margin } => {
                let d = x + margin;
                if d > 0.0 { (d, 1.0, 0.0) } else { (0.0, 0.0, 0.0) }
            }
            Surrogate::Square { margin } => {
                let d = x + margin;
                (d * d, 2.0 * d, 2.0)
            }
            Surrogate::Logistic { temperature, factor } => {
                let sigma = sigmoid(x / temperature);
                let slope = factor * sigma / temperature;
                (factor * softplus(x / temperature), slope, slope * (1.0 - sigma) / temperature)
            }
            Surrogate::Sigmoid { temperature } => {
                let sigma = sigmoid(x / temperature);
                let slope = sigma * (1.0 - sigma) / temperature;
                (sigma, slope, slope * (1.0 - 2.0 * sigma) / temperature)
            }
            Surrogate::Exponential { temperature } => {
                let value = (x / temperature).exp();
                (value, value / temperature, value / (temperature * temperature))
            }
            Surrogate::BarrierHinge => {
                let (b, r) = (BARRIER_SLOPE, BARRIER_WIDTH);
                let pieces = [(b * (x - r) + r, b), (-b * (x + r), -b), (x + r, 1.0)];
                let (value, slope) =
                    pieces.into_iter().fold(pieces[2], |top, p| if p.0 > top.0 { p } else { top });
                (value, slope, 0.0)
            }
            Surrogate::Huber { temperature: t } => {
                let d = (1.0 + x / t).max(0.0);
                match x > 0.0 {
                    true => (1.0 + 2.0 * x / t, 2.0 / t, 0.0),
                    false => (d * d, 2.0 * d / t, if d > 0.0 { 2.0 / (t * t) } else { 0.0 }),
                }
            }
            Surrogate::OneSideSigmoid { temperature } if x > 0.0 => {
                let sigma = sigmoid(x / temperature);
                let slope = 2.0 * sigma * (1.0 - sigma) / temperature;
                (2.0 * sigma - 1.0, slope, slope * (1.0 - 2.0 * sigma) / temperature)
            }
            Surrogate::OneSideSigmoid { .. } => (0.0, 0.0, 0.0),
        }
    }

    /// ℓ, ℓ' and a second derivative that is > 0 wherever ℓ' is not 0, for Newton steps: ℓ'' where it is positive, 1 for the
    /// linear pieces of the hinges, 2/τ² for that of huber, σ(1 − σ)/τ² ≥ |ℓ''| for the sigmoids.
    #[inline]
    pub fn with_second_derivative(self, x: f64) -> (f64, f64, f64) {
        let (value, slope, curve) = self.at(x);
        let second = match self {
            Surrogate::Hinge { .. } => slope,
            Surrogate::BarrierHinge => 1.0,
            Surrogate::Sigmoid { temperature } | Surrogate::OneSideSigmoid { temperature } => {
                slope / temperature
            }
            Surrogate::Huber { temperature } if slope > 0.0 => 2.0 / (temperature * temperature),
            _ => curve,
        };
        (value, slope, second)
    }

    /// True if ℓ is non-decreasing, as thresholds, conjugates and KL forms need it.
    pub fn is_non_decreasing(self) -> bool {
        !matches!(self, Surrogate::Square { .. } | Surrogate::BarrierHinge)
    }

    /// True if ℓ(x) ≥ 1[x ≥ 0] everywhere: the smooth rank is then an upper bound of the rank (Qiu et al., 2024, lemma 1).
    pub fn is_upper_bound(self) -> bool {
        match self {
            Surrogate::SquaredHinge { margin }
            | Surrogate::Hinge { margin }
            | Surrogate::Square { margin } => margin >= 1.0,
            Surrogate::Logistic { factor, .. } => factor > 1.0,
            Surrogate::Sigmoid { .. } | Surrogate::OneSideSigmoid { .. } => false,
            Surrogate::Exponential { .. } | Surrogate::BarrierHinge | Surrogate::Huber { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Surrogate> {
        let names = SURROGATE.range.replace(" or ", ", ");
        let read = |name: &str| {
            Surrogate::from_spec(&Spec::parse(&format!("x:surrogate={name}:temperature=0.7")).unwrap())
                .unwrap()
        };
        names.split(", ").map(read).collect()
    }

    #[test]
    fn slopes_are_the_derivatives() {
        assert_eq!(all().len(), 10);
        for surrogate in all() {
            for x in [-60.3_f64, -2.2, -0.4, 0.3, 1.7, 60.2] {
                let h = 1e-6 * f64::max(1.0, x.abs());
                let (_, slope, curve) = surrogate.at(x);
                let numeric = (surrogate.at(x + h).0 - surrogate.at(x - h).0) / (2.0 * h);
                let second = (surrogate.at(x + h).1 - surrogate.at(x - h).1) / (2.0 * h);
                assert!((slope - numeric).abs() <= 1e-7 * (1.0 + slope.abs()), "{surrogate:?} at {x}");
                assert!((curve - second).abs() <= 1e-7 * (1.0 + curve.abs()), "{surrogate:?} at {x}");
            }
        }
    }

    #[test]
    fn what_they_say_of_themselves_is_true() {
        let grid: Vec<f64> = (-800..=800).map(|i| f64::from(i) * 0.1).collect();
        for surrogate in all() {
            let values: Vec<f64> = grid.iter().map(|x| surrogate.at(*x).0).collect();
            let rises = values.windows(2).all(|pair| pair[1] >= pair[0]);
            assert_eq!(rises, surrogate.is_non_decreasing(), "{surrogate:?}");
            let above = grid.iter().zip(&values).all(|(x, v)| *v >= f64::from(u8::from(*x >= 0.0)) - 1e-12);
            assert_eq!(above, surrogate.is_upper_bound(), "{surrogate:?}");
        }
        assert!(!Surrogate::SquaredHinge { margin: 0.9 }.is_upper_bound());
    }
}

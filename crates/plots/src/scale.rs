//! From values to places along an axis, and the round numbers that stand at it.

/// Values beyond these cannot be scaled without overflow; they are drawn at the end.
const LARGEST: f64 = 1e150;
/// Ranges that are narrower are drawn as one value.
const SMALLEST: f64 = 1e-290;

/// A range of values and how it is laid out along an axis. Never empty, never infinite; a logarithmic one is above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

/// A place on an axis that gets a number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub value: f64,
    pub label: String,
}

impl Scale {
    /// A linear scale over all values, widened by a fraction of its width at both ends. Values that are not finite do not count;
    /// without any the scale is from 0 to 1.
    pub fn linear(values: impl IntoIterator<Item = f64>, margin: f64) -> Scale {
        let scale = |low, high| Scale { low, high, log: false };
        let Some((low, high)) = ends(values) else { return scale(0.0, 1.0) };
        let width = high - low;
        if width <= 1e-12 * high.abs().max(low.abs()) || width < SMALLEST {
            let half = (high.abs() * 0.5).max(0.5);
            return scale(low - half, high + half);
        }
        scale(low - width * margin, high + width * margin)
    }

    /// A logarithmic scale over all values above 0, widened by a factor at both ends; without any it is from 0.1 to 1.
    pub fn log(values: impl IntoIterator<Item = f64>, factor: f64) -> Scale {
        let positive = values.into_iter().filter(|value| *value >= 1.0 / LARGEST);
        let (low, high) = ends(positive).unwrap_or((0.1, 1.0));
        let factor = if high / low < 1.001 { factor.max(2.0) } else { factor };
        Scale { low: low / factor, high: high * factor, log: true }
    }

    pub fn low(&self) -> f64 {
        self.low
    }

    pub fn high(&self) -> f64 {
        self.high
    }

    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The place of a value: 0 at the lower end, 1 at the upper end; what lies outside is at the nearer end.
    pub fn place(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let place = match self.log {
            false => (value - self.low) / (self.high - self.low),
            true => (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10()),
        };
        place.clamp(0.0, 1.0)
    }

    /// At most `most` round numbers (at least 2) within the range, ascending.
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        let most = most.max(2);
        if self.log { self.log_ticks(most) } else { linear_ticks(self.low, self.high, most, i32::MIN) }
    }

    /// Ticks of counts: integers only.
    pub fn integer_ticks(&self, most: usize) -> Vec<Tick> {
        linear_ticks(self.low, self.high, most.max(2), 0)
    }

    /// 1, 2 and 5 times powers of ten, or powers of ten, or every second one …
    fn log_ticks(&self, most: usize) -> Vec<Tick> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let within = |digits: &[i64], every: i32| -> Vec<Decimal> {
            let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
            let all =
                powers.flat_map(|power| digits.iter().map(move |&digit| Decimal { digits: digit, power }));
            all.filter(|tick| self.contains(tick.value())).collect()
        };
        let dense = within(&[1, 2, 5], 1);
        let &[least, .., greatest] = dense.as_slice() else {
            return linear_ticks(self.low, self.high, most, i32::MIN);
        };
        let powers = (1..=(last - first)).map(|every| within(&[1], every));
        let mut choices = std::iter::once(dense).chain(powers);
        let fitting = choices.find(|ticks| ticks.len() <= most).filter(|ticks| ticks.len() >= 2);
        let ticks = fitting.unwrap_or_else(|| vec![least, greatest]);
        ticks.into_iter().map(|tick| Tick { value: tick.value(), label: tick.label() }).collect()
    }
}

/// Smallest and largest finite value.
fn ends(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|value| value.is_finite()).map(|v| v.clamp(-LARGEST, LARGEST));
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    (low <= high).then_some((low, high))
}

/// Multiples of the smallest step 1, 2 or 5 times a power of ten that gives at most `most` of them.
fn linear_ticks(low: f64, high: f64, most: usize, least_power: i32) -> Vec<Tick> {
    // Ends that are round but for an error of rounding have their tick.
    const NEAR: f64 = 1e-9;
    let start = (((high - low) / most as f64).log10().floor() as i32 - 1).max(least_power);
    let steps = (start..).flat_map(|power| [1, 2, 5].map(|digits| Decimal { digits, power }));
    for step in steps {
        let size = step.value();
        let (first, last) = ((low / size - NEAR).ceil(), (high / size + NEAR).floor());
        if last - first >= most as f64 {
            continue;
        }
        let all =
            (first as i64..=last as i64).map(|i| Decimal { digits: i * step.digits, power: step.power });
        let all: Vec<Decimal> = all.collect();
        let largest = all.iter().map(|tick| tick.value().abs()).fold(0.0, f64::max);
        let decimals = (step.power >= -5 && largest < 1e7).then_some((-step.power).max(0) as usize);
        let label = |tick: Decimal| match decimals {
            Some(decimals) => grouped(&format!("{:.decimals$}", tick.value()), largest >= 1e4),
            None => tick.label(),
        };
        return all.into_iter().map(|tick| Tick { value: tick.value(), label: label(tick) }).collect();
    }
    unreachable!("steps grow until few multiples are left")
}

/// A decimal number, exactly.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    digits: i64,
    power: i32,
}

impl Decimal {
    /// The nearest float: 3 × 10⁻¹ is 0.3, as no multiple of 0.1 is.
    fn value(self) -> f64 {
        format!("{}e{}", self.digits, self.power).parse().unwrap_or(0.0)
    }

    /// As short as possible, with an exponent where it is far from 1.
    fn label(self) -> String {
        let value = self.value();
        let plain = value == 0.0 || (1e-4..1e6).contains(&value.abs());
        if plain {
            grouped(&format!("{value}"), value.abs() >= 1e4)
        } else {
            format!("{value:e}").replacen('-', "−", usize::from(value < 0.0))
        }
    }
}

/// A number with a true minus sign and, if wanted, commas between thousands.
fn grouped(text: &str, thousands: bool) -> String {
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut out = String::from(if sign.is_empty() { "" } else { "−" });
    for (i, digit) in digits.chars().enumerate() {
        if thousands && i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn ticks_are_the_numbers_a_person_would_write() {
        let linear = |low, high, most| Scale::linear([low, high], 0.0).ticks(most);
        assert_eq!(labels(&linear(0.0, 1.0, 6)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&linear(-0.3, 0.3, 7)), ["−0.3", "−0.2", "−0.1", "0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels(&linear(0.0, 20_000.0, 5)), ["0", "5,000", "10,000", "15,000", "20,000"]);
        assert_eq!(labels(&linear(0.0, 3e-7, 4)), ["0", "1e-7", "2e-7", "3e-7"]);
        assert_eq!(labels(&linear(1990.0, 1998.0, 5)), ["1990", "1992", "1994", "1996", "1998"]);
        let log = |low, high, most| Scale::log([low, high], 1.0).ticks(most);
        assert_eq!(labels(&log(0.001, 1.0, 6)), ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(labels(&log(0.01, 0.3, 6)), ["0.01", "0.02", "0.05", "0.1", "0.2"]);
        assert_eq!(labels(&log(1e-12, 1.0, 5)), ["1e-12", "1e-9", "1e-6", "0.001", "1"]);
        assert_eq!(labels(&log(3.1, 3.9, 5)), ["3.2", "3.4", "3.6", "3.8"]);
        assert_eq!(labels(&Scale::linear([0.0, 2.0], 0.0).integer_ticks(9)), ["0", "1", "2"]);
    }

    #[test]
    fn a_scale_of_nothing_or_of_one_value_can_be_drawn() {
        assert_eq!(Scale::linear([f64::NAN], 0.1), Scale { low: 0.0, high: 1.0, log: false });
        assert_eq!(Scale::linear([5.0], 0.1), Scale { low: 2.5, high: 7.5, log: false });
        assert_eq!(Scale::log([0.0, -1.0], 1.0), Scale { low: 0.1, high: 1.0, log: true });
        assert_eq!(Scale::log([0.5], 1.0), Scale { low: 0.25, high: 1.0, log: true });
    }

    /// Two numbers of any size and sign, ascending.
    fn range() -> impl Strategy<Value = (f64, f64)> {
        let number = || (-1.0..1.0_f64, -20..20_i32).prop_map(|(m, power)| m * 10_f64.powi(power));
        (number(), number()).prop_map(|(a, b)| (a.min(b), a.max(b)))
    }

    proptest! {
        #[test]
        fn linear_ticks_cover_the_range_are_round_and_ascend((low, high) in range(), most in 2..20_usize) {
            let scale = Scale::linear([low, high], 0.05);
            let ticks = scale.ticks(most);
            let width = scale.high() - scale.low();
            prop_assert!(ticks.len() <= most && !ticks.is_empty(), "{ticks:?}");
            prop_assert!(ticks.windows(2).all(|pair| pair[0].value < pair[1].value), "{ticks:?}");
            let near = width * 1e-6;
            prop_assert!(ticks.iter().all(|t| t.value >= scale.low() - near && t.value <= scale.high() + near));
            if let [first, second, ..] = ticks.as_slice() {
                let step = second.value - first.value;
                // No stretch longer than a step is without a tick.
                prop_assert!(first.value - scale.low() <= step * 1.001, "{scale:?} {ticks:?}");
                prop_assert!(scale.high() - ticks[ticks.len() - 1].value <= step * 1.001, "{scale:?} {ticks:?}");
                let mantissa = step / 10_f64.powf(step.log10().floor());
                let round = [1.0, 2.0, 5.0, 10.0].iter().any(|nice| (mantissa - nice).abs() < 1e-3);
                prop_assert!(round || step < 1e-10 * first.value.abs(), "step {step} of {ticks:?}");
            }
            let mut labels: Vec<&str> = ticks.iter().map(|tick| tick.label.as_str()).collect();
            labels.dedup();
            prop_assert_eq!(labels.len(), ticks.len(), "labels of neighbours differ: {:?}", ticks);
        }

        #[test]
        fn log_ticks_cover_the_range_and_ascend(low in -30.0..10.0_f64, decades in 0.0..30.0_f64, most in 2..12_usize) {
            let scale = Scale::log([10_f64.powf(low), 10_f64.powf(low + decades)], 1.1);
            let ticks = scale.ticks(most);
            prop_assert!(ticks.len() <= most && !ticks.is_empty(), "{ticks:?}");
            prop_assert!(ticks.windows(2).all(|pair| pair[0].value < pair[1].value), "{ticks:?}");
            let near = |value: f64| value * 1e-6;
            prop_assert!(ticks.iter().all(|t| t.value >= scale.low() - near(t.value) && t.value <= scale.high() + near(t.value)));
            prop_assert!(ticks.len() >= 2 || scale.high() / scale.low() < 10.0, "{scale:?} {ticks:?}");
            prop_assert!(ticks.iter().all(|tick| !tick.label.is_empty()));
        }

        #[test]
        fn integer_ticks_are_integers((low, high) in range(), most in 2..20_usize) {
            let scale = Scale::linear([low, high], 0.0);
            prop_assert!(scale.integer_ticks(most).iter().all(|tick| tick.value.fract() == 0.0));
        }

        #[test]
        fn places_keep_the_order_and_stay_within_the_axis((low, high) in range(), a in -1e21..1e21_f64, b in -1e21..1e21_f64) {
            for scale in [Scale::linear([low, high], 0.0), Scale::log([low.abs(), high.abs()], 1.2)] {
                let places = [a.min(b), a.max(b)].map(|value| scale.place(value));
                prop_assert!(0.0 <= places[0] && places[0] <= places[1] && places[1] <= 1.0, "{scale:?} {places:?}");
                prop_assert_eq!(scale.place(scale.low()), 0.0);
                prop_assert_eq!(scale.place(scale.high()), 1.0);
                let inner = [low, f64::midpoint(low, high), high].map(|value| scale.place(value));
                prop_assert!(scale.log || inner[0] < inner[1] && inner[1] < inner[2] || high - low <= 1e-9 * high.abs().max(low.abs()));
            }
        }
    }
}

#![doc = include_str!("../pages/dir.md")]

use toprank_core::{Param, ParamError, Spec};

use super::fast_ap::FastAp;
use crate::objective::Objective;
use crate::params::RELEVANT;

const BINS: Param = Param {
    name: "bins",
    default: "20",
    range: "an integer from 2 to 4096",
    about: "M: number of bin centres from high down to low",
};
const LOW: Param = Param {
    name: "low",
    default: "-1",
    range: "a number below high",
    about: "the centre of the last bin; scores below it count there and have no gradient",
};
const HIGH: Param = Param {
    name: "high",
    default: "1",
    range: "a number above low",
    about: "the centre of the first bin; scores above it count there and have no gradient",
};
pub(crate) const PARAMS: &[Param] = &[BINS, LOW, HIGH, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &["dir:bins=10", "dir:low=0", "dir:high=0.8", "dir:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let whole = |x: f64| (2.0..=4096.0).contains(&x) && x.fract() == 0.0;
    let centres = spec.args.number(BINS.name, 20.0, BINS.range, whole)?;
    let high = spec.args.number(HIGH.name, 1.0, "a number", f64::is_finite)?;
    let low =
        spec.args.number(LOW.name, -1.0, &format!("a number below {high}"), |x| x < high && x.is_finite())?;
    if low >= high {
        return Err(ParamError::new(HIGH.name, &high.to_string(), &format!("a number above {low}")));
    }
    Ok(Box::new(FastAp { bins: centres as usize - 1, low, high }))
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    fn of(text: &str, scores: &[f64], labels: &[f32]) -> (f64, Vec<f64>) {
        Goal::parse(text, &Policy::default()).unwrap().of_list(&List::new(scores, labels)).unwrap()
    }

    #[test]
    fn four_items_by_hand() {
        // Centres at 1, ½, 0. Scores ¾: half in each of the first two; ½: the second; ⅛: a quarter in the second; −3: the last.
        let (loss, gradient) = of("dir:bins=3:low=0", &[0.75, 0.5, 0.125, -3.0], &[1.0, 0.0, 1.0, 0.0]);
        let all = [0.5, 0.5 + 1.0 + 0.25, 0.75 + 1.0];
        let relevant = [0.5, 0.5 + 0.25, 0.75];
        let (mut seen, mut hits, mut precision) = (0.0, 0.0, 0.0);
        for (all, relevant) in all.into_iter().zip(relevant) {
            (seen, hits) = (seen + all, hits + relevant);
            precision += relevant / 2.0 * hits / seen;
        }
        assert!((loss - (1.0 - precision)).abs() < 1e-14, "{loss}");
        assert_eq!(gradient[3], 0.0, "outside the range");
    }

    /// The definition, bin by bin: weight of an item in a bin, precision up to it, recall within it.
    #[test]
    fn equals_the_quantised_average_precision_of_its_definition() {
        let scores = [0.93, 0.71, 0.72, 0.02, -0.4, 0.33, 1.2, 0.5];
        let labels = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0];
        for (centres, low, high) in [(20, 0.0, 1.0), (2, 0.0, 1.0), (7, -0.5, 0.9)] {
            let gap = (high - low) / f64::from(centres - 1);
            let (mut seen, mut hits, mut precision) = (0.0, 0.0, 0.0);
            for m in 0..centres {
                let centre = high - f64::from(m) * gap;
                let in_bin = |s: &f64| (1.0 - (s.clamp(low, high) - centre).abs() / gap).max(0.0);
                let all: f64 = scores.iter().map(in_bin).sum();
                let relevant: f64 = scores.iter().zip(labels).map(|(s, y)| in_bin(s) * f64::from(y)).sum();
                (seen, hits) = (seen + all, hits + relevant);
                precision += if seen > 0.0 { hits / seen * relevant / 4.0 } else { 0.0 };
            }
            let (loss, _) = of(&format!("dir:bins={centres}:low={low}:high={high}"), &scores, &labels);
            assert!((loss - (1.0 - precision)).abs() < 1e-12, "{centres} in {low} … {high}: {loss}");
        }
    }

    #[test]
    fn over_all_cosines_it_is_fast_ap() {
        let (scores, labels) = ([0.9, -0.3, 0.2, 0.1], [0.0, 1.0, 1.0, 0.0]);
        assert_eq!(of("dir:bins=11", &scores, &labels), of("fast-ap:bins=10", &scores, &labels));
    }

    #[test]
    fn an_empty_range_is_refused() {
        for (text, param) in [("dir:low=1", "low"), ("dir:high=-1", "high"), ("dir:bins=1", "bins")] {
            let error = Goal::parse(text, &Policy::default()).unwrap_err().to_string();
            assert!(error.starts_with(param), "{text}: {error}");
        }
    }
}

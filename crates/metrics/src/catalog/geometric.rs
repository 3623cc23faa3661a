//! Geometric mean of average precision over lists (`gm-map`).

use toprank_core::{Param, ParamError, Policy, Spec};

use super::average_precision::AveragePrecision;
use crate::metric::{Average, Metric};
use crate::rank::Ranked;

#[doc = include_str!("../pages/gm-map.md")]
#[derive(Clone, Copy, Debug)]
pub struct GeometricMap {
    /// Smallest value of a list.
    pub floor: f64,
}

pub(crate) const GM_MAP_PARAMS: &[Param] =
    &[Param { name: "floor", default: "0.00001", range: "in (0, 1]", about: "smallest value of a list" }];

pub(crate) fn gm_map(spec: &Spec) -> Result<Box<dyn Metric>, ParamError> {
    let floor = spec.args.number("floor", 1e-5, GM_MAP_PARAMS[0].range, |x| 0.0 < x && x <= 1.0)?;
    Ok(Box::new(GeometricMap { floor }))
}

impl Metric for GeometricMap {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        AveragePrecision { cut: None }.value(ranked, policy)
    }

    fn average(&self) -> Average {
        Average::Geometric { floor: self.floor }
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{Lists, Policy};

    use crate::{Measure, evaluate};

    #[test]
    fn the_mean_is_geometric_and_a_list_without_a_hit_counts_the_floor() {
        // Average precision 1, 1/2 and, under empty=zero, 0.
        let lists = Lists::from_lengths(&[2, 2, 1], vec![1.0, 0.0, 0.0, 1.0, 0.0]);
        let scores = [2.0, 1.0, 2.0, 1.0, 1.0];
        let mean = |text: &str| {
            let measures = Measure::parse_all(text, &Policy::default()).unwrap();
            evaluate(&lists, &scores, &measures).unwrap().results[0].mean.unwrap()
        };
        assert!((mean("gm-map") - 0.5f64.sqrt()).abs() < 1e-15);
        assert!((mean("gm_map:empty=zero") - (0.5 * 1e-5f64).cbrt()).abs() < 1e-15);
        assert!((mean("gm-map:empty=zero:floor=0.1") - (0.5 * 0.1f64).cbrt()).abs() < 1e-15);
    }
}

#![doc = include_str!("../pages/squared.md")]

use toprank_core::{Param, ParamError, Spec};

use super::{OfItem, SUM, over_items};
use crate::objective::{Hessian, Input, Objective, Out};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[SUM];
pub(crate) const EXAMPLES: &[&str] = &["squared:sum=true"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(Squared { sum: spec.args.flag("sum", false)? }))
}

/// Squared error; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Squared {
    sum: bool,
}

impl Objective for Squared {
    fn hessian(&self) -> Hessian {
        Hessian::Exact
    }

    fn shift_invariant(&self) -> bool {
        false
    }

    fn list(&self, input: &Input, _: &mut ListState, _: &mut Work, out: &mut Out) -> Option<f64> {
        over_items(input, out, self.sum, |j, s| {
            let error = s - f64::from(input.list.labels[j]);
            OfItem { loss: error * error, slope: 2.0 * error, curve: 2.0 }
        })
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    #[test]
    fn three_items_by_hand() {
        let list = List { weights: Some(&[1.0, 2.0, 1.0]), ..List::new(&[1.0, 0.5, -1.0], &[3.0, 0.0, 1.0]) };
        let of = |text| Goal::parse(text, &Policy::default()).unwrap().of_list(&list).unwrap();
        let (loss, gradient) = of("squared");
        assert_eq!(loss, (2.0 * 2.0 + 2.0 * 0.5 * 0.5 + 2.0 * 2.0) / 4.0);
        assert_eq!(gradient, [2.0 * -2.0 / 4.0, 2.0 * 2.0 * 0.5 / 4.0, 2.0 * -2.0 / 4.0]);
        let (loss, gradient) = of("squared:sum=true");
        assert_eq!((loss, gradient), (4.0 + 0.5 + 4.0, vec![-4.0, 2.0, -4.0]));
    }
}

#![doc = include_str!("../pages/auroc-minmax.md")]

use toprank_core::{Param, ParamError, Spec};

use super::conjugate::{CONVEX, Convex};
use super::{Classes, MinMax, STEP, Saddle, Space, VARIABLES, Variables};
use crate::compositional::surrogate::{MARGIN, TEMPERATURE};
use crate::objective::{Objective, Out};
use crate::params::RELEVANT;
use crate::state::{Column, Per};

const GAP: Param = Param { about: "c: how far apart the means of the classes should be", ..MARGIN };
pub(crate) const PARAMS: &[Param] =
    &[GAP, CONVEX, Param { about: "τ of logistic and huber", ..TEMPERATURE }, VARIABLES, STEP, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &[
    "auroc-minmax:margin=2",
    "auroc-minmax:surrogate=squared-hinge",
    "auroc-minmax:surrogate=hinge",
    "auroc-minmax:surrogate=huber",
    "auroc-minmax:surrogate=logistic",
    "auroc-minmax:surrogate=logistic:temperature=0.5",
    "auroc-minmax:variables=exact",
    "auroc-minmax:rate=0.5",
    "auroc-minmax:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    MinMax::boxed(ClassMeans::from_spec(spec, Convex::from_spec(spec)?)?, spec)
}

/// a, b, α.
#[derive(Clone, Copy, Debug)]
struct ClassMeans {
    margin: f64,
    /// ℓ; 2α is the argument of its conjugate.
    loss: Convex,
}

impl ClassMeans {
    fn from_spec(spec: &Spec, loss: Convex) -> Result<ClassMeans, ParamError> {
        Ok(ClassMeans { margin: spec.args.not_negative("margin", 1.0)?, loss })
    }

    /// The gap c + E-[s] − E+[s].
    fn gap(&self, [relevant, others]: [f64; 2]) -> f64 {
        self.margin + others - relevant
    }
}

fn means(classes: &Classes) -> [f64; 2] {
    let score = |item: &u32| classes.scores[*item as usize];
    let relevant = classes.relevant.iter().zip(classes.weights).map(|(i, w)| w * score(i)).sum();
    let others = classes.others.iter().map(score).sum::<f64>() / classes.others.len() as f64;
    [relevant, others]
}

impl Saddle for ClassMeans {
    const LIST: usize = 3;
    const EACH: usize = 0;

    fn columns(&self) -> &'static [Column] {
        &[Column { name: "a, b, alpha", per: Per::List, width: 3 }]
    }

    fn solve(&self, classes: &Classes, variables: &mut Variables, _: &mut Space) {
        let [relevant, others] = means(classes);
        let alpha = 0.5 * self.loss.best(self.gap([relevant, others]));
        variables.list.copy_from_slice(&[relevant, others, alpha]);
    }

    fn value(&self, classes: &Classes, variables: &mut Variables, out: &mut Out, _: &mut Space) -> f64 {
        let [a, b, alpha] = [variables.list[0], variables.list[1], variables.list[2]];
        let [relevant, others] = means(classes);
        let gap = self.gap([relevant, others]);
        let mut value = 2.0 * alpha * gap - self.loss.conjugate(2.0 * alpha);
        let mut add = |item: u32, w: f64, centre: f64, sign: f64| {
            let j = item as usize;
            let d = classes.scores[j] - centre;
            value += w * d * d;
            out.gradient[j] += 2.0 * w * (d + sign * alpha);
            if let Some(h) = &mut out.hessian {
                h[j] += 2.0 * w;
            }
        };
        for (&i, &w) in classes.relevant.iter().zip(classes.weights) {
            add(i, w, a, -1.0);
        }
        let each = 1.0 / classes.others.len() as f64;
        for &j in classes.others {
            add(j, each, b, 1.0);
        }
        if let Some(rate) = variables.rate {
            // The loss is quadratic in a and b with second derivative 2: a gradient step goes a fraction of the way to the optimum.
            let unit = if self.margin > 0.0 { self.margin } else { 1.0 };
            let alpha = 0.5 * self.loss.step(2.0 * alpha, gap, rate, unit);
            variables.list.copy_from_slice(&[a + rate * (relevant - a), b + rate * (others - b), alpha]);
        }
        value
    }
}

/// The margin form.
pub mod margin {
    #![doc = include_str!("../pages/auroc-margin.md")]
    use super::{
        ClassMeans, Convex, GAP, MinMax, Objective, Param, ParamError, RELEVANT, STEP, Spec, VARIABLES,
    };

    pub(crate) const PARAMS: &[Param] = &[GAP, VARIABLES, STEP, RELEVANT];
    pub(crate) const EXAMPLES: &[&str] = &[
        "auroc-margin:margin=2",
        "auroc-margin:variables=exact",
        "auroc-margin:rate=0.5",
        "auroc-margin:relevant=2",
    ];

    pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        MinMax::boxed(ClassMeans::from_spec(spec, Convex::SquaredHinge)?, spec)
    }
}

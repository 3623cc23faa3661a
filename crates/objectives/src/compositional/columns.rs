//! Where the trackers of a list are in its state.

use super::tracker::{Cell, Rule};
use crate::state::ListState;

/// The columns of a list's state.
pub(super) struct Columns<'a> {
    u: &'a mut [f64],
    quadratic: Option<[&'a mut [f64]; 3]>,
}

impl<'a> Columns<'a> {
    pub fn of<'b: 'a>(state: &'a mut ListState<'b>, rule: Rule) -> Columns<'a> {
        if rule == Rule::Quadratic {
            let [_, u, v, before, stamp] = state.cut();
            Columns { u, quadratic: Some([v, before, stamp]) }
        } else {
            let [_, u] = state.cut();
            Columns { u, quadratic: None }
        }
    }

    pub fn cell(&mut self, slot: usize, component: usize, components: usize) -> Cell<'_> {
        let at = slot * components + component;
        let (v, before) = match &mut self.quadratic {
            None => (None, None),
            Some([v, before, stamp]) => (Some(&mut v[at]), Some((&mut before[at], &mut stamp[at]))),
        };
        Cell { u: &mut self.u[at], v, before }
    }
}

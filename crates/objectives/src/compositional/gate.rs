//! Gates: which anchors count, and how much.

/// A factor on the term of every anchor, which may depend on where the anchor stands.
pub trait Gate {
    /// True if ranks are N ĝ, those of this draw alone, instead of the tracked N u.
    fn by_draw(&self) -> bool {
        false
    }

    /// ψ and ∂ψ/∂s_j of the anchor at place `j` of the draw; `rank` is that of its last component, `term` its term
    /// without the gate.
    fn weigh(&mut self, j: usize, rank: f64, term: f64) -> (f64, f64);

    /// ψ and its slope at the previous scores.
    fn weigh_previous(&mut self, j: usize, rank: f64, term: f64) -> (f64, f64) {
        self.weigh(j, rank, term)
    }
}

/// ψ = 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open;

impl Gate for Open {
    fn weigh(&mut self, _: usize, _: f64, _: f64) -> (f64, f64) {
        (1.0, 0.0)
    }
}

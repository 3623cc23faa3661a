/*!
The loss of a walk over query graphs as an oracle: solve every list, ask the objective, go back by the adjoint.

For the margin loss with r pairs in the largest list and margins up to b (scores κ·π: κ = 1, or n where scores are scaled), a
1-norm error Δ of every distribution changes the value by at most 4 r κ (κ + b) Δ (lemma 1) and the gradient by at most
4 β r κ (κ + b) Δ / α, where β bounds ‖Π_0‖₁ (lemma 2); the adjoint's own error adds 2 β r κ (κ + b) times its relative
one. So errors asked for become errors of distributions. Other objectives have no such constants: they get the same
precision, without the promise.
*/

use toprank_core::Lists;
use toprank_data::QueryGraphs;
use toprank_objectives::{Batch, Goal, Gradients, State};
use toprank_walks::{Score, Solved, Stop, Walk};

use super::{Errors, FINEST, Oracle};
use crate::error::TrainError;
use crate::store::fingerprint::Input;
use crate::walk::file::Judged;

/// Loss and gradient of a walk at a promised accuracy.
pub struct WalkOracle<'a> {
    graphs: &'a QueryGraphs,
    walk: Walk,
    judged: Judged,
    offsets: Vec<usize>,
    goal: Goal,
    fresh: State,
    gradients: Gradients,
    /// 4 r κ (κ + b).
    constant: f64,
    beta: f64,
    /// Fixed number of products, whatever the errors.
    fixed: Option<usize>,
    scores: Vec<f64>,
}

impl<'a> WalkOracle<'a> {
    /// The mean of `goal` over these lists, whose judged nodes count.
    ///
    /// # Errors
    /// If nothing is judged, the objective cannot use the labels, or the all-ones walk does not exist.
    pub fn new(
        graphs: &'a QueryGraphs,
        which: &[u32],
        walk: Walk,
        goal: &Goal,
    ) -> Result<WalkOracle<'a>, TrainError> {
        let judged = Judged::of(graphs, which);
        let lists = &judged.lists;
        if lists.entries() == 0 {
            let expected = "judged nodes: a table `judgements` in their folder, a file of --judgements, or a column label of nodes";
            return Err(TrainError::unsuitable(Input::Graphs, "graphs without judgements", expected));
        }
        let offsets = lists.offsets.iter().map(|&offset| offset as usize).collect();
        let ones = vec![1.0; Walk::parameters(graphs)];
        let solved = walk.solve(graphs, which, &ones, Stop::at(1e-3))?;
        let scale = match walk.score {
            Score::Probability => 1.0,
            Score::Scaled | Score::Log => {
                which.iter().map(|&q| graphs.nodes_of(q as usize).len()).max().unwrap_or(1) as f64
            }
        };
        let margin = margin(goal);
        let pairs = (0..lists.len()).map(|q| pairs(&lists.labels[lists.range(q)])).max().unwrap_or(0).max(1);
        Ok(WalkOracle {
            graphs,
            walk,
            fresh: goal.state(lists)?,
            goal: goal.clone(),
            constant: 4.0 * pairs as f64 * scale * (scale + margin),
            beta: solved.bounds(RADIUS).ball.max(1.0),
            fixed: None,
            gradients: Gradients::default(),
            scores: Vec::with_capacity(lists.entries()),
            judged,
            offsets,
        })
    }

    /// The same with a fixed number of products for every distribution (the paper's GBP: 100).
    #[must_use]
    pub fn with_products(mut self, products: usize) -> WalkOracle<'a> {
        self.fixed = Some(products);
        self
    }

    /// The lists, as the objective sees them.
    pub fn lists(&self) -> &Lists {
        &self.judged.lists
    }

    /// The judged nodes.
    pub fn judged(&self) -> &Judged {
        &self.judged
    }

    /// Lists that had no gradient when the objective was asked for the last time.
    pub fn without_gradient(&self) -> usize {
        self.gradients.counts.idle
    }

    /// Scores of the judged nodes at `phi`.
    ///
    /// # Errors
    /// If there is no walk at `phi`.
    pub fn scores(&mut self, phi: &[f64], error: f64) -> Result<&[f64], TrainError> {
        let solved = self.walk.solve(self.graphs, &self.judged.which, phi, Stop::at(error))?;
        self.judged.read(&solved, &mut self.scores);
        Ok(&self.scores)
    }

    /// The loss of each list at `phi`; 0 where a list cannot contribute.
    ///
    /// # Errors
    /// If there is no walk at `phi`.
    pub fn losses(&mut self, phi: &[f64], error: f64) -> Result<&[f64], TrainError> {
        self.value(phi, error)?;
        Ok(&self.gradients.losses)
    }

    fn stop(&self, error: f64) -> Stop {
        let error = error.clamp(FINEST, 0.1);
        Stop { error: if self.fixed.is_some() { 0.0 } else { error }, iterations: self.fixed }
    }

    /// Value and ∂loss/∂score: all lists, whole. Trackers are reset, so that the value is a function of φ alone.
    fn ask(&mut self, solved: &Solved) -> Result<f64, TrainError> {
        self.judged.read(solved, &mut self.scores);
        let mut state = self.fresh.clone();
        self.goal.step(&Batch::all(&self.judged.lists, &self.scores), &mut state, &mut self.gradients)?;
        Ok(self.gradients.loss)
    }
}

/// The paper's R, for which β is computed once.
const RADIUS: f64 = 0.99;

impl Oracle for WalkOracle<'_> {
    fn parameters(&self) -> usize {
        Walk::parameters(self.graphs)
    }

    fn value(&mut self, phi: &[f64], error: f64) -> Result<f64, TrainError> {
        let stop = self.stop(error / self.constant);
        let solved = self.walk.solve(self.graphs, &self.judged.which, phi, stop)?;
        self.ask(&solved)
    }

    fn gradient(&mut self, phi: &[f64], errors: Errors, gradient: &mut [f64]) -> Result<f64, TrainError> {
        let by_value = errors.value / self.constant;
        let by_gradient = self.walk.restart * errors.gradient / (2.0 * self.beta * self.constant);
        let stop = self.stop(by_value.min(by_gradient));
        let solved = self.walk.solve(self.graphs, &self.judged.which, phi, stop)?;
        let value = self.ask(&solved)?;
        gradient.fill(0.0);
        let adjoint = (errors.gradient / (self.beta * self.constant)).clamp(1e-15, 1e-6);
        solved.gradient(&self.offsets, &self.judged.nodes, &self.gradients.gradient, adjoint, gradient);
        Ok(value)
    }
}

/// The margin of the margin losses; 1 for all others.
fn margin(goal: &Goal) -> f64 {
    let key = if goal.listing().entry.name == "margin" { "b" } else { "margin" };
    let said = goal.name().split(':').find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
    said.and_then(|margin| margin.parse().ok()).unwrap_or(1.0)
}

/// Pairs of different labels.
fn pairs(labels: &[f32]) -> usize {
    let mut sorted: Vec<f32> = labels.iter().copied().filter(|label| !label.is_nan()).collect();
    sorted.sort_by(f32::total_cmp);
    let all = sorted.len() * sorted.len().saturating_sub(1) / 2;
    let same: usize = sorted.chunk_by(|a, b| a == b).map(|run| run.len() * (run.len() - 1) / 2).sum();
    all - same
}

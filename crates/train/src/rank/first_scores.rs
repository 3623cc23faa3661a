/*!
Where the scores of a network begin: at the constant that has the least loss, as those of trees do.

An objective that sees a constant added to all scores, such as cross-entropy, first has to learn how frequent relevant rows are. Where
they are one in a hundred, that takes a network longer than a small data set has steps. So the offset of its output starts there.
*/

use std::ops::Range;

use toprank_core::{Differentiable, Role, ordered_sum};
use toprank_objectives::{Batch, Goal, Gradients, Hessian};

use crate::error::TrainError;
use crate::fit::engine::Examples;

/// Adds to the offsets of the outputs what brings a constant score to the least loss. Nothing changes where the objective does not
/// see a constant, where it has no second derivative to find it by, or where the model has no offset for each output.
pub(super) fn start_at_best_constant(
    goal: &Goal,
    examples: Examples,
    model: &dyn Differentiable,
    parameters: &mut [f32],
) -> Result<(), TrainError> {
    let objective = goal.objective();
    if objective.shift_invariant() || objective.over_outputs() || objective.hessian() != Hessian::Exact {
        return Ok(());
    }
    let Some(offsets) = offsets_of_outputs(model) else { return Ok(()) };
    let constants = best_constants(goal, examples, model.outputs())?;
    parameters[offsets].iter_mut().zip(constants).for_each(|(offset, constant)| *offset += constant as f32);
    Ok(())
}

/// The numbers that are added to the outputs and to nothing else.
fn offsets_of_outputs(model: &dyn Differentiable) -> Option<Range<usize>> {
    let mut end = 0;
    let mut found = None;
    for block in model.blocks() {
        let start = end;
        end += block.parameters();
        if block.last_layer && block.role == Role::Offset {
            let all = found.is_none() && block.shape == [model.outputs()];
            found = Some((start..end, all));
        }
    }
    found.filter(|(_, all)| *all).map(|(range, _)| range)
}

/// For each output the constant where Newton's method over one number ends; 0 where it leaves the finite numbers.
fn best_constants(goal: &Goal, examples: Examples, outputs: usize) -> Result<Vec<f64>, TrainError> {
    const STEPS: usize = 20;
    let lists = examples.lists;
    let output_of = |list: usize| lists.output.as_ref().map_or(0, |o| usize::from(o[list]));
    let (mut constants, mut scores) = (vec![0.0; outputs], vec![0.0; lists.entries()]);
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    for _ in 0..STEPS {
        for list in 0..lists.len() {
            scores[lists.range(list)].fill(constants[output_of(list)]);
        }
        goal.step(&Batch::all(lists, &scores), &mut goal.state(lists)?, &mut out)?;
        let mut sums = vec![[0.0; 2]; outputs];
        for list in 0..lists.len() {
            let [gradient, hessian] = &mut sums[output_of(list)];
            *gradient += ordered_sum(&out.gradient[lists.range(list)]);
            *hessian += ordered_sum(&out.hessian[lists.range(list)]);
        }
        let mut moved = false;
        for (constant, [gradient, hessian]) in constants.iter_mut().zip(sums) {
            let step = if hessian > 0.0 { -gradient / hessian } else { 0.0 };
            if step.is_finite() && step.abs() > 1e-9 {
                *constant += step;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    Ok(constants)
}

#[cfg(test)]
mod tests {
    use toprank_core::{Lists, Policy};
    use toprank_data::Matrix;

    use super::*;
    use crate::rank::models;

    fn offsets(objective: &str, model: &str, lists: &Lists, outputs: usize) -> Vec<f32> {
        let features = Matrix::Dense { width: 1, values: vec![0.0; lists.entries()] };
        let model = models::network(model).unwrap().unwrap().build(1, outputs).unwrap();
        let mut parameters = vec![0.0; model.parameters()];
        let goal = Goal::parse(objective, &Policy::default()).unwrap();
        let examples = Examples { lists, features: &features };
        start_at_best_constant(&goal, examples, &*model, &mut parameters).unwrap();
        let (others, offsets) = parameters.split_at(parameters.len() - outputs);
        assert!(
            others.iter().all(|parameter| *parameter == 0.0),
            "{objective}: only offsets of outputs change"
        );
        offsets.to_vec()
    }

    #[test]
    fn a_pointwise_objective_starts_at_the_constant_of_least_loss_and_others_at_0() {
        let lists = Lists::from_lengths(&[8], [&[1.0f32][..], &[0.0; 7]].concat());
        for model in ["linear", "mlp:hidden=3"] {
            assert!((offsets("logistic", model, &lists, 1)[0] + 7f32.ln()).abs() < 1e-6);
            assert!((offsets("squared", model, &lists, 1)[0] - 0.125).abs() < 1e-6);
            for objective in ["softmax", "auroc", "focal"] {
                assert_eq!(offsets(objective, model, &lists, 1), [0.0], "{objective}");
            }
        }
    }

    #[test]
    fn each_output_starts_at_the_constant_of_its_own_lists() {
        let lists = Lists {
            output: Some(vec![1, 0]),
            ..Lists::from_lengths(&[4, 2], vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
        };
        let found = offsets("cross-entropy", "linear", &lists, 2);
        assert!(found[0].abs() < 1e-6 && (found[1] + 3f32.ln()).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn labels_of_one_kind_give_a_finite_constant() {
        let found = offsets("logistic", "linear", &Lists::from_lengths(&[3], vec![0.0; 3]), 1);
        assert!(found[0].is_finite() && found[0] < 0.0, "{found:?}");
    }
}

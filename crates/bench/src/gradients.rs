//! Gradient and Hessian of an objective for a program that boosts by itself, over a pipe; little-endian numbers.
//!
//! ```text
//! gradients OBJECTIVE
//! in:  u32 lists, u32[lists] their lengths, f32[lists] their weights, f32[items] labels; then, as often as wanted,
//!      f64[items] scores
//! out: f64[items] gradient, f64[items] Hessian for each of them, summed over the lists
//! ```
//!
//! `bench/trees/lambdarank_vs_builtin.py` talks to it.

use std::io::{ErrorKind, Read, Write, stdin, stdout};

use toprank::core::{Lists, Policy};
use toprank::objectives::{Batch, Goal, Gradients, Reduction};

use crate::common::{Outcome, WrongUse};

fn read<const N: usize>(input: &mut impl Read, count: usize) -> std::io::Result<Vec<[u8; N]>> {
    let mut bytes = vec![0; count * N];
    input.read_exact(&mut bytes)?;
    Ok(bytes.as_chunks().0.to_vec())
}

pub fn run(args: &[String]) -> Outcome {
    let [objective] = args else { return Err(WrongUse.into()) };
    let (mut input, mut output) = (stdin().lock(), stdout().lock());
    let count = u32::from_le_bytes(read(&mut input, 1)?[0]) as usize;
    let lengths: Vec<usize> =
        read(&mut input, count)?.into_iter().map(|n| u32::from_le_bytes(n) as usize).collect();
    let weights = read(&mut input, count)?.into_iter().map(f32::from_le_bytes).collect();
    let items = lengths.iter().sum();
    let labels = read(&mut input, items)?.into_iter().map(f32::from_le_bytes).collect();
    let lists = Lists { list_weights: Some(weights), ..Lists::from_lengths(&lengths, labels) };
    let goal = Goal::parse(objective, &Policy::default())?;
    let mut state = goal.state(&lists)?;
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    loop {
        let scores: Vec<f64> = match read(&mut input, items) {
            Ok(found) => found.into_iter().map(f64::from_le_bytes).collect(),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let batch = Batch { reduction: Reduction::Sum, ..Batch::all(&lists, &scores) };
        goal.step(&batch, &mut state, &mut out)?;
        let values = out.gradient.iter().chain(&out.hessian);
        output.write_all(&values.flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
        output.flush()?;
    }
}

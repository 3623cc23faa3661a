//! Times training steps for `bench/training/run.py`: draw, forward, objective, backward, Adam.
//!
//! Reads cases from its input, one a line, and answers each with a line of JSON:
//!
//! ```text
//! mlp:hidden=256-128 song 64 100 48 20        model, objective, lists per step, their length, relevant ones, steps
//! {"wall": 0.0241, "cpu": 0.0467, "loss": 0.71}   seconds per step: median by the clock, mean of the process
//! ```
//!
//! With the objective `predict`, lists are scored instead. The number of threads is that of rayon: `RAYON_NUM_THREADS`.

use std::io::{BufRead, Write};
use std::time::Instant;

use toprank::core::{Architecture, Differentiable, Lists, Policy, Stream};
use toprank::data::Matrix;
use toprank::objectives::{Draws, Goal};
use toprank::train::fit::engine::{At, Engine, Examples, Into, Task, score};
use toprank::train::{OptimiserStep, fit::optimiser, fit::sampler};

use crate::common::{Outcome, WrongUse, cpu_seconds};

const WIDTH: usize = 136;
/// Parts of the data, as in training by default.
const PARTS: usize = 8;
/// Steps before the clock starts.
const WARM: u64 = 3;
/// The data hold so many times the rows of a step, so that rows come from memory, not from a cache.
const STEPS_OF_DATA: usize = 8;

pub fn run(args: &[String]) -> Outcome {
    if !args.is_empty() {
        return Err(WrongUse.into());
    }
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [model, objective, batch, length, relevant, steps] = words[..] else {
            return Err(format!("{line:?}: expected model, objective, lists, length, relevant, steps").into());
        };
        let shape = (batch.parse()?, length.parse()?, relevant.parse()?);
        let (wall, cpu, loss) =
            steps_of(&*toprank::neural::parse(model)?, objective, shape, steps.parse::<u64>()?)?;
        writeln!(out, "{{\"wall\": {wall:.6}, \"cpu\": {cpu:.6}, \"loss\": {loss:.6}}}")?;
        out.flush()?;
    }
    Ok(())
}

fn steps_of(
    model: &dyn Architecture,
    objective: &str,
    (batch, length, relevant): (usize, usize, usize),
    steps: u64,
) -> Outcome<(f64, f64, f64)> {
    let (lists, features) = data(STEPS_OF_DATA * batch, length, relevant);
    let model = model.build(WIDTH, 1)?;
    let mut parameters = vec![0.0; model.parameters()];
    model.init(Stream::new(1, "init"), &mut parameters);
    let policy = Policy::default();
    if objective == "predict" {
        return predictions(&*model, &parameters, (batch, length), steps);
    }
    let goal = Goal::parse(objective, &policy)?;
    let mut state = goal.state(&lists)?;
    let mut sampler = sampler::parse(&format!("lists:batch={batch}"))?.1.open(&lists, &policy, 1)?;
    let mut adam = optimiser::parse("adam")?.1.open(parameters.len());
    let (mut engine, mut draws) = (Engine::new(PARTS), Draws::default());
    let mut gradient = vec![0.0; parameters.len()];
    let examples = Examples { lists: &lists, features: &features };
    let (mut times, mut loss) = (Vec::new(), 0.0);
    let mut cpu = 0.0;
    for step in 0..WARM + steps {
        if step == WARM {
            cpu = cpu_seconds();
        }
        let start = Instant::now();
        sampler.draw(step, &mut draws);
        let at = At { parameters: &parameters, previous: None };
        let into = Into { gradient: &mut gradient, previous: None };
        let stream = Stream::new(1, "step").at_step(step);
        loss = engine
            .gradient(Task { model: &*model, goal: &goal, examples }, at, &mut state, &draws, stream, into)?
            .loss;
        let step_of = OptimiserStep { number: step, rate: 1e-4, decayed: &[] };
        adam.step(&step_of, &mut parameters, &gradient, None);
        if step >= WARM {
            times.push(start.elapsed().as_secs_f64());
        }
    }
    cpu = (cpu_seconds() - cpu) / steps as f64;
    times.sort_by(f64::total_cmp);
    Ok((times[times.len() / 2], cpu, loss))
}

/// Seconds to score `batch` lists, other ones in every step.
fn predictions(
    model: &dyn Differentiable,
    parameters: &[f32],
    (batch, length): (usize, usize),
    steps: u64,
) -> Outcome<(f64, f64, f64)> {
    let parts: Vec<(Lists, Matrix)> = (0..STEPS_OF_DATA).map(|_| data(batch, length, 1)).collect();
    let (mut times, mut cpu, mut total) = (Vec::new(), 0.0, 0.0);
    for step in 0..WARM + steps {
        if step == WARM {
            cpu = cpu_seconds();
        }
        let (lists, features) = &parts[step as usize % STEPS_OF_DATA];
        let start = Instant::now();
        total = score(model, parameters, Examples { lists, features })?.iter().sum();
        if step >= WARM {
            times.push(start.elapsed().as_secs_f64());
        }
    }
    cpu = (cpu_seconds() - cpu) / steps as f64;
    times.sort_by(f64::total_cmp);
    Ok((times[times.len() / 2], cpu, total))
}

/// Lists whose first items are relevant, with uniform features in [−1, 1).
fn data(count: usize, length: usize, relevant: usize) -> (Lists, Matrix) {
    let mut random = Stream::new(1, "training bench").open();
    let labels = (0..count * length).map(|i| f32::from(i % length < relevant)).collect();
    let values = (0..count * length * WIDTH).map(|_| 2.0 * random.unit() as f32 - 1.0).collect();
    (Lists::from_lengths(&vec![length; count], labels), Matrix::Dense { width: WIDTH, values })
}

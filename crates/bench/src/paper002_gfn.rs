//! GFN until it converges: as many steps as its theory asks for, on the graphs of `paper002`. The state is written every few
//! seconds, and the same command resumes from it, to the same bits; more steps may be asked for later.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use toprank::core::Policy;
use toprank::objectives::Goal;
use toprank::train::TrainError;
use toprank::train::walk::full_batch::{Gbn, Gfn, Method, Oracle, Region, Theory, WalkOracle, minimise};
use toprank::walks::Walk;
use toprank_plots::{Series, curves};

use crate::common::{Outcome, cpu_seconds, number, resumable};
use crate::paper002::{LIPSCHITZ, MARGIN, by_size, data};

/// Time between two writings of the state.
const EVERY: Duration = Duration::from_secs(10);

/// What a run has done so far, and where it is written.
struct Progress {
    path: PathBuf,
    /// What must be the same in a resumed run.
    run: Value,
    /// Step, loss on the training lists, loss on the test lists.
    points: Vec<[f64; 3]>,
    cpu: f64,
}

impl Progress {
    /// Takes up what is written, if there is something.
    fn resume(path: PathBuf, run: Value, method: &mut dyn Method) -> Outcome<Progress> {
        let mut progress = Progress { path, run, points: Vec::new(), cpu: 0.0 };
        let Ok(text) = std::fs::read_to_string(&progress.path) else { return Ok(progress) };
        let written: Value = serde_json::from_str(&text)?;
        let shown = progress.path.display();
        if written["run"] != progress.run {
            return Err(format!("{shown}: of the run {}, expected {}", written["run"], progress.run).into());
        }
        let read = |name: &str| {
            let numbers: Option<Vec<f64>> = written["state"][name].as_array().and_then(|bits| {
                bits.iter()
                    .map(|bits| u64::from_str_radix(bits.as_str()?, 16).ok().map(f64::from_bits))
                    .collect()
            });
            numbers.ok_or_else(|| TrainError::Damaged(format!("{shown}: has no {name}")))
        };
        method.restore(&read)?;
        progress.points = serde_json::from_value(written["points"].clone())?;
        progress.cpu = written["cpu"].as_f64().unwrap_or(0.0);
        Ok(progress)
    }

    /// The old file stays until the new one is whole.
    fn write(&self, method: &dyn Method) -> Outcome {
        let bits = |values: &[f64]| values.iter().map(|v| json!(format!("{:016x}", v.to_bits()))).collect();
        let state: Map<String, Value> = (method.state().iter())
            .map(|(name, values)| ((*name).to_string(), Value::Array(bits(values))))
            .collect();
        let draft = self.path.with_extension("draft");
        let all = json!({"run": self.run, "state": state, "points": self.points, "cpu": self.cpu});
        std::fs::write(&draft, all.to_string())?;
        Ok(std::fs::rename(draft, &self.path)?)
    }
}

pub fn run(args: &[String]) -> Outcome {
    let folder = match args.first().filter(|arg| !arg.starts_with("--")) {
        Some(folder) => Path::new(folder),
        None => Path::new("bench/paper002"),
    };
    std::fs::create_dir_all(folder)?;
    let size: usize = number(args, "--queries", 100)?;
    let lipschitz: f64 = number(args, "--lipschitz", LIPSCHITZ)?;
    let end = resumable::end(args, 40.0)?;
    let (graphs, train, test) = data();
    let m = Walk::parameters(&graphs);
    let settings = Gfn { lipschitz, ..Gfn::default() };
    let theory = Theory::new(m, 0.99, &settings).steps as u64;
    let steps = number(args, "--steps", theory)?;
    let goal = Goal::parse(MARGIN, &Policy::default())?;
    let (train, test) = (by_size(&train, size), by_size(&test, size));
    let oracle = |lists: &[u32]| WalkOracle::new(&graphs, lists, Walk::default(), &goal);
    let (mut own, mut held_out) = (oracle(&train)?, oracle(&test)?);
    let (ball, ones) = (Region::ball(m, 0.99), vec![1.0; m]);
    let gbn = minimise(Gbn::default().start(ball.clone(), &ones)?, &mut own)?;
    let mut gfn = Gfn { steps: Some(steps), ..settings }.start(ball, &ones)?;
    let name = format!("gfn-{size}");
    let run = json!({"queries": size, "lipschitz": lipschitz});
    let mut progress = Progress::resume(folder.join(format!("{name}.json")), run, &mut *gfn)?;
    println!("{} of {steps} steps are done; the theory asks for {theory}", gfn.found().steps);
    let (mut start, mut written) = (cpu_seconds(), Instant::now());
    while gfn.found().steps < steps && Instant::now() < end {
        let trial = gfn.compute(&mut own)?;
        gfn.commit();
        if gfn.found().steps.is_multiple_of(1000) {
            progress.points.push([gfn.found().steps as f64, trial.loss, held_out.value(gfn.phi(), 1e-8)?]);
        }
        if written.elapsed() > EVERY || gfn.found().steps == steps {
            progress.cpu += cpu_seconds() - std::mem::replace(&mut start, cpu_seconds());
            progress.write(&*gfn)?;
            written = Instant::now();
        }
    }
    progress.write(&*gfn)?;
    let found = gfn.found();
    println!(
        "GFN: train {:.6} test {:.6} after {} steps, {:.0} CPU seconds\nGBN: train {:.6} test {:.6} after {} steps",
        found.loss,
        held_out.value(&found.phi, 1e-9)?,
        found.steps,
        progress.cpu,
        gbn.loss,
        held_out.value(&gbn.phi, 1e-9)?,
        gbn.steps,
    );
    let mut csv = String::from("step,train_loss,test_loss\n");
    for [step, train, test] in &progress.points {
        let _ = writeln!(csv, "{step},{train:e},{test:e}");
    }
    std::fs::write(folder.join(format!("{name}.csv")), csv)?;
    let line = |at: usize, name: &str| {
        let points = progress.points.iter().map(|point| (point[0], point[at])).collect();
        Series { name: name.into(), points }
    };
    let series = [line(1, "training queries"), line(2, "test queries")];
    let plot = curves(&format!("GFN on {size} queries, L = {lipschitz:e}"), "step", "loss", &series);
    Ok(plot.save(&folder.join(format!("{name}.svg")))?)
}

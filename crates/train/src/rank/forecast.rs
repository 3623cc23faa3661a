/*!
What a run of several workers will send, hold and take, from a short trial on this machine.

```text
calls, bytes   of a tree, counted between two workers on a part of the data; histograms do not grow with the rows
seconds        of a tree, N workers:  alone·rows/rows of the trial/N + calls·seconds of a call + (N − 1)·bytes/bytes a second
memory         bins of the worker's own rows, and 40 bytes for every row of the data
```

The time of a call and the bytes a second, there and back, are measured over TCP on this machine; a network is slower. All bytes pass
the first worker.
*/

use std::net::TcpListener;
use std::time::{Duration, Instant};

use toprank_core::ParamError;
use toprank_core::collective::{Collective, CollectiveError, Threads};
use toprank_data::{Dataset, Matrix};

use super::job::{Data, Job};
use super::models;
use crate::error::TrainError;
use crate::fit::settings::Config;
use crate::fit::sockets::Sockets;
use crate::fit::training_loop::TrainingLoop;
use crate::fit::workers::{Traffic, Workers};

/// Rows of the trial, at most (a list that is longer is taken whole).
const TRIAL_ROWS: usize = 20_000;
/// Trees of the trial.
const TRIAL_TREES: u32 = 3;
/// Bytes of labels, scores, gradients, Hessians and their copies that every worker holds for every row.
const BYTES_A_ROW: u64 = 40;
/// Bytes of a call whose time tells how many bytes pass in a second.
const LARGE_CALL: usize = 1 << 20;

/// What is to be expected of a run of trees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Number of workers.
    pub workers: usize,
    /// Rows of the data.
    pub rows: usize,
    /// Features of a row.
    pub features: usize,
    /// Calls of a tree.
    pub calls: u64,
    /// Bytes that a worker gives to them.
    pub bytes: u64,
    /// Bytes of memory of a worker, besides the data as they were read.
    pub memory: u64,
    /// Seconds of a tree with one worker.
    pub alone: f64,
    /// Seconds of a tree with all of them.
    pub together: f64,
    /// Seconds of a short call between two workers on this machine.
    pub call_seconds: f64,
    /// Bytes a second between them.
    pub bytes_a_second: f64,
    /// Rows of the trial.
    pub trial_rows: usize,
}

/// Trains a few trees on a part of the data, alone and by two workers, and calls between two workers on this machine.
///
/// # Errors
/// If the model is not of trees, or the trial cannot be trained.
pub fn forecast(config: &Config, data: &Data, workers: usize) -> Result<Forecast, TrainError> {
    if !models::is_trees(config.model()) {
        return Err(ParamError::new("model", config.model(), "trees, whose work can be forecast").into());
    }
    let (rows, features) = (data.features().rows(), data.features().width());
    let trial = part(data);
    let trial_rows = trial.rows();
    let (seconds, _) = train(config, &trial, &Workers::default())?;
    let counted: Vec<Result<Traffic, TrainError>> = std::thread::scope(|scope| {
        let runs: Vec<_> = Threads::new(2)
            .into_iter()
            .map(|worker| {
                let trial = &trial;
                scope.spawn(move || train(config, trial, &Workers::new(worker)).map(|(_, traffic)| traffic))
            })
            .collect();
        runs.into_iter()
            .map(|run| run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let traffic = counted.into_iter().next().unwrap_or_else(|| Ok(Traffic::default()))?;
    let trees = u64::from(TRIAL_TREES);
    // Where lists are divided, scores are sent, too: those of own rows.
    let scores = |lists: usize, workers: usize, rows: usize| {
        if lists < workers { 8 * (rows / workers) as u64 } else { 0 }
    };
    let of_trial = scores(trial.lists.len(), 2, trial_rows);
    let bytes = (traffic.bytes / trees).saturating_sub(of_trial) + scores(data.lists().len(), workers, rows);
    let calls = traffic.calls / trees;
    let [call_seconds, large] = call_times()?;
    let bytes_a_second = LARGE_CALL as f64 / (large - call_seconds).max(1e-9);
    let alone = seconds * rows as f64 / trial_rows.max(1) as f64;
    let sent = match workers {
        1 => 0.0,
        _ => calls as f64 * call_seconds + (workers - 1) as f64 * bytes as f64 / bytes_a_second,
    };
    Ok(Forecast {
        workers,
        rows,
        features,
        calls: if workers == 1 { 0 } else { calls },
        bytes: if workers == 1 { 0 } else { bytes },
        memory: rows.div_ceil(workers) as u64 * features as u64 + rows as u64 * BYTES_A_ROW,
        alone,
        together: alone / workers as f64 + sent,
        call_seconds,
        bytes_a_second,
        trial_rows,
    })
}

/// The first lists, or the first rows where there is one list.
fn part(data: &Data) -> Dataset {
    let (lists, features) = (data.lists(), data.features());
    let rows = features.rows();
    let plain = lists.rows.is_none() && lists.len() > 1;
    let limit = match plain {
        true => {
            let last =
                lists.offsets.partition_point(|&end| end <= TRIAL_ROWS as u64).clamp(2, lists.len() + 1) - 1;
            lists.offsets[last] as usize
        }
        false => rows.min(TRIAL_ROWS),
    };
    let (mut kept, _) = lists.keep(|entry| lists.row(entry) < limit);
    if lists.rows.is_none() {
        // The first entries: as before, entry i reads row i.
        kept.rows = None;
    }
    let mut values = vec![0.0; limit * features.width()];
    let numbers: Vec<u32> = (0..limit as u32).collect();
    features.gather(&numbers, &mut values);
    let features = Matrix::Dense { width: features.width(), values };
    Dataset { lists: kept, features, columns: data.columns().to_vec(), ..Dataset::default() }
}

/// Seconds of a tree, and what was sent for all of them.
fn train(config: &Config, data: &Dataset, workers: &Workers) -> Result<(f64, Traffic), TrainError> {
    let mut job = Job::new(config, data.clone().into(), None)?;
    job.limit_epochs(TRIAL_TREES);
    job.train_among(workers);
    let views = job.views()?;
    let mut learner = job.trainer(&views)?;
    let (before, started) = (workers.traffic(), Instant::now());
    let learner: &mut dyn TrainingLoop = &mut *learner;
    learner.run(&mut (), None)?;
    let seconds = started.elapsed().as_secs_f64() / f64::from(TRIAL_TREES);
    let now = workers.traffic();
    Ok((seconds, Traffic { calls: now.calls - before.calls, bytes: now.bytes - before.bytes, ..now }))
}

/// Seconds of a call of 8 bytes, and of one of [`LARGE_CALL`], between two workers over TCP: the medians of some.
fn call_times() -> Result<[f64; 2], CollectiveError> {
    const CALLS: usize = 31;
    let failed = |reason: String| CollectiveError { rank: 0, reason };
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = free.map_err(|error| failed(format!("cannot listen: {error}")))?.to_string();
    let work = |rank: usize| {
        let worker = Sockets::meet(&address, rank, 2, "forecast", Duration::from_secs(10))?;
        let mut medians = [0.0; 2];
        for (median, bytes) in medians.iter_mut().zip([8, LARGE_CALL]) {
            let mut words = vec![1; bytes / 8];
            let mut seconds: Vec<f64> = (0..CALLS)
                .map(|_| {
                    let started = Instant::now();
                    worker.sum(&mut words).map(|()| started.elapsed().as_secs_f64())
                })
                .collect::<Result<_, _>>()?;
            seconds.sort_by(f64::total_cmp);
            *median = seconds[CALLS / 2];
        }
        Ok(medians)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| work(1));
        let own = work(0);
        let _ = other.join();
        own
    })
}

#[cfg(test)]
mod tests {
    use toprank_core::{Lists, Stream};

    use super::*;
    use crate::{Settings, TrainerKind};

    fn data(lists: usize, width: usize) -> Dataset {
        let mut random = Stream::new(1, "forecast").open();
        let values: Vec<f32> = (0..lists * 20 * width).map(|_| random.unit() as f32).collect();
        let labels = values.chunks(width).map(|row| (row[0] * 2.0 + row[1]).floor()).collect();
        Dataset {
            lists: Lists::from_lengths(&vec![20; lists], labels),
            features: Matrix::Dense { width, values },
            ..Dataset::default()
        }
    }

    #[test]
    fn the_bytes_of_a_tree_are_those_of_its_histograms_and_calls_do_not_depend_on_the_rows() {
        let (leaves, width) = (8, 17);
        let text =
            format!("objective = \"lambdamart\"\nmodel = \"trees:leaves={leaves}:min-rows=1:min-hessian=0\"");
        let settings = Settings::from_toml(&text).unwrap().resolve(TrainerKind::Rank).unwrap();
        let of = |lists: usize, workers: usize| {
            let data = data(lists, width);
            let config = settings.clone().suited_to(&data.lists).unwrap();
            forecast(&config, &data.into(), workers).unwrap()
        };
        let (small, large) = (of(60, 4), of(1500, 4));
        // Histograms of the root and of the smaller side of all splits but the last, 8 columns × 256 bins × 8 bytes a tile.
        let histograms = (leaves - 1) * width.div_ceil(8) as u64 * 8 * 256 * 8;
        for found in [small, large] {
            assert!(found.bytes >= histograms, "{found:?}");
            // Beside them counts and sums of leaves, and 16 bytes for every list of this worker.
            let others = found.bytes - histograms;
            assert!(others < 4096 * leaves + 16 * 1500, "{found:?}");
        }
        assert_eq!((small.trial_rows, large.trial_rows), (1200, 20_000));
        assert_eq!(large.memory, 7500 * 17 + 30_000 * 40);
        assert!(large.alone > 0.0 && large.together > 0.0 && large.call_seconds > 0.0);
        let one = of(60, 1);
        assert_eq!((one.calls, one.bytes, one.together == one.alone), (0, 0, true));
    }

    #[test]
    fn only_trees_are_forecast() {
        let text = "objective = \"ndcg@5\"\nmodel = \"linear\"";
        let config = Settings::from_toml(text).unwrap().resolve(TrainerKind::Rank).unwrap();
        let data = data(10, 3);
        let config = config.suited_to(&data.lists).unwrap();
        let error = forecast(&config, &data.into(), 2).unwrap_err().to_string();
        assert_eq!(error, "model must be trees, whose work can be forecast, but is linear");
    }
}

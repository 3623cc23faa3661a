/*!
Workers that compute one result together, each with a part of the data.

A [`Collective`] moves integers and bytes, and never adds floats: sums of integers depend neither on how many workers there
are nor on the order in which they are added up, so whatever library carries them, the result is the same to the bit. All workers
make the same calls in the same order. If one of them ends early, the calls of the others are errors; no call waits for ever.

[`Alone`] is the worker without others, [`Threads`] are workers in one process, for tests.
*/

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What moves numbers between workers.
pub trait Collective: fmt::Debug + Send + Sync {
    /// The number of this worker, from 0 on. Data are divided in this order.
    fn rank(&self) -> usize;

    /// How many workers there are.
    fn size(&self) -> usize;

    /// Replaces every word by its sum over all workers, modulo 2⁶⁴.
    ///
    /// # Errors
    /// If a worker has ended, or calls something else.
    fn sum(&self, words: &mut [u64]) -> Result<(), CollectiveError>;

    /// The bytes of every worker, in the order of workers.
    ///
    /// # Errors
    /// If a worker has ended, or calls something else.
    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError>;
}

/// A call that workers could not make together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveError {
    /// The worker that noticed.
    pub rank: usize,
    /// What happened.
    pub reason: String,
}

impl fmt::Display for CollectiveError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "worker {}: {}; expected all workers to stay until the end", self.rank, self.reason)
    }
}

impl std::error::Error for CollectiveError {}

impl From<CollectiveError> for crate::ModelError {
    fn from(error: CollectiveError) -> crate::ModelError {
        let CollectiveError { rank, reason } = error;
        crate::ModelError::new(format!("worker {rank}: {reason}"), "all workers to stay until the end")
    }
}

/// The only worker.
///
/// ```
/// use toprank_core::collective::{Alone, Collective};
/// let mut words = [3];
/// Alone.sum(&mut words).unwrap();
/// assert_eq!((words, Alone.size()), ([3], 1));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Collective for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn sum(&self, _: &mut [u64]) -> Result<(), CollectiveError> {
        Ok(())
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError> {
        Ok(vec![own.to_vec()])
    }
}

/// Workers that are threads of one process.
///
/// ```
/// use toprank_core::collective::{Collective, Threads};
/// let sums = std::thread::scope(|scope| {
///     let workers = Threads::new(3);
///     let runs: Vec<_> = workers
///         .into_iter()
///         .map(|worker| {
///             scope.spawn(move || {
///                 let mut words = [worker.rank() as u64, 1];
///                 worker.sum(&mut words).unwrap();
///                 words
///             })
///         })
///         .collect();
///     runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
/// });
/// assert_eq!(sums, [[3, 3]; 3]);
/// ```
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// One call at a time: workers put in what is theirs, then take what came of it.
#[derive(Debug, Default)]
struct State {
    /// What each worker has put in.
    given: Vec<Option<Given>>,
    /// What came of the call, and how many workers have not taken it yet.
    result: Option<(Result<Given, String>, usize)>,
    /// The first worker that has ended.
    gone: Option<usize>,
}

/// What one worker gives to a call, or what comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Given {
    Words(Vec<u64>),
    Bytes(Vec<Vec<u8>>),
}

impl Threads {
    /// This many workers.
    pub fn new(size: usize) -> Vec<Threads> {
        let state = State { given: vec![None; size], ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        (0..size).map(|rank| Threads { rank, shared: Arc::clone(&shared) }).collect()
    }

    fn call(&self, given: Given) -> Result<Given, CollectiveError> {
        let failed = |reason: String| CollectiveError { rank: self.rank, reason };
        let Shared { state, changed } = &*self.shared;
        let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = |state| changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        let ended = |gone: usize| failed(format!("worker {gone} has ended"));
        let mut state = lock();
        // Others may still take the result of the last call.
        while state.result.is_some() {
            state = wait(state);
        }
        state.given[self.rank] = Some(given);
        if state.given.iter().all(Option::is_some) {
            let given: Vec<Given> = state.given.iter_mut().filter_map(Option::take).collect();
            let workers = given.len();
            state.result = Some((together(given), workers));
            changed.notify_all();
        }
        loop {
            if let Some((result, left)) = &mut state.result {
                let found = result.clone();
                *left -= 1;
                if *left == 0 {
                    state.result = None;
                    changed.notify_all();
                }
                return found.map_err(failed);
            }
            if let Some(gone) = state.gone {
                return Err(ended(gone));
            }
            state = wait(state);
        }
    }
}

/// What comes of a call.
fn together(given: Vec<Given>) -> Result<Given, String> {
    let mut given = given.into_iter();
    let Some(mut result) = given.next() else { return Err("there are no workers".into()) };
    for (number, other) in given.enumerate() {
        match (&mut result, other) {
            (Given::Words(sums), Given::Words(words)) if sums.len() == words.len() => {
                sums.iter_mut().zip(words).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
            }
            (Given::Bytes(all), Given::Bytes(bytes)) => all.extend(bytes),
            _ => return Err(format!("worker {} makes another call than worker 0", number + 1)),
        }
    }
    Ok(result)
}

impl Collective for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).given.len()
    }

    fn sum(&self, words: &mut [u64]) -> Result<(), CollectiveError> {
        if let Given::Words(sums) = self.call(Given::Words(words.to_vec()))? {
            words.copy_from_slice(&sums);
        }
        Ok(())
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError> {
        match self.call(Given::Bytes(vec![own.to_vec()]))? {
            Given::Bytes(all) => Ok(all),
            Given::Words(_) => Ok(Vec::new()),
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.gone.get_or_insert(self.rank);
        drop(state);
        self.shared.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every worker returns.
    fn run<T: Send>(size: usize, work: impl Fn(Threads) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let runs: Vec<_> =
                Threads::new(size).into_iter().map(|worker| scope.spawn(|| work(worker))).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        })
    }

    #[test]
    fn every_worker_has_the_same_sums_and_all_bytes_in_the_order_of_workers_call_after_call() {
        for size in 1..5 {
            let found = run(size, |worker| {
                let mut last = Vec::new();
                for call in 0..50_u64 {
                    let mut words = [worker.rank() as u64 + call, u64::MAX];
                    worker.sum(&mut words).unwrap();
                    let (n, ranks) = (size as u64, (0..size as u64).sum::<u64>());
                    assert_eq!(words, [ranks + n * call, n.wrapping_neg()]);
                    last = worker.gather(&vec![worker.rank() as u8; worker.rank()]).unwrap();
                }
                last
            });
            let expected: Vec<Vec<u8>> = (0..size).map(|rank| vec![rank as u8; rank]).collect();
            assert!(found.iter().all(|all| *all == expected));
        }
    }

    #[test]
    fn a_worker_that_ends_is_an_error_for_the_others_and_no_wait() {
        let found = run(3, |worker| {
            worker.sum(&mut [1]).unwrap();
            if worker.rank() == 1 {
                return Ok(());
            }
            worker.sum(&mut [1])
        });
        assert!(found[1].is_ok());
        for rank in [0, 2] {
            let error = found[rank].clone().unwrap_err();
            assert!(error.to_string().contains("has ended"), "{error}");
        }
    }

    #[test]
    fn workers_that_make_different_calls_are_told() {
        let found = run(2, |worker| worker.sum(&mut vec![0; worker.rank() + 1]));
        assert!(found.iter().all(|result| {
            result.as_ref().unwrap_err().reason == "worker 1 makes another call than worker 0"
        }));
    }
}

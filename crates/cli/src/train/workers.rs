//! Workers that train one model together: threads, or processes that this one reaches over TCP or through its caller.

use std::cell::RefCell;
use std::time::Duration;

use toprank::core::Collective;
use toprank::train::fit::sockets::Sockets;
use toprank::train::{Forecast, Workers};

use crate::failure::Failure;
use crate::{Common, print, print_json};

/// Several workers.
#[derive(clap::Args, Clone, Debug)]
pub struct WorkerFlags {
    /// Train with N workers together, threads or (with --meet) processes; the model is the same for any N [default: 1; with --meet
    /// that of mpirun or srun]
    #[arg(long, value_name = "N", help_heading = "Workers", hide_short_help = true, value_parser = clap::value_parser!(u16).range(1..=4096))]
    workers: Option<u16>,
    /// Address at which the processes of a run meet: worker 0 listens there. All are started with the same command; TOPRANK_SECRET, if
    /// set, must be the same for all
    #[arg(long, value_name = "HOST:PORT", help_heading = "Workers", hide_short_help = true)]
    meet: Option<String>,
    /// With --meet: the number of this process, from 0 [default: that of mpirun or srun]
    #[arg(long, value_name = "K", help_heading = "Workers", hide_short_help = true, requires = "meet")]
    worker: Option<u16>,
    /// With --meet: number of seconds to wait for the other workers
    #[arg(
        long,
        value_name = "SECONDS",
        help_heading = "Workers",
        hide_short_help = true,
        requires = "meet",
        default_value = "120"
    )]
    meet_seconds: u32,
    /// Print what --workers N would send, hold and take, from a short trial on this machine, and train nothing
    #[arg(
        long,
        help_heading = "Workers",
        hide_short_help = true,
        requires = "workers",
        conflicts_with = "meet"
    )]
    pub plan: bool,
}

/// Where mpirun and srun say the number of a process and how many there are: Open MPI, MPICH and Intel MPI, Slurm.
const LAUNCHERS: [(&str, &str); 3] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

thread_local! {
    /// The workers of the process that this thread belongs to, where its caller has brought them.
    static BROUGHT: RefCell<Option<Workers>> = const { RefCell::new(None) };
}

/// Does some work as one of these workers.
pub fn within<R>(workers: Workers, work: impl FnOnce() -> R) -> R {
    BROUGHT.set(Some(workers));
    let done = work();
    BROUGHT.set(None);
    done
}

/// How a run is divided.
pub enum Division {
    /// Into so many threads; 1: not at all.
    Threads(usize),
    /// Among processes, of which this is one.
    Processes(Workers),
}

impl Division {
    /// True if another process writes the files.
    pub fn follows(&self) -> bool {
        matches!(self, Division::Processes(workers) if workers.rank() > 0)
    }
}

impl WorkerFlags {
    /// Meets the other workers, where there are any.
    pub fn begin(&self) -> Result<Division, Failure> {
        if let Some(workers) = BROUGHT.take() {
            if self.workers.is_some() || self.meet.is_some() {
                return Err(Failure::usage(
                    "--workers and --meet are for the command alone: here its caller brings the workers",
                ));
            }
            return Ok(Division::Processes(workers));
        }
        let Some(address) = &self.meet else {
            return Ok(Division::Threads(usize::from(self.workers.unwrap_or(1))));
        };
        let launcher = LAUNCHERS.iter().find_map(|(rank, size)| Some([variable(rank)?, variable(size)?]));
        let number = |flag: Option<u16>, name: &str, of: usize| {
            flag.map(usize::from).or(launcher.map(|numbers| numbers[of])).ok_or_else(|| {
                Failure::usage(format!(
                    "--meet without --{name}: expected --{name}, or a process that mpirun or srun has started"
                ))
            })
        };
        let (rank, size) = (number(self.worker, "worker", 0)?, number(self.workers, "workers", 1)?);
        let secret = std::env::var("TOPRANK_SECRET").unwrap_or_default();
        let patience = Duration::from_secs(self.meet_seconds.into());
        let sockets = Sockets::meet(address, rank, size, &secret, patience).map_err(Failure::failed)?;
        Ok(Division::Processes(Workers::new(sockets)))
    }
}

/// Prints what is to be expected of a run with several workers.
pub fn print_plan(common: &Common, plan: &Forecast) -> Result<(), Failure> {
    if common.json {
        return print_json(&serde_json::json!({
            "workers": plan.workers,
            "rows": plan.rows,
            "features": plan.features,
            "calls": plan.calls,
            "bytes": plan.bytes,
            "memory": plan.memory,
            "seconds_alone": plan.alone,
            "seconds": plan.together,
            "call_seconds": plan.call_seconds,
            "bytes_a_second": plan.bytes_a_second,
            "trial_rows": plan.trial_rows,
        }));
    }
    let mega = |bytes: f64| bytes / 1e6;
    print(&format!(
        "{} rows of {} features, {} workers; a tree:\n\
         calls between the workers   {}\n\
         sent by a worker            {:.2} MB\n\
         memory of a worker          {:.1} MB, besides the data as they were read\n\
         seconds                     {:.3} ({:.3} with one worker)\n\
         From a trial on {} rows. On this machine a call takes {:.0} µs and {:.0} MB pass in a second; other networks are slower.\n",
        plan.rows,
        plan.features,
        plan.workers,
        plan.calls,
        mega(plan.bytes as f64),
        mega(plan.memory as f64),
        plan.together,
        plan.alone,
        plan.trial_rows,
        plan.call_seconds * 1e6,
        mega(plan.bytes_a_second),
    ))
}

fn variable(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

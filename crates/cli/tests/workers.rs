//! Several workers, threads or processes, write the model of one, to the byte; a worker that is lost ends all of them.

mod common;

use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{Toprank, json};

/// LETOR text: lists of 1 to 8 items with three features, the second of them sometimes missing.
fn letor(lists: u32, first: u32) -> String {
    let mut text = String::new();
    for list in first..first + lists {
        for item in 0..=list % 8 {
            let value = |k: u32| {
                let mixed = (list * 31 + item * 17 + k * 7).wrapping_mul(2_654_435_761);
                f64::from((mixed ^ mixed >> 15).wrapping_mul(2_246_822_519) >> 16) / 65536.0
            };
            let second = if value(9) < 0.2 { String::new() } else { format!(" 2:{:.4}", value(2)) };
            let label = u8::from(value(1) > 0.4) + u8::from(value(1) + value(2) > 1.3);
            text.push_str(&format!("{label} qid:{list} 1:{:.4}{second} 3:{:.4}\n", value(1), value(3)));
        }
    }
    text
}

fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.file("train.txt", &letor(120, 1));
    shell.file("vali.txt", &letor(40, 500));
    shell
}

const TREES: &str =
    "train --data train.txt --valid vali.txt --model trees --leaves 5 --objective lambdamart --seed 3";

/// An address that was free a moment ago.
fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// Starts worker `worker` of `workers`.
fn start(shell: &Toprank, command: &str, address: &str, worker: usize, workers: usize) -> Child {
    let words =
        format!("{command} --workers {workers} --worker {worker} --meet {address} --checkpoint-every 0");
    let mut process = Command::new(env!("CARGO_BIN_EXE_toprank"));
    process.args(words.split_whitespace()).current_dir(shell.path(""));
    process
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs")
}

/// Waits until all have ended; a test that fails instead of hanging.
fn finish(mut children: Vec<Child>) -> Vec<Output> {
    let started = Instant::now();
    while children.iter_mut().any(|child| child.try_wait().expect("a child").is_none()) {
        if started.elapsed() > Duration::from_mins(2) {
            for child in &mut children {
                let _ = child.kill();
            }
            panic!("a worker waits for ever");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    children.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect()
}

fn processes(shell: &Toprank, command: &str, workers: usize) -> Vec<Output> {
    let address = free();
    finish((0..workers).map(|worker| start(shell, command, &address, worker, workers)).collect())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn threads_and_processes_write_the_model_of_one_worker() {
    let shell = shell();
    shell.ok(&format!("{TREES} --trees 8 -o one.toprank --quiet"));
    for workers in [2, 3] {
        shell.ok(&format!("{TREES} --trees 8 -o threads.toprank --workers {workers} --quiet"));
        assert_eq!(shell.bytes("threads.toprank"), shell.bytes("one.toprank"), "{workers} threads");
        let outputs = processes(&shell, &format!("{TREES} --trees 8 -o processes.toprank"), workers);
        for (worker, output) in outputs.iter().enumerate() {
            assert!(output.status.success(), "{}", said(output));
            // The first one alone speaks and writes.
            assert_eq!(output.stdout.is_empty() && output.stderr.is_empty(), worker > 0, "{}", said(output));
        }
        assert_eq!(shell.bytes("processes.toprank"), shell.bytes("one.toprank"), "{workers} processes");
        let files = shell.names("");
        assert!(
            !files.iter().any(|name| name.contains(".checkpoint") || name.contains(".lock")),
            "{files:?}"
        );
    }
}

#[test]
fn mpirun_starts_workers_that_find_their_numbers() {
    if Command::new("mpirun").arg("--version").output().is_err() {
        println!("SKIPPED: mpirun is not installed");
        return;
    }
    let shell = shell();
    shell.ok(&format!("{TREES} --trees 4 -o one.toprank --quiet"));
    let words = format!("{TREES} --trees 4 -o mpi.toprank --meet {}", free());
    let output = Command::new("mpirun")
        .args(["--allow-run-as-root", "--oversubscribe", "-n", "3", env!("CARGO_BIN_EXE_toprank")])
        .args(words.split_whitespace())
        .current_dir(shell.path(""))
        .output()
        .expect("mpirun runs");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(shell.bytes("mpi.toprank"), shell.bytes("one.toprank"));
}

#[test]
fn a_worker_that_is_killed_ends_all_and_any_number_resumes_to_the_same_bytes() {
    let shell = shell();
    let command = format!("{TREES} --trees 60 -o whole.toprank");
    shell.ok(&format!("{command} --quiet"));
    let whole = shell.bytes("whole.toprank");
    let mut killed = 0;
    for moment in 0..10_u64 {
        let name = format!("m{moment}.toprank");
        let command = format!("{TREES} --trees 60 -o {name}");
        let (address, workers, victim) = (free(), 2 + moment as usize % 2, moment as usize % 2);
        let mut children: Vec<Child> =
            (0..workers).map(|worker| start(&shell, &command, &address, worker, workers)).collect();
        // At some moment after the run has begun.
        let begun = Instant::now();
        while !shell.path(&format!("{name}.checkpoint")).exists() && begun.elapsed() < Duration::from_mins(1)
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(moment * 13 % 40));
        let _ = children[victim].kill();
        let at = Instant::now();
        let outputs = finish(children);
        if outputs[victim].status.code().is_some() {
            // It was over before.
            assert_eq!(shell.bytes(&name), whole);
            continue;
        }
        killed += 1;
        assert!(at.elapsed() < Duration::from_secs(30), "noticed after {:?}", at.elapsed());
        let others = outputs.iter().enumerate().filter(|(worker, _)| *worker != victim);
        let ended = |output: &Output| output.status.success() || said(output).contains("has ended");
        for (worker, output) in others {
            assert!(ended(output), "worker {worker}: {}", said(output));
        }
        if shell.path(&format!("{name}.checkpoint")).exists() {
            shell.ok(&format!("train --resume {name} --workers 3 --quiet"));
        }
        assert_eq!(shell.bytes(&name), whole, "killed at moment {moment}");
    }
    assert!(killed > 0, "no worker was killed before its end");
}

#[test]
fn a_worker_with_another_seed_is_named_by_all() {
    let shell = shell();
    let address = free();
    let command = format!("{TREES} --trees 3 -o m.toprank");
    let other = command.replace("--seed 3", "--seed 4");
    let children = vec![start(&shell, &command, &address, 0, 2), start(&shell, &other, &address, 1, 2)];
    for output in finish(children) {
        assert_eq!(output.status.code(), Some(2));
        assert!(
            said(&output).contains("error: worker 1 has seed 4, expected 3, as worker 0 has"),
            "{}",
            said(&output)
        );
    }
    assert!(!shell.path("m.toprank").exists());
}

#[test]
fn flags_of_workers_that_do_not_fit_are_explained() {
    let shell = shell();
    let command = format!("{TREES} --trees 3 -o m.toprank");
    assert!(shell.fails(2, &format!("{command} --worker 1")).contains("--meet"));
    let error = shell.fails(2, &format!("{command} --meet 127.0.0.1:1"));
    assert!(error.contains("expected --worker, or a process that mpirun or srun has started"), "{error}");
    let error = shell.fails(1, &format!("{command} --workers 2 --worker 2 --meet {}", free()));
    assert!(error.contains("worker 2: is not one of 2 workers"), "{error}");
    let error =
        shell.fails(1, &format!("{command} --workers 2 --worker 0 --meet-seconds 0 --meet {}", free()));
    assert!(error.contains("the workers 1 did not come to 127.0.0.1:"), "{error}");
}

#[test]
fn a_plan_says_what_workers_would_send_and_trains_nothing() {
    let shell = shell();
    let command = format!("{TREES} --trees 300 -o m.toprank --workers 4 --plan");
    let said = shell.ok(&command);
    assert!(
        said.contains("rows of 3 features, 4 workers; a tree:") && said.contains("sent by a worker"),
        "{said}"
    );
    let plan = json(&shell.ok(&format!("{command} --json")));
    // Histograms of the root and of one side of three splits: 8 columns of 256 bins of 8 bytes.
    let bytes = plan["bytes"].as_u64().unwrap();
    assert!((4 * 16_384..5 * 16_384).contains(&bytes), "{plan}");
    assert!(plan["seconds"].as_f64().unwrap() > 0.0 && plan["memory"].as_u64().unwrap() > 0, "{plan}");
    assert_eq!(shell.names("").len(), 2, "data alone: {:?}", shell.names(""));
    assert!(shell.fails(2, &format!("{TREES} -o m.toprank --plan")).contains("--workers"));
}

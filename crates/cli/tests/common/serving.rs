//! A server that runs as long as a test, and a client that writes its requests byte by byte.

// Not every test file uses everything.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Toprank;

/// A server that ends with the test.
pub struct Serving {
    pub child: Child,
    pub address: String,
}

impl Serving {
    pub fn start(shell: &Toprank, args: &[&str]) -> Serving {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toprank"));
        command.arg("serve").args(args).args(["--listen", "127.0.0.1:0"]).current_dir(shell.path(""));
        let log = std::fs::File::create(shell.path("log.txt")).expect("a file in a temporary folder");
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().expect("the binary runs");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("its address");
        let address = line.trim().strip_prefix("http://");
        let address = address.unwrap_or_else(|| panic!("{line}: {}", shell.read("log.txt"))).to_string();
        Serving { child, address }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_mins(1))).expect("a time limit");
        stream
    }

    pub fn head(&self, method: &str, target: &str, length: usize, headers: &str) -> String {
        let host = &self.address;
        format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n{headers}\r\n")
    }

    /// Status and body of the answer to one request on a connection of its own.
    pub fn ask(&self, method: &str, target: &str, headers: &str, body: &[u8]) -> (u16, String) {
        let mut stream = self.connect();
        let head = self.head(method, target, body.len(), &format!("connection: close\r\n{headers}"));
        // It may answer and close before it has read everything.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let (status, _, body) = answer(&mut BufReader::new(stream)).expect("an answer");
        (status, body)
    }

    pub fn post(&self, target: &str, body: &str) -> (u16, String) {
        self.ask("POST", target, "", body.as_bytes())
    }

    pub fn get(&self, target: &str) -> (u16, String) {
        self.ask("GET", target, "", b"")
    }

    pub fn signal(&self) {
        let kill = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
    }

    /// Memory of the process in kB.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("Linux");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
        line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).expect("a number")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for something that happens soon.
pub fn until(what: &str, done: &dyn Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Status, headers and body of an answer.
pub fn answer(stream: &mut impl BufRead) -> std::io::Result<(u16, String, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
    stream.read_exact(&mut body)?;
    Ok((status, head, String::from_utf8(body).expect("UTF-8")))
}

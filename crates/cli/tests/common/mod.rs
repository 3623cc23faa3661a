//! A folder of its own and the real binary in it.

#![allow(dead_code, reason = "each test file uses its part")]

use std::path::PathBuf;
use std::process::{Command, ExitStatus, Output, Stdio};

/// A temporary folder in which the command runs.
pub struct Toprank {
    folder: tempfile::TempDir,
}

impl Toprank {
    pub fn new() -> Toprank {
        Toprank { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).expect("a file in a temporary folder");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn file_of_bytes(&self, name: &str, content: &[u8]) {
        std::fs::write(self.path(name), content).expect("a file in a temporary folder");
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toprank"));
        command.args(args.split_whitespace()).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &str) -> Output {
        self.command(args).output().expect("the binary runs")
    }

    /// Standard output of a call that must succeed.
    pub fn ok(&self, args: &str) -> String {
        let out = self.run(args);
        assert!(out.status.success(), "toprank {args}\n{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("UTF-8")
    }

    /// Standard output and standard error of a call that must succeed.
    pub fn with_notes(&self, args: &str) -> (String, String) {
        let out = self.run(args);
        let notes = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success(), "toprank {args}\n{notes}");
        (String::from_utf8(out.stdout).expect("UTF-8"), notes)
    }

    /// Exit code (none: ended by a signal), standard output and standard error of a call that may succeed or fail.
    pub fn any(&self, args: &str) -> (Option<i32>, String, String) {
        let out = self.run(args);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    }

    /// Standard error of a call that must end with this exit code, without a panic and without output.
    pub fn fails(&self, code: i32, args: &str) -> String {
        let out = self.run(args);
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(code), "toprank {args}\n{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(out.stdout.is_empty(), "toprank {args} printed a result and failed");
        stderr
    }

    fn run_with_input(&self, args: &str, input: &str) -> Output {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_string();
        // In a thread: it may answer before it has read everything. It may also end early, which breaks the pipe.
        let writer =
            std::thread::spawn(move || drop(std::io::Write::write_all(&mut stdin, input.as_bytes())));
        let out = child.wait_with_output().expect("it ends");
        writer.join().expect("a writer");
        out
    }

    /// Standard output of a call that reads `input` and must succeed.
    pub fn with_input(&self, args: &str, input: &str) -> String {
        let out = self.run_with_input(args, input);
        assert!(out.status.success(), "toprank {args}\n{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("UTF-8")
    }

    /// Standard output and standard error of a call that reads `input` and must end with this exit code.
    pub fn fails_with_input(&self, code: i32, args: &str, input: &str) -> (String, String) {
        let out = self.run_with_input(args, input);
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(code), "toprank {args}\n{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        (String::from_utf8(out.stdout).expect("UTF-8"), stderr)
    }

    /// Runs with nobody reading standard output.
    pub fn piped_into_nothing(&self, args: &str) -> (ExitStatus, String) {
        let mut child = self
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        drop(child.stdout.take());
        let out = child.wait_with_output().expect("it ends");
        (out.status, String::from_utf8_lossy(&out.stderr).into_owned())
    }

    /// Names of the files in a folder; none if it is not there.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Sends a signal as soon as the file `watched` exists and has changed `times` times. The exit code; none: killed.
    #[cfg(unix)]
    pub fn signalled(&self, args: &str, signal: &str, watched: &str, times: usize) -> Option<i32> {
        let mut command = self.command(args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.signal(command, signal, watched, times)
    }

    #[cfg(unix)]
    fn signal(&self, mut command: Command, signal: &str, watched: &str, times: usize) -> Option<i32> {
        let look = || std::fs::metadata(self.path(watched)).and_then(|m| m.modified()).ok();
        let (mut last, mut seen) = (look(), 0);
        let mut child = command.spawn().expect("the binary runs");
        while seen < times && child.try_wait().expect("a child").is_none() {
            let now = look();
            seen += usize::from(now != last && now.is_some());
            last = now;
            std::thread::yield_now();
        }
        // It may have ended by itself in the meantime.
        let _ = Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status();
        child.wait().expect("it ends").code()
    }

    /// Runs a line of the shell, in which `$TOPRANK` is the binary.
    #[cfg(unix)]
    pub fn sh(&self, line: &str) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).env("TOPRANK", env!("CARGO_BIN_EXE_toprank"));
        shell.current_dir(self.folder.path()).stdin(Stdio::null()).output().expect("sh runs")
    }

    /// The same with what it said on standard error.
    #[cfg(unix)]
    pub fn signalled_with_message(
        &self,
        args: &str,
        signal: &str,
        watched: &str,
        times: usize,
    ) -> (Option<i32>, String) {
        let said = self.path("said.txt");
        let file = std::fs::File::create(&said).expect("a file in a temporary folder");
        let mut command = self.command(args);
        command.stdout(Stdio::null()).stderr(file);
        let code = self.signal(command, signal, watched, times);
        (code, std::fs::read_to_string(said).expect("what it said"))
    }

    /// A call that goes on while the test does, and is killed with it.
    pub fn start(&self, args: &str) -> Running {
        let mut command = self.command(args);
        Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs"))
    }

    /// Makes a folder.
    pub fn folder(&self, name: &str) {
        std::fs::create_dir_all(self.path(name)).expect("a folder in a temporary folder");
    }

    /// Makes a symbolic link.
    #[cfg(unix)]
    pub fn link(&self, target: &str, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).expect("a link in a temporary folder");
    }

    /// Removes a file.
    pub fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    }

    /// True if there is such a file.
    pub fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Exit code of a call that is interrupted as soon as it has begun a file in `folder`.
    #[cfg(unix)]
    pub fn interrupted(&self, args: &str, folder: &str) -> Option<i32> {
        let mut child =
            self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
        while self.names(folder).is_empty() && child.try_wait().expect("a child").is_none() {
            std::thread::yield_now();
        }
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
        assert!(kill.success());
        child.wait().expect("it ends").code()
    }
}

/// A process that ends with the test, also if that fails.
pub struct Running(std::process::Child);

impl Running {
    /// True until it has ended.
    pub fn is_running(&mut self) -> bool {
        self.0.try_wait().expect("a child").is_none()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Parses one JSON object.
pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("not JSON ({e}):\n{text}"))
}

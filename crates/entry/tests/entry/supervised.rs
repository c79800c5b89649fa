//! An entrypoint under test, with its liveness file and a shell script as its step.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Far more than anything here takes, even on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(30);

static NUMBER: AtomicU32 = AtomicU32::new(0);

pub struct Supervised {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    folder: PathBuf,
    count: u32,
}

impl Supervised {
    /// Runs a shell script with a silence timeout that is longer than any test.
    pub fn script(text: &str) -> Self {
        Self::program("600", &["/bin/sh", "-c", text])
    }

    /// Starts an entrypoint and waits until it has started its program.
    pub fn program(silence: &str, program: &[&str]) -> Self {
        let mut step = Self::waiting_to_start(silence, program);
        step.allow_start();
        step
    }

    /// Starts an entrypoint that does not start its program yet, because the liveness file has not changed.
    pub fn waiting_to_start(silence: &str, program: &[&str]) -> Self {
        Self::launch(silence, program, |command, _| {
            command.stdin(Stdio::null());
        })
    }

    /// Starts an entrypoint that waits for values.
    pub fn waiting_for_values(script: &str) -> Self {
        Self::launch("600", &["/bin/sh", "-c", script], |command, folder| {
            command.arg("--values").arg(folder.join("values")).stdin(Stdio::piped());
        })
    }

    fn launch(silence: &str, program: &[&str], change: impl FnOnce(&mut Command, &Path)) -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("greenroom-entry-{}-{number}", std::process::id()));
        fs::create_dir_all(folder.join("values")).unwrap();
        fs::write(folder.join("alive"), "0").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom-entry"));
        command.arg("--alive").arg(folder.join("alive")).args(["--silence", silence]);
        change(&mut command, &folder);
        let mut child = command.arg("--").args(program).stdout(Stdio::piped()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        Supervised { input: child.stdin.take(), child, output, folder, count: 0 }
    }

    /// Sends a frame: a kind, a name and a value.
    pub fn send_value(&mut self, kind: u8, name: &str, value: &[u8]) {
        self.send_bytes(&frame(kind, name, value));
    }

    /// Sends a frame to an entrypoint that may have ended.
    pub fn try_send_value(&mut self, kind: u8, name: &str, value: &[u8]) {
        let _ = self.input.as_mut().unwrap().write_all(&frame(kind, name, value));
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Changes the liveness file until the program has started, or the entrypoint has ended.
    pub fn allow_start(&mut self) {
        // The file is changed repeatedly: the entrypoint's first read may come after the first change.
        eventually("the program starts", || {
            self.change_liveness_file();
            self.has_child() || self.has_ended()
        });
    }

    /// Returns the folder of the files that the entrypoint writes.
    pub fn values(&self) -> PathBuf {
        self.folder.join("values")
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap())
    }

    pub fn send(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// Replaces the file by renaming, as the runner does.
    pub fn change_liveness_file(&mut self) {
        self.count += 1;
        fs::write(self.folder.join("alive.new"), self.count.to_string()).unwrap();
        fs::rename(self.folder.join("alive.new"), self.folder.join("alive")).unwrap();
    }

    pub fn remove_liveness_file(&self) {
        fs::remove_file(self.folder.join("alive")).unwrap();
    }

    /// Reads the next line of output. If the step writes none, the test runs into nextest's timeout.
    pub fn line(&mut self) -> String {
        let mut line = Vec::new();
        let mut byte = [0];
        loop {
            self.output.read_exact(&mut byte).unwrap();
            if byte == *b"\n" {
                return String::from_utf8(line).unwrap();
            }
            line.extend(byte);
        }
    }

    /// Reads a line with a process id.
    pub fn read_pid(&mut self) -> Pid {
        Pid::from_raw(self.line().trim().parse().unwrap())
    }

    /// Returns whether the entrypoint has blocked SIGCHLD (17). It blocks all signals that it handles in one
    /// call; before that they would kill it.
    pub fn handles_signals(&self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        u64::from_str_radix(blocked.trim(), 16).unwrap() & (1 << 16) != 0
    }

    pub fn has_child(&self) -> bool {
        let own = self.pid().as_raw();
        processes().into_iter().any(|(_, _, parent)| parent == own)
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for the entrypoint to end. Returns the exit code and the output that was not read yet.
    pub fn end(&mut self) -> (i32, String) {
        eventually("the entrypoint ends", || self.has_ended());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code().unwrap(), rest)
    }
}

fn frame(kind: u8, name: &str, value: &[u8]) -> Vec<u8> {
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [&[kind][..], &length(name.as_bytes()), &length(value), name.as_bytes(), value].concat()
}

impl Drop for Supervised {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = kill(self.pid(), Signal::SIGUSR1);
            let _ = self.child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns whether a process runs. A zombie does not.
pub fn runs(pid: Pid) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| state(&stat) != Some('Z'))
}

/// Returns id, state and parent of every process.
pub fn processes() -> Vec<(i32, char, i32)> {
    let numbers = fs::read_dir("/proc").unwrap();
    numbers
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let (_, rest) = stat.rsplit_once(')')?;
            Some((pid, state(&stat)?, rest.split_whitespace().nth(1)?.parse().ok()?))
        })
        .collect()
}

fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "not within {TIMEOUT:?}: {what}");
        pause();
    }
}

#[expect(clippy::disallowed_methods, reason = "polling with a deadline; there is no async runtime here")]
pub fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}

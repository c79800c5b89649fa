//! An entrypoint under test, with its alive file and a shell script for a step.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Far more than anything here takes, on a busy machine too.
pub const DEADLINE: Duration = Duration::from_secs(30);

static NUMBER: AtomicU32 = AtomicU32::new(0);

pub struct Supervised {
    child: Child,
    output: ChildStdout,
    folder: PathBuf,
    count: u32,
}

impl Supervised {
    /// A script that may be left alone for longer than a test takes.
    pub fn script(text: &str) -> Self {
        Self::program("600", &["/bin/sh", "-c", text])
    }

    /// Its program is started: the runner has shown life once.
    pub fn program(silence: &str, program: &[&str]) -> Self {
        let mut step = Self::waiting(silence, program);
        // More than once: the entrypoint's first look may come after the first change.
        eventually("the program starts", || {
            step.show_life();
            step.has_child() || step.has_ended()
        });
        step
    }

    /// Its program is not started before the runner has shown life.
    pub fn waiting(silence: &str, program: &[&str]) -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("greenroom-entry-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("alive"), "0").unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_greenroom-entry"))
            .arg("--alive")
            .arg(folder.join("alive"))
            .args(["--silence", silence, "--"])
            .args(program)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.stdout.take().unwrap();
        Supervised { child, output, folder, count: 0 }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap())
    }

    pub fn send(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// What the runner does: changes the file by renaming.
    pub fn show_life(&mut self) {
        self.count += 1;
        fs::write(self.folder.join("alive.new"), self.count.to_string()).unwrap();
        fs::rename(self.folder.join("alive.new"), self.folder.join("alive")).unwrap();
    }

    pub fn remove_alive_file(&self) {
        fs::remove_file(self.folder.join("alive")).unwrap();
    }

    /// The next line that it writes. A step that writes none is ended by nextest.
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

    /// A line that is a process's number.
    pub fn number(&mut self) -> Pid {
        Pid::from_raw(self.line().trim().parse().unwrap())
    }

    /// Whether it has blocked SIGCHLD (17), with all signals that it waits for: before that they would end it.
    pub fn takes_signals(&self) -> bool {
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

    /// Waits for its end: the exit code, and what else it wrote.
    pub fn end(&mut self) -> (i32, String) {
        eventually("the entrypoint ends", || self.has_ended());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code().unwrap(), rest)
    }
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

/// Whether a process runs; one that has ended and is only not taken note of does not.
pub fn runs(pid: Pid) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| state(&stat) != Some('Z'))
}

/// State and parent of every process, by number.
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
    let until = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < until, "not within {DEADLINE:?}: {what}");
        pause();
    }
}

#[expect(clippy::disallowed_methods, reason = "between two looks, with a deadline; there is no runtime here")]
pub fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}

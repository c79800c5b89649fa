//! Runs a program with bounds. None of its processes outlives the call.

use std::io;
use std::process::{ExitStatus, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::Instant;

/// How much of the beginning and of the end of standard error is kept.
const KEPT_STDERR_BYTES: usize = 8 * 1024;
/// A program that prints more than this is ended.
const MAX_STDERR_BYTES: usize = 1 << 20;
const CHUNK_BYTES: usize = 16 * 1024;
/// What a buffer needs beyond its content, so that it does not grow while the end is found.
const READ_MARGIN_BYTES: usize = 1024;

/// The limits of each process, which it inherits to those that it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessLimits {
    pub(crate) data_bytes: u64,
    pub(crate) file_bytes: u64,
    pub(crate) cpu_seconds: u64,
}

impl ProcessLimits {
    /// Returns a command that sets the limits and then becomes `program`, with an empty environment but for `PATH`.
    pub(crate) fn command(self, program: &str) -> Command {
        let mut command = Command::new("prlimit");
        command
            .arg(format!("--data={}", self.data_bytes))
            .arg(format!("--fsize={}", self.file_bytes))
            // The soft limit's signal is recognized in the result.
            .arg(format!("--cpu={}:{}", self.cpu_seconds, self.cpu_seconds + 2))
            // A core dump could contain a credential.
            .args(["--core=0", "--", program])
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("LC_ALL", "C");
        command
    }
}

pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

pub(crate) enum RunError {
    Start(io::Error),
    Timeout,
    /// It printed more than it may.
    TooMuchOutput,
}

/// Runs a command. If it does not end in time, prints too much, or if this future is dropped, it is killed with all
/// processes that it has started.
pub(crate) async fn run(
    mut command: Command,
    input: &[u8],
    max_stdout_bytes: usize,
    deadline: Instant,
) -> Result<Output, RunError> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(RunError::Start)?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).map(|id| Group(Pid::from_raw(id)));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let work = async {
        let write = async {
            if let Some(mut stdin) = stdin {
                // The program may end before it has read everything.
                let _ = stdin.write_all(input).await;
            }
            Ok(())
        };
        let wait = async { child.wait().await.map_err(RunError::Start) };
        tokio::try_join!(write, read_all(stdout, max_stdout_bytes), read_ends(stderr), wait)
    };
    let ((), stdout, stderr, status) =
        tokio::time::timeout_at(deadline, work).await.map_err(|_| RunError::Timeout)??;
    // All processes of the group have closed their standard error.
    if let Some(group) = group {
        group.disarm();
    }
    Ok(Output { status, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() })
}

/// The process group of a program. Killed on drop.
struct Group(Pid);

impl Group {
    /// Prevents the kill after the program has ended: its process id may be reused from now on.
    fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = killpg(self.0, Signal::SIGKILL);
    }
}

async fn read_all(stream: Option<impl AsyncRead + Unpin>, max_bytes: usize) -> Result<Vec<u8>, RunError> {
    // A growing buffer would be copied. What is not used of this one is not resident.
    let mut read = Vec::with_capacity(max_bytes + READ_MARGIN_BYTES);
    if let Some(stream) = stream {
        let limit = max_bytes as u64 + 1;
        stream.take(limit).read_to_end(&mut read).await.map_err(RunError::Start)?;
    }
    if read.len() > max_bytes { Err(RunError::TooMuchOutput) } else { Ok(read) }
}

/// Returns the beginning and the end of a stream: programs print the first cause first, and the last consequence last.
async fn read_ends(stream: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, RunError> {
    let Some(mut stream) = stream else { return Ok(Vec::new()) };
    let (mut kept, mut total, mut chunk) = (Vec::new(), 0, vec![0; CHUNK_BYTES]);
    loop {
        let count = stream.read(&mut chunk).await.map_err(RunError::Start)?;
        if count == 0 {
            return Ok(kept);
        }
        total += count;
        if total > MAX_STDERR_BYTES {
            return Err(RunError::TooMuchOutput);
        }
        kept.extend_from_slice(&chunk[..count]);
        if kept.len() > 2 * KEPT_STDERR_BYTES {
            kept.drain(KEPT_STDERR_BYTES..kept.len() - KEPT_STDERR_BYTES);
        }
    }
}

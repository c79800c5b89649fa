//! Runs the step's program: one loop that waits for signals and values, and polls the liveness file in between.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

use crate::arguments::{BECOME, Step};
use crate::liveness::LivenessFile;
use crate::values::Values;
use crate::{EXIT_SILENCE, descendants, write_log};

/// How often the liveness file is read. A step is killed at most this much later than its silence timeout.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How often the liveness file is read before the program starts: the start waits for a change.
const START_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The signals that are forwarded to the step.
const FORWARDED: [Signal; 3] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];
/// Kills the whole step immediately. Used by a runner without containers, which cannot find a step's orphans
/// itself.
const KILL_ALL: Signal = Signal::SIGUSR1;

const SILENCE_MESSAGE: &str = "the runner has fallen silent, so this step was ended";

/// Returns the exit code: the program's own, 128 plus the number of the signal that killed it, or
/// [`EXIT_SILENCE`].
pub(crate) fn run(step: &Step) -> io::Result<u8> {
    let mut handled = SigSet::empty();
    FORWARDED.into_iter().chain([KILL_ALL, Signal::SIGCHLD]).for_each(|signal| handled.add(signal));
    handled.thread_block()?;
    let signals = SignalFd::with_flags(&handled, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    prctl::set_child_subreaper(true)?;
    // The step runs as the same user. If this process were dumpable, the step could open its memory and
    // disable it.
    prctl::set_dumpable(false)?;

    let mut values = step.values.clone().map(Values::from_stdin).transpose()?;
    let mut liveness = LivenessFile::new(step.liveness_file.clone(), step.silence, Instant::now());
    if let Some(code) = wait_to_start(&mut liveness, &signals, &mut values)? {
        return Ok(code);
    }
    let group = start(step, values.as_ref())?;
    let mut next_poll = Instant::now();
    loop {
        for signal in pending(&signals)? {
            if signal == KILL_ALL {
                end(group, &signals);
                return Ok(exit_code_of(Signal::SIGKILL));
            }
            if FORWARDED.contains(&signal) {
                // Ignore the error for a step whose last process has just ended.
                let _ = killpg(group, signal);
            }
        }
        if let Some(code) = reap(group)? {
            end(group, &signals);
            return Ok(code);
        }
        let now = Instant::now();
        if now >= next_poll {
            if liveness.is_silent(now) {
                write_log(SILENCE_MESSAGE);
                end(group, &signals);
                return Ok(EXIT_SILENCE);
            }
            if let Some(values) = &mut values {
                values.retry();
            }
            next_poll = now + POLL_INTERVAL;
        }
        wait_and_receive(&signals, &mut values, next_poll.saturating_duration_since(now))?;
    }
}

/// Waits until the liveness file changes and all values have arrived. The server allowed the start of this step some time ago. The runner
/// may have been paused since, or the container engine may have been slow, and the lease may have expired.
/// Only a change that this process observes proves that the runner still holds the lease. Returns the exit
/// code, without having started the program, if no change comes in time or a signal ends the step.
fn wait_to_start(
    liveness: &mut LivenessFile,
    signals: &SignalFd,
    values: &mut Option<Values>,
) -> io::Result<Option<u8>> {
    loop {
        if liveness.is_silent(Instant::now()) {
            write_log(SILENCE_MESSAGE);
            return Ok(Some(EXIT_SILENCE));
        }
        if liveness.has_changed() && values.as_ref().is_none_or(Values::is_complete) {
            return Ok(None);
        }
        for signal in pending(signals)? {
            if signal == KILL_ALL {
                return Ok(Some(exit_code_of(Signal::SIGKILL)));
            }
            if FORWARDED.contains(&signal) {
                return Ok(Some(exit_code_of(signal)));
            }
        }
        wait_and_receive(signals, values, START_POLL_INTERVAL)?;
    }
}

/// Starts the program in a new process group and returns the group's id. Standard output and error are one
/// stream, so that the order of writes is kept. Standard input is empty: the values arrive by that of this
/// process. The child is reaped by [`reap`], not through its handle.
fn start(step: &Step, values: Option<&Values>) -> io::Result<Pid> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let variables = values.map(Values::variables).unwrap_or_default();
    let child = Command::new(std::env::current_exe()?)
        .args([OsStr::new(BECOME), OsStr::new("--")])
        .args(&step.program)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stderr(output)
        .process_group(0)
        .spawn()?;
    i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)
}

fn pending(signals: &SignalFd) -> io::Result<Vec<Signal>> {
    let mut found = Vec::new();
    while let Some(information) = signals.read_signal()? {
        found.extend(
            i32::try_from(information.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok()),
        );
    }
    Ok(found)
}

/// Reaps every child that has ended, including orphans of the step. Returns the exit code once the step's own
/// program has ended. That process is left unreaped (`WNOWAIT`): until it is reaped, no other process can get
/// its id, so that killing the group cannot hit an unrelated process.
fn reap(program: Pid) -> io::Result<Option<u8>> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    loop {
        match waitid(Id::All, flags) {
            Ok(WaitStatus::Exited(pid, code)) if pid == program => {
                // The kernel keeps the lowest eight bits of an exit code.
                return Ok(Some(u8::try_from(code & 0xff).unwrap_or(u8::MAX)));
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == program => {
                return Ok(Some(exit_code_of(signal)));
            }
            Ok(status) => match status.pid() {
                Some(orphan) => {
                    waitpid(orphan, Some(WaitPidFlag::WNOHANG))?;
                }
                None => return Ok(None),
            },
            Err(Errno::EINTR) => {}
            // A child was killed by a real-time signal, which `nix` cannot represent; it can only be reaped.
            Err(Errno::EINVAL) => {
                let _ = waitpid(None, Some(WaitPidFlag::WNOHANG));
            }
            // The child reaped above was the program itself.
            Err(Errno::ECHILD) => return Ok(Some(u8::MAX)),
            Err(error) => return Err(error.into()),
        }
    }
}

fn exit_code_of(signal: Signal) -> u8 {
    u8::try_from(128 + signal as i32).unwrap_or(u8::MAX)
}

/// Kills the whole step. No process of it runs when this returns.
fn end(group: Pid, signals: &SignalFd) {
    let _ = killpg(group, Signal::SIGKILL);
    descendants::kill_all(|| {
        // SIGCHLD of an ending child interrupts the wait; the signals themselves are not needed.
        wait(signals, None, Duration::from_millis(20));
        let _ = pending(signals);
    });
}

/// Waits until a signal or values arrive or the timeout has passed, and receives the values.
fn wait_and_receive(signals: &SignalFd, values: &mut Option<Values>, timeout: Duration) -> io::Result<()> {
    let has_input = wait(signals, values.as_ref().and_then(Values::input), timeout);
    match values {
        Some(values) if has_input => values.receive(),
        _ => Ok(()),
    }
}

/// Waits until a signal or input arrives or the timeout has passed. Returns whether there is input, or its end.
/// An early return is harmless.
fn wait(signals: &SignalFd, input: Option<BorrowedFd<'_>>, timeout: Duration) -> bool {
    // Rounded up: otherwise the caller would spin during the last fraction of a millisecond.
    let timeout = PollTimeout::try_from(timeout + Duration::from_millis(1)).unwrap_or(PollTimeout::ZERO);
    let mut polled = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    polled.extend(input.map(|input| PollFd::new(input, PollFlags::POLLIN)));
    let has_polled = poll(&mut polled, timeout).is_ok();
    has_polled && polled.get(1).and_then(PollFd::any).unwrap_or(false)
}

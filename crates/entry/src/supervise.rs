//! Runs the step's program: one loop that waits for signals and looks at the alive file in between.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
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

use crate::alive::AliveFile;
use crate::arguments::{BECOME, Step};
use crate::{SILENCE, descendants, say};

/// How often the alive file is looked at. A step ends at most this much after its bound.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often it is looked at before the program starts, which waits for a change.
const FIRST_LOOKS_EVERY: Duration = Duration::from_millis(10);

/// Passed on to the step.
const FORWARDED: [Signal; 3] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];
/// "Kill all of it, now": for a runner without containers, which could not find a step's orphans by itself.
const KILL_ALL: Signal = Signal::SIGUSR1;

const FELL_SILENT: &str = "the runner has fallen silent, so this step was ended";

/// The exit code: the program's own, 128 and the signal that it died of, or [`SILENCE`].
pub(crate) fn run(step: &Step) -> io::Result<u8> {
    let mut heard = SigSet::empty();
    FORWARDED.into_iter().chain([KILL_ALL, Signal::SIGCHLD]).for_each(|signal| heard.add(signal));
    heard.thread_block()?;
    let signals = SignalFd::with_flags(&heard, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    prctl::set_child_subreaper(true)?;
    // The step runs under the same user. Without this it could open this process's memory and stop the watch.
    prctl::set_dumpable(false)?;

    let mut alive = AliveFile::new(step.alive.clone(), step.silence, Instant::now());
    if let Some(code) = until_changed(&mut alive, &signals)? {
        return Ok(code);
    }
    let group = start(step)?;
    let mut next_look = Instant::now();
    loop {
        for signal in pending(&signals)? {
            if signal == KILL_ALL {
                end(group, &signals);
                return Ok(exit_code_of(Signal::SIGKILL));
            }
            if FORWARDED.contains(&signal) {
                // A step whose last process has just ended needs no signal.
                let _ = killpg(group, signal);
            }
        }
        if let Some(code) = reap(group)? {
            end(group, &signals);
            return Ok(code);
        }
        let now = Instant::now();
        if now >= next_look {
            if alive.is_silent(now) {
                say(FELL_SILENT);
                end(group, &signals);
                return Ok(SILENCE);
            }
            next_look = now + LOOK_EVERY;
        }
        wait(&signals, next_look.saturating_duration_since(now));
    }
}

/// Until the alive file changes. The runner was allowed to start this step some time ago: it may have been paused since,
/// or the container engine may have been slow, and the job be another's by now. Only a change that is seen from here shows
/// that it still holds the lease. If none comes, or a signal asks for the end: the exit code, and nothing has been started.
fn until_changed(alive: &mut AliveFile, signals: &SignalFd) -> io::Result<Option<u8>> {
    loop {
        if alive.is_silent(Instant::now()) {
            say(FELL_SILENT);
            return Ok(Some(SILENCE));
        }
        if alive.has_changed() {
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
        wait(signals, FIRST_LOOKS_EVERY);
    }
}

/// In a process group of its own. Both of its outputs are one stream, so that they stay in the order in which they were
/// written. The child is reaped by [`reap`], not through its handle.
fn start(step: &Step) -> io::Result<Pid> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let child = Command::new(std::env::current_exe()?)
        .args([OsStr::new(BECOME), OsStr::new("--")])
        .args(&step.program)
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

/// Takes note of every child that has ended, orphans of the step too; the exit code once it is the step's own program.
/// That one is only looked at and not taken yet: while it has not been, no other process can get its number, and
/// the group can be killed without hitting a stranger.
fn reap(program: Pid) -> io::Result<Option<u8>> {
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    loop {
        match waitid(Id::All, look) {
            Ok(WaitStatus::Exited(pid, code)) if pid == program => {
                // The kernel keeps eight bits of it.
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
            // Somebody died of a signal that has no name (a real-time one), and can only be taken.
            Err(Errno::EINVAL) => {
                let _ = waitpid(None, Some(WaitPidFlag::WNOHANG));
            }
            // It was the program itself.
            Err(Errno::ECHILD) => return Ok(Some(u8::MAX)),
            Err(error) => return Err(error.into()),
        }
    }
}

fn exit_code_of(signal: Signal) -> u8 {
    u8::try_from(128 + signal as i32).unwrap_or(u8::MAX)
}

/// Nothing of the step runs any more when this returns.
fn end(group: Pid, signals: &SignalFd) {
    let _ = killpg(group, Signal::SIGKILL);
    descendants::kill_all(|| {
        // A child that ends wakes it up; the signal itself says nothing new.
        wait(signals, Duration::from_millis(20));
        let _ = pending(signals);
    });
}

/// Until a signal comes, or the time is over. Being woken early does no harm.
fn wait(signals: &SignalFd, at_most: Duration) {
    // Rounded up, or the last fraction of a millisecond would be spent spinning.
    let at_most = PollTimeout::try_from(at_most + Duration::from_millis(1)).unwrap_or(PollTimeout::ZERO);
    let _ = poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], at_most);
}

//! Kills processes that the step has left running outside of its process group. If this process is the first
//! one of a container, there is nothing to do: the kernel kills all others with it. On a host, orphans become
//! children of this process (it is their subreaper) and are killed until none is left.

use std::fs;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpid};

/// A bound for a step that forks faster than its processes can be killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Calls `wait` between two rounds of killing.
pub(crate) fn kill_all(mut wait: impl FnMut()) {
    if getpid() == Pid::from_raw(1) {
        return;
    }
    let deadline = Instant::now() + KILL_TIMEOUT;
    loop {
        if !reap_all() || Instant::now() >= deadline {
            return;
        }
        for child in children() {
            // Ignore the error for a child that has already ended.
            let _ = kill(child, Signal::SIGKILL);
        }
        wait();
    }
}

/// Reaps all children that have ended. Returns whether there are children left.
fn reap_all() -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Err(Errno::ECHILD) => return false,
            Ok(status) if status.pid().is_some() => {}
            _ => return true,
        }
    }
}

fn children() -> Vec<Pid> {
    let own = getpid();
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&process: &i32| {
            fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| parent(&stat) == Some(own))
        })
        .map(Pid::from_raw)
        .collect()
}

/// Parses the parent's process id from a line of `/proc/<pid>/stat`: it is the second field after the process
/// name. The name is enclosed in parentheses and can contain any character, including parentheses.
fn parent(stat: &str) -> Option<Pid> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok().map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_for_any_process_name() {
        for line in ["7 (sh) S 3 7 7 0", "7 (a b) c) S 3 7 7 0", "7 ()) 9 (x) Z 3 7"] {
            assert_eq!(parent(line), Some(Pid::from_raw(3)), "{line}");
        }
        assert_eq!(parent("nothing"), None);
    }
}

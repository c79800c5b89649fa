//! Ends what the step has left running outside of its process group. As the first process of a container there is nothing
//! to do: the kernel kills the rest with it. On a host, orphans become this process's children (it is their subreaper) and
//! are killed until none is left.

use std::fs;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpid};

/// A step that forks faster than it is killed is not waited for any longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// `rest` is called between two rounds.
pub(crate) fn kill_all(mut rest: impl FnMut()) {
    if getpid() == Pid::from_raw(1) {
        return;
    }
    let until = Instant::now() + PATIENCE;
    loop {
        if !reap_all() || Instant::now() >= until {
            return;
        }
        for child in children() {
            // Whoever has ended meanwhile needs no signal.
            let _ = kill(child, Signal::SIGKILL);
        }
        rest();
    }
}

/// Whether there are children left.
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

/// The parent in a line of `/proc/<pid>/stat`: the second word after the name, which stands in parentheses and may contain
/// anything, parentheses too.
fn parent(stat: &str) -> Option<Pid> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok().map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_whatever_the_name() {
        for line in ["7 (sh) S 3 7 7 0", "7 (a b) c) S 3 7 7 0", "7 ()) 9 (x) Z 3 7"] {
            assert_eq!(parent(line), Some(Pid::from_raw(3)), "{line}");
        }
        assert_eq!(parent("nothing"), None);
    }
}

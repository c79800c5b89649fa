//! Orphans of a step are reaped while it runs, and killed when it ends.

use nix::sys::signal::Signal;

use crate::supervised::{Supervised, eventually, processes, runs};

/// Leaves the process group and the session, as a daemon does.
const DAEMON: &str = "setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 600' &";

#[test]
fn orphans_are_reaped_while_the_step_runs() {
    let mut step = Supervised::script("for i in 1 2 3 4; do (sh -c 'exit 0' &); done; echo ready; sleep 600");
    assert_eq!(step.line(), "ready");
    let own = step.pid().as_raw();
    eventually("only the step itself is left", || {
        let children: Vec<_> = processes().into_iter().filter(|&(_, _, parent)| parent == own).collect();
        children.len() == 1 && children.iter().all(|&(_, state, _)| state != 'Z')
    });
}

#[test]
fn a_daemon_is_killed_when_its_step_ends() {
    let mut step = Supervised::script(&format!("{DAEMON} sleep 0.2; exit 5"));
    let daemon = step.read_pid();
    assert_eq!(step.end().0, 5);
    assert!(!runs(daemon));
}

#[test]
fn killing_the_step_kills_its_daemons() {
    let mut step = Supervised::script(&format!("{DAEMON} sleep 600"));
    let daemon = step.read_pid();
    step.send(Signal::SIGUSR1);
    assert_eq!(step.end().0, 137);
    assert!(!runs(daemon));
}

#[test]
fn a_background_process_is_killed_when_its_step_ends() {
    let mut step = Supervised::script("sleep 600 & echo $!");
    let left = step.read_pid();
    assert_eq!(step.end().0, 0);
    assert!(!runs(left));
}

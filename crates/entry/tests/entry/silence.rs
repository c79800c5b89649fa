//! A step is killed when its runner has fallen silent, and not before.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::supervised::{Supervised, eventually, pause, runs};

const STUBBORN: &str = "trap '' TERM INT HUP; echo $$; while :; do sleep 0.1; done";
const SILENCE: &str = "2";

fn stubborn() -> Supervised {
    Supervised::program(SILENCE, &["/bin/sh", "-c", STUBBORN])
}

#[test]
fn silence_kills_a_step_that_ignores_signals() {
    let begin = Instant::now();
    let mut step = stubborn();
    let program = step.read_pid();
    let (code, output) = step.end();
    assert_eq!(code, 250);
    assert_eq!(output, "");
    assert!(begin.elapsed() >= Duration::from_secs(2));
    assert!(!runs(program));
}

#[test]
fn a_step_runs_while_the_liveness_file_changes() {
    let mut step = stubborn();
    let program = step.read_pid();
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        step.change_liveness_file();
        pause();
        assert!(!step.has_ended());
    }
    // From here on the file stays unchanged.
    assert_eq!(step.end().0, 250);
    assert!(!runs(program));
}

#[test]
fn a_program_is_not_started_before_the_liveness_file_changes() {
    let mut step = Supervised::waiting_to_start(SILENCE, &["/bin/sh", "-c", "echo started"]);
    let (code, output) = step.end();
    assert_eq!((code, output.as_str()), (250, ""));
}

#[test]
fn a_signal_ends_an_entrypoint_that_waits_to_start() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGUSR1, 137)] {
        let mut step = Supervised::waiting_to_start("600", &["/bin/sh", "-c", "echo started"]);
        eventually("signals are handled", || step.handles_signals());
        step.send(signal);
        assert_eq!(step.end(), (code, String::new()));
    }
}

#[test]
fn removing_the_liveness_file_kills_the_step_before_the_timeout() {
    let mut step = Supervised::program("600", &["/bin/sh", "-c", STUBBORN]);
    let program = step.read_pid();
    step.remove_liveness_file();
    assert_eq!(step.end().0, 250);
    eventually("the program is gone", || !runs(program));
}

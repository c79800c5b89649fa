//! A step ends when nobody answers for it any more, and not before.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::supervised::{Supervised, eventually, pause, runs};

const STUBBORN: &str = "trap '' TERM INT HUP; echo $$; while :; do sleep 0.1; done";
const SILENCE: &str = "2";

fn stubborn() -> Supervised {
    Supervised::program(SILENCE, &["/bin/sh", "-c", STUBBORN])
}

#[test]
fn silence_kills_a_step_that_listens_to_nothing() {
    let begin = Instant::now();
    let mut step = stubborn();
    let program = step.number();
    let (code, output) = step.end();
    assert_eq!(code, 250);
    assert_eq!(output, "");
    assert!(begin.elapsed() >= Duration::from_secs(2));
    assert!(!runs(program));
}

#[test]
fn a_runner_that_shows_life_keeps_its_step() {
    let mut step = stubborn();
    let program = step.number();
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        step.show_life();
        pause();
        assert!(!step.has_ended());
    }
    // And then it does not any more.
    assert_eq!(step.end().0, 250);
    assert!(!runs(program));
}

#[test]
fn a_program_is_not_started_before_the_runner_shows_life() {
    let mut step = Supervised::waiting(SILENCE, &["/bin/sh", "-c", "echo started"]);
    let (code, output) = step.end();
    assert_eq!((code, output.as_str()), (250, ""));
}

#[test]
fn a_signal_ends_a_step_that_was_not_started() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGUSR1, 137)] {
        let mut step = Supervised::waiting("600", &["/bin/sh", "-c", "echo started"]);
        eventually("signals are taken", || step.takes_signals());
        step.send(signal);
        assert_eq!(step.end(), (code, String::new()));
    }
}

#[test]
fn a_removed_file_ends_the_step_before_the_silence_would() {
    let mut step = Supervised::program("600", &["/bin/sh", "-c", STUBBORN]);
    let program = step.number();
    step.remove_alive_file();
    assert_eq!(step.end().0, 250);
    eventually("the program is gone", || !runs(program));
}

//! Signals are forwarded to the whole process group of the step.

use nix::sys::signal::Signal;

use crate::supervised::{Supervised, eventually, runs};

#[test]
fn a_step_can_handle_termination_signals() {
    for (signal, name) in [(Signal::SIGTERM, "TERM"), (Signal::SIGINT, "INT"), (Signal::SIGHUP, "HUP")] {
        let script =
            format!("trap 'echo tidied up; exit 7' {name}; echo ready; while :; do sleep 0.05; done");
        let mut step = Supervised::script(&script);
        assert_eq!(step.line(), "ready");
        step.send(signal);
        let (code, output) = step.end();
        // Before that line the shell may print that its `sleep` was terminated.
        assert!(code == 7 && output.ends_with("tidied up\n"), "{name}: {code} {output}");
    }
}

#[test]
fn every_process_of_the_group_gets_the_signal() {
    let script = "trap 'wait $child; echo child $?; exit 0' TERM; \
                  sh -c 'trap \"exit 0\" TERM; echo ready; while :; do sleep 0.05; done' & child=$!; \
                  while :; do sleep 0.05; done";
    let mut step = Supervised::script(script);
    assert_eq!(step.line(), "ready");
    step.send(Signal::SIGTERM);
    let (code, output) = step.end();
    assert!(code == 0 && output.ends_with("child 0\n"), "{code} {output}");
}

#[test]
fn a_step_that_ignores_sigterm_keeps_running() {
    // The step prints one line per iteration: more lines have to follow after the signal.
    let mut step = Supervised::script("trap '' TERM; echo $$; while echo turn; do sleep 0.05; done");
    let program = step.read_pid();
    assert_eq!(step.line(), "turn");
    step.send(Signal::SIGTERM);
    for _ in 0..10 {
        assert_eq!(step.line(), "turn");
    }
    assert!(runs(program));
}

#[test]
fn the_step_dies_with_its_supervisor() {
    let mut step = Supervised::script("echo $$; exec sleep 600");
    let program = step.read_pid();
    assert!(runs(program));
    step.send(Signal::SIGKILL);
    eventually("the program is gone", || !runs(program));
}

//! Signals reach the step, and all of its group.

use nix::sys::signal::Signal;

use crate::supervised::{Supervised, eventually, runs};

#[test]
fn a_step_can_end_in_its_own_way() {
    for (signal, name) in [(Signal::SIGTERM, "TERM"), (Signal::SIGINT, "INT"), (Signal::SIGHUP, "HUP")] {
        let script =
            format!("trap 'echo tidied up; exit 7' {name}; echo ready; while :; do sleep 0.05; done");
        let mut step = Supervised::script(&script);
        assert_eq!(step.line(), "ready");
        step.send(signal);
        let (code, output) = step.end();
        // Before that the shell may say that its `sleep` was ended.
        assert!(code == 7 && output.ends_with("tidied up\n"), "{name}: {code} {output}");
    }
}

#[test]
fn every_process_of_the_group_is_asked() {
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
fn a_step_that_does_not_listen_goes_on() {
    // It counts its turns: after the signal there have to be more of them.
    let mut step = Supervised::script("trap '' TERM; echo $$; while echo turn; do sleep 0.05; done");
    let program = step.number();
    assert_eq!(step.line(), "turn");
    step.send(Signal::SIGTERM);
    for _ in 0..10 {
        assert_eq!(step.line(), "turn");
    }
    assert!(runs(program));
}

#[test]
fn the_step_does_not_outlive_its_supervisor() {
    let mut step = Supervised::script("echo $$; exec sleep 600");
    let program = step.number();
    assert!(runs(program));
    step.send(Signal::SIGKILL);
    eventually("the program is gone", || !runs(program));
}

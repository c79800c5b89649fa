//! Exit codes of the entrypoint, and the output that it forwards.

use crate::supervised::Supervised;

#[test]
fn the_exit_code_of_the_step_is_forwarded() {
    for code in [0, 1, 3, 127, 200, 255] {
        assert_eq!(Supervised::script(&format!("exit {code}")).end().0, code);
    }
}

#[test]
fn death_by_signal_is_reported_as_128_plus_its_number() {
    for (name, number) in [("KILL", 9), ("TERM", 15), ("SEGV", 11), ("USR1", 10)] {
        assert_eq!(Supervised::script(&format!("kill -{name} $$")).end().0, 128 + number, "{name}");
    }
}

#[test]
fn a_missing_program_has_the_exit_code_that_shells_use() {
    let (code, output) = Supervised::program("600", &["/no/such/program"]).end();
    assert_eq!(code, 127);
    assert!(output.contains("/no/such/program could not be started"), "{output}");
    assert_eq!(Supervised::program("600", &["/etc/passwd"]).end().0, 126);
}

#[test]
fn stdout_and_stderr_are_one_ordered_stream() {
    let script = "for i in 1 2 3; do echo out $i; echo err $i >&2; done";
    let (code, output) = Supervised::script(script).end();
    assert_eq!((code, output.as_str()), (0, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"));
}

#[test]
fn output_bytes_are_forwarded_unchanged() {
    let (_, output) = Supervised::script(r"printf '\033[31mred\033[0m\r\n\007'").end();
    assert_eq!(output, "\u{1b}[31mred\u{1b}[0m\r\n\u{7}");
}

#[test]
fn a_broken_pipe_kills_its_writer() {
    // Rust programs ignore SIGPIPE; the step's program must not inherit that.
    assert_eq!(Supervised::script("yes | head -n 1").end(), (0, "y\n".to_owned()));
}

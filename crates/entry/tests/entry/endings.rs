//! What the entrypoint says at the end, and what the step said before.

use crate::supervised::Supervised;

#[test]
fn the_exit_code_is_the_steps() {
    for code in [0, 1, 3, 127, 200, 255] {
        assert_eq!(Supervised::script(&format!("exit {code}")).end().0, code);
    }
}

#[test]
fn a_signal_is_told_as_128_and_its_number() {
    for (name, number) in [("KILL", 9), ("TERM", 15), ("SEGV", 11), ("USR1", 10)] {
        assert_eq!(Supervised::script(&format!("kill -{name} $$")).end().0, 128 + number, "{name}");
    }
}

#[test]
fn a_program_that_is_not_there_is_told_as_shells_do() {
    let (code, output) = Supervised::program("600", &["/no/such/program"]).end();
    assert_eq!(code, 127);
    assert!(output.contains("/no/such/program could not be started"), "{output}");
    assert_eq!(Supervised::program("600", &["/etc/passwd"]).end().0, 126);
}

#[test]
fn both_outputs_are_one_stream_in_order() {
    let script = "for i in 1 2 3; do echo out $i; echo err $i >&2; done";
    let (code, output) = Supervised::script(script).end();
    assert_eq!((code, output.as_str()), (0, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"));
}

#[test]
fn bytes_are_passed_on_as_they_are() {
    let (_, output) = Supervised::script(r"printf '\033[31mred\033[0m\r\n\007'").end();
    assert_eq!(output, "\u{1b}[31mred\u{1b}[0m\r\n\u{7}");
}

#[test]
fn a_broken_pipe_ends_a_step_as_it_would_anywhere() {
    // Rust's programs ignore that signal; what they start must not.
    assert_eq!(Supervised::script("yes | head -n 1").end(), (0, "y\n".to_owned()));
}

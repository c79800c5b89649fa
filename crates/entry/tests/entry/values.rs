//! Values that arrive by standard input: they become variables and files of the step's program only.

use std::fs;

use crate::supervised::{Supervised, eventually, pause};

/// Starts an entrypoint with these values.
fn started(script: &str, values: &[(u8, &str, &str)]) -> Supervised {
    let mut step = Supervised::waiting_for_values(script);
    for (kind, name, value) in values {
        step.send_value(*kind, name, value.as_bytes());
    }
    step.send_value(b's', "", b"");
    step.allow_start();
    step
}

#[test]
fn values_are_variables_of_the_program() {
    let script = "printf '%s|' \"$KEY\" \"$OTHER\"";
    let mut step = started(script, &[(b'v', "KEY", "a 'b'\nc=d"), (b'v', "OTHER", "ä")]);
    assert_eq!(step.end(), (0, "a 'b'\nc=d|ä|".to_owned()));
}

#[test]
fn a_file_is_readable_by_the_steps_user_only_and_its_variable_has_the_path() {
    let script = "cat \"$CONFIG\"; ls -l \"$CONFIG\" | cut -c 1-10; echo \"$CONFIG\"";
    let mut step = started(script, &[(b'f', "CONFIG", "first\n")]);
    let path = step.values().join("CONFIG");
    let expected = format!("first\n-r--------\n{}\n", path.display());
    assert_eq!(step.end(), (0, expected));
    // The entrypoint removes the file, and the folder.
    assert!(!path.exists() && !step.values().exists());
}

#[test]
fn a_later_value_replaces_its_file_while_the_program_runs() {
    let script = "until [ \"$(cat \"$TOKEN\")\" = second ]; do sleep 0.05; done; \
                  ls -A \"${TOKEN%/*}\"; ls -l \"$TOKEN\" | cut -c 1-10";
    let mut step = started(script, &[(b'f', "TOKEN", "first")]);
    step.send_value(b'f', "TOKEN", b"second");
    assert_eq!(step.end(), (0, "TOKEN\n-r--------\n".to_owned()));
}

#[test]
fn what_the_step_puts_in_the_way_of_a_later_value_is_replaced() {
    // Both paths are links to a file that must not change.
    let script = "cd \"${TOKEN%/*}\"; echo own > ../own; ln -s ../own .TOKEN.new; ln -sf ../own TOKEN; echo ready; \
                  until [ \"$(cat TOKEN)\" = second ]; do sleep 0.05; done; cat ../own";
    let mut step = started(script, &[(b'f', "TOKEN", "first")]);
    assert_eq!(step.line(), "ready");
    step.send_value(b'f', "TOKEN", b"second");
    assert_eq!(step.end(), (0, "own\n".to_owned()));
}

#[test]
fn a_later_value_that_could_not_be_written_is_written_when_the_way_is_free() {
    let script = "cd \"${TOKEN%/*}\"; mkdir .TOKEN.new; echo ready; while [ ! -e go ]; do sleep 0.05; done; cat TOKEN; \
                  rmdir .TOKEN.new; until [ \"$(cat TOKEN)\" = third ]; do sleep 0.05; done; ls -A";
    let mut step = started(script, &[(b'f', "TOKEN", "first\n")]);
    assert_eq!(step.line(), "ready");
    step.send_value(b'f', "TOKEN", b"second");
    pause();
    step.send_value(b'f', "TOKEN", b"third");
    pause();
    fs::write(step.values().join("go"), "").unwrap();
    // The latest value wins.
    let (code, output) = step.end();
    assert_eq!((code, output.as_str()), (0, "first\nTOKEN\ngo\n"));
}

#[test]
fn an_invalid_later_value_does_not_end_the_program() {
    let script = "echo ready; until [ -e \"${TOKEN%/*}/go\" ]; do sleep 0.05; done; cat \"$TOKEN\"";
    let mut step = started(script, &[(b'f', "TOKEN", "first")]);
    assert_eq!(step.line(), "ready");
    step.send_value(b'v', "LATE", b"value-of-late");
    step.send_value(b'f', "../TOKEN", b"value-of-path");
    step.close_input();
    fs::write(step.values().join("go"), "").unwrap();
    let (code, output) = step.end();
    assert_eq!(code, 0);
    assert!(output.ends_with("first") && !output.contains("value-of"), "{output}");
}

#[test]
fn the_program_has_no_input_and_inherits_none() {
    let script = "cat; readlink /proc/self/fd/0; ls /proc/self/fd | wc -l";
    let (_, expected) = Supervised::script(script).end();
    assert!(expected.starts_with("/dev/null\n"), "{expected}");
    let mut step = started(script, &[(b'v', "KEY", "hunter22")]);
    assert_eq!(step.end(), (0, expected));
}

#[test]
fn the_program_waits_for_all_values() {
    let mut step = Supervised::waiting_for_values("echo \"$KEY\"");
    step.send_value(b'v', "KEY", b"hunter22");
    for _ in 0..20 {
        step.change_liveness_file();
        pause();
        assert!(!step.has_child() && !step.has_ended());
    }
    step.send_value(b's', "", b"");
    step.allow_start();
    assert_eq!(step.end(), (0, "hunter22\n".to_owned()));
}

#[test]
fn the_program_does_not_start_with_values_before_the_liveness_file_changes() {
    let mut step = Supervised::waiting_for_values("echo started");
    step.send_value(b's', "", b"");
    for _ in 0..20 {
        pause();
        assert!(!step.has_child() && !step.has_ended());
    }
}

#[test]
fn large_values_arrive_in_any_pieces() {
    let large = "x".repeat(60_000);
    let mut step = Supervised::waiting_for_values("echo ${#A} ${#B} ${#C} ${#D}");
    for name in ["A", "B", "C", "D"] {
        step.send_value(b'v', name, large.as_bytes());
    }
    // The last frame arrives byte by byte.
    for byte in [b's', 0, 0, 0, 0, 0, 0, 0, 0] {
        step.send_bytes(&[byte]);
        pause();
    }
    step.allow_start();
    assert_eq!(step.end(), (0, "60000 60000 60000 60000\n".to_owned()));
}

#[test]
fn invalid_values_start_nothing() {
    let value = b"value-of-it".as_slice();
    let huge = [b"value-of-it".as_slice(), &[b'x'; 1024 * 1024]].concat();
    for (kind, name, value) in [
        (b'f', "../KEY", value),
        (b'f', "", value),
        (b'f', ".", value),
        (b'v', "A=B", value),
        (b'v', "9A", value),
        (b'v', "KEY", b"value-of-it\0".as_slice()),
        (b'x', "KEY", value),
        (b'v', "KEY", &huge[..]),
    ] {
        let mut step = Supervised::waiting_for_values("echo started");
        // The entrypoint may have ended before it has read all of a value that is too large.
        step.try_send_value(kind, name, value);
        step.try_send_value(b's', "", b"");
        eventually("the entrypoint ends", || {
            step.change_liveness_file();
            step.has_ended()
        });
        let (code, output) = step.end();
        assert_eq!((code, output.as_str()), (251, ""), "{name}");
    }
}

#[test]
fn a_runner_that_is_gone_before_it_has_sent_all_values_starts_nothing() {
    for sent in [&b""[..], b"v\0\0\0\x03\0\0\0\x08KEYhunter22", b"v\0\0"] {
        let mut step = Supervised::waiting_for_values("echo started");
        step.send_bytes(sent);
        step.close_input();
        step.allow_start();
        assert_eq!(step.end(), (251, String::new()));
    }
}

//! The program `greenroom-runner` itself: what it refuses.

use std::process::{Command, Stdio};

use crate::support::test_runner::entry;

fn program(url: &str, folder: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom-runner"));
    command.args(["--url", url, "--token", "grr_test", "--backend", "process", "--name", "test"]);
    command.arg("--work-dir").arg(folder.join("work")).arg("--entry").arg(entry());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

#[test]
fn a_runner_does_not_start_with_plain_http_to_another_machine() {
    let folder = tempfile::tempdir().unwrap();
    let output = program("http://greenroom.test/api/v1", folder.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("use https://"), "{text}");
    assert!(!folder.path().join("work").exists());
}

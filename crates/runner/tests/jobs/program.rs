//! The program `greenroom-runner` itself: what it refuses, and how it protects its memory.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::eventually;
use crate::support::test_runner::entry;

fn program(url: &str, folder: &Path) -> Command {
    program_at(Path::new(env!("CARGO_BIN_EXE_greenroom-runner")), &entry(), url, folder)
}

fn program_at(runner: &Path, entry: &Path, url: &str, folder: &Path) -> Command {
    let mut command = Command::new(runner);
    command.args(["--url", url, "--token", "grr_test", "--backend", "process", "--name", "test"]);
    command.arg("--work-dir").arg(folder.join("work")).arg("--entry").arg(entry);
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

/// The kernel makes root the owner of the `/proc` files of a process that is not dumpable. No other user can
/// open its memory or its environment then.
#[tokio::test]
async fn the_memory_of_a_runner_can_not_be_read_by_its_user() {
    let folder = tempfile::tempdir().unwrap();
    // Copies, because another user may not be able to open the folder of the build.
    let (copy, entry_copy) = (folder.path().join("runner"), folder.path().join("entry"));
    std::fs::copy(env!("CARGO_BIN_EXE_greenroom-runner"), &copy).unwrap();
    std::fs::copy(entry(), &entry_copy).unwrap();
    let mut command = program_at(&copy, &entry_copy, "http://127.0.0.1:9/api/v1", folder.path());
    let own = std::fs::metadata(folder.path()).unwrap().uid();
    // If this test runs as root, the runner needs another user.
    let user = if own == 0 { 12_345 } else { own };
    std::os::unix::fs::chown(folder.path(), Some(user), None).unwrap();
    if own == 0 {
        command.uid(user).gid(user);
    }
    let mut runner = command.stderr(Stdio::null()).spawn().unwrap();
    let process = format!("/proc/{}", runner.id());
    let owner = || std::fs::metadata(format!("{process}/environ")).map(|file| file.uid());
    eventually("the runner is protected", || owner().is_ok_and(|owner| owner == 0)).await;
    let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    assert_eq!(uid.split_whitespace().next().unwrap().parse::<u32>().unwrap(), user);
    runner.kill().unwrap();
    runner.wait().unwrap();
}

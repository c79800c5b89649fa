//! Secrets of steps: they reach the step's program and nothing else.

use std::path::Path;

use greenroom_api_types::runner::StepEndStatus;

use crate::support::jobs::{job, secret, secret_file};
use crate::support::server::Server;
use crate::support::test_runner::TestRunner;

const VALUE: &str = "correct-horse-battery";

/// Returns the files below a folder that contain the text.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_with(&path, text));
        } else if path.is_file() {
            let content = std::fs::read(&path).unwrap_or_default();
            if content.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[tokio::test]
async fn a_secret_reaches_the_program_and_is_masked_in_its_log() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| rules.secrets = vec![secret("KEY", VALUE), secret("OTHER", "hunter22")]);
    let script = format!(
        "[ \"$KEY\" = {VALUE} ] && echo same; echo \"a $KEY b\"; printf %s \"$KEY\" | base64; \
         printf correct-; sleep 0.5; printf horse-; sleep 0.5; echo battery $OTHER"
    );
    server.give(job(&[("build", &script), ("next", "echo ${OTHER}0")]));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(record.log_text("build"), "same\na *** b\n***\n*** ***\n");
        assert_eq!(record.end("build").log_bytes, record.log("build").len() as u64);
        assert_eq!(record.log_text("next"), "***0\n");
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_secret_file_is_in_memory_and_is_removed_after_the_step() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| {
        rules.secrets = vec![secret_file("CONFIG", [VALUE.as_bytes(), &[0, 255]].concat())]
    });
    let script = "ls -l \"$CONFIG\" | cut -c 1-10; ls -ld \"${CONFIG%/*}\" | cut -c 1-10; wc -c < \"$CONFIG\"; \
                  stat -f -c %T \"$CONFIG\"; echo \"$CONFIG\"";
    server.give(job(&[("build", script)]));
    assert_eq!(server.until_complete().await.error, None);
    let log = server.recorded(|record| record.log_text("build"));
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[..4], ["-r--------", "drwx------", "23", "tmpfs"], "{log}");
    let folder = Path::new(lines[4]).parent().unwrap();
    runner.finish().await;
    assert!(folder.starts_with("/dev/shm/") && !folder.exists(), "{log}");
}

#[tokio::test]
async fn a_secret_is_in_no_file_of_the_job_and_in_no_process_but_the_steps() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| rules.secrets = vec![secret("KEY", VALUE), secret_file("CONFIG", VALUE)]);
    // The entrypoint is the parent of the step's shell.
    let script = "tr '\\0' '\\n' < /proc/$PPID/cmdline | grep -c horse; echo ready; \
                  while [ ! -e go ]; do sleep 0.05; done; cat; echo end";
    server.give(job(&[("build", &format!("set +e; {script}"))]));
    server.until("the step runs", |record| record.log("build") == b"0\nready\n").await;
    assert_eq!(files_with(runner.folder.path(), VALUE), Vec::<String>::new());
    let jobs = runner.folder.path().join("jobs");
    let job = std::fs::read_dir(jobs).unwrap().next().unwrap().unwrap().path();
    std::fs::write(job.join("workspace/go"), "").unwrap();
    server.until_complete().await;
    server.recorded(|record| assert_eq!(record.log_text("build"), "0\nready\nend\n"));
    runner.finish().await;
}

#[tokio::test]
async fn an_output_with_a_secret_fails_the_step() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| rules.secrets = vec![secret("KEY", VALUE)]);
    let script = "echo fine=1 > \"$GREENROOM_OUTPUT\"; \
                  echo basic=$(printf 'user:%s' \"$KEY\" | base64) >> \"$GREENROOM_OUTPUT\"";
    server.give(job(&[("build", script), ("next", "true")]));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(record.calls, ["start build", "end build", "complete"]);
        let end = record.end("build");
        assert_eq!((end.status, end.outputs.len()), (StepEndStatus::Failed, 0));
        assert_eq!(end.reason.as_deref(), Some("output `basic` holds the secret `name-of-KEY`"));
    });
    runner.finish().await;
}

#[tokio::test]
async fn the_reason_of_a_failed_step_is_masked() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| rules.secrets = vec![secret("KEY", "hunter22")]);
    server.give(job(&[("build", "printf '%s=\\033\\n' \"$KEY\" > \"$GREENROOM_OUTPUT\"")]));
    server.until_complete().await;
    server.recorded(|record| {
        let reason = record.end("build").reason.clone().unwrap();
        assert!(reason.contains("`***`") && !reason.contains("hunter22"), "{reason}");
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_secret_that_can_not_be_a_variable_fails_the_step_before_it_starts() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| rules.secrets = vec![secret("KEY", b"hunter\x0022")]);
    server.give(job(&[("build", "echo started")]));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        let end = record.end("build");
        assert_eq!((end.status, end.exit_code), (StepEndStatus::Failed, None));
        assert!(end.reason.as_ref().unwrap().contains("`name-of-KEY`"), "{:?}", end.reason);
        assert_eq!(record.log_text("build"), "");
    });
    runner.finish().await;
}

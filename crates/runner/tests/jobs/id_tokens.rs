//! Id tokens of steps: they are in files that are replaced before they expire, and nowhere else.

use std::path::PathBuf;
use std::time::Duration;

use greenroom_api_types::runner::StepEndStatus;

use crate::support::eventually;
use crate::support::jobs::{job, secret};
use crate::support::record::IdTokenResponse::{OtherVariable, Problem, Silence, Success};
use crate::support::record::{IdTokenResponse, Record};
use crate::support::server::Server;
use crate::support::test_runner::TestRunner;

/// A step that reads its token every 100 ms for this many seconds. It counts the expired and the missing ones, and
/// prints each new one.
fn reading_for(seconds: u32) -> String {
    format!(
        "reads=0; expired=0; missing=0; last=; end=$(( $(date +%s) + {seconds} )); \
         while [ $(date +%s) -lt $end ]; do \
           token=$(cat \"$TOKEN\"); expires=${{token##*.}}; expires=${{expires%%-*}}; reads=$((reads + 1)); \
           if [ -z \"$token\" ]; then missing=$((missing + 1)); \
           elif [ $(date +%s) -ge \"$expires\" ]; then expired=$((expired + 1)); fi; \
           if [ \"$token\" != \"$last\" ]; then echo \"new $token\"; last=$token; fi; \
           sleep 0.1; \
         done; echo reads=$reads; echo expired=$expired; echo missing=$missing"
    )
}

/// Returns the number after `name=` in the step's log.
fn number(log: &str, name: &str) -> u32 {
    let line = log.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name}: {log}"))
}

fn assert_no_token_in_log(record: &Record, step: &str) {
    let log = record.log_text(step);
    for token in &record.id_tokens {
        let signature = token.rsplit('.').next().unwrap();
        assert!(!log.contains(signature), "{signature}: {log}");
    }
}

async fn start(seconds: i64, responses: &[IdTokenResponse]) -> (Server, TestRunner) {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| {
        rules.id_tokens = vec!["TOKEN"];
        rules.id_token_seconds = seconds;
        rules.id_token_responses = responses.to_vec();
    });
    (server, runner)
}

/// Runs a step for several lifetimes, and returns its log.
async fn log_of_reading(lifetime: i64, seconds: u32, responses: &[IdTokenResponse]) -> String {
    let (server, runner) = start(lifetime, responses).await;
    server.give(job(&[("build", &reading_for(seconds))]));
    assert_eq!(server.until_complete().await.error, None);
    let log = server.recorded(|record| {
        assert_eq!(record.end("build").status, StepEndStatus::Succeeded);
        assert_no_token_in_log(record, "build");
        record.log_text("build")
    });
    runner.finish().await;
    assert!(number(&log, "reads") > seconds, "{log}");
    assert_eq!(number(&log, "expired"), 0, "{log}");
    log
}

#[tokio::test]
async fn a_token_is_in_a_file_of_the_steps_user_and_in_no_variable() {
    let (server, runner) = start(600, &[]).await;
    server.configure(|rules| {
        rules.id_tokens = vec!["AWS_WEB_IDENTITY_TOKEN_FILE", "TOKEN"];
        rules.secrets = vec![secret("KEY", "hunter22")];
    });
    let script = "ls -l \"$TOKEN\" | cut -c 1-10; stat -f -c %T \"$TOKEN\"; \
                  echo $(env | grep -c signature) $(cat \"$TOKEN\" | grep -c signature-1) $KEY; \
                  echo \"$AWS_WEB_IDENTITY_TOKEN_FILE\"; cat \"$AWS_WEB_IDENTITY_TOKEN_FILE\"; echo; base64 -w 0 \"$TOKEN\"";
    server.give(job(&[("build", &format!("set +e; {script}"))]));
    assert_eq!(server.until_complete().await.error, None);
    let log = server.recorded(|record| {
        assert_no_token_in_log(record, "build");
        assert_eq!(record.id_token_requests, 0);
        record.log_text("build")
    });
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[..3], ["-r--------", "tmpfs", "0 1 ***"], "{log}");
    let file = PathBuf::from(lines[3]);
    assert!(file.starts_with("/dev/shm/") && file.ends_with("AWS_WEB_IDENTITY_TOKEN_FILE"), "{log}");
    // Of base64 the padding is left.
    assert_eq!((lines[4], lines[5].trim_end_matches('=')), ("***", "***"), "{log}");
    runner.finish().await;
    assert!(!file.parent().unwrap().exists());
}

#[tokio::test]
async fn a_step_never_reads_an_expired_token() {
    let mut late = vec![Problem(503); 8];
    late.extend([Success; 100]);
    let (always, failing, hanging, late) = tokio::join!(
        log_of_reading(6, 13, &[]),
        log_of_reading(8, 13, &[Problem(503), Problem(500), Problem(429), Success]),
        log_of_reading(12, 13, &[Silence, OtherVariable, Problem(404), Success]),
        log_of_reading(4, 13, &late),
    );
    for log in [&always, &failing, &hanging] {
        assert_eq!(number(log, "missing"), 0, "{log}");
    }
    // The first one, and one every three seconds. All of them are masked as soon as they are printed.
    let new = |log: &str| log.lines().filter(|line| *line == "new ***").count();
    assert!((3..=6).contains(&new(&always)), "{always}");
    assert!(new(&failing) >= 2, "{failing}");
    assert!(new(&hanging) >= 2, "{hanging}");
    // 8 requests take longer than two seconds: the file is emptied before its token expires, and filled later.
    assert!(number(&late, "missing") > 0 && late.lines().any(|line| line == "new "), "{late}");
    assert!(number(&late, "missing") < number(&late, "reads") / 2 && new(&late) >= 3, "{late}");
}

#[tokio::test]
async fn no_token_is_requested_after_the_step() {
    let (server, runner) = start(2, &[]).await;
    server.give(job(&[("build", "sleep 2.5"), ("next", "true")]));
    assert_eq!(server.until_complete().await.error, None);
    let requests = server.recorded(|record| record.id_token_requests);
    assert!(requests >= 1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.recorded(|record| assert_eq!(record.id_token_requests, requests));
    runner.finish().await;
}

#[tokio::test]
async fn no_token_is_requested_after_the_lease_is_lost() {
    let (server, runner) = start(2, &[]).await;
    let mut short = job(&[("build", "echo ready; sleep 60")]);
    short.lease_seconds = 4;
    server.give(short);
    server.until("the step runs", |record| record.log("build") == b"ready\n").await;
    server.configure(|rules| rules.rejects_heartbeats = true);
    // The runner removes the job's folder when it has lost the job.
    let jobs = runner.folder.path().join("jobs");
    eventually("the job is lost", || std::fs::read_dir(&jobs).unwrap().count() == 0).await;
    let requests = server.recorded(|record| record.id_token_requests);
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.recorded(|record| assert_eq!(record.id_token_requests, requests));
    runner.finish().await;
}

#[tokio::test]
async fn a_job_that_the_server_has_taken_back_ends_with_the_request_for_a_token() {
    let (server, runner) = start(4, &[Problem(410)]).await;
    let mut slow = job(&[("build", "echo ready; sleep 60")]);
    slow.heartbeat_seconds = 50;
    slow.lease_seconds = 100;
    server.give(slow);
    server.until("the step runs", |record| record.log("build") == b"ready\n").await;
    let jobs = runner.folder.path().join("jobs");
    eventually("the job is lost", || std::fs::read_dir(&jobs).unwrap().count() == 0).await;
    server.recorded(|record| assert_eq!(record.calls, ["start build"]));
    runner.finish().await;
}

#[tokio::test]
async fn an_output_with_a_renewed_token_fails_the_step() {
    let (server, runner) = start(10, &[]).await;
    let script = "first=$(cat \"$TOKEN\"); while [ \"$(cat \"$TOKEN\")\" = \"$first\" ]; do sleep 0.1; done; \
                  echo token=$(cat \"$TOKEN\") > \"$GREENROOM_OUTPUT\"";
    server.give(job(&[("build", script)]));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        let end = record.end("build");
        assert_eq!(end.reason.as_deref(), Some("output `token` holds the secret `TOKEN`"));
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_step_does_not_start_with_a_token_of_unknown_lifetime() {
    let (server, runner) = start(0, &[]).await;
    server.give(job(&[("build", "echo started")]));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        let end = record.end("build");
        assert_eq!((end.status, end.exit_code), (StepEndStatus::Errored, None));
        assert_eq!(end.reason.as_deref(), Some("the id token for `TOKEN` has no valid lifetime"));
        assert_eq!(record.log_text("build"), "");
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_renewed_token_is_not_written_through_a_link_of_the_step() {
    let (server, runner) = start(10, &[]).await;
    let script = "echo own > own; ln -sf $PWD/own \"$TOKEN\"; ln -sf $PWD/own \"${TOKEN%/*}/.TOKEN.new\"; \
                  while [ -L \"$TOKEN\" ]; do sleep 0.1; done; cat own; cat \"$TOKEN\"";
    server.give(job(&[("build", script)]));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| assert_eq!(record.log_text("build"), "own\n***"));
    runner.finish().await;
}

#[tokio::test]
async fn a_step_that_blocks_or_removes_its_file_harms_only_itself() {
    let (server, runner) = start(4, &[]).await;
    // A folder in the way of the new file; then the whole folder of the files is gone.
    let script = "mkdir \"${TOKEN%/*}/.TOKEN.new\"; sleep 3; rm -rf \"${TOKEN%/*}\"; sleep 3; echo end";
    server.give(job(&[("build", script), ("next", "cat \"$TOKEN\"")]));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(record.log_text("build"), "end\n");
        assert_eq!(record.log_text("next"), "***");
    });
    runner.finish().await;
}

//! Steps that succeed, fail, time out, or may not start.

use std::collections::BTreeMap;

use greenroom_api_types::runner::StepEndStatus;

use crate::support::jobs::job;
use crate::support::server::Server;
use crate::support::test_runner::TestRunner;

#[tokio::test]
async fn a_successful_job() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.give(job(&[
        (
            "build",
            "echo building > built; echo hello; echo oops >&2; echo version=1.2 >> \"$GREENROOM_OUTPUT\"",
        ),
        ("check", "cat built; echo \"stage $GREENROOM_STAGE in ${PWD##*/}\""),
    ]));
    let complete = server.until_complete().await;
    assert_eq!((complete.error, complete.timed_out, complete.commit_id), (None, false, None));
    server.recorded(|record| {
        assert_eq!(record.calls, ["start build", "end build", "start check", "end check", "complete"]);
        assert_eq!(record.log_text("build"), "hello\noops\n");
        assert_eq!(record.log_text("check"), "building\nstage build in workspace\n");
        let end = record.end("build");
        assert_eq!((end.status, end.exit_code, end.log_bytes), (StepEndStatus::Succeeded, Some(0), 11));
        assert_eq!(end.outputs, BTreeMap::from([("version".to_owned(), "1.2".to_owned())]));
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_step_has_the_trace_of_its_job_unless_its_definition_sets_the_variable() {
    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let mut traced = job(&[("one", "echo \"$TRACEPARENT\""), ("two", "echo \"$TRACEPARENT\"")]);
    traced.traceparent = Some(TRACE.to_owned());
    traced.steps[1].variables.insert("TRACEPARENT".to_owned(), "own".to_owned());
    server.give(traced);
    server.until_complete().await;
    server.recorded(|record| {
        assert_eq!(record.log_text("one"), format!("{TRACE}\n"));
        assert_eq!(record.log_text("two"), "own\n");
    });
    runner.finish().await;
}

#[tokio::test]
async fn no_step_starts_after_a_failed_one() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.give(job(&[("one", "true"), ("two", "echo no; false; echo never"), ("three", "true")]));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(record.calls, ["start one", "end one", "start two", "end two", "complete"]);
        let end = record.end("two");
        assert_eq!((end.status, end.exit_code), (StepEndStatus::Failed, Some(1)));
        assert_eq!(record.log_text("two"), "no\n");
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_step_whose_start_is_rejected_does_not_run() {
    for code in ["fence_outdated", "job_canceled"] {
        let server = Server::start().await;
        let runner = TestRunner::with_processes(server.port);
        let marker = runner.folder.path().join("ran");
        server.configure(|rules| rules.refuse_start = Some(code));
        server.give(job(&[("deploy", &format!("touch {}", marker.display()))]));
        assert_eq!(server.until_complete().await.error, None);
        server.recorded(|record| assert_eq!(record.calls, ["complete"]));
        assert!(!marker.exists(), "{code}");
        runner.finish().await;
    }
}

#[tokio::test]
async fn outputs_without_a_name_fail_the_step() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.give(job(&[("build", "echo 'no name' > \"$GREENROOM_OUTPUT\"")]));
    server.until_complete().await;
    server.recorded(|record| {
        assert_eq!(record.end("build").status, StepEndStatus::Failed);
        assert!(record.end("build").reason.as_ref().unwrap().contains("line 1"));
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_step_that_times_out_is_terminated() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let mut slow = job(&[("slow", "echo begun; sleep 600"), ("after", "true")]);
    slow.steps[0].timeout_seconds = Some(1);
    server.give(slow);
    let complete = server.until_complete().await;
    assert_eq!((complete.timed_out, complete.error), (true, None));
    server.recorded(|record| {
        let end = record.end("slow");
        assert_eq!(
            (end.status, end.reason.as_deref()),
            (StepEndStatus::Failed, Some("the step took more than 1 s"))
        );
        assert_eq!(record.log_text("slow"), "begun\n");
        assert!(!record.calls.contains(&"start after".to_owned()));
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_step_does_not_inherit_the_runners_environment() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.give(job(&[("check", "env")]));
    server.until_complete().await;
    let environment = server.recorded(|record| record.log_text("check"));
    let mut names: Vec<_> =
        environment.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    // The shell adds PWD, and some shells add OLDPWD, SHLVL and _.
    names.retain(|name| !["OLDPWD", "PWD", "SHLVL", "_"].contains(name));
    assert_eq!(names, ["GREENROOM_OUTPUT", "GREENROOM_STAGE", "HOME", "PATH", "TMPDIR"]);
    runner.finish().await;
}

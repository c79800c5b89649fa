//! Histories of real runs, replayed by the workflow as it is now. A run that was begun by an older version has to go on
//! with the newer one, so a history that no longer fits is a defect, not an outdated file.
//!
//! `GREENROOM_KEEP_HISTORIES=1 cargo nextest run -p greenroom-worker --test engine` writes them anew, from the other tests.

use std::path::{Path, PathBuf};

use greenroom_workflows::DeploymentWorkflow;
use temporalio_client::WorkflowHistory;
use temporalio_sdk::workflow_replayer::{WorkflowReplayError, WorkflowReplayer, WorkflowReplayerOptions};

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../workflows/tests/histories")
}

async fn replay(json: &str) -> Result<(), WorkflowReplayError> {
    let options = WorkflowReplayerOptions::new().register_workflow::<DeploymentWorkflow>().unwrap().build();
    let history = WorkflowHistory::from_json(json.as_bytes()).unwrap();
    WorkflowReplayer::new(options).unwrap().replay_workflow(history).await
}

#[tokio::test(flavor = "multi_thread")]
async fn old_runs_still_fit() {
    let mut files: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5, "the histories are there");
    for file in files {
        let json = std::fs::read_to_string(&file).unwrap();
        let outcome = local(async move || replay(&json).await).await;
        assert!(outcome.is_ok(), "{}: {outcome:?}", file.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_asks_for_something_else_is_noticed() {
    let json = std::fs::read_to_string(folder().join("three_jobs.json")).unwrap();
    // A history that another workflow has written: its other activity, its other kind of question.
    for (was, is) in [("\"run_stage\"", "\"run_something\""), ("\"core_local_activity\"", "\"something\"")] {
        assert!(json.contains(was), "{was}");
        let changed = json.replace(was, is);
        let outcome = local(async move || replay(&changed).await).await;
        assert!(outcome.is_err(), "{was} became {is}");
    }
}

/// The replayer can't change threads either.
async fn local<T: Send + 'static>(work: impl AsyncFnOnce() -> T + Send + 'static) -> T {
    let runtime = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || runtime.block_on(work())).await.unwrap()
}

//! Replays stored histories of real runs with the current workflow. A run that was started by an older
//! version has to continue with the newer one, so a history that can't be replayed is a bug in the workflow,
//! not an outdated file.
//!
//! `GREENROOM_KEEP_HISTORIES=1 cargo nextest run -p greenroom-worker --test engine` rewrites them from the
//! other tests.

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
async fn stored_histories_can_be_replayed() {
    let mut files: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5, "the histories are there");
    for file in files {
        let json = std::fs::read_to_string(&file).unwrap();
        let outcome = run_on_thread(async move || replay(&json).await).await;
        assert!(outcome.is_ok(), "{}: {outcome:?}", file.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_of_a_different_workflow_is_rejected() {
    let json = std::fs::read_to_string(folder().join("three_jobs.json")).unwrap();
    // Histories as a different workflow would have written them: another activity, another kind of marker.
    for (was, is) in [("\"run_stage\"", "\"run_something\""), ("\"core_local_activity\"", "\"something\"")] {
        assert!(json.contains(was), "{was}");
        let changed = json.replace(was, is);
        let outcome = run_on_thread(async move || replay(&changed).await).await;
        assert!(outcome.is_err(), "{was} became {is}");
    }
}

/// Runs the replayer on its own thread: like workflows, it is not `Send`.
async fn run_on_thread<T: Send + 'static>(work: impl AsyncFnOnce() -> T + Send + 'static) -> T {
    let runtime = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || runtime.block_on(work())).await.unwrap()
}

//! The clients that deploy: into an environment that they claim and release each time, and without an
//! environment for a longer job.

use std::time::{Duration, Instant};

use greenroom_domain::deployment::DeploymentStatus;
use reqwest::Method;
use serde_json::json;

use crate::fault::overload::victim::caller::Caller;
use crate::fault::overload::victim::recorder::{Deployed, Operation};
use crate::fault::overload::victim::{Stop, environment, path};

const COMMIT: &str = "0123abc";
const PAUSE: Duration = Duration::from_millis(500);
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// In a quiet system a deployment takes less than 15 seconds.
const DEPLOYMENT_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) async fn run_in_sessions(caller: Caller, name: &'static str, mut stop: Stop) {
    while !stop.is_requested() {
        // A claim that waits, as a CI job would send it.
        let claim = json!({ "context": "deploys while another tenant attacks" });
        let sessions = environment(name, "/sessions");
        let claimed = caller
            .send(Operation::Claim, Method::POST, &sessions, |request| {
                request.header("prefer", "wait=10").json(&claim)
            })
            .await;
        let Some(session) = claimed.text("sessionId").filter(|_| claimed.is_good()) else {
            stop.pause(PAUSE).await;
            continue;
        };
        let at = |rest: &str| format!("{sessions}/{session}{rest}");
        let deploy = json!({ "commitId": COMMIT });
        let accepted = caller.post(Operation::Deploy, &at("/deploy"), &deploy).await;
        if let Some(id) = accepted.text("id").filter(|_| accepted.is_good()) {
            follow(&caller, &id).await;
        }
        let released = caller.send(Operation::Release, Method::DELETE, &at(""), |request| request).await;
        if matches!(released.status, Some(404 | 409 | 410)) {
            caller.recorder.lock_lost();
        }
        if !released.is_good() {
            // The session is still held: without a release the next claim would be rejected because of it.
            stop.pause(PAUSE).await;
            caller.send(Operation::Release, Method::DELETE, &at(""), |request| request).await;
        }
    }
}

pub(super) async fn run_long(caller: Caller, mut stop: Stop) {
    while !stop.is_requested() {
        let deploy = json!({ "commitId": COMMIT });
        let accepted = caller.post(Operation::Deploy, &path("/pipelines/long/deployments"), &deploy).await;
        match accepted.text("id").filter(|_| accepted.is_good()) {
            Some(id) => follow(&caller, &id).await,
            None => stop.pause(PAUSE).await,
        }
    }
}

/// Waits for the end of a deployment, and records it.
async fn follow(caller: &Caller, id: &str) {
    let accepted_at = Instant::now();
    let mut last = String::from("never read");
    let lost = loop {
        let deployment = caller.get(&path(&format!("/deployments/{id}"))).await;
        if deployment.is_good() {
            last = deployment.text("status").unwrap_or_default();
            match last.parse() {
                Ok(DeploymentStatus::Succeeded) => break None,
                Ok(status) if status.is_final() => {
                    break Some(format!("{last}: {}", deployment.body["reason"]));
                }
                _ => {}
            }
        }
        if accepted_at.elapsed() > DEPLOYMENT_TIMEOUT {
            break Some(format!("{last} after {DEPLOYMENT_TIMEOUT:?}"));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    };
    if let Some(text) = &lost {
        caller.recorder.complain(format!("deployment {id} was lost: {text}"));
    }
    caller.recorder.deployed(Deployed { accepted_at, lost });
}

//! Starts a deployment and retries its stages, so that its approvals are opened, lapse, and are bound to something that
//! changes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::board::OpenApproval;
use super::client::Client;
use super::definition::{
    BUILD, LAPSING, LATE, MACHINE, REJECTED, TRIAL, TRIAL_ENVIRONMENT, VALID_FOR_SECONDS, slug,
};
use super::history::{Attacker, HELD, NAMED, RETRIED, STARTED, TOOK_OVER, TRANSFERRED};
use crate::fault::deployments::client::http::{ApiRequest, Outcome};
use crate::fault::deployments::organization::Organization;
use crate::fault::fixture::parse_id;

/// After this time a director cancels its deployment.
const WAIT_TIMEOUT: Duration = Duration::from_secs(240);
const ENVIRONMENTS: &str = "/ephemeral-environments";

impl Client {
    /// Directs a deployment with all kinds of gates.
    pub(crate) async fn run_gates(mut self, number: usize, owner: String) {
        let fixture = &self.shared.fixture;
        let (starter, retrier) = (fixture.starters[number].clone(), fixture.starters[number + 1].clone());
        let (slug, maintainer) = (slug(number), fixture.maintainer.clone());
        let second_version = fixture.definitions.gated(&slug, false);
        let token = starter.person.token.clone();
        let body = json!({ "commitId": commit(number) });
        let Some(deployment) = self.start(&token, &slug, body).await else { return };
        self.add_behind(deployment, starter.ways(STARTED));
        self.wait_for_end(&owner, deployment).await;
        // The approval of the stage that has failed is not valid any more.
        tokio::time::sleep(Duration::from_secs(VALID_FOR_SECONDS + 1)).await;
        // Who could not retry, because the stage was approved before it was rejected, is not behind the deployment.
        if self.retry(&retrier.person.token, deployment, REJECTED, json!({})).await {
            self.add_behind(deployment, retrier.ways(RETRIED));
        }
        self.retry(&token, deployment, LAPSING, json!({})).await;
        self.wait_for_end(&owner, deployment).await;
        let path = Organization::path(&format!("/pipelines/{slug}"));
        let change = ApiRequest {
            method: Method::PUT,
            ..ApiRequest::post(path, Some(json!({ "definition": second_version })))
        };
        self.send(&owner, change).await;
        self.retry(&token, deployment, LATE, json!({ "inputs": "latest" })).await;
        self.wait_for_end(&owner, deployment).await;
        // A new build has other outputs, so what was approved is not what would run.
        self.retry(&maintainer.token, deployment, BUILD, json!({ "allowOlder": true })).await;
        self.wait_for_end(&owner, deployment).await;
    }

    /// Directs a deployment that a service account starts on behalf of a person.
    pub(crate) async fn run_machine(mut self, owner: String) {
        let fixture = &self.shared.fixture;
        let (person, token) =
            (fixture.starters[fixture.pipelines + 1].clone(), fixture.service_token.clone());
        let named = format!("usr_{}", person.person.user);
        let body = json!({ "commitId": commit(fixture.pipelines), "onBehalfOf": { "userId": named } });
        let Some(deployment) = self.start(&token, MACHINE, body).await else { return };
        self.shared.history().by_machine.push(deployment);
        self.add_behind(deployment, person.ways(NAMED));
        self.wait_for_end(&owner, deployment).await;
    }

    /// Directs a session that is transferred while its deployment waits. That cancels the deployment; the new holder
    /// deploys again.
    pub(crate) async fn run_session(mut self, owner: String) {
        let fixture = &self.shared.fixture;
        let (first, second) = (fixture.starters[0].clone(), fixture.starters[1].clone());
        let commit_id = commit(fixture.pipelines + 1);
        let base =
            Organization::path(&format!("/pipelines/{TRIAL}{ENVIRONMENTS}/{TRIAL_ENVIRONMENT}/sessions"));
        let claim = ApiRequest::post(base.clone(), Some(json!({ "commitId": commit_id })));
        let Outcome::Done(session) = self.send(&first.person.token, claim).await else { return };
        let (Some(id), Some(deployment)) = (
            session["sessionId"].as_str().map(str::to_owned),
            session["deployments"][0]["id"].as_str().and_then(parse_id),
        ) else {
            return;
        };
        self.add_behind(deployment, first.ways(HELD));
        let approval = self.wait_for_approval(deployment).await;
        let to = json!({ "userId": format!("usr_{}", second.person.user) });
        let transfer = ApiRequest::post(format!("{base}/{id}/transfer"), Some(to));
        let Outcome::Done(session) = self.send(&first.person.token, transfer).await else { return };
        if let Some(approval) = approval {
            for attacker in first.ways(TRANSFERRED) {
                self.attack(&attacker, &approval).await;
            }
        }
        self.wait_for_end(&owner, deployment).await;
        let Some(id) = session["sessionId"].as_str().map(str::to_owned) else { return };
        let deploy = ApiRequest::post(format!("{base}/{id}/deploy"), Some(json!({ "commitId": commit_id })));
        if let Outcome::Done(record) = self.send(&second.person.token, deploy).await
            && let Some(deployment) = record["id"].as_str().and_then(parse_id)
        {
            self.add_behind(deployment, second.ways(TOOK_OVER));
            self.wait_for_end(&owner, deployment).await;
        }
        let release = ApiRequest { method: Method::DELETE, ..ApiRequest::get(format!("{base}/{id}")) };
        self.send(&second.person.token, release).await;
    }

    async fn start(&mut self, token: &str, slug: &str, body: Value) -> Option<Uuid> {
        let path = Organization::path(&format!("/pipelines/{slug}/deployments"));
        match self.send(token, ApiRequest::post(path, Some(body))).await {
            Outcome::Done(record) => record["id"].as_str().and_then(parse_id),
            Outcome::Refused(_) | Outcome::Unknown => None,
        }
    }

    /// Retries a stage and returns whether the server did. It refuses to retry a stage that has succeeded.
    async fn retry(&mut self, token: &str, deployment: Uuid, stage: &str, body: Value) -> bool {
        let path = Organization::path(&format!("/deployments/dep_{deployment}/stages/{stage}/retry"));
        matches!(self.send(token, ApiRequest::post(path, Some(body))).await, Outcome::Done(_))
    }

    fn add_behind(&self, deployment: Uuid, attackers: Vec<Attacker>) {
        self.shared.history().behind.entry(deployment).or_default().extend(attackers);
    }

    /// Waits until an approval of the deployment is open.
    async fn wait_for_approval(&mut self, deployment: Uuid) -> Option<Arc<OpenApproval>> {
        let started = Instant::now();
        while started.elapsed() < WAIT_TIMEOUT {
            let all = self.shared.board.since(0);
            if let Some(approval) = all.into_iter().find(|approval| approval.deployment == deployment) {
                return Some(approval);
            }
            self.pause(20, 60).await;
        }
        None
    }

    /// Waits until a deployment has ended, and cancels it if that takes too long.
    async fn wait_for_end(&mut self, owner: &str, deployment: Uuid) {
        let started = Instant::now();
        while started.elapsed() < WAIT_TIMEOUT {
            self.pause(150, 300).await;
            let record = self.read(owner, &format!("/deployments/dep_{deployment}")).await;
            if record.is_some_and(|record| record["endedAt"].is_string()) {
                return;
            }
        }
        let path = Organization::path(&format!("/deployments/dep_{deployment}/cancel"));
        self.send(owner, ApiRequest::post(path, Some(json!({ "force": true })))).await;
    }
}

/// Returns the id of a commit that no other part of the campaign uses.
fn commit(number: usize) -> String {
    format!("a{number:039x}")
}

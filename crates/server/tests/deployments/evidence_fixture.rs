//! Deployments whose steps have logs, and the collection of their evidence.

use greenroom_outbound::{AllowList, OutboundClient};
use greenroom_worker::evidence::{self, ForgeAccess, Sources};
use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::DeploymentFixture;
use crate::support::Caller;

pub(crate) const DEFINITION: &str = "
version: 1
ephemeralEnvironments: { qa-1: {}, qa-2: {} }
stages:
  deploy:
    steps: [{ name: migrate, image: alpine, run: ./migrate }]
  check:
    needs: [deploy]
    steps: [{ name: probe, image: alpine, run: ./probe }]
";
pub(crate) const FIRST: &str = "1111111111111111111111111111111111111111";
pub(crate) const SECOND: &str = "2222222222222222222222222222222222222222";
pub(crate) const THIRD: &str = "3333333333333333333333333333333333333333";
pub(crate) const FAILURE: &str = "ERROR: schema version 41 expected, found 40";

/// How much of a log is sent in one request.
const PIECE_BYTES: usize = 256 * 1024;

/// Lines that every run has, with other times and ids.
pub(crate) fn noise(seed: u32, last: &str) -> Vec<u8> {
    let mut log = String::new();
    for number in 0..200 {
        log += &format!("2026-11-15T12:00:{:02}Z step {number} took {} ms\n", seed % 60, seed * 7 + number);
    }
    log += "0 errors, 0 warnings\n";
    log += last;
    for number in 0..20 {
        log += &format!("cleaning up {} of {seed}\n", number);
    }
    log.into_bytes()
}

impl DeploymentFixture {
    /// Claims an environment, deploys a commit, and runs the first job with this log. Returns the deployment and
    /// the step.
    pub(crate) async fn deploy(
        &self,
        place: &str,
        by: &Caller,
        commit: &str,
        log: Vec<u8>,
        exit: i32,
    ) -> (String, String) {
        let (session, id) = self.claim_and_deploy(place, by, commit).await;
        let step = self.run_with_log(&id, log, exit).await;
        while exit == 0 && self.status(&id).await == "running" {
            self.run_next_job(&id, 0).await;
        }
        self.release(place, by, &session).await;
        (id, step)
    }

    /// Claims an environment, and deploys a commit into it. Returns the session and the deployment.
    pub(crate) async fn claim_and_deploy(&self, place: &str, by: &Caller, commit: &str) -> (String, String) {
        let environment = format!(
            "/organizations/acme/pipelines/{}/ephemeral-environments/{place}/sessions",
            self.pipeline
        );
        let body = json!({ "commitId": commit });
        let (status, made) = self.server.json(Method::POST, &environment, &by.token, Some(body)).await;
        assert_eq!(status, 201, "{made}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&made["data"]["sessionId"]), text(&made["data"]["deployments"][0]["id"]))
    }

    pub(crate) async fn run_with_log(&self, id: &str, log: Vec<u8>, exit: i32) -> String {
        let job = self.take(&self.advance(id).await).await;
        let step = job.steps[0].clone();
        let deployment = self.deployment(id).await;
        if let Some(branch) = deployment["branch"].as_str() {
            let checkout = json!({ "commitId": deployment["commitId"], "branch": branch });
            assert_eq!(self.report(&job, "/checkout", checkout).await.0, 200);
        }
        assert_eq!(self.report(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
        let bytes = log.len();
        let mut offset = 0;
        for piece in log.chunks(PIECE_BYTES) {
            assert_eq!(self.log(&job, &step, offset, piece.to_vec()).await.0, 200);
            offset += piece.len() as u64;
        }
        let status = if exit == 0 { "succeeded" } else { "failed" };
        let end = json!({ "status": status, "exitCode": exit, "logBytes": bytes });
        let (status, response) = self.report(&job, &format!("/steps/{step}/end"), end).await;
        assert_eq!(status, 200, "{response}");
        assert_eq!(self.report(&job, "/complete", json!({})).await.0, 200);
        self.advance(id).await;
        step
    }

    /// Lets a worker do all that is due.
    pub(crate) async fn collect(&self) {
        let sources = self.evidence_sources();
        while evidence::run_once(&self.server.server.app.store, &sources).await {}
    }

    pub(crate) fn evidence_sources(&self) -> Sources {
        let app = &self.server.server.app;
        let client = OutboundClient::new(AllowList::new(["127.0.0.0/8".parse().unwrap()]));
        let forges = Some(ForgeAccess { keys: app.keys.clone(), client });
        Sources { objects: app.objects.clone(), forges }
    }

    pub(crate) async fn evidence(&self, id: &str) -> Value {
        let (status, found) =
            self.call(Method::GET, &format!("/deployments/{id}/evidence"), Value::Null).await;
        assert_eq!(status, 200, "{found}");
        found["data"].clone()
    }

    pub(crate) async fn verdict(&self, id: &str) -> String {
        let found = self.evidence(id).await;
        found["failures"][0]["verdict"]["kind"].as_str().unwrap().to_owned()
    }
}

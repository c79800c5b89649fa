//! The fixture: a pipeline and a runner of its pool, with methods that act as the engine and as the runner.

use std::time::Duration;

use greenroom_app::token::new_secret_of;
use greenroom_domain::id::{DeploymentId, JobId, OrganizationId};
use greenroom_domain::token::{SecretKind, TokenSecret};
use greenroom_store::engine::Advance;
use greenroom_store::job::{JobCredentials, RunnerPrincipal};
use greenroom_store::system::runner::AuthenticatedRunner;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::PgPool;
use uuid::Uuid;

use crate::support::{Caller, TestServer};

pub struct DeploymentFixture {
    pub server: TestServer,
    pub owner: Caller,
    pub pipeline: String,
    pub runner: RunnerPrincipal,
    runner_token: String,
}

/// Another runner than the fixture's.
pub struct RunnerInPool {
    principal: RunnerPrincipal,
    token: String,
}

/// A job that is assigned to the runner.
pub struct Job {
    pub id: JobId,
    pub secret: TokenSecret,
    pub steps: Vec<String>,
}

impl DeploymentFixture {
    pub async fn new(pool: &PgPool, definition: &str) -> Self {
        Self::on(TestServer::start(pool).await, definition).await
    }

    pub async fn on(server: TestServer, definition: &str) -> Self {
        let owner = server.organization("acme").await;
        let body = json!({ "name": "Shop", "slug": "shop", "definition": definition });
        let (status, made) =
            server.json(Method::POST, "/organizations/acme/pipelines", &owner.token, Some(body)).await;
        assert_eq!(status, 201, "{made}");
        let pipeline = made["data"]["id"].as_str().unwrap().to_owned();
        let runner = create_runner(&server, &owner, json!({ "name": "runner-1" })).await;
        let RunnerInPool { principal: runner, token: runner_token } = runner;
        Self { server, owner, pipeline, runner, runner_token }
    }

    /// Creates a runner in another pool.
    pub async fn runner_in(&self, pool: &str) -> RunnerInPool {
        create_runner(&self.server, &self.owner, json!({ "name": format!("{pool}-1"), "pool": pool })).await
    }

    pub fn organization(&self) -> OrganizationId {
        self.owner.organization.parse().unwrap()
    }

    pub async fn call(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let body = (!body.is_null()).then_some(body);
        let path = format!("/organizations/acme{path}");
        let (status, response) = self.server.json(method, &path, &self.owner.token, body).await;
        (status.as_u16(), response)
    }

    /// Starts a deployment of the whole pipeline.
    pub async fn start(&self) -> String {
        self.start_of(&self.pipeline).await
    }

    pub async fn start_of(&self, pipeline: &str) -> String {
        let path = format!("/pipelines/{pipeline}/deployments");
        let (status, made) = self.call(Method::POST, &path, json!({ "commitId": "0123abc" })).await;
        assert_eq!(status, 202, "{made}");
        made["data"]["id"].as_str().unwrap().to_owned()
    }

    pub async fn deployment(&self, id: &str) -> Value {
        let (status, record) = self.call(Method::GET, &format!("/deployments/{id}"), Value::Null).await;
        assert_eq!(status, 200, "{record}");
        record["data"].clone()
    }

    /// Returns the status of each stage, in the order of the definition.
    pub async fn stages(&self, id: &str) -> Vec<String> {
        let record = self.deployment(id).await;
        let stages = record["stages"].as_array().cloned().unwrap_or_default();
        stages.iter().map(|stage| stage["status"].as_str().unwrap().to_owned()).collect()
    }

    pub async fn status(&self, id: &str) -> String {
        self.deployment(id).await["status"].as_str().unwrap().to_owned()
    }

    /// Advances a deployment, as the engine does after every wake-up.
    pub async fn advance(&self, id: &str) -> Advance {
        let id: DeploymentId = id.parse().unwrap();
        let store = &self.server.server.app.store;
        let advance = store.advance_deployment(self.organization(), id).await.unwrap().unwrap();
        let again = store.advance_deployment(self.organization(), id).await.unwrap().unwrap();
        assert_eq!(
            (advance.ended, &advance.dispatch),
            (again.ended, &again.dispatch),
            "advancing is idempotent"
        );
        advance
    }

    /// Assigns the first waiting job to the runner.
    pub async fn take(&self, advance: &Advance) -> Job {
        self.try_take(advance).await.unwrap()
    }

    /// The same; returns `None` if the job is not assigned.
    pub async fn try_take(&self, advance: &Advance) -> Option<Job> {
        self.assign(&self.runner, advance).await
    }

    /// The same for another runner.
    pub async fn try_take_by(&self, runner: &RunnerInPool, advance: &Advance) -> Option<Job> {
        self.assign(&runner.principal, advance).await
    }

    async fn assign(&self, runner: &RunnerPrincipal, advance: &Advance) -> Option<Job> {
        let dispatch = advance.dispatch.first().unwrap();
        let secret = new_secret_of(SecretKind::Job);
        let hash = secret.hash();
        let credentials = JobCredentials { runner, job: dispatch.job_id, secret: &hash };
        let store = &self.server.server.app.store;
        let assigned = store.assign_job(credentials, b"task", Duration::from_secs(60)).await.unwrap()?;
        let steps = assigned.steps.iter().map(|step| step.id.to_string()).collect();
        Some(Job { id: dispatch.job_id, secret, steps })
    }

    /// Puts a job back into the queue, as the server does if the runner disconnected before it got the job.
    pub async fn requeue(&self, job: &Job) {
        let hash = job.secret.hash();
        let credentials = JobCredentials { runner: &self.runner, job: job.id, secret: &hash };
        self.server.server.app.store.requeue_job(credentials).await.unwrap();
    }

    /// Requests a job, as a runner does.
    pub async fn request_job(&self, body: Value) -> (u16, Value) {
        let url = format!("{}/runner/jobs/acquire", self.server.base);
        let request = self.server.client.post(url).bearer_auth(&self.runner_token).json(&body);
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or_default())
    }

    /// Sends a report about a job, as its runner does.
    pub async fn report(&self, job: &Job, path: &str, body: Value) -> (u16, Value) {
        let request = self.request(job, path).json(&body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    pub async fn log(&self, job: &Job, step: &str, offset: u64, bytes: Vec<u8>) -> (u16, Value) {
        let path = format!("/steps/{step}/logs?offset={offset}&at=2026-11-15T12:00:00Z");
        let response = self.request(job, &path).body(bytes).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Starts a deployment of a pipeline and assigns its first job to the runner.
    pub async fn job_of(&self, pipeline: &str) -> Job {
        let id = self.start_of(pipeline).await;
        self.take(&self.advance(&id).await).await
    }

    /// A job that does not exist, with a token of the right form.
    pub fn forged_job(&self) -> Job {
        Job { id: JobId::from(Uuid::now_v7()), secret: new_secret_of(SecretKind::Job), steps: Vec::new() }
    }

    /// Returns the head of a request about a job, for a raw connection.
    pub fn head(&self, method: &str, job: &Job, path: &str, runner_token: Option<&str>) -> String {
        format!(
            "{method} /api/v1/runner/jobs/{}{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
             X-Greenroom-Job-Token: {}\r\n",
            job.id,
            runner_token.unwrap_or(&self.runner_token),
            job.secret.reveal(),
        )
    }

    fn request(&self, job: &Job, path: &str) -> reqwest::RequestBuilder {
        self.request_by(Method::POST, job, path)
    }

    pub fn request_by(&self, method: Method, job: &Job, path: &str) -> reqwest::RequestBuilder {
        self.request_with(&self.runner_token, method, job, path)
    }

    /// The same for another runner.
    pub fn request_of(
        &self,
        runner: &RunnerInPool,
        method: Method,
        job: &Job,
        path: &str,
    ) -> reqwest::RequestBuilder {
        self.request_with(&runner.token, method, job, path)
    }

    fn request_with(&self, token: &str, method: Method, job: &Job, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}/runner/jobs/{}{path}", self.server.base, job.id);
        self.server
            .client
            .request(method, url)
            .bearer_auth(token)
            .header("x-greenroom-job-token", job.secret.reveal())
    }

    /// Runs a job; each step ends with this exit code.
    pub async fn run_job(&self, job: &Job, exit_code: i32) {
        for step in &job.steps {
            assert_eq!(self.report(job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
            let status = if exit_code == 0 { "succeeded" } else { "failed" };
            let end = json!({ "status": status, "exitCode": exit_code });
            assert_eq!(self.report(job, &format!("/steps/{step}/end"), end).await.0, 200);
            if exit_code != 0 {
                break;
            }
        }
        let (status, response) = self.report(job, "/complete", json!({})).await;
        assert_eq!(status, 200, "{response}");
    }

    /// Takes the next job, runs it, and advances the deployment.
    pub async fn run_next_job(&self, id: &str, exit_code: i32) -> Advance {
        let job = self.take(&self.advance(id).await).await;
        self.run_job(&job, exit_code).await;
        self.advance(id).await
    }

    /// Claims an environment and deploys into it. Returns session and deployment.
    pub async fn claim(&self, environment: &str, by: &Caller, verb: &str) -> (String, String) {
        let path = format!(
            "/organizations/acme/pipelines/{}/ephemeral-environments/{environment}/{verb}",
            self.pipeline
        );
        let body = json!({ "commitId": "0123abc" });
        let (status, made) = self.server.json(Method::POST, &path, &by.token, Some(body)).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&made["data"]["sessionId"]), text(&made["data"]["deployments"][0]["id"]))
    }

    pub async fn release(&self, environment: &str, by: &Caller, session: &str) {
        let path = format!(
            "/organizations/acme/pipelines/{}/ephemeral-environments/{environment}/sessions/{session}",
            self.pipeline
        );
        let (status, response) = self.server.json(Method::DELETE, &path, &by.token, None).await;
        assert_eq!(status, StatusCode::OK, "{response}");
    }

    /// Returns the newest event of this type, once it is sequenced.
    pub async fn event(&self, event_type: &str) -> Value {
        let path = format!("/events?type={event_type}");
        let there = crate::support::eventually(Duration::from_secs(5), async || {
            self.call(Method::GET, &path, Value::Null).await.1["data"][0].is_object()
        });
        assert!(there.await, "there is no {event_type}");
        self.call(Method::GET, &path, Value::Null).await.1["data"][0].clone()
    }

    /// Returns the newest teardown.
    pub async fn teardown(&self) -> String {
        let (_, list) = self.call(Method::GET, "/deployments", Value::Null).await;
        let is_teardown = |one: &&Value| one["purpose"] == "teardown";
        let teardown = list["data"].as_array().unwrap().iter().find(is_teardown).unwrap();
        teardown["id"].as_str().unwrap().to_owned()
    }

    pub async fn end(self) {
        self.server.server.stop(Duration::ZERO).await;
    }
}

/// Returns the deployments that were woken since the last call, each once, oldest first.
pub async fn woken(pool: &PgPool) -> Vec<String> {
    let taken = "with taken as (delete from wakes returning deployment_id)
                 select distinct 'dep_' || deployment_id::text as id from taken order by id";
    sqlx::query_scalar(taken).fetch_all(pool).await.unwrap()
}

/// Starts this many deployments and discards the wake-ups of their starts.
pub async fn started(fixture: &DeploymentFixture, pool: &PgPool, number: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..number {
        ids.push(fixture.start().await);
    }
    woken(pool).await;
    ids
}

async fn create_runner(server: &TestServer, owner: &Caller, body: Value) -> RunnerInPool {
    let (status, made) =
        server.json(Method::POST, "/organizations/acme/runners", &owner.token, Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let token = made["data"]["token"].as_str().unwrap().to_owned();
    let secret = TokenSecret::read(SecretKind::Runner, &token).unwrap();
    let found = server.server.app.store.authenticate_runner(&secret.hash()).await.unwrap();
    let AuthenticatedRunner { principal, is_revoked } = found.unwrap();
    assert!(!is_revoked);
    RunnerInPool { principal, token }
}

//! Calls that change something, and the expected responses.

use anyhow::bail;
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::parts::api::ApiResponse;
use crate::scenarios::compare::differences;
use crate::scenarios::fixture::ScenarioFixture;
use crate::scenarios::step::{
    Cancel, CancelStage, Claim, Cleanup, Define, Deploy, ExpectedResponse, Force, Heartbeat, Pool, Release,
    Retry, Start, Stop,
};

/// The result of a call: a record if it succeeded, `None` if it was rejected as expected.
type Record = Option<Value>;

impl ScenarioFixture<'_> {
    pub(super) async fn start(&mut self, step: &Start) -> anyhow::Result<()> {
        let mut body = json!({ "commitId": self.commit(&step.start.commit)? });
        if let Some(branch) = &step.start.branch {
            body["branch"] = json!(branch);
        }
        if let Some(allow_older) = step.allow_older {
            body["allowOlder"] = json!(allow_older);
        }
        let path = self.pipeline_path("/deployments");
        let made = self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await?;
        self.record_deployment(step.name.as_deref(), made)
    }

    pub(super) async fn claim(&mut self, step: &Claim) -> anyhow::Result<()> {
        let commit = step.commit.as_deref().map(|name| self.commit(name)).transpose()?;
        let body = without_nulls(json!({
            "commitId": commit,
            "ttlSeconds": step.ttl_seconds,
            "context": step.context,
            "queue": step.queue,
        }));
        let path = self.environment_path(&step.claim, "/sessions");
        let made = self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await?;
        self.record_session(&step.claim, (step.name.as_deref(), step.deployment.as_deref()), made)
    }

    pub(super) async fn force(&mut self, step: &Force) -> anyhow::Result<()> {
        let commit = step.commit.as_deref().map(|name| self.commit(name)).transpose()?;
        let body = without_nulls(
            json!({ "commitId": commit, "ttlSeconds": step.ttl_seconds, "context": step.context }),
        );
        let path = self.environment_path(&step.force, "/force-claim");
        let made = self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await?;
        self.record_session(&step.force, (step.name.as_deref(), step.deployment.as_deref()), made)
    }

    pub(super) async fn deploy(&mut self, step: &Deploy) -> anyhow::Result<()> {
        let body = json!({ "commitId": self.commit(&step.commit)? });
        let path = self.session_path(&step.deploy, "/deploy")?;
        let made = self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await?;
        self.record_deployment(step.name.as_deref(), made)
    }

    pub(super) async fn heartbeat(&mut self, step: &Heartbeat) -> anyhow::Result<()> {
        let path = self.session_path(&step.heartbeat, "/heartbeat")?;
        self.change(Method::POST, &path, &step.by, None, &step.answer).await.map(drop)
    }

    pub(super) async fn release(&mut self, step: &Release) -> anyhow::Result<()> {
        let path = self.session_path(&step.release, "")?;
        self.change(Method::DELETE, &path, &step.by, None, &step.answer).await.map(drop)
    }

    pub(super) async fn cancel(&mut self, step: &Cancel) -> anyhow::Result<()> {
        let path = self.deployment_path(&step.cancel, "/cancel")?;
        let body = without_nulls(json!({ "force": step.force }));
        self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await.map(drop)
    }

    pub(super) async fn cancel_stage(&mut self, step: &CancelStage) -> anyhow::Result<()> {
        let (deployment, stage) = &step.cancel_stage;
        let path = self.deployment_path(deployment, &format!("/stages/{stage}/cancel"))?;
        self.change(Method::POST, &path, &step.by, None, &step.answer).await.map(drop)
    }

    pub(super) async fn retry(&mut self, step: &Retry) -> anyhow::Result<()> {
        let (deployment, stage) = &step.retry;
        let path = self.deployment_path(deployment, &format!("/stages/{stage}/retry"))?;
        let body = without_nulls(json!({ "inputs": step.inputs, "allowOlder": step.allow_older }));
        self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await.map(drop)
    }

    pub(super) async fn cleanup(&mut self, step: &Cleanup) -> anyhow::Result<()> {
        let path = self.environment_path(&step.cleanup, "/cleanup");
        let made = self.change(Method::POST, &path, &step.by, None, &step.answer).await?;
        self.record_deployment(step.name.as_deref(), made)
    }

    pub(super) async fn stop(&mut self, step: &Stop) -> anyhow::Result<()> {
        let body = json!({ "mode": step.stop.name(), "reason": "a scenario" });
        let path = self.pipeline_path("/stop");
        self.change(Method::POST, &path, &None, Some(&body), &None).await.map(drop)
    }

    pub(super) async fn resume(&mut self) -> anyhow::Result<()> {
        let path = self.pipeline_path("/resume");
        self.change(Method::POST, &path, &None, None, &None).await.map(drop)
    }

    pub(super) async fn define(&mut self, step: &Define) -> anyhow::Result<()> {
        let body = json!({ "definition": self.definition(&step.define)? });
        let path = self.pipeline_path("");
        self.change(Method::PUT, &path, &None, Some(&body), &None).await.map(drop)
    }

    pub(super) async fn pool(&mut self, step: &Pool) -> anyhow::Result<()> {
        let body = json!({ "network": step.network });
        let path = self.organization_path(&format!("/runner-pools/{}", step.pool));
        self.change(Method::PATCH, &path, &None, Some(&body), &None).await.map(drop)
    }

    pub(super) async fn revoke(&mut self, name: &str) -> anyhow::Result<()> {
        let id = self.runner(name)?.id.clone();
        let path = self.organization_path(&format!("/runners/{id}"));
        self.change(Method::DELETE, &path, &None, None, &None).await.map(drop)
    }

    pub(super) async fn change(
        &mut self,
        method: Method,
        path: &str,
        by: &Option<String>,
        body: Option<&Value>,
        expected: &Option<ExpectedResponse>,
    ) -> anyhow::Result<Record> {
        let token = self.people.token(self.parts, by.as_deref()).await?;
        let response = self.parts.api.call(method.clone(), path, &token, body).await?;
        self.check_response(&response, expected.as_ref())
            .map_err(|error| error.context(format!("{method} {path}")))
    }

    fn check_response(
        &self,
        response: &ApiResponse,
        expected: Option<&ExpectedResponse>,
    ) -> anyhow::Result<Record> {
        let is_expected = expected.map_or(response.is_good(), |expected| expected.status == response.status);
        let wanted =
            expected.map_or("a successful response".to_owned(), |expected| expected.status.to_string());
        if !is_expected {
            bail!("expected {wanted}, got {} {:#}", response.status, response.body);
        }
        if let Some(is) = expected.and_then(|expected| expected.is.as_ref()) {
            let different = differences(&self.filled(is)?, response.data());
            if !different.is_empty() {
                bail!("{}\nthe response is {:#}", different.join("\n"), response.body);
            }
        }
        Ok(response.is_good().then(|| response.data().clone()))
    }

    fn record_deployment(&mut self, name: Option<&str>, made: Record) -> anyhow::Result<()> {
        match (name, made) {
            (Some(name), Some(record)) => self.name_deployment(name, &record),
            (Some(name), None) => bail!("`{name}` was refused, so it can't be named"),
            (None, _) => Ok(()),
        }
    }

    fn record_session(
        &mut self,
        environment: &str,
        (name, deployment): (Option<&str>, Option<&str>),
        made: Record,
    ) -> anyhow::Result<()> {
        let Some(record) = made else {
            return self.record_deployment(name.or(deployment), None);
        };
        if let Some(name) = name {
            self.name_session(name, environment, &record)?;
        }
        match deployment {
            Some(deployment) => self.name_deployment(deployment, &record["deployments"][0]),
            None => Ok(()),
        }
    }
}

/// The API treats an omitted field as not set, and null as an error.
fn without_nulls(body: Value) -> Value {
    let Value::Object(fields) = body else { return body };
    Value::Object(fields.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
}

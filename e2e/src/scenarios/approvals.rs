//! Calls about approvals, and the groups and service accounts that they need.

use anyhow::Context;
use reqwest::Method;
use serde_json::{Value, json};

use crate::scenarios::fixture::{Named, PIPELINE, ScenarioFixture};
use crate::scenarios::step::{Approve, Group, Override, Reject, ServiceAccount, Withdraw};

const MAX_PAGE: usize = 100;

impl ScenarioFixture<'_> {
    pub(super) async fn group(&mut self, step: &Group) -> anyhow::Result<()> {
        let id = match self.named(&step.group) {
            Ok(Named::Group(id)) => id.clone(),
            _ => self.create_group(&step.group).await?,
        };
        for member in &step.members {
            let user = self.people.user(self.parts, member).await?;
            let path = self.organization_path(&format!("/groups/{id}/members/{user}"));
            self.change(Method::PUT, &path, &step.by, None, &None).await?;
        }
        Ok(())
    }

    async fn create_group(&mut self, name: &str) -> anyhow::Result<String> {
        let path = self.organization_path("/groups");
        let made = self.change(Method::POST, &path, &None, Some(&json!({ "name": name })), &None).await?;
        let id = text(made.as_ref(), "id")?;
        self.name(name, Named::Group(id.clone()))?;
        Ok(id)
    }

    pub(super) async fn service_account(&mut self, step: &ServiceAccount) -> anyhow::Result<()> {
        let body = json!({ "name": step.service_account, "role": "developer" });
        let path = self.organization_path("/service-accounts");
        let made = self.change(Method::POST, &path, &None, Some(&body), &None).await?;
        let id = text(made.as_ref(), "id")?;
        for name in &step.tokens {
            let path = self.organization_path(&format!("/service-accounts/{id}/api-tokens"));
            let made = self.change(Method::POST, &path, &None, Some(&json!({ "name": name })), &None).await?;
            self.people.add_token(name, text(made.as_ref(), "token")?);
        }
        Ok(())
    }

    pub(super) async fn approve(&mut self, step: &Approve) -> anyhow::Result<()> {
        let approval = self.approval(&step.approve).await?;
        let digest = step.digest.clone().map_or_else(|| text(Some(&approval), "subjectDigest"), Ok)?;
        let path = self.approval_path(&approval, "/approve")?;
        let body = json!({ "subjectDigest": digest });
        self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await.map(drop)
    }

    pub(super) async fn reject(&mut self, step: &Reject) -> anyhow::Result<()> {
        let approval = self.approval(&step.reject).await?;
        let path = self.approval_path(&approval, "/reject")?;
        let body = json!({ "subjectDigest": approval["subjectDigest"], "comment": step.comment });
        self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await.map(drop)
    }

    pub(super) async fn withdraw(&mut self, step: &Withdraw) -> anyhow::Result<()> {
        let approval = self.approval(&step.withdraw).await?;
        let path = self.approval_path(&approval, "/vote")?;
        self.change(Method::DELETE, &path, &step.by, None, &step.answer).await.map(drop)
    }

    pub(super) async fn override_gates(&mut self, step: &Override) -> anyhow::Result<()> {
        let (deployment, stage) = &step.stage;
        let path = self.deployment_path(deployment, &format!("/stages/{stage}/override"))?;
        let body = json!({ "reason": step.reason, "gates": step.gates });
        self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await.map(drop)
    }

    /// Reads the newest approval of a stage, with its votes.
    pub(super) async fn approval(&self, (deployment, stage): &(String, String)) -> anyhow::Result<Value> {
        let id = self.deployment(deployment)?;
        let path = self.organization_path(&format!("/approvals?pipelineId={PIPELINE}&limit={MAX_PAGE}"));
        let listed = self.parts.api.get(&path, self.people.owner()).await?;
        let is_same =
            |record: &&Value| record["deploymentId"] == id.as_str() && record["stage"] == stage.as_str();
        // The newest comes first.
        let newest = listed.as_array().and_then(|all| all.iter().find(is_same));
        let newest = newest.with_context(|| format!("`{deployment}` has no approval for `{stage}` yet"))?;
        self.parts.api.get(&self.approval_path(newest, "")?, self.people.owner()).await
    }

    fn approval_path(&self, approval: &Value, path: &str) -> anyhow::Result<String> {
        Ok(self.organization_path(&format!("/approvals/{}{path}", text(Some(approval), "id")?)))
    }
}

fn text(record: Option<&Value>, key: &str) -> anyhow::Result<String> {
    let text = record.and_then(|record| record[key].as_str());
    text.map(str::to_owned).with_context(|| format!("a record without `{key}`: {record:?}"))
}

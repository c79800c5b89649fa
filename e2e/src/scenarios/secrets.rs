//! Calls that create and change secrets, and the other pipelines that a policy can name.

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::{Value, json};

use crate::scenarios::fixture::{Named, ScenarioFixture};
use crate::scenarios::step::{CreateSecret, SetSecret, UpdateSecret};

impl ScenarioFixture<'_> {
    /// Creates another pipeline with the scenario's definition. Its slug is its name in the scenario.
    pub(super) async fn create_pipeline(&mut self, slug: &str) -> anyhow::Result<()> {
        let body = json!({
            "name": slug,
            "slug": slug,
            "repository": self.parts.repository_url(None),
            "definition": self.definition("pipeline.yaml")?,
        });
        let path = self.organization_path("/pipelines");
        let made = self.change(Method::POST, &path, &None, Some(&body), &None).await?;
        let id = made.as_ref().and_then(id_of).context("a pipeline without an id")?;
        self.name(slug, Named::Pipeline(id))
    }

    pub(super) async fn create_secret(&mut self, step: &CreateSecret) -> anyhow::Result<()> {
        let (body, path) = (self.filled(&step.create_secret)?, self.organization_path("/secrets"));
        let made = self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await?;
        match (step.name.as_deref(), made) {
            (Some(name), Some(record)) => {
                let id = id_of(&record).context("a secret without an id")?;
                self.name(name, Named::Secret(id))
            }
            (Some(name), None) => bail!("`{name}` was refused, so it can't be named"),
            (None, _) => Ok(()),
        }
    }

    pub(super) async fn update_secret(&mut self, step: &UpdateSecret) -> anyhow::Result<()> {
        let body = json!({ "policy": self.filled(&step.policy)? });
        let path = self.secret_path(&step.update_secret, "")?;
        self.change(Method::PATCH, &path, &None, Some(&body), &None).await.map(drop)
    }

    pub(super) async fn set_secret(&mut self, step: &SetSecret) -> anyhow::Result<()> {
        let body = json!({ "value": self.fill(&step.value)? });
        let path = self.secret_path(&step.set_secret, "/value")?;
        self.change(Method::PUT, &path, &None, Some(&body), &step.answer).await.map(drop)
    }
}

fn id_of(record: &Value) -> Option<String> {
    Some(record["id"].as_str()?.to_owned())
}

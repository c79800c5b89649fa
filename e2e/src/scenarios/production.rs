//! Calls that hold lasting environments and create freezes.

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::json;

use crate::scenarios::fixture::{Named, ScenarioFixture};
use crate::scenarios::step::{EndHold, Freeze, Hold, Member, UpdateFreeze};

impl ScenarioFixture<'_> {
    pub(super) async fn member(&mut self, step: &Member) -> anyhow::Result<()> {
        self.people.add(self.parts, &step.member, &step.role).await.map(drop)
    }

    pub(super) async fn hold(&mut self, step: &Hold) -> anyhow::Result<()> {
        let body = json!({ "reason": step.reason, "until": self.fill(&step.until)? });
        let path = self.lasting_environment_path(&step.hold, "/hold");
        self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await.map(drop)
    }

    pub(super) async fn end_hold(&mut self, step: &EndHold) -> anyhow::Result<()> {
        let path = self.lasting_environment_path(&step.end_hold, "/hold");
        self.change(Method::DELETE, &path, &step.by, None, &step.answer).await.map(drop)
    }

    pub(super) async fn freeze(&mut self, step: &Freeze) -> anyhow::Result<()> {
        let (body, path) = (self.filled(&step.freeze)?, self.organization_path("/freezes"));
        let made = self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await?;
        match (step.name.as_deref(), made) {
            (Some(name), Some(record)) => {
                let id = record["id"].as_str().context("a freeze without an id")?;
                self.name(name, Named::Freeze(id.to_owned()))
            }
            (Some(name), None) => bail!("`{name}` was refused, so it can't be named"),
            (None, _) => Ok(()),
        }
    }

    pub(super) async fn update_freeze(&mut self, step: &UpdateFreeze) -> anyhow::Result<()> {
        let body = json!({ "to": self.fill(&step.to)? });
        let path = self.freeze_path(&step.update_freeze)?;
        self.change(Method::PATCH, &path, &None, Some(&body), &None).await.map(drop)
    }
}

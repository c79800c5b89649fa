//! The subjects of `until` and `expect`: something with a name, or one of a few keywords.

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::scenarios::fixture::{Named, ScenarioFixture};

impl ScenarioFixture<'_> {
    /// Reads `d1` · `s1` · `k1` · `d1/attempts/STAGE` · `d1/secret-reads` · `k1/reads` · `environment/NAME` ·
    /// `history/NAME` · `environments` · `lasting/NAME` · `lasting/NAME/history` · `pipeline` · `pools` · `runners` ·
    /// `secrets`; `approval/d1/STAGE`, the newest approval; `received/NAME`, what a git server of this scenario got;
    /// `listener/NAME`, what a port of the operator's network got; or `occupied/NAME`, the connections of an attacker.
    pub(super) async fn read_target(&self, target: &str) -> anyhow::Result<Value> {
        if let Some((deployment, stage)) =
            target.strip_prefix("approval/").and_then(|rest| rest.split_once('/'))
        {
            return self.approval(&(deployment.to_owned(), stage.to_owned())).await;
        }
        if let Some(name) = target.strip_prefix("received/") {
            return Ok(self.private_git()?.server(name)?.received());
        }
        if let Some(name) = target.strip_prefix("listener/") {
            return Ok(json!({ "connections": self.parts.listeners.connections(name)? }));
        }
        if let Some(name) = target.strip_prefix("occupied/") {
            let held = self.occupied.get(name).with_context(|| format!("nothing occupies {name}"))?;
            return Ok(held.counts());
        }
        let path = self.target_path(target)?;
        self.parts.api.get(&path, self.people.owner()).await
    }

    fn target_path(&self, target: &str) -> anyhow::Result<String> {
        let parts: Vec<&str> = target.split('/').collect();
        Ok(match parts.as_slice() {
            ["pipeline"] => self.pipeline_path(""),
            ["environments"] => self.pipeline_path("/ephemeral-environments"),
            ["pools"] => self.organization_path("/runner-pools"),
            ["runners"] => self.organization_path("/runners"),
            ["secrets"] => self.organization_path("/secrets"),
            ["environment", name] => self.environment_path(name, ""),
            ["history", name] => self.environment_path(name, "/history"),
            ["lasting", name] => self.lasting_environment_path(name, ""),
            ["lasting", name, "history"] => self.lasting_environment_path(name, "/history"),
            [name, "attempts", stage] => self.deployment_path(name, &format!("/stages/{stage}/attempts"))?,
            [name, "secret-reads"] => self.deployment_path(name, "/secret-reads")?,
            [name, "reads"] => self.secret_path(name, "/reads")?,
            [name] => match self.named(name)? {
                Named::Secret(_) => self.secret_path(name, "")?,
                Named::Pipeline(id) => self.organization_path(&format!("/pipelines/{id}")),
                Named::Deployment(_) => self.deployment_path(name, "")?,
                Named::Freeze(_) => self.freeze_path(name)?,
                Named::Group(id) => self.organization_path(&format!("/groups/{id}")),
                Named::Registry(id) => self.organization_path(&format!("/step-registries/{id}")),
                Named::Session { .. } => self.session_path(name, "")?,
            },
            _ => bail!("unknown target `{target}`"),
        })
    }
}

//! The subjects of `until` and `expect`: something with a name, or one of a few keywords.

use anyhow::bail;
use serde_json::Value;

use crate::scenarios::fixture::{Named, ScenarioFixture};

impl ScenarioFixture<'_> {
    /// Reads `d1` · `s1` · `d1/attempts/STAGE` · `environment/NAME` · `history/NAME` · `environments` ·
    /// `pipeline` · `pools` · `runners`.
    pub(super) async fn read_target(&self, target: &str) -> anyhow::Result<Value> {
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
            ["environment", name] => self.environment_path(name, ""),
            ["history", name] => self.environment_path(name, "/history"),
            [name, "attempts", stage] => self.deployment_path(name, &format!("/stages/{stage}/attempts"))?,
            [name] => match self.named(name)? {
                Named::Deployment(_) => self.deployment_path(name, "")?,
                Named::Session { .. } => self.session_path(name, "")?,
            },
            _ => bail!("unknown target `{target}`"),
        })
    }
}

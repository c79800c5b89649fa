//! Waits until a condition holds, and reports the actual state if it does not.

use anyhow::bail;
use serde_json::Value;

use crate::parts::deadline::Deadline;
use crate::scenarios::compare::{differences, matches};
use crate::scenarios::fixture::ScenarioFixture;
use crate::scenarios::step::{Ended, Events, Expect, File, Find, NoSteps, Until};

/// How long to wait for a state that a deployment has yet to reach.
const DEFAULT_TIMEOUT_SECONDS: u64 = 60;
/// How long to wait for a change that has happened and only has to become visible.
const SHORT_TIMEOUT_SECONDS: u64 = 15;

impl ScenarioFixture<'_> {
    pub(super) async fn until(&self, step: &Until) -> anyhow::Result<()> {
        let deadline = Deadline::in_seconds(step.within.unwrap_or(DEFAULT_TIMEOUT_SECONDS));
        let wanted = self.filled(&step.is)?;
        loop {
            let found = self.read_target(&step.until).await?;
            let different = differences(&wanted, &found);
            if different.is_empty() {
                return Ok(());
            }
            deadline.wait(|| format!("{}\n{} is {found:#}", different.join("\n"), step.until)).await?;
        }
    }

    pub(super) async fn expect(&self, step: &Expect) -> anyhow::Result<()> {
        let found = self.read_target(&step.expect).await?;
        let different = differences(&self.filled(&step.is)?, &found);
        if different.is_empty() {
            return Ok(());
        }
        bail!("{}\n{} is {found:#}", different.join("\n"), step.expect)
    }

    pub(super) async fn find(&mut self, step: &Find) -> anyhow::Result<()> {
        let deadline = Deadline::in_seconds(step.within.unwrap_or(DEFAULT_TIMEOUT_SECONDS));
        let (wanted, path) = (self.filled(&step.find)?, self.organization_path("/deployments?limit=100"));
        loop {
            let listed = self.parts.api.get(&path, self.people.owner()).await?;
            let found = listed.as_array().into_iter().flatten().find(|record| matches(&wanted, record));
            if let Some(found) = found {
                return self.name_deployment(&step.name, found);
            }
            deadline.wait(|| format!("no deployment is like {wanted}; there are {listed:#}")).await?;
        }
    }

    pub(super) async fn events(&self, step: &Events) -> anyhow::Result<()> {
        let deadline = Deadline::in_seconds(step.within.unwrap_or(SHORT_TIMEOUT_SECONDS));
        let id =
            step.of.as_deref().map(|name| self.named(name).map(|named| named.id().to_owned())).transpose()?;
        loop {
            let types = self.event_types(id.as_deref()).await?;
            let mut rest = types.iter();
            let missing = step.events.iter().find(|wanted| !rest.any(|found| found == *wanted));
            let Some(missing) = missing else { return Ok(()) };
            deadline.wait(|| format!("`{missing}` is missing in this order; there are {types:#?}")).await?;
        }
    }

    /// Returns events, oldest first: all of the organization, or those that name an id.
    async fn event_types(&self, id: Option<&str>) -> anyhow::Result<Vec<String>> {
        let (mut types, mut after) = (Vec::new(), 0);
        loop {
            let path = self.organization_path(&format!("/events?limit=100&after={after}"));
            let page = self.parts.api.get(&path, self.people.owner()).await?;
            let events = page.as_array().map_or(&[][..], Vec::as_slice);
            let Some(last) = events.last() else { return Ok(types) };
            let names = |event: &&Value| id.is_none_or(|id| event.to_string().contains(id));
            types.extend(
                events.iter().filter(names).filter_map(|event| Some(event["type"].as_str()?.to_owned())),
            );
            after = last["sequence"].as_i64().unwrap_or_default();
        }
    }

    pub(super) async fn file(&self, step: &File) -> anyhow::Result<()> {
        let deadline = Deadline::in_seconds(step.within.unwrap_or(SHORT_TIMEOUT_SECONDS));
        loop {
            let lines = self.stage_folder.lines(&step.file)?;
            let Some(mismatch) = file_mismatch(step, &lines) else { return Ok(()) };
            deadline.wait(|| format!("{mismatch}; {} has {lines:#?}", step.file)).await?;
        }
    }

    pub(super) async fn ended(&mut self, step: &Ended) -> anyhow::Result<()> {
        let deadline = Deadline::in_seconds(step.within.unwrap_or(DEFAULT_TIMEOUT_SECONDS));
        let program = self.runner(&step.ended)?.program()?;
        while program.exit_status()?.is_none() {
            deadline.wait(|| "the runner still runs".to_owned()).await?;
        }
        Ok(())
    }

    pub(super) async fn no_steps(&self, step: &NoSteps) -> anyhow::Result<()> {
        self.nothing_runs(step.within.unwrap_or(SHORT_TIMEOUT_SECONDS)).await
    }

    pub(super) async fn nothing_runs(&self, within: u64) -> anyhow::Result<()> {
        let deadline = Deadline::in_seconds(within);
        loop {
            let running = self.stage_folder.processes();
            if running.is_empty() {
                return Ok(());
            }
            deadline.wait(|| format!("processes of steps still run: {running:?}")).await?;
        }
    }
}

fn file_mismatch(step: &File, lines: &[String]) -> Option<String> {
    if step.lines.is_none() && step.order.is_none() && step.lacks.is_none() {
        return Some("nothing is expected of it: use `lines`, `order` or `lacks`".to_owned());
    }
    if let Some(wanted) = step.lines.as_ref().filter(|wanted| wanted.as_slice() != lines) {
        return Some(format!("expected {wanted:?}"));
    }
    let mut rest = lines.iter();
    let missing = step.order.iter().flatten().find(|wanted| !rest.any(|line| line == *wanted));
    if let Some(missing) = missing {
        return Some(format!("`{missing}` is missing in this order"));
    }
    let unwanted = step.lacks.iter().flatten().find(|unwanted| lines.contains(unwanted));
    unwanted.map(|unwanted| format!("`{unwanted}` is not allowed"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mismatch(step: Value, lines: &[&str]) -> Option<String> {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        file_mismatch(&serde_json::from_value(step).unwrap(), &lines)
    }

    #[test]
    fn lines_are_all_of_them_and_order_is_some() {
        assert_eq!(mismatch(json!({ "file": "f", "lines": ["a", "b"] }), &["a", "b"]), None);
        assert!(mismatch(json!({ "file": "f", "lines": ["a"] }), &["a", "b"]).is_some());
        assert_eq!(mismatch(json!({ "file": "f", "order": ["a", "c"] }), &["a", "b", "c"]), None);
        assert!(mismatch(json!({ "file": "f", "order": ["c", "a"] }), &["a", "b", "c"]).is_some());
        assert!(mismatch(json!({ "file": "f", "order": ["a", "a"] }), &["a"]).is_some());
        assert!(mismatch(json!({ "file": "f", "lacks": ["b"] }), &["a", "b"]).is_some());
        assert!(mismatch(json!({ "file": "f" }), &[]).is_some());
    }
}

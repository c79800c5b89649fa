//! A scripted agent in another language, which uses the REST API alone.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use crate::fault::finding::Finding;
use crate::fault::fixes::fixture::{FixFixture, ORGANIZATION, PIPELINE, PUBLIC_URL};

const BRANCH: &str = "agent-fix";

/// Returns what the agent got, and the findings.
pub(super) async fn run(fixture: &FixFixture) -> anyhow::Result<(Value, Vec<Finding>)> {
    let work = fixture.parts.folder.join("agent");
    fixture.repository.clone_for_agent(&work).await?;
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("agent/fix");
    let mut child = Command::new(program)
        .args([fixture.parts.api.base(), ORGANIZATION, PIPELINE, "qa-1"])
        .arg(&work)
        .env("GREENROOM_TOKEN", fixture.agent_token().await?)
        .envs([("GIT_AUTHOR_NAME", "Agent"), ("GIT_AUTHOR_EMAIL", "agent@example.test")])
        .envs([("GIT_COMMITTER_NAME", "Agent"), ("GIT_COMMITTER_EMAIL", "agent@example.test")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("the agent can't be started")?;
    let mut output = BufReader::new(child.stdout.take().context("no output")?).lines();
    let pushed = output.next_line().await?.context("the agent printed nothing")?;
    let pushed: Value = serde_json::from_str(&pushed)?;
    let commit = pushed["commitId"].as_str().context("no commit")?.to_owned();
    fixture.forge.state().branches.insert(BRANCH.to_owned(), commit);
    child.stdin.take().context("no input")?.write_all(b"\n").await?;
    let printed = output.next_line().await?.context("the agent printed no result")?;
    let printed: Value = serde_json::from_str(&printed)?;
    ensure!(child.wait().await?.success(), "the agent failed");

    let fix = &printed["fix"];
    let mut findings = Vec::new();
    let state = fixture.forge.state();
    let drafts: Vec<_> = state.pull_requests.iter().filter(|opened| opened.head == BRANCH).collect();
    let links = [&fix["reproductionId"], &fix["verificationIds"][0]];
    let has_links = drafts.first().is_some_and(|draft| {
        let link =
            |id: &Value| format!("{PUBLIC_URL}/o/{ORGANIZATION}/deployments/{}", id.as_str().unwrap_or("?"));
        draft.is_draft && links.iter().all(|id| draft.body.contains(&link(id)))
    });
    if drafts.len() != 1 || !has_links {
        findings.push(Finding::new("F4", format!("{} drafts, links: {has_links}: {fix}", drafts.len())));
    }
    let agent = json!({
        "green": printed["green"],
        "bundleBytes": printed["bundleBytes"],
        "status": fix["status"],
        "reason": fix["reason"],
    });
    Ok((agent, findings))
}

//! Where it is measured: a pipeline with environments `env-0`, `env-1`, …, and one client's claims and releases of one.

use std::fmt::Write;
use std::ops::Range;

use anyhow::{Context, bail};
use serde_json::json;

use super::wire::{self, Wire};
use crate::stack::{Organization, Process};

pub(crate) const PIPELINE: &str = "bench";
const SESSION_ID: usize = "ses_".len() + 36;

/// A server, who may use it, and a pipeline there.
#[derive(Clone)]
pub(crate) struct Scene {
    /// Address and port.
    pub(crate) host: String,
    pub(crate) token: String,
    pub(crate) organization: String,
}

/// Claims one environment and lets it go, again and again, on a connection of its own.
pub(crate) struct Client {
    wire: Wire,
    claim: Vec<u8>,
    release: Vec<u8>,
    /// Where in `release` the session's id goes.
    hole: Range<usize>,
}

impl Scene {
    /// Makes the pipeline, with that many environments.
    pub(crate) async fn make(
        server: &Process,
        organization: &Organization,
        environments: u32,
    ) -> anyhow::Result<Self> {
        let scene = Self::of(server, organization);
        let mut definition = String::from("ephemeralEnvironments:\n");
        for number in 0..environments {
            writeln!(definition, "  env-{number}: {{ labels: [bench] }}")?;
        }
        definition
            .push_str("stages:\n  hello:\n    steps:\n      - image: alpine:3\n        run: echo hello\n");
        let body = json!({ "name": "Bench", "slug": PIPELINE, "definition": definition }).to_string();
        let path = format!("/api/v1/organizations/{}/pipelines", scene.organization);
        let request = wire::request("POST", &scene.host, &path, &scene.token, &body);
        let mut wire = Wire::connect(&scene.host).await?;
        let answer = wire.ask(&request).await?;
        if answer.status != 201 {
            bail!("the pipeline was not made: {}", String::from_utf8_lossy(answer.body));
        }
        Ok(scene)
    }

    /// The pipeline is there already.
    pub(crate) fn of(server: &Process, organization: &Organization) -> Self {
        Self {
            host: server.address.trim_start_matches("http://").to_owned(),
            token: organization.token.clone(),
            organization: organization.id.clone(),
        }
    }

    pub(crate) fn environment(&self, number: u32) -> String {
        let organization = &self.organization;
        format!(
            "/api/v1/organizations/{organization}/pipelines/{PIPELINE}/ephemeral-environments/env-{number}"
        )
    }

    pub(crate) async fn client(&self, number: u32) -> anyhow::Result<Client> {
        let sessions = format!("{}/sessions", self.environment(number));
        let claim = wire::request("POST", &self.host, &sessions, &self.token, r#"{"context":"bench"}"#);
        let path = format!("{sessions}/{}", "_".repeat(SESSION_ID));
        let release = wire::request("DELETE", &self.host, &path, &self.token, "");
        let hole = "DELETE ".len() + sessions.len() + 1;
        let wire = Wire::connect(&self.host).await?;
        Ok(Client { wire, claim, release, hole: hole..hole + SESSION_ID })
    }
}

impl Client {
    /// Anything but a lock is an error, and the run with it is void.
    pub(crate) async fn claim(&mut self) -> anyhow::Result<()> {
        let answer = self.wire.ask(&self.claim).await?;
        if answer.status != 201 {
            bail!("a claim was answered {}: {}", answer.status, String::from_utf8_lossy(answer.body));
        }
        const FIELD: &[u8] = b"\"sessionId\":\"";
        let at = wire::find(answer.body, FIELD).map(|at| at + FIELD.len());
        let id = at.and_then(|at| answer.body.get(at..at + SESSION_ID)).context("no session id")?;
        self.release.get_mut(self.hole.clone()).context("no place for it")?.copy_from_slice(id);
        Ok(())
    }

    /// Lets go of what was claimed last.
    pub(crate) async fn release(&mut self) -> anyhow::Result<()> {
        let answer = self.wire.ask(&self.release).await?;
        if answer.status != 200 {
            bail!("a release was answered {}: {}", answer.status, String::from_utf8_lossy(answer.body));
        }
        Ok(())
    }
}

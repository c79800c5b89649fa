//! The fixture of the measurements: a pipeline with environments `env-0`, `env-1`, …, and one client's claims
//! and releases.

use std::fmt::Write;
use std::ops::Range;

use anyhow::{Context, bail};
use serde_json::json;

use super::wire::{self, Wire};
use crate::stack::{Organization, Process};

pub(crate) const PIPELINE: &str = "bench";
const SESSION_ID: usize = "ses_".len() + 36;

/// A server, an owner's token, and a pipeline.
#[derive(Clone)]
pub(crate) struct LockFixture {
    /// The server's address and port.
    pub(crate) host: String,
    pub(crate) token: String,
    pub(crate) organization: String,
}

/// Claims and releases one environment repeatedly, on a dedicated connection.
pub(crate) struct Client {
    wire: Wire,
    claim: Vec<u8>,
    release: Vec<u8>,
    /// The offset of the session's id in `release`.
    session_id_range: Range<usize>,
}

impl LockFixture {
    /// Creates the pipeline with this many environments.
    pub(crate) async fn make(
        server: &Process,
        organization: &Organization,
        environments: u32,
    ) -> anyhow::Result<Self> {
        let fixture = Self::of(server, organization);
        let mut definition = String::from("ephemeralEnvironments:\n");
        for number in 0..environments {
            writeln!(definition, "  env-{number}: {{ labels: [bench] }}")?;
        }
        definition
            .push_str("stages:\n  hello:\n    steps:\n      - image: alpine:3\n        run: echo hello\n");
        let body = json!({ "name": "Bench", "slug": PIPELINE, "definition": definition }).to_string();
        let path = format!("/api/v1/organizations/{}/pipelines", fixture.organization);
        let request = wire::request("POST", &fixture.host, &path, &fixture.token, &body);
        let mut wire = Wire::connect(&fixture.host).await?;
        let response = wire.send(&request).await?;
        if response.status != 201 {
            bail!("the pipeline was not made: {}", String::from_utf8_lossy(response.body));
        }
        Ok(fixture)
    }

    /// Uses a pipeline that exists already.
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
        let start = "DELETE ".len() + sessions.len() + 1;
        let wire = Wire::connect(&self.host).await?;
        Ok(Client { wire, claim, release, session_id_range: start..start + SESSION_ID })
    }
}

impl Client {
    /// Claims the environment. Any response other than a granted lock is an error, and the run is invalid
    /// then.
    pub(crate) async fn claim(&mut self) -> anyhow::Result<()> {
        let response = self.wire.send(&self.claim).await?;
        if response.status != 201 {
            bail!("a claim returned {}: {}", response.status, String::from_utf8_lossy(response.body));
        }
        const FIELD: &[u8] = b"\"sessionId\":\"";
        let at = wire::find(response.body, FIELD).map(|at| at + FIELD.len());
        let id = at.and_then(|at| response.body.get(at..at + SESSION_ID)).context("no session id")?;
        self.release
            .get_mut(self.session_id_range.clone())
            .context("no room for the session id")?
            .copy_from_slice(id);
        Ok(())
    }

    /// Releases the last claim.
    pub(crate) async fn release(&mut self) -> anyhow::Result<()> {
        let response = self.wire.send(&self.release).await?;
        if response.status != 200 {
            bail!("a release returned {}: {}", response.status, String::from_utf8_lossy(response.body));
        }
        Ok(())
    }
}

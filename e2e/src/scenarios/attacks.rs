//! What attackers do with their own rights: tokens, connections that stay open, and addresses in the operator's network.

use std::net::SocketAddr;

use anyhow::Context;
use reqwest::Method;
use serde_json::json;

use crate::parts::held_connections::HeldConnections;
use crate::scenarios::fixture::{Named, ScenarioFixture};
use crate::scenarios::step::{CreateRegistry, Occupied, Occupy, Tokens};

impl Occupied {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bodies => "bodies",
            Self::Streams => "streams",
        }
    }

    /// Returns the request, without the body that it announces.
    fn request(self, organization: &str, token: &str) -> String {
        let (method, rest) = match self {
            Self::Bodies => (
                "POST",
                "/pipelines/validate HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100",
            ),
            Self::Streams => ("GET", "/events/stream HTTP/1.1\r\nAccept: text/event-stream"),
        };
        format!(
            "{method} /api/v1/organizations/{organization}{rest}\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        )
    }
}

impl ScenarioFixture<'_> {
    pub(super) async fn tokens(&mut self, step: &Tokens) -> anyhow::Result<()> {
        let path = self.organization_path("/api-tokens");
        let by = Some(step.tokens.clone());
        for _ in 0..step.count {
            let name = format!("{}-{}", step.tokens, self.people.tokens_of(&step.tokens).len());
            let body = json!({ "name": name });
            let made = self.change(Method::POST, &path, &by, Some(&body), &step.answer).await?;
            if let Some(made) = made {
                let token = made["token"].as_str().context("a token without its secret")?;
                self.people.add_token(&name, token.to_owned());
            }
        }
        Ok(())
    }

    pub(super) fn occupy(&mut self, step: &Occupy) -> anyhow::Result<()> {
        let address: SocketAddr = self.parts.api.address().parse()?;
        let mut tokens = self.people.tokens_of(&step.by);
        tokens.truncate(step.tokens.unwrap_or(tokens.len()));
        let requests = tokens.iter().cycle().take(step.connections);
        let requests = requests.map(|token| step.occupy.request(&self.people.slug, token)).collect();
        self.occupied.insert(step.occupy.name(), HeldConnections::open(address, requests));
        Ok(())
    }

    pub(super) async fn create_registry(&mut self, step: &CreateRegistry) -> anyhow::Result<()> {
        let path = self.organization_path("/step-registries");
        let body = json!({ "name": step.name, "url": self.fill(&step.create_registry)? });
        let made = self.change(Method::POST, &path, &step.by, Some(&body), &step.answer).await?;
        let Some(made) = made else { return Ok(()) };
        let id = made["id"].as_str().context("a registry without an id")?;
        self.name(&step.name, Named::Registry(id.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_request_is_complete() {
        for (what, line) in [(Occupied::Bodies, "POST"), (Occupied::Streams, "GET")] {
            let head = what.request("acme", "t");
            assert!(head.starts_with(&format!("{line} /api/v1/organizations/acme/")), "{head}");
            assert!(head.ends_with("\r\nAuthorization: Bearer t\r\n\r\n"), "{head}");
        }
    }
}

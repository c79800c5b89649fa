//! The users of a scenario: its organization's owner, and others with the roles that it gives them.

use std::collections::HashMap;

use anyhow::Context;
use reqwest::Method;
use serde_json::json;

use crate::scenarios::parts::Parts;

#[derive(Debug)]
pub(crate) struct People {
    /// The organization's slug.
    pub(crate) slug: String,
    owner: String,
    /// The tokens of other users, by the users' names.
    others: HashMap<String, String>,
    /// Their ids.
    ids: HashMap<String, String>,
}

impl People {
    /// Creates the organization.
    pub(crate) async fn of(parts: &Parts, slug: &str) -> anyhow::Result<Self> {
        let email = format!("owner@{slug}.example.test");
        let arguments =
            ["admin", "bootstrap", "--slug", slug, "--owner-email", &email, "--owner-name", "Owner"];
        let made = parts.admin(&arguments).await?;
        let owner = made["token"].as_str().context("admin bootstrap printed no token")?.to_owned();
        Ok(Self { slug: slug.to_owned(), owner, others: HashMap::new(), ids: HashMap::new() })
    }

    pub(crate) fn owner(&self) -> &str {
        &self.owner
    }

    /// Returns a user's token. A name that is used for the first time becomes a developer of the
    /// organization.
    pub(crate) async fn token(&mut self, parts: &Parts, by: Option<&str>) -> anyhow::Result<String> {
        let Some(name) = by else { return Ok(self.owner.clone()) };
        if let Some(token) = self.others.get(name) {
            return Ok(token.clone());
        }
        self.add(parts, name, "developer").await
    }

    /// Adds a user with this role to the organization and returns the user's token.
    pub(crate) async fn add(&mut self, parts: &Parts, name: &str, role: &str) -> anyhow::Result<String> {
        let email = format!("{name}@{}.example.test", self.slug);
        let member = json!({ "email": email, "name": name, "role": role });
        let path = format!("/organizations/{}/members", self.slug);
        let added = parts.api.call_ok(Method::POST, &path, &self.owner, Some(&member)).await?;
        let id = added["userId"].as_str().context("a member has no id")?;
        self.ids.insert(name.to_owned(), id.to_owned());
        let arguments =
            ["admin", "create-token", "--organization", &self.slug, "--email", &email, "--name", "scenario"];
        let made = parts.admin(&arguments).await?;
        let token = made["token"].as_str().context("admin create-token printed no token")?.to_owned();
        self.others.insert(name.to_owned(), token.clone());
        Ok(token)
    }

    /// Returns the id of a user, who is created if the name is used for the first time.
    pub(crate) async fn user(&mut self, parts: &Parts, name: &str) -> anyhow::Result<String> {
        self.token(parts, Some(name)).await?;
        self.ids.get(name).cloned().with_context(|| format!("`{name}` is not a member"))
    }

    /// Returns the tokens of a person: the first one, and those that are used by the name `NAME-NUMBER`.
    pub(crate) fn tokens_of(&self, name: &str) -> Vec<String> {
        let names = std::iter::once(name.to_owned()).chain((1..).map(|number| format!("{name}-{number}")));
        names.map_while(|name| self.others.get(&name).cloned()).collect()
    }

    /// Adds a further token of a person, or one of a service account, which is used by this name.
    pub(crate) fn add_token(&mut self, name: &str, token: String) {
        self.others.insert(name.to_owned(), token);
    }
}

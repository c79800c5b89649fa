//! The organization of a campaign: its owner, members and runners.

use anyhow::Context;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fault::deployments::stack::{AdminClient, Stack};
use crate::fault::fixture::parse_id;
use crate::parts::api::Api;
use crate::parts::runner::{Backend, Runner};

const SLUG: &str = "fault";

#[derive(Debug)]
pub(crate) struct Organization {
    pub(crate) id: Uuid,
    pub(crate) owner: Person,
}

#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) user: Uuid,
    pub(crate) token: String,
}

impl Organization {
    pub(crate) async fn create(stack: &Stack) -> anyhow::Result<Self> {
        let owner = ["--owner-email", "owner@example.test", "--owner-name", "Owner"];
        let made = stack.admin_json(&[&["admin", "bootstrap", "--slug", SLUG], &owner[..]].concat()).await?;
        let id = parse_id(&text_field(&made, "organizationId")?).context("an organization has no id")?;
        let user = parse_id(&text_field(&made, "userId")?).context("an owner has no id")?;
        Ok(Self { id, owner: Person { user, token: text_field(&made, "token")? } })
    }

    pub(crate) async fn add_member(
        &self,
        stack: &Stack,
        api: &Api,
        (number, role): (usize, &str),
    ) -> anyhow::Result<Person> {
        let user = self.invite(api, (number, role)).await?;
        Ok(Person { user, token: Self::new_token(&stack.admin_client(), number).await? })
    }

    /// Adds a member without a token.
    pub(crate) async fn invite(&self, api: &Api, (number, role): (usize, &str)) -> anyhow::Result<Uuid> {
        let body = json!({ "email": email(number), "name": format!("Person {number}"), "role": role });
        let added = self.call(api, Method::POST, "/members", &body).await?;
        parse_id(&text_field(&added, "userId")?).context("a member has no id")
    }

    /// Creates a token of a member.
    pub(crate) async fn new_token(admin: &AdminClient, number: usize) -> anyhow::Result<String> {
        let email = email(number);
        let arguments =
            ["admin", "create-token", "--organization", SLUG, "--email", &email, "--name", "fault"];
        text_field(&admin.json(&arguments).await?, "token")
    }

    /// Creates a runner in a pool, and starts it.
    pub(crate) async fn add_runner(
        &self,
        stack: &mut Stack,
        api: &Api,
        (name, pool, backend): (&str, &str, Backend),
    ) -> anyhow::Result<()> {
        let made = self.call(api, Method::POST, "/runners", &Runner::creation_body(name, Some(pool))).await?;
        stack.add_runner(&made, name, backend).await
    }

    /// Sends a request of the owner that has to succeed.
    pub(crate) async fn call(
        &self,
        api: &Api,
        method: Method,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<Value> {
        api.call_ok(method, &Self::path(path), &self.owner.token, Some(body)).await
    }

    /// Returns what the owner reads below the organization.
    pub(crate) async fn read(&self, stack: &Stack, path: &str) -> anyhow::Result<Value> {
        let api = Api::new(stack.servers[0].base_url())?;
        api.get(&Self::path(path), &self.owner.token).await
    }

    /// Returns the path below the organization.
    pub(crate) fn path(path: &str) -> String {
        format!("/organizations/{SLUG}{path}")
    }
}

fn email(number: usize) -> String {
    format!("person-{number}@example.test")
}

pub(crate) fn text_field(from: &Value, key: &str) -> anyhow::Result<String> {
    from[key].as_str().map(str::to_owned).with_context(|| format!("no `{key}` in {from}"))
}

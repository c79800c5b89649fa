//! The fixture of a campaign: an organization with pipelines, environments, people and runners.

use anyhow::Context;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fault::deployments::definition::{
    CONTAINERS, HEARTBEAT_ONLY, HEARTBEAT_ONLY_PIPELINE, NARROW, PIPELINES,
};
use crate::fault::deployments::stack::Stack;
use crate::fault::fixture::parse_id;
use crate::parts::api::Api;
use crate::parts::runner::{Backend, Runner};

const SLUG: &str = "fault";
const RUNNERS: [(&str, &str, Backend); 4] = [
    ("runner-1", "default", Backend::Process),
    ("runner-2", "default", Backend::Process),
    ("runner-3", "default", Backend::Process),
    ("runner-4", CONTAINERS, Backend::Container),
];

#[derive(Debug)]
pub(crate) struct DeploymentFixture {
    pub(crate) organization: Uuid,
    owner: String,
    /// Developers, one for each client.
    pub(crate) people: Vec<Person>,
    /// The token of the runner that only sends heartbeats.
    pub(crate) heartbeat_only_token: String,
    /// Ids of all commits, one for each request.
    pub(crate) commits: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) user: Uuid,
    pub(crate) token: String,
}

/// An environment, and its pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EnvironmentPath {
    pub(crate) pipeline: &'static str,
    pub(crate) name: &'static str,
}

impl DeploymentFixture {
    pub(crate) async fn make(
        stack: &mut Stack,
        member_count: usize,
        (target, mark): (&str, &str),
    ) -> anyhow::Result<Self> {
        let owner = ["--owner-email", "owner@example.test", "--owner-name", "Owner"];
        let made = stack.admin_json(&[&["admin", "bootstrap", "--slug", SLUG], &owner[..]].concat()).await?;
        let organization =
            parse_id(&text_field(&made, "organizationId")?).context("an organization has no id")?;
        let commits = stack.commits.all().to_vec();
        let owner = text_field(&made, "token")?;
        let heartbeat_only_token = String::new();
        let mut fixture = Self { organization, owner, people: Vec::new(), heartbeat_only_token, commits };
        let api = Api::new(stack.servers[0].base_url())?;
        for number in 1..=member_count {
            fixture.people.push(fixture.add_member(stack, &api, number).await?);
        }
        for pipeline in PIPELINES.iter().chain([&NARROW, &HEARTBEAT_ONLY_PIPELINE]) {
            let mut body = json!({
                "name": pipeline.slug,
                "slug": pipeline.slug,
                "definition": pipeline.definition(target, mark),
            });
            if pipeline.has_repository {
                body["repository"] = stack.repository_url().into();
            }
            fixture.call(&api, Method::POST, "/pipelines", &body).await?;
        }
        for (name, pool, backend) in RUNNERS {
            let made = fixture
                .call(&api, Method::POST, "/runners", &Runner::creation_body(name, Some(pool)))
                .await?;
            stack.add_runner(&made, name, backend).await?;
        }
        let made = fixture
            .call(
                &api,
                Method::POST,
                "/runners",
                &Runner::creation_body(HEARTBEAT_ONLY, Some(HEARTBEAT_ONLY)),
            )
            .await?;
        fixture.heartbeat_only_token = text_field(&made, "token")?;
        // The containers' steps report to this machine itself, on loopback.
        let open = json!({ "network": "host" });
        fixture.call(&api, Method::PATCH, &format!("/runner-pools/{CONTAINERS}"), &open).await?;
        Ok(fixture)
    }

    async fn add_member(&self, stack: &Stack, api: &Api, number: usize) -> anyhow::Result<Person> {
        let email = format!("person-{number}@example.test");
        let body = json!({ "email": email, "name": format!("Person {number}"), "role": "developer" });
        let added = self.call(api, Method::POST, "/members", &body).await?;
        let user = parse_id(&text_field(&added, "userId")?).context("a member has no id")?;
        let arguments =
            ["admin", "create-token", "--organization", SLUG, "--email", &email, "--name", "fault"];
        Ok(Person { user, token: text_field(&stack.admin_json(&arguments).await?, "token")? })
    }

    async fn call(&self, api: &Api, method: Method, path: &str, body: &Value) -> anyhow::Result<Value> {
        api.call_ok(method, &Self::path(path), &self.owner, Some(body)).await
    }

    /// Returns a deployment as the API shows it now, including its blockers.
    pub(crate) async fn deployment(&self, stack: &Stack, id: Uuid) -> anyhow::Result<Value> {
        let api = Api::new(stack.servers[0].base_url())?;
        api.get(&Self::path(&format!("/deployments/dep_{id}")), &self.owner).await
    }

    /// Returns the path below the organization.
    pub(crate) fn path(path: &str) -> String {
        format!("/organizations/{SLUG}{path}")
    }

    pub(crate) fn environments() -> Vec<EnvironmentPath> {
        let of = |pipeline: &'static super::definition::Pipeline| {
            pipeline.environments.iter().map(|name| EnvironmentPath { pipeline: pipeline.slug, name })
        };
        PIPELINES.iter().flat_map(of).collect()
    }
}

impl EnvironmentPath {
    pub(crate) fn path(self, rest: &str) -> String {
        let Self { pipeline, name } = self;
        DeploymentFixture::path(&format!("/pipelines/{pipeline}/ephemeral-environments/{name}{rest}"))
    }
}

fn text_field(from: &Value, key: &str) -> anyhow::Result<String> {
    from[key].as_str().map(str::to_owned).with_context(|| format!("no `{key}` in {from}"))
}

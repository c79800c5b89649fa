//! The made-up organization: its pipelines and environments, its people, and its runners.

use anyhow::Context;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fault::deployments::definition::{CONTAINERS, HOLLOW, HOLLOW_PIPELINE, NARROW, PIPELINES};
use crate::fault::deployments::stack::Stack;
use crate::fault::world::parse_id;
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
pub(crate) struct World {
    pub(crate) organization: Uuid,
    owner: String,
    /// Developers, one for each client.
    pub(crate) people: Vec<Person>,
    /// The token of the runner that only sends heartbeats.
    pub(crate) hollow_token: String,
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
pub(crate) struct Place {
    pub(crate) pipeline: &'static str,
    pub(crate) name: &'static str,
}

impl World {
    pub(crate) async fn make(
        stack: &mut Stack,
        people: usize,
        (target, mark): (&str, &str),
    ) -> anyhow::Result<Self> {
        let owner = ["--owner-email", "owner@example.test", "--owner-name", "Owner"];
        let made = stack.admin_json(&[&["admin", "bootstrap", "--slug", SLUG], &owner[..]].concat()).await?;
        let organization = parse_id(&word(&made, "organizationId")?).context("an organization has no id")?;
        let commits = stack.commits.all().to_vec();
        let (owner_token, people_of_it, hollow_token) = (word(&made, "token")?, Vec::new(), String::new());
        let mut world =
            Self { organization, owner: owner_token, people: people_of_it, hollow_token, commits };
        let api = Api::new(stack.servers[0].base_url())?;
        for number in 1..=people {
            world.people.push(world.hire(stack, &api, number).await?);
        }
        for pipeline in PIPELINES.iter().chain([&NARROW, &HOLLOW_PIPELINE]) {
            let mut body = json!({
                "name": pipeline.slug,
                "slug": pipeline.slug,
                "definition": pipeline.definition(target, mark),
            });
            if pipeline.has_repository {
                body["repository"] = stack.repository_url().into();
            }
            world.done(&api, Method::POST, "/pipelines", &body).await?;
        }
        for (name, pool, backend) in RUNNERS {
            let made = world.done(&api, Method::POST, "/runners", &Runner::asked(name, Some(pool))).await?;
            stack.add_runner(&made, name, backend).await?;
        }
        let made = world.done(&api, Method::POST, "/runners", &Runner::asked(HOLLOW, Some(HOLLOW))).await?;
        world.hollow_token = word(&made, "token")?;
        // The containers' steps report to this machine itself, on loopback.
        let open = json!({ "network": "host" });
        world.done(&api, Method::PATCH, &format!("/runner-pools/{CONTAINERS}"), &open).await?;
        Ok(world)
    }

    async fn hire(&self, stack: &Stack, api: &Api, number: usize) -> anyhow::Result<Person> {
        let email = format!("person-{number}@example.test");
        let body = json!({ "email": email, "name": format!("Person {number}"), "role": "developer" });
        let added = self.done(api, Method::POST, "/members", &body).await?;
        let user = parse_id(&word(&added, "userId")?).context("a member has no id")?;
        let words = ["admin", "create-token", "--organization", SLUG, "--email", &email, "--name", "fault"];
        Ok(Person { user, token: word(&stack.admin_json(&words).await?, "token")? })
    }

    async fn done(&self, api: &Api, method: Method, path: &str, body: &Value) -> anyhow::Result<Value> {
        api.done(method, &Self::path(path), &self.owner, Some(body)).await
    }

    /// How the API shows a deployment now; for whoever wants to know what it waits for.
    pub(crate) async fn deployment(&self, stack: &Stack, id: Uuid) -> anyhow::Result<Value> {
        let api = Api::new(stack.servers[0].base_url())?;
        api.get(&Self::path(&format!("/deployments/dep_{id}")), &self.owner).await
    }

    /// Below the organization.
    pub(crate) fn path(path: &str) -> String {
        format!("/organizations/{SLUG}{path}")
    }

    pub(crate) fn places() -> Vec<Place> {
        let of = |pipeline: &'static super::definition::Pipeline| {
            pipeline.environments.iter().map(|name| Place { pipeline: pipeline.slug, name })
        };
        PIPELINES.iter().flat_map(of).collect()
    }
}

impl Place {
    pub(crate) fn path(self, rest: &str) -> String {
        let Self { pipeline, name } = self;
        World::path(&format!("/pipelines/{pipeline}/ephemeral-environments/{name}{rest}"))
    }
}

fn word(from: &Value, key: &str) -> anyhow::Result<String> {
    from[key].as_str().map(str::to_owned).with_context(|| format!("no `{key}` in {from}"))
}

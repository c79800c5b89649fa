//! The fixture of a campaign: an organization with pipelines, environments, people and runners.

use reqwest::Method;
use serde_json::json;

use crate::fault::deployments::definition::{
    CONTAINERS, HEARTBEAT_ONLY, HEARTBEAT_ONLY_PIPELINE, NARROW, PIPELINES,
};
use crate::fault::deployments::organization::{Organization, Person, text_field};
use crate::fault::deployments::stack::Stack;
use crate::parts::api::Api;
use crate::parts::runner::{Backend, Runner};

const RUNNERS: [(&str, &str, Backend); 4] = [
    ("runner-1", "default", Backend::Process),
    ("runner-2", "default", Backend::Process),
    ("runner-3", "default", Backend::Process),
    ("runner-4", CONTAINERS, Backend::Container),
];

#[derive(Debug)]
pub(crate) struct DeploymentFixture {
    pub(crate) organization: Organization,
    /// Developers, one for each client.
    pub(crate) people: Vec<Person>,
    /// The token of the runner that only sends heartbeats.
    pub(crate) heartbeat_only_token: String,
    /// Ids of all commits, one for each request.
    pub(crate) commits: Vec<String>,
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
        let organization = Organization::create(stack).await?;
        let commits = stack.commits().to_vec();
        let api = Api::new(stack.servers[0].base_url())?;
        let mut people = Vec::new();
        for number in 1..=member_count {
            people.push(organization.add_member(stack, &api, (number, "developer")).await?);
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
            organization.call(&api, Method::POST, "/pipelines", &body).await?;
        }
        for runner in RUNNERS {
            organization.add_runner(stack, &api, runner).await?;
        }
        let body = Runner::creation_body(HEARTBEAT_ONLY, Some(HEARTBEAT_ONLY));
        let made = organization.call(&api, Method::POST, "/runners", &body).await?;
        let heartbeat_only_token = text_field(&made, "token")?;
        // The containers' steps report to this machine itself, on loopback.
        let open = json!({ "network": "host" });
        organization.call(&api, Method::PATCH, &format!("/runner-pools/{CONTAINERS}"), &open).await?;
        Ok(Self { organization, people, heartbeat_only_token, commits })
    }

    /// Returns the path below the organization.
    pub(crate) fn path(path: &str) -> String {
        Organization::path(path)
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

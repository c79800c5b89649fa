//! The fixture of a campaign: an organization with pipelines, people and runners.

use std::path::Path;

use anyhow::Context;
use reqwest::Method;
use serde_json::json;

use crate::fault::deployments::organization::{Organization, Person};
use crate::fault::deployments::stack::Stack;
use crate::fault::gates::definition::PIPELINES;
use crate::parts::api::Api;
use crate::parts::runner::Backend;

const RUNNERS: [&str; 3] = ["runner-1", "runner-2", "runner-3"];
const POOL: &str = "default";

pub(crate) struct GateFixture {
    pub(crate) organization: Organization,
    /// Developers, one for each client that deploys.
    pub(crate) developers: Vec<Person>,
    /// A maintainer who holds environments.
    pub(crate) holder: Person,
    /// A maintainer who rolls back.
    pub(crate) roller: Person,
    /// The ids of the pipelines, as in the API.
    pub(crate) pipeline_ids: Vec<String>,
}

impl GateFixture {
    pub(crate) async fn make(
        stack: &mut Stack,
        developer_count: usize,
        (journal, mark): (&Path, &str),
    ) -> anyhow::Result<Self> {
        let organization = Organization::create(stack).await?;
        let api = Api::new(stack.servers[0].base_url())?;
        let holder = organization.add_member(stack, &api, (1, "maintainer")).await?;
        let roller = organization.add_member(stack, &api, (2, "maintainer")).await?;
        let mut developers = Vec::new();
        for number in 0..developer_count {
            developers.push(organization.add_member(stack, &api, (number + 3, "developer")).await?);
        }
        let journal = journal.to_str().context("the path of the journal is not UTF-8")?;
        let mut pipeline_ids = Vec::new();
        for pipeline in &PIPELINES {
            let body = json!({
                "name": pipeline.slug,
                "slug": pipeline.slug,
                "definition": pipeline.definition(journal, mark),
            });
            let made = organization.call(&api, Method::POST, "/pipelines", &body).await?;
            pipeline_ids.push(made["id"].as_str().context("a pipeline has no id")?.to_owned());
        }
        for name in RUNNERS {
            organization.add_runner(stack, &api, (name, POOL, Backend::Process)).await?;
        }
        Ok(Self { organization, developers, holder, roller, pipeline_ids })
    }
}

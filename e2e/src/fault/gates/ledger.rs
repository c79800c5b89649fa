//! The database's final state of lasting environments, beyond that of deployments in general.

use std::collections::HashMap;

use anyhow::Context;
use serde_json::Value;
use sqlx::{Connection, PgConnection, Row};
use uuid::Uuid;

use crate::fault::clock::Micros;
use crate::fault::deployments::organization::Organization;
use crate::fault::deployments::stack::Stack;
use crate::fault::fixture::parse_id;
use crate::fault::gates::definition::{ENVIRONMENTS, PIPELINES};
use crate::fault::gates::history::Place;

#[derive(Debug, Default)]
pub(crate) struct GateLedger {
    pub(crate) environments: Vec<EnvironmentRow>,
    /// By environment and fence.
    pub(crate) tenures: Vec<TenureRow>,
    /// When each deployment was accepted: created, or rolled back.
    pub(crate) accepted_at: HashMap<Uuid, Micros>,
    /// The lasting environments of stages.
    pub(crate) stage_environments: HashMap<(Uuid, String), &'static str>,
    /// When users retried stages of each deployment, in order.
    pub(crate) retried_at: HashMap<Uuid, Vec<Micros>>,
}

/// A lasting environment.
#[derive(Clone, Debug)]
pub(crate) struct EnvironmentRow {
    pub(crate) place: Place,
    /// The deployment that has its work slot.
    pub(crate) slot: Option<Uuid>,
    /// The deployment that is live according to the API.
    pub(crate) live: Option<Uuid>,
}

/// The time in which a deployment has worked in an environment, as recorded by the product.
#[derive(Clone, Debug)]
pub(crate) struct TenureRow {
    pub(crate) place: Place,
    pub(crate) fence: i64,
    pub(crate) deployment: Uuid,
    pub(crate) began_at: Micros,
    pub(crate) ended_at: Option<Micros>,
    pub(crate) outcome: Option<String>,
}

impl TenureRow {
    pub(crate) fn has_succeeded(&self) -> bool {
        self.outcome.as_deref() == Some("succeeded")
    }
}

const SLOTS: &str = "select p.slug, e.name, e.slot_deployment_id from lasting_environments e
    join pipelines p on p.organization_id = e.organization_id and p.id = e.pipeline_id";
const TENURES: &str = "select p.slug, h.name, h.fence, h.deployment_id, h.outcome,
        (extract(epoch from h.began_at) * 1000000)::bigint as began_at,
        (extract(epoch from h.ended_at) * 1000000)::bigint as ended_at
    from environment_deployments h join pipelines p on p.organization_id = h.organization_id and p.id = h.pipeline_id
    order by p.slug, h.name, h.fence";
const ACCEPTED: &str =
    "select id, (extract(epoch from accepted_at) * 1000000)::bigint as accepted_at from deployments";
const STAGES: &str = "select deployment_id, key, environment from stages where environment is not null";
const RETRIES: &str = "select data -> 'after' ->> 'deploymentId' as deployment_id,
        (extract(epoch from time) * 1000000)::bigint as at
    from events where type = 'deployment.stage.retried' and actor_id is not null order by sequence";

impl GateLedger {
    pub(crate) async fn read(stack: &Stack, organization: &Organization) -> anyhow::Result<Self> {
        let mut connection =
            PgConnection::connect(&stack.postgres.url()).await.context("the ledger can't be read")?;
        let mut ledger = Self::default();
        for row in sqlx::query(SLOTS).fetch_all(&mut connection).await? {
            let place = place(row.try_get("slug")?, row.try_get("name")?)?;
            let slot = row.try_get("slot_deployment_id")?;
            ledger.environments.push(EnvironmentRow { place, slot, live: None });
        }
        for row in sqlx::query(TENURES).fetch_all(&mut connection).await? {
            ledger.tenures.push(TenureRow {
                place: place(row.try_get("slug")?, row.try_get("name")?)?,
                fence: row.try_get("fence")?,
                deployment: row.try_get("deployment_id")?,
                began_at: row.try_get("began_at")?,
                ended_at: row.try_get("ended_at")?,
                outcome: row.try_get("outcome")?,
            });
        }
        for row in sqlx::query(ACCEPTED).fetch_all(&mut connection).await? {
            ledger.accepted_at.insert(row.try_get("id")?, row.try_get("accepted_at")?);
        }
        for row in sqlx::query(STAGES).fetch_all(&mut connection).await? {
            let name: String = row.try_get("environment")?;
            if let Some(name) = ENVIRONMENTS.into_iter().find(|environment| *environment == name) {
                let stage = (row.try_get("deployment_id")?, row.try_get("key")?);
                ledger.stage_environments.insert(stage, name);
            }
        }
        for row in sqlx::query(RETRIES).fetch_all(&mut connection).await? {
            let deployment: Option<String> = row.try_get("deployment_id")?;
            let deployment = deployment.as_deref().and_then(parse_id).context("a retry has no deployment")?;
            ledger.retried_at.entry(deployment).or_default().push(row.try_get("at")?);
        }
        ledger.read_live(stack, organization).await?;
        Ok(ledger)
    }

    /// Reads from the API what is live.
    async fn read_live(&mut self, stack: &Stack, organization: &Organization) -> anyhow::Result<()> {
        for pipeline in &PIPELINES {
            let listed =
                organization.read(stack, &format!("/pipelines/{}/environments", pipeline.slug)).await?;
            let listed = listed.as_array().context("the environments are not a list")?;
            let of_pipeline = self.environments.iter_mut().filter(|row| row.place.pipeline == pipeline.slug);
            for row in of_pipeline {
                let is_same = |record: &&Value| record["name"] == row.place.environment;
                let record = listed.iter().find(is_same).context("an environment is not listed")?;
                row.live = record["live"]["deploymentId"].as_str().and_then(parse_id);
            }
        }
        Ok(())
    }
}

fn place(slug: &str, name: &str) -> anyhow::Result<Place> {
    let pipeline = PIPELINES.iter().map(|pipeline| pipeline.slug).find(|pipeline| *pipeline == slug);
    let environment = ENVIRONMENTS.into_iter().find(|environment| *environment == name);
    let (pipeline, environment) = pipeline.zip(environment).with_context(|| format!("{slug}/{name}?"))?;
    Ok(Place { pipeline, environment })
}

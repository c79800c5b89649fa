//! The final state of approvals: as the API returns it, and their events and the starts of their stages as the database
//! has them.

use anyhow::Context;
use serde_json::Value;
use sqlx::{Connection, PgConnection, Row};
use uuid::Uuid;

use super::definition::{BUILD, LATE};
use crate::fault::clock::Micros;
use crate::fault::deployments::organization::Organization;
use crate::fault::deployments::stack::Stack;
use crate::fault::fixture::parse_id;

const PAGE: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct ApprovalLedger {
    pub(crate) approvals: Vec<ApprovalRow>,
    pub(crate) votes: Vec<VoteRow>,
    /// By sequence.
    pub(crate) events: Vec<ApprovalEvent>,
    /// The first start of a step in each attempt of a gated stage.
    pub(crate) starts: Vec<StageStart>,
    /// When attempts of builds have ended.
    pub(crate) builds: Vec<(Uuid, Micros)>,
    /// When stages were retried that need an approval only with the newest definition.
    pub(crate) late_retries: Vec<(Uuid, Micros)>,
}

#[derive(Clone, Debug)]
pub(crate) struct ApprovalRow {
    pub(crate) id: Uuid,
    pub(crate) deployment: Uuid,
    pub(crate) stage: String,
    pub(crate) status: String,
    pub(crate) created_at: Micros,
    pub(crate) decided_at: Option<Micros>,
    pub(crate) valid_until: Option<Micros>,
}

#[derive(Clone, Debug)]
pub(crate) struct VoteRow {
    pub(crate) approval: Uuid,
    pub(crate) user: Uuid,
    pub(crate) decision: String,
    pub(crate) is_withdrawn: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct ApprovalEvent {
    pub(crate) approval: Uuid,
    /// Without `approval.`.
    pub(crate) verb: String,
    pub(crate) actor: Option<Uuid>,
    /// What was voted.
    pub(crate) decision: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct StageStart {
    pub(crate) deployment: Uuid,
    pub(crate) stage: String,
    pub(crate) attempt: i32,
    pub(crate) at: Micros,
}

const EVENTS: &str = "select type, actor_id, data -> 'after' ->> 'approvalId' as approval_id,
        data -> 'after' -> 'vote' ->> 'decision' as decision
    from events where organization_id = $1 and type like 'approval.%' order by sequence";
const STARTS: &str = "select j.deployment_id, j.stage_key, j.attempt,
        (extract(epoch from min(r.started_at)) * 1000000)::bigint as at
    from jobs j join step_runs r on r.organization_id = $1 and r.job_id = j.id and r.started_at is not null
    join approvals a on a.organization_id = $1 and a.deployment_id = j.deployment_id
    where j.organization_id = $1 and j.stage_key <> $2
    group by j.deployment_id, j.stage_key, j.attempt";
const BUILDS: &str = "select deployment_id, (extract(epoch from ended_at) * 1000000)::bigint as at from jobs
    where organization_id = $1 and stage_key = $2 and ended_at is not null";
const LATE_RETRIES: &str = "select data -> 'after' ->> 'deploymentId' as deployment_id,
        (extract(epoch from time) * 1000000)::bigint as at
    from events where organization_id = $1 and type = 'deployment.stage.retried' and data -> 'after' ->> 'stage' = $2";

impl ApprovalLedger {
    pub(crate) async fn read(stack: &Stack, organization: &Organization) -> anyhow::Result<Self> {
        let mut ledger = Self::default();
        ledger.read_api(stack, organization).await?;
        let mut connection =
            PgConnection::connect(&stack.postgres.url()).await.context("the approvals can't be read")?;
        for row in sqlx::query(EVENTS).bind(organization.id).fetch_all(&mut connection).await? {
            let (kind, approval): (String, Option<String>) =
                (row.try_get("type")?, row.try_get("approval_id")?);
            ledger.events.push(ApprovalEvent {
                approval: approval.as_deref().and_then(parse_id).context("an event has no approval")?,
                verb: kind.trim_start_matches("approval.").to_owned(),
                actor: row.try_get("actor_id")?,
                decision: row.try_get("decision")?,
            });
        }
        for row in sqlx::query(STARTS).bind(organization.id).bind(BUILD).fetch_all(&mut connection).await? {
            ledger.starts.push(StageStart {
                deployment: row.try_get("deployment_id")?,
                stage: row.try_get("stage_key")?,
                attempt: row.try_get("attempt")?,
                at: row.try_get("at")?,
            });
        }
        for row in sqlx::query(BUILDS).bind(organization.id).bind(BUILD).fetch_all(&mut connection).await? {
            ledger.builds.push((row.try_get("deployment_id")?, row.try_get("at")?));
        }
        for row in
            sqlx::query(LATE_RETRIES).bind(organization.id).bind(LATE).fetch_all(&mut connection).await?
        {
            let deployment: Option<String> = row.try_get("deployment_id")?;
            let deployment = deployment.as_deref().and_then(parse_id).context("a retry has no deployment")?;
            ledger.late_retries.push((deployment, row.try_get("at")?));
        }
        Ok(ledger)
    }

    async fn read_api(&mut self, stack: &Stack, organization: &Organization) -> anyhow::Result<()> {
        let mut offset = 0;
        loop {
            let path = format!("/approvals?limit={PAGE}&offset={offset}");
            let listed = organization.read(stack, &path).await?;
            let listed = listed.as_array().context("the approvals are not a list")?;
            for listed in listed {
                let id = listed["id"].as_str().context("an approval has no id")?;
                let record = organization.read(stack, &format!("/approvals/{id}")).await?;
                self.add(&record).with_context(|| format!("an approval is not complete: {record}"))?;
            }
            if listed.len() < PAGE {
                return Ok(());
            }
            offset += PAGE;
        }
    }

    fn add(&mut self, record: &Value) -> Option<()> {
        let id = record["id"].as_str().and_then(parse_id)?;
        self.approvals.push(ApprovalRow {
            id,
            deployment: record["deploymentId"].as_str().and_then(parse_id)?,
            stage: record["stage"].as_str()?.to_owned(),
            status: record["status"].as_str()?.to_owned(),
            created_at: time(&record["createdAt"])?,
            decided_at: time(&record["decidedAt"]),
            valid_until: time(&record["validUntil"]),
        });
        for vote in record["votes"].as_array()? {
            self.votes.push(VoteRow {
                approval: id,
                user: vote["by"]["id"].as_str().and_then(parse_id)?,
                decision: vote["decision"].as_str()?.to_owned(),
                is_withdrawn: vote["withdrawnAt"].is_string(),
            });
        }
        Some(())
    }
}

fn time(value: &Value) -> Option<Micros> {
    value.as_str()?.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_microsecond)
}

//! The database's final state: deployments with their stages, attempts and steps, sessions, environments and
//! events.

use anyhow::Context;
use sqlx::postgres::PgRow;
use sqlx::{Connection, PgConnection, Row};
use uuid::Uuid;

use crate::fault::clock::Micros;
use crate::fault::fixture::parse_id;

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) deployments: Vec<DeploymentRow>,
    pub(crate) stages: Vec<StageRow>,
    pub(crate) jobs: Vec<JobRow>,
    pub(crate) steps: Vec<StepRow>,
    pub(crate) sessions: Vec<SessionRow>,
    pub(crate) environments: Vec<EnvironmentRow>,
    /// By sequence.
    pub(crate) events: Vec<EventRow>,
}

#[derive(Clone, Debug)]
pub(crate) struct DeploymentRow {
    pub(crate) id: Uuid,
    /// The pipeline's slug.
    pub(crate) pipeline: String,
    pub(crate) environment: Option<String>,
    pub(crate) session: Option<Uuid>,
    pub(crate) commit: String,
    pub(crate) purpose: String,
    pub(crate) status: String,
    pub(crate) reason: Option<String>,
    pub(crate) created_at: Micros,
    pub(crate) started_at: Option<Micros>,
    pub(crate) ended_at: Option<Micros>,
}

#[derive(Clone, Debug)]
pub(crate) struct StageRow {
    pub(crate) deployment: Uuid,
    pub(crate) key: String,
    pub(crate) status: String,
    /// The number of its newest attempt.
    pub(crate) attempt: i32,
    /// The number of attempts that the definition permits if the platform fails.
    pub(crate) allowed: i32,
}

/// An attempt of a stage.
#[derive(Clone, Debug)]
pub(crate) struct JobRow {
    pub(crate) id: Uuid,
    pub(crate) deployment: Uuid,
    pub(crate) stage: String,
    pub(crate) attempt: i32,
    pub(crate) status: String,
    pub(crate) reason: Option<String>,
    pub(crate) runner: Option<String>,
    pub(crate) started_at: Option<Micros>,
    pub(crate) ended_at: Option<Micros>,
}

#[derive(Clone, Debug)]
pub(crate) struct StepRow {
    pub(crate) job: Uuid,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) started_at: Option<Micros>,
}

#[derive(Clone, Debug)]
pub(crate) struct SessionRow {
    pub(crate) id: Uuid,
    pub(crate) user: Uuid,
    pub(crate) status: String,
    pub(crate) ended_at: Option<Micros>,
}

#[derive(Clone, Debug)]
pub(crate) struct EnvironmentRow {
    pub(crate) name: String,
    pub(crate) slot: Option<Uuid>,
    pub(crate) held: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct EventRow {
    pub(crate) sequence: i64,
    pub(crate) kind: String,
    pub(crate) deployment: Option<Uuid>,
    pub(crate) stage: Option<String>,
    pub(crate) attempt: Option<i32>,
    /// Caused by a person, not by the system.
    pub(crate) by_person: bool,
}

const DEPLOYMENTS: &str =
    "select d.id, p.slug as pipeline, e.name as environment, d.session_id, d.commit_id, d.purpose, d.status, d.reason,
        (extract(epoch from d.created_at) * 1000000)::bigint as created_at,
        (extract(epoch from d.started_at) * 1000000)::bigint as started_at,
        (extract(epoch from d.ended_at) * 1000000)::bigint as ended_at
    from deployments d join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
    left join environments e on e.organization_id = $1 and e.id = d.environment_id
    where d.organization_id = $1 order by d.id";
const STAGES: &str =
    "select deployment_id, key, status, attempt, attempts as allowed from stages where organization_id = $1
    order by deployment_id, position";
const JOBS: &str = "select id, deployment_id, stage_key, attempt, status, reason, runner_name,
        (extract(epoch from started_at) * 1000000)::bigint as started_at,
        (extract(epoch from ended_at) * 1000000)::bigint as ended_at
    from jobs where organization_id = $1 order by deployment_id, stage_key, attempt";
const STEPS: &str =
    "select job_id, name, status, (extract(epoch from started_at) * 1000000)::bigint as started_at
    from step_runs where organization_id = $1 order by job_id, position";
const SESSIONS: &str =
    "select id, user_id, status, (extract(epoch from ended_at) * 1000000)::bigint as ended_at
    from sessions where organization_id = $1";
const ENVIRONMENTS: &str = "select name, slot_deployment_id, session_id is not null as held
    from environments where organization_id = $1 order by name";
const EVENTS: &str = "select sequence, type, data -> 'after' ->> 'deploymentId' as deployment_id,
        actor_id is not null as by_person, data -> 'after' ->> 'stage' as stage, (data -> 'after' ->> 'attempt')::integer as attempt
    from events where organization_id = $1 order by sequence";

impl Ledger {
    pub(crate) async fn read(url: &str, organization: Uuid) -> anyhow::Result<Self> {
        let mut connection = PgConnection::connect(url).await.context("the ledger can't be read")?;
        let mut rows = Rows { connection: &mut connection, organization };
        Ok(Self {
            deployments: rows.read(DEPLOYMENTS, deployment).await?,
            stages: rows.read(STAGES, stage).await?,
            jobs: rows.read(JOBS, job).await?,
            steps: rows.read(STEPS, step).await?,
            sessions: rows.read(SESSIONS, session).await?,
            environments: rows.read(ENVIRONMENTS, environment).await?,
            events: rows.read(EVENTS, event).await?,
        })
    }
}

struct Rows<'a> {
    connection: &'a mut PgConnection,
    organization: Uuid,
}

impl Rows<'_> {
    async fn read<T>(
        &mut self,
        sql: &'static str,
        read: fn(&PgRow) -> Result<T, sqlx::Error>,
    ) -> anyhow::Result<Vec<T>> {
        let rows = sqlx::query(sql).bind(self.organization).fetch_all(&mut *self.connection).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }
}

fn deployment(row: &PgRow) -> Result<DeploymentRow, sqlx::Error> {
    Ok(DeploymentRow {
        id: row.try_get("id")?,
        pipeline: row.try_get("pipeline")?,
        environment: row.try_get("environment")?,
        session: row.try_get("session_id")?,
        commit: row.try_get("commit_id")?,
        purpose: row.try_get("purpose")?,
        status: row.try_get("status")?,
        reason: row.try_get("reason")?,
        created_at: row.try_get("created_at")?,
        started_at: row.try_get("started_at")?,
        ended_at: row.try_get("ended_at")?,
    })
}

fn stage(row: &PgRow) -> Result<StageRow, sqlx::Error> {
    Ok(StageRow {
        deployment: row.try_get("deployment_id")?,
        key: row.try_get("key")?,
        status: row.try_get("status")?,
        attempt: row.try_get("attempt")?,
        allowed: row.try_get("allowed")?,
    })
}

fn job(row: &PgRow) -> Result<JobRow, sqlx::Error> {
    Ok(JobRow {
        id: row.try_get("id")?,
        deployment: row.try_get("deployment_id")?,
        stage: row.try_get("stage_key")?,
        attempt: row.try_get("attempt")?,
        status: row.try_get("status")?,
        reason: row.try_get("reason")?,
        runner: row.try_get("runner_name")?,
        started_at: row.try_get("started_at")?,
        ended_at: row.try_get("ended_at")?,
    })
}

fn step(row: &PgRow) -> Result<StepRow, sqlx::Error> {
    Ok(StepRow {
        job: row.try_get("job_id")?,
        name: row.try_get("name")?,
        status: row.try_get("status")?,
        started_at: row.try_get("started_at")?,
    })
}

fn session(row: &PgRow) -> Result<SessionRow, sqlx::Error> {
    Ok(SessionRow {
        id: row.try_get("id")?,
        user: row.try_get("user_id")?,
        status: row.try_get("status")?,
        ended_at: row.try_get("ended_at")?,
    })
}

fn environment(row: &PgRow) -> Result<EnvironmentRow, sqlx::Error> {
    Ok(EnvironmentRow {
        name: row.try_get("name")?,
        slot: row.try_get("slot_deployment_id")?,
        held: row.try_get("held")?,
    })
}

fn event(row: &PgRow) -> Result<EventRow, sqlx::Error> {
    Ok(EventRow {
        sequence: row.try_get("sequence")?,
        kind: row.try_get("type")?,
        deployment: row.try_get::<Option<String>, _>("deployment_id")?.as_deref().and_then(parse_id),
        stage: row.try_get("stage")?,
        attempt: row.try_get("attempt")?,
        by_person: row.try_get("by_person")?,
    })
}

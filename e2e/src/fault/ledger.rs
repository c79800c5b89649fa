//! The database's final state: sessions, deployments, events and locks, since the previous read.

use std::collections::HashMap;

use anyhow::Context;
use sqlx::postgres::PgRow;
use sqlx::{Connection, PgConnection, Row};
use uuid::Uuid;

use crate::fault::clock::Micros;
use crate::fault::fixture::{LockFixture, parse_id};
use crate::fault::history::{Environment, Status};

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// By environment and ordinal.
    pub(crate) sessions: Vec<SessionRow>,
    pub(crate) deployments: Vec<DeploymentRow>,
    /// By organization and sequence.
    pub(crate) events: Vec<EventRow>,
    pub(crate) environments: Vec<EnvironmentRow>,
    /// The number of events without a sequence number.
    pub(crate) unsequenced: i64,
    /// The position that the previous read reached.
    pub(crate) since: ReadPosition,
}

/// The position that a read has reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadPosition {
    pub(crate) sequences: Vec<i64>,
    pub(crate) ordinals: HashMap<Environment, i64>,
}

#[derive(Clone, Debug)]
pub(crate) struct SessionRow {
    pub(crate) environment: Environment,
    pub(crate) id: Uuid,
    pub(crate) ordinal: i64,
    pub(crate) status: Status,
    pub(crate) user: Uuid,
    /// The request that created it.
    pub(crate) request: u64,
    pub(crate) fence: Option<i64>,
    pub(crate) queued_at: Option<Micros>,
    pub(crate) claimed_at: Option<Micros>,
    pub(crate) ended_at: Option<Micros>,
    pub(crate) ended_by: Option<Uuid>,
    pub(crate) override_session: Option<Uuid>,
}

#[derive(Clone, Debug)]
pub(crate) struct DeploymentRow {
    pub(crate) id: Uuid,
    pub(crate) session: Uuid,
    pub(crate) fence: i64,
    pub(crate) commit: String,
    pub(crate) created_at: Micros,
}

#[derive(Clone, Debug)]
pub(crate) struct EventRow {
    pub(crate) organization: usize,
    pub(crate) sequence: i64,
    pub(crate) time: Micros,
    pub(crate) kind: String,
    pub(crate) session: Option<Uuid>,
    pub(crate) deployment: Option<Uuid>,
    pub(crate) environment: Option<Environment>,
    pub(crate) fence: Option<i64>,
    pub(crate) actor: Option<Uuid>,
}

#[derive(Clone, Debug)]
pub(crate) struct EnvironmentRow {
    pub(crate) environment: Environment,
    pub(crate) fence: i64,
    pub(crate) sessions: i64,
    pub(crate) held: bool,
    pub(crate) waiters: i32,
}

const SESSIONS: &str =
    "select s.id, s.ordinal, s.status, s.user_id, coalesce(s.context, '') as context, s.fence, s.ended_by,
        s.override_session_id,
        (extract(epoch from s.queued_at) * 1000000)::bigint as queued_at,
        (extract(epoch from s.claimed_at) * 1000000)::bigint as claimed_at,
        (extract(epoch from s.ended_at) * 1000000)::bigint as ended_at
    from sessions s join environments e on e.organization_id = s.organization_id and e.id = s.environment_id
    where s.organization_id = $1 and e.name = $2 and s.ordinal > $3 order by s.ordinal";
const DEPLOYMENTS: &str = "select d.id, d.session_id, coalesce(d.fence, -1) as fence, d.commit_id,
        (extract(epoch from d.created_at) * 1000000)::bigint as created_at
    from deployments d
    join sessions s on s.organization_id = d.organization_id and s.id = d.session_id
    join environments e on e.organization_id = s.organization_id and e.id = s.environment_id
    where d.organization_id = $1 and e.name = $2 and s.ordinal > $3";
const EVENTS: &str = "select sequence, (extract(epoch from time) * 1000000)::bigint as time, type, actor_id,
        data -> 'after' ->> 'sessionId' as session_id, data -> 'after' ->> 'deploymentId' as deployment_id,
        data -> 'after' ->> 'envName' as environment, (data -> 'after' ->> 'fence')::bigint as fence
    from events where organization_id = $1 and sequence > $2 order by sequence";
const ENVIRONMENTS: &str = "select name, fence, sessions, session_id is not null as held, waiters
    from environments where organization_id = $1";

impl Ledger {
    pub(crate) async fn read(url: &str, fixture: &LockFixture, since: &ReadPosition) -> anyhow::Result<Self> {
        let mut connection = PgConnection::connect(url).await.context("the database can't be read")?;
        let connection = &mut connection;
        let mut ledger = Self { since: since.clone(), ..Self::default() };
        ledger.since.sequences.resize(fixture.organizations.len(), 0);
        for (index, organization) in fixture.organizations.iter().enumerate() {
            for row in sqlx::query(ENVIRONMENTS).bind(organization.id).fetch_all(&mut *connection).await? {
                let name: String = row.try_get("name")?;
                let environment =
                    fixture.find(index, &name).with_context(|| format!("unknown environment {name}"))?;
                let before = ledger.since.ordinals.get(&environment).copied().unwrap_or(0);
                for row in fetch(connection, SESSIONS, organization.id, &name, before).await? {
                    ledger.sessions.push(session(environment, &row)?);
                }
                for row in fetch(connection, DEPLOYMENTS, organization.id, &name, before).await? {
                    ledger.deployments.push(deployment(&row)?);
                }
                ledger.environments.push(EnvironmentRow {
                    environment,
                    fence: row.try_get("fence")?,
                    sessions: row.try_get("sessions")?,
                    held: row.try_get("held")?,
                    waiters: row.try_get("waiters")?,
                });
            }
            let events = sqlx::query(EVENTS).bind(organization.id).bind(ledger.since.sequences[index]);
            for row in events.fetch_all(&mut *connection).await? {
                ledger.events.push(event(fixture, index, &row)?);
            }
        }
        let left = sqlx::query_scalar("select count(*) from event_intake").fetch_one(&mut *connection);
        ledger.unsequenced = left.await?;
        Ok(ledger)
    }

    /// Returns the position that this read has reached.
    pub(crate) fn position(&self) -> ReadPosition {
        let mut since = self.since.clone();
        for event in &self.events {
            since.sequences[event.organization] = event.sequence;
        }
        for session in &self.sessions {
            since.ordinals.insert(session.environment, session.ordinal);
        }
        since
    }
}

async fn fetch(
    connection: &mut PgConnection,
    sql: &'static str,
    organization: Uuid,
    name: &str,
    after: i64,
) -> anyhow::Result<Vec<PgRow>> {
    Ok(sqlx::query(sql).bind(organization).bind(name).bind(after).fetch_all(connection).await?)
}

fn session(environment: Environment, row: &PgRow) -> anyhow::Result<SessionRow> {
    let status: String = row.try_get("status")?;
    let context: String = row.try_get("context")?;
    Ok(SessionRow {
        environment,
        id: row.try_get("id")?,
        ordinal: row.try_get("ordinal")?,
        status: Status::parse(&status).with_context(|| format!("unknown status {status}"))?,
        user: row.try_get("user_id")?,
        request: context.parse().unwrap_or(0),
        fence: row.try_get("fence")?,
        queued_at: row.try_get("queued_at")?,
        claimed_at: row.try_get("claimed_at")?,
        ended_at: row.try_get("ended_at")?,
        ended_by: row.try_get("ended_by")?,
        override_session: row.try_get("override_session_id")?,
    })
}

fn deployment(row: &PgRow) -> anyhow::Result<DeploymentRow> {
    Ok(DeploymentRow {
        id: row.try_get("id")?,
        session: row.try_get("session_id")?,
        fence: row.try_get("fence")?,
        commit: row.try_get("commit_id")?,
        created_at: row.try_get("created_at")?,
    })
}

fn event(fixture: &LockFixture, organization: usize, row: &PgRow) -> anyhow::Result<EventRow> {
    let id = |column: &str| -> anyhow::Result<Option<Uuid>> {
        Ok(row.try_get::<Option<String>, _>(column)?.as_deref().and_then(parse_id))
    };
    let name: Option<String> = row.try_get("environment")?;
    Ok(EventRow {
        organization,
        sequence: row.try_get("sequence")?,
        time: row.try_get("time")?,
        kind: row.try_get("type")?,
        session: id("session_id")?,
        deployment: id("deployment_id")?,
        environment: name.and_then(|name| fixture.find(organization, &name)),
        fence: row.try_get("fence")?,
        actor: row.try_get("actor_id")?,
    })
}

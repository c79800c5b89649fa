//! Time that passes only in the database: all stored times of environments and their sessions are moved into the past. And
//! what the database has stored of them afterwards.

use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection, Row};
use uuid::Uuid;

use crate::fault::clock::Micros;
use crate::parts::stalls::StallDetector;

/// Within this time after an outage the sweepers have to have settled everything.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(30);

/// A session as the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) environment: String,
    pub(super) session: Uuid,
    pub(super) status: String,
    pub(super) fence: Option<i64>,
    pub(super) claimed_at: Option<Micros>,
    pub(super) ended_at: Option<Micros>,
    /// It is the one that its environment's row names as holder.
    pub(super) holds: bool,
    /// It has requested a hand-over that is pending.
    pub(super) requests: bool,
}

impl Stored {
    pub(super) fn is_active(&self) -> bool {
        self.status == "active"
    }

    pub(super) fn waits(&self) -> bool {
        self.status == "queued"
    }
}

/// The remaining seconds that are given to a place, a turn or a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    Place { session: Uuid, seconds: f64 },
    Turn { environment: String, seconds: f64 },
    Request { environment: String, seconds: f64 },
}

/// Moves the times of some environments, and of those of their sessions that have not ended or are named. With `absence`,
/// also the time of the last sweep.
pub(super) async fn advance(
    url: &str,
    organization: Uuid,
    (environments, seconds): (&[String], &[f64]),
    sessions: &[Uuid],
    absence: Option<f64>,
) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    let mut transaction = connection.begin().await?;
    sqlx::query(
        "update environments e
         set expires_at = e.expires_at - m.span, max_expires_at = e.max_expires_at - m.span,
             sweep_at = e.sweep_at - m.span, handover_due_at = e.handover_due_at - m.span,
             handover_requested_at = e.handover_requested_at - m.span, claimed_at = e.claimed_at - m.span,
             used_at = e.used_at - m.span, free_since = e.free_since - m.span
         from (select name, seconds * interval '1 second' as span from unnest($2::text[], $3::float8[]) u (name, seconds)) m
         where e.organization_id = $1 and e.name = m.name",
    )
    .bind(organization)
    .bind(environments)
    .bind(seconds)
    .execute(&mut *transaction)
    .await?;
    sqlx::query(
        "update sessions s
         set heard_at = s.heard_at - m.span, queued_at = s.queued_at - m.span, claimed_at = s.claimed_at - m.span,
             expires_at = s.expires_at - m.span, max_expires_at = s.max_expires_at - m.span, ended_at = s.ended_at - m.span
         from (select name, seconds * interval '1 second' as span from unnest($2::text[], $3::float8[]) u (name, seconds)) m
         join environments e on e.organization_id = $1 and e.name = m.name
         where s.organization_id = $1 and s.environment_id = e.id and (s.ended_at is null or s.id = any($4))",
    )
    .bind(organization)
    .bind(environments)
    .bind(seconds)
    .bind(sessions)
    .execute(&mut *transaction)
    .await?;
    if let Some(seconds) = absence {
        let sql = "update sweeps set swept_at = swept_at - $1 * interval '1 second'";
        sqlx::query(sql).bind(seconds).execute(&mut *transaction).await?;
    }
    Ok(transaction.commit().await?)
}

/// Gives remaining times, as if the last heartbeat, the grant or the request had been so long ago.
pub(super) async fn give(url: &str, organization: Uuid, given: &[Given]) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    let mut transaction = connection.begin().await?;
    // Every environment may be due earlier afterwards. To sweep one too early changes nothing.
    let sql = "update environments set sweep_at = clock_timestamp() where organization_id = $1 and session_id is not null";
    sqlx::query(sql).bind(organization).execute(&mut *transaction).await?;
    for given in given {
        let query = match given {
            Given::Place { session, seconds } => sqlx::query(
                "update sessions
                 set heard_at = least(heard_at, clock_timestamp() + ($3 - stay_seconds) * interval '1 second')
                 where organization_id = $1 and id = $2",
            )
            .bind(organization)
            .bind(session)
            .bind(seconds),
            Given::Turn { environment, seconds } => sqlx::query(
                "update environments set expires_at = clock_timestamp() + $3 * interval '1 second'
                 where organization_id = $1 and name = $2 and not confirmed",
            )
            .bind(organization)
            .bind(environment)
            .bind(seconds),
            Given::Request { environment, seconds } => sqlx::query(
                "update environments
                 set handover_requested_at = handover_requested_at - (handover_due_at - clock_timestamp())
                         + $3 * interval '1 second',
                     handover_due_at = clock_timestamp() + $3 * interval '1 second'
                 where organization_id = $1 and name = $2 and handover_session_id is not null",
            )
            .bind(organization)
            .bind(environment)
            .bind(seconds),
        };
        query.execute(&mut *transaction).await?;
    }
    Ok(transaction.commit().await?)
}

/// Returns how many seconds ago the last sweep was recorded.
pub(super) async fn unswept(url: &str) -> anyhow::Result<f64> {
    read_unswept(&mut PgConnection::connect(url).await?).await
}

pub(super) async fn read_unswept(connection: &mut PgConnection) -> anyhow::Result<f64> {
    let sql = "select coalesce(extract(epoch from clock_timestamp() - swept_at), 0)::float8 from sweeps";
    Ok(sqlx::query_scalar(sql).fetch_one(connection).await?)
}

/// Waits until a sweeper has recorded that it ran after this call, and nothing is due any more. Returns whether that was in time.
pub(super) async fn swept(url: &str, stalls: &StallDetector) -> anyhow::Result<bool> {
    let mut connection = PgConnection::connect(url).await?;
    let now = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
    let since: i64 = sqlx::query_scalar(now).fetch_one(&mut connection).await?;
    settled_since(&mut connection, since, stalls).await
}

/// Waits until nothing is due any more.
pub(super) async fn settled(url: &str, stalls: &StallDetector) -> anyhow::Result<bool> {
    settled_since(&mut PgConnection::connect(url).await?, 0, stalls).await
}

async fn settled_since(
    connection: &mut PgConnection,
    since: i64,
    stalls: &StallDetector,
) -> anyhow::Result<bool> {
    let started = Instant::now();
    loop {
        let settled: bool = sqlx::query_scalar(
            "select coalesce((select extract(epoch from swept_at) * 1000000 > $1 from sweeps), false)
                and not exists (select from environments where sweep_at <= clock_timestamp())",
        )
        .bind(since)
        .fetch_one(&mut *connection)
        .await?;
        if settled || stalls.running_since(started) > SETTLE_TIMEOUT {
            return Ok(settled);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Reads the sessions of these environments that have not ended or are named, in the order in which they were created.
pub(super) async fn read(
    url: &str,
    organization: Uuid,
    environments: &[String],
    sessions: &[Uuid],
) -> anyhow::Result<Vec<Stored>> {
    let mut connection = PgConnection::connect(url).await?;
    let rows = sqlx::query(
        "select e.name, s.id, s.status, s.fence,
            (extract(epoch from s.claimed_at) * 1000000)::bigint as claimed_at,
            (extract(epoch from s.ended_at) * 1000000)::bigint as ended_at,
            coalesce(e.session_id = s.id, false) as holds,
            coalesce(e.handover_session_id = s.id, false) as requests
         from sessions s join environments e on e.organization_id = $1 and e.id = s.environment_id
         where s.organization_id = $1 and e.name = any($2) and (s.ended_at is null or s.id = any($3))
         order by e.name, s.ordinal",
    )
    .bind(organization)
    .bind(environments)
    .bind(sessions)
    .fetch_all(&mut connection)
    .await?;
    let stored = |row: &sqlx::postgres::PgRow| -> anyhow::Result<Stored> {
        Ok(Stored {
            environment: row.try_get("name")?,
            session: row.try_get("id")?,
            status: row.try_get("status")?,
            fence: row.try_get("fence")?,
            claimed_at: row.try_get("claimed_at")?,
            ended_at: row.try_get("ended_at")?,
            holds: row.try_get("holds")?,
            requests: row.try_get("requests")?,
        })
    };
    rows.iter().map(stored).collect()
}

//! Compares the rows of the lock and its sessions with the model, column by column.

use greenroom_domain::id::{SessionId, UserId};
use greenroom_domain::session::SessionStatus;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::clock::Clock;
use crate::fixture::ModelFixture;
use crate::model::{Model, place_timeout};
use crate::record::{Environment, Record};

/// The columns of the lock, with the ids and times of the model.
#[derive(Debug, PartialEq, Eq)]
struct LockRow {
    fence: i64,
    session: Option<SessionId>,
    holder: Option<UserId>,
    confirmed: bool,
    waiters: i32,
    sessions: i64,
    lease_seconds: Option<i64>,
    claimed_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    max_expires_at: Option<Timestamp>,
    used_at: Option<Timestamp>,
    free_since: Option<Timestamp>,
    commit: Option<String>,
    deploys: bool,
}

/// The columns of a session that views do not contain directly.
#[derive(Debug, PartialEq, Eq)]
struct SessionRow {
    ordinal: i64,
    id: SessionId,
    status: SessionStatus,
    fence: Option<i64>,
    lease_seconds: i64,
    longest_seconds: i64,
    heard_at: Option<Timestamp>,
    /// While it waits.
    stay_seconds: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct EnvironmentColumns {
    now: jiff_sqlx::Timestamp,
    fence: i64,
    session_id: Option<Uuid>,
    holder_id: Option<Uuid>,
    confirmed: bool,
    waiters: i32,
    sessions: i64,
    lease_seconds: Option<i64>,
    claimed_at: Option<jiff_sqlx::Timestamp>,
    expires_at: Option<jiff_sqlx::Timestamp>,
    max_expires_at: Option<jiff_sqlx::Timestamp>,
    used_at: Option<jiff_sqlx::Timestamp>,
    free_since: Option<jiff_sqlx::Timestamp>,
    commit_id: Option<String>,
    slot_deployment_id: Option<Uuid>,
    sweep_at: Option<jiff_sqlx::Timestamp>,
}

#[derive(sqlx::FromRow)]
struct SessionColumns {
    environment_id: Uuid,
    ordinal: i64,
    id: Uuid,
    status: String,
    fence: Option<i64>,
    lease_seconds: i64,
    longest_seconds: i64,
    heard_at: Option<jiff_sqlx::Timestamp>,
    stay_seconds: i64,
}

/// Compares the rows of both environments with the model. Returns the time of the comparison.
pub async fn compare(fixture: &ModelFixture, model: &Model) -> Clock {
    let (pool, ids) = (&fixture.shared.pool, fixture.environments.map(|id| id.uuid()));
    let sessions: Vec<SessionColumns> = sqlx::query_as(
        "select environment_id, ordinal, id, status, fence, lease_seconds, longest_seconds, heard_at, stay_seconds
         from sessions where organization_id = $1 and environment_id = any($2) order by ordinal",
    )
    .bind(fixture.organization().uuid())
    .bind(&ids[..])
    .fetch_all(pool)
    .await
    .unwrap();
    let environments: Vec<EnvironmentColumns> = sqlx::query_as(
        "select clock_timestamp() as now, fence, session_id, holder_id, confirmed, waiters, sessions, lease_seconds,
                claimed_at, expires_at, max_expires_at, used_at, free_since, commit_id, slot_deployment_id, sweep_at
         from environments where organization_id = $1 and id = any($2) order by name",
    )
    .bind(fixture.organization().uuid())
    .bind(&ids[..])
    .fetch_all(pool)
    .await
    .unwrap();
    let clock = Clock { started: fixture.started, read: environments[0].now.to_jiff(), modeled: model.now };
    for ((expected, row), id) in model.environments.iter().zip(environments).zip(ids) {
        let own: Vec<_> = sessions.iter().filter(|session| session.environment_id == id).collect();
        for session in &own {
            assert_due_in_time(session, row.expires_at, row.sweep_at);
        }
        let lock = LockRow::expected(expected);
        assert_eq!(
            LockRow::read(fixture, &clock, row, &lock),
            lock,
            "the environment's row differs from the machine's state"
        );
        let records: Vec<_> = (1..)
            .zip(&expected.sessions)
            .map(|(ordinal, record)| SessionRow::expected(ordinal, record))
            .collect();
        let read: Vec<_> = own
            .iter()
            .enumerate()
            .map(|(place, row)| SessionRow::read(fixture, &clock, row, records.get(place)))
            .collect();
        assert_eq!(read, records, "the sessions' rows differ from the machine's effects");
    }
    clock
}

impl LockRow {
    fn expected(environment: &Environment) -> Self {
        let held = environment.state.lock.held.as_ref();
        let record =
            held.and_then(|held| environment.sessions.iter().find(|record| record.id == held.session));
        Self {
            fence: environment.state.lock.fence,
            session: held.map(|held| held.session),
            holder: held.map(|held| held.owner.user),
            confirmed: held.is_none_or(|held| held.lease.confirmed),
            waiters: i32::try_from(environment.state.queue.len()).unwrap(),
            sessions: i64::try_from(environment.sessions.len()).unwrap(),
            lease_seconds: held.map(|held| held.lease.length.as_secs()),
            claimed_at: record.and_then(|record| record.claimed_at),
            expires_at: held.map(|held| held.lease.expires_at),
            max_expires_at: held.map(|held| held.lease.max_expires_at),
            used_at: environment.used_at,
            free_since: environment.free_since,
            commit: record.and_then(|record| record.commit.clone()),
            deploys: environment.slot.is_some(),
        }
    }

    fn read(fixture: &ModelFixture, clock: &Clock, row: EnvironmentColumns, expected: &Self) -> Self {
        let time = |real: Option<jiff_sqlx::Timestamp>, expected| {
            clock.modeled(real.map(|at| at.to_jiff()), expected)
        };
        Self {
            fence: row.fence,
            session: row.session_id.map(|id| fixture.modeled(id.into())),
            holder: row.holder_id.map(|id| fixture.modeled_user(id.into())),
            confirmed: row.confirmed,
            waiters: row.waiters,
            sessions: row.sessions,
            lease_seconds: row.lease_seconds,
            claimed_at: time(row.claimed_at, expected.claimed_at),
            expires_at: time(row.expires_at, expected.expires_at),
            max_expires_at: time(row.max_expires_at, expected.max_expires_at),
            used_at: time(row.used_at, expected.used_at),
            free_since: time(row.free_since, expected.free_since),
            commit: row.commit_id,
            deploys: row.slot_deployment_id.is_some(),
        }
    }
}

impl SessionRow {
    fn expected(ordinal: i64, record: &Record) -> Self {
        Self {
            ordinal,
            id: record.id,
            status: record.status,
            fence: record.fence,
            lease_seconds: record.terms.length.as_secs(),
            longest_seconds: record.terms.max_length.as_secs(),
            heard_at: record.heard_at,
            stay_seconds: (record.status == SessionStatus::Queued)
                .then(|| place_timeout(record.user).as_secs()),
        }
    }

    fn read(fixture: &ModelFixture, clock: &Clock, row: &SessionColumns, expected: Option<&Self>) -> Self {
        Self {
            ordinal: row.ordinal,
            id: fixture.modeled(row.id.into()),
            status: row.status.parse().unwrap(),
            fence: row.fence,
            lease_seconds: row.lease_seconds,
            longest_seconds: row.longest_seconds,
            heard_at: clock.modeled(
                row.heard_at.map(|at| at.to_jiff()),
                expected.and_then(|expected| expected.heard_at),
            ),
            stay_seconds: (row.status == "queued").then_some(row.stay_seconds),
        }
    }
}

/// The sweeper may check an environment too early, but never too late.
fn assert_due_in_time(
    session: &SessionColumns,
    lease_ends: Option<jiff_sqlx::Timestamp>,
    sweep_at: Option<jiff_sqlx::Timestamp>,
) {
    let over = match session.status.as_str() {
        "queued" => session.heard_at.unwrap().to_jiff() + SignedDuration::from_secs(session.stay_seconds),
        "active" => lease_ends.unwrap().to_jiff(),
        _ => return,
    };
    assert!(sweep_at.unwrap().to_jiff() <= over, "the sweeper would check too late");
}

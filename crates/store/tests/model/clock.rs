//! Conversion of the database's time to the model's.

use jiff::{SignedDuration, Timestamp};
use sqlx::PgPool;

use crate::fixture::ModelFixture;
use crate::step::MARGIN;

/// The relation of the database's clock to the model's after a step.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// When the case began.
    pub started: Timestamp,
    /// When the compared rows were read.
    pub read: Timestamp,
    pub modeled: Timestamp,
}

impl Clock {
    /// Converts a time of the database to the model's. Returns `expected` if the time is not before it, and
    /// not later than it by more than the duration of the case.
    pub fn modeled(&self, real: Option<Timestamp>, expected: Option<Timestamp>) -> Option<Timestamp> {
        let taken = self.read.duration_since(self.started);
        assert!(taken.as_secs() < MARGIN, "the case took {taken:#}: real time may have affected its result");
        let modeled = self.modeled + real?.duration_since(self.started);
        let late = |expected: &Timestamp| {
            (SignedDuration::ZERO..=taken).contains(&modeled.duration_since(*expected))
        };
        Some(expected.filter(late).unwrap_or(modeled))
    }
}

pub async fn now(pool: &PgPool) -> Timestamp {
    let now: jiff_sqlx::Timestamp =
        sqlx::query_scalar("select clock_timestamp()").fetch_one(pool).await.unwrap();
    now.to_jiff()
}

/// Lets time pass for the environments and their sessions, by moving all of their times into the past.
pub async fn pass(fixture: &ModelFixture, seconds: i64) {
    let sql = "with passed as (
            update environments
            set claimed_at = claimed_at - by, expires_at = expires_at - by, max_expires_at = max_expires_at - by,
                used_at = used_at - by, free_since = free_since - by, sweep_at = sweep_at - by,
                handover_due_at = handover_due_at - by, handover_requested_at = handover_requested_at - by
            from (select $3 * interval '1 second' as by) time
            where organization_id = $1 and id = any($2)
        )
        update sessions
        set queued_at = queued_at - by, heard_at = heard_at - by, claimed_at = claimed_at - by,
            expires_at = expires_at - by, max_expires_at = max_expires_at - by,
            ended_at = ended_at - by, handover_declined_at = handover_declined_at - by
        from (select $3 * interval '1 second' as by) time
        where organization_id = $1 and environment_id = any($2)";
    let environments = fixture.environments.map(|id| id.uuid());
    let query = sqlx::query(sql).bind(fixture.organization().uuid()).bind(&environments[..]).bind(seconds);
    query.execute(&fixture.shared.pool).await.unwrap();
}

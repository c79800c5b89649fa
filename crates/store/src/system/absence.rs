//! Records when a sweeper last ran, and extends the deadlines of presence of all organizations after an absence.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::absence::Absence;
use greenroom_domain::lease::FIRST_LEASE;

use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Records that a sweeper runs. If none has for too long, extends what would have become due meanwhile, in the same
    /// transaction, and returns the absence. Commands on an environment do the same for their own decision
    /// (`lock/mod.rs`), so it does not matter whether one of them comes first.
    pub async fn record_sweep(&self) -> Result<Option<Absence>, StoreError> {
        let mut transaction = self.pool().begin().await?;
        let last = sqlx::query!(r#"select swept_at, clock_timestamp() as "now!" from sweeps for update"#)
            .fetch_one(&mut *transaction)
            .await?;
        let absence = Absence::since(last.swept_at.map(jiff_sqlx::Timestamp::to_jiff), last.now.to_jiff());
        if let Some(absence) = absence {
            extend_presence(&mut transaction, absence).await?;
        }
        sqlx::query!("update sweeps set swept_at = clock_timestamp()").execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(absence)
    }
}

/// Writes what `EnvironmentState::after_absence` returns, for all environments. The rows of the locks come first, as in
/// commands, and also those of which only the queue is extended: a command reads its environment, its queue and the last sweep
/// while it has the row, and none of it may change meanwhile.
async fn extend_presence(connection: &mut sqlx::PgConnection, absence: Absence) -> Result<(), StoreError> {
    let time = jiff_sqlx::Timestamp::from;
    sqlx::query!(
        // `greatest` and `least` ignore nulls: what there is none of stays null.
        "update environments
         set expires_at = case when confirmed or expires_at is null or expires_at <= $1 then expires_at
                 else greatest(expires_at, least(expires_at + ($2::timestamptz - $1::timestamptz),
                     $2 + least($3, lease_seconds) * interval '1 second', max_expires_at)) end,
             handover_due_at = case when handover_due_at is null or handover_due_at <= $1 then handover_due_at
                 else greatest(handover_due_at, least(handover_due_at + ($2 - $1), $2 + $4 * interval '1 second')) end
         where waiters > 0 or (session_id is not null and (not confirmed or handover_due_at is not null))",
        time(absence.from()) as jiff_sqlx::Timestamp,
        time(absence.to()) as jiff_sqlx::Timestamp,
        FIRST_LEASE.as_secs(),
        Absence::longest_handover().as_secs_f64(),
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "update sessions
         set heard_at = greatest(heard_at, least(heard_at + ($2::timestamptz - $1::timestamptz), $2))
         where waiting and heard_at + stay_seconds * interval '1 second' > $1",
        time(absence.from()) as jiff_sqlx::Timestamp,
        time(absence.to()) as jiff_sqlx::Timestamp,
    )
    .execute(&mut *connection)
    .await?;
    Ok(())
}

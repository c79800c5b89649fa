//! Ends fixes, and what a worker has found out at the forge.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::fix::{FixReason, FixStatus};

use super::due::DueFix;
use super::write::FixUpdate;
use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Ends a fix and its session in one transaction.
    pub async fn end_fix(
        &self,
        due: &DueFix,
        reason: FixReason,
        detail: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.system_transaction(due.organization_id).await?;
        transaction.release_session_of(due).await?;
        let update =
            FixUpdate { status: Some(reason.status()), reason: Some(reason), detail, ..FixUpdate::default() };
        if transaction.write_fix(due, update).await? { transaction.commit().await } else { Ok(()) }
    }

    /// Records that the pull request of a fix is open.
    pub async fn fix_opened(
        &self,
        due: &DueFix,
        pull_request: (u64, &str),
        poll_in: Duration,
    ) -> Result<(), StoreError> {
        let update = FixUpdate {
            status: Some(FixStatus::Opened),
            pull_request: Some(pull_request),
            due_in: Some(poll_in),
            ..FixUpdate::default()
        };
        self.update_fix(due, update).await
    }

    /// Records that the pull request was merged or closed.
    pub async fn fix_pull_request_ended(&self, due: &DueFix, is_merged: bool) -> Result<(), StoreError> {
        let status = if is_merged { FixStatus::Merged } else { FixStatus::Closed };
        self.update_fix(due, FixUpdate { status: Some(status), ..FixUpdate::default() }).await
    }

    /// Ends a lease without a change. A worker continues the fix after this time.
    pub async fn read_fix_later(&self, due: &DueFix, poll_in: Duration) -> Result<(), StoreError> {
        self.update_fix(due, FixUpdate { due_in: Some(poll_in), ..FixUpdate::default() }).await
    }

    async fn update_fix(&self, due: &DueFix, update: FixUpdate<'_>) -> Result<(), StoreError> {
        let mut transaction = self.system_transaction(due.organization_id).await?;
        if transaction.write_fix(due, update).await? { transaction.commit().await } else { Ok(()) }
    }

    /// Ends a lease after an error. The fix is due again after a delay that grows with each try.
    pub async fn put_off_fix(&self, due: &DueFix, detail: Option<&str>) -> Result<(), StoreError> {
        sqlx::query!(
            "update fixes
             set leased_until = null, tries = tries + 1, detail = left($4, 500),
                 due_at = clock_timestamp() + least(60, power(2, least(tries, 10))) * interval '1 second'
             where organization_id = $1 and id = $2 and leased_until = $3",
            due.organization_id.uuid(),
            due.fix.id.uuid(),
            jiff_sqlx::Timestamp::from(due.leased_until) as jiff_sqlx::Timestamp,
            detail,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }
}

//! Cancels fixes.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::EventType;
use greenroom_domain::fix::{FixReason, FixStatus};

use super::read::FixRecord;
use crate::{Command, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOutcome {
    Canceled,
    /// It has this status meanwhile.
    NotCancelable(FixStatus),
}

#[boxed_futures]
impl Command {
    /// Cancels a fix and ends its session in one transaction.
    pub async fn cancel_fix(&mut self, fix: &FixRecord) -> Result<CancelOutcome, StoreError> {
        // The environment is locked before the fix, as everywhere.
        self.release_session(fix.environment_id.zip(fix.session_id), fix.id).await?;
        let organization = self.organization();
        let updated = sqlx::query!(
            "update fixes
             set status = $4, reason = $5, detail = null, due_at = null, leased_until = null, ended_at = clock_timestamp(),
                 updated_at = clock_timestamp()
             where organization_id = $1 and id = $2 and status = $3 and session_id is not distinct from $6",
            organization,
            fix.id.uuid(),
            fix.status().as_str(),
            FixStatus::Canceled.as_str(),
            FixReason::Canceled.as_str(),
            fix.session_id.map(|session| session.uuid()),
        )
        .execute(self.connection())
        .await?;
        if updated.rows_affected() == 0 {
            let now = self.fix(fix.id).await?;
            return Ok(CancelOutcome::NotCancelable(now.map_or(FixStatus::Canceled, |now| now.status())));
        }
        self.record_fix_event(EventType::FixCanceled, fix.id).await?;
        Ok(CancelOutcome::Canceled)
    }
}

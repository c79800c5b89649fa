//! Fixes that are due, of all organizations.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{FixId, OrganizationId};

use crate::error::from_column;
use crate::fix::{DueFix, FIX_LEASE};
use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Leases the fix that is due the longest, of all organizations but the busy ones.
    pub async fn lease_due_fix(&self, busy: &[OrganizationId]) -> Result<Option<DueFix>, StoreError> {
        let busy: Vec<uuid::Uuid> = busy.iter().map(|organization| organization.uuid()).collect();
        let row = sqlx::query!(
            r#"update fixes x set leased_until = clock_timestamp() + $1 * interval '1 second'
               from (select organization_id, id from fixes
                     where due_at <= clock_timestamp() and (leased_until is null or leased_until <= clock_timestamp())
                       and not organization_id = any($2)
                     order by due_at limit 1 for update skip locked) due
               where x.organization_id = due.organization_id and x.id = due.id
               returning x.organization_id, x.id, x.tries, x.deadline_at <= clock_timestamp() as "is_overdue!",
                         x.leased_until as "leased_until!""#,
            FIX_LEASE.as_secs_f64(),
            &busy,
        )
        .fetch_optional(&self.pool())
        .await?;
        let Some(row) = row else { return Ok(None) };
        let organization_id = OrganizationId::from(row.organization_id);
        let Some(fix) = self.fix(organization_id, FixId::from(row.id)).await? else { return Ok(None) };
        Ok(Some(DueFix {
            organization_id,
            fix,
            tries: from_column("fixes.tries", row.tries)?,
            is_overdue: row.is_overdue,
            leased_until: row.leased_until.to_jiff(),
        }))
    }
}

//! Analyses whose deadline has passed, and those that wait for a model, of all organizations.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{AnalysisId, OrganizationId};

use crate::analysis::{DueAnalysis, EXPLANATION_LEASE};
use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Returns up to `limit` analyses that have not ended before their deadline, the longest overdue first.
    pub async fn overdue_analyses(
        &self,
        limit: i64,
    ) -> Result<Vec<(OrganizationId, AnalysisId)>, StoreError> {
        let rows = sqlx::query!(
            "select organization_id, id from analyses
             where ended_at is null and deadline_at <= clock_timestamp() order by deadline_at limit $1",
            limit,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows.into_iter().map(|row| (row.organization_id.into(), row.id.into())).collect())
    }

    /// Leases the analysis that has waited longest for a model, of all organizations but the busy ones.
    pub async fn lease_analysis_to_explain(
        &self,
        busy: &[OrganizationId],
    ) -> Result<Option<DueAnalysis>, StoreError> {
        let busy: Vec<uuid::Uuid> = busy.iter().map(|organization| organization.uuid()).collect();
        let row = sqlx::query!(
            r#"update analyses a set leased_until = clock_timestamp() + $1 * interval '1 second'
               from (select organization_id, id from analyses
                     where status = 'analyzing' and (leased_until is null or leased_until <= clock_timestamp())
                       and not organization_id = any($2)
                     order by created_at limit 1 for update skip locked) due
               where a.organization_id = due.organization_id and a.id = due.id
               returning a.organization_id, a.id, a.failure_id, a.leased_until as "leased_until!""#,
            EXPLANATION_LEASE.as_secs_f64(),
            &busy,
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| DueAnalysis {
            organization_id: row.organization_id.into(),
            id: row.id.into(),
            failure_id: row.failure_id.into(),
            leased_until: row.leased_until.to_jiff(),
        }))
    }
}

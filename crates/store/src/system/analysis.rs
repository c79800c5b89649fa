//! Analyses whose deadline has passed, of all organizations.

use greenroom_domain::id::{AnalysisId, OrganizationId};

use crate::{Store, StoreError};

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
}

//! Deployments whose logs and artifacts are past their retention, of all organizations.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, OrganizationId};

use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Returns up to `limit` deployments that ended more than `retention_days` ago, the oldest first.
    pub async fn deployments_to_expire(
        &self,
        retention_days: i32,
        limit: i64,
    ) -> Result<Vec<(OrganizationId, DeploymentId)>, StoreError> {
        let rows = sqlx::query!(
            "select organization_id, id from deployments
             where ended_at < clock_timestamp() - make_interval(days => $1) and expired_at is null
             order by ended_at limit $2",
            retention_days,
            limit,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows.into_iter().map(|row| (row.organization_id.into(), row.id.into())).collect())
    }
}

//! The deployments that have begun to work in a lasting environment.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::StageStatus;
use greenroom_domain::id::{DeploymentId, OrganizationId, PipelineId};
use jiff::Timestamp;

use super::read::UserRecord;
use crate::error::parse_column;
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Store, StoreError};

/// A deployment that has begun to work in a lasting environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRecord {
    pub fence: i64,
    pub deployment_id: DeploymentId,
    pub commit_id: String,
    pub branch: Option<String>,
    pub by: UserRecord,
    pub created_by: UserRecord,
    pub began_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub outcome: Option<StageStatus>,
    /// What it deployed is live now.
    pub is_live: bool,
    pub is_rollback: bool,
    /// The overrides of gates of its stages here that were made before it began, as `stages.gate_overridden` has them.
    pub overrides: Vec<serde_json::Value>,
}

#[boxed_futures]
impl Store {
    /// Returns the deployments that have begun to work in a lasting environment, newest first, or `None` if the
    /// environment does not exist. A deployment that gets the slot again after a retry is listed again.
    pub async fn lasting_environment_history(
        &self,
        organization: OrganizationId,
        pipeline: PipelineId,
        name: &str,
        page: Page,
    ) -> Result<Option<PageResult<HistoryRecord>>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select (select count(*) from (
                   select 1 from environment_deployments h
                   where h.organization_id = $1 and h.pipeline_id = $2 and h.name = $3 limit $4
               ) counted) as "count!"
               from lasting_environments e where e.organization_id = $1 and e.pipeline_id = $2 and e.name = $3"#,
            organization.uuid(),
            pipeline.uuid(),
            name,
            MAX_COUNT + 1,
        )
        .fetch_optional(&self.pool())
        .await?;
        let Some(total) = total else { return Ok(None) };
        let rows = sqlx::query!(
            r#"select h.fence, h.deployment_id, d.commit_id, d.branch, h.started_by, m.name as "started_by_name?",
                      h.began_at, h.ended_at, h.outcome, h.rollback,
                      (h.deployment_id = e.live_deployment_id and h.fence = (
                          select max(o.fence) from environment_deployments o
                          where o.organization_id = $1 and o.pipeline_id = $2 and o.name = $3
                            and o.outcome = 'succeeded')) as is_live,
                      d.created_by, c.name as "created_by_name?",
                      (select jsonb_agg(s.gate_overridden order by s.position) from stages s
                       where s.organization_id = $1 and s.deployment_id = h.deployment_id and s.environment = $3
                         and (s.gate_overridden ->> 'at')::timestamptz <= h.began_at) as overrides
               from environment_deployments h
               join lasting_environments e on e.organization_id = $1 and e.pipeline_id = $2 and e.name = $3
               join deployments d on d.organization_id = $1 and d.id = h.deployment_id
               left join memberships m on m.organization_id = $1 and m.user_id = h.started_by
               left join memberships c on c.organization_id = $1 and c.user_id = d.created_by
               where h.organization_id = $1 and h.pipeline_id = $2 and h.name = $3
               order by h.fence desc limit $4 offset $5"#,
            organization.uuid(),
            pipeline.uuid(),
            name,
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let records = rows.into_iter().map(|row| {
            let outcome =
                row.outcome.map(|text| parse_column("environment_deployments.outcome", &text)).transpose()?;
            Ok(HistoryRecord {
                fence: row.fence,
                deployment_id: row.deployment_id.into(),
                commit_id: row.commit_id,
                branch: row.branch,
                by: UserRecord { id: row.started_by.into(), name: row.started_by_name.unwrap_or_default() },
                created_by: UserRecord {
                    id: row.created_by.into(),
                    name: row.created_by_name.unwrap_or_default(),
                },
                began_at: row.began_at.to_jiff(),
                ended_at: row.ended_at.map(jiff_sqlx::Timestamp::to_jiff),
                outcome,
                is_live: row.is_live.unwrap_or_default(),
                is_rollback: row.rollback,
                overrides: overrides(row.overrides),
            })
        });
        let rows = records.collect::<Result<_, StoreError>>()?;
        Ok(Some(PageResult { rows, total: Total::counted(total) }))
    }
}

/// Null if there are none.
fn overrides(rows: Option<serde_json::Value>) -> Vec<serde_json::Value> {
    match rows {
        Some(serde_json::Value::Array(rows)) => rows,
        _ => Vec::new(),
    }
}

//! The good runs that a failed step is compared with.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{JobId, OrganizationId, StepRunId};

use super::compared::ComparedStep;
use super::due::FailedAttempt;
use crate::error::from_column;
use crate::{Store, StoreError};

/// The number of good runs that a failed step is compared with.
const MAX_BASELINES: i64 = 3;

/// A successful run of the same step, whose log is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Baseline {
    pub step: StepRunId,
    pub log_bytes: u64,
}

#[boxed_futures]
impl Store {
    /// Returns good runs of a step: those of the same environment first, then those of environments of
    /// the same template, then others; and those with the same script before others.
    pub async fn baselines(
        &self,
        organization: OrganizationId,
        compared: ComparedStep<'_>,
    ) -> Result<Vec<Baseline>, StoreError> {
        let rows = sqlx::query!(
            "select s.id, s.log_bytes
             from step_runs f
             join good_stages g on g.organization_id = $1 and g.pipeline_id = $3 and g.stage_key = $4
             cross join lateral unnest(g.job_ids) with ordinality as good (job_id, position)
             join jobs j on j.organization_id = $1 and j.id = good.job_id
             join deployments d on d.organization_id = $1 and d.id = j.deployment_id and d.expired_at is null
             join step_runs s on s.organization_id = $1 and s.job_id = j.id and s.name = f.name
                 and s.status = 'succeeded' and s.log_bytes > 0
             where f.organization_id = $1 and f.id = $2 and j.ended_at <= $7
             order by (g.place = $5) desc, (g.template = $6) desc nulls last,
                 (s.script_digest = f.script_digest) desc nulls last, g.succeeded_at desc, good.position
             limit $8",
            organization.uuid(),
            compared.step.uuid(),
            compared.pipeline_id.uuid(),
            compared.stage_key,
            compared.place,
            compared.template,
            jiff_sqlx::Timestamp::from(compared.before) as jiff_sqlx::Timestamp,
            MAX_BASELINES,
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter()
            .map(|row| {
                let log_bytes = from_column("step_runs.log_bytes", row.log_bytes)?;
                Ok(Baseline { step: row.id.into(), log_bytes })
            })
            .collect()
    }

    /// Returns the last good attempt of the stage before a failure, in the same environment if possible.
    pub(super) async fn last_good_job(
        &self,
        organization: OrganizationId,
        failed: &FailedAttempt,
    ) -> Result<Option<JobId>, StoreError> {
        let found = sqlx::query_scalar!(
            "select j.id
             from good_stages g
             cross join lateral unnest(g.job_ids) as good (job_id)
             join jobs j on j.organization_id = $1 and j.id = good.job_id
             where g.organization_id = $1 and g.pipeline_id = $2 and g.stage_key = $3 and j.ended_at <= $6
             order by (g.place = $4) desc, (g.template = $5) desc nulls last, j.ended_at desc limit 1",
            organization.uuid(),
            failed.pipeline_id.uuid(),
            failed.stage_key,
            failed.place,
            failed.template.as_deref(),
            jiff_sqlx::Timestamp::from(failed.failed_at) as jiff_sqlx::Timestamp,
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(found.map(JobId::from))
    }
}

//! Lists of failures.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_domain::token_grant::PipelineLimit;
use jiff::Timestamp;
use jiff_sqlx::Timestamp as Time;

use super::read::{FailureRecord, FailureRow};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::token_columns::limit_ids;
use crate::{Store, StoreError};

/// Conditions on failures. All conditions that are given have to match.
#[derive(Clone, Debug, Default)]
pub struct FailureFilter {
    pub pipeline: Option<PipelineId>,
    pub fingerprint: Option<String>,
    /// One of these.
    pub verdicts: Option<Vec<String>>,
    /// At this time or later.
    pub from: Option<Timestamp>,
    /// Before this time.
    pub to: Option<Timestamp>,
    /// Only failures of pipelines that the token has access to.
    pub within: PipelineLimit,
}

#[boxed_futures]
impl Store {
    /// Returns the failures that match the filter, newest first.
    pub async fn failure_records(
        &self,
        organization: OrganizationId,
        filter: &FailureFilter,
        page: Page,
    ) -> Result<PageResult<FailureRecord>, StoreError> {
        let within = limit_ids(&filter.within);
        let pipeline = filter.pipeline.map(|pipeline| pipeline.uuid());
        let verdicts = filter.verdicts.as_deref();
        let (from, to) = (filter.from.map(Time::from), filter.to.map(Time::from));
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from failures f
                   where f.organization_id = $1 and ($2::uuid is null or f.pipeline_id = $2)
                     and ($3::text is null or f.fingerprint = $3) and ($4::text[] is null or f.verdict = any($4))
                     and ($5::timestamptz is null or f.failed_at >= $5)
                     and ($6::timestamptz is null or f.failed_at < $6)
                     and ($7::uuid[] is null or f.pipeline_id = any($7))
                   limit $8
               ) counted"#,
            organization.uuid(),
            pipeline,
            filter.fingerprint,
            verdicts,
            from as Option<Time>,
            to as Option<Time>,
            within.as_deref(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query_as!(
            FailureRow,
            r#"select f.id, f.pipeline_id, f.deployment_id, f.stage_key, f.attempt, f.job_id, f.step_run_id, f.step,
                      f.place, f.commit_id, f.branch, f.definition_version, f.created_by,
                      m.name as "created_by_name?", f.status, f.reason, f.detail, f.exit_code, f.failed_at, f.category,
                      f.fingerprint, f.decisive, f.verdict, f.because, f.good_job_id, null::jsonb as document
               from failures f
               left join memberships m on m.organization_id = $1 and m.user_id = f.created_by
               where f.organization_id = $1 and ($2::uuid is null or f.pipeline_id = $2)
                 and ($3::text is null or f.fingerprint = $3) and ($4::text[] is null or f.verdict = any($4))
                 and ($5::timestamptz is null or f.failed_at >= $5)
                 and ($6::timestamptz is null or f.failed_at < $6)
                 and ($7::uuid[] is null or f.pipeline_id = any($7))
               order by f.failed_at desc, f.id desc limit $8 offset $9"#,
            organization.uuid(),
            pipeline,
            filter.fingerprint,
            verdicts,
            from as Option<Time>,
            to as Option<Time>,
            within.as_deref(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(FailureRow::record).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }
}

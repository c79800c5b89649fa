//! The history around a failure, from which its verdict is decided.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::StageStatus;
use greenroom_domain::failure::{Changed, History};
use greenroom_domain::id::{JobId, OrganizationId};
use jiff::Timestamp;

use super::due::DueFailure;
use crate::{Store, StoreError};

/// A failure of an environment, rather than of a change, is assumed after this many commits of others failed.
const FAILED_COMMITS_OF_OTHERS: i64 = 3;

#[boxed_futures]
impl Store {
    /// Reads the history of a failure with this fingerprint. `good_job` is the last good attempt before it.
    pub async fn failure_history(
        &self,
        due: &DueFailure,
        fingerprint: &str,
        good_job: Option<JobId>,
    ) -> Result<History, StoreError> {
        let (organization, failed) = (due.organization_id, &due.attempt);
        let failed_at = jiff_sqlx::Timestamp::from(failed.failed_at);
        // A later commit of the same branch may contain this change; one of another branch, or one that failed
        // before, does not. What happened in the environment after the failure does not change what had failed there before.
        let row = sqlx::query!(
            r#"select
                   exists (
                       select 1 from deployments d
                       join jobs j on j.organization_id = $1 and j.deployment_id = d.id and j.stage_key = $4
                       join step_runs s on s.organization_id = $1 and s.job_id = j.id and s.name = f.name
                       left join environments e on e.organization_id = $1 and e.id = d.environment_id
                       left join stages g on g.organization_id = $1 and g.deployment_id = d.id and g.key = $4
                       where d.organization_id = $1 and d.pipeline_id = $3 and d.commit_id = $5
                         and d.definition_version = $6 and s.status = 'succeeded'
                         and s.image_digest is not distinct from f.image_digest
                         and coalesce(e.name, g.environment, '') = $7
                   ) as "passed_too!",
                   exists (
                       select 1 from failures o
                       where o.organization_id = $1 and o.fingerprint = $8 and o.id <> $9
                         and o.failed_at between $10::timestamptz - interval '24 hours' and $10::timestamptz + interval '24 hours'
                         and (o.pipeline_id <> $3
                              or (o.commit_id <> $5 and o.created_by <> $11
                                  and (o.branch is null or o.branch is distinct from $12 or o.failed_at < $10)))
                   ) as "others_fail!",
                   $7 <> '' and exists (
                       select 1 from deployments d
                       join jobs j on j.organization_id = $1 and j.deployment_id = d.id and j.stage_key = $4
                           and j.status = 'succeeded'
                       left join environments e on e.organization_id = $1 and e.id = d.environment_id
                       left join stages g on g.organization_id = $1 and g.deployment_id = d.id and g.key = $4
                       where d.organization_id = $1 and d.pipeline_id = $3 and d.commit_id = $5
                         and d.definition_version = $6 and coalesce(e.name, g.environment, '') <> $7
                   ) as "passed_elsewhere!",
                   case when $7 = '' then 0 else (
                       select count(distinct o.commit_id) from failures o
                       where o.organization_id = $1 and o.pipeline_id = $3 and o.place = $7 and o.stage_key = $4
                         and o.failed_at < $10 and o.created_by <> $11 and o.status = 'failed'
                         and o.failed_at > coalesce((
                             select max(j.ended_at) from deployments d
                             join jobs j on j.organization_id = $1 and j.deployment_id = d.id and j.stage_key = $4
                                 and j.status = 'succeeded'
                             left join environments e on e.organization_id = $1 and e.id = d.environment_id
                             left join stages g on g.organization_id = $1 and g.deployment_id = d.id and g.key = $4
                             where d.organization_id = $1 and d.pipeline_id = $3 and j.ended_at < $10
                               and d.id >= $13
                               and coalesce(e.name, g.environment, '') = $7
                         ), $10::timestamptz - interval '24 hours')
                   ) end as "failed_of_others!"
               from (select 1) one left join step_runs f on f.organization_id = $1 and f.id = $2"#,
            organization.uuid(),
            failed.step_run_id.map(|step| step.uuid()),
            failed.pipeline_id.uuid(),
            failed.stage_key,
            failed.commit_id,
            failed.definition_version,
            failed.place,
            fingerprint,
            due.id.uuid(),
            failed_at as jiff_sqlx::Timestamp,
            failed.created_by.uuid(),
            failed.branch.as_deref(),
            first_id_of_day_before(failed.failed_at),
        )
        .fetch_one(&self.pool())
        .await?;
        let since_good = match good_job {
            Some(good) => self.changed_since(organization, due, good).await?,
            None => None,
        };
        Ok(History {
            is_errored: failed.status == StageStatus::Errored,
            passed_too: row.passed_too,
            others_fail_like_this: row.others_fail,
            passed_elsewhere: row.passed_elsewhere,
            others_failed_here: row.failed_of_others >= FAILED_COMMITS_OF_OTHERS,
            since_good,
        })
    }

    /// Returns what was changed between the last good attempt and the failed one.
    async fn changed_since(
        &self,
        organization: OrganizationId,
        due: &DueFailure,
        good: JobId,
    ) -> Result<Option<Changed>, StoreError> {
        let failed = &due.attempt;
        let row = sqlx::query!(
            r#"select d.commit_id <> $3 as "commit!", d.definition_version <> $4 as "definition!",
                   exists (
                       select 1 from step_runs good
                       join step_runs failed on failed.organization_id = $1 and failed.job_id = $5
                           and failed.name = good.name
                       where good.organization_id = $1 and good.job_id = j.id
                         and good.image_digest <> failed.image_digest
                   ) as "image!"
               from jobs j join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               where j.organization_id = $1 and j.id = $2"#,
            organization.uuid(),
            good.uuid(),
            failed.commit_id,
            failed.definition_version,
            failed.job_id.map(|job| job.uuid()),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| Changed { commit: row.commit, definition: row.definition, image: row.image }))
    }
}

/// Returns the smallest id that a deployment of the day before this moment has. Ids begin with the time, and an index
/// has them.
fn first_id_of_day_before(at: Timestamp) -> uuid::Uuid {
    let begin = at.as_millisecond().saturating_sub(24 * 60 * 60 * 1_000);
    uuid::Uuid::from_u128(u128::try_from(begin).unwrap_or_default() << 80)
}

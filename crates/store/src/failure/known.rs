//! What is remembered of failures with the same fingerprint: how often, since when, and what ended the last one.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::failure::EndKind;
use greenroom_domain::id::{DeploymentId, OrganizationId, UserId};
use greenroom_domain::token_grant::PipelineLimit;
use jiff::Timestamp;

use crate::error::from_column;
use crate::token_columns::limit_ids;
use crate::{Store, StoreError};

/// All failures with one fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFailure {
    pub count: u64,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
    /// What ended the last failure before the given one.
    pub ended_by: Option<FailureEnd>,
    pub note: Option<FailureNote>,
}

/// The next good run of the step in the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureEnd {
    pub kind: EndKind,
    pub deployment_id: DeploymentId,
    pub commit_id: String,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureNote {
    pub text: String,
    pub written_by: UserId,
    pub written_by_name: String,
    pub written_at: Timestamp,
}

#[boxed_futures]
impl Store {
    /// Returns what is remembered of a fingerprint in these pipelines. What ended it is that of the last failure before `before`.
    pub async fn known_failure(
        &self,
        organization: OrganizationId,
        fingerprint: &str,
        before: Option<Timestamp>,
        within: &PipelineLimit,
    ) -> Result<Option<KnownFailure>, StoreError> {
        let within = limit_ids(within);
        let counted = sqlx::query!(
            r#"select count(*) as "count!", min(failed_at) as first_at, max(failed_at) as last_at
               from failures
               where organization_id = $1 and fingerprint = $2 and ($3::uuid[] is null or pipeline_id = any($3))"#,
            organization.uuid(),
            fingerprint,
            within.as_deref(),
        )
        .fetch_one(&self.pool())
        .await?;
        let (Some(first_at), Some(last_at)) = (counted.first_at, counted.last_at) else { return Ok(None) };
        let ended_by = self.failure_end(organization, fingerprint, before, within.as_deref()).await?;
        let note = self.failure_note(organization, fingerprint).await?;
        Ok(Some(KnownFailure {
            count: from_column("failures", counted.count)?,
            first_at: first_at.to_jiff(),
            last_at: last_at.to_jiff(),
            ended_by,
            note,
        }))
    }

    async fn failure_end(
        &self,
        organization: OrganizationId,
        fingerprint: &str,
        before: Option<Timestamp>,
        within: Option<&[uuid::Uuid]>,
    ) -> Result<Option<FailureEnd>, StoreError> {
        let row = sqlx::query!(
            r#"select good.deployment_id, good.commit_id, good.ended_at as "ended_at!", good.is_here as "is_here!",
                      good.commit_id <> last.commit_id as "is_other_commit!",
                      good.definition_version <> last.definition_version as "is_other_definition!"
               from (
                   select f.deployment_id, f.pipeline_id, f.stage_key, f.place, f.commit_id, f.definition_version, f.failed_at
                   from failures f
                   where f.organization_id = $1 and f.fingerprint = $2 and ($3::timestamptz is null or f.failed_at < $3)
                     and ($4::uuid[] is null or f.pipeline_id = any($4))
                   order by f.failed_at desc limit 1
               ) last
               cross join lateral (
                   select d.id as deployment_id, d.commit_id, d.definition_version, j.ended_at,
                          coalesce(e.name, g.environment, '') = last.place as is_here
                   from deployments d
                   join jobs j on j.organization_id = $1 and j.deployment_id = d.id and j.stage_key = last.stage_key
                       and j.status = 'succeeded'
                   join stages g on g.organization_id = $1 and g.deployment_id = d.id and g.key = last.stage_key
                   left join environments e on e.organization_id = $1 and e.id = d.environment_id
                   where d.organization_id = $1 and d.pipeline_id = last.pipeline_id
                     and d.id >= last.deployment_id and j.ended_at > last.failed_at and ($3::timestamptz is null or j.ended_at < $3)
                   order by is_here desc, j.ended_at limit 1
               ) good"#,
            organization.uuid(),
            fingerprint,
            before.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            within,
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| FailureEnd {
            kind: match (row.is_here, row.is_other_commit, row.is_other_definition) {
                (false, ..) => EndKind::Elsewhere,
                (true, true, _) => EndKind::Commit,
                (true, false, true) => EndKind::Definition,
                (true, false, false) => EndKind::Retry,
            },
            deployment_id: row.deployment_id.into(),
            commit_id: row.commit_id,
            at: row.ended_at.to_jiff(),
        }))
    }

    pub async fn failure_note(
        &self,
        organization: OrganizationId,
        fingerprint: &str,
    ) -> Result<Option<FailureNote>, StoreError> {
        let row = sqlx::query!(
            "select text, written_by, written_by_name, written_at from failure_notes
             where organization_id = $1 and fingerprint = $2",
            organization.uuid(),
            fingerprint,
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| FailureNote {
            text: row.text,
            written_by: row.written_by.into(),
            written_by_name: row.written_by_name,
            written_at: row.written_at.to_jiff(),
        }))
    }
}

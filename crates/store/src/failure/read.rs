//! Reads failures with their evidence.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{Reason, StageStatus};
use greenroom_domain::failure::{Because, Category, Evidence, VerdictKind};
use greenroom_domain::id::{DeploymentId, FailureId, JobId, OrganizationId, PipelineId, StepRunId, UserId};
use jiff::Timestamp;
use serde_json::Value;

use crate::error::{from_column, parse_column, parse_nullable_column};
use crate::{Store, StoreError};

/// A failure as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureRecord {
    pub id: FailureId,
    pub pipeline_id: PipelineId,
    pub deployment_id: DeploymentId,
    pub stage_key: String,
    pub attempt: u32,
    pub job_id: Option<JobId>,
    pub step_run_id: Option<StepRunId>,
    pub step: Option<String>,
    pub place: String,
    pub commit_id: String,
    pub branch: Option<String>,
    pub definition_version: i32,
    pub created_by: UserId,
    pub created_by_name: Option<String>,
    pub status: StageStatus,
    pub reason: Reason,
    pub detail: Option<String>,
    pub exit_code: Option<i32>,
    pub failed_at: Timestamp,
    /// `None` until a worker has collected the evidence.
    pub collected: Option<CollectedRecord>,
}

/// What a worker has found out about a failure.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectedRecord {
    pub category: Category,
    pub fingerprint: String,
    pub decisive: String,
    pub verdict: VerdictKind,
    pub because: Vec<Because>,
    pub good_job_id: Option<JobId>,
    /// `None` in a list, and after it was deleted with the log.
    pub evidence: Option<Evidence>,
}

/// The columns of a failure, as all queries return them.
pub(super) struct FailureRow {
    pub(super) id: uuid::Uuid,
    pub(super) pipeline_id: uuid::Uuid,
    pub(super) deployment_id: uuid::Uuid,
    pub(super) stage_key: String,
    pub(super) attempt: i32,
    pub(super) job_id: Option<uuid::Uuid>,
    pub(super) step_run_id: Option<uuid::Uuid>,
    pub(super) step: Option<String>,
    pub(super) place: String,
    pub(super) commit_id: String,
    pub(super) branch: Option<String>,
    pub(super) definition_version: i32,
    pub(super) created_by: uuid::Uuid,
    pub(super) created_by_name: Option<String>,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) detail: Option<String>,
    pub(super) exit_code: Option<i32>,
    pub(super) failed_at: jiff_sqlx::Timestamp,
    pub(super) category: Option<String>,
    pub(super) fingerprint: Option<String>,
    pub(super) decisive: Option<String>,
    pub(super) verdict: Option<String>,
    pub(super) because: Vec<String>,
    pub(super) good_job_id: Option<uuid::Uuid>,
    pub(super) document: Option<Value>,
}

impl FailureRow {
    pub(super) fn record(self) -> Result<FailureRecord, StoreError> {
        let category = parse_nullable_column("failures.category", self.category.as_deref())?;
        let verdict = parse_nullable_column("failures.verdict", self.verdict.as_deref())?;
        let because = self.because.iter().map(|because| parse_column("failures.because", because));
        let because: Vec<Because> = because.collect::<Result<_, _>>()?;
        let collected = match (category, verdict, self.fingerprint) {
            (Some(category), Some(verdict), Some(fingerprint)) => Some(CollectedRecord {
                category,
                fingerprint,
                decisive: self.decisive.unwrap_or_default(),
                verdict,
                because,
                good_job_id: self.good_job_id.map(Into::into),
                evidence: self.document.map(parse_evidence).transpose()?,
            }),
            _ => None,
        };
        Ok(FailureRecord {
            id: self.id.into(),
            pipeline_id: self.pipeline_id.into(),
            deployment_id: self.deployment_id.into(),
            stage_key: self.stage_key,
            attempt: from_column("failures.attempt", self.attempt)?,
            job_id: self.job_id.map(Into::into),
            step_run_id: self.step_run_id.map(Into::into),
            step: self.step,
            place: self.place,
            commit_id: self.commit_id,
            branch: self.branch,
            definition_version: self.definition_version,
            created_by: self.created_by.into(),
            created_by_name: self.created_by_name,
            status: parse_column("failures.status", &self.status)?,
            reason: parse_column("failures.reason", &self.reason)?,
            detail: self.detail,
            exit_code: self.exit_code,
            failed_at: self.failed_at.to_jiff(),
            collected,
        })
    }
}

fn parse_evidence(json: Value) -> Result<Evidence, StoreError> {
    serde_json::from_value(json)
        .map_err(|error| StoreError::Unreadable { column: "evidence.document", value: error.to_string() })
}

/// Selects failures with their evidence; `$end` is the rest of the statement.
macro_rules! failure_query {
    ($end:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            FailureRow,
            r#"select f.id, f.pipeline_id, f.deployment_id, f.stage_key, f.attempt, f.job_id, f.step_run_id, f.step,
                      f.place, f.commit_id, f.branch, f.definition_version, f.created_by,
                      m.name as "created_by_name?", f.status, f.reason, f.detail, f.exit_code, f.failed_at, f.category,
                      f.fingerprint, f.decisive, f.verdict, f.because, f.good_job_id, e.document as "document?"
               from failures f
               left join evidence e on e.organization_id = $1 and e.failure_id = f.id
               left join memberships m on m.organization_id = $1 and m.user_id = f.created_by "# + $end,
            $($argument),*
        )
    };
}

#[boxed_futures]
impl Store {
    /// Returns the failures of a deployment with their evidence, in the order of their stages and attempts: only
    /// the newest attempt of each stage, unless one step is named.
    pub async fn failures_of_deployment(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
        step: Option<StepRunId>,
    ) -> Result<Vec<FailureRecord>, StoreError> {
        let rows = failure_query!(
            "join stages s on s.organization_id = $1 and s.deployment_id = f.deployment_id and s.key = f.stage_key
             where f.organization_id = $1 and f.deployment_id = $2
               and case when $3::uuid is null then f.attempt = s.attempt and s.status in ('failed', 'errored')
                   else f.step_run_id = $3 end
             order by s.position, f.attempt",
            organization.uuid(),
            deployment.uuid(),
            step.map(|step| step.uuid()),
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter().map(FailureRow::record).collect()
    }

    /// Returns a failure with its evidence.
    pub async fn failure(
        &self,
        organization: OrganizationId,
        id: FailureId,
    ) -> Result<Option<FailureRecord>, StoreError> {
        let row =
            failure_query!("where f.organization_id = $1 and f.id = $2", organization.uuid(), id.uuid())
                .fetch_optional(&self.pool())
                .await?;
        row.map(FailureRow::record).transpose()
    }
}

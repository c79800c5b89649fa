//! Reads fixes.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::fix::{FixProgress, FixReason, FixStatus};
use greenroom_domain::id::{
    AnalysisId, DeploymentId, EnvironmentId, FailureId, FixId, OrganizationId, PipelineId, SessionId, UserId,
};
use greenroom_domain::principal::Credential;
use jiff::Timestamp;

use crate::error::{from_column, parse_column, parse_nullable_column};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixRecord {
    pub id: FixId,
    pub analysis_id: AnalysisId,
    pub failure_id: FailureId,
    pub pipeline_id: PipelineId,
    /// The deployment that has failed.
    pub deployment_id: DeploymentId,
    pub stage: String,
    pub step: Option<String>,
    pub fingerprint: String,
    pub failing_commit_id: String,
    pub failing_branch: Option<String>,
    pub commit_id: String,
    pub branch: String,
    pub labels: Vec<String>,
    pub progress: FixProgress,
    pub reason: Option<FixReason>,
    pub detail: Option<String>,
    pub requested_by: UserId,
    pub requested_by_name: String,
    pub requested_by_kind: String,
    pub credential: Credential,
    pub web_url: Option<String>,
    pub environment_id: Option<EnvironmentId>,
    pub env_name: Option<String>,
    pub session_id: Option<SessionId>,
    /// The deployment of the failing commit; `None` if it was not necessary.
    pub reproduction_id: Option<DeploymentId>,
    /// The deployments of the fix, the first one first.
    pub verification_ids: Vec<DeploymentId>,
    pub pull_request: Option<(u64, String)>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deadline_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

impl FixRecord {
    pub fn status(&self) -> FixStatus {
        self.progress.status
    }

    /// Returns the deployment that the fix waits for.
    pub fn current_deployment(&self) -> Option<DeploymentId> {
        self.verification_ids.last().copied().or(self.reproduction_id)
    }
}

pub(super) struct FixRow {
    id: uuid::Uuid,
    analysis_id: uuid::Uuid,
    failure_id: uuid::Uuid,
    pipeline_id: uuid::Uuid,
    deployment_id: uuid::Uuid,
    stage_key: String,
    step: Option<String>,
    fingerprint: String,
    failing_commit_id: String,
    failing_branch: Option<String>,
    commit_id: String,
    branch: String,
    labels: Vec<String>,
    runs: i16,
    succeeded_runs: i16,
    status: String,
    reason: Option<String>,
    detail: Option<String>,
    requested_by: uuid::Uuid,
    requested_by_name: String,
    requested_by_kind: String,
    credential_id: uuid::Uuid,
    is_browser: bool,
    web_url: Option<String>,
    environment_id: Option<uuid::Uuid>,
    env_name: Option<String>,
    session_id: Option<uuid::Uuid>,
    reproduction_id: Option<uuid::Uuid>,
    verification_ids: Vec<uuid::Uuid>,
    pull_request_number: Option<i64>,
    pull_request_url: Option<String>,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
    deadline_at: jiff_sqlx::Timestamp,
    ended_at: Option<jiff_sqlx::Timestamp>,
}

/// Selects the fixes of organization `$1` that fulfill a condition.
macro_rules! fix_query {
    ($condition:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            FixRow,
            r#"select x.id, x.analysis_id, x.failure_id, x.pipeline_id, f.deployment_id, f.stage_key, f.step, x.fingerprint,
                      x.failing_commit_id, x.failing_branch, x.commit_id, x.branch, x.labels, x.runs, x.succeeded_runs,
                      x.status, x.reason, x.detail, x.requested_by, x.requested_by_name, x.requested_by_kind,
                      x.credential_id, x.is_browser, x.web_url, x.environment_id, e.name as "env_name?", x.session_id,
                      x.reproduction_id, x.verification_ids, x.pull_request_number, x.pull_request_url, x.created_at,
                      x.updated_at, x.deadline_at, x.ended_at
               from fixes x
               join failures f on f.organization_id = $1 and f.id = x.failure_id
               left join environments e on e.organization_id = $1 and e.id = x.environment_id
               where x.organization_id = $1 "# + $condition,
            $($argument),*
        )
    };
}

impl FixRow {
    fn record(self) -> Result<FixRecord, StoreError> {
        let number = self.pull_request_number.map(|number| from_column("fixes.pull_request_number", number));
        Ok(FixRecord {
            id: self.id.into(),
            analysis_id: self.analysis_id.into(),
            failure_id: self.failure_id.into(),
            pipeline_id: self.pipeline_id.into(),
            deployment_id: self.deployment_id.into(),
            stage: self.stage_key,
            step: self.step,
            fingerprint: self.fingerprint,
            failing_commit_id: self.failing_commit_id,
            failing_branch: self.failing_branch,
            commit_id: self.commit_id,
            branch: self.branch,
            labels: self.labels,
            progress: FixProgress {
                status: parse_column("fixes.status", &self.status)?,
                runs: from_column("fixes.runs", self.runs)?,
                succeeded_runs: from_column("fixes.succeeded_runs", self.succeeded_runs)?,
            },
            reason: parse_nullable_column("fixes.reason", self.reason.as_deref())?,
            detail: self.detail,
            requested_by: self.requested_by.into(),
            requested_by_name: self.requested_by_name,
            requested_by_kind: self.requested_by_kind,
            credential: match self.is_browser {
                true => Credential::Browser(self.credential_id.into()),
                false => Credential::Token(self.credential_id.into()),
            },
            web_url: self.web_url,
            environment_id: self.environment_id.map(Into::into),
            env_name: self.env_name,
            session_id: self.session_id.map(Into::into),
            reproduction_id: self.reproduction_id.map(Into::into),
            verification_ids: self.verification_ids.into_iter().map(Into::into).collect(),
            pull_request: number.transpose()?.zip(self.pull_request_url),
            created_at: self.created_at.to_jiff(),
            updated_at: self.updated_at.to_jiff(),
            deadline_at: self.deadline_at.to_jiff(),
            ended_at: self.ended_at.map(jiff_sqlx::Timestamp::to_jiff),
        })
    }
}

#[boxed_futures]
impl Store {
    pub async fn fix(
        &self,
        organization: OrganizationId,
        id: FixId,
    ) -> Result<Option<FixRecord>, StoreError> {
        let row = fix_query!("and x.id = $2", organization.uuid(), id.uuid());
        row.fetch_optional(&self.pool()).await?.map(FixRow::record).transpose()
    }

    /// Returns a page of the fixes of an analysis, the newest first.
    pub async fn fixes_of_analysis(
        &self,
        organization: OrganizationId,
        analysis: AnalysisId,
        page: Page,
    ) -> Result<PageResult<FixRecord>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from fixes where organization_id = $1 and analysis_id = $2 limit $3
               ) counted"#,
            organization.uuid(),
            analysis.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = fix_query!(
            "and x.analysis_id = $2 order by x.created_at desc, x.id desc limit $3 offset $4",
            organization.uuid(),
            analysis.uuid(),
            page.limit,
            page.offset,
        );
        let rows = rows.fetch_all(&self.pool()).await?;
        let rows = rows.into_iter().map(FixRow::record).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Returns a fix as this transaction sees it.
    pub async fn fix(&mut self, id: FixId) -> Result<Option<FixRecord>, StoreError> {
        let organization = self.organization();
        let row = fix_query!("and x.id = $2", organization, id.uuid());
        row.fetch_optional(self.connection()).await?.map(FixRow::record).transpose()
    }

    /// Returns the live fix of failures with this fingerprint.
    pub async fn live_fix(
        &mut self,
        pipeline: PipelineId,
        fingerprint: &str,
    ) -> Result<Option<FixId>, StoreError> {
        let organization = self.organization();
        let id = sqlx::query_scalar!(
            "select id from fixes
             where organization_id = $1 and pipeline_id = $2 and fingerprint = $3
               and status in ('queued', 'waiting', 'reproducing', 'verifying', 'opening', 'opened')",
            organization,
            pipeline.uuid(),
            fingerprint,
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(id.map(FixId::from))
    }
}

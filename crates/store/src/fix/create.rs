//! Requests of fixes.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::EventType;
use greenroom_domain::fix::{FixStatus, MAX_WAIT};
use greenroom_domain::id::{AnalysisId, DeploymentId, FailureId, FixId, PipelineId};
use greenroom_domain::principal::Credential;

use crate::deployment::PersonColumns;
use crate::{Command, StoreError};

/// The failure of an analysis, with what a fix of it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixableFailure {
    pub id: FailureId,
    pub pipeline_id: PipelineId,
    pub deployment_id: DeploymentId,
    pub fingerprint: Option<String>,
    pub commit_id: String,
    pub branch: Option<String>,
}

/// A fix to request.
#[derive(Clone, Copy, Debug)]
pub struct NewFix<'a> {
    pub id: FixId,
    pub analysis: AnalysisId,
    pub failure: &'a FixableFailure,
    pub fingerprint: &'a str,
    pub commit_id: &'a str,
    pub branch: &'a str,
    pub labels: &'a [String],
    pub runs: u8,
    /// The address under which people see deployments, without the id.
    pub web_url: Option<&'a str>,
}

#[boxed_futures]
impl Command {
    pub async fn failure_of_analysis(
        &mut self,
        analysis: AnalysisId,
    ) -> Result<Option<FixableFailure>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            "select f.id, f.pipeline_id, f.deployment_id, f.fingerprint, f.commit_id, f.branch
             from analyses a join failures f on f.organization_id = $1 and f.id = a.failure_id
             where a.organization_id = $1 and a.id = $2",
            organization,
            analysis.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map(|row| FixableFailure {
            id: row.id.into(),
            pipeline_id: row.pipeline_id.into(),
            deployment_id: row.deployment_id.into(),
            fingerprint: row.fingerprint,
            commit_id: row.commit_id,
            branch: row.branch,
        }))
    }

    /// Creates a fix. Fails on the index `fixes_live` if the failure has a live one.
    pub async fn create_fix(&mut self, new: &NewFix<'_>) -> Result<(), StoreError> {
        let organization = self.organization();
        let by = PersonColumns::from(self.actor());
        let credential = self.principal().credential;
        sqlx::query!(
            "insert into fixes
                 (organization_id, id, analysis_id, failure_id, pipeline_id, fingerprint, failing_commit_id, failing_branch,
                  commit_id, branch, labels, runs, status, requested_by, requested_by_name, requested_by_kind, credential_id,
                  is_browser, web_url, created_at, updated_at, deadline_at, due_at)
             select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, now.at, now.at,
                    now.at + $20 * interval '1 second', now.at
             from (select clock_timestamp() as at) now",
            organization,
            new.id.uuid(),
            new.analysis.uuid(),
            new.failure.id.uuid(),
            new.failure.pipeline_id.uuid(),
            new.fingerprint,
            new.failure.commit_id,
            new.failure.branch,
            new.commit_id,
            new.branch,
            new.labels,
            i16::from(new.runs),
            FixStatus::Queued.as_str(),
            by.id,
            by.name.unwrap_or_default(),
            by.kind.unwrap_or_default(),
            credential.uuid(),
            matches!(credential, Credential::Browser(_)),
            new.web_url,
            MAX_WAIT.as_secs_f64(),
        )
        .execute(self.connection())
        .await?;
        self.record_fix_event(EventType::FixRequested, new.id).await
    }
}

//! Requests of analyses.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::analysis::{AnalysisEvent, AnalysisStatus, EVIDENCE_TIMEOUT, apply};
use greenroom_domain::event::EventType;
use greenroom_domain::id::{AnalysisId, DeploymentId, FailureId};

use crate::deployment::PersonColumns;
use crate::{Command, StoreError};

/// The failure that an analysis is about. Its row is locked, so that its evidence is not stored meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalyzedFailure {
    pub id: FailureId,
    /// The evidence is stored.
    pub is_collected: bool,
    /// The evidence was deleted with the logs.
    pub is_expired: bool,
    pub fingerprint: Option<String>,
    /// How many analyses it has.
    pub analyses: i64,
}

#[boxed_futures]
impl Command {
    /// Locks the last failure of a stage, or of the first stage of the deployment that has one. Stages whose last attempt
    /// has failed come before those that were retried since.
    pub async fn lock_failure_to_analyze(
        &mut self,
        deployment: DeploymentId,
        stage: Option<&str>,
    ) -> Result<Option<AnalyzedFailure>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select f.id, f.collected_at is not null and f.fingerprint is not null as "is_collected!",
                      d.expired_at is not null as "is_expired!", f.fingerprint
               from failures f
               join deployments d on d.organization_id = $1 and d.id = f.deployment_id
               left join stages s on s.organization_id = $1 and s.deployment_id = f.deployment_id and s.key = f.stage_key
               where f.organization_id = $1 and f.deployment_id = $2 and ($3::text is null or f.stage_key = $3)
               order by coalesce(f.attempt = s.attempt and s.status in ('failed', 'errored'), false) desc, s.position,
                        f.attempt desc
               limit 1 for update of f"#,
            organization,
            deployment.uuid(),
            stage,
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(row) = row else { return Ok(None) };
        // Counted after the failure's row was locked, by a separate statement: its snapshot contains the analyses of concurrent
        // requests.
        let analyses = sqlx::query_scalar!(
            r#"select count(*) as "count!" from analyses where organization_id = $1 and failure_id = $2"#,
            organization,
            row.id,
        )
        .fetch_one(self.connection())
        .await?;
        Ok(Some(AnalyzedFailure {
            id: row.id.into(),
            is_collected: row.is_collected,
            is_expired: row.is_expired,
            fingerprint: row.fingerprint,
            analyses,
        }))
    }

    /// Returns whether the deployment has a stage with this key.
    pub async fn has_stage(&mut self, deployment: DeploymentId, stage: &str) -> Result<bool, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            r#"select exists (
                   select 1 from stages where organization_id = $1 and deployment_id = $2 and key = $3
               ) as "exists!""#,
            organization,
            deployment.uuid(),
            stage,
        )
        .fetch_one(self.connection())
        .await?)
    }

    /// Creates an analysis of a failure. If the evidence is there, it ends immediately, or a model is called. `with_model` is
    /// whether that is wanted; `None`: if there is a model.
    pub async fn create_analysis(
        &mut self,
        id: AnalysisId,
        failure: &AnalyzedFailure,
        with_model: Option<bool>,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let by = PersonColumns::from(self.actor());
        sqlx::query!(
            "insert into analyses
                 (organization_id, id, failure_id, status, created_by, created_by_name, created_at, deadline_at, with_model)
             select $1, $2, $3, $4, $5, $6, now.at, now.at + $7 * interval '1 second', $8
             from (select clock_timestamp() as at) now",
            organization,
            id.uuid(),
            failure.id.uuid(),
            AnalysisStatus::Queued.as_str(),
            by.id,
            by.name.unwrap_or_default(),
            EVIDENCE_TIMEOUT.as_secs_f64(),
            with_model,
        )
        .execute(self.connection())
        .await?;
        self.record_analysis_event(EventType::AnalysisStarted, id).await?;
        let event = if failure.is_collected {
            AnalysisEvent::EvidenceReady { has_model: with_model != Some(false) && self.has_model().await? }
        } else {
            AnalysisEvent::EvidencePending
        };
        match apply(AnalysisStatus::Queued, event) {
            Some(change) => self.write_analysis_status(id, change).await,
            None => Ok(()),
        }
    }
}

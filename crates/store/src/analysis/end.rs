//! Changes of the status of analyses, as `domain/analysis.rs` decides them, each with its event.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::analysis::{
    AnalysisEvent, AnalysisReason, AnalysisStatus, MODEL_TIMEOUT, apply, subject,
};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{AnalysisId, DeploymentId, FailureId, OrganizationId, PipelineId};
use serde_json::json;

use crate::error::parse_column;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Fails an analysis whose deadline has passed. Returns false if it has ended meanwhile.
    pub async fn fail_overdue_analysis(
        &self,
        organization: OrganizationId,
        id: AnalysisId,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.system_transaction(organization).await?;
        let status = sqlx::query_scalar!(
            "select status from analyses
             where organization_id = $1 and id = $2 and ended_at is null and deadline_at <= clock_timestamp()
             for update",
            organization.uuid(),
            id.uuid(),
        )
        .fetch_optional(transaction.connection())
        .await?;
        let Some(status) = status else { return Ok(false) };
        let status = parse_column("analyses.status", &status)?;
        let Some(change) = apply(status, AnalysisEvent::DeadlinePassed) else { return Ok(false) };
        transaction.write_analysis_status(id, change).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

impl OrgTransaction {
    /// Continues the analyses that wait for the evidence of a failure, which this transaction has stored. The failure's
    /// row is locked, so no analysis is added meanwhile.
    pub(crate) async fn continue_analyses(&mut self, failure: FailureId) -> Result<(), StoreError> {
        let organization = self.organization();
        let waiting = sqlx::query!(
            "select id, status, with_model from analyses
             where organization_id = $1 and failure_id = $2 and ended_at is null
             order by id for update",
            organization,
            failure.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        let has_model = !waiting.is_empty() && self.has_model().await?;
        for row in waiting {
            let status = parse_column("analyses.status", &row.status)?;
            let has_model = has_model && row.with_model != Some(false);
            if let Some(change) = apply(status, AnalysisEvent::EvidenceReady { has_model }) {
                self.write_analysis_status(row.id.into(), change).await?;
            }
        }
        Ok(())
    }

    /// Returns whether failures of the organization are explained by a model.
    pub(super) async fn has_model(&mut self) -> Result<bool, StoreError> {
        Ok(self.model_settings_for_share().await?.settings.endpoint().is_some())
    }

    /// Writes a status that the domain has decided. Once the evidence is there, the analysis gets a copy of what it shows; at
    /// its end, its event is recorded.
    pub(super) async fn write_analysis_status(
        &mut self,
        id: AnalysisId,
        (status, reason): (AnalysisStatus, Option<AnalysisReason>),
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let has_evidence = match (status, reason) {
            (AnalysisStatus::Queued | AnalysisStatus::Collecting, _) => false,
            (_, reason) => reason.is_none_or(AnalysisReason::has_evidence),
        };
        sqlx::query!(
            "update analyses a
             set status = $3, reason = $4, ended_at = case when $5 then clock_timestamp() end,
                 deadline_at = case when $7 then clock_timestamp() + $8 * interval '1 second' else a.deadline_at end,
                 leased_until = null,
                 category = case when $6 then f.category end, fingerprint = case when $6 then f.fingerprint end,
                 decisive = case when $6 then f.decisive end, verdict = case when $6 then f.verdict end,
                 decisive_line = case when $6 then coalesce((e.document -> 'decisive' ->> 'line')::bigint, 0) end
             from failures f left join evidence e on e.organization_id = $1 and e.failure_id = f.id
             where a.organization_id = $1 and a.id = $2 and f.organization_id = $1 and f.id = a.failure_id",
            organization,
            id.uuid(),
            status.as_str(),
            reason.map(AnalysisReason::as_str),
            status.is_final(),
            has_evidence,
            status == AnalysisStatus::Analyzing,
            MODEL_TIMEOUT.as_secs_f64(),
        )
        .execute(self.connection())
        .await?;
        match end_event(status) {
            Some(event_type) => self.record_analysis_event(event_type, id).await,
            None => Ok(()),
        }
    }

    /// Records an event about an analysis. It contains no text of the log.
    pub(super) async fn record_analysis_event(
        &mut self,
        event_type: EventType,
        id: AnalysisId,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            "select f.pipeline_id, f.deployment_id, f.id as failure_id, f.stage_key, f.attempt, f.step, a.reason, a.category,
                    a.verdict, a.fingerprint
             from analyses a join failures f on f.organization_id = $1 and f.id = a.failure_id
             where a.organization_id = $1 and a.id = $2",
            organization,
            id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        let (pipeline, deployment) =
            (PipelineId::from(row.pipeline_id), DeploymentId::from(row.deployment_id));
        let event = NewEvent {
            event_type,
            subject: subject(pipeline, deployment, id),
            before: None,
            after: Some(json!({
                "analysisId": id,
                "pipelineId": pipeline,
                "deploymentId": deployment,
                "failureId": FailureId::from(row.failure_id),
                "stage": row.stage_key,
                "attempt": row.attempt,
                "step": row.step,
                "category": row.category,
                "verdict": row.verdict,
                "fingerprint": row.fingerprint,
            })),
            reason: row.reason,
        };
        self.record_event(event).await
    }
}

const fn end_event(status: AnalysisStatus) -> Option<EventType> {
    match status {
        AnalysisStatus::Queued | AnalysisStatus::Collecting | AnalysisStatus::Analyzing => None,
        AnalysisStatus::Succeeded => Some(EventType::AnalysisSucceeded),
        AnalysisStatus::Failed => Some(EventType::AnalysisFailed),
        AnalysisStatus::Refused => Some(EventType::AnalysisRefused),
    }
}

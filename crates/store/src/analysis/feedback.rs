//! Feedback about analyses.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use serde_json::json;

use super::read::AnalysisRecord;
use crate::deployment::PersonColumns;
use crate::{Command, StoreError};

#[boxed_futures]
impl Command {
    /// Stores the caller's feedback about an analysis, which replaces what the caller has stored before. The event
    /// does not contain the comment.
    pub async fn give_feedback(
        &mut self,
        analysis: &AnalysisRecord,
        helpful: bool,
        comment: Option<&str>,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let by = PersonColumns::from(self.actor());
        sqlx::query!(
            "insert into analysis_feedback (organization_id, analysis_id, user_id, user_name, helpful, comment, given_at)
             values ($1, $2, $3, $4, $5, $6, clock_timestamp())
             on conflict (organization_id, analysis_id, user_id) do update
             set user_name = excluded.user_name, helpful = excluded.helpful, comment = excluded.comment,
                 given_at = excluded.given_at",
            organization,
            analysis.id.uuid(),
            by.id,
            by.name.unwrap_or_default(),
            helpful,
            comment,
        )
        .execute(self.connection())
        .await?;
        let event = NewEvent {
            event_type: EventType::AnalysisFeedbackGiven,
            subject: greenroom_domain::analysis::subject(
                analysis.pipeline_id,
                analysis.deployment_id,
                analysis.id,
            ),
            before: None,
            after: Some(json!({
                "analysisId": analysis.id,
                "pipelineId": analysis.pipeline_id,
                "deploymentId": analysis.deployment_id,
                "helpful": helpful,
                "hasComment": comment.is_some(),
            })),
            reason: None,
        };
        self.record_event(event).await
    }
}

//! Replaces what a call has reserved by what it has used.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{AnalysisId, DeploymentId, ModelCallId, OrganizationId, PipelineId};
use greenroom_domain::model::budget::{Amount, Prices, Reservation, settle};
use serde_json::json;

use crate::error::{from_column, to_column};
use crate::{Store, StoreError};

/// How a call went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelCallResult<'a> {
    /// 0 if nothing was sent: then nothing counts.
    pub attempts: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Whether a part of the tokens is our upper bound, because the provider has reported nothing.
    pub is_estimated: bool,
    /// Why there is no explanation.
    pub error: Option<&'a str>,
}

#[boxed_futures]
impl Store {
    /// Settles a call, and records it in the audit. Returns false if it was settled before: then nothing is changed.
    pub async fn settle_model_call(
        &self,
        organization: OrganizationId,
        id: ModelCallId,
        result: &ModelCallResult<'_>,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.system_transaction(organization).await?;
        let found = sqlx::query!(
            "select c.analysis_id, c.host, c.model, c.prompt_hash, c.input_price, c.output_price, c.reserved_day,
                    c.reserved_month, c.reserved_tokens, c.reserved_cost, c.reserved_at, f.pipeline_id, f.deployment_id
             from model_calls c join failures f on f.organization_id = $1 and f.id = c.failure_id
             where c.organization_id = $1 and c.id = $2 and c.settled_at is null
             for update of c",
            organization.uuid(),
            id.uuid(),
        )
        .fetch_optional(transaction.connection())
        .await?;
        let Some(call) = found else { return Ok(false) };
        let prices = Prices {
            input: from_column("model_calls.input_price", call.input_price)?,
            output: from_column("model_calls.output_price", call.output_price)?,
        };
        let used = Amount {
            requests: u64::from(result.attempts > 0),
            tokens: result.input_tokens.saturating_add(result.output_tokens),
            cost: prices.cost(result.input_tokens, result.output_tokens),
        };
        let reservation = Reservation {
            day: call.reserved_day.to_jiff(),
            month: call.reserved_month.to_jiff(),
            amount: Amount {
                requests: 1,
                tokens: from_column("model_calls.reserved_tokens", call.reserved_tokens)?,
                cost: from_column("model_calls.reserved_cost", call.reserved_cost)?,
            },
        };
        let (state, now) = transaction.lock_model_budget().await?;
        transaction.write_model_budget(settle(state, reservation, used, now)).await?;
        sqlx::query!(
            "update model_calls
             set settled_at = clock_timestamp(), attempts = $3, input_tokens = $4, output_tokens = $5, is_estimated = $6,
                 cost = $7, error = left($8, 120)
             where organization_id = $1 and id = $2",
            organization.uuid(),
            id.uuid(),
            to_column::<_, i32>("model_calls.attempts", result.attempts)?,
            to_column::<_, i64>("model_calls.input_tokens", result.input_tokens)?,
            to_column::<_, i64>("model_calls.output_tokens", result.output_tokens)?,
            result.is_estimated,
            to_column::<_, i64>("model_calls.cost", used.cost)?,
            result.error,
        )
        .execute(transaction.connection())
        .await?;
        let (pipeline, deployment) =
            (PipelineId::from(call.pipeline_id), DeploymentId::from(call.deployment_id));
        let analysis = AnalysisId::from(call.analysis_id);
        let milliseconds = now.duration_since(call.reserved_at.to_jiff()).as_millis();
        let after = json!({
            "analysisId": analysis,
            "host": call.host,
            "model": call.model,
            "promptHash": call.prompt_hash,
            "attempts": result.attempts,
            "inputTokens": result.input_tokens,
            "outputTokens": result.output_tokens,
            "costMicros": used.cost,
            "milliseconds": i64::try_from(milliseconds).unwrap_or(i64::MAX),
            "error": result.error,
        });
        let event = NewEvent {
            event_type: EventType::ModelCalled,
            subject: format!("pipelines/{pipeline}/deployments/{deployment}/analyses/{analysis}"),
            before: None,
            after: Some(after),
            reason: None,
        };
        transaction.record_event(event).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

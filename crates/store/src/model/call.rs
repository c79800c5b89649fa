//! Calls of models. A call is reserved before anything is sent, and settled afterwards (`settle.rs`).

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{AnalysisId, FailureId, ModelCallId, OrganizationId};
use greenroom_domain::model::budget::{Amount, Exhausted, Micros, Reservation, reserve};
use jiff::Timestamp;
use uuid::Uuid;

use super::settings::ModelSettingsRecord;
use crate::error::{from_column, to_column};
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

/// A call that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewModelCall<'a> {
    pub failure: FailureId,
    pub analysis: AnalysisId,
    /// The revision of the settings that the call uses. If they were changed in the meantime, nothing is reserved.
    pub settings_revision: i64,
    /// All that is sent, with its hash.
    pub prompt: &'a str,
    pub prompt_hash: &'a str,
    pub prompt_version: u16,
    /// The most that the call can use.
    pub upper_bound: Amount,
}

/// Why nothing was reserved. Nothing may be sent then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReserved {
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    #[error("the organization has no model, or its model is not enabled")]
    Disabled,
    #[error("the settings were changed in the meantime")]
    SettingsChanged,
}

/// A call, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCallRecord {
    pub id: ModelCallId,
    pub failure: FailureId,
    pub analysis: AnalysisId,
    pub host: String,
    pub model: String,
    /// `None`: deleted with the logs.
    pub prompt: Option<String>,
    pub prompt_hash: String,
    pub reserved_at: Timestamp,
    /// `None`: the call is being made, or its process has died.
    pub settled: Option<SettledCall>,
}

/// What a call has used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledCall {
    pub at: Timestamp,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub is_estimated: bool,
    pub cost: Micros,
    pub error: Option<String>,
}

#[boxed_futures]
impl Store {
    /// Reserves a call within the organization's budget, in one transaction. Concurrent calls are reserved one after the other, so that
    /// all of them together stay within the limits.
    pub async fn reserve_model_call(
        &self,
        organization: OrganizationId,
        new: &NewModelCall<'_>,
    ) -> Result<Result<ModelCallId, NotReserved>, StoreError> {
        let mut transaction = self.system_transaction(organization).await?;
        let settings = transaction.model_settings_for_share().await?;
        if settings.settings.endpoint().is_none() {
            return Ok(Err(NotReserved::Disabled));
        }
        if settings.revision != new.settings_revision {
            return Ok(Err(NotReserved::SettingsChanged));
        }
        let (state, now) = transaction.lock_model_budget().await?;
        let (state, reservation) = match reserve(state, &settings.settings.limits, new.upper_bound, now) {
            Ok(reserved) => reserved,
            Err(exhausted) => return Ok(Err(exhausted.into())),
        };
        transaction.write_model_budget(state).await?;
        let id = ModelCallId::from(Uuid::now_v7());
        transaction.insert_model_call(id, new, &settings, &reservation).await?;
        transaction.commit().await?;
        Ok(Ok(id))
    }

    /// Returns the calls of an analysis, the oldest first. There are a few at most.
    pub async fn model_calls_of(
        &self,
        organization: OrganizationId,
        analysis: AnalysisId,
    ) -> Result<Vec<ModelCallRecord>, StoreError> {
        let rows = sqlx::query!(
            "select id, failure_id, host, model, prompt, prompt_hash, reserved_at, settled_at, input_tokens, output_tokens,
                    is_estimated, cost, error
             from model_calls where organization_id = $1 and analysis_id = $2 order by reserved_at, id limit 100",
            organization.uuid(),
            analysis.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        let records = rows.into_iter().map(|row| {
            let number = |column, value: Option<i64>| from_column(column, value.unwrap_or_default());
            let settled = match row.settled_at {
                None => None,
                Some(at) => Some(SettledCall {
                    at: at.to_jiff(),
                    input_tokens: number("model_calls.input_tokens", row.input_tokens)?,
                    output_tokens: number("model_calls.output_tokens", row.output_tokens)?,
                    is_estimated: row.is_estimated.unwrap_or_default(),
                    cost: number("model_calls.cost", row.cost)?,
                    error: row.error,
                }),
            };
            Ok(ModelCallRecord {
                id: row.id.into(),
                failure: row.failure_id.into(),
                analysis,
                host: row.host,
                model: row.model,
                prompt: row.prompt,
                prompt_hash: row.prompt_hash,
                reserved_at: row.reserved_at.to_jiff(),
                settled,
            })
        });
        records.collect()
    }
}

impl OrgTransaction {
    async fn insert_model_call(
        &mut self,
        id: ModelCallId,
        new: &NewModelCall<'_>,
        settings: &ModelSettingsRecord,
        reservation: &Reservation,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let (endpoint, prices) = (settings.settings.endpoint(), settings.settings.prices);
        let Reservation { day, month, amount } = *reservation;
        sqlx::query!(
            "insert into model_calls
                 (organization_id, id, failure_id, analysis_id, host, model, prompt, prompt_hash, prompt_version, input_price,
                  output_price, reserved_day, reserved_month, reserved_tokens, reserved_cost)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
            organization,
            id.uuid(),
            new.failure.uuid(),
            new.analysis.uuid(),
            endpoint.as_ref().map_or("", |endpoint| endpoint.host()),
            endpoint.as_ref().map_or("", |endpoint| endpoint.model()),
            new.prompt,
            new.prompt_hash,
            i32::from(new.prompt_version),
            to_column::<_, i64>("model_calls.input_price", prices.input)?,
            to_column::<_, i64>("model_calls.output_price", prices.output)?,
            jiff_sqlx::Date::from(day) as jiff_sqlx::Date,
            jiff_sqlx::Date::from(month) as jiff_sqlx::Date,
            to_column::<_, i64>("model_calls.reserved_tokens", amount.tokens)?,
            to_column::<_, i64>("model_calls.reserved_cost", amount.cost)?,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}

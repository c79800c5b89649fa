//! Analyses that a model explains: leased by workers, and ended with what the model has concluded.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::analysis::{AnalysisEvent, REUSE_TIME, apply};
use greenroom_domain::id::{AnalysisId, FailureId, OrganizationId};
use greenroom_domain::model::Explanation;
use jiff::Timestamp;

use crate::error::parse_column;
use crate::{Store, StoreError};

/// How long a worker has for one analysis. Longer than all attempts of a call.
pub(crate) const EXPLANATION_LEASE: Duration = Duration::from_secs(200);

/// An analysis that a worker has leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueAnalysis {
    pub organization_id: OrganizationId,
    pub id: AnalysisId,
    pub failure_id: FailureId,
    pub leased_until: Timestamp,
}

/// Where a model was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    pub host: String,
    pub name: String,
}

/// How the part of an analysis that needs a model ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExplanationEnd {
    Explained {
        model: ModelName,
        explanation: Explanation,
        reuse_key: String,
        /// The analysis that the explanation was made for, if it is used again.
        reused_from: Option<AnalysisId>,
    },
    /// The model was disabled in the meantime.
    ModelDisabled,
    /// With a text of ours.
    ModelFailed {
        model: Option<ModelName>,
        detail: String,
    },
    BudgetExhausted {
        model: ModelName,
        detail: String,
    },
}

impl ExplanationEnd {
    const fn event(&self) -> AnalysisEvent {
        match self {
            Self::Explained { .. } => AnalysisEvent::Explained,
            Self::ModelDisabled => AnalysisEvent::ModelDisabled,
            Self::ModelFailed { .. } => AnalysisEvent::ModelFailed,
            Self::BudgetExhausted { .. } => AnalysisEvent::BudgetExhausted,
        }
    }

    const fn model(&self) -> Option<&ModelName> {
        match self {
            Self::Explained { model, .. } | Self::BudgetExhausted { model, .. } => Some(model),
            Self::ModelFailed { model, .. } => model.as_ref(),
            Self::ModelDisabled => None,
        }
    }

    fn detail(&self) -> Option<&str> {
        match self {
            Self::ModelFailed { detail, .. } | Self::BudgetExhausted { detail, .. } => Some(detail),
            Self::Explained { .. } | Self::ModelDisabled => None,
        }
    }
}

#[boxed_futures]
impl Store {
    /// Returns the newest explanation of the last days with this key, and the analysis that it was made for.
    pub async fn reusable_explanation(
        &self,
        organization: OrganizationId,
        reuse_key: &str,
    ) -> Result<Option<(AnalysisId, Explanation)>, StoreError> {
        let row = sqlx::query!(
            r#"select id, explanation as "explanation!" from analyses
               where organization_id = $1 and reuse_key = $2 and explanation is not null and reused_from is null
                 and ended_at > clock_timestamp() - $3 * interval '1 second'
               order by ended_at desc limit 1"#,
            organization.uuid(),
            reuse_key,
            REUSE_TIME.as_secs_f64(),
        )
        .fetch_optional(&self.pool())
        .await?;
        row.map(|row| Ok((row.id.into(), parse_explanation(row.explanation)?))).transpose()
    }

    /// Gives an analysis back, so that it is leased again without waiting.
    pub async fn return_analysis(&self, due: &DueAnalysis) -> Result<(), StoreError> {
        sqlx::query!(
            "update analyses set leased_until = null where organization_id = $1 and id = $2 and leased_until = $3",
            due.organization_id.uuid(),
            due.id.uuid(),
            jiff_sqlx::Timestamp::from(due.leased_until) as jiff_sqlx::Timestamp,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }

    /// Ends a leased analysis, in one transaction with its event. Returns false if the lease was lost or the analysis has ended.
    pub async fn end_explanation(&self, due: &DueAnalysis, end: &ExplanationEnd) -> Result<bool, StoreError> {
        let mut transaction = self.system_transaction(due.organization_id).await?;
        let status = sqlx::query_scalar!(
            "select status from analyses
             where organization_id = $1 and id = $2 and leased_until = $3 and ended_at is null for update",
            due.organization_id.uuid(),
            due.id.uuid(),
            jiff_sqlx::Timestamp::from(due.leased_until) as jiff_sqlx::Timestamp,
        )
        .fetch_optional(transaction.connection())
        .await?;
        let Some(status) = status else { return Ok(false) };
        let status = parse_column("analyses.status", &status)?;
        let Some(change) = apply(status, end.event()) else { return Ok(false) };
        let (explanation, reuse_key, reused_from) = match end {
            ExplanationEnd::Explained { explanation, reuse_key, reused_from, .. } => {
                (serde_json::to_value(explanation).ok(), Some(reuse_key.as_str()), *reused_from)
            }
            _ => (None, None, None),
        };
        let model = end.model();
        sqlx::query!(
            "update analyses
             set model_host = $3, model_name = $4, explanation = $5, reuse_key = $6, reused_from = $7, detail = left($8, 120)
             where organization_id = $1 and id = $2",
            due.organization_id.uuid(),
            due.id.uuid(),
            model.map(|model| model.host.as_str()),
            model.map(|model| model.name.as_str()),
            explanation,
            reuse_key,
            reused_from.map(|analysis| analysis.uuid()),
            end.detail(),
        )
        .execute(transaction.connection())
        .await?;
        transaction.write_analysis_status(due.id, change).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

pub(super) fn parse_explanation(json: serde_json::Value) -> Result<Explanation, StoreError> {
    serde_json::from_value(json)
        .map_err(|error| StoreError::Unreadable { column: "analyses.explanation", value: error.to_string() })
}

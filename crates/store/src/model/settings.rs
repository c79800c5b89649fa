//! Reads and changes the settings of an organization's model.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, UserId};
use greenroom_domain::model::ModelSettings;
use greenroom_domain::model::budget::{BudgetLimits, Prices};
use greenroom_domain::secret::SealedValue;
use jiff::Timestamp;

use crate::error::{from_column, parse_nullable_column, to_column};
use crate::transaction::OrgTransaction;
use crate::{Command, Store, StoreError};

/// The settings of an organization. One that has set nothing has the default, with revision 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelSettingsRecord {
    pub settings: ModelSettings,
    /// It opens for the `address` of the settings only.
    pub credential: Option<SealedValue>,
    pub revision: i64,
    /// `None`: never.
    pub updated_at: Option<Timestamp>,
    pub updated_by: Option<UserId>,
}

struct Row {
    enabled: bool,
    protocol: Option<String>,
    address: Option<String>,
    model: Option<String>,
    credential_key_id: Option<uuid::Uuid>,
    credential_nonce: Option<Vec<u8>>,
    credential_sealed: Option<Vec<u8>>,
    max_requests_per_day: Option<i64>,
    max_tokens_per_month: Option<i64>,
    max_cost_per_month: Option<i64>,
    input_price: i64,
    output_price: i64,
    revision: i64,
    updated_at: Option<jiff_sqlx::Timestamp>,
    updated_by: Option<uuid::Uuid>,
}

impl TryFrom<Row> for ModelSettingsRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let limit = |column, value: Option<i64>| value.map(|value| from_column(column, value)).transpose();
        let limits = BudgetLimits {
            requests_per_day: limit("analysis_settings.max_requests_per_day", row.max_requests_per_day)?,
            tokens_per_month: limit("analysis_settings.max_tokens_per_month", row.max_tokens_per_month)?,
            cost_per_month: limit("analysis_settings.max_cost_per_month", row.max_cost_per_month)?,
        };
        let prices = Prices {
            input: from_column("analysis_settings.input_price", row.input_price)?,
            output: from_column("analysis_settings.output_price", row.output_price)?,
        };
        let settings = ModelSettings {
            is_enabled: row.enabled,
            protocol: parse_nullable_column("analysis_settings.protocol", row.protocol.as_deref())?,
            address: row.address,
            model: row.model,
            limits,
            prices,
        };
        let credential = match (row.credential_key_id, row.credential_nonce, row.credential_sealed) {
            (Some(key), Some(nonce), Some(sealed)) => Some(SealedValue { key: key.into(), nonce, sealed }),
            _ => None,
        };
        Ok(Self {
            settings,
            credential,
            revision: row.revision,
            updated_at: row.updated_at.map(jiff_sqlx::Timestamp::to_jiff),
            updated_by: row.updated_by.map(UserId::from),
        })
    }
}

/// Selects the settings of organization `$1`.
macro_rules! settings_query {
    ($lock:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"select enabled, protocol, address, model, credential_key_id, credential_nonce, credential_sealed,
                      max_requests_per_day, max_tokens_per_month, max_cost_per_month, input_price, output_price, revision,
                      updated_at, updated_by
               from analysis_settings where organization_id = $1 "# + $lock,
            $($argument),*
        )
    };
}

#[boxed_futures]
impl Store {
    pub async fn model_settings(
        &self,
        organization: OrganizationId,
    ) -> Result<ModelSettingsRecord, StoreError> {
        let row = settings_query!("", organization.uuid()).fetch_optional(&self.pool()).await?;
        row.map_or_else(|| Ok(ModelSettingsRecord::default()), ModelSettingsRecord::try_from)
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Returns the settings, and keeps them from being changed until the transaction ends.
    pub async fn model_settings_for_share(&mut self) -> Result<ModelSettingsRecord, StoreError> {
        let organization = self.organization();
        let row = settings_query!("for share", organization).fetch_optional(self.connection()).await?;
        row.map_or_else(|| Ok(ModelSettingsRecord::default()), ModelSettingsRecord::try_from)
    }
}

#[boxed_futures]
impl Command {
    /// Returns the settings, and locks their row, which is inserted if there is none.
    pub async fn model_settings_for_update(&mut self) -> Result<ModelSettingsRecord, StoreError> {
        let organization = self.organization();
        let limits = ModelSettings::default().limits;
        sqlx::query!(
            "insert into analysis_settings (organization_id, max_requests_per_day, max_tokens_per_month, max_cost_per_month)
             values ($1, $2, $3, $4) on conflict (organization_id) do nothing",
            organization,
            limit_column("analysis_settings.max_requests_per_day", limits.requests_per_day)?,
            limit_column("analysis_settings.max_tokens_per_month", limits.tokens_per_month)?,
            limit_column("analysis_settings.max_cost_per_month", limits.cost_per_month)?,
        )
        .execute(self.connection())
        .await?;
        settings_query!("for update", organization).fetch_one(self.connection()).await?.try_into()
    }

    /// Replaces the settings, with their credential. The row exists, because it was locked before.
    pub async fn update_model_settings(
        &mut self,
        settings: &ModelSettings,
        credential: Option<&SealedValue>,
    ) -> Result<ModelSettingsRecord, StoreError> {
        let (organization, by) = (self.organization(), self.principal().user_id.uuid());
        let ModelSettings { limits, prices, .. } = settings;
        let row = sqlx::query_as!(
            Row,
            r#"update analysis_settings
               set enabled = $2, protocol = $3, address = $4, model = $5, credential_key_id = $6, credential_nonce = $7,
                   credential_sealed = $8, max_requests_per_day = $9, max_tokens_per_month = $10, max_cost_per_month = $11,
                   input_price = $12, output_price = $13, revision = revision + 1, updated_at = clock_timestamp(),
                   updated_by = $14
               where organization_id = $1
               returning enabled, protocol, address, model, credential_key_id, credential_nonce, credential_sealed,
                         max_requests_per_day, max_tokens_per_month, max_cost_per_month, input_price, output_price,
                         revision, updated_at, updated_by"#,
            organization,
            settings.is_enabled,
            settings.protocol.map(|protocol| protocol.as_str()),
            settings.address,
            settings.model,
            credential.map(|credential| credential.key.uuid()),
            credential.map(|credential| credential.nonce.as_slice()),
            credential.map(|credential| credential.sealed.as_slice()),
            limit_column("analysis_settings.max_requests_per_day", limits.requests_per_day)?,
            limit_column("analysis_settings.max_tokens_per_month", limits.tokens_per_month)?,
            limit_column("analysis_settings.max_cost_per_month", limits.cost_per_month)?,
            to_column::<_, i64>("analysis_settings.input_price", prices.input)?,
            to_column::<_, i64>("analysis_settings.output_price", prices.output)?,
            by,
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }
}

fn limit_column(column: &'static str, limit: Option<u64>) -> Result<Option<i64>, StoreError> {
    limit.map(|limit| to_column(column, limit)).transpose()
}

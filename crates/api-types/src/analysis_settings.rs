//! The settings of the model that explains failures.

use greenroom_domain::model as domain;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::open_enum::open_enum;
use crate::secret::SecretText;
use crate::step_registry::given;

open_enum!(
    ModelProtocol(domain::ModelProtocol),
    "`openai` (any endpoint that is compatible with OpenAI's chat completions) or `anthropic`."
);

/// Whether failures are explained by a model, by which one, and how much that may cost.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnalysisSettings {
    pub enabled: bool,
    /// Null: not set.
    pub protocol: Option<ModelProtocol>,
    /// The address of the endpoint, up to its version. Null: not set.
    #[schema(example = "https://api.openai.com/v1")]
    pub address: Option<String>,
    /// The host of `address`: it receives what is sent about failures.
    #[schema(example = "api.openai.com")]
    pub host: Option<String>,
    /// The name that the provider has for the model. Null: not set.
    #[schema(example = "gpt-5-mini")]
    pub model: Option<String>,
    /// Whether a credential is set. No response contains it.
    pub has_credential: bool,
    /// Null: unlimited. A request with its retries counts as one.
    #[schema(example = 200)]
    pub max_requests_per_day: Option<i64>,
    /// Input and output together. Null: unlimited.
    #[schema(example = 20_000_000)]
    pub max_tokens_per_month: Option<i64>,
    /// In millionths of the currency of the prices. Null: unlimited.
    #[schema(example = 25_000_000)]
    pub max_cost_micros_per_month: Option<i64>,
    /// The price of a million tokens of input, in millionths of a currency.
    #[schema(example = 250_000)]
    pub input_price_micros: i64,
    /// The price of a million tokens of output, in millionths of a currency.
    #[schema(example = 2_000_000)]
    pub output_price_micros: i64,
    pub usage: ModelUsage,
    /// When an admin last changed the settings. Null: never.
    pub updated_at: Option<Timestamp>,
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub updated_by: Option<String>,
}

/// What counts toward the limits: what was used, and what calls that are being made have reserved. Days and months are those
/// of UTC.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// The day of `requests`.
    #[schema(example = "2026-11-18")]
    pub day: String,
    #[schema(example = 12)]
    pub requests: i64,
    /// The month of `tokens` and `costMicros`.
    #[schema(example = "2026-11")]
    pub month: String,
    #[schema(example = 91_250)]
    pub tokens: i64,
    #[schema(example = 38_100)]
    pub cost_micros: i64,
}

/// The credential of a model. No response contains it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, try_from = "serde_json::Value")]
pub struct ModelCredential {
    /// The API key of the provider.
    #[schema(value_type = String, min_length = 1, max_length = 4096, write_only)]
    pub token: SecretText,
}

/// Serde's own messages would repeat a value of another type.
impl TryFrom<serde_json::Value> for ModelCredential {
    type Error = &'static str;

    fn try_from(value: serde_json::Value) -> Result<Self, &'static str> {
        let serde_json::Value::Object(mut fields) = value else {
            return Err("must be an object with a `token`");
        };
        let token = fields.remove("token").map(SecretText::deserialize);
        let Some(Ok(token)) = token else { return Err("must have a text as `token`") };
        if fields.is_empty() { Ok(Self { token }) } else { Err("must have no other field than `token`") }
    }
}

/// Changes to the settings. Fields that are left out stay unchanged.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateAnalysisSettings {
    /// Needs `protocol`, `address` and `model`.
    pub enabled: Option<bool>,
    pub protocol: Option<ModelProtocol>,
    /// The https address of the endpoint, up to its version. Its host is resolved and checked whenever it is connected to.
    /// Another one needs the credential again, or `null` for none: the stored one is for the former address.
    #[schema(min_length = 1, max_length = 255)]
    pub address: Option<String>,
    #[schema(min_length = 1, max_length = 200)]
    pub model: Option<String>,
    /// Replaces the credential; `null` removes it. It is sent to `address` only, and can never be read back.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<ModelCredential>, write_only)]
    pub credential: Option<Option<ModelCredential>>,
    /// `null`: unlimited.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 1_000_000_000_000_000_i64)]
    pub max_requests_per_day: Option<Option<i64>>,
    /// `null`: unlimited.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 1_000_000_000_000_000_i64)]
    pub max_tokens_per_month: Option<Option<i64>>,
    /// In millionths of the currency of the prices; `null`: unlimited. Needs at least one price.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 1_000_000_000_000_000_i64)]
    pub max_cost_micros_per_month: Option<Option<i64>>,
    /// The price of a million tokens of input, in millionths of a currency.
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    pub input_price_micros: Option<i64>,
    /// The price of a million tokens of output, in millionths of a currency.
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    pub output_price_micros: Option<i64>,
}

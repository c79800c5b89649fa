//! The settings of the model that explains failures. A worker calls the model.

use greenroom_api_types::analysis_settings::{
    AnalysisSettings, ModelCredential, ModelUsage, UpdateAnalysisSettings,
};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::forge::is_token;
use greenroom_domain::model::budget::BudgetState;
use greenroom_domain::model::{
    InvalidSettings, MAX_LIMIT, MAX_PRICE, ModelAddress, ModelSettings, check_model_name,
};
use greenroom_domain::secret::{ModelCredentialPlace, SealedValue, Secret};
use greenroom_store::Command;
use greenroom_store::model::ModelSettingsRecord;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::precondition::IfMatch;
use crate::secret::sealing::OrganizationKeys;

const SUBJECT: &str = "analysis-settings";

/// Changes the settings. `keys` are needed if the request has a credential.
#[boxed_futures]
pub async fn update(
    command: &mut Command,
    keys: Option<&OrganizationKeys>,
    condition: &IfMatch,
    request: UpdateAnalysisSettings,
) -> Result<ModelSettingsRecord, Failure> {
    let before = command.model_settings_for_update().await?;
    condition.check(before.revision)?;
    let new = changed(before.settings.clone(), &request)?;
    let is_other_address = new.address != before.settings.address;
    let is_given = request.credential.is_some();
    let credential = match request.credential {
        Some(Some(given)) => Some(seal(keys, new.address.as_deref(), given)?),
        Some(None) => None,
        None if is_other_address && before.credential.is_some() => {
            let rule = "must be sent again with another `address`, or `null`, because the stored one is for the former \
                        address only";
            return Err(Failure::field("/credential", rule));
        }
        None => before.credential.clone(),
    };
    new.check().map_err(|error| Failure::field(field_of(error), error))?;
    if new == before.settings && credential == before.credential {
        return Ok(before);
    }
    let updated = command.update_model_settings(&new, credential.as_ref()).await?;
    let mut after = payload(&updated);
    if is_given {
        after["credentialChanged"] = true.into();
    }
    let event = NewEvent {
        event_type: EventType::AnalysisSettingsUpdated,
        subject: SUBJECT.to_owned(),
        before: Some(payload(&before)),
        after: Some(after),
        reason: None,
    };
    command.record_event(event).await?;
    Ok(updated)
}

/// Returns the settings with the changes of a request, each of which is checked.
fn changed(mut settings: ModelSettings, request: &UpdateAnalysisSettings) -> Result<ModelSettings, Failure> {
    if let Some(enabled) = request.enabled {
        settings.is_enabled = enabled;
    }
    if let Some(protocol) = &request.protocol {
        let known = protocol.known();
        let known = known.ok_or_else(|| Failure::field("/protocol", "must be `openai` or `anthropic`"))?;
        settings.protocol = Some(known);
    }
    if let Some(address) = &request.address {
        let address = ModelAddress::new(address).map_err(|error| Failure::field("/address", error))?;
        settings.address = Some(address.as_str().to_owned());
    }
    if let Some(model) = &request.model {
        check_model_name(model).map_err(|error| Failure::field("/model", error))?;
        settings.model = Some(model.clone());
    }
    let limits = &mut settings.limits;
    for (field, given, limit) in [
        ("/maxRequestsPerDay", request.max_requests_per_day, &mut limits.requests_per_day),
        ("/maxTokensPerMonth", request.max_tokens_per_month, &mut limits.tokens_per_month),
        ("/maxCostMicrosPerMonth", request.max_cost_micros_per_month, &mut limits.cost_per_month),
    ] {
        if let Some(given) = given {
            *limit = given.map(|given| within(field, given, MAX_LIMIT)).transpose()?;
        }
    }
    let prices = &mut settings.prices;
    for (field, given, price) in [
        ("/inputPriceMicros", request.input_price_micros, &mut prices.input),
        ("/outputPriceMicros", request.output_price_micros, &mut prices.output),
    ] {
        if let Some(given) = given {
            *price = within(field, given, MAX_PRICE)?;
        }
    }
    Ok(settings)
}

fn within(field: &str, given: i64, max: u64) -> Result<u64, Failure> {
    let number = u64::try_from(given).ok().filter(|number| *number <= max);
    number.ok_or_else(|| Failure::field(field, format!("must be between 0 and {max}")))
}

const fn field_of(error: InvalidSettings) -> &'static str {
    match error {
        InvalidSettings::NoProtocol => "/protocol",
        InvalidSettings::NoAddress => "/address",
        InvalidSettings::NoModel => "/model",
        InvalidSettings::NoPrices => "/maxCostMicrosPerMonth",
    }
}

/// Seals a credential, for this organization and this address only.
fn seal(
    keys: Option<&OrganizationKeys>,
    address: Option<&str>,
    given: ModelCredential,
) -> Result<SealedValue, Failure> {
    let Some(keys) = keys else {
        return Err(Failure::internal("a credential without the keys of the organization"));
    };
    let address = address.ok_or_else(|| Failure::field("/credential", "needs an `address`"))?;
    let token = given.token.into_string();
    if !is_token(&token) {
        let rule = "must have a `token` of 1 to 4,096 printable ASCII characters without spaces";
        return Err(Failure::field("/credential", rule));
    }
    let secret = Secret::from_opened(token.into_bytes().into());
    keys.seal_model_credential(ModelCredentialPlace { address }, &secret)
}

pub fn view(record: ModelSettingsRecord, usage: &BudgetState) -> AnalysisSettings {
    let ModelSettingsRecord { settings, credential, updated_at, updated_by, .. } = record;
    AnalysisSettings {
        enabled: settings.is_enabled,
        protocol: settings.protocol.map(Into::into),
        host: host(&settings),
        address: settings.address,
        model: settings.model,
        has_credential: credential.is_some(),
        max_requests_per_day: settings.limits.requests_per_day.map(shown),
        max_tokens_per_month: settings.limits.tokens_per_month.map(shown),
        max_cost_micros_per_month: settings.limits.cost_per_month.map(shown),
        input_price_micros: shown(settings.prices.input),
        output_price_micros: shown(settings.prices.output),
        usage: ModelUsage {
            day: usage.day.to_string(),
            requests: shown(usage.requests),
            month: usage.month.strftime("%Y-%m").to_string(),
            tokens: shown(usage.tokens),
            cost_micros: shown(usage.cost),
        },
        updated_at,
        updated_by: updated_by.map(|by| by.to_string()),
    }
}

/// Returns the part of the `ETag` for what calls change.
pub fn etag_suffix(usage: &BudgetState) -> String {
    let BudgetState { day, requests, tokens, cost, .. } = usage;
    format!("{}-{requests}-{tokens}-{cost}", day.strftime("%Y%m%d"))
}

fn host(settings: &ModelSettings) -> Option<String> {
    let address = ModelAddress::new(settings.address.as_ref()?).ok()?;
    Some(address.host().to_owned())
}

/// The database holds no greater number.
fn shown(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn payload(record: &ModelSettingsRecord) -> Value {
    let ModelSettings { is_enabled, protocol, address, model, limits, prices } = &record.settings;
    json!({
        "enabled": is_enabled,
        "protocol": protocol.map(|protocol| protocol.as_str()),
        "address": address,
        "model": model,
        "hasCredential": record.credential.is_some(),
        "maxRequestsPerDay": limits.requests_per_day,
        "maxTokensPerMonth": limits.tokens_per_month,
        "maxCostMicrosPerMonth": limits.cost_per_month,
        "inputPriceMicros": prices.input,
        "outputPriceMicros": prices.output,
    })
}

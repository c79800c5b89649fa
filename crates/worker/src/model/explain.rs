//! Explains one failure: reserves a call within the budget, calls the model, settles the call, and ends the analysis.

use greenroom_analysis::model::{
    Change, Completion, HttpModel, Limits, Model, ModelFailure, OutboundTransport, PROMPT_VERSION, Prompt,
    Usage,
};
use greenroom_domain::analysis::MAX_MODEL_CALLS;
use greenroom_domain::id::ModelCallId;
use greenroom_domain::model::Endpoint;
use greenroom_domain::model::budget::{Amount, Exhausted};
use greenroom_outbound::{Purpose, Requester};
use greenroom_store::analysis::{DueAnalysis, ExplanationEnd, ModelName};
use greenroom_store::failure::{CollectedRecord, FailureChanges, FailureRecord};
use greenroom_store::model::{ModelCallResult, ModelSettingsRecord, NewModelCall, NotReserved};
use greenroom_store::{StoreError, with_db_timeout};
use sha2::{Digest, Sha256};

use super::ModelAccess;
use super::context::context;
use super::credential::open_credential;
use crate::requester::{public_text, requester};

/// What is known of a failure that is explained.
struct Subject {
    failure: FailureRecord,
    collected: CollectedRecord,
    changes: Option<FailureChanges>,
}

/// Explains the failure of a leased analysis. `None`: the settings were changed meanwhile, so it is tried again.
pub(super) async fn explain(
    access: &ModelAccess<'_>,
    due: &DueAnalysis,
) -> Result<Option<ExplanationEnd>, StoreError> {
    let (store, organization) = (access.store, due.organization_id);
    let settings = with_db_timeout(store.model_settings(organization)).await?;
    let Some(endpoint) = settings.settings.endpoint() else { return Ok(Some(ExplanationEnd::ModelDisabled)) };
    let model = ModelName { host: endpoint.host().to_owned(), name: endpoint.model().to_owned() };
    let failed = |detail: &str| {
        Some(ExplanationEnd::ModelFailed { model: Some(model.clone()), detail: detail.to_owned() })
    };
    let Some(subject) = read(access, due).await? else {
        return Ok(failed("the evidence was deleted with the logs"));
    };
    let reuse_key = reuse_key(&endpoint, &subject);
    if let Some((from, explanation)) =
        with_db_timeout(store.reusable_explanation(organization, &reuse_key)).await?
    {
        return Ok(Some(ExplanationEnd::Explained {
            model,
            explanation,
            reuse_key,
            reused_from: Some(from),
        }));
    }
    if with_db_timeout(store.model_calls_of(organization, due.id)).await?.len() >= MAX_MODEL_CALLS {
        return Ok(failed("the workers that have called the model ended before it responded"));
    }
    let stage = with_db_timeout(store.failed_stage(organization, &subject.failure)).await?;
    let context = context(&subject.failure, &subject.collected, subject.changes.as_ref(), stage.as_ref());
    let Ok(prompt) = Prompt::new(&context) else { return Ok(failed("the prompt could not be made")) };
    let requester = requester(store, Purpose::Model, organization).await?;
    let key = match with_db_timeout(open_credential(store, access.keys, organization, &settings)).await? {
        Ok(key) => key,
        Err(error) => return Ok(failed(&error.to_string())),
    };
    let call = match reserve(access, due, &settings, &prompt).await? {
        Ok(call) => call,
        Err(NotReserved::Exhausted(exhausted)) => {
            return Ok(Some(ExplanationEnd::BudgetExhausted { model, detail: exhausted_text(&exhausted) }));
        }
        Err(NotReserved::Disabled) => return Ok(Some(ExplanationEnd::ModelDisabled)),
        Err(NotReserved::SettingsChanged) => return Ok(None),
    };
    let transport = OutboundTransport::new(access.client.clone(), requester.clone());
    let client = HttpModel::new(transport, endpoint);
    let explained = client.explain(&prompt, key.as_ref(), &access.limits).await;
    let explained = explained.map_err(|failure| reported(&requester, &prompt, access.limits, failure));
    settle(access, due, call, &explained).await?;
    Ok(match explained {
        Ok(Completion { mut explanation, .. }) => {
            explanation.suspects = titles(&explanation.suspects, &context.changes);
            Some(ExplanationEnd::Explained { model, explanation, reuse_key, reused_from: None })
        }
        Err(ReportedFailure { text, .. }) => failed(&text),
    })
}

/// A failure, as members of the organization read it.
struct ReportedFailure {
    text: String,
    usage: Usage,
    attempts: u32,
}

/// The number of requests and their tokens would show how a destination that only the operator's list allows has responded. There
/// every failure counts as one in which no request got a response.
fn reported(
    requester: &Requester,
    prompt: &Prompt,
    limits: Limits,
    failure: ModelFailure,
) -> ReportedFailure {
    let text = public_text(requester, &failure);
    let ModelFailure { usage, attempts, .. } = failure;
    if !requester.has_used_list() {
        return ReportedFailure { text, usage, attempts };
    }
    let attempts = limits.max_attempts();
    let input_tokens = (prompt.bytes() as u64).saturating_mul(attempts.into());
    let output_tokens = u64::from(limits.max_output_tokens).saturating_mul(attempts.into());
    ReportedFailure { text, usage: Usage { input_tokens, output_tokens, is_estimated: true }, attempts }
}

/// Returns `None` if the evidence does not exist any more.
async fn read(access: &ModelAccess<'_>, due: &DueAnalysis) -> Result<Option<Subject>, StoreError> {
    let (store, organization) = (access.store, due.organization_id);
    let Some(failure) = with_db_timeout(store.failure(organization, due.failure_id)).await? else {
        return Ok(None);
    };
    let collected = failure.collected.clone().filter(|collected| collected.evidence.is_some());
    let Some(collected) = collected else { return Ok(None) };
    let changes = with_db_timeout(store.failure_changes(organization, &failure)).await?;
    Ok(Some(Subject { failure, collected, changes }))
}

/// Failures with the same key get the same explanation: the same model, fingerprint and changes.
fn reuse_key(endpoint: &Endpoint, subject: &Subject) -> String {
    let changes = subject.changes.as_ref();
    let parts = format!(
        "{:?}",
        (
            PROMPT_VERSION,
            (endpoint.address().as_str(), endpoint.model()),
            &subject.collected.fingerprint,
            &subject.failure.commit_id,
            changes.map(|changes| &changes.last_good.commit_id),
            changes.and_then(|changes| changes.definition.as_ref()),
            changes.map(|changes| &changes.images),
        )
    );
    format!("{:x}", Sha256::digest(parts.as_bytes()))
}

async fn reserve(
    access: &ModelAccess<'_>,
    due: &DueAnalysis,
    settings: &ModelSettingsRecord,
    prompt: &Prompt,
) -> Result<Result<ModelCallId, NotReserved>, StoreError> {
    let (text, hash) = (prompt.text(), prompt.hash());
    let limits = &access.limits;
    // An endpoint that rejects the schema gets one more request.
    let attempts = u64::from(limits.max_attempts()) + 1;
    let upper_bound = Amount::upper_bound(
        prompt.bytes() as u64,
        limits.max_output_tokens.into(),
        attempts,
        settings.settings.prices,
    );
    let new = NewModelCall {
        failure: due.failure_id,
        analysis: due.id,
        settings_revision: settings.revision,
        prompt: &text,
        prompt_hash: &hash,
        prompt_version: PROMPT_VERSION,
        upper_bound,
    };
    with_db_timeout(access.store.reserve_model_call(due.organization_id, &new)).await
}

async fn settle(
    access: &ModelAccess<'_>,
    due: &DueAnalysis,
    call: ModelCallId,
    explained: &Result<Completion, ReportedFailure>,
) -> Result<(), StoreError> {
    let (usage, attempts, error) = match explained {
        Ok(Completion { usage, attempts, .. }) => (*usage, *attempts, None),
        Err(ReportedFailure { text, usage, attempts }) => (*usage, *attempts, Some(text.as_str())),
    };
    let Usage { input_tokens, output_tokens, is_estimated } = usage;
    let result = ModelCallResult { attempts, input_tokens, output_tokens, is_estimated, error };
    with_db_timeout(access.store.settle_model_call(due.organization_id, call, &result)).await?;
    Ok(())
}

fn titles(ids: &[String], changes: &[Change]) -> Vec<String> {
    let title =
        |id: &String| changes.iter().find(|change| change.id == *id).map(|change| change.title.clone());
    ids.iter().filter_map(title).collect()
}

fn exhausted_text(exhausted: &Exhausted) -> String {
    match exhausted.resets_at {
        Some(at) => format!("{exhausted} until {at}"),
        None => format!("{exhausted}: its limit is too low for this request"),
    }
}

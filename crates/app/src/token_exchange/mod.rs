//! Exchanging the token of a CI system for a token of a service account (RFC 8693).
//!
//! Requests have no credential of ours, so that nothing is revealed: whatever is wrong with a token, an account or a
//! policy, the client gets the same refusal. Why a token was refused is in an audit event, which is recorded only if the
//! issuer has signed the token.

pub mod issuer_keys;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::TokenId;
use greenroom_domain::owner::MAX_LINEAGE;
use greenroom_domain::scope::Scopes;
use greenroom_domain::service_account;
use greenroom_domain::text::is_hidden;
use greenroom_domain::token::TokenSecret;
use greenroom_domain::trust_policy::{ExchangeRequest, InvalidExchange, Issuer, choose_policy};
use greenroom_keys::{SubjectToken, VerifiedToken};
use greenroom_outbound::OrganizationNames;
use greenroom_store::StoreError;
use greenroom_store::token_exchange::{ActorToken, ExchangeAccount, NewExchangedToken};
use greenroom_store::transaction::OrgTransaction;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::App;
use crate::command::notify;
use crate::failure::Failure;
use crate::next_action::API_ROOT;
use crate::token;

/// How much of `sub` an event contains.
const MAX_SUBJECT_CHARS: usize = 255;

/// A new token of a service account.
pub struct ExchangedToken {
    pub secret: TokenSecret,
    pub lifetime_seconds: i64,
    pub scopes: Scopes,
}

/// Why there is no token.
pub enum ExchangeFailure {
    /// The request does not have the form of an exchange.
    Invalid(InvalidExchange),
    Refused,
    /// The server could not decide.
    Failed(Failure),
}

impl From<StoreError> for ExchangeFailure {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// Why a token that its issuer has signed is refused, for the audit event.
#[derive(Debug, thiserror::Error)]
enum ExchangeRejection {
    /// The policies and their reasons.
    #[error("{}", .0.iter().map(|(name, reason)| format!("{name}: {reason}")).collect::<Vec<_>>().join("; "))]
    Policies(Vec<(String, String)>),
    #[error("the account or the policy was deleted in the meantime")]
    Deleted,
    #[error("the token was exchanged before (`jti`)")]
    Replayed,
    #[error("`actor_token` is not a valid token of this account that was made by an exchange")]
    ActorToken,
    #[error("`actor_token` is the last of {MAX_LINEAGE} tokens that continue each other")]
    Lineage,
}

enum Interruption {
    Rejected(ExchangeRejection),
    Store(StoreError),
}

impl From<ExchangeRejection> for Interruption {
    fn from(rejection: ExchangeRejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<StoreError> for Interruption {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Exchanges a token. `form` is the body of the request.
#[boxed_futures]
pub async fn exchange(
    app: &App,
    form: &[(String, String)],
    request_id: &str,
) -> Result<ExchangedToken, ExchangeFailure> {
    let accounts = app.sign_in.public_url.join(&format!("{API_ROOT}/organizations/"));
    let request = ExchangeRequest::parse(form, &accounts).map_err(ExchangeFailure::Invalid)?;
    let (account, verified) = verify(app, &request).await?.ok_or(ExchangeFailure::Refused)?;
    let mut transaction = app.store.exchange_transaction(&account, request_id).await?;
    match exchange_in(&mut transaction, app, &account, &verified, &request).await {
        Ok(exchanged) => {
            transaction.commit().await?;
            notify(app, false);
            app.authentication.remember(exchanged.secret.hash()).await;
            Ok(exchanged)
        }
        Err(Interruption::Store(error)) => Err(error.into()),
        Err(Interruption::Rejected(rejection)) => {
            // What was written so far is undone: only the refusal is recorded.
            drop(transaction);
            record_refusal(app, &account, &verified, &rejection, request_id).await?;
            Err(ExchangeFailure::Refused)
        }
    }
}

/// Finds the account, and verifies the signature of the token. Keys are requested only from issuers that a policy of the
/// account names.
async fn verify(
    app: &App,
    request: &ExchangeRequest,
) -> Result<Option<(ExchangeAccount, VerifiedToken)>, StoreError> {
    let Ok(subject) = SubjectToken::parse(&request.subject_token) else { return Ok(None) };
    let Some(issuer) = subject.claimed_issuer().and_then(|text| Issuer::new(text).ok()) else {
        return Ok(None);
    };
    let resource = &request.resource;
    let Some((organization, slug)) = app.store.find_organization(&resource.organization).await? else {
        return Ok(None);
    };
    let account = app.store.exchange_account(organization, resource.service_account, issuer.as_str()).await?;
    let Some(account) = account.filter(|account| !account.policies.is_empty()) else { return Ok(None) };
    let names = OrganizationNames { id: organization.to_string(), slug };
    match app.issuer_keys.verify(&issuer, &names, subject).await {
        Ok(verified) => Ok(Some((account, verified))),
        Err(error) => {
            tracing::info!(
                error = &error as &dyn std::error::Error,
                issuer = issuer.as_str(),
                "refused a token whose signature could not be verified"
            );
            Ok(None)
        }
    }
}

async fn exchange_in(
    transaction: &mut OrgTransaction,
    app: &App,
    account: &ExchangeAccount,
    verified: &VerifiedToken,
    request: &ExchangeRequest,
) -> Result<ExchangedToken, Interruption> {
    let now = transaction.now().await?;
    let address = app.sign_in.public_url.origin();
    let chosen = choose_policy(&account.policies, &verified.claims, address, now);
    let (policy, accepted) = chosen.map_err(|rejections| {
        let reasons =
            rejections.into_iter().map(|(policy, reason)| (policy.name.clone(), reason.to_string()));
        ExchangeRejection::Policies(reasons.collect())
    })?;
    if !transaction.lock_trust(account.id, policy.id).await? {
        return Err(ExchangeRejection::Deleted.into());
    }
    let actor = match &request.actor_token {
        Some(text) => Some(actor_token(transaction, account, text).await?),
        None => None,
    };
    let replay_id = accepted.replay_id(verified.digest);
    if !transaction.record_exchange(&policy.issuer, replay_id, accepted.keep_until).await? {
        return Err(ExchangeRejection::Replayed.into());
    }
    let (secret, grant) = (token::new_secret(), policy.grant(now));
    let created = transaction
        .create_exchanged_token(NewExchangedToken {
            id: TokenId::from(Uuid::now_v7()),
            account: account.id,
            account_name: &account.name,
            policy: policy.id,
            name: &policy.name,
            secret: &secret,
            grant: &grant,
            actor: actor.as_ref(),
        })
        .await?;
    let mut after = token::event_payload(&created);
    after["trustPolicyId"] = json!(policy.id);
    after["issuer"] = json!(policy.issuer.as_str());
    after["subject"] = subject_of(verified);
    after["actorTokenId"] = json!(actor.map(|actor| actor.id));
    transaction
        .record_event(NewEvent {
            event_type: EventType::TokenExchanged,
            subject: format!("api-tokens/{}", created.id),
            before: None,
            after: Some(after),
            reason: None,
        })
        .await?;
    Ok(ExchangedToken { secret, lifetime_seconds: policy.lifetime.seconds(), scopes: grant.scopes })
}

/// Finds the token that the new one continues.
async fn actor_token(
    transaction: &mut OrgTransaction,
    account: &ExchangeAccount,
    text: &str,
) -> Result<ActorToken, Interruption> {
    let secret: TokenSecret = text.parse().map_err(|_| ExchangeRejection::ActorToken)?;
    let actor = transaction.actor_token(account.id, &secret.hash()).await?;
    let actor = actor.ok_or(ExchangeRejection::ActorToken)?;
    if actor.lineage.len() >= MAX_LINEAGE {
        return Err(ExchangeRejection::Lineage.into());
    }
    Ok(actor)
}

/// Records why a token was refused. Every user of the issuer can cause this, so the number of events of
/// an organization is limited; further refusals are in the log only.
async fn record_refusal(
    app: &App,
    account: &ExchangeAccount,
    verified: &VerifiedToken,
    rejection: &ExchangeRejection,
    request_id: &str,
) -> Result<(), StoreError> {
    tracing::info!(account = %account.id, reason = %rejection, "refused to exchange a token");
    if !app.limits.records_exchange_refusal(account.organization_id) {
        return Ok(());
    }
    let mut transaction = app.store.exchange_transaction(account, request_id).await?;
    let issuer = account.policies.first().map(|policy| policy.issuer.as_str());
    transaction
        .record_event(NewEvent {
            event_type: EventType::TokenExchangeRefused,
            subject: service_account::subject(account.id),
            before: None,
            after: Some(json!({ "issuer": issuer, "subject": subject_of(verified) })),
            reason: Some(rejection.to_string()),
        })
        .await?;
    transaction.commit().await?;
    notify(app, false);
    Ok(())
}

/// Returns `sub` for an event, without characters that can't be stored or displayed.
fn subject_of(verified: &VerifiedToken) -> Value {
    let text = verified.claims.get("sub").and_then(Value::as_str);
    let shown = |text: &str| text.chars().filter(|one| !is_hidden(*one)).take(MAX_SUBJECT_CHARS).collect();
    text.map(shown).map_or(Value::Null, Value::String)
}

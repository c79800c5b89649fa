//! Trust policies of service accounts: creating and deleting them. Exchanging tokens is in `token_exchange`.

use greenroom_api_types::trust_policy::{CreateTrustPolicy, TrustPolicy as Wire};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{PipelineId, TrustPolicyId, UserId};
use greenroom_domain::principal::Principal;
use greenroom_domain::text::Name;
use greenroom_domain::token::TokenKind;
use greenroom_domain::token_grant::{ExceedsParent, MAX_PIPELINES, PipelineLimit};
use greenroom_domain::trust_policy::{
    Audience, ExchangedLifetime, ExpectedClaims, Issuer, MAX_POLICIES, TrustPolicy, subject,
};
use greenroom_store::trust_policy::NewTrustPolicy;
use greenroom_store::{Command, StoreError};
use serde_json::json;
use uuid::Uuid;

use crate::failure::{Code, Failure};
use crate::token;

/// Creates a policy. Locks the account, so that it is not deleted concurrently, and its policies are counted.
#[boxed_futures]
pub async fn create(
    command: &mut Command,
    account: UserId,
    request: CreateTrustPolicy,
) -> Result<TrustPolicy, Failure> {
    command.service_account_for_update(account).await?.ok_or_else(Failure::not_found)?;
    allow(command.principal())?;
    let new = checked(account, request)?;
    let named = PipelineLimit::new(Some(new.pipelines.clone()));
    if let Some(unknown) = command.unknown_pipeline(&named).await? {
        return Err(Failure::field(
            "/pipelines",
            format!("{unknown} is not a pipeline of this organization"),
        ));
    }
    if command.count_trust_policies(account).await? >= MAX_POLICIES {
        let detail =
            format!("The service account has {MAX_POLICIES} trust policies, and no more are possible.");
        return Err(Failure::new(Code::InvalidState, detail));
    }
    let created = command.create_trust_policy(&new).await.map_err(|error| refused(error, &new.name))?;
    record_event(command, EventType::TrustPolicyCreated, None, Some(&created)).await?;
    Ok(created)
}

/// Deletes a policy, and revokes the tokens that were made by it.
#[boxed_futures]
pub async fn delete(
    command: &mut Command,
    account: UserId,
    id: TrustPolicyId,
) -> Result<TrustPolicy, Failure> {
    let policy = command.trust_policy_for_update(account, id).await?.ok_or_else(Failure::not_found)?;
    let revoked = command.delete_trust_policy(id).await?;
    record_event(command, EventType::TrustPolicyDeleted, Some(&policy), None).await?;
    for token in revoked {
        command
            .record_event(NewEvent {
                event_type: EventType::TokenRevoked,
                subject: format!("api-tokens/{token}"),
                before: None,
                after: Some(json!({ "revokedWith": id })),
                reason: None,
            })
            .await?;
    }
    Ok(policy)
}

/// Deletes all policies of an account that is deleted. Its tokens are revoked with the account.
#[boxed_futures]
pub async fn delete_all(command: &mut Command, account: UserId) -> Result<(), Failure> {
    for policy in command.delete_trust_policies_of(account).await? {
        record_event(command, EventType::TrustPolicyDeleted, Some(&policy), None).await?;
    }
    Ok(())
}

/// The tokens of a policy permit no more than the credential that creates it.
fn allow(principal: &Principal) -> Result<(), Failure> {
    let missing = TokenKind::Ci.default_scopes().difference(principal.scopes);
    if !missing.is_empty() {
        return Err(token::refused(ExceedsParent::Scopes { has: principal.scopes }.into()));
    }
    match principal.max_sessions {
        Some(has) => Err(token::refused(ExceedsParent::Sessions { has }.into())),
        None => Ok(()),
    }
}

fn checked(account: UserId, request: CreateTrustPolicy) -> Result<NewTrustPolicy, Failure> {
    let name = Name::new(&request.name).map_err(|error| Failure::field("/name", error))?;
    let issuer = Issuer::new(&request.issuer).map_err(|error| Failure::field("/issuer", error))?;
    let audience = request.audience.as_deref().map(Audience::new).transpose();
    let claims = ExpectedClaims::new(request.claims, &issuer);
    let lifetime = request.ttl_seconds.map(ExchangedLifetime::from_seconds).transpose();
    let PipelineLimit::Only(pipelines) = PipelineLimit::new(Some(pipelines(&request.pipelines)?)) else {
        return Err(Failure::field("/pipelines", format!("must name 1 to {MAX_PIPELINES} pipelines")));
    };
    Ok(NewTrustPolicy {
        id: TrustPolicyId::from(Uuid::now_v7()),
        service_account: account,
        name: name.into_string(),
        audience: audience.map_err(|error| Failure::field("/audience", error))?,
        claims: claims.map_err(|error| Failure::field(error.pointer(), &error))?,
        issuer,
        pipelines,
        lifetime: lifetime
            .map_err(|error| Failure::field("/ttlSeconds", error))?
            .unwrap_or(ExchangedLifetime::DEFAULT),
    })
}

fn pipelines(texts: &[String]) -> Result<Vec<PipelineId>, Failure> {
    if texts.is_empty() || texts.len() > MAX_PIPELINES {
        return Err(Failure::field("/pipelines", format!("must name 1 to {MAX_PIPELINES} pipelines")));
    }
    token::pipeline_ids(texts)
}

fn refused(error: StoreError, name: &str) -> Failure {
    if error.is_taken("trust_policies_name") {
        let detail = format!("The service account has a trust policy `{name}` already. Choose another name.");
        Failure::new(Code::TrustPolicyNameTaken, detail)
    } else {
        error.into()
    }
}

async fn record_event(
    command: &mut Command,
    event_type: EventType,
    before: Option<&TrustPolicy>,
    after: Option<&TrustPolicy>,
) -> Result<(), Failure> {
    let payload = |policy: Option<&TrustPolicy>| serde_json::to_value(Wire::from(policy?.clone())).ok();
    let Some(policy) = after.or(before) else { return Ok(()) };
    let subject = subject(policy.service_account, policy.id);
    let (before, after) = (payload(before), payload(after));
    Ok(command.record_event(NewEvent { event_type, subject, before, after, reason: None }).await?)
}

//! Service accounts: creating, changing and deleting them, and making their tokens.

use greenroom_api_types::service_account::{
    CreateServiceAccount, CreateServiceAccountToken, ServiceAccount as Wire, UpdateServiceAccount,
};
use greenroom_api_types::token::CreateApiToken;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::UserId;
use greenroom_domain::member::loses_sessions;
use greenroom_domain::policy::{Action, is_allowed};
use greenroom_domain::role::Role;
use greenroom_domain::service_account::{ServiceAccount, check_role, check_token_kind, subject};
use greenroom_domain::text::{Name, Reason as Description};
use greenroom_domain::token::{Token, TokenKind, TokenSecret};
use greenroom_store::service_account::ServiceAccountContent;
use greenroom_store::session_ending::{LiveSession, SessionsOf};
use greenroom_store::{Command, StoreError};
use uuid::Uuid;

use crate::failure::{Code, Failure};
use crate::precondition::IfMatch;
use crate::{token, trust_policy};

#[boxed_futures]
pub async fn create(
    command: &mut Command,
    request: &CreateServiceAccount,
) -> Result<ServiceAccount, Failure> {
    let content = ServiceAccountContent {
        name: name(&request.name)?,
        description: description(request.description.as_deref())?,
        role: role(request.role.into())?,
    };
    let created = command.create_service_account(UserId::from(Uuid::now_v7()), &content).await;
    let created = created.map_err(|error| refused(error, &content.name))?;
    record_event(command, EventType::ServiceAccountCreated, None, Some(&created)).await?;
    Ok(created)
}

/// The result of changing a service account, or of a dry run.
pub struct Changed {
    pub account: ServiceAccount,
    /// The sessions that end because the account loses the right to hold them.
    pub ended: Vec<LiveSession>,
}

/// Changes a service account. With a role below `developer`, its sessions end; below `maintainer`, its holds of lasting
/// environments.
#[boxed_futures]
pub async fn update(
    command: &mut Command,
    id: UserId,
    condition: &IfMatch,
    request: UpdateServiceAccount,
    dry_run: bool,
) -> Result<Changed, Failure> {
    let before = command.service_account_for_update(id).await?.ok_or_else(Failure::not_found)?;
    condition.check(before.revision)?;
    let content = ServiceAccountContent {
        name: request.name.as_deref().map_or_else(|| Ok(before.name.clone()), name)?,
        description: match request.description {
            Some(given) => description(given.as_deref())?,
            None => before.description.clone(),
        },
        role: request.role.map_or(Ok(before.role), |given| role(given.into()))?,
    };
    let ends = loses_sessions(before.role, Some(content.role));
    if dry_run {
        return Ok(Changed { ended: would_end(command, id, ends).await?, account: before });
    }
    if content == content_of(&before) {
        return Ok(Changed { account: before, ended: Vec::new() });
    }
    let after = command.update_service_account(id, &content).await;
    let after = after.map_err(|error| refused(error, &content.name))?;
    record_event(command, EventType::ServiceAccountUpdated, Some(&before), Some(&after)).await?;
    if !is_allowed(after.role, Action::EnvironmentHold) {
        command.end_holds_of(id).await?;
    }
    let reason = format!("{} may not hold sessions any more: the role is {} now", after.name, after.role);
    Ok(Changed { ended: end(command, id, ends, &reason).await?, account: after })
}

/// Deletes a service account. Its tokens are revoked, its grants and trust policies deleted, and its sessions and holds of lasting environments end, in the
/// same transaction.
#[boxed_futures]
pub async fn delete(
    command: &mut Command,
    id: UserId,
    condition: &IfMatch,
    dry_run: bool,
) -> Result<Changed, Failure> {
    let account = command.service_account_for_update(id).await?.ok_or_else(Failure::not_found)?;
    condition.check(account.revision)?;
    command.remove_member(id).await?;
    // A dry run is rolled back. The account's grants are deleted by now, so it lists the sessions that they permitted too.
    if dry_run {
        return Ok(Changed { ended: would_end(command, id, true).await?, account });
    }
    trust_policy::delete_all(command, id).await?;
    record_event(command, EventType::ServiceAccountDeleted, Some(&account), None).await?;
    command.end_holds_of(id).await?;
    let reason = format!("the service account {} was deleted", account.name);
    Ok(Changed { ended: end(command, id, true, &reason).await?, account })
}

/// Creates a token of a service account. It permits no more than the caller's credential, but is not its child: it
/// stays valid when the caller leaves. Locks the account, so that it is not deleted concurrently.
#[boxed_futures]
pub async fn create_token(
    command: &mut Command,
    id: UserId,
    request: CreateServiceAccountToken,
) -> Result<(Token, TokenSecret), Failure> {
    let account = command.service_account_for_update(id).await?.ok_or_else(Failure::not_found)?;
    let request = CreateApiToken::from(request);
    let kind = request.kind.map_or(TokenKind::Ci, TokenKind::from);
    check_token_kind(kind).map_err(|invalid| Failure::field("/kind", invalid))?;
    token::create_for_account(command, &account, &request).await
}

async fn would_end(command: &mut Command, id: UserId, ends: bool) -> Result<Vec<LiveSession>, Failure> {
    if ends { Ok(command.live_sessions(&SessionsOf::Member(id)).await?) } else { Ok(Vec::new()) }
}

async fn end(
    command: &mut Command,
    id: UserId,
    ends: bool,
    reason: &str,
) -> Result<Vec<LiveSession>, Failure> {
    if ends { Ok(command.end_sessions(&SessionsOf::Member(id), reason).await?) } else { Ok(Vec::new()) }
}

fn content_of(account: &ServiceAccount) -> ServiceAccountContent {
    ServiceAccountContent {
        name: account.name.clone(),
        description: account.description.clone(),
        role: account.role,
    }
}

fn name(text: &str) -> Result<String, Failure> {
    Name::new(text).map(Name::into_string).map_err(|error| Failure::field("/name", error))
}

fn description(given: Option<&str>) -> Result<Option<String>, Failure> {
    let text = given.map(Description::new).transpose();
    Ok(text.map_err(|error| Failure::field("/description", error))?.map(Description::into_string))
}

fn role(role: Role) -> Result<Role, Failure> {
    check_role(role).map_err(|invalid| Failure::field("/role", invalid))
}

fn refused(error: StoreError, name: &str) -> Failure {
    if error.is_taken("service_accounts_name") {
        let detail = format!("There is a service account `{name}` already. Use it, or choose another name.");
        Failure::new(Code::ServiceAccountNameTaken, detail)
    } else {
        error.into()
    }
}

async fn record_event(
    command: &mut Command,
    event_type: EventType,
    before: Option<&ServiceAccount>,
    after: Option<&ServiceAccount>,
) -> Result<(), Failure> {
    let payload = |account: Option<&ServiceAccount>| serde_json::to_value(Wire::from(account?.clone())).ok();
    let Some(account) = after.or(before) else { return Ok(()) };
    let subject = subject(account.id);
    let (before, after) = (payload(before), payload(after));
    Ok(command.record_event(NewEvent { event_type, subject, before, after, reason: None }).await?)
}

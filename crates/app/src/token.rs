//! API tokens: creating and revoking them.

use greenroom_api_types::token::CreateApiToken;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{PipelineId, TokenId};
use greenroom_domain::owner::MAX_LINEAGE;
use greenroom_domain::policy::Action;
use greenroom_domain::principal::Principal;
use greenroom_domain::scope::Scope;
use greenroom_domain::service_account::ServiceAccount;
use greenroom_domain::text::Name;
use greenroom_domain::token::{SecretKind, Token, TokenKind, TokenSecret};
use greenroom_domain::token_grant::{
    ExceedsParent, MAX_TOKENS_PER_PERSON, PipelineLimit, RequestedExpiry, TokenGrant, TokenRefusal,
    TokenRequest,
};
use greenroom_store::Command;
use greenroom_store::token::NewTokenOf;
use rand::RngExt;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::{Code, Failure};

/// Creates a token for the caller. The secret is returned once and not stored.
#[boxed_futures]
pub async fn create(
    command: &mut Command,
    request: &CreateApiToken,
) -> Result<(Token, TokenSecret), Failure> {
    let parent = lock_parent(command).await?;
    if command.principal().service_token.is_none() {
        check_count(command).await?;
    }
    create_within(command, NewTokenOf::Caller, parent.as_ref(), request).await
}

/// Fails if the caller has as many valid tokens as a person may have, and names the one that is most likely not used any
/// more.
async fn check_count(command: &mut Command) -> Result<(), Failure> {
    if command.lock_token_count().await? < MAX_TOKENS_PER_PERSON {
        return Ok(());
    }
    let Some(idle) = command.longest_idle_token().await? else { return Ok(()) };
    let used = match idle.last_used_at {
        Some(at) => format!("was last used at {at:.0}"),
        None => format!("was made at {:.0} and never used", idle.created_at),
    };
    let detail = format!(
        "You have {MAX_TOKENS_PER_PERSON} valid tokens in this organization, which is the limit. Revoke one that is not used any \
         more: `{}` ({}) {used}.",
        idle.name, idle.id
    );
    let failure = Failure::new(Code::InvalidState, detail).with("limit", MAX_TOKENS_PER_PERSON.into());
    Err(failure.with("tokenId", idle.id.to_string().into()))
}

/// Creates a token for a service account. The caller's credential limits what it may do, but not how long: the token
/// stays when the caller leaves.
#[boxed_futures]
pub async fn create_for_account(
    command: &mut Command,
    account: &ServiceAccount,
    request: &CreateApiToken,
) -> Result<(Token, TokenSecret), Failure> {
    let limit = TokenGrant { expires_at: None, ..command.principal().token_grant() };
    let of = NewTokenOf::ServiceAccount { id: account.id, name: &account.name };
    create_within(command, of, Some(&limit), request).await
}

async fn create_within(
    command: &mut Command,
    of: NewTokenOf<'_>,
    parent: Option<&TokenGrant>,
    request: &CreateApiToken,
) -> Result<(Token, TokenSecret), Failure> {
    let name = Name::new(&request.name).map_err(|error| Failure::field("/name", error))?;
    let pipelines = request.pipelines.as_deref().map(pipeline_ids).transpose()?;
    let kind = request.kind.map_or(command.principal().token_kind, TokenKind::from);
    let requested = TokenRequest {
        kind,
        allow_force: request.allow_force,
        expiry: match request.expires_at {
            None => RequestedExpiry::Default,
            Some(None) => RequestedExpiry::Never,
            Some(Some(at)) => RequestedExpiry::At(at),
        },
        scopes: request.scopes.as_ref().map(|scopes| scopes.iter().copied().map(Scope::from).collect()),
        pipelines,
        max_sessions: request.max_sessions,
    };
    let now = command.now().await?;
    let grant = requested.resolve(parent, now).map_err(refused)?;
    if let Some(unknown) = command.unknown_pipeline(&grant.pipelines).await? {
        return Err(Failure::field(
            "/pipelines",
            format!("{unknown} is not a pipeline of this organization"),
        ));
    }
    let secret = new_secret();
    let token = command.create_token(TokenId::from(Uuid::now_v7()), of, &secret, &name, &grant).await?;
    command
        .record_event(NewEvent {
            event_type: EventType::TokenCreated,
            subject: format!("api-tokens/{}", token.id),
            before: None,
            after: Some(event_payload(&token)),
            reason: None,
        })
        .await?;
    Ok((token, secret))
}

/// Locks the token that creates another one, so that a concurrent revocation of the parent finds the child.
/// Returns what the parent may do; `None` for a person in a browser, whose tokens have no parent.
async fn lock_parent(command: &mut Command) -> Result<Option<TokenGrant>, Failure> {
    let Some(own) = command.principal().credential.token() else { return Ok(None) };
    let parent = command.token_for_update(own).await?.filter(|token| token.revoked_at.is_none());
    let parent = parent.ok_or_else(Failure::unauthenticated)?;
    if parent.lineage.len() >= MAX_LINEAGE {
        return Err(refused(ExceedsParent::Descent.into()));
    }
    Ok(Some(command.principal().token_grant()))
}

/// Parses the pipeline ids in a request's field `pipelines`.
pub fn pipeline_ids(texts: &[String]) -> Result<Vec<PipelineId>, Failure> {
    let ids = texts
        .iter()
        .enumerate()
        .map(|(at, text)| text.parse().map_err(|error| Failure::field(&format!("/pipelines/{at}"), error)));
    ids.collect()
}

/// Returns why a token is not created.
pub fn refused(refusal: TokenRefusal) -> Failure {
    let pointer = match &refusal {
        TokenRefusal::NoScopes | TokenRefusal::AdminScope { .. } => "/scopes",
        TokenRefusal::PipelineCount => "/pipelines",
        TokenRefusal::SessionLimit => "/maxSessions",
        TokenRefusal::ExpiryPast | TokenRefusal::ExpiryTooLate { .. } => "/expiresAt",
        TokenRefusal::Exceeds(exceeds) => {
            let detail = format!("Refused: {exceeds}. Ask for less, or use a token that has more.");
            return Failure::new(Code::TokenExceedsParent, detail);
        }
    };
    Failure::field(pointer, refusal)
}

/// Returns the record of a new token in its event.
pub fn event_payload(token: &Token) -> Value {
    json!({
        "name": token.name, "kind": token.kind, "allowForce": token.allow_force, "userId": token.user_id,
        "expiresAt": token.expires_at, "scopes": token.scopes, "pipelines": token.pipelines.ids(),
        "maxSessions": token.max_sessions,
    })
}

/// Revokes a token and all its descendants. Idempotent. Every token may revoke itself.
#[boxed_futures]
pub async fn revoke(command: &mut Command, id: TokenId) -> Result<Token, Failure> {
    allow_revoke(command.principal(), id)?;
    let token = command.token_for_update(id).await?.ok_or_else(Failure::not_found)?;
    if !sees(command.principal(), &token) {
        return Err(Failure::not_found());
    }
    let mut family = command.revoke_token(id).await?;
    while let Some(revoked) = family.pop() {
        command
            .record_event(NewEvent {
                event_type: EventType::TokenRevoked,
                subject: format!("api-tokens/{revoked}"),
                before: None,
                after: Some(json!({ "revokedWith": id })),
                reason: None,
            })
            .await?;
        if family.is_empty() {
            // Repeat: a token that was created while this waited for its parent's row was not visible before.
            family = command.revoke_token(id).await?;
        }
    }
    command.token_for_update(id).await?.ok_or_else(Failure::not_found)
}

/// Checks whether the principal may revoke a token: its own always, others with the right to manage tokens.
pub fn allow_revoke(principal: &Principal, id: TokenId) -> Result<(), Failure> {
    if principal.credential.token() == Some(id) {
        return Ok(());
    }
    principal.require(Action::TokenManageOwn)?;
    match principal.pipelines {
        PipelineLimit::All => Ok(()),
        PipelineLimit::Only(_) => Err(Failure::token_limited()),
    }
}

/// Returns whether the principal may see a token: its own ones, and for an admin all. Other tokens are reported as
/// not found.
pub fn sees(principal: &Principal, token: &Token) -> bool {
    token.is_own_of(principal.owner()) || principal.may(Action::TokenManageAll)
}

pub fn new_secret() -> TokenSecret {
    new_secret_of(SecretKind::Api)
}

pub fn new_secret_of(kind: SecretKind) -> TokenSecret {
    let mut random = rand::rng();
    TokenSecret::of(kind, std::array::from_fn(|_| random.random_range(0..62)))
}

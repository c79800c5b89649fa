//! A mutation over HTTP: one command in one transaction. Its response is stored under the Idempotency-Key, if
//! there is one.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_domain::policy::Act;
use greenroom_store::Command;
use greenroom_store::idempotency::{KeyClaim, KeyScope, StoredResponse};
use greenroom_worker::relay::RelayBell;
use greenroom_worker::sequencer::SequencerBell;
use sha2::{Digest, Sha256};

use crate::app::failure::{Code, Failure};
use crate::app::planted;
use crate::http::idempotency::IdempotencyKey;
use crate::http::permit::{AuthenticatedRequest, Permit};
use crate::http::record_response::RecordResponse;

/// Why a handler ends before its use case has completed.
pub enum Interruption {
    Refused(Box<Failure>),
    /// The request was repeated; this is the stored response.
    Replayed(Response),
}

pub type HandlerResult = Result<Response, Interruption>;

impl From<Failure> for Interruption {
    fn from(failure: Failure) -> Self {
        Self::Refused(Box::new(failure))
    }
}

impl From<greenroom_store::StoreError> for Interruption {
    fn from(error: greenroom_store::StoreError) -> Self {
        Failure::from(error).into()
    }
}

impl From<greenroom_domain::policy::Denied> for Interruption {
    fn from(denied: greenroom_domain::policy::Denied) -> Self {
        Failure::from(denied).into()
    }
}

impl Interruption {
    pub fn has_code(&self, code: Code) -> bool {
        matches!(self, Self::Refused(failure) if failure.code == code)
    }

    /// Whether a retry may succeed: a concurrent request or the database was the cause.
    pub fn is_transient(&self) -> bool {
        self.has_code(Code::Busy)
            || self.has_code(Code::DatabaseUnavailable)
            || self.has_code(Code::IdempotencyInProgress)
    }
}

impl IntoResponse for Interruption {
    fn into_response(self) -> Response {
        match self {
            Self::Refused(failure) => failure.into_response(),
            Self::Replayed(response) => response,
        }
    }
}

pub struct Mutation {
    pub command: Command,
    key: IdempotencyKey,
    fingerprint: Vec<u8>,
    bell: SequencerBell,
    relay: RelayBell,
}

impl<A: Act, R> Permit<A, R> {
    /// Opens a command. Token and permission are checked again within its transaction.
    pub async fn open(&self, key: IdempotencyKey, body: &[u8]) -> Result<Mutation, Interruption> {
        self.open_again(key, body).await?.claim_key().await
    }

    /// Opens a further command of a request that has already stored a response, and may replace it.
    pub async fn open_again(&self, key: IdempotencyKey, body: &[u8]) -> Result<Mutation, Interruption> {
        let mutation = self.begin(key, body).await?;
        let principal = mutation.command.principal();
        A::check(principal.role, principal.scopes)?;
        Ok(mutation)
    }
}

impl AuthenticatedRequest {
    /// Opens a command without a permission check: the use case requires the action that applies.
    pub async fn open(&self, key: IdempotencyKey, body: &[u8]) -> Result<Mutation, Interruption> {
        self.begin(key, body).await?.claim_key().await
    }

    async fn begin(&self, key: IdempotencyKey, body: &[u8]) -> Result<Mutation, Interruption> {
        let principal = &self.principal;
        let command =
            self.app.store.command(principal.organization_id, principal.token_id, &self.request_id.0).await?;
        let command = command.ok_or_else(Failure::unauthenticated)?;
        let fingerprint = Sha256::digest(body).to_vec();
        let (bell, relay) = (self.app.bell.clone(), self.app.relay_bell.clone());
        Ok(Mutation { command, key, fingerprint, bell, relay })
    }
}

impl Mutation {
    /// Claims the Idempotency-Key, if there is one.
    async fn claim_key(self) -> Result<Self, Interruption> {
        let mut mutation = self;
        if let Some(scope) = scope(&mutation.key) {
            match mutation.command.claim_key(&scope).await? {
                KeyClaim::New => {}
                KeyClaim::Running => {
                    return Err(Failure::new(
                        Code::IdempotencyInProgress,
                        "The first request with this Idempotency-Key has not ended yet. Wait a second and repeat this one.",
                    )
                    .into());
                }
                KeyClaim::Completed(stored) if stored.fingerprint == mutation.fingerprint => {
                    return Err(Interruption::Replayed(replay(stored)?));
                }
                KeyClaim::Completed(_) => {
                    return Err(Failure::new(
                        Code::IdempotencyKeyReused,
                        "This Idempotency-Key was sent before with another body. Use a new key for a new request.",
                    )
                    .into());
                }
            }
        }
        Ok(mutation)
    }

    /// Commits without storing a response.
    pub async fn commit(self) -> Result<(), Interruption> {
        let has_wake_ups = self.command.has_wake_ups();
        self.command.commit().await?;
        self.bell.ring();
        if has_wake_ups {
            self.relay.ring();
        }
        Ok(())
    }

    /// Commits without storing a response, and deletes the one that this request has stored earlier.
    pub async fn commit_and_forget(mut self) -> Result<(), Interruption> {
        if let Some(scope) = scope(&self.key) {
            let user = self.command.principal().user_id;
            self.command.delete_response(user, &scope).await?;
        }
        self.commit().await
    }

    /// Stores the response under the Idempotency-Key and commits. Before the commit nothing has taken effect.
    pub async fn finish(mut self, response: RecordResponse) -> HandlerResult {
        if let Some(scope) = scope(&self.key) {
            let stored = StoredResponse {
                fingerprint: self.fingerprint,
                status: i16::try_from(response.status.as_u16()).unwrap_or(200),
                body: response.stored_body.as_ref().unwrap_or(&response.body).clone(),
                etag: response.etag.clone(),
            };
            self.command.store_response(&scope, &stored).await?;
            if let Some(alias) = &self.key.alias_path {
                self.command.store_response(&KeyScope { path: alias, ..scope }, &stored).await?;
            }
        }
        let has_wake_ups = self.command.has_wake_ups();
        if let Some(command) = planted::commit_later(self.command, &self.bell) {
            command.commit().await?;
        }
        self.bell.ring();
        if has_wake_ups {
            self.relay.ring();
        }
        Ok(response.into_response())
    }
}

fn scope(key: &IdempotencyKey) -> Option<KeyScope<'_>> {
    key.key.as_deref().map(|name| KeyScope { method: &key.method, path: &key.path, key: name })
}

fn replay(stored: StoredResponse) -> Result<Response, Failure> {
    let status = u16::try_from(stored.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let status = status.ok_or_else(|| Failure::internal("a stored response has no valid status"))?;
    Ok(RecordResponse { status, body: stored.body, stored_body: None, etag: stored.etag }.into_response())
}

//! A change over HTTP: one command, one transaction, with its answer kept under the Idempotency-Key if there is one.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_domain::policy::Act;
use greenroom_store::Command;
use greenroom_store::idempotency::{Claimed, KeptAnswer, KeyScope};
use greenroom_worker::relay::RelayBell;
use greenroom_worker::sequencer::SequencerBell;
use sha2::{Digest, Sha256};

use crate::app::failure::{Code, Failure};
use crate::app::planted;
use crate::http::answer::Answer;
use crate::http::idempotency::IdempotencyKey;
use crate::http::permit::{Caller, Permit};

/// Why a handler ends before its use case has run to the end.
pub enum Exit {
    Refused(Box<Failure>),
    /// The request was answered before; this is that answer.
    Replayed(Response),
}

pub type Answered = Result<Response, Exit>;

impl From<Failure> for Exit {
    fn from(failure: Failure) -> Self {
        Self::Refused(Box::new(failure))
    }
}

impl From<greenroom_store::StoreError> for Exit {
    fn from(error: greenroom_store::StoreError) -> Self {
        Failure::from(error).into()
    }
}

impl From<greenroom_domain::policy::Denied> for Exit {
    fn from(denied: greenroom_domain::policy::Denied) -> Self {
        Failure::from(denied).into()
    }
}

impl Exit {
    pub fn is(&self, code: Code) -> bool {
        matches!(self, Self::Refused(failure) if failure.code == code)
    }

    /// Others were in the way, or the database was: it may well be better in a moment.
    pub fn passes(&self) -> bool {
        self.is(Code::Busy) || self.is(Code::DatabaseUnavailable) || self.is(Code::IdempotencyInProgress)
    }
}

impl IntoResponse for Exit {
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
    /// Opens the command, in which the token and the right are checked again.
    pub async fn open(&self, key: IdempotencyKey, body: &[u8]) -> Result<Mutation, Exit> {
        self.open_again(key, body).await?.claim_key().await
    }

    /// Opens a further command of a request that has kept an answer already, and may keep another one instead.
    pub async fn open_again(&self, key: IdempotencyKey, body: &[u8]) -> Result<Mutation, Exit> {
        let mutation = self.begin(key, body).await?;
        let principal = mutation.command.principal();
        A::check(principal.role, principal.scopes)?;
        Ok(mutation)
    }
}

impl Caller {
    /// Opens a command that needs no right to be opened: its use case requires what applies.
    pub async fn open(&self, key: IdempotencyKey, body: &[u8]) -> Result<Mutation, Exit> {
        self.begin(key, body).await?.claim_key().await
    }

    async fn begin(&self, key: IdempotencyKey, body: &[u8]) -> Result<Mutation, Exit> {
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
    async fn claim_key(self) -> Result<Self, Exit> {
        let mut mutation = self;
        if let Some(scope) = scope(&mutation.key) {
            match mutation.command.claim_key(&scope).await? {
                Claimed::New => {}
                Claimed::Running => {
                    return Err(Failure::new(
                        Code::IdempotencyInProgress,
                        "The first request with this Idempotency-Key has not ended yet. Wait a second and repeat this one.",
                    )
                    .into());
                }
                Claimed::Answered(kept) if kept.fingerprint == mutation.fingerprint => {
                    return Err(Exit::Replayed(replay(kept)?));
                }
                Claimed::Answered(_) => {
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

    /// Commits a change whose answer is made from what is read afterwards.
    pub async fn commit(self) -> Result<(), Exit> {
        let wakes = self.command.wakes();
        self.command.commit().await?;
        self.bell.ring();
        if wakes {
            self.relay.ring();
        }
        Ok(())
    }

    /// Commits a change whose answer is not to be kept, nor what this request has kept before it.
    pub async fn forget(mut self) -> Result<(), Exit> {
        if let Some(scope) = scope(&self.key) {
            let user = self.command.principal().user_id;
            self.command.forget_answer(user, &scope).await?;
        }
        self.commit().await
    }

    /// Commits. Until here nothing has happened, from here on all of it has.
    pub async fn finish(mut self, answer: Answer) -> Answered {
        if let Some(scope) = scope(&self.key) {
            let kept = KeptAnswer {
                fingerprint: self.fingerprint,
                status: i16::try_from(answer.status.as_u16()).unwrap_or(200),
                body: answer.kept.as_ref().unwrap_or(&answer.body).clone(),
                etag: answer.etag.clone(),
            };
            self.command.keep_answer(&scope, &kept).await?;
            if let Some(also) = &self.key.also {
                self.command.keep_answer(&KeyScope { path: also, ..scope }, &kept).await?;
            }
        }
        let wakes = self.command.wakes();
        if let Some(command) = planted::commit_later(self.command, &self.bell) {
            command.commit().await?;
        }
        self.bell.ring();
        if wakes {
            self.relay.ring();
        }
        Ok(answer.into_response())
    }
}

fn scope(key: &IdempotencyKey) -> Option<KeyScope<'_>> {
    key.key.as_deref().map(|name| KeyScope { method: &key.method, path: &key.path, key: name })
}

fn replay(kept: KeptAnswer) -> Result<Response, Failure> {
    let status = u16::try_from(kept.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let status = status.ok_or_else(|| Failure::internal("a kept answer has no status"))?;
    Ok(Answer { status, body: kept.body, kept: None, etag: kept.etag }.into_response())
}

//! Commands over HTTP: builds the input of `app::command` from a request, and maps its result to a response.

use greenroom_app::command::{
    Authorize, CommandRequest, ConnectionUse, Fingerprint, Interruption, OpenCommand, Replayable,
};
use greenroom_domain::policy::Act;
use greenroom_store::idempotency::StoredResponse;

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::permit::{AuthenticatedRequest, Permit, PipelineCheck};
use crate::http::rules::record_response::RecordResponse;

pub type HandlerResult = Result<RecordResponse, EarlyResponse>;

impl<A: Act, R: PipelineCheck> Permit<A, R> {
    /// Returns the request for commands with this permission. A repeated request with the same key must have
    /// the same `body`.
    pub fn command(&self, key: IdempotencyKey, body: &[u8]) -> CommandRequest<'_> {
        self.command_request(R::check::<A>, Some((key, body)))
    }

    /// Returns the request for commands that are idempotent by themselves.
    pub fn command_without_key(&self) -> CommandRequest<'_> {
        self.command_request(R::check::<A>, None)
    }

    pub async fn open(&self, key: IdempotencyKey, body: &[u8]) -> Result<OpenCommand, Interruption> {
        self.command(key, body).open().await
    }

    /// Opens a command whose body has the value of a secret.
    pub async fn open_with_fingerprint(
        &self,
        key: IdempotencyKey,
        fingerprint: Fingerprint,
    ) -> Result<OpenCommand, Interruption> {
        let request = self.command_without_key();
        CommandRequest { key: key.for_fingerprint(fingerprint), ..request }.open().await
    }
}

impl AuthenticatedRequest {
    /// Opens a command without a permission check: the use case requires the action that applies.
    pub async fn open(&self, key: IdempotencyKey, body: &[u8]) -> Result<OpenCommand, Interruption> {
        self.command_request(|_, _| Ok(()), Some((key, body))).open().await
    }

    fn command_request(
        &self,
        authorize: Authorize,
        keyed: Option<(IdempotencyKey, &[u8])>,
    ) -> CommandRequest<'_> {
        CommandRequest {
            app: &self.app,
            principal: &self.principal,
            request_id: &self.request_id.0,
            authorize,
            granted_on: self.granted_on,
            key: keyed.and_then(|(key, body)| key.for_body(body)),
            connection: ConnectionUse::OfSlot,
        }
    }
}

impl Replayable for RecordResponse {
    fn to_stored(&self, fingerprint: Vec<u8>) -> StoredResponse {
        StoredResponse {
            fingerprint,
            status: i16::try_from(self.status.as_u16()).unwrap_or(200),
            body: self.stored_body.as_ref().unwrap_or(&self.body).clone(),
            etag: self.etag.clone(),
        }
    }
}

//! Commands: one transaction on behalf of a user. Opening one checks the token and the permission again
//! within the transaction, and finds the stored response of a repeated request. Its commit stores the
//! response and notifies the sequencer and the relay. Nothing here depends on HTTP.

use std::ops::{Deref, DerefMut};

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::PipelineId;
use greenroom_domain::policy::Denied;
use greenroom_domain::principal::Principal;
use greenroom_domain::role::Role;
use greenroom_domain::scope::Scopes;
use greenroom_domain::slug::Slug;
use greenroom_store::idempotency::{KeyClaim, KeyScope, StoredResponse};
use greenroom_store::{Command, OrgTransaction, Store, StoreError};

use crate::App;
use crate::failure::{Code, Failure};
use crate::limits::ConnectionPermit;
use crate::web_url::WebUrls;

/// Checks the permission for a command, with the scopes that the token has now, and the role that its user has now in
/// the organization or on the pipeline.
pub type Authorize = fn(Role, Scopes) -> Result<(), Denied>;

/// Who requests a command, with which permission, and under which idempotency key. One request may open
/// several commands, one after the other.
pub struct CommandRequest<'a> {
    pub app: &'a App,
    pub principal: &'a Principal,
    pub request_id: &'a str,
    pub authorize: Authorize,
    /// The pipeline on which a grant permits the request, if the role in the organization does not.
    pub granted_on: Option<PipelineId>,
    pub key: Option<OperationKey>,
    pub connection: ConnectionUse,
}

/// How the commands of a request count against the organization's share of the database connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionUse {
    /// The request has a slot, which includes a connection.
    OfSlot,
    /// The request has released its slot before it waits for an event. Each of its transactions acquires a permit
    /// from the organization's semaphore of database connections, and releases it when it ends.
    PerCommand,
}

/// An idempotency key: one owner's key for one operation on the same records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationKey {
    pub method: String,
    /// The records that the operation is applied to, by their ids.
    pub path: String,
    /// A second path to store the response under.
    pub alias_path: Option<String>,
    pub key: String,
    /// The same key with another input is an error of the client.
    pub fingerprint: Fingerprint,
}

/// A hash of a request's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    pub hash: Vec<u8>,
    /// Hashes of the same input under former keys, if the hash is keyed: the response may have been stored
    /// before the key was replaced.
    pub former_hashes: Vec<Vec<u8>>,
}

impl Fingerprint {
    fn accepts(&self, stored: &[u8]) -> bool {
        self.hash == stored || self.former_hashes.iter().any(|former| former == stored)
    }
}

impl OperationKey {
    pub fn scope(&self) -> KeyScope<'_> {
        KeyScope { method: &self.method, path: &self.path, key: &self.key }
    }

    fn alias_scope(&self) -> Option<KeyScope<'_>> {
        self.alias_path.as_deref().map(|path| KeyScope { path, ..self.scope() })
    }
}

/// A response that can be stored under an idempotency key, and sent again when the request is repeated.
pub trait Replayable: Send {
    fn to_stored(&self, fingerprint: Vec<u8>) -> StoredResponse;
}

/// Why a request ends before its use case has completed.
#[derive(Debug)]
pub enum Interruption {
    Refused(Box<Failure>),
    /// The request was repeated; this is the stored response.
    Replayed(StoredResponse),
}

impl From<Failure> for Interruption {
    fn from(failure: Failure) -> Self {
        Self::Refused(Box::new(failure))
    }
}

impl From<StoreError> for Interruption {
    fn from(error: StoreError) -> Self {
        Failure::from(error).into()
    }
}

impl From<Denied> for Interruption {
    fn from(denied: Denied) -> Self {
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

#[boxed_futures]
impl CommandRequest<'_> {
    /// Opens a command and claims the idempotency key, if there is one.
    pub async fn open(&self) -> Result<OpenCommand, Interruption> {
        let mut command = self.reopen().await?;
        command.claim_key().await?;
        Ok(command)
    }

    /// Returns the addresses of the organization's records.
    pub fn web_urls(&self) -> WebUrls<'_> {
        self.app.web_urls(self.principal)
    }

    /// The same request after it has released its slot.
    pub fn waiting(self) -> Self {
        Self { connection: ConnectionUse::PerCommand, ..self }
    }

    /// Opens a further command of a request that has already stored a response, and may replace it.
    pub async fn reopen(&self) -> Result<OpenCommand, Interruption> {
        let Principal { organization_id, credential, .. } = *self.principal;
        let connection = match self.connection {
            ConnectionUse::OfSlot => None,
            ConnectionUse::PerCommand => Some(self.app.limits.slots.connection(self.principal).await?),
        };
        let command = self.app.store.command(organization_id, credential, self.request_id).await?;
        let mut command = command.ok_or_else(Failure::unauthenticated)?;
        let Principal { role, scopes, .. } = *command.principal();
        if let Err(denied) = (self.authorize)(role, scopes) {
            let pipeline = self.granted_on.ok_or(denied)?;
            (self.authorize)(command.own_role_on(pipeline).await?, scopes)?;
        }
        Ok(OpenCommand { command, app: self.app.clone(), key: self.key.clone(), _connection: connection })
    }
}

/// A command whose transaction is open. Rolls back when it is dropped.
pub struct OpenCommand {
    command: Command,
    app: App,
    key: Option<OperationKey>,
    _connection: Option<ConnectionPermit>,
}

#[boxed_futures]
impl OpenCommand {
    async fn claim_key(&mut self) -> Result<(), Interruption> {
        let Some(key) = &self.key else { return Ok(()) };
        match self.command.claim_key(&key.scope()).await? {
            KeyClaim::New => Ok(()),
            KeyClaim::Running => Err(Failure::new(
                Code::IdempotencyInProgress,
                "The first request with this Idempotency-Key has not ended yet. Wait a second and repeat this one.",
            )
            .into()),
            KeyClaim::Completed(stored) if key.fingerprint.accepts(&stored.fingerprint) => {
                Err(Interruption::Replayed(stored))
            }
            KeyClaim::Completed(_) => Err(Failure::new(
                Code::IdempotencyKeyReused,
                "This Idempotency-Key was sent before with another body. Use a new key for a new request.",
            )
            .into()),
        }
    }

    /// Returns the addresses of the organization's records.
    pub fn web_urls(&self) -> WebUrls<'_> {
        self.app.web_urls(self.command.principal())
    }

    /// Commits without storing a response.
    pub async fn commit(self) -> Result<(), StoreError> {
        let has_wake_ups = self.command.has_wake_ups();
        self.command.commit().await?;
        notify(&self.app, has_wake_ups);
        Ok(())
    }

    /// Commits without storing a response, and deletes the one that this request has stored earlier.
    pub async fn commit_and_delete_response(mut self) -> Result<(), StoreError> {
        if let Some(key) = &self.key {
            let owner = self.command.principal().owner();
            self.command.delete_response(owner, &key.scope()).await?;
        }
        self.commit().await
    }

    /// Stores the response under the idempotency key and commits. Before the commit nothing has taken effect.
    pub async fn finish<R: Replayable>(mut self, response: R) -> Result<R, Interruption> {
        if let Some(key) = &self.key {
            let stored = response.to_stored(key.fingerprint.hash.clone());
            self.command.store_response(&key.scope(), &stored).await?;
            if let Some(alias) = key.alias_scope() {
                self.command.store_response(&alias, &stored).await?;
            }
        }
        let has_wake_ups = self.command.has_wake_ups();
        self.command.commit().await?;
        notify(&self.app, has_wake_ups);
        Ok(response)
    }
}

impl Deref for OpenCommand {
    type Target = Command;

    fn deref(&self) -> &Command {
        &self.command
    }
}

impl DerefMut for OpenCommand {
    fn deref_mut(&mut self) -> &mut Command {
        &mut self.command
    }
}

/// The command of an operator at the console, who has the database and neither a token nor a role.
pub struct OperatorCommand(OrgTransaction);

#[boxed_futures]
impl OperatorCommand {
    /// Opens a command in the organization with this slug. Returns `None` if there is none.
    pub async fn open(store: &Store, organization: &Slug) -> Result<Option<Self>, StoreError> {
        Ok(store.operator_transaction(organization).await?.map(Self))
    }

    /// Commits. There is nothing to notify in this process: the daemons find the events and the wake-ups.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.0.commit().await
    }
}

impl Deref for OperatorCommand {
    type Target = OrgTransaction;

    fn deref(&self) -> &OrgTransaction {
        &self.0
    }
}

impl DerefMut for OperatorCommand {
    fn deref_mut(&mut self) -> &mut OrgTransaction {
        &mut self.0
    }
}

/// Notifies the sequencer of recorded events, and the relay if there are wake-ups in the outbox. To be called
/// after the commit of any transaction that records events; a lost notification only delays them.
pub fn notify(app: &App, has_wake_ups: bool) {
    app.bell.ring();
    if has_wake_ups {
        app.relay_bell.ring();
    }
}

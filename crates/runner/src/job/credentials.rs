//! The credentials of the platform that a job uses. They are requested from the server, which checks that the
//! job still has its environment, and records who got them. Everything that the job reports is masked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use greenroom_api_types::runner::{CredentialKind, CredentialRequest, CredentialResponse};
use greenroom_client::JobClient;
use zeroize::Zeroizing;

use super::lease::Lease;
use super::retry::retry_while_leased;
use crate::credential::{Credential, CredentialError, Credentials};

/// By purpose, host and repository.
type Received = HashMap<(&'static str, String, Option<String>), Option<Arc<Credential>>>;

pub(super) struct PlatformCredentials<'a> {
    client: &'a JobClient,
    lease: &'a Lease,
    /// The responses, so that each repository is requested only once.
    received: Mutex<Received>,
}

impl<'a> PlatformCredentials<'a> {
    pub(super) fn new(client: &'a JobClient, lease: &'a Lease) -> Self {
        PlatformCredentials { client, lease, received: Mutex::default() }
    }

    /// Returns the credentials that were received until now.
    pub(super) fn received(&self) -> Vec<Arc<Credential>> {
        self.lock(|received| received.values().flatten().cloned().collect())
    }

    pub(super) fn mask(&self, text: &str) -> String {
        self.received().iter().fold(text.to_owned(), |text, credential| credential.mask(&text))
    }

    fn lock<T>(&self, work: impl FnOnce(&mut Received) -> T) -> T {
        work(&mut self.received.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Credentials for PlatformCredentials<'_> {
    async fn get(
        &self,
        kind: CredentialKind,
        host: &str,
        repository: Option<&str>,
    ) -> Result<Option<Arc<Credential>>, CredentialError> {
        let purpose = match kind {
            CredentialKind::Checkout => "checkout",
            CredentialKind::Registry => "registry",
        };
        let key = (purpose, host.to_owned(), repository.map(str::to_owned));
        if let Some(known) = self.lock(|received| received.get(&key).cloned()) {
            return Ok(known);
        }
        let (_, own_host, address) = key.clone();
        let request = CredentialRequest { kind, host: own_host, repository: address };
        let response =
            retry_while_leased(self.lease, "credential", || self.client.credential(&request)).await;
        let response = response.map_err(|error| CredentialError {
            failure: None,
            message: format!("could not request the credential for {host}: {error}"),
        })?;
        let credential = parse(response)?.map(Arc::new);
        if let Some(credential) = &credential {
            tracing::info!(host, purpose, secret = credential.name(), "using a credential");
        }
        self.lock(|received| received.insert(key, credential.clone()));
        Ok(credential)
    }
}

fn parse(response: CredentialResponse) -> Result<Option<Credential>, CredentialError> {
    if let Some(denied) = response.denied {
        return Err(CredentialError::denied(denied));
    }
    let Some(credential) = response.credential else { return Ok(None) };
    let encoded = Zeroizing::new(credential.value);
    let Ok(value) = STANDARD.decode(encoded.as_bytes()) else {
        let message = format!("the secret `{}` is not valid base64", credential.name);
        return Err(CredentialError { failure: None, message });
    };
    Credential::parse(&credential.name, &Zeroizing::new(value)).map(Some)
}

//! The published keys of issuers, as this server has cached them. When they are requested again is decided by
//! `domain/trust_policy/key_cache.rs`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::trust_policy::{Issuer, KeyCacheDecision, KeyCacheState, decide_key_use};
use greenroom_keys::{InvalidKeySet, IssuerKeys, SubjectToken, UnverifiedToken, VerifiedToken};
use greenroom_outbound::{Bounds, OrganizationNames, OutboundClient, OutboundError, Purpose, Requester};
use moka::future::Cache;
use serde::Deserialize;
use tokio::sync::Mutex;

/// Issuers that are not used for this long are forgotten.
const IDLE_TIME: Duration = Duration::from_secs(2 * 3_600);
const MAX_ISSUERS: u64 = 10_000;
/// Both requests for keys have to end before the deadline of the client's request.
const REQUEST_BOUNDS: Bounds = Bounds { timeout: Duration::from_secs(5), max_response_bytes: 64 << 10 };

/// Why a token could not be verified. The client learns only that it could not; this is for the audit event and the log.
#[derive(Debug, thiserror::Error)]
pub enum VerificationError {
    #[error(transparent)]
    Token(#[from] UnverifiedToken),
    #[error("the keys of the issuer are not available")]
    KeysUnavailable,
}

/// Why the keys of an issuer could not be read. For the log only.
#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    #[error("the response has the status {0}")]
    Status(u16),
    #[error("the document is not a description of an OpenID issuer")]
    Document(#[source] serde_json::Error),
    #[error("the document describes the issuer `{0}`")]
    OtherIssuer(String),
    #[error(transparent)]
    Keys(#[from] InvalidKeySet),
}

/// The parts of a discovery document that count (OpenID Connect Discovery 1.0, section 3).
#[derive(Deserialize)]
struct Description {
    issuer: String,
    jwks_uri: String,
}

#[derive(Default)]
struct Entry {
    keys: Option<(Arc<IssuerKeys>, Instant)>,
    last_request: Option<Instant>,
}

pub struct IssuerKeyCache {
    outbound: OutboundClient,
    /// By issuer, and by organization if not all of them can reach the same issuers: otherwise one would use keys that another
    /// has read from a network that only that one may reach.
    entries: Cache<(Issuer, Option<String>), Arc<Mutex<Entry>>>,
}

#[boxed_futures]
impl IssuerKeyCache {
    pub fn new(outbound: OutboundClient) -> Self {
        let entries = Cache::builder().max_capacity(MAX_ISSUERS).time_to_idle(IDLE_TIME).build();
        Self { outbound, entries }
    }

    /// Verifies the signature of a token by the keys of an issuer that a trust policy names.
    pub async fn verify(
        &self,
        issuer: &Issuer,
        organization: &OrganizationNames,
        token: SubjectToken<'_>,
    ) -> Result<VerifiedToken, VerificationError> {
        let keys = self.keys_for(issuer, organization, &token).await?;
        Ok(token.verify(&keys)?)
    }

    /// Returns keys that contain the one of the token. Concurrent requests for one issuer wait for each other here, so
    /// that one of them requests the keys for all.
    async fn keys_for(
        &self,
        issuer: &Issuer,
        organization: &OrganizationNames,
        token: &SubjectToken<'_>,
    ) -> Result<Arc<IssuerKeys>, VerificationError> {
        let is_apart = self.outbound.depends_on_organization(Purpose::Issuer);
        let key = (issuer.clone(), is_apart.then(|| organization.id.clone()));
        let entry = self.entries.get_with(key, async { Arc::default() }).await;
        let mut entry = entry.lock().await;
        if entry.decide(token) == KeyCacheDecision::Request {
            entry.last_request = Some(Instant::now());
            let requester = Requester::of_organization(Purpose::Issuer, organization.clone());
            match self.request(issuer, &requester).await {
                Ok(keys) => entry.keys = Some((Arc::new(keys), Instant::now())),
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    issuer = issuer.as_str(),
                    "could not read the keys of an issuer"
                ),
            }
        }
        let is_known = entry.decide(token) == KeyCacheDecision::UseCached;
        match &entry.keys {
            Some((keys, _)) if is_known => Ok(Arc::clone(keys)),
            Some(_) => Err(UnverifiedToken::UnknownKey.into()),
            None => Err(VerificationError::KeysUnavailable),
        }
    }

    async fn request(&self, issuer: &Issuer, requester: &Requester) -> Result<IssuerKeys, RequestError> {
        let description = self.get(&issuer.discovery_url(), requester).await?;
        let description: Description =
            serde_json::from_slice(&description).map_err(RequestError::Document)?;
        if description.issuer != issuer.as_str() {
            return Err(RequestError::OtherIssuer(description.issuer.chars().take(255).collect()));
        }
        Ok(IssuerKeys::parse(&self.get(&description.jwks_uri, requester).await?)?)
    }

    async fn get(&self, url: &str, requester: &Requester) -> Result<Vec<u8>, RequestError> {
        let response = self.outbound.get_json(requester, url, REQUEST_BOUNDS).await?;
        let status = response.status();
        if status.is_success() {
            Ok(response.into_body())
        } else {
            Err(RequestError::Status(status.as_u16()))
        }
    }
}

impl Entry {
    fn decide(&self, token: &SubjectToken<'_>) -> KeyCacheDecision {
        decide_key_use(KeyCacheState {
            keys: self.keys.as_ref().map(|(_, received_at)| received_at.elapsed()),
            last_request: self.last_request.map(|at| at.elapsed()),
            has_key: self.keys.as_ref().is_some_and(|(keys, _)| token.has_key_in(keys)),
        })
    }
}

//! OpenID providers: the operator's settings, and the requests to a provider. Only an operator can add one, so
//! that no organization can name a provider that vouches for all accounts.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::text::Email;
use greenroom_outbound::{Bounds, OutboundClient, OutboundError, Purpose, Requester};
use moka::future::Cache;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreIdToken, CoreIdTokenClaims, CoreJwsSigningAlgorithm,
    CoreProviderMetadata, CoreUserInfoClaims,
};
use openidconnect::{
    AccessToken, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken, HttpRequest,
    HttpResponse, IssuerUrl, Nonce, OAuth2TokenResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl,
    Scope, SubjectIdentifier, TokenResponse,
};
use serde::Deserialize;

/// How long the addresses and keys of a provider are cached.
const METADATA_TTL: Duration = Duration::from_secs(300);
/// Several requests to a provider belong to one request of a browser.
const REQUEST_BOUNDS: Bounds = Bounds { timeout: Duration::from_secs(10), max_response_bytes: 1 << 20 };

/// One entry of the operator's file.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderSettings {
    /// The name in addresses.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// `https://accounts.example.com`, as the provider writes it in its tokens.
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Option<String>,
    /// The domains of the e-mail addresses that it vouches for, such as `example.com`. If there are none, it vouches for all
    /// addresses as the only provider, and for none beside others.
    #[serde(default)]
    pub domains: Vec<String>,
}

/// The client secret stays out of logs.
impl fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderSettings").field("id", &self.id).field("issuer", &self.issuer).finish()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum InvalidProvider {
    #[error("the id of a provider must be small letters, digits and hyphens: `{0}`")]
    Id(String),
    #[error("two providers have the id `{0}`")]
    DuplicateId(String),
    #[error("the issuer of `{0}` must be an https address, or http on this machine")]
    Issuer(String),
    #[error("the domains of `{0}` must be written as in addresses, such as `example.com`: not `{1}`")]
    Domain(String, String),
}

/// Checks the operator's file.
pub fn check(providers: &[ProviderSettings]) -> Result<(), InvalidProvider> {
    for (at, provider) in providers.iter().enumerate() {
        let id = &provider.id;
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if id.is_empty() || !id.bytes().all(is_name) {
            return Err(InvalidProvider::Id(id.clone()));
        }
        if providers[..at].iter().any(|other| other.id == *id) {
            return Err(InvalidProvider::DuplicateId(id.clone()));
        }
        let is_local = |prefix: &str| {
            let rest = provider.issuer.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
        };
        let is_secure = provider.issuer.starts_with("https://");
        if !is_secure && !is_local("http://127.0.0.1") && !is_local("http://localhost") {
            return Err(InvalidProvider::Issuer(id.clone()));
        }
        if let Some(wrong) = provider.domains.iter().find(|domain| !is_domain(domain)) {
            return Err(InvalidProvider::Domain(id.clone(), wrong.clone()));
        }
    }
    Ok(())
}

fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    text.contains('.') && text.split('.').all(is_label)
}

/// Returns the providers that vouch for no address, because they are not the only one and name no domains.
pub fn without_domains(providers: &[ProviderSettings]) -> impl Iterator<Item = &str> {
    let has_several = providers.len() > 1;
    let found = providers.iter().filter(move |provider| has_several && provider.domains.is_empty());
    found.map(|provider| provider.id.as_str())
}

/// Why a request to a provider failed, or its response was rejected. For the log only.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProviderError(String);

impl ProviderError {
    /// The causes are part of the text: an operator finds in them which address may not be connected to.
    fn new(error: impl Error) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        Self(text)
    }
}

/// What a browser has to bring back from the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    pub url: String,
    pub state: String,
    pub nonce: String,
    pub verifier: String,
}

/// The person according to a provider, after its token was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenIdentity {
    pub issuer: String,
    pub subject: String,
    /// Only an address that the provider has verified.
    pub email: Option<String>,
}

pub struct Provider {
    pub settings: ProviderSettings,
    is_only_one: bool,
    redirect_url: String,
    outbound: OutboundClient,
    metadata: Cache<(), CoreProviderMetadata>,
}

#[boxed_futures]
impl Provider {
    /// `is_only_one` is whether there is no other provider. `redirect_url` is the address to which the provider sends
    /// browsers back.
    pub fn new(
        settings: ProviderSettings,
        is_only_one: bool,
        redirect_url: String,
        outbound: OutboundClient,
    ) -> Self {
        let metadata = Cache::builder().max_capacity(1).time_to_live(METADATA_TTL).build();
        Self { settings, is_only_one, redirect_url, outbound, metadata }
    }

    /// Returns whether a person whom this provider has not signed in before may be found by an address that it has
    /// verified. One of several providers may do that for its own domains only; otherwise the one that verifies least
    /// would decide for the accounts of all of them.
    pub fn vouches_for(&self, email: &Email) -> bool {
        let domains = &self.settings.domains;
        if domains.is_empty() {
            return self.is_only_one;
        }
        let domain = email.as_str().rsplit_once('@').map(|(_, domain)| domain);
        domain.is_some_and(|domain| domains.iter().any(|own| own.eq_ignore_ascii_case(domain)))
    }

    /// Begins a sign-in: authorization code with PKCE, state and nonce.
    pub async fn start(&self) -> Result<Started, ProviderError> {
        let metadata = self.metadata().await?;
        let client = CoreClient::from_provider_metadata(metadata, self.client_id(), self.client_secret())
            .set_redirect_uri(self.redirect_uri()?);
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let (url, state, nonce) = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                CsrfToken::new_random,
                Nonce::new_random,
            )
            .add_scope(Scope::new("email".to_owned()))
            .set_pkce_challenge(challenge)
            .url();
        Ok(Started {
            url: url.to_string(),
            state: state.secret().clone(),
            nonce: nonce.secret().clone(),
            verifier: verifier.secret().clone(),
        })
    }

    /// Exchanges the code and verifies the token.
    pub async fn finish(
        &self,
        code: &str,
        nonce: &str,
        verifier: &str,
    ) -> Result<ProvenIdentity, ProviderError> {
        let metadata = self.metadata().await?;
        let client =
            CoreClient::from_provider_metadata(metadata.clone(), self.client_id(), self.client_secret())
                .set_redirect_uri(self.redirect_uri()?);
        let http = self.http_client();
        let response = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .map_err(ProviderError::new)?
            .set_pkce_verifier(PkceCodeVerifier::new(verifier.to_owned()))
            .request_async(&http)
            .await
            .map_err(ProviderError::new)?;
        let token = response.id_token().ok_or_else(|| ProviderError("there is no id token".to_owned()))?;
        let nonce = Nonce::new(nonce.to_owned());
        let claims = match self.verify(metadata.clone(), token, &nonce) {
            // The provider may have replaced its keys since they were cached.
            Err(ClaimsVerificationError::SignatureVerification(_)) => {
                self.verify(self.discover().await?, token, &nonce)
            }
            verified => verified,
        };
        let claims = claims.map_err(ProviderError::new)?;
        let email = if let Some(email) = claims.email() {
            let is_verified = claims.email_verified() == Some(true);
            is_verified.then(|| email.as_str().to_owned())
        } else {
            self.requested_email(metadata, response.access_token(), claims.subject()).await
        };
        Ok(ProvenIdentity {
            issuer: claims.issuer().as_str().to_owned(),
            subject: claims.subject().as_str().to_owned(),
            email,
        })
    }

    /// Verifies a token: signature, issuer, audience, expiry and nonce.
    fn verify(
        &self,
        metadata: CoreProviderMetadata,
        token: &CoreIdToken,
        nonce: &Nonce,
    ) -> Result<CoreIdTokenClaims, ClaimsVerificationError> {
        let algorithms = public_key_algorithms(&metadata);
        let client = CoreClient::from_provider_metadata(metadata, self.client_id(), self.client_secret());
        let verifier = client.id_token_verifier().set_allowed_algs(algorithms);
        token.claims(&verifier, nonce).cloned()
    }

    /// Requests the verified address of the person from the provider. Tokens need not contain it (OpenID Connect
    /// Core 5.4). A failure is none: a person who has signed in before is known by the subject.
    async fn requested_email(
        &self,
        metadata: CoreProviderMetadata,
        access_token: &AccessToken,
        subject: &SubjectIdentifier,
    ) -> Option<String> {
        let client = CoreClient::from_provider_metadata(metadata, self.client_id(), self.client_secret());
        // The library rejects claims of another subject.
        let request = client.user_info(access_token.clone(), Some(subject.clone())).ok()?;
        let http = self.http_client();
        let claims: CoreUserInfoClaims = match request.request_async(&http).await {
            Ok(claims) => claims,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    provider = self.settings.id.as_str(),
                    "could not request the address of a person from the provider"
                );
                return None;
            }
        };
        let is_verified = claims.email_verified() == Some(true);
        claims.email().filter(|_| is_verified).map(|email| email.as_str().to_owned())
    }

    async fn metadata(&self) -> Result<CoreProviderMetadata, ProviderError> {
        match self.metadata.get(&()).await {
            Some(metadata) => Ok(metadata),
            None => self.discover().await,
        }
    }

    /// Requests the addresses and keys of the provider.
    async fn discover(&self) -> Result<CoreProviderMetadata, ProviderError> {
        let issuer = IssuerUrl::new(self.settings.issuer.clone()).map_err(ProviderError::new)?;
        let http = self.http_client();
        let metadata =
            CoreProviderMetadata::discover_async(issuer, &http).await.map_err(ProviderError::new)?;
        self.metadata.insert((), metadata.clone()).await;
        Ok(metadata)
    }

    fn client_id(&self) -> ClientId {
        ClientId::new(self.settings.client_id.clone())
    }

    fn client_secret(&self) -> Option<ClientSecret> {
        self.settings.client_secret.clone().map(ClientSecret::new)
    }

    fn redirect_uri(&self) -> Result<RedirectUrl, ProviderError> {
        RedirectUrl::new(self.redirect_url.clone()).map_err(ProviderError::new)
    }

    fn http_client(
        &self,
    ) -> impl Fn(HttpRequest) -> futures_util::future::BoxFuture<'static, Result<HttpResponse, OutboundError>>
    {
        let outbound = self.outbound.clone();
        move |request| {
            let outbound = outbound.clone();
            let requester = Requester::operator(Purpose::Provider);
            Box::pin(async move { outbound.send(&requester, request, REQUEST_BOUNDS).await })
        }
    }
}

/// Returns the algorithms that the provider signs with, without those that need no private key of the provider.
fn public_key_algorithms(metadata: &CoreProviderMetadata) -> Vec<CoreJwsSigningAlgorithm> {
    use CoreJwsSigningAlgorithm::{HmacSha256, HmacSha384, HmacSha512, None};
    let algorithms = metadata.id_token_signing_alg_values_supported().iter();
    let signed = |algorithm: &&CoreJwsSigningAlgorithm| {
        !matches!(algorithm, HmacSha256 | HmacSha384 | HmacSha512 | None)
    };
    algorithms.filter(signed).cloned().collect()
}

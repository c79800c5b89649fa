//! OpenID providers: the operator's settings, and the requests to a provider. Only an operator can add one, so
//! that no organization can name a provider that vouches for all accounts.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use greenroom_outbound::{Bounds, OutboundClient, OutboundError};
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
    }
    Ok(())
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
    redirect_url: String,
    outbound: OutboundClient,
    metadata: Cache<(), CoreProviderMetadata>,
}

impl Provider {
    /// `redirect_url` is the address to which the provider sends browsers back.
    pub fn new(settings: ProviderSettings, redirect_url: String, outbound: OutboundClient) -> Self {
        let metadata = Cache::builder().max_capacity(1).time_to_live(METADATA_TTL).build();
        Self { settings, redirect_url, outbound, metadata }
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
            Box::pin(async move { outbound.send(request, REQUEST_BOUNDS).await })
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

#[cfg(test)]
mod tests {
    use greenroom_outbound::AllowList;

    use super::*;

    fn provider(id: &str, issuer: &str) -> ProviderSettings {
        ProviderSettings {
            id: id.to_owned(),
            name: "Example".to_owned(),
            issuer: issuer.to_owned(),
            client_id: "greenroom".to_owned(),
            client_secret: Some("secret".to_owned()),
        }
    }

    #[test]
    fn settings_are_checked() {
        assert!(check(&[provider("a", "https://a.example"), provider("b-2", "http://127.0.0.1:1")]).is_ok());
        for (id, issuer) in [
            ("", "https://a.example"),
            ("A", "https://a.example"),
            ("a/b", "https://a.example"),
            ("a", "http://a.example"),
            ("a", "http://127.0.0.1.evil.example"),
            ("a", "http://localhost.evil.example"),
        ] {
            assert!(check(&[provider(id, issuer)]).is_err(), "{id} {issuer}");
        }
        let twice = [provider("a", "https://a.example"), provider("a", "https://b.example")];
        assert!(check(&twice).is_err());
    }

    #[tokio::test]
    async fn a_provider_on_this_machine_needs_the_operators_setting() {
        for issuer in ["http://127.0.0.1:1", "https://127.0.0.1:1", "http://localhost:1", "https://10.0.0.1"]
        {
            let outbound = OutboundClient::new(AllowList::default());
            let provider = Provider::new(provider("a", issuer), "https://b.example".to_owned(), outbound);
            let error = provider.start().await.unwrap_err().to_string();
            assert!(error.contains("--outbound-allow"), "{issuer}: {error}");
        }
    }

    #[test]
    fn debug_hides_the_client_secret() {
        assert!(!format!("{:?}", provider("a", "https://a.example")).contains("secret"));
    }
}

//! Signing in with an OpenID provider.

use form_urlencoded::Serializer;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::browser_session::{SignInMethod, SignInSecret};
use greenroom_domain::text::Email;
use greenroom_store::system::identity::Subject;
use greenroom_store::system::sign_in::SignInTransaction;

use crate::App;
use crate::browser_session::{Browser, begin, sign_in_failed};
use crate::failure::Failure;
use crate::sign_in::provider::{ProvenIdentity, Provider};

/// A sign-in that is under way, as the browser keeps it in a cookie for ten minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    pub provider: String,
    pub state: String,
    pub nonce: String,
    pub verifier: String,
    /// The page to show after the sign-in.
    pub return_to: String,
}

/// What the provider has sent the browser back with.
#[derive(Debug)]
pub struct Returned<'a> {
    pub code: Option<&'a str>,
    pub state: Option<&'a str>,
    /// The issuer, if the provider states it (RFC 9207).
    pub issuer: Option<&'a str>,
}

impl Pending {
    /// Returns the value of the cookie.
    pub fn to_cookie(&self) -> String {
        let fields = [
            ("p", &self.provider),
            ("s", &self.state),
            ("n", &self.nonce),
            ("v", &self.verifier),
            ("r", &self.return_to),
        ];
        Serializer::new(String::new()).extend_pairs(fields).finish()
    }

    pub fn from_cookie(value: &str) -> Self {
        let mut pending = Self::default();
        for (name, text) in form_urlencoded::parse(value.as_bytes()) {
            let field = match &*name {
                "p" => &mut pending.provider,
                "s" => &mut pending.state,
                "n" => &mut pending.nonce,
                "v" => &mut pending.verifier,
                "r" => &mut pending.return_to,
                _ => continue,
            };
            *field = text.into_owned();
        }
        pending.return_to = own_page(&pending.return_to);
        pending
    }
}

/// Returns the path if it is one of this server, else the first page: a sign-in must not end on another site.
pub fn own_page(path: &str) -> String {
    let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let is_own = path.starts_with('/') && !path.starts_with("//") && is_plain && path.len() <= 1_000;
    if is_own { path.to_owned() } else { "/".to_owned() }
}

/// Begins a sign-in. Returns the address at the provider to send the browser to, and what to keep until it is
/// back.
#[boxed_futures]
pub async fn start(provider: &Provider, return_to: &str) -> Result<(String, Pending), Failure> {
    let started = provider.start().await.map_err(|error| {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            provider = provider.settings.id.as_str(),
            "could not begin a sign-in at the provider"
        );
        sign_in_failed().with_source(error)
    })?;
    let pending = Pending {
        provider: provider.settings.id.clone(),
        state: started.state,
        nonce: started.nonce,
        verifier: started.verifier,
        return_to: own_page(return_to),
    };
    Ok((started.url, pending))
}

/// Signs the person in who comes back from the provider.
#[boxed_futures]
pub async fn finish(
    app: &App,
    provider: &Provider,
    pending: &Pending,
    returned: &Returned<'_>,
    browser: &Browser<'_>,
) -> Result<SignInSecret, Failure> {
    // The browser has to have begun this sign-in itself, and at this provider.
    let is_expected = !pending.state.is_empty()
        && returned.state == Some(pending.state.as_str())
        && pending.provider == provider.settings.id
        && returned.issuer.is_none_or(|issuer| issuer == provider.settings.issuer);
    let Some(code) = returned.code.filter(|_| is_expected) else { return Err(sign_in_failed()) };
    let proven = provider.finish(code, &pending.nonce, &pending.verifier).await;
    let proven = proven.map_err(|error| {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            provider = provider.settings.id.as_str(),
            "rejected a sign-in of the provider"
        );
        sign_in_failed().with_source(error)
    })?;
    let transaction = person(app, provider, &proven, browser.request_id).await?;
    begin(app, transaction, SignInMethod::Oidc, browser).await
}

/// Finds the person: by issuer and subject, and the first time by the e-mail address that the provider has
/// verified, if it vouches for such addresses.
async fn person(
    app: &App,
    provider: &Provider,
    proven: &ProvenIdentity,
    request_id: &str,
) -> Result<SignInTransaction, Failure> {
    let subject = Subject { issuer: &proven.issuer, subject: &proven.subject };
    if let Some(user) = app.store.user_of_identity(subject).await? {
        let transaction = app.store.sign_in_transaction(user, request_id).await?;
        let mut transaction = transaction.ok_or_else(sign_in_failed)?;
        // It may have been removed in the meantime.
        let is_linked = transaction.has_identity(subject).await?;
        return if is_linked { Ok(transaction) } else { Err(sign_in_failed()) };
    }
    let email =
        proven.email.as_deref().and_then(|email| Email::new(email).ok()).ok_or_else(sign_in_failed)?;
    if !provider.vouches_for(&email) {
        tracing::warn!(
            provider = provider.settings.id.as_str(),
            "rejected a first sign-in: the address is not of the `domains` of the provider"
        );
        return Err(sign_in_failed());
    }
    let user = app.store.user_of_email(&email).await?.ok_or_else(sign_in_failed)?;
    let transaction = app.store.sign_in_transaction(user, request_id).await?;
    let mut transaction = transaction.ok_or_else(sign_in_failed)?;
    // The account was set up with the link of an admin, who may have used it. The provider has verified who
    // the person is, so what was set up before becomes invalid.
    if transaction.enrolled_in.is_some() {
        transaction.reset().await?;
    }
    if transaction.link_identity(subject).await? { Ok(transaction) } else { Err(sign_in_failed()) }
}

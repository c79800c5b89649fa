//! The sender of a request, identified before any other work because limits apply per sender. `permit` and
//! `job` check whether the sender may perform the operation.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, Method, header};
use greenroom_app::App;
use greenroom_app::authentication::{Found, Rejection};
use greenroom_app::failure::Failure;
use greenroom_app::limits::{Bearer, Class, Sender};
use greenroom_domain::browser_session::{BrowserPrincipal, SignInSecret};
use greenroom_domain::principal::Principal;
use greenroom_domain::token::{SecretKind, TokenHash, TokenSecret};
use greenroom_store::job::RunnerPrincipal;

use crate::http::rules::cookie;
use crate::http::rules::request_origin::cookie_counts;

/// The middleware inserts it into the extensions of every request.
#[derive(Clone)]
pub enum Identity {
    /// Neither a token nor a session cookie, or one that is not valid.
    Anonymous,
    User(Arc<Principal>),
    /// A person who is signed in with a browser. The organization in the path decides as which member.
    Browser(Arc<BrowserPrincipal>),
    Runner(Arc<RunnerPrincipal>),
    RevokedRunner,
    /// The token could not be looked up. Operations that need no token are served nevertheless.
    LookupFailed(Arc<Mutex<Option<Failure>>>),
}

/// What a request was sent with, if it has the right form.
enum Presented {
    Token(SecretKind, TokenHash),
    Cookie(TokenHash),
}

impl Identity {
    /// Fails if the address has sent too many invalid tokens, without a query of the database, and if another
    /// site has sent a change with the cookie of a browser session.
    pub async fn find(
        app: &App,
        method: &Method,
        headers: &HeaderMap,
        address: IpAddr,
        class: Class,
    ) -> Result<Self, Failure> {
        let Some(presented) = presented(app, method, headers)? else { return Ok(Self::Anonymous) };
        let (authentication, failures) = (&app.authentication, &app.limits.failures);
        let (Presented::Token(_, hash) | Presented::Cookie(hash)) = presented;
        // A repeated invalid token costs no lookup, and does not count against other senders at its address.
        if let Some(rejection) = authentication.rejection(&hash).await {
            return Ok(rejection.into());
        }
        let was_valid = authentication.was_valid(&hash);
        let _turn = if was_valid { None } else { Some(failures.before_look_up(address).await?) };
        let found = match presented {
            Presented::Token(SecretKind::Runner, hash) => {
                let found = authentication.runner(hash, class).await;
                found.map(|found| found.map(|runner| Self::Runner(Arc::new(runner))))
            }
            Presented::Token(_, hash) => {
                authentication.principal(hash, class).await.map(|found| found.map(Self::User))
            }
            Presented::Cookie(hash) => {
                authentication.browser(hash, class).await.map(|found| found.map(Self::Browser))
            }
        };
        Ok(match found {
            Ok(Found::Valid(identity)) => identity,
            Ok(Found::Rejected { rejection, is_new }) => {
                if is_new {
                    failures.failed(address);
                }
                rejection.into()
            }
            Err(failure) => Self::LookupFailed(Arc::new(Mutex::new(Some(failure)))),
        })
    }

    /// `organization` is the `orgId` in the path: a person is counted in that organization.
    pub fn sender(&self, address: IpAddr, organization: Option<&str>) -> Sender {
        match self {
            Self::User(principal) => Sender::Bearer(Bearer::from(principal.as_ref())),
            Self::Browser(browser) => {
                let member = organization.and_then(|organization| browser.member_of(organization));
                Sender::Bearer(
                    member.map_or_else(|| Bearer::from(&**browser), |member| Bearer::from(&**member)),
                )
            }
            Self::Runner(runner) => Sender::Bearer(Bearer::from(runner.as_ref())),
            Self::Anonymous | Self::RevokedRunner => Sender::Address(address),
            Self::LookupFailed(_) => Sender::Unverified(address),
        }
    }

    /// Returns why the token could not be looked up. Only the first call returns it.
    pub fn take_failure(&self) -> Option<Failure> {
        match self {
            Self::LookupFailed(failure) => failure.lock().unwrap_or_else(PoisonError::into_inner).take(),
            _ => None,
        }
    }
}

impl From<Rejection> for Identity {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Invalid => Self::Anonymous,
            Rejection::RevokedRunner => Self::RevokedRunner,
        }
    }
}

/// Returns the token, or without an `Authorization` header the cookie. A token and a cookie are never combined.
fn presented(app: &App, method: &Method, headers: &HeaderMap) -> Result<Option<Presented>, Failure> {
    if headers.contains_key(header::AUTHORIZATION) {
        // The checksum rejects typing errors and noise without a database query.
        let token = bearer_token(headers).and_then(parse_token);
        return Ok(token.map(|(kind, secret)| Presented::Token(kind, secret.hash())));
    }
    let secret = cookie::value(headers, cookie::SESSION).and_then(|text| SignInSecret::parse(text).ok());
    let Some(secret) = secret else { return Ok(None) };
    let counts = cookie_counts(method, headers, &app.sign_in.own_origins)?;
    Ok(counts.then(|| Presented::Cookie(secret.hash())))
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn parse_token(token: &str) -> Option<(SecretKind, TokenSecret)> {
    let parse = |kind| TokenSecret::read(kind, token).ok().map(|secret| (kind, secret));
    parse(SecretKind::Api).or_else(|| parse(SecretKind::Runner))
}

//! The sender of a request, identified before any other work because limits apply per sender. `permit` and
//! `job` check whether the sender may perform the operation.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, header};
use greenroom_domain::principal::Principal;
use greenroom_domain::token::{SecretKind, TokenSecret};
use greenroom_store::job::RunnerPrincipal;

use crate::app::App;
use crate::app::authentication::{Found, Rejection};
use crate::app::failure::Failure;
use crate::limits::{Bearer, Class, Sender};

/// The middleware inserts it into the extensions of every request.
#[derive(Clone)]
pub enum Identity {
    /// No token, or one that is not valid.
    Anonymous,
    User(Arc<Principal>),
    Runner(Arc<RunnerPrincipal>),
    RevokedRunner,
    /// The token could not be looked up. Operations that need no token are served nevertheless.
    LookupFailed(Arc<Mutex<Option<Failure>>>),
}

impl Identity {
    /// Fails only if the address has sent too many invalid tokens; the database is not queried then.
    pub async fn find(
        app: &App,
        headers: &HeaderMap,
        address: IpAddr,
        class: Class,
    ) -> Result<Self, Failure> {
        // The checksum rejects typing errors and noise without a database query.
        let Some((kind, secret)) = bearer_token(headers).and_then(parse_token) else {
            return Ok(Self::Anonymous);
        };
        let (authentication, failures) = (&app.authentication, &app.limits.failures);
        let hash = secret.hash();
        // A repeated invalid token costs no lookup, and does not count against other senders at its address.
        if let Some(rejection) = authentication.rejection(&hash).await {
            return Ok(rejection.into());
        }
        let was_valid = authentication.was_valid(&hash);
        let _turn = if was_valid { None } else { Some(failures.before_look_up(address).await?) };
        let found = match kind {
            SecretKind::Runner => {
                let found = authentication.runner(hash, class).await;
                found.map(|found| found.map(|runner| Self::Runner(Arc::new(runner))))
            }
            _ => authentication.principal(hash, class).await.map(|found| found.map(Self::User)),
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

    pub fn sender(&self, address: IpAddr) -> Sender {
        match self {
            Self::User(principal) => Sender::Bearer(Bearer::from(principal.as_ref())),
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

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn parse_token(token: &str) -> Option<(SecretKind, TokenSecret)> {
    let parse = |kind| TokenSecret::read(kind, token).ok().map(|secret| (kind, secret));
    parse(SecretKind::Api).or_else(|| parse(SecretKind::Runner))
}
